"""Export of a compiled model as a document, LaTeX or SymPy equations, source code, an FMU or a page that simulates."""

from bondgraph.export.code.c import CSource, c_source
from bondgraph.export.code.casadi import to_casadi
from bondgraph.export.code.jax import to_jax
from bondgraph.export.code.matlab import MatlabSource, matlab_source
from bondgraph.export.code.modelica.source import ModelicaSource, modelica_source
from bondgraph.export.code.numpy import NumPySource, numpy_source
from bondgraph.export.code.printer import StraightLine, straight_lines
from bondgraph.export.code.sympy import SymPyModel, SymPyRoutine, sympy_model
from bondgraph.export.explanation import Explanation, explain
from bondgraph.export.fmi.writer import FMU, fmu
from bondgraph.export.forms.derivation.port_hamiltonian import port_hamiltonian
from bondgraph.export.forms.energy_forms import hamilton_equations, lagrange_equations, mechanical_equations
from bondgraph.export.forms.linear_form import LinearEquations, linear_equations
from bondgraph.export.forms.records import (
    HamiltonEquations,
    LagrangeEquations,
    LinearSystem,
    MechanicalEquations,
    PortHamiltonian,
    StateEquations,
)
from bondgraph.export.forms.state_form import state_equations
from bondgraph.export.latex_lines import latex
from bondgraph.export.paper.document import document
from bondgraph.export.run.c import CRun, c_run
from bondgraph.export.symbolic import sympy_statements
from bondgraph.export.wasm.page import LivePage, live_page
from bondgraph.tape.opcodes import OPERATIONS
from screws.calls import check_calls
from screws.names import answer_old_names

__all__ = [
    "OPERATIONS",
    "CRun",
    "CSource",
    "FMU",
    "Explanation",
    "MatlabSource",
    "ModelicaSource",
    "NumPySource",
    "HamiltonEquations",
    "LagrangeEquations",
    "LinearEquations",
    "LinearSystem",
    "LivePage",
    "MechanicalEquations",
    "PortHamiltonian",
    "StateEquations",
    "StraightLine",
    "SymPyModel",
    "SymPyRoutine",
    "c_run",
    "c_source",
    "document",
    "explain",
    "fmu",
    "latex",
    "matlab_source",
    "modelica_source",
    "numpy_source",
    "hamilton_equations",
    "lagrange_equations",
    "linear_equations",
    "live_page",
    "mechanical_equations",
    "port_hamiltonian",
    "state_equations",
    "straight_lines",
    "sympy_model",
    "sympy_statements",
    "to_casadi",
    "to_jax",
]

check_calls(__name__)
answer_old_names(__name__)
