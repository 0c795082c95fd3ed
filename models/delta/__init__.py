"""Delta robot: kinematics, bond graphs, linear analysis, control and simulation from one record of parameters."""

from screwbond.models.delta.graphs.control import Control, gravity_compensation, joint_control, linearising_control, task_control
from screwbond.models.delta.graphs.rigid_bodies import rigid_delta_graph
from screwbond.models.delta.graphs.three_arms import connect_arms, delta_arm, delta_graph
from screwbond.models.delta.kinematics.parameters import DeltaParameters, read_parameters
from screwbond.models.delta.kinematics.robot_kinematics import Configuration, DeltaKinematics
from screwbond.models.delta.studies.analysis import (
    Equilibrium,
    PoleSweep,
    PoleZeroMap,
    equilibrium,
    frequency_response,
    instability_angle,
    linearise_reduced,
    pole_zero_map,
    sweep_poles,
)
from screwbond.models.delta.studies.pick_and_place import Tracking, track, transfer
from screwbond.models.delta.studies.robot import DeltaRobot, DeltaRun, SingularPosture
from screwbond.models.delta.studies.soft_touch import SoftTouchRun, TouchPlan, soft_touch

from screws.calls import check_calls
from screws.names import answer_old_names

__all__ = [
    "Configuration",
    "Control",
    "DeltaKinematics",
    "DeltaParameters",
    "DeltaRobot",
    "DeltaRun",
    "Equilibrium",
    "SingularPosture",
    "PoleZeroMap",
    "PoleSweep",
    "SoftTouchRun",
    "TouchPlan",
    "Tracking",
    "instability_angle",
    "delta_arm",
    "delta_graph",
    "equilibrium",
    "frequency_response",
    "gravity_compensation",
    "joint_control",
    "linearising_control",
    "pole_zero_map",
    "read_parameters",
    "linearise_reduced",
    "rigid_delta_graph",
    "soft_touch",
    "sweep_poles",
    "task_control",
    "connect_arms",
    "track",
    "transfer",
]

check_calls(__name__)
answer_old_names(__name__)
