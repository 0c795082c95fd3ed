"""Assembly of models with dry friction, whose law depends on its position in the graph.

Friction with an inertia sets its effort, so it can keep its flow at zero. Friction connected only to springs takes its effort
from the springs and sets its flow (Prandtl, Jenkin). If the effort has no influence on the flow, for example because a
source sets the flow, the equation of the stick state would be singular; the friction then has a law without an unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from bondgraph.assembly.assemble import assemble
from bondgraph.assembly.indeterminate import Indeterminate
from bondgraph.assembly.system import System, Unknown
from bondgraph.causality.assign import Causality
from bondgraph.elements.friction import STICK, with_commanded_law, with_flow_law
from bondgraph.model.automata import Automaton
from bondgraph.model.element import Element
from bondgraph.model.laws import IdealConstraint
from bondgraph.model.model import Model
from bondgraph.model.ops import TIME_DERIVATIVE
from bondgraph.passes.aliases import remove_aliases


def assemble_frictions(model: Model, causality: Causality) -> System:
    """Return the statements of a model without aliases, with the law of each dry friction chosen by its position in the graph."""
    sprung = _with_springs_at_frictions(model, causality)
    system = remove_aliases(assemble(sprung, causality))
    paths = _without_influence(sprung, system)
    if not paths:
        return system
    system = remove_aliases(assemble(_changed(sprung, paths, with_commanded_law), causality))
    names = list(model.automata)
    rests = [(path, names.index(path), model.automata[path].states.index(STICK)) for path in paths]
    return replace(
        system,
        indeterminate=tuple(Indeterminate({path: STICK}, {slot: state}, (f"{path}.effort",)) for path, slot, state in rests),
    )


def is_dry_friction(element: Element, model: Model) -> bool:
    """Return True for dry friction: a constraint switched by its own automaton, with an effort in all states."""
    law = element.law
    if not isinstance(law, IdealConstraint) or law.released is None or law.automaton != element.name:
        return False
    return law.active == (STICK,) and law.automaton in model.automata


def _with_springs_at_frictions(model: Model, causality: Causality) -> Model:
    bonds = {path: model.bonds_at(path)[0] for path, element in model.elements.items() if is_dry_friction(element, model)}
    return _changed(model, [path for path, bond in bonds.items() if causality.effort_into(bond, path)], with_flow_law)


def _without_influence(model: Model, system: System) -> list[str]:
    frictions = {path for path, element in model.elements.items() if is_dry_friction(element, model)}
    holding = [u for u in system.unknowns if u.element in frictions and u.reason == "constraint"]
    influence = _Influence(system) if holding else None
    return [u.element for u in holding if influence is not None and not influence.reaches(u)]


def _changed(model: Model, paths: Sequence[str], change: Callable[[Element, Automaton], tuple[Element, Automaton]]) -> Model:
    if not paths:
        return model
    elements, automata = dict(model.elements), dict(model.automata)
    for path in paths:
        elements[path], automata[path] = change(elements[path], automata[path])
    return replace(model, elements=elements, automata=automata)


class _Influence:
    """Influence of values on other values at the same instant: through statements, rates of differentiated states, and
    unknowns."""

    def __init__(self, system: System):
        rates = {state.name: state.rate for state in system.states}
        early = {out: s.args for s in system.statements if s.op is not TIME_DERIVATIVE for out in s.outs}
        arguments = dict[str, Sequence[str]]()
        self._after: dict[str, list[str]] = {}
        for statement in system.statements:
            args: Sequence[str] = statement.args
            if statement.op is TIME_DERIVATIVE:
                args = tuple(rates[name] for name in sorted(_sources(args, early)) if name in rates)
            for arg in args:
                self._after.setdefault(arg, []).extend(statement.outs)
            arguments |= dict.fromkeys(statement.outs, args)
        values = {unknown.value for unknown in system.unknowns}
        self._residuals: Mapping[str, Sequence[str]] = {
            u.residual: [name for name in _sources([u.residual], arguments) if name in values] for u in system.unknowns
        }

    def reaches(self, unknown: Unknown) -> bool:
        """Return True if an unknown acts on the value that its element keeps at zero, or on its rate."""
        seen, pending = set[str](), [unknown.value]
        while pending:
            name = pending.pop()
            if name in (unknown.held, unknown.vanishing):
                return True
            if name in seen or name == unknown.residual:
                continue
            seen.add(name)
            pending += self._after.get(name, ())
            pending += self._residuals.get(name, ())
        return False


def _sources(names: Iterable[str], arguments: Mapping[str, Sequence[str]]) -> set[str]:
    seen, pending = set[str](), list(names)
    while pending:
        name = pending.pop()
        if name not in seen:
            seen.add(name)
            pending += arguments.get(name, ())
    return seen
