"""Inner names of `screwbond.models.impact` that tests look into."""

# ruff: noqa: F401

from screwbond.models.impact.arm_scene import strike_scene
from screwbond.models.impact.command import TASK
from screwbond.models.impact.figures import FIGURES
from screwbond.models.impact.mobility import locked_ratio, striking_point
from screwbond.models.impact.poses import study_poses
from screwbond.models.impact.variants import GRAPH_BUILDERS
