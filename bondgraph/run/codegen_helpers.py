"""Code generation helpers for all procedures of a run: absolute value, maximum, finiteness, time of the formulas."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from bondgraph.emit.kernel_language import language
from bondgraph.emit.procedure import Procedure, Record, Temporary


class ClockTable(Protocol):
    """Table with the time of the start on the user's clock, s, and the present window between breaks."""

    origin: float
    window: np.ndarray


@language.inline
def formula_time(s: ClockTable, t: float) -> float:
    """Return the time on the clock of the formulas: t, s since the start of the run, limited to the present window between
    breaks."""
    return language.larger(language.smaller(s.origin + t, s.window[1]), s.window[0])


def clock_time(write: Procedure, record: Record, t: Temporary) -> Temporary:
    """Return the address of the time on the clock of the formulas: t, s since the start of the run, limited to the present window
    between breaks; `record` has the fields origin and window."""
    window = record.get("window")
    inside = write.intrinsic("minnum", record.get("origin") + t, window[1])
    return write.local(write.intrinsic("maxnum", inside, window[0])).address


def magnitude(write: Procedure, value: Temporary) -> Temporary:
    """Return the absolute value of a number."""
    return write.intrinsic("fabs", value)


def larger(write: Procedure, first: Temporary, second: Temporary) -> Temporary:
    """Return the larger of two numbers; ignore NaN."""
    return write.intrinsic("maxnum", first, second)


def is_finite(value: Temporary) -> Temporary:
    """Return the condition that a number is finite."""
    return (value * 0.0).equals(0.0)
