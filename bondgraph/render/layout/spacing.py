"""Spacing: centres in px of nodes in cells, with columns and rows as narrow as labels, bonds and boxes allow."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bondgraph.render.layout.parts import Copies, tied_steps
from bondgraph.render.sketch import Box, Sketch

BOND_LENGTH = 58.0
"""Minimum visible length of a horizontal bond, px; a vertical bond may be 6 px shorter."""
LABEL_SPACE = 36.0
"""Length of a horizontal bond beyond its labels, for half arrow, stroke and dimension, px."""
LABEL_GAP = 30.0
"""Space in px that the labels of two neighbouring vertical bonds need in addition to their widths."""
NAME_GAP = 13.0
"""Distance from a vertical bond to a name beside it, px."""
PAD, TITLE = 17.0, 19.0
"""Padding between a box's edge and its content, and height of its title at the top, px."""
Sides = np.ndarray
"""Space (n, 2) in px that every node needs to the left and right of its centre, including its name."""


def sides(sketch: Sketch, cells: np.ndarray) -> Sides:
    """Return the space that each node needs: a name is below its junction or, where an edge leaves downwards, beside the junction
    on the freer side."""
    space = np.array([[max(node.half_width, node.below / 2)] * 2 for node in sketch.nodes]).reshape(-1, 2)
    for i, node in enumerate(sketch.nodes):
        if not node.below:
            continue
        ends = [(edge.tail, edge.head) for edge in sketch.edges if i in (edge.tail, edge.head)]
        steps = [cells[b if a == i else a] - cells[i] for a, b in ends]
        if any(x == 0 and y > 0 for x, y in steps):
            right = any(x > 0 and y > 0 for x, y in steps)
            left = any(x < 0 and y > 0 for x, y in steps)
            space[i, 0 if right and not left else 1] = node.below + NAME_GAP
    return space


def centres(sketch: Sketch, cells: np.ndarray, copies: Sequence[Copies] = ()) -> np.ndarray:
    """Return centres (n, 2) in px, x to the right and y downwards; equal parts with equal cells are congruent."""
    count = len(sketch.nodes)
    joined = {frozenset((edge.tail, edge.head)) for edge in sketch.edges if edge.bond is not None}
    labels = _label_needs(sketch, cells)
    chains = [sketch.chain(i) for i in range(count)]
    spans = {box.path: (cells[list(box.members)].min(axis=0), cells[list(box.members)].max(axis=0)) for box in sketch.boxes}
    space = sides(sketch, cells)
    needs: tuple[list[tuple[int, int, float]], list[tuple[int, int, float]]] = ([], [])
    for i in range(count):
        for j in range(count):
            shared = sum(a == b for a, b in zip(chains[i], chains[j], strict=False))
            walls_i, walls_j = chains[i][shared:], chains[j][shared:]
            low_i, high_i = spans[walls_i[0]] if walls_i else (cells[i], cells[i])
            low_j, high_j = spans[walls_j[0]] if walls_j else (cells[j], cells[j])
            bonded = frozenset((i, j)) in joined
            walls = len(walls_i) + len(walls_j)
            same_rows = bool(low_i[1] <= high_j[1] and low_j[1] <= high_i[1])
            same_columns = bool(low_i[0] <= high_j[0] and low_j[0] <= high_i[0])
            if same_rows and high_i[0] < low_j[0]:
                need = max(_across(sketch, i, j, bonded, walls, space), labels[i, j])
                needs[0].append((cells[i, 0], cells[j, 0], need))
            elif high_i[1] < low_j[1] and (same_columns or (walls and not same_rows)):
                needs[1].append((cells[i, 1], cells[j, 1], _down(sketch, i, j, bonded, len(walls_i), len(walls_j))))
    ties = [tied_steps(cells, copies, axis) for axis in (0, 1)]
    return np.stack([_columns(cells[:, axis], needs[axis], least, ties[axis]) for axis, least in ((0, 62.0), (1, 64.0))], axis=1)


def _label_needs(sketch: Sketch, cells: np.ndarray) -> np.ndarray:
    """Return the distances (n, n) in px that the labels of bonds need between nodes side by side."""
    widths = np.zeros(len(sketch.nodes))
    for edge in sketch.edges:
        if cells[edge.tail, 0] == cells[edge.head, 0]:
            widths[[edge.tail, edge.head]] = np.maximum(widths[[edge.tail, edge.head]], edge.label_width)
    pairs = widths[:, None] + widths
    needs = np.where(pairs > 0.0, pairs + LABEL_GAP, 0.0)
    for edge in (edge for edge in sketch.edges if edge.label_width):
        length = sketch.nodes[edge.tail].half_width + sketch.nodes[edge.head].half_width + edge.label_width + LABEL_SPACE
        for i, j in ((edge.tail, edge.head), (edge.head, edge.tail)):
            needs[i, j] = max(needs[i, j], length)
    return needs


