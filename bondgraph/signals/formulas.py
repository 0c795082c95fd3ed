"""Formulas of the signal blocks: one operation for each kind of block, with its LaTeX.

Blocks of one kind share one operation, so that a large model runs them in one loop.
"""

from __future__ import annotations

import math
import operator
from functools import cache, reduce
from typing import Any

import numpy as np

from bondgraph.model.ops import Op
from screws.scalars import absolute, array, cos, equal, floor, interpolate, less, log, maximum, minimum, sin, sqrt, where

SMOOTH = (0.0, 0.0, 0.0, 10.0, -15.0, 6.0)
"""Coefficients, lowest power first, of s^3 (10 - 15 s + 6 s^2), which starts and ends without speed or acceleration."""


def _clipped(u: Any, lowest: Any, highest: Any) -> Any:
    return minimum(maximum(u, lowest), highest)


def _quintic(t: Any, start: Any, duration: Any, before: Any, after: Any) -> Any:
    s = _clipped((t - start) / duration, 0.0, 1.0)
    cubic, quartic, quintic = SMOOTH[3:]
    return before + (after - before) * (s * s * s * (cubic + s * (quartic + quintic * s)))


def _canonical_rate(x: Any, u: Any, den: Any) -> Any:
    feedback = sum(den[len(x) - k] * x[k] for k in range(len(x)))
    return array([*x[1:], (u - feedback) / den[0]])


def _canonical_result(derivatives: Any, num: Any) -> Any:
    return sum(c * derivatives[k] for k, c in enumerate(num[::-1]))


@cache
def matrix_times(count: int, single: bool) -> Op:
    """Return the operation (M, u1, u2 ...) -> M u with `count` inputs, numbers or one vector, which gives a number for a
    `single` row."""

    def formula(matrix: Any, *u: Any) -> Any:
        result = matrix @ (u[0] if count == 1 and np.ndim(u[0]) else array([*u]))
        return result[0] if single else result

    return Op("matrix times", formula, rf"#1\,{_stacked(2, count)}")


@cache
def state_space(count: int, single: bool) -> Op:
    """Return the operation (x, N, M, u1, u2 ...) -> N x + M u, with inputs as in `matrix_times`."""
    of_state, of_input = matrix_times(1, single), matrix_times(count, single)

    def formula(x: Any, first: Any, second: Any, *u: Any) -> Any:
        return of_state.function(first, x) + of_input.function(second, *u)

    return Op("state space", formula, rf"#2\,#1 + #3\,{_stacked(4, count)}")


def _stacked(first: int, count: int) -> str:
    rows = r" \\ ".join(f"#{k}" for k in range(first, first + count))
    return rows if count == 1 else rf"\begin{{pmatrix}} {rows} \end{{pmatrix}}"


@cache
def product(count: int) -> Op:
    return Op("product", lambda *factors: reduce(operator.mul, factors), r"\,".join(f"#{k + 1}" for k in range(count)))


@cache
def weighted(count: int) -> Op:
    latex = " + ".join(rf"#{k + 1}\,#{k + 1 + count}" for k in range(count))
    return Op("weighted sum", lambda *a: sum(k * u for k, u in zip(a[:count], a[count:], strict=True)), latex)


@cache
def logic(relation: str, count: int) -> Op:
    """Return the operation (u1, u2 ...) -> 1 if all ("and") or any ("or") of the signals are above 1/2, else 0."""
    choose, sign = (minimum, r" \land ") if relation == "and" else (maximum, r" \lor ")
    latex = sign.join(f"#{k + 1}" for k in range(count))
    return Op(relation, lambda *signals: where(less(0.5, reduce(choose, signals)), 1.0, 0.0), latex)


@cache
def lookup(points: tuple[float, ...]) -> Op:
    knots = array(points)

    def formula(u: Any, values: Any) -> Any:
        return interpolate(u, knots, values)

    return Op("table", formula, TABLE_LATEX)


TABLE_LATEX = r"\operatorname{table}\left(#1\right)"


