"""Impulses at events: states jump when constraints become active, bodies collide, or a mode couples parts that move
differently.

Along the motion, unknowns w (efforts of constraints, flows of dependent storages ...) act on the rates as x' = F + B w and on the
vanishing quantities f of constraints as A w. During an impulse the unknowns are so large, and the time so short, that other terms
are negligible: with their integrals W, states jump by B W and f by A W. So A W = -f brings f to rest (A W = -(1 + e) f reverses
it), with the same A and B, and momentum, charge and flux are conserved. If A depends on states that jump (nonlinear storages), a
Newton iteration finds W.

Events that only change modes have the same equations, in the modes after the event. If there are many such events, as in a
ladder of diodes, they share one impulse whose modes are inputs, so that the work does not grow with their number.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bondgraph.assembly.system import LoweredTransition, Unknown
from bondgraph.model.ops import REBOUND, TIME_DERIVATIVE
from bondgraph.tape.differentiate import jacobian
from bondgraph.tape.specialise import substitute
from bondgraph.tracing.linear.constraint_matrix import positions_held
from bondgraph.tracing.linear.equations import SparseEquations, equations_of
from bondgraph.tracing.linear.ideal_reactions import in_an_impulse
from bondgraph.tracing.linear.modewise import MAX_SINGULAR_CASES, ModewiseSolution, in_modes, solve_in_modes
from bondgraph.tracing.on_tape.context import ActingUnknowns, TracingContext
from bondgraph.tracing.on_tape.values import Entries, partials, scalars_of, shaped, shapes_of, through
from screws.scalars import absolute, less, less_equal, maximum, where

FLOW_ROUNDING = 2.0**-44
"""Rounding error of a flow as a fraction of its terms."""


@dataclass(frozen=True)
class JumpEquations:
    """An event with the states before it; impulses W change states by B W and vanishing quantities by A W."""

    context: TracingContext
    acting: ActingUnknowns
    event: LoweredTransition | None
    """None if the equations apply to all events that only change modes, in the modes after the event."""
    before: Sequence[Any]
    equations: SparseEquations
    """A, in terms of states and modes."""
    action: Entries
    """Matrix B at this event, as a scalar for each (state, unknown)."""

    @property
    def impact(self) -> tuple[str, ...]:
        return () if self.event is None else self.event.impact

    def at(self, state: Sequence[Any], scalars: Sequence[Any], mode: int | None = None) -> list[Any]:
        """Return scalars at w = 0, at these states, in the modes after the event, or with the event's automaton in `mode`."""
        context, tape, event = self.context, self.context.tape, self.event
        replaced = {a.index: tape.scalar(b).index for a, b in zip(context.inputs["x"], state, strict=True)}
        replaced |= {scalar.index: tape.constant(0.0) for scalar in self.acting.w}
        if event is not None:
            replaced[context.inputs["m"][event.slot].index] = tape.constant(float(event.target if mode is None else mode))
        return list(substitute(tape, scalars, replaced))

    def equations_at(self, state: Sequence[Any]) -> SparseEquations:
        return self.equations.through(functools.partial(self.at, state))

    def moved(self, impulses: Sequence[Any], like: Sequence[Any]) -> list[Any]:
        """Return the states after impulses; the Newton iteration for the unknowns of loops starts from the guesses in `like`."""
        after = list(self.before)
        for (i, j), value in self.action.items():
            after[i] = after[i] + value * impulses[j]
        guesses = _guesses(self.context, self.acting)
        for i in guesses:
            after[i] = like[i]
        for i, value in through(functools.partial(self.at, after), guesses).items():
            after[i] = value
        return after

    def rounding(self) -> Any:
        names = [u.vanishing if u.element in self.impact else u.stopped for u in self.context.system.unknowns]
        stopped = [s for name in names if name for s in scalars_of(self.acting.values[name])]
        sparse = jacobian(stopped, list(self.context.inputs["x"]))
        terms: list[Any] = [0.0] * len(stopped)
        for i, j, slope in zip(sparse.rows, sparse.columns, self.at(self.before, list(sparse.values)), strict=True):
            terms[i] = terms[i] + absolute(slope * self.before[j])
        return FLOW_ROUNDING * largest(terms)

    def integrals(self, names: Sequence[str], impulses: Sequence[Any], state: Sequence[Any]) -> list[Any]:
        totals: list[Any] = [0.0] * len(names)
        rows = [partials([self.acting.values[name]], list(self.acting.w)) for name in names]
        slopes = {(i, j): slope for i, row in enumerate(rows) for (_, j), slope in row.items()}
        for (i, j), slope in through(functools.partial(self.at, state), slopes).items():
            totals[i] = totals[i] + slope * impulses[j]
        return totals


