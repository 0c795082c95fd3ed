"""SymPy forms of the instructions of a tape: elementary functions of `screws.scalars`, arithmetic by Python's operators."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from bondgraph.tape import opcodes as op
from screws.scalars import FUNCTIONS


def elementary_forms() -> dict[int, Callable[..., Any]]:
    """Return instruction -> its SymPy form, but for conditions, which evaluate differently where they are exported."""
    import sympy

    return {op.CODES[name]: getattr(sympy, function) for name, (_, function) in FUNCTIONS.items()} | {
        op.ADD: operator.add,
        op.SUBTRACT: operator.sub,
        op.MULTIPLY: operator.mul,
        op.DIVIDE: operator.truediv,
        op.NEGATIVE: operator.neg,
        op.RECIPROCAL: lambda a: 1 / a,
        op.POWER: operator.pow,
    }
