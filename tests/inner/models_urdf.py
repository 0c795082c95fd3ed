"""Inner names of `screwbond.models.urdf` that tests look into."""

# ruff: noqa: F401

from screwbond.models.urdf import document
from screwbond.models.urdf.reading import JOINTS
