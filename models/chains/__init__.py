"""Kinematic trees and serial chains: links, products of exponentials, dynamics by recursion, and their graph as one IC field.

Formulas of a tree take states (n,) or rows of states (..., n); they raise `ModelError` E338 for anything but a tree, and for
states of the wrong shape.
"""

from screwbond.models.chains.balance import centre_of_mass, centroidal_momentum, support_margin, support_polygon
from screwbond.models.chains.blocks import inverse_dynamics_block, jacobian_block
from screwbond.models.chains.damped_least_squares import InverseKinematics, inverse_kinematics
from screwbond.models.chains.dynamics import (
    bias,
    forward_dynamics,
    gravity_forces,
    inverse_dynamics,
    kinetic_energy,
    mass_matrix,
    potential,
)
from screwbond.models.chains.graph import ChainGraph, LinkBody, chain_graph
from screwbond.models.chains.kinematics import body_jacobian, body_twists, jacobian, link_pose, link_pose_state, space_jacobian
from screwbond.models.chains.links import BEFORE, BodyInertia, Link, Mimic, ball_inertia, combined_inertia, cylinder_inertia
from screwbond.models.chains.trees import Chain, Tree

from screws.calls import check_calls
from screws.names import answer_old_names

__all__ = [
    "BEFORE",
    "BodyInertia",
    "Chain",
    "ChainGraph",
    "InverseKinematics",
    "Link",
    "LinkBody",
    "Mimic",
    "Tree",
    "ball_inertia",
    "bias",
    "body_jacobian",
    "body_twists",
    "centre_of_mass",
    "centroidal_momentum",
    "chain_graph",
    "cylinder_inertia",
    "forward_dynamics",
    "gravity_forces",
    "inverse_dynamics",
    "inverse_dynamics_block",
    "inverse_kinematics",
    "jacobian",
    "jacobian_block",
    "kinetic_energy",
    "link_pose",
    "link_pose_state",
    "mass_matrix",
    "potential",
    "space_jacobian",
    "support_margin",
    "support_polygon",
    "combined_inertia",
]

check_calls(__name__)
answer_old_names(__name__)
