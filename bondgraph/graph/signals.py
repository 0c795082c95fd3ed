"""Signal blocks: each function returns one frozen `Element` made by `Block`, whose result is the signal `<name>.y`.

Inputs are paths of signals (`motor.flow`, `time`, another block's `<name>.y`), read without delay and without power. Numbers
such as gains and time constants are run-time parameters, and may be given as `Parameter(value, unit)`. Every block takes
`unit` and `symbol` (LaTeX) of its result; with states also `nominal`, the size its input usually has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bondgraph.errors import ModelError, Problem, caller_place
from bondgraph.graph import signal_formulas as formulas
from bondgraph.graph.elements import Block, Element
from bondgraph.graph.laws import Parameter, StateSpec
from bondgraph.ops import APPLY, Op, combine

# --- algebra ---------------------------------------------------------------------------------------------------------


def gain(name: str, input: str, k: Any, *, unit: str = "", symbol: str = "") -> Element:
    """y = k u; `k` is a number, a row (n,) or a matrix (m, n)."""
    return _static(name, APPLY, {"k": k}, [input], unit, symbol, parameters_first=True)


def summation(name: str, inputs: Mapping[str, int], *, unit: str = "", symbol: str = "") -> Element:
    """y = sum of the signals, each with its sign: `summation("error", {"goal.y": 1, "shaft.flow": -1})`.

    Raises `ModelError` E140 without inputs, E141 for a sign that is not 1 or -1.
    """
    _need_inputs("summation", name, inputs)
    for path, sign in inputs.items():
        if sign not in (1, -1):
            raise _wrong("E141", name, f'summation "{name}": "{path}" has the sign {sign!r}', "a sign is 1 or -1",
                         "a gain in front of the sum for any other factor")  # fmt: skip
    return _static(name, combine(tuple(int(sign) for sign in inputs.values())), {}, list(inputs), unit, symbol)


def product(name: str, inputs: Sequence[str], *, unit: str = "", symbol: str = "") -> Element:
    """y = product of the signals, entry by entry. Raises `ModelError` E140 without inputs."""
    _need_inputs("product", name, inputs)
    return _static(name, formulas.product(len(inputs)), {}, inputs, unit, symbol)


def limiter(name: str, input: str, lowest: Any, highest: Any, *, unit: str = "", symbol: str = "") -> Element:
    """y = u held between `lowest` and `highest`. Raises `ModelError` E148 where these are in the wrong order."""
    _ordered("limiter", name, lowest=lowest, highest=highest)
    return _static(name, formulas.LIMITER, {"lowest": lowest, "highest": highest}, [input], unit, symbol)


def dead_zone(name: str, input: str, lowest: Any, highest: Any, *, unit: str = "", symbol: str = "") -> Element:
    """y = u - lowest below `lowest`, 0 between, u - highest above `highest`. Raises `ModelError` E148 as `limiter`."""
    _ordered("dead zone", name, lowest=lowest, highest=highest)
    return _static(name, formulas.DEAD_ZONE, {"lowest": lowest, "highest": highest}, [input], unit, symbol)


def table(
    name: str, input: str, points: Sequence[float], values: Sequence[float], *, unit: str = "", symbol: str = ""
) -> Element:
    """Piecewise linear y(u) through (points, values), both (n,), n > 1; the end values hold outside.

    `values` is a run-time parameter; the points belong to the equations.

    Raises `ModelError` E146 for points that are not finite and ascending, E147 where the lengths do not fit.
    """
    at, given = _numbers(points), _numbers(values)
    if at is None or given is None or at.ndim != 1 or at.shape != given.shape or len(at) < 2:
        raise _wrong("E147", name, f'table "{name}": points and values do not fit together',
                     f"points {_shape(at)}, values {_shape(given)}", "two lists of one length, two or more")  # fmt: skip
    bad = np.flatnonzero(~(np.isfinite(at[:-1]) & np.isfinite(at[1:]) & (np.diff(at) > 0)))
    if bad.size:
        first = int(bad[0])
        raise _wrong("E146", name, f'table "{name}": points must be finite and ascending',
                     f"{at[first]:g} is followed by {at[first + 1]:g}, at index {first + 1}",
                     "sort the points, each with its value; for a jump, two points close together")  # fmt: skip
    return _static(name, formulas.lookup(tuple(at.tolist())), {"values": values}, [input], unit, symbol)


# --- logic: signals that are 0 or 1 ----------------------------------------------------------------------------------


def comparator(name: str, input: str, threshold: Any = 0.0, *, symbol: str = "") -> Element:
    """y = 1 where u > threshold, else 0; `threshold` is a number or the path of a second signal.

    The jump is no event: where the motion depends on its exact instant, use an `Automaton`.
    """
    if isinstance(threshold, str):
        return _static(name, formulas.GREATER, {}, [input, threshold], "", symbol)
    return _static(name, formulas.GREATER, {"threshold": threshold}, [input], "", symbol)


def logic(name: str, relation: str, inputs: Sequence[str], *, symbol: str = "") -> Element:
    """y = 0 or 1: "and" and "or" of any number of signals, "not" of one; a signal above 1/2 counts as true.

    Raises `ModelError` E140 for a wrong number of inputs, E149 for another relation.
    """
    if relation not in ("and", "or", "not"):
        raise _wrong("E149", name, f'logic "{name}": there is no relation {relation!r}', "there are: and, or, not",
                     'one of these; any other is a chain of blocks, such as "not" of "and"')  # fmt: skip
    _need_inputs("logic", name, inputs)
    if relation == "not" and len(inputs) != 1:
        raise _wrong("E140", name, f'logic "{name}": "not" has {len(inputs)} inputs', "it has one",
                     '"and" or "or" first, and "not" of its result')  # fmt: skip
    return _static(
        name, formulas.NOT if relation == "not" else formulas.logic(relation, len(inputs)), {}, inputs, "", symbol
    )


# --- dynamics --------------------------------------------------------------------------------------------------------


def integrator(
    name: str, input: str, initial: Any = 0.0, dimension: int | None = None, *, nominal: Any = 1.0, unit: str = "",
    symbol: str = "",
) -> Element:  # fmt: skip
    """y' = u; the result `y` is the state, () or (dimension,), and starts at `initial`."""
    spec = StateSpec(_start(initial, dimension), nominal, unit, symbol)
    return Block(name, [], inputs={"u": input}, states={"y": spec}, rates={"y": "u"})


