"""Refusals of transitions, ticks and algebraic loops that a Modelica model cannot express, by the name of the element."""

from __future__ import annotations

from collections.abc import Iterator

from bondgraph.assembly.system import LoweredTransition
from bondgraph.compile.compiled import Compiled
from bondgraph.errors import ModelError, Problem
from bondgraph.export.code.content import Content, transition_text
from bondgraph.export.code.modelica.events import changes, is_end, tick_changes
from bondgraph.tracing.events.time_events import breaks_of

CURES = ("an FMU of the model, which brings its own solver along", "c_run(model, t_end), if a C program will do")


def refuse(compiled: Compiled, content: Content) -> None:
    """Raise `ModelError` with all that Modelica cannot express: E663 transitions, E664 ticks, E665 algebraic loops."""
    problems = [*_transitions(compiled, content), *_ticks(content), *_loops(content)]
    if problems:
        raise ModelError(compiled.model.name, problems)


def _transitions(compiled: Compiled, content: Content) -> Iterator[Problem]:
    system, start = content.system, content.start
    guards = compiled.program.guards
    positive = () if guards is None else guards(0.0, start.x, compiled.parameters(), start.m) > 0.0
    for k, event in enumerate(system.events):
        why = _reason(content, k, event)
        if not why and positive[k]:
            why = "its guard is positive at the start, so that it fires there: `when` waits for a guard to become positive"
        if why:
            title = f'the transition "{transition_text(system, event)}" cannot be written as Modelica'
            yield Problem("E663", title, (why,), (), CURES)


def _reason(content: Content, k: int, event: LoweredTransition) -> str:
    """Return why a transition cannot be written, "" if it can."""
    if event.accumulates is not None:
        return "it happens ever faster and comes to rest: infinitely many events in finite time"
    if k in content.pushes:
        return "its impulse may be answered by another transition at the same instant"
    if content.system.boxes or event.passes is not None:
        return "dry friction decides at each event between sticking and slipping, for all contacts at once"
    if is_end(event) or not changes(content, k) or not content.loops:
        return ""
    elements = ", ".join(f'"{name}"' for loop, _ in content.loops for name in loop.guesses)
    return f"states jump, and the unknowns of a nonlinear algebraic loop ({elements}) are solved anew there"


def _ticks(content: Content) -> Iterator[Problem]:
    owners: dict[int, str] = {}
    events = {i: e.automaton for k, e in enumerate(content.system.events) for i in changes(content, k)}
    for k, tick in enumerate(content.ticks):
        for i in tick_changes(content, k):
            other = owners.setdefault(i, tick.element)
            shared = other if other != tick.element else events.get(i, "")
            if shared:
                title = f'the ticks of "{tick.element}" cannot be written as Modelica'
                why = f'"{shared}" sets the same state, and both may happen at one instant'
                yield Problem("E664", title, (why,), (), CURES)
                break
        if tick.period is None and content.start.p[tick.offset] <= 0.0:
            title = f'the tick of "{tick.element}" cannot be written as Modelica'
            yield Problem("E664", title, ("it is at the start, where `when` does not fire",), (), CURES)


def _loops(content: Content) -> Iterator[Problem]:
    if content.loops and (content.ticks or breaks_of(content.system) is not None):
        names = ", ".join(f'"{name}"' for loop, _ in content.loops for name in loop.guesses)
        why = f"at ticks and breaks of time its unknowns ({names}) jump, and are solved anew"
        title = "the nonlinear algebraic loop cannot be written as Modelica"
        yield Problem("E665", title, (why,), (), ("a small C or I in the loop", *CURES))
