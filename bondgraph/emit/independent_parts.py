"""LLVM IR for independent parts of a program: parts with equal steps share a function with contiguous inputs and results, and a
routine gathers inputs and scatters results part by part."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from bondgraph.emit.printers.llvm_procedures import number
from bondgraph.emit.text import define, function_text
from bondgraph.tape.independent_parts import Form

_MOVES = {"gather": ("from", "%at.k", "to", "%k"), "scatter": ("from", "%k", "to", "%at.k")}


def gather_scatter_text() -> str:
    return "\n".join(_copy_loop_text(name, *of) for name, of in _MOVES.items())


def _copy_loop_text(name: str, source: str, source_place: str, goal: str, goal_place: str) -> str:
    lines = ["%some = icmp sgt i64 %count, 0", "br i1 %some, label %body, label %done", "body:"]
    lines += ["%k = phi i64 [0, %entry], [%next, %body]", "%p = getelementptr inbounds i32, ptr %table, i64 %k"]
    lines += ["%short = load i32, ptr %p", "%at.k = zext i32 %short to i64"]
    lines += [f"%s = getelementptr inbounds double, ptr %{source}, i64 {source_place}", "%v = load double, ptr %s"]
    lines += [f"%g = getelementptr inbounds double, ptr %{goal}, i64 {goal_place}", "store double %v, ptr %g"]
    lines += ["%next = add nuw nsw i64 %k, 1", "%more = icmp slt i64 %next, %count"]
    lines += ["br i1 %more, label %body, label %done", "done:"]
    parameters = ["ptr noalias %to", "ptr noalias readonly %from", "ptr readonly %table", "i64 %count"]
    return define(f"internal void @islands.{name}", parameters, ["br label %entry", "entry:", *lines], " noinline")


def independent_parts_text(
    name: str, forms: Sequence[Form], blocks: int, single_limit: int, part: int, outs: Mapping[str, int]
) -> str:
    texts, lines = list[str](), list[str]()
    widest = max((len(form.input_positions[0]) + len(form.numbers[0]) for form in forms), default=0)
    most = max((sum(form.results) for form in forms), default=0)
    lines += [f"%in = alloca double, i64 {max(widest, 1)}, align 64", f"%own = alloca double, i64 {max(most, 1)}, align 64"]
    lines.append("br label %before0")
    for k, form in enumerate(forms):
        form_name = f"{name}.island{k}"
        texts += [
            *_tables(form_name, form),
            function_text(form_name, form.program, 1, single_limit, part, {"own": sum(form.results)}, fused=False),
        ]
        lines += _loop(form_name, k, form, blocks, tuple(outs))
    lines.append(f"before{len(forms)}:")
    parameters = [*(f"ptr noalias readonly %b{i}" for i in range(blocks)), *(f"ptr noalias %{out}" for out in outs)]
    return "\n".join([*texts, define(f"void @{name}", parameters, lines, " noinline")])


def _tables(form_name: str, form: Form) -> Iterator[str]:
    for table, rows, kind, shown in (
        ("places", form.input_positions, "i32", str),
        ("numbers", form.numbers, "double", number),
        ("goals", form.output_positions, "i32", str),
    ):
        entries = ", ".join(f"{kind} {shown(entry)}" for row in rows for entry in row)
        yield f"@{form_name}.{table} = internal constant [{sum(map(len, rows))} x {kind}] [{entries}]"


def _loop(form_name: str, k: int, form: Form, blocks: int, outs: Sequence[str]) -> Iterator[str]:
    yield from (f"before{k}:", f"br label %each{k}", f"each{k}:", f"%k{k} = phi i64 [0, %before{k}], [%next{k}, %each{k}]")
    inputs, results = len(form.input_positions[0]), sum(form.results)
    start = 0
    for block in range(blocks):
        count, at = form.inputs[block], f"{k}.{block}"
        yield f"%row.{at} = mul i64 %k{k}, {inputs}"
        yield f"%first.{at} = add i64 %row.{at}, {start}"
        yield f"%places.{at} = getelementptr inbounds i32, ptr @{form_name}.places, i64 %first.{at}"
        yield f"%in.{at} = getelementptr inbounds double, ptr %in, i64 {start}"
        yield f"call void @islands.gather(ptr %in.{at}, ptr %b{block}, ptr %places.{at}, i64 {count})"
        start += count
    numbers = len(form.numbers[0])
    if numbers:
        yield f"%row.{k} = mul i64 %k{k}, {numbers}"
        yield f"%numbers.{k} = getelementptr inbounds double, ptr @{form_name}.numbers, i64 %row.{k}"
        yield f"%in.{k} = getelementptr inbounds double, ptr %in, i64 {start}"
        yield f"call void @llvm.memcpy.p0.p0.i64(ptr %in.{k}, ptr %numbers.{k}, i64 {8 * numbers}, i1 false)"
    yield f"call void @{form_name}(ptr %in, ptr %own)"
    start = 0
    for out, count in zip(outs, form.results, strict=True):
        at = f"{k}.{out}"
        yield f"%row.{at} = mul i64 %k{k}, {results}"
        yield f"%first.{at} = add i64 %row.{at}, {start}"
        yield f"%goals.{at} = getelementptr inbounds i32, ptr @{form_name}.goals, i64 %first.{at}"
        yield f"%own.{at} = getelementptr inbounds double, ptr %own, i64 {start}"
        yield f"call void @islands.scatter(ptr %{out}, ptr %own.{at}, ptr %goals.{at}, i64 {count})"
        start += count
    yield f"%next{k} = add nuw nsw i64 %k{k}, 1"
    yield f"%more{k} = icmp slt i64 %next{k}, {len(form.input_positions)}"
    yield f"br i1 %more{k}, label %each{k}, label %before{k + 1}"
