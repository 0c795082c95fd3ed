"""The walk through the statements: a ground -> every value on the tape, implicit equations solved on the way.

Most are linear systems A w = b whose entries come from the statements themselves: A by differentiating the residuals
with respect to the unknowns, b from the statements run with the unknowns at zero. With the solution in place the statements run
once more; what does not depend on the unknowns is shared, because equal operations are stored once. A nonlinear loop is
solved by Newton's method, straight-line like all else (`newton`). Where a system needs to be `eased` first, the walk says so.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from bondgraph.assembly.execute import environment
from bondgraph.assembly.stages import Step
from bondgraph.assembly.system import Loop, Unknown
from bondgraph.tape.scalar import TapeScalar
from bondgraph.tracing.derivatives import decide_rates, tied, with_derivatives
from bondgraph.tracing.linear.constraint_matrix import Closures, closures_of, positions_held
from bondgraph.tracing.linear.equations import SparseEquations, equations_of
from bondgraph.tracing.linear.modewise import SharedMode, solve_in_modes
from bondgraph.tracing.linear.reactions import along_the_motion
from bondgraph.tracing.loop_breaking import Snags
from bondgraph.tracing.newton import Pursuit, pursue, rates_of_guesses
from bondgraph.tracing.on_tape.context import Acting, Ground
from bondgraph.tracing.on_tape.values import Values, carry_out, owners_of, placed, residuals_of, shapes_of
from bondgraph.tracing.singular_messages import Unsolvable, refusing


@dataclass(frozen=True)
class Traced:
    """A system on a tape."""

    ground: Ground
    """Its system has all shapes known."""
    values: Values
    """Every value by name."""
    pursuits: tuple[Pursuit, ...] = ()
    """Its nonlinear loops."""
    acting: Acting | None = None
    """The unknowns whose residuals hold time derivatives, if there are any."""
    closures: Closures | None = None
    """Constraints on positions, where there are any."""
    modes: tuple[SharedMode, ...] = ()
    """Modes in which those unknowns are not decided by their equations alone."""


def walked(ground: Ground) -> Traced | Snags:
    """All statements on the tape, or what keeps them from being solved; `Unsolvable` where there is no cure."""
    system, inputs = ground.system, ground.inputs
    given = environment(system, inputs["t"][0], inputs["x"], inputs["p"], inputs["m"])
    found = _with_late(ground, given) if system.unknowns else _early(ground, given)
    if isinstance(found, Snags):
        return found
    return replace(found, values=found.values | rates_of_guesses(ground, found.values, found.pursuits))


def _with_late(ground: Ground, given: Values) -> Traced | Snags:
    """All statements, with the unknowns whose residuals hold time derivatives."""
    system, unknowns = ground.system, ground.system.unknowns
    if decide_rates(ground):
        raise Unsolvable("index", unknowns, None)

    def early(scalars: Sequence[Any]) -> Traced | Snags:
        return _early(ground, {**given, **placed(unknowns, shapes_of(system, unknowns), scalars)})

    owners = owners_of(system, unknowns)
    w = ground.unknowns(len(owners))
    first = early(w)
    if isinstance(first, Snags):
        return first
    sought = {scalar.index: unknown for scalar, unknown in zip(w, owners, strict=True)}
    if met := tied(ground, first.values, sought):
        easy = {u.element for u in unknowns if u.held and not u.algebraic} & met.keys()
        if not easy:
            raise Unsolvable("index", list(dict.fromkeys(u for some in met.values() for u in some)), None, list(met))
        return Snags(tied=frozenset(easy))
    values, yielding = with_derivatives(ground, first.values, sought, {})
    decided = {element: found.conditions for element, found in yielding.items() if found.still is not None}
    acting = Acting(tuple(w), tuple(owners), values, decided)
    equations = _linear(ground, residuals_of(values, unknowns), w)
    if equations is None:
        raise Unsolvable("nonlinear", unknowns, None)

    def at(scalars: Sequence[Any]) -> Traced:
        found = early(scalars)
        assert isinstance(found, Traced)  # no loop is less linear where something is put in for other unknowns
        return replace(found, values=with_derivatives(ground, found.values, {}, yielding)[0])

    right = [-r for r in residuals_of(at([0.0] * len(w)).values, unknowns)]
    ideal, held = functools.cache(functools.partial(along_the_motion, ground, acting)), positions_held(system)
    with refusing(system, unknowns):
        solved = solve_in_modes(ground, equations, right, ideal, held)
    found = at(solved.values)
    closures = closures_of(system, found.values, equations, solved.repeating)
    return replace(found, acting=acting, closures=closures, modes=solved.modes)


def _early(ground: Ground, given: Values) -> Traced | Snags:
    """Statements that need no time derivative. Once a loop is found to be curved, those after it are only looked at."""
    system, values, pursuits, curved = ground.system, dict(given), list[Pursuit](), list[Loop]()

    def carried_out(step: Step, scalars: Sequence[Any], unknowns: Sequence[Unknown]) -> Values:
        found = {**values, **placed(unknowns, shapes_of(system, unknowns), scalars)}
        for index in step.statements:
            carry_out(system.statements[index], found)
        return found

    for step in ground.stages.early:
        if step.loop is None:
            carry_out(system.statements[step.statements[0]], values)
            continue
        loop, unknowns = step.loop, step.loop.unknowns
        w = ground.unknowns(len(owners_of(system, unknowns)))
        inner = carried_out(step, w, unknowns)
        solution: Sequence[Any] | None = None
        if not loop.guesses:
            equations = _linear(ground, residuals_of(inner, unknowns), w)
            curved += [loop] if equations is None else []
            if equations is not None and not curved:
                right = [-r for r in residuals_of(carried_out(step, [0.0] * len(w), unknowns), unknowns)]
                with refusing(system, unknowns, loop):
                    solution = solve_in_modes(ground, equations, right).values
        elif not curved:
            with refusing(system, unknowns, loop):
                pursuits.append(pursue(ground, loop, w, residuals_of(inner, unknowns), values))
            solution = pursuits[-1].solution
        values = inner if solution is None else carried_out(step, solution, unknowns)
    return Snags(curved=tuple(curved)) if curved else Traced(ground, values, tuple(pursuits))


def _linear(ground: Ground, residuals: Sequence[Any], w: Sequence[TapeScalar]) -> SparseEquations | None:
    """The equations by which residuals vanish; None where their derivatives depend on the unknowns themselves."""
    unknown = {scalar.index for scalar in w}
    found = equations_of(ground, residuals, w)
    if found.steps is not None and unknown & ground.reached(found.scalars):
        found = replace(found, steps=None)  # what is bent on the way may be straight in the end
    return None if unknown & ground.reached(found.scalars) else found
