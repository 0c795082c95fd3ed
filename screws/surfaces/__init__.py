"""Parametrised surfaces of bodies: users' numbers or formulas in; points, Gauss frames, metric, curvature in charts out."""

from screws.surfaces.closed import closed_surface, ellipsoid, sphere
from screws.surfaces.formulas import parametric
from screws.surfaces.frames import Geometry, gauss_frame
from screws.surfaces.nearest import nearest_coordinates
from screws.surfaces.profiles import egg, revolution
from screws.surfaces.single_chart import cylinder, plane, torus
from screws.surfaces.surface import Shape, Surface

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
