"""History of delayed signals: for each step, a polynomial through values of its dense output; look-up at earlier times.

A break at time t recurs at t + T after each delay T, one derivative higher: steps end at these times, as at breaks of formulas.
A step is no longer than the shortest delay, so it needs only the history of accepted steps.

Source: Bellen and Zennaro 2003, Numerical Methods for Delay Differential Equations, 2.1 and 4.1.
"""

from __future__ import annotations

import math
from typing import Annotated

from bondgraph.emit.kernel_language.language import Ints, Kernels, Length, Reals, Table, unrolled

NODES = (
    0.0,
    1.0,
    0.6112604669781572,
    0.1882550990706332,
    0.8117449009293667,
    0.3887395330218428,
    0.9504844339512095,
    0.0495155660487904,
)
"""Fractions of a step at which a delayed signal is evaluated: Chebyshev-Lobatto points for degree 7, the degree of the
best dense output, each far from its predecessors (Leja), so that divided differences are accurate."""
NEVER = 1 << 60
"""Row number of a break that has not happened yet."""
SMOOTH = 10
"""Number of delays after which a break is ignored, unless `direct`: each delay raises the smoothness by one derivative."""

PerDelay = Annotated[Reals, Length(lambda d: d.count)]
PerDelayIndex = Annotated[Ints, Length(lambda d: d.count)]


class DelayTable(Table):
    """Table of the delays of a run.

    Each step is a row: `starts` (room + 1,) are the starts of the steps and the end of the last step; `levels` (room,) are 1 for
    a step that starts at a break, 1 more after each delay of the break, and 0 for other steps; `values` (room, count, nodes) are
    the divided differences of each signal.
    """

    # For each delay: kernel that replaces its state by its signal, and index of this state; delay, s; row of the last look-up;
    # rows that start at the last and the next break, between which it looks; time at which it reaches the next break.
    sources: Kernels
    places: PerDelayIndex
    spans: PerDelay
    rows: PerDelayIndex
    passed: PerDelayIndex
    ahead: PerDelayIndex
    following: Reals
    nodes: Reals
    starts: Reals
    levels: Ints
    values: Reals
    x: Annotated[Reals, Length(lambda d: d.n)]

    n: int
    count: int
    # First row of the delays among the rows of the clocks; number of filled rows, and capacity for rows; level of the next row;
    # True if a delayed signal may depend directly on another delayed signal, so that its breaks never become smooth.
    first_clock: int
    filled: int
    room: int
    level: int
    direct: bool


def look_back(d: DelayTable, t: float, y: Reals) -> None:
    """Write the signals at the times t - T into the states of their delays T."""
    for k in range(d.count):
        time = t - d.spans[k]
        first, last = d.passed[k], (d.ahead[k] if d.ahead[k] < d.filled else d.filled) - 1
        row = d.rows[k]
        row = first if row < first else (last if row > last else row)
        while row < last and d.starts[row + 1] <= time:
            row += 1
        while row > first and d.starts[row] > time:
            row -= 1
        d.rows[k] = row
        start = d.starts[row]
        theta = (time - start) / (d.starts[row + 1] - start)
        c = d.values[(row * d.count + k) * 8 :]
        value = c[7]
        for j in unrolled(range(6, -1, -1)):
            value = value * (theta - NODES[j]) + c[j]
        y[d.places[k]] = value


def look_back_at(d: DelayTable, t: Reals, y: Reals) -> None:
    """Call `look_back` at time t[0] for callers that know only the address."""
    look_back(d, t[0], y)


def fit(c: Reals) -> None:
    """Replace values at the nodes by their divided differences (Newton)."""
    for order in unrolled(range(1, 8)):
        for j in unrolled(range(7, order - 1, -1)):
            c[j] = (c[j] - c[j - 1]) / (NODES[j] - NODES[j - order])


def mark_break(d: DelayTable, level: int) -> None:
    capped = (SMOOTH if d.direct else 0) if level > SMOOTH else level
    if capped > 0 and (d.level == 0 or capped < d.level):
        d.level = capped


def pass_break(d: DelayTable, k: int) -> None:
    row = d.ahead[k]
    mark_break(d, d.levels[row] + 1)
    d.passed[k] = row
    row += 1
    while row < d.filled and d.levels[row] == 0:
        row += 1
    d.ahead[k] = row if row < d.filled else NEVER
    d.following[k] = d.starts[row] + d.spans[k] if row < d.filled else math.inf


def add_row(d: DelayTable, start: float, end: float) -> None:
    """Add a row from `start` to `end`, whose values at the nodes are already in place."""
    row = d.filled
    for k in range(d.count):
        fit(d.values[(row * d.count + k) * 8 :])
        if d.level > 0 and d.ahead[k] == NEVER:
            d.ahead[k] = row
            d.following[k] = start + d.spans[k]
    d.starts[row] = start
    d.starts[row + 1] = end
    d.levels[row] = d.level
    d.level = 0
    d.filled = row + 1