def jump_equations_of(
    context: TracingContext, acting: ActingUnknowns, event: LoweredTransition | None, before: Sequence[Any]
) -> JumpEquations:
    """Return the jump equations of an event, in which a colliding constraint is active in every mode."""
    impact = () if event is None else event.impact
    rows = [u.held if u.element in impact else u.residual for u in context.system.unknowns]
    equations = equations_of(context, [scalar for row in rows for scalar in scalars_of(acting.values[row])], acting.w)
    moving = JumpEquations(context, acting, event, before, equations, partials(context.rates(acting.values), acting.w))
    return replace(moving, action=through(functools.partial(moving.at, before), moving.action))


class Residual:
    """Residual of impulses W at the states after them, one number for each row of A."""

    def __init__(self, instant: JumpEquations):
        self.instant, self.values = instant, instant.acting.values
        self.dependent = dependent_states(instant.context)
        system, at = instant.context.system, functools.partial(instant.at, instant.before)
        producer = {s.outs: s.op for s in system.statements}
        self.balance = {u.element: producer[(u.residual,)] for u in system.unknowns if u.element in self.dependent}
        source = None if instant.event is None else instant.event.source
        was = at([s for name in self.dependent.values() for s in scalars_of(self.values[name])], mode=source)
        self.was = _split(was, {path: len(scalars_of(self.values[name])) for path, name in self.dependent.items()})
        colliding = [u for u in system.unknowns if u.element in instant.impact]
        flows = {u.element: (self.values[u.vanishing], self.values[f"{u.element}.restitution"]) for u in colliding}
        self.rebound = {path: at(scalars_of(REBOUND(flow, part) - flow)) for path, (flow, part) in flows.items()}

    def __call__(self, state: Sequence[Any], impulses: Sequence[Any], equations: SparseEquations | None) -> list[Any]:
        system, out = self.instant.context.system, list[Any]()
        named = {u.element: name for u in system.unknowns if (name := self._jumping_value(u))}
        sizes = {path: len(scalars_of(self.values[name])) for path, name in named.items()}
        every = self.instant.at(state, [s for name in named.values() for s in scalars_of(self.values[name])])
        now, totals = _split(every, sizes), self._acted(impulses, equations)
        for unknown, shape in zip(system.unknowns, shapes_of(system, system.unknowns), strict=True):
            rows = range(len(out), len(out) + int(np.prod(shape)))
            current = now.get(unknown.element)
            if unknown.element in self.dependent:
                assert current is not None
                out += self._storage_residual(unknown, shape, current, [impulses[k] for k in rows])
            else:
                out += self._flow_residual(unknown, state, current, totals[rows.start : rows.stop])
        return out

    def _jumping_value(self, unknown: Unknown) -> str:
        path = unknown.element
        if path in self.dependent:
            return self.dependent[path]
        name = unknown.vanishing if path in self.instant.impact else unknown.stopped
        return "" if unknown.algebraic and path not in self.instant.acting.decided else name

    def _acted(self, impulses: Sequence[Any], equations: SparseEquations | None) -> list[Any]:
        totals: list[Any] = [0.0] * len(impulses)
        for (i, j), value in ({} if equations is None else equations.entries).items():
            totals[i] = totals[i] + value * impulses[j]
        return totals

    def _storage_residual(
        self, unknown: Unknown, shape: tuple[int, ...], now: Sequence[Any], received: Sequence[Any]
    ) -> list[Any]:
        path = unknown.element
        gained = [a - b for a, b in zip(now, self.was[path], strict=True)]
        return scalars_of(self.balance[path](shaped(received, shape), shaped(gained, shape)))

    def _flow_residual(self, unknown: Unknown, state: Sequence[Any], now: Sequence[Any] | None, totals: list[Any]) -> list[Any]:
        """Return what the impulses must make zero: the flow, with its restitution, or `totals` = A W if no flow has to stop."""
        path = unknown.element
        if now is None:
            return totals
        flows = [a + b for a, b in zip(now, self.rebound.get(path, [0.0] * len(now)), strict=True)]
        if not unknown.algebraic:
            return flows
        conditions = self.instant.at(state, self.instant.acting.decided[path])
        return [where(c, a, b) for c, a, b in zip(conditions, flows, totals, strict=True)]


