"""Calls of kernels on numbered values, which are scheduled, placed in memory and emitted; and plans of routines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from bondgraph.tape.routine import Listing

GIVEN = ("t", "x", "p", "m")
"""Input blocks of every routine; results lie in `out`, intermediate values in the workspace `w`."""

NUMBERS = "c"
"""The block of constants of a routine."""


@dataclass(frozen=True, eq=False)
class Kind:
    """A kernel: its inputs are `(INPUT, argument, component)`, its results are cut into `sizes`."""

    program: Listing
    sizes: tuple[int, ...]


class Call(NamedTuple):
    """Instance of a kernel: its kind, the values that it reads and the values that it gives."""

    kind: Kind
    ins: tuple[int, ...]
    outs: tuple[int, ...]


@dataclass
class ValueTable:
    """All values of a model by number: their sizes in scalars, and the locations (block, offset) of inputs."""

    sizes: list[int] = field(default_factory=list)
    locations: dict[int, tuple[str, int]] = field(default_factory=dict)
    fixed: list[bool] = field(default_factory=list)
    """True for a value that depends on parameters only."""
    numbers: dict[float, int] = field(default_factory=dict)
    """Constant -> its value number."""

    def value(self, size: int, fixed: bool = False, home: tuple[str, int] | None = None) -> int:
        """Append a value and return its number."""
        number = len(self.sizes)
        self.sizes.append(size)
        self.fixed.append(fixed)
        if home is not None:
            self.locations[number] = home
        return number

    def number(self, number: float) -> int:
        """Return the value number of a constant."""
        value = self.numbers.get(number)
        if value is None:
            value = self.numbers[number] = self.value(1, True, (NUMBERS, len(self.numbers)))
        return value

    def results(self, kind: Kind, fixed: bool = False) -> tuple[int, ...]:
        """Append values for the results of a call and return their numbers."""
        first, count = len(self.sizes), len(kind.sizes)
        self.sizes += kind.sizes
        self.fixed += [fixed] * count
        return tuple(range(first, first + count))


@dataclass(frozen=True, eq=False)
class Plan:
    """A routine before it is scheduled: calls in any order, and the layout of `out`."""

    name: str
    calls: tuple[Call, ...]
    n_out: int
    results: Mapping[int, int]
    """Value that a call gives -> its offset in `out`."""
    numbers: Mapping[float, Sequence[int]] = field(default_factory=dict)
    """Constant -> its positions in `out`."""
    copied_block: str | None = None
    """The block that is copied to `out` first, if any."""
