"""Rows of N y' + g(y) = 0, gathered block by block, and the situation in which they are evaluated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

Terms = Sequence[tuple[str, np.ndarray]]
"""Names of blocks of y, each with the matrix that multiplies it."""


@dataclass(frozen=True)
class Situation:
    """Situation in which relations are evaluated: states and bond variables by name, the mode of every automaton, and for each
    open switched junction the bond whose common variable stays separate."""

    values: Mapping[str, np.ndarray]
    modes: Mapping[str, str]
    separate: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Rows:
    """Rows of N y' + g(y) = 0 at a point, with G = dg/dy, and which rows are satisfied only together with their own
    derivatives."""

    places: dict[str, slice]
    size: int
    entries: list[tuple[int, int, float]] = field(default_factory=list)
    moving: list[tuple[int, int, float]] = field(default_factory=list)
    left: list[float] = field(default_factory=list)
    held: list[tuple[slice, str]] = field(default_factory=list)
    """Rows of constraints and switches, each with the variable that it sets to zero."""

    def add(self, value: np.ndarray, still: Terms, moving: Terms = ()) -> slice:
        first, value = len(self.left), np.atleast_1d(np.asarray(value, dtype=float))
        for entries, terms in ((self.entries, still), (self.moving, moving)):
            for name, matrix in terms:
                start = self.places[name].start
                block = np.atleast_2d(matrix)
                entries += [(first + i, start + j, block[i, j]) for i, j in zip(*np.nonzero(block), strict=True)]
        self.left.extend(value)
        return slice(first, first + len(value))

    def matrix(self, entries: list[tuple[int, int, float]]) -> np.ndarray:
        full = np.zeros((len(self.left), self.size))
        for row, column, value in entries:
            full[row, column] += value
        return full
