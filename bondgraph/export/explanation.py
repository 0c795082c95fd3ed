"""Explanation of a value: the chain of equations from it back to states, parameters and time."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from bondgraph.assembly.system import ModeSignal, Statement, System
from bondgraph.compile.compiled import Compiled
from bondgraph.compile.pipeline import Compilable, compiled_form
from bondgraph.compile.state_names import unknown_name
from bondgraph.errors import raise_if_any, refusal
from bondgraph.export.paper.equations import Writer
from bondgraph.export.paper.markup.as_latex import breakable
from bondgraph.export.paper.notation.definitions import SIGNIFICANT, Functions, latex_parts
from bondgraph.export.paper.notation.letters import letters_of
from bondgraph.export.paper.notation.parts import parts_of
from bondgraph.model.arguments import need_name
from bondgraph.model.laws import Junction
from bondgraph.model.ops import IDENTITY, NEGATE, SOUGHT, TIME_DERIVATIVE, Choice, Constant, Gate, sources_of
from bondgraph.output.cells import cell, code
from bondgraph.output.short_repr import short_repr
from bondgraph.run.results.result import Result
from bondgraph.run.results.values_at import check_instant, value_text
from screws.arrays import Count


@short_repr
@dataclass(frozen=True)
class Reason:
    """Line of an explanation: a value, its equation, its element, and the number of steps from the explained value."""

    depth: int
    value: str
    words: str
    element: str = ""
    equation: str = ""
    """LaTeX of the equation; "" if there is none."""
    source: str = ""
    """Source of the equation in the literature; "" if there is none."""
    now: str = ""
    """Value with its unit at the chosen time of a run; "" if there is none."""


@short_repr
@dataclass(frozen=True)
class Explanation:
    """Causes of a value, each before its own causes; shown as an indented list."""

    name: str
    causes: tuple[Reason, ...]
    definitions: tuple[str, ...] = field(repr=False, default=())
    """LaTeX of the functions that the equations call."""

    def latex(self) -> str:
        """Return a `gather*` environment with the equations of the causes in order, then the functions that they call."""
        lines = [breakable(cause.equation) for cause in self.causes if cause.equation]
        return "\\begin{gather*}\n" + " \\\\\n".join([*lines, *map(breakable, self.definitions)]) + "\n\\end{gather*}\n"

    def _repr_html_(self) -> str:
        return cell(code(str(self)))

    def __str__(self) -> str:
        lines = []
        for cause in self.causes:
            owner = f"   ({cause.element}{', ' + cause.source if cause.source else ''})" if cause.element else ""
            now = f"   [{cause.now}]" if cause.now else ""
            lines.append(f"{'  ' * cause.depth}{cause.words}{owner}{now}")
        return "\n".join(lines)


def explain(
    model: Compilable, name: str, *, depth: Count | None = None, through: bool = False, at: tuple[Result, float] | None = None
) -> Explanation:
    """Explain a value: its equation, the equations of the values in it, and so on, back to states, parameters and time.

    Parameters
    ----------
    model : compiled, or a graph, which is compiled first.
    name : name of a value, as in a result: a state, a signal, the effort or flow of an element.
    depth : maximum number of steps to follow; None for all.
    through : also follow the rates of states that occur on the way.
    at : a run and a time (s) at which values are shown, except parameters, modes and matrices; a vector is shown as one magnitude
        per unit.

    If the value is a state, its rate is followed, and every transition and clock that sets it is listed. No value is explained
    twice.

    Raises `ModelError` E100 if `model` is not a model, E693 for FMUs, E251 for an unknown name, E582 for a time outside the run,
    or for the run of a model with other quantities.

    >>> from bondgraph import J1, C, Graph, R
    >>> graph = Graph("rc").connect(loop := J1("loop"), C("c", capacitance=2.0)).connect(loop, R("r", 5.0))
    >>> print(explain(graph, "c.q"))
    c.q is a state; it starts at 0
      its rate is c.flow
      c.flow = r.resistance^-1 * r.effort   (R "r")
        r.effort = -c.effort   (1-junction "loop")
          c.effort = c.capacitance^-1 * c.q   (C "c")
            c.q: see above
            c.capacitance = 2
        r.resistance = 5
    """
    compiled = compiled_form(model, "explain")
    system = compiled.system
    need_name("value", name)
    resolved = system.resolve(name)
    if resolved not in system.values:
        raise_if_any(system.name, [unknown_name("E251", name, "a value of the model", [*system.values, *system.aliases])])
    tracer = _Tracer(compiled, depth, through)
    causes = list(tracer.value(resolved, 0))
    if resolved != name:
        causes.insert(0, Reason(0, name, f"{name} is {resolved}"))
    if at is not None:
        _need_run_of(compiled, at[0])
        causes = _with_values(causes, *at)
    definitions = tuple(
        line for each in tracer.writer.definitions.definitions.values() for line in (*each.formula.parts, *each.formula.results)
    )
    return Explanation(name, tuple(causes), definitions)


def _need_run_of(compiled: Compiled, result: Result) -> None:
    if result.program.layout.names() != compiled.program.layout.names():
        title = f'the run of "{result.program.name}" has different quantities'
        raise refusal("E582", title, "a run of the explained model: `model.simulate(...)`", about=compiled.model.name, places=())


def _with_values(causes: Sequence[Reason], result: Result, at: float) -> list[Reason]:
    check_instant(result, at)
    layout = result.program.layout
    changing = {
        cause.value: layout.unit(cause.value)
        for cause in causes
        if cause.value in result and layout[cause.value].block in ("x", "out") and len(layout[cause.value].shape) < 2
    }
    return [
        replace(cause, now=value_text(result, cause.value, changing[cause.value], at)) if cause.value in changing else cause
        for cause in causes
    ]


class _Tracer:
    def __init__(self, compiled: Compiled, max_depth: int | None, through: bool):
        system, parts = compiled.system, parts_of(compiled.model)
        self.compiled, self.system, self.max_depth, self.through = compiled, system, max_depth, through
        self.writer = Writer(system, letters_of(system, parts, (), system.values), Functions(SIGNIFICANT))
        self.states = {state.name: state for state in system.states}
        self.unknown = {u.value: u for u in (*system.unknowns, *(u for loop in system.loops for u in loop.unknowns))}
        self.seen: set[str] = set()
        x, _ = compiled.initial()
        self.start: Mapping[str, np.ndarray] = {name: x[slot.start : slot.stop] for name, slot in system.places.items()}

    def value(self, name: str, depth: int) -> Iterator[Reason]:
        name = name.removesuffix(":computed")
        if name == "time":
            return
        if name in self.seen:
            yield Reason(depth, name, f"{name}: see above")
            return
        self.seen.add(name)
        if name in self.states:
            yield from self._state(name, depth)
        elif name in self.system.parameters:
            unit = f" {self.system.values[name].unit}" if name in self.system.conversions else ""
            yield Reason(depth, name, f"{name} = {_numbers(self.system.parameters[name])}{unit}")
        elif name in self.system.modes:
            mode = self.system.modes[name]
            yield Reason(depth, name, f"{name} is one of {', '.join(mode.states)}; it starts in {mode.start}")
            yield from self._transitions(mode, depth + 1)
        elif name in self.unknown:
            yield from self._unknown(name, depth)
        elif name in self.writer.producer:
            yield from self._statement(self.writer.producer[name], depth)

    def _is_followed(self, depth: int) -> bool:
        return self.max_depth is None or depth < self.max_depth

    def _state(self, name: str, depth: int) -> Iterator[Reason]:
        state = self.states[name]
        if depth and not self.through:
            yield Reason(depth, name, f"{name} is a state")
            return
        yield Reason(depth, name, f"{name} is a state; it starts at {_numbers(self.start[name])}")
        for event in self.system.events:
            for reset, value in event.resets:
                if reset == name:
                    statement = self.writer.producer.get(value)
                    after = _plain(self.system, statement) if statement is not None else value
                    yield Reason(depth + 1, name, f"at {event.kind}: {name} := {after}", event.automaton)
        for clock in self.system.clocks:
            for updated, value in clock.updates:
                if updated == name:
                    when = f"after the delay {clock.delay}" if clock.delay else "at each tick"
                    yield Reason(depth + 1, name, f"{when}: {name} := {value}", clock.element)
                    if self._is_followed(depth):
                        yield from self.value(value, depth + 1)
        if name in self.system.guesses:
            yield Reason(depth + 1, name, "it follows the solution of an algebraic loop")
            return
        letter = self.writer.letters[name]
        yield Reason(
            depth + 1, name, f"its rate is {state.rate}", "", rf"\tfrac{{d}}{{dt}} {letter} = {self.writer.letters[state.rate]}"
        )
        if self._is_followed(depth):
            yield from self.value(state.rate, depth + 1)

    def _transitions(self, mode: ModeSignal, depth: int) -> Iterator[Reason]:
        for event in self.system.events:
            if event.slot == mode.slot and not event.added_by_tracing:
                statement = self.writer.producer.get(event.guard)
                guard = _plain(self.system, statement) if statement is not None and ":" in event.guard else event.guard
                goal = "the run ends" if event.error else mode.states[event.target]
                yield Reason(depth, event.guard, f"{mode.states[event.source]} -> {goal} when {guard} rises through 0")

    def _unknown(self, name: str, depth: int) -> Iterator[Reason]:
        unknown = self.unknown[name]
        lines = self.writer.implicit(unknown)
        yield Reason(
            depth,
            name,
            f"{name} is such that {unknown.vanishing or unknown.residual} vanishes",
            self._owner(unknown.element),
            lines[-1],
        )
        if self._is_followed(depth) and (unknown.vanishing or unknown.residual):
            yield from self.value(unknown.vanishing or unknown.residual, depth + 1)

    def _statement(self, statement: Statement, depth: int) -> Iterator[Reason]:
        if statement.op is NEGATE and statement.outs[0] == f"-{statement.args[0]}":
            self.seen.discard(statement.outs[0])
            yield from self.value(statement.args[0], depth)
            return
        left = ", ".join(statement.outs)
        self.seen.update(statement.outs)
        equation = " \\\\\n".join(self.writer.equations(statement))
        owner = self._owner(statement.element)
        yield Reason(
            depth, statement.outs[0], f"{left} = {_plain(self.system, statement)}", owner, equation, sources_of(statement.op)
        )
        if self._is_followed(depth):
            for arg in dict.fromkeys(statement.args):
                yield from self.value(arg.lstrip("-") if arg not in self.system.values else arg, depth + 1)

    def _owner(self, path: str) -> str:
        element = self.compiled.model.elements.get(path)
        if element is None:
            return path
        return f'{element.kind}{"-junction" if isinstance(element.law, Junction) else ""} "{path}"'


_WORDS = (
    (r"\\tfrac\{?(\d)\}?\{?(\d)\}?", r"\1/\2 "),
    (r"\\mathrm\{(\w+)\}", r"\1"),
    (r"\\cdot ?", "* "),
    (r"\\[,;!]", " * "),
    (r"\^\{-1\}", "^-1"),
    (r"\\top", "T"),
    (r"\{|\}|\\left|\\right", ""),
    (r"\\([a-z]+)", r"\1"),
    (r"(?<=\d)([+-])(?=#)", r" \1 "),
    (r"  +", " "),
)


def _plain(system: System, statement: Statement) -> str:
    operation, args = statement.op, [f'"{arg}"' if " " in arg else arg for arg in statement.args]
    if isinstance(operation, (Gate, Choice)):
        mode = system.modes[statement.args[0]]
        when = " or ".join(mode.states[k] for k in operation.active)
        return f"{args[1]} while {mode.automaton} is {when}, else {[*args, '0'][2]}"
    if operation is TIME_DERIVATIVE:
        return f"d/dt {args[0]}"
    if isinstance(operation, Constant):
        return _numbers(operation())
    parts = latex_parts(operation, len(statement.outs))
    if operation is IDENTITY or operation is SOUGHT or parts is None or parts.remarks:
        return f"{operation.name}({', '.join(args)})"
    formula = operation.latex
    for pattern, words in _WORDS:
        formula = re.sub(pattern, words, formula)
    return re.sub(r"#(\d+)", lambda match: args[int(match[1]) - 1], formula).replace("+-", "-").replace("--", "+").strip()


def _numbers(value: object) -> str:
    numbers = np.asarray(value, dtype=float) + 0.0
    if numbers.size == 1:
        return f"{float(numbers.ravel()[0]):g}"
    return " ".join(np.array2string(numbers, precision=6, separator=", ", threshold=24).split())
