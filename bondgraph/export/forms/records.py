"""Records of the forms that energy gives: port-Hamiltonian, mechanical, Lagrange's and Hamilton's equations, and their text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bondgraph.export.forms.letters import letter_of
from bondgraph.export.forms.matrix_lines import latex_lines, plain_lines
from bondgraph.export.forms.written import Writing
from bondgraph.export.symbols import dotted
from bondgraph.output.cells import Typeset
from bondgraph.output.short_repr import short_repr


@short_repr
@dataclass(frozen=True)
class PortHamiltonian(Typeset):
    """x' = (J - R) grad H + (G - P) u, y = (G + P)^T grad H + (M + S) u, so that u^T y is the power that sources supply.

    J and M are skew-symmetric; [[R, P], [P^T, S]] is symmetric, and positive semidefinite where the resistors are passive.
    P, M and S are zero unless sources meet resistors directly.

    Source: van der Schaft and Jeltsema, Port-Hamiltonian systems theory (2014), section 4.2.
    """

    name: str
    J: Any
    """SymPy matrices in states and parameters: (n, n),"""
    R: Any
    """(n, n),"""
    G: Any
    """(n, inputs),"""
    P: Any
    """(n, inputs),"""
    M: Any
    """(inputs, inputs),"""
    S: Any
    """(inputs, inputs)."""
    H: Any
    """Stored energy, J."""
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    """What sources give, such as `motor.effort`."""
    values: Mapping[str, Any]
    """Input -> what its source makes it, in parameters, signals and time."""
    outputs: tuple[str, ...]
    """The conjugate variables y, positive where power is supplied."""
    parameters: Mapping[str, float]
    """Every parameter that occurs -> its number."""
    letters: Mapping[str, str] = field(repr=False)
    """Name of a symbol -> its LaTeX."""
    modes: Mapping[str, tuple[str, ...]] = field(repr=False)
    """Mode signals -> names of their states."""

    @property
    def gradient(self) -> Any:
        """grad H, (n, 1)."""
        return _gradient(self.H, self.states)

    @property
    def rates(self) -> Any:
        """(J - R) grad H + (G - P) u, (n, 1)."""
        return (self.J - self.R) * self.gradient + (self.G - self.P) * _column(self.inputs)

    @property
    def conjugates(self) -> Any:
        """y, (inputs, 1)."""
        return (self.G + self.P).T * self.gradient + (self.M + self.S) * _column(self.inputs)

    @property
    def _feeds_through(self) -> bool:
        return any(entry != 0 for matrix in (self.P, self.M, self.S) for entry in matrix)

    def __str__(self) -> str:
        equation = "x' = (J - R) grad H + G u, y = G^T grad H"
        if self._feeds_through:
            equation = "x' = (J - R) grad H + (G - P) u, y = (G + P)^T grad H + (M + S) u"
        said = [f"x = [{', '.join(self.states)}]", f"u = [{', '.join(self.inputs)}]", f"y = [{', '.join(self.outputs)}]"]
        parts = {"H": self.H, "J": self.J, "R": self.R, "G": self.G}
        parts |= {"P": self.P, "M": self.M, "S": self.S} if self._feeds_through else {}
        return plain_lines(Writing(self.letters, self.modes), "\n".join([equation, *said]), parts)

    def latex(self) -> str:
        """An `align*` environment with the equations, H and the matrices."""
        equation = r"\dot{x} &= (J - R)\,\nabla H + G\,u, \quad y = G^T\,\nabla H"
        if self._feeds_through:
            equation = r"\dot{x} &= (J - R)\,\nabla H + (G - P)\,u, \quad y = (G + P)^T\,\nabla H + (M + S)\,u"
        vectors = _vectors(self.letters, {"x": self.states, "u": self.inputs, "y": self.outputs})
        parts = {"H": self.H, "J": self.J, "R": self.R, "G": self.G}
        parts |= {"P": self.P, "M": self.M, "S": self.S} if self._feeds_through else {}
        return latex_lines(Writing(self.letters, self.modes), rf"{equation} \\ {vectors}", parts)


@short_repr
@dataclass(frozen=True)
class MechanicalEquations(Typeset):
    """M(q) v' + C(q, v) v + D v + grad V = H^T lambda + B u, with q' = E(q) v and, of constraints, H v' = gamma.

    M is symmetric positive definite, M' - 2 C skew-symmetric, and gamma = -H' v - alpha1 H v - alpha0 h - alpha2 h^3, Baumgarte's
    stabilisation of h(q) = 0. Velocities are those of the independent inertias; what others have follows from them.

    Sources: Featherstone, Rigid body dynamics algorithms (2008), section 2.2, 3; Baumgarte 1972.
    """

    name: str
    M: Any
    """Mass matrix, SymPy (n, n),"""
    C: Any
    """centrifugal, Coriolis and gyroscopic terms (n, n),"""
    D: Any
    """damping (n, n),"""
    grad_V: Any
    """generalised forces of potentials (n, 1),"""
    B: Any
    """where sources act (n, inputs),"""
    H: Any
    """constraint Jacobian (m, n), h' = H v,"""
    h: Any
    """what the constraints hold at zero (m, 1); of one without a position its symbol,"""
    gamma: Any
    """(m, 1),"""
    E: Any
    """kinematics q' = E v + drift, (coordinates, n),"""
    drift: Any
    """(coordinates, 1): zero, but for what keeps quaternions of poses at length 1."""
    T: Any
    """Kinetic energy, J."""
    V: Any
    """Potential energy, J."""
    q: tuple[str, ...]
    v: tuple[str, ...]
    u: tuple[str, ...]
    """What sources give, such as `motor.effort`."""
    values: Mapping[str, Any]
    """Input -> what its source makes it, in parameters, signals and time."""
    multipliers: tuple[str, ...]
    parameters: Mapping[str, float]
    """Every parameter that occurs -> its number."""
    letters: Mapping[str, str] = field(repr=False)
    """Name of a symbol -> its LaTeX."""

    @property
    def mass_matrix(self) -> Any:
        """Of the unknowns (v', lambda): [[M, -H^T], [H, 0]]; M where there are no constraints."""
        import sympy

        m = self.H.rows
        if not m:
            return self.M
        return sympy.Matrix.vstack(sympy.Matrix.hstack(self.M, -self.H.T), sympy.Matrix.hstack(self.H, sympy.zeros(m, m)))

    @property
    def forcing(self) -> Any:
        """Right side for these unknowns: (B u - C v - D v - grad V, gamma)."""
        import sympy

        v = _column(self.v)
        force = self.B * _column(self.u) - (self.C + self.D) * v - self.grad_V
        return sympy.Matrix.vstack(force, self.gamma) if self.H.rows else force

    @property
    def rates(self) -> Any:
        """q', (coordinates, 1)."""
        return self.E * _column(self.v) + self.drift

    @property
    def _drifts(self) -> bool:
        return any(entry != 0 for entry in self.drift)

    def __str__(self) -> str:
        held = ", H v' = gamma" if self.H.rows else ""
        right = " + ".join([*(["H^T lambda"] if self.H.rows else []), *(["B u"] if self.u else [])]) or "0"
        equation = f"M v' + C v + D v + grad V = {right}{held}, q' = E v" + (" + drift" if self._drifts else "")
        said = [f"q = [{', '.join(self.q)}]", f"v = [{', '.join(self.v)}]"]
        said += [f"u = [{', '.join(self.u)}]"] if self.u else []
        said += [f"lambda = [{', '.join(self.multipliers)}]"] if self.multipliers else []
        parts = {"M": self.M, "C": self.C, "D": self.D, "grad V": self.grad_V} | ({"B": self.B} if self.u else {})
        parts |= {"h": self.h, "H": self.H, "gamma": self.gamma} if self.H.rows else {}
        return plain_lines(
            Writing(self.letters),
            "\n".join([equation, *said]),
            parts | {"E": self.E} | ({"drift": self.drift} if self._drifts else {}),
        )

    def latex(self) -> str:
        """An `align*` environment with the equation and its matrices."""
        right = " + ".join([*([r"H^T \lambda"] if self.H.rows else []), *([r"B\,u"] if self.u else [])]) or "0"
        equation = rf"M \dot{{v}} + C\,v + D\,v + \nabla V &= {right}, \quad \dot{{q}} = E\,v"
        equation += r" + d" if self._drifts else ""
        equation += r", \quad H \dot{v} = \gamma" if self.H.rows else ""
        vectors = _vectors(self.letters, {"q": self.q, "v": self.v, "u": self.u, r"\lambda": self.multipliers})
        parts = {"M": self.M, "C": self.C, "D": self.D, r"\nabla V": self.grad_V, "B": self.B, "h": self.h, "H": self.H}
        parts |= {r"\gamma": self.gamma, "E": self.E}
        return latex_lines(
            Writing(self.letters), rf"{equation} \\ {vectors}", parts | ({"d": self.drift} if self._drifts else {})
        )


