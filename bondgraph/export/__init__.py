"""Text: a compiled model in; its document, its equations as LaTeX, SymPy or state equations, or C source, out."""

from bondgraph.export.c_code.source import CSource, c_source
from bondgraph.export.closed_form import StateEquations
from bondgraph.export.explanation import Explanation, explain
from bondgraph.export.latex_lines import latex
from bondgraph.export.paper.build import document
from bondgraph.export.state_form import state_equations
from bondgraph.export.straight_line import StraightLine, straight_lines
from bondgraph.export.symbolic import sympy_statements
from bondgraph.tape.opcodes import OPERATIONS

__all__ = [
    "OPERATIONS",
    "CSource",
    "Explanation",
    "StateEquations",
    "StraightLine",
    "c_source",
    "document",
    "explain",
    "latex",
    "state_equations",
    "straight_lines",
    "sympy_statements",
]
