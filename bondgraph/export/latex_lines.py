"""LaTeX: the sorted statements of a system, in the notation of the papers."""

from __future__ import annotations

from collections.abc import Mapping

from bondgraph.assembly.system import LoweredTransition, Statement, System
from bondgraph.compile.pipeline import Compilable, compiled_form
from bondgraph.export.ideal_latex import ideal_lines
from bondgraph.export.roles import ledger_only, of_transitions, solved_only, updates_of
from bondgraph.export.statement_latex import condition, statement_lines
from bondgraph.export.symbols import text, value_latex
from bondgraph.model.ops import NEGATE, Constant
from bondgraph.output.tex import escape_latex


def latex(model: Compilable, *, powers: bool = False) -> str:
    """An `align*` environment with one line for each statement, grouped by element, and the rates of the states last.

    Of constraints and switches it has what is solved for: that what they hold vanishes. With `powers` the energies and powers
    that serve the ledger are printed too. A graph is compiled first; E100 for anything else.
    """
    return _aligned(compiled_form(model, "latex").system, powers)


def _aligned(system: System, powers: bool) -> str:
    hidden = of_transitions(system) | solved_only(system) | (set() if powers else ledger_only(system))
    hidden |= {out for s in system.statements for out in s.outs if s.op is NEGATE and out == f"-{s.args[0]}"}
    hidden |= {state.rate for state in system.states if state.held}
    lines: list[str] = []
    solved = ideal_lines(system)
    groups: dict[str, list[Statement]] = {}
    for statement in system.statements:
        groups.setdefault(statement.element, []).append(statement)
    for element, statements in groups.items():
        shown = [line for s in statements if not set(s.outs) <= hidden for line in statement_lines(system, s)]
        shown += solved.get(element, [])
        if shown:
            lines += [rf"\intertext{{\textbf{{{escape_latex(element)}}}}}", *shown]
    lines += _switches(system)
    guesses, sampled = system.guesses, updates_of(system)
    states = [state for state in system.states if state.name not in guesses]
    lines += [r"\intertext{\textbf{states}}"] if states else []
    for state in states:
        letter = value_latex(system, state.name)
        if state.name in sampled:
            value, clock = sampled[state.name]
            offset, period = (value_latex(system, name) for name in (clock.offset, str(clock.period)))
            lines.append(rf"{letter} &:= {value_latex(system, value)} \quad \text{{at }} t = {offset} + n\,{period} \\")
        elif not state.held:
            lines.append(rf"\tfrac{{d}}{{dt}} {letter} &= {value_latex(system, state.rate)} \\")
    body = "\n".join(lines).removesuffix(r" \\")
    return "\\begin{align*}\n" + body + "\n\\end{align*}\n"


def _switches(system: System) -> list[str]:
    """Where each state machine starts, and guards, resets and impacts of its transitions."""
    lines: list[str] = []
    producer = {out: s for s in system.statements for out in s.outs}
    for event in system.events:
        if event.found:
            continue
        states, start = system.modes[f"{event.automaton}.mode"]
        title = rf"\intertext{{\textbf{{{escape_latex(event.automaton)}}}, which starts in {escape_latex(start)}}}"
        if title not in lines:
            lines.append(title)
        goal = text("the run ends") if event.error else text(states[event.target])
        line = rf"&{text(states[event.source])} \to {goal}{_guard(system, producer, event)}"
        for state, value in event.resets:
            after = condition(system, producer[value]) if value in producer else value_latex(system, value)
            line += rf",\quad {value_latex(system, state)} := {after}"
        for path in event.impact:
            flow = value_latex(system, system.resolve(f"{path}.h'"))
            line += rf",\quad ({flow})^{{+}} = -{value_latex(system, f'{path}.restitution')}\,({flow})^{{-}}"
        if event.impulse and not event.impact:
            line += r",\quad \text{an impulse stops what begins to hold}"
        if event.accumulates is not None:
            line += rf"\quad \text{{(ever faster: to }}{text(states[event.accumulates])}\text{{)}}"
        lines.append(line + (r"\quad \text{(a change of description)}" if event.internal else "") + r" \\")
    return lines


def _guard(system: System, producer: Mapping[str, Statement], event: LoweredTransition) -> str:
    guard = producer.get(event.guard)
    if guard is not None and isinstance(guard.op, Constant):
        return r" \text{ never by itself}"
    written = condition(system, guard) if guard is not None else value_latex(system, event.guard)
    return rf" \text{{ when }} {written} \text{{ rises through }} 0"
