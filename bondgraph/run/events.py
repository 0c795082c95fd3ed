"""State machines at an event: transitions that fired -> modes and states after it, iterated to a fixed point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from bondgraph.run.bound import Bound
from bondgraph.run.course import Courses
from bondgraph.run.program import Transition

# Most combinations of modes that are tried, and jumps that count as none, relative to the size of a state.
_TRIALS, _STILL = 2000, 1e-12


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
    supplied: np.ndarray = field(repr=False, default_factory=lambda: np.zeros(0))
    since: float = field(repr=False, default=0.0)

    @property
    def lost(self) -> float:
        """Energy booked as lost at switching, J."""
        return float(np.sum(self.energies_before) - np.sum(self.energies_after) + np.sum(self.supplied))


def dated(event: Event, start: float) -> Event:
    """An event of a run, whose time is that since its start, with the time on the user's clock."""
    limit = None if event.accumulation is None else start + event.accumulation
    return replace(event, time=start + event.time, since=event.time, accumulation=limit)


@dataclass(frozen=True)
class Settled:
    """The outcome of an event: states and modes after it, its transitions; `looping` if they find no end, `stuck` the bounce
    that does not take its guard back below zero, `ended` the transition that ends the run."""

    x: np.ndarray
    m: np.ndarray
    events: tuple[Event, ...]
    levels: np.ndarray
    looping: bool = False
    stuck: Event | None = None
    ended: Transition | None = None


def settle(
    bound: Bound, courses: Courses, t: float, x: np.ndarray, m: np.ndarray, fired: tuple[int, ...], probe: float
) -> Settled:
    """Carry out a transition that fired, then all whose guards are positive or about to be (`Courses.rising`), one by one.

    Of several the first by name is taken, whatever order they were written in; where this goes round in modes without any
    state that jumps, modes are tried for one in which no guard rises. A transition into its own state that does not
    work against its guard fires once; then the guard must have been below zero before it fires again.
    """
    transitions = bound.program.transitions
    events: list[Event] = []
    if not transitions:
        return Settled(x, m, (), np.zeros(0))
    order = by_name(transitions)
    once: set[int] = set()
    start, rising = (t, x, m), courses.rising(t, x, m, probe)
    crossed = [i for i in order if i in fired and (rising[i] or not courses.is_bounce(i, t, x, m))]
    answer = crossed[0] if crossed else None

    def settled(**how: Any) -> Settled:
        return Settled(x, m, tuple(events), _levels(bound.guards(t, x, m), once), **how)

    for _ in range(20 + 4 * len(transitions)):
        if answer is None:
            chosen = next((i for i in order if rising[i] and i not in once), None)
            if chosen is None:
                return settled()
        else:
            chosen = answer
        event, answer = _answered(bound, carried_out(bound, chosen, t, x, m))
        events.append(event)
        edge, before = transitions[chosen], x
        x, m = event.x_after, event.m_after
        if edge.error is not None:
            return settled(ended=edge)
        rising = courses.rising(t, x, m, probe)
        if edge.source == edge.target and answer is None and rising[chosen]:
            if courses.is_bounce(chosen, t, before, m):
                return settled(stuck=event)
            once.add(chosen)
    found = consistent_modes(bound, courses, *start, [event.transition for event in events], probe)
    if found is None:
        return settled(looping=True)
    events[:] = found
    x, m = (events[-1].x_after, events[-1].m_after) if events else start[1:]
    return settled()


def consistent_modes(
    bound: Bound, courses: Courses, t: float, x: np.ndarray, m: np.ndarray, tried: Sequence[int], probe: float
) -> list[Event] | None:
    """The fewest transitions of the automata of those `tried` after which no guard rises, where no state jumps; None if there
    are none. What jumps by no more than rounding counts as standing still."""
    transitions = bound.program.transitions
    slots = {transitions[i].slot for i in tried}
    edges = [i for i in by_name(transitions) if transitions[i].slot in slots and transitions[i].error is None]
    size = np.fmax(courses.sizes, np.abs(x))
    paths: list[list[Event]] = [[]]
    seen = {tuple(m)}
    for path in paths:
        y, modes = (path[-1].x_after, path[-1].m_after) if path else (x, m)
        if not courses.rising(t, y, modes, probe).any():
            return path
        for i in edges:
            after = modes.copy()
            after[transitions[i].slot] = transitions[i].target
            if modes[transitions[i].slot] != transitions[i].source or tuple(after) in seen or len(seen) > _TRIALS:
                continue
            event = carried_out(bound, i, t, y, modes)
            if np.all(np.abs(event.x_after - x) <= _STILL * size):
                seen.add(tuple(after))
                paths.append([*path, event])
    return None


