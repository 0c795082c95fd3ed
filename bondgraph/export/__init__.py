"""Text out: LaTeX, SymPy and C."""

from bondgraph.export.c import CSource, c_source
from bondgraph.export.latex import document, latex
from bondgraph.export.symbolic import sympy_statements

__all__ = ["CSource", "c_source", "document", "latex", "sympy_statements"]
