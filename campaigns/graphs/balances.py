"""Lagrange's and Hamilton's equations of an IC by finite differences of its energies: M a + M' v - d(T - V)/dq = e."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bondgraph.model.mechanics import Mechanics

WIDTH = 3e-4
"""Step of the finite differences, relative to the varied number or 1, whichever is larger."""


def slopes(formula: Callable[[np.ndarray], np.ndarray], x: np.ndarray) -> np.ndarray:
    """Return d formula / dx (m, n) by central differences of fourth order."""
    columns = []
    for k in range(len(x)):
        step = np.zeros(len(x))
        step[k] = WIDTH * max(1.0, abs(x[k]))
        near, far = (np.atleast_1d(formula(x + s * step) - formula(x - s * step)) for s in (1, 2))
        columns.append((8.0 * near - far) / (12.0 * step[k]))
    return np.array(columns).T if columns else np.zeros((0, 0))


@dataclass(frozen=True)
class Balances:
    """Balances of n coordinates; `sign` is +1 if the half arrow points in, and -1 otherwise."""

    mechanics: Mechanics
    n: int
    sign: int

    def of_velocity(self, a: Any, q: Any, v: Any, effort: Any, *others: Any) -> np.ndarray:
        """Return M a + M' v - d(T - V)/dq - sign e, zero for the acceleration a."""
        a, q, v = (np.atleast_1d(given) for given in (a, q, v))
        turning, push = self._forces(q, v, others)
        return self.mass(q, others) @ a + turning - push - self.sign * np.atleast_1d(effort)

    def of_momentum(self, rate: Any, q: Any, v: Any, effort: Any, *others: Any) -> np.ndarray:
        """Return p' - d(T - V)/dq - sign e."""
        rate, q, v = (np.atleast_1d(given) for given in (rate, q, v))
        return rate - self._forces(q, v, others)[1] - self.sign * np.atleast_1d(effort)

    def momentum(self, p: Any, q: Any, v: Any, *others: Any) -> np.ndarray:
        return np.atleast_1d(p) - self.mass(np.atleast_1d(q), others) @ np.atleast_1d(v)

    def mass(self, q: np.ndarray, others: Sequence[Any]) -> np.ndarray:
        """Return M (n, n): as given, or from T(q, v), which is quadratic in v."""
        if self.mechanics.inertia is not None:
            found = np.asarray(self.mechanics.inertia(self._given(q), *others), dtype=float)
            return found if found.ndim == 2 else found * np.eye(self.n) if found.ndim == 0 else np.diag(found)
        one, kinetic = np.eye(self.n), self.mechanics.kinetic
        assert kinetic is not None

        def energy(v: np.ndarray) -> float:
            return float(kinetic(self._given(q), self._given(v), *others))

        single = [energy(u) for u in one]
        return np.array([[energy(a + b) - single[i] - single[j] for j, b in enumerate(one)] for i, a in enumerate(one)])

    def _forces(self, q: np.ndarray, v: np.ndarray, others: Sequence[Any]) -> tuple[np.ndarray, np.ndarray]:
        slope = slopes(lambda at: self.mass(at, others).ravel(), q).reshape(self.n, self.n, self.n)
        push, potential = np.einsum("ijk,i,j->k", slope, v, v) / 2, self.mechanics.potential
        if potential is not None:
            push = push - slopes(lambda at: np.atleast_1d(potential(self._given(at), *others)), q)[0]
        return np.einsum("ijk,j,k->i", slope, v, v), push

    def _given(self, x: np.ndarray) -> Any:
        return x[0] if self.mechanics.scalar else x
