"""Report of a compiled model as text or HTML: strokes, dependent storages, algebraic loops, constraints, modes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

import numpy as np

from bondgraph.assembly.system import Loop, System
from bondgraph.causality.assign import Causality
from bondgraph.model.laws import IdealConstraint, IdealSwitch, Junction, Storing
from bondgraph.model.model import Model
from bondgraph.output.cells import cell, collapsible, items, line
from screws.errors import plural


def sections(model: Model, causality: Causality, system: System) -> dict[str, list[str]]:
    parts: tuple[tuple[str, Iterable[str]], ...] = (
        ("strokes", _strokes(model, causality)),
        ("storages in derivative causality", _dependent(model, causality)),
        ("algebraic loops", (_loop(loop, system, model) for loop in system.loops)),
        ("constraints and switches", _constraints(model, system)),
        ("modes", _modes(system)),
        *((("redundant constraints", _repeating(system)),) if system.closing and system.closing.repeating else ()),
    )
    if model.references:
        parts += (("references of networks without ground", _references(model)),)
    if model.ambient:
        parts += (("open heat ports, whose heat goes to the surroundings", (f'"{path}"' for path in model.ambient)),)
    if system.indeterminate:
        parts += (("indeterminate efforts and flows, determined by least norm", _shares(system)),)
    return {title: list(entries) for title, entries in parts}


def size(model: Model, system: System) -> str:
    states = sum(np.size(state.initial) for state in system.states)
    return f"{plural(len(model.elements), 'element')}, {plural(len(model.bonds), 'bond')}, {plural(states, 'state')}"


def report(model: Model, causality: Causality, system: System) -> str:
    lines = [f'"{model.name}": {size(model, system)}']
    for title, entries in sections(model, causality, system).items():
        lines += [title + ("" if entries else ": none"), *(f"  {entry}" for entry in entries)]
    return "\n".join(lines)


def report_cell(model: Model, causality: Causality, system: System) -> str:
    parts = sections(model, causality, system).items()
    none = ", ".join(title for title, entries in parts if not entries)
    shown = [collapsible(f"{title} ({len(entries)})", items(entries, limit=None)) for title, entries in parts if entries]
    return cell(line(model.name, size(model, system)), *shown, *([line("none", none)] if none else []))


def _strokes(model: Model, causality: Causality) -> Iterator[str]:
    for bond in model.bonds:
        head = causality.effort_into_head[bond.name]
        tail_name, head_name = bond.tail.element, bond.head.element
        picture = f"{tail_name} ---> | {head_name}" if head else f"{tail_name} | ---> {head_name}"
        free = " (a free choice)" if bond.name in causality.chosen else ""
        yield f"{picture}   {tail_name if head else head_name} sets the effort{free}"


def _dependent(model: Model, causality: Causality) -> Iterator[str]:
    for path in causality.derivative:
        element = model.elements[path]
        others = ", ".join(f'{e.kind} "{e.name}"' for e in model.elements_at(causality.forced_by.get(path, ())))
        yield f'{element.kind} "{path}": its {element.law_as(Storing).gives} is set by {others or "the rest of the graph"}'


def _references(model: Model) -> Iterator[str]:
    for path in model.references:
        element = model.elements[path]
        common, dual = ("effort", "flow") if element.law_as(Junction).type == 0 else ("flow", "effort")
        yield f'{element.kind} "{path}": its {common} is set to zero, and this reference has no {dual}'


def _loop(loop: Loop, system: System, model: Model) -> str:
    paths = list(dict.fromkeys(s.element for s in system.statements[loop.start : loop.stop]))
    closing = [e for e in model.elements_at(paths) if not isinstance(e.law, Junction)] or model.elements_at(paths)
    count = sum(math.prod(system.values[u.value].shape or ()) for u in loop.unknowns)
    how = "Newton's method along the run" if loop.guesses else "solved in place"
    names = ", ".join(f'{e.kind} "{e.name}"' for e in closing)
    return f"{names}: {plural(count, 'unknown')}, {how}"


def _constraints(model: Model, system: System) -> Iterator[str]:
    algebraic = {u.element for u in system.unknowns if u.algebraic}
    reasons = {u.element: u.reason for u in system.unknowns}
    for path, element in model.elements.items():
        law = element.law
        if isinstance(law, (IdealConstraint, IdealSwitch)):
            if isinstance(law, IdealConstraint) and law.released is not None and reasons.get(path) != "constraint":
                springs = "takes its effort from springs; its flow is the unknown"
                yield f'{element.kind} "{path}": {springs if path in reasons else "cannot set its flow, which a source sets"}'
                continue
            when = "closed" if isinstance(law, IdealSwitch) else "holds"
            where = "always" if law.automaton is None else f'in {", ".join(law.active)} of "{law.automaton}"'
            once = "" if path in algebraic else "the derivative of "
            yield f'{element.kind} "{path}": {when} {where}; {once}the vanishing quantity determines the unknown'


def _repeating(system: System) -> Iterator[str]:
    assert system.closing is not None
    rows = [system.closing.owners[k] for k in system.closing.repeating]
    counts = ", ".join(f'"{path}" ({rows.count(path)})' for path in dict.fromkeys(rows))
    yield f"some of these conditions are redundant: {counts}"
    yield "the motion is unique, but the forces are not: the forces of least norm are returned"


def _shares(system: System) -> Iterator[str]:
    for mode in system.indeterminate:
        names = ", ".join(mode.quantities) or "nothing"
        ends = "; a run that remains in this mode ends (E220), unless the equations are consistent" if mode.contradicts else ""
        yield f"in {mode}: {names}{ends if mode.unique else '; the motion is not determined, which ends a run (E220)'}"


def _modes(system: System) -> Iterator[str]:
    for mode in system.modes.values():
        listed = ", ".join(f"{state} (start)" if state == mode.start else state for state in mode.states)
        yield f"{mode.automaton}: {listed}"
