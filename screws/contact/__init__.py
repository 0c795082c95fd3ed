"""Contact of two curved surfaces: closest points, contact coordinates and their rates, relative pose and curvature."""

from screws.contact.closest import ContactCoordinates, closest_points, contact_places, is_convex
from screws.contact.kinematics import contact_pose, contact_rates, drift, motion_rate, relative_curvature, relative_pose

__all__ = [
    "ContactCoordinates",
    "closest_points",
    "contact_places",
    "contact_pose",
    "contact_rates",
    "drift",
    "is_convex",
    "motion_rate",
    "relative_curvature",
    "relative_pose",
]
