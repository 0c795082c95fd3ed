"""A kernel, and a loop of it, as text in LLVM's assembly language."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from bondgraph.emit.text import Part, define
from bondgraph.schedule.calls import NUMBERS
from bondgraph.schedule.loops import Access, KernelLoop, Schedule
from bondgraph.tape import opcodes as op

WIDE = 60
"""Steps up to which a kernel may be evaluated for several instances at once; longer ones run out of registers."""

ALONE = """!0 = distinct !{!0, !1}
!1 = !{!"llvm.loop.vectorize.enable", i1 false}"""
"""What a module needs whose loops are not to be vectorised."""

_LOCAL = re.compile(r"%([a-z]+\d+)\b(?!\.)")


def renamed(text: str, number: int) -> str:
    """The same with names of values that bear a number, so that several kernels fit into one function."""
    return _LOCAL.sub(rf"%\1.{number}", text)


def loop_function(
    function: str,
    routine: str,
    loop: KernelLoop,
    parameters: list[str],
    read: str,
    quick: bool,
    bounds: tuple[str, str] | None = None,
) -> str:
    """The function that evaluates a loop, or its instances between two `bounds`; `read` is the ending of the names of what it
    reads, `quick` whether it is made without optimisation."""
    begin, end = bounds or ("0", str(loop.count))
    index = strides(loop, "%i", begin, "%first", quick)
    lines = ["br label %first", "first:", *index.starts, "br label %body", "body:"]
    lines += [f"%i = phi i64 [{begin}, %first], [%next, %body]", *index.carried, *index.products]
    lines += [*evaluation(routine, loop, "%i", read), *index.nexts]
    lines += ["%next = add nuw nsw i64 %i, 1", f"%more = icmp ult i64 %next, {end}"]
    alone = ", !llvm.loop !0" if len(loop.kind.program.steps) > WIDE else ""
    lines += [f"br i1 %more, label %body, label %done{alone}", "done:"]
    return define(f"internal void @{function}", parameters, lines, " noinline")


@dataclass(frozen=True)
class Strides:
    """Lines for an index times each stride of what a loop reads and writes: before the loop, at its head for what is carried on,
    below that, and at its end."""

    starts: list[str] = field(default_factory=list)
    carried: list[str] = field(default_factory=list)
    products: list[str] = field(default_factory=list)
    nexts: list[str] = field(default_factory=list)


def strides(loop: KernelLoop, index: str, begin: str, before: str, quick: bool) -> Strides:
    """Of the loop's `index`, which is `begin` where it is entered from the block `before`: counted on, or where it is made
    `quick`ly, without optimisation, as products.

    LLVM computes products, and sums with a constant too, for vectors of instances, and takes those to pieces where lanes are
    written one by one. Of what is counted, an address is a register and a constant. Without optimisation each count is kept in
    memory, which takes longer than its product.
    """
    used = sorted({access.stride for access in (*loop.ins, *loop.outs) if access.table < 0} - {0, 1})
    if quick:
        return Strides(products=[f"{index}.by{k} = mul nsw i64 {index}, {k}" for k in used])
    return Strides(
        starts=[f"{index}.from{k} = mul nsw i64 {begin}, {k}" for k in used],
        carried=[f"{index}.by{k} = phi i64 [{index}.from{k}, {before}], [{index}.next{k}, %body]" for k in used],
        nexts=[f"{index}.next{k} = add nsw i64 {index}.by{k}, {k}" for k in used],
    )


def keeping(schedule: Schedule) -> list[str]:
    """Lines that copy the block whose numbers the results keep where they are given no others."""
    if schedule.kept is None:
        return []
    return [f"call void @llvm.memcpy.p0.p0.i64(ptr %out, ptr %{schedule.kept}, i64 {8 * schedule.n_out}, i1 false)"]


def evaluation(routine: str, loop: KernelLoop, index: str | None, read: str) -> list[str]:
    """One evaluation of the kernel, at instance `index`."""
    lines, found = kernel_lines(routine, loop, index, read, {})
    return lines + [line for column in range(len(loop.outs)) for line in stored(routine, loop, column, index, found)]


def kernel_lines(
    routine: str, loop: KernelLoop, index: str | None, read: str, known: Mapping[tuple[int, int], str]
) -> tuple[list[str], dict[tuple[int, int], str]]:
    """Lines that evaluate the kernel, and the values of its results (column, component); `known` are inputs (argument, component)
    that are values already."""
    kind = loop.kind
    lines: list[str] = []
    for k, access in enumerate(loop.ins):
        suffix = read if access.block in ("out", "w") else ""
        lines += _pointer(routine, f"b{k}", access, index, suffix)
    part = Part(kind.program, {}, {}, 0, len(kind.program.steps))
    for position, (code, *given) in enumerate(kind.program.steps):
        if code == op.INPUT and tuple(given) in known:
            part.numbers[position] = known[given[0], given[1]]
    part.lines = lines
    part.emit()
    values = iter([part.number(position) for position in kind.program.outputs])
    return lines, {(k, component): next(values) for k, size in enumerate(kind.sizes) for component in range(size)}


def stored(routine: str, loop: KernelLoop, column: int, index: str | None, found: Mapping[tuple[int, int], str]) -> list[str]:
    """Lines that put a result of the kernel in its place."""
    lines = _pointer(routine, f"q{column}", loop.outs[column], index, "")
    first = sum(loop.kind.sizes[:column])
    for component in range(loop.kind.sizes[column]):
        number = first + component
        lines.append(f"%o{number} = getelementptr inbounds double, ptr %q{column}, i64 {component}")
        lines.append(f"store double {found[column, component]}, ptr %o{number}")
    return lines


def _pointer(routine: str, name: str, access: Access, index: str | None, suffix: str) -> list[str]:
    base = f"@{routine}.{NUMBERS}" if access.block == NUMBERS else f"%{access.block}{suffix}"
    if index is None or (access.table < 0 and not access.stride):
        return [f"%{name} = getelementptr inbounds double, ptr {base}, i64 {access.start}"]
    if access.table < 0:
        counted = index if access.stride == 1 else f"{index}.by{access.stride}"
        inside = " inbounds" if access.stride > 0 else ""  # what is counted down lies before the block until its start is added
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
