"""Robots from URDF files: chains and trees with inertias, joints, limits and damping, and meshes for pictures."""

from screwbond.models.urdf.document import Ignored
from screwbond.models.urdf.reading import read_urdf
from screwbond.models.urdf.robot import LinkVisual, Robot, robot_scene, visual_solids
from screwbond.models.urdf.skeleton import RobotJoint
from screwbond.models.urdf.writing import to_urdf

from screws.calls import check_calls
from screws.renamed import answer_old_names

__all__ = ["Ignored", "Robot", "RobotJoint", "LinkVisual", "read_urdf", "robot_scene", "to_urdf", "visual_solids"]

check_calls(__name__)
answer_old_names(__name__)
