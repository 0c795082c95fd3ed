"""Pictures of a delta robot in motion: still, film, poster, page and plots of a run or of a motion under control."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from screwbond.models import pictures
from screwbond.models.delta.pictures.scene import delta_scene, three_curves
from screwbond.models.delta.studies.pick_and_place import Tracking
from screwbond.models.delta.studies.run import DeltaRun
from screwbond.models.pictures import Curve, Panel, Scene
from screwbond.models.pictures.style import INK

TITLE = "Delta robot: pick and place"


def still(
    run: DeltaRun,
    path: str | os.PathLike[str],
    t: float,
    *,
    title: str = "Delta robot",
    size: tuple[int, int] = (1600, 1200),
    **options: Any,
) -> None:
    """Write the picture of a run at a time (s) as PNG; options as of `delta_scene`."""
    pictures.still(delta_scene(run, title, **options), path, t, size)


def tracking_scene(tracking: Tracking, title: str = TITLE, **options: Any) -> Scene:
    """Return the scene of a motion under control, with the tool's position, its error and the motors' torques as curves."""
    return delta_scene(tracking.run, title, **options, panels=_panels(tracking))


def _panels(tracking: Tracking) -> tuple[Panel, ...]:
    error = 1e3 * tracking.error
    away = Curve("distance", np.linalg.norm(error, axis=1), INK)
    return (
        Panel("error", "mm", (*three_curves(error, "$x_{}$"), away), key=True),
        Panel("tool", "m", three_curves(tracking.run.w, "$x_{}$"), key=True),
        Panel("torque", "N m", three_curves(tracking[tracking.control.torque], "motor {}"), key=True),
    )


def plot_tracking(tracking: Tracking, path: str | os.PathLike[str], *, title: str = "Pick and place", dpi: int = 160) -> None:
    """Write the tool's error, its position and the motors' torques over time."""
    pictures.plots(Scene(title, tracking.run.t, panels=_panels(tracking)), path, dpi)


def film(
    tracking: Tracking,
    path: str | os.PathLike[str],
    *,
    seconds: float | None = None,
    fps: int = 30,
    size: tuple[int, int] = (1280, 720),
    title: str = TITLE,
    progress: bool = True,
    **options: Any,
) -> Path:
    """Write a movie of a motion under control, with the tool's error; by default in real time.

    Parameters
    ----------
    path, fps, size, progress : as of `screwbond.models.pictures.movie`: GIF without ffmpeg.
    seconds : length of the movie, s.
    options : as of `delta_scene`.
    """
    scene = tracking_scene(tracking, title, **options)
    length = float(scene.t[-1] - scene.t[0])
    return pictures.movie(scene, path, length if seconds is None else seconds, fps, size, progress)


def poster(
    tracking: Tracking, path: str | os.PathLike[str], t: float | None = None, *, title: str = TITLE, **options: Any
) -> None:
    """Write one composed picture as PNG, the robot at a time (s) and its tracking error; options as of `delta_scene`."""
    pictures.poster(tracking_scene(tracking, title, **options), path, t)


def page(tracking: Tracking, path: str | os.PathLike[str], *, title: str = TITLE, **options: Any) -> None:
    """Write a motion under control as a page that plays in real time; options as of `delta_scene`."""
    scene = tracking_scene(tracking, title, **options)
    pictures.page(scene, path, seconds=float(scene.t[-1] - scene.t[0]))
