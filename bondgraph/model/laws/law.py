"""Constitutive laws of elements, independent of any graph: storages, resistors, sources, constraints, switches, junctions, blocks.

Arguments of every operation: the law's own variable first, then the element's parameters in their order,
then its signals in their order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import ClassVar, Literal, NamedTuple

from bondgraph.model.laws.given import StateSpec
from bondgraph.output.short_repr import brief

Variable = Literal["effort", "flow"]
"""The two variables of a bond."""

OTHER: Mapping[Variable, Variable] = {"effort": "flow", "flow": "effort"}
"""Conjugate variable of each variable of a bond."""


class Wish(IntEnum):
    """Priority of an element's causality; lower numbers are assigned first."""

    MUST = 0
    """The only possible causality."""
    INTEGRAL = 1
    """Integral causality of a storage."""
    AS_GIVEN = 2
    """Causality in which the only given relation needs no inversion."""
    RATHER = 3


@brief
class Demand(NamedTuple):
    """Causality that an element asks for at one of its ports."""

    effort_in: bool
    """True if the effort is the input, and the flow the output."""
    wish: Wish


class Law:
    """Law of an element: its states, its signals, the causality that it asks for."""

    def states(self) -> Mapping[str, StateSpec]:
        """Return state variables by local name."""
        return {}

    def signals(self, ports: Sequence[str]) -> tuple[str, ...]:
        """Return the local names of its signals besides its parameters; `ports` are those of its element."""
        raise NotImplementedError

    def demand(self, port: int) -> Demand | None:
        """Return the causality that it asks for at a port, by index; None without preference."""
        return None


class Storing(Law):
    """Law that stores energy in a state; in derivative causality the state follows from others."""

    gives: Variable
    """Its output in integral causality: the effort of a C, the flow of an I and an IC; its input is the other variable."""

    @property
    def follows(self) -> tuple[str, StateSpec]:
        """Local name of the dependent state in derivative causality, and its specification."""
        raise NotImplementedError

    @property
    def ease(self) -> tuple[int | bool, ...]:
        """Sort key of coupled storages: the first in this order keep their states."""
        raise NotImplementedError

    def demand(self, port: int) -> Demand:
        return Demand(self.gives == "flow", Wish.INTEGRAL)


@brief
@dataclass(frozen=True, kw_only=True)
class Switched(Law):
    """Law that an automaton may switch."""

    automaton: str | None = None
    """Name in its graph; in a flat model its path."""
    active: tuple[str, ...] = ()
    """States of the automaton in which it acts."""
    word: ClassVar[str] = "active"
    """Name of the argument for these states."""

    def stops(self, source: str, target: str) -> bool:
        """Return True if an impulse acts as the automaton changes from one state to another."""
        return False

    @property
    def mode(self) -> str:
        """Signal of the automaton's mode."""
        return f"{self.automaton}.mode"


PORT = ("effort", "flow", "power")
"""Signals of every one-port with power."""
TWO_PORTS = ("1.effort", "1.flow", "2.effort", "2.flow")
