"""What a law is given: parameters, values by mode, start values of states."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bondgraph.output.short_repr import short_repr


@short_repr
@dataclass(frozen=True)
class Parameter:
    """A number or array that stays a run-time input of the compiled code."""

    value: Any
    unit: str = ""
    most: float | None = None
    """The highest that it may be, and zero the lowest; None: any number."""
    not_below: str = ""
    """Another parameter of the element: the lowest that it may be."""


@short_repr
@dataclass(frozen=True)
class ByMode:
    """A parameter with a value for each state of an automaton."""

    automaton: str
    values: Mapping[str, Any]


@short_repr
@dataclass(frozen=True)
class StateSpec:
    """A state variable: its start value and, as a hint to error control and analyses, its usual size."""

    initial: Any
    nominal: Any = None
    unit: str = ""
    symbol: str = ""
    claimed: bool = True
    """Whether a start other than zero must hold where the state follows from others; a species has always some amount."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the state, () for a scalar."""
        return np.shape(self.initial)
