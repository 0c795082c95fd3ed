"""A law: what an element does, without its place in a graph; what stages may ask of every one.

Arguments of every operation: the law's own variable first, then the element's parameters in their order,
then its signals in their order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import ClassVar, Literal, NamedTuple

from bondgraph.model.laws.given import StateSpec
from bondgraph.output.short_repr import short_repr

Variable = Literal["effort", "flow"]
"""The two variables of a bond."""

OTHER: Mapping[Variable, Variable] = {"effort": "flow", "flow": "effort"}
"""Of the two variables the other one."""


class Wish(IntEnum):
    """How strongly an element asks for a causality; what is lower is heard earlier."""

    MUST = 0
    """It has only this one."""
    INTEGRAL = 1
    """A storage that keeps its own state."""
    AS_GIVEN = 2
    """The only relation that it has can be used as it stands."""
    RATHER = 3


@short_repr
class Demand(NamedTuple):
    """What an element asks for at one of its ports."""

    effort_in: bool
    """Whether the effort comes from outside, and the element gives the flow."""
    wish: Wish


class Law:
    """What an element does: its states, the signals that it offers, the causality that it asks for."""

    def states(self) -> Mapping[str, StateSpec]:
        """State variables by local name."""
        return {}

    def signals(self, ports: Sequence[str]) -> tuple[str, ...]:
        """Local names of the signals that it offers besides its parameters; `ports` are those of its element."""
        raise NotImplementedError

    def demand(self, port: int) -> Demand | None:
        """The causality that it asks for at a port, by its place; None: whatever the others leave."""
        return None


class Storing(Law):
    """A law that stores energy in a state, and follows others where they decide its output."""

    gives: Variable
    """Its output in integral causality: the effort of a C, the flow of an I and an IC; its input is the other variable."""

    @property
    def follows(self) -> tuple[str, StateSpec]:
        """Local name of the state that it does not keep in derivative causality, since it follows from others."""
        raise NotImplementedError

    @property
    def ease(self) -> tuple[int | bool, ...]:
        """How easily it follows: of those that are coupled, the first in this order keep their states."""
        raise NotImplementedError

    def demand(self, port: int) -> Demand:
        return Demand(self.gives == "flow", Wish.INTEGRAL)


@short_repr
@dataclass(frozen=True, kw_only=True)
class Switched(Law):
    """A law that an automaton may switch."""

    automaton: str | None = None
    """As its graph calls it; in a flat model its path."""
    active: tuple[str, ...] = ()
    """States of the automaton in which it acts."""
    word: ClassVar[str] = "active"
    """What the argument is called that names them."""

    def stops(self, source: str, target: str) -> bool:
        """Whether an impulse brings something to rest as the automaton goes from one state to another."""
        return False

    @property
    def mode(self) -> str:
        """Signal of the automaton's mode."""
        return f"{self.automaton}.mode"


PORT = ("effort", "flow", "power")
"""Signals of every element of one port that takes or gives power."""
TWO_PORTS = ("1.effort", "1.flow", "2.effort", "2.flow")
