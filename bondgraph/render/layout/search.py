"""Search on the grid for cells with short, horizontal or vertical edges without crossings.

Simulated annealing with fixed seeds moves single nodes and whole blocks; a greedy finish also exchanges nodes, and moves, mirrors
and turns branches and boxes. No step lets separate boxes overlap.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from bondgraph.render.layout.board import Board
from bondgraph.render.layout.cost import Prices
from bondgraph.render.layout.grid import Nesting, without_gaps
from bondgraph.render.layout.parts import Copies
from bondgraph.render.reproducible import Noise, geometric

Steps = Callable[[np.ndarray], np.ndarray]
"""Function from cells (n, 2) to trials (k, n, 2)."""
_WIDE = np.array([(i, j) for i in range(-6, 7) for j in range(-6, 7) if 0 < abs(i) + abs(j) <= 6])
_cache: dict[bytes, np.ndarray] = {}
"""Improved cells by digest of a graph and its first cells."""
MAX_CACHED = 2000
"""Maximum number of cached layouts; layouts are cached because a graph can appear on several pages, and a part in many graphs."""


def improve(cells: np.ndarray, price: Prices, boxes: Nesting, sweeps: int, blocks: Sequence[Copies] = ()) -> np.ndarray:
    if len(cells) < 2 or sweeps < 1:
        return cells
    block_members = [members for block in blocks for members in block.members]
    counts = np.array([sweeps, *map(len, boxes.members), -1, *(len(block.members) for block in blocks)])
    arrays = [cells, price.tails, price.heads, price.length, counts, boxes.apart, *boxes.members, *block_members]
    digest = hashlib.sha256(b"".join(f"{each.dtype} {each.shape}".encode() + each.tobytes() for each in arrays)).digest()
    result = _cache.get(digest)
    if result is None:
        result = _improved(cells.astype(float), price, boxes, sweeps, blocks).astype(int)
        if len(_cache) >= MAX_CACHED:
            _cache.clear()
        _cache[digest] = result
    return result.copy()


def _improved(cells: np.ndarray, price: Prices, boxes: Nesting, sweeps: int, blocks: Sequence[Copies]) -> np.ndarray:
    board = Board(price, boxes)

    def cost(trial: np.ndarray) -> float:
        return round(board.total_cost(trial), 9)

    loose = int(_free(len(cells), blocks).sum()) + sum(len(block.members) for block in blocks)
    seeds = 3 if loose <= 16 else 2 if loose <= 26 else 1
    tries = [_anneal(cells, board, sweeps, blocks, seed) for seed in range(seeds)]
    return min((_finish(start, price, board, boxes, blocks) for start in sorted(tries, key=cost)[:2]), key=cost)


def _anneal(cells: np.ndarray, board: Board, sweeps: int, blocks: Sequence[Copies], seed: int) -> np.ndarray:
    noise = Noise(seed)
    cells, free = cells.copy(), _free(len(cells), blocks)
    block_members = [members for block in blocks for members in block.members]
    for temperature in geometric(2.0, 0.12, sweeps):
        for node in noise.order(len(cells)):
            if free[node]:
                board.move(node, cells, temperature, noise)
        for k in noise.order(len(block_members)):
            cells = _block_moved(block_members[k], cells, board, temperature, noise)
    return cells


MAX_TRIALS, BLOCK_TEMPERATURE = 10, 2.0
"""Maximum number of new positions of a block that are examined, lowest bounds first; temperature of a block relative to that of a
node."""


def _block_moved(members: np.ndarray, cells: np.ndarray, board: Board, temperature: float, noise: Noise) -> np.ndarray:
    trials = np.concatenate([cells[None], _box_moved(members, _WIDE, True, cells)])
    least = board.lower_bounds(trials)
    near = np.argsort(least[1:], kind="stable")[: 4 * MAX_TRIALS] + 1
    good = np.concatenate([[0], near[board.are_valid(trials[near])][:MAX_TRIALS]])
    costs = board.total_costs(trials[good]) - BLOCK_TEMPERATURE * temperature * noise.spread(len(good))
    return trials[good[int(np.argmin(costs.round(9)))]].copy()


def _free(count: int, blocks: Sequence[Copies]) -> np.ndarray:
    free = np.ones(count, dtype=bool)
    for block in blocks:
        for members in block.members:
            free[members] = False
    return free


def _copies_exchanged(block: Copies, cells: np.ndarray) -> np.ndarray:
    trials = [cells]
    for i, j in zip(*np.triu_indices(len(block.members), 1), strict=True):
        trial = cells.copy()
        a, b = block.members[i], block.members[j]
        trial[a], trial[b] = cells[b], cells[a]
        trials.append(trial)
    return np.array(trials)


def branches(price: Prices, count: int) -> Iterator[tuple[int, int, np.ndarray]]:
    """Yield (root, joint, nodes) for every part that a single bond attaches and that has at most half of the `count` nodes;
    `root` is the end of the bond in the part, and `joint` the end outside."""
    import networkx as nx

    bonds = [(int(a), int(b)) for a, b in zip(price.tails[price.length == 1.0], price.heads[price.length == 1.0], strict=True)]
    graph = nx.from_edgelist(bonds)
    for bond in bonds:
        graph.remove_edge(*bond)
        for root, joint in (bond, bond[::-1]):
            component = nx.node_connected_component(graph, root)
            if joint not in component and 2 * len(component) <= count:
                yield root, joint, np.array(sorted(component))
        graph.add_edge(*bond)


_TURNS = np.array(
    [(1, 0, 0, 1), (-1, 0, 0, 1), (1, 0, 0, -1), (-1, 0, 0, -1), (0, 1, 1, 0), (0, -1, 1, 0), (0, 1, -1, 0)]
).reshape(-1, 2, 2)
"""Symmetries of the grid: the identity, three mirror images of it, and three images with exchanged axes."""


def _turned(cells: np.ndarray, turns: np.ndarray) -> np.ndarray:
    return (cells[None, :, :, None] * turns[:, None]).sum(axis=2)


_STEPS = np.array([(1, 0), (-1, 0), (0, 1), (0, -1), (2, 0), (-2, 0), (0, 2), (0, -2)])


def _finish(
    cells: np.ndarray, price: Prices, board: Board, boxes: Nesting, blocks: Sequence[Copies] = (), rounds: int = 3
) -> np.ndarray:
    free = _free(len(cells), blocks)
    block_members = [members for block in blocks for members in block.members]

    def divides_a_block(inside: np.ndarray) -> bool:
        return any(0 < np.isin(members, inside).sum() < len(members) for members in block_members)

    steps: list[Steps] = [
        *(
            partial(_branch_moved, root, joint, branch, not free[branch].all())
            for root, joint, branch in branches(price, len(cells))
            if not divides_a_block(branch)
        ),
        *(
            partial(_box_moved, inside, _STEPS, not free[inside].all())
            for inside in (*boxes.members, np.arange(len(cells)))
            if not divides_a_block(inside)
        ),
        *(partial(_box_moved, members, _WIDE, True) for members in block_members),
        *(partial(_copies_exchanged, block) for block in blocks),
        partial(_cuts, block_members),
        partial(_exchanged, boxes, free),
    ]
    cells, still = cells.copy(), Noise(0)
    cost = board.total_cost(cells)
    for _ in range(rounds):
        before = cost
        for node in np.flatnonzero(free).tolist():
            board.move(node, cells, 0.0, still)
        cells = without_gaps(cells).astype(float)
        cost = board.total_cost(cells)
        for step in steps:
            cells, cost = _best(cells, cost, step(cells), board)
        if cost > before - 1e-6:
            break
    return without_gaps(cells)


def _best(cells: np.ndarray, cost: float, trials: np.ndarray, board: Board) -> tuple[np.ndarray, float]:
    least = board.lower_bounds(trials)
    for index in np.argsort(least, kind="stable"):
        if least[index] >= cost - 1e-9:
            break
        trial = trials[index : index + 1]
        if board.are_valid(trial)[0]:
            trial_cost = board.total_cost(trial[0])
            if trial_cost < cost - 1e-9:
                cells, cost = trial[0].copy(), trial_cost
    return cells, cost


def _branch_moved(root: int, joint: int, branch: np.ndarray, level: bool, cells: np.ndarray) -> np.ndarray:
    turned = _turned(cells[branch] - cells[root], _TURNS[: 4 if level else 7] if len(branch) > 1 else _TURNS[:1])
    return _with(cells, branch, (turned[:, None] + cells[joint] + _STEPS[None, :, None]).reshape(-1, len(branch), 2))


def _box_moved(inside: np.ndarray, moves: np.ndarray, level: bool, cells: np.ndarray) -> np.ndarray:
    box_cells = cells[inside]
    turned = _turned(box_cells, _TURNS[1 : 4 if level else 7])
    turned += box_cells.min(axis=0) - turned.min(axis=1)[:, None]
    return _with(cells, inside, np.concatenate([box_cells + moves[:, None], turned]))


def _with(cells: np.ndarray, nodes: np.ndarray, positions: np.ndarray) -> np.ndarray:
    trials = np.repeat(cells[None], len(positions), axis=0)
    trials[:, nodes] = positions
    return trials


def _cuts(block_members: Sequence[np.ndarray], cells: np.ndarray) -> np.ndarray:
    trials = [cells]
    for axis in (0, 1):
        spans = [(int(cells[inside, axis].min()), int(cells[inside, axis].max())) for inside in block_members]
        for cut in range(int(cells[:, axis].min()) + 1, int(cells[:, axis].max()) + 1):
            if any(low < cut <= high for low, high in spans):
                continue
            for step in (-1, 1):
                trial = cells.copy()
                trial[cells[:, axis] >= cut, axis] += step
                trials.append(trial)
    return np.array(trials)


def _exchanged(boxes: Nesting, free: np.ndarray, cells: np.ndarray) -> np.ndarray:
    trials = [cells]
    for i, j in zip(*np.triu_indices(len(cells), 1), strict=True):
        if free[i] and free[j] and boxes.around[i] == boxes.around[j] and np.abs(cells[i] - cells[j]).max() <= 2:
            trial = cells.copy()
            trial[[i, j]] = cells[[j, i]]
            trials.append(trial)
    return np.array(trials)
