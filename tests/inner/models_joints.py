"""Internal names of `screwbond.models.joints` that tests use."""

# ruff: noqa: F401

from screwbond.models.joints.graph import ROLES
from screwbond.models.joints.kinds import KINDS, Kind, parallel, shift
