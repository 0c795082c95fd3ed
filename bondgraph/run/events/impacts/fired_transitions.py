"""Passages: what happens at one transition of a state machine, or at several together, with states and modes on both sides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from bondgraph.run.bound import Bound
from bondgraph.run.program import RunTransition

# A jump that counts as none, relative to the size of a state.
JUMP = 1e-9


@dataclass(frozen=True)
class Said:
    """What is said of a passage where that is not what its transition says: kind and name; of collisions at the same time that
    are one problem, all transitions that happen in it."""

    kind: str
    name: str
    together: tuple[int, ...] = ()


def at_rest(edge: RunTransition) -> Said:
    """What is said where a transition accumulates and the run goes on at rest."""
    return Said(f"{edge.kind}: accumulation", edge.name)


@dataclass(frozen=True)
class Passage:
    """One transition taken in a run.

    Parameters
    ----------
    time : since the start of the run, s; clock : the same on the clock of the formulas.
    transition : its index in the program.
    x_before, x_after, m_before, m_after : states and modes on both sides.
    supplied : what sources give at this instant, J, one number for each power.
    limit : of one that stands for all that would follow ever faster: the time of their limit, s.
    """

    time: float
    clock: float
    transition: int
    x_before: np.ndarray
    x_after: np.ndarray
    m_before: np.ndarray
    m_after: np.ndarray
    supplied: np.ndarray
    limit: float | None = None
    said: Said | None = None

    @property
    def transitions(self) -> tuple[int, ...]:
        """All transitions that happen in it, as indices in the program."""
        return (self.said and self.said.together) or (self.transition,)


def by_name(transitions: Sequence[RunTransition]) -> list[int]:
    """Indices of transitions in an order that does not depend on the one in which they were written; at the front those that
    are taken before all others, at the end those that are taken only where no other is."""

    def key(i: int) -> tuple[bool, bool, str, str, float]:
        edge = transitions[i]
        return edge.last, not edge.first, edge.name, edge.kind, edge.target

    return sorted(range(len(transitions)), key=key)


def carried_out(bound: Bound, index: int, t: float, x: np.ndarray, m: np.ndarray) -> Passage:
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
) -> Passage:
    """The record of a transition between two (x, m); unknowns of loops are found anew for what holds after it."""
    (x, m), (x_after, m_after) = before, after
    x_after = bound.consistent(t, x_after, m_after)[0]
    return Passage(t, float(bound.clock(t)), index, x.copy(), x_after, m.copy(), m_after, supplied)


def answered(bound: Bound, passage: Passage, sizes: np.ndarray) -> tuple[Passage, int | None]:
    """The passage, and another transition that its impulse fires: a diode closes rather than let a switch cut off a current.

    What the two do together is then found at the second one; the first changes the mode alone. `sizes` (n,) are those of the
    states, beside which a jump counts.
    """
    transitions = bound.program.transitions
    found = bound.pushed(passage.transition, passage.time, passage.x_before, passage.m_before)
    if found is None:
        return passage, None
    pushes, plain = found[0], bound.consistent(passage.time, found[1], passage.m_after)[0]
    size = np.fmax(sizes, np.fmax(np.abs(plain), np.abs(passage.x_after)))
    active = np.array([passage.m_after[edge.slot] == edge.source for edge in transitions])
    answers = np.where(active, pushes, 0.0)
    most = int(np.argmax(answers))
    if (
        not np.any((np.abs(passage.x_after - plain) > JUMP * size)[bound.true_states])
        or answers[most] <= JUMP * np.abs(pushes).max()
    ):
        return passage, None
    return replace(passage, x_after=plain, supplied=np.zeros(bound.quadratures)), most
