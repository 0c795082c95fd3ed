"""Jump conditions of sensitivities where rates jump at a state: a comparison, `sign`, `floor` or lookup changes.

At the crossing of the surface h(t, x, p) = 0 the rates jump from f to f+, so

    S+ = S + (f - f+) dt,  dt = -(h_x S + h_p) / (h_t + h_x f).

Both rates are evaluated a little before and after the crossing, since several surfaces may coincide.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bondgraph.errors import Problem, RunError
from bondgraph.estimation.jumps.impulse_derivatives import RunKernels, SensitivityState, agree

DISTANCES = 10.0 ** np.arange(-13, -6)
"""Times before and after a crossing at which the rates are evaluated, as fractions of the duration of the run."""

SAME_RATES = 1e-6
"""Relative change of the rates up to which they count as continuous."""

NEVER = 1e150
"""Level of a guard that is not watched."""

MAX_KINKS = 1000
"""Number of crossings without a jump after which a surface is no longer watched."""


class RateJumps:
    def __init__(self, kernels: RunKernels):
        self._kernels, self._jump = kernels, kernels.surfaces_of_rates()
        self._count = 0 if self._jump is None else self._jump.kernel.n_out // (kernels.variational.k + 2)
        self._kinks = np.zeros(self._count, dtype=int)
        self.doubts: dict[str, None] = {}

    def levels(self) -> np.ndarray:
        """Return the levels, then the depths, of both guards of each surface: 0, or `NEVER` for a surface no longer watched."""
        return np.tile(np.repeat(np.where(self._kinks < MAX_KINKS, 0.0, NEVER), 2), 2)

    def until(self, at: SensitivityState, x: np.ndarray) -> None:
        """Cross the surfaces between the state and the state x (n,) of the run at the same time, in place."""
        if self._count:
            before, after = self._values(at.t, at.x, at.m) < 0.0, self._values(at.t, x, at.m) < 0.0
            crossed = np.flatnonzero((before != after) & (self._kinks < MAX_KINKS))
            if len(crossed):
                self.cross(at, [2 * i + int(after[i]) for i in crossed.tolist()], at.t)

    def cross(self, at: SensitivityState, fired: Sequence[int], stop: float) -> None:
        """Cross the surfaces of the guards that fired, in place; raise E373 if the motion does not pass through them. Continue
        just after them, if this is before the time `stop`."""
        kernels, k = self._kernels, at.S.shape[1]
        surfaces, signs = [i // 2 for i in fired], np.array([1.0 - 2.0 * (i % 2) for i in fired])
        for distance in DISTANCES * kernels.bound.span:
            f, x_before = self._beside(at, -distance)
            f_after, x_after = self._beside(at, distance)
            sides = [
                (signs * self._values(at.t + step, x, at.m)[surfaces]) for step, x in ((-distance, x_before), (distance, x_after))
            ]
            if np.all(sides[0] <= 0.0) and np.all(sides[1] >= 0.0):
                break
        else:
            raise self._refusal(at)
        size = np.maximum(np.maximum(np.abs(f), np.abs(f_after)), kernels.sizes / kernels.bound.span)
        if np.all(np.abs(f_after - f) <= SAME_RATES * size):
            self._kinks[surfaces] += 1
        else:
            assert self._jump is not None
            table = kernels.values(self._jump, at, at.S, np.zeros(k), f).reshape(k + 2, -1)[:, surfaces]
            if not np.all(signs * table[-1] > 0.0):
                raise self._refusal(at)
            slopes = -table[1:-1] / table[-1]
            if any(not agree(slope, slopes[:, 0]) for slope in slopes.T):
                self.doubts["jumps of the rates coincide, but another parameter value would separate them"] = None
            at.S = at.S + np.outer(f - f_after, slopes[:, 0])
        if at.t + distance < stop:
            at.t, at.x = at.t + distance, x_after
        at.S = kernels.solved(at, at.S, np.zeros(k))

    def _values(self, t: float, x: np.ndarray, m: np.ndarray) -> np.ndarray:
        kernels, n = self._kernels, len(x)
        assert self._jump is not None
        at = SensitivityState(t, x, np.zeros((n, kernels.variational.k)), m)
        return kernels.values(self._jump, at, at.S, np.zeros(kernels.variational.k), np.zeros(n))[: self._count]

    def _beside(self, at: SensitivityState, step: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the rates and the state at `step` seconds after the crossing, extrapolated linearly from it."""
        bound, t = self._kernels.bound, at.t + step
        f, x = self._kernels.rates(at), at.x
        for _ in range(2):
            x = bound.consistent(t, at.x + step * f, at.m)[0]
            f = bound.rates(t, x, at.m)
        return f, x

    def _refusal(self, at: SensitivityState) -> RunError:
        title = f"at {self._kernels.bound.origin + at.t:.6g} s the rates jump, and the motion does not pass through the jump"
        cures = ("an event (`Automaton`) instead of the comparison or sign", "a larger rtol", "other parameters or start values")
        return RunError(Problem("E373", title, cures=cures))
