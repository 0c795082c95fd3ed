"""Buffers in which machine code builds the records of sparsity patterns that Python otherwise looks up.

Exported C code cannot call Python, and a run with more patterns than it keeps would call Python too often. Such runs build the
structure of a new pattern in the buffer of the oldest pattern.
"""

from __future__ import annotations

import numpy as np

from bondgraph.emit.cached_build import build_once
from bondgraph.emit.kernel_language.translate import translate
from bondgraph.emit.llvm import Library, compile_written
from bondgraph.emit.procedure import Procedure
from bondgraph.run.accuracy.fields import PATTERNS, Control, SparsityPattern
from bondgraph.run.sparsity.coupling_graph import CouplingGraph, search
from bondgraph.run.sparsity.structure import Structure
from bondgraph.run.table import FieldTable


def provide_pattern_buffers(control: FieldTable) -> list[FieldTable]:
    n, entries = int(control["n"]), int(control["entry_count"])
    buffers = np.zeros(PATTERNS, dtype=np.int64)
    graph = FieldTable(CouplingGraph)
    graph.allocate(states=n, couplings=entries)
    graph["states"] = n
    tables = list[FieldTable]()
    for k in range(PATTERNS):
        pattern, structure = FieldTable(SparsityPattern), FieldTable(Structure)
        lengths = {"nonzero_flags": entries, "on_diagonal": n, "diagonal_rows": n, "off_diagonal": entries}
        for name, length in lengths.items():
            pattern.point(name, np.zeros(length, dtype=np.int64))
        lengths = dict.fromkeys(("rows", "columns", "inner", "drivers"), entries) | dict.fromkeys(
            ("part", "order", "ear_from"), n
        )
        lengths |= dict.fromkeys(("drivers_at", "ear_at"), n + 1) | dict.fromkeys(("ear_couplings", "ear_states"), 2 * n)
        for name, length in lengths.items():
            structure.point(name, np.zeros(length, dtype=np.int64))
        pattern.point("structure", structure)
        pattern["structure_key"] = k + 1
        buffers[k] = pattern.address
        tables += [pattern, structure]
    control.point("pattern_buffers", buffers)
    control.point("graph", graph)
    control.tables |= {f"pattern buffer {k}": table for k, table in enumerate(tables)}
    return tables[::2]


def procedures() -> list[Procedure]:
    return translate([pattern_in_buffer], ["pattern_in_buffer"])


@build_once
def machine_code() -> Library:
    return compile_written(procedures, passes=1)


def pattern_in_buffer(w: Control) -> SparsityPattern:
    pattern = w.pattern_buffers[(PATTERNS if w.oldest == 0 else w.oldest) - 1]
    sort_entries(w, pattern)
    find_structure(w.graph, pattern.structure)
    return pattern


def sort_entries(w: Control, pattern: SparsityPattern) -> None:
    structure, on_diagonal, off_diagonal = pattern.structure, 0, 0
    for k in range(w.entry_count):
        flag, row, column = w.nonzero_flags[k], w.entry_rows[k], w.entry_columns[k]
        pattern.nonzero_flags[k] = flag
        if flag == 1 and row == column:
            pattern.on_diagonal[on_diagonal] = k
            pattern.diagonal_rows[on_diagonal] = row
            on_diagonal += 1
        if flag == 1 and row != column:
            pattern.off_diagonal[off_diagonal] = k
            structure.rows[off_diagonal] = row
            structure.columns[off_diagonal] = column
            off_diagonal += 1
    pattern.diagonal_count = on_diagonal
    pattern.off_diagonal_count = off_diagonal
    structure.states = w.n
    structure.couplings = off_diagonal


def find_structure(g: CouplingGraph, structure: Structure) -> None:
    n, couplings = structure.states, structure.couplings
    g.rows = structure.rows
    g.columns = structure.columns
    g.part = structure.part
    g.order = structure.order
    g.drivers_at = structure.drivers_at
    g.drivers = structure.drivers
    g.ear_from = structure.ear_from
    g.ear_at = structure.ear_at
    g.ear_couplings = structure.ear_couplings
    g.ear_states = structure.ear_states
    for i in range(n):
        g.seen[i] = 0
        g.met[i] = 0
    for i in range(n + 1):
        g.driven[i] = 0
        g.drivers_at[i] = 0
        g.ear_at[i] = 0
    g.couplings = couplings
    g.ears = 0
    g.ear_steps = 0
    g.queued = 0
    search(g)
    inners = 0
    for k in range(couplings):
        if g.part[g.rows[k]] == g.part[g.columns[k]]:
            structure.inner[inners] = k
            inners += 1
    structure.inners = inners
    structure.ears = g.ears
