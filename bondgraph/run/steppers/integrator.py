"""A method of one step bound to a run -> legs."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from bondgraph.emit.llvm import Library
from bondgraph.run.accuracy.reference.error_weights import RENEWALS
from bondgraph.run.accuracy.table import SharedWeights
from bondgraph.run.bound import Bound
from bondgraph.run.clock_schedule import ClockSchedule
from bondgraph.run.events.handler import EventHandler
from bondgraph.run.python_callbacks import check_each
from bondgraph.run.samples import NextPage
from bondgraph.run.status import STATUSES, Status
from bondgraph.run.steppers.method import Method
from bondgraph.run.steppers.pages import LentPage
from bondgraph.run.steppers.segment import Effort, Integrator, Leg, Onset, Tolerances
from bondgraph.run.steppers.shared_fields import fired, table_of

# Steps of the first call; later ones take about `_PATIENCE` seconds, so that a long run shows its progress. No result depends on
# where calls end.
_BUDGET, _PATIENCE = 2_000, 0.1
_COUNTS = ("steps", "rejected", "rate_count", "jacobian_count", "guard_calls", "noisy_steps")


class OneStep(Integrator):
    """A method of one step in machine code (`library`); arrays of `lengths` are those of its own fields."""

    def __init__(
        self,
        method: Method,
        library: Library,
        bound: Bound,
        tolerances: Tolerances,
        weights: SharedWeights,
        lengths: Mapping[str, int],
        ticks: ClockSchedule | None,
        settler: EventHandler | None,
    ):
        self.method, self.library = method, library
        self._bound, self._weights, self._n = bound, weights, bound.program.states
        width = self._n + bound.quadratures
        own = {**dict.fromkeys(("y", "y_new", "y_stage", "y_begun"), width), **lengths}
        table = table_of(method.fields, bound, tolerances, weights, **own)
        self.table = table
        table.point("weights", weights.table.address)
        for name, address in weights.addresses.items():
            table.point(f"weights_{name}", address)
        table["mode_count"], table["most"] = bound.program.modes, tolerances.steps
        table["width"], table["span"], table["h_max"] = width, bound.span, tolerances.max_step
        table["budget"], table["renewal"] = _BUDGET, RENEWALS[0]
        if ticks is not None:
            self.share(ticks)
        self._settler, name = settler, f"{method.name}_advance"
        if settler is not None:
            settler.use_arrays(table.arrays)
            table.point("instants", settler.table.address)
            name = "run"
        self._function = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(library.address(name))
        self._page = LentPage(table, settler)
        self._counts = table.reader(*_COUNTS)
        self.seconds = 0.0

    def share(self, ticks: ClockSchedule) -> None:
        """Let the machine code run the clocks."""
        kernels = [None if row is None else self._bound.program.clocks[row].kernel for row in ticks.clocks]
        addresses = [0 if kernel is None else kernel.address or 0 for kernel in kernels]
        arrays = {
            "periods": ticks.period,
            "tick_offsets": ticks.offset,
            "following": ticks.following,
            "tick_index": ticks.index,
            "tick_kernels": np.array(addresses, dtype=np.uint64),
            "breaks": ticks.breaks,
        }
        for name, array in arrays.items():
            self.table.point(name, array)
        self.table["clock_count"], self.table["once"] = len(ticks), ticks.once

    def restart(self, t: float, x: np.ndarray, q: np.ndarray, m: np.ndarray, levels: np.ndarray) -> None:
        arrays, n = self.table.arrays, self._n
        arrays["y"][:n], arrays["y"][n:] = x, q
        arrays["m"][:], arrays["levels"][:] = m, levels
        self._weights.begin(t, x, q, m)
        self.table["t"], self.table["fresh"] = t, 1
        if self._settler is not None:
            self._settler.begin(t, levels)

    def advance(self, times: np.ndarray, rows: np.ndarray, stop: float, following: NextPage | None = None) -> Leg:
        table = self.table
        self._page.lend(times, rows, following)
        table["stop"], table["tried"] = stop, 0
        seconds, status = self._call()
        check_each((self._page.check, self._weights.check, self._bound.check))
        self.seconds += seconds
        if status == Status.PAUSE:
            table["budget"] = max(10.0, min(1e7, table["budget"] * _PATIENCE / max(seconds, 1e-6)))
        return self.leg(status)

    def leg(self, status: Status) -> Leg:
        """The leg that ended with this answer of the machine code."""
        table, n, settler = self.table, self._n, self._settler
        y = table.arrays["y"].copy()
        marked = fired(table) if status == Status.EVENT else ()
        reason = status.text if status.failed else ""
        leg = Leg(status, float(table["t"]), y[:n], y[n:], int(table["written"]), marked, reason)
        if settler is None:
            return leg
        begun, levels = settler.begun
        return replace(leg, onset=Onset(begun, table.arrays["m"].copy(), levels), held=settler.after_call())

    def _call(self) -> tuple[float, Status]:
        begin = time.perf_counter()
        status = STATUSES[self._function(self.table.address)]
        return time.perf_counter() - begin, status

    def effort(self) -> Effort:
        steps, rejected, rates, jacobians, guards, noisy = self._counts()
        return Effort(steps, rejected, rates, jacobians, guards, self.seconds, noisy)
