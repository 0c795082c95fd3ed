"""The interpreter of derivatives for several runs side by side: as `code`, with a number of every lane in the place of each.

Vectors hold the lanes here, not columns: of a step only the columns on which it depends are gone through, and what it costs to
look a step up is shared by all lanes. The operations on each number are those of `code`, so that a lane has the bits of a run
alone, but for the sign of a zero, which no later step makes a number of.

Each instruction has two steps: a quick one by products and sums alone, and a guarded one in which nothing times infinity is
nothing. What the guarded steps find is what the quick ones find, unless that is no number.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bondgraph.emit import trigonometry
from bondgraph.emit.cached_build import once
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
"""Of a step: where the code of its instruction starts, places of its three arguments, row of its derivatives, rows of its
arguments'; then where its columns begin in their list, and end. Places and rows are those of numbers of a single lane."""


def machine_code(lanes: int | None = None) -> Library:
    """The interpreter for so many lanes (as many as this processor's vectors hold), and the instructions by name."""
    return _LIBRARIES[vector_width() if lanes is None else lanes]()


def _writer(lanes: int) -> Callable[[], list[Procedure]]:
    def written() -> list[Procedure]:
        return [_interpret(lanes)]

    written.__qualname__ = f"written for {lanes} lanes"
    return written


_LIBRARIES = {
    lanes: once(functools.partial(lambda lanes: compile_written(_writer(lanes), lambda: _texts(lanes)), lanes)) for lanes in LANES
}


def _texts(lanes: int) -> list[str]:
    texts = [rule(number, lanes) for number in ARGUMENTS]
    texts += [_step(number, lanes, guarded) for number in ARGUMENTS for guarded in (False, True)]
    angles = trigonometry.called(texts, lanes)
    declared = dict.fromkeys("\n".join([wide_declarations(lanes), *angles[:1]]).splitlines())  # some twice
    return ["\n".join(declared), *texts, *angles[1:]]


def _interpret(lanes: int) -> Procedure:
    """All steps: values, and rows of derivatives."""
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
    """A step of this instruction: its `value`, and its row of derivatives where it varies, by each column on which it depends."""
    count = ARGUMENTS[number]
    lines = [f"%work = alloca double, i64 {WORK * lanes}, align 64"]

    def whole(to: str, field: int) -> list[str]:
        return [f"%{to}.at = getelementptr i64, ptr %step, i64 {field}", f"%{to} = load i64, ptr %{to}.at"]

    def place(to: str, block: str, index: str) -> str:
        return f"%{to} = getelementptr double, ptr %{block}, i64 {index}"

    def wide(*given: str) -> list[str]:
        return [widened(line, lanes) for line in given]

    for k in range(count):
        lines += [*whole(f"a{k}", 1 + k), place(f"v{k}", "values", f"%a{k}"), place(f"w{k}", "work", str(k * lanes))]
        lines += wide(f"%x{k} = load double, ptr %v{k}", f"store double %x{k}, ptr %w{k}")
    lines += [place("result", "work", str(RESULT * lanes)), f"call void @rule_{op.NAMES[number]}(ptr %work, ptr %result)"]
    lines += [*wide("%y = load double, ptr %result", "store double %y, ptr %value")]
    lines += [*whole("row", 4), place("target", "rows", "%row")]
    for k in range(count):
        lines += [*whole(f"r{k}", 5 + k), place(f"source{k}", "rows", f"%r{k}"), place(f"s{k}", "result", str((1 + k) * lanes))]
        lines += wide(f"%slope{k} = load double, ptr %s{k}")
    lines += [*whole("from", 8), *whole("to", 9), "%some = icmp slt i64 %from, %to", "br i1 %some, label %column, label %done"]
    lines += _columns(count, lanes, guarded)
    given = [*(f"ptr noalias %{block}" for block in ("step", "values", "rows")), "ptr %value", "ptr noalias %columns"]
    return define(f"void @{_name(number, guarded)}", given, ["br label %entry", "entry:", *lines, "done:"])


