"""Rounding noise of rates and powers, measured by differences between almost equal states.

At states on a line, spaced by about 2^-45 of their size, exact rates differ from a parabola by far less than their
rounding errors. Third and fourth differences remove the parabola; independent errors of size sigma leave sqrt(20) sigma
and sqrt(70) sigma (binomial weights). The result includes rounding errors inside the formulas, and rounding errors of their
arguments. Numbers much larger than the states round more coarsely, which shows only at larger distances; there, fourth
differences far smaller than the third show that values are smooth. A jump or kink of the rates is not noise: it breaks a line in
one interval, and each longer line in its first. Points are evaluated one by one or in SIMD lanes.
"""

from __future__ import annotations

import numpy as np

from bondgraph.emit.kernel_language.language import Kernel, Reals, finite, inline, larger, smaller, sqrt
from bondgraph.run.accuracy.fields import POINTS, SPANS, Control
from bondgraph.run.kernel_functions import formula_time

TIME_PART, CLOCK_SPAN, NOISE_RATIO = 0.7, 2.0**-50, 0.25
"""Factor on the spacing of the points in time, and its smallest value before this factor, relative to the clock of the formulas,
so that a late start shows the rounding errors of time; smallest ratio of the estimate from fourth differences to the estimate
from third differences that counts as noise."""
BREAK, HIGHER = 1e-2, 1e3
"""Largest ratio of the estimate without the third differences across one interval to the estimate with them, if the values are
smooth on both sides of a break; ratio to the estimates from shorter lines above which a
line has met a new break."""
THIRD, FOURTH = float(np.sqrt(20.0)), float(np.sqrt(70.0))
_GOLDEN = 0.6180339887498949


def directions(n: int) -> np.ndarray:
    return np.asarray(0.5 + (_GOLDEN * (1.0 + np.arange(n))) % 1.0)


def rounding(w: Control, t: float, x: Reals, m: Reals) -> None:
    n, scales, sigma = w.n, w.scales, w.sigma
    width = n + w.quadratures
    for i in range(n):
        scales[i] = larger(abs(x[i]), larger(w.size[i], w.scale[i]))
    for i in range(width):
        sigma[i], w.unbroken[i], w.broken[i] = 0.0, 0.0, 0.0
    if w.lanes == 0:
        points_in_turn(w, t, x, m)
    else:
        points_in_lanes(w, t, x, m)
    for number, span in enumerate(SPANS):
        noise_estimates(w, w.points[width * (number * POINTS) :])
        for i in range(width):
            if is_rough(w, i, span == SPANS[0]):
                if span == SPANS[-1]:
                    w.broken[i] = float(w.broken[i] == 1.0 and is_first_broken(w, i))
                else:
                    add_line(w, i)
    for i in range(width):
        if w.broken[i] == 1.0:
            sigma[i] = w.unbroken[i]


def is_rough(w: Control, i: int, shortest: bool) -> bool:
    third, fourth = w.third[i], w.fourth[i]
    return finite(third) and finite(fourth) and smaller(third, fourth) > 0.0 and (shortest or fourth > third * NOISE_RATIO)


@inline
def is_first_broken(w: Control, i: int) -> bool:
    return w.rest[i] <= w.third[i] * BREAK and w.interval[i] == 1.0


def add_line(w: Control, i: int) -> None:
    """Raise the noise of component i to the estimates from a rough line: with all its differences (`sigma`), and, while one break
    explains the lines so far (`broken`), without those across the break (`unbroken`). The longest line shows only whether a
    break is a single one or a step of coarse rounding."""
    rest, before, estimate = w.rest[i], w.sigma[i], smaller(w.third[i], w.fourth[i])
    w.sigma[i] = larger(before, estimate)
    if rest <= w.third[i] * BREAK and estimate > before * HIGHER:
        w.unbroken[i], w.broken[i] = larger(before, rest), 1.0
    elif w.broken[i] == 1.0 and is_first_broken(w, i):
        w.unbroken[i] = larger(w.unbroken[i], rest)
    else:
        w.broken[i] = 0.0


def set_apart(w: Control, span: float) -> None:
    scales, apart = w.scales, w.apart
    for i in range(w.n):
        apart[i] = span * scales[i] * w.directions[i]


