"""Dexterous hand with an intrinsically passive controller: bond graph, initial posture, runs and grasp analysis."""

from screwbond.models.hand.command import save_hand
from screwbond.models.hand.graph import Hand, VirtualObject, equilibrium, passive_controller, reference_motion
from screwbond.models.hand.grasping import (
    Manipulability,
    Posture,
    finger_extension,
    finger_jacobian,
    fingertip_pose,
    friction_margins,
    grasp_matrix,
    hand_jacobian,
    initial_posture,
    internal_forces,
    joint_torques,
    manipulability,
    object_manipulability,
    required_friction,
    spring_deflections,
    squeeze_forces,
)
from screwbond.models.hand.run import HandRun, Study, run_hand, study
from screwbond.models.hand.scenarios import SCENARIOS, HandParameters, HandScenario, ReferenceStep, read_scenario, to_json

from screws.calls import check_calls
from screws.names import answer_old_names

__all__ = [
    "SCENARIOS",
    "Hand",
    "HandParameters",
    "HandRun",
    "Manipulability",
    "Posture",
    "HandScenario",
    "ReferenceStep",
    "Study",
    "VirtualObject",
    "equilibrium",
    "finger_jacobian",
    "fingertip_pose",
    "friction_margins",
    "grasp_matrix",
    "hand_jacobian",
    "initial_posture",
    "internal_forces",
    "joint_torques",
    "manipulability",
    "object_manipulability",
    "passive_controller",
    "read_scenario",
    "reference_motion",
    "required_friction",
    "run_hand",
    "save_hand",
    "spring_deflections",
    "squeeze_forces",
    "finger_extension",
    "study",
    "to_json",
]

check_calls(__name__)
answer_old_names(__name__)
