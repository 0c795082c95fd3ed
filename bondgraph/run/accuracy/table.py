"""Error weights in machine code for a bound program, in a table that integrators share."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bondgraph.emit.interpreter.table import InterpretedSteps
from bondgraph.emit.kernel import LaneKernels, address_of, aligned_zeros
from bondgraph.run.accuracy import error_weights
from bondgraph.run.accuracy.error_weights import ACCUMULATED_NOISE, NOISE_TEST_INTERVALS, TRIAL_FACTORS
from bondgraph.run.accuracy.fields import PATTERNS, Control, SparsityPattern
from bondgraph.run.accuracy.pattern_buffers import machine_code as code_of_buffers
from bondgraph.run.accuracy.pattern_buffers import pattern_in_buffer, provide_pattern_buffers
from bondgraph.run.accuracy.rounding_noise import directions
from bondgraph.run.accuracy.strong_cycles import StrongCycles
from bondgraph.run.bound import Bound
from bondgraph.run.python_callbacks import PythonCallback
from bondgraph.run.sparsity.cache import StructureCache
from bondgraph.run.sparsity.structure import JacobianCouplings
from bondgraph.run.table import FieldTable


@dataclass(frozen=True)
class Rounding:
    """Rounding limit of a run whose tolerance lies below the errors that rounding causes in a step.

    Parameters
    ----------
    steps : number of steps whose error weights were set by rounding errors of the rates, not the tolerance.
    rtol : largest relative tolerance to which these steps were controlled; 0 if there are none.
    states : names of the states with noisy rates.
    """

    steps: int = 0
    rtol: float = 0.0
    states: tuple[str, ...] = ()

    def __add__(self, other: Rounding) -> Rounding:
        states = dict.fromkeys([*self.states, *other.states])
        return Rounding(self.steps + other.steps, max(self.rtol, other.rtol), tuple(states))


_NO_ROUNDING = Rounding()


class ErrorWeights:
    """Error weights of a run, in a table shared with machine code.

    Parameters
    ----------
    longest : longest step, s.
    absolute : the user's absolute tolerances (n,) in the states' units, None to use natural scales.

    Sizes, floors and noise, of the states and then of the integrated powers, are (n + quadratures,) each. `table`, a
    `fields.Control`, is the first argument of the procedures in `error_weights`, whose `addresses` are by name.
    """

    def __init__(self, bound: Bound, rtol: float, absolute: np.ndarray | None, longest: float):
        self.table = FieldTable(Control)
        self._lane_kernels: LaneKernels | None = None
        self._bound, self._rtol, self._longest = bound, rtol, longest
        self._n, self._nq = bound.program.states, bound.program.quadratures
        width = self._n + self._nq
        self.size, self.floor, self.noise = np.zeros(width), np.zeros(width), np.zeros(width)
        # Largest rounding that limited a step, and rates of the parts that implicit methods damp.
        self.exceeded, self.speed = np.zeros(width), np.zeros(width)
        self.scale = np.zeros(self._n)
        program, library, table = bound.program, error_weights.machine_code(), self.table
        kernel, structures = program.jacobian_couplings
        counts = {"n": self._n, "quadratures": self._nq, "storages": program.storages, "modes": program.modes}
        counts["parameters"] = program.parameters
        counts["entry_count"] = 0 if kernel is None else len(structures.rows)
        steps = None if kernel is None else kernel.steps
        if steps is not None:
            self._interpret(steps)
        elif kernel is not None:
            table.point("couple", kernel.address or 0)
        table.allocate(**counts, number_count=int(table["number_count"]))
        arrays = {name: getattr(self, name) for name in ("size", "floor", "noise", "exceeded", "speed", "scale")}
        # Energies per square in the modes for which they were computed; -1 before they are computed.
        arrays |= {"squares": np.full(self._n, -1.0), "square_modes": np.full(program.modes, np.nan)}
        arrays |= {"p": bound.p, "window": bound.window}
        arrays["nominal"] = np.ascontiguousarray(program.nominal, dtype=float)
        arrays["ladder"] = np.array([10.0 ** (2 * power) for power in range(TRIAL_FACTORS)])
        arrays["directions"] = directions(self._n)
        for name, array in arrays.items():
            table.point(name, array)
        if absolute is not None:
            table.arrays["absolute"][:] = absolute / rtol
        for name in ("rates", "powers", "rates_and_powers", "energies"):
            code = getattr(program, name)
            table.point(name, 0 if code is None else code.address or 0)
        counts |= {"has_absolute": absolute is not None, "autonomous": program.autonomous}
        for name, count in counts.items():
            table[name] = count
        table["rejections_before_test"], table["boost"], table["boosted"] = NOISE_TEST_INTERVALS[0], 1.0, 1.0
        table["origin"], table["rtol"], table["longest"] = bound.origin, rtol, longest
        table["collected"] = ACCUMULATED_NOISE * float(np.sqrt(max(self._n, 1)))
        table.point("cycles", strong_cycles(self._n))
        table.arrays["guesses"][program.loop_states] = 1.0
        for name in ("rows", "columns"):
            table.point(f"entry_{name}", np.ascontiguousarray(getattr(structures, name), dtype=np.int64))
        self._structures, self._patterns, self._lookup = structures, *_pattern_lookup(structures, table)
        table.point("look_up_pattern", self._lookup.address)
        self.addresses = {
            name: library.address(f"weights_{name}")
            for name in ("reset", "begin", "refresh", "test_noise", "decay", "follow_decay")
        }
        at: list[Any] = [ctypes.c_void_p, ctypes.c_double, ctypes.c_void_p, ctypes.c_void_p]
        step: list[Any] = [ctypes.c_double, ctypes.c_double, ctypes.c_int64]
        self._begin = ctypes.CFUNCTYPE(None, *at, ctypes.c_void_p)(self.addresses["begin"])
        self._refresh = ctypes.CFUNCTYPE(None, *at)(self.addresses["refresh"])
        of_step = ctypes.CFUNCTYPE(None, *at, *step)
        self._test_noise, self._decay = of_step(self.addresses["test_noise"]), of_step(self.addresses["decay"])
        self._rests = ctypes.CFUNCTYPE(ctypes.c_int64, *at, ctypes.c_int64)(library.address("at_rest"))
        self._measure_rounding = ctypes.CFUNCTYPE(None, *at)(library.address("rounding"))

    def _interpret(self, steps: InterpretedSteps) -> None:
        table, alone = self.table, steps.alone
        arrays = {
            "places": steps.positions,
            "place_blocks": steps.blocks,
            "place_indices": steps.indices,
            "constants": steps.start,
            "steps": alone.steps(),
            "columns": alone.columns,
            "seeded": alone.seed_rows,
            "seed_groups": steps.seed_groups,
            "entries": alone.entry_rows,
            "entry_groups": steps.entry_groups,
        }
        arrays["rows"] = aligned_zeros(alone.rows * alone.stride)
        for name, array in arrays.items():
            table.point(name, array)
        table.point("interpret", alone.address)
        table["interpreted"], table["number_count"], table["input_count"] = 1, len(steps.start), len(steps.positions)
        table["step_count"], table["group_count"], table["stride"] = len(alone.fields), steps.groups, alone.stride

    def use_lanes(self, kernels: LaneKernels) -> None:
        table, program, lanes = self.table, self._bound.program, kernels.lanes
        if self._lane_kernels is kernels:
            return
        self._lane_kernels = kernels
        for name in ("rates", "powers"):
            table.point(f"wide_{name}", kernels.addresses.get(name, 0))
        width = self._n + self._nq
        for name, length in {"t": 1, "x": self._n, "p": program.parameters, "m": program.modes, "out": width}.items():
            table.point(f"wide_{name}", aligned_zeros(length * lanes))
        table["lanes"] = lanes

    @property
    def state_sizes(self) -> np.ndarray:
        return np.fmax(self.size[: self._n], self.scale)

    def raise_sizes(self, x: np.ndarray) -> None:
        finite = np.where(np.isfinite(x), np.abs(x), 0.0)
        np.maximum(self.size[: self._n], finite, out=self.size[: self._n])

    def rounding(self, steps: int, relative: float, t: float, x: np.ndarray, m: np.ndarray) -> Rounding:
        if not steps:
            return _NO_ROUNDING
        with np.errstate(all="ignore"):
            ratios = self.exceeded[: self._n] / (relative * np.maximum(self.size, self.floor)[: self._n])
        reached = np.array([i for i in np.flatnonzero(ratios > 1.0) if not self.at_rest(int(i), t, x, m)], dtype=int)
        if not reached.size:
            return _NO_ROUNDING
        names = tuple(self._bound.program.layout.label("x", int(i)) for i in reached)
        # The gain by which repeated noise tests raise the weights is not rounding error.
        return Rounding(steps, self._rtol * max(1.0, float(ratios[reached].max()) / self.table["boosted"]), names)

    def at_rest(self, state: int, t: float, x: np.ndarray, m: np.ndarray) -> bool:
        x, m, self.table["resting"] = _contiguous(x), _contiguous(m), 0
        result = bool(self._rests(self.table.address, t, address_of(x), address_of(m), state))
        self._lookup.check()
        return result

    def scales_of(self, t: float, x: np.ndarray, m: np.ndarray, columns: np.ndarray, rates: np.ndarray) -> np.ndarray:
        """Return the natural scales (k, n) of k changes of the states, `columns` (k, n) with their `rates` (k, n), propagated
        along the couplings; 0 for states that nothing drives."""
        couplings = self._bound.jacobian_couplings(t, x, m)
        with np.errstate(all="ignore"):
            speed = fastest_rates(couplings, self._longest)
            moved = np.where(np.abs(rates) < np.inf, np.abs(rates), 0.0) / speed
            return np.array([propagated(couplings, speed, scale) for scale in np.fmax(np.abs(columns), moved)])

    def noise_of_rates(self, t: float, x: np.ndarray, m: np.ndarray, sizes: np.ndarray, longest: float) -> np.ndarray:
        """Return the standard deviation of the rounding error of each rate and each power (n + quadratures,), per second in their
        units, for states of `sizes` (n,) and the `longest` step, s."""
        x, m, kept = _contiguous(x), _contiguous(m), self.scale.copy()
        self.scale[:], self.table["longest"] = sizes, longest
        self._measure_rounding(self.table.address, t, address_of(x), address_of(m))
        self.scale[:], self.table["longest"] = kept, self._longest
        return self.table.arrays["sigma"].copy()

    def begin(self, t: float, x: np.ndarray, q: np.ndarray, m: np.ndarray) -> None:
        x, q, m = _contiguous(x), _contiguous(q), _contiguous(m)
        self._begin(self.table.address, t, address_of(x), address_of(q), address_of(m))
        self._lookup.check()

    def refresh(self, t: float, x: np.ndarray, m: np.ndarray) -> None:
        x, m = _contiguous(x), _contiguous(m)
        self._refresh(self.table.address, t, address_of(x), address_of(m))
        self._lookup.check()

    def test_noise(self, t: float, x: np.ndarray, m: np.ndarray, h: float, relative: float, implicit: bool = False) -> None:
        x, m = _contiguous(x), _contiguous(m)
        self._test_noise(self.table.address, t, address_of(x), address_of(m), h, relative, implicit)
        self._lookup.check()

    def decay(self, t: float, x: np.ndarray, m: np.ndarray, h: float, relative: float, implicit: bool = False) -> None:
        x, m = _contiguous(x), _contiguous(m)
        self._decay(self.table.address, t, address_of(x), address_of(m), h, relative, implicit)
        self._lookup.check()

    def check(self) -> None:
        self._lookup.check()


def fastest_rates(couplings: JacobianCouplings, longest: float) -> np.ndarray:
    """Return the fastest rate at which each state is coupled (n,), 1/s, but at least the reciprocal of the longest step (s)."""
    n, structure, values = len(couplings.diagonal), couplings.structure, _contiguous(couplings.values)
    rates, work, cycles = np.empty(n), np.empty(3 * n + 1), strong_cycles(n)
    places = [structure.table.address, cycles.address, *map(address_of, (values, couplings.diagonal, rates, work))]
    _procedure("fastest_by_cycles", len(places))(*places)
    return np.fmax(np.where(rates < np.inf, rates, 0.0), 1.0 / longest)


def propagated(couplings: JacobianCouplings, speed: np.ndarray, scales: np.ndarray) -> np.ndarray:
    reached, values = np.array(scales, dtype=float), _contiguous(couplings.values)
    arrays = values, speed, reached, np.empty(len(scales) + len(values))
    _procedure("propagate", 5)(couplings.structure.table.address, *map(address_of, arrays))
    return reached


def _procedure(name: str, count: int) -> Callable[..., None]:
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * count)(error_weights.machine_code().address(name))


def strong_cycles(n: int) -> FieldTable:
    table = FieldTable(StrongCycles)
    table.allocate(states=n)
    return table


def _contiguous(values: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(values, dtype=float)


def _pattern_lookup(structures: StructureCache, table: FieldTable) -> tuple[list[Any], PythonCallback]:
    """Return the records of sparsity patterns, and a callback that looks up the pattern of the `nonzero_flags` in Python until
    a run has met more patterns than it keeps, after which machine code builds them (`pattern_buffers`)."""
    patterns: list[Any] = [None] * PATTERNS
    nonzero_flags = table.arrays["nonzero_flags"]

    def pattern(entries: np.ndarray) -> FieldTable:
        structure, diagonal, off_diagonal = structures.structure(entries == 1)
        record = FieldTable(SparsityPattern)
        arrays = {
            "nonzero_flags": np.array(entries, dtype=np.int64),
            "on_diagonal": diagonal,
            "diagonal_rows": structures.rows[diagonal],
            "off_diagonal": off_diagonal,
        }
        for name, array in arrays.items():
            record.point(name, array)
        record.point("structure", structure.table)
        record["structure_key"] = structure.table.address
        record["diagonal_count"], record["off_diagonal_count"] = len(diagonal), len(off_diagonal)
        return record

    def looked_up() -> int:
        slot = (int(table["oldest"]) - 1) % PATTERNS
        if patterns[slot] is not None:
            for buffer in provide_pattern_buffers(table):
                buffer["structure_key"] = buffer.address  # concurrent runs must not share patterns
            table.point("look_up_pattern", code_of_buffers().address(pattern_in_buffer.__name__))
        patterns[slot] = pattern(nonzero_flags)
        return patterns[slot].address

    # Machine code cannot continue without a pattern; an empty pattern is harmless until the exception is raised.
    none = pattern(np.zeros_like(nonzero_flags))
    return patterns, PythonCallback(looked_up, lambda: none.address, persistent=True, has_argument=True)
