"""Formulas as data: steps on numbered scalars, checked and written as JSON; no name in them refers to code.

Scalars are numbered from 0: the scalars of the arguments in row-major order, then the result of each step. Constants have
negative numbers, starting at -1. A step is an operation with the numbers of its operands, `["multiply", 0, -1]`, or the partial
derivatives of a piece of the formula, `["slopes", x, others, steps, outs]`: the next n numbers belong to the n inputs of the
piece, followed by its steps and the (m, n) partial derivatives of its m results.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from bondgraph.tape import opcodes
from screws.errors import plural
from screws.numeric_arguments import excerpt

SLOPES = "slopes"
"""Name of the differentiation step."""
ARITY = {
    word: opcodes.OPERATIONS[code].arguments
    for word, code in opcodes.CODES.items()
    if opcodes.OPERATIONS[code].arguments and code != opcodes.RECIPROCAL
}
"""Number of operands of each operation; a reciprocal is written as a division. A lookup takes at least a number and one
entry."""
LOOKUPS = frozenset(opcodes.NAMES[code] for code in opcodes.LOOKUPS)

MAX_STEPS = 1_000_000
"""Maximum number of steps of a file, and of a single formula."""
MAX_OPERATIONS = 20_000_000
"""Maximum number of operations of all formulas of a file; a differentiation counts once for each execution of its piece."""
MAX_ENTRIES = 100_000
"""Maximum number of entries of an array."""
MAX_NESTING = 4
"""Maximum nesting depth of differentiations."""

Step = tuple[Any, ...]
Shape = tuple[int, ...]


class InvalidFormula(ValueError):
    """Invalid content in a formula; the message states the reason."""


@dataclass(frozen=True)
class RecordedFormula:
    arguments: tuple[Shape, ...]
    constants: tuple[float | int, ...]
    steps: tuple[Step, ...]
    results: tuple[tuple[Shape, tuple[int, ...]], ...]
    """Shape of each result, and the numbers of its scalars in row-major order; several results are a tuple."""

    def to_json(self) -> dict[str, Any]:
        return {
            "arguments": [list(shape) for shape in self.arguments],
            "constants": [number_to_json(number) for number in self.constants],
            "steps": [_step_to_json(step) for step in self.steps],
            "results": [[list(shape), list(numbers)] for shape, numbers in self.results],
        }

    @property
    def step_count(self) -> int:
        return sum(1 for _ in _all_steps(self.steps))

    @property
    def operation_count(self) -> int:
        return _operation_count(self.steps)


def number_to_json(number: float | int) -> float | int | str:
    return number if isinstance(number, int) or math.isfinite(number) else repr(number)


NON_FINITE = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
"""Numbers that JSON lacks, by their names in files."""


def number_from_json(content: Any) -> float | int:
    if isinstance(content, str) and content in NON_FINITE:
        return NON_FINITE[content]
    if isinstance(content, bool) or not isinstance(content, (int, float)) or (isinstance(content, int) and abs(content) >= 2**63):
        raise InvalidFormula(f"{_excerpt(content)} is not a number")
    return content


def size_of(shape: Shape) -> int:
    return math.prod(shape)


def shape_from_json(content: Any) -> Shape:
    if not isinstance(content, list) or len(content) > 3 or not all(type(n) is int and n >= 0 for n in content):
        raise InvalidFormula(f"{_excerpt(content)} is not the shape of an array")
    if size_of(tuple(content)) > MAX_ENTRIES:
        raise InvalidFormula(f"an array of shape {_excerpt(content)} has more than {MAX_ENTRIES} entries")
    return tuple(content)


def formula_from_json(content: Any) -> RecordedFormula:
    if not isinstance(content, dict) or set(content) != {"arguments", "constants", "steps", "results"}:
        raise InvalidFormula('it needs "arguments", "constants", "steps" and "results", and nothing else')
    arguments = tuple(map(shape_from_json, _checked_list(content["arguments"])))
    constants = tuple(map(number_from_json, _checked_list(content["constants"])))
    steps = tuple(map(_step_from_json, _checked_list(content["steps"])))
    readable = bytearray(b"\1" * sum(map(size_of, arguments)))
    _check(steps, readable, len(constants), 0)
    results = []
    for entry in _checked_list(content["results"]):
        if not isinstance(entry, list) or len(entry) != 2:
            raise InvalidFormula("a result consists of a shape and the numbers of its scalars")
        shape, numbers = shape_from_json(entry[0]), _numbers(entry[1], readable, len(constants))
        if len(numbers) != size_of(shape):
            raise InvalidFormula(f"a result of shape {shape} has {plural(len(numbers), 'scalar')}")
        results.append((shape, numbers))
    if not results:
        raise InvalidFormula("it has no result")
    return RecordedFormula(arguments, constants, steps, tuple(results))


def _check(steps: tuple[Step, ...], readable: bytearray, constants: int, depth: int) -> None:
    """Raise `InvalidFormula` if a step reads an undefined scalar; `readable` is 1 for each scalar that is defined and not
    inside a completed piece."""
    for name, *operands in steps:
        if name != SLOPES:
            if max(_numbers(operands, readable, constants)) < 0:
                raise InvalidFormula("a step reads only constants")
            readable.append(1)
            continue
        if depth == MAX_NESTING:
            raise InvalidFormula(f"more than {MAX_NESTING} differentiations are nested")
        x, others, piece, outs = operands
        width, first = len(_numbers(x, readable, constants)), len(readable)
        _numbers(others, readable, constants)
        if not width:
            raise InvalidFormula("a differentiation with respect to nothing")
        readable += b"\1" * width
        _check(piece, readable, constants, depth + 1)
        slopes = width * len(_numbers(outs, readable, constants))
        if len(readable) + slopes > 10 * MAX_STEPS:
            raise InvalidFormula("it has too many partial derivatives")
        readable[first:] = bytes(len(readable) - first)
        readable += b"\1" * slopes


def _numbers(content: Any, readable: bytearray, constants: int) -> tuple[int, ...]:
    if not isinstance(content, (list, tuple)) or not all(
        type(n) is int and _is_readable(n, readable, constants) for n in content
    ):
        raise InvalidFormula("a step or result reads a scalar that does not exist")
    return tuple(content)


def _is_readable(number: int, readable: bytearray, constants: int) -> bool:
    return readable[number] == 1 if 0 <= number < len(readable) else -constants <= number < 0


def _step_from_json(content: Any) -> Step:
    if not isinstance(content, list) or not content or not isinstance(content[0], str):
        raise InvalidFormula(f"{_excerpt(content)} is not a step")
    name, operands = content[0], content[1:]
    if name == SLOPES and len(operands) == 4:
        x, others, piece, outs = map(_checked_list, operands)
        return (name, tuple(x), tuple(others), tuple(map(_step_from_json, piece)), tuple(outs))
    arity = ARITY.get(name, -1)
    if len(operands) < arity or (len(operands) > arity and name not in LOOKUPS):
        raise InvalidFormula(f"{_excerpt(content)} is not a step")
    return tuple(content)


def _step_to_json(step: Step) -> list[Any]:
    if step[0] != SLOPES:
        return list(step)
    name, x, others, piece, outs = step
    return [name, list(x), list(others), [_step_to_json(inner) for inner in piece], list(outs)]


def _all_steps(steps: tuple[Step, ...]) -> Iterator[Step]:
    for step in steps:
        yield step
        if step[0] == SLOPES:
            yield from _all_steps(step[3])


def _operation_count(steps: tuple[Step, ...]) -> int:
    count = 0
    for name, *operands in steps:
        if name == SLOPES:
            count += (2 + len(operands[0])) * (1 + _operation_count(operands[2]))
        else:
            count += 1 + len(operands) if name in LOOKUPS else 1
    return count


def _checked_list(content: Any) -> list[Any]:
    if not isinstance(content, list):
        raise InvalidFormula(f"{_excerpt(content)} is not a list")
    return content


def _excerpt(content: Any) -> str:
    return excerpt(repr(content))
