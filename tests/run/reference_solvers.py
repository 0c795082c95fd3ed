"""Independent reference solvers for `compiled.ode()`: SciPy's, and CVODE if scikit-sundae is installed."""

from __future__ import annotations

import numpy as np
import pytest

from tests.inner.run import OdeFunctions, Program, ode_functions

SOLVERS = ("Radau", "BDF", "LSODA", "DOP853", "cvode")


def ode_of(program: Program, x, p, m=()) -> OdeFunctions:
    return ode_functions(program, 0.0, *(np.array(block, dtype=float) for block in (x, p, m)), sparse=False)


def solved_by(solver: str, ode: OdeFunctions, times, rtol: float = 1e-9, atol: float = 1e-12) -> np.ndarray:
    """Return states (samples, n) at ascending times, without events."""
    return by_cvode(ode, times, rtol, atol) if solver == "cvode" else by_scipy(ode, times, solver, rtol, atol)


def by_scipy(ode: OdeFunctions, times, method: str = "Radau", rtol: float = 1e-9, atol: float = 1e-12) -> np.ndarray:
    from scipy.integrate import solve_ivp

    options = {} if method == "DOP853" else {"jac": ode.jacobian}
    found = solve_ivp(ode.rates, (ode.t_start, times[-1]), ode.start, method, np.asarray(times), rtol=rtol, atol=atol, **options)
    assert found.success, found.message
    return found.y.T


def by_cvode(ode: OdeFunctions, times, rtol: float = 1e-9, atol: float = 1e-12) -> np.ndarray:
    cvode = pytest.importorskip("sksundae").cvode

    def rates(t, y, yp):
        yp[:] = ode.rates(t, y)

    def jacobian(t, y, yp, matrix):
        matrix[:, :] = ode.jacobian(t, y)

    solver = cvode.CVODE(rates, rtol=rtol, atol=atol, jacfn=jacobian, max_num_steps=1_000_000)
    found = solver.solve(np.concatenate([[ode.t_start], times]) if times[0] > ode.t_start else np.asarray(times), ode.start)
    assert found.success, found.message
    return found.y[-len(times) :]
