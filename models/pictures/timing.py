"""Timing of pictures: times of a movie's frames, slower in short contacts, a representative time, and labels for the speed."""

from __future__ import annotations

import numpy as np
from screwbond.models.pictures.interpolation import Array
from screwbond.models.pictures.parts import ContactDrawing, inside
from screwbond.models.pictures.scene import Scene

SPACING = 0.95
"""Travel between two ghosts, over the size of the largest solid."""


def show_times(scene: Scene, count: int, share: float = 1.0 / 3.0) -> Array:
    """Return the times (s) of a movie's frames: even, unless short spans get a `share` of all frames.

    These are the slow spans of the scene, or else its contacts, each with half its length before and after it.
    """
    start, end = float(scene.t[0]), float(scene.t[-1])
    contacts = [(a - 0.5 * (b - a), b + 0.5 * (b - a)) for a, b in scene.contact_intervals()]
    wide = [(max(start, a), min(end, b)) for a, b in scene.slow_motion or contacts]
    touching = sum(b - a for a, b in wide)
    if not wide or touching <= 0.0 or touching > share * (end - start):
        return np.linspace(start, end, count)
    marks = np.unique([start, end, *np.ravel(wide)])
    slow = inside(0.5 * (marks[1:] + marks[:-1]), wide)
    lengths = np.diff(marks)
    frames_of = np.where(slow, share * lengths / lengths[slow].sum(), (1.0 - share) * lengths / lengths[~slow].sum())
    return np.interp(np.linspace(0.0, 1.0, count), np.concatenate([[0.0], np.cumsum(frames_of)]), marks)


def representative_time(scene: Scene, ghosts: int = 5) -> float:
    """Return a representative time (s): strong forces, after enough travel for the ghosts, before paths cover each other; without
    contacts a third of the way."""
    if not scene.contacts:
        return float(scene.t[0] + 0.36 * (scene.t[-1] - scene.t[0]))
    i, j = strongest_contact(scene).solids
    apart = scene.solids[j].poses[:, :3, 3] - scene.solids[i].poses[:, :3, 3]
    steps = np.linalg.norm(np.diff(apart, axis=0), axis=1)
    travel = np.concatenate([[0.0], np.cumsum(steps)]) / (SPACING * scene.unit * ghosts)
    normal = np.sum([touch.normal for touch in scene.contacts], axis=0)
    gap = np.min([np.abs(touch.gap) for touch in scene.contacts], axis=0)
    # Ignore short peaks of impacts.
    strong = float(np.quantile(normal[normal > 0.0], 0.9)) if np.any(normal > 0.0) else 0.0
    strength = np.minimum(normal / strong, 1.0) if strong > 0.0 else -gap / scene.unit
    late = (scene.t - scene.t[0]) / max(float(np.ptp(scene.t)), 1e-12)
    return float(scene.t[np.argmax(3.0 * strength + np.minimum(travel, 1.0) - 0.5 * late)])


def strongest_contact(scene: Scene) -> ContactDrawing:
    """Return the contact with the largest normal force; of a scene of one sample, at that time."""
    return max(scene.contacts, key=lambda touch: (float(touch.normal.max()), -float(np.abs(touch.gap).min())))


def speed_label(speed: float) -> str:
    """Format seconds of motion per second of movie.

    >>> [speed_label(v) for v in (0.2, 1.0, 3.0, 0.0012)]
    ['slow motion 5×', 'real time', 'fast 3×', 'slow motion 830×']
    """
    if abs(speed - 1.0) < 0.02:
        return "real time"
    factor = max(speed, 1.0 / speed)
    rounded = float(f"{factor:.2g}")
    return f"{'slow motion' if speed < 1.0 else 'fast'} {rounded:g}×"


def strongest_interval(scene: Scene) -> tuple[float, float] | None:
    """Return the interval of contact (s) with the largest normal force; None without one."""
    touch = max((touch for touch in scene.contacts if touch.intervals), key=lambda touch: touch.normal.max(), default=None)
    if touch is None:
        return None
    peak = scene.t[np.argmax(touch.normal)]
    return min(touch.intervals, key=lambda span: abs(0.5 * (span[0] + span[1]) - peak))


def close_up(scene: Scene) -> tuple[float, float] | None:
    """Return the span (s) of the strongest contact if contacts are too short to be seen in the whole run, else None."""
    duration = float(scene.t[-1] - scene.t[0])
    near = strongest_interval(scene)
    if near is None or max(b - a for a, b in scene.contact_intervals()) > 0.12 * duration:
        return None
    width = max(near[1] - near[0], 1e-6 * duration)
    return max(near[0] - 0.4 * width, float(scene.t[0])), min(near[1] + 0.4 * width, float(scene.t[-1]))
