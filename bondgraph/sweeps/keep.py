"""What is kept of a run: measures in the user's words, or a function of the `Result`, in; numbers out.

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
    """What measures are taken of: a `Result`, or courses without events."""

    @property
    def t(self) -> np.ndarray:
        """Sample times (k,), s."""

    @property
    def events(self) -> Sequence[Event]:
        """What happened."""

    def __getitem__(self, name: str) -> np.ndarray: ...

    def at_events(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """A quantity before and after every event."""

    def peak(self, name: str) -> tuple[float, float]:
        """Time and value of the largest value."""


@dataclass(frozen=True)
class Eventless:
    """A run in which nothing happens at one instant: sample times (k,), and by name values (k, *shape), or (1, *shape) where the
    last is enough."""

    t: np.ndarray
    courses: Mapping[str, np.ndarray]
    events: tuple[Event, ...] = ()

    def __getitem__(self, name: str) -> np.ndarray:
        return self.courses[name]

    def at_events(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """None before, none after."""
        none = np.zeros((0, *self.courses[name].shape[1:]))
        return none, none

    def peak(self, name: str) -> tuple[float, float]:
        """As that of a `Result`."""
        return refined_peak(self.t, self.courses[name], np.zeros(0))


@dataclass(frozen=True, repr=False)
class Measure:
    """A number of a run: `what` is measured, `of` which quantity or event; made by `last`, `peak`, ..., `events`."""

    what: str
    of: str = ""

    def __repr__(self) -> str:
        return f"{self.what}({repr(self.of) if self.of else ''})"

    @property
    def kind(self) -> MeasureKind:
        """How it is taken."""
        return MEASURES[self.what]

    def __call__(self, result: Measurable) -> np.ndarray:
        """The number, or the array, of a finished run."""
        return np.asarray(self.kind.take(result, self.of), dtype=float)


Keepable = str | Measure | Callable[[Result], object]
"""What `keep=` takes by name: a quantity, whose whole course is kept; a measure; or a function of the user's."""


def last(name: str) -> Measure:
    """The value at the end."""
    return Measure("last", name)


def peak(name: str) -> Measure:
    """The largest value of a scalar, as `Result.peak` finds it between samples and at events."""
    return Measure("peak", name)


def mean(name: str) -> Measure:
    """The mean over time: the integral over the length of the run."""
    return Measure("mean", name)


def integral(name: str) -> Measure:
    """The integral over time, by trapezia between samples, and up to and from both sides of every event."""
    return Measure("integral", name)


def first_time(event: str) -> Measure:
    """The time (s) of the first event of this kind ("bounces"), or of this switch; nan where there is none."""
    return Measure("first_time", event)


def events(event: str = "") -> Measure:
    """The count of events of this kind, or of this switch; of all where none is named."""
    return Measure("events", event)


@dataclass(frozen=True)
class MeasureKind:
    """How a kind of measure is taken: result and name -> numbers; its unit from that of the quantity; what it can be of;
    whether the end is enough, and whether it is one of samples, whatever happens between them."""

    take: Callable[[Any, str], object]
    unit: Callable[[str], str] = lambda unit: unit
    of_event: bool = False
    scalar: bool = False
    at_end: bool = False
    of_samples: bool = False


def _happened(result: Any, event: str) -> list[float]:
    known = (each for each in result.events if not each.internal)
    return [each.time for each in known if not event or event in _names(result.program, each.transitions)]


def _names(program: Program, transitions: tuple[int, ...]) -> set[str]:
    return {word for k in transitions for word in (program.transitions[k].name, program.transitions[k].kind)}


def _integral(result: Measurable, name: str) -> np.ndarray:
    """A sample at the time of an event is one of its two sides."""
    at = np.array([event.time for event in result.events])
    own = ~np.isin(result.t, at)
    sides = result.at_events(name) if len(at) else ()
    t = np.concatenate([result.t[own], *(at for _ in sides)])
    values = np.concatenate([result[name][own], *sides])
    order = np.lexsort((np.concatenate([np.zeros(int(own.sum())), *(np.arange(len(at)) * 2 + k for k in range(len(sides)))]), t))
    return np.asarray(np.trapezoid(values[order], t[order], axis=0))


def _span(result: Measurable) -> float:
    return float(result.t[-1] - result.t[0])


MEASURES: Mapping[str, MeasureKind] = {
    "course": MeasureKind(lambda result, name: result[name], of_samples=True),
    "last": MeasureKind(lambda result, name: result[name][-1], at_end=True, of_samples=True),
    "peak": MeasureKind(lambda result, name: result.peak(name)[1], scalar=True),
    "mean": MeasureKind(lambda result, name: _integral(result, name) / _span(result)),
    "integral": MeasureKind(_integral, lambda unit: per_second(unit, -1)),
    "first_time": MeasureKind(lambda result, event: min(_happened(result, event), default=np.nan), lambda _: "s", of_event=True),
    "events": MeasureKind(lambda result, event: len(_happened(result, event)), lambda _: "", of_event=True),
}
"""Every measure."""


