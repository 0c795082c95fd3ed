"""Idioms of the procedures of a run: values in; the instructions for their size, the larger of two, the time of formulas, out."""

from __future__ import annotations

from bondgraph.emit.procedure import Procedure, Record, Temporary


def clock_time(write: Procedure, record: Record, t: Temporary) -> Temporary:
    """Where the time on the clock of the formulas lies: that of t, s since the start of the run, but within the present window
    between breaks; `record` has the fields origin and window."""
    window = record.get("window")
    inside = write.intrinsic("minnum", record.get("origin") + t, window[1])
    return write.local(write.intrinsic("maxnum", inside, window[0])).place


def size_of(write: Procedure, value: Temporary) -> Temporary:
    """Its absolute value."""
    return write.intrinsic("fabs", value)


def larger(write: Procedure, first: Temporary, second: Temporary) -> Temporary:
    """The larger of two numbers; what is no number does not count."""
    return write.intrinsic("maxnum", first, second)


def finite(value: Temporary) -> Temporary:
    """Whether a number is finite."""
    return (value * 0.0).equals(0.0)
