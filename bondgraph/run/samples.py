"""What a run writes at its sample times: states, integrated powers and modes, row by row."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np


@dataclass
class SampleRows:
    """Rows (samples, states + quadratures), of which the first `written` are filled, and the modes that held in them."""

    rows: np.ndarray
    states: int
    written: int = 0
    held: list[tuple[np.ndarray, int]] = field(default_factory=list)
    """Modes (modes,), and in how many rows they held."""

    def start(self, x: np.ndarray, q: np.ndarray, m: np.ndarray) -> None:
        """Write the first row."""
        self.rows[0] = np.concatenate([x, q])
        self.add(1, m)

    @property
    def left(self) -> np.ndarray:
        """Rows that are still to be filled."""
        return self.rows[self.written :]

    def add(self, count: int, m: np.ndarray) -> None:
        """So many of the rows that were left have been filled, in these modes."""
        if count:
            self.written += count
            self.held.append((m.copy(), count))

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
        return np.concatenate([np.tile(m, (count, 1)) for m, count in self.held])[: self.written]
