"""Event iteration in Python: transitions that fired -> modes and states after them, iterated to a fixed point."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from bondgraph.run.bound import Bound
from bondgraph.run.events.guard_history import GuardHistory
from bondgraph.run.events.impacts.fired_transitions import FiredTransition, by_name, fire, fire_by_impulse, recorded, rest_label
from bondgraph.run.events.impacts.participants import CollisionOptions
from bondgraph.run.events.impacts.simultaneous import collide
from bondgraph.run.events.reference.mode_search import consistent_modes, modes_cycle
from bondgraph.run.events.root_finding import EPSILON
from bondgraph.run.program import RunTransition

PROBE, SEGMENT_PART, TIME_RESOLUTION = 1e-9, 1e-3, 16.0 * EPSILON
"""Look-ahead of guards after an event: at most these fractions of the run and of the segment before; at least the shortest
distinguishable time."""
MIN_LEVEL = 1e-300
"""Least distance of a level from zero."""
MAX_TRANSITIONS, MAX_TRANSITIONS_EACH = 20, 4
"""Largest number of transitions at one instant: the first number, and the second for each transition of the program."""


@dataclass(frozen=True)
class IterationOptions:
    """Options of the event iteration: look-ahead `probe` of the guards, s; `collisions`, which ones are one problem."""

    probe: float
    collisions: CollisionOptions


@dataclass(frozen=True)
class EventOutcome:
    """Outcome of an event: states and modes after it, fired transitions; `cycling` if they do not end, `stuck` the bounces that
    do not take their guards back below zero, `ended` the transition that ends the run."""

    x: np.ndarray
    m: np.ndarray
    firings: tuple[FiredTransition, ...]
    levels: np.ndarray
    cycling: bool = False
    stuck: tuple[int, ...] = ()
    ended: RunTransition | None = None


def iterate_events(
    bound: Bound, history: GuardHistory, t: float, x: np.ndarray, m: np.ndarray, fired: tuple[int, ...], options: IterationOptions
) -> EventOutcome:
    """Iterate the events: take a transition that fired, then all whose guards are positive or about to be
    (`GuardHistory.firing_guards`), one by one; simultaneous collisions are one problem unless the `options` say otherwise.

    Of several, the first by name fires first, in any listing order. If modes cycle and no state jumps, search for modes in
    which no guard fires (`mode_search`). A transition into its own state that does not work against its guard fires once; then
    the guard must fall below zero before it fires again.
    """
    transitions = bound.program.transitions
    firings: list[FiredTransition] = []
    if not transitions:
        return EventOutcome(x, m, (), np.zeros(0))
    order = by_name(transitions)
    once: set[int] = set()
    start, here = (t, x, m), _Here(history, t, x, m, options.probe)
    since, searched, firings_found = 0, False, None
    waiting = [i for i in order if i in fired and (not _must_rise(history, transitions, i, t, x, m) or here.firing_guards[i])][:1]

    def outcome(**fields: Any) -> EventOutcome:
        bounced = {i for firing in firings for i in firing.transitions if history.is_bounce(i, t, here.x, here.m)}
        levels = _levels(bound.guards(t, here.x, here.m), history.zero(t, here.x, here.m), once, bounced)
        return EventOutcome(here.x, here.m, tuple(firings), levels, **fields)

    def search() -> list[FiredTransition] | None:
        return consistent_modes(bound, history, *start, [firing.transition for firing in firings], options.probe)

    for _ in range(MAX_TRANSITIONS + MAX_TRANSITIONS_EACH * len(transitions)):
        if not waiting:
            waiting = [i for i in order if i not in once and here.firing_guards[i]][:1]
        if not waiting:
            return outcome()
        chosen, before = waiting.pop(0), here.x
        collision = collide(bound, history, t, here.x, here.m, chosen, options.collisions)
        if collision is None:
            firing, answer = fire_by_impulse(bound, fire(bound, chosen, t, here.x, here.m), history.sizes)
            waiting = [] if answer is None else [answer]
        else:
            firing, waiting = collision
        firings.append(firing)
        here = _Here(history, t, firing.x_after, firing.m_after, options.probe)
        if transitions[chosen].error is not None:
            return outcome(ended=transitions[chosen])
        again = [i for i in firing.transitions if transitions[i].source == transitions[i].target and here.firing_guards[i]]
        stuck = tuple(i for i in again if history.is_bounce(i, t, before, here.m))
        if stuck and not waiting:
            return outcome(stuck=stuck)
        if not once.issuperset(again):
            once.update(again)
            since = len(firings)
        elif not searched and modes_cycle(bound, history, firings, since):
            searched, firings_found = True, search()
            if firings_found is not None:
                break
    if not searched:
        firings_found = search()
    if firings_found is None:
        return outcome(cycling=True)
    firings[:] = firings_found
    end = (t, firings[-1].x_after, firings[-1].m_after) if firings else start
    here = _Here(history, *end, options.probe)
    return outcome()


class _Here:
    """States x and modes m at an instant, and the guards that fire there, evaluated on access."""

    def __init__(self, history: GuardHistory, t: float, x: np.ndarray, m: np.ndarray, probe: float):
        self._history, self._t, self.x, self.m, self._probe = history, t, x, m, probe

    @cached_property
    def firing_guards(self) -> np.ndarray:
        """Guards that fire, by `GuardHistory.firing_guards`."""
        return self._history.firing_guards(self._t, self.x, self.m, self._probe)


def _must_rise(
    history: GuardHistory, transitions: tuple[RunTransition, ...], index: int, t: float, x: np.ndarray, m: np.ndarray
) -> bool:
    """Return True if a guard at zero does not suffice to fire: a body that leaves is not thrown back, and no run ends by
    rounding."""
    return transitions[index].error is not None or history.is_bounce(index, t, x, m)


def _levels(guards: np.ndarray, zero: np.ndarray, once: set[int], bounced: set[int]) -> np.ndarray:
    """Return the levels above which guards fire: for a guard that starts at a tiny positive value, twice its value and its
    rounding error (`zero`), until it has been that far below zero; at most its value if a bounce has just `bounced`; for guards
    that fire `once`, the level that they must first fall below."""
    levels = np.where(guards >= 0.0, 2.0 * guards + MIN_LEVEL, 0.0)
    levels = np.where(np.abs(guards) <= zero, np.fmax(levels, 2.0 * zero), levels)
    for i in bounced:
        levels[i] = guards[i] * (1.0 + 4.0 * EPSILON) + MIN_LEVEL if guards[i] >= 0.0 else 0.0
    for i in once:
        levels[i] = min(2.0 * guards[i], 0.0) - MIN_LEVEL
    return levels


def rest_transition(bound: Bound, last: int, t: float, x: np.ndarray, m: np.ndarray, limit: float) -> FiredTransition | None:
    """Return the transition to the state of rest where transition `last` accumulates towards the time `limit`, with the resets of
    the edge that leads there; None if there is no such state, or the run has left the mode it starts from."""
    transitions = bound.program.transitions
    edge = transitions[last]
    if edge.accumulates is None or m[edge.slot] != edge.target:
        return None
    ends = (edge.slot, edge.target, edge.accumulates)
    index = next((i for i, e in enumerate(transitions) if (e.slot, e.source, e.target) == ends), None)
    x_after, m_after = x.copy() if index is None else bound.reset(index, t, x, m), m.copy()
    m_after[edge.slot] = edge.accumulates
    edge_taken = last if index is None else index
    firing = recorded(bound, edge_taken, t, (x, m), (x_after, m_after), np.zeros(bound.quadratures))
    return replace(firing, limit=limit, label=rest_label(edge))
