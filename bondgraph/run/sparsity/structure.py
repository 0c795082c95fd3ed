"""Structure of the couplings among states: the sparsity pattern of a Jacobian as a graph, with strong components and ears."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from bondgraph.emit.cached_build import OnceProperty
from bondgraph.emit.kernel_language.language import Ints, Table
from bondgraph.run.table import FieldTable

MIN_COUPLING, MAX_COUPLING = 1e-100, 1e100
"""Limits of couplings (1/s), outside which a coupling counts as zero in any units of the states. The rounding error of a
zero is squared and cubed on its way into a Jacobian, and products of such numbers around a cycle underflow."""


@dataclass(frozen=True, eq=False)
class CouplingStructure:
    """Graph of k couplings among n states, as indices; the couplings are sorted by columns.

    Parameters
    ----------
    rows, columns : driven and driving state of each coupling (k,).
    part : strong component of each state (n,).
    order : states, component by component, with driving components first (n,).
    inner : couplings within a component (l,).
    drivers_at, drivers : state i is driven by the states drivers[drivers_at[i] : drivers_at[i + 1]].
    ear_from, ear_at : start state of each ear (e,), and the range of each ear in the next two arrays (e + 1,).
    ear_couplings, ear_states : couplings along all ears, and the state to which each leads (w,).
    """

    rows: np.ndarray
    columns: np.ndarray
    part: np.ndarray
    order: np.ndarray
    inner: np.ndarray
    drivers_at: np.ndarray
    drivers: np.ndarray
    ear_from: np.ndarray
    ear_at: np.ndarray
    ear_couplings: np.ndarray
    ear_states: np.ndarray

    @OnceProperty
    def table(self) -> FieldTable:
        table = FieldTable(Structure)
        for field in fields(self):
            table.point(field.name, getattr(self, field.name))
        table["states"], table["couplings"] = len(self.part), len(self.rows)
        table["inners"], table["ears"] = len(self.inner), len(self.ear_from)
        return table


class Structure(Table):
    """`CouplingStructure` for machine code, with the counts of its states, couplings, couplings within components, and ears."""

    rows: Ints
    columns: Ints
    part: Ints
    order: Ints
    inner: Ints
    drivers_at: Ints
    drivers: Ints
    ear_from: Ints
    ear_at: Ints
    ear_couplings: Ints
    ear_states: Ints
    states: int
    couplings: int
    inners: int
    ears: int


@dataclass(frozen=True, eq=False)
class JacobianCouplings:
    """Absolute values of a Jacobian (n, n), 1/s in the units of its states: the diagonal (n,), and the nonzero off-diagonal
    entries as `values` (k,) of the structure's couplings."""

    structure: CouplingStructure
    diagonal: np.ndarray
    values: np.ndarray
