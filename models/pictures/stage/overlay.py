"""Text on rendered pictures, drawn with Pillow: titles, legends, scale bars and labels of visible objects."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from screwbond.models.pictures.interpolation import Array
from screwbond.models.pictures.parts import Trail
from screwbond.models.pictures.scene import Camera, Scene
from screwbond.models.pictures.stage.labels import AT_REST, Box, Label, is_word
from screwbond.models.pictures.stage.stage import Stage
from screwbond.models.pictures.style import FORCE, TUBE, font, round_number

from bondgraph.output.plot_style import INK, MUTED
from screws.shapes import plane_hull


def draw_heading(image: Any, title: str, lines: Sequence[str], at: tuple[float, float], scale: float) -> Box:
    from PIL import ImageDraw

    draw = ImageDraw.Draw(image)
    heading, text = font(round(23 * scale), "bold"), font(round(15 * scale))
    x, y = at
    draw.text((x, y), title, font=heading, fill=INK, anchor="lt")
    width, y = heading.getlength(title), y + 36 * scale
    for line in lines:
        draw.text((x, y), line, font=text, fill=MUTED, anchor="lt")
        width, y = max(width, text.getlength(line)), y + 23 * scale
    return (at[0], at[1], x + width, y)


def draw_legend(
    image: Any, entries: Sequence[tuple[str, str]], force: tuple[str, float] | None, at: tuple[float, float], scale: float
) -> Box:
    from PIL import ImageDraw

    draw = ImageDraw.Draw(image)
    text = font(round(15 * scale))
    x, y = at
    width, swatch = 0.0, 26 * scale
    if force is not None:
        words, unit = force
        draw.line([(x, y), (x + unit, y)], fill=FORCE, width=round(4 * scale))
        for end in (x, x + unit):
            draw.line([(end, y - 5 * scale), (end, y + 5 * scale)], fill=FORCE, width=round(2 * scale))
        draw.text((x + max(unit, swatch) + 12 * scale, y), words, font=text, fill=INK, anchor="lm")
        width, y = max(unit, swatch) + 12 * scale + text.getlength(words), y - 26 * scale
    for colour, words in reversed(list(entries)):
        draw.line([(x, y), (x + swatch, y)], fill=colour, width=round(5 * scale))
        draw.text((x + swatch + 12 * scale, y), words, font=text, fill=INK, anchor="lm")
        width, y = max(width, swatch + 12 * scale + text.getlength(words)), y - 26 * scale
    return (at[0], y + 12 * scale, at[0] + width, at[1] + 12 * scale)


def length_bar(pixels_per_metre: float, width: int) -> tuple[str, float]:
    """Return the label and the length in pixels of a scale bar: a round number, at most an eighth of a picture's width.

    >>> length_bar(1000.0, 1280), length_bar(250000.0, 1280)[0]
    (('10 cm', 100.0), '500 µm')
    """
    metres = round_number(0.125 * width / pixels_per_metre)
    factor, unit = next(
        ((f, u) for f, u in ((1.0, "m"), (1e2, "cm"), (1e3, "mm"), (1e6, "µm")) if metres * f >= 1.0), (1e6, "µm")
    )
    return f"{metres * factor:g} {unit}", metres * pixels_per_metre


def draw_length(image: Any, pixels_per_metre: float, foot: float, scale: float) -> Box:
    from PIL import ImageDraw

    draw, text = ImageDraw.Draw(image), font(round(14 * scale))
    words, unit = length_bar(pixels_per_metre, image.size[0])
    x, y = image.size[0] - 34 * scale, image.size[1] - foot - 30 * scale
    draw.line([(x - unit, y), (x, y)], fill=MUTED, width=max(1, round(2 * scale)))
    for end in (x - unit, x):
        draw.line([(end, y - 5 * scale), (end, y + 5 * scale)], fill=MUTED, width=max(1, round(2 * scale)))
    draw.text((x - 0.5 * unit, y - 9 * scale), words, font=text, fill=MUTED, anchor="mb")
    return (x - unit, y - 30 * scale, x, y + 6 * scale)


def mark_time(image: Any, x: float, rows: Sequence[float], scale: float) -> None:
    from PIL import ImageDraw

    draw, r = ImageDraw.Draw(image), 4.5 * scale
    draw.line([(x, rows[0]), (x, rows[1])], fill=INK, width=max(1, round(2 * scale)))
    draw.ellipse((x - r, rows[1] - r, x + r, rows[1] + r), fill=INK)


MIN_EXTENT = 0.03
"""Extent of a path, relative to the height of the picture, above which the legend explains it."""


@dataclass(frozen=True, eq=False)
class Sight:
    """Depth buffer of a rendered window (rows, columns), m, which decides what is visible; the background is NaN."""

    stage: Stage
    camera: Camera
    depths: Array

    @classmethod
    def of(cls, stage: Stage, camera: Camera) -> Sight:
        depths = stage.plotter.get_image_depth(fill_value=np.nan, reset_camera_clipping_range=False)
        return cls(stage, camera, -np.asarray(depths, dtype=float))

    def sees(self, points: Array, near: float) -> NDArray[np.bool_]:
        """Return a mask (k,) of points (k, 3) that are in the window and not more than `near` (m) behind a drawn surface."""
        rows, columns = self.depths.shape
        x, y = np.floor(self.camera.pixels(points, (columns, rows))).astype(int).T
        within = (x >= 0) & (x < columns) & (y >= 0) & (y < rows)
        depths = self.depths[np.clip(y, 0, rows - 1), np.clip(x, 0, columns - 1)]
        away = (self.camera.eye - points) @ self.camera.axes[2]
        return within & ~(away > depths + near)

    def legend(self, now: Scene) -> tuple[tuple[str, str], ...]:
        scene, seen = self.stage.scene, {(solid.colour, solid.legend) for solid in self.stage.scene.solids}
        for path, here in zip(scene.all_paths, now.all_paths, strict=True):
            if self._extent(scene, now, path, here) > MIN_EXTENT:
                seen.add((path.colour, path.label))
        return tuple(entry for entry in scene.legend if entry in seen)

    def _extent(self, scene: Scene, now: Scene, path: Trail, end: Trail) -> float:
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
    """Return the labels of frames, and pixels (j, 2) of axes and arrows, which the labels avoid.

    A label with `at_axis` is beside z; else a word is at the tip of z, and a letter at the origin. With `sight`, hidden frames
    have no label, and words and letters whose place is hidden move to a visible point.
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
        labels.append(
            Label(*frame.label, (float(at[0]), float(at[1])), (float(away[0]), float(away[1])), on=tuple(now.carriers(frame)))
        )
    avoid += arrows_in(stage, now, camera, size)
    return labels, np.vstack(avoid)


