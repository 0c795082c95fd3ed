"""Time stepping with rigid contacts: a graph and a step in; states at the ends of steps, with forces that balance there, out."""

from bondgraph.stepping.interface import Stepper, quasistatic, stepper
from bondgraph.stepping.quadratic.candidates import WORLD, Candidates, Pairs, TouchingBody
from bondgraph.stepping.step import Stepped

__all__ = ["WORLD", "Candidates", "Pairs", "Stepped", "Stepper", "TouchingBody", "quasistatic", "stepper"]