@inline
def time_apart(w: Control, t: float, span: float) -> float:
    return larger(span * larger(abs(t), w.longest), CLOCK_SPAN * abs(w.origin + t)) * TIME_PART


def points_in_turn(w: Control, t: float, x: Reals, m: Reals) -> None:
    n, apart, moved, width = w.n, w.apart, w.moved, w.n + w.quadratures
    for number, span in enumerate(SPANS):
        set_apart(w, span)
        for k in range(POINTS):
            far, row = float(k), w.points[(k + number * POINTS) * width :]
            for i in range(n):
                moved[i] = x[i] + far * apart[i]
            time = formula_time(w, t + time_apart(w, t, span) * far)
            if w.rates_and_powers is not None:  # steps use this kernel, which rounds in its own way
                w.rates_and_powers(time, moved, w.p, m, row)
            else:
                w.rates(time, moved, w.p, m, row)
                if w.quadratures > 0:
                    w.powers(time, moved, w.p, m, row[n:])


def points_in_lanes(w: Control, t: float, x: Reals, m: Reals) -> None:
    apart, lanes, wide_x = w.apart, w.lanes, w.wide_x
    broadcast(w.p, w.wide_p, w.parameters, lanes)
    broadcast(m, w.wide_m, w.modes, lanes)
    filled, done = 0, 0
    for span in SPANS:
        set_apart(w, span)
        for k in range(POINTS):
            far = float(k)
            w.wide_t[filled] = formula_time(w, t + time_apart(w, t, span) * far)
            for i in range(w.n):
                wide_x[i * lanes + filled] = x[i] + far * apart[i]
            filled += 1
            if filled == lanes:
                evaluate_lanes(w, done, lanes)
                done += lanes
                filled = 0
    if filled > 0:
        evaluate_lanes(w, done, filled)


def broadcast(values: Reals, wide: Reals, count: int, lanes: int) -> None:
    for i in range(count):
        for lane in range(lanes):
            wide[i * lanes + lane] = values[i]


def evaluate_lanes(w: Control, done: int, count: int) -> None:
    width = w.n + w.quadratures
    evaluate_kernel(w, w.wide_rates, w.points[done * width :], w.n, count)
    if w.quadratures > 0:
        evaluate_kernel(w, w.wide_powers, w.points[done * width + w.n :], w.quadratures, count)


def evaluate_kernel(w: Control, kernel: Kernel, points: Reals, length: int, count: int) -> None:
    out, lanes, width = w.wide_out, w.lanes, w.n + w.quadratures
    kernel(w.wide_t, w.wide_x, w.wide_p, w.wide_m, out)
    for lane in range(count):
        for i in range(length):
            points[lane * width + i] = out[i * lanes + lane]


@inline
def second_difference(values: Reals, width: int) -> float:
    return (values[width * 2] - values[width]) - (values[width] - values[0])


@inline
def third_difference(values: Reals, width: int) -> float:
    return second_difference(values[width:], width) - second_difference(values, width)


def noise_estimates(w: Control, points: Reals) -> None:
    width, third, fourth = w.n + w.quadratures, w.third, w.fourth
    for i in range(width):
        of_third, of_fourth, before = 0.0, 0.0, 0.0
        for k in range(POINTS - 3):
            difference = third_difference(points[i + width * k :], width)
            of_third += difference * difference
            if k > 0:
                of_fourth += (difference - before) * (difference - before)
            before = difference
        third[i] = sqrt(of_third / float(POINTS - 3)) / THIRD
        fourth[i] = sqrt(of_fourth / float(POINTS - 4)) / FOURTH
        w.rest[i], w.interval[i] = third[i], 0.0
        while w.rest[i] > third[i] * BREAK and w.interval[i] < float(POINTS - 1):
            w.rest[i] = estimate_beside(points[i:], width, w.interval[i])
            w.interval[i] += 1.0


def estimate_beside(column: Reals, width: int, interval: float) -> float:
    """Return the estimate from the third differences of the points of a `column` that do not span an interval."""
    total, count = 0.0, 0.0
    for k in range(POINTS - 3):
        if float(k) > interval or float(k + 3) <= interval:
            difference = third_difference(column[width * k :], width)
            total += difference * difference
            count += 1.0
    return sqrt(total / count) / THIRD