def lowpass(
    name: str, input: str, time_constant: Any, initial: Any = 0.0, dimension: int | None = None, *,
    nominal: Any = 1.0, unit: str = "", symbol: str = "",
) -> Element:  # fmt: skip
    """y' = (u - y) / T with T = `time_constant` in s; the result `y` is the state. Raises `ModelError` E142 unless T > 0."""
    _positive("lowpass", name, time_constant=time_constant)
    return Block(
        name, [("rate", formulas.LAG, ["u", "y", "time_constant"])],
        inputs={"u": input}, parameters={"time_constant": time_constant},
        states={"y": StateSpec(_start(initial, dimension), nominal, unit, symbol)}, rates={"y": "rate"},
    )  # fmt: skip


def derivative_filter(
    name: str, input: str, time_constant: Any, initial: Any = 0.0, dimension: int | None = None, *,
    nominal: Any = 1.0, unit: str = "", symbol: str = "",
) -> Element:  # fmt: skip
    """y = (u - filtered) / T, filtered' = y: the derivative s / (T s + 1) of u; the state `filtered` starts at `initial`.

    Give u's own start value there for a derivative that starts at zero. Raises `ModelError` E142 unless T > 0.
    """
    _positive("derivative filter", name, time_constant=time_constant)
    return Block(
        name, [("y", formulas.LAG, ["u", "filtered", "time_constant"])],
        inputs={"u": input}, parameters={"time_constant": time_constant},
        states={"filtered": StateSpec(_start(initial, dimension), nominal)}, rates={"filtered": "y"},
        units={"y": unit}, symbols={"y": symbol},
    )  # fmt: skip


def pid(
    name: str, error: str, kp: Any, ki: Any = None, kd: Any = None, filter_time: Any = None, *,
    initial: Mapping[str, Any] | None = None, nominal: Any = 1.0, unit: str = "", symbol: str = "",
) -> Element:  # fmt: skip
    """y = kp e + ki integral + kd slope, of a signal e = `error`: integral' = e, slope = filtered' = (e - filtered) / T.

    Without `ki` there is no state `integral`, without `kd` no state `filtered`; T = `filter_time` in s. `initial` gives start
    values of these states by name (zero else).

    Raises `ModelError` E142 unless T > 0, E143 where only one of `kd` and `filter_time` is given.
    """
    if (kd is None) != (filter_time is None):
        given, missing = ("filter_time", "kd") if kd is None else ("kd", "filter_time")
        raise _wrong("E143", name, f'pid "{name}" has {given} but no {missing}',
                     "a pure derivative of a signal does not exist: it is filtered", f"{missing}=...")  # fmt: skip
    gains, arguments, equations = {"kp": kp}, ["u"], []
    states, rates, start = {}, {}, dict(initial or {})
    if ki is not None:
        gains["ki"] = ki
        arguments.append("integral")
        states["integral"], rates["integral"] = StateSpec(_start(start.pop("integral", 0.0), None), nominal), "u"
    if kd is not None:
        _positive("pid", name, filter_time=filter_time)
        gains["kd"] = kd
        arguments.append("slope")
        equations.append(("slope", formulas.LAG, ["u", "filtered", "filter_time"]))
        states["filtered"], rates["filtered"] = StateSpec(_start(start.pop("filtered", 0.0), None), nominal), "slope"
    if start:
        raise _wrong("E143", name, f'pid "{name}" has no state {", ".join(start)}',
                     f"its states: {', '.join(states) or 'none'}", "ki for the integral, kd for the filter")  # fmt: skip
    equations.append(("y", formulas.weighted(len(gains)), [*gains, *arguments]))
    parameters = gains if kd is None else {**gains, "filter_time": filter_time}
    return Block(name, equations, inputs={"u": error}, states=states, rates=rates, parameters=parameters,
                 units={"y": unit}, symbols={"y": symbol})  # fmt: skip


