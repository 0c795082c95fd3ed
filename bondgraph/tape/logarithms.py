"""An exponent on a tape -> the whole powers whose product is its exponential, where it is a sum of logarithms.

exp((RT log a + 2 RT log b) / RT) is a b^2: the law of mass action, of potentials that are logarithms of amounts. Common factors
are divided out where they are the same node; what parameters alone decide stays an exponential, which is hoisted. What a
logarithm is taken of is never negative, and no power is, so that the product is the same to rounding unless it leaves the range
of floats.
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

MOST_STEPS = 64
"""So many nodes of an exponent are looked at; what is longer is no mass action."""
LARGEST = 16
"""The highest power that is written as products."""
_ROUNDING = 8.0 * sys.float_info.epsilon
"""A multiple that is as near to a whole number as this, relative to it, is that number: RT (1 / RT) is 1 to rounding."""
_FAR = 300.0
"""A constant in the exponent, of which the exponential is far from the ends of the range of floats."""


@dataclass(frozen=True)
class Powers:
    """A product: a number, powers by place, and the exponential of the sum of `terms`, which parameters decide."""

    number: float
    powers: Mapping[int, int]
    terms: Sequence[tuple[float, Mapping[int, int]]]
    """Each a number times powers by place."""


def powers_of(table: _Table, exponent: int, given: int) -> Powers | None:
    """The product that is exp(exponent); None unless it is a sum of logarithms, and of terms of the input block `given`."""
    multiples: dict[int, float] = {}
    terms: list[tuple[float, Mapping[int, int]]] = []
    constant = 0.0
    pending: list[tuple[float, list[tuple[int, int]]]] = [(1.0, [(exponent, 1)])]
    for _ in range(MOST_STEPS):
        if not pending:
            break
        multiple, factors = _factored(table, *pending.pop())
        summed = next((f for f, power in factors.items() if power == 1 and table[f][0] in (op.ADD, op.SUBTRACT)), None)
        if not factors:
            constant += multiple
        elif (place := _logarithm(table, factors)) is not None:
            multiples[place] = multiples.get(place, 0.0) + multiple
        elif _depends_on(table, factors, given):
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
    powers = {place: round(multiple) for place, multiple in multiples.items()}
    near = all(abs(multiples[place] - power) <= _ROUNDING * power and 0 < power <= LARGEST for place, power in powers.items())
    if pending or not powers or not near or not abs(constant) <= _FAR:
        return None
    return Powers(math.exp(constant), powers, terms)


def _factored(table: _Table, multiple: float, factors: Sequence[tuple[int, int]]) -> tuple[float, dict[int, int]]:
    """A product with whole powers, down to what is no product; what is divided out is left away."""
    counted: dict[int, int] = {}
    pending = list(factors)
    while pending:
        place, power = pending.pop()
        code, *arguments = table[place]
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
            counted[place] = counted.get(place, 0) + power
    return multiple, {place: power for place, power in counted.items() if power}


def _logarithm(table: _Table, factors: Mapping[int, int]) -> int | None:
    """Of what the product is the logarithm, if it is one of what is never negative."""
    (alone, power), *more = factors.items()
    if more or power != 1 or table[alone][0] != op.LOG:
        return None
    place = int(table[alone][1])
    return place if _never_negative(table, place) else None


def _depends_on(table: _Table, places: Iterable[int], given: int) -> bool:
    """Whether inputs of the block number `given`, and no others, decide what stands there."""
    pending, seen = list(places), set()
    while pending:
        place = pending.pop()
        if place in seen:
            continue
        seen.add(place)
        code, *arguments = table[place]
        if code == op.INPUT:
            if arguments[0] != given:
                return False
        elif code != op.CONSTANT:
            pending += arguments
    return True


def _never_negative(table: _Table, place: int) -> bool:
    """Whether what stands there has no sign, or is no number."""
    code, *arguments = table[place]
    if code == op.MAXIMUM:
        return any(table[a][0] == op.CONSTANT and table[a][1] >= 0.0 for a in arguments)
    return code in (op.EXP, op.SQRT, op.ABSOLUTE)
