"""Port-Hamiltonian form of a model of storages, junctions, two-ports, resistors and sources, from its energy balance.

Storages are cut at their outputs, the gradient z of their energy, and resistors at their outputs d. The remaining junction
structure is linear and lossless and gives all inputs in terms of these outputs and the sources u. The resistors, d = D r with
inputs r, close this structure.
The states of dependent storages are functions phi of the other states x, and the gradient of their energy is z_d = N z. With
E = 1 + N^T d phi/dx, the equations x' = F z + B u - N^T (d phi/dx) x' become E x' = F z + B u, and E^T z is the gradient of the
energy of all storages.

Source: van der Schaft and Jeltsema, Port-Hamiltonian systems theory (2014), section 4.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bondgraph.compile.compiled import Compiled
from bondgraph.compile.pipeline import Compilable, compiled_form
from bondgraph.compile.state_names import own_states
from bondgraph.errors import FixedEntries, ModelError, refusal
from bondgraph.export.forms.derivation.structure import (
    CutModel,
    arranged,
    column,
    cut,
    inverse,
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
from bondgraph.export.forms.records import PortHamiltonian
from bondgraph.export.forms.state_form import numbers_of
from bondgraph.model import laws
from bondgraph.model.element import Element
from bondgraph.model.ops import TIME_DERIVATIVE, Op
from bondgraph.output.lazy import sympy
from bondgraph.output.tables import labels_of
from bondgraph.tracing.on_tape.values import scalars_of

WITHOUT_POWER = (laws.Transformer, laws.Gyrator, laws.SkewGyrator, laws.Junction, laws.SignalBlock)
"""Laws that only transmit power, and signal blocks, which carry no power and must have no states."""


@dataclass
class _Ports:
    """Values at which the structure is cut, by role and element."""

    states: dict[str, tuple[str, ...]] = field(default_factory=dict)
    outputs: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Gradient of the energy of each storage in integral causality with respect to its states, as names of values."""
    dependent: dict[str, tuple[str, str]] = field(default_factory=dict)
    """State of each dependent storage, and the rate of this state."""
    resistors: dict[str, tuple[int, str, str]] = field(default_factory=dict)
    """Statement index, input and output of each resistor."""
    sources: dict[str, tuple[str, str, int]] = field(default_factory=dict)
    """Output of each source, the conjugate variable, and the sign of their product as supplied power."""
    symbols: dict[str, Any] = field(default_factory=dict)
    laws: dict[int, Op] = field(default_factory=dict)
    """Formulas that replace those of statements, by index of the statement."""


def port_hamiltonian(model: Compilable, *, numbers: bool = False) -> PortHamiltonian:
    """Return x' = (J - R) grad H + G u, y = G^T grad H of a model of storages, junctions, two-ports, resistors and sources.

    Moduli of two-ports, and resistances, may depend on states. Storages in derivative causality are included in H. If sources
    meet resistors directly, the form also has terms P, M and S.

    Parameters
    ----------
    model : compiled, or a graph, which is compiled first.
    numbers : substitute the values of all parameters except source parameters.

    Raises `ModelError` E100 if `model` is not a model; E335 for delays, E693 for FMUs; E277 for an element that this form cannot
    represent; E273, E274 as `state_equations` does.

    Source: van der Schaft and Jeltsema, Port-Hamiltonian systems theory (2014), section 4.

    >>> from bondgraph import J1, C, Graph, I, R, Se, compile_model
    >>> graph = Graph("rlc").connect(loop := J1("loop"), C("c", capacitance=2.0))
    >>> graph = graph.connect(loop, I("l", 5.0)).connect(loop, R("r", 3.0))
    >>> print(port_hamiltonian(graph.connect(Se("u", 1.0), loop)))
    x' = (J - R) grad H + G u, y = G^T grad H
    x = [c.q, l.p]
    u = [u.effort]
    y = [u.flow]
    H = c.q**2/(2*c.capacitance) + l.p**2/(2*l.inertia)
    J = [ 0  1]
        [-1  0]
    R = [0             0]
        [0  r.resistance]
    G = [0]
        [1]
    """
    compiled = compiled_form(model, "port_hamiltonian")
    ports = _Ports()
    for path, element in compiled.model.elements.items():
        _add(ports, compiled, path, element)
    system = compiled.system
    rates = {state.name: state.rate for state in own_states(system)[0]}
    energies = dict(system.energies)
    requested = [rates[name] for names in ports.states.values() for name in names] + list(energies.values())
    requested += [argument for _, argument, _ in ports.resistors.values()] + [state for state, _ in ports.dependent.values()]
    requested += [name for output, conjugate, _ in ports.sources.values() for name in (output, conjugate)]
    structure = cut(compiled, ports.symbols, requested, numbers, ports.laws)
    return _Balance(structure, ports, numbers).form([rates[name] for names in ports.states.values() for name in names], energies)


