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

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bondgraph.assembly.draft import effort, flow, into
from bondgraph.model import laws
from bondgraph.model.model import ContactPoint, Model
from bondgraph.model.units import spread
from bondgraph.stepping.candidates import TouchingBody
from bondgraph.stepping.cone import CONE, Cone, directions
from bondgraph.stepping.held import MOMENTUM, OWN_FORCE, is_inertia, turned_by, velocities_of
from bondgraph.tape.differentiate import jacobian
from bondgraph.tape.routine import Routine
from bondgraph.tape.scalar import TapeScalar
from bondgraph.tracing.on_tape.values import scalars_of
from bondgraph.tracing.walk import Traced
from screws.scalars import maximum, minimum, where

_DENSE = 4000
"""Numbers up to which a whole buffer is written by the routine, zeros too."""

Sparse = dict[tuple[int, int], Any]


@dataclass(frozen=True)
class Wanted:
    """What a step is to be made of."""

    inertia: str
    facets: int | str
    restitution: Mapping[str, float]
    """By contact; none is 0."""
    ignored: frozenset[str]
    """States of storages that are not there."""
    bodies: tuple[TouchingBody, ...] = ()
    """Those of candidates."""

    @property
    def full(self) -> bool:
        """Whether velocities go on from step to step."""
        return self.inertia == "full"


@dataclass(frozen=True, eq=False)
class StepLayout:
    """Where the numbers of a step lie: fields of one buffer, by name, with their shapes; and what they are of."""

    unknowns: tuple[str, ...]
    """A label for each velocity."""
    owners: tuple[str, ...]
    """The inertia of each."""
    turns: np.ndarray
    """Whether each is the rate of an angle."""
    places: np.ndarray
    """Of each in x."""
    contacts: tuple[ContactPoint, ...]
    cones: tuple[Cone, ...]
    constraints: tuple[str, ...]
    """The element of each equality; these rows come after those of the contacts."""
    fields: Mapping[str, tuple[int, tuple[int, ...]]]
    """H (n, n), f (n), A (rows, n), lower (rows), mu (contacts), gap (contacts), slip (slips, n), drift (slips), and of
    the bodies of candidates poses (numbers), twists (6 bodies, n), carried (6 bodies)."""
    size: int
    index: np.ndarray | None
    """Place in the buffer of each output of the routine; None: it gives the whole buffer."""
    poses: tuple[int, ...]
    """How many numbers the pose of each body of candidates has."""
    still: bool
    """Whether nothing moves where all velocities vanish."""
    remembers: bool
    """Whether a step reads the velocities of the one before."""
    moving: tuple[str, ...]
    """All inertias, dependent ones too."""

    def view(self, buffer: np.ndarray, name: str) -> np.ndarray:
        """A field of a buffer."""
        start, shape = self.fields[name]
        return buffer[start : start + int(np.prod(shape))].reshape(shape)


def step_routine(traced: Traced, model: Model, wanted: Wanted) -> tuple[Routine, StepLayout]:
    """The routine (blocks t, x, p, m, h) and the layout of its outputs."""
    return _Writer(traced, model, wanted).written()


