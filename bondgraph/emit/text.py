"""Generate LLVM IR from programs of routines.

A short program is one function. A long program is cut into functions of a few hundred steps, since compile time grows faster
than the length of a function. Values that later parts need are stored in a workspace of the caller, so that threads share
nothing. Fused operations are explicit; no flag lets the compiler fuse other operations or assume that numbers are finite.
Consecutive sines and cosines are computed in one call.
"""

from __future__ import annotations

import functools
import itertools
import re
import string
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from bondgraph.emit import tables
from bondgraph.emit.elementary import trigonometry
from bondgraph.emit.fusions import fused as with_fusions
from bondgraph.emit.fusions import operation_of
from bondgraph.emit.lanes import FRAMED, widened
from bondgraph.emit.printers.llvm_procedures import number
from bondgraph.tape import opcodes as op
from bondgraph.tape.nodes import Node, leaf_length
from bondgraph.tape.routine import Listing

HEAP = 32_768
"""Maximum number of doubles in a workspace on the stack (256 KB); a thread's stack may be too small for more."""

_PURE = " nounwind willreturn memory(none)"
_CALLED = [
    f"declare double {called[0]}({', '.join(['double'] * operation.arguments)}){_PURE if 'elementary' in called[0] else ''}"
    for code, operation in enumerate(op.OPERATIONS)
    if code not in op.LOOKUPS and (called := re.findall(r"@[\w.]+", operation.llvm))
]
_CALLED.append("declare double @llvm.fma.f64(double, double, double)")
_TO_INTEGER = "declare i64 @llvm.fptosi.sat.i64.f64(double)"
DECLARATIONS = "\n".join([*_CALLED, _TO_INTEGER, "declare ptr @malloc(i64)", "declare void @free(ptr)"])


def wide_declarations(lanes: int) -> str:
    called = [*(widened(line, lanes) for line in _CALLED), *(line for line in _CALLED if "@elementary." in line)]
    return "\n".join([*called, _TO_INTEGER, "declare ptr @malloc(i64)", "declare void @free(ptr)"])


