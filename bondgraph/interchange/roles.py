"""Which values each formula of a model takes: an element, or a transition, in; the names of its formulas' arguments out.

One table for all laws (`ROLES`): their formulas are recorded for the shapes of these values, and read again for as many. The
law's own variables come first, then the element's parameters, then its signals.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bondgraph.assembly.draft import law_arguments
from bondgraph.assembly.ideal import NOT_IN_POSITION
from bondgraph.model import laws
from bondgraph.model.element import Element

Names = tuple[str, ...]
Role = Callable[[str, Element, Any], Mapping[str, Names]]
"""(path, element, its law) -> field of the law with a formula -> names of the formula's arguments."""


def _storage(path: str, element: Element, law: laws.Storage) -> dict[str, Names]:
    state, rest = f"{path}.{law.state}", law_arguments(path, element)
    taken, given = f"{path}.{laws.OTHER[law.gives]}", f"{path}.{law.gives}"
    own: dict[str, Names] = {"output": (state,), "energy": (state,), "rate": (state, taken), "inverse": (given,)}
    return {name: (*first, *rest) for name, first in own.items()}


def _inertial(path: str, element: Element, law: laws.InertialField) -> dict[str, Names]:
    q, v, rest = f"{path}.q", f"{path}.v", law_arguments(path, element)
    own: dict[str, Names] = {
        "flow": (q, f"{path}.{law.motion}"),
        "rate": (q, v, f"{path}.effort"),
        "energy": (q, v),
        "momentum": (q, v),
        "own_rate": (q, v),
    }
    return {name: (*first, *rest) for name, first in own.items()}


def _constraint(path: str, element: Element, law: laws.IdealConstraint) -> dict[str, Names]:
    read = (*(f"{path}.{name}" for name in element.parameters if name not in NOT_IN_POSITION), *element.signals)
    noted = (f"{path}.{name}" for name in law.noted)
    return {"position": read, "released": (law.mode, f"{path}.h'", *noted, *read)}


def _arguments(*fields: str, first: Names = ()) -> Role:
    """Formulas of an element's parameters and signals, after the variables `first` of its own."""

    def role(path: str, element: Element, law: laws.Law) -> dict[str, Names]:
        own = tuple(f"{path}.{name}" for name in first)
        return dict.fromkeys(fields, (*own, *law_arguments(path, element)))

    return role


def _resistor(path: str, element: Element, law: laws.Resistor) -> dict[str, Names]:
    rest = law_arguments(path, element)
    return {"effort": (f"{path}.flow", *rest), "flow": (f"{path}.effort", *rest)}


ROLES: dict[type[laws.Law], Role] = {
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
"""Kind of law -> the arguments of its own formulas. Those of the records inside a law follow by the functions below."""


def action_roles(path: str, element: Element) -> dict[str, Names]:
    """Of the products of a transformer."""
    rest = law_arguments(path, element)
    return {"forward": (*rest, f"{path}.1.flow"), "transposed": (*rest, f"{path}.2.effort")}


def mechanics_roles(path: str, element: Element) -> dict[str, Names]:
    """Of the energies of a configuration; its vectors are arrays of one entry where a bond has dimension 1."""
    q, v, rest = f"{path}.q", f"{path}.v", law_arguments(path, element)
    own: dict[str, Names] = {"inertia": (q,), "kinetic": (q, v), "potential": (q,), "bias": (q, v)}
    own["solution"] = (q, v, f"{path}.effort")
    return {name: (*first, *rest) for name, first in own.items()}


VECTORS = {"inertia": 1, "kinetic": 2, "potential": 1, "bias": 2, "solution": 3}
"""How many of the arguments of an energy are vectors of a configuration."""


def equation_role(path: str, element: Element, law: laws.SignalBlock, arguments: Sequence[str]) -> Names:
    """Of an equation of a block, from its local names; an unknown one is a KeyError."""
    outs = (out for equation in law.equations for out in equation.outs)
    names = {local: f"{path}.{local}" for local in (*element.parameters, *law.kept, *outs)}
    names |= dict(zip(law.inputs, element.signals, strict=True))
    return tuple(names[local] for local in arguments)
