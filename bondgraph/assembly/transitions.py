"""Lowered transitions of automata (events): guards, resets, impulses when constraints become active, and descriptions."""

from __future__ import annotations

from dataclasses import replace

from bondgraph.assembly.draft import Assembly
from bondgraph.assembly.system import LoweredTransition, Statement
from bondgraph.causality.assign import Causality
from bondgraph.errors import Problem
from bondgraph.model.automata import Automaton, Transition
from bondgraph.model.element import Element
from bondgraph.model.laws import Storing, Switched
from bondgraph.model.model import Model
from bondgraph.model.ops import as_op, constant


def events_of(draft: Assembly) -> tuple[LoweredTransition, ...]:
    events, switched = [], _switched(draft.model)
    for slot, automaton in enumerate(draft.model.automata.values()):
        state_index = automaton.states.index
        for index, edge in enumerate(_edges(automaton)):
            prefix = f"{automaton.name}:{index}"
            guard = draft.declare(f"{prefix} guard", (), "")
            draft.write(automaton.name, as_op(edge.guard, "guard"), guard, *edge.signals)
            resets = []
            for state, op, args in edge.resets:
                value = draft.declare(f"{prefix} {state}", None, draft.values[state].unit if state in draft.values else "")
                draft.write(automaton.name, as_op(op, "reset"), value, *args)
                resets.append((state, value))
            kind = edge.kind or f"{automaton.name}: {edge.source} to {edge.target}"
            ends = state_index(edge.source), state_index(edge.target)
            event = LoweredTransition(automaton.name, slot, *ends, guard, tuple(resets), kind, edge.internal, edge.error)
            impulse = bool(edge.impact) or any(law.stops(edge.source, edge.target) for law in switched.get(automaton.name, ()))
            accumulated = None if edge.accumulates is None else state_index(edge.accumulates)
            passed = None if edge.passes is None else state_index(edge.passes)
            event = replace(event, impulse=impulse, impact=tuple(edge.impact), accumulates=accumulated, passes=passed)
            events.append(event)
    return tuple(events)


def _edges(automaton: Automaton) -> tuple[Transition, ...]:
    """Return the transitions, and add missing transitions, whose guards never fire, to the states that follow accumulations
    (Zeno)."""
    edges = list(automaton.transitions)
    for edge in automaton.transitions:
        at_rest = edge.accumulates
        if at_rest is not None and all((e.source, e.target) != (edge.target, at_rest) for e in edges):
            edges.append(Transition(edge.target, at_rest, constant(-1.0), (), kind=f"{automaton.name}: at rest"))
    return tuple(edges)


def _switched(model: Model) -> dict[str, list[Switched]]:
    switched: dict[str, list[Switched]] = {}
    for element in model.elements.values():
        if isinstance(element.law, Switched) and element.law.automaton is not None:
            switched.setdefault(element.law.automaton, []).append(element.law)
    return switched


def dependent_resets(model: Model, causality: Causality) -> list[Problem]:
    dependent = {f"{path}.{model.elements[path].law_as(Storing).follows[0]}": path for path in causality.derivative}
    return [
        Problem(
            "E120",
            f'automaton "{automaton.name}" resets "{target}", which is not an independent state',
            (f"it follows from {' and '.join(causality.forced_by.get(dependent[target], ())) or 'the rest of the graph'}",),
            (automaton.place,),
            ("reset the independent storage that determines it",),
        )
        for automaton in model.automata.values()
        for transition in automaton.transitions
        for target, _, _ in transition.resets
        if target in dependent
    ]


def owner_of(statement: Statement, model: Model) -> Element | Automaton | None:
    return model.elements.get(statement.element) or model.automata.get(statement.element)


def transition_in_words(statement: Statement, model: Model) -> str:
    """Return `guard of its transition from off to on`, or the same for a reset; "" for a statement of an element."""
    automaton = model.automata.get(statement.element)
    number, _, target = statement.outs[0].removeprefix(f"{statement.element}:").partition(" ")
    if automaton is None or not number.isdigit() or int(number) >= len(automaton.transitions):
        return ""
    edge = automaton.transitions[int(number)]
    role = "guard" if target == "guard" else f"reset of {target}"
    return f"{role} of its transition from {edge.source} to {edge.target}"