@dataclass
class Part:
    program: Listing
    slots: dict[int, int]
    stores: dict[int, list[tuple[str, int]]]
    first: int
    last: int
    lines: list[str] = field(default_factory=list)
    numbers: dict[int, str] = field(default_factory=dict)
    conditions: dict[int, str] = field(default_factory=dict)
    joint: dict[int, list[int]] = field(default_factory=dict)
    """Angles of each call that computes several sines and cosines, in the order of their steps, by the first step."""
    lanes: int = 1

    def write(self, *lines: str) -> None:
        self.lines += lines if self.lanes == 1 else [widened(line, self.lanes) for line in lines]

    def emit(self) -> None:
        for position, step in enumerate(self.program.steps[self.first : self.last], self.first):
            if position in self.joint:
                self._sines_and_cosines(position, self.joint[position])
            if step[0] > op.INPUT and position not in self.numbers:
                self._step(position, step)
            if position in self.slots:
                slot = self.slots[position]
                self.write(f"%w{position} = getelementptr inbounds double, ptr %work, i64 {slot}")
                self.write(f"store double {self.number(position)}, ptr %w{position}")
            for out, k in self.stores.get(position, ()):
                self.write(f"%{out}{k} = getelementptr inbounds double, ptr %{out}, i64 {k}")
                self.write(f"store double {self.number(position)}, ptr %{out}{k}")

    def _sines_and_cosines(self, position: int, angles: list[int]) -> None:
        name = f"t{position}"
        values = [self.number(a) for a in angles]
        wide = self.lanes > 1
        self.lines += trigonometry.wide_call(name, values, self.lanes) if wide else trigonometry.call(name, values)
        index_of = {a: k for k, a in enumerate(angles)}
        for v in range(position, self.last):
            code, *arguments = self.program.steps[v]
            if code in (op.SIN, op.COS) and arguments[0] in index_of:
                self.numbers[v] = f"%{name}{'s' if code == op.SIN else 'c'}{index_of[arguments[0]]}"

    def number(self, a: int) -> str:
        text = self.numbers.get(a)
        if text is None:
            text = self.numbers[a] = self._number(a)
        return text

    def _number(self, a: int) -> str:
        step = self.program.steps[a]
        code = step[0]
        if code == op.CONSTANT:
            return number(step[1])
        if code == op.INPUT:
            self.write(f"%p{a} = getelementptr inbounds double, ptr %b{step[1]}, i64 {step[2]}")
            self.write(f"%v{a} = load double, ptr %p{a}")
        elif a < self.first:
            self.write(f"%p{a} = getelementptr inbounds double, ptr %work, i64 {self.slots[a]}")
            self.write(f"%v{a} = load double, ptr %p{a}")
        elif code in op.CONDITIONS:
            self.write(f"%v{a} = uitofp i1 %c{a} to double")
        return f"%v{a}"

    def condition(self, a: int) -> str:
        text = self.conditions.get(a)
        if text is None:
            if not (a >= self.first and self.program.steps[a][0] in op.CONDITIONS):
                value = self.number(a)
                self.write(f"%c{a} = fcmp une double {value}, 0.0")
            text = self.conditions[a] = f"%c{a}"
        return text

    def _table(self, a: int) -> str:
        code, first, *rest = self.program.steps[a]
        if code == op.TABLE:
            return f"@{tables.array_name(first)}"
        if a not in self.numbers:
            self.numbers[a] = f"%p{a}"
            self.lines.append(f"%p{a} = getelementptr inbounds double, ptr %b{first}, i64 {rest[0]}")
        return self.numbers[a]

    def _lookup(self, v: int, step: Node) -> None:
        code, u, table = step
        leaf = self.program.steps[table]
        form = tables.search_text(leaf) if code == op.SEARCHSORTED else op.OPERATIONS[code].llvm
        y, n = self._table(table), leaf_length(leaf)
        if self.lanes == 1:
            self.lines.append(f"%v{v} = {form.format(x=self.number(u), y=y, n=n)}")
            return
        vector, row = f"<{self.lanes} x double>", "zeroinitializer"
        for lane in range(self.lanes):
            self.write(f"%u{v}.{lane} = extractelement double {self.number(u)}, i32 {lane}")
            self.lines.append(f"%e{v}.{lane} = {form.format(x=f'%u{v}.{lane}', y=y, n=n)}")
            name = f"%v{v}" if lane == self.lanes - 1 else f"%v{v}.{lane}"
            self.lines.append(f"{name} = insertelement {vector} {row}, double %e{v}.{lane}, i32 {lane}")
            row = name

    def _step(self, v: int, step: Node) -> None:
        if step[0] in op.LOOKUPS:
            self._lookup(v, step)
            return
        pattern = _pattern(step[0])
        if pattern and self.lanes == 1:
            self.lines.append(pattern % (v, *map(self.number, step[1:])))
            return
        operation = operation_of(step[0])
        values = [self.condition(a) if k < operation.truths else self.number(a) for k, a in enumerate(step[1:])]
        *before, last = operation.llvm.format(**dict(zip("xyz", values, strict=False)), v=v).split("\n")
        self.write(*before, f"%{'c' if operation.is_condition else 'v'}{v} = {last}")


@functools.cache
def _pattern(code: int) -> str:
    """Return the line of an instruction with placeholders for its index and operands, or "" unless it is a single line without
    conditions."""
    operation = operation_of(code)
    operands = [name for _, name, _, _ in string.Formatter().parse(operation.llvm) if name]
    if operation.truths or "%" in operation.llvm or operands != [*"xyz"[: operation.arguments]]:
        return ""
    return f"%%{'c' if operation.is_condition else 'v'}%d = {operation.llvm.format(x='%s', y='%s', z='%s')}"


def joint_angles(program: Listing, first: int, last: int) -> dict[int, list[int]]:
    """Group consecutive sines and cosines between these steps; return the first step of each group, and its angles."""
    groups: list[dict[int, int]] = [{}]
    for position in range(first, last):
        code, *arguments = program.steps[position]
        if code in (op.SIN, op.COS):
            group, angle = groups[-1], arguments[0]
            available = angle < min(group.values(), default=position) or program.steps[angle][0] <= op.INPUT
            if not available or (angle not in group and len(group) == trigonometry.JOINT_ANGLES):
                groups.append({})
            groups[-1].setdefault(angle, position)
        elif code > op.INPUT and groups[-1]:
            groups.append({})
    return {min(group.values()): list(group) for group in groups if group}


