"""Interpreter of derivatives (forward mode), as functions of the kernel language: one machine code for all routines.

A program is a list of steps, each with the address of its code, which computes the value of an instruction and its derivatives
by the columns on which it depends. In one run a vector holds derivatives by `BLOCK` columns; in SIMD lanes it holds those of all
runs by one column, and all lanes share the cost of a step's look-up. Only the types differ, so that a lane has the bits of a
single run.

In lanes there is also a quick code of each step, with products and sums alone: infinity times zero is NaN there, and a zero may
have the other sign, which changes no later number.
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
"""Columns of a vector in one run: as many as the widest SIMD vectors hold."""

ARGUMENTS = {
    code: op.OPERATIONS[code].arguments
    for code in range(op.ADD, len(op.OPERATIONS))
    if code != op.DIVIDE and code not in op.LOOKUPS
}
"""Instructions of a tape with the count of their arguments: at most three. Lookups in tables have steps of their own."""
MAX_ARGUMENTS = 3
"""Maximum number of arguments of an instruction."""
ROW, BEGIN, FIELDS = MAX_ARGUMENTS + 1, 2 * MAX_ARGUMENTS + 2, 2 * MAX_ARGUMENTS + 4
"""A step: the address of its code, the offsets of its arguments, of the row of its derivatives, of those of its arguments', and
beginning and end of its list of vectors in a row; row 0 is zero. Instead of three arguments a lookup has the offset of its
number, that of the first entry of its table, and the length of the table; it has no derivatives."""

Codes = Annotated[list[Any], Array(Code(by_value=True))]
Step = Annotated[np.ndarray, Array(int, disjoint=True)]
Values = Annotated[np.ndarray, Array(float, shared=True)]
"""One number for all lanes in one run, whose lanes hold columns; one for each in SIMD lanes."""
Rows = Annotated[np.ndarray, Array(float, by_offset=True)]
IN_LANES = {Array(float, shared=True): Array(float, by_offset=True)}


def interpret(steps: Ints, values: Values, rows: Rows, columns: Ints, count: int, first: int, lanes: Fixed) -> None:
    """Execute all steps; their values follow one another from the index `first`."""
    for k in range(count):
        step = steps[k * FIELDS :]
        cast(Codes, step)[0](step, values, rows, values[(first + k) * lanes :], columns)


def execute(
    step: Step, values: Values, rows: Rows, value: Values, columns: Ints, rule: Fixed, varying: Fixed, is_guarded: Fixed
) -> None:
    """Execute an instruction: its value, and by each column the sum of slope times derivative of the arguments that vary.

    Guarded, an argument whose slope or derivative is zero contributes nothing, and a sum of zeros is positive.
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
    """Execute a lookup in a table."""
    value[0] = find(values[step[1]], values[step[2] :], step[3])


@external
def searchsorted(number: float, points: Values, count: int) -> float:
    """Return how many points are not above a number."""
    return op.OPERATIONS[op.SEARCHSORTED].numpy(number, points[:count])


@external
def take(index: float, entries: Values, count: int) -> float:
    """Return an entry of a table."""
    return op.OPERATIONS[op.TAKE].numpy(index, entries[:count])


@functools.cache
def rule(code: int) -> Callable[..., None]:
    """Return the function of an instruction: three arguments -> its value and its slopes by them."""
    routine = rule_routine(code)
    run = interpreter(listing(routine))

    @external
    def evaluate(arguments: Values, results: Values) -> None:
        """Evaluate the rule as it is on the tape."""
        run([arguments], results)

    evaluate.__name__ = routine.name
    return evaluate


def rule_routine(code: int) -> Routine:
    """Return the routine of an instruction: three arguments -> its value and its slopes by them."""
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
    """Return the rules as LLVM text, with what they call."""
    rules = []
    for code in ARGUMENTS:
        routine = rule_routine(code)
        steps = len((straight := listing(routine)).steps)
        text = function_text(routine.name, straight, 1, steps, steps, lanes=lanes)
        rules.append(text.replace(" noinline", " alwaysinline"))
    declared = wide_declarations(lanes) if lanes > 1 else DECLARATIONS
    angles = trigonometry.declarations(rules, lanes if lanes > 1 else trigonometry.JOINT_ANGLES)
    lookups = [LOOKUP_FUNCTIONS.replace("internal ", "")] if lanes == 1 else []  # procedures in C call them too
    return [declared, *angles, *rules, *lookups]


def variants(code: int) -> Iterator[tuple[int, ...]]:
    """Yield the sets of arguments of an instruction that may vary."""
    differentiable = () if code in op.FLAT else range(op.OPERATIONS[code].truths, ARGUMENTS[code])
    for count in range(len(differentiable) + 1):
        yield from itertools.combinations(differentiable, count)


def procedures(lanes: int) -> list[Procedure]:
    """Return the interpreter of one run, or of runs in this many lanes: `interpret`, and the codes of all steps."""
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
    """Give a procedure a name."""
    made[0].name = name
    return made


def code_name(code: int, varying: tuple[int, ...] = (), is_guarded: bool = True) -> str:
    """Return the name of the code of an instruction whose arguments vary."""
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
    """Return the compiled interpreter of one run, or of runs in this many lanes."""
    return _LIBRARIES[lanes]()


@functools.cache
def addresses(lanes: int, is_guarded: bool = True) -> np.ndarray:
    """Return the address of each step's code, by its instruction and by its arguments that vary, as bits."""
    library, table = machine_code(lanes), np.zeros((len(op.OPERATIONS), 2**MAX_ARGUMENTS), dtype=np.int64)
    for code in ARGUMENTS:
        for varying in variants(code):
            table[code, sum(1 << k for k in varying)] = library.address(code_name(code, varying, is_guarded))
    for code in op.LOOKUPS if lanes == 1 else ():
        table[code, 0] = library.address(code_name(code))
    return table