def _across(sketch: Sketch, i: int, j: int, bonded: bool, walls: int, space: Sides) -> float:
    a, b = sketch.nodes[i], sketch.nodes[j]
    bodies = a.half_width + b.half_width + max(BOND_LENGTH if bonded else 26.0, PAD * walls + (34.0 if bonded else 18.0))
    beneath = not walls and min(a.below, b.below) == 0.0 and max(a.half_height, b.half_height) < 14.0
    return bodies if beneath else max(bodies, space[i, 1] + space[j, 0] + PAD * walls + 10.0)


def _down(sketch: Sketch, i: int, j: int, bonded: bool, walls_above: int, walls_below: int) -> float:
    a, b = sketch.nodes[i], sketch.nodes[j]
    name = 17.0 if a.below else 0.0
    walls = PAD * (walls_above + walls_below) + TITLE * walls_below
    gap = max(BOND_LENGTH - 6.0 if bonded else 24.0, name + walls + (26.0 if bonded else 16.0))
    return a.half_height + b.half_height + gap


def _columns(
    cells: np.ndarray, needs: Sequence[tuple[int, int, float]], least: float, ties: Sequence[tuple[int, int]]
) -> np.ndarray:
    """Return coordinates of columns that keep all required distances, by the longest path; tied steps then get the largest of
    their widths."""
    last = int(cells.max(initial=0))
    arriving: list[list[tuple[int, float]]] = [[] for _ in range(last + 1)]
    for a, b, need in needs:
        arriving[b].append((a, need))
    positions = np.zeros(last + 1)
    for column in range(1, last + 1):
        positions[column] = max([positions[column - 1] + least, *(positions[a] + need for a, need in arriving[column])])
    if not ties:
        return positions[cells]
    import networkx as nx

    steps = np.diff(positions)
    for group in nx.connected_components(nx.from_edgelist(ties)):
        steps[list(group)] = steps[list(group)].max()
    return np.concatenate([[0.0], np.cumsum(steps)])[cells]


def frame(sketch: Sketch, box: Box, where: np.ndarray) -> tuple[float, float, float, float]:
    """Return the left, top, right and bottom edges of a box in px."""
    depth = box.path.count(".")
    space = sides(sketch, where.round(1))
    edges = []
    for i in box.members:
        node, walls = sketch.nodes[i], sketch.nodes[i].group.count(".") - depth + 1
        edges.append(
            (
                where[i, 0] - space[i, 0] - PAD * walls,
                where[i, 1] - node.half_height - (PAD + TITLE) * walls + 6.0,
                where[i, 0] + space[i, 1] + PAD * walls,
                where[i, 1] + node.half_height + (17.0 if node.below else 0.0) + PAD * walls - 2.0,
            )
        )
    left, top, right, bottom = np.array(edges).T
    title = 7.0 * len(box.title) + 20.0
    return float(left.min()), float(top.min()), float(max(right.max(), left.min() + title)), float(bottom.max())


Extent = tuple[float, float, float, float]
"""Left, top, right and bottom in px."""


def extent(sketch: Sketch, where: np.ndarray) -> Extent:
    space = sides(sketch, where.round(1))
    rectangles = [frame(sketch, box, where) for box in sketch.boxes]
    rectangles += [
        (x - left, y - node.half_height, x + right, y + node.half_height + (17.0 if node.below else 0.0))
        for node, (x, y), (left, right) in zip(sketch.nodes, where.tolist(), space.tolist(), strict=True)
    ]
    left, top, right, bottom = np.array(rectangles).T
    return float(left.min()), float(top.min()), float(right.max()), float(bottom.max())


PART_GAP, ASPECT_RATIO = 44.0, 1.6
"""Distance between unconnected parts of a drawing, px, and the approximate ratio of width to height of their arrangement."""


def in_rows(extents: Sequence[Extent]) -> list[np.ndarray]:
    sizes = np.array([(right - left + PART_GAP, bottom - top + PART_GAP) for left, top, right, bottom in extents]).reshape(-1, 2)
    widest = max(float(np.sqrt(ASPECT_RATIO * (sizes[:, 0] * sizes[:, 1]).sum())), float(sizes[:, 0].max(initial=0.0)))
    rows: list[list[int]] = [[]]
    for k in range(len(sizes)):
        if rows[-1] and float(sizes[[*rows[-1], k], 0].sum()) > widest + 1e-6:
            rows.append([])
        rows[-1].append(k)
    shifts, top = [], 0.0
    for row in rows:
        x, height = 0.0, max((float(sizes[k, 1]) for k in row), default=0.0)
        for k in row:
            shifts.append(np.array([x - extents[k][0], top + (height - sizes[k, 1]) / 2 - extents[k][1]]))
            x += float(sizes[k, 0])
        top += height
    return shifts
