"""Pictures of two bodies in contact, all from one `ContactMotion`: stills, poster, movie, plots, interactive page.

Nothing here loads VTK, matplotlib or Pillow before a picture is made.
"""

from models.pictures.motion import ContactMotion, Event, from_archive, gauss_frames
from models.pictures.movies import movie
from models.pictures.pages import page
from models.pictures.plotting import plots
from models.pictures.posters import poster
from models.pictures.probe import rendering
from models.pictures.scene import Scene

__all__ = ["ContactMotion", "Event", "from_archive", "gauss_frames", "Scene", "movie", "plots", "page", "poster", "rendering"]
