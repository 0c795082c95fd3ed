"""Order of runs on a card: threads that go in step wait for the longest run among them, so that runs alike go together."""

from __future__ import annotations

import numpy as np

_LEAST = 4
"""Least number of runs known for each coefficient of the guess."""
_MOST_COLUMNS = 32


class CostGuess:
    """Guess of the cost of runs from their numbers, by least squares over runs whose costs are known."""

    def __init__(self) -> None:
        self._known: tuple[np.ndarray, np.ndarray] | None = None

    def learn(self, numbers: np.ndarray, costs: np.ndarray) -> None:
        """Learn from runs with these numbers (runs, columns), and their costs (runs,), counts of steps for example."""
        fine = np.isfinite(numbers).all(axis=1) & (costs > 0)
        self._known = numbers[fine], np.log(costs[fine].astype(float))

    def order(self, numbers: np.ndarray) -> np.ndarray:
        """Return indices (runs,) in the order of the guessed costs, the longest first; as they stand while nothing is known.

        Equal guesses keep their order.
        """
        if self._known is None:
            return np.arange(len(numbers))
        earlier, costs = self._known
        varied = np.flatnonzero(np.ptp(earlier, axis=0) > 0.0)[:_MOST_COLUMNS] if len(earlier) else []
        if not len(varied) or len(earlier) < _LEAST * (1 + 2 * len(varied)):
            return np.arange(len(numbers))
        earlier = earlier[:, varied]
        middle, size = earlier.mean(axis=0), earlier.std(axis=0)
        coefficients, *_ = np.linalg.lstsq(_terms((earlier - middle) / size), costs, rcond=None)
        guess = _terms((numbers[:, varied] - middle) / size) @ coefficients
        return np.argsort(-np.nan_to_num(guess), kind="stable")


def _terms(scaled: np.ndarray) -> np.ndarray:
    """Return the terms of a guess: one, each number and its square (runs, 1 + 2 columns)."""
    return np.hstack([np.ones((len(scaled), 1)), scaled, scaled * scaled])
