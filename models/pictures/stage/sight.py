"""Sight: a stage that shows a time and its camera in; which points of the world are seen, and what of the legend, out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from screwbond.models.pictures.camera import Camera
from screwbond.models.pictures.interpolation import Array
from screwbond.models.pictures.parts import Trail
from screwbond.models.pictures.scene import Scene
from screwbond.models.pictures.stage.stage import TUBE, Stage

LEAST = 0.03
"""Extent of a path in the picture, over its height, from which a legend explains it."""


@dataclass(frozen=True, eq=False)
class Sight:
    """What nothing opaque hides: depths (rows, columns) of the window, m; NaN where there is nothing."""

    stage: Stage
    camera: Camera
    depths: Array

    @classmethod
    def of(cls, stage: Stage, camera: Camera) -> Sight:
        """Of what was rendered last."""
        found = stage.plotter.get_image_depth(fill_value=np.nan, reset_camera_clipping_range=False)
        return cls(stage, camera, -np.asarray(found, dtype=float))

    def sees(self, points: Array, near: float) -> NDArray[np.bool_]:
        """Which points (k, 3) are in the window, and at most `near` (m) inside of something opaque."""
        rows, columns = self.depths.shape
        x, y = np.floor(self.camera.pixels(points, (columns, rows))).astype(int).T
        within = (x >= 0) & (x < columns) & (y >= 0) & (y < rows)
        depths = self.depths[np.clip(y, 0, rows - 1), np.clip(x, 0, columns - 1)]
        away = (self.camera.eye - points) @ self.camera.axes[2]
        return within & ~(away > depths + near)

    def legend(self, now: Scene) -> tuple[tuple[str, str], ...]:
        """The entries of a scene's legend that mean something in this picture, at its present."""
        scene, seen = self.stage.scene, {(solid.colour, solid.legend) for solid in self.stage.scene.solids}
        for path, here in zip(scene.all_paths, now.all_paths, strict=True):
            if self._extent(scene, now, path, here) > LEAST:
                seen.add((path.colour, path.label))
        return tuple(entry for entry in scene.legend if entry in seen)

    def _extent(self, scene: Scene, now: Scene, path: Trail, here: Trail) -> float:
        """How far a path up to the present reaches in the picture, where it is seen; over the picture's height."""
        points = np.vstack([path.points[scene.t <= now.t[0]], here.points])
        if path.on is not None:
            H = now.solids[path.on].poses[0]
            points = points @ H[:3, :3].T + H[:3, 3]
        rows, columns = self.depths.shape
        seen = points[self.sees(points, 2.0 * TUBE * self.stage.radius)]
        return float(np.linalg.norm(np.ptp(self.camera.pixels(seen, (columns, rows)), axis=0))) / rows if len(seen) else 0.0
