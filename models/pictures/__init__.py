"""Pictures of a `Scene`, built from a result or an archive, or by hand: stills, posters, movies, plots and interactive pages.

VTK, Matplotlib and Pillow are loaded only when a picture is made.
"""

from screwbond.models.pictures.files.logs import save_log
from screwbond.models.pictures.files.moving_gltf import save_scene
from screwbond.models.pictures.from_results.scenes import from_archive, gauss_frames, scene_of
from screwbond.models.pictures.parts import (
    ContactDrawing,
    Curve,
    EventMark,
    Force,
    Frame,
    Look,
    Panel,
    Solid,
    SpringDrawing,
    Trail,
)
from screwbond.models.pictures.plotting import plots
from screwbond.models.pictures.probe import rendering
from screwbond.models.pictures.scene import Scene
from screwbond.models.pictures.stage.movies import View, movie, show
from screwbond.models.pictures.stage.posters import poster, still
from screwbond.models.pictures.web.pages import Page, page

from screws.calls import check_calls
from screws.names import answer_old_names

__all__ = [
    "SpringDrawing",
    "Curve",
    "Force",
    "Frame",
    "EventMark",
    "Look",
    "Page",
    "Panel",
    "Scene",
    "Solid",
    "ContactDrawing",
    "Trail",
    "View",
    "from_archive",
    "gauss_frames",
    "movie",
    "page",
    "plots",
    "poster",
    "rendering",
    "save_log",
    "save_scene",
    "scene_of",
    "show",
    "still",
]

check_calls(__name__)
answer_old_names(__name__)
