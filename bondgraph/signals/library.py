"""Signal blocks: each function returns one frozen `Element` made by `Block`, whose result is the signal `<name>.y`.

Inputs are paths of signals (`motor.flow`, `time`, another block's `<name>.y`), read without delay and without power. Numbers
such as gains and time constants are run-time parameters, and may be given as `Parameter(value, unit)`. Every block takes
`unit` and `symbol` (LaTeX) of its result; with states also `nominal`, the size its input usually has (a hint).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bondgraph.elements import Block, Element
from bondgraph.model.laws import StateSpec
from bondgraph.model.names import names_of
from bondgraph.model.ops import APPLY, combine
from bondgraph.signals import formulas
from bondgraph.signals.arguments import (
    coefficients,
    need_inputs,
    need_order,
    need_positive,
    numbers_of,
    same_unit,
    shape_text,
    start_values,
    static_block,
    wrong,
)
from bondgraph.signals.wiring import Wiring

# --- algebra ---------------------------------------------------------------------------------------------------------


def gain(name: str, input: str, k: Any, *, unit: str = "", symbol: str = "") -> Element:
    """y = k u; `k` is a number, a row (n,) or a matrix (m, n)."""
    return static_block(name, APPLY, {"k": k}, [input], unit, symbol, parameters_first=True)


def summation(name: str, inputs: Mapping[str, int], *, unit: str = "", symbol: str = "") -> Element:
    """y = sum of the signals, each with its sign: `summation("error", {"goal.y": 1, "shaft.flow": -1})`.

    Raises `ModelError` E140 without inputs, E141 for a sign that is not 1 or -1.
    """
    need_inputs("summation", name, inputs)
    for path, sign in inputs.items():
        if sign not in (1, -1):
            raise wrong(
                "E141",
                name,
                f'summation "{name}": "{path}" has the sign {sign!r}',
                "a sign is 1 or -1",
                "a gain in front of the sum for any other factor",
            )
    return static_block(name, combine(tuple(int(sign) for sign in inputs.values())), {}, list(inputs), unit, symbol)


def product(name: str, inputs: Sequence[str], *, unit: str = "", symbol: str = "") -> Element:
    """y = product of the signals, entry by entry. Raises `ModelError` E140 without inputs."""
    need_inputs("product", name, inputs)
    return static_block(name, formulas.product(len(inputs)), {}, inputs, unit, symbol)


def limiter(name: str, input: str, lowest: Any, highest: Any, *, unit: str = "", symbol: str = "") -> Element:
    """y = u held between `lowest` and `highest`. Raises `ModelError` E148 where these are in the wrong order."""
    need_order("limiter", name, lowest=lowest, highest=highest)
    return static_block(name, formulas.LIMITER, {"lowest": lowest, "highest": highest}, [input], unit, symbol)


def dead_zone(name: str, input: str, lowest: Any, highest: Any, *, unit: str = "", symbol: str = "") -> Element:
    """y = u - lowest below `lowest`, 0 between, u - highest above `highest`. Raises `ModelError` E148 as `limiter`."""
    need_order("dead zone", name, lowest=lowest, highest=highest)
    return static_block(name, formulas.DEAD_ZONE, {"lowest": lowest, "highest": highest}, [input], unit, symbol)


def table(
    name: str, input: str, points: Sequence[float], values: Sequence[float], *, unit: str = "", symbol: str = ""
) -> Element:
    """Piecewise linear y(u) through (points, values), both (n,), n > 1; the end values hold outside.

    `values` is a run-time parameter; the points belong to the equations.

    Raises `ModelError` E146 for points that are not finite and ascending, E147 where the lengths do not fit.
    """
    at, given = numbers_of(points), numbers_of(values)
    if at is None or given is None or at.ndim != 1 or at.shape != given.shape or len(at) < 2:
        raise wrong(
            "E147",
            name,
            f'table "{name}": points and values do not fit together',
            f"points {shape_text(at)}, values {shape_text(given)}",
            "two lists of one length, two or more",
        )
    bad = np.flatnonzero(~(np.isfinite(at[:-1]) & np.isfinite(at[1:]) & (np.diff(at) > 0)))
    if bad.size:
        first = int(bad[0])
        raise wrong(
            "E146",
            name,
            f'table "{name}": points must be finite and ascending',
            f"{at[first]:g} is followed by {at[first + 1]:g}, at index {first + 1}",
            "sort the points, each with its value; for a jump, two points close together",
        )
    return static_block(name, formulas.lookup(tuple(at.tolist())), {"values": values}, [input], unit, symbol)


# --- logic: signals that are 0 or 1 ----------------------------------------------------------------------------------


def comparator(name: str, input: str, threshold: Any = 0.0, *, symbol: str = "") -> Element:
    """y = 1 where u > threshold, else 0; `threshold` is a number or the path of a second signal.

    The jump is no event: where the motion depends on its exact instant, use an `Automaton`.
    """
    if isinstance(threshold, str):
        return static_block(name, formulas.GREATER, {}, [input, threshold], "", symbol)
    return static_block(name, formulas.GREATER, {"threshold": threshold}, [input], "", symbol)


def logic(name: str, relation: str, inputs: Sequence[str], *, symbol: str = "") -> Element:
    """y = 0 or 1: "and" and "or" of any number of signals, "not" of one; a signal above 1/2 counts as true.

    Raises `ModelError` E140 for a wrong number of inputs, E149 for another relation.
    """
    if relation not in ("and", "or", "not"):
        raise wrong(
            "E149",
            name,
            f'logic "{name}": there is no relation {relation!r}',
            "there are: and, or, not",
            'one of these; any other is a chain of blocks, such as "not" of "and"',
        )
    inputs = names_of(inputs, "inputs")
    need_inputs("logic", name, inputs)
    if relation == "not" and len(inputs) != 1:
        raise wrong(
            "E140",
            name,
            f'logic "{name}": "not" has {len(inputs)} inputs',
            "it has one",
            '"and" or "or" first, and "not" of its result',
        )
    return static_block(
        name, formulas.NOT if relation == "not" else formulas.logic(relation, len(inputs)), {}, inputs, "", symbol
    )


# --- dynamics --------------------------------------------------------------------------------------------------------


def integrator(
    name: str,
    input: str,
    initial: Any = 0.0,
    dimension: int | None = None,
    *,
    nominal: Any = None,
    unit: str = "",
    symbol: str = "",
) -> Element:
    """y' = u; the result `y` is the state, () or (dimension,), and starts at `initial`."""
    spec = StateSpec(start_values(initial, dimension), nominal, unit, symbol)
    return Block(name, [], inputs={"u": input}, states={"y": spec}, rates={"y": "u"})


