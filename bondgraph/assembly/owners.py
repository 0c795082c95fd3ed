"""Whose formula a statement carries out, in words for a message."""

from __future__ import annotations

from bondgraph.assembly.system import Statement
from bondgraph.model.automata import Automaton
from bondgraph.model.element import Element
from bondgraph.model.model import Model


def owner_of(statement: Statement, model: Model) -> Element | Automaton | None:
    """The element or automaton that a statement belongs to."""
    return model.elements.get(statement.element) or model.automata.get(statement.element)


def transition_in_words(statement: Statement, model: Model) -> str:
    """`guard of its transition from off to on`, or what that sets; "" for a statement of an element."""
    automaton = model.automata.get(statement.element)
    number, _, what = statement.outs[0].removeprefix(f"{statement.element}:").partition(" ")
    if automaton is None or not number.isdigit() or int(number) >= len(automaton.transitions):
        return ""
    edge = automaton.transitions[int(number)]
    role = "guard" if what == "guard" else f"reset of {what}"
    return f"{role} of its transition from {edge.source} to {edge.target}"
