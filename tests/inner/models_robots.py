"""Internal names of `screwbond.models.robots` that tests use."""

# ruff: noqa: F401

from screwbond.models.pictures.shapes.meshes import Mesh
from screwbond.models.robots import document
from screwbond.models.robots.mjcf_geoms import mesh_moments
from screwbond.models.robots.reading import JOINTS
