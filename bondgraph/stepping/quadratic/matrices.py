"""A system with given velocities, on a tape -> the routine of one step's quadratic program, and where its numbers go.

With v the velocities of the independent inertias, J = d(flow)/dv of any bond, and everything at the end of the step but for what
v adds to it:

    F = -sum of J^T e over storages and resistors, + over sources            virtual power; J and e from the graph
    K = sum of J^T (de/dq) J over C                                          material stiffness
    B = sum of J^T (de/df) J over R                                          tangent at the last velocity
    M = sum of J^T (dp/df) J over I and IC, dependent ones too
    H = K + B/h [+ M/h^2],  f = -F [- M v/h],  rows of contacts and constraints

The unknown is dq = h v. All derivatives are those of the tape.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bondgraph.model import laws
from bondgraph.model.model import Model
from bondgraph.stepping.given_velocities import is_inertia
from bondgraph.stepping.quadratic.contacts import ContactRows, contact_rows
from bondgraph.stepping.quadratic.layout import StepLayout, Wanted
from bondgraph.stepping.quadratic.mechanics import mechanics_of
from bondgraph.stepping.quadratic.values import StepValues
from bondgraph.tape.routine import Routine
from bondgraph.tape.scalar import TapeScalar
from bondgraph.tracing.evaluate import Traced
from bondgraph.tracing.on_tape.values import scalars_of

_DENSE = 4000
"""Numbers up to which a whole buffer is written by the routine, zeros too."""


def step_routine(traced: Traced, model: Model, wanted: Wanted) -> tuple[Routine, StepLayout]:
    """The routine (blocks t, x, p, m, h) and the layout of its outputs."""
    values = StepValues(traced, model)
    n, ground = len(values.v), values.context
    H, f = mechanics_of(values, wanted)
    contacts = contact_rows(values, wanted)
    rows, lower, held = _with_constraints(values, contacts)
    buffer = _Buffer(values)
    buffer.put("H", (n, n), H)
    buffer.put_row("f", f)
    buffer.put("A", (len(lower), n), rows)
    buffer.put_row("lower", lower)
    buffer.put_row("mu", contacts.friction)
    buffer.put_row("gap", contacts.gaps)
    buffer.put("slip", (len(contacts.drift), n), contacts.slips)
    buffer.put_row("drift", contacts.drift)
    poses = [values.at(body.pose) for body in wanted.bodies]
    buffer.put_row("poses", [scalar for pose in poses for scalar in pose])
    twists = [scalar for body in wanted.bodies for scalar in values.at(body.twist)]
    buffer.put("twists", (len(twists), n), values.slopes(twists) if twists else {})
    buffer.put_row("carried", values.resting(twists))
    outputs, index = buffer.outputs()
    needed = ground.reached(outputs)
    blocks = tuple((name, len(ground.inputs[name])) for name in ("t", "x", "p", "m"))
    routine = Routine("step_matrices", values.tape, (*blocks, ("h", 1)), tuple(outputs))
    rates = values.resting([s for state in values.system.states for s in scalars_of(values.values[state.rate])])
    layout = StepLayout(
        unknowns=tuple(values.labels),
        owners=tuple(values.owners),
        turns=np.array(values.turns, dtype=bool),
        places=np.array(values.places, dtype=int),
        contacts=model.contacts,
        cones=tuple(contacts.cones),
        constraints=tuple(held),
        fields=buffer.fields,
        size=buffer.size,
        index=index,
        poses=tuple(map(len, poses)),
        still=all(rate.value == 0.0 for rate in rates),
        remembers=any(scalar.index in needed for scalar in values.v),
        moving=tuple(path for path, element in model.elements.items() if is_inertia(element.law)),
    )
    return routine, layout


def _with_constraints(values: StepValues, contacts: ContactRows) -> tuple[dict[tuple[int, int], Any], list[Any], list[str]]:
    """Rows and lower bounds of contacts, then those of equalities; the element of each of these."""
    rows, lower, held = dict(contacts.rows), list(contacts.lower), list[str]()
    for path, element in values.model.elements.items():
        if isinstance(element.law, laws.IdealConstraint) and element.law.automaton is None:
            own, begin = values.slopes(values.at(f"{path}.h'")), len(lower)
            size = len(values.at(f"{path}.h'"))
            rows |= {(begin + i, j): value for (i, j), value in own.items()}
            stored = element.law.position is not None or element.law.stores_position
            lower += [-value for value in values.at(f"{path}.h")] if stored else [0.0] * size
            held += [path] * size
    return rows, lower, held


class _Buffer:
    """Fields of numbers one after the other, of which zeros are left out."""

    def __init__(self, values: StepValues):
        self._tape = values.tape
        self.fields: dict[str, tuple[int, tuple[int, ...]]] = {}
        self.size = 0
        self._given: dict[int, TapeScalar] = {}

    def put(self, name: str, shape: tuple[int, ...], entries: Mapping[Any, Any]) -> None:
        """A field of this shape; place -> entry."""
        self.fields[name] = self.size, shape
        for place, value in entries.items():
            scalar = self._tape.scalar(value)
            if scalar.value != 0.0:
                self._given[self.size + int(np.ravel_multi_index(place, shape))] = scalar
        self.size += int(np.prod(shape))

    def put_row(self, name: str, values: Sequence[Any]) -> None:
        """A field of one dimension."""
        self.put(name, (len(values),), {(k,): value for k, value in enumerate(values)})

    def outputs(self) -> tuple[list[Any], np.ndarray | None]:
        """What a routine gives, and its places in the buffer; None where that is all of it."""
        if self.size <= _DENSE:
            return [self._given.get(place, 0.0) for place in range(self.size)], None
        return list(self._given.values()), np.array(list(self._given), dtype=np.intp)
