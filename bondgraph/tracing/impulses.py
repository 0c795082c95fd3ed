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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bondgraph.assembly.system import LoweredTransition, System, Unknown
from bondgraph.model.ops import REBOUND, TIME_DERIVATIVE
from bondgraph.tape.routine import reachable
from bondgraph.tape.scalar import Tape, TapeScalar
from bondgraph.tape.specialise import substitute
from bondgraph.tracing.linear.closures import positions_held
from bondgraph.tracing.linear.indeterminate import Sampled
from bondgraph.tracing.linear.modewise import SINGULAR_CASES, chosen, solve_in_modes
from bondgraph.tracing.linear.reactions import in_an_impulse
from bondgraph.tracing.values import partials, scalars_of, shaped
from screws.scalars import absolute, less, less_equal, maximum, where

STEPS = 12
"""Newton steps of an impulse with curved storages."""

CLOSE = 1e-8
"""Part of what there is to remove that may be left after them; with more there is no finite state after the event."""


Valued = Callable[[Sequence[Any], int, Sequence[Any]], list[Any]]
"""(states, mode after the event, scalars in terms of w) -> the scalars there, at w = 0."""


@dataclass(frozen=True)
class Acting:
    """The unknowns of a system as inputs w of the tape, and all values in terms of them."""

    w: tuple[TapeScalar, ...]
    unknowns: tuple[Unknown, ...]
    values: Mapping[str, Any]
    decided: Mapping[str, Sequence[Any]]
    """Of elements with an algebraic unknown: where no unknown acts on what vanishes there, so that an impulse must."""


@dataclass(frozen=True)
class Impulse:
    """What the impulse of an event does: states after it, by how much it pushes the guard of each event where that could answer
    it, and what each source gives in it, J (one number for each power of the system)."""

    after: list[Any]
    pushes: list[Any]
    supplied: list[Any]


def jumps_at(system: System, tape: Tape, inputs: Mapping[str, np.ndarray], acting: Acting, event: LoweredTransition) -> bool:
    """Whether a mode alone makes something jump at an event: a dependent storage, or what a constraint holds."""
    followed = _followed(system, acting)
    names = [followed.get(u.element, u.vanishing if u.stopped else "") for u in acting.unknowns if not u.algebraic]
    roots = [tape.scalar(s).index for name in names if name for s in scalars_of(acting.values[name])]
    return not event.internal and not event.stays and inputs["m"][event.slot].index in reachable(tape, roots)


