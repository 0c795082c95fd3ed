"""Virtual power: a model whose storages are inertias and potentials -> M v' + C v + D v + grad V = H^T lambda + B u.

Cut at the flows v of the independent inertias, junctions and two-ports give every other flow as N(q) v. The power of all elements
for any v then gives the equations: the sum of N^T times what each takes is zero. An inertia of mass matrix m takes
m (N v)' + c N v + dV/dq, where c are the Christoffel symbols of m(q); a potential its effort, a damper its resistance times N v.

Sources: Featherstone, Rigid body dynamics algorithms (2008), section 3; Breedveld 1984 for the IC field.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import sympy

from bondgraph.assembly.system import Statement
from bondgraph.compile.compiled import Compiled
from bondgraph.compile.state_names import labels_of, own_states
from bondgraph.export.forms.derivation.mechanical_parts import MechanicalParts, mechanical_parts, no_form, values_wanted
from bondgraph.export.forms.derivation.structure import (
    Cut,
    arranged,
    column,
    cut,
    is_whole,
    mirrored,
    secant,
    slopes_of,
    source_values,
    with_decimals,
)
from bondgraph.export.forms.letters import letters_of
from bondgraph.export.forms.records import MechanicalEquations
from bondgraph.export.forms.state_form import numbers_of
from bondgraph.export.symbolic import symbol_of
from bondgraph.model import laws
from bondgraph.model.element import Element
from bondgraph.model.ops import Op
from bondgraph.tracing.on_tape.values import scalars_of


def mechanics_of(compiled: Compiled, numbers: bool) -> MechanicalEquations:
    """The mechanical equations; E278 where there are none."""
    parts = mechanical_parts(compiled)
    system, elements = compiled.system, compiled.model.elements
    motions = {f"{path}.{law.motion}" for path in parts.moving if isinstance(law := elements[path].law, laws.InertialField)}
    motions |= {f"{path}.p" for path in parts.moving}
    places = {state.name: state.rate for state in own_states(system)[0] if state.name not in motions}
    wanted = [*places.values(), *(value for _, value in system.energies)]
    for path in parts.paths():
        wanted += values_wanted(compiled, path)
    found = cut(compiled, parts.symbols, [name for name in wanted if system.resolve(name) in system.values], numbers)
    return _VirtualPower(found, parts, places, numbers).equations()


@dataclass(frozen=True)
class _VirtualPower:
    """Flows by velocities, and the forces of all elements."""

    found: Cut
    parts: MechanicalParts
    places: dict[str, str]
    """State of configuration -> its rate."""
    numbers: bool

    @property
    def v(self) -> list[Any]:
        """Velocities."""
        values = self.found.values
        return [s for flow in self.parts.moving.values() for s in scalars_of(self.found.symbols.get(flow, values.get(flow)))]

    def equations(self) -> MechanicalEquations:
        """The record, all forces summed."""
        found, parts, values, v = self.found, self.parts, self.found.values, self.v
        n = len(v)
        D = sympy.zeros(n, n)
        q = [s for name in self.places for s in scalars_of(values[name])]
        for path in parts.dampers:
            D += self._damping(path)
        E, drift = self._kinematics()
        moving = dict(zip(q, E * sympy.Matrix(v) + drift, strict=True))
        M, C = sympy.zeros(n, n), sympy.zeros(n, n)
        force = sympy.zeros(n, 1)
        for path in (*parts.moving, *parts.following):
            N, (m, c, slope) = self._flows(path), self._inertia(path, moving)
            M += N.T * m * N
            C += N.T * (m * self._along(N, moving) + c * N)
            force += N.T * slope
        for path in parts.gyrators:
            N, law = self._flows(path), self._element(path).law_as(laws.SkewGyrator)
            C += N.T * self._carried_matrix(path, law.matrix, N.rows) * N
        for path in parts.potentials:
            force += self._flows(path).T * self._effort(path)
        B = sympy.zeros(n, 0)
        for path in parts.sources:
            (bond,) = found.compiled.model.bonds_at(path)
            B = B.row_join(self._flows(path, -1 if bond.head.element == path else 1).T)
        H, h, gamma, multipliers = self._held(moving)
        time = symbol_of(found.compiled.system, "time")
        if any(time in matrix.free_symbols for matrix in (M, C, D, force, B, H)):
            raise no_form(found.compiled, next(iter(parts.moving)), "its motion depends on time by itself")
        T = (sympy.Matrix(v).T * M * sympy.Matrix(v))[0] / 2
        V = sympy.Add(*(self._potential(path) for path in (*parts.moving, *parts.following, *parts.potentials)))
        matrices = {"M": M, "C": C, "D": D, "grad_V": force, "B": B, "H": H, "h": h, "gamma": gamma, "E": E, "drift": drift}
        return self._record(q, matrices, (T, V), multipliers)

    def _kinematics(self) -> tuple[Any, Any]:
        """E and drift of q' = E v + drift; a storage whose state has a rate of its own, such as a pose, may drift."""
        E, drift = sympy.zeros(0, len(self.v)), sympy.zeros(0, 1)
        rest = dict.fromkeys(self.v, sympy.S.Zero)
        for name, rate in self.places.items():
            path, rates = name.rpartition(".")[0], column([self.found.values[rate]])
            law = self.found.compiled.model.elements[path].law
            own = rates.xreplace(rest) if isinstance(law, laws.Storage) and law.rate is not None else sympy.zeros(len(rates), 1)
            E, drift = E.col_join(self._linear(rates - own, path)), drift.col_join(own)
        return E, drift

    def _element(self, path: str) -> Element:
        return self.found.compiled.model.elements[path]

    def _statement(self, path: str, *formulas: Op | None) -> Statement:
        """The statement of an element that carries out one of these formulas."""
        statements = self.found.compiled.system.statements
        return next(s for s in statements if s.element == path and any(s.op is formula for formula in formulas))

    def _value(self, name: str) -> Any:
        return self.found.values[self.found.compiled.system.resolve(name)]

    def _linear(self, flows: Any, path: str) -> Any:
        """N with flows = N v; E278 where they are not."""
        v = self.v
        N = slopes_of(flows, v)
        if N.free_symbols & set(v):
            raise no_form(self.found.compiled, path, "flows are not linear in the velocities of the inertias")
        if any(sympy.simplify(rest) != 0 for rest in flows.xreplace(dict.fromkeys(v, sympy.S.Zero))):
            why = "its flow is not given by the velocities of inertias"
            raise no_form(self.found.compiled, path, why, "an I where it moves, or `state_equations`")
        return N

    def _flows(self, path: str, sign: int = 1) -> Any:
        """N of the flow into an element."""
        law, (bond,) = self._element(path).law, self.found.compiled.model.bonds_at(path)
        if sign == 1 and not isinstance(law, (laws.Source, laws.InertialField)) and not self._is_inertia(path):
            sign = 1 if bond.head.element == path else -1
        return self._linear(column([self._value(f"{path}.flow")]) * sign, path)

    def _is_inertia(self, path: str) -> bool:
        return path in self.parts.moving or path in self.parts.following

    def _along(self, matrix: Any, moving: dict[Any, Any]) -> Any:
        """Time derivative of a matrix of the configuration."""

        def slope(entry: Any) -> Any:
            return sympy.Add(*(sympy.diff(entry, s) * rate for s, rate in moving.items() if s in entry.free_symbols))

        return matrix.applyfunc(slope)

    def _inertia(self, path: str, moving: dict[Any, Any]) -> tuple[Any, Any, Any]:
        """Mass matrix, Coriolis matrix and dV/dq of an inertia, in its own flow."""
        law = self._element(path).law
        if isinstance(law, laws.Storage):
            assert law.inverse is not None
            given = self._statement(path, law.output, law.inverse)
            count = len(scalars_of(self._value(f"{path}.flow")))
            f = self._dummies(count)
            m = slopes_of(self.found.carried_out(law.inverse, self._shaped(f), *map(self._value, given.args[1:])), f)
            if m.free_symbols & set(f):
                raise no_form(self.found.compiled, path, "its momentum is not linear in its velocity")
            return m, self._along(m, moving) / 2, sympy.zeros(count, 1)
        return self._field(path)

    def _field(self, path: str) -> tuple[Any, Any, Any]:
        """Of an IC: M(q), Christoffel symbols in its own flow, and dV/dq."""
        law, values = self._element(path).law_as(laws.InertialField), self.found.values
        assert law.mechanics is not None
        statement = self._statement(path, law.energy)
        others = [self._value(arg) for arg in statement.args[2:]]
        at = scalars_of(values[f"{path}.q"])
        exactly = self.found.notes.exactly
        q = np.array(at, dtype=object)
        m = sympy.Matrix(law.mechanics.mass(q, *others).tolist()).applyfunc(exactly)
        slope = sympy.Matrix(list(law.mechanics.conservative_force(q, *others))).applyfunc(exactly)
        flow = column([self._value(f"{path}.flow")])
        if law.mechanics.owns_bias:
            f = self._dummies(len(at))
            h = sympy.Matrix(list(law.mechanics.given_bias(q, np.array(f, dtype=object), *others))).applyfunc(exactly)
            return m, slopes_of(h, f).xreplace(dict(zip(f, flow, strict=True))) / 2, slope
        count = range(len(at))

        def christoffel(i: int, j: int) -> Any:
            return sympy.Add(*((m[i, j].diff(at[k]) + m[i, k].diff(at[j]) - m[j, k].diff(at[i])) * flow[k] / 2 for k in count))

        return m, sympy.Matrix(len(at), len(at), christoffel), slope

    def _dummies(self, count: int) -> list[Any]:
        return [sympy.Dummy(f"f{k}", real=True) for k in range(count)]

    def _shaped(self, scalars: Sequence[Any], vector: bool = False) -> Any:
        return scalars[0] if len(scalars) == 1 and not vector else np.array(scalars, dtype=object)

    def _carried_matrix(self, path: str, op: Any, count: int) -> Any:
        statement = self._statement(path, op)
        return self.found.carried_out(op, *map(self._value, statement.args)).reshape(count, count)

    def _effort(self, path: str) -> Any:
        """Of a potential, by its displacement."""
        law = self._element(path).law_as(laws.Storage)
        statement = self._statement(path, law.output)
        return self.found.carried_out(law.output, *map(self._value, statement.args))

    def _damping(self, path: str) -> Any:
        """N^T R N of a damper; its resistance may depend on its own velocity."""
        law, N = self._element(path).law_as(laws.Resistor), self._flows(path)
        assert law.effort is not None
        statement = self._statement(path, law.effort, law.flow)
        f = self._dummies(N.rows)
        vector = bool(self.found.shape_of(statement.args[0]))
        block = secant(self.found.carried_out(law.effort, self._shaped(f, vector), *map(self._value, statement.args[1:])), f)
        if block is None:
            raise no_form(self.found.compiled, path, "its relation is no resistance times its velocity")
        return N.T * block.xreplace(dict(zip(f, N * sympy.Matrix(self.v), strict=True))) * N

    def _potential(self, path: str) -> Any:
        """Potential energy of an element."""
        law = self._element(path).law
        if isinstance(law, laws.InertialField) and law.mechanics is not None:
            if law.mechanics.potential is None:
                return sympy.S.Zero
            statement = self._statement(path, law.energy)
            q = self.found.values[f"{path}.q"]
            given = q if np.ndim(q) or law.mechanics.scalar else np.array([q], dtype=object)
            return self.found.notes.exactly(law.mechanics.potential(given, *map(self._value, statement.args[2:])))
        return sympy.S.Zero if self._is_inertia(path) else sympy.S(self._value(f"{path}.energy"))

    def _held(self, moving: dict[Any, Any]) -> tuple[Any, Any, Any, tuple[str, ...]]:
        """Jacobian, positions, right side and multipliers of all constraints."""
        v = sympy.Matrix(self.v)
        H, h, gamma, names = sympy.zeros(0, len(v)), sympy.zeros(0, 1), sympy.zeros(0, 1), list[str]()
        system = self.found.compiled.system
        for path in self.parts.constraints:
            law = self._element(path).law_as(laws.IdealConstraint)
            own = self._linear(column([self._value(f"{path}.h'")]), path)
            speed = own * v
            stored = law.position is not None or law.stores_position
            at = column([self._value(f"{path}.h")]) if stored else sympy.zeros(own.rows, 1)
            a1, a0, a2 = (self._value(f"{path}.{name}") for name in ("alpha1", "alpha0", "alpha2"))
            off = at.applyfunc(lambda e, a0=a0, a2=a2: a0 * e + a2 * e**3) if stored else at
            gamma = gamma.col_join(-(self._along(own, moving) * v) - a1 * speed - off)
            H, h = H.col_join(own), h.col_join(at)
            names += labels_of(f"{path}.multiplier", system.values[f"{path}.multiplier"].shape or ())
        return H, h, gamma, tuple(names)

    def _record(
        self, q: Sequence[Any], matrices: Mapping[str, Any], energies: tuple[Any, Any], multipliers: tuple[str, ...]
    ) -> MechanicalEquations:
        """The record, with entries written as one would by hand."""
        compiled, system = self.found.compiled, self.found.compiled.system
        moving, whole = [*q, *self.v], is_whole(self.found, self.numbers)
        written = {name: with_decimals(arranged(matrix, moving), whole) for name, matrix in matrices.items()}
        written["M"] = mirrored(written["M"], 1)
        T, V = with_decimals(arranged(sympy.Matrix(energies), moving), whole)
        occurring = {s.name for m in (*written.values(), T, V) for s in m.free_symbols}
        shapes = {path: system.values[out].shape or () for path, out in self.parts.sources.items()}
        more = [f"{path}.{which}" for path in self.parts.sources for which in ("effort", "flow")]
        more += [s.name.partition("[")[0] for s in self.v] + [f"{path}.multiplier" for path in self.parts.constraints]
        return MechanicalEquations(
            name=system.name,
            **written,
            T=T,
            V=V,
            q=tuple(s.name for s in q),
            v=tuple(s.name for s in self.v),
            u=tuple(label for path, shape in shapes.items() for label in labels_of(f"{path}.effort", shape)),
            values=source_values(self.found, self.parts.sources),
            multipliers=multipliers,
            parameters=MappingProxyType(numbers_of(system, occurring)),
            letters=MappingProxyType(letters_of(compiled, [], more)),
        )
