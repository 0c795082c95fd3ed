"""Robots from URDF: the path of a file in; a chain with inertias, joints, limits and damping, and meshes for pictures, out."""

from models.urdf.grammar import Ignored
from models.urdf.joints import RobotJoint
from models.urdf.reading import read_urdf
from models.urdf.robot import Robot
from models.urdf.scenes import robot_scene, skinned
from models.urdf.skins import Skin

__all__ = ["Ignored", "Robot", "RobotJoint", "Skin", "read_urdf", "robot_scene", "skinned"]
