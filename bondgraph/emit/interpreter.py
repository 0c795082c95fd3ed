"""Derivatives of a routine, step by step, by one piece of machine code that serves all routines.

For what is asked for a few dozen times: the derivatives of 30,000 steps take milliseconds here, where to write them down and
compile them takes seconds. Forward accumulation with the rules of `tape.differentiate`; a step whose slope or argument's
derivative is zero contributes nothing, whatever the other is, so that what is not selected need not be finite.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bondgraph.emit import trigonometry
from bondgraph.emit.kernel import Kernel, address_of
from bondgraph.emit.llvm import Library, compile_ir
from bondgraph.emit.procedure import Procedure, Temporary
from bondgraph.emit.text import DECLARATIONS, function_text
from bondgraph.tape import opcodes as op
from bondgraph.tape.differentiate import active_nodes, slopes
from bondgraph.tape.routine import Routine, listing, reachable
from bondgraph.tape.scalar import Tape, TapeScalar
from bondgraph.tape.sparsity import dependence

STRIP = 32
"""So many columns of derivatives at a time, by the same inputs for all steps; more would leave the processor's cache."""

_ARGUMENTS = {code: op.OPERATIONS[code].arguments for code in range(op.ADD, len(op.OPERATIONS)) if code != op.DIVIDE}
"""Instructions of a tape with the count of their arguments: at most three."""
_FIELDS = 8
"""Of a step: its instruction, places of its three arguments, row of its derivatives, rows of its arguments'; row 0 is zero."""
_RESULT = 3
"""Where in its workspace a rule writes the value and the three slopes: behind the arguments."""


@dataclass(frozen=True, eq=False)
class _Steps:
    """A routine as numbers: values lie in one array, constants and inputs before what is computed of them.

    Parameters
    ----------
    values : (n,) with the constants at their places.
    places, given : of each input its place in `values`, and in all blocks one after the other.
    table : (steps, fields).
    seeds : row of derivatives of each variable (columns,); 0 where nothing depends on it.
    rows : count of rows.
    """

    values: np.ndarray
    places: np.ndarray
    given: np.ndarray
    table: np.ndarray
    seeds: np.ndarray
    rows: int


def derivatives(routine: Routine, block: str, name: str) -> tuple[Kernel, tuple[np.ndarray, np.ndarray]]:
    """The derivatives of a routine's outputs by its inputs `block`: the kernel `name`, which takes the routine's blocks and gives
    the nonzeros in compressed columns, and (indptr (columns + 1,), indices (nonzeros,)) of that order.

    The pattern may hold entries that are always zero. At a kink the derivative is that of the branch that is taken.

    Raises
    ------
    CompileError
        E391, if llvmlite is not installed or too old.
    """
    variables = list(routine.tape.inputs(block, dict(routine.blocks)[block]))
    indptr, indices = dependence(routine.outputs, variables)
    steps, outputs = _steps(routine, variables)
    columns = np.repeat(np.arange(len(variables)), np.diff(indptr))
    found = outputs[indices]
    interpret = _interpreter()

    def function(*blocks_and_out: np.ndarray) -> None:
        *blocks, out = blocks_and_out
        values = steps.values.copy()
        values[steps.places] = np.concatenate(blocks)[steps.given]
        work = np.empty(2 * _RESULT + 1)
        for first in range(0, len(variables), STRIP):
            seeds = steps.seeds[first : first + STRIP]
            rows = np.empty((steps.rows, len(seeds)))
            rows[steps.seeds] = 0.0
            rows[seeds, np.arange(len(seeds))] = 1.0
            rows[0] = 0.0  # also of variables on which nothing depends
            interpret(
                *map(address_of, (steps.table, values, rows, work)), len(steps.table), len(values) - len(steps.table), len(seeds)
            )
            own = slice(indptr[first], indptr[first + len(seeds)])
            out[own] = rows[found[own], columns[own] - first]

    return Kernel(name, routine.sizes, len(indices), None, function), (indptr, indices)


