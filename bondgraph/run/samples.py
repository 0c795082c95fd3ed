"""What a run writes at its sample times: states, integrated powers and modes, row by row."""

from __future__ import annotations

import numpy as np


class SampleRows:
    """`rows` (samples, states + quadratures) and `modes` (samples, modes), of which the first `written` are filled."""

    def __init__(self, samples: int, states: int, quadratures: int, modes: int):
        self.rows, self.modes = np.empty((samples, states + quadratures)), np.empty((samples, modes))
        self.states, self.written = states, 0

    @classmethod
    def over(cls, rows: np.ndarray, modes: np.ndarray, states: int) -> SampleRows:
        """Those in these arrays, of which the first are filled."""
        own = cls(0, states, rows.shape[1] - states, modes.shape[1])
        own.rows, own.modes, own.written = rows, modes, 1
        return own

    def start(self, x: np.ndarray, q: np.ndarray, m: np.ndarray) -> None:
        """Write the first row."""
        self.rows[0] = np.concatenate([x, q])
        self.add(1, m)

    @property
    def left(self) -> np.ndarray:
        """Rows that are still to be filled."""
        return self.rows[self.written :]

    def add(self, count: int, m: np.ndarray, held: int = 0) -> None:
        """So many of the rows that were left have been filled, in these modes but for the first, whose modes are `held`."""
        self.modes[self.written + held : self.written + count] = m
        self.written += count

    @property
    def x(self) -> np.ndarray:
        """States, (written, states)."""
        return np.ascontiguousarray(self.rows[: self.written, : self.states])

    @property
    def q(self) -> np.ndarray:
        """Integrated powers, (written, quadratures)."""
        return np.ascontiguousarray(self.rows[: self.written, self.states :])

    @property
    def m(self) -> np.ndarray:
        """Modes, (written, modes)."""
        return self.modes[: self.written]
