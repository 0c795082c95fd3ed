"""Machine code of schedules: every loop is a function whose body is its kernel, so that LLVM can vectorise over instances.

Schedules that differ only in addresses share machine code, as do the resets of contacts, each of which changes a few states of
its own bodies by the same formulas: each schedule calls the code with its own row of a table of addresses.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from bondgraph.emit.fusions import fused as with_fusions
from bondgraph.emit.kernel import Kernel
from bondgraph.emit.llvm import compile_ir
from bondgraph.emit.tables import definitions
from bondgraph.emit.text import DECLARATIONS, Part, define, loop_text, with_workspace
from bondgraph.schedule.calls import NUMBERS, Kind
from bondgraph.schedule.machine_code.loop_blocking import TILE, Fusion, Tiled, fuse_loops, tile_loops
from bondgraph.schedule.memory_layout import Access, KernelLoop, Schedule, Tables
from bondgraph.tape import opcodes as op

MAX_VECTORISED_STEPS = 60
"""Maximum number of steps of a kernel that is vectorised over instances; longer kernels run out of registers."""

NOT_VECTORISED = """!0 = distinct !{!0, !1}
!1 = !{!"llvm.loop.vectorize.enable", i1 false}"""


class Style(NamedTuple):
    """Style of code: not optimised if `quick`; a product and a sum are rounded once if `fused`."""

    quick: bool = False
    fused: bool = True


_LOCAL = re.compile(r"%([a-z]+\d+)\b(?!\.)")


def rename_values(text: str, number: int) -> str:
    """Add a number to the names of values, so that several kernels fit into one function."""
    return _LOCAL.sub(rf"%\1.{number}", text)


def loop_function(
    function: str,
    routine: str,
    loop: KernelLoop,
    parameters: list[str],
    read: str,
    style: Style,
    bounds: tuple[str, str] | None = None,
) -> str:
    """Return the LLVM IR of a loop over all instances, or over the instances between two `bounds`.

    `read` is the suffix of the names of the blocks that the loop reads.
    """
    begin, end = bounds or ("0", str(loop.count))
    index = strides(loop, "%i", begin, "%first", style.quick)
    lines = ["br label %first", "first:", *index.starts, "br label %body", "body:"]
    lines += [f"%i = phi i64 [{begin}, %first], [%next, %body]", *index.carried, *index.products]
    lines += [*evaluation_lines(routine, loop, "%i", read, style), *index.nexts]
    lines += ["%next = add nuw nsw i64 %i, 1", f"%more = icmp ult i64 %next, {end}"]
    metadata = ", !llvm.loop !0" if len(loop.kind.program.steps) > MAX_VECTORISED_STEPS else ""
    lines += [f"br i1 %more, label %body, label %done{metadata}", "done:"]
    return define(f"internal void @{function}", parameters, lines, " noinline")


@dataclass(frozen=True)
class Strides:
    """Lines that compute an index times each stride: before the loop, as phi nodes at its head, after the phi nodes, and at its
    end."""

    starts: list[str] = field(default_factory=list)
    carried: list[str] = field(default_factory=list)
    products: list[str] = field(default_factory=list)
    nexts: list[str] = field(default_factory=list)


def strides(loop: KernelLoop, index: str, begin: str, before: str, quick: bool) -> Strides:
    """Return lines for the loop's `index` times each stride; the index is `begin` on entry from the block `before`.

    With optimisation the products are counters, so that an address is a register plus a constant; otherwise LLVM would compute
    vectors of products and extract their lanes one by one. Without optimisation (`quick`) the lines multiply, because counters
    would be kept in memory, which takes longer.
    """
    used = sorted({access.stride for access in (*loop.ins, *loop.outs) if access.table < 0} - {0, 1})
    if quick:
        return Strides(products=[f"{index}.by{k} = mul nsw i64 {index}, {k}" for k in used])
    return Strides(
        starts=[f"{index}.from{k} = mul nsw i64 {begin}, {k}" for k in used],
        carried=[f"{index}.by{k} = phi i64 [{index}.from{k}, {before}], [{index}.next{k}, %body]" for k in used],
        nexts=[f"{index}.next{k} = add nsw i64 {index}.by{k}, {k}" for k in used],
    )


def copy_lines(schedule: Schedule) -> list[str]:
    if schedule.copied_block is None:
        return []
    return [f"call void @llvm.memcpy.p0.p0.i64(ptr %out, ptr %{schedule.copied_block}, i64 {8 * schedule.n_out}, i1 false)"]


def evaluation_lines(routine: str, loop: KernelLoop, index: str | None, read: str, style: Style) -> list[str]:
    lines, results = kernel_lines(routine, loop, index, read, {}, style)
    return lines + [line for column in range(len(loop.outs)) for line in store_lines(routine, loop, column, index, results)]


def kernel_lines(
    routine: str, loop: KernelLoop, index: str | None, read: str, registers: Mapping[tuple[int, int], str], style: Style
) -> tuple[list[str], dict[tuple[int, int], str]]:
    """Return the lines that evaluate the kernel, and the values of its results (column, component).

    `registers` are inputs (argument, component) already in registers.
    """
    kind = loop.kind
    lines: list[str] = []
    for k, access in enumerate(loop.ins):
        suffix = read if access.block in ("out", "w") else ""
        lines += _pointer(routine, f"b{k}", access, index, suffix)
    program = with_fusions(kind.program) if style.fused else kind.program
    part = Part(program, {}, {}, 0, len(program.steps))
    for position, (code, *operands) in enumerate(program.steps):
        if code == op.INPUT and tuple(operands) in registers:
            part.numbers[position] = registers[operands[0], operands[1]]
    part.lines = lines
    part.emit()
    values = iter([part.number(position) for position in program.outputs])
    return lines, {(k, component): next(values) for k, size in enumerate(kind.sizes) for component in range(size)}


def store_lines(
    routine: str, loop: KernelLoop, column: int, index: str | None, results: Mapping[tuple[int, int], str]
) -> list[str]:
    lines = _pointer(routine, f"q{column}", loop.outs[column], index, "")
    first = sum(loop.kind.sizes[:column])
    for component in range(loop.kind.sizes[column]):
        number = first + component
        lines.append(f"%o{number} = getelementptr inbounds double, ptr %q{column}, i64 {component}")
        lines.append(f"store double {results[column, component]}, ptr %o{number}")
    return lines


def _pointer(routine: str, name: str, access: Access, index: str | None, suffix: str) -> list[str]:
    base = f"@{routine}.{NUMBERS}" if access.block == NUMBERS else f"%{access.block}{suffix}"
    if index is None or (access.table < 0 and not access.stride):
        return [f"%{name} = getelementptr inbounds double, ptr {base}, i64 {access.start}"]
    if access.table < 0:
        counted = index if access.stride == 1 else f"{index}.by{access.stride}"
        inside = " inbounds" if access.stride > 0 else ""  # negative counters point before the block until the start is added
        return [
            f"%a{name} = getelementptr{inside} double, ptr {base}, i64 {counted}",
            f"%{name} = getelementptr inbounds double, ptr %a{name}, i64 {access.start}",
        ]
    return [
        f"%s{name} = add nuw nsw i64 {index}, {access.table}",
        f"%t{name} = getelementptr inbounds i32, ptr @{routine}.tables, i64 %s{name}",
        f"%l{name} = load i32, ptr %t{name}",
        f"%a{name} = zext i32 %l{name} to i64",
        f"%{name} = getelementptr inbounds double, ptr {base}, i64 %a{name}",
    ]


BOUNDS = """declare i64 @llvm.smax.i64(i64, i64)
declare i64 @llvm.smin.i64(i64, i64)"""


def fused_text(
    function: str, routine: str, fusion: Fusion, parameters: list[str], parallel: list[str], passed: str, style: Style
) -> str:
    """Return the LLVM IR of fused loops, and of a function for each loop, which evaluates the instances before and after the
    fused rounds."""
    loops = fusion.group.loops
    texts: list[str] = []
    before: list[str] = []
    after: list[str] = []
    for k, loop in enumerate(loops):
        part = f"{function}.{k}"
        texts.append(loop_function(part, routine, loop, [*parallel, "i64 %from", "i64 %to"], ".read", style, ("%from", "%to")))
        for calls, rounds in ((before, (0, fusion.first)), (after, (fusion.last, fusion.group.rounds * TILE))):
            first, last = fusion.instance_range(k, *rounds)
            if first < last:
                calls.append(f"call void @{part}({passed}, i64 {first}, i64 {last})")
    lags = fusion.group.lags
    indices = [strides(loop, f"%at.{k}", str(fusion.first + lags[k]), "%begin", style.quick) for k, loop in enumerate(loops)]
    body = [f"%at.{k} = add nsw i64 %r, {lag}" for k, lag in enumerate(lags)]
    body += [line for index in indices for line in index.products]
    values: dict[tuple[int, int, int], str] = {}
    for k, loop in enumerate(loops):
        inputs = {
            key: values[source.writer, source.column, source.component]
            if source.rounds == 0
            else f"%carry.{source.writer}.{source.column}.{source.component}.{source.rounds}"
            for key, source in fusion.sources[k].items()
        }
        lines, results = kernel_lines(routine, loop, f"%at.{k}", "", inputs, style)
        kept = [column for column in range(len(loop.outs)) if (k, column) not in fusion.dropped]
        lines += [line for column in kept for line in store_lines(routine, loop, column, f"%at.{k}", results)]
        body += [rename_values(line, k) for line in lines]
        for (column, component), value in results.items():
            values[k, column, component] = rename_values(value, k)
    heads, starts, ends = _carried(fusion, values)
    starts += [line for index in indices for line in index.starts]
    heads += [line for index in indices for line in index.carried]
    lines = [*before, "br label %begin", "begin:", *starts, "br label %body", "body:"]
    lines += [f"%r = phi i64 [{fusion.first}, %begin], [%next, %body]", *heads, *body]
    lines += [line for index in indices for line in index.nexts]
    lines += ["%next = add nuw nsw i64 %r, 1", f"%more = icmp ult i64 %next, {fusion.last}"]
    lines += ["br i1 %more, label %body, label %done", "done:", *ends, *after]
    return "\n".join([*texts, define(f"internal void @{function}", parameters, lines, " noinline")])


def _carried(fusion: Fusion, values: Mapping[tuple[int, int, int], str]) -> tuple[list[str], list[str], list[str]]:
    """Return lines for `values` (loop, column, component) that are carried from one round to the next: at the head of the loop,
    before the loop, and after it, where dropped results are stored."""
    heads: list[str] = []
    starts: list[str] = []
    ends: list[str] = []
    for (k, column, component), rounds in fusion.carried.items():
        access, name = fusion.group.loops[k].outs[column], f"carry.{k}.{column}.{component}"
        newer = values[k, column, component]
        for age in range(1, rounds + 1):
            address = access.start + access.stride * (fusion.first + fusion.group.lags[k] - age) + component
            starts += [
                f"%{name}.{age}.home = getelementptr inbounds double, ptr %{access.block}, i64 {address}",
                f"%{name}.{age}.start = load double, ptr %{name}.{age}.home",
            ]
            heads.append(f"%{name}.{age} = phi double [%{name}.{age}.start, %begin], [{newer}, %body]")
            if (k, column) in fusion.dropped:
                last = access.start + access.stride * (fusion.last + fusion.group.lags[k] - age) + component
                ends += [
                    f"%{name}.{age}.end = getelementptr inbounds double, ptr %{access.block}, i64 {last}",
                    f"store double {newer}, ptr %{name}.{age}.end",
                ]
            newer = f"%{name}.{age}"
    return heads, starts, ends


def tiled_text(
    function: str, routine: str, group: Tiled, parameters: list[str], parallel: list[str], passed: str, style: Style
) -> str:
    """Return the LLVM IR of tiled loops: a function for a range of instances of each loop, and a function that calls these in
    rounds."""
    texts = []
    last = len(group.loops) - 1
    lines = ["br label %begin", "begin:", "br label %turn", "turn:"]
    lines += [f"%r = phi i64 [0, %begin], [%next, %after{last}]", f"%base = mul nsw i64 %r, {TILE}"]
    for k, (loop, lag) in enumerate(zip(group.loops, group.lags, strict=True)):
        part = f"{function}.{k}"
        texts.append(loop_function(part, routine, loop, [*parallel, "i64 %from", "i64 %to"], ".read", style, ("%from", "%to")))
        lines += [
            f"%a{k} = add nsw i64 %base, {lag}",
            f"%b{k} = add nsw i64 %a{k}, {TILE}",
            f"%from{k} = call i64 @llvm.smax.i64(i64 %a{k}, i64 0)",
            f"%to{k} = call i64 @llvm.smin.i64(i64 %b{k}, i64 {loop.count})",
            f"%some{k} = icmp slt i64 %from{k}, %to{k}",
            f"br i1 %some{k}, label %do{k}, label %after{k}",
            f"do{k}:",
            f"call void @{part}({passed}, i64 %from{k}, i64 %to{k})",
            f"br label %after{k}",
            f"after{k}:",
        ]
    lines += ["%next = add nuw nsw i64 %r, 1", f"%more = icmp slt i64 %next, {group.rounds}"]
    lines += ["br i1 %more, label %turn, label %done", "done:"]
    return "\n".join([*texts, define(f"internal void @{function}", parameters, lines, " noinline")])


MAX_FUNCTION_STEPS = 400
"""Maximum number of steps of consecutive single calls in one function."""


MAX_OPTIMISED_LENGTH = 60_000
"""Maximum length, in characters, of LLVM IR that is optimised."""


def jacobian_kernel(schedule: Schedule) -> Kernel:
    """Compile a Jacobian, optimised only if its LLVM IR is short, as for identical parts, because only stiff runs call it often.

    Products and sums are not fused, so that results are bitwise equal to the reference.
    """
    text = kernels_text([schedule], quick=True, fused=False)
    quick = len(text) > MAX_OPTIMISED_LENGTH
    text = text if quick else kernels_text([schedule], fused=False)
    return _compiled([schedule], text, quick)[schedule.name]


def machine_kernels(schedules: Sequence[Schedule], quick: bool = False) -> dict[str, Kernel]:
    return _compiled(schedules, kernels_text(schedules, quick), quick)


def _compiled(schedules: Sequence[Schedule], text: str, quick: bool) -> dict[str, Kernel]:
    tables = {f"{s.name}.tables": np.ascontiguousarray(s.tables) for s in schedules if len(s.tables)}
    tables |= {f"{s.name}.{NUMBERS}": s.numbers for s in schedules if len(s.numbers)}
    addresses = {name: int(table.ctypes.data) for name, table in tables.items()}
    shapes = {s.name: (s.sizes, s.n_out) for s in schedules}
    library = replace(compile_ir(text, addresses, tuple(tables.values()), quick), routines=shapes)
    return {name: library.kernel(name) for name in shapes}


def kernels_text(schedules: Sequence[Schedule], quick: bool = False, fused: bool = True) -> str:
    style = Style(quick, fused)
    texts = [DECLARATIONS, BOUNDS, NOT_VECTORISED]
    for schedule in schedules:
        texts += [_text(schedule, style), loop_text(schedule.name, schedule.sizes, schedule.n_out)]
    texts += definitions(loop.kind.program for schedule in schedules for loop in schedule.loops)
    return "\n".join(texts)


def _text(schedule: Schedule, style: Style) -> str:
    name = schedule.name
    names = [block for block, _ in schedule.blocks]
    texts = [f"@{name}.tables = external global i32"] if len(schedule.tables) else []
    if len(schedule.numbers):
        texts.append(f"@{name}.{NUMBERS} = external constant [{len(schedule.numbers)} x double]")
    calls = []
    inputs = [f"ptr noalias readonly %{block}" for block in names]
    passed = ", ".join(f"ptr %{block}" for block in (*names, "out", "w"))
    parameters = [*inputs, "ptr noalias %out", "ptr noalias %w"]
    # a parallel loop does not write what it reads in the workspace: it reads by a second name, so that LLVM can vectorise it
    parallel = [*parameters, "ptr noalias readonly %out.read", "ptr noalias readonly %w.read"]
    passed_twice = f"{passed}, ptr %out, ptr %w"
    groups = tile_loops(schedule.loops)
    for number, part in enumerate(_parts(groups)):
        function, arguments = f"{name}.part{number}", passed
        if isinstance(part, Tiled):
            fusion = fuse_loops(part, [loop for group in groups[groups.index(part) + 1 :] for loop in group.loops])
            if fusion is None:
                texts.append(tiled_text(function, name, part, parameters, parallel, passed_twice, style))
            else:
                texts.append(fused_text(function, name, fusion, parameters, parallel, passed_twice, style))
        elif part[0].count == 1:
            # rename values, so that several kernels fit into one function
            bodies = enumerate(evaluation_lines(name, loop, None, "", style) for loop in part)
            lines = [rename_values(line, k) for k, body in bodies for line in body]
            texts.append(define(f"internal void @{function}", parameters, lines, " noinline"))
        elif part[0].parallel:
            texts.append(loop_function(function, name, part[0], parallel, ".read", style))
            arguments = passed_twice
        else:
            texts.append(loop_function(function, name, part[0], parameters, "", style))
        calls.append(f"call void @{function}({arguments})")
    body = with_workspace("w", schedule.workspace, [*copy_lines(schedule), *calls])
    texts.append(define(f"void @{name}", [*inputs, "ptr noalias %out"], body, " noinline"))
    return "\n".join(texts)


def _parts(groups: Sequence[Tiled]) -> list[list[KernelLoop] | Tiled]:
    parts: list[list[KernelLoop] | Tiled] = []
    remaining = 0
    for group in groups:
        loop, last = group.loops[0], parts[-1] if parts else None
        steps = len(loop.kind.program.steps)
        if len(group.loops) > 1:
            parts.append(group)
        elif loop.count == 1 and isinstance(last, list) and last[0].count == 1 and steps <= remaining:
            last.append(loop)
            remaining -= steps
        else:
            parts.append([loop])
            remaining = MAX_FUNCTION_STEPS - steps
    return parts


_ALL = "alike"
"""Prefix of the symbols shared by all routines: their tables, their constants, and the loop over samples."""


class _Single(NamedTuple):
    kind: Kind
    ins: tuple[tuple[str, int], ...]
    outs: tuple[tuple[str, int], ...]

    @property
    def form(self) -> Hashable:
        return self.kind, tuple(block for block, _ in self.ins), tuple(block for block, _ in self.outs)


def shared_kernels(schedules: Sequence[Schedule]) -> dict[str, Kernel]:
    """Compile routines with the same blocks and the same number of results, and return them by name.

    Products and sums are not fused, so that results are bitwise equal to the reference.
    """
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
        lines = [*copy_lines(members[0]), *products]
        lines += [
            rename_values(line, k) for k, loop in enumerate(loops) for line in evaluation_lines(_ALL, loop, "%i", "", style)
        ]
        lines = with_workspace("w", max(schedule.workspace for schedule in members), lines)
        texts.append(define(f"internal void @{shared}", [*parameters, "i64 %i"], lines, " noinline"))
        for index, schedule in enumerate(members):
            call = f"tail call void @{shared}({passed}, i64 {index})"
            texts.append(define(f"void @{schedule.name}", [*inputs, "ptr %out"], [call]))
    texts += definitions(loop.kind.program for schedule in schedules for loop in schedule.loops)
    return "\n".join(texts), tables.joined, max((schedule.numbers for schedule in schedules), key=len)


def _forms(schedules: Sequence[Schedule]) -> list[tuple[list[Schedule], list[list[_Single]]]]:
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
    def accesses(rows: Sequence[tuple[tuple[str, int], ...]]) -> tuple[Access, ...]:
        columns = zip(*rows, strict=True)
        return tuple(tables.access(c[0][0], np.array([offset for _, offset in c], dtype=np.int32)) for c in columns)

    ins, outs = accesses([call.ins for call in calls]), accesses([call.outs for call in calls])
    return KernelLoop(calls[0].kind, len(calls), False, ins, outs)