def needed(measures: Sequence[Measure]) -> dict[str, str]:
    """For each quantity whether its "last" value is enough, or its "course" is needed."""
    found = dict[str, str]()
    for measure in measures:
        enough = measure.kind.at_end and found.get(measure.of, "last") == "last"
        found[measure.of] = "last" if enough else "course"
    return found


@dataclass(frozen=True)
class Kept:
    """A column of numbers: its name, how they are taken, their unit, and their shape where it is known beforehand; whether that
    begins with the samples."""

    name: str
    take: Callable[[Any], object]
    unit: str = ""
    shape: tuple[int, ...] | None = None
    over_time: bool = False

    @property
    def described(self) -> str:
        """What it is, for comparing: a function is known by its name, one of `screwbond.models` by that in older files."""
        if isinstance(self.take, Measure):
            return repr(self.take)
        module = self.take.__module__.removeprefix("screwbond.")
        return f"{module}:{getattr(self.take, '__qualname__', type(self.take).__qualname__)}"

    def __call__(self, result: Measurable) -> np.ndarray:
        """The numbers of a finished run, which is a `Result` for functions of the user's.

        Raises `ModelError` E365 where a function of the user's fails, or gives no numbers.
        """
        if isinstance(self.take, Measure):
            return self.take(result)
        try:
            given = self.take(result)
        except Exception as error:
            raise _failed(self, f"{type(error).__name__}: {error}") from error
        found = real(given)
        if found is None:
            raise _failed(self, f"it gives {type(given).__name__}, which is no number and no array of numbers")
        return found


def _failed(kept: Kept, why: str) -> Exception:
    title = f'what is to be kept as "{kept.name}" cannot be computed'
    cures = ("the function with the result of one run, graph.simulate(...), to see where", "nan where a run has no such number")
    return refusal("E365", title, *cures, about="sweep", why=why, places=())


def kept_of(given: Mapping[str, Keepable], program: Program, samples: int) -> tuple[tuple[Kept, ...], list[Problem]]:
    """What is to be kept, by the name of its column, and all that is wrong with it; a course has so many `samples`."""
    found, problems = [], []
    for name, wanted in given.items():
        measure = Measure("course", wanted) if isinstance(wanted, str) else wanted
        wrong = _wrong(measure, program)
        if wrong:
            problems.append(Problem("E362", f'"{name}" cannot be kept: {wrong[0]}', (), (), wrong[1:]))
        elif isinstance(measure, Measure):
            found.append(_column(name, measure, program, samples))
        else:
            found.append(Kept(name, measure))
    return tuple(found), problems


def _column(name: str, measure: Measure, program: Program, samples: int) -> Kept:
    kind, is_course = MEASURES[measure.what], MEASURES[measure.what] is MEASURES["course"]
    if kind.of_event:
        return Kept(name, measure, kind.unit(""), ())
    slot = program.layout[measure.of]
    return Kept(name, measure, kind.unit(slot.unit), (samples, *slot.shape) if is_course else slot.shape, is_course)


def _wrong(measure: object, program: Program) -> tuple[str, ...]:
    """What is wrong with it, and cures; nothing where it can be kept."""
    if not isinstance(measure, Measure):
        cure = 'a quantity, "rotor.flow"; a measure of it, last("rotor.flow"); or a function of the result'
        return () if callable(measure) else (f"{type(measure).__name__} is neither a name nor a function", cure)
    if measure.what not in MEASURES or not isinstance(measure.of, str):
        return (f"{measure!r} is no measure of a quantity or event by its name", " or ".join(MEASURES))
    kind = MEASURES[measure.what]
    if kind.of_event:
        known = {word for k, edge in enumerate(program.transitions) if not edge.internal for word in _names(program, (k,))}
        return () if measure.of in known or not measure.of else (str(unknown_name("event", measure.of, sorted(known))),)
    if measure.of not in program.layout:
        try:
            program.layout[measure.of]
        except KeyError as error:
            return (str(error),)
    slot = program.layout[measure.of]
    if slot.block == "p":
        return (f'"{measure.of}" is a parameter: what is varied is kept anyway',)
    if kind.scalar and slot.shape:
        place = ", ".join("0" for _ in slot.shape)
        return (
            f'"{measure.of}" is no scalar: its shape is {slot.shape}',
            f'a component: {measure.what}("{measure.of}[{place}]")',
        )
    return ()
