"""Internal names of `screwbond.models.impact` that tests use."""

# ruff: noqa: F401

from screwbond.models.impact.command import TASK
from screwbond.models.impact.figures import FIGURES, strike_scene
from screwbond.models.impact.mobility import locked_ratio, striking_point
from screwbond.models.impact.study import GRAPH_BUILDERS, study_poses
