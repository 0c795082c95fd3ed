"""Records of the forms: state equations, port-Hamiltonian, mechanical, Lagrange's and Hamilton's equations, and their text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bondgraph.export.forms.expression_text import ExpressionWriter, aligned, latex_lines, letter_of, plain_lines
from bondgraph.export.symbols import dotted, text
from bondgraph.output.cells import Typeset
from bondgraph.output.lazy import sympy
from bondgraph.output.short_repr import short_repr


@short_repr
@dataclass(frozen=True)
class PortHamiltonian(Typeset):
    """Port-Hamiltonian form x' = (J - R) grad H + (G - P) u, y = (G + P)^T grad H + (M + S) u; u^T y is supplied power.

    J and M are skew-symmetric; [[R, P], [P^T, S]] is symmetric and, if the resistors are passive, positive semidefinite. P, M
    and S are zero unless sources meet resistors directly.

    Source: van der Schaft and Jeltsema, Port-Hamiltonian systems theory (2014), section 4.2.
    """

    name: str
    J: Any
    """Interconnection matrix (n, n); all matrices are SymPy matrices in states and parameters."""
    R: Any
    """Dissipation matrix (n, n)."""
    G: Any
    """Input matrix (n, inputs)."""
    P: Any
    """Dissipative coupling of states and inputs (n, inputs)."""
    M: Any
    """Skew-symmetric feedthrough matrix (inputs, inputs)."""
    S: Any
    """Symmetric feedthrough matrix (inputs, inputs)."""
    H: Any
    """Stored energy, J."""
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    """Efforts or flows of sources, such as `motor.effort`."""
    values: Mapping[str, Any]
    """Expression of each input in parameters, signals and time."""
    outputs: tuple[str, ...]
    """Conjugate variables y, positive for supplied power."""
    parameters: Mapping[str, float]
    """Value of every parameter that occurs."""
    letters: Mapping[str, str] = field(repr=False)
    """LaTeX of each symbol, by its name."""
    modes: Mapping[str, tuple[str, ...]] = field(repr=False)
    """Names of the states of each mode signal."""

    @property
    def gradient(self) -> Any:
        """Return grad H, (n, 1)."""
        return _gradient(self.H, self.states)

    @property
    def rates(self) -> Any:
        """Return (J - R) grad H + (G - P) u, (n, 1)."""
        return (self.J - self.R) * self.gradient + (self.G - self.P) * _column(self.inputs)

    @property
    def conjugates(self) -> Any:
        """Return y, (inputs, 1)."""
        return (self.G + self.P).T * self.gradient + (self.M + self.S) * _column(self.inputs)

    @property
    def _feeds_through(self) -> bool:
        return any(entry != 0 for matrix in (self.P, self.M, self.S) for entry in matrix)

    @property
    def _parts(self) -> dict[str, Any]:
        parts = {"H": self.H, "J": self.J, "R": self.R, "G": self.G}
        return parts | ({"P": self.P, "M": self.M, "S": self.S} if self._feeds_through else {})

    def __str__(self) -> str:
        equation = "x' = (J - R) grad H + G u, y = G^T grad H"
        if self._feeds_through:
            equation = "x' = (J - R) grad H + (G - P) u, y = (G + P)^T grad H + (M + S) u"
        vectors = [f"x = [{', '.join(self.states)}]", f"u = [{', '.join(self.inputs)}]", f"y = [{', '.join(self.outputs)}]"]
        return plain_lines(ExpressionWriter(self.letters, self.modes), "\n".join([equation, *vectors]), self._parts)

    def latex(self) -> str:
        """Return an `align*` environment with the equations, H and the matrices."""
        equation = r"\dot{x} &= (J - R)\,\nabla H + G\,u, \quad y = G^T\,\nabla H"
        if self._feeds_through:
            equation = r"\dot{x} &= (J - R)\,\nabla H + (G - P)\,u, \quad y = (G + P)^T\,\nabla H + (M + S)\,u"
        vectors = _vectors(self.letters, {"x": self.states, "u": self.inputs, "y": self.outputs})
        return latex_lines(ExpressionWriter(self.letters, self.modes), rf"{equation} \\ {vectors}", self._parts)


@short_repr
@dataclass(frozen=True)
class MechanicalEquations(Typeset):
    """Mechanical equations M(q) v' + C(q, v) v + D v + grad V = H^T lambda + B u, with q' = E(q) v and, for constraints, H v' =
    gamma.

    M is symmetric positive definite. M' - 2 C is skew-symmetric, unless an IC has its own formula for centrifugal forces. The
    right-hand side gamma = -H' v - alpha1 H v - alpha0 h - alpha2 h^3 is Baumgarte's stabilisation of h(q) = 0. The velocities v
    of the independent inertias determine all other velocities.

    Sources: Featherstone, Rigid body dynamics algorithms (2008), section 2.2, 3; Baumgarte 1972.
    """

    name: str
    M: Any
    """Mass matrix (n, n), SymPy."""
    C: Any
    """Matrix of centrifugal, Coriolis and gyroscopic terms (n, n)."""
    D: Any
    """Damping matrix (n, n)."""
    grad_V: Any
    """Generalised forces of potentials with opposite sign, E^T dV/dq, (n, 1)."""
    B: Any
    """Input matrix (n, inputs)."""
    H: Any
    """Constraint Jacobian (m, n), h' = H v."""
    h: Any
    """Constraint functions (m, 1), which vanish: a symbol if h is a state, 0 for a constraint on a velocity alone."""
    gamma: Any
    """Right-hand side of H v' = gamma (m, 1)."""
    E: Any
    """Kinematic matrix (coordinates, n), q' = E v + drift."""
    drift: Any
    """Drift (coordinates, 1), zero except for terms, proportional to |v|, that keep the quaternions of poses at length 1."""
    T: Any
    """Kinetic energy, J."""
    V: Any
    """Potential energy, J."""
    q: tuple[str, ...]
    v: tuple[str, ...]
    u: tuple[str, ...]
    """Efforts of sources, such as `motor.effort`."""
    values: Mapping[str, Any]
    """Expression of each input in parameters, signals and time."""
    multipliers: tuple[str, ...]
    parameters: Mapping[str, float]
    """Value of every parameter that occurs."""
    letters: Mapping[str, str] = field(repr=False)
    """LaTeX of each symbol, by its name."""

    @property
    def mass_matrix(self) -> Any:
        """Return the matrix of the unknowns (v', lambda): [[M, -H^T], [H, 0]]; M without constraints."""
        m = self.H.rows
        if not m:
            return self.M
        return sympy.Matrix.vstack(sympy.Matrix.hstack(self.M, -self.H.T), sympy.Matrix.hstack(self.H, sympy.zeros(m, m)))

    @property
    def forcing(self) -> Any:
        """Return the right-hand side for (v', lambda): (B u - C v - D v - grad V, gamma); without constraints, the first part
        only."""
        v = _column(self.v)
        force = self.B * _column(self.u) - (self.C + self.D) * v - self.grad_V
        return sympy.Matrix.vstack(force, self.gamma) if self.H.rows else force

    @property
    def rates(self) -> Any:
        """Return q', (coordinates, 1)."""
        return self.E * _column(self.v) + self.drift

    @property
    def _drifts(self) -> bool:
        return any(entry != 0 for entry in self.drift)

    def __str__(self) -> str:
        held = ", H v' = gamma" if self.H.rows else ""
        right = " + ".join([*(["H^T lambda"] if self.H.rows else []), *(["B u"] if self.u else [])]) or "0"
        equation = f"M v' + C v + D v + grad V = {right}{held}, q' = E v" + (" + drift" if self._drifts else "")
        vectors = [f"q = [{', '.join(self.q)}]", f"v = [{', '.join(self.v)}]"]
        vectors += [f"u = [{', '.join(self.u)}]"] if self.u else []
        vectors += [f"lambda = [{', '.join(self.multipliers)}]"] if self.multipliers else []
        parts = {"M": self.M, "C": self.C, "D": self.D, "grad V": self.grad_V} | ({"B": self.B} if self.u else {})
        parts |= {"h": self.h, "H": self.H, "gamma": self.gamma} if self.H.rows else {}
        return plain_lines(
            ExpressionWriter(self.letters),
            "\n".join([equation, *vectors]),
            parts | {"E": self.E} | ({"drift": self.drift} if self._drifts else {}),
        )

    def latex(self) -> str:
        """Return an `align*` environment with the equation and its matrices."""
        right = " + ".join([*([r"H^T \lambda"] if self.H.rows else []), *([r"B\,u"] if self.u else [])]) or "0"
        equation = rf"M \dot{{v}} + C\,v + D\,v + \nabla V &= {right}, \quad \dot{{q}} = E\,v"
        equation += r" + d" if self._drifts else ""
        equation += r", \quad H \dot{v} = \gamma" if self.H.rows else ""
        vectors = _vectors(self.letters, {"q": self.q, "v": self.v, "u": self.u, r"\lambda": self.multipliers})
        parts = {"M": self.M, "C": self.C, "D": self.D, r"\nabla V": self.grad_V, "B": self.B, "h": self.h, "H": self.H}
        parts |= {r"\gamma": self.gamma, "E": self.E}
        return latex_lines(
            ExpressionWriter(self.letters), rf"{equation} \\ {vectors}", parts | ({"d": self.drift} if self._drifts else {})
        )