LIMITER = Op("limiter", _clipped, r"\min\left(\max\left(#1, #2\right), #3\right)")
DEAD_ZONE = Op("dead zone", lambda u, low, high: u - _clipped(u, low, high), r"#1 - \min\left(\max\left(#1, #2\right), #3\right)")
GREATER = Op("greater", lambda u, level: where(less(level, u), 1.0, 0.0), r"\left[#1 > #2\right]")
NOT = Op("not", lambda u: where(less(0.5, u), 0.0, 1.0), r"\lnot #1")
LAG = Op("lag", lambda u, y, time: (u - y) / time, r"\tfrac{1}{#3}\left(#1 - (#2)\right)")
BACK_CALCULATION = Op(
    "back-calculation",
    lambda e, v, y, ki, time: e + where(equal(ki, 0.0), 0.0, (y - v) / (where(equal(ki, 0.0), 1.0, ki) * time)),
    r"#1 + \tfrac{#3 - #2}{#4\,#5}",
)
"""Operation (e, v, y, ki, Tt) -> rate of the integral of a PID whose output v is limited to y; the rate is e if ki is zero."""
RATIO = Op("ratio", lambda u, num, den: num[0] / den[0] * u, r"\tfrac{(#2)_1}{(#3)_1}\,#1")
CANONICAL_RATE = Op(
    "canonical rate",
    _canonical_rate,
    r"\left(x_2, \ldots, x_n, \tfrac{1}{a_n}\left(#2 - \textstyle\sum_{k=0}^{n-1} a_k x_{k+1}\right)\right),"
    r"\quad x = #1,\quad (a_n, \ldots, a_0) = #3",
)
CANONICAL_RESULT = Op(
    "canonical result",
    lambda x, rate, num: _canonical_result([*x, rate[-1]], num),
    r"\textstyle\sum_{k=0}^{m} b_k z_k,\quad z = (#1, (#2)_n),\quad (b_m, \ldots, b_0) = #3",
)
CANONICAL_RESULT_OF_STATE = Op(
    "canonical result", _canonical_result, r"\textstyle\sum_{k=0}^{m} b_k x_{k+1},\quad x = #1,\quad (b_m, \ldots, b_0) = #2"
)
"""Result of a strictly proper transfer function, through which no algebraic loop passes."""
SINE = Op(
    "sine",
    lambda t, amplitude, omega, phase, offset: offset + amplitude * sin(omega * t + phase),
    r"#5 + #2 \sin\left(#3\,#1 + #4\right)",
)
STEP = Op(
    "step",
    lambda t, start, before, after: where(less(t, start), before, after),
    r"\begin{cases} #3 & #1 < #2 \\ #4 & \text{else} \end{cases}",
)
RAMP = Op(
    "ramp", lambda t, slope, start, offset: offset + slope * maximum(t - start, 0.0), r"#4 + #2 \max\left(#1 - (#3), 0\right)"
)
RAMP_TO = Op(
    "ramp",
    lambda t, slope, start, offset, end: offset + slope * (_clipped(t, start, end) - start),
    r"#4 + #2 \left(\min\left(\max\left(#1, #3\right), #5\right) - (#3)\right)",
)


def _period_fraction(t: Any, start: Any, period: Any) -> Any:
    count = (t - start) / period
    return count - floor(count)


def _pulse(t: Any, start: Any, width: Any, before: Any, after: Any) -> Any:
    return where(less(t, start), before, where(less(t, start + width), after, before))


def _square(t: Any, period: Any, start: Any, duty: Any, low: Any, high: Any) -> Any:
    return where(less(_period_fraction(t, start, period), duty), high, low)


PULSE = Op("pulse", _pulse, r"\begin{cases} #5 & #2 \le #1 < #2 + #3 \\ #4 & \text{else} \end{cases}")
END_OF_PULSE = Op(
    "end of the pulse",
    lambda t, duty, period: t + where(less(0.0, duty), where(less(duty, 1.0), duty, 2.0), -1.0) * period,
    r"#1 + #3 \begin{cases} -1 & #2 \le 0 \\ #2 & 0 < #2 < 1 \\ 2 & \text{else} \end{cases}",
)
SQUARE = Op(
    "square",
    _square,
    r"\begin{cases} #6 & \tau - \lfloor \tau \rfloor < #4 \\ #5 & \text{else} \end{cases},"
    r"\quad \tau = \tfrac{#1 - (#3)}{#2}",
)
SAWTOOTH = Op(
    "sawtooth",
    lambda t, period, start, low, high: low + (high - low) * _period_fraction(t, start, period),
    r"#4 + \left(#5 - (#4)\right) \left(\tau - \lfloor \tau \rfloor\right),\quad \tau = \tfrac{#1 - (#3)}{#2}",
)
SMOOTH_STEP = Op(
    "smooth step",
    _quintic,
    r"#4 + \left(#5 - (#4)\right) s^3 \left(10 - 15 s + 6 s^2\right),\quad"
    r" s = \min\left(\max\left(\tfrac{#1 - (#2)}{#3}, 0\right), 1\right)",
)


RELAY = Op(
    "relay", lambda mode, low, high: where(equal(mode, 1.0), high, low), r"\begin{cases} #3 & #1 \\ #2 & \text{else} \end{cases}"
)


def _beyond(u: Any, level: Any) -> Any:
    """Return a guard with the value 1 or -1, which fires at the start if it is positive, even if u is falling."""
    return where(less(level, u), 1.0, -1.0)


