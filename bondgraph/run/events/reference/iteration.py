"""State machines at an event: transitions that fired -> modes and states after it, iterated to a fixed point."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from bondgraph.run.bound import Bound
from bondgraph.run.events.guard_history import Courses
from bondgraph.run.events.impacts.fired_transitions import Passage, answered, at_rest, by_name, carried_out, recorded
from bondgraph.run.events.impacts.participants import Together
from bondgraph.run.events.impacts.simultaneous import collide
from bondgraph.run.events.reference.mode_search import consistent, goes_round
from bondgraph.run.events.root_finding import EPSILON
from bondgraph.run.program import RunTransition

PROBE, OF_LEG, TOLD = 1e-9, 1e-3, 16.0 * EPSILON
"""How far ahead guards are looked at after an event: at most, in lengths of the run and of the leg before; at least, in times
that can be told apart."""
LEAST = 1e-300
"""What a level lies at least off zero."""
TURNS, TURNS_EACH = 20, 4
"""Transitions at one instant, at most: so many, and for each there is so many."""


@dataclass(frozen=True)
class How:
    """How events are settled: guards are looked ahead `probe` s; which `collisions` are one problem."""

    probe: float
    collisions: Together


@dataclass(frozen=True)
class Settled:
    """The outcome of an event: states and modes after it, what passed; `looping` if that has no end, `stuck` the bounces that do
    not take their guards back below zero, `ended` the transition that ends the run."""

    x: np.ndarray
    m: np.ndarray
    passages: tuple[Passage, ...]
    levels: np.ndarray
    looping: bool = False
    stuck: tuple[int, ...] = ()
    ended: RunTransition | None = None


def settle(bound: Bound, courses: Courses, t: float, x: np.ndarray, m: np.ndarray, fired: tuple[int, ...], how: How) -> Settled:
    """Carry out a transition that fired, then all whose guards are positive or about to be (`Courses.rising`), one by one;
    collisions at the same time together (`together`), unless `how` says otherwise.

    Of several the first by name is taken, whatever order they were written in; where this goes round in modes without any
    state that jumps, modes are tried for some in which no guard rises (`combinations`). A transition into its own state that
    does not work against its guard fires once; then the guard must have been below zero before it fires again.
    """
    transitions = bound.program.transitions
    passages: list[Passage] = []
    if not transitions:
        return Settled(x, m, (), np.zeros(0))
    order = by_name(transitions)
    once: set[int] = set()
    start, here = (t, x, m), _Here(courses, t, x, m, how.probe)
    since, searched, found = 0, False, None
    waiting = [i for i in order if i in fired and (not _must_rise(courses, transitions, i, t, x, m) or here.rising[i])][:1]

    def settled(**outcome: Any) -> Settled:
        left = {i for passage in passages for i in passage.transitions if courses.is_bounce(i, t, here.x, here.m)}
        levels = _levels(bound.guards(t, here.x, here.m), courses.zero(t, here.x, here.m), once, left)
        return Settled(here.x, here.m, tuple(passages), levels, **outcome)

    def search() -> list[Passage] | None:
        return consistent(bound, courses, *start, [passage.transition for passage in passages], how.probe)

    for _ in range(TURNS + TURNS_EACH * len(transitions)):
        if not waiting:
            waiting = [i for i in order if i not in once and here.rising[i]][:1]
        if not waiting:
            return settled()
        chosen, before = waiting.pop(0), here.x
        collision = collide(bound, courses, t, here.x, here.m, chosen, how.collisions)
        if collision is None:
            passage, answer = answered(bound, carried_out(bound, chosen, t, here.x, here.m), courses.sizes)
            waiting = [] if answer is None else [answer]
        else:
            passage, waiting = collision
        passages.append(passage)
        here = _Here(courses, t, passage.x_after, passage.m_after, how.probe)
        if transitions[chosen].error is not None:
            return settled(ended=transitions[chosen])
        again = [i for i in passage.transitions if transitions[i].source == transitions[i].target and here.rising[i]]
        stuck = tuple(i for i in again if courses.is_bounce(i, t, before, here.m))
        if stuck and not waiting:
            return settled(stuck=stuck)
        if not once.issuperset(again):
            once.update(again)
            since = len(passages)
        elif not searched and goes_round(bound, courses, passages, since):
            searched, found = True, search()
            if found is not None:
                break
    if not searched:
        found = search()
    if found is None:
        return settled(looping=True)
    passages[:] = found
    end = (t, passages[-1].x_after, passages[-1].m_after) if passages else start
    here = _Here(courses, *end, how.probe)
    return settled()


class _Here:
    """States x and modes m at an instant, and which guards rise there, looked at when that is asked."""

    def __init__(self, courses: Courses, t: float, x: np.ndarray, m: np.ndarray, probe: float):
        self._courses, self._t, self.x, self.m, self._probe = courses, t, x, m, probe

    @cached_property
    def rising(self) -> np.ndarray:
        """`Courses.rising`."""
        return self._courses.rising(self._t, self.x, self.m, self._probe)


def _must_rise(
    courses: Courses, transitions: tuple[RunTransition, ...], index: int, t: float, x: np.ndarray, m: np.ndarray
) -> bool:
    """Whether a guard that was seen at zero does not suffice: what leaves is not thrown back, and no run ends by rounding."""
    return transitions[index].error is not None or courses.is_bounce(index, t, x, m)


def _levels(guards: np.ndarray, zero: np.ndarray, once: set[int], left: set[int]) -> np.ndarray:
    """What a guard that starts at a tiny positive value must exceed to fire before it has been as far below zero: twice that, and
    what its rounding (`zero`) makes of nothing; no more than it is where a bounce has just `left` it; of guards that fire
    `once`, what they must fall below first."""
    levels = np.where(guards >= 0.0, 2.0 * guards + LEAST, 0.0)
    levels = np.where(np.abs(guards) <= zero, np.fmax(levels, 2.0 * zero), levels)
    for i in left:
        levels[i] = guards[i] * (1.0 + 4.0 * EPSILON) + LEAST if guards[i] >= 0.0 else 0.0
    for i in once:
        levels[i] = min(2.0 * guards[i], 0.0) - LEAST
    return levels


def rest(bound: Bound, last: int, t: float, x: np.ndarray, m: np.ndarray, limit: float) -> Passage | None:
    """The transition to the state that holds where transition `last` accumulates towards the time `limit`, with the resets of
    the edge that leads there; None where there is no such state, or it is no longer the one to leave."""
    transitions = bound.program.transitions
    edge = transitions[last]
    if edge.accumulates is None or m[edge.slot] != edge.target:
        return None
    ends = (edge.slot, edge.target, edge.accumulates)
    index = next((i for i, e in enumerate(transitions) if (e.slot, e.source, e.target) == ends), None)
    x_after, m_after = x.copy() if index is None else bound.reset(index, t, x, m), m.copy()
    m_after[edge.slot] = edge.accumulates
    edge_taken = last if index is None else index
    passage = recorded(bound, edge_taken, t, (x, m), (x_after, m_after), np.zeros(bound.quadratures))
    return replace(passage, limit=limit, said=at_rest(edge))