@short_repr
@dataclass(frozen=True)
class LagrangeEquations(Typeset):
    """Lagrange's equations d/dt(dL/dv) = E^T dL/dq + Q with L = T - V; Q are forces of sources, dampers and constraints."""

    name: str
    L: Any
    """Lagrangian T - V, J."""
    p: Any
    """Momenta dL/dv, SymPy (n, 1)."""
    slopes: Any
    """E^T dL/dq, (n, 1)."""
    Q: Any
    """Generalised forces B u - D v + H^T lambda, (n, 1)."""
    mechanics: MechanicalEquations
    """Mechanical equations in matrix form."""
    conditions: Any
    """Expressions that constraints hold at zero (m, 1): h or, for a constraint on a velocity alone, that velocity."""
    letters: Mapping[str, str] = field(repr=False)

    def __str__(self) -> str:
        writer = ExpressionWriter(self.letters)
        lines = ["d/dt (dL/dv) = E^T dL/dq + Q", f"L = {writer.plain(self.L)}"]
        for k, name in enumerate(self.mechanics.v):
            right = writer.plain(self.slopes[k] + self.Q[k])
            lines.append(f"{name}: d/dt ({writer.plain(self.p[k])}) = {right}")
        return "\n".join([*lines, *(f"0 = {writer.plain(each)}" for each in self.conditions)])

    def latex(self) -> str:
        """Return an `align*` environment with L and one line for each velocity."""
        writer = ExpressionWriter(self.letters)
        lines = [rf"L &= {writer.latex(self.L)}"]
        lines += [
            rf"\tfrac{{d}}{{dt}}\left({writer.latex(p)}\right) &= {writer.latex(slope + force)}"
            for p, slope, force in zip(self.p, self.slopes, self.Q, strict=True)
        ]
        return aligned([*lines, *(rf"0 &= {writer.latex(each)}" for each in self.conditions)])


