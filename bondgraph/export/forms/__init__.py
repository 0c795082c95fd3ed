"""Forms of equations: a compiled model in; its equations in one of the forms of the literature, as SymPy records, out."""

from bondgraph.export.forms.closed_form import StateEquations
from bondgraph.export.forms.state_form import state_equations

__all__ = ["StateEquations", "state_equations"]
