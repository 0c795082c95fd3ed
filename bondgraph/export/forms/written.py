"""Writing: SymPy expressions in; lines of text and of LaTeX in the user's names and letters, modes in words, out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bondgraph.export.forms.letters import letter_of
from bondgraph.export.symbols import text


@dataclass(frozen=True)
class Writing:
    """How expressions are written: the letters of names, the states of modes, and which symbols come first in sums."""

    letters: Mapping[str, str]
    modes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Mode signal -> names of its states."""
    first: Sequence[str] = ()

    def plain(self, expression: Any) -> str:
        """One line of text."""
        import sympy

        ordered = self._ordered(self._worded(expression, str))
        return str(sympy.sstr(ordered, order="none" if ordered.is_Add else None, full_prec=False))

    def latex(self, expression: Any) -> str:
        """LaTeX of an expression or a matrix."""
        import sympy

        names: dict[Any, str] = {}

        def told(words: str) -> str:
            names[sympy.Symbol(words)] = text(words)
            return words

        worded = self._worded(expression, told)
        if worded.is_Matrix:
            names |= {symbol: letter_of(self.letters, symbol.name) for symbol in worded.free_symbols if symbol not in names}
            return str(sympy.latex(worded, symbol_names=names, full_prec=False))
        ordered = self._ordered(worded)
        names |= {symbol: letter_of(self.letters, symbol.name) for symbol in ordered.free_symbols if symbol not in names}
        order = "none" if ordered.is_Add else None
        return str(sympy.latex(ordered, symbol_names=names, order=order, full_prec=False))

    def _worded(self, expression: Any, told: Any) -> Any:
        """Conditions on modes in words."""
        import sympy

        if expression.is_Matrix:
            return expression.applyfunc(lambda entry: self._worded(entry, told))
        swapped = {}
        for condition in expression.atoms(sympy.Eq) if self.modes else ():
            mode, k = condition.args
            if mode.is_Symbol and mode.name in self.modes and k.is_number:
                words = f"{mode.name.removesuffix('.mode')} is {self.modes[mode.name][int(k)]}"
                swapped[condition] = sympy.Symbol(told(words))
        return expression.xreplace(swapped) if swapped else expression

    def _ordered(self, expression: Any) -> Any:
        """Terms with inputs first, then by the order of the states."""
        import sympy

        if not expression.is_Add:
            return expression
        order = {name: k for k, name in enumerate(self.first)}

        def place(term: Any) -> tuple[Any, ...]:
            met = sorted(order[s.name] for s in term.free_symbols if s.name in order)
            return (not met, met, term.sort_key())

        return sympy.Add(*sorted(expression.args, key=place), evaluate=False)
