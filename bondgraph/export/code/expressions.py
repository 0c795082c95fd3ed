"""Steps of a routine as SymPy expressions: symbols for its inputs in; common sub-expressions in order, and results, out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from bondgraph.errors import refusal
from bondgraph.export.code.content import BLOCKS
from bondgraph.tape import opcodes as op
from bondgraph.tape.routine import Listing
from screws.scalars import FUNCTIONS

LARGEST = 24
"""Operations up to which a value that is used once is written where it is used; larger ones get a symbol of their own."""


def composed(prepare: Listing, routine: Listing, own: int) -> Listing:
    """One routine of t, x, the user's parameters and m: what it needs of `prepare` comes first."""
    p = BLOCKS.index("p")
    wanted = {step[2] - own for step in routine.steps if step[0] == op.INPUT and step[1] == p and step[2] >= own}
    needed: set[int] = set()
    stack = [prepare.outputs[place] for place in wanted]
    while stack:
        position = stack.pop()
        if position not in needed:
            needed.add(position)
            stack += prepare.steps[position][1:] if prepare.steps[position][0] > op.INPUT else ()
    steps: list[Any] = []
    first: dict[int, int] = {}
    for position in sorted(needed):
        code, *arguments = prepare.steps[position]
        first[position] = len(steps)
        if code == op.INPUT:
            steps.append((op.INPUT, p, arguments[1]))
        else:
            steps.append((code, *(arguments if code == op.CONSTANT else [first[a] for a in arguments])))
    new: list[int] = []
    for code, *arguments in routine.steps:
        if code == op.INPUT and arguments[0] == p and arguments[1] >= own:
            new.append(first[prepare.outputs[arguments[1] - own]])
            continue
        new.append(len(steps))
        steps.append((code, *(arguments if code <= op.INPUT else [new[a] for a in arguments])))
    return Listing(tuple(steps), tuple(new[output] for output in routine.outputs))


def forms() -> dict[str, Callable[..., Any]]:
    """Name of an instruction -> what SymPy makes of it. Nothing is evaluated that only costs time."""
    import sympy

    def kept(function: Any) -> Callable[..., Any]:
        return lambda *arguments: function(*arguments, evaluate=False)

    elementary = {name: getattr(sympy, function) for name, (_, function) in FUNCTIONS.items()}
    slow = ("minimum", "maximum", "less", "less_equal", "equal")
    return (
        elementary
        | {name: kept(elementary[name]) for name in slow}
        | {
            "add": lambda a, b: a + b,
            "subtract": lambda a, b: a - b,
            "multiply": lambda a, b: a * b,
            "divide": lambda a, b: a / b,
            "negative": lambda a: -a,
            "reciprocal": lambda a: 1 / a,
            "power": lambda a, b: a**b,
            "both": kept(sympy.And),
            "either": kept(sympy.Or),
            "opposite": kept(sympy.Not),
            "where": lambda condition, a, b: sympy.Piecewise((a, condition), (b, True), evaluate=False),
        }
    )


def expressions(code: Listing, symbols: Sequence[Sequence[Any]]) -> tuple[tuple[tuple[Any, Any], ...], tuple[Any, ...]]:
    """Steps with symbols of their own, and results. What is used once stands where it is used, as long as that can be read."""
    import sympy

    texts = forms()
    uses = [0] * len(code.steps)
    for step in code.steps:
        for a in step[1:] if step[0] > op.INPUT else ():
            uses[a] += 1
    for output in code.outputs:
        uses[output] += 1
    values: list[Any] = []
    sizes: list[int] = []
    steps: list[tuple[Any, Any]] = []

    def named(position: int) -> None:
        """Give a step a symbol of its own."""
        condition = code.steps[position][0] in op.CONDITIONS
        symbol = sympy.Symbol(f"c{position}") if condition else sympy.Symbol(f"v{position}", real=True)
        steps.append((symbol, values[position]))
        values[position], sizes[position] = symbol, 0

    def numeric(position: int) -> Any:
        value = values[position]
        return sympy.Piecewise((1, value), (0, True), evaluate=False) if code.steps[position][0] in op.CONDITIONS else value

    def compared(position: int) -> Any:
        """A number for a comparison without cases in it, which SymPy would fold into the condition, and not always rightly."""
        if numeric(position).has(sympy.Piecewise):
            if code.steps[position][0] in op.CONDITIONS:
                symbol = sympy.Symbol(f"v{position}", real=True)
                if (symbol, numeric(position)) not in steps:
                    steps.append((symbol, numeric(position)))
                return symbol
            named(position)
        return numeric(position)

    def truth(position: int) -> Any:
        known = code.steps[position][0] in op.CONDITIONS
        return values[position] if known else sympy.Ne(compared(position), 0, evaluate=False)

    for position, (kind, *arguments) in enumerate(code.steps):
        if kind <= op.INPUT:
            values.append(_number(arguments[0]) if kind == op.CONSTANT else symbols[arguments[0]][arguments[1]])
            sizes.append(0)
            continue
        operation = op.OPERATIONS[kind]
        if operation.name not in texts:
            title = f'the operation "{operation.name}" has no form in SymPy'
            raise refusal("E271", title, "run the compiled model instead", about="SymPy", places=())
        if kind in (op.MULTIPLY, op.DIVIDE) and any(code.steps[a][0] == op.CONSTANT for a in arguments):
            for a in arguments:
                if getattr(values[a], "is_Add", False):
                    named(a)  # else SymPy would multiply each term, and what cancels in the sum no longer would
        number = compared if operation.is_condition else numeric
        given = [truth(a) if k < operation.truths else number(a) for k, a in enumerate(arguments)]
        values.append(texts[operation.name](*given))
        sizes.append(1 + sum(sizes[a] for a in arguments))
        if uses[position] > 1 or sizes[position] > LARGEST:
            named(position)
    return tuple(steps), tuple(numeric(output) for output in code.outputs)


def _number(value: float) -> Any:
    """A whole number exactly, any other with all its bits."""
    import sympy

    if not np.isfinite(value):
        return sympy.nan if np.isnan(value) else sympy.oo if value > 0 else -sympy.oo
    return sympy.Integer(int(value)) if float(value).is_integer() and abs(value) < 2.0**53 else sympy.Float(value, 17)
