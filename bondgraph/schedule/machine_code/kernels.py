"""Machine code of schedules: every loop is a function whose body is its kernel, so that LLVM can vectorise over instances.

Shared machine code of schedules that differ only in addresses: each calls it with its own row of a table of addresses. Example:
the resets of contacts, each of which changes a few states of its own bodies by the same formulas.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from bondgraph.emit.kernel import Kernel
from bondgraph.emit.llvm import compile_ir
from bondgraph.emit.tables import definitions
from bondgraph.emit.text import DECLARATIONS, define, loop_text, with_workspace
from bondgraph.schedule.calls import NUMBERS, Kind
from bondgraph.schedule.machine_code.loop_blocking import Tiled, fused, tiled
from bondgraph.schedule.machine_code.text import (
    BOUNDS,
    NOT_VECTORISED,
    Style,
    evaluation,
    fused_text,
    keeping,
    loop_function,
    renamed,
    strides,
    tiled_text,
)
from bondgraph.schedule.memory_layout import Access, KernelLoop, Schedule, Tables

MAX_FUNCTION_STEPS = 400
"""Most steps of consecutive single calls in one function."""


MAX_OPTIMISED_LENGTH = 60_000
"""Characters of a text that takes some 60 ms to optimise."""


def jacobian_kernel(schedule: Schedule) -> Kernel:
    """Compile a Jacobian, which stiff runs call often and others a dozen times; it is optimised only if its text is short, as of
    identical parts. Products and sums are not fused, so that it has the bits of the reference either way."""
    text = kernels_text([schedule], quick=True, fused=False)
    quick = len(text) > MAX_OPTIMISED_LENGTH
    text = text if quick else kernels_text([schedule], fused=False)
    return _compiled([schedule], text, quick)[schedule.name]


def machine_kernels(schedules: Sequence[Schedule], quick: bool = False) -> dict[str, Kernel]:
    """Compile routines, `quick` without optimisation; return them by name."""
    return _compiled(schedules, kernels_text(schedules, quick), quick)


def _compiled(schedules: Sequence[Schedule], text: str, quick: bool) -> dict[str, Kernel]:
    """Compile a text; index tables and constants stay NumPy arrays that the code refers to, outside of its text."""
    tables = {f"{s.name}.tables": np.ascontiguousarray(s.tables) for s in schedules if len(s.tables)}
    tables |= {f"{s.name}.{NUMBERS}": s.numbers for s in schedules if len(s.numbers)}
    addresses = {name: int(table.ctypes.data) for name, table in tables.items()}
    shapes = {s.name: (s.sizes, s.n_out) for s in schedules}
    library = replace(compile_ir(text, addresses, tuple(tables.values()), quick), routines=shapes)
    return {name: library.kernel(name) for name in shapes}


def kernels_text(schedules: Sequence[Schedule], quick: bool = False, fused: bool = True) -> str:
    """Return the text of the LLVM module that `machine_kernels` compiles."""
    style = Style(quick, fused)
    texts = [DECLARATIONS, BOUNDS, NOT_VECTORISED]
    for schedule in schedules:
        texts += [_text(schedule, style), loop_text(schedule.name, schedule.sizes, schedule.n_out)]
    texts += definitions(loop.kind.program for schedule in schedules for loop in schedule.loops)
    return "\n".join(texts)


def _text(schedule: Schedule, style: Style) -> str:
    """Return the text of the functions of one routine."""
    name = schedule.name
    names = [block for block, _ in schedule.blocks]
    texts = [f"@{name}.tables = external global i32"] if len(schedule.tables) else []
    if len(schedule.numbers):
        texts.append(f"@{name}.{NUMBERS} = external constant [{len(schedule.numbers)} x double]")
    calls = []
    inputs = [f"ptr noalias readonly %{block}" for block in names]
    passed = ", ".join(f"ptr %{block}" for block in (*names, "out", "w"))
    parameters = [*inputs, "ptr noalias %out", "ptr noalias %w"]
    # a parallel loop does not write what it reads of the workspace: it reads by a second name, so that LLVM can vectorise it
    parallel = [*parameters, "ptr noalias readonly %out.read", "ptr noalias readonly %w.read"]
    passed_twice = f"{passed}, ptr %out, ptr %w"
    groups = tiled(schedule.loops)
    for number, part in enumerate(_parts(groups)):
        function, arguments = f"{name}.part{number}", passed
        if isinstance(part, Tiled):
            fusion = fused(part, [loop for group in groups[groups.index(part) + 1 :] for loop in group.loops])
            if fusion is None:
                texts.append(tiled_text(function, name, part, parameters, parallel, passed_twice, style))
            else:
                texts.append(fused_text(function, name, fusion, parameters, parallel, passed_twice, style))
        elif part[0].count == 1:
            # rename values, so that several kernels fit into one function
            bodies = enumerate(evaluation(name, loop, None, "", style) for loop in part)
            lines = [renamed(line, k) for k, body in bodies for line in body]
            texts.append(define(f"internal void @{function}", parameters, lines, " noinline"))
        elif part[0].parallel:
            texts.append(loop_function(function, name, part[0], parallel, ".read", style))
            arguments = passed_twice
        else:
            texts.append(loop_function(function, name, part[0], parameters, "", style))
        calls.append(f"call void @{function}({arguments})")
    body = with_workspace("w", schedule.workspace, [*keeping(schedule), *calls])
    texts.append(define(f"void @{name}", [*inputs, "ptr noalias %out"], body, " noinline"))
    return "\n".join(texts)


def _parts(groups: Sequence[Tiled]) -> list[list[KernelLoop] | Tiled]:
    """Return the parts of a routine: tiled groups, single loops, and consecutive single calls together."""
    parts: list[list[KernelLoop] | Tiled] = []
    room = 0
    for group in groups:
        loop, last = group.loops[0], parts[-1] if parts else None
        steps = len(loop.kind.program.steps)
        if len(group.loops) > 1:
            parts.append(group)
        elif loop.count == 1 and isinstance(last, list) and last[0].count == 1 and steps <= room:
            last.append(loop)
            room -= steps
        else:
            parts.append([loop])
            room = MAX_FUNCTION_STEPS - steps
    return parts


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
    library = compile_ir(text, addresses, tuple(arrays.values()), quick=True)
    library = replace(library, routines=shapes, each=dict.fromkeys(shapes, f"{_ALL}.each"))
    return {name: library.kernel(name) for name in shapes}


def shared_text(schedules: Sequence[Schedule]) -> tuple[str, np.ndarray, np.ndarray]:
    """Return the text of all, their table of addresses, and their constants."""
    tables, first, style = Tables(), schedules[0], Style(quick=True, fused=False)
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
        lines += [renamed(line, k) for k, loop in enumerate(loops) for line in evaluation(_ALL, loop, "%i", "", style)]
        lines = with_workspace("w", max(schedule.workspace for schedule in members), lines)
        texts.append(define(f"internal void @{shared}", [*parameters, "i64 %i"], lines, " noinline"))
        for index, schedule in enumerate(members):
            call = f"tail call void @{shared}({passed}, i64 {index})"
            texts.append(define(f"void @{schedule.name}", [*inputs, "ptr %out"], [call]))
    texts += definitions(loop.kind.program for schedule in schedules for loop in schedule.loops)
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
