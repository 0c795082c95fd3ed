"""Pictures of a `Scene`, built from a result, an archive or by hand: stills, posters, movies, plots and interactive pages.

VTK, Matplotlib and Pillow are loaded only when a picture is made.
"""

from screwbond.models.pictures.archives import from_archive, gauss_frames
from screwbond.models.pictures.from_results.scenes import scene_of
from screwbond.models.pictures.parts import Coil, Curve, Force, Frame, Happening, Look, Panel, Solid, Touching, Trail
from screwbond.models.pictures.plotting import plots
from screwbond.models.pictures.probe import rendering
from screwbond.models.pictures.scene import Scene
from screwbond.models.pictures.stage.movies import movie
from screwbond.models.pictures.stage.posters import poster
from screwbond.models.pictures.stage.stills import still
from screwbond.models.pictures.stage.views import View, show
from screwbond.models.pictures.web.pages import Page, page

__all__ = [
    "Coil",
    "Curve",
    "Force",
    "Frame",
    "Happening",
    "Look",
    "Page",
    "Panel",
    "Scene",
    "Solid",
    "Touching",
    "Trail",
    "View",
    "from_archive",
    "gauss_frames",
    "movie",
    "page",
    "plots",
    "poster",
    "rendering",
    "scene_of",
    "show",
    "still",
]
