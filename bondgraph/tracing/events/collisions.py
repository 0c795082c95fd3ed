"""Simultaneous impacts: the effect of a unit impulse of each collision on the states and on the other collisions.

The matrix is the same as for the impulse of one event (`impulses`), but the impulses of the colliding constraints and of all dry
friction elements are prescribed; all other constraints remain satisfied. The run solves for the impulses, a linear
complementarity problem (LCP) with friction (`bondgraph.run.events.impacts.simultaneous`).
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bondgraph.assembly.system import LoweredTransition, System, Unknown
from bondgraph.model.ops import Choice
from bondgraph.tracing.events.painleve import dry_frictions
from bondgraph.tracing.linear.equations import given_equations
from bondgraph.tracing.linear.ideal_reactions import in_an_impulse
from bondgraph.tracing.linear.modewise import SingularMode, solve_in_modes
from bondgraph.tracing.linear.solve import SingularSystem
from bondgraph.tracing.on_tape.context import ActingUnknowns, TracingContext
from bondgraph.tracing.on_tape.values import nonzero, partials, scalars_of, through


@dataclass(frozen=True)
class Colliding:
    """Constraints with simultaneous impacts: names (`constraints`), indices of the events at which each bounces (`bounces`), and
    elements of dry friction that take part (`frictions`)."""

    constraints: tuple[str, ...]
    bounces: tuple[tuple[int, ...], ...]
    frictions: tuple[str, ...] = ()


def colliding(system: System) -> Colliding | None:
    """Return the scalar constraints that bounce at events and, with dry friction, those that become active with an impulse.

    A constraint bounces at an event with an impact of this constraint alone that keeps the automaton's state and resets
    nothing. Return None unless there are at least two such constraints, or one and dry friction.
    """
    unknowns = [u for u in system.unknowns if not u.algebraic]
    frictions = tuple(u.element for u in unknowns if f"{u.element}.released effort" in system.values)
    scalar = {u.element: u for u in unknowns if system.values[u.value].shape == () and u.element not in frictions}
    bounces: dict[str, list[int]] = {}
    switched = _switched(system) if frictions else {}
    for index, event in enumerate(system.events):
        for name in _impact_constraints(event, scalar, switched.get(f"{event.automaton}.mode", ())):
            bounces.setdefault(name, []).append(index)
    if len(bounces) < 2 and not (bounces and frictions):
        return None
    return Colliding(tuple(bounces), tuple(map(tuple, bounces.values())), frictions)


def _switched(system: System) -> dict[str, list[tuple[Unknown, frozenset[int]]]]:
    gates = {s.outs[0]: s for s in system.statements if isinstance(s.op, Choice)}
    switched: dict[str, list[tuple[Unknown, frozenset[int]]]] = {}
    for u in system.unknowns:
        gate = gates.get(u.residual)
        if gate is not None and isinstance(gate.op, Choice):
            switched.setdefault(gate.args[0], []).append((u, frozenset(gate.op.active)))
    return switched


def _impact_constraints(
    event: LoweredTransition, scalar: Mapping[str, Unknown], switched: Sequence[tuple[Unknown, frozenset[int]]]
) -> tuple[str, ...]:
    if event.resets or event.error or event.internal or event.added_by_tracing:
        return ()
    if event.stays:
        return tuple(name for name in event.impact if name in scalar) if len(event.impact) == 1 else ()
    if event.impact or len(switched) != 1:
        return ()
    ((unknown, active),) = switched
    if unknown.element not in scalar or not unknown.stopped:
        return ()
    return (unknown.element,) if event.target in active and event.source not in active else ()


def collision_table(context: TracingContext, acting: ActingUnknowns, collisions: Colliding) -> list[Any]:
    """Return, row by row, the effects of unit impulses, one for each of c scalars of colliding constraints and friction elements.

    The scalars of the f friction elements come last; there are n states, k events and s powers. The rows are states (n, c), flows
    (c, c), changes of guards (k, c), energies supplied (s, c) and limits of friction (f, c) per impulse; then flows (c,) and
    restitutions (c,), 0 for friction. The table is empty if the equations of the other constraints are singular.
    """
    system, values, w = context.system, acting.values, list(acting.w)
    names = (*collisions.constraints, *collisions.frictions)
    indices = [k for name in names for k, u in enumerate(acting.owners) if u.element == name]
    unknown = {u.element: u for u in system.unknowns}
    still = functools.partial(context.without, w)

    def slopes(scalars: Sequence[Any]) -> dict[tuple[int, int], Any]:
        return through(still, partials(scalars, w))

    def of(names: Sequence[str]) -> list[Any]:
        return [scalar for name in names for scalar in scalars_of(values[name])]

    prescribed = set(indices)
    rows = slopes(of([u.residual for u in system.unknowns]))
    entries = {key: value for key, value in nonzero(rows).items() if key[0] not in prescribed}
    entries |= {(k, k): context.tape.scalar(1.0) for k in prescribed}
    action = slopes(context.rates(values))
    equations = given_equations(entries, len(w))
    ideal = functools.cache(functools.partial(in_an_impulse, context, acting, still, action))
    try:
        impulses = [solve_in_modes(context, equations, [float(i == k) for i in range(len(w))], ideal).values for k in indices]
    except (SingularSystem, SingularMode):
        return []

    def per_impulse(matrix: Mapping[tuple[int, int], Any], count: int) -> list[Any]:
        table: list[list[Any]] = [[0.0] * len(impulses) for _ in range(count)]
        for (i, j), value in matrix.items():
            for c, column in enumerate(impulses):
                table[i][c] = table[i][c] + value * column[j]
        return [entry for row in table for entry in row]

    held = slopes(of([unknown[name].held for name in names]))
    limits = {friction.unknown.element: friction.limit for friction in dry_frictions(context, acting)}
    bounds = slopes([limits[name] for name in collisions.frictions])
    guards = slopes(of([event.guard for event in system.events if not event.added_by_tracing]))  # events that end a run come last
    powers = slopes(of([power.value for power in system.powers]))
    supplied = {key: value for key, value in powers.items() if system.powers[key[0]].role == "supplied"}
    numbers = of([unknown[name].vanishing for name in names])
    numbers += [values.get(f"{name}.restitution", 0.0) for name in collisions.constraints]
    numbers += [0.0] * (len(indices) - len(collisions.constraints))
    return [
        *per_impulse(action, len(context.inputs["x"])),
        *per_impulse(held, len(indices)),
        *per_impulse(guards, len(system.events)),
        *per_impulse(supplied, len(system.powers)),
        *per_impulse(bounds, len(collisions.frictions)),
        *still([context.tape.scalar(number) for number in numbers]),
    ]
