"""Names: a stage that shows a time in; labels of its frames and ghosts, and the pixels that they should keep off, out."""

from __future__ import annotations

import math

import numpy as np
from screwbond.models.pictures.camera import Camera
from screwbond.models.pictures.interpolation import Array
from screwbond.models.pictures.scene import Scene
from screwbond.models.pictures.stage.overlay import Label, words
from screwbond.models.pictures.stage.sight import Sight
from screwbond.models.pictures.stage.stage import Stage
from screwbond.models.pictures.style import MUTED


def frame_labels(
    stage: Stage, now: Scene, camera: Camera, size: tuple[int, int], sight: Sight | None = None
) -> tuple[list[Label], Array]:
    """Labels beside the z axes of frames or at their origins; and pixels (j, 2) of axes and arrows, which they should avoid.

    With `sight`, a frame that is hidden has none, and one whose origin is hidden has it at the tip of an axis.
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
        elif words(frame.label[0]) and seen[3]:
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
    """The times of the ghosts, below their middles, where these are seen."""
    labels, times = [], []
    for index, solid in enumerate(stage.scene.solids):
        for k in stage.ghost_samples(index, t):
            middle = (stage.meshes[index].outline @ solid.poses[k, :3, :3].T + solid.poses[k, :3, 3]).mean(axis=0)
            if sight.sees(middle[None], 0.0)[0]:
                x, y = sight.camera.pixels(middle, size)[0]
                times.append(float(stage.scene.t[k]))
                labels.append((x, y))
    told = clock(times)
    return [Label(word, "", (float(x), float(y)), (0.0, 1.0), MUTED) for word, (x, y) in zip(told, labels, strict=True)]


def clock(times: list[float]) -> list[str]:
    """Times (s) in words, with a digit more than tells them apart.

    >>> clock([0.0, 0.25, 0.5]), clock([0.0101, 0.0222]), clock([3.0])
    (['0.00 s', '0.25 s', '0.50 s'], ['0.010 s', '0.022 s'], ['3.0 s'])
    """
    apart = np.diff(np.unique(times))
    least = float(apart.min()) if len(apart) else 1.0
    digits = max(1, math.ceil(-math.log10(least) - 1e-9) + 1)
    return [f"{t:.{digits}f} s" for t in times]


def axes_in(camera: Camera, H: Array, length: float, size: tuple[int, int]) -> Array:
    """Pixels (4, 2) of the origin and the tips of a frame's axes."""
    return camera.pixels(np.vstack([H[:3, 3], H[:3, 3] + length * H[:3, :3].T]), size)


def arrows_in(stage: Stage, now: Scene, camera: Camera, size: tuple[int, int]) -> list[Array]:
    """Pixels (40, 2) along every arrow that is drawn."""
    shown = [arrow for force in now.all_forces if (arrow := stage.arrow(force)) is not None]
    ends = [camera.pixels(np.stack(arrow), size) for arrow in shown]
    return [pixels_between(start, tip, 40) for start, tip in ends]


def pixels_between(start: Array, end: Array, count: int) -> Array:
    """Points (count, 2) from one to another."""
    return np.asarray(start + np.linspace(0.0, 1.0, count)[:, None] * (end - start))
