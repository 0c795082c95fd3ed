"""Measures of a run: `simulate`, `run_many` and `sweep` compute the same value by the same rule.

>>> peak("rotor.flow")
peak('rotor.flow')
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Protocol

import numpy as np

from bondgraph.errors import unknown_name
from bondgraph.model.units import per_second
from bondgraph.run.program import Program, RunTransition
from bondgraph.run.results.result import extreme
from bondgraph.run.results.values_at import Sampled

__all__ = ["events", "first_time", "integral", "last", "lowest", "mean", "peak", "series"]


class Measurable(Sampled, Protocol):
    """Finished run to which measures apply: a `Result`."""

    @property
    def program(self) -> Program: ...

    @property
    def since(self) -> np.ndarray:
        """Sample times since the start (k,), s."""


@dataclass(frozen=True, repr=False)
class Measure:
    """Measure of a run, which computes a scalar or array: `what` is its name, `of` the quantity or event that it measures. The
    functions `last`, `peak`, ... and `events` return measures."""

    what: str
    of: str = ""

    def __repr__(self) -> str:
        return f"{self.what}({repr(self.of) if self.of else ''})"

    @property
    def kind(self) -> MeasureKind:
        """Row of the table of measures."""
        return MEASURES[self.what]

    @property
    def stored(self) -> str:
        """Text that represents the measure in a store of runs."""
        return repr(Measure(self.kind.stored or self.what, self.of))

    def __call__(self, result: Measurable) -> np.ndarray:
        """Return the scalar or array for a finished run."""
        return np.asarray(self.kind.take(result, self.of), dtype=float)

    def shape(self, program: Program) -> tuple[int, ...]:
        """Return the shape, without the axis of samples, of the kept values in runs of a program."""
        return () if self.kind.of_event else program.layout[self.of].shape

    def unit(self, program: Program) -> str:
        """Return the unit of the kept values in runs of a program."""
        return self.kind.unit("" if self.kind.of_event else program.layout.unit(self.of))


def series(name: str) -> Measure:
    """Measure the values at all samples; the name alone has the same effect."""
    return Measure("series", name)


def last(name: str) -> Measure:
    """Measure the value at the last sample."""
    return Measure("last", name)


def peak(name: str) -> Measure:
    """Measure the largest value of a scalar, as `Result.peak` finds it between samples and at events."""
    return Measure("peak", name)


def lowest(name: str) -> Measure:
    """Measure the smallest value of a scalar, between samples and at events as `peak` does."""
    return Measure("lowest", name)


def integral(name: str) -> Measure:
    """Measure the integral over time by the trapezoidal rule, with samples and both sides of every event as nodes."""
    return Measure("integral", name)


def mean(name: str) -> Measure:
    """Measure the mean over time: the integral divided by the time from the first sample to the last."""
    return Measure("mean", name)


def first_time(event: str) -> Measure:
    """Measure the time (s) of the first event of this kind ("bounces") or of this switch; NaN if there is none."""
    return Measure("first_time", event)


def events(event: str = "") -> Measure:
    """Count the events of this kind or of this switch; without a name, count all events."""
    return Measure("events", event)


class MachineRule(IntEnum):
    SERIES, LAST, PEAK, LOWEST, INTEGRAL, MEAN, FIRST_TIME, EVENTS = range(8)


@dataclass(frozen=True)
class MeasureKind:
    """Row of the table of measures.

    Parameters
    ----------
    meaning : description for the documentation.
    take : function from a finished run and the name of a quantity or event to the value.
    machine : rule by which machine code computes a bitwise equal value.
    unit : function from the unit of the quantity to the unit of the measure.
    of_event : True if it measures events, not a quantity.
    scalar : True if the quantity must be a scalar.
    over_time : True if there is a value for every sample.
    stored : name in stores and plans, if it differs.
    """

    meaning: str
    take: Callable[[Any, str], object]
    machine: MachineRule
    unit: Callable[[str], str] = lambda unit: unit
    of_event: bool = False
    scalar: bool = False
    over_time: bool = False
    stored: str = ""


def matches_event(event: str, edge: RunTransition) -> bool:
    return not edge.internal and (not event or event in (edge.name, edge.kind))


def _times_of(result: Measurable, event: str) -> list[float]:
    edges = result.program.transitions
    meant = {k for k, edge in enumerate(edges) if not event or event in (edge.name, edge.kind)}
    return [each.time for each in result.events if not each.internal and not meant.isdisjoint(each.transitions)]


def _integral(result: Measurable, name: str) -> np.ndarray:
    """Integrate by the trapezoidal rule, summed in order of time; the values on both sides of an event replace a sample at its
    time, and events after the last sample are ignored."""
    since, values = result.since, np.asarray(result[name], dtype=float)
    at = result.events.since
    if len(at):
        inside, others = at <= since[-1], ~np.isin(since, at)
        at = at[inside]
        sides = [np.asarray(side, dtype=float)[inside] for side in result.at_events(name)]
        order = [np.zeros(int(others.sum())), *(2.0 * np.arange(len(at)) + k for k in range(2))]
        since, values = np.concatenate([since[others], at, at]), np.concatenate([values[others], *sides])
        rows = np.lexsort((np.concatenate(order), since))
        since, values = since[rows], values[rows]
    steps = np.diff(since).reshape(-1, *[1] * (values.ndim - 1))
    parts = steps * (values[:-1] + values[1:]) * 0.5
    return np.asarray(np.add.accumulate(parts)[-1] if len(parts) else np.zeros(values.shape[1:]))


def _mean(result: Measurable, name: str) -> np.ndarray:
    total, length = _integral(result, name), float(result.since[-1])
    return total / length if length > 0.0 else np.full_like(total, np.nan)


MEASURES: Mapping[str, MeasureKind] = {
    "series": MeasureKind(
        "values at all samples; the name alone has the same effect",
        lambda result, name: result[name],
        MachineRule.SERIES,
        over_time=True,
        stored="course",
    ),
    "last": MeasureKind("value at the last sample", lambda result, name: result[name][-1], MachineRule.LAST),
    "peak": MeasureKind(
        "largest value, including values between samples and at events, as in `Result.peak`",
        lambda result, name: extreme(result, name)[1],
        MachineRule.PEAK,
        scalar=True,
    ),
    "lowest": MeasureKind(
        "smallest value, found as in `peak`", lambda result, name: extreme(result, name, -1.0)[1], MachineRule.LOWEST, scalar=True
    ),
    "mean": MeasureKind("mean over the time from the first sample to the last", _mean, MachineRule.MEAN),
    "integral": MeasureKind(
        "integral over time, by the trapezoidal rule between samples and on both sides of every event",
        _integral,
        MachineRule.INTEGRAL,
        lambda unit: per_second(unit, -1),
    ),
    "first_time": MeasureKind(
        "time of the first event of this kind or of this switch; NaN if none",
        lambda result, event: min(_times_of(result, event), default=np.nan),
        MachineRule.FIRST_TIME,
        lambda _: "s",
        of_event=True,
    ),
    "events": MeasureKind(
        "count of events of this kind or of this switch; without a name, of all events",
        lambda result, event: len(_times_of(result, event)),
        MachineRule.EVENTS,
        lambda _: "",
        of_event=True,
    ),
}

STORED = {kind.stored: word for word, kind in MEASURES.items() if kind.stored}
"""Measures by their names in stores and plans, where these differ from the current names."""
_FORMER = {"max": "peak", "min": "lowest", **STORED}


def measure_of(argument: object) -> object:
    return series(argument) if isinstance(argument, str) else argument


def why_not(measure: object, program: Program) -> tuple[str, ...]:
    """Return the reason why runs of a program cannot keep this measure, and remedies; return an empty tuple if they can."""
    former = str(measure[0]) if isinstance(measure, tuple) and len(measure) == 2 else ""
    if isinstance(measure, tuple) and (word := _FORMER.get(former, former)) in MEASURES:
        cure = f"measures.{word}({measure[1]!r}), with: from bondgraph import measures"
        return (f"{measure!r} has been replaced by a measure", cure)
    if not isinstance(measure, Measure):
        cures = 'a quantity, "rotor.flow"', 'a measure of it, last("rotor.flow")', "a sweep, which takes functions of the result"
        return (f"{type(measure).__name__} is neither a name nor a measure", *cures)
    if measure.what not in MEASURES or not isinstance(measure.of, str):
        return (f"{measure!r} is not a measure of a quantity or event by name", " or ".join(MEASURES))
    kind = MEASURES[measure.what]
    if kind.of_event:
        edges = [edge for edge in program.transitions if not edge.internal]
        names = sorted({word for edge in edges for word in (edge.name, edge.kind)})
        return () if measure.of in names or not measure.of else (unknown_name("event", measure.of, names).args[0],)
    try:
        slot = program.layout[measure.of]
    except KeyError as error:
        return (error.args[0],)
    if slot.is_parameter:
        return (f'"{measure.of}" is a parameter: it keeps its given value',)
    if kind.scalar and slot.shape:
        index = ", ".join("0" for _ in slot.shape)
        return (
            f'"{measure.of}" is not a scalar: its shape is {slot.shape}',
            f'a component: {measure.what}("{measure.of}[{index}]")',
        )
    return ()
