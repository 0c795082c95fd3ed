"""Geometry of rigid bodies in contact: rotations, poses, twists, wrenches, inertia, surfaces, contact kinematics.

Formulas are written once and take any scalar: floats, SymPy expressions, jets, a compiler's scalars.
"""

from screws import contact, inertia, jets, joints, poses, rotations, scalars, shapes, surfaces, twists, vectors
from screws.calls import check_calls
from screws.contact import ContactCoordinates, closest_points, contact_pose, contact_rates, relative_curvature, relative_pose
from screws.errors import GeometryError
from screws.inertia import check_inertia, inertia_in, kinetic_energy, momentum, spatial_inertia
from screws.names import answer_old_names
from screws.poses import Ad, ad, hat, inverse, pose, pose_from_state, pose_rate, pose_state, position_of, rotation_of, vee
from screws.rotations import quaternion, quaternion_product, quaternion_rate, rotation, tilde, untilde
from screws.surfaces import (
    Geometry,
    Surface,
    closed_surface,
    cylinder,
    egg,
    ellipsoid,
    parametric,
    plane,
    revolution,
    sphere,
    torus,
)
from screws.twists import (
    helical,
    point_velocity,
    power,
    prismatic,
    revolute,
    transform_twist,
    transform_twist_back,
    transform_wrench,
    transform_wrench_back,
    wrench_of_force,
)

__distribution__ = "screwbond"
"""Distribution that installs this package; a file without this line belongs to another distribution."""

__all__ = [
    # modules
    "contact",
    "inertia",
    "jets",
    "joints",
    "poses",
    "rotations",
    "scalars",
    "shapes",
    "surfaces",
    "twists",
    # rotations (exp and log: screws.rotations)
    "quaternion",
    "quaternion_product",
    "quaternion_rate",
    "rotation",
    "tilde",
    "untilde",
    # poses (exp and log: screws.poses)
    "Ad",
    "ad",
    "hat",
    "inverse",
    "pose",
    "pose_from_state",
    "pose_rate",
    "pose_state",
    "position_of",
    "rotation_of",
    "vee",
    # twists and wrenches
    "helical",
    "point_velocity",
    "power",
    "prismatic",
    "revolute",
    "transform_twist",
    "transform_twist_back",
    "transform_wrench",
    "transform_wrench_back",
    "wrench_of_force",
    # inertia
    "check_inertia",
    "inertia_in",
    "kinetic_energy",
    "momentum",
    "spatial_inertia",
    # surfaces
    "Geometry",
    "Surface",
    "closed_surface",
    "cylinder",
    "egg",
    "ellipsoid",
    "parametric",
    "plane",
    "revolution",
    "sphere",
    "torus",
    # contact
    "ContactCoordinates",
    "closest_points",
    "contact_pose",
    "contact_rates",
    "relative_curvature",
    "relative_pose",
    # errors
    "GeometryError",
]

for _module in (__name__, *(each.__name__ for each in (poses, rotations, twists, inertia, scalars, vectors))):
    check_calls(_module)
answer_old_names(__name__)
