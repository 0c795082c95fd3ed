"""One-step methods in machine code, bound to a run, and the pages of samples that they fill."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from bondgraph.emit.llvm import Library
from bondgraph.run.accuracy.error_weights import RENEWALS, RETRIES_BEFORE_TEST
from bondgraph.run.accuracy.table import ErrorWeights
from bondgraph.run.bound import Bound
from bondgraph.run.clock_schedule import ClockSchedule
from bondgraph.run.delays.buffer import DelayBuffer
from bondgraph.run.events.handler import EventHandler
from bondgraph.run.python_callbacks import PythonCallback, check_each
from bondgraph.run.samples import NextPage
from bondgraph.run.status import STATUSES, Status
from bondgraph.run.steppers.method import Method
from bondgraph.run.steppers.segment import Effort, Integrator, Segment, SegmentStart, Tolerances
from bondgraph.run.steppers.shared_fields import fired, table_of
from bondgraph.run.table import FieldTable


class Page:
    """Page of rows that Python fills: `written` counts its filled rows, `total` those of all pages."""

    def __init__(self, rows: np.ndarray, m: np.ndarray, following: NextPage | None):
        self._rows, self._m, self._following = rows, m, following
        self.written = self.total = 0

    @property
    def free_rows(self) -> np.ndarray:
        return self._rows[self.written :]

    @property
    def filled(self) -> np.ndarray:
        return self._rows[: self.written]

    def put(self, values: np.ndarray) -> None:
        while len(values) > len(self.free_rows):
            fit = len(self.free_rows)
            self.free_rows[:] = values[:fit]
            values = values[fit:]
            self.next(fit, self._m, 0)
        self.free_rows[: len(values)] = values
        self.count_rows(len(values))

    def count_rows(self, count: int) -> None:
        self.written += count
        self.total += count

    def next(self, count: int, m: np.ndarray, held: int) -> np.ndarray:
        assert self._following is not None, "rows for all samples"
        self.total += count
        self._rows = self._following(self.written + count, m, self.written + held if held else 0)
        self.written = 0
        return self._rows


class TablePage:
    """Page of rows, filled by machine code, which calls the table's `drain` when the page is full before the last sample."""

    def __init__(self, table: FieldTable, handler: EventHandler | None = None):
        self._table, self._handler = table, handler

    @cached_property
    def _drain(self) -> PythonCallback:
        return PythonCallback(self._next_rows, self._stop)

    def provide(self, times: np.ndarray, rows: np.ndarray, following: NextPage | None) -> None:
        self._times, self._following = times, following
        table, fit = self._table, min(len(times), len(rows))
        table.point("times", times)
        table.point("rows", rows)
        table["samples"], table["written"] = fit, 0
        table.point("drain", self._drain.address if fit < len(times) else 0)
        if self._handler is not None:
            self._handler.before_call(rows)

    def _next_rows(self) -> int:
        table, count = self._table, int(self._table["written"])
        assert self._following is not None, "rows for all samples"
        held = 0 if self._handler is None else self._handler.after_call()
        rows = self._following(count, table.arrays["m"], held)
        self.provide(self._times[count:], rows, self._following)
        return 0

    def _stop(self) -> int:
        self._table.point("drain", 0)
        return 0

    def check(self) -> None:
        if "_drain" in self.__dict__:
            self._drain.check()


# Maximum number of attempted steps in the first call; later calls last about `_CALL_SECONDS` seconds, so that a long run shows
# its progress. Results do not depend on where calls end.
_FIRST_CALL_STEPS, _CALL_SECONDS = 2_000, 0.1
_COUNTS = ("steps", "rejected", "rate_count", "jacobian_count", "guard_calls", "noisy_steps")


