"""Evaluation of statements on a tape, index reduction included: compute every value of a system and solve its implicit equations.

Most are linear systems A w = b whose entries come from the statements themselves: A by differentiating the residuals
with respect to the unknowns, b from the statements evaluated with the unknowns at zero. With the solution in place the statements
are evaluated once more; values that do not depend on the unknowns are shared, because equal operations are stored once. A
nonlinear loop is solved by a Newton iteration, straight-line code too (`newton`). Where a system has `TraceObstacles`, they are
returned instead, and `break_loops` changes the system for the next trace.

Index reduction: evaluate time derivatives along the motion, and the statements that need one. The vanishing quantity of a
constraint or switch need not be differentiated in modes in which unknowns act on it directly; a value that is unknown itself, or
jumps, cannot be.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bondgraph.assembly.execute import environment
from bondgraph.assembly.stages import Step
from bondgraph.assembly.system import Loop, State, System, Unknown
from bondgraph.model.ops import TIME_DERIVATIVE
from bondgraph.tape.differentiate import active_nodes, derivatives_along, jacobian
from bondgraph.tape.scalar import TapeScalar
from bondgraph.tracing.linear.constraint_matrix import Closures, closures_of, positions_held
from bondgraph.tracing.linear.equations import SparseEquations, equations_of
from bondgraph.tracing.linear.ideal import along_the_motion
from bondgraph.tracing.linear.modewise import SharedMode, solve_in_modes
from bondgraph.tracing.newton import NewtonIteration, newton_iteration, rates_of_guesses
from bondgraph.tracing.on_tape.context import ActingUnknowns, TracingContext, along, first_discontinuous
from bondgraph.tracing.on_tape.values import Values, carry_out, owners_of, placed, residuals_of, scalars_of, shaped, shapes_of
from bondgraph.tracing.singular_messages import Unsolvable, refusing
from screws.scalars import absolute, equal, where

MAX_JACOBIAN_WORK = 8
"""Most work of a Jacobian of the differentiated values, in units of one sweep along the motion: the Jacobian shares more with the
matrix of the unknowns, and more of it depends on parameters only."""

MIN_JOINT_GROUPS = 16
"""Groups to differentiate from which they have one joint Jacobian; of fewer each has the best one of its own."""


@dataclass(frozen=True)
class Yielding:
    """The vanishing quantity of an element, if it depends on the unknowns themselves."""

    conditions: list[Any]
    """Conditions under which no unknown acts on it, so that its derivative counts; one for each scalar."""
    still: Sequence[Any] | None
    """Its value there; None if an unknown always acts."""


def rates_need_derivatives(context: TracingContext) -> bool:
    """Return True if the rate of a state needs a time derivative, so that one differentiation is not enough."""
    late = {out for index in context.stages.late for out in context.system.statements[index].outs}
    return bool(late & {state.rate for state in context.system.states})


def depending_on_unknowns(context: TracingContext, values: Values, unknown_at: Mapping[int, Unknown]) -> dict[str, list[Unknown]]:
    """Return elements whose differentiated value depends on unknowns, and these unknowns.

    `unknown_at` are the unknowns by their positions on the tape.
    """
    statements = [context.system.statements[index] for index in context.stages.late]
    moving = [s for s in statements if s.op is TIME_DERIVATIVE and s.element not in context.stages.yielding]
    roots = {s.element: scalars_of(values[s.args[0]]) for s in moving}
    positions = unknown_at.keys()
    if not positions & context.reached([scalar for group in roots.values() for scalar in group]):
        return {}
    dependent = {path: [unknown_at[i] for i in sorted(context.reached(group) & positions)] for path, group in roots.items()}
    return {element: unknowns for element, unknowns in dependent.items() if unknowns}


def with_derivatives(
    context: TracingContext, values: Values, unknown_at: Mapping[int, Unknown], earlier: Mapping[str, Yielding]
) -> tuple[Values, dict[str, Yielding]]:
    """Add time derivatives along the motion, and the values that need them; return also the vanishing quantities of yielding
    elements, as in `earlier`, else by their dependence on the unknowns."""
    yielding, moving = dict(earlier), dict[int, Sequence[Any]]()
    for index in context.stages.late:
        statement = context.system.statements[index]
        if statement.op is TIME_DERIVATIVE and statement.element in context.stages.yielding:
            if statement.element not in yielding:
                yielding[statement.element] = _yielding(context, scalars_of(values[statement.args[0]]), unknown_at, values)
            moving[index] = yielding[statement.element].still or ()
        elif statement.op is TIME_DERIVATIVE:
            moving[index] = scalars_of(values[statement.args[0]])
    plain = [index for index in moving if context.system.statements[index].element not in context.stages.yielding]
    jumping = first_discontinuous(context, [moving[index] for index in plain])  # no index reduction of a value that jumps
    if jumping is not None:
        raise Unsolvable("jump", context.system.unknowns, None, [context.system.statements[plain[jumping]].element])
    slopes = dict(zip(moving, _time_derivatives(context, list(moving.values()), context.rates(values)), strict=True))
    for index in context.stages.late:
        statement = context.system.statements[index]
        if index not in slopes:
            carry_out(statement, values)
            continue
        value, slope = values[statement.args[0]], slopes[index]
        if statement.element in context.stages.yielding:
            slope = _where_decided(yielding[statement.element], scalars_of(value), slope)
        values[statement.outs[0]] = shaped(slope, np.shape(value))
    return values, yielding


def _time_derivatives(context: TracingContext, groups: Sequence[Sequence[Any]], rates: Sequence[Any]) -> list[list[Any]]:
    """Return time derivatives of groups of scalars: by their Jacobians, or all in one sweep if that is much less work."""
    every, inputs = [scalar for group in groups for scalar in group], [*context.inputs["x"], context.inputs["t"][0]]
    separate, sweep = _work(context, every, inputs)
    if separate > MAX_JACOBIAN_WORK * sweep:
        moving = [(a, {0: b}) for a, b in zip(inputs, [*rates, 1.0], strict=True) if context.tape.scalar(b).value != 0.0]
        derivatives = list(derivatives_along(every, [a for a, _ in moving], [b for _, b in moving], 1)[:, 0])
    elif len(groups) >= MIN_JOINT_GROUPS:
        derivatives = along(context.slopes(every), rates, [0.0] * len(every))
    else:
        return [along(context.slopes(group), rates, [0.0] * len(group)) for group in groups]
    remaining = iter(derivatives)
    return [[next(remaining) for _ in group] for group in groups]


def _work(context: TracingContext, outputs: Sequence[Any], inputs: Sequence[TapeScalar]) -> tuple[int, int]:
    """Count multiplications of the Jacobian of `outputs` by `inputs` (forward), and of one sweep along the motion."""
    tape, seeds = context.tape, {variable.index: column for column, variable in enumerate(inputs)}
    below: dict[int, int] = {}
    separate = sweep = 0
    for position in active_nodes(tape, [tape.scalar(output).index for output in outputs], seeds):
        mask = 1 << seeds[position] if position in seeds else 0
        for argument in () if position in seeds else tape.nodes[position][1:]:
            if argument in below:
                mask |= below[argument]
                separate += below[argument].bit_count()
                sweep += 1
        below[position] = mask
    return separate, sweep


def _where_decided(quantity: Yielding, flat: Sequence[Any], slope: Sequence[Any]) -> list[Any]:
    """Return the time derivative in modes in which no unknown acts; zero in others, where the value vanishes by itself."""
    if quantity.still is None:
        return [0.0 * value for value in flat]
    return [where(condition, value, 0.0) for condition, value in zip(quantity.conditions, slope, strict=True)]


def _yielding(context: TracingContext, flat: Sequence[Any], unknown_at: Mapping[int, Unknown], values: Values) -> Yielding:
    """Return the conditions under which no unknown acts on a vanishing quantity; one that its mode makes zero does not act."""
    w = [TapeScalar(context.tape, index) for index in unknown_at]
    totals: list[Any] = [context.tape.scalar(0.0) for _ in flat]
    acting = jacobian(flat, w)
    for i, j, partial in zip(acting.rows, acting.columns, acting.values, strict=True):
        totals[i] = totals[i] + context.stages.acts(unknown_at[w[j].index], values) * absolute(partial)
    numbers = context.sampled({(0, k): context.tape.scalar(total) for k, total in enumerate(totals)})
    if all(np.all(sizes != 0.0) for sizes in numbers.values()):
        return Yielding([], None)
    return Yielding([equal(total, 0.0) for total in totals], context.without(w, flat))


INITIAL_GUESS = 1e-3
"""Start value of guesses: close to zero, yet where a curve that is flat at zero (a cube) has a slope."""


@dataclass(frozen=True)
class TraceObstacles:
    """Obstacles that a trace found in a system, all at once."""

    nonlinear: tuple[Loop, ...] = ()
    """Nonlinear algebraic loops."""
    algebraic: frozenset[str] = frozenset()
    """Constraints and switches whose vanishing quantity depends on the unknowns themselves."""


def break_loops(system: System, obstacles: TraceObstacles) -> System:
    """Return the system without these obstacles.

    Nonlinear loops get guesses, states from which the Newton iteration starts; a vanishing quantity that depends on the
    unknowns themselves is not differentiated where one of them acts on it.
    """
    unknowns = tuple(replace(u, algebraic=u.algebraic or u.element in obstacles.algebraic) for u in system.unknowns)
    return _with_guesses(replace(system, unknowns=unknowns), obstacles.nonlinear)


def _with_guesses(system: System, loops: Iterable[Loop]) -> System:
    """Return the system with a state for every unknown of these loops."""
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
    """A system on a tape."""

    context: TracingContext
    """The system has all shapes known."""
    values: Values
    """All values by name."""
    newton_iterations: tuple[NewtonIteration, ...] = ()
    """Nonlinear loops."""
    acting: ActingUnknowns | None = None
    """The unknowns whose residuals hold time derivatives, if there are any."""
    closures: Closures | None = None
    """Constraints on positions, if there are any."""
    modes: tuple[SharedMode, ...] = ()
    """Modes in which those unknowns are not determined by their equations alone."""


def evaluate_system(context: TracingContext) -> Traced | TraceObstacles:
    """Evaluate all statements on the tape, or return the obstacles; raises `Unsolvable` where there is no cure."""
    system, inputs = context.system, context.inputs
    input_values = environment(system, inputs["t"][0], inputs["x"], inputs["p"], inputs["m"])
    traced = _with_late(context, input_values) if system.unknowns else _early(context, input_values)
    if isinstance(traced, TraceObstacles):
        return traced
    return replace(traced, values=traced.values | rates_of_guesses(context, traced.values, traced.newton_iterations))


def _with_late(context: TracingContext, inputs: Values) -> Traced | TraceObstacles:
    """Evaluate all statements, with the unknowns whose residuals hold time derivatives."""
    system, unknowns = context.system, context.system.unknowns
    if rates_need_derivatives(context):
        raise Unsolvable("index", unknowns, None)

    def early(scalars: Sequence[Any]) -> Traced | TraceObstacles:
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
    equations = _linear(context, residuals_of(values, unknowns), w)
    if equations is None:
        raise Unsolvable("nonlinear", unknowns, None)

    def at(scalars: Sequence[Any]) -> Traced:
        traced = early(scalars)
        assert isinstance(traced, Traced)  # a linear loop stays linear with values in place of other unknowns
        return replace(traced, values=with_derivatives(context, traced.values, {}, yielding)[0])

    right = [-r for r in residuals_of(at([0.0] * len(w)).values, unknowns)]
    ideal, held = functools.cache(functools.partial(along_the_motion, context, acting)), positions_held(system)
    with refusing(system, unknowns):
        solved = solve_in_modes(context, equations, right, ideal, held)
    traced = at(solved.values)
    closures = closures_of(system, traced.values, equations, solved.repeating)
    return replace(traced, acting=acting, closures=closures, modes=solved.modes)


def _early(context: TracingContext, inputs: Values) -> Traced | TraceObstacles:
    """Evaluate the statements that need no time derivative; after a new nonlinear loop no further loop is solved."""
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
    """Return the linear equations residuals = 0; None if their derivatives depend on the unknowns themselves."""
    unknown = {scalar.index for scalar in w}
    equations = equations_of(context, residuals, w)
    if equations.steps is not None and unknown & context.reached(equations.scalars):
        equations = replace(equations, steps=None)  # nonlinear steps may cancel in the residuals
    return None if unknown & context.reached(equations.scalars) else equations
