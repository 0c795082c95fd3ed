"""Systems built from the language: rigid bodies, gravity, contact of curved bodies, and runs of them from files."""

from models.bodies import Body, ground, prescribed_body, rigid_body
from models.contacts import (
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
from models.gravity import attach_central_gravity, central_gravity
from models.planar import PlanarBody, planar_body, planar_contact, touch_planar
from models.springs import attach_between, centre_of_stiffness, point_spring, spatial_damper, spatial_spring
from models.two_bodies import (
    ContactRun,
    Scenario,
    contact_trajectory,
    read_scenario,
    run_contact,
    run_scenario,
    save_run,
    two_body_graph,
)
from models.visuals import Visual

__all__ = [
    "Body",
    "Compliant",
    "ContactRun",
    "Impact",
    "Maxwell",
    "PlanarBody",
    "Rigid",
    "Scenario",
    "ThreeState",
    "VirtualSpring",
    "Viscoelastic",
    "Visual",
    "attach_between",
    "attach_central_gravity",
    "attach_contact",
    "central_gravity",
    "centre_of_stiffness",
    "collisions",
    "contact",
    "contact_trajectory",
    "ground",
    "planar_body",
    "planar_contact",
    "point_spring",
    "prescribed_body",
    "read_scenario",
    "rigid_body",
    "run_contact",
    "run_scenario",
    "save_run",
    "spatial_damper",
    "spatial_spring",
    "touch_planar",
    "two_body_graph",
]
