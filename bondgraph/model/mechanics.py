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
from bondgraph.output.short_repr import short_repr
from screws.linear import solve_spd
from screws.scalars import array

Formula = Callable[..., Any]


@short_repr
@dataclass(frozen=True)
class Mechanics:
    """The energies of a configuration, as its owner gave them: `inertia`(q, ...) or `kinetic`(q, v, ...) or both, `potential`(q,
    ...), and where they are not to be found by differentiation, `bias`(q, v, ...), the generalised force h of M v' + h + dV/dq
    = e, or `solution`(q, v, e, ...), its v' altogether."""

    inertia: Formula | None
    kinetic: Formula | None
    potential: Formula | None
    bias: Formula | None
    solution: Formula | None
    scalar: bool
    """Whether the formulas take and give scalars for the n = 1 coordinate, not arrays (1,)."""

    @property
    def owns_bias(self) -> bool:
        """Whether h is not that of the energies but its owner's, who may have added forces that take no power."""
        return self.bias is not None or self.solution is not None

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
        """h as its owner gave it, or gave v', (n,)."""
        if self.bias is not None:
            return self._list(self.bias, q, v, *others)
        return self._held(q, v, *others) - self.conservative_force(q, *others)

    def _held(self, q: Any, v: Any, *others: Any) -> Any:
        """h + dV/dq as its owner gave them, (n,): the effort that leaves the velocities as they are."""
        if self.bias is not None:
            return self.given_bias(q, v, *others) + self.conservative_force(q, *others)
        return -(self.mass(q, *others) @ self.acceleration(q, v, np.zeros(len(q)), *others))

    def kinetic_rate(self, q: Any, v: Any, a: Any, *others: Any) -> Any:
        """dT/dt, W, where q' = v and v' = a."""
        return _rates(lambda s: [self.kinetic_energy(q + s * v, v + s * a, *others)], (q, v, a, *others))[0]

    def potential_rate(self, q: Any, v: Any, *others: Any) -> Any:
        """dV/dt, W, where q' = v."""
        return 0.0 if self.potential is None else _rates(lambda s: [self._potential(q + s * v, *others)], (q, v, *others))[0]

    def coriolis(self, q: Any, v: Any, *others: Any) -> Any:
        """h = M' v - dT/dq, (n,): centrifugal and Coriolis forces."""
        slopes = partials(lambda at: [*self.momentum(at, v, *others), self.kinetic_energy(at, v, *others)], q, (v, *others))
        return slopes[:-1] @ v - slopes[-1]

    def momentum_rate(self, q: Any, v: Any, effort: Any, *others: Any) -> Any:
        """p' of Hamilton's equations, p' = e + dT/dq - dV/dq; dH/dq at constant p is -dT/dq at constant v."""
        return effort + self.own_momentum_rate(q, v, *others)

    def own_momentum_rate(self, q: Any, v: Any, *others: Any) -> Any:
        """p' without an effort from outside, dT/dq - dV/dq; and less what a bias of the owner's has beyond h."""
        if self.owns_bias:  # e = M v' + held, and p' = M v' + M' v
            return _rates(lambda s: self.momentum(q + s * v, v, *others), (q, v, *others)) - self._held(q, v, *others)
        slopes = partials(lambda at: [self.kinetic_energy(at, v, *others)], q, (v, *others))[0]
        return slopes - self.conservative_force(q, *others)

    def _given(self, x: Any) -> Any:
        return x[0] if self.scalar else x

    def _potential(self, q: Any, *others: Any) -> Any:
        assert self.potential is not None
        return self.potential(self._given(q), *others)

    def _list(self, formula: Formula, q: Any, v: Any, *others: Any) -> Any:
        found = formula(self._given(q), self._given(v), *others)
        return array([found]) if np.ndim(found) == 0 else found


def _rates(course: Callable[[Any], Sequence[Any]], others: Sequence[Any]) -> np.ndarray:
    """Slopes at 0 of some scalars along their course."""
    return partials(lambda s: list(course(s[0])), np.zeros(1), others)[:, 0]


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
