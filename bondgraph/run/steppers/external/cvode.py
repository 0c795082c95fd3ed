"""CVODE on compiled kernels: Adams and BDF formulas of variable order -> legs of a run."""

from __future__ import annotations

import ctypes
import time
from functools import cache, partial
from typing import Any

import numpy as np

from bondgraph.run.accuracy.reference.error_weights import RENEWALS, Weights
from bondgraph.run.accuracy.reference.natural_scales import work_scales
from bondgraph.run.bound import Bound
from bondgraph.run.linear.layout import band_is_cheaper, bandwidths_of
from bondgraph.run.samples import NextPage
from bondgraph.run.status import Status
from bondgraph.run.steppers.external.adapters import DOUBT, FIELDS, PAUSE, ROOT, STOPPED, machine_code
from bondgraph.run.steppers.external.library import load
from bondgraph.run.steppers.pages import LentPage, Page
from bondgraph.run.steppers.segment import Effort, Integrator, Leg, Tolerances
from bondgraph.run.steppers.shared_fields import fired, table_of

_ADAMS, _BDF, _CSC = 1, 2, 0
_FLAGS = {
    -2: ("solver", "the tolerance is too small for the rounding of this model"),
    -3: ("step too small", "the error test fails at the smallest step"),
    -4: ("step too small", "the nonlinear iteration does not converge at the smallest step"),
    -5: ("solver", "the linear solver cannot be set up"),
    -6: ("solver", "the linear solver fails: the matrix 1 - gamma J is singular"),
    -8: ("not finite", "a rate is not finite"),
    -9: ("not finite", "a rate is not finite at the start of a step"),
    -10: ("not finite", "rates stay not finite however small the step"),
    -11: ("not finite", "a rate is not finite"),
}
_STATUS = {0: Status.STOP, STOPPED: Status.STOP, ROOT: Status.EVENT, PAUSE: Status.PAUSE, DOUBT: Status.PAUSE}
# Steps per call, so that a long run shows its progress and can be interrupted.
_BUDGET = 20_000
# Flags of steps that fail however small.
_STUCK = (-3, -4)
# CVODE's first step is no shorter than this part of the times at both ends (HLB_FACTOR of its source).
_FIRST = 100.0 * np.finfo(float).eps
# Noise is measured at the start and after so many steps.
_LISTEN = 100
# Measured on chains of masses: 200 states 0.07 s dense and 0.36 s sparse, 800 states 0.97 s and 0.25 s.
SPARSE_FROM = 300
# Bands have so many states at least, and at most so many entries for each that is not zero: on a plate of 900 cells a band of 91
# diagonals takes a third of the time of SuperLU.
BAND_FROM, FILLED = 20, 20.0


