"""Transitions of one instant, one after the other: S before all of them in; S after them out.

D, the derivative of the state that lies at the moving instant, goes through all resets with one dt; f is asked for before the
first and after the last, since modes in between may have no motion of their own.

In the literature: the saltation matrix.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from bondgraph.estimation.jumps.context import Before, Passing, RunKernels
from bondgraph.estimation.jumps.event_time import AccumulationLimits, first_time, own_time
from bondgraph.estimation.jumps.impacts import CollisionSlopes, ImpactPart
from bondgraph.estimation.jumps.nonsmooth import APART, met_by_chance, undecided
from bondgraph.run.events.records import Event


@dataclass(frozen=True)
class _Step:
    """A transition, or a part of a collision, which has no other side until its last one."""

    event: Event
    transition: int
    part: ImpactPart | None = None
    last: bool = True


class Chain:
    """Instants with events of one run, in their order."""

    def __init__(self, kernels: RunKernels):
        self._kernels, self._limits = kernels, AccumulationLimits(kernels)
        collisions = kernels.bound.program.collisions
        self._colliding = None if collisions is None else CollisionSlopes(kernels, collisions)

    def events(self, at: Passing, group: Sequence[Event], before: Before) -> None:
        """Carry out the transitions of one instant, in place."""
        kernels, first = self._kernels, group[0]
        at.x, at.m = first.x_before.copy(), first.m_before.copy()
        steps = [step for event in group for step in self._steps(at, event)]
        f = kernels.rates(at)
        dt = first_time(kernels, at, f, steps[0].transition, before)
        begin = Passing(at.t, at.x, at.S, at.m)
        start = D = kernels.solved(at, at.S + np.multiply.outer(f, dt), dt)
        alone = bool(before.length) and before.ticked is None
        for number, step in enumerate(steps):
            event = step.event
            at.x, at.m = event.x_before, event.m_before
            own = self._limits.limit(event)
            if own is None and number and alone:
                own = own_time(kernels, at, D, dt, (begin, f), step.transition)
            if own is None and self._colliding is not None and self._acts(step, steps[:number]):
                self._colliding.waits(event, begin, start, dt)
            if own is not None:
                self._in_any_order(step, steps[:number], own, dt)
                dt, D = own, D + np.multiply.outer(kernels.rates(at), own - dt)
            self._limits.see(step.transition, event.since, dt)
            D = self._passed(step, at, D, dt)
            at.x, at.m = event.x_after, event.m_after
            D = kernels.solved(at, D, dt)
        if self._colliding is not None and len(group) > 1 and self._acts(steps[-1], steps[:-1]):
            self._colliding.leaves(group[-1], at, D, dt)
        at.S = D - np.multiply.outer(kernels.rates(at), dt)

    def _in_any_order(self, step: _Step, earlier: Sequence[_Step], own: np.ndarray, dt: np.ndarray) -> None:
        """Refuse contacts that act on each other and are taken in a sequence, of which another value makes another one."""
        apart = APART * self._kernels.rtol * np.maximum(np.abs(own), np.abs(dt)).max(initial=0.0)
        off = np.abs(own - dt) > apart
        if off.any() and self._acts(step, earlier):
            raise met_by_chance(self._kernels, step.event, step.transition, off)

    def _acts(self, step: _Step, earlier: Sequence[_Step]) -> bool:
        """Whether a step is a collision that acts on one of those before it, other than bounces of the same contact."""
        part, colliding, edges = step.part, self._colliding, self._kernels.bound.program.transitions
        return colliding is not None and any(
            part.acts_on(one.part) if part is not None and one.part is not None else colliding.couples(step.event, one.event)
            for one in earlier
            if edges[one.transition].slot != edges[step.transition].slot
        )

    def _steps(self, at: Passing, event: Event) -> list[_Step]:
        """An event as single transitions, or the parts of its collision that do not act on each other."""
        parts: list[ImpactPart] = []
        if self._colliding is not None:
            parts = self._colliding.parts(Passing(at.t, event.x_before, at.S, event.m_before), event)
        if not parts:
            return [_Step(event, event.transition)]
        steps, x, m = [], event.x_before, event.m_before
        for part in parts[:-1]:
            after = x + part.meeting.table.states[:, part.impact.places] @ (part.impact.push * part.impact.found)
            modes = m.copy()
            for transition in set(part.transitions) & set(event.transitions):
                edge = self._kernels.bound.program.transitions[transition]
                modes[edge.slot] = edge.target
            made = replace(event, x_before=x, m_before=m, x_after=after, m_after=modes)
            steps.append(_Step(made, part.transitions[0], part, last=False))
            x, m = after, modes
        return [*steps, _Step(replace(event, x_before=x, m_before=m), parts[-1].transitions[0], parts[-1])]

    def _passed(self, step: _Step, at: Passing, D: np.ndarray, dt: np.ndarray) -> np.ndarray:
        """D after one step; E374 where what happened there is none of the formulas."""
        if step.part is not None:
            assert self._colliding is not None
            D = self._colliding.passed(step.part, step.event, at, D, dt)
            return self._colliding.noted(step.event, at, D, dt) if step.last else D
        kernels, event, n = self._kernels, step.event, len(at.x)
        for plain in (False, True):
            prepared = kernels.reset(event.transition, plain)
            if prepared is not None:
                out = kernels.values(prepared, at, D, dt, np.zeros(n))
                if kernels.same(out[:n], event.x_before, event.x_after):
                    return out[n:].reshape(len(dt), n).T
        if kernels.same(event.x_before, event.x_before, event.x_after):
            return D
        raise undecided(event)
