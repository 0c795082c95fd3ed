"""Camera of a scene: a direction from which contacts are seen from the side, and a distance that fits everything."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from screwbond.models.pictures.interpolation import Array
from screwbond.models.pictures.scene import Scene
from screwbond.models.pictures.shapes.meshes import directions


@dataclass(frozen=True)
class Camera:
    """Perspective camera: eye, centre of view and up direction in the world (m), vertical view angle (degrees).

    `shift` moves the picture on the window, in half windows: (0.2, 0) to the right by a tenth of its width.
    """

    eye: Array
    centre: Array
    up: Array
    angle: float = 14.0
    shift: tuple[float, float] = (0.0, 0.0)

    @property
    def axes(self) -> Array:
        """Rows: right, up, towards the viewer."""
        back = self.eye - self.centre
        back = back / np.linalg.norm(back)
        right = np.cross(self.up, back)
        right = right / np.linalg.norm(right)
        return np.stack([right, np.cross(back, right), back])

    def pixels(self, points: ArrayLike, size: tuple[int, int]) -> Array:
        """Return pixels (k, 2), x to the right and y down, of points (k, 3) on a window of a size (width, height)."""
        local = (np.atleast_2d(np.asarray(points, dtype=float)) - self.eye) @ self.axes.T
        scale = 0.5 * size[1] / np.tan(np.radians(0.5 * self.angle)) / -local[:, 2]
        x = 0.5 * size[0] * (1.0 + self.shift[0]) + scale * local[:, 0]
        y = 0.5 * size[1] * (1.0 - self.shift[1]) - scale * local[:, 1]
        return np.stack([x, y], axis=1)

    def pixels_per_metre(self, point: ArrayLike, size: tuple[int, int]) -> float:
        """Scale of the picture at the depth of a point."""
        depth = float((self.eye - np.asarray(point, dtype=float)) @ self.axes[2])
        return float(0.5 * size[1] / np.tan(np.radians(0.5 * self.angle)) / depth)


def upward(scene: Scene) -> Array:
    """Return the up direction: the scene's, else the outward normal of an endless ground, else the world's z axis."""
    if scene.up is not None:
        return scene.up
    for touch in scene.contacts:
        for i, frames in zip(touch.solids, touch.frames, strict=True):
            if scene.solids[i].unbounded:
                return np.asarray(frames[0, :3, 2])
    return np.array([0.0, 0.0, 1.0])


def direction(scene: Scene, focus: float | None = None) -> Array:
    """Return the unit vector to the viewer: the scene's, else one that shows contacts from the side and the ground a little from
    above; the time `focus` (s) counts more than others."""
    if scene.view is not None:
        return scene.view / np.linalg.norm(scene.view)
    pick = np.unique(np.linspace(0, len(scene.t) - 1, min(len(scene.t), 200)).round().astype(int))
    normals, weights = _normals(scene, pick)
    if focus is not None and scene.contacts:
        now, _ = _normals(scene.at_times([focus]), np.array([0]))
        weights = np.append(0.15 * weights, np.full(len(now), weights.sum() / len(now)))
        normals = np.vstack([normals, now])
    up = upward(scene)
    grounded = any(solid.unbounded for solid in scene.solids)
    views = directions(1200)
    slant = np.maximum(0.0, np.abs(views @ normals.T) - 0.3)
    cost = (slant**2 @ weights) / max(weights.sum(), 1e-30) * (0.2 if grounded else 1.0)
    cost += (3.0 if grounded else 0.25) * np.maximum(0.0, np.abs(views @ up - 0.4) - 0.1) ** 2
    cost += 0.01 * (1.0 - views @ np.array([0.55, -0.75, 0.36]))
    # Looking straight down or up leaves the picture's vertical undefined.
    cost += np.where(np.abs(views @ up) > 0.95, 10.0, 0.0)
    return np.asarray(views[np.argmin(cost)])


def _normals(scene: Scene, pick: NDArray[np.int64]) -> tuple[Array, Array]:
    """Return the normals (j, 3) of all contacts at some samples, and their weights (j,): smaller where the gap is wide."""
    normals, weights = [np.zeros((0, 3))], [np.zeros(0)]
    for touch in scene.contacts:
        first, second = (frames[pick] for frames in touch.frames)
        normals.append(first[:, :3, 2])
        distance = np.linalg.norm(second[:, :3, 3] - first[:, :3, 3], axis=1)
        weights.append(1.0 / (1.0 + (distance / (0.2 * scene.unit)) ** 2) + 1e-3)
    return np.concatenate(normals), np.concatenate(weights)


def fit(points: Array, view: Array, up: Array, size: tuple[int, int], inset: tuple[int, int, int, int]) -> Camera:
    """Return a camera from a direction with all points inside the window less its inset (left, top, right, bottom; pixels)."""
    width, height = size
    left, top, right, bottom = inset
    free = (width - left - right, height - top - bottom)
    shift = ((left - right) / width, (bottom - top) / height)
    angle = 14.0
    centre = 0.5 * (points.min(axis=0) + points.max(axis=0))
    distance = 4.0 * float(np.linalg.norm(np.ptp(points, axis=0))) + 1e-9
    for _ in range(12):
        camera = Camera(centre + distance * view, centre, up, angle, shift)
        pixels = camera.pixels(points, size)
        low, high = pixels.min(axis=0), pixels.max(axis=0)
        middle = 0.5 * (low + high) - np.array([left + 0.5 * free[0], top + 0.5 * free[1]])
        scale = camera.pixels_per_metre(centre, size)
        axes = camera.axes
        centre = centre + (middle[0] * axes[0] - middle[1] * axes[1]) / scale
        distance *= float(max((high - low) / np.array(free)))
    return Camera(centre + distance * view, centre, up, angle, shift)


def zoom(points: Array, view: Array, up: Array, reach: float) -> Camera:
    """Return a camera that looks at the middle of some points and sees `reach` (m) on each side of it."""
    centre = np.asarray(points).mean(axis=0)
    return Camera(centre + reach / np.tan(np.radians(7.0)) * view, centre, up)
