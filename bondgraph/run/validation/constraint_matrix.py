"""The matrix of the constraints of a program, A = J M^-1 J^T, along a run: samples in; its entries, and its eigenvalues, out.

Bodies that no constraint ties to others have a part of the matrix for themselves, so that many mechanisms side by side cost as
much as one after the other; and of long runs so many samples are looked at at a time that memory does not grow with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bondgraph.run.bound import Bound
from bondgraph.run.program import Program
from bondgraph.run.validation.blocks import Island, islands

SHARE = 0.3
"""Part of the largest component of a null vector from which a constraint has a share in it."""

ROOM = 4_000_000
"""Numbers in the matrices that are there at a time."""


@dataclass(frozen=True, eq=False)
class Sizes:
    """What rows are measured by, 1 over it (n,), and the sign that makes the diagonal positive (n,)."""

    scale: np.ndarray
    signs: np.ndarray

    def scaled(self, matrices: np.ndarray, places: np.ndarray | slice = slice(None)) -> np.ndarray:
        """Matrices (k, n, n) of these places, symmetric and without units."""
        scale, signs = self.scale[places], self.signs[places]
        scaled = (signs * scale)[:, None] * matrices * scale
        return (scaled + scaled.transpose(0, 2, 1)) / 2.0


class ClosingMatrix:
    """The matrix of the constraints of a program at fixed parameters, along a run; times are those since its `origin`, s."""

    def __init__(self, program: Program, p: np.ndarray, origin: float = 0.0):
        assert program.closing is not None and program.closures is not None
        self.closing, self.kernel, self.bound = program.closing, program.closures, Bound(program, p, origin)
        self.rows, self.columns = np.array(self.closing.pattern, dtype=int).reshape(-1, 2).T
        self.islands = islands(len(self.closing.owners), self.rows, self.columns)
        self.whole = Island(np.arange(len(self.closing.owners)), np.arange(len(self.rows)), self.rows, self.columns)

    def along(self, t: np.ndarray, x: np.ndarray, m: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Entries of A (k, entries), and of rows that repeat others the right sides, and what is left, at samples (k, ...)."""
        values = self.kernel.many(self.bound.origin + t[:, None], x, self.bound.p, m)[:, len(self.closing.flows) :]
        entries, count = len(self.rows), len(self.closing.repeating)
        return values[:, :entries], values[:, entries : entries + count], values[:, entries + count :]

    def diagonals(self, entries: np.ndarray) -> np.ndarray:
        """Of the matrices with these entries (k, n)."""
        found = np.zeros((len(entries), len(self.closing.owners)))
        own = np.flatnonzero(self.rows == self.columns)
        found[:, self.rows[own]] = entries[:, own]
        return found

    def eigenvalues(self, entries: np.ndarray, sizes: Sizes) -> np.ndarray:
        """Of the matrices with these entries, measured by `sizes`, (k, n), ascending."""
        found = np.empty((len(entries), len(self.closing.owners)))
        for part in self.islands:
            many = max(1, ROOM // len(part.places) ** 2)
            for first in range(0, len(entries), many):
                some = slice(first, first + many)
                matrices = sizes.scaled(part.dense(entries[some]), part.places)
                found[some, part.places] = np.linalg.eigvalsh(matrices)
        found.sort(axis=1)
        return found

    def contradictions(self, t: np.ndarray, x: np.ndarray, m: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What is left of the accelerations of constraints that repeat others, as a part of these, (k,), and where, (k, rows)."""
        entries, right, left = self.along(t, x, m)
        sizes = np.sqrt(np.abs(self.diagonals(entries)[:, list(self.closing.repeating)]))
        left, right = np.abs(left / sizes), np.abs(right / sizes)
        # At rest there is no acceleration to compare with; what is stored gives the size, in times of a second.
        stored = [np.abs(self.bound.energies(float(a), b, c)).sum() for a, b, c in zip(t, x, m, strict=True)]
        floor = 1e-6 * np.sqrt(np.array(stored)) + 1e-300
        return np.linalg.norm(left, axis=1) / np.maximum(np.linalg.norm(right, axis=1), floor), left

    def owners(self, places: Sequence[int], shares: np.ndarray) -> tuple[str, ...]:
        """Elements of the rows with a share."""
        large = shares > SHARE * shares.max(initial=0.0)
        return tuple(dict.fromkeys(self.closing.owners[k] for k, own in zip(places, large, strict=True) if own))
