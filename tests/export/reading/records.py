"""Records for the content of a page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from tests.export.reading.grammar import Node
from tests.export.reading.markdown import with_index

if TYPE_CHECKING:
    from tests.export.reading.point import Point


@dataclass(frozen=True)
class Family:
    letter: str
    numbers: tuple[str, ...]
    paths: tuple[str, ...]

    def of(self, text: str) -> bool:
        return with_index(text, self.letter, "") != text


@dataclass(frozen=True)
class Definition:
    """A definition (letters) = expression, where a function with several results has several letters."""

    letters: tuple[str, ...]
    node: Node
    text: str


@dataclass(frozen=True)
class Implicit:
    """An equation left = right that the unknowns satisfy, with a second case for a false condition."""

    cases: tuple[tuple[Node, Node], ...]
    condition: Node
    text: str

    def residual(self, at: Point) -> np.ndarray:
        """Return left minus right, or zero where the difference is rounding error."""
        case = self.cases[0 if len(self.cases) == 1 or self.condition(at) else 1]
        left, right = (np.ravel(np.asarray(side(at))) for side in case)
        return np.where(np.abs(left - right) <= 1e-14 * (np.abs(left) + np.abs(right)), 0.0, left - right)


@dataclass(frozen=True)
class Move:
    source: str
    target: str
    guard: Node | None
    resets: tuple[tuple[str, Node], ...]
    what: str


@dataclass
class Machine:
    path: str
    letter: str
    states: Mapping[str, int]
    start: str
    moves: list[Move] = field(default_factory=list)


@dataclass(frozen=True)
class State:
    name: str
    letter: str
    rate: str | None
    start: Any
