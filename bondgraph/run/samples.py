"""Buffer of the samples of a run, row by row: states, integrated powers and modes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

NextPage = Callable[[int, np.ndarray, int], np.ndarray]
"""Function (count, modes (modes,), held) -> empty rows (k, n + quadratures). The function marks as filled the first `count` of
the rows that it last returned, and writes their modes, except those of the first `held` rows, which are already written."""

SampleConsumer = Callable[[np.ndarray, np.ndarray, np.ndarray], None]
"""Function that takes states (k, n), integrated powers (k, quadratures) and modes (k, modes) of consecutive samples."""


class SampleRows:
    """Buffer of samples: `rows` (capacity, states + quadratures) and `modes` (capacity, modes); `written` counts the samples so
    far.

    The buffer holds all samples of a run unless a `consumer` takes them during the run.
    """

    def __init__(self, capacity: int, states: int, quadratures: int, modes: int, consumer: SampleConsumer | None = None):
        self.rows, self.modes = np.empty((capacity, states + quadratures)), np.empty((capacity, modes))
        self.states, self.written = states, 0
        self._flushed, self._consumer = 0, consumer

    @classmethod
    def over(cls, rows: np.ndarray, modes: np.ndarray, states: int) -> SampleRows:
        rows_of = cls(0, states, rows.shape[1] - states, modes.shape[1])
        rows_of.rows, rows_of.modes, rows_of.written = rows, modes, 1
        return rows_of

    def start(self, x: np.ndarray, q: np.ndarray, m: np.ndarray) -> None:
        self.rows[0] = np.concatenate([x, q])
        self.add(1, m)

    @property
    def pending(self) -> int:
        return self.written - self._flushed

    @property
    def free_rows(self) -> np.ndarray:
        return self.rows[self.pending :]

    @property
    def free_modes(self) -> np.ndarray:
        return self.modes[self.pending :]

    def add(self, count: int, m: np.ndarray, held: int = 0) -> None:
        self.modes[self.pending + held : self.pending + count] = m
        self.written += count

    def flush(self) -> None:
        if self._consumer is not None and self.pending:
            self._consumer(self.x, self.q, self.m)
            self._flushed = self.written

    @property
    def x(self) -> np.ndarray:
        return np.ascontiguousarray(self.rows[: self.pending, : self.states])

    @property
    def q(self) -> np.ndarray:
        return np.ascontiguousarray(self.rows[: self.pending, self.states :])

    @property
    def m(self) -> np.ndarray:
        return self.modes[: self.pending]
