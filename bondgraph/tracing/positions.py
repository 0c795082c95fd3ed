"""Positions of constraints against their flows: a traced system -> problems (E170) where a flow is no rate of its position.

A constraint is stabilised by its position h and moved by its flow h', which an MTF makes of other flows by a matrix of the user's
own. Where the two do not fit, the constraint drives the model. Both are known on the tape, so they are compared at sample states.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bondgraph.assembly.draft import flow
from bondgraph.assembly.system import System, Unknown
from bondgraph.causality.assign import ordered_bonds
from bondgraph.errors import Problem
from bondgraph.model.laws import IdealConstraint, Transformer
from bondgraph.model.model import Bond, Model
from bondgraph.model.ops import STABILISED
from bondgraph.tracing.evaluate import Traced
from bondgraph.tracing.on_tape.context import along
from bondgraph.tracing.on_tape.sampling import Samples
from bondgraph.tracing.on_tape.values import partials, scalars_of

AGREES = 1e-6
"""Difference of a flow from the rate of its position that may be, as a part of what they are made of."""


@dataclass(frozen=True)
class _Difference:
    """A constraint of whose position the rate is not its flow, at the sample state where they differ most."""

    unknown: Unknown
    position: Sequence[Any]
    along: Sequence[Any]
    moving: Sequence[Any]
    """Position, its rate and the flow, on the tape."""
    row: int
    rate: np.ndarray
    given: np.ndarray
    """Rate and flow there; in this row they differ most."""
    x: np.ndarray
    m: np.ndarray


def foreign_positions(traced: Traced, model: Model) -> list[Problem]:
    """Constraints whose flow is not the rate of their `position`, each with the entry of the MTF that is to blame (E170)."""
    found = []
    for unknown in traced.ground.system.unknowns if traced.ground.sampled.states else ():
        law = model.elements[unknown.element].law
        if isinstance(law, IdealConstraint) and law.position is not None and not law.measured:
            difference = _compared(traced, model, unknown, law)
            found += [_problem(traced, model, difference)] if difference else []
    return found


def _compared(traced: Traced, model: Model, unknown: Unknown, law: IdealConstraint) -> _Difference | None:
    ground, values = traced.ground, traced.values
    held = next(s for s in ground.system.statements if unknown.held in s.outs)
    assert held.op is STABILISED
    moving, h = scalars_of(values[held.args[1]]), scalars_of(values[held.args[2]])
    rates = [s for state in ground.system.states for s in scalars_of(values[state.rate])]
    slopes = ground.slopes(h)
    sizes = replace(slopes, values=tuple(map(abs, slopes.values)))
    rate = along(slopes, rates, [0.0] * len(h))
    size = along(sizes, [abs(r) for r in rates], [abs(f) for f in moving])
    found = Samples(ground.tape, ground.sampled.states).row([*rate, *moving, *size, *ground.inputs["m"], *ground.inputs["x"]])
    table = np.stack(found, axis=1)
    table = table[np.all(np.isfinite(table), axis=1)]
    n, modes = len(h), len(ground.inputs["m"])
    if law.automaton is not None:
        slot = list(ground.system.modes).index(law.mode)
        states = model.automata[law.automaton].states
        active = [states.index(state) for state in law.active]
        table = table[np.isin(table[:, 3 * n + slot], active)]
    if not len(table):
        return None
    by_position, by_flow, whole, m, x = np.split(table, np.cumsum([n, n, n, modes]), axis=1)
    largest = whole.max(axis=0)  # over all samples: at one of them terms may cancel to rounding
    off = np.abs(by_position - by_flow) / np.where(largest > 0.0, largest, 1.0)
    at, row = np.unravel_index(int(off.argmax()), off.shape)
    if off[at, row] <= AGREES:
        return None
    return _Difference(unknown, h, rate, moving, int(row), by_position[at], by_flow[at], x[at], m[at])


def _problem(traced: Traced, model: Model, found: _Difference) -> Problem:
    system, path, rate, given, row = traced.ground.system, found.unknown.element, found.rate, found.given, found.row
    element = model.elements[path]
    elements, names = [element], element.signals
    details = [
        f"h' is {given[row]:.6g} by its flow"
        + (f" in row {row}" if len(given) > 1 else "")
        + f", and {rate[row]:.6g} by its position, of {', '.join(names) or 'nothing'}"
    ]
    turned = np.allclose(rate, -given, rtol=AGREES)
    cures = ["the half arrow of the constraint the other way round"] if turned else []
    before = _transformer(model, path)
    if before is not None:
        matrix, bond = before
        entry = _entry(traced, matrix, bond, found)
        elements = [model.elements[matrix], element]
        if entry is not None:
            (i, j), is_now, should = entry
            details.insert(
                0,
                f'MTF "{matrix}": in row {i}, column {j} its matrix is {is_now:.6g}, and the derivative of the '
                f"position {should:.6g}",
            )
            cures = [f'this entry of MTF "{matrix}"']
    x = dict(zip(_state_labels(system), found.x, strict=False))  # after the states come unknowns of loops
    read = [f"{label} = {value:.4g}" for label, value in x.items() if label.partition("[")[0] in names]
    if read:
        details.append(f"for example at {', '.join(read[:8])}")
    sizes = {name: max(int(np.size(traced.values[system.resolve(name)])), 1) for name in names}
    cures.append(
        f"no MTF, and coordinates={sizes} in place of signals, connected where their rates are the flows: the "
        "compiler then differentiates the position"
    )
    title = f'the flow of constraint "{path}" is not the rate of its position'
    return Problem("E170", title, tuple(details), tuple(e.place for e in elements), tuple(cures))


def _transformer(model: Model, path: str) -> tuple[str, Bond] | None:
    """The matrix that makes the flow of a constraint of another flow, and the bond of that one."""
    bonds = model.bonds_at(path)
    other = next(end.element for end in bonds[0].ends if end.element != path)
    if len(bonds) != 1 or not isinstance(model.elements[other].law, Transformer):
        return None
    one, two = ordered_bonds(model, other)
    return (other, one) if two is bonds[0] else None


def _entry(traced: Traced, path: str, bond: Bond, found: _Difference) -> tuple[tuple[int, int], float, float] | None:
    """(row, column) of the entry of a matrix that is furthest off, what it is, and what it should be; None where states do not
    tell. Rates of the position and the flow before the matrix are both linear in states that move neither."""
    values, system = traced.values, traced.ground.system
    before, count = scalars_of(values[system.resolve(flow(bond))]), len(found.position)
    numbers = np.reshape(np.asarray(values[system.resolve(f"{path}.N")], dtype=object), (count, len(before)))
    still = traced.ground.reached([*found.position, *numbers.flat])
    moved = [x for x in traced.ground.inputs["x"] if x.index not in still]
    table = partials([*found.along, *found.moving, *before], moved)
    at = _at(traced, [*numbers.flat, *table.values()], found)
    if at is None or not moved:
        return None
    N, slopes = at[: numbers.size].reshape(numbers.shape), np.zeros((2 * count + len(before), len(moved)))
    for place, value in zip(table, at[numbers.size :], strict=True):
        slopes[place] = value
    needed, own, F = slopes[:count], slopes[count : 2 * count], slopes[2 * count :]
    sign = 1.0 if np.abs(own - N @ F).sum() <= np.abs(own + N @ F).sum() else -1.0
    change = (sign * needed - N @ F) @ np.linalg.pinv(F)
    i, j = divmod(int(np.abs(change).argmax()), change.shape[1])
    return (i, j), float(N[i, j]), float(N[i, j] + change[i, j])


def _at(traced: Traced, scalars: Sequence[Any], found: _Difference) -> np.ndarray | None:
    """Scalars at the sample state of a difference."""
    for sample in traced.ground.sampled.states:
        if np.array_equal(sample[1], found.x) and np.array_equal(sample[3], found.m):
            row = np.concatenate(Samples(traced.ground.tape, [sample]).row(scalars))
            return row if np.all(np.isfinite(row)) else None
    return None


def _state_labels(system: System) -> list[str]:
    labels = []
    for state in system.states:
        count = int(np.size(state.initial))
        labels += [state.name] if np.ndim(state.initial) == 0 else [f"{state.name}[{k}]" for k in range(count)]
    return labels