def _excess(u: Any, level: Any) -> Any:
    """Return the difference as a guard, so that short crests of u are found; it jumps at zero, so that it fires at the
    start even if u is falling."""
    return u - level + where(less(level, u), absolute(u) + absolute(level), 0.0)


EXCESS = Op("excess", _excess, r"#1 - (#2)")


_GAP = 2.0**-40
"""Distance of the guards of a quantiser from zero, relative to the input in steps, where the level does not change."""


def _number(level: Any, step: Any) -> Any:
    return floor(level / step + 0.5)


def _risen(u: Any, level: Any, step: Any) -> Any:
    return step * floor(maximum(u / step + 0.5, _number(level, step) + 1.0))


def _fallen(u: Any, level: Any, step: Any) -> Any:
    return step * floor(minimum(u / step + 0.5, _number(level, step) - 0.5))


# Guards and new levels compare the same u / step + 1/2, so that rounding cannot fire a guard without a change of level. Guards
# are distances, so that short crests of u are found. They jump at zero: a guard that has fired is positive, and one that has not
# is negative by more than rounding error.
def _above(u: Any, level: Any, step: Any) -> Any:
    place, edge = u / step + 0.5, _number(level, step) + 1.0
    return place - edge + where(less(place, edge), -_GAP * (absolute(place) + 1.0), 1.0)


def _below(u: Any, level: Any, step: Any) -> Any:
    place, edge = u / step + 0.5, _number(level, step)
    return edge - place + where(less(place, edge), 1.0, -_GAP * (absolute(place) + 1.0))


ABOVE = Op("above", _above, r"\tfrac{#1 - #2}{#3} - \tfrac{1}{2}")
BELOW = Op("below", _below, r"\tfrac{#2 - #1}{#3} - \tfrac{1}{2}")
_NEAREST = r"#3 \left\lfloor \tfrac{#1}{#3} + \tfrac{1}{2} \right\rfloor"
RISEN, FALLEN = Op("next level", _risen, _NEAREST), Op("previous level", _fallen, _NEAREST)


def _chirp(t: Any, amplitude: Any, omega: Any, omega_end: Any, start: Any, duration: Any, phase: Any, offset: Any) -> Any:
    swept, after = _clipped(t - start, 0.0, duration), maximum(t - start - duration, 0.0)
    angle = omega * swept + 0.5 * (omega_end - omega) * swept * swept / duration + omega_end * after
    return offset + amplitude * sin(phase + angle)


CHIRP = Op(
    "chirp",
    _chirp,
    r"#8 + #2 \sin\left(#7 + #3\,\tau + \tfrac{#4 - (#3)}{2 (#6)} \tau^2 + #4 \max\left(#1 - (#5) - #6, 0\right)\right),"
    r"\quad \tau = \min\left(\max\left(#1 - (#5), 0\right), #6\right)",
)


def _difference(
    u: Any, previous: Any, slope: Any, count: Any, period: Any, between: Any, time_constant: Any
) -> tuple[Any, Any, Any]:
    first, due = less(count, -0.5), less(count, 0.5)
    fresh = (time_constant * slope + (u - previous)) / (time_constant + between)
    ticks = maximum(count, 0.0) + 1.0
    return (
        where(first, slope, where(due, fresh, slope)),
        where(due, u, previous),
        where(less(between - 0.5 * period, ticks * period), 0.0, ticks),
    )


RATE_LIMITED = Op(
    "rate limited",
    lambda u, y, period, falling, rising: y + _clipped(u - y, falling * period, rising * period),
    r"#2 + \min\left(\max\left(#1 - (#2), #4\,#3\right), #5\,#3\right)",
)
LIMITED_RATE = Op(
    "limited rate",
    lambda mode, slope, falling, rising: where(equal(mode, 0.0), slope, where(equal(mode, 1.0), rising, falling)),
    r"\begin{cases} #2 & #1 = 0 \\ #4 & #1 = 1 \\ #3 & #1 = 2 \end{cases}",
)
_VALUE_ROUNDING, _TIME_ROUNDING = 1e-9, 1e-14
"""Fractions of a value and of the time below which a difference counts as an error of integration or of an event time, not as a
jump."""


def _slack(u: Any, y: Any, falling: Any, rising: Any, t: Any) -> Any:
    return _VALUE_ROUNDING * (absolute(u) + absolute(y)) + _TIME_ROUNDING * absolute(t) * (rising - falling)


def _value_at_meeting(past: Any, u: Any, y: Any, slack: Any) -> Any:
    """Return the value of y as y reaches u: u itself, unless u jumped `past` y."""
    return where(less(slack, past), y, u)


