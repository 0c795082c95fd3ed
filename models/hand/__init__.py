"""The dexterous hand: parameters, reference motions, start posture in equilibrium, and grasp analysis."""

from models.hand.grasp import (
    Manipulability,
    finger_jacobian,
    finger_place,
    friction_margins,
    grasp_matrix,
    hand_jacobian,
    internal_forces,
    manipulability,
    object_manipulability,
    required_friction,
    squeezing,
    stretch,
)
from models.hand.parameters import HandParameters
from models.hand.posture import Posture, initial_posture, joint_torques, spring_deflections
from models.hand.scenarios import SCENARIOS, Scenario, Step, read_scenario, to_json

__all__ = [
    "SCENARIOS",
    "HandParameters",
    "Manipulability",
    "Posture",
    "Scenario",
    "Step",
    "finger_jacobian",
    "finger_place",
    "friction_margins",
    "grasp_matrix",
    "hand_jacobian",
    "initial_posture",
    "internal_forces",
    "joint_torques",
    "manipulability",
    "object_manipulability",
    "read_scenario",
    "required_friction",
    "spring_deflections",
    "squeezing",
    "stretch",
    "to_json",
]