def lowpass(
    name: str,
    input: str,
    time_constant: Any,
    initial: Any = 0.0,
    dimension: int | None = None,
    *,
    nominal: Any = None,
    unit: str = "",
    symbol: str = "",
) -> Element:
    """y' = (u - y) / T with T = `time_constant` in s; the result `y` is the state. Raises `ModelError` E142 unless T > 0."""
    need_positive("lowpass", name, time_constant=time_constant)
    return Block(
        name,
        [("rate", formulas.LAG, ["u", "y", "time_constant"])],
        inputs={"u": input},
        parameters={"time_constant": time_constant},
        states={"y": StateSpec(start_values(initial, dimension), nominal, unit, symbol)},
        rates={"y": "rate"},
    )


def derivative_filter(
    name: str,
    input: str,
    time_constant: Any,
    initial: Any = 0.0,
    dimension: int | None = None,
    *,
    nominal: Any = None,
    unit: str = "",
    symbol: str = "",
) -> Element:
    """y = (u - filtered) / T, filtered' = y: the derivative s / (T s + 1) of u; the state `filtered` starts at `initial`.

    Give u's own start value there for a derivative that starts at zero. Raises `ModelError` E142 unless T > 0.
    """
    need_positive("derivative filter", name, time_constant=time_constant)
    return Block(
        name,
        [("y", formulas.LAG, ["u", "filtered", "time_constant"])],
        inputs={"u": input},
        parameters={"time_constant": time_constant},
        states={"filtered": StateSpec(start_values(initial, dimension), nominal)},
        rates={"filtered": "y"},
        units={"y": unit},
        symbols={"y": symbol},
    )