def bodies_in(stage: Stage, now: Scene, camera: Camera, size: tuple[int, int]) -> list[tuple[Array, float]]:
    """Return, for each solid in view, its convex hull (j, 2), pixels, and the cost of a label on it; for all other solids an
    empty hull and 0."""
    bodies = [(np.zeros((0, 2)), 0.0)] * len(now.solids)
    for i in stage.in_view:
        H = now.solids[i].poses[0]
        corners = camera.pixels(stage.meshes[i].outline @ H[:3, :3].T + H[:3, 3], size)
        bodies[i] = corners[plane_hull(corners)], 1.0 if stage.scene.solids[i].moves() else AT_REST
    return bodies


def ghost_labels(stage: Stage, t: float, sight: Sight, size: tuple[int, int]) -> list[Label]:
    places, times = [], []
    for index, solid in enumerate(stage.scene.solids):
        for k in stage.ghost_samples(index, t):
            middle = (stage.meshes[index].outline @ solid.poses[k, :3, :3].T + solid.poses[k, :3, 3]).mean(axis=0)
            if sight.sees(middle[None], 0.0)[0]:
                x, y = sight.camera.pixels(middle, size)[0]
                times.append(float(stage.scene.t[k]))
                places.append((index, (float(x), float(y))))
    words = format_times(times)
    return [Label(word, "", at, (0.0, 1.0), MUTED, (index,)) for word, (index, at) in zip(words, places, strict=True)]


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
    return camera.pixels(np.vstack([H[:3, 3], H[:3, 3] + length * H[:3, :3].T]), size)


def arrows_in(stage: Stage, now: Scene, camera: Camera, size: tuple[int, int]) -> list[Array]:
    shown = [arrow for force in now.all_forces if (arrow := stage.arrow(force)) is not None]
    ends = [camera.pixels(np.stack(arrow), size) for arrow in shown]
    return [pixels_between(start, tip, 2 + int(np.linalg.norm(tip - start) / 6.0)) for start, tip in ends]


def pixels_between(start: Array, end: Array, count: int) -> Array:
    return np.asarray(start + np.linspace(0.0, 1.0, count)[:, None] * (end - start))
