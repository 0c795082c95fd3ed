"""Nonsmooth contact dynamics (NSCD) of many free bodies with shapes: time steps with impact and Coulomb friction.

For a few contacts with their own laws, and for jointed bodies, see `bondgraph.compile_model` and `bondgraph.stepping`.
"""

from bondgraph.stepping.free_bodies.run import FreeBodyResult, FreeBodyStepper, free_body_stepper
from screws.calls import check_calls
from screws.names import answer_old_names

__all__ = ["FreeBodyStepper", "FreeBodyResult", "free_body_stepper"]

check_calls(__name__)
answer_old_names(__name__)
