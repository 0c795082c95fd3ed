"""Stills: a picture of a scene at a time, with title, time, legend and names of the frames."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray
from screwbond.models.pictures.camera import Camera, direction, fit, upward
from screwbond.models.pictures.figures import save_image
from screwbond.models.pictures.from_results.scenes import as_scene
from screwbond.models.pictures.scene import Scene
from screwbond.models.pictures.stage.overlay import (
    Box,
    Sight,
    draw_heading,
    draw_labels,
    draw_legend,
    draw_length,
    frame_labels,
    ghost_labels,
)
from screwbond.models.pictures.stage.stage import Stage
from screwbond.models.pictures.style import font, round_number
from screwbond.models.pictures.timing import representative_time

from bondgraph.run.results.result import Result

Inset = tuple[float, float, float, float]
"""Margins at the left, top, right and bottom of a picture, pixels at a height of 720."""

MAX_FORCE_BAR = 0.1
"""Largest length of the scale bar of forces, over the picture's height."""

BESIDE, BELOW, BETWEEN = (330, 40, 50, 40), (330, 75, 50, 40), (60, 105, 60, 120)
"""Margins for text in a column on the left, with a title that is no wider or with one that is, or in bands above and below."""


def still(
    shown: Result | Scene,
    path: str | os.PathLike[str],
    t: float | None = None,
    size: tuple[int, int] = (1920, 1080),
    ghosts: int = 5,
) -> None:
    """Write the picture of a result or scene at a time (s), of a size (width, height) in pixels, as PNG or JPEG.

    `t`: by default a representative time.

    `ghosts`: number of earlier poses shown of each solid with ghosts.
    """
    scene, scale = as_scene(shown), size[1] / 720
    t = representative_time(scene) if t is None else t
    # Oversample twice and average: smoother edges than the window's own antialiasing.
    with Stage(scene, (2 * size[0], 2 * size[1]), ghosts=ghosts) as stage:
        narrow = font(23, "bold").getlength(scene.title) < BESIDE[0] - 40
        cameras = [camera_of(stage, [t], size, inset) for inset in (BESIDE if narrow else BELOW, BETWEEN)]
        # Choose the one with the larger solids.
        camera = min(cameras, key=lambda camera: float(np.linalg.norm(camera.eye - camera.centre)))
        now = stage.show(t, camera)
        image = to_image(stage.image(), size)
        annotate(image, stage, now, camera, scale, [*scene.subtitle, f"t = {t:.3f} s", *past_events(scene, t)])
    save_image(image, path)


def camera_of(stage: Stage, times: Any, size: tuple[int, int], inset: Inset) -> Camera:
    """Return a camera that sees all of a scene at some times (s) on a picture of a size; for a single time, from the side of the
    contacts then."""
    scene, (left, top, right, bottom) = stage.scene, (round(size[1] / 720 * room) for room in inset)
    view = direction(scene, times[0] if len(times) == 1 else None)
    return fit(stage.outline(times), view, upward(scene), size, (left, top, right, bottom))


def to_image(pixels: NDArray[np.uint8], size: tuple[int, int]) -> Any:
    """Convert rendered pixels to a Pillow image, averaged down to a size."""
    from PIL import Image

    image = Image.fromarray(pixels)
    return image if image.size == size else image.resize(size, Image.Resampling.BOX)


def past_events(scene: Scene, t: float, max_lines: int = 8) -> list[str]:
    """Return the labels of events until a time (s), the latest first."""
    return [h.label for h in scene.event_marks if h.label and not h.internal and h.t <= t][::-1][:max_lines]


def annotate(
    image: Any, stage: Stage, now: Scene, camera: Camera, scale: float, lines: list[str], foot: float = 0.0, steady: bool = False
) -> None:
    """Draw title, lines, legend, scale bar, and the names of frames and ghosts on a picture.

    Parameters
    ----------
    foot : occupied height (pixels) at the bottom.
    steady : keep labels in place and all legend entries, visible or not, for movies.
    """
    height, size = image.size[1], image.size
    sight = None if steady else Sight.of(stage, camera)
    occupied: list[Box] = [draw_heading(image, now.title, lines, (32 * scale, 28 * scale), scale)]
    corner = (34 * scale, height - foot - (22 if foot else 34) * scale)
    legend = stage.scene.legend if sight is None else sight.legend(now)
    occupied.append(draw_legend(image, legend, force_bar(stage, now, camera, size), corner, scale))
    occupied.append(draw_length(image, camera.pixels_per_metre(camera.centre, size), foot, scale))
    labels, avoid = frame_labels(stage, now, camera, size, sight)
    ghosts = [] if sight is None else ghost_labels(stage, float(now.t[0]), sight, size)
    draw_labels(image, [*labels, *ghosts], avoid, occupied, scale, steady)


def force_bar(stage: Stage, now: Scene, camera: Camera, size: tuple[int, int]) -> tuple[str, float] | None:
    """Return the label of the scale bar of forces and its length in pixels; None without arrows."""
    forces = [force for force in now.all_forces if stage.arrow(force) is not None]
    if not forces:
        return None
    pixels = camera.pixels_per_metre(forces[0].points[0], size) / stage.scene.scale[0]
    newtons = round_number(MAX_FORCE_BAR * size[1] / pixels)
    return f"{stage.scene.force_words} (bar: {newtons:g} N)", newtons * pixels
