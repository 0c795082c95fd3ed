"""Modelica source of a compiled model: one flat model of explicit equations, with transitions and ticks as `when` clauses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from bondgraph.compile.pipeline import Compilable, compiled_form
from bondgraph.errors import refusal
from bondgraph.export.code.content import Content, Entry, content_of, count
from bondgraph.export.code.modelica.events import Variables, changes, clauses, reset_unknowns, tick_changes
from bondgraph.export.code.modelica.expressions import FUNCTIONS, RoutineText
from bondgraph.export.code.modelica.refusals import refuse
from bondgraph.export.code.modelica.words import KEYWORDS, array, quoted, real, subscript, text, unit
from bondgraph.output.cells import files
from bondgraph.output.files import write_texts
from bondgraph.run.events.impacts.fired_transitions import by_name
from bondgraph.tape.routine import Listing


@dataclass(frozen=True)
class ModelicaSource:
    """Modelica source of one model, without dependencies: the content of a file."""

    name: str
    source: str = field(repr=False)

    def write(self, folder: str | Path) -> Path:
        """Write `name.mo` to a folder, which is created if needed, and return its path. Writing is atomic (E413)."""
        (path,) = write_texts(folder, {f"{self.name}.mo": self.source})
        return path

    def _repr_html_(self) -> str:
        return files(self.name, {f"{self.name}.mo": self.source})


def modelica_source(model: Compilable, name: str | None = None) -> ModelicaSource:
    """Return a model as flat Modelica (3.6): explicit equations of its states, `when` for transitions, `sample` for clocks.

    Parameters, states and modes have the user's names, as quoted identifiers such as `'spring.q'` (non-ASCII letters as in
    HTML: `'&omega;.q'`), units and start values. All equations except nonlinear loops are already solved, so tools
    need no symbolic processing.

    Parameters
    ----------
    model : compiled, or a graph, which is compiled first.
    name : name of the Modelica model, an identifier; the model's name by default.

    Raises `ModelError` E100 if `model` is not a model, E335 for delays, E693 for FMUs, E270 if `name` is not an identifier or is
    reserved, E262 if no solution of an algebraic loop is found at the start, E663 and E664 for transitions and ticks that
    Modelica cannot express.

    Source: Modelica Language Specification 3.6, sections 8.3.5 (when) and 8.3.6 (reinit).
    """
    compiled = compiled_form(model, "modelica_source")
    content = content_of(compiled, name, "modelica_source")
    if name in KEYWORDS:
        raise refusal("E270", f'"{name}" is not a Modelica name', "another name", about=compiled.model.name, places=())
    title = f"model_{content.name}" if content.name in KEYWORDS else content.name
    refuse(content)
    lines = list(_lines(content, by_name(compiled.program.transitions)))
    body = "\n".join(lines)
    functions = [function for call, function in FUNCTIONS.items() if call in body]
    head = f"model {title} {text(content.system.name)}"
    return ModelicaSource(title, "\n".join([head, *functions, body, f"end {title};", ""]))


def _lines(content: Content, order: Sequence[int]) -> Iterator[str]:
    names = _variables(content)
    prepare = RoutineText(content.routines["prepare"], [names.p], "w", frozenset(), None, "final parameter Real")
    names.p += prepare.operands
    moving = [i for i in range(len(names.x)) if i not in names.discrete | names.unknowns]
    rates = RoutineText(_part(content.routines["rates"], moving), names.blocks(), "v")
    before = names.blocks(names.discrete, before=True)
    halves = [(k, steps, len(steps.outputs) // 2) for k, (_, steps) in enumerate(content.loops) if names.unknowns]
    loops = [RoutineText(_part(steps, range(half, 2 * half)), before, f"n{k}_") for k, steps, half in halves]
    events = clauses(content, names, order)
    for entry in content.p:
        yield _parameter(entry, content.start.p[entry.start : entry.start + entry.size].reshape(entry.shape))
    for entry in content.x:
        for i, index in zip(entry.indices, np.ndindex(*entry.shape), strict=True):
            kind = "discrete Real" if i in names.discrete else "Real"
            fixed = [] if i in names.unknowns else ["fixed = true"]
            attributes = ", ".join([f"start = {real(content.start.x[i])}", *fixed, *_unit(entry)])
            yield f"  {kind} {quoted(entry.name, index)}({attributes}) {_comment(entry)};"
    for k, entry in enumerate(content.m):
        yield f"  discrete Integer {names.m[k]}(start = {int(content.start.m[k])}, fixed = true) {_comment(entry)};"
    yield from prepare.lines
    yield from rates.lines
    for loop in loops:
        yield from loop.lines
    yield from events.declarations
    yield "equation"
    for i, rate in zip(moving, rates.results, strict=True):
        yield f"  der({names.x[i]}) = {rate};"
    for loop in loops:
        yield from (f"  0.0 = {step};" for step in loop.results)
    yield from events.equations


def _part(code: Listing, outputs: Iterable[int]) -> Listing:
    return Listing(code.steps, tuple(code.outputs[k] for k in outputs))


def _variables(content: Content) -> Variables:
    sampled = {state.name for state in content.system.states if state.held}
    held = frozenset(i for entry in content.x if entry.name in sampled for i in entry.indices)
    changed = {i for k in range(len(content.system.events)) for i in changes(content, k)}
    changed |= {i for k in range(len(content.ticks)) for i in tick_changes(content, k)}
    p = [quoted(entry.name) + subscript(index) for entry in content.p for index in np.ndindex(*entry.shape)]
    x = [quoted(entry.name, index) for entry in content.x for index in np.ndindex(*entry.shape)]
    assert len(p) == count(content.p)
    return Variables(p, x, [quoted(f"{entry.name}.mode") for entry in content.m], held & changed, reset_unknowns(content))


def _parameter(entry: Entry, value: np.ndarray) -> str:
    dimensions = f"[{', '.join(map(str, entry.shape))}]" if entry.shape else ""
    attributes = "".join(f"({'each ' * bool(entry.shape)}{attribute})" for attribute in _unit(entry))
    return f"  parameter Real {quoted(entry.name)}{dimensions}{attributes} = {array(value)} {_comment(entry)};"


def _unit(entry: Entry) -> list[str]:
    symbol = unit(entry.unit)
    return [f'unit = "{symbol}"'] if symbol else []


def _comment(entry: Entry) -> str:
    return text(entry.comment)