def pid(
    name: str,
    error: str,
    kp: Any,
    ki: Any = None,
    kd: Any = None,
    filter_time: Any = None,
    *,
    initial: Mapping[str, Any] | None = None,
    nominal: Any = None,
    unit: str = "",
    symbol: str = "",
) -> Element:
    """y = kp e + ki integral + kd slope, of a signal e = `error`: integral' = e, slope = filtered' = (e - filtered) / T.

    Without `ki` there is no state `integral`, without `kd` no state `filtered`; T = `filter_time` in s. `initial` gives start
    values of these states by name (zero else).

    Raises `ModelError` E142 unless T > 0, E143 where only one of `kd` and `filter_time` is given.
    """
    if (kd is None) != (filter_time is None):
        given, missing = ("filter_time", "kd") if kd is None else ("kd", "filter_time")
        raise wrong(
            "E143",
            name,
            f'pid "{name}" has {given} but no {missing}',
            "a pure derivative of a signal does not exist: it is filtered",
            f"{missing}=...",
        )
    wiring = Wiring(name, inputs={"u": error}, parameters={"kp": kp}, units={"y": unit}, symbols={"y": symbol})
    arguments, start = ["u"], dict(initial or {})
    if ki is not None:
        wiring.parameters["ki"] = ki
        arguments.append("integral")
        wiring.states["integral"] = StateSpec(start_values(start.pop("integral", 0.0), None), nominal)
        wiring.rates["integral"] = "u"
    gains = list(wiring.parameters)
    if kd is not None:
        need_positive("pid", name, filter_time=filter_time)
        wiring.parameters |= {"kd": kd, "filter_time": filter_time}
        gains.append("kd")
        arguments.append("slope")
        wiring.add("slope", formulas.LAG, "u", "filtered", "filter_time")
        wiring.states["filtered"] = StateSpec(start_values(start.pop("filtered", 0.0), None), nominal)
        wiring.rates["filtered"] = "slope"
    if start:
        raise wrong(
            "E143",
            name,
            f'pid "{name}" has no state {", ".join(start)}',
            f"its states: {', '.join(wiring.states) or 'none'}",
            "ki for the integral, kd for the filter",
        )
    wiring.add("y", formulas.weighted(len(gains)), *gains, *arguments)
    return wiring.block()


def transfer_function(
    name: str,
    input: str,
    num: Sequence[float],
    den: Sequence[float],
    *,
    initial: Any = 0.0,
    nominal: float | None = None,
    unit: str = "",
    symbol: str = "",
) -> Element:
    """y = num(s) / den(s) u, coefficients of the highest power first, in controllable canonical form.

    The state `x` (n,) holds x and its derivatives with den(d/dt) x = u, so that y = num(d/dt) x; n is the degree of den.
    `num` and `den` are run-time parameters, without leading zeros.

    Raises `ModelError` E144 where num has a higher degree than den, E145 for what are no coefficients or no start values.
    """
    above, below = coefficients(name, "num", num), coefficients(name, "den", den)
    order, scale = len(below) - 1, np.abs(below)
    if len(above) > len(below):
        raise wrong(
            "E144",
            name,
            f'transfer function "{name}" is not proper',
            f"num has degree {len(above) - 1}, den has degree {order}",
            "a filter with more poles, as a real differentiator has",
        )
    values = {"num": same_unit(num, above), "den": same_unit(den, below)}
    if order == 0:
        return static_block(name, formulas.RATIO, values, [input], unit, symbol)
    start = start_values(initial, order)
    if np.shape(start) != (order,):
        raise wrong(
            "E145",
            name,
            f'transfer function "{name}": {initial!r} is no start of its state',
            f"x has shape ({order},)",
            f"{order} numbers: x and its derivatives, lowest first",
        )
    # The geometric mean of the poles that are not zero: x^(k) is of the size of pole^k x.
    last = int(np.flatnonzero(scale)[-1])
    pole = (scale[last] / scale[0]) ** (1.0 / last) if last else 1.0
    spec = StateSpec(start, None if nominal is None else nominal * pole ** np.arange(-order, 0.0) / scale[0])
    equations = [("rate", formulas.CANONICAL_RATE, ["x", "u", "den"]), ("y", formulas.CANONICAL_RESULT, ["x", "rate", "num"])]
    return Block(
        name,
        equations,
        inputs={"u": input},
        states={"x": spec},
        rates={"x": "rate"},
        parameters=values,
        units={"y": unit},
        symbols={"y": symbol},
    )


