"""Measures of a run that a sweep keeps: `last`, `peak`, `mean`, `integral`, `first_time`, `events`, or a user's function.

>>> peak("rotor.flow")
peak('rotor.flow')
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from bondgraph.errors import Problem, refusal
from bondgraph.model.units import per_second
from bondgraph.output.tables import unknown_name
from bondgraph.quantities import real
from bondgraph.run.events.records import Event
from bondgraph.run.program import Program
from bondgraph.run.results.result import Result, refined_peak


class Measurable(Protocol):
    """Run that can be measured: a `Result`, or time series without events."""

    @property
    def t(self) -> np.ndarray:
        """Sample times (k,), s."""

    @property
    def events(self) -> Sequence[Event]:
        """Events of the run."""

    def __getitem__(self, name: str) -> np.ndarray: ...

    def at_events(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Return a quantity before and after every event."""

    def peak(self, name: str) -> tuple[float, float]:
        """Return time and value of the largest value."""


@dataclass(frozen=True)
class Eventless:
    """Run without events: sample times (k,), and values (k, *shape) by name, or (1, *shape) where the last is enough."""

    t: np.ndarray
    courses: Mapping[str, np.ndarray]
    events: tuple[Event, ...] = ()

    def __getitem__(self, name: str) -> np.ndarray:
        return self.courses[name]

    def at_events(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Return empty arrays."""
        none = np.zeros((0, *self.courses[name].shape[1:]))
        return none, none

    def peak(self, name: str) -> tuple[float, float]:
        """Return time and value of the largest value, as `Result.peak`."""
        return refined_peak(self.t, self.courses[name], np.zeros(0))


@dataclass(frozen=True, repr=False)
class Measure:
    """Measure of a run: `what` is measured, `of` which quantity or event; built by `last`, `peak`, ..., `events`."""

    what: str
    of: str = ""

    def __repr__(self) -> str:
        return f"{self.what}({repr(self.of) if self.of else ''})"

    @property
    def kind(self) -> MeasureKind:
        """Entry of `MEASURES`."""
        return MEASURES[self.what]

    def __call__(self, result: Measurable) -> np.ndarray:
        """Return the number, or the array, of a finished run."""
        return np.asarray(self.kind.take(result, self.of), dtype=float)


Keepable = str | Measure | Callable[[Result], object]
"""Values of `keep=`: a quantity, kept at all samples; a measure; or a user's function of the result."""


def last(name: str) -> Measure:
    """Measure the value at the end."""
    return Measure("last", name)


def peak(name: str) -> Measure:
    """Measure the largest value of a scalar, as `Result.peak` finds it between samples and at events."""
    return Measure("peak", name)


def mean(name: str) -> Measure:
    """Measure the mean over time: the integral over the length of the run."""
    return Measure("mean", name)


def integral(name: str) -> Measure:
    """Measure the integral over time, by trapezia between samples, and up to and from both sides of every event."""
    return Measure("integral", name)


def first_time(event: str) -> Measure:
    """Measure the time (s) of the first event of this kind ("bounces"), or of this switch; nan where there is none."""
    return Measure("first_time", event)


def events(event: str = "") -> Measure:
    """Count the events of this kind, or of this switch; all events where none is named."""
    return Measure("events", event)


@dataclass(frozen=True)
class MeasureKind:
    """Kind of measure: `take` maps result and name to numbers, `unit` its unit from that of the quantity; flags: it measures
    events, only scalars, needs the end alone, needs samples alone whatever happens between them."""

    take: Callable[[Any, str], object]
    unit: Callable[[str], str] = lambda unit: unit
    of_event: bool = False
    scalar: bool = False
    at_end: bool = False
    of_samples: bool = False


def _times_of(result: Any, event: str) -> list[float]:
    visible = (each for each in result.events if not each.internal)
    return [each.time for each in visible if not event or event in _names(result.program, each.transitions)]


def _names(program: Program, transitions: tuple[int, ...]) -> set[str]:
    return {word for k in transitions for word in (program.transitions[k].name, program.transitions[k].kind)}


def _integral(result: Measurable, name: str) -> np.ndarray:
    """Integrate by the trapezoidal rule; a sample at the time of an event is replaced by the event's two sides."""
    at = np.array([event.time for event in result.events])
    regular = ~np.isin(result.t, at)
    sides = result.at_events(name) if len(at) else ()
    t = np.concatenate([result.t[regular], *(at for _ in sides)])
    values = np.concatenate([result[name][regular], *sides])
    order = np.lexsort(
        (np.concatenate([np.zeros(int(regular.sum())), *(np.arange(len(at)) * 2 + k for k in range(len(sides)))]), t)
    )
    return np.asarray(np.trapezoid(values[order], t[order], axis=0))


def _span(result: Measurable) -> float:
    return float(result.t[-1] - result.t[0])


MEASURES: Mapping[str, MeasureKind] = {
    "course": MeasureKind(lambda result, name: result[name], of_samples=True),
    "last": MeasureKind(lambda result, name: result[name][-1], at_end=True, of_samples=True),
    "peak": MeasureKind(lambda result, name: result.peak(name)[1], scalar=True),
    "mean": MeasureKind(lambda result, name: _integral(result, name) / _span(result)),
    "integral": MeasureKind(_integral, lambda unit: per_second(unit, -1)),
    "first_time": MeasureKind(lambda result, event: min(_times_of(result, event), default=np.nan), lambda _: "s", of_event=True),
    "events": MeasureKind(lambda result, event: len(_times_of(result, event)), lambda _: "", of_event=True),
}
"""Measures by name."""


def needed(measures: Sequence[Measure]) -> dict[str, str]:
    """Return for each quantity "last" where its last value is enough, else "course"."""
    ways = dict[str, str]()
    for measure in measures:
        enough = measure.kind.at_end and ways.get(measure.of, "last") == "last"
        ways[measure.of] = "last" if enough else "course"
    return ways


@dataclass(frozen=True)
class Kept:
    """Column to keep: its name, the function that takes its numbers, their unit, and their shape where it is known beforehand;
    `over_time` where that begins with the samples."""

    name: str
    take: Callable[[Any], object]
    unit: str = ""
    shape: tuple[int, ...] | None = None
    over_time: bool = False

    @property
    def described(self) -> str:
        """Text for comparing plans: a function by its name, one of `screwbond.models` by its name in older files."""
        if isinstance(self.take, Measure):
            return repr(self.take)
        module = self.take.__module__.removeprefix("screwbond.")
        return f"{module}:{getattr(self.take, '__qualname__', type(self.take).__qualname__)}"

    def __call__(self, result: Measurable) -> np.ndarray:
        """Return the numbers of a finished run, which is a `Result` for functions of the user's.

        Raises `ModelError` E365 where a function of the user's fails, or gives no numbers.
        """
        if isinstance(self.take, Measure):
            return self.take(result)
        try:
            value = self.take(result)
        except Exception as error:
            raise _failed(self, f"{type(error).__name__}: {error}") from error
        numbers = real(value)
        if numbers is None:
            raise _failed(self, f"it gives {type(value).__name__}, which is no number and no array of numbers")
        return numbers


def _failed(kept: Kept, why: str) -> Exception:
    title = f'what is to be kept as "{kept.name}" cannot be computed'
    cures = ("the function with the result of one run, graph.simulate(...), to see where", "nan where a run has no such number")
    return refusal("E365", title, *cures, about="sweep", why=why, places=())


def kept_of(keep: Mapping[str, Keepable], program: Program, samples: int) -> tuple[tuple[Kept, ...], list[Problem]]:
    """Return the columns of `keep=` and all their problems; a time series has `samples` values."""
    columns, problems = [], []
    for name, measured in keep.items():
        measure = Measure("course", measured) if isinstance(measured, str) else measured
        reasons = _reasons_against(measure, program)
        if reasons:
            problems.append(Problem("E362", f'"{name}" cannot be kept: {reasons[0]}', (), (), reasons[1:]))
        elif isinstance(measure, Measure):
            columns.append(_column(name, measure, program, samples))
        else:
            columns.append(Kept(name, measure))
    return tuple(columns), problems


def _column(name: str, measure: Measure, program: Program, samples: int) -> Kept:
    kind, is_course = MEASURES[measure.what], MEASURES[measure.what] is MEASURES["course"]
    if kind.of_event:
        return Kept(name, measure, kind.unit(""), ())
    slot = program.layout[measure.of]
    return Kept(name, measure, kind.unit(slot.unit), (samples, *slot.shape) if is_course else slot.shape, is_course)


def _reasons_against(measure: object, program: Program) -> tuple[str, ...]:
    """Return why a measure cannot be kept, and cures; nothing where it can."""
    if not isinstance(measure, Measure):
        cure = 'a quantity, "rotor.flow"; a measure of it, last("rotor.flow"); or a function of the result'
        return () if callable(measure) else (f"{type(measure).__name__} is neither a name nor a function", cure)
    if measure.what not in MEASURES or not isinstance(measure.of, str):
        return (f"{measure!r} is no measure of a quantity or event by its name", " or ".join(MEASURES))
    kind = MEASURES[measure.what]
    if kind.of_event:
        words = {word for k, edge in enumerate(program.transitions) if not edge.internal for word in _names(program, (k,))}
        return () if measure.of in words or not measure.of else (str(unknown_name("event", measure.of, sorted(words))),)
    if measure.of not in program.layout:
        try:
            program.layout[measure.of]
        except KeyError as error:
            return (str(error),)
    slot = program.layout[measure.of]
    if slot.block == "p":
        return (f'"{measure.of}" is a parameter: what is varied is kept anyway',)
    if kind.scalar and slot.shape:
        index = ", ".join("0" for _ in slot.shape)
        return (
            f'"{measure.of}" is no scalar: its shape is {slot.shape}',
            f'a component: {measure.what}("{measure.of}[{index}]")',
        )
    return ()
