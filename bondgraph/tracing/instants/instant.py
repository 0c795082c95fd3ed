"""Instant: an event, or any that changes modes alone, and the states before it -> what impulses do there, and what they must."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bondgraph.assembly.system import LoweredTransition, Unknown
from bondgraph.model.ops import REBOUND, TIME_DERIVATIVE
from bondgraph.tape.differentiate import jacobian
from bondgraph.tape.specialise import substitute
from bondgraph.tracing.linear.equations import SparseEquations, equations_of
from bondgraph.tracing.on_tape.context import Acting, Ground
from bondgraph.tracing.on_tape.values import Entries, partials, scalars_of, shaped, shapes_of, through
from screws.scalars import absolute, maximum, where

ROUNDING = 2.0**-44
"""Part of its terms that rounding may leave of a flow."""


@dataclass(frozen=True)
class Instant:
    """An event with the states before it; with impulses W, states jump by B W and what vanishes by A W."""

    ground: Ground
    acting: Acting
    event: LoweredTransition | None
    """None stands for all that change modes alone: the modes are then those after it."""
    before: Sequence[Any]
    equations: SparseEquations
    """A, in terms of states and modes."""
    action: Entries
    """B, (state, unknown) -> scalar at this event."""

    @property
    def impact(self) -> tuple[str, ...]:
        """Constraints that collide."""
        return () if self.event is None else self.event.impact

    def at(self, state: Sequence[Any], scalars: Sequence[Any], mode: int | None = None) -> list[Any]:
        """Scalars in terms of w at w = 0, at some states and in the modes after the event; or in a `mode` of its automaton."""
        ground, tape, event = self.ground, self.ground.tape, self.event
        places = {a.index: tape.scalar(b).index for a, b in zip(ground.inputs["x"], state, strict=True)}
        places |= {scalar.index: tape.constant(0.0) for scalar in self.acting.w}
        if event is not None:
            places[ground.inputs["m"][event.slot].index] = tape.constant(float(event.target if mode is None else mode))
        return list(substitute(tape, scalars, places))

    def equations_at(self, state: Sequence[Any]) -> SparseEquations:
        """A at some states."""
        return self.equations.through(functools.partial(self.at, state))

    def moved(self, impulses: Sequence[Any], like: Sequence[Any]) -> list[Any]:
        """States after impulses; Newton's method for unknowns of loops goes on from where it is in `like`."""
        after = list(self.before)
        for (i, j), value in self.action.items():
            after[i] = after[i] + value * impulses[j]
        guessed = _guessed(self.ground, self.acting)
        for i in guessed:
            after[i] = like[i]
        for i, found in through(functools.partial(self.at, after), guessed).items():
            after[i] = found
        return after

    def rounding(self) -> Any:
        """What rounding makes of what an impulse brings to rest, by the sizes of the terms that it is made of."""
        stopped = [s for u in self.ground.system.unknowns if u.stopped for s in scalars_of(self.acting.values[u.stopped])]
        sparse = jacobian(stopped, list(self.ground.inputs["x"]))
        terms: list[Any] = [0.0] * len(stopped)
        for i, j, slope in zip(sparse.rows, sparse.columns, self.at(self.before, list(sparse.values)), strict=True):
            terms[i] = terms[i] + absolute(slope * self.before[j])
        return ROUNDING * largest(terms)

    def integrals(self, names: Sequence[str], impulses: Sequence[Any], state: Sequence[Any]) -> list[Any]:
        """Integrals over the impulse of values that are linear in the unknowns."""
        totals: list[Any] = [0.0] * len(names)
        rows = [partials([self.acting.values[name]], list(self.acting.w)) for name in names]
        slopes = {(i, j): slope for i, row in enumerate(rows) for (_, j), slope in row.items()}
        for (i, j), slope in through(functools.partial(self.at, state), slopes).items():
            totals[i] = totals[i] + slope * impulses[j]
        return totals


def instant_of(ground: Ground, acting: Acting, event: LoweredTransition | None, before: Sequence[Any]) -> Instant:
    """The instant of an event, from the states before it. A body that collides is held whatever its mode is."""
    impact = () if event is None else event.impact
    rows = [u.held if u.element in impact else u.residual for u in ground.system.unknowns]
    equations = equations_of(ground, [scalar for row in rows for scalar in scalars_of(acting.values[row])], acting.w)
    moving = Instant(ground, acting, event, before, equations, partials(ground.rates(acting.values), acting.w))
    return replace(moving, action=through(functools.partial(moving.at, before), moving.action))