# --- signals of time -------------------------------------------------------------------------------------------------


def sine(
    name: str, amplitude: Any = 1.0, omega: Any = 1.0, phase: Any = 0.0, offset: Any = 0.0, *, unit: str = "", symbol: str = ""
) -> Element:
    """y = offset + amplitude sin(omega t + phase); omega in rad/s, phase in rad."""
    values = {"amplitude": amplitude, "omega": omega, "phase": phase, "offset": offset}
    return static_block(name, formulas.SINE, values, ["time"], unit, symbol)


def step(name: str, start: Any = 0.0, before: Any = 0.0, after: Any = 1.0, *, unit: str = "", symbol: str = "") -> Element:
    """y = `before` until t = start (s), `after` from then on; integration stops at the jump and begins anew."""
    values = {"start": start, "before": before, "after": after}
    return static_block(name, formulas.STEP, values, ["time"], unit, symbol, breaks=["start"])


def pulse(
    name: str, start: Any = 0.0, width: Any = 1.0, before: Any = 0.0, after: Any = 1.0, *, unit: str = "", symbol: str = ""
) -> Element:
    """y = `after` from t = start (s) for `width` seconds, `before` before and from then on; no step leads across an edge.

    Raises `ModelError` E142 unless the width is positive.
    """
    need_positive("pulse", name, width=width)
    values = {"start": start, "width": width, "before": before, "after": after}
    return static_block(name, formulas.PULSE, values, ["time"], unit, symbol)


def square(
    name: str,
    period: Any = 1.0,
    start: Any = 0.0,
    duty: Any = 0.5,
    low: Any = 0.0,
    high: Any = 1.0,
    *,
    unit: str = "",
    symbol: str = "",
) -> Element:
    """y = `high` for the part `duty` (0 to 1) of each `period` (s), `low` for the rest; one of them begins at t = start.

    The wave has neither beginning nor end. Raises `ModelError` E142 unless the period is positive.
    """
    need_positive("square wave", name, period=period)
    values = {"period": period, "start": start, "duty": duty, "low": low, "high": high}
    return static_block(name, formulas.SQUARE, values, ["time"], unit, symbol)


def sawtooth(
    name: str, period: Any = 1.0, start: Any = 0.0, low: Any = 0.0, high: Any = 1.0, *, unit: str = "", symbol: str = ""
) -> Element:
    """y grows from `low` to `high` in each `period` (s) and falls back at once; one period begins at t = start.

    The wave has neither beginning nor end. Raises `ModelError` E142 unless the period is positive.
    """
    need_positive("sawtooth", name, period=period)
    values = {"period": period, "start": start, "low": low, "high": high}
    return static_block(name, formulas.SAWTOOTH, values, ["time"], unit, symbol)


def ramp(
    name: str, slope: Any = 1.0, start: Any = 0.0, end: Any = None, offset: Any = 0.0, *, unit: str = "", symbol: str = ""
) -> Element:
    """y = offset until t = start (s), then it grows by `slope` per second, until t = end where that is given.

    Raises `ModelError` E148 where the end comes before the start.
    """
    values = {"slope": slope, "start": start, "offset": offset}
    if end is None:
        return static_block(name, formulas.RAMP, values, ["time"], unit, symbol, breaks=["start"])
    need_order("ramp", name, start=start, end=end)
    return static_block(name, formulas.RAMP_TO, {**values, "end": end}, ["time"], unit, symbol, breaks=["start", "end"])


def smooth_step(
    name: str, start: Any = 0.0, duration: Any = 1.0, before: Any = 0.0, after: Any = 1.0, *, unit: str = "", symbol: str = ""
) -> Element:
    """From `before` to `after` in `duration` (s), with two continuous derivatives: s^3 (10 - 15 s + 6 s^2), s = 0 ... 1.

    Raises `ModelError` E142 unless the duration is positive.
    """
    need_positive("smooth step", name, duration=duration)
    values = {"start": start, "duration": duration, "before": before, "after": after}
    return static_block(name, formulas.SMOOTH_STEP, values, ["time"], unit, symbol)
