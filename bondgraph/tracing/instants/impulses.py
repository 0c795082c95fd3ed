"""Impulses: how states jump where constraints begin to hold, bodies collide, or a mode couples what moves differently.

Along the motion, unknowns w (efforts of constraints, flows of dependent storages ...) act on the rates as x' = F + B w and
on what vanishes while a constraint holds as A w. An impulse is so large an unknown for so short a time that nothing else
counts: with its integrals W, states jump by B W and what vanishes by A W. So A W = -f brings f to rest (A W = -(1 + e) f turns it
round), with the same A and B, and momentum, charge and flux are conserved. Where A depends on what jumps (storages with curves),
Newton's method finds W.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bondgraph.assembly.system import LoweredTransition, Unknown
from bondgraph.model.ops import REBOUND, TIME_DERIVATIVE
from bondgraph.tape.differentiate import jacobian
from bondgraph.tape.specialise import substitute
from bondgraph.tracing.linear.closures import positions_held
from bondgraph.tracing.linear.modewise import SINGULAR_CASES, Solved, chosen, solve_in_modes
from bondgraph.tracing.linear.reactions import in_an_impulse
from bondgraph.tracing.on_tape.ground import Acting, Ground
from bondgraph.tracing.on_tape.values import Entries, nonzero, partials, scalars_of, shaped, shapes_of, through
from screws.scalars import absolute, less, less_equal, maximum, where

STEPS = 12
"""Newton steps of an impulse with curved storages."""

ROUNDING = 2.0**-44
"""Part of its terms that rounding may leave of a flow."""

CLOSE = 1e-8
"""Part of what there is to remove that may be left after them; with more there is no finite state after the event."""


@dataclass(frozen=True)
class Impulse:
    """What the impulse of an event does: states after it, by how much it pushes the guard of each event where that could answer
    it, and what each source gives in it, J (one number for each power of the system)."""

    after: list[Any]
    pushes: list[Any]
    supplied: list[Any]


def is_impulse(ground: Ground, acting: Acting, event: LoweredTransition) -> bool:
    """Whether an event makes something jump that unknown efforts or flows hold: it says so, or its mode alone makes a dependent
    storage jump, or what a constraint holds."""
    if event.impulse or event.internal or event.stays:
        return event.impulse
    followed = _followed(ground)
    names = [followed.get(u.element, u.vanishing if u.stopped else "") for u in ground.system.unknowns if not u.algebraic]
    jumping = ground.reached([scalar for name in names if name for scalar in scalars_of(acting.values[name])])
    return ground.inputs["m"][event.slot].index in jumping


def impulse_of(ground: Ground, acting: Acting, event: LoweredTransition, before: Sequence[Any]) -> Impulse:
    """The impulse of an event, from the states before it (after its resets), in the modes after it; `SingularSystem` or
    `SingularMode` where its equations have no solution."""
    instant = _instant(ground, acting, event, before)
    missing = _Missing(instant)
    entries, off = instant.slopes(before), missing(before, [0.0] * len(acting.w), {})
    ideal = in_an_impulse(ground, acting, functools.partial(instant.at, before), instant.action)
    jumping = {ground.inputs["x"][i].index for i, _ in instant.action}
    iterates = bool(jumping & ground.reached(instant.at(list(ground.inputs["x"]), list(instant.matrix.values()))))
    cases = SINGULAR_CASES // (1 + STEPS) if iterates else SINGULAR_CASES  # each step looks at all of them anew

    held = positions_held(ground.system)

    def solved(entries: Entries, off: Sequence[Any]) -> list[Any]:
        found = solve_in_modes(ground, entries, [-f for f in off], ideal, held, cases)
        return _none_into_contradictions(ground, found)

    impulses = solved(entries, off)
    after = instant.moved(impulses, before)
    if iterates:
        after, impulses = _iterated(impulses, instant, missing, solved, _largest(off), instant.rounding())
    pushes = [
        instant.integral(other.guard, impulses, before) if _answers(other, event) else 0.0 for other in ground.system.events
    ]
    supplied = [
        instant.integral(power.value, impulses, after) if power.role == "supplied" else 0.0 for power in ground.system.powers
    ]
    return Impulse(after, pushes, supplied)


def _none_into_contradictions(ground: Ground, found: Solved) -> list[Any]:
    """The impulses; none where the mode after the event contradicts itself, so that no impulse leads there."""
    values = found.values
    for mode in found.modes:
        conditions = [chosen(ground.inputs["m"], mode.places)] if mode.places else []
        if mode.shared.decided:
            if mode.shared.contradiction is None:
                continue
            conditions.append(less(0.0, mode.shared.contradiction))
        never = functools.reduce(operator.and_, conditions, ground.tape.scalar(1.0) > 0.0)
        values = [where(never, 0.0, value) for value in values]
    return values


def _answers(other: LoweredTransition, event: LoweredTransition) -> bool:
    """Whether what an impulse adds to the guard of another event counts: a diode closes rather than let a current be cut off.
    Only events with an impulse of their own can answer, since that then takes the place of this one; none answers a collision."""
    return not (event.impact or not other.impulse or other.impact or other.slot == event.slot)


@dataclass(frozen=True)
class _Instant:
    """An event with the states before it; with impulses W, states jump by B W and what vanishes by A W."""

    ground: Ground
    acting: Acting
    event: LoweredTransition
    before: Sequence[Any]
    matrix: Entries
    """A, in terms of states and modes."""
    action: Entries
    """B, (state, unknown) -> scalar at this event."""

    def at(self, state: Sequence[Any], scalars: Sequence[Any], mode: int | None = None) -> list[Any]:
        """Scalars in terms of w at w = 0, at some states and in the modes after the event; or in a `mode` of its automaton."""
        ground, tape = self.ground, self.ground.tape
        places = {a.index: tape.scalar(b).index for a, b in zip(ground.inputs["x"], state, strict=True)}
        places |= {scalar.index: tape.constant(0.0) for scalar in self.acting.w}
        places[ground.inputs["m"][self.event.slot].index] = tape.constant(float(self.event.target if mode is None else mode))
        return list(substitute(tape, scalars, places))

    def slopes(self, state: Sequence[Any]) -> dict[tuple[int, int], Any]:
        """A at some states."""
        return nonzero(through(functools.partial(self.at, state), self.matrix))

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
        return ROUNDING * _largest(terms)

    def integral(self, name: str, impulses: Sequence[Any], state: Sequence[Any]) -> Any:
        """Integral over the impulse of a value that is linear in the unknowns."""
        total: Any = 0.0
        slopes = through(functools.partial(self.at, state), partials([self.acting.values[name]], list(self.acting.w)))
        for (_, j), slope in slopes.items():
            total = total + slope * impulses[j]
        return total


def _instant(ground: Ground, acting: Acting, event: LoweredTransition, before: Sequence[Any]) -> _Instant:
    """A body that collides is held whatever its mode is."""
    rows = [u.held if u.element in event.impact else u.residual for u in ground.system.unknowns]
    matrix = partials([scalar for row in rows for scalar in scalars_of(acting.values[row])], acting.w)
    moving = _Instant(ground, acting, event, before, matrix, partials(ground.rates(acting.values), acting.w))
    return replace(moving, action=through(functools.partial(moving.at, before), moving.action))


def _iterated(
    change: list[Any],
    instant: _Instant,
    missing: _Missing,
    solved: Callable[[Entries, Sequence[Any]], list[Any]],
    whole: Any,
    least: Any,
) -> tuple[list[Any], list[Any]]:
    """States and impulses after Newton steps; of one that leaves more than there was, a quarter is tried in its place. What is
    left of the `whole` may be `least`, which is rounding."""
    at: list[Any] = [0.0] * len(change)
    size, reached = whole, list(instant.before)
    for _ in range(STEPS):
        trial = [a + d for a, d in zip(at, change, strict=True)]
        state = instant.moved(trial, reached)
        entries = instant.slopes(state)
        off = missing(state, trial, entries)
        left = _largest(off)
        better = less(left, size)
        step = solved(entries, off)
        at = [where(better, b, a) for a, b in zip(at, trial, strict=True)]
        reached = [where(better, b, a) for a, b in zip(reached, state, strict=True)]
        change = [where(better, new, 0.25 * old) for new, old in zip(step, change, strict=True)]
        size = where(better, left, size)
    done = less_equal(size, maximum(CLOSE * whole, least))
    return [where(done, state, float("nan")) for state in instant.moved(at, reached)], at


class _Missing:
    """What impulses W have not removed yet, at the states that they lead to, one number for each row of A."""

    def __init__(self, instant: _Instant):
        self.instant, self.values = instant, instant.acting.values
        self.followed = _followed(instant.ground)
        system, at = instant.ground.system, functools.partial(instant.at, instant.before)
        producer = {s.outs: s.op for s in system.statements}
        self.balance = {u.element: producer[(u.residual,)] for u in system.unknowns if u.element in self.followed}
        self.was = {path: at(scalars_of(self.values[name]), mode=instant.event.source) for path, name in self.followed.items()}
        colliding = [u for u in system.unknowns if u.element in instant.event.impact]
        flows = {u.element: (self.values[u.vanishing], self.values[f"{u.element}.restitution"]) for u in colliding}
        self.rebound = {path: at(scalars_of(REBOUND(flow, part) - flow)) for path, (flow, part) in flows.items()}

    def __call__(self, state: Sequence[Any], impulses: Sequence[Any], entries: Entries) -> list[Any]:
        system, out = self.instant.ground.system, list[Any]()
        for unknown, shape in zip(system.unknowns, shapes_of(system, system.unknowns), strict=True):
            rows = range(len(out), len(out) + int(np.prod(shape)))
            if unknown.element in self.followed:
                out += self._not_followed(unknown, shape, state, [impulses[k] for k in rows])
            else:
                out += self._not_stopped(unknown, rows, state, impulses, entries)
        return out

    def _not_followed(self, unknown: Unknown, shape: tuple[int, ...], state: Sequence[Any], taken: Sequence[Any]) -> list[Any]:
        """A dependent storage has taken what it holds now and did not hold before."""
        path = unknown.element
        now = self.instant.at(state, scalars_of(self.values[self.followed[path]]))
        gained = [a - b for a, b in zip(now, self.was[path], strict=True)]
        return scalars_of(self.balance[path](shaped(taken, shape), shaped(gained, shape)))

    def _not_stopped(
        self, unknown: Unknown, rows: range, state: Sequence[Any], impulses: Sequence[Any], entries: Entries
    ) -> list[Any]:
        path = unknown.element
        name = unknown.vanishing if path in self.instant.event.impact else unknown.stopped
        totals: list[Any] = [0.0] * len(rows)
        for (i, j), value in entries.items():
            if i in rows:
                totals[i - rows.start] = totals[i - rows.start] + value * impulses[j]
        decided = self.instant.acting.decided
        if not name or (unknown.algebraic and path not in decided):
            return totals
        now = self.instant.at(state, scalars_of(self.values[name]))
        left = [a + b for a, b in zip(now, self.rebound.get(path, [0.0] * len(now)), strict=True)]
        if not unknown.algebraic:
            return left
        conditions = self.instant.at(state, decided[path])
        return [where(c, a, b) for c, a, b in zip(conditions, left, totals, strict=True)]


def _guessed(ground: Ground, acting: Acting) -> dict[int, Any]:
    """Place among the states of each guess for an unknown of a loop -> what Newton's method makes of it."""
    places = ground.system.places
    found: dict[int, Any] = {}
    for loop in ground.system.loops:
        for name, unknown in zip(loop.guesses, loop.unknowns, strict=False):
            found |= dict(zip(places[name], scalars_of(acting.values[unknown.value]), strict=True))
    return found


def _followed(ground: Ground) -> dict[str, str]:
    """Storage in derivative causality -> the value that is its state."""
    own = {u.element for u in ground.system.unknowns if u.reason == "derivative causality"}
    return {s.element: s.args[0] for s in ground.system.statements if s.op is TIME_DERIVATIVE and s.element in own}


def _largest(values: Sequence[Any]) -> Any:
    return functools.reduce(maximum, map(absolute, values), 0.0)
