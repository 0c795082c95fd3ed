"""Damped Newton iteration for square, under- and overdetermined equations.

A step is accepted by the natural monotonicity test, which does not depend on the scaling of the equations. If the Jacobian is
singular, the shortest step is taken or, with `conserve`, one that keeps conserved quantities if possible.

References
----------
P. Deuflhard, "Newton Methods for Nonlinear Problems", Springer (2011), sections 3.3 and 4.3.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bondgraph.run.algebraic_loops import SUFFICIENT_DECREASE

_RANK = 1e-10
_MAX_DENSE = 3000
_MIN_DAMPING = 2.0**-60
_ROUNDING, _MIN_TERMS = 1e-14, 1e-13
"""Largest residual that may be rounding error, and size added to an equation's terms, which vanish if its unknowns are zero; both
are relative to the terms at |z| + nominal."""


@dataclass(frozen=True, eq=False)
class NewtonResult:
    """Result of the Newton iteration.

    Parameters
    ----------
    z : unknowns.
    residual : residual of the equations at z.
    converged : True if the last step was below the tolerance and the residual is small relative to its terms.
    iterations : number of steps.
    history : size of each undamped step, relative to |z| + nominal.
    rank : rank of the Jacobian at the last step.
    free : (unknowns, deficiency) directions that the equations do not determine, in units of |z| + nominal.
    """

    z: np.ndarray
    residual: np.ndarray
    converged: bool
    iterations: int
    history: tuple[float, ...]
    rank: int
    free: np.ndarray


@dataclass(frozen=True, eq=False)
class _Solver:
    step: Callable[[np.ndarray], np.ndarray]
    rank: int
    free: np.ndarray


def _factorised(jacobian: Any, scale: np.ndarray, conserve: bool) -> _Solver:
    rows, columns = jacobian.shape
    none = np.zeros((columns, 0))
    if hasattr(jacobian, "toarray") and rows == columns:
        from scipy.sparse import csc_array, diags_array
        from scipy.sparse.linalg import splu

        scaled = csc_array(jacobian @ diags_array(scale))
        try:
            lu = splu(scaled)
        except RuntimeError:  # exactly singular
            lu = None
        pivots = np.abs(lu.U.diagonal()) if lu is not None else np.zeros(1)
        if lu is not None and pivots.min() > 1e-14 * pivots.max():
            return _Solver(lambda r: scale * -lu.solve(r), rows, none)
    if columns > _MAX_DENSE:
        raise np.linalg.LinAlgError(f"the Jacobian of {columns} unknowns is singular or not square")
    dense = jacobian.toarray() if hasattr(jacobian, "toarray") else np.asarray(jacobian)
    dense = dense * scale
    size = np.linalg.norm(dense, axis=1)
    size[size == 0.0] = 1.0
    width = np.linalg.norm(dense / size[:, None], axis=0)
    if np.all(width > 0.0):
        # with unit columns, widely different scales do not look like a rank deficiency; free directions need true lengths
        u, s, vt = np.linalg.svd(dense / size[:, None] / width, full_matrices=False)
        if len(s) == columns and s.min(initial=1.0) > _RANK * s.max(initial=0.0):
            inverse = (vt.T / s) @ u.T
            return _Solver(lambda r: -scale * (inverse @ (r / size)) / width, columns, none)
    u, s, vt = np.linalg.svd(dense / size[:, None])
    rank = int(np.sum(s > _RANK * s.max(initial=0.0)))
    short = (vt[:rank].T / s[:rank]) @ u[:, :rank].T
    free = vt[rank:].T
    weight = (u[:, rank:].T / size) * scale if conserve and rows == columns else np.zeros((0, columns))

    def step(r: np.ndarray) -> np.ndarray:
        dz = -(short @ (r / size))
        if len(weight):
            # these combinations of the rates vanish, so the same combinations of the states are conserved; hold them if
            # possible
            move, *_ = np.linalg.lstsq(weight @ free, -(weight @ dz), rcond=_RANK)
            moved = dz + free @ move
            if np.linalg.norm(weight @ moved) <= 1e-8 * np.linalg.norm(weight) * np.linalg.norm(dz):
                dz = moved
        return scale * dz

    return _Solver(step, rank, free)


def newton(
    equations: Callable[[np.ndarray], tuple[np.ndarray, Any]],
    start: np.ndarray,
    nominal: np.ndarray,
    tolerance: float,
    iterations: int,
    conserve: bool = False,
) -> NewtonResult:
    """Solve equations(z) = 0, where `equations` returns the residual (k,) and the Jacobian (k, n), dense or sparse.

    With `conserve`, equation i is the rate of unknown i, and combinations of rates that vanish identically are conserved.
    Raises `numpy.linalg.LinAlgError` if the Jacobian of more than 3000 unknowns is dense, singular or not square.
    """
    z = np.array(start, dtype=float)
    residual, jacobian = equations(z)
    history: list[float] = []
    damping = 1.0
    solver = _factorised(jacobian, nominal + np.abs(z), conserve)

    def result(stuck: bool) -> NewtonResult:
        small = _is_small(residual, abs(jacobian) @ (nominal + np.abs(z)), tolerance)
        return NewtonResult(z, residual, small and not stuck, len(history), tuple(history), solver.rank, solver.free)

    for _ in range(iterations):
        scale = nominal + np.abs(z)
        step = solver.step(residual)
        length = float(np.sqrt(np.mean((step / scale) ** 2))) if len(step) else 0.0
        history.append(length)
        if length <= tolerance:
            z = z + step
            residual, jacobian = equations(z)
            return result(stuck=False)
        damping = min(1.0, 4.0 * damping)
        while True:
            trial = z + damping * step
            trial_residual, trial_jacobian = equations(trial)
            good = bool(np.all(np.isfinite(trial_residual)) and np.all(np.isfinite(_numbers(trial_jacobian))))
            if good:
                simplified = solver.step(trial_residual)
                next_length = float(np.sqrt(np.mean((simplified / scale) ** 2)))
                if next_length <= (1.0 - SUFFICIENT_DECREASE * damping) * length or (damping == 1.0 and next_length <= tolerance):
                    break
            damping *= 0.5
            if damping < _MIN_DAMPING:
                return result(stuck=True)
        z, residual, jacobian = trial, trial_residual, trial_jacobian
        solver = _factorised(jacobian, nominal + np.abs(z), conserve)
    return result(stuck=True)


def _is_small(residual: np.ndarray, terms: np.ndarray, tolerance: float) -> bool:
    return bool(np.all(np.abs(residual) <= max(1e3 * tolerance, 1e-9) * (terms + 1e-300)))


def newton_in_own_units(
    equations: Callable[[np.ndarray], tuple[np.ndarray, Any]],
    start: np.ndarray,
    nominal: np.ndarray,
    tolerance: float,
    iterations: int,
    conserve: bool,
    sizes: Callable[[np.ndarray], np.ndarray],
) -> NewtonResult:
    """Solve as `newton` does, and continue in smaller units if a step is small only relative to `nominal`: the equations of a
    capacitor behind a diode are far from balanced even if the charge changes by only 1e-14 C.

    Parameters
    ----------
    sizes : sizes (k,) of the terms of the equations at z, including sources, which do not depend on z.
    """
    solution = first = newton(equations, start, nominal, tolerance, iterations, conserve)
    scale, history = nominal, first.history
    while solution.converged:
        size = np.maximum(np.abs(solution.z), np.abs(start))
        slopes = abs(equations(solution.z)[1])
        terms, rounding = slopes @ size, slopes @ (nominal + size)
        if any(
            _is_small(solution.residual, each + _MIN_TERMS * rounding, tolerance) for each in (terms, terms + sizes(solution.z))
        ):
            return replace(solution, history=history, iterations=len(history))
        smaller = np.where(size > 0.0, np.minimum(size, scale), scale)
        if len(history) >= iterations or not np.any(smaller < 0.5 * scale):
            break
        start, scale = solution.z, smaller
        solution = newton(equations, start, scale, tolerance, iterations - len(history), conserve)
        history += solution.history
    slopes = abs(equations(first.z)[1])
    is_rounding = np.all(np.abs(first.residual) <= _ROUNDING * (slopes @ (nominal + np.abs(first.z))))
    return first if is_rounding else replace(first, converged=False, history=history, iterations=len(history))


def _numbers(jacobian: Any) -> np.ndarray:
    return jacobian.data if hasattr(jacobian, "toarray") else jacobian


def least_change(matrix: Any, right: np.ndarray, scale: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return X (n, k) with matrix @ X = -right, where conserved quantities keep their values, and a mask (k,) of the columns in
    which this equation holds."""
    solver = _factorised(matrix, scale, conserve=True)
    columns = [solver.step(column) for column in right.T]
    x = np.array(columns).T.reshape(right.shape)
    # for a state that does not change, the changes of other states are the scale
    reach = scale[:, None] * np.max(np.abs(x) / scale[:, None], axis=0, initial=0.0)
    terms = abs(matrix) @ reach + np.abs(right)
    return x, np.all(np.abs(matrix @ x + right) <= 1e-8 * np.maximum(terms, 1e-300), axis=0)