def function_text(
    name: str,
    program: Listing,
    blocks: int,
    single_limit: int,
    part: int,
    outs: Mapping[str, int] | None = None,
    lanes: int = 1,
    *,
    fused: bool = True,
) -> str:
    """Return the function `name` of `blocks` blocks and `out`, in parts of `part` steps if it has more than `single_limit` steps.

    `outs` names other output arrays, with the length of each. With several `lanes`, each number of the blocks and outputs is a
    vector with one number per run. Unless `fused`, products and sums are rounded separately.
    """
    program = with_fusions(program) if fused else program
    count = len(program.steps)
    cuts = [0, count] if count <= single_limit else [*range(0, count, part), count]
    outs = {"out": len(program.outputs)} if outs is None else outs
    targets = [(out, k) for out, length in outs.items() for k in range(length)]
    stores: dict[int, list[tuple[str, int]]] = {}
    for target, position in zip(targets, program.outputs, strict=True):
        stores.setdefault(position, []).append(target)
    slots, size = workspace_slots(program, cuts)
    attributes = f" noinline{FRAMED if lanes > 1 else ''}"
    parameters = [*(f"ptr noalias readonly %b{i}" for i in range(blocks)), *(f"ptr noalias %{out}" for out in outs)]
    pieces = []
    for first, last in itertools.pairwise(cuts):
        piece = Part(program, slots, stores, first, last, joint=joint_angles(program, first, last), lanes=lanes)
        piece.emit()
        pieces.append(piece.lines)
    if len(pieces) == 1:
        return define(f"void @{name}", parameters, pieces[0], attributes)
    inner, passed = [*parameters, "ptr noalias %work"], _passed(blocks, *outs, "work")
    texts = [define(f"internal void @{name}.part{k}", inner, lines, attributes) for k, lines in enumerate(pieces)]
    calls = [f"call void @{name}.part{k}({passed})" for k in range(len(pieces))]
    return "\n".join([*texts, define(f"void @{name}", parameters, with_workspace("work", size * lanes, calls), attributes)])


WORKSPACE = re.compile(r"call ptr @malloc\(i64 (\d+)\)")
"""Call by which `with_workspace` allocates a large workspace on the heap."""


def on_the_stack(text: str) -> str:
    return WORKSPACE.sub(r"alloca i8, i64 \1, align 64", text).replace("call void @free(", "; free(")


def with_workspace(name: str, size: int, calls: Sequence[str]) -> list[str]:
    if size > HEAP:
        return [f"%{name} = call ptr @malloc(i64 {8 * size})", *calls, f"call void @free(ptr %{name})"]
    return [f"%{name} = alloca double, i64 {max(size, 1)}, align 64", *calls]


def _passed(blocks: int, *others: str) -> str:
    return ", ".join([*(f"ptr %b{i}" for i in range(blocks)), *(f"ptr %{other}" for other in others)])


def define(header: str, parameters: list[str], body: list[str], attributes: str = "") -> str:
    lines = "\n".join(f"  {line}" for line in body)
    return f"define {header}({', '.join(parameters)}) nounwind{attributes} {{\n{lines}\n  ret void\n}}\n"


def workspace_slots(program: Listing, cuts: list[int]) -> tuple[dict[int, int], int]:
    """Allocate slots in the workspace for values that a later part needs; a slot is reused when no later part needs its value."""
    if len(cuts) <= 2:
        return {}, 0
    part = cuts[1]
    last: dict[int, int] = {}
    for position, step in enumerate(program.steps):
        if step[0] > op.INPUT:
            for a in step[1:]:
                if program.steps[a][0] > op.INPUT and a // part < position // part:
                    last[a] = position // part
    slots: dict[int, int] = {}
    free: list[int] = []
    leaving: dict[int, list[int]] = {}
    size = 0
    current = 0
    for a in sorted(last):
        while current < a // part:
            free += leaving.pop(current, [])
            current += 1
        if free:
            slots[a] = free.pop()
        else:
            slots[a] = size
            size += 1
        leaving.setdefault(last[a], []).append(slots[a])
    return slots, size


def choice_text(
    name: str, blocks: int, block: int, slots: tuple[int, ...], counts: tuple[int, ...], cases: list[str], outs: Iterable[str]
) -> str:
    """Return the function `name` that calls one of `cases`, selected by the integers block[slot], the last of which varies
    fastest."""
    passed = _passed(blocks, *outs)
    lines = []
    index = "0"
    for k, (slot, count) in enumerate(zip(slots, counts, strict=True)):
        lines += [
            f"%a{k} = getelementptr inbounds double, ptr %b{block}, i64 {slot}",
            f"%v{k} = load double, ptr %a{k}",
            f"%i{k} = call i64 @llvm.fptosi.sat.i64.f64(double %v{k})",
            f"%s{k} = mul i64 {index}, {count}",
            f"%n{k} = add i64 %s{k}, %i{k}",
        ]
        index = f"%n{k}"
    targets = " ".join(f"i64 {k}, label %case{k}" for k in range(1, len(cases)))
    lines.append(f"switch i64 {index}, label %case0 [ {targets} ]")
    for k, case in enumerate(cases):
        lines += [f"case{k}:", f"tail call void @{case}({passed})", "br label %done"]
    return define(f"void @{name}", [passed], [*lines, "done:"])