@short_repr
@dataclass(frozen=True)
class LagrangeEquations(Typeset):
    """d/dt(dL/dv) = E^T dL/dq + Q with L = T - V and q' = E v; Q are the forces of sources, dampers and constraints."""

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
    """The same in matrices."""
    letters: Mapping[str, str] = field(repr=False)

    def __str__(self) -> str:
        writing = Writing(self.letters)
        lines = ["d/dt (dL/dv) = E^T dL/dq + Q", f"L = {writing.plain(self.L)}"]
        for k, name in enumerate(self.mechanics.v):
            right = writing.plain(self.slopes[k] + self.Q[k])
            lines.append(f"{name}: d/dt ({writing.plain(self.p[k])}) = {right}")
        return "\n".join([*lines, *_held(self.mechanics, writing)])

    def latex(self) -> str:
        """An `align*` environment with L and one line for each velocity."""
        writing = Writing(self.letters)
        lines = [rf"L &= {writing.latex(self.L)}"]
        lines += [
            rf"\tfrac{{d}}{{dt}}\left({writing.latex(p)}\right) &= {writing.latex(slope + force)}"
            for p, slope, force in zip(self.p, self.slopes, self.Q, strict=True)
        ]
        return "\\begin{align*}\n" + " \\\\\n".join([*lines, *_held_latex(self.mechanics, writing)]) + "\n\\end{align*}\n"