@short_repr
@dataclass(frozen=True)
class HamiltonEquations(Typeset):
    """Hamilton's equations q' = E dH/dp, p' = -E^T dH/dq + Q; Q are forces of sources, dampers and constraints."""

    name: str
    H: Any
    """Hamiltonian, J, in q and p."""
    q_rates: Any
    """q', SymPy (coordinates, 1), in q and p."""
    p_rates: Any
    """p', (n, 1), in q, p, inputs and multipliers."""
    p: tuple[str, ...]
    mechanics: MechanicalEquations
    """Mechanical equations in terms of velocities, in matrix form."""
    conditions: Any
    """Expressions that constraints hold at zero (m, 1): h or, for a constraint on a velocity alone, that velocity."""
    letters: Mapping[str, str] = field(repr=False)

    def __str__(self) -> str:
        writer = ExpressionWriter(self.letters)
        lines = [f"H = {writer.plain(self.H)}"]
        lines += [f"{name}' = {writer.plain(rate)}" for name, rate in zip(self.mechanics.q, self.q_rates, strict=True)]
        lines += [f"{name}' = {writer.plain(rate)}" for name, rate in zip(self.p, self.p_rates, strict=True)]
        return "\n".join([*lines, *(f"0 = {writer.plain(each)}" for each in self.conditions)])

    def latex(self) -> str:
        """Return an `align*` environment with H and one line for each rate."""
        writer = ExpressionWriter(self.letters)
        lines = [rf"\mathcal{{H}} &= {writer.latex(self.H)}"]
        for names, rates in ((self.mechanics.q, self.q_rates), (self.p, self.p_rates)):
            lines += [
                rf"{dotted(letter_of(self.letters, name))} &= {writer.latex(rate)}"
                for name, rate in zip(names, rates, strict=True)
            ]
        return aligned([*lines, *(rf"0 &= {writer.latex(each)}" for each in self.conditions)])


def _column(names: tuple[str, ...]) -> Any:
    return sympy.Matrix(len(names), 1, [sympy.Symbol(name, real=True) for name in names])


def _gradient(energy: Any, names: tuple[str, ...]) -> Any:
    return sympy.Matrix(len(names), 1, [sympy.diff(energy, symbol) for symbol in _column(names)])


def _vectors(letters: Mapping[str, str], vectors: Mapping[str, tuple[str, ...]]) -> str:
    shown = {letter: r",\, ".join(letter_of(letters, name) for name in names) for letter, names in vectors.items() if names}
    written = (rf"{letter} = \left[{entries}\right]" for letter, entries in shown.items())
    return "&" + r", \quad ".join(written)