def transfer_function(
    name: str, input: str, num: Sequence[float], den: Sequence[float], *, initial: Any = 0.0, nominal: float = 1.0,
    unit: str = "", symbol: str = "",
) -> Element:  # fmt: skip
    """y = num(s) / den(s) u, coefficients of the highest power first, in controllable canonical form.

    The state `x` (n,) holds x and its derivatives with den(d/dt) x = u, so that y = num(d/dt) x; n is the degree of den.
    `num` and `den` are run-time parameters, without leading zeros.

    Raises `ModelError` E144 where num has a higher degree than den, E145 for what are no coefficients or no start values.
    """
    above, below = _coefficients(name, "num", num), _coefficients(name, "den", den)
    order, scale = len(below) - 1, np.abs(below)
    if len(above) > len(below):
        raise _wrong("E144", name, f'transfer function "{name}" is not proper',
                     f"num has degree {len(above) - 1}, den has degree {order}",
                     "a filter with more poles, as a real differentiator has")  # fmt: skip
    values = {"num": _same_unit(num, above), "den": _same_unit(den, below)}
    if order == 0:
        return _static(name, formulas.RATIO, values, [input], unit, symbol)
    start = _start(initial, order)
    if np.shape(start) != (order,):
        raise _wrong("E145", name, f'transfer function "{name}": {initial!r} is no start of its state',
                     f"x has shape ({order},)", f"{order} numbers: x and its derivatives, lowest first")  # fmt: skip
    # The geometric mean of the poles that are not zero: x^(k) is of the size of pole^k x.
    last = int(np.flatnonzero(scale)[-1])
    pole = (scale[last] / scale[0]) ** (1.0 / last) if last else 1.0
    spec = StateSpec(start, nominal * pole ** np.arange(-order, 0.0) / scale[0])
    equations = [
        ("rate", formulas.CANONICAL_RATE, ["x", "u", "den"]),
        ("y", formulas.CANONICAL_RESULT, ["x", "rate", "num"]),
    ]
    return Block(name, equations, inputs={"u": input}, states={"x": spec}, rates={"x": "rate"}, parameters=values,
                 units={"y": unit}, symbols={"y": symbol})  # fmt: skip


# --- signals of time -------------------------------------------------------------------------------------------------


def sine(
    name: str, amplitude: Any = 1.0, omega: Any = 1.0, phase: Any = 0.0, offset: Any = 0.0, *, unit: str = "",
    symbol: str = "",
) -> Element:  # fmt: skip
    """y = offset + amplitude sin(omega t + phase); omega in rad/s, phase in rad."""
    values = {"amplitude": amplitude, "omega": omega, "phase": phase, "offset": offset}
    return _static(name, formulas.SINE, values, ["time"], unit, symbol)


def step(
    name: str, start: Any = 0.0, before: Any = 0.0, after: Any = 1.0, *, unit: str = "", symbol: str = ""
) -> Element:
    """y = `before` until t = start (s), `after` from then on. A jump is no event; `smooth_step` is kinder to a solver."""
    return _static(name, formulas.STEP, {"start": start, "before": before, "after": after}, ["time"], unit, symbol)


def ramp(
    name: str, slope: Any = 1.0, start: Any = 0.0, end: Any = None, offset: Any = 0.0, *, unit: str = "",
    symbol: str = "",
) -> Element:  # fmt: skip
    """y = offset until t = start (s), then it grows by `slope` per second, until t = end where that is given.

    Raises `ModelError` E148 where the end comes before the start.
    """
    values = {"slope": slope, "start": start, "offset": offset}
    if end is None:
        return _static(name, formulas.RAMP, values, ["time"], unit, symbol)
    _ordered("ramp", name, start=start, end=end)
    return _static(name, formulas.RAMP_TO, {**values, "end": end}, ["time"], unit, symbol)