def after_impulse(
    system: System,
    tape: Tape,
    inputs: Mapping[str, np.ndarray],
    acting: Acting,
    event: LoweredTransition,
    before: Sequence[Any],
    sampled: Sampled,
) -> Impulse:
    """The impulse of an event, from the states before it (after its resets), in the modes after it.

    Raises
    ------
    SingularSystem, SingularMode
    """
    w = list(acting.w)
    residuals = [s for u in acting.unknowns for s in scalars_of(acting.values[_row(u, event)])]
    rates = [
        s for state in system.states for s in scalars_of(acting.values.get(state.rate, np.zeros(np.shape(state.initial))[()]))
    ]
    matrix, action = partials(residuals, w), partials(rates, w)

    def at(state: Sequence[Any], mode: int, scalars: Sequence[Any]) -> list[Any]:
        places = {a.index: tape.scalar(b).index for a, b in zip(inputs["x"], state, strict=True)}
        places |= {scalar.index: tape.constant(0.0) for scalar in acting.w}
        places[inputs["m"][event.slot].index] = tape.constant(float(mode))
        return list(substitute(tape, scalars, places))

    push = at(before, event.target, list(action.values()))
    guessed = _guessed(system, acting)

    def moved(impulses: Sequence[Any], like: Sequence[Any]) -> list[Any]:
        """States after impulses; Newton's method for unknowns of loops goes on from where it is in `like`."""
        after = list(before)
        for (i, j), value in zip(action, push, strict=True):
            after[i] = after[i] + value * impulses[j]
        for i in guessed:
            after[i] = like[i]
        for i, found in zip(guessed, at(after, event.target, list(guessed.values())), strict=True):
            after[i] = found
        return after

    def slopes(state: Sequence[Any]) -> dict[tuple[int, int], Any]:
        flat = at(state, event.target, list(matrix.values()))
        return {key: value for key, value in zip(matrix, flat, strict=True) if value.value != 0.0}

    missing = _Missing(system, acting, event, at, before)
    entries, off = slopes(before), missing(before, [0.0] * len(w), {})
    held = positions_held(system, acting.unknowns)
    ideal = in_an_impulse(
        system,
        inputs,
        w,
        acting.unknowns,
        acting.values,
        lambda scalars: at(before, event.target, scalars),
        dict(zip(action, push, strict=True)),
    )

    jumping = {inputs["x"][i].index for i, _ in action}
    iterates = bool(jumping & set(reachable(tape, [tape.scalar(value).index for value in matrix.values()])))
    cases = SINGULAR_CASES // (1 + STEPS) if iterates else SINGULAR_CASES  # each step looks at all of them anew

    def solved(entries: Mapping[tuple[int, int], Any], off: Sequence[Any]) -> list[Any]:
        """The impulses; none where the mode after the event contradicts itself, so that no impulse leads there."""
        found = solve_in_modes(system, tape, entries, [-f for f in off], sampled, ideal, held, cases)
        values = found.values
        for mode in found.modes:
            conditions = [chosen(inputs["m"], mode.places)] if mode.places else []
            if mode.shared.decided:
                if mode.shared.contradiction is None:
                    continue
                conditions.append(less(0.0, mode.shared.contradiction))
            never = functools.reduce(operator.and_, conditions, tape.scalar(1.0) > 0.0)
            values = [where(never, 0.0, value) for value in values]
        return values

    impulses = solved(entries, off)
    after = moved(impulses, before)
    if iterates:
        after, impulses = _iterated(impulses, before, moved, slopes, missing, solved, _largest(off))
    pushes = _pushes(system, acting, event, impulses, at, before)
    return Impulse(after, pushes, _supplied(system, acting, event, impulses, at, after))


def _pushes(
    system: System, acting: Acting, event: LoweredTransition, impulses: Sequence[Any], at: Valued, before: Sequence[Any]
) -> list[Any]:
    """What an impulse adds to the guard of each event: a diode closes rather than let a current be cut off. Only events with
    an impulse of their own can answer, since that then takes the place of this one; none answers a collision."""
    pushes: list[Any] = [0.0] * len(system.events)
    for k, other in enumerate(system.events):
        if not (event.impact or not other.impulse or other.impact or other.slot == event.slot):
            pushes[k] = _integral(other.guard, acting, event, impulses, at, before)
    return pushes


def _supplied(
    system: System, acting: Acting, event: LoweredTransition, impulses: Sequence[Any], at: Valued, after: Sequence[Any]
) -> list[Any]:
    """Energy that sources give in an impulse: the charge that a battery drives into a capacitor, times its voltage."""
    return [
        _integral(power.value, acting, event, impulses, at, after) if power.role == "supplied" else 0.0 for power in system.powers
    ]


def _integral(
    name: str, acting: Acting, event: LoweredTransition, impulses: Sequence[Any], at: Valued, state: Sequence[Any]
) -> Any:
    """Integral over the impulse of a value that is linear in the unknowns."""
    total: Any = 0.0
    parts = partials([acting.values[name]], list(acting.w))
    for (_, j), slope in zip(parts, at(state, event.target, list(parts.values())), strict=True):
        total = total + slope * impulses[j]
    return total


def _iterated(
    change: list[Any],
    before: Sequence[Any],
    moved: Callable[[Sequence[Any], Sequence[Any]], list[Any]],
    slopes: Callable[[Sequence[Any]], dict[tuple[int, int], Any]],
    missing: _Missing,
    solved: Callable[[Mapping[tuple[int, int], Any], Sequence[Any]], list[Any]],
    whole: Any,
) -> tuple[list[Any], list[Any]]:
    """States and impulses after Newton steps; of one that leaves more than there was, a quarter is tried in its place."""
    at: list[Any] = [0.0] * len(change)
    size, reached = whole, list(before)
    for _ in range(STEPS):
        trial = [a + d for a, d in zip(at, change, strict=True)]
        state = moved(trial, reached)
        entries = slopes(state)
        off = missing(state, trial, entries)
        left = _largest(off)
        better = less(left, size)
        step = solved(entries, off)
        at = [where(better, b, a) for a, b in zip(at, trial, strict=True)]
        reached = [where(better, b, a) for a, b in zip(reached, state, strict=True)]
        change = [where(better, new, 0.25 * old) for new, old in zip(step, change, strict=True)]
        size = where(better, left, size)
    done = less_equal(size, CLOSE * whole)
    return [where(done, state, float("nan")) for state in moved(at, reached)], at


