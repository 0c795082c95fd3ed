"""State machines at an event: transitions that fired -> modes and states after it, iterated to a fixed point."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import numpy as np

from bondgraph.run.bound import Bound
from bondgraph.run.program import Transition

WINDOW = 50
_ROUNDING = 64.0 * WINDOW * 2.3e-16
_RATIOS = 8


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

    @property
    def lost(self) -> float:
        """Energy booked as lost at switching, J."""
        return float(np.sum(self.energies_before) - np.sum(self.energies_after))


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
    value after `probe` seconds along the new rates.
    """
    transitions = bound.program.transitions
    events: list[Event] = []
    if not transitions:
        return Settled(x, m, (), np.zeros(0))
    pending, now = list(fired), bound.guards(t, x, m)
    at_root, first = now, True
    for _ in range(20 + 4 * len(transitions)):
        if not pending and now.max() < 0.0:
            return Settled(x, m, tuple(events), _levels(now))
        if first and pending:
            chosen = pending.pop(0)
        else:
            later = bound.guards(t + probe, x + probe * bound.rates(t, x, m), m)
            active = np.array([m[edge.slot] == edge.source for edge in transitions])
            waiting = [i for i in pending if active[i] and now[i] >= min(at_root[i], 0.0) and later[i] > now[i]]
            ready = waiting or np.flatnonzero(active & (now >= 0.0) & (later > 0.0)).tolist()
            if not ready:
                return Settled(x, m, tuple(events), _levels(now))
            chosen = int(ready[0])
            pending = [i for i in waiting if i != chosen]
        first = False
        event = _apply(bound, chosen, t, x, m)
        events.append(event)
        x, m = event.x_after, event.m_after
        now = bound.guards(t, x, m)
        if transitions[chosen].error is not None:
            return Settled(x, m, tuple(events), _levels(now), ended=transitions[chosen])
    return Settled(x, m, tuple(events), _levels(now), looping=True)


def _levels(guards: np.ndarray) -> np.ndarray:
    """What a guard that starts at a tiny positive value must exceed to fire before it has been below zero."""
    return np.where(guards >= 0.0, 2.0 * guards + 1e-300, 0.0)


def _apply(bound: Bound, index: int, t: float, x: np.ndarray, m: np.ndarray) -> Event:
    edge = bound.program.transitions[index]
    after = m.copy()
    after[edge.slot] = edge.target
    x_after = bound.reset(index, t, x, m)
    return Event(
        time=t,
        kind=edge.kind,
        name=edge.name,
        internal=edge.internal,
        transition=index,
        x_before=x.copy(),
        x_after=x_after,
        m_before=m.copy(),
        m_after=after,
        energies_before=bound.energies(t, x, m),
        energies_after=bound.energies(t, x_after, after),
    )


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

    def shrinking(self, transition: int) -> bool:
        """Whether the times between the last events of a transition shrink."""
        steps = np.diff(np.array(self._times.get(transition, ())))
        steps = steps[steps > 0.0]
        return len(steps) > 4 and bool(steps[-1] < 0.1 * steps[:-1].max())
