"""Internal names of `screwbond.models.pictures` that tests use."""

# ruff: noqa: F401

from screwbond.models.pictures import probe
from screwbond.models.pictures.files.gltf import GltfDraft, linear_colour
from screwbond.models.pictures.files.logs import LoggedSignal, log_of, write_mcap
from screwbond.models.pictures.files.moving_gltf import carried_poses, scene_bytes
from screwbond.models.pictures.framing import in_view, outline
from screwbond.models.pictures.from_results.contacts import energies_of, without_rounding
from screwbond.models.pictures.interpolation import poses, quaternions, turned_poses, unrotated_poses
from screwbond.models.pictures.parts import Curve, Panel, SpringDrawing
from screwbond.models.pictures.plotting import plot_signals, shown_unit, strip
from screwbond.models.pictures.probe import rendering
from screwbond.models.pictures.scene import SPACING, Camera, direction, fit, representative_time, show_times, speed_label, upward
from screwbond.models.pictures.shapes.meshes import (
    SIDES,
    Mesh,
    along,
    body_points,
    circle,
    coloured_part,
    cuboid,
    cylinder,
    free_normals,
    globe,
    grid_normals,
    helix,
    is_outward,
    joined,
    lofted,
    path_tube,
    sheet,
    stretch_poses,
)
from screwbond.models.pictures.shapes.visual_meshes import box_of_inertia, solids_mesh, visual_mesh
from screwbond.models.pictures.stage import movies
from screwbond.models.pictures.stage.labels import Label, place_labels
from screwbond.models.pictures.stage.movies import has_screen, in_notebook
from screwbond.models.pictures.stage.overlay import Sight, format_times, frame_labels, ghost_labels, length_bar
from screwbond.models.pictures.stage.posters import camera_of, force_bar
from screwbond.models.pictures.stage.stage import Stage, ghost_samples
from screwbond.models.pictures.style import AMBER, AXES, BLUE, FORCE, PATHS, force_scale, rgb, save_image
from screwbond.models.pictures.web import live
from screwbond.models.pictures.web.packing import STEPS, STRAIGHTNESS, Downsampling, EventRows, Packed, downsample
from screwbond.models.pictures.web.pages import DESKTOPS, contents
from screwbond.models.pictures.web.quantities import pack_quantities
