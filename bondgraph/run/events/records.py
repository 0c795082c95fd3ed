"""Events of a finished run, as a frozen sequence that builds each `Event` on access from a row of the log."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, overload
from weakref import WeakValueDictionary

import numpy as np

from bondgraph.emit.cached_build import OnceProperty
from bondgraph.run.events.impacts.fired_transitions import EventLabel
from bondgraph.run.events.log import NO_LABEL, SCALARS, Log, RowLayout
from bondgraph.run.program import Program
from bondgraph.run.program.balances import BalanceColumns
from screws.errors import ScrewbondError, plural
from screws.names import answer_old_names
from screws.numeric_arguments import shown

_BY_KIND = '[event for event in result.events if event.kind == "hit"]'


class UnknownEvent(ScrewbondError, IndexError):
    """Invalid choice of events: a number that no event has, or no number."""

    code = "E318"


@answer_old_names
@dataclass(frozen=True)
class Event:
    """Transition of a switch.

    Parameters
    ----------
    time : time on the user's clock, s.
    kind : description, such as "contact on".
    name : name of the switch.
    internal : True for a change of coordinates (of chart), not of physics.
    transition : index of the transition in the program.
    x_before, x_after, m_before, m_after : states and modes before and after.
    energies_before, energies_after : energy per storage, J.
    supplied : energy that sources supply at this instant, J, one value per power.
    simultaneous : all transitions of simultaneous collisions that are solved as one problem; empty for a transition that happens
        alone, or in a sequence of transitions.
    since : time since the start of the run, s, which is more precise than `time` if the start time is large.
    counted : storages and powers that count in the total energy balance; None for all.
    accumulation : for an event that leads to a state of rest, the limit of the times of the events that it replaces, on the
        user's clock, s; else None.
    """

    time: float
    kind: str
    name: str
    internal: bool
    transition: int
    x_before: np.ndarray = field(repr=False)
    x_after: np.ndarray = field(repr=False)
    m_before: np.ndarray = field(repr=False)
    m_after: np.ndarray = field(repr=False)
    energies_before: np.ndarray = field(repr=False)
    energies_after: np.ndarray = field(repr=False)
    accumulation: float | None = None
    simultaneous: tuple[int, ...] = ()
    supplied: np.ndarray = field(repr=False, default_factory=lambda: np.zeros(0))
    since: float = field(repr=False, default=0.0)
    counted: BalanceColumns | None = field(repr=False, compare=False, default=None)

    @property
    def transitions(self) -> tuple[int, ...]:
        return self.simultaneous or (self.transition,)

    @property
    def lost(self) -> float:
        """Energy lost at this event, J."""
        storages, powers = (slice(None),) * 2 if self.counted is None else (self.counted.storages, self.counted.powers)
        lost = np.sum(self.energies_before[storages]) - np.sum(self.energies_after[storages]) + np.sum(self.supplied[powers])
        return float(lost)


@answer_old_names
class Events(Sequence[Event]):
    """Sequence of k events in order of time, with arrays of the values of all events.

    Parameters
    ----------
    program, p : program and parameters of the run.
    start : start of the run on the user's clock, s.
    rows : rows of the log (k, width), as in `log.RowLayout`.
    labels : labels to which the rows refer.
    """

    def __init__(self, program: Program, p: np.ndarray, start: float, rows: np.ndarray, labels: Sequence[EventLabel] = ()):
        self._program, self._p, self._start, self._labels = program, p, start, labels
        self._layout, self._rows = RowLayout.of(program), rows.copy()
        self._rows.flags.writeable = False

    @OnceProperty
    def _built(self) -> WeakValueDictionary[int, Event]:
        return WeakValueDictionary()

    @classmethod
    def of(cls, program: Program, p: np.ndarray, start: float, log: Log) -> Events:
        return cls(program, p, start, log.rows, tuple(log.labels))

    @classmethod
    def from_machine_code(
        cls, program: Program, p: np.ndarray, start: float, chunks: Sequence[np.ndarray], labels: Sequence[EventLabel]
    ) -> Events:
        if len(chunks) == 1:
            rows = chunks[0]
        else:
            rows = np.concatenate(chunks) if chunks else np.empty((0, RowLayout.of(program).width))
        return cls(program, p, start, rows, labels)

    @classmethod
    def alone(cls, program: Program, p: np.ndarray, event: Event) -> Events:
        """Return a sequence of only this event, without its label and its limit of times; it may come from another run."""
        scalars = event.since, event.time, event.time, event.transition, np.nan, NO_LABEL
        sides = event.x_before, event.x_after, event.m_before, event.m_after
        return cls(program, p, event.time - event.since, np.concatenate([scalars, *sides, event.supplied])[None])

    def _column(self, name: str) -> np.ndarray:
        return self._rows[:, SCALARS.index(name)]

    @property
    def since(self) -> np.ndarray:
        """Times since the start of the run (k,), s."""
        return self._column("since")

    @property
    def times(self) -> np.ndarray:
        """Times on the user's clock (k,), s."""
        return self._column("time")

    @property
    def x(self) -> tuple[np.ndarray, np.ndarray]:
        """States just before and just after each event (k, n)."""
        return self._rows[:, self._layout.x_before], self._rows[:, self._layout.x_after]

    @property
    def m(self) -> tuple[np.ndarray, np.ndarray]:
        """Modes just before and just after each event (k, modes)."""
        return self._rows[:, self._layout.m_before], self._rows[:, self._layout.m_after]

    @property
    def supplied(self) -> np.ndarray:
        """Energies that sources supply at each event (k, powers), J."""
        return self._rows[:, self._layout.supplied]

    @property
    def transitions(self) -> np.ndarray:
        """Index of the transition of each event (k,)."""
        return self._column("transition").astype(int)

    @property
    def internal(self) -> np.ndarray:
        """Flags (k,) of events that change only the coordinates (the chart), not the physics."""
        return np.array([edge.internal for edge in self._program.transitions], dtype=bool)[self.transitions]

    @property
    def kinds(self) -> list[str]:
        plain, transitions = [edge.kind for edge in self._program.transitions], self.transitions.tolist()
        labels = self._column("label").astype(int).tolist()
        return [plain[i] if label == NO_LABEL else self._labels[label].kind for i, label in zip(transitions, labels, strict=True)]

    @property
    def without_friction(self) -> np.ndarray:
        """Flags (k,) of impacts that were computed without their friction."""
        lost = [label.has_lost_friction for label in self._labels]
        return np.array([*lost, False])[self._column("label").astype(int)]  # NO_LABEL is the last one

    @cached_property
    def energies(self) -> tuple[np.ndarray, np.ndarray]:
        """Energy per storage just before and just after each event (k, storages), J."""
        kernel, clock = self._program.energies, self._column("clock")
        if kernel is None:
            return np.zeros((len(self), 0)), np.zeros((len(self), 0))
        before, after = (kernel.many(clock, x, self._p, m) for x, m in zip(self.x, self.m, strict=True))
        return before, after

    @property
    def lost(self) -> np.ndarray:
        """Energy lost at each event (k,), J."""
        return self.lost_of(self._program.balances.total)

    def lost_of(self, columns: BalanceColumns) -> np.ndarray:
        """Return the energy lost at each event (k,), J, in one energy balance."""
        before, after = (energies[:, columns.storages] for energies in self.energies)
        return np.asarray(before.sum(axis=1) - after.sum(axis=1) + self.supplied[:, columns.powers].sum(axis=1))

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, index: int) -> Event: ...

    @overload
    def __getitem__(self, index: slice) -> Events: ...

    def __getitem__(self, index: int | slice) -> Event | Events:
        if isinstance(index, slice):
            return self.select(np.arange(len(self))[index])
        if not isinstance(index, (int, np.integer)):
            raise UnknownEvent(f"E318 an event is chosen by its number, not by {shown(index)}; try: {_BY_KIND}")
        if not -len(self) <= index < len(self):
            raise UnknownEvent(
                f"E318 there is no event {index} among {plural(len(self), 'event')}; try: for event in result.events"
            )
        position = range(len(self))[index]
        event = self._built.get(position)
        if event is None:
            event = self._built[position] = self._event(position)
        return event

    def __iter__(self) -> Iterator[Event]:
        return (self[k] for k in range(len(self)))

    def with_earlier_start(self, by: float) -> Events:
        rows = self._rows.copy()
        rows[:, [SCALARS.index("since"), SCALARS.index("limit")]] += by
        return Events(self._program, self._p, self._start - by, rows, self._labels)

    @staticmethod
    def joined(parts: Sequence[Events]) -> Events:
        rows, labels = [], list[EventLabel]()
        for part in parts:
            rows.append(part._rows.copy())
            label = rows[-1][:, SCALARS.index("label")]
            label[label != NO_LABEL] += len(labels)
            labels += part._labels
        first = parts[0]
        return Events(first._program, first._p, first._start, np.concatenate(rows), labels)

    def select(self, chosen: np.ndarray) -> Events:
        """Return the chosen events, by their positions or by a mask (k,)."""
        if np.size(chosen) and np.asarray(chosen).dtype.kind not in "biu":
            raise UnknownEvent(f"E318 events are chosen by numbers or by a mask, not by {shown(chosen)}; try: {_BY_KIND}")
        selection = Events(self._program, self._p, self._start, self._rows[chosen], self._labels)
        if "energies" in self.__dict__:
            before, after = self.energies
            selection.__dict__["energies"] = before[chosen], after[chosen]
        return selection

    def index_of(self, event: Event) -> int | None:
        near = np.flatnonzero(self.since == event.since).tolist()
        return next((k for k in near if self._built.get(k) is event), None)

    def _event(self, k: int) -> Event:
        row, layout = self._rows[k], self._layout
        since, time, _, index, limit, note = row[: len(SCALARS)].tolist()
        edge = self._program.transitions[int(index)]
        label = EventLabel(edge.kind, edge.name) if note == NO_LABEL else self._labels[int(note)]
        before, after = (energies[k].copy() for energies in self.energies)
        return Event(
            time=time,
            kind=label.kind,
            name=label.name,
            internal=edge.internal,
            transition=int(index),
            x_before=row[layout.x_before].copy(),
            x_after=row[layout.x_after].copy(),
            m_before=row[layout.m_before].copy(),
            m_after=row[layout.m_after].copy(),
            energies_before=before,
            energies_after=after,
            accumulation=None if np.isnan(limit) else self._start + limit,
            simultaneous=label.transitions,
            supplied=row[layout.supplied].copy(),
            since=since,
            counted=self._program.balances.total,
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Events):
            return tuple(self) == other
        if len(self) != len(other) or self._layout != other._layout:
            return False
        same_labels = tuple(self._labels) == tuple(other._labels)
        same = same_labels or all(a.transitions == b.transitions for a, b in zip(self, other, strict=True))
        return same and self._start == other._start and bool(np.array_equal(self._rows, other._rows, equal_nan=True))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(tuple(self)) if len(self) <= 6 else f"({self[0]!r}, ... {plural(len(self), 'event')})"

    def __getstate__(self) -> dict[str, Any]:
        state = {**self.__dict__, "energies": self.energies, "_program": self._program.described()}
        state.pop("_built", None)
        return state
