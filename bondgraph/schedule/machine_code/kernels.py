"""Schedules -> machine code: every loop a function whose body is its kernel, so that LLVM can vectorise over instances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from bondgraph.emit.kernel import Kernel
from bondgraph.emit.llvm import compile_ir
from bondgraph.emit.text import DECLARATIONS, define, loop_text, with_workspace
from bondgraph.schedule.calls import NUMBERS
from bondgraph.schedule.loops import KernelLoop, Schedule
from bondgraph.schedule.machine_code.fusion import fused
from bondgraph.schedule.machine_code.groups import BOUNDS, fused_text, turns_text
from bondgraph.schedule.machine_code.loop_blocking import Tiled, tiled
from bondgraph.schedule.machine_code.text import ALONE, evaluation, keeping, loop_function, renamed

STRAIGHT = 400
"""Steps up to which single calls in a row are put into one function."""


SHORT = 60_000
"""Characters of a text that takes some 60 ms to optimise."""


def jacobian_kernel(schedule: Schedule) -> Kernel:
    """A compiled Jacobian, which stiff runs ask for often and others a dozen times: optimised where its text is short, as that of
    parts that are alike. Products and sums are not fused, so that it has the bits of the reference either way."""
    text = kernels_text([schedule], quick=True)
    quick = len(text) > SHORT
    text = text if quick else kernels_text([schedule])
    return _compiled([schedule], text.replace(" contract ", " "), quick)[schedule.name]


def machine_kernels(schedules: Sequence[Schedule], quick: bool = False) -> dict[str, Kernel]:
    """Compiled routines by name, `quick` without optimisation."""
    return _compiled(schedules, kernels_text(schedules, quick), quick)


def _compiled(schedules: Sequence[Schedule], text: str, quick: bool) -> dict[str, Kernel]:
    """Routines by name. Index tables and numbers stay NumPy arrays that the code refers to; they are no part of its text."""
    tables = {f"{s.name}.tables": np.ascontiguousarray(s.tables) for s in schedules if len(s.tables)}
    tables |= {f"{s.name}.{NUMBERS}": s.numbers for s in schedules if len(s.numbers)}
    addresses = {name: int(table.ctypes.data) for name, table in tables.items()}
    shapes = {s.name: (s.sizes, s.n_out) for s in schedules}
    library = replace(compile_ir(text, addresses, tuple(tables.values()), quick), routines=shapes)
    return {name: library.kernel(name) for name in shapes}


def kernels_text(schedules: Sequence[Schedule], quick: bool = False) -> str:
    """The module that `machine_kernels` compiles, for reading."""
    texts = [DECLARATIONS, BOUNDS, ALONE]
    for schedule in schedules:
        texts += [_text(schedule, quick), loop_text(schedule.name, schedule.sizes, schedule.n_out)]
    return "\n".join(texts)


def _text(schedule: Schedule, quick: bool) -> str:
    """The functions of one routine."""
    name = schedule.name
    names = [block for block, _ in schedule.blocks]
    texts = [f"@{name}.tables = external global i32"] if len(schedule.tables) else []
    if len(schedule.numbers):
        texts.append(f"@{name}.{NUMBERS} = external constant [{len(schedule.numbers)} x double]")
    calls = []
    given = [f"ptr noalias readonly %{block}" for block in names]
    passed = ", ".join(f"ptr %{block}" for block in (*names, "out", "w"))
    apart = [*given, "ptr noalias %out", "ptr noalias %w"]
    # what a parallel loop reads of the workspace it does not write: said by a second name, so that it can be vectorised
    parallel, both = [*apart, "ptr noalias readonly %out.read", "ptr noalias readonly %w.read"], f"{passed}, ptr %out, ptr %w"
    groups = tiled(schedule.loops)
    for number, part in enumerate(_parts(groups)):
        function, calling = f"{name}.part{number}", passed
        if isinstance(part, Tiled):
            together = fused(part, [loop for group in groups[groups.index(part) + 1 :] for loop in group.loops])
            if together is None:
                texts.append(turns_text(function, name, part, apart, parallel, both, quick))
            else:
                texts.append(fused_text(function, name, together, apart, parallel, both, quick))
        elif part[0].count == 1:
            # values are renamed, so that several kernels fit into one function
            bodies = enumerate(evaluation(name, loop, None, "") for loop in part)
            lines = [renamed(line, k) for k, body in bodies for line in body]
            texts.append(define(f"internal void @{function}", apart, lines, " noinline"))
        elif part[0].parallel:
            texts.append(loop_function(function, name, part[0], parallel, ".read", quick))
            calling = both
        else:
            texts.append(loop_function(function, name, part[0], apart, "", quick))
        calls.append(f"call void @{function}({calling})")
    body = with_workspace("w", schedule.workspace, [*keeping(schedule), *calls])
    texts.append(define(f"void @{name}", [*given, "ptr noalias %out"], body, " noinline"))
    return "\n".join(texts)


def _parts(groups: Sequence[Tiled]) -> list[list[KernelLoop] | Tiled]:
    """Groups that take turns, loops one by one, and single calls in a row together."""
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
            room = STRAIGHT - steps
    return parts
