"""Lagrangian and Hamiltonian mechanics of a configuration: mass matrix, flow and rates from its energies, by gradients.

A configuration has n coordinates q, velocities v = q' and momenta p = M(q) v. Every formula here takes (n,) arrays, even for one
coordinate; `others` are parameters and signals, held constant in all derivatives.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bondgraph.model.ops import Op, sources_of
from bondgraph.output.short_repr import short_repr
from bondgraph.tape.differentiate import SparseJacobian, jacobian
from bondgraph.tape.interpret import interpreter
from bondgraph.tape.routine import Routine, listing
from bondgraph.tape.scalar import Tape, TapeScalar
from bondgraph.tape.specialise import substitute
from screws.linear import solve_spd
from screws.scalars import array, is_symbolic


def gradient(energy: Op) -> Op:
    """Return the operation (x, ...) -> d energy / dx, of the shape of x.

    The energy is written once, so the law is conservative by construction.
    """

    function = energy.function  # the only variable closed over, so that equal energies compare as equal formulas

    def formula(x: Any, *others: Any) -> Any:
        slopes = partials(lambda at: [function(at, *others)], x, others)[0]
        return _shaped(array(list(slopes)), x)

    formula.__dict__["__wrapped__"] = function  # messages name the arguments of the user's formula
    latex = r"\nabla_{#1}\left(" + energy.latex + r"\right)" if energy.latex else ""
    return Op(f"gradient of {energy.name}", formula, latex, sources_of(energy), energy.note)


def partials(formula: Callable[[Any], Sequence[Any]], x: Any, others: Sequence[Any] = ()) -> np.ndarray:
    """Return partial derivatives (m, n) of the m scalars of `formula`(x) with respect to the n entries of x.

    Other values in the formula, `others`, are treated as constant, even if they depend on x. Scalars of a tape are
    differentiated on that tape, SymPy expressions symbolically, and floats on a temporary tape. Scalars of other types have a
    method `__partials__(formula, x, others)`.
    """
    tape, is_symbolic = tape_and_symbols(x, others)
    if tape is not None:
        return _on_tape(tape, formula, x)
    foreign = next((s for s in _flat(x, others) if hasattr(s, "__partials__")), None)
    if foreign is not None:
        return foreign.__partials__(formula, x, others)
    return _symbolic(formula, x) if is_symbolic else _in_floats(formula, x)


def tape_and_symbols(x: Any, others: Sequence[Any]) -> tuple[Tape | None, bool]:
    scalars = _flat(x, others)
    tape = next((s.tape for s in scalars if isinstance(s, TapeScalar)), None)
    return tape, tape is None and any(is_symbolic(s) for s in scalars)


def _flat(x: Any, others: Sequence[Any]) -> list[Any]:
    return [*np.asarray(x, dtype=object).flat, *(s for other in others for s in np.asarray(other, dtype=object).flat)]


def _shaped(scalars: np.ndarray, x: Any) -> Any:
    return scalars.reshape(np.shape(x)) if np.shape(x) else scalars[0]


def _on_tape(tape: Tape, formula: Callable[[Any], Sequence[Any]], x: Any) -> np.ndarray:
    """Differentiate at new inputs of the tape, and substitute x for these inputs, so that only x itself varies."""
    inputs, sparse = _differentiated(tape, f"place {len(tape.blocks)}", formula, x)
    actual = [tape.scalar(s).index for s in np.asarray(x, dtype=object).flat]
    slopes = substitute(tape, sparse.values, {p.index: a for p, a in zip(inputs, actual, strict=True)})
    return replace(sparse, values=slopes).dense()


def _in_floats(formula: Callable[[Any], Sequence[Any]], x: Any) -> np.ndarray:
    tape = Tape()
    inputs, sparse = _differentiated(tape, "x", formula, x)
    slopes = np.empty(len(sparse.values))
    routine = Routine("gradient", tape, (("x", len(inputs)),), sparse.values)
    interpreter(listing(routine))((np.ravel(np.asarray(x, dtype=float)),), slopes)
    return replace(sparse, values=tuple(slopes)).dense().astype(float)


def _differentiated(tape: Tape, block: str, formula: Callable[[Any], Sequence[Any]], x: Any) -> tuple[np.ndarray, SparseJacobian]:
    inputs = tape.inputs(block, max(np.size(x), 1))
    return inputs, jacobian(list(formula(_shaped(inputs, x))), list(inputs))


def _symbolic(formula: Callable[[Any], Sequence[Any]], x: Any) -> np.ndarray:
    sympy = sys.modules["sympy"]
    symbols = np.array([sympy.Dummy(f"x{k}", real=True) for k in range(max(np.size(x), 1))], dtype=object)
    values = [sympy.S(value) for value in formula(_shaped(symbols, x))]
    swap = dict(zip(symbols, np.asarray(x, dtype=object).flat, strict=True))
    rows = [[sympy.diff(value, symbol).subs(swap) for symbol in symbols] for value in values]
    return np.array(rows, dtype=object)


Formula = Callable[..., Any]


@short_repr
@dataclass(frozen=True)
class Mechanics:
    """User's energies of a configuration: `inertia`(q, ...) or `kinetic`(q, v, ...) or both, `potential`(q, ...); to avoid
    differentiation, also `bias`(q, v, ...), the generalised force h of M v' + h + dV/dq = e, or `solution`(q, v, e, ...), which
    gives v'."""

    inertia: Formula | None
    kinetic: Formula | None
    potential: Formula | None
    bias: Formula | None
    solution: Formula | None
    scalar: bool
    """True if the formulas take and return scalars for n = 1 coordinate, not arrays (1,)."""

    @property
    def has_user_bias(self) -> bool:
        """True if the user gave h, which may include forces that the energies do not imply."""
        return self.bias is not None or self.solution is not None

    def mass(self, q: Any, *others: Any) -> np.ndarray:
        if self.inertia is not None:
            return _matrix(self.inertia(self._user_form(q), *others), len(q))
        zero = np.zeros(len(q))
        return partials(lambda v: self.momentum(q, v, *others), zero, (q, *others))

    def momentum(self, q: Any, v: Any, *others: Any) -> Any:
        """Return p = dT/dv, (n,)."""
        if self.inertia is not None:
            return self.mass(q, *others) @ v
        return partials(lambda at: [self.kinetic_energy(q, at, *others)], v, (q, *others))[0]

    def kinetic_energy(self, q: Any, v: Any, *others: Any) -> Any:
        if self.kinetic is not None:
            return self.kinetic(self._user_form(q), self._user_form(v), *others)
        return (v @ (self.mass(q, *others) @ v)) / 2

    def energy(self, q: Any, v: Any, *others: Any) -> Any:
        stored = self.kinetic_energy(q, v, *others)
        return stored if self.potential is None else stored + self._potential(q, *others)

    def velocity(self, q: Any, p: Any, *others: Any) -> Any:
        return solve_spd(self.mass(q, *others), p)

    def conservative_force(self, q: Any, *others: Any) -> Any:
        """Return dV/dq, (n,)."""
        if self.potential is None:
            return np.zeros(len(q))
        return partials(lambda at: [self._potential(at, *others)], q, others)[0]

    def acceleration(self, q: Any, v: Any, effort: Any, *others: Any) -> Any:
        """Return v' of Lagrange's equations, M v' + h + dV/dq = e."""
        if self.solution is not None:
            return self._list(self.solution, q, v, self._user_form(effort), *others)
        h = self.coriolis(q, v, *others) if self.bias is None else self.given_bias(q, v, *others)
        return solve_spd(self.mass(q, *others), effort - h - self.conservative_force(q, *others))

    def given_bias(self, q: Any, v: Any, *others: Any) -> Any:
        """Return the user's h, or h from the user's v', (n,)."""
        if self.bias is not None:
            return self._list(self.bias, q, v, *others)
        return self._holding_effort(q, v, *others) - self.conservative_force(q, *others)

    def _holding_effort(self, q: Any, v: Any, *others: Any) -> Any:
        """Return the user's h + dV/dq, (n,): the effort at constant velocities."""
        if self.bias is not None:
            return self.given_bias(q, v, *others) + self.conservative_force(q, *others)
        return -(self.mass(q, *others) @ self.acceleration(q, v, np.zeros(len(q)), *others))

    def kinetic_rate(self, q: Any, v: Any, a: Any, *others: Any) -> Any:
        """Return dT/dt (W), where q' = v and v' = a."""
        return _rates(lambda s: [self.kinetic_energy(q + s * v, v + s * a, *others)], (q, v, a, *others))[0]

    def potential_rate(self, q: Any, v: Any, *others: Any) -> Any:
        """Return dV/dt (W), where q' = v."""
        return 0.0 if self.potential is None else _rates(lambda s: [self._potential(q + s * v, *others)], (q, v, *others))[0]

    def coriolis(self, q: Any, v: Any, *others: Any) -> Any:
        """Return h = M' v - dT/dq, (n,): centrifugal and Coriolis forces."""
        slopes = partials(lambda at: [*self.momentum(at, v, *others), self.kinetic_energy(at, v, *others)], q, (v, *others))
        return slopes[:-1] @ v - slopes[-1]

    def momentum_rate(self, q: Any, v: Any, effort: Any, *others: Any) -> Any:
        """Return p' = e - dH/dq of Hamilton's equations, which is e + dT/dq - dV/dq with dT/dq at constant v."""
        return effort + self.own_momentum_rate(q, v, *others)

    def own_momentum_rate(self, q: Any, v: Any, *others: Any) -> Any:
        """Return p' without an external effort: dT/dq - dV/dq, or M' v - h - dV/dq with the user's h."""
        if self.has_user_bias:  # e = M v' + h + dV/dq, and p' = M v' + M' v
            return _rates(lambda s: self.momentum(q + s * v, v, *others), (q, v, *others)) - self._holding_effort(q, v, *others)
        slopes = partials(lambda at: [self.kinetic_energy(at, v, *others)], q, (v, *others))[0]
        return slopes - self.conservative_force(q, *others)

    def _user_form(self, x: Any) -> Any:
        return x[0] if self.scalar else x

    def _potential(self, q: Any, *others: Any) -> Any:
        assert self.potential is not None
        return self.potential(self._user_form(q), *others)

    def _list(self, formula: Formula, q: Any, v: Any, *others: Any) -> Any:
        values = formula(self._user_form(q), self._user_form(v), *others)
        return array([values]) if np.ndim(values) == 0 else values


