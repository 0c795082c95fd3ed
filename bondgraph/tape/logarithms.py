"""Simplify the exponential of a sum of logarithms to a product of integer powers.

exp((RT log a + 2 RT log b) / RT) is a b^2: the law of mass action, of potentials that are logarithms of amounts. Common factors
cancel if they are the same node; terms of parameters alone stay an exponential, which is hoisted. The argument of each
logarithm is never negative, and no power is, so that the product is the same to rounding unless it leaves the range of floats.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bondgraph.tape import opcodes as op

_Table = Sequence[tuple[Any, ...]]
"""The nodes of a tape."""


MAX_NODES = 64
"""Nodes of an exponent that are examined; a longer one is no mass action."""


MAX_POWER = 16
"""Highest power that is written as products."""


_INTEGER_RTOL = 8.0 * sys.float_info.epsilon
"""Relative distance up to which a multiple counts as an integer: RT (1 / RT) is 1 to rounding."""


_MAX_CONSTANT = 300.0
"""Largest constant in the exponent; its exponential is far from the ends of the range of floats."""


@dataclass(frozen=True)
class Powers:
    """A product: a number, powers by position, and the exponential of the sum of `terms` of parameters."""

    number: float
    powers: Mapping[int, int]
    terms: Sequence[tuple[float, Mapping[int, int]]]
    """Each a number times powers by position."""


def powers_of(table: _Table, exponent: int, parameters: int) -> Powers | None:
    """Return exp(exponent) as a product, None unless it is a sum of logarithms and of terms of the input block `parameters`."""
    multiples: dict[int, float] = {}
    terms: list[tuple[float, Mapping[int, int]]] = []
    constant = 0.0
    pending: list[tuple[float, list[tuple[int, int]]]] = [(1.0, [(exponent, 1)])]
    for _ in range(MAX_NODES):
        if not pending:
            break
        multiple, factors = _factored(table, *pending.pop())
        summed = next((f for f, power in factors.items() if power == 1 and table[f][0] in (op.ADD, op.SUBTRACT)), None)
        if not factors:
            constant += multiple
        elif (argument := _logarithm(table, factors)) is not None:
            multiples[argument] = multiples.get(argument, 0.0) + multiple
        elif _depends_only_on(table, factors, parameters):
            terms.append((multiple, factors))
        elif summed is not None:
            code, first, second = table[summed]
            others = [(f, power) for f, power in factors.items() if f != summed]
            pending.append((multiple, [(first, 1), *others]))
            pending.append((multiple if code == op.ADD else -multiple, [(second, 1), *others]))
        else:
            return None
    if not all(map(math.isfinite, multiples.values())):
        return None
    powers = {base: round(multiple) for base, multiple in multiples.items()}
    integers = all(abs(multiples[a] - power) <= _INTEGER_RTOL * power and 0 < power <= MAX_POWER for a, power in powers.items())
    if pending or not powers or not integers or not abs(constant) <= _MAX_CONSTANT:
        return None
    return Powers(math.exp(constant), powers, terms)


def _factored(table: _Table, multiple: float, factors: Sequence[tuple[int, int]]) -> tuple[float, dict[int, int]]:
    """Expand products, reciprocals and signs into a number times integer powers of other nodes."""
    powers: dict[int, int] = {}
    pending = list(factors)
    while pending:
        position, power = pending.pop()
        code, *arguments = table[position]
        if code == op.CONSTANT and arguments[0] != 0.0:
            multiple *= arguments[0] ** power
        elif code == op.NEGATIVE:
            multiple = multiple if power % 2 == 0 else -multiple
            pending.append((arguments[0], power))
        elif code == op.MULTIPLY:
            pending += [(argument, power) for argument in arguments]
        elif code == op.RECIPROCAL:
            pending.append((arguments[0], -power))
        else:
            powers[position] = powers.get(position, 0) + power
    return multiple, {position: power for position, power in powers.items() if power}


def _logarithm(table: _Table, factors: Mapping[int, int]) -> int | None:
    """Return the argument if the product is one logarithm of a value that is never negative, else None."""
    (single, power), *others = factors.items()
    if others or power != 1 or table[single][0] != op.LOG:
        return None
    argument = int(table[single][1])
    return argument if _never_negative(table, argument) else None


def _depends_only_on(table: _Table, positions: Iterable[int], block: int) -> bool:
    """Return True if nodes depend on no inputs but those of the block with this number."""
    pending, seen = list(positions), set()
    while pending:
        position = pending.pop()
        if position in seen:
            continue
        seen.add(position)
        code, *arguments = table[position]
        if code in op.OF_BLOCKS:
            if arguments[0] != block:
                return False
        elif code > op.INPUT:
            pending += arguments
    return True


def _never_negative(table: _Table, position: int) -> bool:
    """Return True if the value of a node is never negative (it may be nan)."""
    code, *arguments = table[position]
    if code == op.MAXIMUM:
        return any(table[a][0] == op.CONSTANT and table[a][1] >= 0.0 for a in arguments)
    return code in (op.EXP, op.SQRT, op.ABSOLUTE)