def shared_text(shared: str, blocks: int, block: int, length: int, sizes: tuple[int, ...], outputs: int) -> str:
    """Return the LLVM IR common to presets of the function `shared`: `shared.with`, which calls it with a copy of one block
    (length,) in which one number is replaced, and `shared.each`, which calls any preset for each sample."""
    arguments = _passed(blocks, "out").replace(f"%b{block}", "%own")
    lines = [
        f"%own = alloca double, i64 {max(length, 1)}, align 64",
        f"call void @llvm.memcpy.p0.p0.i64(ptr %own, ptr %b{block}, i64 {8 * length}, i1 false)",
        "%place = getelementptr inbounds double, ptr %own, i64 %at",
        "store double %number, ptr %place",
        f"call void @{shared}({arguments})",
    ]
    parameters = [_passed(blocks, "out"), "i64 %at", "double %number"]
    return define(f"internal void @{shared}.with", parameters, lines, " noinline") + loop_text(shared, sizes, outputs, "each")


def preset_text(name: str, blocks: int, shared: str, setting: tuple[int, float], zeros: Sequence[int]) -> str:
    """Return the function `name` that calls `shared` with one number of a block preset to `setting` (index, number) and sets
    the outputs `zeros` to zero."""
    passed = _passed(blocks, "out")
    lines = [f"call void @{shared}.with({passed}, i64 {setting[0]}, double {setting[1]!r})"]
    for k, index in enumerate(zeros):
        lines += [f"%a{k} = getelementptr inbounds double, ptr %out, i64 {index}", f"store double 0.0, ptr %a{k}"]
    return define(f"void @{name}", [passed], lines)


def split_text(blocks: int, both: str, name: str, beginning: str, end: str | None, counts: Sequence[int], lanes: int = 1) -> str:
    """Return functions that call `both`, which writes its first outputs to `out` and its last outputs to `rest`.

    The function `name` returns all outputs, as many as the sum of `counts`, `beginning` the first, and `end` (unless None) the
    last.
    """
    call = f"call void @{both}({_passed(blocks, 'out', 'rest')})"
    behind = f"%rest = getelementptr inbounds double, ptr %out, i64 {counts[0] * lanes}"
    parameters = [_passed(blocks, "out")]
    texts = [define(f"void @{name}", parameters, [behind, f"tail {call}"])]
    texts.append(define(f"void @{beginning}", parameters, [f"%rest = alloca double, i64 {counts[1] * lanes}", call]))
    if end is not None:
        parameters = [_passed(blocks, "rest")]
        texts.append(define(f"void @{end}", parameters, [f"%out = alloca double, i64 {counts[0] * lanes}", call]))
    return "".join(texts)


def loop_text(name: str, sizes: tuple[int, ...], outputs: int, suffix: str = "many") -> str:
    """Return the function `name.many` that calls `name` for each sample; a block with stride 0 is the same for all samples.

    A function with another suffix calls the function that it takes as its last argument.
    """
    count, callee = len(sizes), f"@{name}" if suffix == "many" else "%function"
    parameters = ["i64 %samples", *(f"i64 %stride{i}" for i in range(count)), *(f"ptr %b{i}" for i in range(count)), "ptr %out"]
    parameters += [] if suffix == "many" else ["ptr %function"]
    lines = ["%some = icmp sgt i64 %samples, 0", "br i1 %some, label %body, label %done", "body:"]
    lines.append("%k = phi i64 [0, %entry], [%next, %body]")
    for i in range(count):
        lines.append(f"%d{i} = mul i64 %k, %stride{i}")
        lines.append(f"%q{i} = getelementptr double, ptr %b{i}, i64 %d{i}")
    lines += [f"%e = mul i64 %k, {outputs}", "%o = getelementptr double, ptr %out, i64 %e"]
    passed = ", ".join([*(f"ptr %q{i}" for i in range(count)), "ptr %o"])
    lines += [f"call void {callee}({passed})", "%next = add i64 %k, 1", "%more = icmp slt i64 %next, %samples"]
    lines += ["br i1 %more, label %body, label %done", "done:"]
    return define(f"void @{name}.{suffix}", parameters, ["br label %entry", "entry:", *lines])