def _add(ports: _Ports, compiled: Compiled, path: str, element: Element) -> None:
    law, system = element.law, compiled.system
    if any(bond.domain.pseudo for bond in compiled.model.bonds_at(path)):
        raise no_form(compiled, path, "its flow is a power, and no gradient of an energy gives its effort")
    if isinstance(law, laws.Storage):
        state = f"{path}.{law.state}"
        if law.rate is not None:
            raise no_form(compiled, path, "its state is not simply the integral of its input")
        if path in compiled.causality.derivative:
            rate = next(s.outs[0] for s in system.statements if s.element == path and s.op is TIME_DERIVATIVE)
            ports.symbols[rate] = new_symbols(system, rate, f"{state}'")
            ports.dependent[path] = state, rate
            return
        if law.output is None:
            raise no_form(compiled, path, f"its {law.gives} is not given by its {law.state}", "`output`, or its energy")
        out = _out(compiled, path, law.output)
        ports.symbols[out] = new_symbols(system, out, f"{path}.{law.gives}")
        ports.states[path], ports.outputs[path] = (state,), (out,)
    elif isinstance(law, laws.InertialField):
        _add_field(ports, compiled, path, law)
    elif isinstance(law, laws.Resistor):
        statement = statement_of(compiled, path, law.effort) or statement_of(compiled, path, law.flow)
        if law.relation is not None:
            raise no_form(compiled, path, "its relation is solved for neither effort nor flow", "`effort` or `flow`")
        if statement is None or statement[1].outs[0].endswith(":by relation"):
            raise no_form(compiled, path, "only its inverse relation is given", "its other relation as well")
        out = statement[1].outs[0]
        ports.symbols[out] = new_symbols(system, out, f"{path}:given")
        ports.resistors[path] = statement[0], statement[1].args[0], out
    elif isinstance(law, laws.Source):
        if law.value is not None:
            out = _out(compiled, path, law.value)
            ports.symbols[out] = new_symbols(system, out, f"{path}.{law.gives}")
            (bond,) = compiled.model.bonds_at(path)
            sign = -1 if bond.head.element == path else 1
            ports.sources[path] = out, system.resolve(f"{path}.{laws.OTHER[law.gives]}"), sign
    elif not isinstance(law, WITHOUT_POWER):
        raise no_form(compiled, path, "its effect cannot be expressed by J, R and G")
    elif law.states():
        raise no_form(compiled, path, "it has states that store no energy")


def _add_field(ports: _Ports, compiled: Compiled, path: str, law: laws.InertialField) -> None:
    """Cut a Hamiltonian IC field: dH/dq acts on its momenta, and dH/dp = q'."""
    if path in compiled.causality.derivative:
        raise no_form(compiled, path, "other elements set its velocities")
    if law.motion != "p":
        raise no_form(compiled, path, "its states are velocities, not momenta", 'form="hamiltonian" for this element')
    statement = statement_of(compiled, path, law.rate)
    assert statement is not None
    out = _out(compiled, path, law.flow)
    slope = new_symbols(compiled.system, out, f"{path}.dH/dq")
    ports.symbols |= {out: new_symbols(compiled.system, out, f"{path}.v"), f"{path}.dH/dq": slope}
    ports.laws[statement[0]] = Op("momentum rate", lambda q, v, effort, *_: effort - slope)
    ports.states[path], ports.outputs[path] = (f"{path}.q", f"{path}.p"), (f"{path}.dH/dq", out)


def _out(compiled: Compiled, path: str, op: Op) -> str:
    statement = statement_of(compiled, path, op)
    assert statement is not None
    return statement[1].outs[0]