def _columns(count: int, lanes: int, guarded: bool) -> list[str]:
    """A loop over the columns of a step: the sum, over its arguments, of slopes times derivatives."""
    lines = ["column:", "%k = phi i64 [ %from, %entry ], [ %next, %column ]"]
    lines += ["%place = getelementptr i64, ptr %columns, i64 %k", "%number = load i64, ptr %place"]
    own = list[str]()
    for k in range(count):
        lines += [f"%at{k} = getelementptr double, ptr %source{k}, i64 %number"]
        own += [f"%given{k} = load double, ptr %at{k}", f"%product{k} = fmul double %slope{k}, %given{k}"]
        if guarded:
            own += [f"%flat{k} = fcmp oeq double %slope{k}, 0.0", f"%still{k} = fcmp oeq double %given{k}, 0.0"]
            own += [f"%nothing{k} = or i1 %flat{k}, %still{k}"]
            own += [f"%term{k} = select i1 %nothing{k}, double 0.0, double %product{k}"]
    terms = [f"%{'term' if guarded else 'product'}{k}" for k in range(count)]
    for k in range(1, count):
        own += [f"%total{k} = fadd double {terms[0] if k == 1 else f'%total{k - 1}'}, {terms[k]}"]
    own += [f"store double {terms[0] if count == 1 else f'%total{count - 1}'}, ptr %out"]
    lines += ["%out = getelementptr double, ptr %target, i64 %number", *(widened(line, lanes) for line in own)]
    return [*lines, "%next = add i64 %k, 1", "%more = icmp slt i64 %next, %to", "br i1 %more, label %column, label %done"]


@dataclass(frozen=True, eq=False)
class LaneSteps:
    """What the interpreter for several lanes goes through; all are whole numbers in a row.

    Parameters
    ----------
    quick, guarded : the steps (steps, fields). columns : lists of the columns on which steps depend, as places in a row.
    seeded : where in `rows` the one of each variable stands. found : where each nonzero of the Jacobian.
    rows : how many rows of derivatives there are, each as wide as the state; all zero before the first time but for `seeded`.
    """

    quick: np.ndarray
    guarded: np.ndarray
    columns: np.ndarray
    seeded: np.ndarray
    found: np.ndarray
    rows: int


def lane_steps(steps: InterpretedSteps, lanes: int) -> LaneSteps | None:
    """The same steps for so many lanes; None for more columns than rows have room for in the processor's cache.

    A row serves, one after the other, only nodes that depend on the same columns: all other places of it stay zero.
    """
    n = steps.groups
    if n > STRIP:
        return None
    library = machine_code(lanes)
    kept = {*steps.seeded.tolist(), *steps.found.tolist()}
    # The rows in use: those of the given table -> new row and columns, as bits.
    present, count = {0: (0, 0)}, 0
    seeds = [(row, group) for row, group in zip(steps.seeded.tolist(), steps.of_seeds.tolist(), strict=True) if row]
    for row, group in seeds:
        count += 1
        present[row] = count, 1 << group
    uses = _last_uses(steps.table)
    table, columns, lists = steps.table.copy(), list[int](), dict[int, tuple[int, int]]()
    free = dict[int, list[int]]()
    for k, step in enumerate(table):
        given = [present[int(row)] for row in step[5:8]]
        old, pattern = int(step[4]), functools.reduce(int.__or__, (bits for _, bits in given))
        step[5:8], step[8:] = [row for row, _ in given], (0, 0)
        if old:
            waiting = free.setdefault(pattern, [])
            if waiting and old not in kept:
                row = waiting.pop()
            else:
                count += 1
                row = count
            if pattern not in lists:
                places = [column * lanes for column in range(n) if pattern >> column & 1]
                lists[pattern] = len(columns), len(columns) + len(places)
                columns += places
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
        own = {old: library.address(_name(number, kind)) for number, old in _codes().items()}
        wide[:, 0] = [own[int(old)] for old in wide[:, 0]]
    seeded = [present[row][0] * n + group for row, group in seeds]
    found = [present[row][0] * n + group for row, group in zip(steps.found.tolist(), steps.of_found.tolist(), strict=True)]
    ones, entries = (np.array(places, dtype=np.int64) * lanes for places in (seeded, found))
    return LaneSteps(quick, guarded, np.array(columns, dtype=np.int64), ones, entries, count + 1)


def _last_uses(table: np.ndarray) -> list[set[int]]:
    """Of each step the rows of its arguments whose present content no later step needs."""
    later, found = set[int](), list[set[int]]()
    for step in table[::-1]:
        later.discard(int(step[4]))
        given = {int(row) for row in step[5:8]} - {0}
        found.append(given - later)
        later |= given
    return found[::-1]


def _codes() -> dict[int, int]:
    """Where the code of each instruction starts for a run alone."""
    library = code.machine_code()
    return {number: library.address(f"step_{op.NAMES[number]}") for number in ARGUMENTS}