class OneStep(Integrator):
    """One-step method in machine code (`library`); `sizes` are integers that determine the lengths of its arrays, in addition to
    the sizes of the method and its table."""

    def __init__(
        self,
        method: Method,
        library: Library,
        bound: Bound,
        tolerances: Tolerances,
        weights: ErrorWeights,
        sizes: Mapping[str, int],
        ticks: ClockSchedule | None,
        handler: EventHandler | None,
    ):
        self.method, self.library = method, library
        self._bound, self._weights, self._n = bound, weights, bound.program.states
        table = table_of(method.table, bound, tolerances, weights, {**method.sizes, **sizes})
        self.table = table
        table.point("weights", weights.table)
        for name, address in weights.addresses.items():
            table.point(f"weights_{name}", address)
        table["most"], table["span"], table["h_max"] = tolerances.steps, bound.span, tolerances.max_step
        table["budget"], table["renewal"], table["retry_limit"] = _FIRST_CALL_STEPS, RENEWALS[0], RETRIES_BEFORE_TEST
        self._delays: DelayBuffer | None = None
        if ticks is not None:
            self.share(ticks)
        self._handler, name = handler, "advance_run"
        self._event_checks = () if handler is None else (handler.check,)
        if handler is not None:
            handler.use_arrays(table.arrays)
            table.point("instants", handler.table)
            name = "run"
        self._function = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(library.address(name))
        self._page = TablePage(table, handler)
        self._counts = table.reader(*_COUNTS)
        self.seconds = 0.0

    def share(self, ticks: ClockSchedule) -> None:
        kernels = [None if row is None else self._bound.tick_kernels[row] for row in ticks.clocks]
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
        if ticks.delays is not None:
            self._delays = ticks.delays
            self.table.point("delays", ticks.delays.table)
            self.table.point("look_back", self.library.address("look_back_at"))
            self.table["h_max"] = min(float(self.table["h_max"]), ticks.delays.shortest)

    def restart(self, t: float, x: np.ndarray, q: np.ndarray, m: np.ndarray, levels: np.ndarray) -> None:
        arrays, n = self.table.arrays, self._n
        arrays["y"][:n], arrays["y"][n:] = x, q
        arrays["m"][:], arrays["levels"][:] = m, levels
        self._weights.begin(t, x, q, m)
        self.table["t"], self.table["fresh"] = t, 1
        if self._handler is not None:
            self._handler.begin(t, levels)

    def advance(self, times: np.ndarray, rows: np.ndarray, stop: float, following: NextPage | None = None) -> Segment:
        table = self.table
        self._page.provide(times, rows, following)
        table["stop"], table["tried"] = stop, 0
        if self._delays is not None:
            self._delays.make_room(float(table["t"]))
        seconds, status = self._call()
        check_each((self._page.check, self._weights.check, self._bound.check, *self._event_checks))
        self.seconds += seconds
        if status == Status.PAUSE:
            table["budget"] = max(10.0, min(1e7, table["budget"] * _CALL_SECONDS / max(seconds, 1e-6)))
        return self.segment(status)

    def segment(self, status: Status) -> Segment:
        table, n, handler = self.table, self._n, self._handler
        y = table.arrays["y"].copy()
        marked = fired(table) if status == Status.EVENT else ()
        reason = status.text if status.failed else ""
        segment = Segment(status, float(table["t"]), y[:n], y[n:], int(table["written"]), marked, reason)
        if handler is None:
            return segment
        start_time, levels = handler.segment_start
        return replace(segment, start=SegmentStart(start_time, table.arrays["m"].copy(), levels), held=handler.after_call())

    def _call(self) -> tuple[float, Status]:
        begin = time.perf_counter()
        status = STATUSES[self._function(self.table.address)]
        return time.perf_counter() - begin, status

    def slow_pace(self) -> float:
        pace, self.table["pace"] = float(self.table["pace"]), 0.0
        return pace

    def effort(self) -> Effort:
        steps, rejected, rates, jacobians, guards, noisy = self._counts()
        return Effort(steps, rejected, rates, jacobians, guards, self.seconds, noisy)


@dataclass(frozen=True, eq=False)
class StepperOptions:
    linear: str = "auto"
    watch_stiffness: bool = False
    ticks: ClockSchedule | None = None
    handler: EventHandler | None = None
