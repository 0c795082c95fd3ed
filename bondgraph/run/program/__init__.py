"""Program: frozen records of a compiled model's kernels and names, used by runs and results."""

from bondgraph.run.program.kernels import CollisionFriction, Collisions, NewtonLoop, RunClock, RunDelay, UnavailableKernel
from bondgraph.run.program.names import Layout, Slot
from bondgraph.run.program.program import ROLES, Program
from bondgraph.run.program.transitions import RunContact, RunTransition
from screws.names import answer_old_names

__all__ = ["Program", "ROLES", "Layout", "Slot", "RunTransition", "RunContact"]
__all__ += ["RunClock", "RunDelay", "NewtonLoop", "Collisions", "CollisionFriction", "UnavailableKernel"]

answer_old_names(__name__)
