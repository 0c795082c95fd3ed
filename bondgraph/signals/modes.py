"""Signal blocks with modes, whose jumps and kinks are events: relay, quantiser, pulse-width modulation, rate limiter."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Unpack

from bondgraph.elements import Block, Element
from bondgraph.model.arguments import parameters_of, spelled_out
from bondgraph.model.automata import Automaton, Transition
from bondgraph.model.laws import StateSpec
from bondgraph.model.ops import TIME_DERIVATIVE
from bondgraph.model.units import per_second
from bondgraph.signals import formulas
from bondgraph.signals.arguments import Format, Scaled, inputs_of, need_order, need_positive, of_result, result_of, start_values


@spelled_out
def hysteresis(
    name: str,
    input: str,
    lower: Any,
    upper: Any,
    *,
    low: Any = 0.0,
    high: Any = 1.0,
    initial: str = "low",
    **shown: Unpack[Format],
) -> Element:
    """Return a relay with hysteresis (Schmitt trigger): y jumps to `high` as u rises through `upper`, to `low` as u falls below
    `lower`.

    Both jumps are events of the automaton `name`, whose states are "low" and "high"; the automaton starts in `initial`, unless u
    is beyond a threshold.

    Raises `ModelError` E148 if lower is above upper.
    """
    need_order("hysteresis", name, lower=lower, upper=upper)
    parameters = {"lower": lower, "upper": upper, **of_result(shown.get("unit", ""), low=low, high=high)}
    block = Block(
        name,
        [("y", formulas.RELAY, ["mode", "low", "high"])],
        inputs={**inputs_of([input]), "mode": f"{name}.mode"},
        parameters=parameters,
        **result_of(**shown),
    )
    edges = (
        Transition("low", "high", formulas.EXCESS, (input, f"{name}.upper"), kind=f"{name} rises"),
        Transition("high", "low", formulas.EXCESS, (f"{name}.lower", input), kind=f"{name} falls"),
    )
    return replace(block, automaton=Automaton(name, ("low", "high"), initial, edges))


@spelled_out
def quantiser(name: str, input: str, step: Any, **shown: Unpack[Format]) -> Element:
    """Return a quantiser: y is the multiple of `step` that is nearest to u; each change is an event.

    Raises `ModelError` E142 unless the step is positive.
    """
    need_positive("quantiser", name, step=step)
    block = Block(name, [], states={"y": StateSpec(0.0, **shown)}, parameters=of_result(shown.get("unit", ""), step=step))
    y = f"{name}.y"
    signals = (input, y, f"{name}.step")
    edges = (
        Transition("on", "on", formulas.ABOVE, signals, [(y, formulas.RISEN, signals)], kind=f"{name} rises"),
        Transition("on", "on", formulas.BELOW, signals, [(y, formulas.FALLEN, signals)], kind=f"{name} falls"),
    )
    return replace(block, automaton=Automaton(name, ("on",), "on", edges))


@spelled_out
def pwm(name: str, duty: str, period: Any, *, low: Any = 0.0, high: Any = 1.0, **shown: Unpack[Format]) -> Element:
    """Return a pulse-width modulator: y = `high` for the fraction `duty` of each `period` (s), else `low`; the first period
    begins at t = 0.

    The signal `duty` is read when a period begins: 0 or less gives no pulse, 1 or more no gap. Both edges are events of the
    automaton `name`, whose states are "low" and "high".

    Raises `ModelError` E142 unless the period is positive.

    Source: Holmes and Lipo 2003, Pulse Width Modulation for Power Converters, section 3.1 (sampled, trailing edge).
    """
    need_positive("pulse-width modulation", name, period=period)
    equations = [("y", formulas.RELAY, ["mode", "low", "high"]), ("next", formulas.END_OF_PULSE, ["t", "u", "period"])]
    block = Block(
        name,
        equations,
        inputs={"u": duty, "t": "time", "mode": f"{name}.mode"},
        parameters=of_result(shown.get("unit", ""), low=low, high=high),
        states={"end": StateSpec(0.0, unit="s", symbol=r"t_{\mathrm{e}}")},
        updates={"end": "next"},
        period=period,
        **result_of(**shown),
    )
    edges = (
        Transition("low", "high", formulas.EXCEEDS, (f"{name}.end", "time"), kind=f"{name} rises"),
        Transition("high", "low", formulas.EXCEEDS, ("time", f"{name}.end"), kind=f"{name} falls"),
    )
    return replace(block, automaton=Automaton(name, ("low", "high"), "low", edges))


@spelled_out
def rate_limiter(name: str, input: str, falling: Any, rising: Any, *, initial: Any = 0.0, **result: Unpack[Scaled]) -> Element:
    """Return a rate limiter (slew rate): y follows u with a rate between `falling` and `rising`, per second.

    y begins at `initial`. The changes between the modes of the automaton `name` are events: y' = u' while "tracking"; once u is
    too fast, or jumps, y' = `rising` or `falling` until y meets u again.

    Raises `ModelError` E148 if falling is above rising.
    """
    unit = result.get("unit", "")
    rates = parameters_of({"falling": falling, "rising": rising}, dict.fromkeys(("falling", "rising"), per_second(unit)))
    need_order("rate limiter", name, **rates)
    block = Block(
        name,
        [("slope", TIME_DERIVATIVE, ["u"]), ("rate", formulas.LIMITED_RATE, ["mode", "slope", *rates])],
        inputs={"u": input, "mode": f"{name}.mode"},
        states={"y": StateSpec(start_values(initial, None), **result)},
        rates={"y": "rate"},
        parameters=rates,
        units={"slope": per_second(unit)},
    )
    y, slope, low, high = (f"{name}.{local}" for local in ("y", "slope", "falling", "rising"))
    both, exceeds, met = (input, y, low, high, "time"), formulas.EXCEEDS, f"{name} meets its input"
    from_below, from_above = [(y, formulas.MET_WHILE_RISING, both)], [(y, formulas.MET_WHILE_FALLING, both)]
    edges = (
        Transition("tracking", "rising", exceeds, (slope, high), kind=f"{name} falls behind while rising"),
        Transition("tracking", "falling", exceeds, (low, slope), kind=f"{name} falls behind while falling"),
        Transition("tracking", "rising", formulas.AHEAD, both, kind=f"{name} begins rising"),
        Transition("tracking", "falling", formulas.BEHIND, both, kind=f"{name} begins falling"),
        Transition("rising", "tracking", exceeds, (y, input), from_below, kind=met),
        Transition("falling", "tracking", exceeds, (input, y), from_above, kind=met),
    )
    return replace(block, automaton=Automaton(name, ("tracking", "rising", "falling"), "tracking", edges))
