"""Numbers of several runs abreast: an operation on numbers in; the instructions that do it to those of each run, out.

An array has the numbers of all runs at one place side by side. What is done to them is written out for each run, one after the
other, and LLVM makes vectors of it; with one run it is what `procedure` writes.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Union

from bondgraph.emit.procedure import Local, Operand, Procedure, Temporary

Given = Union["Abreast", Temporary, float]
"""A number of each run, or one for all."""


def _operator(operation: Callable[..., Temporary]) -> Callable[[Abreast, Given], Abreast]:
    def method(own: Abreast, other: Given) -> Abreast:
        return own.each(operation, other)

    return method


class Abreast:
    """A number, or a condition, of each of several runs."""

    def __init__(self, numbers: Iterable[Temporary]):
        self.numbers = tuple(numbers)

    def each(self, operation: Callable[..., Temporary], *others: Given) -> Abreast:
        """What an operation gives of the number of each run, and of its others'."""
        lists = [other.numbers if isinstance(other, Abreast) else (other,) * len(self.numbers) for other in others]
        return Abreast([operation(*given) for given in zip(self.numbers, *lists, strict=True)])

    __add__, __sub__, __mul__, __truediv__ = map(_operator, (operator.add, operator.sub, operator.mul, operator.truediv))
    __lt__, __gt__ = map(_operator, (operator.lt, operator.gt))
    __and__, __or__ = map(_operator, (operator.and_, operator.or_))
    equals = _operator(lambda own, other: own.equals(other))

    def __invert__(self) -> Abreast:
        return self.each(operator.invert)

    def any(self) -> Temporary:
        """Whether a condition holds for one of the runs."""
        return functools.reduce(operator.or_, self.numbers)

    def folded(self, name: str) -> Temporary:
        """The numbers of all runs by a function of two."""
        return functools.reduce(lambda one, other: one.procedure.intrinsic(name, one, other), self.numbers)

    def select(self, yes: Given, no: Given) -> Abreast:
        """`yes` of each run for which the condition holds, else `no`."""
        return self.each(lambda condition, *given: condition.procedure.select(condition, *given), yes, no)

    def intrinsic(self, name: str, *others: Given) -> Abreast:
        """As `Procedure.intrinsic`."""
        return self.each(lambda own, *given: own.procedure.intrinsic(name, own, *given), *others)


@dataclass(frozen=True)
class Wide:
    """An array with a number of each of so many runs at each place."""

    pointer: Temporary
    lanes: int

    def _place(self, index: Temporary) -> Temporary:
        return index if self.lanes == 1 else index * self.lanes

    def __getitem__(self, index: Temporary) -> Abreast:
        first = self.pointer.at(self._place(index))
        return Abreast([first[lane] for lane in range(self.lanes)])

    def __setitem__(self, index: Temporary, value: Given) -> None:
        first = self.pointer.at(self._place(index))
        for lane in range(self.lanes):
            first[lane] = value.numbers[lane] if isinstance(value, Abreast) else value

    def at(self, index: Temporary) -> Wide:
        """What follows from this place on."""
        return Wide(self.pointer.at(self._place(index)), self.lanes)


class Numbers:
    """A variable of a procedure with a number of each of so many runs."""

    def __init__(self, write: Procedure, start: Abreast):
        self._each: list[Local] = [write.local(number) for number in start.numbers]

    def get(self) -> Abreast:
        """Its present values."""
        return Abreast([own.get() for own in self._each])

    def set(self, value: Abreast) -> None:
        """Give it others."""
        for own, number in zip(self._each, value.numbers, strict=True):
            own.set(number)


def everywhere(write: Procedure, value: float, lanes: int) -> Abreast:
    """The same number for each run."""
    return Abreast([write.value(value, "double")] * lanes)


@contextmanager
def every(write: Procedure, count: Operand, lanes: int, start: Operand = 0) -> Iterator[tuple[Temporary, Temporary, Temporary]]:
    """Over the lanes of each of so many numbers: the number, the lane, and the place of both."""
    with write.loop(count, start) as i, write.loop(lanes) as lane:
        yield i, lane, i * lanes + lane
