"""What the driver asks of an integrator: legs between events, and nothing else.

In the literature: a segment of integration.
"""

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
    """What an integrator works with: error per step relative to the weights of a run (`weights`), longest step, s; after more
    `steps` it pauses, so that the run ends there."""

    relative: float
    max_step: float
    steps: int


@dataclass(frozen=True)
class Onset:
    """Where a leg began after events on the way: time, modes (modes,), levels of the guards (guards,)."""

    time: float
    m: np.ndarray
    levels: np.ndarray


@dataclass(frozen=True)
class Leg:
    """A stretch of a run without events.

    Parameters
    ----------
    status : why it ended.
    t, x, q : where it ended: time, states (n,), integrated powers (quadratures,).
    written : count of rows of samples that are filled; of the last page, where there were several.
    fired : transitions whose guards crossed zero upward at t.
    reason : of a failure, "kind: text".
    onset : of the leg that ends here, where an integrator settles events by itself; `held` : in how many rows of samples it has
        written the modes.
    """

    status: Status
    t: float
    x: np.ndarray
    q: np.ndarray
    written: int
    fired: tuple[int, ...] = ()
    reason: str = ""
    onset: Onset | None = None
    held: int = 0


@dataclass(frozen=True)
class Effort:
    """What a run cost: counts since the start; `noisy` steps were controlled to the rounding of the rates (`weights`)."""

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

PATIENCE, HOPELESS = 100_000, 1e6
"""After so many steps a run is given up that would need so many times its largest count of steps at its pace."""


def endless(steps: int, most: int, way: float) -> bool:
    """Whether so many steps for that part of the way are too many, or will certainly be. Where it is asked is a matter of counts
    of steps, never of time, so that a run ends in the same place on a slow machine."""
    return steps > most or (steps >= PATIENCE and way * most * HOPELESS <= steps)


class Integrator(Protocol):
    """A method of integration bound to one program and one run."""

    def restart(self, t: float, x: np.ndarray, q: np.ndarray, m: np.ndarray, levels: np.ndarray) -> None:
        """Begin a leg; `levels` (guards,) are what each guard must exceed until it has
        been below zero once, by as much: g < -|level|."""

    def advance(self, times: np.ndarray, rows: np.ndarray, stop: float, following: NextPage | None = None) -> Leg:
        """Integrate through sample times (k,) (ascending, not beyond stop) to the stop time or the next event; states
        and integrated powers at the times that are reached go into rows (k, n + quadratures), contiguous, or fewer, which
        `following` exchanges for empty ones where they are full."""

    def effort(self) -> Effort:
        """Counts since the start."""

    def close(self) -> None:
        """Free what was taken, if anything was."""
        return


@dataclass(frozen=True)
class Selection:
    """Which method integrates; whether it is to report that the model is stiff."""

    entry: MethodEntry
    watch_stiffness: bool = False

    @property
    def method(self) -> str:
        """Its name."""
        return self.entry.name
