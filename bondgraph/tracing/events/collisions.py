"""Simultaneous impacts (effects of a unit impulse of each collision), and guards of Painlevé's paradox in dry friction.

The matrix is that of the impulse of one event (`impulses`), with prescribed impulses of the colliding constraints and of all dry
friction: quantities that others hold stay held. The run solves for the impulses, a linear complementarity problem (LCP) with
friction (`bondgraph.run.events.impacts.simultaneous`).

Dry friction on a tape: dependence on normal forces, and guards of Painlevé's paradox, no or several solutions. While it slips, a
friction F = mu N along its direction changes the normal force N that a constraint needs: N = N0 + k mu N, so that (1 - k mu) N =
N0. If 1 - k mu is positive there is one N; at zero and below, a constraint that presses makes its bodies approach by its
friction: either no N is a solution, or both N = 0 and a positive one.

Source: Painleve 1895; Genot and Brogliato 1999.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bondgraph.assembly.system import LoweredTransition, Statement, System, Unknown
from bondgraph.model.ops import Choice
from bondgraph.tracing.linear.constraint_matrix import positions_held
from bondgraph.tracing.linear.equations import given_equations
from bondgraph.tracing.linear.ideal import along_the_motion, in_an_impulse
from bondgraph.tracing.linear.modewise import SingularMode, solve_in_modes
from bondgraph.tracing.linear.solve import SingularSystem
from bondgraph.tracing.on_tape.context import ActingUnknowns, TracingContext
from bondgraph.tracing.on_tape.values import nonzero, partials, residuals_of, scalars_of, through


@dataclass(frozen=True)
class DryFriction:
    """Dry friction: its unknown, the indices of its scalars among all unknowns, the selection between sticking and slipping, and
    slopes of its effort while it slips by the efforts of constraints: (its scalar, index of the other) -> slope."""

    unknown: Unknown
    indices: tuple[int, ...]
    gate: Statement
    slopes: dict[tuple[int, int], Any]
    limit: Any
    """Size of its effort while it slips, without the viscous part."""

    @property
    def normals(self) -> tuple[int, ...]:
        """Indices of the efforts (normal forces) that it depends on."""
        return tuple(dict.fromkeys(j for _, j in self.slopes))


def dry_frictions(context: TracingContext, acting: ActingUnknowns) -> Iterator[DryFriction]:
    """Yield all dry friction of a system."""
    released = {s.element: s for s in context.system.statements if s.outs[0] == f"{s.element}.released effort"}
    for unknown in context.system.unknowns:
        if unknown.element not in released:
            continue
        efforts = scalars_of(acting.values[f"{unknown.element}.released effort"])
        indices = tuple(k for k, owner in enumerate(acting.owners) if owner.element == unknown.element)
        normal = {k for k, u in enumerate(acting.owners) if u.reason == "constraint" and u.element not in released}
        slopes = {(k, j): slope for (k, j), slope in nonzero(partials(efforts, acting.w)).items() if j in normal}
        limit = _limit(released[unknown.element], acting)
        yield DryFriction(unknown, indices, context.stages.gates[unknown.residual], slopes, limit)


def _limit(statement: Statement, acting: ActingUnknowns) -> Any:
    """Return the effort of slipping at zero flow in the first slipping mode; of several directions that along the heading."""
    _, flow, *others = (acting.values[name] for name in statement.args)
    still = np.zeros(np.shape(flow)) if np.ndim(flow) else 0.0
    effort = statement.op(1.0, still, *others)
    if not np.ndim(flow):
        return effort
    return sum(e * u for e, u in zip(effort, others[0], strict=True))


def paradoxes(context: TracingContext, acting: ActingUnknowns) -> list[tuple[LoweredTransition, Any]]:
    """Return ends of a run at which slipping friction has no or several solutions, with their guards k mu - 1."""
    ends = []
    for friction in dry_frictions(context, acting):
        reduction = _normal_force_reduction(context, acting, friction) if friction.normals else 0.0
        if context.tape.scalar(reduction).value is not None:
            continue
        mode = friction.gate.args[0]
        slot = list(context.system.modes).index(mode)
        elements = tuple(dict.fromkeys((friction.unknown.element, *(acting.owners[j].element for j in friction.normals))))
        for state in range(1, len(context.system.modes[mode][0])):  # the first one sticks
            name = f":paradox {friction.unknown.element} {state}"
            event = LoweredTransition(
                mode.removesuffix(".mode"), slot, state, state, name, (), "no or several solutions", False, None, paradox=elements
            )
            ends.append((event, reduction - 1.0))
    return ends


def _normal_force_reduction(context: TracingContext, acting: ActingUnknowns, friction: DryFriction) -> Any:
    """Return k mu, the part of its normal force that friction takes away; a constant if there is none."""
    w = list(acting.w)
    entries = partials(residuals_of(acting.values, context.system.unknowns), w)
    entries = {key: value for key, value in entries.items() if key[0] not in friction.indices}
    entries |= {(k, k): context.tape.scalar(1.0) for k in friction.indices}
    held, total = positions_held(context.system), context.tape.scalar(0.0)
    equations = given_equations(entries, len(w))
    ideal = functools.cache(functools.partial(along_the_motion, context, acting))
    for j in friction.normals:
        right: list[Any] = [0.0] * len(w)
        for k, index in enumerate(friction.indices):
            right[index] = friction.slopes.get((k, j), 0.0)
        try:
            total = total + solve_in_modes(context, equations, right, ideal, held).values[j]
        except (SingularSystem, SingularMode):
            return 0.0  # shares that the equations leave open: N itself is by convention
    return total


@dataclass(frozen=True)
class Colliding:
    """Constraints with simultaneous impacts: `constraints` by name, the `bounces` of each (indices of events), and `frictions`,
    the elements of dry friction that take part."""

    constraints: tuple[str, ...]
    bounces: tuple[tuple[int, ...], ...]
    frictions: tuple[str, ...] = ()


def colliding(system: System) -> Colliding | None:
    """Return the constraints of bounces: impacts of one scalar constraint, back into the same state, without other resets; with
    dry friction also events at which one begins to hold by an impulse. None unless there are two of them, or friction."""
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
    """Return, by mode signal, the unknowns that hold in some of its states only, and these states."""
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
    """Return the one constraint that collides at an event, or the one `switched` by its automaton that begins to hold."""
    if event.resets or event.error or event.internal or event.found:
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
    """Return the effects of unit impulses for c scalars of colliding constraints and frictions (f of them frictions), n states, k
    events and s powers, row by row: states per impulse (n, c), flows per impulse (c, c), changes of guards per impulse (k, c),
    energies supplied per impulse (s, c), limits of friction per impulse (f, c), flows (c,), restitutions (c,), 0 for friction.
    Empty if the equations of the other constraints are singular.
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
    guards = slopes(of([event.guard for event in system.events if not event.found]))  # ends of a run come last
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
