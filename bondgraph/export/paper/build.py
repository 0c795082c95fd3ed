"""Document of a model: the section "the model" of a paper, with all of its equations, numbers, automata and definitions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, get_args

from bondgraph.compile.pipeline import Compilable, compiled_form
from bondgraph.errors import refusal
from bondgraph.export.paper.markup.as_latex import as_latex
from bondgraph.export.paper.markup.as_markdown import as_markdown
from bondgraph.export.paper.markup.as_typst import as_typst
from bondgraph.export.paper.markup.content import Paper
from bondgraph.export.paper.sections import paper_of

Style = Literal["latex", "markdown", "typst"]

STYLES: Mapping[str, Callable[[Paper], str]] = {"latex": as_latex, "markdown": as_markdown, "typst": as_typst}
"""Writer of each document style."""


def document(model: Compilable, style: Style = "latex") -> str:
    """Return a complete document of a model: nothing else is needed to compute its motion.

    It has the bond graph as a figure, conventions, parameters with values and units, states with start values, the numbered
    equations of each part (equal parts once), automata with guards, resets and impacts, sampled blocks with their clocks,
    energies and power balance, a definition of every function that occurs, and every letter.

    Parameters
    ----------
    model : compiled, or a graph, which is compiled first.
    style : "latex" for pdflatex, "markdown" with formulas for KaTeX or MathJax, or "typst", which needs no packages.

    Raises `ModelError` E100 for no model, E279 for another style, E280 for a symbol or formula of your own with a LaTeX command
    that has no form in Typst.
    """
    if style not in STYLES:
        names = ", ".join(f'"{name}"' for name in get_args(Style))
        raise refusal("E279", f"style={style!r} is no style of documents", f"one of {names}", about="document", places=())
    return STYLES[style](paper_of(compiled_form(model, "document")))