def _split(scalars: Sequence[Any], sizes: Mapping[str, int]) -> dict[str, list[Any]]:
    pieces, start = {}, 0
    for name, size in sizes.items():
        pieces[name] = list(scalars[start : start + size])
        start += size
    return pieces


def _guesses(context: TracingContext, acting: ActingUnknowns) -> dict[int, Any]:
    solutions: dict[int, Any] = {}
    for loop in context.system.loops:
        for name, unknown in zip(loop.guesses, loop.unknowns, strict=False):
            solutions |= dict(zip(context.system.places[name], scalars_of(acting.values[unknown.value]), strict=True))
    return solutions


def dependent_states(context: TracingContext) -> dict[str, str]:
    dependent = {u.element for u in context.system.unknowns if u.reason == "derivative causality"}
    return {s.element: s.args[0] for s in context.system.statements if s.op is TIME_DERIVATIVE and s.element in dependent}


def largest(values: Sequence[Any]) -> Any:
    return functools.reduce(maximum, map(absolute, values), 0.0)


MAX_NEWTON_STEPS = 12

NEWTON_RTOL = 1e-8
"""Largest accepted residual after the Newton steps, as a fraction of the initial residual; if it is larger, and larger than
rounding error, the states become NaN."""

MIN_SHARING_EVENTS = 16
"""Minimum number of events that only change modes for which they share one impulse; fewer events have their own code, in which
the mode is a constant."""


@dataclass(frozen=True)
class Impulse:
    """Effects of the impulse of an event: the states after it, the change of the guard of each event (0 if the event cannot
    respond), and the energy supplied by each source, J (one number for each power of the system)."""

    after: list[Any]
    pushes: list[Any]
    supplied: list[Any]


def events_with_impulse(context: TracingContext, acting: ActingUnknowns) -> tuple[int, ...]:
    """Return the indices of the events with an impulse: a declared one, or one due to a mode that makes a dependent storage or a
    held quantity jump."""
    dependent = dependent_states(context)
    names = [dependent.get(u.element, u.vanishing if u.stopped else "") for u in context.system.unknowns if not u.algebraic]
    jumping = context.reached([scalar for name in names if name for scalar in scalars_of(acting.values[name])])

    def jumps(event: LoweredTransition) -> bool:
        if event.impulse or event.internal or event.stays:
            return event.impulse
        return context.inputs["m"][event.slot].index in jumping

    return tuple(index for index, event in enumerate(context.system.events) if jumps(event))


def sharing_events(context: TracingContext, acting: ActingUnknowns, events: Collection[int]) -> tuple[int, ...]:
    """Return the events that share one impulse: events without resets and collisions, whose modes affect no dependent storage.

    If there are fewer than `MIN_SHARING_EVENTS`, none share.
    """
    dependent = [scalar for name in dependent_states(context).values() for scalar in scalars_of(acting.values[name])]
    switched, every = context.reached(dependent), context.system.events
    plain = [index for index in events if not (every[index].resets or every[index].impact)]
    plain = [index for index in plain if context.inputs["m"][every[index].slot].index not in switched]
    return tuple(plain) if len(plain) >= MIN_SHARING_EVENTS else ()


