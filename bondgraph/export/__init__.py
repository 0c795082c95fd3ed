"""Text: a compiled model in; its equations as LaTeX, SymPy or state equations, or C source, out."""

from bondgraph.export.c_code.source import CSource, c_source
from bondgraph.export.forms import (
    HamiltonEquations,
    LagrangeEquations,
    LinearEquations,
    LinearSystem,
    MechanicalEquations,
    PortHamiltonian,
    StateEquations,
    hamilton_equations,
    lagrange_equations,
    linear_equations,
    mechanical_equations,
    port_hamiltonian,
    state_equations,
)
from bondgraph.export.latex_lines import document, latex
from bondgraph.export.straight_line import StraightLine, straight_lines
from bondgraph.export.symbolic import sympy_statements
from bondgraph.tape.opcodes import OPERATIONS

__all__ = [
    "OPERATIONS",
    "CSource",
    "HamiltonEquations",
    "LagrangeEquations",
    "LinearEquations",
    "LinearSystem",
    "MechanicalEquations",
    "PortHamiltonian",
    "StateEquations",
    "StraightLine",
    "c_source",
    "document",
    "latex",
    "hamilton_equations",
    "lagrange_equations",
    "linear_equations",
    "mechanical_equations",
    "port_hamiltonian",
    "state_equations",
    "straight_lines",
    "sympy_statements",
]
