"""The shapes of what the formulas of a model take: the system that its equations are in; shapes of arguments by names out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bondgraph.assembly.system import System
from bondgraph.interchange.formulas import Shape
from bondgraph.interchange.roles import ROLES, VECTORS, action_roles, equation_role, mechanics_roles
from bondgraph.model import laws
from bondgraph.model.automata import Transition
from bondgraph.model.element import Element
from bondgraph.model.mechanics import Mechanics
from bondgraph.model.model import Model


@dataclass
class Owner:
    """Whose formulas are looked at: an element of a model, or an automaton, by its path."""

    model: Model
    path: str = ""
    transition: Transition | None = None
    roles: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def element(self) -> Element:
        """The element."""
        return self.model.elements[self.path]

    def arguments(self, record: Any, name: str, index: int = 0) -> tuple[str, ...] | None:
        """Names of what a formula in a field of a record takes, the `index`-th of several; None of no such formula."""
        if isinstance(record, Transition):
            return tuple(record.signals if name == "guard" else record.resets[index][2])
        if isinstance(record, laws.Equation):
            return equation_role(self.path, self.element, self.element.law_as(laws.SignalBlock), record.args)
        if isinstance(record, laws.Action):
            return action_roles(self.path, self.element)[name]
        if isinstance(record, Mechanics):
            return mechanics_roles(self.path, self.element)[name]
        role = ROLES.get(type(record))
        return None if role is None else role(self.path, self.element, record).get(name)


def shapes_of(system: System, record: Any, name: str, arguments: Sequence[str]) -> list[Shape] | None:
    """Shapes of the arguments of a formula; None where one is not known."""
    found = []
    for place, argument in enumerate(arguments):
        value = system.values.get(system.resolve(argument))
        if value is None or value.shape is None:
            return None
        shape = value.shape
        if isinstance(record, Mechanics) and not record.scalar and place < VECTORS[name]:
            shape = shape or (1,)
        found.append(shape)
    return found


def outs_of(record: Any) -> int:
    """How many results a formula of a record has."""
    return len(record.outs) if isinstance(record, laws.Equation) else 1
