"""Matrices of one step's quadratic program: stiffness, damping, inertia and contact rows, and their layout in one buffer.

Let v be the velocities of the independent inertias, and J = d(flow)/dv of any bond. All terms are evaluated at the end of the
step, in the state to which sources alone move the system:

    F = -sum of J^T e over storages and resistors, + over sources            virtual power; J and e from the graph
    K = sum of J^T (de/dq) J over C                                          material stiffness
    B = sum of J^T (de/df) J over R                                          tangent at the last velocity
    M = sum of J^T (dp/df) J over I and IC, including dependent inertias
    H = K + B/h [+ M/h^2],  f = -F [- M v/h],  rows of contacts and constraints

The unknown is dq = h v. All derivatives come from the tape.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bondgraph.assembly.draft import effort, flow, into
from bondgraph.model import laws
from bondgraph.model.model import ContactPoint, Model
from bondgraph.stepping.given_velocities import MOMENTUM, OWN_FORCE, euler_junctions, velocities_of
from bondgraph.stepping.quadratic.candidates import CONE, Cone, TouchingBody, directions
from bondgraph.tape.differentiate import jacobian
from bondgraph.tape.routine import Routine
from bondgraph.tape.scalar import TapeScalar
from bondgraph.tracing.evaluate import Traced
from bondgraph.tracing.on_tape.values import scalars_of
from bondgraph.units import entry_units
from screws.scalars import maximum, minimum, where


@dataclass(frozen=True)
class StepOptions:
    inertia: str
    facets: int | str
    restitution: Mapping[str, float]
    """Restitution by contact, 0 for contacts without an entry."""
    bodies: tuple[TouchingBody, ...] = ()

    @property
    def full(self) -> bool:
        return self.inertia == "full"


@dataclass(frozen=True, eq=False)
class StepLayout:
    """Unknowns, contacts and constraints of a step, and the layout of its numbers in one buffer."""

    unknowns: tuple[str, ...]
    """Label of each velocity."""
    owners: tuple[str, ...]
    """Inertia of each velocity."""
    turns: np.ndarray
    """True for the rate of an angle."""
    velocity_indices: np.ndarray
    contacts: tuple[ContactPoint, ...]
    cones: tuple[Cone, ...]
    constraints: tuple[str, ...]
    """Element of each equality; the rows of equalities come after the rows of contacts."""
    fields: Mapping[str, tuple[int, tuple[int, ...]]]
    """Start and shape of H (n, n), f (n), A (rows, n), lower (rows), mu (contacts), gap (contacts), slip (slips, n), drift
    (slips), and, for the bodies of candidates, poses (numbers), twists (6 bodies, n), carried (6 bodies)."""
    size: int
    index: np.ndarray | None
    """Index in the buffer of each output of the routine; None for a routine that writes the whole buffer."""
    poses: tuple[int, ...]
    """Number of entries in the pose of each candidate body: 7 or 16."""
    still: bool
    """True if nothing moves when all velocities vanish."""
    remembers: bool
    """True if a step depends on the velocities of the previous step."""

    def view(self, buffer: np.ndarray, name: str) -> np.ndarray:
        start, shape = self.fields[name]
        return buffer[start : start + int(np.prod(shape))].reshape(shape)


@dataclass
class ContactRows:
    cones: list[Cone] = field(default_factory=list)
    rows: Sparse = field(default_factory=dict)
    """Entries (row, velocity) of A in A dq >= lower."""
    lower: list[Any] = field(default_factory=list)
    friction: list[Any] = field(default_factory=list)
    gaps: list[Any] = field(default_factory=list)
    slips: Sparse = field(default_factory=dict)
    """Entries (slip, velocity) of the matrix from velocities to slips."""
    drift: list[Any] = field(default_factory=list)
    """Drift of each slip over the step, with all velocities zero."""

    @property
    def count(self) -> int:
        return len(self.lower)


def contact_rows(values: StepValues, options: StepOptions) -> ContactRows:
    contacts = ContactRows()
    for contact in values.model.contacts:
        _add_contact(contacts, values, options, contact)
    return contacts


def _add_contact(rows: ContactRows, values: StepValues, options: StepOptions, contact: ContactPoint) -> None:
    gap, rate = values.at(contact.gap)[0], values.at(contact.gap_rate)
    normal = {k: value for (_, k), value in values.slopes(rate).items()}
    sliding, coefficient = _slip(values, contact)
    D = values.slopes(sliding) if sliding else {}
    moves = sorted({i for i, _ in D})
    facets = directions(len(moves), options.facets)
    exact = len(moves) == 2 and options.facets == CONE
    cone = Cone(contact.path, rows.count, facets, exact, len(rows.drift), tuple(moves))
    rows.cones.append(cone)
    carried = [values.h * scalar for scalar in values.at_rest([sliding[i] for i in moves])] if moves else []
    for component, i in enumerate(moves):
        rows.slips |= {(cone.slip + component, k): value for (row, k), value in D.items() if row == i}
    bound = _bound(values, options, contact, normal)
    if exact:
        rows.rows |= {(cone.first, k): value for k, value in normal.items()}
        rows.lower.append(bound)
    for j, facet in enumerate(facets):
        row: dict[int, Any] = {} if exact else dict(normal)
        low = 0.0 if exact else bound
        for component, weight in enumerate(facet):
            for (i, k), value in D.items():
                if i == moves[component] and weight != 0.0:
                    row[k] = row.get(k, 0.0) + coefficient * float(weight) * value
            low = low - coefficient * float(weight) * carried[component]
        rows.rows |= {(cone.first + exact + j, k): value for k, value in row.items()}
        rows.lower.append(low)
    rows.friction.append(coefficient)
    rows.gaps.append(gap)
    rows.drift += carried


def _slip(values: StepValues, contact: ContactPoint) -> tuple[list[Any], Any]:
    if contact.friction is None or not contact.slip:
        return [], 0.0
    sliding = []
    for entry in contact.slip:
        scalars = values.at(entry.signal)
        sliding.append(scalars[0 if entry.index is None else entry.index])
    return sliding, values.at(contact.friction)[0]


def _bound(values: StepValues, options: StepOptions, contact: ContactPoint, normal: Mapping[int, Any]) -> Any:
    """Return the lower bound of n dq: -gap, or, if bodies meet during the step, their separation by restitution (Moreau)."""
    gap, rate = values.at(contact.gap)[0], values.at(contact.gap_rate)[0]
    restitution = options.restitution.get(contact.path, 0.0)
    if not options.full or restitution == 0.0:
        return -gap
    carried = values.at_rest([rate])[0]
    approach = sum((value * values.v[k] for k, value in normal.items()), start=values.tape.scalar(0.0))
    rebound = -values.h * carried - restitution * values.h * minimum(rate, 0.0)
    return where(gap + values.h * approach <= 0.0, maximum(-gap, rebound), -gap)


def mechanics_of(values: StepValues, options: StepOptions) -> tuple[Sparse, list[Any]]:
    """Return H (n, n) and f (n,) of the quadratic program."""
    model = values.model
    turning = {other for path, e in model.elements.items() if laws.is_inertia(e.law) for other in euler_junctions(model, path)}
    sums = _Sums(values, options)
    for path, element in model.elements.items():
        law = element.law
        if isinstance(law, laws.Storage) and law.gives == "effort":
            sums.add_spring(path, law)
        elif isinstance(law, laws.Resistor):
            sums.add_damper(path)
        elif isinstance(law, laws.Source) and law.gives == "effort":
            sums.add_source(path)
        elif isinstance(law, laws.SkewGyrator | laws.Gyrator | laws.Reaction) and options.full and path not in turning:
            sums.add_turning(path)
        elif laws.is_inertia(law):
            sums.add_inertia(path, law)
    return sums.program()


class _Sums:
    """Sums of K, B, M (n, n) and the force F (n,), by virtual power."""

    def __init__(self, values: StepValues, options: StepOptions):
        self.values, self.options = values, options
        self.force: list[Any] = [0.0] * len(values.v)
        self.K, self.B, self.M = (defaultdict[tuple[int, int], Any](lambda: 0.0) for _ in range(3))

    def program(self) -> tuple[Sparse, list[Any]]:
        h = self.values.h
        H = {key: self.K[key] + self.B[key] / h + self.M[key] / (h * h) for key in {**self.K, **self.B, **self.M}}
        return H, [-value for value in self.force]

    def push(self, J: Sparse, efforts: Sequence[Any], sign: float) -> None:
        for (i, k), value in J.items():
            self.force[k] = self.force[k] + sign * value * efforts[i]

    def add_spring(self, path: str, law: laws.Storage) -> None:
        """Add a C, which has no stiffness here if its state has a rate of its own, as a pose has."""
        values, bond = self.values, self.values.model.bonds_at(path)[0]
        if law.rate is None:
            J, e, sign = values.slopes(values.at(f"{path}.{law.state}'")), values.at(effort(bond)), 1.0
            indices = values.system.places[f"{path}.{law.state}"]
            _add_quadratic(self.K, J, values.slopes(e, [values.x[k] for k in indices]))
        else:
            J, e, sign = values.slopes(values.at(flow(bond))), values.at(effort(bond)), float(into(bond, path))
        self.push(J, values.at_rest(e), -sign)

    def add_damper(self, path: str) -> None:
        """Add an R, linearised at the last velocity."""
        values, bond = self.values, self.values.model.bonds_at(path)[0]
        J, e, sign = values.slopes(values.at(flow(bond))), values.at(effort(bond)), float(into(bond, path))
        slopes = values.slopes(e)
        for (i, k), value in J.items():
            for (i2, l), slope in slopes.items():
                if i2 == i:
                    self.B[k, l] = self.B[k, l] + sign * value * slope
        if values.depend_on_velocities(slopes):
            straight = [
                scalar - sum((s * values.v[l] for (i, l), s in slopes.items() if i == row), start=0.0 * scalar)
                for row, scalar in enumerate(e)
            ]
            self.push(J, straight, -sign)
        else:
            self.push(J, values.at_rest(e), -sign)

    def add_source(self, path: str) -> None:
        values, bond = self.values, self.values.model.bonds_at(path)[0]
        e = values.at(effort(bond))
        self.push(values.slopes(values.at(flow(bond))), e if self.options.full else values.at_rest(e), -float(into(bond, path)))

    def add_turning(self, path: str) -> None:
        """Add an element whose efforts depend on velocities, other than an inertia."""
        values = self.values
        for bond in values.model.bonds_at(path):
            self.push(values.slopes(values.at(flow(bond))), values.at(effort(bond)), -float(into(bond, path)))

    def add_inertia(self, path: str, law: laws.Law) -> None:
        values = self.values
        J = values.slopes(values.at(flow(values.model.bonds_at(path)[0])))
        if self.options.inertia != "ignored":
            for (i, l), slope in values.slopes(values.at(f"{path}{MOMENTUM}")).items():
                for (i2, k), value in J.items():
                    if i2 == i:
                        self.M[k, l] = self.M[k, l] + value * slope
        if self.options.full:
            momenta = values.at(f"{path}{MOMENTUM}")
            parts = zip(momenta, values.at_rest(momenta), strict=True)
            self.push(J, [(scalar - prescribed) / values.h for scalar, prescribed in parts], 1.0)
        if isinstance(law, laws.InertialField):
            self.push(J, values.at(f"{path}{OWN_FORCE}"), 1.0)


def prescribed_momenta(values: StepValues) -> dict[str, list[TapeScalar]]:
    """Return the momenta that sources give to the inertias that also move freely, by inertia; a step takes them as constant."""
    moving = [path for path, element in values.model.elements.items() if laws.is_inertia(element.law)]
    momenta = {path: values.at(f"{path}{MOMENTUM}") for path in moving}
    return {path: values.at_rest(scalars) for path, scalars in momenta.items() if values.slopes(scalars)}


def _add_quadratic(total: Any, J: Sparse, inner: Sparse) -> None:
    """Add J^T inner J to total."""
    for (a, b), middle in inner.items():
        for (i, k), left in J.items():
            if i != a:
                continue
            for (j, l), right in J.items():
                if j == b:
                    total[k, l] = total[k, l] + left * middle * right


Sparse = dict[tuple[int, int], Any]


class StepValues:
    """Values of a traced system, and their inputs.

    `v` are the scalars of the velocities, `places` their indices in x, `labels` and `owners` their names and inertias, `turns`
    True for rates of angles; `h` is the step size.
    """

    def __init__(self, traced: Traced, model: Model):
        self.context, self.model = traced.context, model
        self.values, self.system, self.tape = traced.values, traced.context.system, traced.context.tape
        self.x = self.context.inputs["x"]
        (self.h,) = self.tape.inputs("h", 1)
        self.places, self.labels, self.owners, self.turns = list[int](), list[str](), list[str](), list[bool]()
        for name in velocities_of(self.system, model):
            indices = list(self.system.places[name])
            self.places += indices
            self.owners += [name.rpartition(".")[0]] * len(indices)
            units = entry_units(model.bonds_at(self.owners[-1])[0].domain.flow_unit, (len(indices),))
            self.turns += [False] * len(indices) if units is None else [unit.startswith("rad") for unit in units]
            self.labels += [f"{name}[{k}]" for k in range(len(indices))] if len(indices) > 1 else [name]
        self.v = [self.x[k] for k in self.places]

    def at(self, name: str) -> list[Any]:
        return scalars_of(self.values[self.system.resolve(name)])

    def at_rest(self, scalars: Sequence[Any]) -> list[TapeScalar]:
        return self.context.without(self.v, [self.tape.scalar(s) for s in scalars])

    def slopes(self, scalars: Sequence[Any], by: Sequence[TapeScalar] | None = None) -> Sparse:
        """Return nonzero derivatives, (scalar, velocity), with respect to the velocities or to other inputs."""
        slopes = jacobian([self.tape.scalar(s) for s in scalars], self.v if by is None else by)
        return {(int(i), int(j)): v for i, j, v in zip(slopes.rows, slopes.columns, slopes.values, strict=True)}

    def depend_on_velocities(self, slopes: Sparse) -> bool:
        return bool({scalar.index for scalar in self.v} & self.context.reached(list(slopes.values())))


_DENSE = 4000
"""Size up to which the routine writes the whole buffer, including zeros."""


def step_routine(traced: Traced, model: Model, options: StepOptions) -> tuple[Routine, StepLayout]:
    """Return the routine (blocks t, x, p, m, h) and the layout of its outputs."""
    values = StepValues(traced, model)
    n, ground = len(values.v), values.context
    H, f = mechanics_of(values, options)
    contacts = contact_rows(values, options)
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
    poses = [values.at(body.pose) for body in options.bodies]
    buffer.put_row("poses", [scalar for pose in poses for scalar in pose])
    twists = [scalar for body in options.bodies for scalar in values.at(body.twist)]
    buffer.put("twists", (len(twists), n), values.slopes(twists) if twists else {})
    buffer.put_row("carried", values.at_rest(twists))
    outputs, index = buffer.outputs()
    needed = ground.reached(outputs)
    blocks = tuple((name, len(ground.inputs[name])) for name in ("t", "x", "p", "m"))
    routine = Routine("step_matrices", values.tape, (*blocks, ("h", 1)), tuple(outputs))
    rates = values.at_rest([s for state in values.system.states for s in scalars_of(values.values[state.rate])])
    layout = StepLayout(
        unknowns=tuple(values.labels),
        owners=tuple(values.owners),
        turns=np.array(values.turns, dtype=bool),
        velocity_indices=np.array(values.places, dtype=int),
        contacts=model.contacts,
        cones=tuple(contacts.cones),
        constraints=tuple(held),
        fields=buffer.fields,
        size=buffer.size,
        index=index,
        poses=tuple(map(len, poses)),
        still=all(rate.value == 0.0 for rate in rates),
        remembers=any(scalar.index in needed for scalar in values.v),
    )
    return routine, layout


def _with_constraints(values: StepValues, contacts: ContactRows) -> tuple[dict[tuple[int, int], Any], list[Any], list[str]]:
    """Return rows and lower bounds of contacts, then of equalities, and the element of each equality."""
    rows, lower, held = dict(contacts.rows), list(contacts.lower), list[str]()
    for path, element in values.model.elements.items():
        if isinstance(element.law, laws.IdealConstraint) and element.law.automaton is None:
            slopes, begin = values.slopes(values.at(f"{path}.h'")), len(lower)
            size = len(values.at(f"{path}.h'"))
            rows |= {(begin + i, j): value for (i, j), value in slopes.items()}
            stored = element.law.position is not None or element.law.stores_position
            lower += [-value for value in values.at(f"{path}.h")] if stored else [0.0] * size
            held += [path] * size
    return rows, lower, held


class _Buffer:
    """Buffer of successive fields, of which only nonzero entries are stored."""

    def __init__(self, values: StepValues):
        self._tape = values.tape
        self.fields: dict[str, tuple[int, tuple[int, ...]]] = {}
        self.size = 0
        self._scalars: dict[int, TapeScalar] = {}

    def put(self, name: str, shape: tuple[int, ...], entries: Mapping[Any, Any]) -> None:
        self.fields[name] = self.size, shape
        for index, value in entries.items():
            scalar = self._tape.scalar(value)
            if scalar.value != 0.0:
                self._scalars[self.size + int(np.ravel_multi_index(index, shape))] = scalar
        self.size += int(np.prod(shape))

    def put_row(self, name: str, values: Sequence[Any]) -> None:
        self.put(name, (len(values),), {(k,): value for k, value in enumerate(values)})

    def outputs(self) -> tuple[list[Any], np.ndarray | None]:
        if self.size <= _DENSE:
            return [self._scalars.get(index, 0.0) for index in range(self.size)], None
        return list(self._scalars.values()), np.array(list(self._scalars), dtype=np.intp)
