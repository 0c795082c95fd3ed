"""Physical systems as bond graphs: bodies, joints, chains, springs and contact, with runs from files and pictures."""

from screwbond.models.alias import make_alias

if __name__ == "models":  # the old name, in a checkout
    make_alias()

from screwbond.models.bodies import Body, ground, prescribed_body, rigid_body
from screwbond.models.chains import BodyInertia, Chain, Link, Mimic, Tree, ball_inertia, chain_graph, cylinder_inertia
from screwbond.models.contacts import (
    Compliant,
    Impact,
    Maxwell,
    Rigid,
    ThreeState,
    VirtualSpring,
    Viscoelastic,
    attach_contact,
    collisions,
    contact,
)
from screwbond.models.forces import attach_force, force, torque, wrench
from screwbond.models.joints import attach_joint, joint_graph
from screwbond.models.pictures import movie, page, plots, poster, show, still
from screwbond.models.planar import (
    PlanarBody,
    attach_planar_contact,
    mark_planar_body,
    mark_planar_contact,
    planar_body,
    planar_contact,
)
from screwbond.models.springs import attach_between, centre_of_stiffness, line_force, point_spring, spatial_damper, spatial_spring
from screwbond.models.springs.point import attach_central_gravity, central_gravity
from screwbond.models.two_bodies import (
    ContactRun,
    Scenario,
    contact_trajectory,
    read_scenario,
    run_contact,
    run_scenario,
    save_run,
    two_body_graph,
)
from screwbond.models.visuals import Visual

from screws.calls import check_calls
from screws.names import answer_old_names

__all__ = [
    "Body",
    "BodyInertia",
    "Chain",
    "Compliant",
    "ContactRun",
    "Impact",
    "Link",
    "Maxwell",
    "Mimic",
    "PlanarBody",
    "Rigid",
    "Scenario",
    "ThreeState",
    "Tree",
    "VirtualSpring",
    "Viscoelastic",
    "Visual",
    "attach_between",
    "attach_central_gravity",
    "attach_contact",
    "attach_force",
    "attach_joint",
    "ball_inertia",
    "central_gravity",
    "centre_of_stiffness",
    "chain_graph",
    "collisions",
    "contact",
    "contact_trajectory",
    "cylinder_inertia",
    "force",
    "ground",
    "joint_graph",
    "line_force",
    "mark_planar_body",
    "mark_planar_contact",
    "movie",
    "page",
    "planar_body",
    "planar_contact",
    "plots",
    "point_spring",
    "poster",
    "prescribed_body",
    "read_scenario",
    "rigid_body",
    "run_contact",
    "run_scenario",
    "save_run",
    "show",
    "spatial_damper",
    "spatial_spring",
    "still",
    "attach_planar_contact",
    "torque",
    "two_body_graph",
    "wrench",
]

check_calls(__name__)
answer_old_names(__name__)
