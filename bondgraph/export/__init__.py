"""Text out: LaTeX and SymPy."""

from bondgraph.export.latex import document, latex
from bondgraph.export.symbolic import sympy_statements

__all__ = ["document", "latex", "sympy_statements"]
