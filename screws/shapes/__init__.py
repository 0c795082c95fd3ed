"""Shapes of many bodies in; the points in which they touch or may soon touch out, as arrays.

Closed forms for balls, capsules, boxes and half-spaces; convex hulls by the package coal. For two curved surfaces whose
contact point is followed along both, see `screws.contact`.
"""

from screws.shapes.search import Arrangement, PointPairs, arrangement, candidates
from screws.shapes.solids import Ball, Box, Capsule, HalfSpace, Hull, Solid

__all__ = ["Arrangement", "Ball", "Box", "Capsule", "HalfSpace", "Hull", "PointPairs", "Solid", "arrangement", "candidates"]
