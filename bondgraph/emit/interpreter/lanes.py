"""The interpreter of derivatives for several runs side by side: as `code`, with a number of every lane in the place of each.

Vectors hold the lanes here, not columns: of a step only the columns on which it depends are gone through, and what it costs to
look a step up is shared by all lanes. The operations on each number are those of `code`, so that a lane has the bits of a run
alone.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bondgraph.emit import trigonometry
from bondgraph.emit.interpreter import code
from bondgraph.emit.interpreter.code import ARGUMENTS, RESULT, rule
from bondgraph.emit.interpreter.steps import STRIP, InterpretedSteps
from bondgraph.emit.kernel import LANES
from bondgraph.emit.lanes import widened
from bondgraph.emit.llvm import Library, compile_written
from bondgraph.emit.machine import vector_width
from bondgraph.emit.once import once
from bondgraph.emit.procedure import Procedure
from bondgraph.emit.text import define, wide_declarations
from bondgraph.tape import opcodes as op

FIELDS = 10
"""Of a step: where the code of its instruction starts, places of its three arguments, row of its derivatives, rows of its
arguments'; then where its columns begin in their list, and end."""


def machine_code(lanes: int | None = None) -> Library:
    """The interpreter for so many lanes (as many as this processor's vectors hold), and the instructions by name."""
    return _LIBRARIES[vector_width() if lanes is None else lanes]()


def _writer(lanes: int) -> Callable[[], list[Procedure]]:
    def written() -> list[Procedure]:
        return [_interpret()]

    written.__qualname__ = f"written for {lanes} lanes"
    return written


_LIBRARIES = {
    lanes: once(functools.partial(lambda lanes: compile_written(_writer(lanes), lambda: _texts(lanes)), lanes)) for lanes in LANES
}


def _texts(lanes: int) -> list[str]:
    texts = [text for number in ARGUMENTS for text in (rule(number, lanes), _step(number, lanes))]
    angles = trigonometry.called(texts, lanes)
    reduced = f"declare i1 @llvm.vector.reduce.or.v{lanes}i1(<{lanes} x i1>)"
    declared = dict.fromkeys("\n".join([wide_declarations(lanes), reduced, *angles[:1]]).splitlines())  # some twice
    return ["\n".join(declared), *texts, *angles[1:]]


def _interpret() -> Procedure:
    """All steps: values, and rows of derivatives."""
    arguments = dict.fromkeys(("steps", "values", "rows", "work", "columns"), "ptr") | dict.fromkeys(("count", "first"), "i64")
    write = Procedure("interpret", arguments)
    with write.loop(write["count"]) as k:
        step = write["steps"].at(k * FIELDS, "i64")
        given = [step, *(write[name] for name in ("values", "rows", "work")), write["first"] + k, write["columns"]]
        write.call(step.load(0, "ptr"), given)
    write.give()
    return write


def _step(number: int, lanes: int) -> str:
    """A step of this instruction: its values, and its rows of derivatives where it varies, by each column on which it depends."""
    count, name, lines = ARGUMENTS[number], op.NAMES[number], list[str]()

    def whole(to: str, field: int) -> list[str]:
        return [f"%{to}.at = getelementptr i64, ptr %step, i64 {field}", f"%{to} = load i64, ptr %{to}.at"]

    def place(to: str, block: str, index: str) -> list[str]:
        return [f"%{to}.n = mul i64 {index}, {lanes}", f"%{to} = getelementptr double, ptr %{block}, i64 %{to}.n"]

    def wide(*given: str) -> list[str]:
        return [widened(line, lanes) for line in given]

    for k in range(count):
        lines += [*whole(f"a{k}", 1 + k), *place(f"v{k}", "values", f"%a{k}")]
        lines += [*wide(f"%x{k} = load double, ptr %v{k}"), f"%w{k} = getelementptr double, ptr %work, i64 {k * lanes}"]
        lines += wide(f"store double %x{k}, ptr %w{k}")
    lines += [f"%result = getelementptr double, ptr %work, i64 {RESULT * lanes}"]
    lines += [f"call void @rule_{name}(ptr %work, ptr %result)", *wide("%y = load double, ptr %result")]
    lines += [
        *place("v", "values", "%place"),
        *wide("store double %y, ptr %v"),
        *whole("row", 4),
        *place("target", "rows", "%row"),
    ]
    for k in range(count):
        lines += [*whole(f"r{k}", 5 + k), *place(f"source{k}", "rows", f"%r{k}")]
        lines += [f"%s{k} = getelementptr double, ptr %work, i64 {(RESULT + 1 + k) * lanes}"]
        lines += wide(f"%slope{k} = load double, ptr %s{k}")
    lines += [*whole("from", 8), *whole("to", 9), "%some = icmp slt i64 %from, %to"]
    # A zero may have another sign in `_quick`, but for the zero that is added last.
    exact = count == RESULT
    lines += [f"br i1 %some, label %{'guarded' if exact else 'quick'}, label %done"]
    lines += [] if exact else _quick(count, lanes)
    lines += _guarded(count, lanes, "entry" if exact else "look")
    given = [*(f"ptr noalias %{block}" for block in ("step", "values", "rows", "work")), "i64 %place", "ptr noalias %columns"]
    return define(f"void @step_{name}", given, ["br label %entry", "entry:", *lines, "done:"])


