"""Text: a compiled model in; its equations as LaTeX, SymPy or state equations, or C source, out."""

from bondgraph.export.c_code.source import CSource, c_source
from bondgraph.export.forms import StateEquations, state_equations
from bondgraph.export.latex_lines import document, latex
from bondgraph.export.straight_line import StraightLine, straight_lines
from bondgraph.export.symbolic import sympy_statements
from bondgraph.tape.opcodes import OPERATIONS

__all__ = [
    "OPERATIONS",
    "CSource",
    "StateEquations",
    "StraightLine",
    "c_source",
    "document",
    "latex",
    "state_equations",
    "straight_lines",
    "sympy_statements",
]