class _Missing:
    """What impulses W have not removed yet, at the states that they lead to, one number for each row of A."""

    def __init__(self, system: System, acting: Acting, event: LoweredTransition, at: Valued, before: Sequence[Any]):
        self.acting, self.event, self.at = acting, event, at
        self.shapes = [system.values[u.value].shape or () for u in acting.unknowns]
        self.followed = _followed(system, acting)
        producer = {s.outs: s.op for s in system.statements}
        self.balance = {u.element: producer[(u.residual,)] for u in acting.unknowns if u.element in self.followed}
        self.was = {path: at(before, event.source, scalars_of(acting.values[name])) for path, name in self.followed.items()}
        self.rebound = {
            u.element: at(
                before,
                event.target,
                scalars_of(
                    REBOUND(acting.values[u.vanishing], acting.values[f"{u.element}.restitution"]) - acting.values[u.vanishing]
                ),
            )
            for u in acting.unknowns
            if u.element in event.impact
        }

    def __call__(self, state: Sequence[Any], impulses: Sequence[Any], entries: Mapping[tuple[int, int], Any]) -> list[Any]:
        out: list[Any] = []
        for unknown, shape in zip(self.acting.unknowns, self.shapes, strict=True):
            rows = range(len(out), len(out) + int(np.prod(shape)))
            out += self._rows(unknown, shape, rows, state, impulses, entries)
        return out

    def _rows(
        self,
        unknown: Unknown,
        shape: tuple[int, ...],
        rows: range,
        state: Sequence[Any],
        impulses: Sequence[Any],
        entries: Mapping[tuple[int, int], Any],
    ) -> list[Any]:
        path, values = unknown.element, self.acting.values
        name = unknown.vanishing if path in self.event.impact else unknown.stopped
        if path in self.followed:  # it has taken what it holds now and did not hold before
            now = self.at(state, self.event.target, scalars_of(values[self.followed[path]]))
            gained = [a - b for a, b in zip(now, self.was[path], strict=True)]
            taken = [impulses[k] for k in rows]
            return scalars_of(self.balance[path](shaped(taken, shape), shaped(gained, shape)))
        totals: list[Any] = [0.0] * len(rows)
        for (i, j), value in entries.items():
            if i in rows:
                totals[i - rows.start] = totals[i - rows.start] + value * impulses[j]
        if not name or (unknown.algebraic and path not in self.acting.decided):
            return totals
        now = self.at(state, self.event.target, scalars_of(values[name]))
        left = [a + b for a, b in zip(now, self.rebound.get(path, [0.0] * len(now)), strict=True)]
        if not unknown.algebraic:
            return left
        conditions = self.at(state, self.event.target, self.acting.decided[path])
        return [where(c, a, b) for c, a, b in zip(conditions, left, totals, strict=True)]


def _guessed(system: System, acting: Acting) -> dict[int, Any]:
    """Place among the states of each guess for an unknown of a loop -> what Newton's method makes of it."""
    places = system.places
    found: dict[int, Any] = {}
    for loop in system.loops:
        for name, unknown in zip(loop.guesses, loop.unknowns, strict=False):
            found |= dict(zip(places[name], scalars_of(acting.values[unknown.value]), strict=True))
    return found


def _followed(system: System, acting: Acting) -> dict[str, str]:
    """Storage in derivative causality -> the value that is its state."""
    own = {u.element for u in acting.unknowns if u.reason == "derivative causality"}
    return {s.element: s.args[0] for s in system.statements if s.op is TIME_DERIVATIVE and s.element in own}


def _row(unknown: Unknown, event: LoweredTransition) -> str:
    """What an unknown must make vanish during the impulse: a body that collides is held whatever its mode is."""
    return unknown.held if unknown.element in event.impact else unknown.residual


def _largest(values: Sequence[Any]) -> Any:
    out: Any = 0.0
    for value in values:
        out = maximum(out, absolute(value))
    return out