def _steps(routine: Routine, variables: list[TapeScalar]) -> tuple[_Steps, np.ndarray]:
    """The steps of a routine, and the row of derivatives of each output."""
    tape = routine.tape
    roots = [tape.scalar(output).index for output in routine.outputs]
    seeds = {tape.scalar(variable).index: column for column, variable in enumerate(variables)}
    needed = reachable(tape, roots)
    row = {position: k for k, position in enumerate(active_nodes(tape, roots, seeds), start=1)}
    sizes, listed = dict(routine.blocks), [block for block, _ in routine.blocks]
    starts = dict(zip(listed, np.cumsum([0, *sizes.values()]).tolist(), strict=False))
    blocks = list(tape.blocks)
    given = [position for position in needed if tape.nodes[position][0] <= op.INPUT]
    computed = [position for position in needed if tape.nodes[position][0] > op.INPUT]
    place = {position: k for k, position in enumerate([*given, *computed])}
    values = np.zeros(len(place))
    inputs = []
    for position in given:
        node = tape.nodes[position]
        if node[0] == op.CONSTANT:
            values[place[position]] = node[1]
        else:
            inputs.append((place[position], starts[blocks[node[1]]] + node[2]))
    table = np.zeros((len(computed), _FIELDS), dtype=np.int64)
    for step, position in zip(table, computed, strict=True):
        code, *arguments = tape.nodes[position]
        last = 1 + len(arguments)
        step[0], step[1:last] = code, [place[a] for a in arguments]
        step[4] = row.get(position, 0)
        step[5 : 4 + last] = [row.get(a, 0) for a in arguments]
    places, listed_at = np.array(inputs, dtype=np.int64).reshape(-1, 2).T
    seeded = np.array([row.get(tape.scalar(variable).index, 0) for variable in variables], dtype=np.int64)
    outputs = np.array([row.get(root, 0) for root in roots], dtype=np.int64)
    return _Steps(values, places, listed_at, table, seeded, 1 + len(row)), outputs


@functools.cache
def _machine_code() -> Library:
    texts = [_rule(code) for code in _ARGUMENTS]
    return compile_ir("\n".join([DECLARATIONS, *texts, *trigonometry.called(texts), _interpret().text()]))


@functools.cache
def _interpreter() -> Callable[..., None]:
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4, *[ctypes.c_int64] * 3)(_machine_code().address("interpret"))


def _rule(code: int) -> str:
    """The function of an instruction: three arguments -> its value and its slopes by them."""
    tape = Tape()
    given = tape.inputs("given", 3)
    arguments = [scalar.index for scalar in given[: _ARGUMENTS[code]]]
    zero, one = tape.constant(0.0), tape.constant(1.0)
    for k in range(op.OPERATIONS[code].truths):
        arguments[k] = tape.function("less", zero, arguments[k])
    position = tape.apply(code, *arguments)
    found = dict(zip(arguments, [zero] * len(arguments), strict=True))
    if code not in op.FLAT:
        for argument, slope in slopes(tape, position):
            found[argument] = tape.add(found[argument], slope)
    value = tape.where(position, one, zero) if code in op.CONDITIONS else position
    outputs = [value, *found.values()]
    outputs += [zero] * (1 + _RESULT - len(outputs))
    routine = Routine(f"rule_{op.NAMES[code]}", tape, (("given", 3),), tuple(TapeScalar(tape, k) for k in outputs))
    straight = listing(routine)
    return function_text(routine.name, straight, 1, len(straight.steps), len(straight.steps))


def _interpret() -> Procedure:
    """All steps: values, and rows of derivatives."""
    arguments = dict.fromkeys(("steps", "values", "rows", "work"), "ptr") | dict.fromkeys(("count", "first", "width"), "i64")
    write = Procedure("interpret", arguments)
    values, rows, work, width = (write[name] for name in ("values", "rows", "work", "width"))
    with write.loop(write["count"]) as k:
        step = write["steps"].at(k * _FIELDS, "i64")
        for argument in range(_RESULT):
            work[argument] = values[step.load(1 + argument, "i64")]
        code = step.load(0, "i64")
        for number in _ARGUMENTS:
            with write.when(code.equals(number)):
                write.call(f"rule_{op.NAMES[number]}", [work, work.at(_RESULT)])
        values[write["first"] + k] = work[_RESULT]
        row = step.load(4, "i64")
        with write.when(row > 0):
            by = [work[_RESULT + 1 + argument] for argument in range(_RESULT)]
            sources = [rows.at(step.load(5 + argument, "i64") * width) for argument in range(_RESULT)]
            target = rows.at(row * width)
            with write.loop(width) as column:
                terms = [_term(write, slope, source[column]) for slope, source in zip(by, sources, strict=True)]
                target[column] = terms[0] + terms[1] + terms[2]
    write.give()
    return write


def _term(write: Procedure, slope: Temporary, derivative: Temporary) -> Temporary:
    """Their product; zero where one of them is."""
    return write.select(slope.equals(0.0) | derivative.equals(0.0), 0.0, slope * derivative)
