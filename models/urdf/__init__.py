"""Robots from URDF: the path of a file in; a chain with inertias, joints, limits and damping, and meshes for pictures, out."""

from screwbond.models.urdf.grammar import Ignored
from screwbond.models.urdf.joints import RobotJoint
from screwbond.models.urdf.reading import read_urdf
from screwbond.models.urdf.robot import Robot
from screwbond.models.urdf.scenes import robot_scene, skinned
from screwbond.models.urdf.skins import Skin

__all__ = ["Ignored", "Robot", "RobotJoint", "Skin", "read_urdf", "robot_scene", "skinned"]
