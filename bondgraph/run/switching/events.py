"""Events: what happens at one transition of a state machine, or at several together, with states and modes on both sides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from bondgraph.run.bound import Bound
from bondgraph.run.program import RunTransition

# A jump that counts as none, relative to the size of a state.
_JUMP = 1e-9


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
    together : of collisions at the same time that are one problem, all transitions that happen in it; empty of one that
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
    together: tuple[int, ...] = ()
    supplied: np.ndarray = field(repr=False, default_factory=lambda: np.zeros(0))
    since: float = field(repr=False, default=0.0)

    @property
    def transitions(self) -> tuple[int, ...]:
        """All transitions that happen in it, as indices in the program."""
        return self.together or (self.transition,)

    @property
    def lost(self) -> float:
        """Energy booked as lost at switching, J."""
        return float(np.sum(self.energies_before) - np.sum(self.energies_after) + np.sum(self.supplied))


def dated(event: Event, start: float) -> Event:
    """An event of a run, whose time is that since its start, with the time on the user's clock."""
    limit = None if event.accumulation is None else start + event.accumulation
    return replace(event, time=start + event.time, since=event.time, accumulation=limit)


def by_name(transitions: Sequence[RunTransition]) -> list[int]:
    """Indices of transitions in an order that does not depend on the one in which they were written; at the front those that
    are taken before all others, at the end those that are taken only where no other is."""

    def key(i: int) -> tuple[bool, bool, str, str, float]:
        edge = transitions[i]
        return edge.last, not edge.first, edge.name, edge.kind, edge.target

    return sorted(range(len(transitions)), key=key)


def carried_out(bound: Bound, index: int, t: float, x: np.ndarray, m: np.ndarray) -> Event:
    """The record of transition `index` from (x, m)."""
    edge = bound.program.transitions[index]
    after = m.copy()
    after[edge.slot] = edge.target
    return recorded(bound, index, t, (x, m), (bound.reset(index, t, x, m), after), bound.supplied(index, t, x, m))


def recorded(
    bound: Bound,
    index: int,
    t: float,
    before: tuple[np.ndarray, np.ndarray],
    after: tuple[np.ndarray, np.ndarray],
    supplied: np.ndarray,
) -> Event:
    """The record of a transition between two (x, m); unknowns of loops are found anew for what holds after it."""
    edge = bound.program.transitions[index]
    after = (bound.consistent(t, *after)[0], after[1])
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


def answered(bound: Bound, event: Event, sizes: np.ndarray) -> tuple[Event, int | None]:
    """The event, and another transition that its impulse fires: a diode closes rather than let a switch cut off a current.

    What the two do together is then found at the second one; the first changes the mode alone. `sizes` (n,) are those of the
    states, beside which a jump counts.
    """
    transitions = bound.program.transitions
    found = bound.pushed(event.transition, event.time, event.x_before, event.m_before)
    if found is None:
        return event, None
    pushes, plain = found[0], bound.consistent(event.time, found[1], event.m_after)[0]
    size = np.fmax(sizes, np.fmax(np.abs(plain), np.abs(event.x_after)))
    active = np.array([event.m_after[edge.slot] == edge.source for edge in transitions])
    answers = np.where(active, pushes, 0.0)
    most = int(np.argmax(answers))
    if not np.any((np.abs(event.x_after - plain) > _JUMP * size)[bound.kept]) or answers[most] <= _JUMP * np.abs(pushes).max():
        return event, None
    after = bound.energies(event.time, plain, event.m_after)
    return replace(event, x_after=plain, energies_after=after, supplied=np.zeros(bound.quadratures)), most
