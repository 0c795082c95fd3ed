"""Schedules -> machine code: every loop a function whose body is its kernel, so that LLVM can vectorise over instances."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from bondgraph.emit.kernel import Kernel
from bondgraph.emit.llvm import compile_ir
from bondgraph.emit.text import DECLARATIONS, Part, define, loop_text, with_workspace
from bondgraph.schedule.loops import Access, KernelLoop, Schedule

WIDE = 60
"""Steps up to which a kernel may be evaluated for several instances at once; longer ones run out of registers."""

_ALONE = """!0 = distinct !{!0, !1}
!1 = !{!"llvm.loop.vectorize.enable", i1 false}"""

_LOCAL = re.compile(r"%([a-z]+\d+)\b")

STRAIGHT = 400
"""Steps up to which single calls in a row are put into one function."""


def machine_kernels(schedules: Sequence[Schedule], quick: bool = False) -> dict[str, Kernel]:
    """Compiled routines by name, `quick` without optimisation. Index tables stay NumPy arrays that the code refers to; they are
    no part of its text."""
    texts = [DECLARATIONS, _ALONE]
    for schedule in schedules:
        texts += [_text(schedule), loop_text(schedule.name, schedule.sizes, schedule.n_out)]
    tables = {f"{s.name}.tables": np.ascontiguousarray(s.tables) for s in schedules if len(s.tables)}
    addresses = {name: int(table.ctypes.data) for name, table in tables.items()}
    shapes = {s.name: (s.sizes, s.n_out) for s in schedules}
    library = replace(compile_ir("\n".join(texts), addresses, tuple(tables.values()), quick), routines=shapes)
    return {name: library.kernel(name) for name in shapes}


def _text(schedule: Schedule) -> str:
    """The functions of one routine."""
    name = schedule.name
    names = [block for block, _ in schedule.blocks]
    texts = [f"@{name}.tables = external global i32"] if len(schedule.tables) else []
    calls = []
    given = [f"ptr noalias readonly %{block}" for block in names]
    passed = ", ".join(f"ptr %{block}" for block in (*names, "out", "w"))
    for number, part in enumerate(_parts(schedule.loops)):
        function = f"{name}.part{number}"
        single = part[0].count == 1
        parallel = not single and part[0].parallel
        parameters = [*given, "ptr noalias %out", "ptr noalias %w"]
        if parallel:
            # what it reads of the workspace it does not write: said by a second name, so that it can be vectorised
            parameters += ["ptr noalias readonly %out.read", "ptr noalias readonly %w.read"]
        calls.append(f"call void @{function}({passed}{', ptr %out, ptr %w' if parallel else ''})")
        if single:
            # values are renamed, so that several kernels fit into one function
            bodies = enumerate(_body(name, loop, None, "") for loop in part)
            lines = [_LOCAL.sub(rf"%\1.{k}", line) for k, body in bodies for line in body]
            texts.append(define(f"internal void @{function}", parameters, lines, " noinline"))
        else:
            texts.append(_loop(function, name, part[0], parameters, ".read" if parallel else ""))
    body = with_workspace("w", schedule.workspace, calls)
    texts.append(define(f"void @{name}", [*given, "ptr noalias %out"], body, " noinline"))
    return "\n".join(texts)


def _parts(loops: Sequence[KernelLoop]) -> list[list[KernelLoop]]:
    """Loops one by one; single calls in a row together."""
    parts: list[list[KernelLoop]] = []
    room = 0
    for loop in loops:
        steps = len(loop.kind.program.steps)
        if loop.count == 1 and parts and parts[-1][0].count == 1 and steps <= room:
            parts[-1].append(loop)
            room -= steps
        else:
            parts.append([loop])
            room = STRAIGHT - steps
    return parts


def _loop(function: str, routine: str, loop: KernelLoop, parameters: list[str], read: str) -> str:
    lines = ["br label %first", "first:", "br label %body", "body:", "%i = phi i64 [0, %first], [%next, %body]"]
    lines += _body(routine, loop, "%i", read)
    lines += ["%next = add nuw nsw i64 %i, 1", f"%more = icmp ult i64 %next, {loop.count}"]
    alone = ", !llvm.loop !0" if len(loop.kind.program.steps) > WIDE else ""
    lines += [f"br i1 %more, label %body, label %done{alone}", "done:"]
    return define(f"internal void @{function}", parameters, lines, " noinline")


def _body(routine: str, loop: KernelLoop, index: str | None, read: str) -> list[str]:
    """One evaluation of the kernel, at instance `index`."""
    kind = loop.kind
    lines: list[str] = []
    for k, access in enumerate(loop.ins):
        suffix = read if access.block in ("out", "w") else ""
        lines += _pointer(routine, f"b{k}", access, index, suffix)
    part = Part(kind.program, {}, {}, 0, len(kind.program.steps))
    part.lines = lines
    part.emit()
    values = [part.number(position) for position in kind.program.outputs]
    number = 0
    for k, (access, size) in enumerate(zip(loop.outs, kind.sizes, strict=True)):
        lines += _pointer(routine, f"q{k}", access, index, "")
        for component in range(size):
            lines.append(f"%o{number} = getelementptr inbounds double, ptr %q{k}, i64 {component}")
            lines.append(f"store double {values[number]}, ptr %o{number}")
            number += 1
    return lines


def _pointer(routine: str, name: str, access: Access, index: str | None, suffix: str) -> list[str]:
    base = f"%{access.block}{suffix}"
    if index is None or (access.table < 0 and not access.stride):
        return [f"%{name} = getelementptr inbounds double, ptr {base}, i64 {access.start}"]
    if access.table < 0:
        return [
            f"%s{name} = mul nsw i64 {index}, {access.stride}",
            f"%a{name} = add nsw i64 %s{name}, {access.start}",
            f"%{name} = getelementptr inbounds double, ptr {base}, i64 %a{name}",
        ]
    return [
        f"%s{name} = add nuw nsw i64 {index}, {access.table}",
        f"%t{name} = getelementptr inbounds i32, ptr @{routine}.tables, i64 %s{name}",
        f"%l{name} = load i32, ptr %t{name}",
        f"%a{name} = zext i32 %l{name} to i64",
        f"%{name} = getelementptr inbounds double, ptr {base}, i64 %a{name}",
    ]
