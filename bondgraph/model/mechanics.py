"""Mechanics of configuration: kinetic and potential energy -> mass matrix, flow and rates, for any scalar.

A configuration has n coordinates q, velocities v = q' and momenta p = M(q) v. Every formula here takes (n,) arrays, of n = 1 too;
`others` are parameters and signals, held constant in all derivatives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bondgraph.model.gradient import partials
from screws.linear import solve_spd
from screws.scalars import array

Formula = Callable[..., Any]


@dataclass(frozen=True)
class Mechanics:
    """The energies of a configuration, as its owner gave them: `inertia`(q, ...) or `kinetic`(q, v, ...), `potential`(q, ...),
    and where they are not to be found by differentiation, `bias`(q, v, ...), the generalised force h of M v' + h + dV/dq = e, or
    `solution`(q, v, e, ...), its v' altogether."""

    inertia: Formula | None
    kinetic: Formula | None
    potential: Formula | None
    bias: Formula | None
    solution: Formula | None
    scalar: bool
    """Whether the formulas take and give scalars for the n = 1 coordinate, not arrays (1,)."""

    def mass(self, q: Any, *others: Any) -> np.ndarray:
        """M(q), (n, n)."""
        if self.inertia is not None:
            return _matrix(self.inertia(self._given(q), *others), len(q))
        zero = np.zeros(len(q))
        return partials(lambda v: self.momentum(q, v, *others), zero, (q, *others))

    def momentum(self, q: Any, v: Any, *others: Any) -> Any:
        """p = dT/dv, (n,)."""
        if self.inertia is not None:
            return self.mass(q, *others) @ v
        return partials(lambda at: [self.kinetic_energy(q, at, *others)], v, (q, *others))[0]

    def kinetic_energy(self, q: Any, v: Any, *others: Any) -> Any:
        """T(q, v), J."""
        if self.kinetic is not None:
            return self.kinetic(self._given(q), self._given(v), *others)
        return (v @ (self.mass(q, *others) @ v)) / 2

    def energy(self, q: Any, v: Any, *others: Any) -> Any:
        """T + V, J."""
        stored = self.kinetic_energy(q, v, *others)
        return stored if self.potential is None else stored + self._potential(q, *others)

    def velocity(self, q: Any, p: Any, *others: Any) -> Any:
        """v = M^-1 p, (n,)."""
        return solve_spd(self.mass(q, *others), p)

    def conservative_force(self, q: Any, *others: Any) -> Any:
        """dV/dq, (n,)."""
        if self.potential is None:
            return np.zeros(len(q))
        return partials(lambda at: [self._potential(at, *others)], q, others)[0]

    def acceleration(self, q: Any, v: Any, effort: Any, *others: Any) -> Any:
        """v' of Lagrange's equations, M v' + h + dV/dq = e."""
        if self.solution is not None:
            return self._list(self.solution, q, v, self._given(effort), *others)
        h = self.coriolis(q, v, *others) if self.bias is None else self.given_bias(q, v, *others)
        return solve_spd(self.mass(q, *others), effort - h - self.conservative_force(q, *others))

    def given_bias(self, q: Any, v: Any, *others: Any) -> Any:
        """h as its owner gave it, (n,)."""
        assert self.bias is not None
        return self._list(self.bias, q, v, *others)

    def kinetic_rate(self, q: Any, v: Any, a: Any, *others: Any) -> Any:
        """dT/dt, W, where q' = v and v' = a."""
        return _rate(lambda s: self.kinetic_energy(q + s * v, v + s * a, *others), (q, v, a, *others))

    def potential_rate(self, q: Any, v: Any, *others: Any) -> Any:
        """dV/dt, W, where q' = v."""
        return 0.0 if self.potential is None else _rate(lambda s: self._potential(q + s * v, *others), (q, v, *others))

    def coriolis(self, q: Any, v: Any, *others: Any) -> Any:
        """h = M' v - dT/dq, (n,): centrifugal and Coriolis forces."""
        slopes = partials(lambda at: [*self.momentum(at, v, *others), self.kinetic_energy(at, v, *others)], q, (v, *others))
        return slopes[:-1] @ v - slopes[-1]

    def momentum_rate(self, q: Any, v: Any, effort: Any, *others: Any) -> Any:
        """p' of Hamilton's equations, p' = e + dT/dq - dV/dq; dH/dq at constant p is -dT/dq at constant v."""
        return effort + self.own_momentum_rate(q, v, *others)

    def own_momentum_rate(self, q: Any, v: Any, *others: Any) -> Any:
        """p' without an effort from outside, dT/dq - dV/dq; and less what a bias of the owner's has beyond h."""
        slopes = partials(lambda at: [self.kinetic_energy(at, v, *others)], q, (v, *others))[0]
        own = slopes - self.conservative_force(q, *others)
        return own if self.bias is None else own + self.coriolis(q, v, *others) - self.given_bias(q, v, *others)

    def _given(self, x: Any) -> Any:
        return x[0] if self.scalar else x

    def _potential(self, q: Any, *others: Any) -> Any:
        assert self.potential is not None
        return self.potential(self._given(q), *others)

    def _list(self, formula: Formula, q: Any, v: Any, *others: Any) -> Any:
        found = formula(self._given(q), self._given(v), *others)
        return array([found]) if np.ndim(found) == 0 else found


def _rate(course: Callable[[Any], Any], others: Sequence[Any]) -> Any:
    """Slope at 0 of a scalar along its course."""
    return partials(lambda s: [course(s[0])], np.zeros(1), others)[0, 0]


def on_bond(mechanics: Mechanics, method: Formula, vectors: int) -> Formula:
    """A method for a bond of any dimension: its first `vectors` arguments, and its result, are scalars where n = 1.

    It closes over the user's formulas, not over the record, so that equal ones are known as the same.
    """
    own = mechanics
    given = (own.inertia, own.kinetic, own.potential, own.bias, own.solution, own.scalar)

    def wrapped(*arguments: Any) -> Any:
        scalar = np.ndim(arguments[0]) == 0
        own = [array([a]) if scalar else a for a in arguments[:vectors]]
        found = method(Mechanics(*given), *own, *arguments[vectors:])
        return found if np.ndim(found) == 0 else found[0] if scalar else array(list(found))

    return wrapped


def _matrix(given: Any, n: int) -> np.ndarray:
    """A mass matrix (n, n) from a number, a diagonal (n,) or a matrix."""
    shape = np.shape(given)
    if shape == (n, n):
        return np.asarray(given)
    if shape not in ((), (n,)):
        raise ValueError(f"the inertia has shape {shape}, and needs (), ({n},) or ({n}, {n})")
    matrix = np.full((n, n), 0.0, dtype=object)
    for i in range(n):
        matrix[i, i] = given[i] if shape else given
    return matrix
