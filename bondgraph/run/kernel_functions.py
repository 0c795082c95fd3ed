"""Functions of the kernel language that several parts of a run share."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from bondgraph.emit.kernel_language.language import Reals, finite, inline, larger, smaller


class ClockTable(Protocol):
    """Table with the start time on the user's clock, s, and the current window between breaks."""

    origin: float
    window: np.ndarray


@inline
def formula_time(c: ClockTable, t: float) -> float:
    """Convert t, s since the start of the run, to the clock of the formulas, clipped to the current window between breaks."""
    return larger(smaller(c.origin + t, c.window[1]), c.window[0])


def all_finite(values: Reals, count: int) -> bool:
    for i in range(count):
        if not finite(values[i]):
            return False
    return True
