"""Grid: one cell for every node near its position, with boxes as rectangles of cells, which overlap only if nested."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from bondgraph.render.reproducible import length
from bondgraph.render.sketch import Box, Sketch


@dataclass(frozen=True)
class Nesting:
    """Boxes as index sets: their members, and the boxes around each node.

    apart (boxes, boxes): True for pairs of boxes neither of which is inside the other.
    """

    members: tuple[np.ndarray, ...]
    around: tuple[tuple[int, ...], ...]
    apart: np.ndarray


def nesting(sketch: Sketch) -> Nesting:
    members = tuple(np.array(box.members) for box in sketch.boxes)
    around = tuple(tuple(g for g, box in enumerate(sketch.boxes) if n in box.members) for n in range(len(sketch.nodes)))
    paths = [f"{box.path}." for box in sketch.boxes]
    apart = np.array([[not (a.startswith(b) or b.startswith(a)) for b in paths] for a in paths], dtype=bool)
    return Nesting(members, around, apart)


def first_cells(sketch: Sketch, positions: np.ndarray) -> np.ndarray:
    children: dict[str, list[Box]] = {}
    for box in sketch.boxes:
        children.setdefault(box.parent, []).append(box)

    def fill(path: str) -> dict[int, tuple[int, int]]:
        parts = [{i: (0, 0)} for i, node in enumerate(sketch.nodes) if node.group == path]
        parts += [fill(box.path) for box in children.get(path, [])]
        targets = [positions[list(part)].mean(axis=0) for part in parts]
        sizes = [(max(x for x, _ in p.values()) + 1, max(y for _, y in p.values()) + 1) for p in parts]
        corners = _place(np.array(targets).reshape(-1, 2), sizes)
        return {
            node: (x + corner[0], y + corner[1])
            for part, corner in zip(parts, corners, strict=True)
            for node, (x, y) in part.items()
        }

    cell_of = fill("")
    return np.array([cell_of[i] for i in range(len(sketch.nodes))], dtype=int).reshape(-1, 2)


def place_parts(cells: np.ndarray, parts: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return the parts (k, 2) at the cells (parts, 2) of a coarse grid whose columns and rows are as wide as their contents."""
    sizes = np.array([part.max(axis=0) + 1 for part in parts]).reshape(-1, 2)
    corners = np.zeros_like(sizes)
    for axis in (0, 1):
        columns, size = cells[:, axis] - cells[:, axis].min(initial=0), sizes[:, axis]
        widths = np.zeros(columns.max(initial=0) + 1, dtype=int)
        np.maximum.at(widths, columns, size)
        starts = np.concatenate([[0], np.cumsum(widths)])
        corners[:, axis] = starts[columns] + (widths[columns] - size) // 2
    return [part + corner for part, corner in zip(parts, corners, strict=True)]


def _place(targets: np.ndarray, sizes: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return corners of rectangles of cells, placed near their targets on free cells, largest first; the minimum is (0, 0)."""
    taken: set[tuple[int, int]] = set()
    corners = [(0, 0)] * len(sizes)
    middle = targets.mean(axis=0) if len(targets) else np.zeros(2)
    areas = [-width * height for width, height in sizes]
    order = sorted(range(len(sizes)), key=lambda i: (areas[i], round(float(length(targets[i] - middle)), 6), i))
    for i in order:
        width, height = sizes[i]
        target = targets[i] - (np.array([width, height]) - 1) / 2
        corners[i] = next(corner for corner in _around(target) if not taken & _cells(corner, width, height))
        taken |= _cells(corners[i], width, height)
    left = min((x for x, _ in corners), default=0)
    top = min((y for _, y in corners), default=0)
    return [(x - left, y - top) for x, y in corners]


def _cells(corner: tuple[int, int], width: int, height: int) -> set[tuple[int, int]]:
    return {(corner[0] + i, corner[1] + j) for i in range(width) for j in range(height)}


def _around(target: np.ndarray) -> Iterator[tuple[int, int]]:
    x0, y0 = round(float(target[0])), round(float(target[1]))
    for ring in itertools.count():
        span = range(-ring, ring + 1)
        points = [(x0 + i, y0 + j) for i in span for j in span if max(abs(i), abs(j)) == ring]
        yield from sorted(points, key=lambda p: (round((p[0] - target[0]) ** 2 + (p[1] - target[1]) ** 2, 6), p))


def without_gaps(cells: np.ndarray) -> np.ndarray:
    return np.stack([np.unique(cells[:, axis], return_inverse=True)[1] for axis in (0, 1)], axis=1)
