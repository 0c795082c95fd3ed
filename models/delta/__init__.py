"""Delta robot: kinematics, bond graphs, linear analysis, control and runs from one record of parameters."""

from screwbond.models.delta.graphs.control import Control, gravity_compensation, joint_control, linearising_control, task_control
from screwbond.models.delta.graphs.rigid_bodies import rigid_delta_graph
from screwbond.models.delta.graphs.three_arms import delta_arm, delta_graph, tie_arms
from screwbond.models.delta.kinematics.parameters import DeltaParameters, read_parameters
from screwbond.models.delta.kinematics.robot_kinematics import Configuration, DeltaKinematics
from screwbond.models.delta.studies.analysis import (
    Equilibrium,
    PoleZeroMap,
    Sweep,
    crossing,
    equilibrium,
    frequency_response,
    pole_zero_map,
    reduced,
    sweep,
)
from screwbond.models.delta.studies.pick_and_place import Tracking, track, transfer
from screwbond.models.delta.studies.robot import DeltaRobot
from screwbond.models.delta.studies.run import DeltaRun, Passage
from screwbond.models.delta.studies.soft_touch import Touch, TouchPlan, soft_touch

__all__ = [
    "Configuration",
    "Control",
    "DeltaKinematics",
    "DeltaParameters",
    "DeltaRobot",
    "DeltaRun",
    "Equilibrium",
    "Passage",
    "PoleZeroMap",
    "Sweep",
    "Touch",
    "TouchPlan",
    "Tracking",
    "crossing",
    "delta_arm",
    "delta_graph",
    "equilibrium",
    "frequency_response",
    "gravity_compensation",
    "joint_control",
    "linearising_control",
    "pole_zero_map",
    "read_parameters",
    "reduced",
    "rigid_delta_graph",
    "soft_touch",
    "sweep",
    "task_control",
    "tie_arms",
    "track",
    "transfer",
]