class Cvode(Integrator):
    """CVODE bound to one program and one run. Use `close`, or `contextlib.closing`."""

    def __init__(
        self, bound: Bound, formula: str, tolerances: Tolerances, weights: Weights, stop: float, iteration: str, linear: str
    ):
        self._bound, self._tolerances, self._weights, self._stop = bound, tolerances, weights, stop
        loaded = load()
        self._api = loaded.functions
        self._code = machine_code()
        self._n = bound.program.states
        self._width = self._n + bound.quadratures
        self._memory, self._context = ctypes.c_void_p(), ctypes.c_void_p()
        self._owned: list[tuple[Any, int]] = []
        self._seconds = 0.0
        self._table = table_of(FIELDS, bound, tolerances, weights)
        self._page = LentPage(self._table)
        for name in FIELDS.keys() & loaded.addresses.keys():
            self._table.point(name, loaded.addresses[name])
        self._api.SUNContext_Create(0, ctypes.byref(self._context))
        self._api.SUNContext_ClearErrHandlers(self._context)
        self._vector = self._new_vector()
        place = ctypes.cast(self._api.N_VGetArrayPointer(self._vector), ctypes.POINTER(ctypes.c_double))
        self._y = np.ctypeslib.as_array(place, (self._width,))
        self._memory.value = self._api.CVodeCreate(_ADAMS if formula == "adams" else _BDF, self._context)
        self._table.point("memory", self._memory.value or 0)
        self._table.point("vector", self._vector)
        self._table.point("between", self._new_vector())
        self._function = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(self._code.address("cvode_advance"))
        self._started, self._stuck = False, -np.inf
        self.iteration = "newton" if iteration == "auto" else iteration
        self.linear = self._cheapest() if linear == "auto" else linear

    def _cheapest(self) -> str:
        """The algebra for this model: a band where the states stand so that it is narrow."""
        program = self._bound.program
        if self._n < BAND_FROM or program.jacobian is None:
            return "dense"
        rows, columns = program.jacobian_entries
        lower, upper = bandwidths_of(self._n, rows, columns)
        if band_is_cheaper(self._n, lower, upper) and 2 * lower + upper + 1 <= FILLED * (1.0 + len(rows) / self._n):
            return "band"
        return "sparse" if self._n >= SPARSE_FROM else "dense"

    def _new_vector(self) -> int:
        vector: int = self._api.N_VNew_Serial(self._width, self._context)
        self._owned.append((self._api.N_VDestroy, vector))
        return vector

    def _check(self, flag: int, what: str) -> None:
        if flag != 0:
            raise RuntimeError(f"CVODE refuses {what} (flag {flag})")

    def _start(self, t: float) -> None:
        """Set everything up: on the first leg, when start values are known."""
        api, memory, table = self._api, self._memory, self._table
        self._check(api.CVodeInit(memory, self._code.address("cvode_rates"), t, self._vector), "the start")
        self._check(api.CVodeSetUserData(memory, table.address), "the table")
        api.CVodeSetMaxNumSteps(memory, -1)
        self._check(api.CVodeWFtolerances(memory, self._code.address("cvode_weights")), "the weights")
        api.CVodeSetMaxStep(memory, self._tolerances.max_step)
        api.CVodeSetMaxHnilWarns(memory, -1)
        self._check(api.CVodeSetStopTime(memory, self._stop), "the stop time")
        if self.iteration == "newton":
            self._linear_algebra()
        else:
            solver = api.SUNNonlinSol_FixedPoint(self._vector, 0, self._context)
            self._owned.append((api.SUNNonlinSolFree, solver))
            self._check(api.CVodeSetNonlinearSolver(memory, solver), "the fixed-point iteration")
        self._started = True

    def _linear_algebra(self) -> None:
        api, program, memory = self._api, self._bound.program, self._memory
        if self.linear == "band":
            rows, columns = program.jacobian_entries
            lower, upper = bandwidths_of(self._n, rows, columns)
            matrix = api.SUNBandMatrix(self._width, upper, lower, self._context)
            solver = api.SUNLinSol_Band(self._vector, matrix, self._context)
            places = columns * api.SUNBandMatrix_LDim(matrix) + api.SUNBandMatrix_StoredUpperBandwidth(matrix) + rows - columns
            self._table.point("position", places.astype(np.int32))
            self._table["kernel_nonzeros"] = len(rows)
        elif self.linear == "sparse":
            count = self._pattern()
            matrix = api.SUNSparseMatrix(self._width, self._width, count, _CSC, self._context)
            solver = api.SUNLinSol_SuperLUMT(self._vector, matrix, 1, self._context)
        else:
            matrix = api.SUNDenseMatrix(self._width, self._width, self._context)
            solver = api.SUNLinSol_Dense(self._vector, matrix, self._context)
            if program.jacobian is not None and program.jacobian_pattern is not None:
                indptr, indices = program.jacobian_pattern
                self._table.point("indptr", np.ascontiguousarray(indptr, dtype=np.int32))
                self._table.point("indices", np.ascontiguousarray(indices, dtype=np.int32))
        self._owned += [(api.SUNMatDestroy, matrix), (api.SUNLinSolFree, solver)]
        self._check(api.CVodeSetLinearSolver(memory, solver, matrix), "the linear solver")
        if program.jacobian is not None:
            self._table.point("nonzeros", np.zeros(program.jacobian.n_out))
            self._check(api.CVodeSetJacFn(memory, self._code.address(f"cvode_{self.linear}_jacobian")), "the Jacobian")

    def _pattern(self) -> int:
        """The matrix's pattern: the Jacobian's, with the diagonal, and quadratures as diagonal only."""
        (rows, columns), width = self._bound.program.jacobian_entries, self._width
        given = columns * width + rows
        keys = np.union1d(given, np.arange(width) * (width + 1))
        self._table.point("indices", (keys % width).astype(np.int32))
        self._table.point("indptr", np.searchsorted(keys // width, np.arange(width + 1)).astype(np.int32))
        self._table.point("position", np.searchsorted(keys, given).astype(np.int32))
        self._table["kernel_nonzeros"], self._table["nonzero_count"] = len(given), len(keys)
        return len(keys)

    def restart(self, t: float, x: np.ndarray, q: np.ndarray, m: np.ndarray, levels: np.ndarray) -> None:
        self._y[: self._n], self._y[self._n :] = x, q
        arrays = self._table.arrays
        arrays["m"][:], arrays["levels"][:] = m, levels
        self._weights.begin(t, x, q, m)
        self._passing = cache(partial(work_scales, self._bound, t, x.copy(), m.copy(), self._weights.known))
        self._measure_work()
        self._table["h"], self._table["fresh"] = 0.0, 1
        if not self._started:
            self._start(t)
        else:
            self._begin_anew(t)
        self._t = t
        self._table["asked"] = 0
        self._plan()

    def _measure_work(self) -> None:
        """Where no energy measures work, what flows over the run does."""
        work = self._weights.floor[self._n :]
        if (unmeasured := work <= 0.0).any():
            np.copyto(work, self._passing(), where=unmeasured)

    _before = Effort()

    def _begin_anew(self, t: float) -> None:
        """CVODE counts from here; what was counted before is kept."""
        self._before = self.effort()
        self._seconds = 0.0
        for name in ("rhs_count", "guard_calls", "jacobian_calls", "noisy_steps"):
            self._table[name] = 0
        self._check(self._api.CVodeReInit(self._memory, t, self._vector), "the restart")
        self._check(self._api.CVodeSetStopTime(self._memory, self._stop), "the stop time")

    def advance(self, times: np.ndarray, rows: np.ndarray, stop: float, following: NextPage | None = None) -> Leg:
        table = self._table
        if stop != self._stop:
            self._stop = stop
            if self._started:
                self._check(self._api.CVodeSetStopTime(self._memory, stop), "the stop time")
        near = 1e-13 * max(abs(self._t), abs(stop))
        skipped = int(np.searchsorted(times, self._t + near, side="right"))
        page = Page(rows, table.arrays["m"], following)
        page.put(np.broadcast_to(self._y, (skipped, self._width)))
        if stop - self._t <= near:
            return Leg(Status.STOP, stop, *self._ends(), page.written)
        self._page.lend(times[skipped:], page.left, page.next)
        table["stop"], table["reached"] = stop, self._t
        begin = time.perf_counter()
        flag, last = PAUSE, min(int(table["steps"]) + _BUDGET, self._tolerances.steps + 1)
        while flag in (PAUSE, DOUBT) and table["steps"] < last:
            flag = int(self._function(table.address))
            self._page.check()
            if flag in (PAUSE, DOUBT):
                self._weigh(flag == DOUBT)
            elif flag in _STUCK and table["reached"] > self._stuck:
                flag = self._again()
        self._seconds += time.perf_counter() - begin
        self._t = float(table["reached"])
        written = page.written + int(table["written"])
        if flag in _STATUS:
            return Leg(_STATUS[flag], self._t, *self._ends(), written, fired(table) if flag == ROOT else ())
        kind, reason = _FLAGS.get(flag, ("solver", f"CVODE stops with flag {flag}"))
        if flag in _STUCK and (why := self._too_far()):
            kind, reason = "run too long", f"{reason}: {why}"
        return Leg(Status.NOT_FINITE, self._t, *self._ends(), written, reason=f"{kind}: {reason}")

    def _too_far(self) -> str:
        """Why no step can be the first one where the end of the run is too far for that; "" where it is not."""
        shortest, known = _FIRST * max(abs(self._t), abs(self._stop)), self._weights.known
        with np.errstate(all="ignore"):
            rates = np.abs(self._bound.rates(self._t, self._y[: self._n], self._table.arrays["m"]))
            fastest = float(np.max(rates / np.where(known > 0.0, known, np.inf), initial=0.0))
        if not 1.0 < shortest * fastest < np.inf:
            return ""
        told = f"CVODE's first step is a part of the time at the end, {shortest:.2g} s at least"
        return f"{told}, and the suspect changes as a whole within {1.0 / fastest:.2g} s"

    def _again(self) -> int:
        """After steps that failed however small: begin anew where they did, once, with weights that fit there."""
        self._stuck = float(self._table["reached"])
        self._weigh(True)
        self._begin_anew(self._stuck)
        self._table["asked"] = 0
        return PAUSE

    def _weigh(self, doubt: bool) -> None:
        """Between two steps: look at the weights anew."""
        table, weights = self._table, self._weights
        t, x, step = float(table["reached"]), self._y[: self._n].copy(), int(table["steps"])
        h, relative = float(table["h"]), self._tolerances.relative
        if doubt:
            weights.question(t, x, self._table.arrays["m"], h, relative, implicit=True)
            self._measure_work()
            table["patience"] = weights.patience
            return
        if step in RENEWALS:
            weights.renew(t, x, self._table.arrays["m"])
        if step % _LISTEN == 0:
            weights.relax(t, x, self._table.arrays["m"], h, relative, implicit=True)
        self._measure_work()
        self._plan()

    def _plan(self) -> None:
        """The next count of steps at which weights are looked at, or the last."""
        step = int(self._table["steps"])
        counts = (*RENEWALS, step - step % _LISTEN + _LISTEN, self._tolerances.steps + 1)
        self._table["pause"] = min(count for count in counts if count > step)

    def _ends(self) -> tuple[np.ndarray, np.ndarray]:
        return self._y[: self._n].copy(), self._y[self._n :].copy()

    def effort(self) -> Effort:
        steps, rejected = ctypes.c_long(), ctypes.c_long()
        if self._started:
            self._api.CVodeGetNumSteps(self._memory, ctypes.byref(steps))
            self._api.CVodeGetNumErrTestFails(self._memory, ctypes.byref(rejected))
        counts = ("rhs_count", "jacobian_calls", "guard_calls", "noisy_steps")
        rates, jacobians, guards, noisy = (int(self._table[name]) for name in counts)
        return self._before + Effort(steps.value, rejected.value, rates, jacobians, guards, self._seconds, noisy)

    def close(self) -> None:
        if self._memory.value:
            self._api.CVodeFree(ctypes.byref(self._memory))
            for free, thing in reversed(self._owned):
                free(thing)
            self._owned.clear()
            self._api.SUNContext_Free(ctypes.byref(self._context))
            self._memory.value = None
