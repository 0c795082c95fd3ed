"""Joints between bodies as graphs: unit screws with free and constrained directions."""

from models.joints.graph import attach_joint, joint_graph
from models.joints.start import missed

__all__ = ["attach_joint", "joint_graph", "missed"]
