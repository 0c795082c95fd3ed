"""Laws that pass power on without loss: transformers, gyrators, junctions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from bondgraph.model.laws.law import TWO_PORTS, Demand, Law, Switched, Wish
from bondgraph.model.ops import Op
from bondgraph.output.short_repr import short_repr


@short_repr
@dataclass(frozen=True)
class Action:
    """What a matrix N(parameters, signals) does to a vector, without the matrix."""

    forward: Op
    """(parameters, signals, f) -> N f."""
    transposed: Op
    """(parameters, signals, e) -> N^T e."""


@short_repr
@dataclass(frozen=True)
class Ratio(Law):
    """A law of two ports with a ratio between their variables, matrix(parameters, signals)."""

    matrix: Op
    invertible: bool
    """Whether the other causality, with 1/n, may be used (scalar ratios)."""
    letter: ClassVar[str]
    """What the ratio is called as a signal."""

    def signals(self, ports: Sequence[str]) -> tuple[str, ...]:
        return (self.letter, *TWO_PORTS)


@short_repr
@dataclass(frozen=True)
class Transformer(Ratio):
    """f2 = N f1, e1 = N^T e2; N has shape (), (n1,) or (n2, n1)."""

    action: Action | None = None
    """The products with N, where there are cheaper formulas for them than rows times columns."""
    letter: ClassVar[str] = "N"

    def demand(self, port: int) -> Demand | None:
        return None if self.invertible else Demand(port == 1, Wish.MUST)


@short_repr
@dataclass(frozen=True)
class Gyrator(Ratio):
    """e1 = r f2, e2 = r^T f1; r has shape () or (n1, n2)."""

    letter: ClassVar[str] = "r"

    def demand(self, port: int) -> Demand | None:
        return None if self.invertible else Demand(False, Wish.MUST)


@short_repr
@dataclass(frozen=True)
class SkewGyrator(Law):
    """A gyrator on one port, e = J f with J = matrix(parameters, signals) skew-symmetric: it moves power between the
    components of one bond (the Euler junction structure of a rigid body)."""

    matrix: Op

    def signals(self, ports: Sequence[str]) -> tuple[str, ...]:
        return ("effort", "flow", "J")

    def demand(self, port: int) -> Demand:
        return Demand(False, Wish.MUST)


@short_repr
@dataclass(frozen=True)
class Junction(Switched):
    """Common effort (type 0) or common flow (type 1); a switched one joins only in the active modes of its automaton."""

    type: int

    def signals(self, ports: Sequence[str]) -> tuple[str, ...]:
        return ("effort" if self.type == 0 else "flow",)
