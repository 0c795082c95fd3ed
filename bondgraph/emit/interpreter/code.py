"""Interpreter of derivatives (forward mode), as functions of the kernel language: the same machine code for all routines.

A program is a list of steps, each with the address of code that computes the value of an instruction and its derivatives in the
columns on which it depends. In a scalar run a vector holds the derivatives of `BLOCK` columns. In SIMD lanes it holds the
derivatives of one column for all runs, and all lanes share the cost of looking up a step. Only the types differ, so that a lane
is bitwise equal to a single run.

In lanes, each step also has quick code without guards: it yields NaN for infinity times zero, and zeros of either sign, which do
not change later numbers.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from typing import Annotated, Any, cast

import numpy as np

from bondgraph.emit.cached_build import build_once
from bondgraph.emit.elementary import trigonometry
from bondgraph.emit.kernel import LANES
from bondgraph.emit.kernel_language.language import Array, Code, Fixed, Ints, empty_like, external, unrolled
from bondgraph.emit.kernel_language.translate import translate
from bondgraph.emit.llvm import Library, compile_written
from bondgraph.emit.procedure import Procedure
from bondgraph.emit.tables import LOOKUP_FUNCTIONS
from bondgraph.emit.text import DECLARATIONS, function_text, wide_declarations
from bondgraph.tape import opcodes as op
from bondgraph.tape.differentiate import slopes
from bondgraph.tape.interpret import interpreter
from bondgraph.tape.routine import Routine, listing
from bondgraph.tape.scalar import Tape, TapeScalar

BLOCK = 8
"""Number of columns per vector in a scalar run: the size of the widest SIMD vectors."""

ARGUMENTS = {
    code: op.OPERATIONS[code].arguments
    for code in range(op.ADD, len(op.OPERATIONS))
    if code != op.DIVIDE and code not in op.LOOKUPS
}
"""Number of arguments of each instruction of a tape, except lookups in tables, which have steps of their own."""
MAX_ARGUMENTS = 3
ROW, BEGIN, FIELDS = MAX_ARGUMENTS + 1, 2 * MAX_ARGUMENTS + 2, 2 * MAX_ARGUMENTS + 4
"""Indices of two fields of a step, and the number of its fields: the address of its code, the offsets of its arguments, of the
row (`ROW`) of its derivatives and of the rows of its arguments' derivatives, and the beginning (`BEGIN`) and end of its list of
vectors in a row; row 0 is zero. Instead of three arguments, a lookup has the offset of its number, the offset of the first entry
of its table, and the length of the table; it has no derivatives."""

Codes = Annotated[list[Any], Array(Code(by_value=True))]
Step = Annotated[np.ndarray, Array(int, disjoint=True)]
Values = Annotated[np.ndarray, Array(float, shared=True)]
"""Numbers of a run: in a scalar run, the lanes are columns that share every number; with several runs, each lane has its own
numbers."""
Rows = Annotated[np.ndarray, Array(float, by_offset=True)]
IN_LANES = {Array(float, shared=True): Array(float, by_offset=True)}


def interpret(steps: Ints, values: Values, rows: Rows, columns: Ints, count: int, first: int, lanes: Fixed) -> None:
    """Execute all steps; their values are stored contiguously from the index `first`."""
    for k in range(count):
        step = steps[k * FIELDS :]
        cast(Codes, step)[0](step, values, rows, values[(first + k) * lanes :], columns)


def execute(
    step: Step, values: Values, rows: Rows, value: Values, columns: Ints, rule: Fixed, varying: Fixed, is_guarded: Fixed
) -> None:
    """Compute the value of an instruction and, for each column, the sum of slope times derivative over the varying arguments.

    If guarded, an argument whose slope or derivative is zero contributes nothing, and a sum of zeros is positive.
    """
    arguments, results = empty_like(values, MAX_ARGUMENTS), empty_like(values, 1 + MAX_ARGUMENTS)
    for k in unrolled(range(MAX_ARGUMENTS)):
        arguments[k] = values[step[1 + k]]
    rule(arguments, results)
    value[0] = results[0]
    if varying:
        for i in range(step[BEGIN], step[BEGIN + 1]):
            column, total = columns[i], -0.0
            for k in unrolled(varying):
                slope, along = results[1 + k], rows[step[ROW + 1 + k] :][column]
                product = slope * along
                total += (0.0 if slope == 0.0 or along == 0.0 else product) if is_guarded else product
            rows[step[ROW] :][column] = total + 0.0 if is_guarded else total


def look_up(step: Step, values: Values, rows: Rows, value: Values, columns: Ints, find: Fixed) -> None:
    value[0] = find(values[step[1]], values[step[2] :], step[3])


@external
def searchsorted(number: float, points: Values, count: int) -> float:
    return op.OPERATIONS[op.SEARCHSORTED].numpy(number, points[:count])


@external
def take(index: float, entries: Values, count: int) -> float:
    return op.OPERATIONS[op.TAKE].numpy(index, entries[:count])


@functools.cache
def rule(code: int) -> Callable[..., None]:
    routine = rule_routine(code)
    run = interpreter(listing(routine))

    @external
    def evaluate(arguments: Values, results: Values) -> None:
        run([arguments], results)

    evaluate.__name__ = routine.name
    return evaluate


def rule_routine(code: int) -> Routine:
    """Return the routine that computes the value and the partial derivatives of an instruction from its three arguments."""
    tape = Tape()
    inputs = tape.inputs("given", MAX_ARGUMENTS)
    arguments = [scalar.index for scalar in inputs[: ARGUMENTS[code]]]
    zero, one = tape.constant(0.0), tape.constant(1.0)
    for k in range(op.OPERATIONS[code].truths):
        arguments[k] = tape.function("less", zero, arguments[k])
    position = tape.apply(code, *arguments)
    derivatives = dict(zip(arguments, [zero] * len(arguments), strict=True))
    if code not in op.FLAT:
        for argument, slope in slopes(tape, position):
            derivatives[argument] = tape.add(derivatives[argument], slope)
    value = tape.where(position, one, zero) if code in op.CONDITIONS else position
    outputs = [value, *derivatives.values()]
    outputs += [zero] * (1 + MAX_ARGUMENTS - len(outputs))
    return Routine(f"rule_{op.NAMES[code]}", tape, (("given", MAX_ARGUMENTS),), tuple(TapeScalar(tape, k) for k in outputs))


def texts(lanes: int) -> list[str]:
    rules = []
    for code in ARGUMENTS:
        routine = rule_routine(code)
        steps = len((straight := listing(routine)).steps)
        text = function_text(routine.name, straight, 1, steps, steps, lanes=lanes)
        rules.append(text.replace(" noinline", " alwaysinline"))
    declared = wide_declarations(lanes) if lanes > 1 else DECLARATIONS
    angles = trigonometry.declarations(rules, lanes if lanes > 1 else trigonometry.JOINT_ANGLES)
    lookups = [LOOKUP_FUNCTIONS.replace("internal ", "")] if lanes == 1 else []  # called by procedures in C, too
    return [declared, *angles, *rules, *lookups]


def variants(code: int) -> Iterator[tuple[int, ...]]:
    """Yield all sets of arguments of an instruction that can vary together."""
    differentiable = () if code in op.FLAT else range(op.OPERATIONS[code].truths, ARGUMENTS[code])
    for count in range(len(differentiable) + 1):
        yield from itertools.combinations(differentiable, count)


def procedures(lanes: int) -> list[Procedure]:
    width, types = (BLOCK, {}) if lanes == 1 else (lanes, IN_LANES)
    made = translate([functools.partial(interpret, lanes=lanes)], ["interpret"])
    for code in ARGUMENTS:
        for varying in variants(code):
            for is_guarded in (False, True) if lanes > 1 and varying else (True,):
                text = functools.partial(execute, rule=rule(code), varying=varying, is_guarded=is_guarded)
                made += _named(code_name(code, varying, is_guarded), translate([text], ["execute"], width, types))
    for code, find in ((op.SEARCHSORTED, searchsorted), (op.TAKE, take)) if lanes == 1 else ():
        made += _named(code_name(code), translate([functools.partial(look_up, find=find)], ["look_up"]))
    return made


def _named(name: str, made: list[Procedure]) -> list[Procedure]:
    made[0].name = name
    return made


def code_name(code: int, varying: tuple[int, ...] = (), is_guarded: bool = True) -> str:
    quick = "" if is_guarded or not varying else "quick_"
    return f"{quick}step_{op.NAMES[code]}{''.join(map(str, varying))}"


def _writer(lanes: int) -> Callable[[], list[Procedure]]:
    def written() -> list[Procedure]:
        return procedures(lanes)

    written.__qualname__ = f"written for {lanes} lanes"
    return written


_LIBRARIES = {
    lanes: build_once(functools.partial(lambda lanes: compile_written(_writer(lanes), lambda: texts(lanes)), lanes))
    for lanes in (1, *LANES)
}


def machine_code(lanes: int = 1) -> Library:
    return _LIBRARIES[lanes]()


@functools.cache
def addresses(lanes: int, is_guarded: bool = True) -> np.ndarray:
    """Return the address of the code of each kind of step, by instruction and by the bit mask of its varying arguments."""
    library, table = machine_code(lanes), np.zeros((len(op.OPERATIONS), 2**MAX_ARGUMENTS), dtype=np.int64)
    for code in ARGUMENTS:
        for varying in variants(code):
            table[code, sum(1 << k for k in varying)] = library.address(code_name(code, varying, is_guarded))
    for code in op.LOOKUPS if lanes == 1 else ():
        table[code, 0] = library.address(code_name(code))
    return table
