"""LaTeX: the sorted statements of a system, in the notation of the papers."""

from __future__ import annotations

import re

from bondgraph.equations.system import Statement, System
from bondgraph.export.symbols import escaped, text, value_latex
from bondgraph.ops import NEGATE


def latex(system: System, *, powers: bool = False) -> str:
    """An `align*` environment with one line for each statement, grouped by element, and the rates of the states last.

    With `powers` the energies and powers that serve the ledger are printed too.
    """
    hidden = _of_switches(system) | (set() if powers else _ledger_only(system))
    hidden |= {out for s in system.statements for out in s.outs if s.op is NEGATE and out == f"-{s.args[0]}"}
    lines: list[str] = []
    for element, statements in _grouped(system):
        shown = [s for s in statements if not set(s.outs) <= hidden]
        if shown:
            lines.append(rf"\intertext{{\textbf{{{escaped(element)}}}}}")
            lines += [line for s in shown for line in statement_lines(system, s)]
    lines += _switches(system)
    lines.append(r"\intertext{\textbf{states}}")
    for state in system.states:
        letter = value_latex(system, state.name)
        lines.append(rf"\tfrac{{d}}{{dt}} {letter} &= {value_latex(system, state.rate)} \\")
    body = "\n".join(lines).removesuffix(r" \\")
    return "\\begin{align*}\n" + body + "\n\\end{align*}\n"


def document(system: System) -> str:
    """A complete LaTeX document with the equations of `system`."""
    return (
        "\\documentclass{article}\n\\usepackage{amsmath}\n\\usepackage[margin=2cm]{geometry}\n\\allowdisplaybreaks\n\\begin{document}\n"
        f"\\section*{{{escaped(system.name)}}}\n{latex(system)}\\end{{document}}\n"
    )


def statement_lines(system: System, statement: Statement) -> list[str]:
    """Lines `left &= right` of one statement.

    The LaTeX of an operation with several results has one line for each, and any further line is a remark.
    """
    left = [value_latex(system, out) for out in statement.outs]
    right = right_side(system, statement).split("\n")
    if len(right) >= len(left):
        lines = [rf"{a} &= {b} \\" for a, b in zip(left, right, strict=False)]
        return lines + [rf"&\quad {remark} \\" for remark in right[len(left) :]]
    return [rf"\left({', '.join(left)}\right) &= {right[0]} \\"]


def right_side(system: System, statement: Statement) -> str:
    """LaTeX of op(args)."""
    arguments = [value_latex(system, arg) for arg in statement.args]
    if statement.op.latex:

        def written(found: re.Match[str]) -> str:
            argument = arguments[int(found[1]) - 1]
            before, after = found.string[: found.start()], found.string[found.end() :]
            raised = after.startswith("^") and ("^" in argument or argument.startswith("-"))
            factor = (
                argument.startswith("-") and before != "" and (before.endswith(r"\,") or before[-1] not in "+-(,{[")
            )
            return rf"({argument})" if raised or factor else argument

        return _signs(re.sub(r"#(\d+)", written, statement.op.latex))
    return rf"{text(statement.op.name)}({', '.join(arguments)})"


def _switches(system: System) -> list[str]:
    """Guards and resets of all transitions that are physics, not method."""
    lines: list[str] = []
    producer = {out: s for s in system.statements for out in s.outs}
    for event in system.events:
        if event.internal:
            continue
        states = next(names for mode, (names, _) in system.modes.items() if mode == f"{event.automaton}.mode")
        title = rf"\intertext{{\textbf{{{escaped(event.automaton)}}}}}"
        if title not in lines:
            lines.append(title)
        guard = (
            right_side(system, producer[event.guard]) if event.guard in producer else value_latex(system, event.guard)
        )
        goal = text("the run ends") if event.error else text(states[event.target])
        line = rf"&{text(states[event.source])} \to {goal} \text{{ when }} {guard} \text{{ rises through }} 0"
        for state, value in event.resets:
            after = right_side(system, producer[value]) if value in producer else value_latex(system, value)
            line += rf",\quad {value_latex(system, state)} := {after}"
        lines.append(line + r" \\")
    return lines


def _of_switches(system: System) -> set[str]:
    """Values that only guards and resets need; they are written with their transition."""
    named = {event.guard for event in system.events} | {value for event in system.events for _, value in event.resets}
    return {name for name in named if ":" in name}


def _signs(formula: str) -> str:
    """Two signs that meet become one."""
    return formula.replace("+-", "-").replace("--", "+").removeprefix("+")


def _ledger_only(system: System) -> set[str]:
    """Energies and powers that nothing but the energy ledger reads."""
    ledger = {value for _, value in system.energies} | {p.value for p in system.powers}
    ledger |= {out for s in system.statements for out in s.outs if out.endswith((".power", " along the arrow"))}
    read = {arg for s in system.statements if not ledger.issuperset(s.outs) for arg in s.args}
    return ledger - read - {s.rate for s in system.states}


def _grouped(system: System) -> list[tuple[str, list[Statement]]]:
    groups: dict[str, list[Statement]] = {}
    for statement in system.statements:
        groups.setdefault(statement.element, []).append(statement)
    return list(groups.items())
