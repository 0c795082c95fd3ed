"""What a law is given: parameters, values by mode, start values of states."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bondgraph.output.short_repr import brief


@brief
@dataclass(frozen=True)
class Parameter:
    """Number or array that stays a run-time input of the compiled code."""

    value: Any
    unit: str = ""
    most: float | None = None
    """Upper limit, with zero as the lower one; None for any number."""
    not_below: str = ""
    """Another parameter of the element that is the lower limit."""


@brief
@dataclass(frozen=True)
class ByMode:
    """Parameter with a value for each state of an automaton."""

    automaton: str
    values: Mapping[str, Any]


@brief
@dataclass(frozen=True)
class StateSpec:
    """State variable: its start value and, as a hint to error control and analyses, its nominal size."""

    initial: Any
    nominal: Any = None
    unit: str = ""
    symbol: str = ""
    claimed: bool = True
    """True if a nonzero start must hold where the state follows from others; a species always has some amount."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the state, () for a scalar."""
        return np.shape(self.initial)
