"""Checks of structure: junctions, signal blocks, automata and the elements that they switch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from bondgraph.errors import Problem, caller_place
from bondgraph.model.laws import IdealConstraint, Junction, SignalBlock, Switched
from bondgraph.model.modal import modal_parameters
from bondgraph.model.model import Model
from screws.errors import plural


def check_parts(model: Model) -> Iterator[Problem]:
    if not model.elements:
        cures = ("graph.connect(tail, head) or graph.add(part)",)
        yield Problem("E152", f'graph "{model.name}" has no elements', places=(caller_place(),), cures=cures)


def check_junctions(model: Model) -> Iterator[Problem]:
    for path, element in model.elements.items():
        if not isinstance(element.law, Junction):
            continue
        bonds = len(model.bonds_at(path))
        if bonds < (1 if path in model.exposed else 2):
            title = f'junction {element.kind} "{path}" has {plural(bonds, "bond")}'
            cures = ("connect more elements to it, or connect its neighbour directly",)
            yield Problem("E115", title, ("a junction with fewer than two bonds joins nothing",), (element.place,), cures)


def check_blocks(model: Model) -> Iterator[Problem]:
    """Check that blocks define each local name once, use only defined names, and change every state (E118)."""
    reset = {target for a in model.automata.values() for t in a.transitions for target, _, _ in t.resets}
    for path, element in model.elements.items():
        law = element.law
        if not isinstance(law, SignalBlock):
            continue
        arguments = [*element.parameters, *law.inputs, *law.kept]
        outs = [out for equation in law.equations for out in equation.outs]
        twice = [name for name, count in Counter(arguments + outs).items() if count > 1]
        used = {arg for equation in law.equations for arg in equation.args}
        used |= {*law.rates.values(), *law.updates.values(), *law.breaks}
        unknown = used - set(arguments) - set(outs)
        constant = {state for state in law.kept if f"{path}.{state}" not in reset} - set(law.rates) - set(law.updates)
        stateless = {*law.rates, *law.updates} - set(law.kept)
        unclocked = set(law.updates) if law.offset is None and law.delay is None else set()
        timeless = {name for name in (law.period, law.offset, *law.breaks) if name} - set(element.parameters)
        for names, says, cure in (
            (twice, "has several definitions of", "one equation, parameter, input or state for each name"),
            (unknown, "uses but does not define", "an equation, parameter, input or state of this name"),
            (constant, "has no rate for its state", "rates={<state>: <local name>}, or a transition that resets it"),
            (stateless, "has a rate or update but no state", "states={<state>: StateSpec(<start>)}"),
            (unclocked, "has no clock for the updates of", "a period, an offset, or both"),
            (timeless, "takes times from values other than its own parameters:", "a parameter in s"),
        ):
            if names:
                yield Problem("E118", f'block "{path}" {says} {", ".join(sorted(names))}', (), (element.place,), (cure,))


def check_switches(model: Model) -> Iterator[Problem]:
    for path, element in model.elements.items():
        law = element.law
        if not isinstance(law, Switched) or law.automaton is None:
            continue
        automaton = model.automata.get(law.automaton)
        states = automaton.states if automaton else ()
        if not law.active or not set(law.active) <= set(states):
            switched = "switched junction " if isinstance(law, Junction) else ""
            title = f'{switched}{element.kind} "{path}" is not {law.word} in any known state'
            details = (f"{law.word}: {', '.join(law.active) or 'none'}", f"states: {', '.join(states) or 'none'}")
            yield Problem("E116", title, details, (element.place,), (f"name states of its automaton in `{law.word}`",))


def check_impacts(model: Model) -> Iterator[Problem]:
    for automaton in model.automata.values():
        for transition in automaton.transitions:
            for path in transition.impact:
                element = model.elements.get(path)
                if element is None or not isinstance(element.law, IdealConstraint):
                    says, cure = f'"{path}" is not a Constraint', "name a Constraint of the same graph in `impact`"
                elif "restitution" not in element.parameters:
                    says, cure = f'Constraint "{path}" has no restitution', f'Constraint("{path}", restitution=0.8)'
                else:
                    continue
                title = f'an impact of automaton "{automaton.name}" has no effect'
                details = (f"in its transition from {transition.source} to {transition.target}: {says}",)
                yield Problem("E211", title, details, (automaton.place, element.place if element else None), (cure,))


def check_automata(model: Model) -> Iterator[Problem]:
    for automaton in model.automata.values():
        named = {automaton.initial} | {s for t in automaton.transitions for s in (t.source, t.target)}
        named |= {s for t in automaton.transitions for s in (t.accumulates, t.passes) if s is not None}
        unknown = sorted(named - set(automaton.states))
        twice = sorted({state for state in automaton.states if automaton.states.count(state) > 1})
        for states, says in ((unknown, "uses unknown states"), (twice, "has duplicate states")):
            if states:
                title = f'automaton "{automaton.name}" {says}: {", ".join(states)}'
                cures = ("list every state once in `states`, and use these names",)
                if automaton.name in model.elements and automaton.states:
                    cures = (f'initial="{automaton.states[0]}", or another of its states',)
                yield Problem("E117", title, (f"its states: {', '.join(automaton.states) or 'none'}",), (automaton.place,), cures)


def check_resets(model: Model) -> Iterator[Problem]:
    if not model.automata:
        return
    states = {f"{path}.{name}" for path, element in model.elements.items() for name in element.law.states()}
    for automaton in model.automata.values():
        for transition in automaton.transitions:
            for target, _, _ in transition.resets:
                if target not in states:
                    title = f'automaton "{automaton.name}" resets "{target}", which is not a state'
                    details = (f"in its transition from {transition.source} to {transition.target}",)
                    cures = ("reset states only: <storage>.q, <storage>.p or a block's state",)
                    yield Problem("E120", title, details, (automaton.place,), cures)


def check_values_by_mode(model: Model) -> Iterator[Problem]:
    for path, element in model.elements.items():
        for name, by_mode in modal_parameters(element).items():
            states = model.automata[by_mode.automaton].states if by_mode.automaton in model.automata else ()
            shapes = {np.shape(value) for value in by_mode.values.values()}
            if set(by_mode.values) != set(states) or len(shapes) != 1:
                title = f'{element.kind} "{path}": the values of {name} by mode do not match the automaton "{by_mode.automaton}"'
                values = f"values for: {', '.join(by_mode.values) or 'none'}; shapes: {', '.join(map(str, sorted(shapes)))}"
                details = (values, f"states: {', '.join(states) or 'none'}")
                yield Problem("E139", title, details, (element.place,), ("one value for each state, all of the same shape",))
