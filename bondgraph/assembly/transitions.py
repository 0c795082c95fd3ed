"""Transitions of automata in terms of values: guards, resets, and impulses where constraints begin to hold."""

from __future__ import annotations

from bondgraph.assembly.draft import Assembly
from bondgraph.assembly.system import LoweredTransition
from bondgraph.causality.assign import Causality
from bondgraph.errors import Problem
from bondgraph.model.automata import Automaton, Transition
from bondgraph.model.laws import Storing, Switched
from bondgraph.model.model import Model
from bondgraph.model.ops import as_op, constant


def events_of(draft: Assembly) -> tuple[LoweredTransition, ...]:
    """All transitions of all automata, with statements for their guards and resets."""
    events = []
    for slot, automaton in enumerate(draft.model.automata.values()):
        for index, transition in enumerate(_edges(automaton)):
            prefix = f"{automaton.name}:{index}"
            guard = draft.declare(f"{prefix} guard", (), "")
            draft.write(automaton.name, as_op(transition.guard, "guard"), guard, *transition.signals)
            resets = []
            for state, op, args in transition.resets:
                value = draft.declare(f"{prefix} {state}", None, "")
                draft.write(automaton.name, as_op(op, "reset"), value, *args)
                resets.append((state, value))
            events.append(
                LoweredTransition(
                    automaton.name,
                    slot,
                    automaton.states.index(transition.source),
                    automaton.states.index(transition.target),
                    guard,
                    tuple(resets),
                    transition.kind or f"{automaton.name}: {transition.source} to {transition.target}",
                    transition.internal,
                    transition.error,
                    bool(transition.impact) or _begins(draft.model, automaton, transition),
                    transition.impact,
                    None if transition.accumulates is None else automaton.states.index(transition.accumulates),
                )
            )
    return tuple(events)


def _edges(automaton: Automaton) -> tuple[Transition, ...]:
    """The transitions, and for each state of rest to which none leads from where events accumulate, one without a guard."""
    found = list(automaton.transitions)
    for edge in automaton.transitions:
        rest = edge.accumulates
        if rest is not None and all((e.source, e.target) != (edge.target, rest) for e in found):
            found.append(Transition(edge.target, rest, constant(-1.0), (), kind=f"{automaton.name}: at rest"))
    return tuple(found)


def _begins(model: Model, automaton: Automaton, transition: Transition) -> bool:
    """Whether something that an impulse must bring to rest begins to hold at a transition."""
    for element in model.elements.values():
        law = element.law
        if isinstance(law, Switched) and law.automaton == automaton.name and law.stops(transition.source, transition.target):
            return True
    return False


def dependent_resets(model: Model, causality: Causality) -> list[Problem]:
    """Resets of states that follow from others."""
    dependent = {f"{path}.{model.elements[path].law_as(Storing).follows[0]}": path for path in causality.derivative}
    return [
        Problem(
            "E120",
            f'automaton "{automaton.name}" resets "{target}", which is no independent state',
            (f"it follows from {' and '.join(causality.forced_by.get(dependent[target], ())) or 'others'}",),
            (automaton.place,),
            ("reset the storage that it follows",),
        )
        for automaton in model.automata.values()
        for transition in automaton.transitions
        for target, _, _ in transition.resets
        if target in dependent
    ]
