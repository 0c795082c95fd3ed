"""Mechanical equations M v' + C v + D v + grad V = H^T lambda + B u of inertias and potentials, by virtual power.

If the model is cut at the flows v of the independent inertias, junctions and two-ports give every other flow as N(q) v. Since
the power of all elements is zero for any v, the sum of N^T times their efforts is zero. The effort of an inertia with mass
matrix m is m (N v)' + c N v + dV/dq, where c are the Christoffel symbols of m(q); the effort of a damper is its resistance
times N v.

Sources: Featherstone, Rigid body dynamics algorithms (2008), section 3; Breedveld 1984 for the IC field.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bondgraph.assembly.constraints_and_switches import STABILISERS
from bondgraph.assembly.system import Statement
from bondgraph.compile.compiled import Compiled
from bondgraph.compile.state_names import own_states
from bondgraph.errors import FixedEntries, ModelError, refusal
from bondgraph.export.forms.derivation.structure import (
    CutModel,
    arranged,
    column,
    cut,
    is_whole,
    mirrored,
    new_symbols,
    secant,
    slopes_of,
    source_values,
    statement_of,
    with_decimals,
)
from bondgraph.export.forms.expression_text import letters_of
from bondgraph.export.forms.records import MechanicalEquations
from bondgraph.export.forms.state_form import numbers_of
from bondgraph.export.symbolic import symbol_of
from bondgraph.model import laws
from bondgraph.model.element import Element
from bondgraph.model.ops import Op
from bondgraph.output.lazy import sympy
from bondgraph.output.tables import labels_of
from bondgraph.tracing.on_tape.values import scalars_of

WITHOUT_VIRTUAL_POWER = (laws.Transformer, laws.Junction, laws.SignalBlock)


@dataclass
class MechanicalParts:
    moving: dict[str, str] = field(default_factory=dict)
    dependent: list[str] = field(default_factory=list)
    potentials: list[str] = field(default_factory=list)
    dampers: list[str] = field(default_factory=list)
    gyrators: list[str] = field(default_factory=list)
    sources: dict[str, str] = field(default_factory=dict)
    constraints: list[str] = field(default_factory=list)
    symbols: dict[str, Any] = field(default_factory=dict)

    def paths(self) -> Iterator[str]:
        kinds = (self.moving, self.dependent, self.potentials, self.dampers, self.gyrators, self.sources, self.constraints)
        return itertools.chain(*kinds)


def mechanical_parts(compiled: Compiled) -> MechanicalParts:
    """Return the elements of a model by role; raise E278 for an element without a role, or if there is no independent inertia."""
    parts = MechanicalParts()
    for path, element in compiled.model.elements.items():
        _add(parts, compiled, path, element)
    if not parts.moving:
        title, name = "a model without an independent inertia has no mechanical equations", compiled.system.name
        raise refusal("E278", title, "`state_equations` of the model", about=name, places=())
    return parts


def no_form(
    compiled: Compiled, path: str, why: str, cure: str = "`state_equations` of the model", form: str = "mechanical equations"
) -> ModelError:
    element = compiled.model.elements[path]
    title = f'{element.kind} "{path}" cannot be part of {form}'
    return refusal("E278", title, cure, about=compiled.system.name, why=why, places=(element.place,))


def required_values(compiled: Compiled, path: str) -> list[str]:
    system, law = compiled.system, compiled.model.elements[path].law
    if isinstance(law, laws.IdealConstraint):
        return [f"{path}.h'", *([f"{path}.h"] if law.position is not None else [])]
    formulas = _formulas(law)
    statements = [s for s in system.statements if s.element == path and any(s.op is op for op in formulas)]
    taken = [arg for s in statements for arg in s.args if not (isinstance(law, laws.Storage) and arg == f"{path}.p")]
    return [f"{path}.flow", *taken]


def _formulas(law: laws.Law) -> tuple[Op | None, ...]:
    if isinstance(law, laws.Storage):
        return law.output, law.rate, law.inverse
    if isinstance(law, laws.InertialField):
        return (law.energy,)
    if isinstance(law, laws.Resistor):
        return law.effort, law.flow
    if isinstance(law, laws.SkewGyrator):
        return (law.matrix,)
    return (law.value,) if isinstance(law, laws.Source) else ()


def _add(parts: MechanicalParts, compiled: Compiled, path: str, element: Element) -> None:
    law, system = element.law, compiled.system
    depends = path in compiled.causality.derivative
    if any(bond.domain.pseudo for bond in compiled.model.bonds_at(path)):
        raise no_form(compiled, path, "its flow is a power, so it does no virtual work")
    if laws.is_inertia(law):
        if isinstance(law, laws.Storage) and law.rate is not None:
            raise no_form(compiled, path, "its momentum is not an integral of its effort")
        if isinstance(law, laws.Storage) and law.inverse is None:
            raise no_form(compiled, path, "its velocity does not give its momentum", "`inertia`, or `inverse` for its formula")
        if depends:
            parts.dependent.append(path)
            return
        flow = system.resolve(f"{path}.flow")
        name = f"{path}.v" if isinstance(law, laws.InertialField) else f"{path}.flow"
        if isinstance(law, laws.InertialField) and law.motion == "v":
            flow = f"{path}.v"
        else:
            parts.symbols[flow] = new_symbols(system, flow, name)
        parts.moving[path] = flow
    elif isinstance(law, laws.Storage):
        if depends:
            raise no_form(compiled, path, "other elements set its displacement, so its effort is not a function of position")
        if law.output is None:
            raise no_form(compiled, path, "its force is not given by its position", "`output`, or its energy")
        parts.potentials.append(path)
    elif isinstance(law, laws.Resistor):
        if law.effort is None:
            raise no_form(compiled, path, "its force is not given by its velocity", "`resistance`, or `effort` for its formula")
        parts.dampers.append(path)
    elif isinstance(law, laws.Source):
        if law.gives == "flow" and law.value is not None:
            raise no_form(compiled, path, "it prescribes a velocity, whatever the force")
        if law.value is not None:
            statement = statement_of(compiled, path, law.value)
            assert statement is not None
            parts.sources[path] = statement[1].outs[0]
    elif isinstance(law, laws.SkewGyrator):
        parts.gyrators.append(path)
    elif isinstance(law, laws.IdealConstraint) and law.automaton is None:
        parts.constraints.append(path)
    elif not isinstance(law, WITHOUT_VIRTUAL_POWER) or (isinstance(law, laws.Junction) and law.automaton is not None):
        raise no_form(compiled, path, "it is not an inertia, potential, damper, transmission or force")


def mechanics_of(compiled: Compiled, numbers: bool) -> MechanicalEquations:
    parts = mechanical_parts(compiled)
    system, elements = compiled.system, compiled.model.elements
    motions = {f"{path}.{law.motion}" for path in parts.moving if isinstance(law := elements[path].law, laws.InertialField)}
    motions |= {f"{path}.p" for path in parts.moving}
    state_rates = {state.name: state.rate for state in own_states(system)[0] if state.name not in motions}
    requested = [*state_rates.values(), *(value for _, value in system.energies)]
    for path in parts.paths():
        requested += required_values(compiled, path)
    model = cut(compiled, parts.symbols, [name for name in requested if system.resolve(name) in system.values], numbers)
    return _VirtualPower(model, parts, state_rates, numbers).equations()


@dataclass(frozen=True)
class _VirtualPower:
    model: CutModel
    parts: MechanicalParts
    state_rates: dict[str, str]
    numbers: bool

    @property
    def v(self) -> list[Any]:
        values = self.model.values
        return [s for flow in self.parts.moving.values() for s in scalars_of(self.model.symbols.get(flow, values.get(flow)))]

    def equations(self) -> MechanicalEquations:
        model, parts, values, v = self.model, self.parts, self.model.values, self.v
        n = len(v)
        D = sympy.zeros(n, n)
        q = [s for name in self.state_rates for s in scalars_of(values[name])]
        for path in parts.dampers:
            D += self._damping(path)
        E, drift = self._kinematics()
        moving = dict(zip(q, E * sympy.Matrix(v) + drift, strict=True))
        M, C = sympy.zeros(n, n), sympy.zeros(n, n)
        force = sympy.zeros(n, 1)
        for path in (*parts.moving, *parts.dependent):
            N, (m, c, slope) = self._flows(path), self._inertia(path, moving)
            M += N.T * m * N
            C += N.T * (m * self._time_derivative(N, moving) + c * N)
            force += N.T * slope
        for path in parts.gyrators:
            N, law = self._flows(path), self._element(path).law_as(laws.SkewGyrator)
            C += N.T * self._evaluated(path, law.matrix).reshape(N.rows, N.rows) * N
        for path in parts.potentials:
            output = self._element(path).law_as(laws.Storage).output
            assert output is not None
            force += self._flows(path).T * self._evaluated(path, output)
        B = sympy.zeros(n, 0)
        for path in parts.sources:
            (bond,) = model.compiled.model.bonds_at(path)
            B = B.row_join(self._flows(path, -1 if bond.head.element == path else 1).T)
        H, h, gamma, multipliers = self._constraints(moving)
        time = symbol_of(model.compiled.system, "time")
        if any(time in matrix.free_symbols for matrix in (M, C, D, force, B, H)):
            raise no_form(model.compiled, next(iter(parts.moving)), "its motion depends explicitly on time")
        T = (sympy.Matrix(v).T * M * sympy.Matrix(v))[0] / 2
        V = sympy.Add(*(self._potential(path) for path in (*parts.moving, *parts.dependent, *parts.potentials)))
        matrices = {"M": M, "C": C, "D": D, "grad_V": force, "B": B, "H": H, "h": h, "gamma": gamma, "E": E, "drift": drift}
        return self._record(q, matrices, (T, V), multipliers)

    def _kinematics(self) -> tuple[Any, Any]:
        """Return E and drift of q' = E v + drift; only a storage with its own formula for its rate, such as a pose, may drift."""
        E, drift = sympy.zeros(0, len(self.v)), sympy.zeros(0, 1)
        rest = dict.fromkeys(self.v, sympy.S.Zero)
        for name, rate in self.state_rates.items():
            path, rates = name.rpartition(".")[0], column([self.model.values[rate]])
            law = self.model.compiled.model.elements[path].law
            if isinstance(law, laws.Storage) and law.rate is not None:
                slopes = slopes_of(rates, self.v).xreplace(rest)
                own_rates = (rates - slopes * sympy.Matrix(self.v)).applyfunc(sympy.expand).applyfunc(sympy.factor_terms)
            else:
                slopes, own_rates = self._linear(rates, path), sympy.zeros(len(rates), 1)
            E, drift = E.col_join(slopes), drift.col_join(own_rates)
        return E, drift

    def _element(self, path: str) -> Element:
        return self.model.compiled.model.elements[path]

    def _statement(self, path: str, *formulas: Op | None) -> Statement:
        statements = self.model.compiled.system.statements
        return next(s for s in statements if s.element == path and any(s.op is formula for formula in formulas))

    def _value(self, name: str) -> Any:
        return self.model.values[self.model.compiled.system.resolve(name)]

    def _linear(self, flows: Any, path: str) -> Any:
        """Return N with flows = N v; raise E278 if there is none."""
        v = self.v
        N = slopes_of(flows, v)
        if N.free_symbols & set(v):
            raise no_form(self.model.compiled, path, "flows are not linear in the velocities of the inertias")
        if any(sympy.simplify(rest) != 0 for rest in flows.xreplace(dict.fromkeys(v, sympy.S.Zero))):
            if isinstance(self._element(path).law, laws.SignalBlock):
                raise no_form(self.model.compiled, path, "the rate of its state is not linear in the velocities of inertias")
            why = "its flow does not follow from the velocities of inertias"
            raise no_form(self.model.compiled, path, why, "an I at the point that sets this flow, or `state_equations`")
        return N

    def _flows(self, path: str, sign: int = 1) -> Any:
        law, (bond,) = self._element(path).law, self.model.compiled.model.bonds_at(path)
        if sign == 1 and not isinstance(law, (laws.Source, laws.InertialField)) and not self._is_inertia(path):
            sign = 1 if bond.head.element == path else -1
        return self._linear(column([self._value(f"{path}.flow")]) * sign, path)

    def _is_inertia(self, path: str) -> bool:
        return path in self.parts.moving or path in self.parts.dependent

    def _time_derivative(self, matrix: Any, moving: dict[Any, Any]) -> Any:
        def slope(entry: Any) -> Any:
            return sympy.Add(*(sympy.diff(entry, s) * rate for s, rate in moving.items() if s in entry.free_symbols))

        return matrix.applyfunc(slope)

    def _inertia(self, path: str, moving: dict[Any, Any]) -> tuple[Any, Any, Any]:
        """Return the mass matrix, Coriolis matrix and dV/dq of an inertia, in terms of its own flow."""
        law = self._element(path).law
        if isinstance(law, laws.Storage):
            assert law.inverse is not None
            statement = self._statement(path, law.output, law.inverse)
            count = len(scalars_of(self._value(f"{path}.flow")))
            f = self._dummies(count)
            m = slopes_of(self.model.evaluate(law.inverse, self._shaped(f), *map(self._value, statement.args[1:])), f)
            if m.free_symbols & set(f):
                raise no_form(self.model.compiled, path, "its momentum is not linear in its velocity")
            return m, self._time_derivative(m, moving) / 2, sympy.zeros(count, 1)
        return self._field(path)

    def _field(self, path: str) -> tuple[Any, Any, Any]:
        law, values = self._element(path).law_as(laws.InertialField), self.model.values
        assert law.mechanics is not None
        statement = self._statement(path, law.energy)
        others = [self._value(arg) for arg in statement.args[2:]]
        at = scalars_of(values[f"{path}.q"])
        exact = self.model.notes.exact
        q = np.array(at, dtype=object)
        m = sympy.Matrix(law.mechanics.mass(q, *others).tolist()).applyfunc(exact)
        slope = sympy.Matrix(list(law.mechanics.conservative_force(q, *others))).applyfunc(exact)
        flow = column([self._value(f"{path}.flow")])
        if law.mechanics.has_user_bias:
            f = self._dummies(len(at))
            h = sympy.Matrix(list(law.mechanics.given_bias(q, np.array(f, dtype=object), *others))).applyfunc(exact)
            slopes, rest = slopes_of(h, f), dict.fromkeys(f, sympy.S.Zero)  # h has linear and quadratic terms in f
            return m, (slopes + slopes.xreplace(rest)).xreplace(dict(zip(f, flow, strict=True))) / 2, slope
        count = range(len(at))

        def christoffel(i: int, j: int) -> Any:
            return sympy.Add(*((m[i, j].diff(at[k]) + m[i, k].diff(at[j]) - m[j, k].diff(at[i])) * flow[k] / 2 for k in count))

        return m, sympy.Matrix(len(at), len(at), christoffel), slope

    def _dummies(self, count: int) -> list[Any]:
        return [sympy.Dummy(f"f{k}", real=True) for k in range(count)]

    def _shaped(self, scalars: Sequence[Any], vector: bool = False) -> Any:
        return scalars[0] if len(scalars) == 1 and not vector else np.array(scalars, dtype=object)

    def _evaluated(self, path: str, op: Op) -> Any:
        return self.model.evaluate(op, *map(self._value, self._statement(path, op).args))

    def _damping(self, path: str) -> Any:
        """Return N^T R N of a damper; its resistance may depend on its own velocity."""
        law, N = self._element(path).law_as(laws.Resistor), self._flows(path)
        assert law.effort is not None
        statement = self._statement(path, law.effort, law.flow)
        f = self._dummies(N.rows)
        vector = bool(self.model.shape_of(statement.args[0]))
        block = secant(self.model.evaluate(law.effort, self._shaped(f, vector), *map(self._value, statement.args[1:])), f)
        if block is None:
            raise no_form(self.model.compiled, path, "its relation is not a resistance times its velocity")
        return N.T * block.xreplace(dict(zip(f, N * sympy.Matrix(self.v), strict=True))) * N

    def _potential(self, path: str) -> Any:
        law = self._element(path).law
        if isinstance(law, laws.InertialField) and law.mechanics is not None:
            if law.mechanics.potential is None:
                return sympy.S.Zero
            statement = self._statement(path, law.energy)
            q = self.model.values[f"{path}.q"]
            coordinates = q if np.ndim(q) or law.mechanics.scalar else np.array([q], dtype=object)
            return self.model.notes.exact(law.mechanics.potential(coordinates, *map(self._value, statement.args[2:])))
        return sympy.S.Zero if self._is_inertia(path) else sympy.S(self._value(f"{path}.energy"))

    def _constraints(self, moving: dict[Any, Any]) -> tuple[Any, Any, Any, tuple[str, ...]]:
        v = sympy.Matrix(self.v)
        H, h, gamma, names = sympy.zeros(0, len(v)), sympy.zeros(0, 1), sympy.zeros(0, 1), list[str]()
        system = self.model.compiled.system
        for path in self.parts.constraints:
            law = self._element(path).law_as(laws.IdealConstraint)
            jacobian = self._linear(column([self._value(f"{path}.h'")]), path)
            speed = jacobian * v
            stored = law.position is not None or law.stores_position
            at = column([self._value(f"{path}.h")]) if stored else sympy.zeros(jacobian.rows, 1)
            a1, a0, a2 = (self._value(f"{path}.{name}") if stored or name == "alpha1" else 0 for name in STABILISERS)
            off = at.applyfunc(lambda e, a0=a0, a2=a2: a0 * e + a2 * e**3)
            gamma = gamma.col_join(-(self._time_derivative(jacobian, moving) * v) - a1 * speed - off)
            H, h = H.col_join(jacobian), h.col_join(at)
            names += labels_of(f"{path}.multiplier", system.values[f"{path}.multiplier"].shape or ())
        return H, h, gamma, tuple(names)

    def _record(
        self, q: Sequence[Any], matrices: Mapping[str, Any], energies: tuple[Any, Any], multipliers: tuple[str, ...]
    ) -> MechanicalEquations:
        compiled, system = self.model.compiled, self.model.compiled.system
        moving, keep_fractions = [*q, *self.v], is_whole(self.model, self.numbers)
        written = {name: with_decimals(arranged(matrix, moving), keep_fractions) for name, matrix in matrices.items()}
        written["M"] = mirrored(written["M"], 1)
        T, V = with_decimals(arranged(sympy.Matrix(energies), moving), keep_fractions)
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
            values=source_values(self.model, self.parts.sources),
            multipliers=multipliers,
            parameters=FixedEntries(numbers_of(system, occurring)),
            letters=FixedEntries(letters_of(compiled, [], more)),
        )
