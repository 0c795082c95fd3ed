"""Check that the flow of each constraint is the rate of its position, at sample states (E170).

A constraint acts on its flow h', which an MTF may compute from other flows with the user's matrix, and is stabilised by its
position h. If h' is not the rate of h, the stabilisation exchanges energy with the model. The flow and the rate of h are both
on the tape, so they are compared at sample states.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bondgraph.assembly.draft import flow
from bondgraph.assembly.system import Unknown
from bondgraph.errors import Problem
from bondgraph.model.laws import IdealConstraint, Transformer
from bondgraph.model.model import Bond, Model
from bondgraph.model.ops import STABILISED
from bondgraph.output.tables import labels_of
from bondgraph.tracing.evaluate import Traced
from bondgraph.tracing.on_tape.context import Samples, along
from bondgraph.tracing.on_tape.values import partials, scalars_of

FLOW_RTOL = 1e-6
"""Largest accepted difference between a flow and the rate of its position, as a fraction of their terms."""


@dataclass(frozen=True)
class _Difference:
    """A constraint whose flow is not the rate of its position, at the sample state with the largest difference."""

    unknown: Unknown
    position: Sequence[Any]
    rate: Sequence[Any]
    flow: Sequence[Any]
    row: int
    sampled_rate: np.ndarray
    sampled_flow: np.ndarray
    x: np.ndarray
    m: np.ndarray


def position_mismatches(traced: Traced, model: Model) -> list[Problem]:
    """Report constraints whose flow is not the rate of their `position`, with the wrong entry of an MTF before each (E170)."""
    problems = []
    for unknown in traced.context.system.unknowns if traced.context.sampled.states else ():
        law = model.elements[unknown.element].law
        if isinstance(law, IdealConstraint) and law.position is not None and not law.measured:
            difference = _largest_difference(traced, model, unknown, law)
            problems += [_problem(traced, model, difference)] if difference else []
    return problems


def _largest_difference(traced: Traced, model: Model, unknown: Unknown, law: IdealConstraint) -> _Difference | None:
    context, values = traced.context, traced.values
    held = next(s for s in context.system.statements if unknown.held in s.outs)
    assert held.op is STABILISED
    moving, h = scalars_of(values[held.args[1]]), scalars_of(values[held.args[2]])
    rates = [s for state in context.system.states for s in scalars_of(values[state.rate])]
    slopes = context.slopes(h)
    sizes = replace(slopes, values=tuple(map(abs, slopes.values)))
    rate = along(slopes, rates, [0.0] * len(h))
    size = along(sizes, [abs(r) for r in rates], [abs(f) for f in moving])
    columns = Samples(context.tape, context.sampled.states).row(
        [*rate, *moving, *size, *context.inputs["m"], *context.inputs["x"]]
    )
    table = np.stack(columns, axis=1)
    table = table[np.all(np.isfinite(table), axis=1)]
    n, modes = len(h), len(context.inputs["m"])
    if law.automaton is not None:
        mode = context.system.modes[law.mode]
        active = [mode.states.index(state) for state in law.active]
        table = table[np.isin(table[:, 3 * n + mode.slot], active)]
    if not len(table):
        return None
    by_position, by_flow, terms, m, x = np.split(table, np.cumsum([n, n, n, modes]), axis=1)
    largest = terms.max(axis=0)  # over all samples, as terms may cancel to rounding error at one sample
    off = np.abs(by_position - by_flow) / np.where(largest > 0.0, largest, 1.0)
    at, row = np.unravel_index(int(off.argmax()), off.shape)
    if off[at, row] <= FLOW_RTOL:
        return None
    return _Difference(unknown, h, rate, moving, int(row), by_position[at], by_flow[at], x[at], m[at])


def _problem(traced: Traced, model: Model, difference: _Difference) -> Problem:
    system, path, row = traced.context.system, difference.unknown.element, difference.row
    rate, by_flow = difference.sampled_rate, difference.sampled_flow
    element = model.elements[path]
    elements, names = [element], element.signals
    details = [
        f"from the flow, h' is {by_flow[row]:.6g}"
        + (f" in row {row}" if len(by_flow) > 1 else "")
        + f"; from the position, a function of {', '.join(names) or 'nothing'}, it is {rate[row]:.6g}"
    ]
    opposite = np.allclose(rate, -by_flow, rtol=FLOW_RTOL)
    cures = ["reverse the half arrow of the constraint"] if opposite else []
    before = _transformer(model, path)
    if before is not None:
        matrix, bond = before
        entry = _entry(traced, matrix, bond, difference)
        elements = [model.elements[matrix], element]
        if entry is not None:
            (i, j), is_now, should = entry
            details.insert(
                0,
                f'MTF "{matrix}": in row {i}, column {j} its matrix is {is_now:.6g}, but the derivative of the '
                f"position is {should:.6g}",
            )
            cures = [f'the correct value of this entry of MTF "{matrix}"']
    labels = [label for state in system.states for label in labels_of(state.name, np.shape(state.initial))]
    x = dict(zip(labels, difference.x, strict=False))  # unknowns of loops follow the states
    read = [f"{label} = {value:.4g}" for label, value in x.items() if label.partition("[")[0] in names]
    if read:
        details.append(f"for example at {', '.join(read[:8])}")
    sizes = {name: max(int(np.size(traced.values[system.resolve(name)])), 1) for name in names}
    cures.append(
        f"coordinates={sizes} instead of the {'signals' if before is None else 'MTF and signals'}, with the constraint connected "
        "to bonds whose flows are the rates of these coordinates; the compiler then differentiates the position"
    )
    title = f'the flow of constraint "{path}" is not the rate of its position'
    return Problem("E170", title, tuple(details), tuple(e.place for e in elements), tuple(cures))


def _transformer(model: Model, path: str) -> tuple[str, Bond] | None:
    bonds = model.bonds_at(path)
    other = next(end.element for end in bonds[0].ends if end.element != path)
    if len(bonds) != 1 or not isinstance(model.elements[other].law, Transformer):
        return None
    one, two = model.bonds_by_port(other)
    return (other, one) if two is bonds[0] else None


def _entry(traced: Traced, path: str, bond: Bond, difference: _Difference) -> tuple[tuple[int, int], float, float] | None:
    """Return (row, column) of the worst entry of the matrix, its value and its correct value, from states that change neither
    position nor matrix: the rate of the position and the flows are linear in these states."""
    values, system = traced.values, traced.context.system
    before, count = scalars_of(values[system.resolve(flow(bond))]), len(difference.position)
    numbers = np.reshape(np.asarray(values[system.resolve(f"{path}.N")], dtype=object), (count, len(before)))
    still = traced.context.reached([*difference.position, *numbers.flat])
    moved = [x for x in traced.context.inputs["x"] if x.index not in still]
    table = partials([*difference.rate, *difference.flow, *before], moved)
    at = _at(traced, [*numbers.flat, *table.values()], difference)
    if at is None or not moved:
        return None
    N, slopes = at[: numbers.size].reshape(numbers.shape), np.zeros((2 * count + len(before), len(moved)))
    for entry, value in zip(table, at[numbers.size :], strict=True):
        slopes[entry] = value
    of_rate, of_flow, F = slopes[:count], slopes[count : 2 * count], slopes[2 * count :]
    sign = 1.0 if np.abs(of_flow - N @ F).sum() <= np.abs(of_flow + N @ F).sum() else -1.0
    change = (sign * of_rate - N @ F) @ np.linalg.pinv(F)
    i, j = divmod(int(np.abs(change).argmax()), change.shape[1])
    return (i, j), float(N[i, j]), float(N[i, j] + change[i, j])


def _at(traced: Traced, scalars: Sequence[Any], difference: _Difference) -> np.ndarray | None:
    for sample in traced.context.sampled.states:
        if np.array_equal(sample[1], difference.x) and np.array_equal(sample[3], difference.m):
            row = np.concatenate(Samples(traced.context.tape, [sample]).row(scalars))
            return row if np.all(np.isfinite(row)) else None
    return None
