"""Checks of automata and of what they switch."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bondgraph.errors import Problem
from bondgraph.model.laws import IdealConstraint, Junction, Switched
from bondgraph.model.modal import modal_parameters
from bondgraph.model.model import Model


def check_switches(model: Model) -> Iterator[Problem]:
    """A switched junction, constraint or switch names states that its automaton has."""
    for path, element in model.elements.items():
        law = element.law
        if not isinstance(law, Switched) or law.automaton is None:
            continue
        automaton = model.automata.get(law.automaton)
        states = automaton.states if automaton else ()
        if not law.active or not set(law.active) <= set(states):
            switched = "switched junction " if isinstance(law, Junction) else ""
            title = f'{switched}{element.kind} "{path}" is {law.word} in no known state'
            details = (f"{law.word}: {', '.join(law.active) or 'none'}", f"states: {', '.join(states) or 'none'}")
            yield Problem("E116", title, details, (element.place,), (f"name states of its automaton in `{law.word}`",))


def check_impacts(model: Model) -> Iterator[Problem]:
    """Impacts turn round the flow of constraints that have a restitution."""
    for automaton in model.automata.values():
        for transition in automaton.transitions:
            for path in transition.impact:
                element = model.elements.get(path)
                if element is None or not isinstance(element.law, IdealConstraint):
                    says, cure = f'"{path}" is no Constraint', "name a Constraint of the same graph in `impact`"
                elif "restitution" not in element.parameters:
                    says, cure = f'Constraint "{path}" has no restitution', f'Constraint("{path}", restitution=0.8)'
                else:
                    continue
                title = f'automaton "{automaton.name}" has an impact that nothing takes'
                details = (f"in its transition from {transition.source} to {transition.target}: {says}",)
                yield Problem("E211", title, details, (automaton.place, element.place if element else None), (cure,))


def check_automata(model: Model) -> Iterator[Problem]:
    """States are named once; start states and the ends of transitions are states of their automaton."""
    for automaton in model.automata.values():
        named = {automaton.initial} | {s for t in automaton.transitions for s in (t.source, t.target)}
        named |= {t.accumulates for t in automaton.transitions if t.accumulates is not None}
        unknown = sorted(named - set(automaton.states))
        twice = sorted({state for state in automaton.states if automaton.states.count(state) > 1})
        for states, says in ((unknown, "speaks of unknown states"), (twice, "has two states of one name")):
            if states:
                title = f'automaton "{automaton.name}" {says}: {", ".join(states)}'
                cures = ("list every state once in `states`, and use these names",)
                yield Problem("E117", title, (f"its states: {', '.join(automaton.states) or 'none'}",), (automaton.place,), cures)


def check_resets(model: Model) -> Iterator[Problem]:
    """Resets set states."""
    if not model.automata:
        return
    states = {f"{path}.{name}" for path, element in model.elements.items() for name in element.law.states()}
    for automaton in model.automata.values():
        for transition in automaton.transitions:
            for target, _, _ in transition.resets:
                if target not in states:
                    title = f'automaton "{automaton.name}" resets "{target}", which is no state'
                    details = (f"in its transition from {transition.source} to {transition.target}",)
                    cures = ("reset states only: <storage>.q, <storage>.p or a block's state",)
                    yield Problem("E120", title, details, (automaton.place,), cures)


def check_values_by_mode(model: Model) -> Iterator[Problem]:
    """A value by mode has a number for each state of its automaton, all of one shape."""
    for path, element in model.elements.items():
        for name, given in modal_parameters(element).items():
            states = model.automata[given.automaton].states if given.automaton in model.automata else ()
            shapes = {np.shape(value) for value in given.values.values()}
            if set(given.values) != set(states) or len(shapes) != 1:
                title = f'{element.kind} "{path}": {name} by mode does not fit the automaton "{given.automaton}"'
                found = f"values for: {', '.join(given.values) or 'none'}; shapes: {', '.join(map(str, sorted(shapes)))}"
                details = (found, f"states: {', '.join(states) or 'none'}")
                yield Problem("E139", title, details, (element.place,), ("one value for each state, all of one shape",))
