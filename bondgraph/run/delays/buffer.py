"""Memory for the signal history of a run's delays, and the history before the start."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np

from bondgraph.errors import Problem, RunError
from bondgraph.run.delays.history import NEVER, NODES, DelayTable
from bondgraph.run.program import Program, RunDelay
from bondgraph.run.table import FieldTable

_ROOM = 1024
_EXACT, _FINEST = 1e-13, 2.0**-20
"""_EXACT is the largest error of the polynomials through a history given as a function, relative to its values; _FINEST is
the shortest piece, relative to the length of the history."""
_ROUNDING = 16.0 * 2.220446049250313e-16
_TESTS = (0.02, 0.27, 0.45, 0.7, 0.98)
_SAME = 1e-9
"""Largest relative change of a signal at the start, caused by its own delay, that counts as rounding error."""


class DelayBuffer:
    """Memory for the history of delayed signals in one run; times are measured from the start of the run.

    `following` (delays,) are the times of the next breaks, s, which machine code updates; they are stored with the clocks, from
    row `first` on.
    """

    def __init__(self, program: Program, p: np.ndarray, origin: float, first: int, following: np.ndarray):
        self._delays, self._p, self._origin = program.delays, p, origin
        self.lengths = np.array([p[delay.length] for delay in program.delays])
        _check(program, self.lengths)
        self.shortest, self._longest = float(self.lengths.min()), float(self.lengths.max())
        self.table, count = FieldTable(DelayTable), len(program.delays)
        self.table.allocate(n=program.states, count=count)
        arrays = self.table.arrays
        arrays["spans"][:] = self.lengths
        arrays["places"][:] = [delay.place for delay in program.delays]
        arrays["ahead"][:] = NEVER
        addresses = [delay.kernel.address or 0 for delay in program.delays]
        self.table.point("sources", np.array(addresses, dtype=np.uint64))
        self.table.point("following", following)
        self.table.point("nodes", np.array(NODES))
        self.table["n"], self.table["count"], self.table["first_clock"] = program.states, count, first
        self.table["direct"] = any(delay.direct for delay in program.delays)
        self._enlarge(_ROOM)

    def initial_states(self, x: np.ndarray, m: np.ndarray) -> np.ndarray:
        """Return the states at the start, delayed signals included, and write the history of the signals before the start. Raises
        `RunError` E333 for a delay without a history whose first value depends on itself."""
        x = x.copy()
        for delay, length in zip(self._delays, self.lengths.tolist(), strict=True):
            if callable(delay.history):
                x[delay.place] = self._from_start(delay.history)(-length)
        free = [delay for delay in self._delays if delay.history is None]
        for delay in free * len(free):  # a delay may depend on delays that follow it
            x[delay.place] = self._signal(delay, x, m)
        for delay in free:
            value = self._signal(delay, x, m)
            if not abs(value - x[delay.place]) <= _SAME * max(abs(value), abs(x[delay.place])):
                why = "its initial history is its first value, but this value depends on the delay itself"
                raise RunError(Problem("E333", f'the delay "{delay.name}" has no history', (why,), cures=("initial=0.0",)))
        signals: list[Callable[[float], float]] = [
            self._from_start(delay.history) if callable(delay.history) else _constant(float(x[delay.place]))
            for delay in self._delays
        ]
        ends = [*sorted({-float(length) for length in self.lengths}), 0.0]
        for start, end in itertools.pairwise(ends):
            reaching = [s if -length <= start else _constant(0.0) for s, length in zip(signals, self.lengths, strict=True)]
            self._write(reaching, start, end, (end - start) * _FINEST)
        return x

    def make_room(self, t: float) -> None:
        """Once half of the rows are filled, drop the rows that no delay needs from time t on, and add rows if too few are
        empty."""
        table, arrays = self.table, self.table.arrays
        filled, room = int(table["filled"]), int(table["room"])
        if 2 * filled < room:
            return
        starts = arrays["starts"][: filled + 1]
        gone = max(0, int(np.searchsorted(starts, t - self._longest, side="left")) - 2)
        for name, size in (("starts", 1), ("levels", 1), ("values", len(self._delays) * len(NODES))):
            rows = arrays[name].reshape(-1, size)
            count = filled - gone + (name == "starts")
            rows[:count] = rows[gone : gone + count].copy()
        for name in ("rows", "passed", "ahead"):
            numbers = arrays[name]
            numbers[:] = np.where(numbers == NEVER, NEVER, np.maximum(numbers - gone, 0))
        table["filled"] = filled - gone
        if 2 * (filled - gone) >= room:
            self._enlarge(2 * room)

    def _enlarge(self, room: int) -> None:
        sizes = {"starts": room + 1, "levels": room, "values": room * len(self._delays) * len(NODES)}
        for name, size in sizes.items():
            fresh = np.zeros(size, dtype=np.int64 if name == "levels" else float)
            if name in self.table.arrays:
                fresh[: len(self.table.arrays[name])] = self.table.arrays[name]
            self.table.point(name, fresh)
        self.table["room"] = room

    def _signal(self, delay: RunDelay, x: np.ndarray, m: np.ndarray) -> float:
        return float(delay.kernel(np.array([self._origin]), x, self._p, m)[delay.place])

    def _from_start(self, history: Callable[[float], float]) -> Callable[[float], float]:
        return lambda t: float(history(self._origin + t))

    def _write(self, signals: list[Callable[[float], float]], start: float, end: float, finest: float) -> None:
        nodes = start + np.array(NODES) * (end - start)
        nodes[1] = end
        rows = [_differences([signal(time) for time in nodes.tolist()]) for signal in signals]
        later = _ROUNDING * (abs(self._origin) + self._longest)
        bends = any(_bends(signal, row, start, end, later) for signal, row in zip(signals, rows, strict=True))
        if bends and end - start > finest:
            middle = 0.5 * (start + end)
            self._write(signals, start, middle, finest)
            self._write(signals, middle, end, finest)
            return
        self.make_room(-np.inf)
        filled, arrays = int(self.table["filled"]), self.table.arrays
        arrays["values"].reshape(-1, len(signals), len(NODES))[filled] = rows
        arrays["starts"][filled : filled + 2] = start, end
        self.table["filled"] = filled + 1


def _differences(values: list[float]) -> np.ndarray:
    c = np.array(values)
    for order in range(1, len(NODES)):
        for j in range(len(NODES) - 1, order - 1, -1):
            c[j] = (c[j] - c[j - 1]) / (NODES[j] - NODES[j - order])
    return c


def _bends(signal: Callable[[float], float], c: np.ndarray, start: float, end: float, later: float) -> bool:
    """Return True if a signal differs from its polynomial between the nodes by more than `_EXACT` permits plus the change of
    the signal during `later`, the rounding error of time (s)."""
    size = abs(c[0]) + abs(c[1])
    for theta in _TESTS:
        value = c[-1]
        for j in range(len(NODES) - 2, -1, -1):
            value = value * (theta - NODES[j]) + c[j]
        time = start + theta * (end - start)
        true = signal(time)
        if abs(value - true) > _EXACT * max(abs(true), size) + abs(signal(time + later) - true):
            return True
    return False


def _constant(value: float) -> Callable[[float], float]:
    return lambda t: value


def _check(program: Program, lengths: np.ndarray) -> None:
    for delay, length in zip(program.delays, lengths.tolist(), strict=True):
        if not 0.0 < length < np.inf:
            why = f"its time is {length:g} s"
            cures = ("a positive, finite time, in s", "the signal itself instead of a delay of zero")
            raise RunError(Problem("E332", f'the delay "{delay.name}" cannot run', (why,), cures=cures))
    if program.loops:
        elements = ", ".join(program.loops[0].elements)
        title = f'delays such as "{program.delays[0].name}" cannot run in a model with an algebraic loop that needs iteration'
        ways = ("a state in the loop: a small C or I", "linear laws in the loop")
        raise RunError(Problem("E334", title, (f"the loop goes through {elements}",), cures=ways))
