"""LaTeX equations: the sorted statements of a system, in the notation of the papers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

from bondgraph.assembly.system import LoweredTransition, Statement, System, Unknown
from bondgraph.compile.pipeline import Compilable, compiled_form
from bondgraph.export.forms.algebra.canonical import decimal, exact
from bondgraph.export.forms.algebra.through_tape import expression_size
from bondgraph.export.symbolic import symbol_of
from bondgraph.export.symbols import dotted, text, value_latex
from bondgraph.export.value_roles import balance_values, solver_values, tick_updates, transition_values
from bondgraph.model.ops import NEGATE, SLIPPING, SOUGHT, STABILISED, Choice, Constant, Gate
from bondgraph.output.lazy import sympy
from bondgraph.output.tex import escape_latex


def constraint_lines(system: System) -> dict[str, list[str]]:
    producer = system.producers
    lines_of: dict[str, list[str]] = {}
    for unknown in system.unknowns:
        if not unknown.held:
            equation = right_side(system, producer[unknown.residual])
            lines_of.setdefault(unknown.element, []).append(rf"{equation} &= 0 \\")
        else:
            switch = tuple(rf"{value_latex(system, name)} &= 0" for name in (unknown.vanishing, unknown.value))
            lines = switch if unknown.reason == "switch" and unknown.algebraic else _constraint(system, unknown, producer)
            lines_of.setdefault(unknown.element, []).extend(_by_mode(system, unknown, producer, lines))
    return lines_of


def _constraint(system: System, unknown: Unknown, producer: Mapping[str, Statement]) -> tuple[str, str]:
    held, path = producer[unknown.held], unknown.element
    flow = value_latex(system, unknown.vanishing)
    if held.op is STABILISED:
        position = value_latex(system, f"{path}.h")
        letters = [value_latex(system, name) for name in held.args[3:]]
        first = dotted(position)
        terms = [rf"{letters[0]}\,{first}", rf"{letters[1]}\,{position}"]
        if np.any(np.asarray(system.parameters.get(held.args[5], 1.0)) != 0.0):
            terms.append(rf"{letters[2]}\,{position}^3")
        second = dotted(position, 2)
    else:
        terms = [rf"{value_latex(system, held.args[2])}\,{flow}"]
        second = dotted(flow)
    left_side = " + ".join([second, *terms])
    off = producer.get(producer[unknown.residual].args[2]) if unknown.residual != unknown.held else None
    if off is not None and off.op is SLIPPING:
        return f"{left_side} &= 0", f"{value_latex(system, off.args[0])} &= {value_latex(system, off.args[1])}"
    name = system.resolve(f"{path}.multiplier") if unknown.reason == "constraint" else unknown.value
    return f"{left_side} &= 0", rf"{value_latex(system, name if name in system.values else unknown.value)} &= 0"


def _by_mode(system: System, unknown: Unknown, producer: Mapping[str, Statement], lines: Sequence[str]) -> list[str]:
    held, off = lines
    path = unknown.element
    first, flow = dotted(value_latex(system, f"{path}.h")), value_latex(system, unknown.vanishing)
    before = [rf"{first} &= {flow} \\"] if unknown.reason == "constraint" and f"{path}.h" in producer else []
    after = []
    if unknown.reason == "constraint" and unknown.algebraic:
        words = text("(if an unknown acts on "), text(" directly, the term with its derivative is dropped)")
        after = [rf"&\quad {words[0]}{flow}{words[1]} \\"]
    if unknown.residual == unknown.held:
        return [*before, rf"{held} \\", *after]
    choice = producer[unknown.residual]
    mode = system.modes[choice.args[0]]
    assert isinstance(choice.op, Choice)
    active = [mode.states[k] for k in choice.op.active]
    when = text(f"while {mode.automaton} is {' or '.join(active)}")
    return [*before, rf"{held} \quad {when} \\", *after, rf"{off} \quad {text('else')} \\"]


MAX_LATEX_OPERATIONS = 40


def statement_lines(system: System, statement: Statement) -> list[str]:
    """Return lines `left &= right` of one statement; further lines of its LaTeX are remarks. A sought value is written as the
    equation that it satisfies."""
    if statement.op is SOUGHT:
        one, other = (value_latex(system, arg) for arg in statement.args[1:])
        return [rf"{one} &= {other} \\"]
    left = [value_latex(system, out) for out in statement.outs]
    right = right_side(system, statement).split("\n")
    if len(right) >= len(left):
        lines = [rf"{a} &= {b} \\" for a, b in zip(left, right, strict=False)]
        return lines + [rf"&\quad {remark} \\" for remark in right[len(left) :]]
    return [rf"\left({', '.join(left)}\right) &= {right[0]} \\"]


def right_side(system: System, statement: Statement) -> str:
    arguments = [value_latex(system, arg) for arg in statement.args]
    if isinstance(statement.op, Gate) and len(statement.op.active) > 1:
        states = system.modes[statement.args[0]].states
        when = text(" or ".join(states[k] for k in statement.op.active))
        return rf"\begin{{cases}} {arguments[1]} & {arguments[0]} \text{{: }} {when} \\ 0 & \text{{else}} \end{{cases}}"
    if statement.op.latex:
        return fill_arguments(statement.op.latex, arguments)
    return rf"{text(statement.op.name)}({', '.join(arguments)})"


def fill_arguments(formula: str, arguments: Sequence[str]) -> str:
    """Replace #1, #2, ... in LaTeX by the letters of the arguments, with parentheses where needed, and merge adjacent signs."""

    def letter(match: re.Match[str]) -> str:
        argument = arguments[int(match[1]) - 1]
        before, after = match.string[: match.start()], match.string[match.end() :]
        # A letter with an index or exponent must not get a second one.
        raised = after.startswith(("^", "_")) and (after[0] in argument or argument.startswith("-"))
        factor = argument.startswith("-") and before != "" and (before.endswith(r"\,") or before[-1] not in "+-(,{[")
        return rf"({argument})" if raised or factor else argument

    return re.sub(r"#(\d+)", letter, formula).replace("+-", "-").replace("--", "+").removeprefix("+")


