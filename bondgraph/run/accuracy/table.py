"""Weights whose arithmetic is machine code (`weighing`): a bound program in; a table that integrators share, out."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from bondgraph.emit.interpreter.code import WORK
from bondgraph.emit.interpreter.steps import STRIP, InterpretedSteps
from bondgraph.emit.kernel import LaneKernels, address_of, aligned_zeros
from bondgraph.run.accuracy import error_weights
from bondgraph.run.accuracy.fields import FIELDS, PATTERN, PATTERNS, SEEN
from bondgraph.run.accuracy.reference.error_weights import COLLECTED, LADDER, Weights
from bondgraph.run.accuracy.reference.rounding_noise import POINTS, SPANS, directions
from bondgraph.run.bound import Bound
from bondgraph.run.python_callbacks import PythonCallback
from bondgraph.run.sparsity.coupling_graph import structure_of
from bondgraph.run.sparsity.reference import CouplingStructure, StructureCache
from bondgraph.run.table import FieldTable


def _shared(name: str) -> Any:
    """A number that lies in the table."""

    def get(own: SharedWeights) -> float:
        return own.table[name]

    def put(own: SharedWeights, value: float) -> None:
        own.table[name] = value

    return property(get, put)


class SharedWeights(Weights):
    """`Weights` in machine code. `table` (`fields.FIELDS`) is what its procedures take; `addresses` are theirs by name."""

    energy, _spread, patience, _boost, _boosted = map(_shared, ("energy", "spread", "patience", "boost", "boosted"))

    def __init__(self, bound: Bound, rtol: float, absolute: np.ndarray | None, longest: float):
        self.table = FieldTable(FIELDS)
        self._in_lanes: LaneKernels | None = None
        super().__init__(bound, rtol, absolute, longest)
        program, library, table = bound.program, error_weights.machine_code(), self.table
        kernel, structures = program.jacobian_couplings
        storages = 0 if program.energies is None else program.energies.n_out
        steps = None if kernel is None else kernel.steps
        entries, n, width = len(structures.rows), self._n, self._n + self._nq
        most = max(n, storages, self._nq)
        lengths = dict.fromkeys(("nonzeros", "values", "found"), entries)
        lengths |= dict.fromkeys(("diagonal", "fastest", "later", "moved", "scales", "apart", "driven"), n)
        lengths |= dict.fromkeys(("held", "beyond", "sharp"), most) | dict.fromkeys(("third", "fourth", "sigma"), width)
        lengths |= {
            "balance": 3 * n + 1,
            "reached": n + entries,
            "points": len(SPANS) * POINTS * width,
            "seen": SEEN * program.modes,
        }
        lengths |= {"patterns": PATTERNS, "blocks": 4, "absolute": n, "coupled_at": 1 + n + program.modes}
        arrays = {name: np.zeros(length) for name, length in lengths.items()}
        arrays |= {name: getattr(self, name) for name in ("size", "floor", "noise", "exceeded", "speed", "scale")}
        arrays |= {"squares": self._squares, "square_modes": self._square_modes, "p": bound.p, "window": bound.window}
        arrays["nominal"] = np.ascontiguousarray(program.nominal, dtype=float)
        arrays["ladder"] = np.array([10.0 ** (2 * power) for power in range(LADDER)])
        arrays["directions"] = directions(n)
        if absolute is not None:
            arrays["absolute"][:] = absolute / rtol
        for name, array in arrays.items():
            table.point(name, array)
        for name in ("rates", "powers", "energies"):
            code = getattr(program, name)
            table.point(name, 0 if code is None else code.address or 0)
        counts = {"n": n, "quadratures": self._nq, "storages": storages, "modes": program.modes}
        counts |= {"entry_count": entries if kernel is not None else 0, "has_absolute": absolute is not None}
        counts["autonomous"] = program.autonomous
        for name, count in counts.items():
            table[name] = int(count)
        table["origin"], table["rtol"], table["longest"] = bound.origin, rtol, longest
        table["collected"] = COLLECTED * float(np.sqrt(max(n, 1)))
        if steps is not None:
            self._interpret(steps)
        elif kernel is not None:
            table.point("couple", kernel.address or 0)
        self._structures, self._held, self._meet = structures, *_meeting(structures, table)
        table.point("meet", self._meet.address)
        self.addresses = {name: library.address(f"weights_{name}") for name in ("reset", "begin", "renew", "question", "relax")}
        whole, real, address = ctypes.c_int64, ctypes.c_double, ctypes.c_void_p
        of_step = ctypes.CFUNCTYPE(None, address, real, address, address, real, real, whole)
        self._begin = ctypes.CFUNCTYPE(None, address, real, address, address, address)(self.addresses["begin"])
        self._renew = ctypes.CFUNCTYPE(None, address, real, address, address)(self.addresses["renew"])
        self._question, self._relax = of_step(self.addresses["question"]), of_step(self.addresses["relax"])

    def _interpret(self, steps: InterpretedSteps) -> None:
        """Let the couplings be those that the steps give."""
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
        arrays |= {"numbers": np.zeros(len(steps.start)), "work": np.zeros(WORK), "rows": aligned_zeros(steps.rows * STRIP)}
        for name, array in arrays.items():
            table.point(name, array)
        table.point("interpret", steps.address)
        table["interpreted"], table["number_count"], table["input_count"] = 1, len(steps.start), len(steps.positions)
        table["step_count"], table["group_count"] = len(steps.table), steps.groups

    def side_by_side(self, kernels: LaneKernels) -> None:
        """Let several points be evaluated at once."""
        table, program, lanes = self.table, self._bound.program, kernels.lanes
        if self._in_lanes is kernels:
            return
        self._in_lanes = kernels
        for name in ("rates", "powers"):
            table.point(f"wide_{name}", kernels.addresses.get(name, 0))
        width = self._n + self._nq
        for name, length in {"t": 1, "x": self._n, "p": program.parameters, "m": program.modes, "out": width}.items():
            table.point(f"wide_{name}", aligned_zeros(length * lanes))
        table["lanes"], table["parameters"] = lanes, program.parameters

    def begin(self, t: float, x: np.ndarray, q: np.ndarray, m: np.ndarray) -> None:
        x, q, m = _plain(x), _plain(q), _plain(m)
        self._begin(self.table.address, t, address_of(x), address_of(q), address_of(m))
        self._meet.check()

    def renew(self, t: float, x: np.ndarray, m: np.ndarray) -> None:
        x, m = _plain(x), _plain(m)
        self._renew(self.table.address, t, address_of(x), address_of(m))
        self._meet.check()

    def question(self, t: float, x: np.ndarray, m: np.ndarray, h: float, relative: float, implicit: bool = False) -> None:
        x, m = _plain(x), _plain(m)
        self._question(self.table.address, t, address_of(x), address_of(m), h, relative, implicit)
        self._meet.check()

    def relax(self, t: float, x: np.ndarray, m: np.ndarray, h: float, relative: float, implicit: bool = False) -> None:
        x, m = _plain(x), _plain(m)
        self._relax(self.table.address, t, address_of(x), address_of(m), h, relative, implicit)
        self._meet.check()

    def check(self) -> None:
        """Raise what has come while machine code was answered."""
        self._meet.check()


def _plain(values: np.ndarray) -> np.ndarray:
    """The same in a row."""
    return np.ascontiguousarray(values, dtype=float)


def _meeting(structures: StructureCache, table: FieldTable) -> tuple[list[Any], PythonCallback]:
    """Records of the patterns that are `found` in a table, one after the other, for machine code that has moved `oldest` on; and
    what keeps alive those that have a place. Few patterns are met in a run, and each is looked up once."""
    held: list[Any] = [None] * PATTERNS
    found, count = table.arrays["found"], int(table["entry_count"])

    def pattern(whole: np.ndarray) -> tuple[FieldTable, CouplingStructure]:
        structure, own, beside = structures.structure(whole == 1, structure_of)
        record = FieldTable(PATTERN)
        arrays = {"found": np.array(whole, dtype=np.int64), "own": own, "own_rows": structures.rows[own], "beside": beside}
        for name, array in arrays.items():
            record.point(name, array)
        record.point("structure", structure.table.address)
        record["own_count"], record["beside_count"] = len(own), len(beside)
        return record, structure

    def looked_up() -> int:
        place = (int(table["oldest"]) - 1) % PATTERNS
        held[place] = pattern(found.view(np.int64)[:count])
        return held[place][0].address

    # Machine code cannot go on without a pattern: that of no couplings, made before there is need of it, does no harm until the
    # exception is raised.
    none = pattern(np.zeros(count, dtype=np.int64))
    return held, PythonCallback(looked_up, lambda: none[0].address, persistent=True)
