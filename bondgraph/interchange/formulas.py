"""Formulas as data: steps on numbered scalars, checked and written as JSON; nothing in them is a name of code.

Scalars are numbered from 0: those of the arguments in row-major order, then the result of each step. Constants have negative
numbers, -1 the first. A step is an operation with the numbers that it takes, `["multiply", 0, -1]`; or the partial derivatives
of a piece of the formula, `["slopes", x, others, steps, outs]`: the piece reads n places, which take the next n numbers, then
come its own steps, then the (m, n) slopes of its m outs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from bondgraph.tape import opcodes

SLOPES = "slopes"
"""Name of the step that differentiates a piece."""
ARITY = {
    operation.name: operation.arguments
    for code, operation in enumerate(opcodes.OPERATIONS)
    if operation.arguments and code != opcodes.RECIPROCAL
}
"""Every other step, and how many numbers it takes; a reciprocal is a division."""

MOST_STEPS = 1_000_000
"""Of one file; and of one formula."""
MOST_WEIGHT = 20_000_000
"""Operations of all formulas of a file together, each differentiation counted as it is carried out."""
MOST_ENTRIES = 100_000
"""Of one array."""
DEEPEST_SLOPES = 4
"""How many differentiations may lie inside one another."""

Step = tuple[Any, ...]
Shape = tuple[int, ...]


class Unsound(ValueError):
    """What stands where a formula is expected is none; the text says why."""


@dataclass(frozen=True)
class RecordedFormula:
    """A formula for arguments of these shapes."""

    arguments: tuple[Shape, ...]
    constants: tuple[float | int, ...]
    steps: tuple[Step, ...]
    results: tuple[tuple[Shape, tuple[int, ...]], ...]
    """Shape of each result, and the numbers of its scalars in row-major order; several are a tuple."""

    def as_json(self) -> dict[str, Any]:
        """As it stands in a file."""
        return {
            "arguments": [list(shape) for shape in self.arguments],
            "constants": [spelled(number) for number in self.constants],
            "steps": [_step_json(step) for step in self.steps],
            "results": [[list(shape), list(numbers)] for shape, numbers in self.results],
        }

    @property
    def length(self) -> int:
        """How many steps are written down."""
        return sum(1 for _ in _all_steps(self.steps))

    @property
    def weight(self) -> int:
        """About how many operations it is to carry it out once."""
        return _weight(self.steps)


def spelled(number: float | int) -> float | int | str:
    """A number in JSON, with words for those that JSON does not have."""
    return number if isinstance(number, int) or math.isfinite(number) else repr(number)


WORDS = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
"""Numbers that JSON does not have."""


def number_of(given: Any) -> float | int:
    """A number as `spelled` writes it; `Unsound` for what is none."""
    if isinstance(given, str) and given in WORDS:
        return WORDS[given]
    if isinstance(given, bool) or not isinstance(given, (int, float)) or (isinstance(given, int) and abs(given) >= 2**63):
        raise Unsound(f"{_short(given)} is no number")
    return given


def size_of(shape: Shape) -> int:
    """Entries of an array."""
    return math.prod(shape)


def shape_of(given: Any) -> Shape:
    """A shape as it stands in a file."""
    if not isinstance(given, list) or len(given) > 3 or not all(type(n) is int and n >= 0 for n in given):
        raise Unsound(f"{_short(given)} is no shape of an array")
    if size_of(tuple(given)) > MOST_ENTRIES:
        raise Unsound(f"an array of shape {_short(given)} has more than {MOST_ENTRIES} entries")
    return tuple(given)


def formula_of(given: Any) -> RecordedFormula:
    """The formula of its JSON; `Unsound` where it is none."""
    if not isinstance(given, dict) or set(given) != {"arguments", "constants", "steps", "results"}:
        raise Unsound('it needs "arguments", "constants", "steps" and "results", and nothing else')
    arguments = tuple(map(shape_of, _listed(given["arguments"])))
    constants = tuple(map(number_of, _listed(given["constants"])))
    steps = tuple(map(_step_of, _listed(given["steps"])))
    known = bytearray(b"\1" * sum(map(size_of, arguments)))
    _check(steps, known, len(constants), 0)
    results = []
    for entry in _listed(given["results"]):
        if not isinstance(entry, list) or len(entry) != 2:
            raise Unsound("a result is a shape and the numbers of its scalars")
        shape, numbers = shape_of(entry[0]), _numbers(entry[1], known, len(constants))
        if len(numbers) != size_of(shape):
            raise Unsound(f"a result of shape {shape} has {len(numbers)} scalars")
        results.append((shape, numbers))
    if not results:
        raise Unsound("it has no result")
    return RecordedFormula(arguments, constants, steps, tuple(results))


def _check(steps: tuple[Step, ...], known: bytearray, constants: int, depth: int) -> None:
    """`Unsound` where a step reads what is not there. `known` has 1 for each number that may be read, and 0 for those inside of a
    piece that has ended: a piece is done for scalars of its own."""
    for name, *rest in steps:
        if name != SLOPES:
            if max(_numbers(rest, known, constants)) < 0:
                raise Unsound("a step reads constants alone")
            known.append(1)
            continue
        if depth == DEEPEST_SLOPES:
            raise Unsound(f"more than {DEEPEST_SLOPES} differentiations lie inside one another")
        x, others, piece, outs = rest
        width, first = len(_numbers(x, known, constants)), len(known)
        _numbers(others, known, constants)
        if not width:
            raise Unsound("slopes with respect to nothing")
        known += b"\1" * width
        _check(piece, known, constants, depth + 1)
        slopes = width * len(_numbers(outs, known, constants))
        if len(known) + slopes > 10 * MOST_STEPS:
            raise Unsound("it has too many slopes")
        known[first:] = bytes(len(known) - first)
        known += b"\1" * slopes


def _numbers(given: Any, known: bytearray, constants: int) -> tuple[int, ...]:
    if not isinstance(given, (list, tuple)) or not all(type(n) is int and _is_known(n, known, constants) for n in given):
        raise Unsound("a step or result reads a scalar that is not there")
    return tuple(given)


def _is_known(number: int, known: bytearray, constants: int) -> bool:
    return known[number] == 1 if 0 <= number < len(known) else -constants <= number < 0


def _step_of(given: Any) -> Step:
    if not isinstance(given, list) or not given or not isinstance(given[0], str):
        raise Unsound(f"{_short(given)} is no step")
    name, rest = given[0], given[1:]
    if name == SLOPES and len(rest) == 4:
        x, others, piece, outs = map(_listed, rest)
        return (name, tuple(x), tuple(others), tuple(map(_step_of, piece)), tuple(outs))
    if len(rest) != ARITY.get(name, -1):
        raise Unsound(f"{_short(given)} is no step")
    return tuple(given)


def _step_json(step: Step) -> list[Any]:
    if step[0] != SLOPES:
        return list(step)
    name, x, others, piece, outs = step
    return [name, list(x), list(others), [_step_json(inner) for inner in piece], list(outs)]


def _all_steps(steps: tuple[Step, ...]) -> Iterator[Step]:
    for step in steps:
        yield step
        if step[0] == SLOPES:
            yield from _all_steps(step[3])


def _weight(steps: tuple[Step, ...]) -> int:
    return sum(1 if step[0] != SLOPES else (2 + len(step[1])) * (1 + _weight(step[3])) for step in steps)


def _listed(given: Any) -> list[Any]:
    if not isinstance(given, list):
        raise Unsound(f"{_short(given)} is no list")
    return given


def _short(given: Any) -> str:
    text = repr(given)
    return text if len(text) < 60 else text[:56] + " ..."