AHEAD = Op("ahead", lambda u, y, *rest: _beyond(u - y, _slack(u, y, *rest)), r"\operatorname{sgn}\left(#1 - (#2)\right)")
BEHIND = Op("behind", lambda u, y, *rest: _beyond(y - u, _slack(u, y, *rest)), r"\operatorname{sgn}\left(#2 - (#1)\right)")
MET_WHILE_RISING = Op("met while rising", lambda u, y, *rest: _value_at_meeting(y - u, u, y, _slack(u, y, *rest)), "#1")
MET_WHILE_FALLING = Op("met while falling", lambda u, y, *rest: _value_at_meeting(u - y, u, y, _slack(u, y, *rest)), "#1")
EXCEEDS = Op("difference", lambda slope, rate: slope - rate, "#1 - (#2)")
DIFFERENCE = Op("filtered difference", _difference, r"\tfrac{1}{#7 + #6}\left(#7\,#3 + #1 - (#2)\right)")
"""Operation (u, u before, slope, count, period, time between differences, time constant) -> slope, u at the last difference,
and count after a tick; the count is -1 before the first tick, and 0 if the next tick takes a difference."""


@cache
def sampled_pid(integral: bool, slope: int, limited: bool) -> Op:
    """Return the operation (e, period, kp[, ki, integral][, kd, slope][, lowest, highest]) -> y[, integral]. The sign of kd
    slope in y is that of `slope`, which is 0 without kd."""

    def formula(e: Any, period: Any, kp: Any, *arguments: Any) -> Any:
        values = iter(arguments)
        ki, total = (next(values), next(values)) if integral else (0.0, 0.0)
        others = kp * e
        if slope:
            derivative_term = next(values) * next(values)
            others = others + derivative_term if slope > 0 else others - derivative_term
        more = total + period * e
        y = others + ki * more if integral else others
        if not limited:
            return (y, more) if integral else y
        lowest, highest = next(values), next(values)
        if not integral:
            return _clipped(y, lowest, highest)
        beyond = y - _clipped(y, lowest, highest)
        total = where(less(0.0, beyond * ki * e), total, more)
        return _clipped(others + ki * total, lowest, highest), total

    return Op("sampled PID", formula, r"\operatorname{PID}\left(#1\right)")


MODULI, MULTIPLIERS = (2147483563.0, 2147483399.0), (40014.0, 40692.0)
"""Moduli and multipliers of both congruential generators of `NOISE`; all products are whole numbers below 2^53."""
SEEDING_STEPS = 8
"""Number of steps after which neighbouring seeds give unrelated numbers."""


def _advanced(generator: Any) -> Any:
    products = [multiplier * state for multiplier, state in zip(MULTIPLIERS, generator, strict=True)]
    return array([product - modulus * floor(product / modulus) for product, modulus in zip(products, MODULI, strict=True)])


def _draw(generator: Any) -> tuple[Any, Any]:
    """Return the next number, uniform in 0 < u < 1, and the next state of the generator."""
    after = _advanced(generator)
    difference = after[0] - after[1]
    return where(less(0.0, difference), difference, difference + (MODULI[0] - 1.0)) / MODULI[0], after


def _seeded(generator: Any, seed: Any) -> Any:
    """Return the generator or, before the first tick, when its states are zero, the states that the seed gives."""
    fresh = array([seed + 1.0, seed + 1.0])
    for _ in range(SEEDING_STEPS):  # exchanged, so that no stream is a multiple of another
        fresh = array([maximum(state, 1.0) for state in _advanced(fresh)[::-1]])
    is_first = equal(generator[0], 0.0)
    return array([where(is_first, new, old) for new, old in zip(fresh, generator, strict=True)])


def _uniform(generator: Any, seed: Any, mean: Any, deviation: Any) -> tuple[Any, Any]:
    number, after = _draw(_seeded(generator, seed))
    return mean + deviation * (math.sqrt(12.0) * (number - 0.5)), after


def _normal(generator: Any, seed: Any, mean: Any, deviation: Any) -> tuple[Any, Any]:
    radius, after = _draw(_seeded(generator, seed))
    angle, after = _draw(after)
    return mean + deviation * (sqrt(-2.0 * log(radius)) * cos(2.0 * math.pi * angle)), after


NOISE = {
    "normal": Op("normal noise", _normal, r"#3 + #4\,\operatorname{normal}(#1)"),
    "uniform": Op("uniform noise", _uniform, r"#3 + \sqrt{12}\,#4 \left(\operatorname{uniform}(#1) - \tfrac{1}{2}\right)"),
}
"""Operation (generator, seed, mean, deviation) -> y and state of the generator after a tick, for each distribution: the
combined congruential generator of L'Ecuyer 1988; normal deviates by Box and Muller 1958."""
