"""Shared machine code of schedules that differ only in addresses: each calls it with its own row of a table of addresses.

Example: the resets of contacts, each of which changes a few states of its own bodies by the same formulas.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from bondgraph.emit.kernel import Kernel
from bondgraph.emit.llvm import compile_ir
from bondgraph.emit.text import DECLARATIONS, define, loop_text, with_workspace
from bondgraph.schedule.calls import NUMBERS, Kind
from bondgraph.schedule.machine_code.text import evaluation, keeping, renamed, strides
from bondgraph.schedule.memory_layout import Access, KernelLoop, Schedule, Tables

_ALL = "alike"
"""Prefix of the symbols of all of them: their tables, their constants, the loop over samples."""


class _Single(NamedTuple):
    """One call of a kernel: block and offset of each argument and result."""

    kind: Kind
    ins: tuple[tuple[str, int], ...]
    outs: tuple[tuple[str, int], ...]

    @property
    def form(self) -> Hashable:
        """Key of its text."""
        return self.kind, tuple(block for block, _ in self.ins), tuple(block for block, _ in self.outs)


def shared_kernels(schedules: Sequence[Schedule]) -> dict[str, Kernel]:
    """Compile routines with the same blocks and the same number of results; return them by name. Products and sums are not
    fused, so that they have the bits of the reference."""
    if not schedules:
        return {}
    text, tables, numbers = shared_text(schedules)
    arrays = {f"{_ALL}.tables": tables, f"{_ALL}.{NUMBERS}": numbers}
    addresses = {name: int(array.ctypes.data) for name, array in arrays.items()}
    shapes = {schedule.name: (schedule.sizes, schedule.n_out) for schedule in schedules}
    library = compile_ir(text.replace(" contract ", " "), addresses, tuple(arrays.values()), quick=True)
    library = replace(library, routines=shapes, each=dict.fromkeys(shapes, f"{_ALL}.each"))
    return {name: library.kernel(name) for name in shapes}


def shared_text(schedules: Sequence[Schedule]) -> tuple[str, np.ndarray, np.ndarray]:
    """Return the text of all, their table of addresses, and their constants."""
    tables, first = Tables(), schedules[0]
    names = [block for block, _ in first.blocks]
    inputs, passed = [f"ptr %{block}" for block in names], ", ".join(f"ptr %{block}" for block in (*names, "out"))
    parameters = [*(f"ptr noalias readonly %{block}" for block in names), "ptr noalias %out"]
    texts = [DECLARATIONS, f"@{_ALL}.tables = external global i32", f"@{_ALL}.{NUMBERS} = external constant double"]
    texts.append(loop_text(_ALL, first.sizes, first.n_out, "each"))
    for number, (members, rows) in enumerate(_forms(schedules)):
        shared = f"{_ALL}.form{number}"
        loops = [_merged(calls, tables) for calls in zip(*rows, strict=True)]
        products = dict.fromkeys(line for loop in loops for line in strides(loop, "%i", "", "", True).products)
        lines = [*keeping(members[0]), *products]
        lines += [renamed(line, k) for k, loop in enumerate(loops) for line in evaluation(_ALL, loop, "%i", "")]
        lines = with_workspace("w", max(schedule.workspace for schedule in members), lines)
        texts.append(define(f"internal void @{shared}", [*parameters, "i64 %i"], lines, " noinline"))
        for index, schedule in enumerate(members):
            call = f"tail call void @{shared}({passed}, i64 {index})"
            texts.append(define(f"void @{schedule.name}", [*inputs, "ptr %out"], [call]))
    return "\n".join(texts), tables.joined, max((schedule.numbers for schedule in schedules), key=len)


def _forms(schedules: Sequence[Schedule]) -> list[tuple[list[Schedule], list[list[_Single]]]]:
    """Group schedules that differ only in addresses, with the calls of each."""
    groups: dict[Hashable, tuple[list[Schedule], list[list[_Single]]]] = {}
    for schedule in schedules:
        calls = [call for loop in schedule.loops for call in _singles(loop, schedule.tables)]
        key = schedule.copied_block, tuple(call.form for call in calls)
        members, rows = groups.setdefault(key, ([], []))
        members.append(schedule)
        rows.append(calls)
    return list(groups.values())


def _singles(loop: KernelLoop, tables: np.ndarray) -> Iterator[_Single]:
    def location(access: Access, instance: int) -> tuple[str, int]:
        if access.table < 0:
            return access.block, access.start + access.stride * instance
        return access.block, int(tables[access.table + instance])

    for instance in range(loop.count):
        ins, outs = (tuple(location(access, instance) for access in row) for row in (loop.ins, loop.outs))
        yield _Single(loop.kind, ins, outs)


def _merged(calls: Sequence[_Single], tables: Tables) -> KernelLoop:
    """Merge corresponding calls of several routines to a loop over the routines."""

    def accesses(rows: Sequence[tuple[tuple[str, int], ...]]) -> tuple[Access, ...]:
        columns = zip(*rows, strict=True)
        return tuple(tables.access(c[0][0], np.array([offset for _, offset in c], dtype=np.int32)) for c in columns)

    ins, outs = accesses([call.ins for call in calls]), accesses([call.outs for call in calls])
    return KernelLoop(calls[0].kind, len(calls), False, ins, outs)
