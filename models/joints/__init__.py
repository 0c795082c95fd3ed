"""Joints between bodies as graphs: a port for the free directions, and an ideal constraint for all other directions."""

from screwbond.models.joints.graph import attach_joint, joint_graph
from screwbond.models.joints.kinds import joint_error

from screws.calls import check_calls
from screws.names import answer_old_names

__all__ = ["attach_joint", "joint_graph", "joint_error"]

check_calls(__name__)
answer_old_names(__name__)