def _rates(path: Callable[[Any], Sequence[Any]], others: Sequence[Any]) -> np.ndarray:
    """Return the derivatives at 0 of the scalars along a path."""
    return partials(lambda s: list(path(s[0])), np.zeros(1), others)[:, 0]


def on_bond(mechanics: Mechanics, method: Formula, vectors: int) -> Formula:
    """Return a method for a bond of any dimension: its first `vectors` arguments, and its result, are scalars if n = 1.

    The method closes over the user's formulas, not over the record, so that equal methods compare equal.
    """
    m = mechanics
    fields = (m.inertia, m.kinetic, m.potential, m.bias, m.solution, m.scalar)

    def wrapped(*arguments: Any) -> Any:
        scalar = np.ndim(arguments[0]) == 0
        arrays = [array([a]) if scalar else a for a in arguments[:vectors]]
        result = method(Mechanics(*fields), *arrays, *arguments[vectors:])
        return result if np.ndim(result) == 0 else result[0] if scalar else array(list(result))

    return wrapped


def _matrix(inertia: Any, n: int) -> np.ndarray:
    shape = np.shape(inertia)
    if shape == (n, n):
        return np.asarray(inertia)
    if shape not in ((), (n,)):
        raise ValueError(f"the inertia has shape {shape}, but needs (), ({n},) or ({n}, {n})")
    matrix = np.full((n, n), 0.0, dtype=object)
    for i in range(n):
        matrix[i, i] = inertia[i] if shape else inertia
    return matrix
