"""Groups of loops as text: in rounds of some hundred instances, or as one loop that keeps what it passes on in registers."""

from __future__ import annotations

from collections.abc import Mapping

from bondgraph.emit.text import define
from bondgraph.schedule.machine_code.fusion import Fusion
from bondgraph.schedule.machine_code.loop_blocking import TILE, Tiled
from bondgraph.schedule.machine_code.text import kernel_lines, loop_function, renamed, stored, strides

BOUNDS = """declare i64 @llvm.smax.i64(i64, i64)
declare i64 @llvm.smin.i64(i64, i64)"""
"""What a module with such loops declares."""


def fused_text(
    function: str, routine: str, fusion: Fusion, given: list[str], parallel: list[str], passed: str, quick: bool
) -> str:
    """Loops in one loop: a function for some instances of each, which serves at both ends, and the function of all."""
    loops = fusion.group.loops
    texts: list[str] = []
    before: list[str] = []
    after: list[str] = []
    for k, loop in enumerate(loops):
        own = f"{function}.{k}"
        texts.append(loop_function(own, routine, loop, [*parallel, "i64 %from", "i64 %to"], ".read", quick, ("%from", "%to")))
        for calls, rounds in ((before, (0, fusion.first)), (after, (fusion.last, fusion.group.rounds * TILE))):
            first, last = fusion.stretch(k, *rounds)
            if first < last:
                calls.append(f"call void @{own}({passed}, i64 {first}, i64 {last})")
    lags = fusion.group.lags
    indices = [strides(loop, f"%at.{k}", str(fusion.first + lags[k]), "%begin", quick) for k, loop in enumerate(loops)]
    body = [f"%at.{k} = add nsw i64 %r, {lag}" for k, lag in enumerate(lags)]
    body += [line for index in indices for line in index.products]
    values: dict[tuple[int, int, int], str] = {}
    for k, loop in enumerate(loops):
        known = {
            place: values[source.writer, source.column, source.component]
            if source.rounds == 0
            else f"%carry.{source.writer}.{source.column}.{source.component}.{source.rounds}"
            for place, source in fusion.sources[k].items()
        }
        lines, found = kernel_lines(routine, loop, f"%at.{k}", "", known)
        kept = [column for column in range(len(loop.outs)) if (k, column) not in fusion.dropped]
        lines += [line for column in kept for line in stored(routine, loop, column, f"%at.{k}", found)]
        body += [renamed(line, k) for line in lines]
        for (column, component), value in found.items():
            values[k, column, component] = renamed(value, k)
    heads, starts, ends = _carried(fusion, values)
    starts += [line for index in indices for line in index.starts]
    heads += [line for index in indices for line in index.carried]
    lines = [*before, "br label %begin", "begin:", *starts, "br label %body", "body:"]
    lines += [f"%r = phi i64 [{fusion.first}, %begin], [%next, %body]", *heads, *body]
    lines += [line for index in indices for line in index.nexts]
    lines += ["%next = add nuw nsw i64 %r, 1", f"%more = icmp ult i64 %next, {fusion.last}"]
    lines += ["br i1 %more, label %body, label %done", "done:", *ends, *after]
    return "\n".join([*texts, define(f"internal void @{function}", given, lines, " noinline")])


def _carried(fusion: Fusion, values: Mapping[tuple[int, int, int], str]) -> tuple[list[str], list[str], list[str]]:
    """Lines for `values` (loop, column, component) that are carried on from round to round: at the head of the loop, before it,
    and behind it, where those that were not stored are."""
    heads: list[str] = []
    starts: list[str] = []
    ends: list[str] = []
    for (k, column, component), rounds in fusion.carried.items():
        access, name = fusion.group.loops[k].outs[column], f"carry.{k}.{column}.{component}"
        newer = values[k, column, component]
        for age in range(1, rounds + 1):
            place = access.start + access.stride * (fusion.first + fusion.group.lags[k] - age) + component
            starts += [
                f"%{name}.{age}.home = getelementptr inbounds double, ptr %{access.block}, i64 {place}",
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


def turns_text(function: str, routine: str, group: Tiled, given: list[str], parallel: list[str], passed: str, quick: bool) -> str:
    """Loops that take turns: a function for some instances of each, and the function that calls these in rounds."""
    texts = []
    last = len(group.loops) - 1
    lines = ["br label %begin", "begin:", "br label %turn", "turn:"]
    lines += [f"%r = phi i64 [0, %begin], [%next, %after{last}]", f"%base = mul nsw i64 %r, {TILE}"]
    for k, (loop, lag) in enumerate(zip(group.loops, group.lags, strict=True)):
        own = f"{function}.{k}"
        texts.append(loop_function(own, routine, loop, [*parallel, "i64 %from", "i64 %to"], ".read", quick, ("%from", "%to")))
        lines += [
            f"%a{k} = add nsw i64 %base, {lag}",
            f"%b{k} = add nsw i64 %a{k}, {TILE}",
            f"%from{k} = call i64 @llvm.smax.i64(i64 %a{k}, i64 0)",
            f"%to{k} = call i64 @llvm.smin.i64(i64 %b{k}, i64 {loop.count})",
            f"%some{k} = icmp slt i64 %from{k}, %to{k}",
            f"br i1 %some{k}, label %do{k}, label %after{k}",
            f"do{k}:",
            f"call void @{own}({passed}, i64 %from{k}, i64 %to{k})",
            f"br label %after{k}",
            f"after{k}:",
        ]
    lines += ["%next = add nuw nsw i64 %r, 1", f"%more = icmp slt i64 %next, {group.rounds}"]
    lines += ["br i1 %more, label %turn, label %done", "done:"]
    return "\n".join([*texts, define(f"internal void @{function}", given, lines, " noinline")])
