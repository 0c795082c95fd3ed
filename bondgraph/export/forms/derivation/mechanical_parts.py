"""A compiled model in; its elements by what they do in mechanical equations, or E278 for one that has no place there, out."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from bondgraph.compile.compiled import Compiled
from bondgraph.errors import ModelError, refusal
from bondgraph.export.forms.derivation.structure import fresh, statement_of
from bondgraph.model import laws
from bondgraph.model.element import Element
from bondgraph.model.ops import Op

WITHOUT_POWER = (laws.Transformer, laws.Junction, laws.SignalBlock)
"""Laws whose flows are all that is asked of them."""


@dataclass
class MechanicalParts:
    """Elements by what they do in the equations, and what the model is cut at."""

    moving: dict[str, str] = field(default_factory=dict)
    """Independent inertia -> its flow."""
    following: list[str] = field(default_factory=list)
    """Inertias whose flow others set."""
    potentials: list[str] = field(default_factory=list)
    dampers: list[str] = field(default_factory=list)
    gyrators: list[str] = field(default_factory=list)
    sources: dict[str, str] = field(default_factory=dict)
    """Source -> the value that it gives."""
    constraints: list[str] = field(default_factory=list)
    symbols: dict[str, Any] = field(default_factory=dict)
    """Value -> the symbols that stand for it."""

    def paths(self) -> Iterator[str]:
        """All elements that take part."""
        kinds = (self.moving, self.following, self.potentials, self.dampers, self.gyrators, self.sources, self.constraints)
        return itertools.chain(*kinds)


def mechanical_parts(compiled: Compiled) -> MechanicalParts:
    """The elements of a model by what they do; E278 for one that does something else."""
    parts = MechanicalParts()
    for path, element in compiled.model.elements.items():
        _add(parts, compiled, path, element)
    if not parts.moving:
        raise no_form(compiled, next(iter(compiled.model.elements)), "no inertia of the model moves by itself")
    return parts


def no_form(compiled: Compiled, path: str, why: str, cure: str = "`state_equations` of the model as it is") -> ModelError:
    """E278, of an element."""
    element = compiled.model.elements[path]
    title = f'{element.kind} "{path}" has no place in mechanical equations'
    return refusal("E278", title, cure, about=compiled.system.name, why=why, places=(element.place,))


def values_wanted(compiled: Compiled, path: str) -> list[str]:
    """Values of an element that its part in the equations is made of: flows, positions, and what its formulas take."""
    system, law = compiled.system, compiled.model.elements[path].law
    if isinstance(law, laws.IdealConstraint):
        return [f"{path}.h'", *([f"{path}.h"] if law.position is not None else [])]
    formulas = _formulas(law)
    statements = [s for s in system.statements if s.element == path and any(s.op is op for op in formulas)]
    taken = [arg for s in statements for arg in s.args if not (isinstance(law, laws.Storage) and arg == f"{path}.p")]
    return [f"{path}.flow", *taken]


def _formulas(law: laws.Law) -> tuple[Op | None, ...]:
    """Formulas of a law whose arguments its part in the equations depends on."""
    if isinstance(law, laws.Storage):
        return law.output, law.rate, law.inverse
    if isinstance(law, laws.InertialField):
        return (law.energy,)
    if isinstance(law, laws.Resistor):
        return law.effort, law.flow
    if isinstance(law, laws.SkewGyrator):
        return (law.matrix,)
    return (law.value,) if isinstance(law, laws.Source) else ()


def _add(parts: MechanicalParts, compiled: Compiled, path: str, element: Element) -> None:
    law, system = element.law, compiled.system
    depends = path in compiled.causality.derivative
    if isinstance(law, laws.InertialField) or (isinstance(law, laws.Storage) and law.gives == "flow"):
        if isinstance(law, laws.Storage) and law.rate is not None:
            raise no_form(compiled, path, "its momentum is no integral of its effort")
        if isinstance(law, laws.Storage) and law.inverse is None:
            raise no_form(compiled, path, "its momentum is not given by its velocity", "`inertia`, or `inverse` for its formula")
        if depends:
            parts.following.append(path)
            return
        flow = system.resolve(f"{path}.flow")
        name = f"{path}.v" if isinstance(law, laws.InertialField) else f"{path}.flow"
        if isinstance(law, laws.InertialField) and law.motion == "v":
            flow = f"{path}.v"
        else:
            parts.symbols[flow] = fresh(system, flow, name)
        parts.moving[path] = flow
    elif isinstance(law, laws.Storage):
        if depends:
            raise no_form(compiled, path, "its displacement is set by others, so that its effort is no function of position")
        parts.potentials.append(path)
    elif isinstance(law, laws.Resistor):
        if law.effort is None:
            raise no_form(compiled, path, "its force is not given by its velocity", "`resistance`, or `effort` for its formula")
        parts.dampers.append(path)
    elif isinstance(law, laws.Source):
        if law.gives == "flow" and law.value is not None:
            raise no_form(compiled, path, "it moves a place as it likes, whatever force that takes")
        if law.value is not None:
            statement = statement_of(compiled, path, law.value)
            assert statement is not None
            parts.sources[path] = statement[1].outs[0]
    elif isinstance(law, laws.SkewGyrator):
        parts.gyrators.append(path)
    elif isinstance(law, laws.IdealConstraint) and law.automaton is None:
        parts.constraints.append(path)
    elif not isinstance(law, WITHOUT_POWER) or (isinstance(law, laws.Junction) and law.automaton is not None):
        raise no_form(compiled, path, "what it does is neither inertia, potential, damping, transmission nor force")
