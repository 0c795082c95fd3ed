"""Robots from URDF, MJCF and SDF files: trees with inertias, joints, limits, damping and springs, and meshes for pictures."""

from screwbond.models.robots.mjcf import read_mjcf
from screwbond.models.robots.reading import read_urdf
from screwbond.models.robots.records import Ignored, RobotDrive
from screwbond.models.robots.robot import LinkVisual, Robot, robot_scene, visual_solids
from screwbond.models.robots.sdf import read_sdf
from screwbond.models.robots.skeleton import RobotJoint
from screwbond.models.robots.writing import to_urdf

from screws.calls import check_calls
from screws.names import answer_old_names

__all__ = [
    "Ignored",
    "LinkVisual",
    "Robot",
    "RobotDrive",
    "RobotJoint",
    "read_mjcf",
    "read_sdf",
    "read_urdf",
    "robot_scene",
    "to_urdf",
    "visual_solids",
]

check_calls(__name__)
answer_old_names(__name__)
