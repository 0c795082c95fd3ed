"""Nonsmooth contact dynamics (NSCD) of many free bodies with shapes: time steps with impact and Coulomb friction.

For few contacts with their own laws, and for jointed bodies, see `bondgraph.compile_model` and `bondgraph.stepping`.
"""

from bondgraph.stepping.free_bodies.run import Pile, PileResult, pile

__all__ = ["Pile", "PileResult", "pile"]
