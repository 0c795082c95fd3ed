"""Order of runs on a GPU: threads in lockstep wait for the longest run among them, so similar runs are grouped."""

from __future__ import annotations

import numpy as np

_LEAST, _MOST = 4, 100_000
"""Minimum number of known runs per coefficient of the estimate, and maximum number used."""
_MOST_COLUMNS = 8


class CostGuess:
    """Guess of the cost of runs from their numbers, rows of the `blocks` (runs, columns), by least squares over some of them."""

    def __init__(self, *blocks: np.ndarray):
        self._blocks = blocks
        self._coefficients: np.ndarray | None = None

    def learn(self, runs: np.ndarray, costs: np.ndarray) -> None:
        """Learn from runs, by index, and their costs (runs,), counts of rates for example; from the first ones only."""
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
        """Return runs, by index, in the order of their guessed costs, the longest first; in their given order without guesses.

        Equal guesses keep their order.
        """
        if self._coefficients is None:
            return runs
        with np.errstate(all="ignore"):
            guess = self._terms(self._numbers(runs)) @ self._coefficients
        return runs[np.argsort(-np.nan_to_num(guess), kind="stable")]

    def _numbers(self, runs: np.ndarray) -> np.ndarray:
        """Return the numbers that vary, (runs, columns)."""
        return np.array([column[runs] for column in self._columns]).T.reshape(len(runs), -1)

    def _terms(self, numbers: np.ndarray) -> np.ndarray:
        """Return the terms of a guess: one, each number and its square, (runs, 1 + 2 columns)."""
        scaled = (numbers - self._middle) / np.where(self._size > 0.0, self._size, 1.0)
        return np.hstack([np.ones((len(scaled), 1)), scaled, scaled * scaled])
