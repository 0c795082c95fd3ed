"""Inner names of `screwbond.models.urdf` that tests look into."""

# ruff: noqa: F401

from screwbond.models.pictures.shapes.meshes import Mesh
from screwbond.models.urdf import document
from screwbond.models.urdf.mjcf_geoms import mesh_moments
from screwbond.models.urdf.reading import JOINTS
