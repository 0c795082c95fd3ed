"""Events of a finished run: its rows in; a frozen sequence out that makes an `Event` where one is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, overload
from weakref import WeakValueDictionary

import numpy as np

from bondgraph.emit.cached_build import OnceProperty
from bondgraph.output.lazy import LazyRow
from bondgraph.run.events.impacts.fired_transitions import Said
from bondgraph.run.events.log import PLAIN, SCALARS, Log, Rows, said_at_rest
from bondgraph.run.program import Program
from screws.renamed import answer_old_names


@answer_old_names
@dataclass(frozen=True)
class Event:
    """One transition of a switch.

    Parameters
    ----------
    time : s.
    kind : "contact on", ...
    name : the switch.
    internal : a change of description, not of the physics.
    transition : its index in the program.
    x_before, x_after, m_before, m_after : states and modes on both sides.
    energies_before, energies_after : energy per storage, J.
    supplied : what sources give at this instant, J, one number for each power.
    simultaneous : of collisions at the same time that are one problem, all transitions that happen in it; empty of one that
        happens alone, or in a sequence with others.
    since : the time since the start of the run, s: finer than `time` where that is a date.
    accumulation : of an event that stands for all that would follow ever faster: the time of their limit, s.
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

    @property
    def transitions(self) -> tuple[int, ...]:
        """All transitions that happen in it, as indices in the program."""
        return self.simultaneous or (self.transition,)

    @property
    def lost(self) -> float:
        """Energy booked as lost at switching, J."""
        return float(np.sum(self.energies_before) - np.sum(self.energies_after) + np.sum(self.supplied))


@answer_old_names
class Events(Sequence[Event]):
    """Events in order of time, k of them. What is asked of all of them at once comes as arrays.

    Parameters
    ----------
    program, p : of the run.
    start : of the run on the user's clock, s.
    rows : (k, width), as `Rows` of the program says.
    said : what is said of those that name a place in it.
    """

    def __init__(self, program: Program, p: np.ndarray, start: float, rows: np.ndarray, said: Sequence[Said] = ()):
        self._program, self._p, self._start, self._said = program, p, start, said
        self._layout, self._rows = Rows.of(program), rows.copy()
        self._rows.flags.writeable = False

    @OnceProperty
    def _made(self) -> WeakValueDictionary[int, Event]:
        """Those that have been asked for, by their places."""
        return WeakValueDictionary()

    @classmethod
    def of(cls, program: Program, p: np.ndarray, start: float, log: Log) -> Events:
        """All that a log holds."""
        return cls(program, p, start, log.rows, tuple(log.said))

    @classmethod
    def settled(cls, program: Program, p: np.ndarray, start: float, pieces: Sequence[np.ndarray]) -> Events:
        """Rows that machine code has filled, in pieces (k, width)."""
        if len(pieces) == 1:
            rows = pieces[0]
        else:
            rows = np.concatenate(pieces) if pieces else np.empty((0, Rows.of(program).width))
        return cls(program, p, start, rows, LazyRow(lambda: said_at_rest(program.transitions)))

    @classmethod
    def alone(cls, program: Program, p: np.ndarray, event: Event) -> Events:
        """One event, whichever run it is of."""
        scalars = event.since, event.time, event.time, event.transition, np.nan, PLAIN
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
        """States just before and just after (k, n)."""
        return self._rows[:, self._layout.x_before], self._rows[:, self._layout.x_after]

    @property
    def m(self) -> tuple[np.ndarray, np.ndarray]:
        """Modes just before and just after (k, modes)."""
        return self._rows[:, self._layout.m_before], self._rows[:, self._layout.m_after]

    @property
    def supplied(self) -> np.ndarray:
        """What sources give (k, powers), J."""
        return self._rows[:, self._layout.supplied]

    @property
    def transitions(self) -> np.ndarray:
        """Indices in the program (k,)."""
        return self._column("transition").astype(int)

    @property
    def internal(self) -> np.ndarray:
        """Which change the description alone (k,)."""
        return np.array([edge.internal for edge in self._program.transitions], dtype=bool)[self.transitions]

    @property
    def kinds(self) -> list[str]:
        """What happened, in words."""
        plain, own = [edge.kind for edge in self._program.transitions], self.transitions.tolist()
        said = self._column("said").astype(int).tolist()
        return [plain[i] if place == PLAIN else self._said[place].kind for i, place in zip(own, said, strict=True)]

    @cached_property
    def energies(self) -> tuple[np.ndarray, np.ndarray]:
        """Energy per storage just before and just after (k, storages), J."""
        kernel, clock = self._program.energies, self._column("clock")
        if kernel is None:
            return np.zeros((len(self), 0)), np.zeros((len(self), 0))
        before, after = (kernel.many(clock, x, self._p, m) for x, m in zip(self.x, self.m, strict=True))
        return before, after

    @property
    def lost(self) -> np.ndarray:
        """Energy booked as lost at switching (k,), J."""
        before, after = self.energies
        return np.asarray(before.sum(axis=1) - after.sum(axis=1) + self.supplied.sum(axis=1))

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, place: int) -> Event: ...

    @overload
    def __getitem__(self, place: slice) -> Events: ...

    def __getitem__(self, place: int | slice) -> Event | Events:
        if isinstance(place, slice):
            return self.select(np.arange(len(self))[place])
        own = range(len(self))[place]
        event = self._made.get(own)
        if event is None:
            event = self._made[own] = self._event(own)
        return event

    def __iter__(self) -> Iterator[Event]:
        return (self[k] for k in range(len(self)))

    def select(self, chosen: np.ndarray) -> Events:
        """Those that are chosen, by their places or by a mask (k,)."""
        found = Events(self._program, self._p, self._start, self._rows[chosen], self._said)
        if "energies" in self.__dict__:
            before, after = self.energies
            found.__dict__["energies"] = before[chosen], after[chosen]
        return found

    def index_of(self, event: Event) -> int | None:
        """Where an event of these stands; None where it is none of them."""
        near = np.flatnonzero(self.since == event.since).tolist()
        return next((k for k in near if self._made.get(k) is event), None)

    def _event(self, k: int) -> Event:
        row, layout = self._rows[k], self._layout
        since, time, _, place, limit, note = row[: len(SCALARS)].tolist()
        edge = self._program.transitions[int(place)]
        said = Said(edge.kind, edge.name) if note == PLAIN else self._said[int(note)]
        before, after = (energies[k].copy() for energies in self.energies)
        return Event(
            time=time,
            kind=said.kind,
            name=said.name,
            internal=edge.internal,
            transition=int(place),
            x_before=row[layout.x_before].copy(),
            x_after=row[layout.x_after].copy(),
            m_before=row[layout.m_before].copy(),
            m_after=row[layout.m_after].copy(),
            energies_before=before,
            energies_after=after,
            accumulation=None if np.isnan(limit) else self._start + limit,
            simultaneous=said.together,
            supplied=row[layout.supplied].copy(),
            since=since,
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Events):
            return tuple(self) == other
        if len(self) != len(other) or self._layout != other._layout:
            return False
        said = tuple(self._said) == tuple(other._said)
        same = said or all(a.transitions == b.transitions for a, b in zip(self, other, strict=True))
        return same and self._start == other._start and bool(np.array_equal(self._rows, other._rows, equal_nan=True))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(tuple(self)) if len(self) <= 6 else f"({self[0]!r}, ... {len(self)} events)"

    def __getstate__(self) -> dict[str, Any]:
        """The energies, evaluated, and names in place of code."""
        state = {**self.__dict__, "energies": self.energies, "_program": self._program.described()}
        state.pop("_made", None)
        return state