class _Writer:
    def __init__(self, traced: Traced, model: Model, wanted: Wanted):
        self.ground, self.model, self.wanted = traced.ground, model, wanted
        self.values, self.system, self.tape = traced.values, traced.ground.system, traced.ground.tape
        self.x = self.ground.inputs["x"]
        (self.h,) = self.tape.inputs("h", 1)
        places, names, owners, turns = [], [], [], list[bool]()
        for name in velocities_of(self.system, model):
            own = list(self.system.places[name])
            places += own
            owners += [name.rpartition(".")[0]] * len(own)
            units = spread(self.model.bonds_at(owners[-1])[0].domain.flow_unit, len(own)) or [""] * len(own)
            turns += [unit.startswith("rad") for unit in units]
            names += [f"{name}[{k}]" for k in range(len(own))] if len(own) > 1 else [name]
        self.places, self.names, self.owners, self.turns = places, names, owners, turns
        self.v = [self.x[k] for k in places]

    def at(self, name: str) -> list[Any]:
        """Scalars of a value."""
        return scalars_of(self.values[self.system.resolve(name)])

    def resting(self, scalars: Sequence[Any]) -> list[TapeScalar]:
        """Scalars with all velocities zero."""
        return self.ground.without(self.v, [self.tape.scalar(s) for s in scalars])

    def slopes(self, scalars: Sequence[Any], by: Sequence[TapeScalar] | None = None) -> Sparse:
        """Nonzero derivatives (scalar, velocity), or by other inputs."""
        found = jacobian([self.tape.scalar(s) for s in scalars], self.v if by is None else by)
        return {(int(i), int(j)): v for i, j, v in zip(found.rows, found.columns, found.values, strict=True)}

    def written(self) -> tuple[Routine, StepLayout]:
        n = len(self.v)
        H, f = self._mechanics()
        cones, rows, lower, mu, gaps, slips, drift = self._contacts()
        count = sum(cone.rows for cone in cones)
        held: list[str] = []
        for path, element in self.model.elements.items():
            if isinstance(element.law, laws.IdealConstraint) and element.law.automaton is None:
                own, begin = self.slopes(self.at(f"{path}.h'")), count + len(held)
                size = len(self.at(f"{path}.h'"))
                rows |= {(begin + i, j): value for (i, j), value in own.items()}
                stored = element.law.position is not None or element.law.stores_position
                lower += [-value for value in self.at(f"{path}.h")] if stored else [0.0] * size
                held += [path] * size
        fields: dict[str, tuple[int, tuple[int, ...]]] = {}
        outputs: list[Any] = []
        index: list[int] = []
        size = 0

        def put(name: str, shape: tuple[int, ...], entries: Mapping[Any, Any]) -> None:
            nonlocal size
            fields[name] = size, shape
            for place, value in entries.items():
                scalar = self.tape.scalar(value)
                if scalar.value != 0.0:
                    outputs.append(scalar)
                    index.append(size + int(np.ravel_multi_index(place, shape)))
            size += int(np.prod(shape))

        def put_row(name: str, values: Sequence[Any]) -> None:
            put(name, (len(values),), {(k,): value for k, value in enumerate(values)})

        put("H", (n, n), H)
        put_row("f", f)
        put("A", (count + len(held), n), rows)
        put_row("lower", lower)
        put_row("mu", mu)
        put_row("gap", gaps)
        put("slip", (len(drift), n), slips)
        put_row("drift", drift)
        poses = [self.at(body.pose) for body in self.wanted.bodies]
        put_row("poses", [scalar for pose in poses for scalar in pose])
        twists = [scalar for body in self.wanted.bodies for scalar in self.at(body.twist)]
        put("twists", (len(twists), n), self.slopes(twists) if twists else {})
        put_row("carried", self.resting(twists))
        if size <= _DENSE:
            given = dict(zip(index, outputs, strict=True))
            outputs = [given.get(place, 0.0) for place in range(size)]
        needed = self.ground.reached(outputs)
        blocks = tuple((name, len(self.ground.inputs[name])) for name in ("t", "x", "p", "m"))
        routine = Routine("step_matrices", self.tape, (*blocks, ("h", 1)), tuple(outputs))
        rates = self.resting([s for state in self.system.states for s in scalars_of(self.values[state.rate])])
        layout = StepLayout(
            tuple(self.names),
            tuple(self.owners),
            np.array(self.turns, dtype=bool),
            np.array(self.places, dtype=int),
            self.model.contacts,
            cones,
            tuple(held),
            fields,
            size,
            None if size <= _DENSE else np.array(index, dtype=np.intp),
            tuple(map(len, poses)),
            all(rate.value == 0.0 for rate in rates),
            any(scalar.index in needed for scalar in self.v),
            tuple(path for path, element in self.model.elements.items() if is_inertia(element.law)),
        )
        return routine, layout

    def _mechanics(self) -> tuple[Sparse, list[Any]]:
        """H and f."""
        n, full = len(self.v), self.wanted.full
        force: list[Any] = [0.0] * n
        K, B, M = (defaultdict[tuple[int, int], Any](lambda: 0.0) for _ in range(3))

        def push(J: Sparse, efforts: Sequence[Any], sign: float) -> None:
            for (i, k), value in J.items():
                force[k] = force[k] + sign * value * efforts[i]

        turning = {other for path, e in self.model.elements.items() if is_inertia(e.law) for other in turned_by(self.model, path)}
        for path, element in self.model.elements.items():
            law = element.law
            if isinstance(law, laws.Storage) and law.gives == "effort":
                if f"{path}.{law.state}" in self.wanted.ignored:
                    continue
                bond = self.model.bonds_at(path)[0]
                if law.rate is None:
                    J, e = self.slopes(self.at(f"{path}.{law.state}'")), self.at(effort(bond))
                    sign = 1.0
                    places = self.system.places[f"{path}.{law.state}"]
                    _quadratic(K, J, self.slopes(e, [self.x[k] for k in places]))
                else:
                    J, e, sign = self.slopes(self.at(flow(bond))), self.at(effort(bond)), float(into(bond, path))
                push(J, self.resting(e), -sign)
            elif isinstance(law, laws.Resistor):
                bond = self.model.bonds_at(path)[0]
                J, e, sign = self.slopes(self.at(flow(bond))), self.at(effort(bond)), float(into(bond, path))
                slopes = self.slopes(e)
                for (i, k), value in J.items():
                    for (i2, l), slope in slopes.items():
                        if i2 == i:
                            B[k, l] = B[k, l] + sign * value * slope
                if self._curved(slopes):
                    straight = [
                        scalar - sum((s * self.v[l] for (i, l), s in slopes.items() if i == row), start=0.0 * scalar)
                        for row, scalar in enumerate(e)
                    ]
                    push(J, straight, -sign)
                else:
                    push(J, self.resting(e), -sign)
            elif isinstance(law, laws.Source) and law.gives == "effort":
                bond = self.model.bonds_at(path)[0]
                e = self.at(effort(bond))
                push(self.slopes(self.at(flow(bond))), e if full else self.resting(e), -float(into(bond, path)))
            elif isinstance(law, laws.SkewGyrator | laws.Gyrator | laws.Reaction) and full and path not in turning:
                for bond in self.model.bonds_at(path):
                    push(self.slopes(self.at(flow(bond))), self.at(effort(bond)), -float(into(bond, path)))
            elif is_inertia(law):
                J = self.slopes(self.at(flow(self.model.bonds_at(path)[0])))
                if self.wanted.inertia != "ignored":
                    for (i, l), slope in self.slopes(self.at(f"{path}{MOMENTUM}")).items():
                        for (i2, k), value in J.items():
                            if i2 == i:
                                M[k, l] = M[k, l] + value * slope
                if full:
                    push(J, [scalar / self.h for scalar in self.at(f"{path}{MOMENTUM}")], 1.0)
                if isinstance(law, laws.InertialField):
                    push(J, self.at(f"{path}{OWN_FORCE}"), 1.0)
        H: Sparse = {}
        for key in {**K, **B, **M}:
            H[key] = K[key] + B[key] / self.h + M[key] / (self.h * self.h)
        return H, [-value for value in force]

    def _curved(self, slopes: Sparse) -> bool:
        """Whether slopes depend on the velocities themselves."""
        return bool({scalar.index for scalar in self.v} & self.ground.reached(list(slopes.values())))

    def _contacts(self) -> tuple[tuple[Cone, ...], Sparse, list[Any], list[Any], list[Any], Sparse, list[Any]]:
        """Cones, entries of their rows, lower bounds, friction, gaps, slip rows, drift of the slips over the step."""
        cones: list[Cone] = []
        rows: Sparse = {}
        slips: Sparse = {}
        lower: list[Any] = []
        mu: list[Any] = []
        gaps: list[Any] = []
        drift: list[Any] = []
        for contact in self.model.contacts:
            gap, rate = self.at(contact.gap)[0], self.at(contact.gap_rate)
            normal = {k: value for (_, k), value in self.slopes(rate).items()}
            sliding, coefficient = self._slip(contact)
            D = self.slopes(sliding) if sliding else {}
            moves = sorted({i for i, _ in D})
            facets = directions(len(moves), self.wanted.facets)
            exact = len(moves) == 2 and self.wanted.facets == CONE
            cone = Cone(contact.path, len(lower), facets, exact, len(drift), tuple(moves))
            cones.append(cone)
            carried = [self.h * scalar for scalar in self.resting([sliding[i] for i in moves])] if moves else []
            for own, i in enumerate(moves):
                slips |= {(cone.slip + own, k): value for (row, k), value in D.items() if row == i}
            bound = self._bound(contact, gap, rate[0], normal)
            if exact:
                rows |= {(cone.first, k): value for k, value in normal.items()}
                lower.append(bound)
            for j, facet in enumerate(facets):
                row: dict[int, Any] = {} if exact else dict(normal)
                low = 0.0 if exact else bound
                for own, weight in enumerate(facet):
                    for (i, k), value in D.items():
                        if i == moves[own] and weight != 0.0:
                            row[k] = row.get(k, 0.0) + coefficient * float(weight) * value
                    low = low - coefficient * float(weight) * carried[own]
                rows |= {(cone.first + exact + j, k): value for k, value in row.items()}
                lower.append(low)
            mu.append(coefficient)
            gaps.append(gap)
            drift += carried
        return tuple(cones), rows, lower, mu, gaps, slips, drift

    def _slip(self, contact: ContactPoint) -> tuple[list[Any], Any]:
        """Slip velocities and coefficient of friction; nothing without."""
        if contact.friction is None or not contact.slip:
            return [], 0.0
        sliding = []
        for entry in contact.slip:
            scalars = self.at(entry.signal)
            sliding.append(scalars[0 if entry.index is None else entry.index])
        return sliding, self.at(contact.friction)[0]

    def _bound(self, contact: ContactPoint, gap: Any, rate: Any, normal: Mapping[int, Any]) -> Any:
        """What n dq must not be below: -gap; where bodies meet in the step and bounce, what brings them apart again (Moreau)."""
        given = self.wanted.restitution.get(contact.path, 0.0)
        if not self.wanted.full or given == 0.0:
            return -gap
        carried = self.resting([rate])[0]
        approach = sum((value * self.v[k] for k, value in normal.items()), start=self.tape.scalar(0.0))
        rebound = -self.h * carried - given * self.h * minimum(rate, 0.0)
        return where(gap + self.h * approach <= 0.0, maximum(-gap, rebound), -gap)


def _quadratic(total: Any, J: Sparse, inner: Sparse) -> None:
    """total += J^T inner J."""
    for (a, b), middle in inner.items():
        for (i, k), left in J.items():
            if i != a:
                continue
            for (j, l), right in J.items():
                if j == b:
                    total[k, l] = total[k, l] + left * middle * right
