"""One thread's room for runs: a program and settings in; run after run in the same tables and arrays, out."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bondgraph.emit.kernel import Kernel, LaneKernels, address_of
from bondgraph.output.progress import Progress
from bondgraph.run.bound import Bound
from bondgraph.run.error_control.shared_weights import SharedWeights
from bondgraph.run.integrators.choose import tolerances
from bondgraph.run.integrators.explicit import control, driver
from bondgraph.run.integrators.explicit.dop853 import Dop853
from bondgraph.run.integrators.leg import Effort, endless
from bondgraph.run.outcome.doubts import FAR, MOST
from bondgraph.run.program import Program
from bondgraph.run.repeated import loop, side_by_side
from bondgraph.run.repeated.collected import RunBatch
from bondgraph.run.repeated.ends import KeptOfRun
from bondgraph.run.repeated.lane_tables import lane_table
from bondgraph.run.repeated.rows import KERNELS, row_table
from bondgraph.run.settings import Settings
from bondgraph.run.table import FieldTable

STEPS = 20_000
"""After so many attempts at a step it is looked whether a run takes too many, and a bar shows how far it is."""
# An account that may be doubtful is drawn up again in Python, which sums in another order.
_NEAR = 0.5


@dataclass(frozen=True, eq=False)
class MachineRun:
    """A run in machine code.

    Parameters
    ----------
    done : whether it reached its end; where it has not, it must be done in Python.
    t, x, q : where it ended; rows (samples, n + quadratures) : states and integrated powers at the sample times.
    effort : what it cost.
    """

    done: bool
    t: float
    x: np.ndarray
    q: np.ndarray
    rows: np.ndarray
    effort: Effort


class Workspace:
    """Tables and arrays of runs by the explicit method in machine code, without events and clocks; for one thread at a time."""

    def __init__(self, program: Program, settings: Settings, watch_stiffness: bool):
        self.settings = settings
        self.bound = Bound(program, np.zeros(program.parameters), settings.t_start, settings.span)
        self.weights = SharedWeights(self.bound, settings.rtol, settings.atol, settings.max_step)
        local = tolerances(settings, "dop853")
        self._integrator = Dop853(self.bound, local, self.weights, watch_stiffness, None)
        self.table = self._integrator.table
        self.table["stop"], self.table["budget"] = settings.span, STEPS
        library = driver.machine_code()
        pointer = ctypes.c_void_p
        self._addresses = library.address("dop853_begin"), library.address("dop853_advance")
        self._begin = ctypes.CFUNCTYPE(None, *[pointer] * 5, ctypes.c_int64)(self._addresses[0])
        self._advance = ctypes.CFUNCTYPE(ctypes.c_int64, pointer)(self._addresses[1])
        self._many = ctypes.CFUNCTYPE(None, pointer)(loop.machine_code().address("run_many"))
        self._width = program.states + self.bound.quadratures
        self._place = self.table.address
        self._looks: dict[tuple[bool, LaneKernels | None], FieldTable] = {}
        self._watch_stiffness = watch_stiffness
        self._beside: list[Workspace] = []

    def run(self, p: np.ndarray, x: np.ndarray, m: np.ndarray, bar: Progress | None = None) -> MachineRun:
        """One run with parameters p (parameters,) from x (n,) in the modes m (modes,), all contiguous arrays of floats."""
        settings, table, n = self.settings, self.table, self.bound.program.states
        self.bound.p[:] = p
        times = settings.times
        rows = np.empty((len(times), self._width))
        start = time.perf_counter()
        self._begin(self._place, address_of(x), address_of(m), address_of(times), address_of(rows), len(times))
        status = self._advance(self._place)
        while status == control.PAUSE and not endless(int(table["steps"]), settings.max_steps, table["t"] / settings.span):
            if bar is not None:
                bar.show(table["t"], f"t = {table['t']:.6g} s")
            table["tried"] = 0
            status = self._advance(self._place)
        seconds = time.perf_counter() - start
        steps, rejected, rates, noisy = (int(table[name]) for name in ("steps", "rejected", "rate_count", "noisy_steps"))
        effort = Effort(steps, rejected, rates, seconds=seconds, noisy=noisy)
        y = table.arrays["y"].copy()
        return MachineRun(status == control.STOP, float(table["t"]), y[:n], y[n:], rows, effort)

    def many(
        self,
        p: np.ndarray,
        x: np.ndarray,
        m: np.ndarray,
        runs: slice,
        wanted: tuple[np.ndarray, np.ndarray],
        watch: bool,
        batch: RunBatch,
        kept: Sequence[KeptOfRun],
        outputs: Kernel | None,
        lanes: LaneKernels | None = None,
    ) -> None:
        """Those runs of p (runs or 1, parameters), x (runs or 1, n), m (runs or 1, modes) into the batch, in one call that lets
        go of the interpreter's lock; what is kept is that at the samples `wanted`, since the start and as dates, and constraints
        are looked at along a run if `watch`. With kernels in `lanes` as many go side by side."""
        program, settings = self.bound.program, self.settings
        times, dates = (settings.times, settings.dates) if watch else wanted
        asked_for = np.isin(times, wanted[0]).astype(np.int64)
        table, first, count = FieldTable(loop.FIELDS), runs.start, runs.stop - runs.start
        numbers = [place for own in kept if not own.course for place in own.sources()]
        series = [place for own in kept if own.course for place in own.sources()]
        kinds = [own.kind for own in kept if not own.course for _ in own.places]
        signs = [1.0 if role == "dissipated" else -1.0 for role in program.power_roles]
        storages = 0 if program.energies is None else program.energies.n_out
        arrays = {"times": times, "dates": dates, "rows": np.empty((len(times), self._width)), "signs": np.array(signs)}
        arrays["wanted"] = asked_for
        arrays |= {"out": np.empty(outputs.n_out if outputs else 0), "before": np.zeros(len(numbers)), "kinds": _whole(kinds)}
        arrays |= {"sources": _whole([a for a, _ in numbers]), "places": _whole([b for _, b in numbers])}
        arrays |= {"series_sources": _whole([a for a, _ in series]), "series_places": _whole([b for _, b in series])}
        arrays |= {"energies": np.empty(storages)}
        own = ("status", "ends", "times_end", "step_counts", "rejected_counts", "rate_counts", "kept", "series")
        arrays |= {name: getattr(batch, name)[runs] for name in own}
        for name, block in (("p", p), ("x", x), ("m", m)):
            table[f"{name}_stride"] = 0 if len(block) == 1 else block.shape[1]
            arrays[name] = block if len(block) == 1 else block[first : runs.stop]
        for name, array in arrays.items():
            table.point(name, array)
        table.point("table", self._place)
        table.point("begin", self._addresses[0])
        table.point("advance", self._addresses[1])
        table.point("look", self._look(watch, lanes, times, dates).address)
        table.point("outputs", 0 if outputs is None else outputs.address or 0)
        table["runs"], table["p_count"], table["samples"], table["most"] = (
            count,
            program.parameters,
            len(times),
            settings.max_steps,
        )
        table["kept_count"], table["series_count"], table["output_count"] = (
            len(numbers),
            len(series),
            outputs.n_out if outputs else 0,
        )
        table["span"], table["wanted_count"] = settings.span, int(asked_for.sum())
        table["limit"] = _NEAR * min(FAR * settings.rtol, MOST)
        if lanes is None:
            self._many(table.address)
        else:
            self._side_by_side(lanes, table.address, len(times))

    def _side_by_side(self, lanes: LaneKernels, many: int, samples: int) -> None:
        """The same for several runs at once; `many` is the address of the table of all runs."""
        while len(self._beside) < lanes.lanes - 1:
            self._beside.append(Workspace(self.bound.program, self.settings, self._watch_stiffness))
        spaces = [self, *self._beside[: lanes.lanes - 1]]
        for space in spaces:
            space.weights.side_by_side(lanes)
        program, address = self.bound.program, ctypes.c_void_p
        own = lane_table(lanes, [space.table for space in spaces], program.parameters, program.modes, samples)
        run = ctypes.CFUNCTYPE(None, address, address)(side_by_side.machine_code(lanes.lanes).address("run_side_by_side"))
        run(many, own.address)

    def _look(self, watch: bool, lanes: LaneKernels | None, times: np.ndarray, dates: np.ndarray) -> FieldTable:
        """The table of the look at finished runs."""
        if (watch, lanes) not in self._looks:
            program, count = self.bound.program, 1 if lanes is None else lanes.lanes
            addresses = {} if lanes is None else lanes.addresses
            for name in KERNELS if lanes is None else ():
                kernel = getattr(program, name) if watch or name != "closing_matrix" else None
                addresses = {**addresses, name: 0 if kernel is None else kernel.address or 0}
            self._looks[watch, lanes] = row_table(program, addresses, count, times, dates, watch, self.settings.span)
        return self._looks[watch, lanes]


def _whole(values: Sequence[int]) -> np.ndarray:
    return np.array(values, dtype=np.int64)
