"""Machine code that computes the cost of a drawing on the grid, tests whether it is valid, and finds the best move of a node.

A search evaluates hundreds of thousands of drawings. Without LLVM, CPython runs the same functions, far more slowly.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np

from bondgraph.emit.cached_build import build_once
from bondgraph.emit.kernel import address_of
from bondgraph.emit.kernel_language.language import Ints, Reals, Table, inline, larger, smaller, sqrt
from bondgraph.emit.kernel_language.translate import translate
from bondgraph.emit.llvm import Library, compile_written
from bondgraph.emit.machine import have_llvm
from bondgraph.emit.procedure import Procedure, cold
from bondgraph.render.layout.cost import Prices
from bondgraph.render.layout.grid import Nesting
from bondgraph.render.reproducible import Noise

REACH_X, REACH_Y = 0.46, 0.34
"""Semi-axes, in cells, of the ellipse around a node that an edge should not touch."""
WINDOW = np.array([(i, j) for i in range(-3, 4) for j in range(-3, 4) if abs(i) + abs(j) <= 4], dtype=float)
"""Offsets of cells to which a node may move; near offsets are also tried around the middle of its neighbours."""
_ROUNDING, _DIGITS, _FAR = 6755399441055744.0, 1e9, 1e300
"""Number 1.5 * 2^52, which rounds a smaller number to an integer when added and subtracted; ten to the power of the decimals of a
cost; a number beyond all cells."""


class BoardTable(Table):
    """Edges with costs, boxes, and offsets of candidate cells.

    starts, incident: indices at which the edges of each node begin, and these edges. inside (boxes, nodes): 1 for the nodes of a
    box. apart (boxes, boxes): 1 if neither box contains the other. offsets: `wide` offsets around a node, then `near` offsets
    around the middle of its neighbours. spans: left, right, top and bottom of each box. p, q: nodes of the edge under
    examination, in the cells (px, py) and (qx, qy).
    """

    tails: Ints
    heads: Ints
    length: Reals
    slant: Reals
    cross: Reals
    forward: Reals
    passing: Reals
    loose: Ints
    starts: Ints
    incident: Ints
    inside: Ints
    apart: Ints
    offsets: Reals
    spans: Reals
    candidates: Reals
    nodes: int
    edges: int
    boxes: int
    wide: int
    near: int
    p: int
    q: int
    px: float
    py: float
    qx: float
    qy: float


class Board:
    """Costs and moves of drawings with given edges and boxes; cells are whole numbers, stored as floats."""

    def __init__(self, price: Prices, boxes: Nesting):
        count, ends = len(boxes.around), (price.tails, price.heads)
        at = [np.flatnonzero((ends[0] == node) | (ends[1] == node)) for node in range(count)]
        inside = np.zeros((len(boxes.members), count), dtype=np.int64)
        for row, members in zip(inside, boxes.members, strict=True):
            row[members] = 1
        near = WINDOW[np.abs(WINDOW).sum(axis=1) <= 2]
        offsets = np.concatenate([WINDOW, near])
        rows = {
            **{field.name: getattr(price, field.name) for field in fields(price)},
            "starts": np.cumsum([0, *map(len, at)]),
            "incident": np.concatenate([np.zeros(0, dtype=np.int64), *at]),
            **{"inside": inside, "apart": boxes.apart, "offsets": offsets},
            **{"spans": np.zeros(4 * len(inside)), "candidates": np.zeros(2 * len(offsets))},
        }
        numbers = {"nodes": count, "edges": len(ends[0]), "boxes": len(inside), "wide": len(WINDOW), "near": len(near)}
        self._arrays = {name: _flat(array) for name, array in rows.items()}
        self._table: Any = BoardTable(**{name: _view(array) for name, array in self._arrays.items()}, **numbers)
        values = {**numbers, **{name: address_of(array) for name, array in self._arrays.items()}}
        self._memory = np.array([values.get(name, 0) for name in BoardTable.layout()], dtype=np.int64)

    def _call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        if have_llvm():
            passed = [address_of(each) if isinstance(each, np.ndarray) else each for each in arguments]
            return _functions()[function.__name__](address_of(self._memory), *passed)
        return function(self._table, *(_view(each.reshape(-1)) if isinstance(each, np.ndarray) else each for each in arguments))

    def _of_trials(self, function: Callable[..., None], trials: np.ndarray, length: int = 1) -> np.ndarray:
        results = np.zeros((len(trials), length))
        self._call(function, np.ascontiguousarray(trials, dtype=float), len(trials), results)
        return results

    def lower_bounds(self, trials: np.ndarray) -> np.ndarray:
        """Return the costs of many drawings (k, n, 2), not counting crossings and touches, which take longer to find."""
        edges, boxes = self._table.edges, self._table.boxes
        rows = self._of_trials(find_parts, trials, edges + boxes)
        costs = rows[:, :edges].sum(axis=1)
        for g in range(boxes):
            costs += rows[:, edges + g]
        return np.asarray(costs)

    def total_costs(self, trials: np.ndarray) -> np.ndarray:
        return np.asarray(self.lower_bounds(trials) + self._of_trials(find_faults, trials)[:, 0])

    def are_valid(self, trials: np.ndarray) -> np.ndarray:
        """Return a mask (k,) of drawings (k, n, 2) in which every cell holds at most one node, every box only its own nodes,
        and boxes do not overlap unless one is inside the other."""
        return self._of_trials(find_valid, trials)[:, 0] > 0.0

    def total_cost(self, cells: np.ndarray) -> float:
        return float(self.total_costs(cells[None])[0])

    def move(self, node: int, cells: np.ndarray, temperature: float, noise: Noise) -> None:
        """Move one node, in place, to the best free cell near it or the middle of its neighbours, or, at a temperature above
        zero, possibly to a worse cell."""
        noise.skip(self._call(best_move, cells, node, temperature, noise.ahead(5 * len(self._table.candidates))))


def _flat(array: np.ndarray) -> np.ndarray:
    return np.array(array, dtype=float if array.dtype.kind == "f" else np.int64).reshape(-1)


def _view(array: Any) -> memoryview:
    """Return a memory view of an array, which CPython reads and writes three times as fast as the array."""
    return memoryview(array)


@build_once
def machine_code() -> Library:
    return compile_written(procedures)


def procedures() -> list[Procedure]:
    return cold(translate(EXPORTED, [function.__name__ for function in EXPORTED]))


@build_once
def _functions() -> dict[str, Any]:
    pointer, integer, number = ctypes.c_void_p, ctypes.c_int64, ctypes.c_double
    of_trials = ctypes.CFUNCTYPE(None, pointer, pointer, integer, pointer)
    moving = ctypes.CFUNCTYPE(integer, pointer, pointer, integer, number, pointer)
    return {
        function.__name__: (moving if function is best_move else of_trials)(machine_code().address(function.__name__))
        for function in EXPORTED
    }


def best_move(b: BoardTable, cells: Reals, node: int, temperature: float, draws: Reals) -> int:
    """Move a node to the candidate cell of lowest cost, after subtracting noise in proportion to the temperature.

    Return the number of random numbers used: five for each candidate, none at the temperature zero.
    """
    for g in range(b.boxes):
        find_span(b, cells, g, node)
    first, end, x, y = b.starts[node], b.starts[node + 1], 0.0, 0.0
    count = offer(b, cells, node, cells[2 * node], cells[2 * node + 1], 0, b.wide, 0)
    if end > first:
        for k in range(first, end):
            other = other_end(b, b.incident[k], node)
            x += cells[2 * other]
            y += cells[2 * other + 1]
        x, y = rounded(x / float(end - first)), rounded(y / float(end - first))
        count = offer(b, cells, node, x, y, b.wide, b.wide + b.near, count)
    best, least, used = -1, 0.0, 0
    for k in range(count):
        cost = node_cost(b, cells, node, b.candidates[2 * k], b.candidates[2 * k + 1])
        if temperature > 0.0:
            total = draws[k] + draws[count + k] + draws[2 * count + k] + draws[3 * count + k] + draws[4 * count + k]
            cost -= temperature * (2.0 * (total - 2.5))
            used = 5 * count
        cost = rounded(cost * _DIGITS)
        if best < 0 or cost < least:
            best, least = k, cost
    if best >= 0:
        cells[2 * node] = b.candidates[2 * best]
        cells[2 * node + 1] = b.candidates[2 * best + 1]
    return used


@inline
def rounded(x: float) -> float:
    return (x + _ROUNDING) - _ROUNDING


@inline
def other_end(b: BoardTable, edge: int, node: int) -> int:
    return b.heads[edge] if b.tails[edge] == node else b.tails[edge]


def offer(b: BoardTable, cells: Reals, node: int, x: float, y: float, first: int, end: int, before: int) -> int:
    count = before
    for k in range(first, end):
        across, down = x + b.offsets[2 * k], y + b.offsets[2 * k + 1]
        if is_free(b, cells, node, across, down):
            b.candidates[2 * count] = across
            b.candidates[2 * count + 1] = down
            count += 1
    return count


def find_span(b: BoardTable, cells: Reals, g: int, node: int) -> None:
    left, right, top, bottom = _FAR, -_FAR, _FAR, -_FAR
    for m in range(b.nodes):
        if b.inside[g * b.nodes + m] == 1 and m != node:
            left, right = smaller(left, cells[2 * m]), larger(right, cells[2 * m])
            top, bottom = smaller(top, cells[2 * m + 1]), larger(bottom, cells[2 * m + 1])
    spans = b.spans[4 * g :]
    spans[0], spans[1], spans[2], spans[3] = left, right, top, bottom


def is_free(b: BoardTable, cells: Reals, node: int, x: float, y: float) -> int:
    """Return 1 if a cell is free and every box, with `spans` that exclude the node, still holds only its own nodes and overlaps
    no separate box."""
    for m in range(b.nodes):
        if cells[2 * m] == x and cells[2 * m + 1] == y and m != node:
            return 0
    for g in range(b.boxes):
        inside, spans = b.inside[g * b.nodes :], b.spans[4 * g :]
        left, right, top, bottom = spans[0], spans[1], spans[2], spans[3]
        if inside[node] == 0:
            if left <= x and x <= right and top <= y and y <= bottom:
                return 0
        elif left <= right:
            left, right, top, bottom = smaller(left, x), larger(right, x), smaller(top, y), larger(bottom, y)
            if holds_others(b, cells, g, left, right, top, bottom) == 1:
                return 0
            for h in range(b.boxes):
                span = b.spans[4 * h :]
                overlap = span[0] <= right and left <= span[1] and span[2] <= bottom and top <= span[3]
                if overlap and b.apart[g * b.boxes + h] == 1:
                    return 0
    return 1


def holds_others(b: BoardTable, cells: Reals, g: int, left: float, right: float, top: float, bottom: float) -> int:
    for m in range(b.nodes):
        x, y = cells[2 * m], cells[2 * m + 1]
        if left <= x and x <= right and top <= y and y <= bottom and b.inside[g * b.nodes + m] == 0:
            return 1
    return 0


def find_valid(b: BoardTable, trials: Reals, count: int, results: Reals) -> None:
    for k in range(count):
        results[k] = float(is_valid(b, trials[2 * b.nodes * k :]))


def is_valid(b: BoardTable, cells: Reals) -> int:
    for m in range(b.nodes):
        for n in range(m):
            if cells[2 * m] == cells[2 * n] and cells[2 * m + 1] == cells[2 * n + 1]:
                return 0
    for g in range(b.boxes):
        find_span(b, cells, g, -1)
        spans = b.spans[4 * g :]
        if holds_others(b, cells, g, spans[0], spans[1], spans[2], spans[3]) == 1:
            return 0
        for h in range(g):
            span = b.spans[4 * h :]
            overlap = span[0] <= spans[1] and spans[0] <= span[1] and span[2] <= spans[3] and spans[2] <= span[3]
            if overlap and b.apart[g * b.boxes + h] == 1:
                return 0
    return 1


def find_parts(b: BoardTable, trials: Reals, count: int, results: Reals) -> None:
    for k in range(count):
        cells, costs = trials[2 * b.nodes * k :], results[(b.edges + b.boxes) * k :]
        for e in range(b.edges):
            tail, head = 2 * b.tails[e], 2 * b.heads[e]
            costs[e] = edge_cost(b, e, cells[head] - cells[tail], cells[head + 1] - cells[tail + 1])
        for g in range(b.boxes):
            find_span(b, cells, g, -1)
            spans = b.spans[4 * g :]
            costs[b.edges + g] = 0.25 * (spans[1] - spans[0] + spans[3] - spans[2])


def find_faults(b: BoardTable, trials: Reals, count: int, results: Reals) -> None:
    for k in range(count):
        results[k] = faults(b, trials[2 * b.nodes * k :])


def faults(b: BoardTable, cells: Reals) -> float:
    """Return the cost of crossings and of edges that touch nodes, except of edges inside blocks, which no move changes."""
    cost = 0.0
    for e in range(b.edges):
        b.p, b.q = b.tails[e], b.heads[e]
        b.px, b.py, b.qx, b.qy = cells[2 * b.p], cells[2 * b.p + 1], cells[2 * b.q], cells[2 * b.q + 1]
        if b.loose[e] == 1:
            cost += b.passing[e] * touches_of_edge(b, cells)
        for r in range(e):
            if b.loose[e] == 1 or b.loose[r] == 1:
                cost += crossing_cost(b, cells, e, r)
    return cost


def node_cost(b: BoardTable, cells: Reals, node: int, x: float, y: float) -> float:
    cost = 0.0
    for r in range(b.edges):
        tail, head = b.tails[r], b.heads[r]
        if tail != node and head != node:
            depth = touch(cells[2 * tail], cells[2 * tail + 1], cells[2 * head], cells[2 * head + 1], x, y)
            cost += b.passing[r] * depth
    b.p, b.px, b.py = node, x, y
    for k in range(b.starts[node], b.starts[node + 1]):
        e = b.incident[k]
        b.q = other_end(b, e, node)
        b.qx, b.qy = cells[2 * b.q], cells[2 * b.q + 1]
        sign = 1.0 if b.tails[e] == node else -1.0
        cost += edge_cost(b, e, sign * (b.qx - x), sign * (b.qy - y))
        for r in range(b.edges):
            cost += crossing_cost(b, cells, e, r)
        cost += b.passing[e] * touches_of_edge(b, cells)
    for g in range(b.boxes):
        spans = b.spans[4 * g :]
        if b.inside[g * b.nodes + node] == 1 and spans[0] <= spans[1]:
            width, height = larger(spans[1], x) - smaller(spans[0], x), larger(spans[3], y) - smaller(spans[2], y)
            cost += 0.25 * (width + height)
    return cost


@inline
def edge_cost(b: BoardTable, e: int, dx: float, dy: float) -> float:
    """Return the cost of an edge by itself; (dx, dy) runs from tail to head."""
    x, y = abs(dx), abs(dy)
    slanting = smaller(x, y)
    slant = 0.7 + 0.25 * slanting if slanting > 0.0 else 0.0
    return b.length[e] * (sqrt(x * x + 1.2544 * y * y) + 0.06 * (x + y) * sqrt(x + y)) + b.slant[e] * slant - b.forward[e] * dx


def crossing_cost(b: BoardTable, cells: Reals, e: int, r: int) -> float:
    tail, head, cost = b.tails[r], b.heads[r], 0.0
    if tail != b.p and tail != b.q and head != b.p and head != b.q:
        px, py, dx, dy = b.px, b.py, b.qx - b.px, b.qy - b.py
        rx, ry, sx, sy = cells[2 * tail], cells[2 * tail + 1], cells[2 * head], cells[2 * head + 1]
        if (dx * (ry - py) - dy * (rx - px)) * (dx * (sy - py) - dy * (sx - px)) < -1e-9:
            ex, ey = sx - rx, sy - ry
            if (ex * (py - ry) - ey * (px - rx)) * (ex * (b.qy - ry) - ey * (b.qx - rx)) < -1e-9:
                cost = smaller(b.cross[e], b.cross[r])
    return cost


def touches_of_edge(b: BoardTable, cells: Reals) -> float:
    depth = 0.0
    for m in range(b.nodes):
        if m != b.p and m != b.q:
            depth += touch(b.px, b.py, b.qx, b.qy, cells[2 * m], cells[2 * m + 1])
    return depth


@inline
def touch(px: float, py: float, qx: float, qy: float, x: float, y: float) -> float:
    """Return how deep the segment from p to q cuts into a node's ellipse: 0 outside, 0.5 at its edge, 1 at its centre."""
    ax, ay, dx, dy = (px - x) / REACH_X, (py - y) / REACH_Y, (qx - px) / REACH_X, (qy - py) / REACH_Y
    along = smaller(larger(-(ax * dx + ay * dy) / larger(dx * dx + dy * dy, 1e-12), 0.0), 1.0)
    across, down = ax + along * dx, ay + along * dy
    inside = 1.0 - across * across - down * down
    return 0.5 + 0.5 * inside if inside > 0.0 else 0.0


EXPORTED = (best_move, find_parts, find_faults, find_valid)
