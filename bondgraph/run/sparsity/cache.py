"""Cache of the coupling structures of a program."""

from __future__ import annotations

import numpy as np

from bondgraph.run.sparsity.coupling_graph import structure_of
from bondgraph.run.sparsity.structure import MAX_COUPLING, MIN_COUPLING, CouplingStructure, JacobianCouplings

_CACHE_SIZE = 64


class StructureCache:
    """Cache of the coupling structures of a program: one for each set of nonzero entries of its Jacobian.

    Parameters
    ----------
    indptr, indices : pattern of the Jacobian in compressed column order, (n + 1,) and (nonzeros,); `rows` and `columns` are the
        rows and columns of its entries (nonzeros,).
    """

    def __init__(self, indptr: np.ndarray, indices: np.ndarray):
        self._n = len(indptr) - 1
        self.rows = np.asarray(indices, dtype=np.int64)
        self.columns = np.repeat(np.arange(self._n), np.diff(indptr))
        self._off_diagonal = self.rows != self.columns
        self._cached: dict[bytes, tuple[CouplingStructure, np.ndarray, np.ndarray]] = {}

    def couplings(self, nonzeros: np.ndarray) -> JacobianCouplings:
        """Return the couplings of a Jacobian with these entries (nonzeros,); values outside `MIN_COUPLING` to `MAX_COUPLING` and
        NaN count as zero."""
        values = np.abs(nonzeros)
        is_coupling = (values > MIN_COUPLING) & (values < MAX_COUPLING)
        structure, on_diagonal, off_diagonal = self.structure(is_coupling)
        diagonal = np.zeros(self._n)
        diagonal[self.rows[on_diagonal]] = values[on_diagonal]
        return JacobianCouplings(structure, diagonal, values[off_diagonal])

    def structure(self, is_coupling: np.ndarray) -> tuple[CouplingStructure, np.ndarray, np.ndarray]:
        key = is_coupling.tobytes()
        cached = self._cached.get(key)
        if cached is None:
            on_diagonal, off_diagonal = (
                np.flatnonzero(is_coupling & ~self._off_diagonal),
                np.flatnonzero(is_coupling & self._off_diagonal),
            )
            cached = (structure_of(self._n, self.rows[off_diagonal], self.columns[off_diagonal]), on_diagonal, off_diagonal)
            if len(self._cached) >= _CACHE_SIZE:
                self._cached.clear()
            self._cached[key] = cached
        return cached
