"""Impulses: how states jump where constraints begin to hold, bodies collide, or a mode couples what moves differently.

Along the motion, unknowns w (efforts of constraints, flows of dependent storages ...) act on the rates as x' = F + B w and on
what vanishes while a constraint holds as A w. An impulse is so large an unknown for so short a time that nothing else
counts: with its integrals W, states jump by B W and what vanishes by A W. So A W = -f brings f to rest (A W = -(1 + e) f turns it
round), with the same A and B, and momentum, charge and flux are conserved. Where A depends on what jumps (storages with curves),
Newton's method finds W.

Events that change modes alone have the same equations, in the modes after them. Where there are many of these events, such as
those of a ladder of diodes, they share one impulse whose modes are inputs, so that the work for n of them is not n times as much.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from bondgraph.assembly.system import LoweredTransition
from bondgraph.tracing.instants.instant import Instant, Remaining, followed_states, instant_of, largest
from bondgraph.tracing.linear.constraint_matrix import positions_held
from bondgraph.tracing.linear.equations import SparseEquations
from bondgraph.tracing.linear.modewise import SINGULAR_CASES, Solved, chosen, solve_in_modes
from bondgraph.tracing.linear.reactions import in_an_impulse
from bondgraph.tracing.on_tape.context import Acting, Ground
from bondgraph.tracing.on_tape.values import scalars_of
from screws.scalars import less, less_equal, maximum, where

STEPS = 12
"""Newton steps of an impulse with curved storages."""

CLOSE = 1e-8
"""Part of what there is to remove that may be left after them; with more there is no finite state after the event."""

MANY = 16
"""Events that change modes alone, from which on they share one impulse; each of fewer has code of its own, in which its mode is
a number."""


@dataclass(frozen=True)
class Impulse:
    """What the impulse of an event does: states after it, by how much it pushes the guard of each event where that could answer
    it, and what each source gives in it, J (one number for each power of the system)."""

    after: list[Any]
    pushes: list[Any]
    supplied: list[Any]


def impulsive(ground: Ground, acting: Acting) -> tuple[int, ...]:
    """Events, by number, that make something jump that unknown efforts or flows hold: they say so, or their mode alone makes a
    dependent storage jump, or what a constraint holds."""
    followed = followed_states(ground)
    names = [followed.get(u.element, u.vanishing if u.stopped else "") for u in ground.system.unknowns if not u.algebraic]
    jumping = ground.reached([scalar for name in names if name for scalar in scalars_of(acting.values[name])])

    def jumps(event: LoweredTransition) -> bool:
        if event.impulse or event.internal or event.stays:
            return event.impulse
        return ground.inputs["m"][event.slot].index in jumping

    return tuple(index for index, event in enumerate(ground.system.events) if jumps(event))


def alike(ground: Ground, acting: Acting, events: Collection[int]) -> tuple[int, ...]:
    """Those of some events that can share one impulse: states are as before it and nothing collides, and what dependent storages
    hold does not depend on the mode. None where they are too few for it to be worth it."""
    followed = [scalar for name in followed_states(ground).values() for scalar in scalars_of(acting.values[name])]
    switched, every = ground.reached(followed), ground.system.events

    def is_plain(event: LoweredTransition) -> bool:
        return not (event.resets or event.impact or ground.inputs["m"][event.slot].index in switched)

    found = tuple(index for index in events if is_plain(every[index]))
    return found if len(found) >= MANY else ()


def impulse_of(ground: Ground, acting: Acting, event: LoweredTransition | None, before: Sequence[Any]) -> Impulse:
    """The impulse of an event, or of all that are `alike`, from the states before it (after its resets), in the modes after it;
    `SingularSystem` or `SingularMode` where its equations have no solution."""
    instant = instant_of(ground, acting, event, before)
    missing = Remaining(instant)
    equations, off = instant.equations_at(before), missing(before, [0.0] * len(acting.w), None)
    ideal = functools.cache(lambda: in_an_impulse(ground, acting, functools.partial(instant.at, before), instant.action))
    jumping = {ground.inputs["x"][i].index for i, _ in instant.action}
    iterates = bool(jumping & ground.reached(instant.at(list(ground.inputs["x"]), instant.equations.scalars)))
    cases = SINGULAR_CASES // (1 + STEPS) if iterates else SINGULAR_CASES  # each step looks at all of them anew

    held = positions_held(ground.system)

    def solved(equations: SparseEquations, off: Sequence[Any]) -> list[Any]:
        found = solve_in_modes(ground, equations, [-f for f in off], ideal, held, cases)
        return _none_into_contradictions(ground, found)

    impulses = solved(equations, off)
    after = instant.moved(impulses, before)
    if iterates:
        after, impulses = _iterated(impulses, instant, missing, solved, largest(off), instant.rounding())
    system, pushes, supplied = ground.system, [0.0] * len(ground.system.events), [0.0] * len(ground.system.powers)
    answering = [k for k, other in enumerate(system.events) if answers(other, event)]
    sources = [k for k, power in enumerate(system.powers) if power.role == "supplied"]
    for k, value in zip(answering, instant.integrals([system.events[k].guard for k in answering], impulses, before), strict=True):
        pushes[k] = value
    for k, value in zip(sources, instant.integrals([system.powers[k].value for k in sources], impulses, after), strict=True):
        supplied[k] = value
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


def answers(other: LoweredTransition, event: LoweredTransition | None) -> bool:
    """Whether what an impulse adds to the guard of another event counts: a diode closes rather than let a current be cut off.
    Only events with an impulse of their own can answer, since that then takes the place of this one; none answers a collision,
    and none its own automaton."""
    if other.impact or not other.impulse:
        return False
    return event is None or not (event.impact or other.slot == event.slot)


def _iterated(
    change: list[Any],
    instant: Instant,
    missing: Remaining,
    solved: Callable[[SparseEquations, Sequence[Any]], list[Any]],
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
        equations = instant.equations_at(state)
        off = missing(state, trial, equations)
        left = largest(off)
        better = less(left, size)
        step = solved(equations, off)
        at = [where(better, b, a) for a, b in zip(at, trial, strict=True)]
        reached = [where(better, b, a) for a, b in zip(reached, state, strict=True)]
        change = [where(better, new, 0.25 * old) for new, old in zip(step, change, strict=True)]
        size = where(better, left, size)
    done = less_equal(size, maximum(CLOSE * whole, least))
    return [where(done, state, float("nan")) for state in instant.moved(at, reached)], at
