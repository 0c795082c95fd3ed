"""Text and LaTeX of SymPy expressions with the user's names and letters: symbols, sums, matrices and named modes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bondgraph.compile.compiled import Compiled
from bondgraph.export.symbols import dotted, text, value_latex
from bondgraph.model.laws import Source
from bondgraph.output.lazy import sympy
from bondgraph.output.tables import labels_of


def letters_of(compiled: Compiled, inputs: Sequence[str], more: Iterable[str] = ()) -> dict[str, str]:
    system, elements = compiled.system, compiled.model.elements
    letters: dict[str, str] = {}
    for name in dict.fromkeys((*system.values, *more)):
        path, _, local = name.rpartition(".")
        letter = value_latex(system, name)
        if name in inputs and local == "value" and isinstance(law := elements[path].law, Source):
            letter = elements[path].symbols.get(law.gives) or value_latex(system, f"{path}.{law.gives}")
        shape = system.values[system.resolve(name)].shape or ()
        for label, index in zip(labels_of(name, shape), np.ndindex(*shape), strict=True):
            letters[label] = _component(letter, index)
    return letters


def letter_of(letters: Mapping[str, str], name: str) -> str:
    if name in letters:
        return letters[name]
    if name.endswith("'"):
        return dotted(letter_of(letters, name.removesuffix("'")))
    base, _, number = name.removesuffix(")").rpartition(" (")
    if base in letters and number.isdigit():
        return rf"{{{letters[base]}}}^{{({number})}}"
    if name[:1] == "s" and name[1:].isdigit():
        return f"s_{{{name[1:]}}}"
    return name


def _component(letter: str, index: tuple[int, ...]) -> str:
    if not index:
        return letter
    indices = ",".join(str(k + 1) for k in index)
    if "_" not in letter:
        return rf"{letter}_{{{indices}}}"
    if letter.endswith("}}") and letter.count("_{") == 1 and "^" not in letter:
        return f"{letter[:-1]},{indices}}}"
    return rf"\left({letter}\right)_{{{indices}}}"


@dataclass(frozen=True)
class ExpressionWriter:
    letters: Mapping[str, str]
    modes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    first: Sequence[str] = ()

    def plain(self, expression: Any) -> str:
        ordered = self._ordered(self._worded(expression, str))
        return str(sympy.sstr(ordered, order="none" if ordered.is_Add else None, full_prec=False))

    def latex(self, expression: Any) -> str:
        names: dict[Any, str] = {}

        def label(words: str) -> str:
            names[sympy.Symbol(words)] = text(words)
            return words

        worded = self._worded(expression, label)
        if worded.is_Matrix:
            names |= {symbol: letter_of(self.letters, symbol.name) for symbol in worded.free_symbols if symbol not in names}
            return str(sympy.latex(worded, symbol_names=names, full_prec=False))
        ordered = self._ordered(worded)
        names |= {symbol: letter_of(self.letters, symbol.name) for symbol in ordered.free_symbols if symbol not in names}
        order = "none" if ordered.is_Add else None
        return str(sympy.latex(ordered, symbol_names=names, order=order, full_prec=False))

    def _worded(self, expression: Any, label: Any) -> Any:
        if expression.is_Matrix:
            return expression.applyfunc(lambda entry: self._worded(entry, label))
        swapped = {}
        for condition in expression.atoms(sympy.Eq) if self.modes else ():
            mode, k = condition.args
            if mode.is_Symbol and mode.name in self.modes and k.is_number:
                words = f"{mode.name.removesuffix('.mode')} is {self.modes[mode.name][int(k)]}"
                swapped[condition] = sympy.Symbol(label(words))
        return expression.xreplace(swapped) if swapped else expression

    def _ordered(self, expression: Any) -> Any:
        if not expression.is_Add:
            return expression
        order = {name: k for k, name in enumerate(self.first)}

        def place(term: Any) -> tuple[Any, ...]:
            met = sorted(order[s.name] for s in term.free_symbols if s.name in order)
            return (not met, met, term.sort_key())

        return sympy.Add(*sorted(expression.args, key=place), evaluate=False)


def plain_lines(writer: ExpressionWriter, equation: str, parts: Mapping[str, Any]) -> str:
    lines = [equation]
    for name, part in parts.items():
        if not getattr(part, "is_Matrix", False):
            lines.append(f"{name} = {writer.plain(part)}")
            continue
        lead = f"{name} = "
        if 0 in part.shape:
            lines.append(f"{lead}{part.shape[0]} x {part.shape[1]}")
        cells = [[writer.plain(entry) for entry in part.row(i)] for i in range(part.rows)] if part.cols else []
        widths = [max(len(row[j]) for row in cells) for j in range(part.cols)] if cells else []
        for i, row in enumerate(cells):
            inside = "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
            lines.append(f"{lead if i == 0 else ' ' * len(lead)}[{inside}]")
    return "\n".join(lines)


def latex_lines(writer: ExpressionWriter, equation: str, parts: Mapping[str, Any]) -> str:
    shown = {name: part for name, part in parts.items() if 0 not in getattr(part, "shape", (1,))}
    return aligned([equation, *(rf"{name} &= {writer.latex(part)}" for name, part in shown.items())])


def aligned(lines: Iterable[str]) -> str:
    return "\\begin{align*}\n" + " \\\\\n".join(lines) + "\n\\end{align*}\n"
