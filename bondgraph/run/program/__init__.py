"""Program: kernels and names of a compiled model in; frozen records that a run reads, and names its results by, out."""

from bondgraph.run.program.kernels import CollisionFriction, Collisions, NewtonLoop, RunClock, UnavailableKernel
from bondgraph.run.program.names import Layout, Slot
from bondgraph.run.program.program import ROLES, Program
from bondgraph.run.program.transitions import RunContact, RunTransition
from screws.renamed import answer_old_names

__all__ = ["Program", "ROLES", "Layout", "Slot", "RunTransition", "RunContact"]
__all__ += ["RunClock", "NewtonLoop", "Collisions", "CollisionFriction", "UnavailableKernel"]

answer_old_names(__name__)
