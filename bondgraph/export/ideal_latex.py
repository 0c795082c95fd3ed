"""LaTeX of dependent storages, constraints and switches: what is solved for, as a reader of the literature expects it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from bondgraph.assembly.system import Statement, System, Unknown
from bondgraph.export.statement_latex import right_side
from bondgraph.export.symbols import dotted, text, value_latex
from bondgraph.model.ops import SLIPPING, STABILISED, Choice


def ideal_lines(system: System) -> dict[str, list[str]]:
    """Element -> lines `left &= right` of what the effort or flow of a dependent storage, constraint or switch solves.

    A cubic stabiliser that is zero is left out.
    """
    producer = {out: s for s in system.statements for out in s.outs}
    found: dict[str, list[str]] = {}
    for unknown in system.unknowns:
        if not unknown.held:
            equation = right_side(system, producer[unknown.residual])
            found.setdefault(unknown.element, []).append(rf"{equation} &= 0 \\")
        else:
            switch = tuple(rf"{value_latex(system, name)} &= 0" for name in (unknown.vanishing, unknown.value))
            lines = switch if unknown.reason == "switch" and unknown.algebraic else _constraint(system, unknown, producer)
            found.setdefault(unknown.element, []).extend(_by_mode(system, unknown, producer, lines))
    return found


def _constraint(system: System, unknown: Unknown, producer: Mapping[str, Statement]) -> tuple[str, str]:
    """The equation while it holds, and the one while it does not."""
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
    whole = " + ".join([second, *terms])
    off = producer.get(producer[unknown.residual].args[2]) if unknown.residual != unknown.held else None
    if off is not None and off.op is SLIPPING:
        return f"{whole} &= 0", f"{value_latex(system, off.args[0])} &= {value_latex(system, off.args[1])}"
    name = system.resolve(f"{path}.multiplier") if unknown.reason == "constraint" else unknown.value
    return f"{whole} &= 0", rf"{value_latex(system, name if name in system.values else unknown.value)} &= 0"


def _by_mode(system: System, unknown: Unknown, producer: Mapping[str, Statement], lines: Sequence[str]) -> list[str]:
    held, off = lines
    path = unknown.element
    first, flow = dotted(value_latex(system, f"{path}.h")), value_latex(system, unknown.vanishing)
    before = [rf"{first} &= {flow} \\"] if unknown.reason == "constraint" and f"{path}.h" in producer else []
    after = []
    if unknown.reason == "constraint" and unknown.algebraic:
        words = text("(where an unknown acts on "), text(" at once, the term with its derivative falls away)")
        after = [rf"&\quad {words[0]}{flow}{words[1]} \\"]
    if unknown.residual == unknown.held:
        return [*before, rf"{held} \\", *after]
    choice = producer[unknown.residual]
    mode = choice.args[0]
    names = system.modes[mode][0]
    assert isinstance(choice.op, Choice)
    active = [names[k] for k in choice.op.active]
    when = text(f"while {mode.removesuffix('.mode')} is {' or '.join(active)}")
    return [*before, rf"{held} \quad {when} \\", *after, rf"{off} \quad {text('else')} \\"]