class Remaining:
    """What impulses W have not removed yet, at the states that they lead to, one number for each row of A."""

    def __init__(self, instant: Instant):
        self.instant, self.values = instant, instant.acting.values
        self.followed = followed_states(instant.ground)
        system, at = instant.ground.system, functools.partial(instant.at, instant.before)
        producer = {s.outs: s.op for s in system.statements}
        self.balance = {u.element: producer[(u.residual,)] for u in system.unknowns if u.element in self.followed}
        source = None if instant.event is None else instant.event.source
        was = at([s for name in self.followed.values() for s in scalars_of(self.values[name])], mode=source)
        self.was = _split(was, {path: len(scalars_of(self.values[name])) for path, name in self.followed.items()})
        colliding = [u for u in system.unknowns if u.element in instant.impact]
        flows = {u.element: (self.values[u.vanishing], self.values[f"{u.element}.restitution"]) for u in colliding}
        self.rebound = {path: at(scalars_of(REBOUND(flow, part) - flow)) for path, (flow, part) in flows.items()}

    def __call__(self, state: Sequence[Any], impulses: Sequence[Any], equations: SparseEquations | None) -> list[Any]:
        system, out = self.instant.ground.system, list[Any]()
        named = {u.element: name for u in system.unknowns if (name := self._sought(u))}
        sizes = {path: len(scalars_of(self.values[name])) for path, name in named.items()}
        every = self.instant.at(state, [s for name in named.values() for s in scalars_of(self.values[name])])
        now, totals = _split(every, sizes), self._acted(impulses, equations)
        for unknown, shape in zip(system.unknowns, shapes_of(system, system.unknowns), strict=True):
            rows = range(len(out), len(out) + int(np.prod(shape)))
            here = now.get(unknown.element)
            if unknown.element in self.followed:
                assert here is not None
                out += self._not_followed(unknown, shape, here, [impulses[k] for k in rows])
            else:
                out += self._not_stopped(unknown, state, here, totals[rows.start : rows.stop])
        return out

    def _sought(self, unknown: Unknown) -> str:
        """The value that an impulse must bring to rest, or to what it has taken; "" where there is none."""
        path = unknown.element
        if path in self.followed:
            return self.followed[path]
        name = unknown.vanishing if path in self.instant.impact else unknown.stopped
        return "" if unknown.algebraic and path not in self.instant.acting.decided else name

    def _acted(self, impulses: Sequence[Any], equations: SparseEquations | None) -> list[Any]:
        """A W; nothing without A, where W is zero."""
        totals: list[Any] = [0.0] * len(impulses)
        for (i, j), value in ({} if equations is None else equations.entries).items():
            totals[i] = totals[i] + value * impulses[j]
        return totals

    def _not_followed(self, unknown: Unknown, shape: tuple[int, ...], now: Sequence[Any], taken: Sequence[Any]) -> list[Any]:
        """A dependent storage has taken what it holds now and did not hold before."""
        path = unknown.element
        gained = [a - b for a, b in zip(now, self.was[path], strict=True)]
        return scalars_of(self.balance[path](shaped(taken, shape), shaped(gained, shape)))

    def _not_stopped(self, unknown: Unknown, state: Sequence[Any], now: Sequence[Any] | None, totals: list[Any]) -> list[Any]:
        path = unknown.element
        if now is None:
            return totals
        left = [a + b for a, b in zip(now, self.rebound.get(path, [0.0] * len(now)), strict=True)]
        if not unknown.algebraic:
            return left
        conditions = self.instant.at(state, self.instant.acting.decided[path])
        return [where(c, a, b) for c, a, b in zip(conditions, left, totals, strict=True)]


def _split(scalars: Sequence[Any], sizes: Mapping[str, int]) -> dict[str, list[Any]]:
    """A row of scalars cut into pieces of these sizes."""
    found, start = {}, 0
    for name, size in sizes.items():
        found[name] = list(scalars[start : start + size])
        start += size
    return found


def _guessed(ground: Ground, acting: Acting) -> dict[int, Any]:
    """Place among the states of each guess for an unknown of a loop -> what Newton's method makes of it."""
    places = ground.system.places
    found: dict[int, Any] = {}
    for loop in ground.system.loops:
        for name, unknown in zip(loop.guesses, loop.unknowns, strict=False):
            found |= dict(zip(places[name], scalars_of(acting.values[unknown.value]), strict=True))
    return found


def followed_states(ground: Ground) -> dict[str, str]:
    """Storage in derivative causality -> the value that is its state."""
    own = {u.element for u in ground.system.unknowns if u.reason == "derivative causality"}
    return {s.element: s.args[0] for s in ground.system.statements if s.op is TIME_DERIVATIVE and s.element in own}


def largest(values: Sequence[Any]) -> Any:
    """The largest size among scalars, zero of none."""
    return functools.reduce(maximum, map(absolute, values), 0.0)
