"""Interpreter of derivatives for several runs in SIMD lanes: as `code`, but each number is a vector with one entry per lane.

Vectors hold lanes, not columns: a step loops only over the columns on which it depends, and all lanes share the cost of its
look-up. The operations on each number are those of `code`, so that a lane has the bits of a single run, except for the sign of
a zero, which changes no later number.

Each instruction has two steps: a quick one with products and sums alone, and a guarded one in which zero times infinity is
zero. Both give the same results unless those of the quick one are NaN.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bondgraph.emit.cached_build import build_once
from bondgraph.emit.elementary import trigonometry
from bondgraph.emit.interpreter import code
from bondgraph.emit.interpreter.code import ARGUMENTS, RESULT, WORK, rule
from bondgraph.emit.interpreter.steps import STRIP, InterpretedSteps
from bondgraph.emit.kernel import LANES
from bondgraph.emit.lanes import widened
from bondgraph.emit.llvm import Library, compile_written
from bondgraph.emit.machine import vector_width
from bondgraph.emit.procedure import Procedure
from bondgraph.emit.text import define, wide_declarations
from bondgraph.tape import opcodes as op

FIELDS = 10
"""Fields of a step: address of its code, offsets of its three arguments, row of its derivatives, rows of its arguments'; then
begin and end of its columns in their list. Offsets and rows count the numbers of a single lane."""


def machine_code(lanes: int | None = None) -> Library:
    """Return the compiled interpreter for so many lanes (by default as many as this processor's vectors hold)."""
    return _LIBRARIES[vector_width() if lanes is None else lanes]()


def _writer(lanes: int) -> Callable[[], list[Procedure]]:
    def written() -> list[Procedure]:
        return [_interpret(lanes)]

    written.__qualname__ = f"written for {lanes} lanes"
    return written


_LIBRARIES = {
    lanes: build_once(functools.partial(lambda lanes: compile_written(_writer(lanes), lambda: _texts(lanes)), lanes))
    for lanes in LANES
}


def _texts(lanes: int) -> list[str]:
    texts = [rule(number, lanes) for number in ARGUMENTS]
    texts += [_step(number, lanes, guarded) for number in ARGUMENTS for guarded in (False, True)]
    angles = trigonometry.called(texts, lanes)
    declared = dict.fromkeys("\n".join([wide_declarations(lanes), *angles[:1]]).splitlines())  # some twice
    return ["\n".join(declared), *texts, *angles[1:]]


def _interpret(lanes: int) -> Procedure:
    """Execute all steps: values, and rows of derivatives."""
    arguments = dict.fromkeys(("steps", "values", "rows", "columns"), "ptr") | dict.fromkeys(("count", "first"), "i64")
    write = Procedure("interpret", arguments)
    with write.loop(write["count"]) as k:
        step, value = write["steps"].at(k * FIELDS, "i64"), write["values"].at((write["first"] + k) * lanes)
        write.call(step.load(0, "ptr"), [step, write["values"], write["rows"], value, write["columns"]])
    write.give()
    return write


def _name(number: int, guarded: bool) -> str:
    return f"{'guarded' if guarded else 'quick'}_{op.NAMES[number]}"


def _step(number: int, lanes: int, guarded: bool) -> str:
    """Execute a step of this instruction: its `value`, and its derivatives by each column on which it depends."""
    count = ARGUMENTS[number]
    lines = [f"%work = alloca double, i64 {WORK * lanes}, align 64"]

    def load_integer(to: str, field: int) -> list[str]:
        return [f"%{to}.at = getelementptr i64, ptr %step, i64 {field}", f"%{to} = load i64, ptr %{to}.at"]

    def address(to: str, block: str, index: str) -> str:
        return f"%{to} = getelementptr double, ptr %{block}, i64 {index}"

    def wide(*texts: str) -> list[str]:
        return [widened(line, lanes) for line in texts]

    for k in range(count):
        lines += [*load_integer(f"a{k}", 1 + k), address(f"v{k}", "values", f"%a{k}"), address(f"w{k}", "work", str(k * lanes))]
        lines += wide(f"%x{k} = load double, ptr %v{k}", f"store double %x{k}, ptr %w{k}")
    lines += [address("result", "work", str(RESULT * lanes)), f"call void @rule_{op.NAMES[number]}(ptr %work, ptr %result)"]
    lines += [*wide("%y = load double, ptr %result", "store double %y, ptr %value")]
    lines += [*load_integer("row", 4), address("target", "rows", "%row")]
    for k in range(count):
        lines += [
            *load_integer(f"r{k}", 5 + k),
            address(f"source{k}", "rows", f"%r{k}"),
            address(f"s{k}", "result", str((1 + k) * lanes)),
        ]
        lines += wide(f"%slope{k} = load double, ptr %s{k}")
    lines += [
        *load_integer("from", 8),
        *load_integer("to", 9),
        "%some = icmp slt i64 %from, %to",
        "br i1 %some, label %column, label %done",
    ]
    lines += _columns(count, lanes, guarded)
    parameters = [*(f"ptr noalias %{block}" for block in ("step", "values", "rows")), "ptr %value", "ptr noalias %columns"]
    return define(f"void @{_name(number, guarded)}", parameters, ["br label %entry", "entry:", *lines, "done:"])


def _columns(count: int, lanes: int, guarded: bool) -> list[str]:
    """Return a loop over the columns of a step: the sum, over its arguments, of slopes times derivatives."""
    lines = ["column:", "%k = phi i64 [ %from, %entry ], [ %next, %column ]"]
    lines += ["%place = getelementptr i64, ptr %columns, i64 %k", "%number = load i64, ptr %place"]
    lane_lines = list[str]()
    for k in range(count):
        lines += [f"%at{k} = getelementptr double, ptr %source{k}, i64 %number"]
        lane_lines += [f"%given{k} = load double, ptr %at{k}", f"%product{k} = fmul double %slope{k}, %given{k}"]
        if guarded:
            lane_lines += [f"%flat{k} = fcmp oeq double %slope{k}, 0.0", f"%still{k} = fcmp oeq double %given{k}, 0.0"]
            lane_lines += [f"%nothing{k} = or i1 %flat{k}, %still{k}"]
            lane_lines += [f"%term{k} = select i1 %nothing{k}, double 0.0, double %product{k}"]
    terms = [f"%{'term' if guarded else 'product'}{k}" for k in range(count)]
    for k in range(1, count):
        lane_lines += [f"%total{k} = fadd double {terms[0] if k == 1 else f'%total{k - 1}'}, {terms[k]}"]
    lane_lines += [f"store double {terms[0] if count == 1 else f'%total{count - 1}'}, ptr %out"]
    lines += ["%out = getelementptr double, ptr %target, i64 %number", *(widened(line, lanes) for line in lane_lines)]
    return [*lines, "%next = add i64 %k, 1", "%more = icmp slt i64 %next, %to", "br i1 %more, label %column, label %done"]


@dataclass(frozen=True, eq=False)
class LaneSteps:
    """Steps that the interpreter in lanes executes, as arrays of integers.

    Parameters
    ----------
    quick, guarded : the steps (steps, fields). columns : lists of the columns on which steps depend, as offsets in a row.
    seed_offsets : offset in `rows` of the one of each variable. entry_offsets : offset of each nonzero of the Jacobian.
    rows : count of rows of derivatives, each as wide as the state; all zero before the first use except `seed_offsets`.
    """

    quick: np.ndarray
    guarded: np.ndarray
    columns: np.ndarray
    seed_offsets: np.ndarray
    entry_offsets: np.ndarray
    rows: int


def lane_steps(steps: InterpretedSteps, lanes: int) -> LaneSteps | None:
    """Convert interpreted steps to SIMD lanes; return None for more columns than rows have room for in the processor's cache.

    A row is reused only by nodes that depend on the same columns: all its other entries stay zero.
    """
    n = steps.groups
    if n > STRIP:
        return None
    library = machine_code(lanes)
    kept = {*steps.seed_rows.tolist(), *steps.entry_rows.tolist()}
    # Rows in use: row of the original table -> new row and columns, as bits.
    present, count = {0: (0, 0)}, 0
    seeds = [(row, group) for row, group in zip(steps.seed_rows.tolist(), steps.seed_groups.tolist(), strict=True) if row]
    for row, group in seeds:
        count += 1
        present[row] = count, 1 << group
    uses = _last_uses(steps.table)
    table, columns, lists = steps.table.copy(), list[int](), dict[int, tuple[int, int]]()
    free = dict[int, list[int]]()
    for k, step in enumerate(table):
        argument_rows = [present[int(row)] for row in step[5:8]]
        old, pattern = int(step[4]), functools.reduce(int.__or__, (bits for _, bits in argument_rows))
        step[5:8], step[8:] = [row for row, _ in argument_rows], (0, 0)
        if old:
            waiting = free.setdefault(pattern, [])
            if waiting and old not in kept:
                row = waiting.pop()
            else:
                count += 1
                row = count
            if pattern not in lists:
                offsets = [column * lanes for column in range(n) if pattern >> column & 1]
                lists[pattern] = len(columns), len(columns) + len(offsets)
                columns += offsets
            step[4], step[8:] = row, lists[pattern]
            for freed in uses[k]:
                if freed not in kept:
                    new, bits = present[freed]
                    free.setdefault(bits, []).append(new)
            present[old] = row, pattern
    table[:, 1:4] *= lanes
    table[:, 4:8] *= n * lanes
    quick, guarded = table.copy(), table
    for wide, kind in ((quick, False), (guarded, True)):
        addresses = {old: library.address(_name(number, kind)) for number, old in _codes().items()}
        wide[:, 0] = [addresses[int(old)] for old in wide[:, 0]]
    seed_offsets = [present[row][0] * n + group for row, group in seeds]
    entry_offsets = [
        present[row][0] * n + group for row, group in zip(steps.entry_rows.tolist(), steps.entry_groups.tolist(), strict=True)
    ]
    ones, entries = (np.array(offsets, dtype=np.int64) * lanes for offsets in (seed_offsets, entry_offsets))
    return LaneSteps(quick, guarded, np.array(columns, dtype=np.int64), ones, entries, count + 1)


def _last_uses(table: np.ndarray) -> list[set[int]]:
    """Return, for each step, the rows of its arguments whose content no later step needs."""
    later, freed = set[int](), list[set[int]]()
    for step in table[::-1]:
        later.discard(int(step[4]))
        argument_rows = {int(row) for row in step[5:8]} - {0}
        freed.append(argument_rows - later)
        later |= argument_rows
    return freed[::-1]


def _codes() -> dict[int, int]:
    """Return the instruction by the address of its code for a single run."""
    library = code.machine_code()
    return {number: library.address(f"step_{op.NAMES[number]}") for number in ARGUMENTS}
