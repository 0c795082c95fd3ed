"""Pictures of a contact motion: bodies, frames, paths, force and ghosts, with title, time, legend and labels."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.pictures.camera import Camera, direction, fit, upward
from models.pictures.figures import save_image
from models.pictures.motion import ContactMotion
from models.pictures.overlay import Box, Label, draw_heading, draw_labels, draw_legend
from models.pictures.stage import OBJECT_TRIAD, Stage
from models.pictures.style import PATHS

Array = NDArray[np.float64]


class Scene:
    """Off-screen pictures of a contact motion; close it, or use it as a context.

    Parameters
    ----------
    motion : what moves.
    size : (width, height) in pixels.
    """

    def __init__(self, motion: ContactMotion, size: tuple[int, int] = (1920, 1080)):
        self.motion, self.size = motion, size

    def __enter__(self) -> Scene:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Free the windows."""

    def still(self, path: str | os.PathLike[str], t: float) -> None:
        """Write the picture at a time (s) as PNG."""
        scale = self.size[1] / 720
        # Twice the pixels, averaged: smoother edges than the window's own antialiasing.
        large = (2 * self.size[0], 2 * self.size[1])
        with Stage(self.motion, large) as stage:
            camera = self.camera_at(stage, t)
            now = stage.show(t, camera)
            image = picture(stage.image(), self.size)
            titled = self.motion.name.lower() != self.motion.title.lower()
            lines = [*([self.motion.name] if titled else []), f"t = {t:.3f} s"]
            dress(image, stage, now, camera, scale, lines)
        save_image(image, path)

    def camera_at(self, stage: Stage, t: float) -> Camera:
        """A camera for one moment: both bodies and their ghosts fill the picture."""
        scale = self.size[1] / 720
        points = extent_at(stage, t)
        view, up = direction(self.motion, t), upward(self.motion)
        # Text stands in a column on the left or in bands above and below: whichever leaves the bodies larger.
        layouts = [tuple(round(v * scale) for v in inset) for inset in ((330, 40, 50, 40), (60, 105, 60, 120))]
        cameras = [fit(points, view, up, self.size, inset) for inset in layouts]  # type: ignore[arg-type]
        return min(cameras, key=lambda camera: float(np.linalg.norm(camera.eye - camera.centre)))


def picture(pixels: NDArray[np.uint8], size: tuple[int, int]) -> Any:
    """A Pillow image of rendered pixels, averaged down to a size."""
    from PIL import Image

    image = Image.fromarray(pixels)
    return image if image.size == size else image.resize(size, Image.Resampling.BOX)


def body_extent(stage: Stage, body: int, poses: Array) -> Array:
    """World points (k, 3) that outline a body in some poses."""
    grid = stage.points[body][::8, ::8].reshape(-1, 3)
    return np.concatenate([np.zeros((0, 3)), *[grid @ H[:3, :3].T + H[:3, 3] for H in poses]])


def extent_at(stage: Stage, t: float) -> Array:
    """World points (k, 3) that outline everything shown at a time (s), ghosts too."""
    points = [extent(stage, [t])]
    for body in (0, 1):
        points.append(body_extent(stage, body, stage.ghost_poses(body, t)))
    return np.vstack(points)


def extent(stage: Stage, times: Any) -> Array:
    """World points (k, 3) that outline both bodies and the force arrows at some times."""
    now = stage.motion.at_times(times)
    points = [body_extent(stage, body, poses) for body, poses in enumerate(now.poses)]
    tips = now.frame2[:, :3, 3] + now.force_on_2_world / stage.newtons_per_metre
    return np.vstack([*points, tips])


def dress(image: Any, stage: Stage, now: ContactMotion, camera: Camera, scale: float, lines: list[str]) -> None:
    """Draw title, time, legend and the names of the frames on a picture."""
    motion, size = stage.motion, image.size
    taken: list[Box] = [draw_heading(image, motion.title, lines, (32 * scale, 28 * scale), scale)]
    entries = [(colour, f"contact path on {name}") for colour, name in zip(PATHS, motion.names, strict=True)]
    unit = stage.unit_length * camera.pixels_per_metre(now.frame2[0, :3, 3], size)
    force = (f"force on {motion.names[1]}: {stage.scale_text}", unit)
    taken.append(draw_legend(image, entries, force, (34 * scale, size[1] - 34 * scale), scale))
    labels, avoid = frame_labels(stage, now, camera, size)
    draw_labels(image, labels, avoid, taken, scale)


def frame_labels(stage: Stage, now: ContactMotion, camera: Camera, size: tuple[int, int]) -> tuple[list[Label], Array]:
    """Labels C1, C2 beside the z axes of the Gauss frames, O1, O2 at the origins; and the pixels of the axes."""
    labels, segments = [], []
    frames = [("C", str(b + 1), f[0], stage.triad_length) for b, f in enumerate((now.frame1, now.frame2))]
    for body, pose in enumerate(now.poses):
        if not stage.motion.surfaces[body].endless:
            frames.append(("O", str(body + 1), pose[0], OBJECT_TRIAD * stage.triad_length))
    for text, index, H, length in frames:
        ends = H[:3, 3] + length * H[:3, :3].T
        start, *tips = camera.pixels(np.vstack([H[:3, 3], ends]), size)
        segments += [start + s * (tip - start) for tip in tips for s in np.linspace(0.0, 1.0, 14)[:, None]]
        if text == "C":
            along = tips[2] - start
            at, away = start + 0.6 * along, np.array([-along[1], along[0]])
        else:
            at, away = start, -sum(tip - start for tip in tips)
        labels.append(Label(text, index, (float(at[0]), float(at[1])), (float(away[0]), float(away[1]))))
    tip_world = stage.arrow_tip(now)
    if tip_world is not None:
        start, tip = camera.pixels(np.vstack([now.frame2[0, :3, 3], tip_world]), size)
        segments += [start + s * (tip - start) for s in np.linspace(0.0, 1.0, 40)[:, None]]
    return labels, np.vstack(segments)
