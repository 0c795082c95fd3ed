"""LaTeX: the sorted statements of a system, in the notation of the papers."""

from __future__ import annotations

from bondgraph.assembly.system import Statement, System
from bondgraph.compile.pipeline import Compilable, compiled_form
from bondgraph.export.ideal_latex import ideal_lines
from bondgraph.export.roles import ledger_only, of_transitions, solved_only
from bondgraph.export.statement_latex import condition, statement_lines
from bondgraph.export.symbols import escaped, text, value_latex
from bondgraph.model.ops import NEGATE


def latex(model: Compilable, *, powers: bool = False) -> str:
    """An `align*` environment with one line for each statement, grouped by element, and the rates of the states last.

    Of constraints and switches it has what is solved for: that what they hold vanishes. With `powers` the energies and powers
    that serve the ledger are printed too. A graph is compiled first; E100 for anything else.
    """
    return _aligned(compiled_form(model, "latex").system, powers)


def _aligned(system: System, powers: bool) -> str:
    hidden = of_transitions(system) | solved_only(system) | (set() if powers else ledger_only(system))
    hidden |= {out for s in system.statements for out in s.outs if s.op is NEGATE and out == f"-{s.args[0]}"}
    lines: list[str] = []
    solved = ideal_lines(system)
    groups: dict[str, list[Statement]] = {}
    for statement in system.statements:
        groups.setdefault(statement.element, []).append(statement)
    for element, statements in groups.items():
        shown = [line for s in statements if not set(s.outs) <= hidden for line in statement_lines(system, s)]
        shown += solved.get(element, [])
        if shown:
            lines += [rf"\intertext{{\textbf{{{escaped(element)}}}}}", *shown]
    lines += _switches(system)
    guesses = system.guesses
    states = [state for state in system.states if state.name not in guesses]
    lines += [r"\intertext{\textbf{states}}"] if states else []
    for state in states:
        letter = value_latex(system, state.name)
        lines.append(rf"\tfrac{{d}}{{dt}} {letter} &= {value_latex(system, state.rate)} \\")
    body = "\n".join(lines).removesuffix(r" \\")
    return "\\begin{align*}\n" + body + "\n\\end{align*}\n"


def _switches(system: System) -> list[str]:
    """Guards and resets of all transitions that are physics, not method."""
    lines: list[str] = []
    producer = {out: s for s in system.statements for out in s.outs}
    for event in system.events:
        if event.internal or event.contradicting:
            continue
        states, _ = system.modes[f"{event.automaton}.mode"]
        title = rf"\intertext{{\textbf{{{escaped(event.automaton)}}}}}"
        if title not in lines:
            lines.append(title)
        guard = condition(system, producer[event.guard]) if event.guard in producer else value_latex(system, event.guard)
        goal = text("the run ends") if event.error else text(states[event.target])
        line = rf"&{text(states[event.source])} \to {goal} \text{{ when }} {guard} \text{{ rises through }} 0"
        for state, value in event.resets:
            after = condition(system, producer[value]) if value in producer else value_latex(system, value)
            line += rf",\quad {value_latex(system, state)} := {after}"
        lines.append(line + r" \\")
    return lines
