"""Forms of equations: those of a compiled model in the forms of the literature, as SymPy records."""

from bondgraph.export.forms.energy_forms import hamilton_equations, lagrange_equations, mechanical_equations, port_hamiltonian
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

__all__ = [
    "HamiltonEquations",
    "LagrangeEquations",
    "LinearEquations",
    "LinearSystem",
    "MechanicalEquations",
    "PortHamiltonian",
    "hamilton_equations",
    "lagrange_equations",
    "linear_equations",
    "mechanical_equations",
    "port_hamiltonian",
    "state_equations",
    "StateEquations",
]
