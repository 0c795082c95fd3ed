"""Calls of kinds of kernels on values: what is scheduled, placed in memory and emitted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from bondgraph.tape.routine import Listing

GIVEN = ("t", "x", "p", "m")
"""Blocks that are given to every routine; results lie in `out`, what is between in the workspace `w`."""

NUMBERS = "c"
"""The block of numbers that are known now, which a routine has of its own."""


@dataclass(frozen=True, eq=False)
class Kind:
    """A kernel that was traced once: input `k` of its steps is `(INPUT, k, place)`, its results are cut into `sizes`."""

    program: Listing
    sizes: tuple[int, ...]


class Call(NamedTuple):
    """One instance: a kind, the values that it reads and the values that it gives."""

    kind: Kind
    ins: tuple[int, ...]
    outs: tuple[int, ...]


@dataclass
class Book:
    """All values of a model, by number: how many scalars each has, where the given ones lie, and which follow from
    parameters alone."""

    sizes: list[int] = field(default_factory=list)
    homes: dict[int, tuple[str, int]] = field(default_factory=dict)
    fixed: list[bool] = field(default_factory=list)
    """Whether a value depends on parameters only."""
    numbers: dict[float, int] = field(default_factory=dict)
    """Number -> the value that it is."""

    def value(self, size: int, fixed: bool = False, home: tuple[str, int] | None = None) -> int:
        """A new value."""
        number = len(self.sizes)
        self.sizes.append(size)
        self.fixed.append(fixed)
        if home is not None:
            self.homes[number] = home
        return number

    def number(self, number: float) -> int:
        """The value that is a number known now."""
        value = self.numbers.get(number)
        if value is None:
            value = self.numbers[number] = self.value(1, True, (NUMBERS, len(self.numbers)))
        return value

    def results(self, kind: Kind, fixed: bool = False) -> tuple[int, ...]:
        """New values for the results of a call."""
        first, count = len(self.sizes), len(kind.sizes)
        self.sizes += kind.sizes
        self.fixed += [fixed] * count
        return tuple(range(first, first + count))


@dataclass(frozen=True, eq=False)
class Plan:
    """A routine before it is scheduled: calls in any order, and what goes where in `out`."""

    name: str
    calls: tuple[Call, ...]
    n_out: int
    results: Mapping[int, int]
    """Value that a call gives -> its first place in `out`."""
    numbers: Mapping[float, Sequence[int]] = field(default_factory=dict)
    """Number -> its places in `out`."""
    kept: str | None = None
    """The block whose numbers `out` keeps where it is given no others."""
