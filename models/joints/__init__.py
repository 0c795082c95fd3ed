"""Joints between bodies: unit screws, with free and constrained directions, in; the joint as a graph out."""

from screwbond.models.joints.graph import attach_joint, joint_graph
from screwbond.models.joints.kinds import joint_error

from screws.renamed import answer_old_names

__all__ = ["attach_joint", "joint_graph", "joint_error"]

answer_old_names(__name__)
