"""Time stepping with rigid contacts: a graph and a step in; states at the ends of steps, with forces that balance there, out."""

from bondgraph.stepping.interface import Stepper, quasistatic, stepper

__all__ = ["Stepper", "quasistatic", "stepper"]
