"""Interpreter of derivatives in C: its procedures, and the rules that machine code has as LLVM text."""

from __future__ import annotations

import functools
import operator
from collections.abc import Collection

from bondgraph.emit.interpreter.code import ARGUMENTS, BLOCK, RESULT, procedures, rule_routine
from bondgraph.emit.procedure import Procedure, Temporary
from bondgraph.tape import opcodes as op
from bondgraph.tape.routine import Routine

RULES = {f"rule_{op.NAMES[code]}": code for code in ARGUMENTS}
"""Rule of each instruction."""


def interpreter() -> list[Procedure]:
    """Return the interpreter with its sums; its rules are missing."""
    return [*map(_sum, range(1, RESULT + 1)), *procedures()]


def rules(names: Collection[str]) -> dict[str, Routine]:
    """Return the routines of the rules among these names."""
    return {name: rule_routine(code) for name, code in RULES.items() if name in names}


def _sum(terms: int) -> Procedure:
    """Set the derivatives of a step by the columns of some blocks: the sum of slope times row over its arguments, in which zero
    times infinity is zero."""
    kinds = {"target": "ptr", "first": "i64", "last": "i64"}
    for k in range(terms):
        kinds |= {f"slope{k}": "double", f"source{k}": "ptr"}
    write = Procedure(f"sum_{terms}", kinds)
    with write.loop(write["last"] * BLOCK, write["first"] * BLOCK) as i:
        parts = list[Temporary]()
        for k in range(terms):
            slope, derivative = write[f"slope{k}"], write[f"source{k}"][i]
            parts.append(write.select(slope.equals(0.0) | derivative.equals(0.0), 0.0, slope * derivative))
        total = functools.reduce(operator.add, parts)
        write["target"][i] = total + 0.0 if terms < RESULT else total
    write.give()
    return write