def no_form(compiled: Compiled, path: str, why: str, cure: str = "`state_equations` for the exact equations") -> ModelError:
    element = compiled.model.elements[path]
    title = f'{element.kind} "{path}" cannot be part of a port-Hamiltonian form'
    return refusal("E277", title, cure, about=compiled.system.name, why=why, places=(element.place,))


@dataclass(frozen=True)
class _Balance:
    model: CutModel
    ports: _Ports
    numbers: bool

    def form(self, rates: Sequence[str], energies: Mapping[str, str]) -> PortHamiltonian:
        compiled, values, ports = self.model.compiled, self.model.values, self.ports
        names = [name for of_storage in ports.states.values() for name in of_storage]
        x = [s for name in names for s in scalars_of(values[name])]
        z, d, u, rho = (list(self._symbols(role)) for role in ("storages", "resistors", "sources", "dependent"))
        every = [*z, *d, *u, *rho]
        taken = column(values[name] for _, name, _ in ports.resistors.values())
        y = column([sign * s for s in scalars_of(values[name])] for _, name, sign in ports.sources.values())
        n, r, k = len(x), len(d), len(u)
        S = slopes_of(sympy.Matrix([*column(values[name] for name in rates), *taken, *y]), every)
        X, T, Y = slice(0, n), slice(n, n + r), slice(n + r, None)
        Z, G, U, N = slice(0, n), slice(n, n + r), slice(n + r, n + r + k), slice(n + r + k, None)
        self._check_structure(S, every, S[n:, N])
        stored = {path: self._energy(path, energies[path]) for path in ports.states}
        H = sympy.Add(*stored.values())
        gradient = slopes_of(sympy.Matrix([H]), x).T
        self._check_energies(stored, x, z)
        at = dict(zip(z, gradient, strict=True))
        D = self._dissipation(taken, z, {*d, *u, *rho}).xreplace(at)
        closed = D * inverse(sympy.eye(r) - S[T, G] * D) if r else sympy.zeros(0, 0)
        F, B = S[X, Z] + S[X, G] * closed * S[T, Z], S[X, U] + S[X, G] * closed * S[T, U]
        A, L = S[Y, Z] + S[Y, G] * closed * S[T, Z], S[Y, U] + S[Y, G] * closed * S[T, U]
        if ports.dependent:
            phi = column(values[state] for state, _ in ports.dependent.values()).xreplace(at)
            if phi.free_symbols & {*d, *u, *rho}:
                raise no_form(compiled, next(iter(ports.dependent)), "it depends on sources or resistors, not only on storages")
            H += sum((values[energies[path]].xreplace(at) for path in ports.dependent), sympy.S.Zero)
            E = inverse(sympy.eye(n) - S[X, N] * slopes_of(phi, x))
            F, B, A = E * F * E.T, E * B, A * E.T
        half = sympy.Rational(1, 2)
        matrices = {"J": F - F.T, "R": -F - F.T, "G": B + A.T, "P": A.T - B, "M": L - L.T, "S": L + L.T}
        return self._record(names, x, {name: half * matrix for name, matrix in matrices.items()}, H)

    def _energy(self, path: str, value: str) -> Any:
        """Return the energy of a storage in terms of its states; for an IC field, M^-1 p replaces v."""
        compiled, values = self.model.compiled, self.model.values
        law, energy = compiled.model.elements[path].law, sympy.S(values[value])
        if not isinstance(law, laws.InertialField):
            return energy
        statement = next(s for s in compiled.system.statements if s.element == path and s.op is law.flow)
        velocity = self.model.evaluate(law.flow, *(values[arg] for arg in statement.args))
        flows = scalars_of(self.model.symbols[statement.outs[0]])
        return energy.xreplace(dict(zip(flows, velocity, strict=True)))

    def _symbols(self, role: str) -> Iterator[Any]:
        values = {
            "storages": (name for of_storage in self.ports.outputs.values() for name in of_storage),
            "resistors": (out for _, _, out in self.ports.resistors.values()),
            "sources": (out for out, _, _ in self.ports.sources.values()),
            "dependent": (rate for _, rate in self.ports.dependent.values()),
        }[role]
        return (s for name in values for s in scalars_of(self.model.symbols[name]))

    def _check_structure(self, S: Any, every: Sequence[Any], others: Any) -> None:
        compiled = self.model.compiled
        if S.free_symbols & set(every):
            ratios = [path for path, e in compiled.model.elements.items() if isinstance(e.law, WITHOUT_POWER[:3]) and e.signals]
            path = (ratios or list(compiled.model.elements))[0]
            raise no_form(compiled, path, "its modulus depends on efforts or flows", "a modulus of states only, such as `body.p`")
        if any(entry != 0 for entry in others):
            path = next(iter(self.ports.dependent))
            raise no_form(compiled, path, "its input acts directly on a source or a resistor")

    def _check_energies(self, stored: Mapping[str, Any], x: Sequence[Any], z: Sequence[Any]) -> None:
        values, compiled = self.model.values, self.model.compiled
        for path, names in self.ports.states.items():
            states = {s for name in names for s in scalars_of(values[name])}
            if stored[path].free_symbols & ({*x, *z} - states):
                raise no_form(compiled, path, "its energy depends on the states of other elements")

    def _dissipation(self, taken: Any, z: Sequence[Any], others: set[Any]) -> Any:
        """Return D with d = D r for all resistors, in terms of z and x."""
        compiled, values = self.model.compiled, self.model.values
        blocks, start = [], 0
        for path, (index, _, out) in self.ports.resistors.items():
            count = len(scalars_of(self.model.symbols[out]))
            rows = taken[start : start + count, :]
            start += count
            r = [sympy.Symbol(f"{path}:taken {k}", real=True) for k in range(count)]
            statement = compiled.system.statements[index]
            argument = np.array(r, dtype=object) if self.model.shape_of(statement.args[0]) else r[0]
            block = secant(self.model.evaluate(statement.op, argument, *(values[arg] for arg in statement.args[1:])), r)
            if block is None:
                raise no_form(compiled, path, "its relation is not a resistance times its input")
            if block.free_symbols & set(r):
                if rows.free_symbols & others:
                    raise no_form(compiled, path, "its resistance would depend on sources or other resistors")
                block = block.xreplace(dict(zip(r, rows, strict=True)))
            if block.free_symbols & others:
                raise no_form(compiled, path, "its resistance would depend on sources or other resistors")
            blocks.append(block)
        return sympy.diag(*blocks) if blocks else sympy.zeros(0, 0)

    def _record(self, names: Sequence[str], x: Sequence[Any], matrices: Mapping[str, Any], H: Any) -> PortHamiltonian:
        compiled, system = self.model.compiled, self.model.compiled.system
        keep_fractions = is_whole(self.model, self.numbers)
        written = {name: with_decimals(arranged(matrix, x), keep_fractions) for name, matrix in matrices.items()}
        written |= {name: mirrored(written[name], sign) for name, sign in (("J", -1), ("R", 1), ("M", -1), ("S", 1))}
        energy = with_decimals(arranged(sympy.Matrix([H]), x)[0], keep_fractions)
        occurring = {s.name for m in (*written.values(), energy) for s in m.free_symbols}
        variables = {path: compiled.model.elements[path].law_as(laws.Source).gives for path in self.ports.sources}

        def named(variable: Mapping[str, laws.Variable]) -> list[str]:
            shapes = {path: system.values[out].shape or () for path, (out, _, _) in self.ports.sources.items()}
            return [label for path in variables for label in labels_of(f"{path}.{variable[path]}", shapes[path])]

        more = [f"{path}.{which}" for path in variables for which in ("effort", "flow")]
        return PortHamiltonian(
            name=system.name,
            **written,
            H=energy,
            states=tuple(label for name in names for label in labels_of(name, system.values[name].shape or ())),
            inputs=tuple(named(variables)),
            values=source_values(self.model, {path: out for path, (out, _, _) in self.ports.sources.items()}),
            outputs=tuple(named({path: laws.OTHER[variable] for path, variable in variables.items()})),
            parameters=FixedEntries(numbers_of(system, occurring)),
            letters=FixedEntries(letters_of(compiled, [], more)),
            modes=FixedEntries({name: mode.states for name, mode in system.modes.items()}),
        )
