"""Signal blocks with states: integrators, filters, the PID controller and delays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Unpack

from bondgraph.elements import Block, Element
from bondgraph.errors import refusal
from bondgraph.model.arguments import in_unit, refused, spelled_out
from bondgraph.model.laws import SignalBlock, StateSpec
from bondgraph.signals import formulas
from bondgraph.signals.arguments import (
    PID_LETTERS,
    BlockBuilder,
    Format,
    Scaled,
    in_seconds,
    limits_of,
    need_positive,
    numbers_of,
    result_of,
    start_values,
)
from screws.calls import signature_mismatch


@spelled_out
def integrator(name: str, input: str, initial: Any = 0.0, dimension: int | None = None, **result: Unpack[Scaled]) -> Element:
    """Return an integrator y' = u; the result `y` is the state, () or (dimension,), and starts at `initial`."""
    spec = StateSpec(start_values(initial, dimension), **result)
    return Block(name, [], inputs={"u": input}, states={"y": spec}, rates={"y": "u"})


@spelled_out
def lowpass(
    name: str, input: str, time_constant: Any, initial: Any = 0.0, dimension: int | None = None, **result: Unpack[Scaled]
) -> Element:
    """Return a low-pass filter y' = (u - y) / T with T = `time_constant` in s; the result `y` is the state.

    Raises `ModelError` E142 unless T > 0.
    """
    need_positive("lowpass", name, time_constant=time_constant)
    builder = BlockBuilder(name, inputs={"u": input}, parameters=in_seconds(time_constant=time_constant))
    builder.add("rate", formulas.LAG, "u", "y", "time_constant")
    builder.add_state("y", StateSpec(start_values(initial, dimension), **result), "rate")
    return builder.block()


@spelled_out
def derivative_filter(
    name: str,
    input: str,
    time_constant: Any,
    initial: Any = 0.0,
    dimension: int | None = None,
    *,
    nominal: Any = None,
    **shown: Unpack[Format],
) -> Element:
    """Return a derivative filter y = (u - filtered) / T, filtered' = y, with the transfer function s / (T s + 1).

    The state `filtered` starts at `initial`: give u's own start value for a derivative that starts at zero.

    Raises `ModelError` E142 unless T > 0.
    """
    need_positive("derivative filter", name, time_constant=time_constant)
    builder = BlockBuilder(name, inputs={"u": input}, parameters=in_seconds(time_constant=time_constant), **result_of(**shown))
    builder.add("y", formulas.LAG, "u", "filtered", "time_constant")
    builder.add_state("filtered", StateSpec(start_values(initial, dimension), nominal), "y")
    return builder.block()


