"""SciPy's solvers on kernels: the fallback without machine code and the cross-check -> legs of a run."""

from __future__ import annotations

import functools
import time
from dataclasses import replace
from typing import Any

import numpy as np

from bondgraph.run.accuracy.reference.error_weights import RENEWALS, Weights
from bondgraph.run.accuracy.reference.natural_scales import UNDRIVEN, work_scales
from bondgraph.run.bound import Bound
from bondgraph.run.events.reference.grazing import Course, first_crossing
from bondgraph.run.samples import NextPage
from bondgraph.run.status import Status
from bondgraph.run.steppers.pages import Page
from bondgraph.run.steppers.segment import Effort, Integrator, Leg, Tolerances

NAMES = {"dop853": "DOP853", "radau": "Radau", "lsoda": "LSODA", "bdf": "BDF"}

_BUDGET = 2_000
"""Steps of a leg, after which the driver looks at the count of all steps."""


class ScipySolver(Integrator):
    """A solver of SciPy from event to event, step by step; each step is searched for guards that rise to zero."""

    def __init__(self, bound: Bound, method: str, tolerances: Tolerances, weights: Weights):
        self._bound, self._method, self._tolerances, self._weights = bound, method, tolerances, weights
        self._n, self._nq = bound.program.states, bound.quadratures
        self._atol = np.zeros(self._n + self._nq)
        self._effort = Effort()

    def restart(self, t: float, x: np.ndarray, q: np.ndarray, m: np.ndarray, levels: np.ndarray) -> None:
        self._t, self._y = t, np.concatenate([x, q])
        self._m, self._levels = m.copy(), levels.copy()
        self._weights.begin(t, x, q, m)
        self._passing = functools.cache(functools.partial(work_scales, self._bound, t, x.copy(), m.copy(), self._weights.known))
        self._weigh()

    def _weigh(self) -> None:
        """Into the array that SciPy compares errors with at each step (it adds rtol |y|)."""
        sizes = np.maximum(self._weights.size, self._weights.floor)
        if (unmeasured := ~(sizes[self._n :] > 0.0)).any():
            sizes[self._n :][unmeasured] = self._passing()[unmeasured]
        own = self._tolerances.relative * sizes
        self._atol[:] = np.maximum(own, UNDRIVEN)

    def _see(self, t: float, y: np.ndarray) -> None:
        """A step has led to y."""
        self._weights.see(y[: self._n])
        self._effort += Effort(steps=1, guards=min(len(self._levels), 1))
        if self._effort.steps in RENEWALS:
            self._weights.renew(t, np.ascontiguousarray(y[: self._n]), self._m)
        self._weigh()

    def _rates(self, t: float, y: np.ndarray) -> np.ndarray:
        x = np.ascontiguousarray(y[: self._n])
        rates = np.concatenate([self._bound.rates(t, x, self._m), self._bound.powers(t, x, self._m)])
        if not np.all(np.isfinite(rates)):
            raise _NotFinite(t)
        return rates

    def _guards_at(self, course: Course, times: np.ndarray) -> np.ndarray:
        """Guards (k, guards) at times (k,) of a course."""
        self._effort += Effort(guards=len(times))
        states = np.ascontiguousarray(course(times).T[:, : self._n])
        return np.array([self._bound.guards(t, x, self._m) for t, x in zip(times, states, strict=True)])

    def _jacobian(self, t: float, y: np.ndarray) -> np.ndarray:
        full = np.zeros((self._n + self._nq, self._n + self._nq))
        full[: self._n, : self._n] = self._bound.jacobian(t, np.ascontiguousarray(y[: self._n]), self._m)
        if not np.all(np.isfinite(full)):
            raise _NotFinite(t)
        return full

    def advance(self, times: np.ndarray, rows: np.ndarray, stop: float, following: NextPage | None = None) -> Leg:
        try:
            with np.errstate(all="ignore"):
                return self._advanced(times, Page(rows, self._m, following), stop)
        except _NotFinite as failure:
            return self._close_to(failure.args[0], times, rows, following)

    def _advanced(self, times: np.ndarray, page: Page, stop: float) -> Leg:
        # Rows are put down when the leg is through: where a rate is not finite, it is gone through again from its start.
        begin, reached, y, found = time.perf_counter(), self._t, self._y, [np.zeros((0, self._n + self._nq))]
        fired: tuple[int, ...] = ()
        status, reason, levels = Status.STOP, "", self._levels
        guards = self._bound.guards(reached, y[: self._n], self._m)
        solver, most = self._solver(stop), min(self._effort.steps + _BUDGET, self._tolerances.steps + 1)
        try:
            while solver.status == "running" and status == Status.STOP:
                message = solver.step()
                if solver.status == "failed":
                    status, reason = Status.NOT_FINITE, f"step too small: {message}"
                    break
                course, before, reached, y = solver.dense_output(), guards, solver.t, solver.y
                if len(levels):
                    guards = self._bound.guards(reached, np.ascontiguousarray(y[: self._n]), self._m)
                    look = functools.partial(self._guards_at, course)
                    crossing, levels = first_crossing(look, (solver.t_old, reached), (before, guards), levels)
                    if crossing is not None:
                        status, fired, reached = Status.EVENT, crossing.guards, crossing.time
                        y = course(reached)
                inside, times = np.split(times, [int(np.searchsorted(times, reached, side="right"))])
                if len(inside):
                    found.append(course(inside).T)
                self._see(reached, y)
                if status == Status.STOP and solver.status == "running" and self._effort.steps >= most:
                    status = Status.PAUSE
        finally:
            self._effort += Effort(rates=int(solver.nfev), jacobians=int(solver.njev), seconds=time.perf_counter() - begin)
        self._t, self._y, self._levels = float(reached), np.array(y), levels
        page.put(np.concatenate(found))
        return Leg(status, self._t, *self._ends(), page.written, fired, reason)

    def _ends(self) -> tuple[np.ndarray, np.ndarray]:
        return self._y[: self._n].copy(), self._y[self._n :].copy()

    def _solver(self, stop: float) -> Any:
        import scipy.integrate

        options: dict[str, Any] = {}
        # With quadratures SciPy's own difference quotients are used: their rows of the Jacobian are not compiled.
        if self._method != "dop853" and self._bound.program.jacobian is not None and not self._nq:
            options["jac"] = self._jacobian
        method = getattr(scipy.integrate, NAMES[self._method])
        relative = max(self._tolerances.relative, 3e-14)
        return method(
            self._rates, self._t, self._y, stop, rtol=relative, atol=self._atol, max_step=self._tolerances.max_step, **options
        )

    def _close_to(self, bad: float, times: np.ndarray, rows: np.ndarray, following: NextPage | None) -> Leg:
        """Go on in ever shorter legs to where the rates stop being finite, and end there."""
        if bad - self._t <= 1e-12 * max(abs(bad), self._tolerances.max_step):
            return Leg(
                Status.NOT_FINITE, self._t, *self._ends(), 0, reason="not finite: a rate, or a derivative of one, is not finite"
            )
        part = self.advance(times, rows, self._t + 0.7 * (bad - self._t), following)
        return replace(part, status=Status.PAUSE) if part.status == Status.STOP else part

    def effort(self) -> Effort:
        return self._effort


class _NotFinite(Exception):
    """A rate, or a derivative of one, that is not finite, at the time given."""
