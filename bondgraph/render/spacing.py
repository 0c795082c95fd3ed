"""Spacing: cells -> centres in px, columns and rows as narrow as texts, bonds and boxes allow."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bondgraph.render.sketch import Box, Sketch

BOND_LENGTH = 58.0
"""Shortest visible bond, px."""
PAD, TITLE = 17.0, 19.0
"""Room between a box's edge and what is inside, px; and for its title at the top."""


def centres(sketch: Sketch, cells: np.ndarray) -> np.ndarray:
    """Centres (n, 2) in px, x to the right and y downwards."""
    count = len(sketch.nodes)
    joined = {frozenset((edge.tail, edge.head)) for edge in sketch.edges if edge.bond is not None}
    chains = [sketch.chain(i) for i in range(count)]
    spans = {
        box.path: (cells[list(box.members)].min(axis=0), cells[list(box.members)].max(axis=0)) for box in sketch.boxes
    }
    needs: tuple[list[tuple[int, int, float]], list[tuple[int, int, float]]] = ([], [])
    for i in range(count):
        for j in range(count):
            common = next(
                (k for k, pair in enumerate(zip(chains[i], chains[j], strict=False)) if pair[0] != pair[1]), None
            )
            depth = min(len(chains[i]), len(chains[j])) if common is None else common
            walls_i, walls_j = chains[i][depth:], chains[j][depth:]
            low_i, high_i = spans[walls_i[0]] if walls_i else (cells[i], cells[i])
            low_j, high_j = spans[walls_j[0]] if walls_j else (cells[j], cells[j])
            bonded = frozenset((i, j)) in joined
            walls = len(walls_i) + len(walls_j)
            level = bool(low_i[1] <= high_j[1] and low_j[1] <= high_i[1])
            plumb = bool(low_i[0] <= high_j[0] and low_j[0] <= high_i[0])
            if level and high_i[0] < low_j[0]:
                needs[0].append((cells[i, 0], cells[j, 0], _across(sketch, i, j, bonded, walls)))
            elif high_i[1] < low_j[1] and (plumb or (walls and not level)):
                needs[1].append((cells[i, 1], cells[j, 1], _down(sketch, i, j, bonded, len(walls_i), len(walls_j))))
    return np.stack([_columns(cells[:, 0], needs[0], 62.0), _columns(cells[:, 1], needs[1], 64.0)], axis=1)


def _across(sketch: Sketch, i: int, j: int, bonded: bool, walls: int) -> float:
    a, b = sketch.nodes[i], sketch.nodes[j]
    bodies = (
        a.half_width + b.half_width + max(BOND_LENGTH if bonded else 26.0, PAD * walls + (34.0 if bonded else 18.0))
    )
    names = max(a.half_width, a.below / 2) + max(b.half_width, b.below / 2) + PAD * walls + 12.0
    return max(bodies, names)


def _down(sketch: Sketch, i: int, j: int, bonded: bool, walls_above: int, walls_below: int) -> float:
    a, b = sketch.nodes[i], sketch.nodes[j]
    name = 17.0 if a.below else 0.0
    walls = PAD * (walls_above + walls_below) + TITLE * walls_below
    gap = max(BOND_LENGTH - 6.0 if bonded else 24.0, name + walls + (26.0 if bonded else 16.0))
    return a.half_height + b.half_height + gap


def _columns(cells: np.ndarray, needs: Sequence[tuple[int, int, float]], least: float) -> np.ndarray:
    """Coordinates of columns that keep every needed distance: the longest path through the needs."""
    last = int(cells.max(initial=0))
    arriving: list[list[tuple[int, float]]] = [[] for _ in range(last + 1)]
    for a, b, need in needs:
        arriving[b].append((a, need))
    places = np.zeros(last + 1)
    for column in range(1, last + 1):
        places[column] = max([places[column - 1] + least, *(places[a] + need for a, need in arriving[column])])
    return places[cells]


def frame(sketch: Sketch, box: Box, where: np.ndarray) -> tuple[float, float, float, float]:
    """Left, top, right and bottom of a box in px."""
    depth = box.path.count(".")
    sides = []
    for i in box.members:
        node, walls = sketch.nodes[i], sketch.nodes[i].group.count(".") - depth + 1
        half = max(node.half_width, node.below / 2)
        sides.append(
            (
                where[i, 0] - half - PAD * walls,
                where[i, 1] - node.half_height - (PAD + TITLE) * walls + 6.0,
                where[i, 0] + half + PAD * walls,
                where[i, 1] + node.half_height + (17.0 if node.below else 0.0) + PAD * walls - 2.0,
            )
        )
    left, top, right, bottom = np.array(sides).T
    title = 7.0 * len(box.title) + 20.0
    return float(left.min()), float(top.min()), float(max(right.max(), left.min() + title)), float(bottom.max())
