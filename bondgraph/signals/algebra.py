"""Algebraic signal blocks: sums, products, limits, tables, and logic, whose signals are 0 or 1.

Waveforms: blocks of the signal `time`; their start and end times are run-time parameters, in s.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

from bondgraph.elements import Block, Element
from bondgraph.elements.curves import OUTSIDE, SLOPES, checked_points, curve
from bondgraph.errors import refusal
from bondgraph.model.arguments import bounded, choice, names_of, need_mapping, parameters_of, spelled_out
from bondgraph.model.ops import APPLY, Op, combine
from bondgraph.model.units import per_second
from bondgraph.signals import formulas
from bondgraph.signals.arguments import (
    Format,
    need_inputs,
    need_order,
    need_positive,
    numbers_of,
    of_result,
    result_of,
    shape_message,
    static_block,
)
from screws.errors import plural


@spelled_out
def gain(name: str, input: str, k: Any, **shown: Unpack[Format]) -> Element:
    """Return a gain y = k u; `k` is a number, a row (n,) or a matrix (m, n)."""
    return Block(name, [("y", APPLY, ["k", "u"])], inputs={"u": input}, parameters={"k": k}, **result_of(**shown))


@spelled_out
def summation(name: str, inputs: Mapping[str, int], **shown: Unpack[Format]) -> Element:
    """Return the sum y of the signals, each with its sign: `summation("error", {"goal.y": 1, "shaft.flow": -1})`.

    Raises `ModelError` E140 without inputs, E141 for a sign that is not 1 or -1.
    """
    need_mapping("inputs", inputs, '"goal.y": 1, "shaft.flow": -1')
    need_inputs("summation", name, inputs)
    for path, sign in inputs.items():
        if sign not in (1, -1):
            cures = f'{{"{path}": 1}} or {{"{path}": -1}}', "a gain in front of the sum for any other factor"
            title = f'summation "{name}": "{path}" has the sign {sign!r}'
            raise refusal("E141", title, *cures, about=name, why="a sign is 1 or -1")
    return static_block(name, combine(tuple(int(sign) for sign in inputs.values())), list(inputs), {}, **shown)


@spelled_out
def product(name: str, inputs: Sequence[str], **shown: Unpack[Format]) -> Element:
    """Return the product y of the signals, entry by entry. Raises `ModelError` E140 without inputs."""
    need_inputs("product", name, inputs)
    return static_block(name, formulas.product(len(inputs)), inputs, {}, **shown)


@spelled_out
def limiter(name: str, input: str, lowest: Any, highest: Any, **shown: Unpack[Format]) -> Element:
    """Return a limiter: y = u clamped between `lowest` and `highest`. Raises `ModelError` E148 if they are in the wrong order."""
    values = of_result(shown.get("unit", ""), lowest=lowest, highest=highest)
    need_order("limiter", name, **values)
    return static_block(name, formulas.LIMITER, [input], values, **shown)


@spelled_out
def dead_zone(name: str, input: str, lowest: Any, highest: Any, **shown: Unpack[Format]) -> Element:
    """Return a dead zone: y = u - lowest below `lowest`, 0 between, u - highest above `highest`.

    Raises `ModelError` E148 as `limiter` does.
    """
    values = of_result(shown.get("unit", ""), lowest=lowest, highest=highest)
    need_order("dead zone", name, **values)
    return static_block(name, formulas.DEAD_ZONE, [input], values, **shown)


@spelled_out
def table(
    name: str,
    input: str,
    points: Sequence[float],
    values: Sequence[float],
    *,
    kind: str = "linear",
    outside: str = "hold",
    **shown: Unpack[Format],
) -> Element:
    """Return a lookup table y(u) through (points, values), both (n,), n > 1; `kind` and `outside` as in `curve`.

    `values` of a linear table with constant extrapolation (`outside="hold"`) are a run-time parameter; points, and the values of
    other tables, belong to the equations.

    Raises `ModelError` E146 for points that are not finite and ascending, E147 unless both are lists of the same length, at
    least 2, and the errors of `curve`.
    """
    parameters = of_result(shown.get("unit", ""), values=values)
    knots, ordinates = numbers_of(points), numbers_of(parameters["values"])
    if knots is None or ordinates is None or knots.ndim != 1 or knots.shape != ordinates.shape or len(knots) < 2:
        title, cure = (
            f'table "{name}": points and values do not form a table',
            "two lists of the same length, each with at least two numbers",
        )
        raise refusal("E147", title, cure, about=name, why=f"points {shape_message(knots)}, values {shape_message(ordinates)}")
    choice("table", name, kind=(kind, tuple(SLOPES)), outside=(outside, OUTSIDE))
    if (kind, outside) != ("linear", "hold"):
        formula = curve(knots, ordinates, kind, outside)
        return static_block(name, Op("table", formula, formulas.TABLE_LATEX), [input], {}, **shown)
    checked_points(f'table "{name}"', name, knots)
    return static_block(name, formulas.lookup(tuple(knots.tolist())), [input], parameters, **shown)


def comparator(name: str, input: str, threshold: Any = 0.0, *, symbol: str = "") -> Element:
    """Return a comparator: y = 1 if u > threshold, else 0; `threshold` is a number or the path of a second signal.

    The jump is not an event: if the motion depends on its exact instant, use an `Automaton`.
    """
    if isinstance(threshold, str):
        return static_block(name, formulas.GREATER, [input, threshold], {}, symbol=symbol)
    return static_block(name, formulas.GREATER, [input], {"threshold": threshold}, symbol=symbol)


def logic(name: str, relation: str, inputs: Sequence[str], *, symbol: str = "") -> Element:
    """Return a logic block, y = 0 or 1: "and" and "or" of any number of signals, "not" of one; a signal above 1/2 counts as true.

    Raises `ModelError` E140 for a wrong number of inputs, E149 for another relation.
    """
    if relation not in ("and", "or", "not"):
        title = f'logic "{name}": there is no relation {relation!r}'
        cure = 'one of these, or a chain of blocks: "not" after "and" gives NAND'
        raise refusal("E149", title, cure, about=name, why='the relations are "and", "or" and "not"')
    inputs = names_of(inputs, "inputs", name)
    need_inputs("logic", name, inputs)
    if relation == "not" and len(inputs) != 1:
        title, cure = f'logic "{name}": "not" has {plural(len(inputs), "input")}', '"and" or "or" first, and "not" after it'
        raise refusal("E140", title, cure, about=name, why='"not" takes one input')
    op = formulas.NOT if relation == "not" else formulas.logic(relation, len(inputs))
    return static_block(name, op, inputs, {}, symbol=symbol)


_UNITS = dict.fromkeys(("start", "end", "width", "period", "duration"), "s") | {
    "omega": "rad/s",
    "omega_end": "rad/s",
    "phase": "rad",
    "duty": "1",
}


def _wave(name: str, op: Op, values: Mapping[str, Any], breaks: Sequence[str] = (), **shown: Unpack[Format]) -> Element:
    unit = shown.get("unit", "")
    units = {key: _UNITS.get(key, per_second(unit) if key == "slope" else unit) for key in values}
    return static_block(name, op, ["time"], parameters_of(values, units), breaks, **shown)


@spelled_out
def sine(
    name: str, amplitude: Any = 1.0, omega: Any = 1.0, phase: Any = 0.0, offset: Any = 0.0, **shown: Unpack[Format]
) -> Element:
    """Return a sine wave y = offset + amplitude sin(omega t + phase); omega in rad/s, phase in rad."""
    values = {"amplitude": amplitude, "omega": omega, "phase": phase, "offset": offset}
    return _wave(name, formulas.SINE, values, **shown)


@spelled_out
def chirp(
    name: str,
    omega: Any,
    omega_end: Any,
    duration: Any,
    *,
    amplitude: Any = 1.0,
    start: Any = 0.0,
    phase: Any = 0.0,
    offset: Any = 0.0,
    **shown: Unpack[Format],
) -> Element:
    """Return a chirp, a sine whose angular frequency changes linearly from `omega` to `omega_end` (rad/s) in `duration` (s) from
    t = start.

    Before the start, y = offset + amplitude sin(phase); afterwards omega stays at `omega_end`. Raises `ModelError`
    E142 unless the duration is positive.
    """
    need_positive("chirp", name, duration=duration)
    values = {"amplitude": amplitude, "omega": omega, "omega_end": omega_end, "start": start, "duration": duration}
    return _wave(name, formulas.CHIRP, {**values, "phase": phase, "offset": offset}, **shown)


@spelled_out
def step(name: str, start: Any = 0.0, before: Any = 0.0, after: Any = 1.0, **shown: Unpack[Format]) -> Element:
    """Return a step: y = `before` until t = start (s), then `after`; integration restarts at the jump."""
    values = {"start": start, "before": before, "after": after}
    return _wave(name, formulas.STEP, values, ["start"], **shown)


@spelled_out
def pulse(name: str, start: Any = 0.0, width: Any = 1.0, before: Any = 0.0, after: Any = 1.0, **shown: Unpack[Format]) -> Element:
    """Return a pulse: y = `after` from t = start (s) for `width` seconds, `before` otherwise; no integration step crosses an
    edge.

    Raises `ModelError` E142 unless the width is positive.
    """
    need_positive("pulse", name, width=width)
    values = {"start": start, "width": width, "before": before, "after": after}
    return _wave(name, formulas.PULSE, values, **shown)


@spelled_out
def square(
    name: str, period: Any = 1.0, start: Any = 0.0, duty: Any = 0.5, low: Any = 0.0, high: Any = 1.0, **shown: Unpack[Format]
) -> Element:
    """Return a square wave: y = `high` for the fraction `duty` (0 to 1) of each `period` (s), else `low`; a period begins at
    t = start.

    The wave has neither beginning nor end. Raises `ModelError` E142 unless the period is positive; the graph refuses a `duty`
    outside 0 to 1 (E151).
    """
    need_positive("square wave", name, period=period)
    values = {"period": period, "start": start, "duty": bounded(duty, max_value=1.0), "low": low, "high": high}
    return _wave(name, formulas.SQUARE, values, **shown)


@spelled_out
def sawtooth(name: str, period: Any = 1.0, start: Any = 0.0, low: Any = 0.0, high: Any = 1.0, **shown: Unpack[Format]) -> Element:
    """Return a sawtooth wave: y grows from `low` to `high` in each `period` (s) and drops back instantly; one period begins at
    t = start.

    The wave has neither beginning nor end. Raises `ModelError` E142 unless the period is positive.
    """
    need_positive("sawtooth", name, period=period)
    values = {"period": period, "start": start, "low": low, "high": high}
    return _wave(name, formulas.SAWTOOTH, values, **shown)


@spelled_out
def ramp(name: str, slope: Any = 1.0, start: Any = 0.0, end: Any = None, offset: Any = 0.0, **shown: Unpack[Format]) -> Element:
    """Return a ramp: y = offset until t = start (s), then y grows by `slope` per second, until t = end if `end` is given.

    Raises `ModelError` E148 if the end comes before the start.
    """
    values = {"slope": slope, "start": start, "offset": offset}
    if end is None:
        return _wave(name, formulas.RAMP, values, ["start"], **shown)
    need_order("ramp", name, start=start, end=end)
    return _wave(name, formulas.RAMP_TO, {**values, "end": end}, ["start", "end"], **shown)


@spelled_out
def smooth_step(
    name: str, start: Any = 0.0, duration: Any = 1.0, before: Any = 0.0, after: Any = 1.0, **shown: Unpack[Format]
) -> Element:
    """Return a smooth step from `before` to `after` in `duration` (s), with continuous acceleration: s^3 (10 - 15 s + 6 s^2),
    s = 0 ... 1.

    Raises `ModelError` E142 unless the duration is positive.
    """
    need_positive("smooth step", name, duration=duration)
    values = {"start": start, "duration": duration, "before": before, "after": after}
    return _wave(name, formulas.SMOOTH_STEP, values, **shown)
