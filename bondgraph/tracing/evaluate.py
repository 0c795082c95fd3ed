"""Evaluation of statements on a tape: compute every value of a system, and solve its implicit equations.

Most implicit equations are linear systems A w = b. Differentiating the residuals with respect to the unknowns gives A;
evaluating the statements with the unknowns at zero gives b. The statements are then evaluated again with the solution; values
that do not depend on the unknowns are shared, because equal operations are stored once. A nonlinear loop is solved by a Newton
iteration with a fixed number of steps (`newton`), a piecewise linear system on each side of its kinks (`piecewise`). If a
system has `TraceObstacles`, they are returned instead, and `break_loops` changes the system for the next trace.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bondgraph.assembly.stages import Step
from bondgraph.assembly.system import Loop, State, System, Unknown, environment
from bondgraph.model.dissipation import DISSIPATED
from bondgraph.model.ops import zeros
from bondgraph.tape.differentiate import jumps
from bondgraph.tape.scalar import TapeScalar
from bondgraph.tape.specialise import specialise
from bondgraph.tracing.index_reduction import Yielding, depending_on_unknowns, with_derivatives
from bondgraph.tracing.linear.complementarity import BoxPart
from bondgraph.tracing.linear.constraint_matrix import Closures, closures_of, positions_held
from bondgraph.tracing.linear.equations import SparseEquations, equations_of
from bondgraph.tracing.linear.ideal_reactions import along_the_motion
from bondgraph.tracing.linear.modewise import SharedMode, parts_of, solve_in_modes
from bondgraph.tracing.linear.self_stresses import SelfStresses
from bondgraph.tracing.loop_joining import with_elements_in_loops
from bondgraph.tracing.newton import NewtonIteration, newton_iteration, rates_of_guesses
from bondgraph.tracing.on_tape.context import ActingUnknowns, TracingContext
from bondgraph.tracing.on_tape.values import Values, carry_out, owners_of, partials, placed, residuals_of, shapes_of
from bondgraph.tracing.piecewise import MAX_BENDS, bends_of
from bondgraph.tracing.singular_messages import Unsolvable, refusing
from screws.scalars import where

INITIAL_GUESS = 1e-3
"""Start value of guesses without a `near` value: close to zero, but far enough away for a curve such as x^3 to have a slope."""


@dataclass(frozen=True)
class TraceObstacles:
    nonlinear: tuple[Loop, ...] = ()
    algebraic: frozenset[str] = frozenset()
    """Constraints and switches whose vanishing quantity depends on the unknowns themselves."""
    looping: System | None = None
    """The system with ideal elements added to the algebraic loops of the nonlinear relations next to them."""


def break_loops(system: System, obstacles: TraceObstacles) -> System:
    """Return the system without these obstacles.

    Nonlinear loops get guesses: states from which the Newton iteration starts. A vanishing quantity that depends on the
    unknowns themselves is not differentiated in modes in which an unknown acts on it. Ideal elements next to a nonlinear
    relation join its loop (`loop_joining`).
    """
    if obstacles.looping is not None:
        return obstacles.looping
    unknowns = tuple(replace(u, algebraic=u.algebraic or u.element in obstacles.algebraic) for u in system.unknowns)
    return _with_guesses(replace(system, unknowns=unknowns), obstacles.nonlinear)


def _with_guesses(system: System, loops: Iterable[Loop]) -> System:
    values, states, guesses = dict(system.values), list(system.states), dict[int, tuple[str, ...]]()
    for loop in loops:
        for unknown in loop.unknowns:
            value = system.values[unknown.value]
            shape = value.shape or ()
            name = f"{unknown.value}~"
            values[name] = replace(value, symbol="")
            values[f"{name}'"] = replace(value, symbol="", unit="")
            near = np.broadcast_to(INITIAL_GUESS if value.near is None else value.near, shape).astype(float)
            spread = np.ones(shape) if value.near is None else np.maximum(np.abs(near), np.abs(near).max() * INITIAL_GUESS)
            states.append(State(name, near, np.zeros(shape), f"{name}'", spread))
        guesses[loop.start] = tuple(f"{unknown.value}~" for unknown in loop.unknowns)
    all_loops = tuple(replace(loop, guesses=guesses.get(loop.start, loop.guesses)) for loop in system.loops)
    return replace(system, values=values, states=tuple(states), loops=all_loops)


@dataclass(frozen=True)
class Traced:
    context: TracingContext
    values: Values
    newton_iterations: tuple[NewtonIteration, ...] = ()
    acting: ActingUnknowns | None = None
    closures: Closures | None = None
    modes: tuple[SharedMode, ...] = ()
    boxes: tuple[BoxPart, ...] = ()
    stresses: tuple[SelfStresses, ...] = ()


def evaluate_system(context: TracingContext) -> Traced | TraceObstacles:
    """Evaluate all statements on the tape, or return the obstacles; raises `Unsolvable` if an obstacle cannot be removed, and
    `Untraceable` for a formula that cannot be recorded."""
    system, inputs = context.system, context.inputs
    input_values = environment(system, inputs["t"][0], inputs["x"], inputs["p"], inputs["m"])
    traced = _with_late(context, input_values) if system.unknowns else _early(context, input_values)
    if isinstance(traced, TraceObstacles):
        return traced
    if context.stages.late and not system.unknowns:
        traced = replace(traced, values=with_derivatives(context, traced.values, {}, {})[0])
    return replace(traced, values=traced.values | rates_of_guesses(context, traced.values, traced.newton_iterations))


def _with_late(context: TracingContext, inputs: Values) -> Traced | TraceObstacles:
    system, unknowns = context.system, context.system.unknowns

    def early(scalars: Sequence[Any], context: TracingContext = context) -> Traced | TraceObstacles:
        return _early(context, {**inputs, **placed(unknowns, shapes_of(system, unknowns), scalars)})

    owners = owners_of(system, unknowns)
    w = context.unknowns(len(owners))
    first = early(w)
    if isinstance(first, TraceObstacles):
        return first
    unknown_at = {scalar.index: unknown for scalar, unknown in zip(w, owners, strict=True)}
    if dependent := depending_on_unknowns(context, first.values, unknown_at):
        curable = {u.element for u in unknowns if u.held and not u.algebraic} & dependent.keys()
        if not curable:
            involved = list(dict.fromkeys(u for of_element in dependent.values() for u in of_element))
            raise Unsolvable("index", involved, None, list(dependent))
        return TraceObstacles(algebraic=frozenset(curable))
    values, yielding = with_derivatives(context, first.values, unknown_at, {})
    decided = {element: part.conditions for element, part in yielding.items() if part.still is not None}
    acting = ActingUnknowns(tuple(w), tuple(owners), values, decided)
    held = positions_held(system)
    acting, straighten = _on_sides(context, acting, held)
    equations = _linear(context, residuals_of(acting.values, unknowns), w)
    if equations is None:
        nonlinear = _nonlinear(context, residuals_of(values, unknowns), w, owners)
        joining = {u.element for u in unknowns if u.element in nonlinear and not _differentiated(context, u, values, yielding)}
        looping = with_elements_in_loops(system, joining) if joining else None
        if looping is None:
            raise Unsolvable("nonlinear", unknowns, None)
        return TraceObstacles(looping=looping)

    def at(scalars: Sequence[Any]) -> Traced:
        traced = early(scalars)
        assert isinstance(traced, Traced)  # a linear loop stays linear when values replace other unknowns
        return replace(traced, values=with_derivatives(context, traced.values, {}, yielding)[0])

    bent = acting.values is not values
    still = (
        context.without(w, residuals_of(acting.values, unknowns)) if bent else residuals_of(at([0.0] * len(w)).values, unknowns)
    )
    right = [-r for r in still]
    ideal = functools.cache(functools.partial(along_the_motion, context, acting))
    with refusing(system, unknowns):
        solved = solve_in_modes(context, equations, right, ideal, held)
    traced = at(solved.values)
    cut = _without_heat(context)
    if cut is not context:
        in_impulses = early(w, cut)
        assert isinstance(in_impulses, Traced)
        acting = replace(acting, values=straighten(with_derivatives(cut, in_impulses.values, unknown_at, yielding)[0]))
    closures = closures_of(system, traced.values, equations, solved.repeating)
    return replace(traced, acting=acting, closures=closures, modes=solved.modes, boxes=solved.boxes, stresses=solved.stresses)


def _nonlinear(context: TracingContext, residuals: Sequence[Any], w: Sequence[TapeScalar], owners: Sequence[Unknown]) -> set[str]:
    """Return the elements whose unknowns, among w, occur in nonlinear parts of the equations."""
    matrix, unknown = partials(residuals, w), {scalar.index: j for j, scalar in enumerate(w)}
    bent = {(i, unknown[k]): v for (i, _), v in matrix.items() for k in context.reached([v]) & unknown.keys()}
    jumping = {i for i, r in enumerate(residuals) if jumps(context.tape, [context.tape.scalar(r).index], set(unknown))}
    curved = {i for i, _ in bent} | jumping
    parts = parts_of([*matrix, *bent], len(w))
    return {owners[j].element for rows, columns in parts if curved.intersection(rows) for j in columns}


def _differentiated(context: TracingContext, unknown: Unknown, values: Values, yielding: Mapping[str, Yielding]) -> bool:
    """Return True if an element constrains states, not unknowns, in one of its modes, so that its vanishing quantity must be
    differentiated; an element that constrains neither, such as a diode across a source, does not need the derivative."""
    part = yielding.get(unknown.element)
    if part is None:
        return True
    gate, modes = context.stages.gates.get(unknown.residual), context.inputs["m"]
    holds = 1.0 if gate is None else gate.op(values[gate.args[0]], 1.0, 0.0)
    needed = [where(condition, holds, 0.0) for condition in part.conditions]
    still = part.still or ()
    reached, states = context.reached([*needed, *still]), {scalar.index for scalar in context.inputs["x"]}
    slots = [slot for slot, mode in enumerate(modes) if mode.index in reached]
    for here in dict.fromkeys(tuple(m[slot] for slot in slots) for *_, m in context.sampled.states):
        fixed = {("m", slot): float(state) for slot, state in zip(slots, here, strict=True)}
        needs, values_here = (specialise(context.tape, scalars, fixed) for scalars in (needed, still))
        pairs = zip(needs, values_here, strict=True)
        if any(need.value not in (None, 0.0) and states & context.reached([value]) for need, value in pairs):
            return True
    return False


def _on_sides(
    context: TracingContext, acting: ActingUnknowns, held: Collection[int]
) -> tuple[ActingUnknowns, Callable[[Values], Values]]:
    """Return the equations with each kink replaced by the linear piece on the solution's side, and a function that does the
    same to other values; both change nothing unless the equations are piecewise linear with at most `MAX_BENDS` kinks in a
    part."""
    unknowns, w = context.system.unknowns, acting.w
    bending = residuals_of(acting.values, unknowns)
    bends = bends_of(context, bending, w)
    groups = [] if bends is None else bends.groups(bending, w)
    if bends is None or max(map(len, groups)) > MAX_BENDS:
        return acting, lambda values: values
    on_one_side = bends.straightened(acting.values, [1.0] * len(bends.positions))
    if _linear(context, residuals_of(on_one_side, unknowns), w) is None:
        return acting, lambda values: values

    def solved(sides: Sequence[Any], right: Sequence[Any] | None = None) -> Sequence[Any]:
        straight = replace(acting, values=bends.straightened(acting.values, sides))
        residuals = residuals_of(straight.values, unknowns)
        equations = _linear(context, residuals, w)
        if equations is None:
            raise Unsolvable("nonlinear", unknowns, None)
        right = [-r for r in context.without(w, residuals)] if right is None else right
        ideal = functools.cache(functools.partial(along_the_motion, context, straight))
        with refusing(context.system, unknowns):
            return solve_in_modes(context, equations, right, ideal, held).values

    sides = bends.sides(groups, w, solved)
    folds = bends.folds(bending, w, sides, functools.partial(solved, sides))
    values = bends.straightened(acting.values, sides)
    decided = tuple(map(context.tape.scalar, sides))
    return replace(acting, values=values, sides=decided, folds=folds), lambda values: bends.straightened(values, sides)


def _without_heat(context: TracingContext) -> TracingContext:
    statements = context.system.statements
    if not any(s.op in DISSIPATED for s in statements):
        return context
    cut = [s._replace(op=zeros(()), args=()) if s.op in DISSIPATED else s for s in statements]
    return replace(context, system=replace(context.system, statements=tuple(cut)))


def _early(context: TracingContext, inputs: Values) -> Traced | TraceObstacles:
    """Evaluate the statements that need no time derivative; once a loop without guesses turns out to be nonlinear, solve no
    further loop."""
    system, values, iterations, nonlinear = context.system, dict(inputs), list[NewtonIteration](), list[Loop]()

    def evaluated(step: Step, scalars: Sequence[Any], unknowns: Sequence[Unknown]) -> Values:
        env = {**values, **placed(unknowns, shapes_of(system, unknowns), scalars)}
        for index in step.statements:
            carry_out(system.statements[index], env)
        return env

    for step in context.stages.early:
        if step.loop is None:
            carry_out(system.statements[step.statements[0]], values)
            continue
        loop, unknowns = step.loop, step.loop.unknowns
        w = context.unknowns(len(owners_of(system, unknowns)))
        inner = evaluated(step, w, unknowns)
        solution: Sequence[Any] | None = None
        if not loop.guesses:
            equations = _linear(context, residuals_of(inner, unknowns), w)
            nonlinear += [loop] if equations is None else []
            if equations is not None and not nonlinear:
                right = [-r for r in residuals_of(evaluated(step, [0.0] * len(w), unknowns), unknowns)]
                with refusing(system, unknowns, loop):
                    solution = solve_in_modes(context, equations, right).values
        elif not nonlinear:
            with refusing(system, unknowns, loop):
                iterations.append(newton_iteration(context, loop, w, residuals_of(inner, unknowns), values))
            solution = iterations[-1].solution
        values = inner if solution is None else evaluated(step, solution, unknowns)
    return TraceObstacles(nonlinear=tuple(nonlinear)) if nonlinear else Traced(context, values, tuple(iterations))


def _linear(context: TracingContext, residuals: Sequence[Any], w: Sequence[TapeScalar]) -> SparseEquations | None:
    """Return the linear equations residuals = 0, or None if they are nonlinear in the unknowns or jump."""
    unknown = {scalar.index for scalar in w}
    equations = equations_of(context, residuals, w)
    if equations.steps is not None and unknown & context.reached(equations.scalars):
        equations = replace(equations, steps=None)  # nonlinear steps may cancel in the residuals
    roots = [context.tape.scalar(residual).index for residual in residuals]
    return None if unknown & context.reached(equations.scalars) or jumps(context.tape, roots, unknown) else equations
