"""Fired transitions: one transition of a state machine, or several simultaneous transitions, with states and modes before
and after."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bondgraph.run.bound import Bound
from bondgraph.run.program import RunTransition

MIN_JUMP = 1e-9
"""Jump of a state, relative to the size of the state, below which the jump does not count."""


@dataclass(frozen=True)
class EventLabel:
    """Label of a fired transition whose kind or name differs from the transition's own; `transitions` are all transitions of
    simultaneous collisions that are solved as one problem. `has_lost_friction` is True for an impact computed without its
    friction."""

    kind: str
    name: str
    transitions: tuple[int, ...] = ()
    has_lost_friction: bool = False


def rest_label(edge: RunTransition) -> EventLabel:
    return EventLabel(f"{edge.kind}: accumulation", edge.name)


def pass_label(edge: RunTransition) -> EventLabel:
    return EventLabel(f"{edge.name} changes direction", edge.name)


@dataclass(frozen=True)
class FiredTransition:
    """Transition that fired in a run.

    Parameters
    ----------
    time : time since the start of the run, s.
    clock : the same time on the clock of the formulas.
    transition : its index in the program.
    x_before, x_after, m_before, m_after : states and modes before and after.
    supplied : energy that sources supply at this instant, J, one value per power.
    limit : for a transition that leads to a state of rest, the limit of the times of the transitions that it replaces, since the
        start, s; else None.
    label : label of the event, if it differs from the transition's kind and name.
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
    label: EventLabel | None = None

    @property
    def transitions(self) -> tuple[int, ...]:
        return (self.label and self.label.transitions) or (self.transition,)


def by_name(transitions: Sequence[RunTransition]) -> list[int]:
    def key(i: int) -> tuple[bool, bool, str, str, float]:
        edge = transitions[i]
        return edge.last, not edge.first, edge.name, edge.kind, edge.target

    return sorted(range(len(transitions)), key=key)


def fire(bound: Bound, index: int, t: float, x: np.ndarray, m: np.ndarray) -> FiredTransition:
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
) -> FiredTransition:
    (x, m), (x_after, m_after) = before, after
    x_after = bound.consistent(t, x_after, m_after)[0]
    return FiredTransition(t, float(bound.clock(t)), index, x.copy(), x_after, m.copy(), m_after, supplied)
