"""Interface of an integrator: segments of integration between events, their results and their cost."""

from __future__ import annotations

import operator
from dataclasses import dataclass, fields
from typing import Protocol

import numpy as np

from bondgraph.methods import MethodEntry
from bondgraph.run.samples import NextPage
from bondgraph.run.status import Status


@dataclass(frozen=True)
class Tolerances:
    """Tolerances of an integrator: relative tolerance of the error per step, largest step size, s, and maximum number of steps of
    a run, after which the integrator pauses."""

    relative: float
    max_step: float
    steps: int


@dataclass(frozen=True)
class SegmentStart:
    """Start of a segment after events that the integrator has handled: time, modes (modes,) and levels of the guards (2
    guards,)."""

    time: float
    m: np.ndarray
    levels: np.ndarray


@dataclass(frozen=True)
class Segment:
    """Result of a segment of integration.

    Parameters
    ----------
    status : reason why it ended.
    t, x, q : time, states (n,) and integrated powers (quadratures,) at its end.
    written : number of filled sample rows, on the last page if there were several.
    fired : transitions whose guards crossed zero upward at t.
    reason : reason of a failure, "kind: message".
    start : start of this segment, if the integrator handles events itself.
    held : number of sample rows whose modes the integrator has written.
    """

    status: Status
    t: float
    x: np.ndarray
    q: np.ndarray
    written: int
    fired: tuple[int, ...] = ()
    reason: str = ""
    start: SegmentStart | None = None
    held: int = 0


@dataclass(frozen=True)
class Effort:
    """Cost of integration, in counts and in seconds; `noisy` counts the steps in which rounding errors of the rates exceeded the
    tolerance."""

    steps: int = 0
    rejected: int = 0
    rates: int = 0
    jacobians: int = 0
    guards: int = 0
    seconds: float = 0.0
    noisy: int = 0

    def __add__(self, other: Effort) -> Effort:
        return Effort(*map(operator.add, _NUMBERS(self), _NUMBERS(other)))


_NUMBERS = operator.attrgetter(*(field.name for field in fields(Effort)))

MIN_STEPS_BEFORE_GIVING_UP, HOPELESS_RATIO = 100_000, 1e6
"""A run gives up after MIN_STEPS_BEFORE_GIVING_UP steps if, at its rate of progress, it would need HOPELESS_RATIO times its
maximum number of steps."""

FIRST_INSPECTION = 8192
"""Number of steps after which a run that would take too many steps is first inspected for chattering."""


def too_many_steps(steps: int, max_steps: int, progress: float) -> bool:
    """Return True if a run with this number of steps for this fraction of its span has taken too many, or certainly will. The
    test depends on counts of steps, never on wall time, so that a run ends at the same point on a slow machine."""
    return steps > max_steps or (steps >= MIN_STEPS_BEFORE_GIVING_UP and progress * max_steps * HOPELESS_RATIO <= steps)


class Integrator(Protocol):
    def restart(self, t: float, x: np.ndarray, q: np.ndarray, m: np.ndarray, levels: np.ndarray) -> None:
        """Begin a segment. Until a guard has fallen below zero by more than its depth, it fires only above its level; `levels`
        (2 guards,) contains the levels, then the depths."""

    def advance(self, times: np.ndarray, rows: np.ndarray, stop: float, following: NextPage | None = None) -> Segment:
        """Integrate through sample times (k,) (ascending, not beyond stop) to the stop time or the next event. Write states and
        integrated powers at the times reached to contiguous rows (k, n + quadratures), or to fewer rows, which `following`
        exchanges for empty rows when they are full."""

    def slow_pace(self) -> float:
        """Return the mean length, s, of the last steps if an inspection found that the run would take too many steps, or 0;
        return each finding once."""

    def effort(self) -> Effort: ...

    def close(self) -> None:
        return


@dataclass(frozen=True)
class Selection:
    entry: MethodEntry
    watch_stiffness: bool = False

    @property
    def method(self) -> str:
        return self.entry.name
