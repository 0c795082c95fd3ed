"""Internal names of `screwbond.models.springs` that tests use."""

# ruff: noqa: F401

from screwbond.models.springs.formulas import AD_FRAME, TO_FRAME, relative_pose, spring_energy, spring_wrench
from screwbond.models.springs.spatial import _laws
