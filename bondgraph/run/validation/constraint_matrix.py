"""Constraint (Delassus) matrix A = J M^-1 J^T of a program along a run, and its eigenvalues.

Bodies that no constraint couples have separate diagonal blocks, so the cost is linear in the number of independent
mechanisms. The dense blocks of a long run are evaluated in pieces, which limits their memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bondgraph.run.bound import Bound
from bondgraph.run.program import Program


@dataclass(frozen=True, eq=False)
class MatrixBlock:
    """Diagonal block of rows and columns that are coupled only to each other.

    Parameters
    ----------
    indices : ascending rows of the matrix in this block (n,).
    entries : ascending indices of the block's entries among the entries of the matrix (e,).
    row_indices, column_indices : rows and columns of these entries in the block (e,).
    """

    indices: np.ndarray
    entries: np.ndarray
    row_indices: np.ndarray
    column_indices: np.ndarray

    def dense_of(self, entries: np.ndarray) -> np.ndarray:
        n = len(self.indices)
        matrices = np.zeros((len(entries), n, n))
        matrices[:, self.row_indices, self.column_indices] = entries[:, self.entries]
        return matrices


def diagonal_blocks(n: int, rows: np.ndarray, columns: np.ndarray) -> tuple[MatrixBlock, ...]:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    graph = coo_array((np.ones(len(rows)), (rows, columns)), shape=(n, n))
    count, block_of_index = connected_components(graph, directed=False)
    index_in_block, block_of_entry = np.empty(n, dtype=int), block_of_index[rows]
    indices, entries = _grouped(block_of_index, count), _grouped(block_of_entry, count)
    for members in indices:
        index_in_block[members] = np.arange(len(members))
    return tuple(
        MatrixBlock(members, block_entries, index_in_block[rows[block_entries]], index_in_block[columns[block_entries]])
        for members, block_entries in zip(indices, entries, strict=True)
    )


def _grouped(numbers: np.ndarray, count: int) -> list[np.ndarray]:
    order = np.argsort(numbers, kind="stable")
    return np.split(order, np.searchsorted(numbers[order], np.arange(1, count))) if count else []


INVOLVED_SHARE = 0.3
"""Fraction of the largest component of a null vector above which a constraint counts as involved."""

MAX_NUMBERS = 4_000_000


@dataclass(frozen=True, eq=False)
class RowScaling:
    """Scale of every row, and the sign that makes its diagonal entry positive, (n,) each."""

    scale: np.ndarray
    signs: np.ndarray

    def scaled(self, matrices: np.ndarray, indices: np.ndarray | slice = slice(None)) -> np.ndarray:
        scale, signs = self.scale[indices], self.signs[indices]
        scaled = (signs * scale)[:, None] * matrices * scale
        return (scaled + scaled.transpose(0, 2, 1)) / 2.0


class ConstraintMatrix:
    """Constraint matrix of a program at fixed parameters, along a run; times are measured from the `origin`, s."""

    def __init__(self, program: Program, p: np.ndarray, origin: float = 0.0):
        assert program.closing is not None and program.closures is not None
        self.closing, self.kernel, self.bound = program.closing, program.closures, Bound(program, p, origin)
        self.rows, self.columns = np.array(self.closing.pattern, dtype=int).reshape(-1, 2).T
        self.blocks = diagonal_blocks(len(self.closing.owners), self.rows, self.columns)
        self.full = MatrixBlock(np.arange(len(self.closing.owners)), np.arange(len(self.rows)), self.rows, self.columns)

    def at_samples(self, t: np.ndarray, x: np.ndarray, m: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return, at samples, the entries of A (k, entries), and the right-hand sides and residuals of its redundant rows, (k,
        rows) each."""
        values = self.kernel.many(self.bound.origin + t[:, None], x, self.bound.p, m)[:, len(self.closing.flows) :]
        entries, count = len(self.rows), len(self.closing.repeating)
        return values[:, :entries], values[:, entries : entries + count], values[:, entries + count :]

    def entries(self, t: np.ndarray, x: np.ndarray, m: np.ndarray) -> np.ndarray:
        kernel = self.bound.program.closing_matrix
        if kernel is None or not kernel.is_machine_code:
            return self.at_samples(t, x, m)[0]
        return kernel.many(self.bound.origin + t[:, None], x, self.bound.p, m)

    def diagonals(self, entries: np.ndarray) -> np.ndarray:
        diagonals = np.zeros((len(entries), len(self.closing.owners)))
        on_diagonal = np.flatnonzero(self.rows == self.columns)
        diagonals[:, self.rows[on_diagonal]] = entries[:, on_diagonal]
        return diagonals

    def eigenvalues(self, entries: np.ndarray, scaling: RowScaling) -> np.ndarray:
        eigenvalues = np.empty((len(entries), len(self.closing.owners)))
        for part in self.blocks:
            count = max(1, MAX_NUMBERS // len(part.indices) ** 2)
            for first in range(0, len(entries), count):
                samples = slice(first, first + count)
                matrices = scaling.scaled(part.dense_of(entries[samples]), part.indices)
                eigenvalues[samples, part.indices] = np.linalg.eigvalsh(matrices)
        eigenvalues.sort(axis=1)
        return eigenvalues

    def contradictions(self, t: np.ndarray, x: np.ndarray, m: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the norm of the residual accelerations of redundant constraints, relative to the norm of their accelerations
        (k,), and the scaled residual of each row (k, rows)."""
        entries, right_side, residual = self.at_samples(t, x, m)
        sizes = np.sqrt(np.abs(self.diagonals(entries)[:, list(self.closing.repeating)]))
        residual, right_side = np.abs(residual / sizes), np.abs(right_side / sizes)
        # At rest there is no acceleration to compare with: the largest stored energy, with one second as the unit of time, sets
        # the scale. A mechanism that a brake has brought to rest may no longer store energy.
        stored = [np.abs(self.bound.energies(float(a), b, c)).sum() for a, b, c in zip(t, x, m, strict=True)]
        floor = 1e-6 * np.sqrt(max(stored)) + 1e-300
        return np.linalg.norm(residual, axis=1) / np.maximum(np.linalg.norm(right_side, axis=1), floor), residual

    def owners(self, rows: Sequence[int], shares: np.ndarray) -> tuple[str, ...]:
        large = shares > INVOLVED_SHARE * shares.max(initial=0.0)
        return tuple(dict.fromkeys(self.closing.owners[k] for k, is_large in zip(rows, large, strict=True) if is_large))
