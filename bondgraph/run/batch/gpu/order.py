"""Order of runs on a GPU: threads in lockstep wait for the longest run among them, so similar runs are grouped."""

from __future__ import annotations

import numpy as np

_LEAST, _MOST = 4, 100_000
"""Minimum number of known runs per coefficient of the estimate, and maximum number of known runs that a fit uses."""
_MOST_COLUMNS = 8


class CostGuess:
    """Estimate of the cost of runs from their rows of the `blocks` (runs, columns), by least squares over known runs."""

    def __init__(self, *blocks: np.ndarray):
        self._blocks = blocks
        self._coefficients: np.ndarray | None = None

    def learn(self, runs: np.ndarray, costs: np.ndarray) -> None:
        runs, costs = runs[:_MOST], costs[:_MOST]
        if self._coefficients is not None or not len(runs):
            return
        varied = [(block, k) for block in self._blocks for k in np.flatnonzero(np.ptp(block[runs], axis=0) > 0.0)]
        self._columns = [block[:, k] for block, k in varied[:_MOST_COLUMNS]]
        numbers, sound = self._numbers(runs), costs > 0
        sound &= np.isfinite(numbers).all(axis=1)
        numbers, costs = numbers[sound], costs[sound]
        if not self._columns or len(numbers) < _LEAST * (1 + 2 * len(self._columns)):
            return
        self._middle, self._size = numbers.mean(axis=0), numbers.std(axis=0)
        self._coefficients = np.linalg.lstsq(self._terms(numbers), np.log(costs), rcond=None)[0]

    def order(self, runs: np.ndarray) -> np.ndarray:
        if self._coefficients is None:
            return runs
        with np.errstate(all="ignore"):
            guess = self._terms(self._numbers(runs)) @ self._coefficients
        return runs[np.argsort(-np.nan_to_num(guess), kind="stable")]

    def _numbers(self, runs: np.ndarray) -> np.ndarray:
        return np.array([column[runs] for column in self._columns]).T.reshape(len(runs), -1)

    def _terms(self, numbers: np.ndarray) -> np.ndarray:
        scaled = (numbers - self._middle) / np.where(self._size > 0.0, self._size, 1.0)
        return np.hstack([np.ones((len(scaled), 1)), scaled, scaled * scaled])
