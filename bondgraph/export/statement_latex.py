"""LaTeX of one statement: the formula of its operation in the letters of its arguments."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from bondgraph.assembly.system import Statement, System
from bondgraph.export.forms.algebra.growth import written_out
from bondgraph.export.symbolic import symbol_of
from bondgraph.export.symbols import text, value_latex
from bondgraph.model.ops import SOUGHT, Gate

SHORT = 40
"""Most operations of a formula that is written out although it has no LaTeX of its own."""


def statement_lines(system: System, statement: Statement) -> list[str]:
    """Lines `left &= right` of one statement.

    The LaTeX of an operation with several results has one line for each, and any further line is a remark. A value that is sought
    is written as the equation that it fulfils.
    """
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
    """LaTeX of op(args)."""
    arguments = [value_latex(system, arg) for arg in statement.args]
    if isinstance(statement.op, Gate) and len(statement.op.active) > 1:
        states = system.modes[statement.args[0]][0]
        when = text(" or ".join(states[k] for k in statement.op.active))
        return rf"\begin{{cases}} {arguments[1]} & {arguments[0]} \text{{: }} {when} \\ 0 & \text{{else}} \end{{cases}}"
    if statement.op.latex:
        return filled(statement.op.latex, arguments)
    return rf"{text(statement.op.name)}({', '.join(arguments)})"


def filled(formula: str, arguments: Sequence[str]) -> str:
    """LaTeX with #1, #2, ... replaced by the letters of the arguments, in parentheses where they need them."""

    def written(found: re.Match[str]) -> str:
        argument = arguments[int(found[1]) - 1]
        before, after = found.string[: found.start()], found.string[found.end() :]
        # What has an index or an exponent already takes no second one.
        raised = after.startswith(("^", "_")) and (after[0] in argument or argument.startswith("-"))
        factor = argument.startswith("-") and before != "" and (before.endswith(r"\,") or before[-1] not in "+-(,{[")
        return rf"({argument})" if raised or factor else argument

    return _signs(re.sub(r"#(\d+)", written, formula))


def condition(system: System, statement: Statement) -> str:
    """LaTeX of a guard or reset: a short formula without LaTeX of its own is written out, by running it on symbols."""
    return right_side(system, statement) if statement.op.latex else _run_on_symbols(system, statement)


def _run_on_symbols(system: System, statement: Statement) -> str:
    import sympy

    from bondgraph.export.forms.algebra.canonical import decimal, exact

    arguments = [symbol_of(system, arg) for arg in statement.args]
    try:
        if written_out(statement.op, arguments) > SHORT:
            return right_side(system, statement)
        result = statement.op(*arguments)
    except Exception:  # a formula need not take symbols; its name says what it is
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


def _signs(formula: str) -> str:
    """Two signs that meet become one."""
    return formula.replace("+-", "-").replace("--", "+").removeprefix("+")
