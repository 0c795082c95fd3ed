"""Derivatives of a routine, step by step, by one piece of machine code that serves all routines.

For what is asked for a few dozen times: the derivatives of 30,000 steps take milliseconds here, where to write them down and
compile them takes seconds. Forward accumulation with the rules of `tape.differentiate`; a step whose slope or argument's
derivative is zero contributes nothing, whatever the other is, so that what is not selected need not be finite.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from dataclasses import dataclass, fields

import numpy as np

from bondgraph.emit import trigonometry
from bondgraph.emit.kernel import Kernel, address_of
from bondgraph.emit.llvm import Library, compile_written
from bondgraph.emit.once import once
from bondgraph.emit.procedure import Procedure, Temporary
from bondgraph.emit.text import DECLARATIONS, function_text
from bondgraph.tape import opcodes as op
from bondgraph.tape.differentiate import active_nodes, dependence, slopes
from bondgraph.tape.routine import Routine, listing, reachable
from bondgraph.tape.scalar import Tape, TapeScalar

STRIP = 32
"""So many columns of derivatives at a time, by the same inputs for all steps; more would leave the processor's cache."""

_ARGUMENTS = {code: op.OPERATIONS[code].arguments for code in range(op.ADD, len(op.OPERATIONS)) if code != op.DIVIDE}
"""Instructions of a tape with the count of their arguments: at most three."""
_FIELDS = 8
"""Of a step: its instruction, places of its three arguments, row of its derivatives, rows of its arguments'; row 0 is zero."""
_RESULT = 3
"""Where in its workspace a rule writes the value and the three slopes: behind the arguments."""
WORK = 2 * _RESULT + 1
"""Numbers in that workspace."""


def derivatives(routine: Routine, block: str, name: str) -> tuple[Kernel, tuple[np.ndarray, np.ndarray]]:
    """The derivatives of a routine's outputs by its inputs `block`: the kernel `name`, which takes the routine's blocks and gives
    the nonzeros in compressed columns, and (indptr (columns + 1,), indices (nonzeros,)) of that order.

    The pattern may hold entries that are always zero. At a kink the derivative is that of the branch that is taken. Raises
    `CompileError` E391, if llvmlite is not installed or too old.
    """
    tape = routine.tape
    variables = list(tape.inputs(block, dict(routine.blocks)[block]))
    indptr, indices = dependence(routine.outputs, variables)
    roots = [tape.scalar(output).index for output in routine.outputs]
    seeds = {variable.index: column for column, variable in enumerate(variables)}
    row = {position: k for k, position in enumerate(active_nodes(tape, roots, seeds), start=1)}
    start, places, given, table = _steps(routine, reachable(tape, roots), row)
    seeded = np.array([row.get(seed, 0) for seed in seeds], dtype=np.int64)  # 0 where nothing depends on a variable
    columns = np.repeat(np.arange(len(variables)), np.diff(indptr))
    found = np.array([row.get(root, 0) for root in roots], dtype=np.int64)[indices]
    interpret = _interpreter()
    ends = np.cumsum([0, *routine.sizes])
    own = np.searchsorted(ends, given, side="right") - 1
    steps = InterpretedSteps(start, places, own, given - ends[own], table, seeded, found, columns, indptr, 1 + len(row))

    def function(*blocks_and_out: np.ndarray) -> None:
        *blocks, out = blocks_and_out
        values = start.copy()
        values[places] = np.concatenate(blocks)[given]
        work = np.empty(WORK)
        for first in range(0, len(variables), STRIP):
            strip = seeded[first : first + STRIP]
            rows = np.empty((1 + len(row), len(strip)))
            rows[seeded] = 0.0
            rows[strip, np.arange(len(strip))] = 1.0
            rows[0] = 0.0  # also of variables on which nothing depends
            arrays = map(address_of, (table, values, rows, work))
            interpret(*arrays, len(table), len(values) - len(table), len(strip))
            part = slice(indptr[first], indptr[first + len(strip)])
            out[part] = rows[found[part], columns[part] - first]

    return Kernel(name, routine.sizes, len(indices), None, function, steps=steps), (indptr, indices)


@dataclass(frozen=True, eq=False)
class InterpretedSteps:
    """What `derivatives` goes through, for machine code that does the same; all are whole numbers in a row, but for `start`.

    Parameters
    ----------
    start : values of all nodes, constants in place.
    places, blocks, indices : where each input stands among them, its block, and its place in that.
    table : the steps (steps, fields). seeded : row of each variable's derivatives (columns,).
    found, columns, indptr : of each nonzero its row among the derivatives and its column; the first of each column.
    rows : how many rows of derivatives there are, each `STRIP` columns wide.
    """

    start: np.ndarray
    places: np.ndarray
    blocks: np.ndarray
    indices: np.ndarray
    table: np.ndarray
    seeded: np.ndarray
    found: np.ndarray
    columns: np.ndarray
    indptr: np.ndarray
    rows: int

    def __post_init__(self) -> None:
        for name in {field.name for field in fields(self)} - {"start", "rows"}:
            self.__dict__[name] = np.ascontiguousarray(getattr(self, name), dtype=np.int64)

    @property
    def address(self) -> int:
        """Where the interpreter's code starts: (table, values, rows, work, count, first, width)."""
        return machine_code().address("interpret")


