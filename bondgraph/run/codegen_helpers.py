"""Time on the clock of the formulas, for all functions of a run in the kernel language."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from bondgraph.emit.kernel_language import language


class ClockTable(Protocol):
    """Table with the time of the start on the user's clock, s, and the present window between breaks."""

    origin: float
    window: np.ndarray


@language.inline
def formula_time(s: ClockTable, t: float) -> float:
    """Return the time on the clock of the formulas: t, s since the start of the run, limited to the present window between
    breaks."""
    return language.larger(language.smaller(s.origin + t, s.window[1]), s.window[0])