def pid(
    name: str,
    error: str,
    kp: Any,
    ki: Any = None,
    kd: Any = None,
    filter_time: Any = None,
    *,
    limits: tuple[Any, Any] | None = None,
    tracking_time: Any = None,
    initial: Mapping[str, Any] | None = None,
    nominal: Any = None,
    unit: str = "",
    symbol: str = "",
) -> Element:
    """Return a PID controller y = kp e + ki integral + kd slope, of a signal e = `error`: integral' = e, slope = filtered' = (e -
    filtered) / T.

    Without `ki` there is no state `integral`, without `kd` no state `filtered`; T = `filter_time` in s. `initial` gives start
    values of these states by name (zero by default). `limits` (lowest, highest) clamp y. Then the integral must not wind up: by
    back-calculation, integral' = e + (y - v) / (ki Tt), where v is y without limits and Tt = `tracking_time` in s, often kp / ki.

    Raises `ModelError` E142 unless T and Tt are positive, E143 if only one of `kd` and `filter_time` is given, if
    `tracking_time` is missing with `limits` and `ki` or given without both, and for an `initial` that does not name states,
    E148 unless limits are a pair in this order.

    Source: Astrom and Hagglund 2006, Advanced PID Control, section 3.5 (back-calculation and tracking).
    """
    if (kd is None) != (filter_time is None):
        present, missing = ("filter_time", "kd") if kd is None else ("kd", "filter_time")
        title, why = (f'pid "{name}" has {present} but no {missing}', "the derivative of a signal must be filtered")
        raise refusal("E143", title, f"{missing}=...", about=name, why=why)
    if (tracking_time is None) != (limits is None or ki is None):
        lacks = "no tracking_time" if tracking_time is None else "tracking_time, but not both limits and ki"
        cure = "tracking_time=... in s, often kp / ki" if tracking_time is None else "limits=(lowest, highest) and ki=..."
        why = "back-calculation keeps the integral from winding up while y is at a limit"
        raise refusal("E143", f'pid "{name}" has {lacks}', cure, about=name, why=why)
    builder = BlockBuilder(name, inputs={"u": error}, parameters={"kp": kp}, **result_of(unit, symbol))
    builder.symbols |= PID_LETTERS
    if initial is not None and not isinstance(initial, Mapping):
        cure = 'initial={"integral": 1.0}'
        raise refusal(
            "E143", f'pid "{name}" has the start values {initial!r}', cure, about=name, why="start values are given by name"
        )
    arguments, start = ["u"], dict(initial or {})
    integral_rate = "u" if tracking_time is None else "tracking"
    if ki is not None:
        builder.parameters["ki"] = ki
        arguments.append("integral")
        spec = StateSpec(start_values(start.pop("integral", 0.0), None), nominal, "", "z")
        builder.add_state("integral", spec, integral_rate)
    gains = list(builder.parameters)
    if kd is not None:
        need_positive("pid", name, filter_time=filter_time)
        builder.parameters |= {"kd": kd, **in_seconds(filter_time=filter_time)}
        gains.append("kd")
        arguments.append("slope")
        builder.add("slope", formulas.LAG, "u", "filtered", "filter_time")
        builder.add_state("filtered", StateSpec(start_values(start.pop("filtered", 0.0), None), nominal), "slope")
    if start:
        title, why = f'pid "{name}" has no state {", ".join(start)}', f"its states: {', '.join(builder.states) or 'none'}"
        raise refusal("E143", title, "ki for the integral, kd for the filter", about=name, why=why)
    builder.add("y" if limits is None else "unlimited", formulas.weighted(len(gains)), *gains, *arguments)
    if limits is not None:
        limit_parameters = limits_of("pid", name, limits, unit)
        builder.parameters |= limit_parameters
        builder.units["unlimited"] = unit
        builder.add("y", formulas.LIMITER, "unlimited", *limit_parameters)
    if tracking_time is not None:
        need_positive("pid", name, tracking_time=tracking_time)
        builder.parameters |= in_seconds(tracking_time=tracking_time)
        builder.add("tracking", formulas.BACK_CALCULATION, "u", "unlimited", "y", "ki", "tracking_time")
    return builder.block()


@spelled_out
def delay(name: str, input: str, time: Any, *, initial: Any = None, **result: Unpack[Scaled]) -> Element:
    """Return a transport delay: y(t) = u(t - `time`), from the dense output of the run, and as accurate as the solution.

    `time` is a run-time parameter, s. Before the start, u is its first value, or `initial`: a number, or a function of the time,
    `initial=lambda t: 1.0 + t`. Integration steps are no longer than the shortest delay; a jump or kink at t returns at t +
    `time`.

    Raises `ModelError` E142 unless the time is positive, E184 if it is not a single number.

    Source: Bellen and Zennaro 2003 (method of steps by continuous Runge-Kutta methods).
    """
    numbers = None if isinstance(time, str) else numbers_of(time)
    if isinstance(time, str) or (numbers is not None and numbers.shape):
        why = f"given: {time!r}; a delay that changes during a run is not supported"
        raise refusal("E184", f'delay "{name}" needs a number as its time', "time=0.1", about=name, why=why)
    need_positive("delay", name, time=time)
    if callable(initial) and (why := signature_mismatch(initial, 0.0)):
        raise refused("initial", initial, f"a function of the time: {why}", "initial=lambda t: 0.0", name)
    start = 0.0 if initial is None or callable(initial) else start_values(initial, None)
    block = Block(
        name,
        [],
        inputs={"u": input},
        states={"y": StateSpec(start, **result)},
        parameters=in_seconds(time=in_unit(name, "time", time, "s")),
    )
    law = replace(block.law_as(SignalBlock), updates={"y": "u"}, delay="time", history=initial)
    return replace(block, law=law)
