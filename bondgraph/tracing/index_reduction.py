"""Index reduction: evaluate time derivatives along the motion, and the statements that need time derivatives.

The vanishing quantity of a constraint or switch need not be differentiated in modes in which unknowns act on it directly. A
value that is itself unknown, or jumps, cannot be differentiated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bondgraph.assembly.system import Unknown
from bondgraph.model.ops import TIME_DERIVATIVE
from bondgraph.tape.differentiate import active_nodes, derivatives_along, jacobian
from bondgraph.tape.scalar import TapeScalar
from bondgraph.tracing.on_tape.context import TracingContext, along
from bondgraph.tracing.on_tape.discontinuities import first_discontinuous
from bondgraph.tracing.on_tape.values import Values, carry_out, scalars_of, shaped
from bondgraph.tracing.singular_messages import Unsolvable
from screws.scalars import absolute, equal, where

MAX_JACOBIAN_WORK = 8
"""Maximum work allowed for the Jacobian of the differentiated values, in units of one forward sweep along the motion. The
Jacobian is worth extra work: it shares more terms with the matrix of the unknowns than a sweep does, and more of its terms
depend only on parameters."""


MIN_JOINT_GROUPS = 16
"""Minimum number of groups of values for one shared Jacobian; fewer groups are differentiated separately."""


@dataclass(frozen=True)
class Yielding:
    """The vanishing quantity of an element, if it depends on the unknowns themselves."""

    conditions: list[Any]
    """Conditions, one for each scalar, under which the scalar depends on no unknown, so that its derivative is used instead."""
    still: Sequence[Any] | None
    """Value of the quantity under these conditions; None if it always depends on an unknown."""


def depending_on_unknowns(context: TracingContext, values: Values, unknown_at: Mapping[int, Unknown]) -> dict[str, list[Unknown]]:
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
    """Add time derivatives along the motion, and the values that need them.

    Also returns, for each element in `stages.yielding`, the vanishing quantity on which unknowns act directly, from `earlier` or
    else from the values.
    """
    yielding, moving = dict(earlier), dict[int, Sequence[Any]]()
    for index in context.stages.late:
        statement = context.system.statements[index]
        if statement.op is TIME_DERIVATIVE and statement.element in context.stages.yielding:
            if statement.element not in yielding:
                yielding[statement.element] = _yielding(context, scalars_of(values[statement.args[0]]), unknown_at, values)
            moving[index] = yielding[statement.element].still or ()
        elif statement.op is TIME_DERIVATIVE:
            moving[index] = scalars_of(values[statement.args[0]])
    solved = {unknown.element for unknown in context.system.unknowns}
    plain = [index for index in moving if context.system.statements[index].element in solved - context.stages.yielding]
    jumping = first_discontinuous(context, [moving[index] for index in plain])  # no index reduction of a value that jumps
    if jumping is not None:
        raise Unsolvable("jump", context.system.unknowns, None, [context.system.statements[plain[jumping]].element])
    slopes, late = dict[int, list[Any]](), list(context.stages.late)
    while late:
        ready = _differentiable(
            context, values, {index: moving[index] for index in late if index in moving and index not in slopes}
        )
        slopes |= zip(ready, _time_derivatives(context, list(ready.values()), context.rates(values)), strict=True)
        later = []
        for index in late:
            statement = context.system.statements[index]
            if index in moving and index in slopes:
                value, slope = values[statement.args[0]], slopes[index]
                if statement.element in context.stages.yielding:
                    slope = _where_decided(yielding[statement.element], scalars_of(value), slope)
                values[statement.outs[0]] = shaped(slope, np.shape(value))
            elif index not in moving and all(argument in values for argument in statement.args):
                carry_out(statement, values)
            else:
                later.append(index)
        if len(later) == len(late):
            elements = dict.fromkeys(context.system.statements[index].element for index in later if index in moving)
            raise Unsolvable("index", context.system.unknowns, None, list(elements))
        late = later
    return values, yielding


def _differentiable(context: TracingContext, values: Values, moving: Mapping[int, Sequence[Any]]) -> dict[int, Sequence[Any]]:
    """Return the values whose time derivative is known: they depend on no state whose rate is still unknown."""
    guesses = context.system.guesses
    states = [state.name for state in context.system.states if state.rate not in values and state.name not in guesses]
    unready = {context.inputs["x"][k].index for name in states for k in context.system.places[name]}
    return {index: group for index, group in moving.items() if not unready or not unready & context.reached(group)}


def _time_derivatives(context: TracingContext, groups: Sequence[Sequence[Any]], rates: Sequence[Any]) -> list[list[Any]]:
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
    """Return the time derivative in modes in which the quantity depends on no unknown, and zero in all other modes, in which
    unknowns make it vanish."""
    if quantity.still is None:
        return [0.0 * value for value in flat]
    return [where(condition, value, 0.0) for condition, value in zip(quantity.conditions, slope, strict=True)]


def _yielding(context: TracingContext, flat: Sequence[Any], unknown_at: Mapping[int, Unknown], values: Values) -> Yielding:
    """Return the conditions under which a vanishing quantity depends on no unknown; an unknown that is zero in the current mode
    has no effect."""
    w = [TapeScalar(context.tape, index) for index in unknown_at]
    totals: list[Any] = [context.tape.scalar(0.0) for _ in flat]
    acting = jacobian(flat, w)
    for i, j, partial in zip(acting.rows, acting.columns, acting.values, strict=True):
        totals[i] = totals[i] + context.stages.acts(unknown_at[w[j].index], values) * absolute(partial)
    numbers = context.sampled({(0, k): context.tape.scalar(total) for k, total in enumerate(totals)})
    if all(np.all(sizes != 0.0) for sizes in numbers.values()):
        return Yielding([], None)
    return Yielding([equal(total, 0.0) for total in totals], context.without(w, flat))
