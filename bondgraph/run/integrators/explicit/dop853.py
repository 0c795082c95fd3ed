"""The explicit method bound to a run -> legs."""

from __future__ import annotations

import ctypes
import time

import numpy as np

from bondgraph.run.bound import Bound
from bondgraph.run.error_control.weights import NEVER, RENEWALS, Weights
from bondgraph.run.integrators import leg as legs
from bondgraph.run.integrators.explicit import fields as of
from bondgraph.run.integrators.explicit.driver import machine_code
from bondgraph.run.integrators.leg import Effort, Leg, Tolerances
from bondgraph.run.switching.crossings import POINTS
from bondgraph.run.table import FieldTable
from bondgraph.run.ticks import Ticks

# Steps of the first call; later ones take about `_PATIENCE` seconds, so that a long run shows its progress.
_BUDGET, _PATIENCE = 2_000, 0.1
_STATUS = {of.STOP: legs.STOP, of.EVENT: legs.EVENT, of.PAUSE: legs.PAUSE, of.STIFF: legs.STIFF}
_REASONS = {
    of.SMALL: "step too small: the error per step stays too large however small the step",
    of.NOT_FINITE: "not finite: a rate is not finite",
}


class Dop853:
    """Explicit Runge-Kutta method of order 8 with dense output, in machine code."""

    def __init__(
        self, bound: Bound, tolerances: Tolerances, weights: Weights, watch_stiffness: bool = False, ticks: Ticks | None = None
    ):
        program = bound.program
        self._bound = bound
        self._code, self._tolerances = machine_code(), tolerances
        self._n, self._nq = program.states, bound.quadratures
        width, guards = self._n + self._nq, 0 if program.guards is None else program.guards.n_out
        self._table = table = FieldTable(of.FIELDS)
        arrays = {
            "m": program.modes,
            "levels": guards,
            "y": width,
            "y_new": width,
            "y_stage": width,
            "y_dense": width,
            "k": of.EXTENDED * width,
            "f": of.DENSE * width,
            "g": POINTS * guards,
            "g_dense": guards,
            "theta": guards,
        }
        self._weights = weights
        self._arrays = {name: np.zeros(length) for name, length in arrays.items()}
        for name, array in self._arrays.items():
            table.point(name, array)
        for name in ("size", "floor", "noise", "exceeded"):
            table.point(name, getattr(weights, name))
        self._fired = np.zeros(guards, dtype=np.int64)
        table.point("fired", self._fired)
        table.point("p", bound.p)
        table.point("window", bound.window)
        table["origin"], table["span"] = bound.origin, bound.span
        for name, kernel in (
            ("rates", program.rates),
            ("powers", program.powers),
            ("guards", program.guards),
            ("fused", program.rates_and_powers),
        ):
            table.point(name, 0 if kernel is None else kernel.address or 0)
        table["n"], table["quadratures"], table["width"], table["guard_count"] = self._n, self._nq, width, guards
        table["h_max"], table["rtol"], table["watch"] = tolerances.max_step, tolerances.relative, watch_stiffness
        table["budget"], table["patience"], table["renewal"] = _BUDGET, weights.patience, RENEWALS[0]
        if ticks is not None and len(ticks):
            self._share(ticks)
        self._function = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(self._code.address("dop853_advance"))
        self._seconds = 0.0

    def _share(self, ticks: Ticks) -> None:
        """Let the machine code run the clocks."""
        kernels = [None if row is None else self._bound.program.clocks[row].kernel for row in ticks.clocks]
        addresses = [0 if kernel is None else kernel.address or 0 for kernel in kernels]
        for name, array in (
            ("periods", ticks.period),
            ("tick_offsets", ticks.offset),
            ("following", ticks.following),
            ("tick_index", ticks.index),
            ("tick_kernels", np.array(addresses, dtype=np.uint64)),
            ("breaks", ticks.breaks),
        ):
            self._table.point(name, array)
        self._table["clock_count"], self._table["once"] = len(ticks), ticks.once

    def restart(self, t: float, x: np.ndarray, q: np.ndarray, m: np.ndarray, levels: np.ndarray) -> None:
        """Begin a leg (see `leg.Integrator`)."""
        arrays, n = self._arrays, self._n
        arrays["y"][:n], arrays["y"][n:] = x, q
        arrays["m"][:], arrays["levels"][:] = m, levels
        self._weights.begin(t, x, q, m)
        self._table["t"], self._table["fresh"] = t, 1

    def advance(self, times: np.ndarray, rows: np.ndarray, stop: float) -> Leg:
        """Integrate (see `leg.Integrator`)."""
        table, n = self._table, self._n
        table.point("times", times)
        table.point("rows", rows)
        table["samples"], table["written"], table["stop"] = len(times), 0, stop
        table["tried"] = 0
        seconds, status = self._call()
        while status in (of.DOUBT, of.RENEW):
            self._weigh(status == of.DOUBT)
            more, status = self._call()
            seconds += more
        self._seconds += seconds
        if status == of.PAUSE:
            table["budget"] = max(10.0, min(1e7, table["budget"] * _PATIENCE / max(seconds, 1e-6)))
        y = self._arrays["y"].copy()
        fired = tuple(int(i) for i in np.flatnonzero(self._fired)) if status == of.EVENT else ()
        word, reason = _STATUS.get(status, legs.FAILED), _REASONS.get(status, "")
        return Leg(word, float(table["t"]), y[:n], y[n:], int(table["written"]), fired, reason)

    def _call(self) -> tuple[float, int]:
        begin = time.perf_counter()
        status = int(self._function(self._table.address))
        return time.perf_counter() - begin, status

    def _weigh(self, doubt: bool) -> None:
        """Between two attempts: look at the weights anew."""
        table, weights = self._table, self._weights
        t, h, relative = float(table["t"]), float(table["h"]), self._tolerances.relative
        x, m = self._arrays["y"][: self._n].copy(), self._arrays["m"]
        if doubt:
            weights.question(t, x, m, h, relative)
            table["patience"] = weights.patience
        elif table["steps"] >= table["renewal"]:
            weights.renew(t, x, m)
            table["renewal"] = next((count for count in RENEWALS if count > table["steps"]), NEVER)
        else:
            weights.relax(t, x, m, h, relative)
        table["noisy"] = int(weights.noise.any())

    def effort(self) -> Effort:
        """Counts since the start."""
        table = self._table
        steps, rejected, rates = (int(table[name]) for name in ("steps", "rejected", "rate_count"))
        return Effort(steps, rejected, rates, 0, int(table["guard_calls"]), self._seconds, int(table["noisy_steps"]))

    def close(self) -> None:
        """Nothing is held."""