def by_name(transitions: Sequence[Transition]) -> list[int]:
    """Indices of transitions in an order that does not depend on the one in which they were written."""
    return sorted(
        range(len(transitions)), key=lambda i: (transitions[i].name, transitions[i].kind, transitions[i].target)
    )


def _levels(guards: np.ndarray, once: set[int]) -> np.ndarray:
    """What a guard that starts at a tiny positive value must exceed to fire before it has been below zero; of guards that
    fire `once`, what they must fall below first."""
    levels = np.where(guards >= 0.0, 2.0 * guards + 1e-300, 0.0)
    for i in once:
        levels[i] = min(2.0 * guards[i], 0.0) - 1e-300
    return levels


def rest(bound: Bound, last: Event, t: float, x: np.ndarray, m: np.ndarray, limit: float) -> Event | None:
    """The transition to the state that holds where `last` accumulates towards the time `limit`, with the resets of the edge
    that leads there; None where there is no such state, or it is no longer the one to leave."""
    transitions = bound.program.transitions
    edge = transitions[last.transition]
    if edge.accumulates is None or m[edge.slot] != edge.target:
        return None
    ends = (edge.slot, edge.target, edge.accumulates)
    index = next((i for i, e in enumerate(transitions) if (e.slot, e.source, e.target) == ends), None)
    x_after, m_after = x.copy() if index is None else bound.reset(index, t, x, m), m.copy()
    m_after[edge.slot] = edge.accumulates
    edge_taken = last.transition if index is None else index
    event = _recorded(bound, edge_taken, t, (x, m), (x_after, m_after), np.zeros(bound.quadratures))
    return replace(event, kind=f"{edge.kind}: accumulation", accumulation=limit)


def carried_out(bound: Bound, index: int, t: float, x: np.ndarray, m: np.ndarray) -> Event:
    """The record of transition `index` from (x, m)."""
    edge = bound.program.transitions[index]
    after = m.copy()
    after[edge.slot] = edge.target
    return _recorded(bound, index, t, (x, m), (bound.reset(index, t, x, m), after), bound.supplied(index, t, x, m))


def _recorded(
    bound: Bound,
    index: int,
    t: float,
    before: tuple[np.ndarray, np.ndarray],
    after: tuple[np.ndarray, np.ndarray],
    supplied: np.ndarray,
) -> Event:
    """The record of a transition between two (x, m)."""
    edge = bound.program.transitions[index]
    return Event(
        time=t,
        kind=edge.kind,
        name=edge.name,
        internal=edge.internal,
        transition=index,
        x_before=before[0].copy(),
        x_after=after[0],
        m_before=before[1].copy(),
        m_after=after[1],
        energies_before=bound.energies(t, *before),
        energies_after=bound.energies(t, *after),
        supplied=supplied,
    )


_JUMP = 1e-9


def _answered(bound: Bound, event: Event) -> tuple[Event, int | None]:
    """The event, and another transition that its impulse fires: a diode closes rather than let a switch cut off a current.

    What the two do together is then found at the second one; the first changes the mode alone.
    """
    transitions = bound.program.transitions
    found = bound.pushed(event.transition, event.time, event.x_before, event.m_before)
    if found is None:
        return event, None
    pushes, plain = found
    size = bound.program.nominal + np.abs(plain)
    active = np.array([event.m_after[edge.slot] == edge.source for edge in transitions])
    answers = np.where(active, pushes, 0.0)
    most = int(np.argmax(answers))
    if not np.any(np.abs(event.x_after - plain) > _JUMP * size) or answers[most] <= _JUMP * np.abs(pushes).max():
        return event, None
    after = bound.energies(event.time, plain, event.m_after)
    return replace(event, x_after=plain, energies_after=after, supplied=np.zeros(bound.quadratures)), most
