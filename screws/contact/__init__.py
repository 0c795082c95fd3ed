"""Contact of two curved surfaces: closest points, contact coordinates and their rates, relative pose and curvature."""

from screws.calls import check_calls
from screws.contact.closest import ContactCoordinates, all_closest_points, closest_points, is_convex
from screws.contact.kinematics import contact_pose, contact_rates, drift, motion_rate, relative_curvature, relative_pose
from screws.names import answer_old_names

__all__ = [
    "ContactCoordinates",
    "closest_points",
    "all_closest_points",
    "contact_pose",
    "contact_rates",
    "drift",
    "is_convex",
    "motion_rate",
    "relative_curvature",
    "relative_pose",
]

check_calls(__name__)
answer_old_names(__name__)