def smooth_step(
    name: str, start: Any = 0.0, duration: Any = 1.0, before: Any = 0.0, after: Any = 1.0, *, unit: str = "",
    symbol: str = "",
) -> Element:  # fmt: skip
    """From `before` to `after` in `duration` (s), with two continuous derivatives: s^3 (10 - 15 s + 6 s^2), s = 0 ... 1.

    Raises `ModelError` E142 unless the duration is positive.
    """
    _positive("smooth step", name, duration=duration)
    values = {"start": start, "duration": duration, "before": before, "after": after}
    return _static(name, formulas.SMOOTH_STEP, values, ["time"], unit, symbol)


# --- small helpers ---------------------------------------------------------------------------------------------------


def _static(
    name: str, op: Op, parameters: Mapping[str, Any], inputs: Sequence[str], unit: str, symbol: str, *,
    parameters_first: bool = False,
) -> Element:  # fmt: skip
    """A block without states, y = op(inputs, parameters)."""
    local = {"u" if len(inputs) == 1 else f"u{k}": path for k, path in enumerate(inputs, start=1)}
    arguments = [*parameters, *local] if parameters_first else [*local, *parameters]
    return Block(name, [("y", op, arguments)], inputs=local, parameters=parameters, units={"y": unit},
                 symbols={"y": symbol})  # fmt: skip


def _wrong(code: str, name: str, title: str, detail: str, cure: str) -> ModelError:
    return ModelError(name, [Problem(code, title, (detail,), (caller_place(),), (cure,))])


def _need_inputs(kind: str, name: str, inputs: Sequence[str] | Mapping[str, Any]) -> None:
    if isinstance(inputs, str) or not inputs:
        given = f"given: {inputs!r}" if inputs else "given: none"
        raise _wrong("E140", name, f'{kind} "{name}" needs a list of inputs', given, "paths of signals, one or more")


def _numbers(value: Any) -> np.ndarray | None:
    """A value as an array of floats; None where it is no number (`checks.check_numbers` tells of parameters)."""
    try:
        return np.asarray(value.value if isinstance(value, Parameter) else value, dtype=float)
    except (TypeError, ValueError):
        return None


def _shape(numbers: np.ndarray | None) -> str:
    return "are no numbers" if numbers is None else f"have shape {numbers.shape}"


def _start(initial: Any, dimension: int | None) -> Any:
    start = _numbers(initial)
    if start is None:
        return initial
    return np.full(dimension, float(start)) if dimension and start.ndim == 0 else start[()]


def _positive(kind: str, name: str, **values: Any) -> None:
    for key, value in values.items():
        number = _numbers(value)
        if number is not None and not np.all(number > 0.0):
            raise _wrong("E142", name, f'{kind} "{name}": {key} must be positive', f"given: {number[()]}",
                         f"a {key} of more than 0 s; without it, leave the block out")  # fmt: skip


def _ordered(kind: str, name: str, **values: Any) -> None:
    (low, low_value), (high, high_value) = values.items()
    one, two = _numbers(low_value), _numbers(high_value)
    if one is not None and two is not None and np.any(one > two):
        raise _wrong("E148", name, f'{kind} "{name}": {low} is above {high}', f"{low} {one[()]}, {high} {two[()]}",
                     f"{low} and {high} the other way round")  # fmt: skip


def _coefficients(name: str, which: str, given: Any) -> np.ndarray:
    """Coefficients without leading zeros; only den must not vanish."""
    numbers = _numbers(given)
    if numbers is None or numbers.ndim != 1 or not np.isfinite(numbers).all() or not numbers.size:
        raise _wrong("E145", name, f'transfer function "{name}": {which} is no list of coefficients',
                     f"given: {given!r}", "finite numbers, the highest power of s first")  # fmt: skip
    trimmed = np.trim_zeros(numbers, "f")
    if which == "den" and not trimmed.size:
        raise _wrong("E145", name, f'transfer function "{name}": den is zero', f"given: {given!r}",
                     "a polynomial with at least one coefficient that is not zero")  # fmt: skip
    return trimmed if trimmed.size else np.zeros(1)


def _same_unit(given: Any, value: Any) -> Any:
    return Parameter(value, given.unit) if isinstance(given, Parameter) else value


__all__: list[str] = [
    "gain", "summation", "product", "limiter", "dead_zone", "table", "comparator", "logic", "integrator", "lowpass",
    "derivative_filter", "pid", "transfer_function", "sine", "step", "ramp", "smooth_step",
]  # fmt: skip
