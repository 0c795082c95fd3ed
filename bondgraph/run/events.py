"""State machines at an event: transitions that fired -> modes and states after it, iterated to a fixed point."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace

import numpy as np

from bondgraph.run.bound import Bound
from bondgraph.run.program import Transition

WINDOW = 50
_ROUNDING = 64.0 * WINDOW * 2.3e-16
_RATIOS = 8
_LONGER = 1e3


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
    """The outcome of an event: states and modes after it, its transitions; `looping` if they find no end,
    `ended` the transition that ends the run."""

    x: np.ndarray
    m: np.ndarray
    events: tuple[Event, ...]
    levels: np.ndarray
    looping: bool = False
    ended: Transition | None = None


def settle(bound: Bound, t: float, x: np.ndarray, m: np.ndarray, fired: tuple[int, ...], probe: float) -> Settled:
    """Carry out the transitions that fired, then all whose guards are positive in the new modes (level check).

    A guard that is exactly at the zero which it has just crossed the other way does not fire: what counts is its
    value after `probe` seconds along the new rates. A transition into its own state that leaves its guard as it is fires
    once; then the guard must have been below zero before it fires again.
    """
    transitions = bound.program.transitions
    events: list[Event] = []
    if not transitions:
        return Settled(x, m, (), np.zeros(0))
    pending, now = list(fired), bound.guards(t, x, m)
    at_root, first = now, True
    once: set[int] = set()
    for _ in range(20 + 4 * len(transitions)):
        if not pending and now.max() < 0.0:
            return Settled(x, m, tuple(events), _levels(now, once))
        if first and pending:
            chosen = pending.pop(0)
        else:
            later = bound.guards(t + probe, x + probe * bound.rates(t, x, m), m)
            active = np.array([m[edge.slot] == edge.source for edge in transitions])
            waiting = [i for i in pending if active[i] and now[i] >= min(at_root[i], 0.0) and later[i] > now[i]]
            ready = waiting or np.flatnonzero(active & (now >= 0.0) & (later > 0.0)).tolist()
            ready = [i for i in ready if i not in once]
            if not ready:
                return Settled(x, m, tuple(events), _levels(now, once))
            chosen = int(ready[0])
            pending = [i for i in waiting if i != chosen]
        first = False
        event, answer = _answered(bound, _apply(bound, chosen, t, x, m))
        events.append(event)
        if answer is not None:
            pending, first = [answer, *pending], True
        now, was = bound.guards(t, event.x_after, event.m_after), now
        if transitions[chosen].source == transitions[chosen].target and now[chosen] == was[chosen]:
            courses = [bound.guards(t + probe, y + probe * bound.rates(t, y, m), m)[chosen] for y in (x, event.x_after)]
            once |= {chosen} if courses[0] == courses[1] else set()
        x, m = event.x_after, event.m_after
        if transitions[chosen].error is not None:
            return Settled(x, m, tuple(events), _levels(now, once), ended=transitions[chosen])
    return Settled(x, m, tuple(events), _levels(now, once), looping=True)


def settle_far(
    bound: Bound, t: float, x: np.ndarray, m: np.ndarray, fired: tuple[int, ...], probe: float, longest: float
) -> Settled:
    """`settle`; where modes alone go to and fro, with a longer look ahead, up to `longest`: in a short one the courses of guards
    that cross zero together may drown in their rounding."""
    while True:
        settled = settle(bound, t, x, m, fired, probe)
        if not settled.looping or probe >= longest:
            return settled
        last = settled.events[-1]
        if bound.program.transitions[last.transition].accumulates is not None or np.any(last.x_before != settled.x):
            return settled
        probe = min(_LONGER * probe, longest)


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


def _apply(bound: Bound, index: int, t: float, x: np.ndarray, m: np.ndarray) -> Event:
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


class Watch:
    """Remembers the times of recent events per transition and sees when they accumulate."""

    def __init__(self, span: float, rtol: float):
        self._span, self._rtol = span, rtol
        self._times: dict[int, deque[float]] = {}

    def add(self, event: Event) -> str:
        """Note an event; "chattering", "Zeno", or "" if all is well."""
        times = self._times.setdefault(event.transition, deque(maxlen=WINDOW))
        times.append(event.time)
        if len(times) == WINDOW and times[-1] - times[0] <= max(1e-10 * self._span, _ROUNDING * abs(event.time)):
            return "chattering"
        if len(times) < _RATIOS + 2 or not 0.0 < times[-1] - times[-2] < times[-2] - times[-3]:
            return ""
        recent = [times[i] for i in range(len(times) - _RATIOS - 2, len(times))]
        steps = np.diff(np.array(recent))
        if np.all(steps > 0.0) and np.all(steps[1:] < steps[:-1]):
            ratios = steps[1:] / steps[:-1]
            ratio = float(ratios.mean())
            left = float(steps[-1]) * ratio / (1.0 - ratio)
            if ratios.max() - ratios.min() < 0.05 * ratio and left < self._rtol * self._span:
                return "Zeno"
        return ""

    def limit(self, transition: int) -> float:
        """Where the times of a transition's last events lead, as a geometric series; the last of them if nowhere."""
        times = [*self._times.pop(transition, ())][-_RATIOS - 2 :]
        steps = np.diff(np.array(times))
        if len(steps) < 2 or not np.all(steps > 0.0):
            return times[-1] if times else 0.0
        ratio = float((steps[-1] / steps[0]) ** (1.0 / (len(steps) - 1)))
        return times[-1] + (float(steps[-1]) * ratio / (1.0 - ratio) if ratio < 1.0 else 0.0)

    def shrinking(self, transition: int) -> bool:
        """Whether the times between the last events of a transition shrink."""
        steps = np.diff(np.array(self._times.get(transition, ())))
        steps = steps[steps > 0.0]
        return len(steps) > 4 and bool(steps[-1] < 0.1 * steps[:-1].max())
