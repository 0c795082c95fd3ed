"""Run of the delta robot: results in the robot's own terms, and the singularities on its path."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from screwbond.models.delta.kinematics.arm import by_arms, phi_of
from screwbond.models.delta.kinematics.checks import format_numbers
from screwbond.models.delta.kinematics.robot_kinematics import DeltaKinematics

from bondgraph.compile.compiled import Compiled
from bondgraph.run.results.energy_account import Ledger
from bondgraph.run.results.failure import Failure
from bondgraph.run.results.result import Result, Statistics
from screws.renamed import answer_old_names

NEAR_SINGULARITY = 1e-3
"""Size of sines and determinants of unit vectors, at a row of the result, that counts as a singularity."""


@dataclass(frozen=True, eq=False)
class SingularPosture:
    """Singular configuration on the path of a run.

    Parameters
    ----------
    time : s.
    kind : description of the singularity.
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
        return f"{self.kind} at {self.time:.6g} s, y = {format_numbers(self.y, 'rad')}, w = {format_numbers(self.w, 'm')}"


@answer_old_names
@dataclass(frozen=True, eq=False)
class DeltaRun:
    """Result of a run. `run["y"]` is any quantity by its name; `names()` lists them.

    Parameters
    ----------
    result : all quantities by the names of the graph.
    notes : corrections of the start.
    """

    result: Result
    compiled: Compiled = field(repr=False)
    kinematics: DeltaKinematics = field(repr=False)
    notes: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> np.ndarray:
        return self.result[name]

    def names(self) -> tuple[str, ...]:
        """List the names of all quantities."""
        return self.result.names()

    @property
    def t(self) -> np.ndarray:
        """Sample times (k,), s."""
        return self.result.t

    @property
    def ok(self) -> bool:
        """True if the run reached its end."""
        return self.result.ok

    @property
    def failure(self) -> Failure | None:
        """Reason of an early end of the run."""
        return self.result.failure

    @property
    def statistics(self) -> Statistics:
        """Cost of the run."""
        return self.result.statistics

    @property
    def ledger(self) -> Ledger:
        """Energy account."""
        return self.result.ledger

    def _arms(self, signal: str) -> np.ndarray:
        """Return a signal of the three arms side by side."""
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
        """Kinetic energy plus that of the weight (k,), J."""
        return np.sum([self.result[f"arm {i}.mechanism.energy"] for i in (1, 2, 3)], axis=0)

    @cached_property
    def drift(self) -> np.ndarray:
        """Largest distance between two tips (k,), m."""
        differences = [self.result["closure 2"], self.result["closure 3"]]
        pairs = [*differences, differences[0] - differences[1]]
        return np.max([np.linalg.norm(pair, axis=1) for pair in pairs], axis=0)

    @cached_property
    def singular_postures(self) -> tuple[SingularPosture, ...]:
        """Singular configurations of the kinematics between the rows of the result, in order; two of one kind between two rows
        are missed."""
        if len(self.t) < 2:
            return ()
        from scipy.interpolate import CubicHermiteSpline

        theta = self._arms("theta")
        # Unlike phi, theta has no jumps.
        spline = CubicHermiteSpline(self.t, theta, self._arms("theta rate"))
        values = _singularity_measures(self.kinematics, theta)
        singularities = [
            p for column in range(values.shape[1]) for p in self._singularities_of(spline, column, values[:, column])
        ]
        return tuple(sorted(singularities, key=lambda p: p.time))

    def _singularities_of(self, spline: Any, column: int, s: np.ndarray) -> list[SingularPosture]:
        crossed = np.flatnonzero((s[:-1] > 0.0) != (s[1:] > 0.0))
        singularities = [self._refine(spline, column, int(k), int(k) + 1) for k in crossed]
        near = np.abs(s) < NEAR_SINGULARITY
        for begin, end in np.flatnonzero(np.diff(near, prepend=False, append=False)).reshape(-1, 2):
            if not np.any((crossed >= begin - 1) & (crossed < end)):
                least = int(begin + np.argmin(np.abs(s[begin:end])))
                singularities.append(self._refine(spline, column, max(least - 1, 0), min(least + 1, len(s) - 1)))
        return singularities

    def _refine(self, spline: Any, column: int, first: int, last: int) -> SingularPosture:
        """Locate the smallest value of a measure between two rows on the spline of angles."""
        t = np.concatenate([np.linspace(self.t[k], self.t[k + 1], 65) for k in range(first, last)])
        samples = spline(t)
        index = int(np.argmin(np.abs(_singularity_measures(self.kinematics, samples)[:, column])))
        w = self.kinematics.postures_at(samples[index : index + 1])["w"][0]
        return SingularPosture(float(t[index]), SINGULARITY_KINDS[column], by_arms(phi_of, samples[index]), w)


SINGULARITY_KINDS = (
    "the distal links lie in one plane or are parallel",
    *(f"arm {i} is stretched or folded" for i in (1, 2, 3)),
    *(f"the distal link of arm {i} lies along its motor's shaft" for i in (1, 2, 3)),
)


def _singularity_measures(kinematics: DeltaKinematics, theta: np.ndarray) -> np.ndarray:
    """Return measures (k, 7) at coordinates (k, 9), in the order of SINGULARITY_KINDS; zero where singular."""
    posture: dict[str, Any] = kinematics.postures_at(theta)
    return np.column_stack([posture["side"], posture["stretch"], np.cos(theta[:, 2::3])])
