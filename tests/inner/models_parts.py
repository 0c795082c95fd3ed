"""Inner names of `screwbond.models.parts` that tests look into."""

# ruff: noqa: F401

from screwbond.models.parts.icons import ICONS
from screwbond.models.parts.makers import MAKERS
from screwbond.models.parts.record import Part
