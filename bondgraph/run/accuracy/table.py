"""Error weights in machine code for a bound program, in a table that integrators share."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from bondgraph.emit.interpreter.steps import STRIP, InterpretedSteps
from bondgraph.emit.kernel import LaneKernels, address_of, aligned_zeros
from bondgraph.run.accuracy import error_weights
from bondgraph.run.accuracy.fields import PATTERNS, Control, SparsityPattern
from bondgraph.run.accuracy.reference.error_weights import ACCUMULATED_NOISE, TRIAL_FACTORS, Weights
from bondgraph.run.accuracy.reference.rounding_noise import directions
from bondgraph.run.bound import Bound
from bondgraph.run.python_callbacks import PythonCallback
from bondgraph.run.sparsity.coupling_graph import structure_of
from bondgraph.run.sparsity.reference import StructureCache
from bondgraph.run.table import FieldTable


def _table_field(name: str) -> Any:
    """Return a property whose number is stored in the table."""

    def get(weights: SharedWeights) -> float:
        return weights.table[name]

    def put(weights: SharedWeights, value: float) -> None:
        weights.table[name] = value

    return property(get, put)


class SharedWeights(Weights):
    """`Weights` in machine code. `table` (`fields.Control`) is the argument of its procedures; `addresses` maps their names to
    their addresses.
    """

    energy, _spread, patience, _boost, _boosted = map(_table_field, ("energy", "spread", "patience", "boost", "boosted"))

    def __init__(self, bound: Bound, rtol: float, absolute: np.ndarray | None, longest: float):
        self.table = FieldTable(Control.layout())
        self._lane_kernels: LaneKernels | None = None
        super().__init__(bound, rtol, absolute, longest)
        program, library, table = bound.program, error_weights.machine_code(), self.table
        kernel, structures = program.jacobian_couplings
        storages = 0 if program.energies is None else program.energies.n_out
        counts = {"n": self._n, "quadratures": self._nq, "storages": storages, "modes": program.modes}
        counts["entry_count"] = 0 if kernel is None else len(structures.rows)
        steps = None if kernel is None else kernel.steps
        if steps is not None:
            self._interpret(steps)
        elif kernel is not None:
            table.point("couple", kernel.address or 0)
        table.allocate(Control, **counts, number_count=int(table["number_count"]))
        arrays = {name: getattr(self, name) for name in ("size", "floor", "noise", "exceeded", "speed", "scale")}
        arrays |= {"squares": self._squares, "square_modes": self._square_modes, "p": bound.p, "window": bound.window}
        arrays["nominal"] = np.ascontiguousarray(program.nominal, dtype=float)
        arrays["ladder"] = np.array([10.0 ** (2 * power) for power in range(TRIAL_FACTORS)])
        arrays["directions"] = directions(self._n)
        for name, array in arrays.items():
            table.point(name, array)
        if absolute is not None:
            table.arrays["absolute"][:] = absolute / rtol
        for name in ("rates", "powers", "energies"):
            code = getattr(program, name)
            table.point(name, 0 if code is None else code.address or 0)
        counts |= {"has_absolute": absolute is not None, "autonomous": program.autonomous}
        for name, count in counts.items():
            table[name] = count
        table["origin"], table["rtol"], table["longest"] = bound.origin, rtol, longest
        table["collected"] = ACCUMULATED_NOISE * float(np.sqrt(max(self._n, 1)))
        self._structures, self._patterns, self._lookup = structures, *_pattern_lookup(structures, table)
        table.point("meet", self._lookup.address)
        self.addresses = {
            name: library.address(f"weights_{name}") for name in ("reset", "begin", "refresh", "test_noise", "decay")
        }
        integer, real, address = ctypes.c_int64, ctypes.c_double, ctypes.c_void_p
        of_step = ctypes.CFUNCTYPE(None, address, real, address, address, real, real, integer)
        self._begin = ctypes.CFUNCTYPE(None, address, real, address, address, address)(self.addresses["begin"])
        self._refresh = ctypes.CFUNCTYPE(None, address, real, address, address)(self.addresses["refresh"])
        self._test_noise, self._decay = of_step(self.addresses["test_noise"]), of_step(self.addresses["decay"])

    def _interpret(self, steps: InterpretedSteps) -> None:
        """Evaluate the couplings by interpreted steps."""
        table = self.table
        arrays = {
            "places": steps.positions,
            "place_blocks": steps.blocks,
            "place_indices": steps.indices,
            "constants": steps.start,
            "steps": steps.table,
            "seeded": steps.seed_rows,
            "seed_groups": steps.seed_groups,
            "entries": steps.entry_rows,
            "entry_groups": steps.entry_groups,
        }
        arrays["rows"] = aligned_zeros(steps.rows * STRIP)
        for name, array in arrays.items():
            table.point(name, array)
        table.point("interpret", steps.address)
        table["interpreted"], table["number_count"], table["input_count"] = 1, len(steps.start), len(steps.positions)
        table["step_count"], table["group_count"] = len(steps.table), steps.groups

    def use_lanes(self, kernels: LaneKernels) -> None:
        """Use SIMD kernels, which evaluate several points at once."""
        table, program, lanes = self.table, self._bound.program, kernels.lanes
        if self._lane_kernels is kernels:
            return
        self._lane_kernels = kernels
        for name in ("rates", "powers"):
            table.point(f"wide_{name}", kernels.addresses.get(name, 0))
        width = self._n + self._nq
        for name, length in {"t": 1, "x": self._n, "p": program.parameters, "m": program.modes, "out": width}.items():
            table.point(f"wide_{name}", aligned_zeros(length * lanes))
        table["lanes"], table["parameters"] = lanes, program.parameters

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
        """Raise the exceptions of Python callbacks."""
        self._lookup.check()


def _contiguous(values: np.ndarray) -> np.ndarray:
    """Return the values as a contiguous array of floats."""
    return np.ascontiguousarray(values, dtype=float)


def _pattern_lookup(structures: StructureCache, table: FieldTable) -> tuple[list[Any], PythonCallback]:
    """Return the records of sparsity patterns, and a callback that looks up the pattern of the `nonzero_flags` after machine code
    has advanced `oldest`. A run meets few patterns; each is looked up once."""
    patterns: list[Any] = [None] * PATTERNS
    nonzero_flags = table.arrays["nonzero_flags"]

    def pattern(entries: np.ndarray) -> FieldTable:
        structure, diagonal, off_diagonal = structures.structure(entries == 1, structure_of)
        record = FieldTable(SparsityPattern.layout())
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
        patterns[slot] = pattern(nonzero_flags)
        return patterns[slot].address

    # Machine code cannot continue without a pattern: the empty one, made in advance, is harmless until the exception is raised.
    none = pattern(np.zeros_like(nonzero_flags))
    return patterns, PythonCallback(looked_up, lambda: none.address, persistent=True)