def condition_latex(system: System, statement: Statement) -> str:
    return right_side(system, statement) if statement.op.latex else _run_on_symbols(system, statement)


def _run_on_symbols(system: System, statement: Statement) -> str:
    arguments = [symbol_of(system, arg) for arg in statement.args]
    try:
        if expression_size(statement.op, arguments) > MAX_LATEX_OPERATIONS:
            return right_side(system, statement)
        result = statement.op(*arguments)
    except Exception:  # if the formula does not accept symbols, its name stands for it
        return right_side(system, statement)
    if np.shape(result):
        return right_side(system, statement)
    numbers = sympy.S(result).atoms(sympy.Float)
    result = decimal(exact(result), all(float(number).is_integer() for number in numbers))
    letters = {
        symbol: value_latex(system, arg)
        for arg, symbol in zip(statement.args, arguments, strict=True)
        if isinstance(symbol, sympy.Symbol)
    }
    if result.free_symbols - letters.keys():
        return right_side(system, statement)
    return re.sub(r"^- ", "-", sympy.latex(result, symbol_names=letters))


def latex(model: Compilable, *, powers: bool = False) -> str:
    """Return an `align*` environment: the statements and the equations of unknowns, by element, then transitions and rates.

    Values that only transitions or solvers use have no line; energies and powers of the energy balance have lines only with
    `powers`. A graph is compiled first; raises E100 for anything else, E335 for delays, E693 for FMUs.
    """
    return _aligned(compiled_form(model, "latex").system, powers)


def _aligned(system: System, powers: bool) -> str:
    hidden = transition_values(system) | solver_values(system) | (set() if powers else balance_values(system))
    hidden |= {out for s in system.statements for out in s.outs if s.op is NEGATE and out == f"-{s.args[0]}"}
    hidden |= {state.rate for state in system.states if state.held}
    lines: list[str] = []
    solved = constraint_lines(system)
    groups: dict[str, list[Statement]] = {}
    for statement in system.statements:
        groups.setdefault(statement.element, []).append(statement)
    for element, statements in groups.items():
        shown = [line for s in statements if not set(s.outs) <= hidden for line in statement_lines(system, s)]
        shown += solved.get(element, [])
        if shown:
            lines += [rf"\intertext{{\textbf{{{escape_latex(element)}}}}}", *shown]
    lines += _switches(system)
    guesses, sampled = system.guesses, tick_updates(system)
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
    lines: list[str] = []
    producer = system.producers
    for event in system.events:
        if event.added_by_tracing:
            continue
        mode = system.modes[f"{event.automaton}.mode"]
        states = mode.states
        title = rf"\intertext{{\textbf{{{escape_latex(event.automaton)}}}, which starts in {escape_latex(mode.start)}}}"
        if title not in lines:
            lines.append(title)
        goal = text("the run ends") if event.error else text(states[event.target])
        line = rf"&{text(states[event.source])} \to {goal}{_guard(system, producer, event)}"
        for state, value in event.resets:
            after = condition_latex(system, producer[value]) if value in producer else value_latex(system, value)
            line += rf",\quad {value_latex(system, state)} := {after}"
        for path in event.impact:
            flow = value_latex(system, system.resolve(f"{path}.h'"))
            line += rf",\quad ({flow})^{{+}} = -{value_latex(system, f'{path}.restitution')}\,({flow})^{{-}}"
        if event.impulse and not event.impact:
            line += r",\quad \text{an impulse stops the newly held flows}"
        if event.accumulates is not None:
            line += rf"\quad \text{{(if events accumulate: to }}{text(states[event.accumulates])}\text{{)}}"
        if event.passes is not None:
            line += rf"\quad \text{{(if the flow crosses zero by itself: to }}{text(states[event.passes])}\text{{)}}"
        lines.append(line + (r"\quad \text{(a change of coordinates)}" if event.internal else "") + r" \\")
    return lines


def _guard(system: System, producer: Mapping[str, Statement], event: LoweredTransition) -> str:
    guard = producer.get(event.guard)
    if guard is not None and isinstance(guard.op, Constant):
        return r" \text{ never by itself}"
    written = condition_latex(system, guard) if guard is not None else value_latex(system, event.guard)
    return rf" \text{{ when }} {written} \text{{ rises through }} 0"
