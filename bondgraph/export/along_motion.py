"""Time derivatives along the motion, in symbols: what `bondgraph.tracing.derivatives` does on a tape."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bondgraph.assembly.system import System, Unknown
from bondgraph.export.canonical import reduced
from bondgraph.model.ops import Choice
from bondgraph.tracing.values import scalars_of

Slopes = Mapping[Any, Any]
"""Symbols that move -> their time derivatives."""


def along(expression: Any, slopes: Slopes) -> Any:
    """Time derivative of an expression by the chain rule."""
    import sympy

    expression = sympy.S(expression)
    moving = sorted(expression.free_symbols & set(slopes), key=str)
    return sympy.Add(*(sympy.diff(expression, s) * slopes[s] for s in moving))


class WhatVanishes:
    """What vanishes at constraints and switches, some of which yield at once: it depends on the unknowns themselves.

    Where an unknown acts on it, it vanishes by itself and its derivative counts as zero; elsewhere it is differentiated. An
    unknown that its own mode makes zero does not act.
    """

    def __init__(self, system: System):
        self.system = system
        self.elements = frozenset(u.element for u in system.unknowns if u.algebraic)
        self.gates = {s.outs[0]: s for s in system.statements if isinstance(s.op, Choice)}
        self.decided: dict[str, list[Any]] = {}

    def decide(self, element: str, value: Any, env: Mapping[str, Any], sought: Mapping[Any, Unknown]) -> None:
        """What is to be differentiated of the value at an element, component by component: 0 where an unknown acts.

        `sought` are the symbols that stand for the unknowns.
        """
        import sympy

        if element in self.decided:
            return
        zero = dict.fromkeys(sought, sympy.S.Zero)
        self.decided[element] = [
            sympy.S.Zero
            if any(
                self._may_act(sought[w], env) and reduced(sympy.diff(scalar, w)) != 0 for w in scalar.free_symbols & sought.keys()
            )
            else scalar.xreplace(zero)
            for scalar in map(sympy.S, scalars_of(value))
        ]

    def slopes(self, element: str, slopes: Slopes) -> Sequence[Any]:
        """Time derivatives of the components."""
        return [along(scalar, slopes) for scalar in self.decided[element]]

    def _may_act(self, unknown: Unknown, env: Mapping[str, Any]) -> bool:
        gate = self.gates.get(unknown.residual)
        if gate is None or gate.args[2] != unknown.value:
            return True
        return bool(gate.op(env[gate.args[0]], 1.0, 0.0))
