"""Labels of frames and ghosts at visible places, visibility of points and paths, and the pixels that labels avoid."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from screwbond.models.pictures.camera import Camera
from screwbond.models.pictures.interpolation import Array
from screwbond.models.pictures.parts import Trail
from screwbond.models.pictures.scene import Scene
from screwbond.models.pictures.stage.overlay import Label, is_word
from screwbond.models.pictures.stage.stage import TUBE, Stage
from screwbond.models.pictures.style import MUTED

MIN_EXTENT = 0.03
"""Extent of a path in the picture, over its height, above which a legend explains it."""


@dataclass(frozen=True, eq=False)
class Sight:
    """Depth buffer of a rendered window (rows, columns), m, which decides visibility; NaN for the background."""

    stage: Stage
    camera: Camera
    depths: Array

    @classmethod
    def of(cls, stage: Stage, camera: Camera) -> Sight:
        """Read the depth buffer of the last rendering."""
        depths = stage.plotter.get_image_depth(fill_value=np.nan, reset_camera_clipping_range=False)
        return cls(stage, camera, -np.asarray(depths, dtype=float))

    def sees(self, points: Array, near: float) -> NDArray[np.bool_]:
        """Return which points (k, 3) are in the window, and at most `near` (m) behind an opaque surface."""
        rows, columns = self.depths.shape
        x, y = np.floor(self.camera.pixels(points, (columns, rows))).astype(int).T
        within = (x >= 0) & (x < columns) & (y >= 0) & (y < rows)
        depths = self.depths[np.clip(y, 0, rows - 1), np.clip(x, 0, columns - 1)]
        away = (self.camera.eye - points) @ self.camera.axes[2]
        return within & ~(away > depths + near)

    def legend(self, now: Scene) -> tuple[tuple[str, str], ...]:
        """Return the legend entries of objects that are visible in this picture."""
        scene, seen = self.stage.scene, {(solid.colour, solid.legend) for solid in self.stage.scene.solids}
        for path, here in zip(scene.all_paths, now.all_paths, strict=True):
            if self._extent(scene, now, path, here) > MIN_EXTENT:
                seen.add((path.colour, path.label))
        return tuple(entry for entry in scene.legend if entry in seen)

    def _extent(self, scene: Scene, now: Scene, path: Trail, end: Trail) -> float:
        """Return the extent in the picture of the visible part of a path up to the present, over the picture's height."""
        points = np.vstack([path.points[scene.t <= now.t[0]], end.points])
        if path.on is not None:
            H = now.solids[path.on].poses[0]
            points = points @ H[:3, :3].T + H[:3, 3]
        rows, columns = self.depths.shape
        seen = points[self.sees(points, 2.0 * TUBE * self.stage.radius)]
        return float(np.linalg.norm(np.ptp(self.camera.pixels(seen, (columns, rows)), axis=0))) / rows if len(seen) else 0.0


def frame_labels(
    stage: Stage, now: Scene, camera: Camera, size: tuple[int, int], sight: Sight | None = None
) -> tuple[list[Label], Array]:
    """Return labels beside the z axes of frames or at their origins; and pixels (j, 2) of axes and arrows, which they avoid.

    With `sight`, hidden frames have no label, and one with a hidden origin has it at the tip of an axis.
    """
    labels, avoid = [], [np.zeros((0, 2))]
    for frame in now.all_frames:
        if frame.shown is not None and not frame.shown[0]:
            continue
        H, length = frame.poses[0], (stage.axis * frame.length) or 1e-3
        start, *tips = axes_in(camera, H, length, size)
        seen = np.ones(4, dtype=bool)
        if sight is not None and frame.length:
            ends = np.vstack([H[:3, 3], H[:3, 3] + 0.9 * length * H[:3, :3].T])
            seen = sight.sees(ends, 2.0 * stage.radius * frame.thickness)
        if not seen.any():
            continue
        if frame.length:
            avoid += [pixels_between(start, tip, 14) for tip, there in zip(tips, seen[1:], strict=True) if there or seen[0]]
        if not any(frame.label):
            continue
        along = tips[2] - start
        if frame.at_axis:
            at, away = start + 0.6 * along, np.array([-along[1], along[0]])
        elif is_word(frame.label[0]) and seen[3]:
            at, away = tips[2], along
        elif seen[0]:
            at, away = start, -sum(tip - start for tip in tips)
        else:
            at = tips[int(np.argmax(seen[1:] * [np.linalg.norm(tip - start) for tip in tips]))]
            away = at - start
        labels.append(Label(*frame.label, (float(at[0]), float(at[1])), (float(away[0]), float(away[1]))))
    avoid += arrows_in(stage, now, camera, size)
    return labels, np.vstack(avoid)


def ghost_labels(stage: Stage, t: float, sight: Sight, size: tuple[int, int]) -> list[Label]:
    """Return the times of the visible ghosts as labels below their centres."""
    pixels, times = [], []
    for index, solid in enumerate(stage.scene.solids):
        for k in stage.ghost_samples(index, t):
            middle = (stage.meshes[index].outline @ solid.poses[k, :3, :3].T + solid.poses[k, :3, 3]).mean(axis=0)
            if sight.sees(middle[None], 0.0)[0]:
                x, y = sight.camera.pixels(middle, size)[0]
                times.append(float(stage.scene.t[k]))
                pixels.append((x, y))
    words = format_times(times)
    return [Label(word, "", (float(x), float(y)), (0.0, 1.0), MUTED) for word, (x, y) in zip(words, pixels, strict=True)]


def format_times(times: list[float]) -> list[str]:
    """Format times (s) with one more digit than needed to distinguish them.

    >>> format_times([0.0, 0.25, 0.5]), format_times([0.0101, 0.0222]), format_times([3.0])
    (['0.00 s', '0.25 s', '0.50 s'], ['0.010 s', '0.022 s'], ['3.0 s'])
    """
    apart = np.diff(np.unique(times))
    least = float(apart.min()) if len(apart) else 1.0
    digits = max(1, math.ceil(-math.log10(least) - 1e-9) + 1)
    return [f"{t:.{digits}f} s" for t in times]


def axes_in(camera: Camera, H: Array, length: float, size: tuple[int, int]) -> Array:
    """Return pixels (4, 2) of the origin and the tips of a frame's axes."""
    return camera.pixels(np.vstack([H[:3, 3], H[:3, 3] + length * H[:3, :3].T]), size)


def arrows_in(stage: Stage, now: Scene, camera: Camera, size: tuple[int, int]) -> list[Array]:
    """Return pixels (40, 2) along every drawn arrow."""
    shown = [arrow for force in now.all_forces if (arrow := stage.arrow(force)) is not None]
    ends = [camera.pixels(np.stack(arrow), size) for arrow in shown]
    return [pixels_between(start, tip, 40) for start, tip in ends]


def pixels_between(start: Array, end: Array, count: int) -> Array:
    """Return points (count, 2) from one point to another."""
    return np.asarray(start + np.linspace(0.0, 1.0, count)[:, None] * (end - start))