def _column(loop: str, count: int, lanes: int, before: str) -> list[str]:
    """The beginning of a loop over the columns of a step, in the block of this name: what is given of the next."""
    lines = [f"{loop}:", f"%{loop}.k = phi i64 [ %from, %{before} ], [ %{loop}.next, %{loop} ]"]
    lines += [f"%{loop}.place = getelementptr i64, ptr %columns, i64 %{loop}.k", f"%{loop}.column = load i64, ptr %{loop}.place"]
    for k in range(count):
        lines += [f"%{loop}.at{k} = getelementptr double, ptr %source{k}, i64 %{loop}.column"]
        lines += [widened(f"%{loop}.given{k} = load double, ptr %{loop}.at{k}", lanes)]
        lines += [widened(f"%{loop}.product{k} = fmul double %slope{k}, %{loop}.given{k}", lanes)]
    return [*lines, f"%{loop}.out = getelementptr double, ptr %target, i64 %{loop}.column"]


def _next(loop: str, then: str) -> list[str]:
    """The end of such a loop."""
    lines = [f"%{loop}.next = add i64 %{loop}.k, 1", f"%{loop}.more = icmp slt i64 %{loop}.next, %to"]
    return [*lines, f"br i1 %{loop}.more, label %{loop}, label %{then}"]


def _quick(count: int, lanes: int) -> list[str]:
    """The columns of a step by products and sums alone. These make no number of nothing times infinity, and then of `%seen`: all
    columns are gone through again, `_guarded`."""
    label, counter, *given = _column("quick", count, lanes, "entry")
    zero = f"<double {', '.join(['0.0'] * lanes)}>".replace(", ", ", double ")
    lines = [f"%seen = phi <{lanes} x double> [ {zero}, %entry ], [ %seen.next, %quick ]", *given]
    total = "%quick.product0" if count == 1 else "%quick.total"
    sums = ["%quick.total = fadd double %quick.product0, %quick.product1"] if count == 2 else []
    sums += [f"%quick.sum = fadd double {total}, 0.0", "store double %quick.sum, ptr %quick.out"]
    sums += ["%seen.next = fadd double %seen, %quick.sum"]
    lines += [*(widened(line, lanes) for line in sums), *_next("quick", "look"), "look:"]
    lines += [widened("%lost = fcmp uno double %seen.next, 0.0", lanes)]
    lines += [f"%any = call i1 @llvm.vector.reduce.or.v{lanes}i1(<{lanes} x i1> %lost)"]
    return [label, counter, *lines, "br i1 %any, label %guarded, label %done"]


def _guarded(count: int, lanes: int, before: str) -> list[str]:
    """The columns of a step by products in which nothing times infinity is nothing."""
    lines, own = _column("guarded", count, lanes, before), list[str]()
    for k in range(count):
        own += [
            f"%flat{k} = fcmp oeq double %slope{k}, 0.0",
            f"%still{k} = fcmp oeq double %guarded.given{k}, 0.0",
            f"%nothing{k} = or i1 %flat{k}, %still{k}",
            f"%{'term' if k else 'total'}{k} = select i1 %nothing{k}, double 0.0, double %guarded.product{k}",
            *([f"%total{k} = fadd double %total{k - 1}, %term{k}"] if k else []),
        ]
    # As in `code`: zero is added all the same, for the sign of a zero.
    last = f"%total{count - 1}" if count == RESULT else "%sum"
    own += [f"%sum = fadd double %total{count - 1}, 0.0", f"store double {last}, ptr %guarded.out"]
    return [*lines, *(widened(line, lanes) for line in own), *_next("guarded", "done")]


@dataclass(frozen=True, eq=False)
class LaneSteps:
    """What the interpreter for several lanes goes through; all are whole numbers in a row.

    Parameters
    ----------
    table : the steps (steps, fields). columns : lists of the columns on which steps depend, as places in a row.
    seeded : where in `rows` the one of each variable stands. found : where each nonzero of the Jacobian.
    rows : how many rows of derivatives there are, each as wide as the state; all zero before the first time but for `seeded`.
    """

    table: np.ndarray
    columns: np.ndarray
    seeded: np.ndarray
    found: np.ndarray
    rows: int


def lane_steps(steps: InterpretedSteps, lanes: int) -> LaneSteps | None:
    """The same steps for so many lanes; None for more columns than rows have room for in the processor's cache.

    A row serves, one after the other, only nodes that depend on the same columns: all other places of it stay zero.
    """
    n = len(steps.seeded)
    if n > STRIP:
        return None
    library = machine_code(lanes)
    own = {old: library.address(f"step_{op.NAMES[number]}") for number, old in _codes().items()}
    kept = {*steps.seeded.tolist(), *steps.found.tolist()}
    # The rows in use: those of the given table -> new row and columns, as bits.
    present, count = {0: (0, 0)}, 0
    for column, row in enumerate(steps.seeded.tolist()):
        if row:
            count += 1
            present[row] = count, 1 << column
    uses = _last_uses(steps.table)
    table, columns, lists = steps.table.copy(), list[int](), dict[int, tuple[int, int]]()
    free = dict[int, list[int]]()
    for k, step in enumerate(table):
        step[0] = own[int(step[0])]
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
            step[4], step[8:] = row * n, lists[pattern]
            for freed in uses[k]:
                if freed not in kept:
                    new, bits = present[freed]
                    free.setdefault(bits, []).append(new)
            present[old] = row, pattern
        step[5:8] *= n
    seeded = [present[row][0] * n + column for column, row in enumerate(steps.seeded.tolist()) if row]
    found = [present[row][0] * n + column for row, column in zip(steps.found.tolist(), steps.columns.tolist(), strict=True)]
    ones, entries = (np.array(places, dtype=np.int64) * lanes for places in (seeded, found))
    return LaneSteps(table, np.array(columns, dtype=np.int64), ones, entries, count + 1)


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
