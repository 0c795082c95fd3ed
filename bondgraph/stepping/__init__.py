"""Time stepping with rigid contacts and Coulomb friction, quasi-static or dynamic, by quadratic programs."""

from bondgraph.stepping.interface import Stepper, quasistatic, stepper
from bondgraph.stepping.quadratic.candidates import WORLD, Candidates, Pairs, TouchingBody
from bondgraph.stepping.step import Stepped

__all__ = ["WORLD", "Candidates", "Pairs", "Stepped", "Stepper", "TouchingBody", "quasistatic", "stepper"]
