"""Laws that pass power on without loss: transformers, gyrators, junctions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from bondgraph.model.laws.law import TWO_PORTS, Demand, Law, Switched, Wish
from bondgraph.model.ops import Op
from bondgraph.output.short_repr import brief


@brief
@dataclass(frozen=True)
class Action:
    """Products of a matrix N(parameters, signals) with a vector, without the matrix."""

    forward: Op
    """Operation (parameters, signals, f) -> N f."""
    transposed: Op
    """Operation (parameters, signals, e) -> N^T e."""


@brief
@dataclass(frozen=True)
class Ratio(Law):
    """Law of two ports with a ratio between their variables, matrix(parameters, signals)."""

    matrix: Op
    invertible: bool
    """True if the other causality, with 1/n, may be used (scalar ratios)."""
    letter: ClassVar[str]
    """Name of the ratio as a signal."""

    def signals(self, ports: Sequence[str]) -> tuple[str, ...]:
        return (self.letter, *TWO_PORTS)


@brief
@dataclass(frozen=True)
class Transformer(Ratio):
    """Transformer f2 = N f1, e1 = N^T e2; N has shape (), (n1,) or (n2, n1)."""

    action: Action | None = None
    """Cheaper formulas for the products with N than rows times columns."""
    letter: ClassVar[str] = "N"

    def demand(self, port: int) -> Demand | None:
        return None if self.invertible else Demand(port == 1, Wish.MUST)


@brief
@dataclass(frozen=True)
class Gyrator(Ratio):
    """Gyrator e1 = r f2, e2 = r^T f1; r has shape () or (n1, n2)."""

    letter: ClassVar[str] = "r"

    def demand(self, port: int) -> Demand | None:
        return None if self.invertible else Demand(False, Wish.MUST)


@brief
@dataclass(frozen=True)
class SkewGyrator(Law):
    """Gyrator on one port, e = J f with J = matrix(parameters, signals) skew-symmetric: it moves power between the components of one
    bond (the Euler junction structure of a rigid body)."""

    matrix: Op

    def signals(self, ports: Sequence[str]) -> tuple[str, ...]:
        return ("effort", "flow", "J")

    def demand(self, port: int) -> Demand:
        return Demand(False, Wish.MUST)


@brief
@dataclass(frozen=True)
class Junction(Switched):
    """Junction with a common effort (type 0) or common flow (type 1); a switched one joins only in the active modes of its
    automaton."""

    type: int

    def signals(self, ports: Sequence[str]) -> tuple[str, ...]:
        return ("effort" if self.type == 0 else "flow",)
