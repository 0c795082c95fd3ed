"""Positions of constraints against their flows: a traced system -> problems (E170) where a flow is no rate of its position.

A constraint is stabilised by its position h and moved by its flow h', which an MTF makes of other flows by a matrix of the user's
own. Where the two do not fit, the constraint drives the model. Both are known on the tape, so they are compared at sample states.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bondgraph.assembly.draft import flow
from bondgraph.assembly.system import System, Unknown
from bondgraph.causality.assign import ordered_bonds
from bondgraph.errors import Problem
from bondgraph.model.laws import IdealConstraint, Transformer
from bondgraph.model.model import Bond, Model
from bondgraph.model.ops import STABILISED
from bondgraph.tape import opcodes
from bondgraph.tape.differentiate import jacobian
from bondgraph.tape.routine import reachable
from bondgraph.tracing.sampling import Samples
from bondgraph.tracing.values import partials, scalars_of
from bondgraph.tracing.walk import Traced

AGREES = 1e-6
"""Difference of a flow from the rate of its position that may be, as a part of what they are made of."""


def foreign_positions(traced: Traced, model: Model) -> list[Problem]:
    """Constraints whose flow is not the rate of their `position`, each with the entry of the MTF that is to blame (E170)."""
    found = []
    for unknown in traced.ground.system.unknowns if traced.ground.sampled.states else ():
        law = model.elements[unknown.element].law
        if isinstance(law, IdealConstraint) and law.position is not None:
            problem = _compared(traced, model, unknown, law)
            found += [problem] if problem else []
    return found


def _compared(traced: Traced, model: Model, unknown: Unknown, law: IdealConstraint) -> Problem | None:
    held = next(s for s in traced.ground.system.statements if unknown.held in s.outs)
    assert held.op is STABILISED
    moving, h = scalars_of(traced.values[held.args[1]]), scalars_of(traced.values[held.args[2]])
    rates = [s for state in traced.ground.system.states for s in scalars_of(traced.values[state.rate])]
    slopes = jacobian(h, [*traced.ground.inputs["x"], traced.ground.inputs["t"][0]])
    along: list[Any] = [0.0] * len(h)
    size: list[Any] = [abs(f) for f in moving]
    for i, j, slope in zip(slopes.rows, slopes.columns, slopes.values, strict=True):
        term = slope * (rates[j] if j < len(rates) else 1.0)
        along[i], size[i] = along[i] + term, size[i] + abs(term)
    table = _sampled(traced, [*along, *moving, *size, *traced.ground.inputs["m"], *traced.ground.inputs["x"]])
    n, modes = len(h), len(traced.ground.inputs["m"])
    if law.automaton is not None:
        slot = list(traced.ground.system.modes).index(law.mode)
        states = model.automata[law.automaton].states
        active = [states.index(state) for state in law.active]
        table = table[np.isin(table[:, 3 * n + slot], active)]
    if not len(table):
        return None
    rate, given, whole = table[:, :n], table[:, n : 2 * n], table[:, 2 * n : 3 * n]
    largest = whole.max(axis=0)  # over all samples: at one of them terms may cancel to rounding
    off = np.abs(rate - given) / np.where(largest > 0.0, largest, 1.0)
    if off.max() <= AGREES:
        return None
    at, row = np.unravel_index(int(off.argmax()), off.shape)
    sample = table[at, 3 * n :]
    return _problem(traced, model, unknown, (rate[at], given[at], int(row)), (sample[modes:], sample[:modes]), along, moving, h)


def _sampled(traced: Traced, scalars: Sequence[Any]) -> np.ndarray:
    """Values (k, n) of scalars at those sample states where all are finite."""
    found = Samples(traced.ground.tape, traced.ground.sampled.states)({(0, k): scalar for k, scalar in enumerate(scalars)})
    table = np.stack(list(found.values()), axis=1)
    return table[np.all(np.isfinite(table), axis=1)]


def _problem(
    traced: Traced,
    model: Model,
    unknown: Unknown,
    found: tuple[np.ndarray, np.ndarray, int],
    place: tuple[np.ndarray, np.ndarray],
    along: Sequence[Any],
    moving: Sequence[Any],
    h: Sequence[Any],
) -> Problem:
    path, element = unknown.element, model.elements[unknown.element]
    (rate, given, row), elements = found, [element]
    names = [name for name in element.signals if name not in traced.ground.system.modes]
    details = [
        f"h' is {given[row]:.6g} by its flow"
        + (f" in row {row}" if len(h) > 1 else "")
        + f", and {rate[row]:.6g} by its position, of {', '.join(names) or 'nothing'}"
    ]
    turned = np.allclose(rate, -given, rtol=AGREES)
    cures = ["the half arrow of the constraint the other way round"] if turned else []
    before = _transformer(model, path)
    if before is not None:
        matrix, bond = before
        entry = _entry(traced, matrix, bond, place, along, moving, h)
        elements = [model.elements[matrix], element]
        if entry is not None:
            (i, j), is_now, should = entry
            details.insert(
                0,
                f'MTF "{matrix}": in row {i}, column {j} its matrix is {is_now:.6g}, and the derivative of the '
                f"position {should:.6g}",
            )
            cures = [f'this entry of MTF "{matrix}"']
    x = dict(zip(_state_labels(traced.ground.system), place[0], strict=True))
    read = [f"{label} = {value:.4g}" for label, value in x.items() if label.partition("[")[0] in names]
    if read:
        details.append(f"for example at {', '.join(read[:8])}")
    sizes = {name: max(int(np.size(traced.values[traced.ground.system.resolve(name)])), 1) for name in names}
    cures.append(
        f"no MTF, and coordinates={sizes} in place of signals, connected where their rates are the flows: the "
        "compiler then differentiates the position"
    )
    return Problem(
        "E170",
        f'the flow of constraint "{path}" is not the rate of its position',
        tuple(details),
        tuple(e.place for e in elements),
        tuple(cures),
    )


def _transformer(model: Model, path: str) -> tuple[str, Bond] | None:
    """The matrix that makes the flow of a constraint of another flow, and the bond of that one."""
    bonds = model.bonds_at(path)
    other = next(end.element for end in bonds[0].ends if end.element != path)
    if len(bonds) != 1 or not isinstance(model.elements[other].law, Transformer):
        return None
    one, two = ordered_bonds(model, other)
    return (other, one) if two is bonds[0] else None


def _entry(
    traced: Traced,
    path: str,
    bond: Bond,
    place: tuple[np.ndarray, np.ndarray],
    along: Sequence[Any],
    moving: Sequence[Any],
    h: Sequence[Any],
) -> tuple[tuple[int, int], float, float] | None:
    """(row, column) of the entry of a matrix that is furthest off, what it is, and what it should be; None where states do not
    tell. Rates of the position and the flow before the matrix are both linear in states that move neither."""
    values, system = traced.values, traced.ground.system
    ratio, before = values[system.resolve(f"{path}.N")], scalars_of(values[system.resolve(flow(bond))])
    numbers = np.reshape(np.asarray(ratio, dtype=object), (len(h), len(before)))
    still = _read(traced, [*h, *numbers.flat])
    moved = [x for x in traced.ground.inputs["x"] if x.index not in still]
    tables = [partials(scalars, moved) for scalars in (along, moving, before)]
    scalars = [*numbers.flat, *(value for table in tables for value in table.values())]
    at = _at(traced, scalars, place)
    if at is None or not moved:
        return None
    N, rest, dense = at[: numbers.size].reshape(numbers.shape), at[numbers.size :], []
    for table, count in zip(tables, (len(h), len(h), len(before)), strict=True):
        full = np.zeros((count, len(moved)))
        for (i, j), value in zip(table, rest, strict=False):
            full[i, j] = value
        rest = rest[len(table) :]
        dense.append(full)
    needed, own, F = dense
    sign = 1.0 if np.abs(own - N @ F).sum() <= np.abs(own + N @ F).sum() else -1.0
    change = (sign * needed - N @ F) @ np.linalg.pinv(F)
    i, j = divmod(int(np.abs(change).argmax()), change.shape[1])
    return (i, j), float(N[i, j]), float(N[i, j] + change[i, j])


def _read(traced: Traced, scalars: Sequence[Any]) -> set[int]:
    """Inputs that decide scalars."""
    roots = [traced.ground.tape.scalar(scalar).index for scalar in scalars]
    return {k for k in reachable(traced.ground.tape, roots) if traced.ground.tape.nodes[k][0] == opcodes.INPUT}


def _at(traced: Traced, scalars: Sequence[Any], place: tuple[np.ndarray, np.ndarray]) -> np.ndarray | None:
    """Scalars at that sample state which `place` (x, m) was found in."""
    for sample in traced.ground.sampled.states:
        if np.array_equal(sample[1], place[0]) and np.array_equal(sample[3], place[1]):
            found = Samples(traced.ground.tape, [sample])({(0, k): scalar for k, scalar in enumerate(scalars)})
            row = np.array([value[0] for value in found.values()])
            return row if np.all(np.isfinite(row)) else None
    return None


def _state_labels(system: System) -> list[str]:
    labels = []
    for state in system.states:
        count = int(np.size(state.initial))
        labels += [state.name] if np.ndim(state.initial) == 0 else [f"{state.name}[{k}]" for k in range(count)]
    return labels
