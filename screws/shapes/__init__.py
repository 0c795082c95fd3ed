"""Collision detection: points where bodies of simple shapes touch or may soon touch, as arrays.

Balls, capsules, boxes and half-spaces have closed forms; convex hulls use the package coal. For two curved surfaces whose contact
point is followed along both, see `screws.contact`.
"""

from screws.calls import check_calls
from screws.names import answer_old_names
from screws.shapes.collision_detection import Arrangement, PointPairs, arrangement, candidates
from screws.shapes.plane_hulls import plane_hull
from screws.shapes.solids import Ball, Box, Capsule, HalfSpace, Hull, Solid

__all__ = [
    "Arrangement",
    "Ball",
    "Box",
    "Capsule",
    "HalfSpace",
    "Hull",
    "PointPairs",
    "Solid",
    "arrangement",
    "candidates",
    "plane_hull",
]

check_calls(__name__)
answer_old_names(__name__)
