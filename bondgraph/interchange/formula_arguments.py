"""Arguments of all formulas of a model: their names, by element or transition, and their shapes.

One table for all laws (`ARGUMENTS`): formulas are recorded for the shapes of these values, and checked on reading. The law's own
variables come first, then the element's parameters, then its signals.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bondgraph.assembly.draft import law_arguments
from bondgraph.assembly.ideal import NOT_IN_POSITION
from bondgraph.assembly.system import System
from bondgraph.interchange.formulas import Shape
from bondgraph.model import laws
from bondgraph.model.automata import Transition
from bondgraph.model.element import Element
from bondgraph.model.mechanics import Mechanics
from bondgraph.model.model import Model

Names = tuple[str, ...]
LawArguments = Callable[[str, Element, Any], Mapping[str, Names]]
"""(path, element, its law) -> field of the law with a formula -> names of the formula's arguments."""


def _storage(path: str, element: Element, law: laws.Storage) -> dict[str, Names]:
    state, arguments = f"{path}.{law.state}", law_arguments(path, element)
    input, output = f"{path}.{laws.OTHER[law.gives]}", f"{path}.{law.gives}"
    first_arguments: dict[str, Names] = {"output": (state,), "energy": (state,), "rate": (state, input), "inverse": (output,)}
    return {name: (*first, *arguments) for name, first in first_arguments.items()}


def _inertial(path: str, element: Element, law: laws.InertialField) -> dict[str, Names]:
    q, v, arguments = f"{path}.q", f"{path}.v", law_arguments(path, element)
    first_arguments: dict[str, Names] = {
        "flow": (q, f"{path}.{law.motion}"),
        "rate": (q, v, f"{path}.effort"),
        "energy": (q, v),
        "momentum": (q, v),
        "own_rate": (q, v),
    }
    return {name: (*first, *arguments) for name, first in first_arguments.items()}


def _constraint(path: str, element: Element, law: laws.IdealConstraint) -> dict[str, Names]:
    read = (*(f"{path}.{name}" for name in element.parameters if name not in NOT_IN_POSITION), *element.signals)
    noted = (f"{path}.{name}" for name in law.noted)
    return {"position": read, "released": (law.mode, f"{path}.h'", *noted, *read)}


def _arguments(*fields: str, first: Names = ()) -> LawArguments:
    """Return the function for formulas of an element's parameters and signals, after its own variables `first`."""

    def role(path: str, element: Element, law: laws.Law) -> dict[str, Names]:
        first_arguments = tuple(f"{path}.{name}" for name in first)
        return dict.fromkeys(fields, (*first_arguments, *law_arguments(path, element)))

    return role


def _resistor(path: str, element: Element, law: laws.Resistor) -> dict[str, Names]:
    arguments = law_arguments(path, element)
    return {"effort": (f"{path}.flow", *arguments), "flow": (f"{path}.effort", *arguments)}


ARGUMENTS: dict[type[laws.Law], LawArguments] = {
    laws.Storage: _storage,
    laws.InertialField: _inertial,
    laws.Resistor: _resistor,
    laws.Reaction: _arguments("flow", first=("1.effort", "2.effort")),
    laws.IdealConstraint: _constraint,
    laws.IdealSwitch: _arguments(),
    laws.Source: _arguments("value"),
    laws.Transformer: _arguments("matrix"),
    laws.Gyrator: _arguments("matrix"),
    laws.SkewGyrator: _arguments("matrix"),
    laws.Junction: _arguments(),
    laws.SignalBlock: _arguments(),
}
"""Kind of law -> the arguments of its own formulas. The functions below give those of the records inside a law."""


def action_arguments(path: str, element: Element) -> dict[str, Names]:
    """Return the arguments of the products of a transformer."""
    arguments = law_arguments(path, element)
    return {"forward": (*arguments, f"{path}.1.flow"), "transposed": (*arguments, f"{path}.2.effort")}


def mechanics_arguments(path: str, element: Element) -> dict[str, Names]:
    """Return the arguments of the energies of a configuration; its vectors are arrays of one entry if a bond has dimension 1."""
    q, v, arguments = f"{path}.q", f"{path}.v", law_arguments(path, element)
    first_arguments: dict[str, Names] = {"inertia": (q,), "kinetic": (q, v), "potential": (q,), "bias": (q, v)}
    first_arguments["solution"] = (q, v, f"{path}.effort")
    return {name: (*first, *arguments) for name, first in first_arguments.items()}


VECTOR_ARGUMENTS = {"inertia": 1, "kinetic": 2, "potential": 1, "bias": 2, "solution": 3}
"""Number of arguments of an energy that are vectors of a configuration."""


def equation_arguments(path: str, element: Element, law: laws.SignalBlock, arguments: Sequence[str]) -> Names:
    """Return the arguments of an equation of a block, from its local names; an unknown one is a KeyError."""
    outs = (out for equation in law.equations for out in equation.outs)
    names = {local: f"{path}.{local}" for local in (*element.parameters, *law.kept, *outs)}
    names |= dict(zip(law.inputs, element.signals, strict=True))
    return tuple(names[local] for local in arguments)


@dataclass
class FormulaOwner:
    """Element or automaton whose formulas are visited, by its path."""

    model: Model
    path: str = ""
    transition: Transition | None = None
    roles: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def element(self) -> Element:
        """Return the element."""
        return self.model.elements[self.path]

    def arguments(self, record: Any, name: str, index: int = 0) -> tuple[str, ...] | None:
        """Return the names of a formula's arguments, by record and field, of the `index`-th of several; None for no formula."""
        if isinstance(record, Transition):
            return tuple(record.signals if name == "guard" else record.resets[index][2])
        if isinstance(record, laws.Equation):
            return equation_arguments(self.path, self.element, self.element.law_as(laws.SignalBlock), record.args)
        if isinstance(record, laws.Action):
            return action_arguments(self.path, self.element)[name]
        if isinstance(record, Mechanics):
            return mechanics_arguments(self.path, self.element)[name]
        law_arguments = ARGUMENTS.get(type(record))
        return None if law_arguments is None else law_arguments(self.path, self.element, record).get(name)


def argument_shapes(system: System, record: Any, name: str, arguments: Sequence[str]) -> list[Shape] | None:
    """Return the shapes of the arguments of a formula; None if one is unknown."""
    shapes = []
    for index, argument in enumerate(arguments):
        value = system.values.get(system.resolve(argument))
        if value is None or value.shape is None:
            return None
        shape = value.shape
        if isinstance(record, Mechanics) and not record.scalar and index < VECTOR_ARGUMENTS[name]:
            shape = shape or (1,)
        shapes.append(shape)
    return shapes


def result_count(record: Any) -> int:
    """Return the number of results of a formula of a record."""
    return len(record.outs) if isinstance(record, laws.Equation) else 1