Case = tuple[str, Any]
"""Description of the modes of a case, and the expression in these modes."""


@short_repr
@dataclass(frozen=True)
class LinearSystem:
    """Linear equations A w = b in unknowns w that are not eliminated because their solution would be too long to read."""

    unknowns: tuple[str, ...]
    A: Any
    """SymPy matrix (n, n) in states, parameters, inputs and definitions."""
    b: Any
    """SymPy matrix (n, 1)."""

    @property
    def rows(self) -> tuple[tuple[Any, Any], ...]:
        """Return the left- and right-hand sides of every equation."""
        w = sympy.Matrix([sympy.Symbol(name, real=True) for name in self.unknowns])
        return tuple(zip(self.A * w, self.b, strict=True))


@short_repr
@dataclass(frozen=True)
class StateEquations(Typeset):
    """State equations x' = f(x, u, p, t): one SymPy expression for each state; notebooks typeset them."""

    name: str
    equations: Mapping[str, Any]
    """Rate of each state, or of a component such as `body.p[2]`, in terms of symbols and `time`; if it is in `ticks`, its
    value after a tick."""
    outputs: Mapping[str, Any]
    """Expression of each requested value."""
    ticks: Mapping[str, tuple[str, str]]
    """Offset and period of the clock of each state that changes only at ticks, at offset + n period."""
    definitions: Mapping[str, Any]
    """Long expressions by name of their symbol, in evaluation order. The symbol is a value of the model under its name, a
    time derivative with a prime, or a common part s1, s2 ... of several expressions."""
    systems: tuple[LinearSystem, ...]
    """Linear equations in unknowns whose solution would be too long."""
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    """Parameters of sources, which stay symbols, and derivatives u' of varying parameters; for a part, also the values from
    outside and their derivatives."""
    parameters: Mapping[str, float]
    """Value of every other parameter that occurs."""
    letters: Mapping[str, str] = field(repr=False)
    """LaTeX of each symbol, by its name."""
    cases: Mapping[str, tuple[Case, ...]] = field(repr=False)
    """Expressions of each state or output by mode; a single case if the expression does not depend on modes."""
    modes: Mapping[str, tuple[str, ...]] = field(repr=False)
    """Names of the states of each mode signal; in expressions, a mode is the index of its state."""

    def latex(self) -> str:
        """Return an `align*` environment with one line for each state, output and definition."""
        writer = self._writer
        lines = []
        for name in (*self.equations, *self.outputs):
            letter, right = self.letters[name], self._right(writer, name)
            if name in self.ticks:
                offset, period = (letter_of(self.letters, each) for each in self.ticks[name])
                lines.append(rf"{letter} &:= {right} \quad \text{{at }} t = {offset} + n\,{period} \\")
            else:
                lines.append(rf"{dotted(letter) if name in self.equations else letter} &= {right} \\")
        if self.definitions or self.systems:
            lines.append(r"\intertext{where}")
        lines += [
            rf"{letter_of(self.letters, name)} &= {writer.latex(expression)} \\" for name, expression in self.definitions.items()
        ]
        for system in self.systems:
            lines += [rf"{writer.latex(left)} &= {writer.latex(right)} \\" for left, right in system.rows]
        return "\\begin{align*}\n" + "\n".join(lines).removesuffix(r" \\") + "\n\\end{align*}\n"

    @property
    def _writer(self) -> ExpressionWriter:
        return ExpressionWriter(self.letters, self.modes, (*self.inputs, "time", *self.states))

    def _right(self, writer: ExpressionWriter, name: str) -> str:
        written = [(when, writer.latex(expression)) for when, expression in self.cases[name]]
        if len(written) == 1:
            return written[0][1]
        rows = [rf"{right} & {text(when)}" for when, right in written]
        return r"\begin{cases} " + r" \\ ".join(rows) + r" \end{cases}"

    def __str__(self) -> str:
        lines, writer = [], self._writer
        for name, cases in self.cases.items():
            left = f"{name} :=" if name in self.ticks else f"{name}' =" if name in self.equations else f"{name} ="
            clock = " at time = {} + n*{}".format(*self.ticks[name]) if name in self.ticks else ""
            for when, expression in cases:
                lines.append(f"{left} {writer.plain(expression)}{clock}" + (f"   ({when})" if len(cases) > 1 else ""))
        lines += ["where"] if self.definitions or self.systems else []
        lines += [f"{name} = {writer.plain(expression)}" for name, expression in self.definitions.items()]
        for system in self.systems:
            lines += [f"{writer.plain(left)} = {writer.plain(right)}" for left, right in system.rows]
        return "\n".join(lines)
