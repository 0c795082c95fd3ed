"""Many free bodies that touch anywhere: a graph with shapes in; steps of time with impact and Coulomb friction out.

For few contacts with laws of their own, and for what is jointed, see `bondgraph.compile_model` and `bondgraph.stepping`.
"""

from bondgraph.stepping.free_bodies.run import FreeBodyResult, FreeBodyStepper, free_body_stepper
from screws.renamed import answer_old_names

__all__ = ["FreeBodyStepper", "FreeBodyResult", "free_body_stepper"]

answer_old_names(__name__)
