"""Parametrised surfaces of bodies: points, Gauss frames, metric and curvature in charts, from numbers or a user's formula."""

from screws.calls import check_calls
from screws.names import answer_old_names
from screws.surfaces.closed import closed_surface, cylinder, ellipsoid, plane, sphere, torus
from screws.surfaces.formulas import parametric
from screws.surfaces.frames import Geometry, gauss_frame
from screws.surfaces.nearest import nearest_coordinates
from screws.surfaces.surface import Shape, Surface
from screws.surfaces.surfaces_of_revolution import egg, revolution

__all__ = [
    "Geometry",
    "Shape",
    "Surface",
    "closed_surface",
    "cylinder",
    "egg",
    "ellipsoid",
    "gauss_frame",
    "nearest_coordinates",
    "parametric",
    "plane",
    "revolution",
    "sphere",
    "torus",
]

check_calls(__name__)
answer_old_names(__name__)
