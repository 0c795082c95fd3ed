"""Refusals of transitions and ticks that a Modelica model cannot express, with the name of the element."""

from __future__ import annotations

from collections.abc import Iterator

from bondgraph.assembly.system import LoweredTransition
from bondgraph.errors import ModelError, Problem
from bondgraph.export.code.content import Content, transition_text
from bondgraph.export.code.modelica.events import changes, tick_changes

CURES = ("an FMU of the model, which contains its solver", "c_run(model, t_end), if a C program is sufficient")


def refuse(content: Content) -> None:
    """Raise `ModelError` with every transition (E663) and tick (E664) that Modelica cannot express."""
    problems = [*_transitions(content), *_ticks(content)]
    if problems:
        raise ModelError(content.system.name, problems)


def _transitions(content: Content) -> Iterator[Problem]:
    for k, event in enumerate(content.system.events):
        if why := _reason(content, k, event):
            title = f'the transition "{transition_text(content.system, event)}" cannot be exported to Modelica'
            yield Problem("E663", title, (why,), (), CURES)


def _reason(content: Content, k: int, event: LoweredTransition) -> str:
    if event.accumulates is not None:
        return "its events accumulate: infinitely many of them occur in finite time"
    if k in content.pushes:
        return "another transition may respond to its impulse at the same instant"
    if content.system.boxes or event.passes is not None:
        return "dry friction decides between sticking and slipping at each event, for all contacts simultaneously"
    return ""


def _ticks(content: Content) -> Iterator[Problem]:
    owners: dict[int, str] = {}
    events = {i: e.automaton for k, e in enumerate(content.system.events) for i in changes(content, k)}
    for k, tick in enumerate(content.ticks):
        for i in tick_changes(content, k):
            other = owners.setdefault(i, tick.element)
            shared = other if other != tick.element else events.get(i, "")
            if shared:
                title = f'the ticks of "{tick.element}" cannot be exported to Modelica'
                why = f'"{shared}" sets the same state, possibly at the same time'
                yield Problem("E664", title, (why,), (), CURES)
                break
