"""Long chains: the longest path of a tree in rows of alternating direction, with short branches above and below."""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import Any

import numpy as np

MIN_PATH, ONE_ROW = 10, 12
"""Minimum number of nodes of a path that is laid out in rows, and maximum number of a path that is laid out in one row."""
WIDENESS = 3.0
"""Square of the number of nodes in a row, relative to the length of the path: a drawing is wider than high."""

Branch = list[int]
"""Nodes of a branch without forks, from the path outwards."""


def chain_in_rows(count: int, edges: Sequence[tuple[int, int]]) -> np.ndarray | None:
    """Return cells (n, 2) of a tree whose longest path has at least `MIN_PATH` nodes and whose branches do not fork, at most
    two at a node; None for other graphs.

    Parameters
    ----------
    count : number of nodes.
    edges : (tail, head) of all edges; the path begins at a tail, such as a source, if possible.
    """
    import networkx as nx

    tree = nx.from_edgelist(edges)
    if not (tree.number_of_nodes() == count == len(edges) + 1 and nx.is_tree(tree)):
        return None
    path = _longest_path(tree, {tail for tail, _ in edges})
    branches = _branches(tree, path)
    return None if len(path) < MIN_PATH or branches is None else _cells(path, branches, count)


def _longest_path(tree: Any, tails: Set[int]) -> list[int]:
    import networkx as nx

    def farthest(start: int) -> list[int]:
        paths = map(list, nx.single_source_shortest_path(tree, start).values())
        return max(paths, key=lambda path: (len(path), path[-1] in tails, -path[-1]))

    path = farthest(farthest(0)[-1])
    back = farthest(path[-1])
    return back if back[-1] not in tails else back[::-1]


def _branches(tree: Any, path: Sequence[int]) -> dict[int, list[Branch]] | None:
    branches: dict[int, list[Branch]] = {}
    for node in path:
        arms = [[arm] for arm in sorted(set(tree.neighbors(node)) - set(path))]
        for arm in arms:
            while onward := set(tree.neighbors(arm[-1])) - {node, *arm}:
                if len(onward) > 1:
                    return None
                arm.extend(onward)
        if len(arms) > 2:
            return None
        branches[node] = sorted(arms, key=lambda arm: (-len(arm), arm))
    return branches


def _cells(path: Sequence[int], branches: dict[int, list[Branch]], count: int) -> np.ndarray:
    """Return cells (n, 2): the path in rows of equal length (the last may be shorter), with the first branch of a node above it
    and the second below.

    At a turn, the bond to the next row takes the cells below the last node and above the first node of the next row; a branch
    that would lie there extends outwards instead.
    """
    rows = 1 if len(path) <= ONE_ROW else max(2, round(float(np.sqrt(len(path) / WIDENESS))))
    columns = -(-len(path) // rows)
    cells, y = np.zeros((count, 2), dtype=int), 0
    for row, start in enumerate(range(0, len(path), columns)):
        nodes = path[start : start + columns]
        sides = []
        for k, node in enumerate(nodes):
            out = (1, 0) if k == len(nodes) - 1 else (-1, 0)
            free = [(0, -1), (0, 1)]
            if k == 0 and row > 0:
                free = [out, (0, 1)]
            elif k == len(nodes) - 1 and start + columns < len(path):
                free = [(0, -1), out]
            sides += [(node, arm, side) for arm, side in zip(branches[node], free, strict=False)]
        y += max((len(arm) for _, arm, side in sides if side == (0, -1)), default=0)
        step = 1 if row % 2 == 0 else -1
        for k, node in enumerate(nodes):
            cells[node] = (k if step > 0 else columns - 1 - k, y)
        for node, arm, (across, down) in sides:
            for far, other in enumerate(arm, start=1):
                cells[other] = cells[node] + far * np.array([step * across, down])
        y += 1 + max((len(arm) for _, arm, side in sides if side == (0, 1)), default=0)
    return cells - cells.min(axis=0)
