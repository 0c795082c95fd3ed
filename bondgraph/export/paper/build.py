"""Documents: a model in; the section "the model" of a paper - all of its equations, numbers, machines and definitions - out."""

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
"""What a document can be written as."""


def document(model: Compilable, style: Style = "latex") -> str:
    """The equations of a model as a document that is complete: nothing else is needed to compute its motion.

    It has the bond graph as a figure, conventions, parameters with values and units, states with where they start, the
    equations of each part with numbers (parts that are alike once), state machines with guards, resets and impacts, sampled
    blocks with their clocks, energies and power balance, a definition of every function that occurs, and every letter.

    Parameters
    ----------
    model : compiled, or a graph, which is compiled first.
    style : "latex" for pdflatex, "markdown" with formulas for KaTeX or MathJax, or "typst", which needs no packages.

    Raises `ModelError` E100 for what is no model, E279 for another style, E280 for a symbol or formula of
    your own with a command of LaTeX that has no form in Typst.
    """
    if style not in STYLES:
        known = ", ".join(f'"{name}"' for name in get_args(Style))
        raise refusal("E279", f"style={style!r} is no style of documents", f"one of {known}", about="document", places=())
    return STYLES[style](paper_of(compiled_form(model, "document")))
