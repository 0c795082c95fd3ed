"""StateEquations: rates of all states as SymPy expressions, and how they are written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bondgraph.export.symbols import dotted, text

Case = tuple[str, Any]
"""The modes in which it holds, in words, and the expression."""


@dataclass(frozen=True)
class StateEquations:
    """x' = f(x, u, p, t): one SymPy expression for each state; notebooks show the equations by themselves."""

    name: str
    equations: Mapping[str, Any]
    """State, or component of one such as `body.p[2]` -> its rate, in symbols of the users' names and `time`."""
    outputs: Mapping[str, Any]
    """The further values that were asked for."""
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    """Parameters of sources, which stay symbols."""
    parameters: Mapping[str, float]
    """Every other parameter that occurs -> its number."""
    letters: Mapping[str, str] = field(repr=False)
    """Name of a symbol -> its LaTeX."""
    cases: Mapping[str, tuple[Case, ...]] = field(repr=False)
    """State or output -> what holds in which modes of the switches; one case where they make no difference."""

    def latex(self) -> str:
        """An `align*` environment with one line for each state and output."""
        left = {name: dotted(self.letters[name]) for name in self.equations} | {name: self.letters[name] for name in self.outputs}
        lines = [rf"{letter} &= {self._right(name)} \\" for name, letter in left.items()]
        return "\\begin{align*}\n" + "\n".join(lines).removesuffix(r" \\") + "\n\\end{align*}\n"

    def _right(self, name: str) -> str:
        import sympy

        names = {
            symbol: self.letters.get(symbol.name, symbol.name)
            for _, expression in self.cases[name]
            for symbol in expression.free_symbols
        }
        written = [
            (when, sympy.latex(expression, symbol_names=names, order="none" if expression.is_Add else None))
            for when, expression in map(self._ordered, self.cases[name])
        ]
        if len(written) == 1:
            return written[0][1]
        rows = [rf"{right} & {text(when)}" for when, right in written]
        return r"\begin{cases} " + r" \\ ".join(rows) + r" \end{cases}"

    def _ordered(self, case: Case) -> Case:
        """Terms with inputs first, then by the order of the states."""
        import sympy

        when, expression = case
        if not expression.is_Add:
            return case
        order = {name: k for k, name in enumerate((*self.inputs, "time", *self.states))}

        def place(term: Any) -> tuple[Any, ...]:
            met = sorted(order[s.name] for s in term.free_symbols if s.name in order)
            return (not met, met, term.sort_key())

        return when, sympy.Add(*sorted(expression.args, key=place), evaluate=False)

    def __str__(self) -> str:
        import sympy

        lines = []
        for name, cases in self.cases.items():
            left = f"{name}'" if name in self.equations else name
            for when, expression in map(self._ordered, cases):
                right = sympy.sstr(expression, order="none" if expression.is_Add else None)
                lines.append(f"{left} = {right}" + (f"   ({when})" if len(cases) > 1 else ""))
        return "\n".join(lines)

    def _repr_latex_(self) -> str:
        return self.latex()
