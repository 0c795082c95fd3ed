"""A run of the delta robot: its course in the robot's own terms, and the singularities that it went through."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from screwbond.models.delta.kinematics.angles import by_arms, phi_of
from screwbond.models.delta.kinematics.refusals import text
from screwbond.models.delta.kinematics.whole_robot import DeltaKinematics

from bondgraph.compile.compiled import Compiled
from bondgraph.run.results.energy_account import Ledger
from bondgraph.run.results.failure import Failure
from bondgraph.run.results.result import Result, Statistics
from screws.renamed import answer_old_names

TOUCH = 1e-3
"""Sines and determinants of unit vectors below this, at a row of the result, count as a passage."""


@dataclass(frozen=True, eq=False)
class SingularPosture:
    """A singular configuration on the way.

    Parameters
    ----------
    time : s.
    kind : what is singular.
    q : (9,) angles of the arms, rad. w : (3,) tool, m.
    """

    time: float
    kind: str
    q: np.ndarray
    w: np.ndarray

    @property
    def y(self) -> np.ndarray:
        """Motor angles (3,), rad."""
        return self.q[::3]

    def __str__(self) -> str:
        return f"{self.kind} at {self.time:.6g} s, y = {text(self.y, 'rad')}, w = {text(self.w, 'm')}"


@answer_old_names
@dataclass(frozen=True, eq=False)
class DeltaRun:
    """What a run gave. `run["y"]` is any quantity by its name; `names()` lists them.

    Parameters
    ----------
    result : everything by the names of the graph.
    notes : what was done to the start.
    """

    result: Result
    compiled: Compiled = field(repr=False)
    kinematics: DeltaKinematics = field(repr=False)
    notes: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> np.ndarray:
        return self.result[name]

    def names(self) -> tuple[str, ...]:
        """All quantities that can be asked for."""
        return self.result.names()

    @property
    def t(self) -> np.ndarray:
        """Sample times (k,), s."""
        return self.result.t

    @property
    def ok(self) -> bool:
        """Whether the run reached its end."""
        return self.result.ok

    @property
    def failure(self) -> Failure | None:
        """Why the run ended before its time."""
        return self.result.failure

    @property
    def statistics(self) -> Statistics:
        """What it cost."""
        return self.result.statistics

    @property
    def ledger(self) -> Ledger:
        """The energy account."""
        return self.result.ledger

    def _arms(self, signal: str) -> np.ndarray:
        """A signal of the three arms side by side."""
        return np.concatenate([self.result[f"arm {i}.{signal}"] for i in (1, 2, 3)], axis=1)

    @cached_property
    def q(self) -> np.ndarray:
        """Angles phi (k, 9), rad."""
        return self._arms("phi")

    @cached_property
    def v(self) -> np.ndarray:
        """Rates of the angles phi (k, 9), rad/s."""
        return self._arms("rate")

    @property
    def y(self) -> np.ndarray:
        """Motor angles (k, 3), rad."""
        return self.result["y"]

    @property
    def w(self) -> np.ndarray:
        """Tool (k, 3), m."""
        return self.result["tool"]

    @cached_property
    def energy(self) -> np.ndarray:
        """Kinetic energy and that of the weight (k,), J."""
        return np.sum([self.result[f"arm {i}.mechanism.energy"] for i in (1, 2, 3)], axis=0)

    @cached_property
    def drift(self) -> np.ndarray:
        """Largest distance between two tips (k,), m."""
        apart = [self.result["closure 2"], self.result["closure 3"]]
        pairs = [*apart, apart[0] - apart[1]]
        return np.max([np.linalg.norm(pair, axis=1) for pair in pairs], axis=0)

    @cached_property
    def singular_postures(self) -> tuple[SingularPosture, ...]:
        """Singular configurations of the kinematics between the rows of the result, in order; two passages of one kind between
        two rows are not seen."""
        if len(self.t) < 2:
            return ()
        from scipy.interpolate import CubicHermiteSpline

        theta = self._arms("theta")
        # Unlike phi, theta has no jumps.
        course = CubicHermiteSpline(self.t, theta, self._arms("theta rate"))
        values = _measures(self.kinematics, theta)
        found = [p for column in range(values.shape[1]) for p in self._passages_of(course, column, values[:, column])]
        return tuple(sorted(found, key=lambda p: p.time))

    def _passages_of(self, course: Any, column: int, s: np.ndarray) -> list[SingularPosture]:
        crossed = np.flatnonzero((s[:-1] > 0.0) != (s[1:] > 0.0))
        found = [self._refined(course, column, int(k), int(k) + 1) for k in crossed]
        near = np.abs(s) < TOUCH
        for begin, end in np.flatnonzero(np.diff(near, prepend=False, append=False)).reshape(-1, 2):
            if not np.any((crossed >= begin - 1) & (crossed < end)):
                least = int(begin + np.argmin(np.abs(s[begin:end])))
                found.append(self._refined(course, column, max(least - 1, 0), min(least + 1, len(s) - 1)))
        return found

    def _refined(self, course: Any, column: int, first: int, last: int) -> SingularPosture:
        """The place of the smallest value between two rows of the course of angles."""
        t = np.concatenate([np.linspace(self.t[k], self.t[k + 1], 65) for k in range(first, last)])
        way = course(t)
        place = int(np.argmin(np.abs(_measures(self.kinematics, way)[:, column])))
        w = self.kinematics.postures_at(way[place : place + 1])["w"][0]
        return SingularPosture(float(t[place]), KINDS[column], by_arms(phi_of, way[place]), w)


KINDS = (
    "the distal links lie in one plane or are parallel",
    *(f"arm {i} is stretched or folded" for i in (1, 2, 3)),
    *(f"the distal link of arm {i} lies along its motor's shaft" for i in (1, 2, 3)),
)


def _measures(kinematics: DeltaKinematics, theta: np.ndarray) -> np.ndarray:
    """(k, 7) of coordinates (k, 9), in the order of KINDS; zero where singular."""
    posture: dict[str, Any] = kinematics.postures_at(theta)
    return np.column_stack([posture["side"], posture["stretch"], np.cos(theta[:, 2::3])])
