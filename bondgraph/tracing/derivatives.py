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
from bondgraph.tape.differentiate import SparseJacobian, jacobian
from bondgraph.tape.scalar import TapeScalar
from bondgraph.tracing.on_tape.ground import Ground, along
from bondgraph.tracing.on_tape.jumps import jumps
from bondgraph.tracing.on_tape.values import Values, carry_out, scalars_of, shaped
from bondgraph.tracing.refusals import Unsolvable
from screws.scalars import absolute, equal, where


@dataclass(frozen=True)
class Yielding:
    """What vanishes at an element and depends on the unknowns themselves."""

    conditions: list[Any]
    """Where no unknown acts on it, so that its derivative decides; one for each scalar."""
    slopes: SparseJacobian | None
    """Its derivatives there; None where an unknown always acts."""


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
    yielding = dict(known)
    rates = ground.rates(values)
    for index in ground.stages.late:
        statement = ground.system.statements[index]
        if statement.op is not TIME_DERIVATIVE:
            carry_out(statement, values)
            continue
        element, value = statement.element, values[statement.args[0]]
        flat = scalars_of(value)
        if element in ground.stages.yielding:
            if element not in yielding:
                yielding[element] = _yielding(ground, flat, sought, values)
            slope = _where_decided(yielding[element], flat, rates)
        elif jumps(ground, flat):
            raise Unsolvable("jump", ground.system.unknowns, None, [element])
        else:
            slope = along(ground.slopes(flat), rates, [0.0] * len(flat))
        values[statement.outs[0]] = shaped(slope, np.shape(value))
    return values, yielding


def _where_decided(given: Yielding, flat: Sequence[Any], rates: Sequence[Any]) -> list[Any]:
    """Time derivative in modes in which no unknown acts; zero in others, where the value vanishes by itself."""
    if given.slopes is None:
        return [0.0 * value for value in flat]
    slope = along(given.slopes, rates, [0.0] * len(flat))
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
    return Yielding([equal(total, 0.0) for total in totals], ground.slopes(ground.without(w, flat)))
