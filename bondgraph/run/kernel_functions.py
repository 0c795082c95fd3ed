"""Functions of the kernel language that the rooms of a run share: the time of the formulas, finite numbers."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from bondgraph.emit.kernel_language.language import Reals, finite, inline, larger, smaller


class ClockTable(Protocol):
    """Table with the time of the start on the user's clock, s, and the present window between breaks."""

    origin: float
    window: np.ndarray


@inline
def formula_time(c: ClockTable, t: float) -> float:
    """Return the time on the clock of the formulas: t, s since the start of the run, limited to the present window between
    breaks."""
    return larger(smaller(c.origin + t, c.window[1]), c.window[0])


def all_finite(values: Reals, count: int) -> bool:
    """Return True if `count` numbers are finite."""
    for i in range(count):
        if not finite(values[i]):
            return False
    return True
