"""Internal names of `screwbond.models.hand` that tests use."""

# ruff: noqa: F401

from screwbond.models.hand.command import TASK
from screwbond.models.hand.grasping import in_last_link, virtual_points_in_object
from screwbond.models.hand.pictures import display_end, figure6, figure7, grasp_plot, hand_scene, skeleton
from screwbond.models.hand.run import rotation_vectors
from screwbond.models.hand.scenarios import SHAPES, HandParameters, HandScenario, ReferenceStep