def impulse_of(
    context: TracingContext, acting: ActingUnknowns, event: LoweredTransition | None, before: Sequence[Any]
) -> Impulse:
    """Return the impulse of an event, or of all `sharing_events` if the event is None, from the states between its resets and
    the impulse, in the modes after it; raise `SingularSystem` or `SingularMode` if its equations have no solution."""
    instant = jump_equations_of(context, acting, event, before)
    missing = Residual(instant)
    equations, off = instant.equations_at(before), missing(before, [0.0] * len(acting.w), None)
    ideal = functools.cache(lambda: in_an_impulse(context, acting, functools.partial(instant.at, before), instant.action))
    jumping = {context.inputs["x"][i].index for i, _ in instant.action}
    kept = {side.index: context.tape.constant(1.0) for side in acting.sides}  # the sides before an impulse apply during it
    on_sides = substitute(context.tape, instant.equations.scalars, kept)
    iterates = bool(jumping & context.reached(instant.at(list(context.inputs["x"]), on_sides)))
    cases = MAX_SINGULAR_CASES // (1 + MAX_NEWTON_STEPS) if iterates else MAX_SINGULAR_CASES  # each step searches all cases

    held = positions_held(context.system)

    def solved(equations: SparseEquations, off: Sequence[Any]) -> list[Any]:
        return _zero_in_contradictions(context, solve_in_modes(context, equations, [-f for f in off], ideal, held, cases))

    impulses = solved(equations, off)
    after = instant.moved(impulses, before)
    if iterates:
        after, impulses = _iterated(impulses, instant, missing, solved, largest(off), instant.rounding())
    system, pushes, supplied = context.system, [0.0] * len(context.system.events), [0.0] * len(context.system.powers)
    responding = [k for k, other in enumerate(system.events) if can_respond(other, event)]
    sources = [k for k, power in enumerate(system.powers) if power.role == "supplied"]
    guards = [system.events[k].guard for k in responding]
    for k, value in zip(responding, instant.integrals(guards, impulses, before), strict=True):
        pushes[k] = value
    for k, value in zip(sources, instant.integrals([system.powers[k].value for k in sources], impulses, after), strict=True):
        supplied[k] = value
    return Impulse(after, pushes, supplied)


def _zero_in_contradictions(context: TracingContext, solved: ModewiseSolution) -> list[Any]:
    """Return the impulses, set to zero where the motion in the mode after the event is not unique or its equations contradict
    each other, so that no impulse leads to this mode."""
    values = solved.values
    for mode in solved.modes:
        conditions = [in_modes(context.inputs["m"], mode.slots)] if mode.slots else []
        if mode.shared.is_motion_unique:
            if mode.shared.contradiction is None:
                continue
            conditions.append(less(0.0, mode.shared.contradiction))
        never = functools.reduce(operator.and_, conditions, context.tape.scalar(1.0) > 0.0)
        values = [where(never, 0.0, value) for value in values]
    return values


def can_respond(other: LoweredTransition, event: LoweredTransition | None) -> bool:
    """Return True if another event can respond to the impulse of an event: a diode closes before a current is cut off.

    The other event must have an impulse and belong to another automaton, and neither event may be a collision. Its impulse then
    replaces the first impulse.
    """
    if other.impact or not other.impulse:
        return False
    return event is None or not (event.impact or other.slot == event.slot)


def _iterated(
    change: list[Any],
    instant: JumpEquations,
    missing: Residual,
    solved: Callable[[SparseEquations, Sequence[Any]], list[Any]],
    initial_size: Any,
    rounding: Any,
) -> tuple[list[Any], list[Any]]:
    """Return states and impulses after damped Newton steps; a step that does not reduce the residual is cut to a quarter. The
    states are NaN if the residual stays too large."""
    at: list[Any] = [0.0] * len(change)
    size, reached = initial_size, list(instant.before)
    for _ in range(MAX_NEWTON_STEPS):
        trial = [a + d for a, d in zip(at, change, strict=True)]
        state = instant.moved(trial, reached)
        equations = instant.equations_at(state)
        off = missing(state, trial, equations)
        new_size = largest(off)
        better = less(new_size, size)
        step = solved(equations, off)
        at = [where(better, b, a) for a, b in zip(at, trial, strict=True)]
        reached = [where(better, b, a) for a, b in zip(reached, state, strict=True)]
        change = [where(better, new, 0.25 * old) for new, old in zip(step, change, strict=True)]
        size = where(better, new_size, size)
    done = less_equal(size, maximum(NEWTON_RTOL * initial_size, rounding))
    return [where(done, state, float("nan")) for state in instant.moved(at, reached)], at