def _steps(routine: Routine, needed: list[int], row: dict[int, int]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The nodes that a routine needs as numbers; `row` is that of the derivatives of those that vary.

    Values (n,) lie in one array, constants (which are in place) and inputs before what is computed of them. Then for each input
    its place there, and in all blocks one after the other; and the table (steps, fields).
    """
    nodes, blocks = routine.tape.nodes, list(routine.tape.blocks)
    starts = dict(zip(dict(routine.blocks), np.cumsum([0, *routine.sizes]).tolist(), strict=False))
    outer = [position for position in needed if nodes[position][0] <= op.INPUT]
    computed = [position for position in needed if nodes[position][0] > op.INPUT]
    place = {position: k for k, position in enumerate([*outer, *computed])}
    values = np.zeros(len(place))
    inputs = []
    for position in outer:
        code, *arguments = nodes[position]
        if code == op.CONSTANT:
            values[place[position]] = arguments[0]
        else:
            inputs.append((place[position], starts[blocks[arguments[0]]] + arguments[1]))
    table = np.zeros((len(computed), _FIELDS), dtype=np.int64)
    for step, position in zip(table, computed, strict=True):
        code, *arguments = nodes[position]
        last = 1 + len(arguments)
        step[0], step[1:last] = code, [place[a] for a in arguments]
        step[4] = row.get(position, 0)
        step[5 : 4 + last] = [row.get(a, 0) for a in arguments]
    places, given = np.array(inputs, dtype=np.int64).reshape(-1, 2).T
    return values, places, given, table


@once
def machine_code() -> Library:
    """The interpreter as machine code."""
    return compile_written(procedures, _rules)


def _rules() -> list[str]:
    texts = [_rule(code) for code in _ARGUMENTS]
    return [DECLARATIONS, *texts, *trigonometry.called(texts)]


@functools.cache
def _interpreter() -> Callable[..., None]:
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4, *[ctypes.c_int64] * 3)(machine_code().address("interpret"))


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


def procedures() -> list[Procedure]:
    """The interpreter, which calls the rules."""
    return [_interpret()]


def _interpret() -> Procedure:
    """All steps: values, and rows of derivatives."""
    arguments = dict.fromkeys(("steps", "values", "rows", "work"), "ptr") | dict.fromkeys(("count", "first", "width"), "i64")
    write = Procedure("interpret", arguments)
    values, rows, work, width = (write[name] for name in ("values", "rows", "work", "width"))
    with write.loop(write["count"]) as k:
        step = write["steps"].at(k * _FIELDS, "i64")
        for argument in range(_RESULT):
            work[argument] = values[step.load(1 + argument, "i64")]
        _dispatch(write, step.load(0, "i64"), list(_ARGUMENTS), work)
        values[write["first"] + k] = work[_RESULT]
        row = step.load(4, "i64")
        with write.when(row > 0):
            by = [work[_RESULT + 1 + argument] for argument in range(_RESULT)]
            given = [step.load(5 + argument, "i64") for argument in range(_RESULT)]
            target, vary = rows.at(row * width), [place > 0 for place in given]
            sources = [rows.at(place * width) for place in given]
            # What does not vary adds nothing; zero is added all the same, for the sign of a zero.
            with write.when(~vary[1] & ~vary[2]):
                _add_up(write, target, list(zip(by, sources, strict=True))[:1], width)
            with write.when(vary[1] & ~vary[2]):
                _add_up(write, target, list(zip(by, sources, strict=True))[:2], width)
            with write.when(vary[2]):
                _add_up(write, target, list(zip(by, sources, strict=True)), width)
    write.give()
    return write


def _dispatch(write: Procedure, code: Temporary, known: list[int], work: Temporary) -> None:
    """The rule of an instruction, found by halves."""
    if len(known) == 1:
        write.call(f"rule_{op.NAMES[known[0]]}", [work, work.at(_RESULT)])
        return
    middle = len(known) // 2
    later = code >= known[middle]
    with write.when(~later):
        _dispatch(write, code, known[:middle], work)
    with write.when(later):
        _dispatch(write, code, known[middle:], work)


def _add_up(write: Procedure, target: Temporary, terms: list[tuple[Temporary, Temporary]], width: Temporary) -> None:
    """Derivatives of a step by all columns: of each argument the slope and the row of its derivatives."""
    with write.loop(width) as column:
        total = write.value(0.0, "double")
        for number, (slope, source) in enumerate(terms):
            derivative = source[column]
            nothing = slope.equals(0.0) | derivative.equals(0.0)
            term = write.select(nothing, 0.0, slope * derivative)
            total = term if number == 0 else total + term
        target[column] = total + 0.0 if len(terms) < _RESULT else total
