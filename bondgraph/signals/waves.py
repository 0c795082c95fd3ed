"""Waveforms: blocks of the signal `time`; their start and end times are run-time parameters, in s."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

from bondgraph.elements import Element
from bondgraph.model.arguments import bounded, parameters_of, spelled_out
from bondgraph.model.ops import Op
from bondgraph.model.units import per_second
from bondgraph.signals import formulas
from bondgraph.signals.arguments import Format, need_order, need_positive, static_block

_UNITS = dict.fromkeys(("start", "end", "width", "period", "duration"), "s") | {"omega": "rad/s", "phase": "rad", "duty": "1"}


def _wave(name: str, op: Op, values: Mapping[str, Any], breaks: Sequence[str] = (), **shown: Unpack[Format]) -> Element:
    """Return a block of the time; its numbers are times, or have the unit of the result."""
    unit = shown.get("unit", "")
    units = {key: _UNITS.get(key, per_second(unit) if key == "slope" else unit) for key in values}
    return static_block(name, op, ["time"], parameters_of(values, units), breaks, **shown)


@spelled_out
def sine(
    name: str, amplitude: Any = 1.0, omega: Any = 1.0, phase: Any = 0.0, offset: Any = 0.0, **shown: Unpack[Format]
) -> Element:
    """Sine wave y = offset + amplitude sin(omega t + phase); omega in rad/s, phase in rad."""
    values = {"amplitude": amplitude, "omega": omega, "phase": phase, "offset": offset}
    return _wave(name, formulas.SINE, values, **shown)


@spelled_out
def step(name: str, start: Any = 0.0, before: Any = 0.0, after: Any = 1.0, **shown: Unpack[Format]) -> Element:
    """Step: y = `before` until t = start (s), `after` from then on; integration restarts at the jump."""
    values = {"start": start, "before": before, "after": after}
    return _wave(name, formulas.STEP, values, ["start"], **shown)


@spelled_out
def pulse(name: str, start: Any = 0.0, width: Any = 1.0, before: Any = 0.0, after: Any = 1.0, **shown: Unpack[Format]) -> Element:
    """Pulse: y = `after` from t = start (s) for `width` seconds, `before` before and from then on; no step leads across an edge.

    Raises `ModelError` E142 unless the width is positive.
    """
    need_positive("pulse", name, width=width)
    values = {"start": start, "width": width, "before": before, "after": after}
    return _wave(name, formulas.PULSE, values, **shown)


@spelled_out
def square(
    name: str, period: Any = 1.0, start: Any = 0.0, duty: Any = 0.5, low: Any = 0.0, high: Any = 1.0, **shown: Unpack[Format]
) -> Element:
    """Square wave: y = `high` for the part `duty` (0 to 1) of each `period` (s), else `low`; a period begins at t = start.

    The wave has neither beginning nor end. Raises `ModelError` E142 unless the period is positive; the graph refuses a `duty`
    outside of 0 to 1 (E151).
    """
    need_positive("square wave", name, period=period)
    values = {"period": period, "start": start, "duty": bounded(duty, max_value=1.0), "low": low, "high": high}
    return _wave(name, formulas.SQUARE, values, **shown)


@spelled_out
def sawtooth(name: str, period: Any = 1.0, start: Any = 0.0, low: Any = 0.0, high: Any = 1.0, **shown: Unpack[Format]) -> Element:
    """Sawtooth wave: y grows from `low` to `high` in each `period` (s) and falls back at once; one period begins at t = start.

    The wave has neither beginning nor end. Raises `ModelError` E142 unless the period is positive.
    """
    need_positive("sawtooth", name, period=period)
    values = {"period": period, "start": start, "low": low, "high": high}
    return _wave(name, formulas.SAWTOOTH, values, **shown)


@spelled_out
def ramp(name: str, slope: Any = 1.0, start: Any = 0.0, end: Any = None, offset: Any = 0.0, **shown: Unpack[Format]) -> Element:
    """Ramp: y = offset until t = start (s), then it grows by `slope` per second, until t = end if that is given.

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
    """Smooth step from `before` to `after` in `duration` (s), with continuous acceleration: s^3 (10 - 15 s + 6 s^2), s = 0 ... 1.

    Raises `ModelError` E142 unless the duration is positive.
    """
    need_positive("smooth step", name, duration=duration)
    values = {"start": start, "duration": duration, "before": before, "after": after}
    return _wave(name, formulas.SMOOTH_STEP, values, **shown)
