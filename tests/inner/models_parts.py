"""Internal names of `screwbond.models.parts` that tests use."""

# ruff: noqa: F401

from screwbond.models.parts.icons import ICONS
from screwbond.models.parts.makers import MAKERS
from screwbond.models.parts.record import Part
