"""Internal names of `screws` that tests use."""

# ruff: noqa: F401

from screws.calls.annotations import accepts, described, resolved, shapes_of
from screws.calls.explanations import explanation, flags_and_counts
from screws.contact import closest
from screws.contact.overlaps import closest_points_with_overlaps
from screws.names import similar_names
from screws.names.renamed import FILES, KEYWORDS, MEMBERS, MODULES, NAMES, SETTING_VALUES, SETTINGS
from screws.shapes.collision_detection import overlapping_boxes
from screws.surfaces import frames
from screws.surfaces.checks import sphere_points
from screws.surfaces.closed import ClosedFormula
from screws.surfaces.formulas import Parametric
from screws.surfaces.frames import Geometry, frame
from screws.surfaces.surface import Surface
from screws.surfaces.surfaces_of_revolution import Revolution, oval_radius
