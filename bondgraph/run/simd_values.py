"""SIMD values: write an operation once for the numbers of several runs side by side, one in each lane.

An array holds the numbers of all runs at one index side by side. Instructions are written lane by lane, and LLVM vectorizes them;
with one lane they are those of `procedure`.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Union

from bondgraph.emit.procedure import Local, Operand, Procedure, Temporary

SimdOperand = Union["SimdNumber", Temporary, float]
"""One number per run, or one for all."""


def _operator(operation: Callable[..., Temporary]) -> Callable[[SimdNumber, SimdOperand], SimdNumber]:
    def method(number: SimdNumber, other: SimdOperand) -> SimdNumber:
        return number.each(operation, other)

    return method


class SimdNumber:
    """A number, or a condition, in each lane."""

    def __init__(self, numbers: Iterable[Temporary]):
        self.numbers = tuple(numbers)

    def each(self, operation: Callable[..., Temporary], *others: SimdOperand) -> SimdNumber:
        """Apply an operation to the number in each lane and to those of the others."""
        lists = [other.numbers if isinstance(other, SimdNumber) else (other,) * len(self.numbers) for other in others]
        return SimdNumber([operation(*operands) for operands in zip(self.numbers, *lists, strict=True)])

    __add__, __sub__, __mul__, __truediv__ = map(_operator, (operator.add, operator.sub, operator.mul, operator.truediv))
    __lt__, __gt__ = map(_operator, (operator.lt, operator.gt))
    __and__, __or__ = map(_operator, (operator.and_, operator.or_))
    equals = _operator(lambda number, other: number.equals(other))

    def __invert__(self) -> SimdNumber:
        return self.each(operator.invert)

    def any(self) -> Temporary:
        """Return True if a condition holds in any lane."""
        return functools.reduce(operator.or_, self.numbers)

    def folded(self, name: str) -> Temporary:
        """Reduce the numbers of all lanes with a binary function."""
        return functools.reduce(lambda one, other: one.procedure.intrinsic(name, one, other), self.numbers)

    def select(self, yes: SimdOperand, no: SimdOperand) -> SimdNumber:
        """Select `yes` in each lane where the condition holds, else `no`."""
        return self.each(lambda condition, *operands: condition.procedure.select(condition, *operands), yes, no)

    def intrinsic(self, name: str, *others: SimdOperand) -> SimdNumber:
        """Apply an intrinsic function in each lane, as `Procedure.intrinsic` does."""
        return self.each(lambda number, *operands: number.procedure.intrinsic(name, number, *operands), *others)


@dataclass(frozen=True)
class SimdArray:
    """An array with the numbers of all lanes at each index."""

    pointer: Temporary
    lanes: int

    def _offset(self, index: Temporary) -> Temporary:
        return index if self.lanes == 1 else index * self.lanes

    def __getitem__(self, index: Temporary) -> SimdNumber:
        first = self.pointer.at(self._offset(index))
        return SimdNumber([first[lane] for lane in range(self.lanes)])

    def __setitem__(self, index: Temporary, value: SimdOperand) -> None:
        first = self.pointer.at(self._offset(index))
        for lane in range(self.lanes):
            first[lane] = value.numbers[lane] if isinstance(value, SimdNumber) else value

    def at(self, index: Temporary) -> SimdArray:
        """Return the part of the array from this index on."""
        return SimdArray(self.pointer.at(self._offset(index)), self.lanes)


class SimdVariable:
    """A variable of a procedure with a number in each lane."""

    def __init__(self, write: Procedure, start: SimdNumber):
        self._each: list[Local] = [write.local(number) for number in start.numbers]

    def get(self) -> SimdNumber:
        """Read the present values."""
        return SimdNumber([variable.get() for variable in self._each])

    def set(self, value: SimdNumber) -> None:
        """Write new values."""
        for variable, number in zip(self._each, value.numbers, strict=True):
            variable.set(number)


def broadcast(write: Procedure, value: float, lanes: int) -> SimdNumber:
    """Put one number into every lane."""
    return SimdNumber([write.value(value, "double")] * lanes)


@contextmanager
def lane_loop(
    write: Procedure, count: Operand, lanes: int, start: Operand = 0
) -> Iterator[tuple[Temporary, Temporary, Temporary]]:
    """Loop over this many numbers and the lanes of each: yield the number, the lane, and the index of both."""
    with write.loop(count, start) as i, write.loop(lanes) as lane:
        yield i, lane, i * lanes + lane
