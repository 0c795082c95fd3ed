"""Layout of a sketch: centres of all nodes in px, by stress majorisation, placement on a grid, and spacing.

Stress majorisation finds positions in the plane whose distances match the graph's distances, starting from classical scaling;
the result is identical to the last bit on every machine. Source: Gansner, Koren and North (2004).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real

import numpy as np

from bondgraph.errors import ModelError, Problem
from bondgraph.render.layout.cost import prices
from bondgraph.render.layout.grid import first_cells, nesting, place_parts, without_gaps
from bondgraph.render.layout.parts import Copies, components, contents, equal_parts, part_of, with_parts_as_nodes
from bondgraph.render.layout.search import improve
from bondgraph.render.layout.spacing import centres, extent, in_rows
from bondgraph.render.layout.spine import chain_in_rows
from bondgraph.render.reproducible import inverse, length, product
from bondgraph.render.sketch import Box, Sketch


def graph_distances(count: int, edges: Sequence[tuple[int, int, float]]) -> np.ndarray:
    """Return shortest distances between all nodes, (count, count); the distance between separate components is half the largest
    distance, plus 2."""
    import networkx as nx

    graph = nx.MultiGraph()
    graph.add_nodes_from(range(count))
    graph.add_weighted_edges_from(edges)
    distances = nx.floyd_warshall_numpy(graph)  # only sums and minima, which are the same everywhere
    reached = np.isfinite(distances)
    distances[~reached] = distances[reached].max(initial=0.0) / 2 + 2.0
    return distances


def _scattered(count: int) -> np.ndarray:
    """Return distinct points (count, 2) in a square of side 1 about the origin: the golden sequence (Roberts, 2018)."""
    multiples = np.arange(1, count + 1)[:, None] * np.array([0.7548776662466927, 0.5698402909980532])
    return multiples - np.floor(multiples) - 0.5


def _scaling(distances: np.ndarray, turns: int = 60) -> np.ndarray:
    """Return initial positions in the plane of classical scaling (Torgerson, 1952), found by orthogonal iteration, with the same
    spread along both axes.

    The points of `_scattered` select the plane if symmetry leaves it undetermined, and separate nodes that would coincide.
    """
    squares = distances * distances
    rows = squares.mean(axis=1)
    inner = 0.5 * (rows[:, None] + rows[None, :] - squares - rows.mean())
    x = _scattered(len(distances))
    for _ in range(turns):
        x = product(inner, x)
        first = _unit(x[:, 0])
        x = np.stack([first, _unit(x[:, 1] - (first * x[:, 1]).sum() * first)], axis=1)
    spread = np.sqrt(squares.mean() * len(distances) / 2.0)
    return spread * x + 0.02 * _scattered(len(distances))


def _unit(direction: np.ndarray) -> np.ndarray:
    """Return a vector scaled to length 1; a zero vector, such as one perpendicular to nodes on a line, stays zero."""
    size = float(np.sqrt((direction * direction).sum()))
    return direction / size if size > 0.0 else direction


def stress_positions(distances: np.ndarray, steps: int = 80) -> np.ndarray:
    """Return positions (n, 2) after this many steps towards the minimum of the sum over pairs of (|x_i - x_j| / d_ij - 1)^2; one
    or two points stay on the x axis."""
    count = len(distances)
    if count < 3:
        return np.stack([np.arange(count, dtype=float), np.zeros(count)], axis=1)
    weights = 1.0 / np.maximum(distances * distances, 1e-18)
    weights[np.diag_indices(count)] = 0.0
    total = weights.sum(axis=1)
    laplacian = -weights
    laplacian[np.diag_indices(count)] = total
    mean = total.mean() / count
    solve = inverse(laplacian + mean)  # the mean of all positions, which the distances do not determine, is kept at zero
    x = _scaling(distances)
    for _ in range(steps):
        pull = -weights * distances / np.maximum(length(x[:, None] - x[None]), 1e-6)
        pull[np.diag_indices(count)] = -pull.sum(axis=1)
        x = product(solve, product(pull, x))
    return x


_SLOPES = np.arange(18) / 18.0
"""Tangents of half the angles by which a drawing is rotated, up to a quarter turn, for rational rotations."""


def rotate_upright(x: np.ndarray, bonds: Sequence[tuple[int, int]]) -> np.ndarray:
    x = x - x.mean(axis=0)
    tails, heads = np.array(bonds, dtype=int).reshape(-1, 2).T
    best, best_score = x, -np.inf
    for quarter in (x, np.stack([-x[:, 1], x[:, 0]], axis=1)):
        for slope in _SLOPES:
            cosine, sine = (1.0 - slope * slope) / (1.0 + slope * slope), 2.0 * slope / (1.0 + slope * slope)
            turned = np.stack(
                [cosine * quarter[:, 0] - sine * quarter[:, 1], sine * quarter[:, 0] + cosine * quarter[:, 1]], axis=1
            )
            wide, high = np.ptp(turned, axis=0) + 0.5
            wideness = 2.0 * (wide / high - 1.0) / (wide / high + 1.0)  # approximately the logarithm of width over height
            score = _alignment_with_axes(turned[heads] - turned[tails]) + 0.8 * min(max(wideness, -1.0), 0.7)
            if score > best_score + 1e-9:
                best, best_score = turned, score
    return best


def _alignment_with_axes(along: np.ndarray) -> float:
    """Return the mean cosine of four times the angles of directions (k, 2): 1 for horizontal or vertical, -1 for diagonal
    directions; 0 without directions."""
    if not len(along):
        return 0.0
    x, y = along[:, 0] * along[:, 0], along[:, 1] * along[:, 1]
    double = (x - y) / np.maximum(x + y, 1e-12)
    return float((2.0 * double * double - 1.0).mean())


def automatic_centres(sketch: Sketch) -> np.ndarray:
    """Return centres (n, 2) in px, y downwards."""
    where = np.zeros((len(sketch.nodes), 2))
    cells_by_form: dict[object, np.ndarray] = {}
    component_cells: dict[object, np.ndarray] = {}
    parts = []
    for members, part in components(sketch):
        order, form = contents(part, Box("", "", "", tuple(range(len(members)))))
        if form not in component_cells:
            component_cells[form] = _cells(part, cells_by_form)[order]
        cells = np.zeros_like(component_cells[form])
        cells[order] = component_cells[form]
        parts.append((members, part, centres(part, cells, equal_parts(part))))
    for (members, _, part_centres), corner in zip(
        parts, in_rows([extent(part, part_centres) for _, part, part_centres in parts]), strict=True
    ):
        where[members] = part_centres + corner
    return where


def _cells(sketch: Sketch, cells_by_form: dict[object, np.ndarray], around: str = "") -> np.ndarray:
    """Return cells (n, 2) of all nodes. Boxes directly inside the box `around` are laid out first, equal boxes once
    (`cells_by_form`); later, each is only moved or mirrored as a whole."""
    boxes = [box for box in sketch.boxes if box.parent == around]
    if not boxes:
        return _flat(sketch)
    alike: dict[object, list[np.ndarray]] = {}
    for box in boxes:
        order, form = contents(sketch, box)
        if form not in cells_by_form:
            cells_by_form[form] = without_gaps(_cells(part_of(sketch, box, order), cells_by_form, box.path)[: len(order)])
        alike.setdefault(form, []).append(order)
    parts = [(members, cells_by_form[form]) for form, each in alike.items() for members in each]
    inside = {int(i) for members, _ in parts for i in members}
    parts += [(np.array([i]), np.zeros((1, 2), dtype=int)) for i in range(len(sketch.nodes)) if i not in inside]
    coarse = _flat(with_parts_as_nodes(sketch, [members for members, _ in parts], around))
    cells = np.zeros((len(sketch.nodes), 2), dtype=int)
    for (members, _), part_cells in zip(parts, place_parts(coarse, [part for _, part in parts]), strict=True):
        cells[members] = part_cells
    blocks = [Copies(tuple(each)) for each in alike.values()]
    return improve(cells, prices(sketch, blocks), nesting(sketch), 36 if len(cells) <= 60 else 12, blocks)


def _flat(sketch: Sketch) -> np.ndarray:
    count, bonds = len(sketch.nodes), [(edge.tail, edge.head) for edge in sketch.edges if edge.bond]
    chain = chain_in_rows(count, bonds) if len(bonds) == len(sketch.edges) and not sketch.boxes else None
    if chain is not None:
        return chain
    flat = stress_positions(graph_distances(count, [(edge.tail, edge.head, 1.0 if edge.bond else 1.5) for edge in sketch.edges]))
    sweeps = 18 if count <= 30 else 10 if count <= 60 else 6 if count <= 150 else 0  # a larger picture is illegible anyway
    return improve(first_cells(sketch, 1.5 * rotate_upright(flat, bonds)), prices(sketch), nesting(sketch), sweeps)


def centres_from_positions(sketch: Sketch, positions: Mapping[str, tuple[float, float]]) -> np.ndarray:
    """Return centres in px: the user's positions, and the automatic layout of all other nodes, shifted to fit them and pushed
    apart where nodes overlap.

    Raises `ModelError` E131 for an unknown node, E132 for an invalid position.
    """
    names = {node.name: i for i, node in enumerate(sketch.nodes)}
    problems = [
        Problem(
            "E131",
            f'a position is given for "{name}", which is not in "{sketch.name}"',
            cures=("positions by the paths of elements: " + ", ".join(list(names)[:8]),),
        )
        for name in positions
        if name not in names and name not in sketch.inside
    ]
    bad = [name for name, at in positions.items() if not _is_point(at)]
    problems += [
        Problem("E132", f'the position of "{name}" is not a pair of finite numbers', cures=("(x, y) in px, y downwards",))
        for name in bad
    ]
    if problems:
        raise ModelError(sketch.name, problems)
    positions = _box_positions(sketch, positions)
    where = automatic_centres(sketch) if len(positions) < len(names) else np.zeros((len(names), 2))
    fixed = [names[name] for name in positions]
    wished = np.array([positions[name] for name in positions], dtype=float).reshape(-1, 2)
    if fixed:
        where = where + (wished - where[fixed]).mean(axis=0)
        where[fixed] = wished
    return _pushed_apart(sketch, where, set(fixed))


def _box_positions(sketch: Sketch, positions: Mapping[str, tuple[float, float]]) -> dict[str, tuple[float, float]]:
    drawn = {name: at for name, at in positions.items() if name not in sketch.inside}
    members: dict[str, list[tuple[float, float]]] = {}
    for name, at in positions.items():
        if name in sketch.inside:
            members.setdefault(sketch.inside[name], []).append(at)
    middles = {box: np.array(inside, dtype=float) for box, inside in members.items() if box not in drawn}
    for box, inside in middles.items():
        x, y = (inside.min(axis=0) + inside.max(axis=0)) / 2
        drawn[box] = (float(x), float(y))
    return drawn


def _is_point(at: object) -> bool:
    pair = np.asarray(at, dtype=object)
    return pair.shape == (2,) and all(isinstance(x, Real) and not isinstance(x, bool) and np.isfinite(float(x)) for x in pair)


def _pushed_apart(sketch: Sketch, where: np.ndarray, fixed: set[int]) -> np.ndarray:
    where = where.copy()
    half = np.array([(max(node.half_width, node.below / 2) + 8, node.half_height + 12) for node in sketch.nodes])
    for _ in range(60):
        moved = False
        for i in range(len(where)):
            for j in range(i):
                if i in fixed and j in fixed:
                    continue
                apart = where[i] - where[j]
                overlap = half[i] + half[j] - np.abs(apart)
                if np.all(overlap > 1e-6):
                    axis = int(np.argmin(overlap))
                    push = np.copysign(overlap[axis], apart[axis] if apart[axis] != 0 else 1.0)
                    share = 1.0 if j in fixed else 0.0 if i in fixed else 0.5
                    where[i, axis] += share * push
                    where[j, axis] -= (1.0 - share) * push
                    moved = True
        if not moved:
            break
    return where
