"""Springs and dampers in space: 6-D springs with a centre of stiffness, 6-D dampers, point springs and line forces."""

from screwbond.models.springs.formulas import attach_between, centre_of_stiffness
from screwbond.models.springs.point import line_force, point_spring
from screwbond.models.springs.spatial import spatial_damper, spatial_spring

from screws.calls import check_calls
from screws.names import answer_old_names

__all__ = ["attach_between", "centre_of_stiffness", "line_force", "point_spring", "spatial_damper", "spatial_spring"]

check_calls(__name__)
answer_old_names(__name__)
