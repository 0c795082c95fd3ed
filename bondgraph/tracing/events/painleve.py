"""Dry friction on a tape: its dependence on normal forces, and guards that detect Painlevé's paradox (no solution, or several).

Slipping friction F = mu N changes the normal force N that a constraint needs: N = N0 + k mu N, so that (1 - k mu) N = N0. If k mu
is less than 1, there is one solution N. Otherwise the friction of a pressing constraint makes its bodies approach: either no N is
a solution, or both N = 0 and a positive N are.

Friction proportional to a load that it changes itself likewise has no solution, or several, where the determinant changes sign
(`tracing.piecewise`).

Source: Painleve 1895; Genot and Brogliato 1999.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from bondgraph.assembly.system import LoweredTransition, Statement, Unknown
from bondgraph.elements.friction import SLIDING
from bondgraph.tracing.linear.constraint_matrix import positions_held
from bondgraph.tracing.linear.equations import given_equations
from bondgraph.tracing.linear.ideal_reactions import along_the_motion
from bondgraph.tracing.linear.modewise import SingularMode, solve_in_modes
from bondgraph.tracing.linear.solve import SingularSystem
from bondgraph.tracing.on_tape.context import ActingUnknowns, TracingContext
from bondgraph.tracing.on_tape.values import nonzero, partials, residuals_of, scalars_of
from screws.scalars import maximum


@dataclass(frozen=True)
class DryFriction:
    """Dry friction: its unknown, the indices of its scalars among all unknowns, the selection between sticking and slipping,
    and the derivatives of its slipping effort with respect to efforts of constraints, by (component of the slipping effort, index
    of the constraint's effort among all unknowns)."""

    unknown: Unknown
    indices: tuple[int, ...]
    gate: Statement
    slopes: dict[tuple[int, int], Any]
    limit: Any
    """Magnitude of the slipping effort, without the viscous part."""

    @property
    def normals(self) -> tuple[int, ...]:
        return tuple(dict.fromkeys(j for _, j in self.slopes))


def dry_frictions(context: TracingContext, acting: ActingUnknowns) -> Iterator[DryFriction]:
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
    """Return the effort of slipping at zero flow in the first slipping mode, or its component along the heading if there are
    several directions."""
    _, flow, *others = (acting.values[name] for name in statement.args)
    still = np.zeros(np.shape(flow)) if np.ndim(flow) else 0.0
    effort = statement.op(1.0, still, *others)
    if not np.ndim(flow):
        return effort
    return sum(e * u for e, u in zip(effort, others[0], strict=True))


def paradoxes(context: TracingContext, acting: ActingUnknowns) -> list[tuple[LoweredTransition, Any]]:
    """Return events that end a run when slipping friction has no solution or several, with their guards."""
    ends = []
    for friction in dry_frictions(context, acting):
        gain = _normal_force_gain(context, acting, friction) if friction.normals else 0.0
        for equations, part in acting.folds:
            gain = maximum(gain, 1.0 - part) if equations & set(friction.indices) else gain
        if context.tape.scalar(gain).value is not None:
            continue
        mode = context.system.modes[friction.gate.args[0]]
        elements = tuple(dict.fromkeys((friction.unknown.element, *(acting.owners[j].element for j in friction.normals))))
        for state in (k for k, name in enumerate(mode.states) if name in SLIDING):
            name = f":paradox {friction.unknown.element} {state}"
            event = LoweredTransition(
                mode.automaton, mode.slot, state, state, name, (), "no solution, or several", False, None, paradox=elements
            )
            ends.append((event, gain - 1.0))
    return ends


def _normal_force_gain(context: TracingContext, acting: ActingUnknowns, friction: DryFriction) -> Any:
    """Return k mu, where friction adds k mu N to the normal force N, or 0.0 if the equations do not determine it."""
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
            return 0.0  # the equations do not determine N: it is only the least-norm choice
    return total