@short_repr
@dataclass(frozen=True)
class HamiltonEquations(Typeset):
    """q' = E dH/dp, p' = -E^T dH/dq + Q; H = T + V in q and p, and Q are the forces of sources, dampers and constraints."""

    name: str
    H: Any
    """Hamiltonian, J, in q and p."""
    q_rates: Any
    """q', SymPy (coordinates, 1), in q and p."""
    p_rates: Any
    """p', (n, 1), in q, p, inputs and multipliers."""
    p: tuple[str, ...]
    mechanics: MechanicalEquations
    """The same in velocities and matrices."""
    letters: Mapping[str, str] = field(repr=False)

    def __str__(self) -> str:
        writing = Writing(self.letters)
        lines = [f"H = {writing.plain(self.H)}"]
        lines += [f"{name}' = {writing.plain(rate)}" for name, rate in zip(self.mechanics.q, self.q_rates, strict=True)]
        lines += [f"{name}' = {writing.plain(rate)}" for name, rate in zip(self.p, self.p_rates, strict=True)]
        return "\n".join([*lines, *_held(self.mechanics, writing)])

    def latex(self) -> str:
        """An `align*` environment with H and one line for each rate."""
        writing = Writing(self.letters)
        lines = [rf"\mathcal{{H}} &= {writing.latex(self.H)}"]
        for names, rates in ((self.mechanics.q, self.q_rates), (self.p, self.p_rates)):
            lines += [
                rf"{dotted(letter_of(self.letters, name))} &= {writing.latex(rate)}"
                for name, rate in zip(names, rates, strict=True)
            ]
        return "\\begin{align*}\n" + " \\\\\n".join([*lines, *_held_latex(self.mechanics, writing)]) + "\n\\end{align*}\n"


def _column(names: tuple[str, ...]) -> Any:
    import sympy

    return sympy.Matrix(len(names), 1, [sympy.Symbol(name, real=True) for name in names])


def _gradient(energy: Any, names: tuple[str, ...]) -> Any:
    import sympy

    return sympy.Matrix(len(names), 1, [sympy.diff(energy, symbol) for symbol in _column(names)])


def _vectors(letters: Mapping[str, str], vectors: Mapping[str, tuple[str, ...]]) -> str:
    """What the entries of vectors are, in one line."""
    shown = {letter: r",\, ".join(letter_of(letters, name) for name in names) for letter, names in vectors.items() if names}
    written = (rf"{letter} = \left[{entries}\right]" for letter, entries in shown.items())
    return "&" + r", \quad ".join(written)


def _held(mechanics: MechanicalEquations, writing: Writing) -> list[str]:
    return [f"0 = {writing.plain(h)}" for h in mechanics.h]


def _held_latex(mechanics: MechanicalEquations, writing: Writing) -> list[str]:
    return [rf"0 &= {writing.latex(h)}" for h in mechanics.h]
