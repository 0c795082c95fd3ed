"""Late statements, those that are time derivatives or need one: values before them -> all values, along the motion.

What vanishes at a constraint or switch need not be differentiated in modes in which unknowns decide it at once; what is
unknown itself, or jumps, cannot be.
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
from bondgraph.tracing.on_tape.context import Ground, along
from bondgraph.tracing.on_tape.jumps import first_jump
from bondgraph.tracing.on_tape.values import Values, carry_out, scalars_of, shaped
from bondgraph.tracing.singular_messages import Unsolvable
from screws.scalars import absolute, equal, where

SWEEP = 8
"""How many times the work of one sweep along the motion the Jacobian of what is differentiated may be: it shares more with the
matrix of the unknowns, and of it parameters decide more."""

MANY = 16
"""Things to differentiate, from which on they have one Jacobian; of fewer each has the one that is best for it."""


@dataclass(frozen=True)
class Yielding:
    """What vanishes at an element and depends on the unknowns themselves."""

    conditions: list[Any]
    """Where no unknown acts on it, so that its derivative decides; one for each scalar."""
    still: Sequence[Any] | None
    """What it is there; None where an unknown always acts."""


def decide_rates(ground: Ground) -> bool:
    """Whether the rate of a state needs a time derivative, so that those could not be found in one go."""
    late = {out for index in ground.stages.late for out in ground.system.statements[index].outs}
    return bool(late & {state.rate for state in ground.system.states})


def tied(ground: Ground, values: Values, sought: Mapping[int, Unknown]) -> dict[str, list[Unknown]]:
    """Elements at which what must be differentiated depends on unknowns, whose rates are not known; with those unknowns.

    `sought` are the positions on the tape that stand for them.
    """
    statements = [ground.system.statements[index] for index in ground.stages.late]
    moving = [s for s in statements if s.op is TIME_DERIVATIVE and s.element not in ground.stages.yielding]
    roots = {s.element: scalars_of(values[s.args[0]]) for s in moving}
    if not sought.keys() & ground.reached([scalar for group in roots.values() for scalar in group]):
        return {}
    met = {element: [sought[i] for i in sorted(ground.reached(group) & sought.keys())] for element, group in roots.items()}
    return {element: unknowns for element, unknowns in met.items() if unknowns}


def with_derivatives(
    ground: Ground, values: Values, sought: Mapping[int, Unknown], known: Mapping[str, Yielding]
) -> tuple[Values, dict[str, Yielding]]:
    """Time derivatives along the motion, and what follows from them, added to the values; and what vanishes at elements that
    yield: as it is `known`, else as it depends on what is `sought`."""
    yielding, moving = dict(known), dict[int, Sequence[Any]]()
    for index in ground.stages.late:
        statement = ground.system.statements[index]
        if statement.op is TIME_DERIVATIVE and statement.element in ground.stages.yielding:
            if statement.element not in yielding:
                yielding[statement.element] = _yielding(ground, scalars_of(values[statement.args[0]]), sought, values)
            moving[index] = yielding[statement.element].still or ()
        elif statement.op is TIME_DERIVATIVE:
            moving[index] = scalars_of(values[statement.args[0]])
    plain = [index for index in moving if ground.system.statements[index].element not in ground.stages.yielding]
    jumping = first_jump(ground, [moving[index] for index in plain])
    if jumping is not None:
        raise Unsolvable("jump", ground.system.unknowns, None, [ground.system.statements[plain[jumping]].element])
    slopes = dict(zip(moving, _along_the_motion(ground, list(moving.values()), ground.rates(values)), strict=True))
    for index in ground.stages.late:
        statement = ground.system.statements[index]
        if index not in slopes:
            carry_out(statement, values)
            continue
        value, slope = values[statement.args[0]], slopes[index]
        if statement.element in ground.stages.yielding:
            slope = _where_decided(yielding[statement.element], scalars_of(value), slope)
        values[statement.outs[0]] = shaped(slope, np.shape(value))
    return values, yielding


def _along_the_motion(ground: Ground, groups: Sequence[Sequence[Any]], rates: Sequence[Any]) -> list[list[Any]]:
    """Time derivatives of some groups of scalars: by their Jacobians, or all in one sweep where that is much less work."""
    every, inputs = [scalar for group in groups for scalar in group], [*ground.inputs["x"], ground.inputs["t"][0]]
    separate, sweep = _work(ground, every, inputs)
    if separate > SWEEP * sweep:
        moving = [(a, {0: b}) for a, b in zip(inputs, [*rates, 1.0], strict=True) if ground.tape.scalar(b).value != 0.0]
        found = list(derivatives_along(every, [a for a, _ in moving], [b for _, b in moving], 1)[:, 0])
    elif len(groups) >= MANY:
        found = along(ground.slopes(every), rates, [0.0] * len(every))
    else:
        return [along(ground.slopes(group), rates, [0.0] * len(group)) for group in groups]
    left = iter(found)
    return [[next(left) for _ in group] for group in groups]


def _work(ground: Ground, outputs: Sequence[Any], inputs: Sequence[TapeScalar]) -> tuple[int, int]:
    """Multiplications of the Jacobian of `outputs` by `inputs`, by forward accumulation, and of one sweep along the motion."""
    tape, seeds = ground.tape, {variable.index: column for column, variable in enumerate(inputs)}
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


def _where_decided(given: Yielding, flat: Sequence[Any], slope: Sequence[Any]) -> list[Any]:
    """Time derivative in modes in which no unknown acts; zero in others, where the value vanishes by itself."""
    if given.still is None:
        return [0.0 * value for value in flat]
    return [where(condition, value, 0.0) for condition, value in zip(given.conditions, slope, strict=True)]


def _yielding(ground: Ground, flat: Sequence[Any], sought: Mapping[int, Unknown], values: Values) -> Yielding:
    """An unknown that its own mode makes zero does not act."""
    w = [TapeScalar(ground.tape, index) for index in sought]
    totals: list[Any] = [ground.tape.scalar(0.0) for _ in flat]
    acting = jacobian(flat, w)
    for i, j, partial in zip(acting.rows, acting.columns, acting.values, strict=True):
        totals[i] = totals[i] + ground.stages.acts(sought[w[j].index], values) * absolute(partial)
    numbers = ground.sampled({(0, k): ground.tape.scalar(total) for k, total in enumerate(totals)})
    if all(np.all(sizes != 0.0) for sizes in numbers.values()):
        return Yielding([], None)
    return Yielding([equal(total, 0.0) for total in totals], ground.without(w, flat))
