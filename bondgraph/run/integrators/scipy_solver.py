"""SciPy's `solve_ivp` on kernels: the fallback without machine code and the cross-check -> legs of a run."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from bondgraph.run.bound import Bound
from bondgraph.run.error_control.weights import RENEWALS, Weights
from bondgraph.run.integrators import leg as legs
from bondgraph.run.integrators.leg import Effort, Leg, Tolerances
from bondgraph.run.switching.grazing import hidden_crossing

NAMES = {"dop853": "DOP853", "radau": "Radau", "lsoda": "LSODA", "bdf": "BDF"}


class ScipySolver:
    """`solve_ivp` from event to event, with event functions from the guards."""

    def __init__(self, bound: Bound, method: str, tolerances: Tolerances, weights: Weights):
        self._bound, self._method, self._tolerances, self._weights = bound, method, tolerances, weights
        self._n, self._nq = bound.program.states, bound.quadratures
        self._guards = self._stepped = 0
        self._atol = np.zeros(self._n + self._nq)
        self._seconds = 0.0
        self._total = Effort()

    def restart(self, t: float, x: np.ndarray, q: np.ndarray, m: np.ndarray, levels: np.ndarray) -> None:
        """Begin a leg (see `leg.Integrator`)."""
        self._t, self._y = t, np.concatenate([x, q])
        self._m, self._levels = m.copy(), levels.copy()
        self._weights.begin(t, x, q, m)
        # Where nothing is stored, no energy tells what an error of work is small beside: then what flows now does, over the run.
        with np.errstate(all="ignore"):
            flowing = self._bound.span * np.abs(self._bound.powers(t, x, m))
        self._passing = np.where(np.isfinite(flowing), flowing, 0.0)
        self._weigh()

    def _weigh(self) -> None:
        """Into the array that SciPy compares errors with at each step (it adds rtol |y|)."""
        sizes = np.maximum(self._weights.size, self._weights.floor)
        sizes[self._n :] = np.where(sizes[self._n :] > 0.0, sizes[self._n :], self._passing)
        own = self._tolerances.relative * sizes
        # What nothing drives has no error: zero over something.
        self._atol[:] = np.maximum(own, np.finfo(float).tiny)

    def _after_step(self, t: float, y: np.ndarray) -> float:
        """Given to SciPy as an event that never fires, and so called after each step."""
        self._weights.see(y[: self._n])
        self._stepped += 1
        if self._stepped in RENEWALS:
            self._weights.renew(t, np.ascontiguousarray(y[: self._n]), self._m)
        self._weigh()
        return 1.0

    def _rates(self, t: float, y: np.ndarray) -> np.ndarray:
        x = np.ascontiguousarray(y[: self._n])
        with np.errstate(all="ignore"):
            rates = np.concatenate([self._bound.rates(t, x, self._m), self._bound.powers(t, x, self._m)])
        if not np.all(np.isfinite(rates)):
            raise _NotFinite(t)
        return rates

    def _guard(self, index: int) -> Any:
        def guard(t: float, y: np.ndarray) -> float:
            self._guards += 1
            value = float(self._bound.guards(t, np.ascontiguousarray(y[: self._n]), self._m)[index])
            if value < -abs(self._levels[index]):
                self._levels[index] = 0.0
            return value - float(self._levels[index])

        guard.terminal = True  # type: ignore[attr-defined]
        guard.direction = 1.0  # type: ignore[attr-defined]
        return guard

    def _guards_at(self, times: np.ndarray, states: np.ndarray) -> np.ndarray:
        """Guards (k, guards) at times (k,) and the states there, (n + quadratures, k)."""
        self._guards += len(times)
        return np.array(
            [self._bound.guards(t, np.ascontiguousarray(y[: self._n]), self._m) for t, y in zip(times, states.T, strict=True)]
        )

    def _jacobian(self, t: float, y: np.ndarray) -> np.ndarray:
        full = np.zeros((self._n + self._nq, self._n + self._nq))
        full[: self._n, : self._n] = self._bound.jacobian(t, np.ascontiguousarray(y[: self._n]), self._m)
        return full

    def advance(self, times: np.ndarray, rows: np.ndarray, stop: float) -> Leg:
        """Integrate (see `leg.Integrator`)."""
        begin, levels = time.perf_counter(), self._levels.copy()
        try:
            found = self._solve(stop)
            hidden = hidden_crossing(lambda t: self._guards_at(t, found.sol(t)), found.t, levels)
        except _NotFinite as failure:
            return self._close_to(failure.t, times, rows)
        finally:
            self._seconds += time.perf_counter() - begin
        self._total += Effort(len(found.t) - 1, 0, int(found.nfev), int(found.njev))
        reached, earlier = float(found.t[-1]), None
        if hidden is not None and hidden.time < reached - 1e-9 * (reached - float(found.t[-2])):
            reached, earlier = hidden.time, hidden.guards
        inside = times[times <= reached]
        written = len(inside)
        if written:
            rows[:written] = found.sol(inside).T
        self._t, self._y = reached, np.array(found.y[:, -1] if earlier is None else found.sol(reached))
        x, q = self._y[: self._n].copy(), self._y[self._n :].copy()
        if earlier is not None:
            return Leg(legs.EVENT, reached, x, q, written, earlier)
        if found.status == 1:
            fired = tuple(i for i, hits in enumerate(found.t_events) if len(hits))
            return Leg(legs.EVENT, reached, x, q, written, fired)
        if found.status == 0:
            return Leg(legs.STOP, reached, x, q, written)
        return Leg(legs.FAILED, reached, x, q, written, reason=f"step too small: {found.message}")

    def _solve(self, stop: float) -> Any:
        from scipy.integrate import solve_ivp

        options: dict[str, Any] = {}
        # With quadratures SciPy's own difference quotients are used: their rows of the Jacobian are not compiled.
        if self._method != "dop853" and self._bound.program.jacobian is not None and not self._nq:
            options["jac"] = self._jacobian
        with np.errstate(all="ignore"):
            return solve_ivp(
                self._rates,
                (self._t, stop),
                self._y,
                NAMES[self._method],
                dense_output=True,
                events=[*(self._guard(i) for i in range(len(self._levels))), self._after_step],
                rtol=max(self._tolerances.relative, 3e-14),
                atol=self._atol,
                max_step=self._tolerances.max_step,
                **options,
            )

    def _close_to(self, bad: float, times: np.ndarray, rows: np.ndarray) -> Leg:
        """Go on in ever shorter legs to where the rates stop being finite, and end there."""
        if bad - self._t <= 1e-12 * max(abs(bad), self._tolerances.max_step):
            x, q = self._y[: self._n].copy(), self._y[self._n :].copy()
            return Leg(legs.FAILED, self._t, x, q, 0, reason="not finite: a rate is not finite")
        part = self.advance(times, rows, self._t + 0.7 * (bad - self._t))
        word = legs.PAUSE if part.status == legs.STOP else part.status
        return Leg(word, part.t, part.x, part.q, part.written, part.fired, part.reason)

    def effort(self) -> Effort:
        """Counts since the start."""
        total = self._total
        return Effort(total.steps, total.rejected, total.rates, total.jacobians, self._guards, self._seconds)

    def close(self) -> None:
        """Nothing is held."""


class _NotFinite(Exception):
    """A rate that is not finite, at a time."""

    def __init__(self, t: float):
        self.t = t
        super().__init__(t)
