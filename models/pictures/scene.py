"""Scene, from which every picture is made; its interpolation in time, the times of pictures, and the camera.

Builders choose colours and words; renderers are independent of models.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from screwbond.models.pictures.interpolation import Array, Interpolation, in_body_axes
from screwbond.models.pictures.parts import (
    ContactDrawing,
    EventMark,
    Force,
    Frame,
    Panel,
    Solid,
    Spans,
    SpringDrawing,
    Trail,
    inside,
)
from screwbond.models.pictures.shapes.meshes import Mesh, directions, helix, surface_mesh
from screwbond.models.pictures.style import ARROW, RADIUS, SLENDER, force_scale

from bondgraph.errors import refusal
from bondgraph.output.short_repr import short_repr
from bondgraph.run.results.result import Result
from screws.arrays import Count
from screws.names import answer_old_names

MAX_HELIX_RADIUS = 0.15

OPEN_THICKNESS = 0.4
"""Thickness of a contact path where the bodies are apart, relative to its thickness in contact."""


PEAK = 2.0
"""Largest force whose arrow is not cut, relative to the largest lasting force: a short impact must not dwarf all other forces."""

ARROW_SHARE = 0.2
"""Smallest body size to which arrows are scaled, relative to the extent of the scene."""


class ForceScale(NamedTuple):
    """Newtons per metre of an arrow, unit length (m), text of the scale, and length of the longest arrow, m."""

    newtons_per_metre: float
    unit_length: float
    text: str
    longest: float


def _lasting(t: Array, sizes: Array) -> float:
    """Return the median over time of the magnitudes (k,) of a force while it acts, or the largest for a short force, which acts
    neither at the end nor for half of the time."""
    acting = sizes > 1e-3 * sizes.max()
    weights = np.gradient(t) if len(t) > 1 else np.ones(1)
    if not (acting[-1] or weights[acting].sum() > 0.5 * weights.sum()):
        return float(sizes.max())
    order = np.argsort(sizes[acting])
    time = np.cumsum(weights[acting][order])
    return float(sizes[acting][order][np.searchsorted(time, 0.5 * time[-1])])


@answer_old_names
@short_repr
@dataclass(frozen=True, eq=False)
class Scene:
    """Moving solids, contacts, forces and events over t (k,), s.

    Attributes
    ----------
    title, name : heading, and name of the run.
    size : unit length (m) of frames, tubes and arrows; None: the size of the smallest finite solid in contact or, without
        contacts, of the smallest finite solid.
    view, up : unit vectors to the viewer and upward; None: automatic.
    slow_motion : spans that a movie slows down; if empty, short contacts.
    result : the run, if any: pages show its bond graph and quantities.
    """

    title: str
    t: Array
    solids: tuple[Solid, ...] = ()
    contacts: tuple[ContactDrawing, ...] = ()
    frames: tuple[Frame, ...] = ()
    paths: tuple[Trail, ...] = ()
    forces: tuple[Force, ...] = ()
    springs: tuple[SpringDrawing, ...] = ()
    panels: tuple[Panel, ...] = ()
    event_marks: tuple[EventMark, ...] = ()
    name: str = ""
    size: float | None = None
    view: Array | None = None
    up: Array | None = None
    slow_motion: Spans = ()
    result: Result | None = None

    def need(self, what: str, *parts: tuple[Any, ...]) -> None:
        """Raise `ModelError` E160 if a picture of these parts would be empty."""
        if any(parts):
            return
        title = f'the scene "{self.title}" has no {what}, so there is nothing to draw'
        plots = ("plots of its panels, for energies over time",) if self.panels else ()
        alternatives = ('result.plot("name"), or page(result, "run.html")',) if self.result is not None else ()
        placed = "rigid_body(...), chain_graph(...) or a signal that is a pose (4, 4): these have positions"
        raise refusal("E160", title, *alternatives, *plots, placed, about=self.title)

    @property
    def subtitle(self) -> tuple[str, ...]:
        """Name of the run, if it differs from the title."""
        return (self.name,) if self.name and self.name.lower() != self.title.lower() else ()

    @cached_property
    def unit(self) -> float:
        """Unit length (m) of frames, tubes and arrows."""
        if self.size is not None:
            return self.size
        touching = [self.solids[i] for touch in self.contacts for i in touch.solids]
        sizes = [solid.size for solid in touching or self.solids if not solid.unbounded]
        return min(sizes) if sizes else 0.2 * self._span()

    @cached_property
    def reach(self) -> float:
        """Size (m) of the largest framed solid of finite size, or `unit` if there is none."""
        return max((solid.size for solid in self.solids if solid.framed and not solid.unbounded), default=self.unit)

    @cached_property
    def stride(self) -> float:
        """Size (m) of the largest solid with ghosts, or `reach` if there is none."""
        return max((solid.size for solid in self.solids if solid.ghosts is not None), default=self.reach)

    def _span(self) -> float:
        origins = np.concatenate([np.zeros((1, 3)), *(frame.poses[:, :3, 3] for frame in self.frames)])
        return float(np.linalg.norm(np.ptp(origins, axis=0))) or 1.0

    @cached_property
    def scale(self) -> ForceScale:
        """Scale of arrows in a view of the whole run."""
        return self.scale_for(max(self.unit, ARROW_SHARE * self._extent()))

    def scale_for(self, size: float) -> ForceScale:
        """Return the scale of arrows for bodies of this size (m) and the largest force, or `PEAK` times the largest lasting force
        if this is smaller."""
        sizes = [np.linalg.norm(force.newtons, axis=1) for force in self.all_forces]
        largest = max((float(size.max()) for size in sizes), default=0.0)
        lasting = max((_lasting(self.t, size) for size in sizes if size.max() > 0.0), default=0.0)
        shown = min(largest, PEAK * lasting)
        newtons_per_metre, unit_length, text = force_scale(shown, size)
        cut = "; two heads: larger" if largest > 1.001 * shown else ""
        return ForceScale(newtons_per_metre, unit_length, text + cut, shown / newtons_per_metre or size)

    @property
    def arrow_radius(self) -> float:
        """Radius of the shafts of force arrows, m: `ARROW` times that of frame axes, or more for arrows much longer than axes."""
        return ARROW * RADIUS * max(self.unit, SLENDER * self.scale.longest)

    def _extent(self) -> float:
        moving = [solid for solid in self.solids if solid.framed and not solid.unbounded and solid.moves()]
        places = [solid.poses[:, :3, 3] for solid in moving]
        return float(np.ptp(np.concatenate(places), axis=0).max()) + max(solid.size for solid in moving) if moving else 0.0

    @cached_property
    def all_frames(self) -> tuple[Frame, ...]:
        """Frames, and the Gauss frames of every contact."""
        frames = list(self.frames)
        for touch in self.contacts:
            shown = None if touch.show_gap else (touch.gap < 0.0) | inside(self.t, touch.intervals)
            for side, H in enumerate(touch.frames, start=1):
                label = ("", "") if touch.mark is None else ("C", f"{side}{touch.mark}")
                frames.append(Frame(H, label=label, at_axis=True, shown=shown))
        return tuple(frames)

    @cached_property
    def all_paths(self) -> tuple[Trail, ...]:
        """Contact paths on both solids of every contact, then other paths."""
        paths, words = [], "contact path" if len(self.contacts) == 1 else "contact paths"
        for touch in self.contacts:
            thick = np.where(inside(self.t, touch.intervals), 1.0, OPEN_THICKNESS)
            for i, H in zip(touch.solids, touch.frames, strict=True):
                solid = self.solids[i]
                points = in_body_axes(solid.poses, H[:, :3, 3])
                normals = np.einsum("kji,kj->ki", solid.poses[:, :3, :3], H[:, :3, 2])
                paths.append(Trail(points, normals, solid.ink, f"{words} on {solid.words}", i, thick))
        return (*paths, *self.paths)

    @cached_property
    def all_forces(self) -> tuple[Force, ...]:
        """Force on the second solid of every contact, then other forces."""
        forces = [
            Force(touch.frames[1][:, :3, 3], touch.force, f"on {self.solids[touch.solids[1]].words}", touch.pushing)
            for touch in self.contacts
        ]
        return (*forces, *self.forces)

    @property
    def legend(self) -> tuple[tuple[str, str], ...]:
        """Colours and their meanings, without repetition."""
        entries = [(path.colour, path.label) for path in self.all_paths if path.label]
        return tuple(dict.fromkeys([*entries, *((solid.colour, solid.legend) for solid in self.solids if solid.legend)]))

    @property
    def force_words(self) -> str:
        """Label of the arrows, or "" if no force acts, as in a run whose contacts are only impulses."""
        forces = [force for force in self.all_forces if np.any(force.newtons)]
        if not forces:
            return ""
        labels = {force.label for force in forces}
        words = ["forces" if len(forces) > 1 else "force", *(labels if len(labels) == 1 else ())]
        return " ".join(filter(None, words))

    @property
    def force_legend(self) -> str:
        """Label and scale of the arrows, or "" without forces."""
        return self.legend_of(self.scale)

    def legend_of(self, scale: ForceScale) -> str:
        """Return the label of the arrows with a scale, or "" without forces."""
        return f"{self.force_words}: {scale.text}" if self.force_words else ""

    def carriers(self, frame: Frame) -> list[int]:
        """Return the indices of the solids that move with a frame: for a contact frame, of both touching solids."""
        for touch in self.contacts:
            if any(np.array_equal(frame.poses, H) for H in touch.frames):
                return list(touch.solids)
        return [i for i, solid in enumerate(self.solids) if np.array_equal(solid.poses, frame.poses)]

    def contact_intervals(self) -> list[tuple[float, float]]:
        """Return the intervals (s) in which anything touches."""
        intervals: list[tuple[float, float]] = []
        for start, end in sorted(span for touch in self.contacts for span in touch.intervals):
            if intervals and start <= intervals[-1][1]:
                intervals[-1] = (intervals[-1][0], max(end, intervals[-1][1]))
            else:
                intervals.append((start, end))
        return intervals

    def mesh(self, index: int, n_u: Count = 65, n_v: Count = 97) -> Mesh:
        """Return the mesh of a solid; a surface has n_u by n_v points, where n_u - 1 must be a multiple of 8 and n_v - 1 of
        12."""
        solid = self.solids[index]
        if isinstance(solid.shape, Mesh):
            return solid.shape
        touching = [touch.frames[touch.solids.index(index)] for touch in self.contacts if index in touch.solids]
        near = touching or [other.poses for other in self.solids if other is not solid and not other.unbounded]
        points = [in_body_axes(solid.poses, H[:, :3, 3]) for H in near]
        return surface_mesh(solid.shape, np.concatenate(points or [np.zeros((1, 3))]), self.reach, n_u, n_v)

    def coil(self, spring: SpringDrawing) -> Mesh:
        """Return the helix of a spring, along z at its mean length."""
        return helix(spring.length, min(spring.radius * self.unit, MAX_HELIX_RADIUS * spring.length), spring.turns)

    def cuts(self, force: Force) -> NDArray[np.bool_]:
        """Return a mask (k,) of samples at which the arrow of a force would exceed the maximum length and is cut, with two
        heads."""
        sizes = np.linalg.norm(force.newtons, axis=1)
        return np.asarray(sizes > 1.001 * self.scale.longest * self.scale.newtons_per_metre)

    def arrow(self, force: Force) -> tuple[Array, Array]:
        """Return starts and tips (k, 3) of the arrow of a force, cut to the maximum length."""
        vectors = force.newtons / self.scale.newtons_per_metre
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        vectors = vectors * np.minimum(1.0, self.scale.longest / np.where(lengths > 0.0, lengths, 1.0))
        return (force.points - vectors, force.points) if force.pushing else (force.points, force.points + vectors)

    def at_times(self, times: ArrayLike) -> Scene:
        """Return the scene at other times (j,), s."""
        at = Interpolation.of(self.t, times)
        return replace(
            self,
            t=np.atleast_1d(np.asarray(times, dtype=float)),
            size=self.unit,
            solids=tuple(replace(solid, poses=at.poses(solid.poses)) for solid in self.solids),
            contacts=tuple(_touch_at(at, touch) for touch in self.contacts),
            frames=tuple(_frame_at(at, frame) for frame in self.frames),
            paths=tuple(_path_at(at, path) for path in self.paths),
            forces=tuple(replace(f, points=at.values(f.points), newtons=at.values(f.newtons)) for f in self.forces),
            springs=tuple(replace(c, starts=at.values(c.starts), ends=at.values(c.ends)) for c in self.springs),
            panels=tuple(_panel_at(at, panel) for panel in self.panels),
        )


def _touch_at(at: Interpolation, touch: ContactDrawing) -> ContactDrawing:
    c1, c2 = (at.poses(H, jumps=True) for H in touch.frames)
    gap, normal, force = map(at.values, (touch.gap, touch.normal, touch.force))
    return replace(touch, frames=(c1, c2), gap=gap, normal=normal, force=force)


def _frame_at(at: Interpolation, frame: Frame) -> Frame:
    return replace(frame, poses=at.poses(frame.poses), shown=None if frame.shown is None else frame.shown[at.low])


def _path_at(at: Interpolation, path: Trail) -> Trail:
    thick = at.values(path.thick) if isinstance(path.thick, np.ndarray) else path.thick
    return replace(path, points=at.values(path.points), normals=path.normals[at.low], thick=thick)


def _panel_at(at: Interpolation, panel: Panel) -> Panel:
    return replace(panel, curves=tuple(replace(curve, values=at.values(curve.values)) for curve in panel.curves))


SPACING = 0.95
"""Travel between two ghosts, relative to the size of the largest solid with ghosts."""


def show_times(scene: Scene, count: int, share: float = 1.0 / 3.0) -> Array:
    """Return the times (s) of a movie's frames: slow spans get a `share` of all frames if they are at most this share of the run;
    otherwise all frames are evenly spaced.

    Slow spans are `slow_motion` of the scene, or else its contacts, each extended by half its length at both ends.
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
    """Return a time (s) at which forces are strong, ghosts are well apart and paths do not yet overlap; without contacts, a time
    about a third of the way through the run."""
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


@dataclass(frozen=True)
class Camera:
    """Perspective camera: eye, centre of view and up direction in the world (m), vertical view angle (degrees).

    `shift` moves the picture within the window, in halves of its size: (0.2, 0) moves it right by a tenth of the width.
    """

    eye: Array
    centre: Array
    up: Array
    angle: float = 14.0
    shift: tuple[float, float] = (0.0, 0.0)

    @property
    def axes(self) -> Array:
        """Directions to the right, upward and towards the viewer, as rows."""
        back = self.eye - self.centre
        back = back / np.linalg.norm(back)
        right = np.cross(self.up, back)
        right = right / np.linalg.norm(right)
        return np.stack([right, np.cross(back, right), back])

    def pixels(self, points: ArrayLike, size: tuple[int, int]) -> Array:
        """Project points (k, 3) to pixels (k, 2), x right and y down, of a window (width, height)."""
        local = (np.atleast_2d(np.asarray(points, dtype=float)) - self.eye) @ self.axes.T
        scale = 0.5 * size[1] / np.tan(np.radians(0.5 * self.angle)) / -local[:, 2]
        x = 0.5 * size[0] * (1.0 + self.shift[0]) + scale * local[:, 0]
        y = 0.5 * size[1] * (1.0 - self.shift[1]) - scale * local[:, 1]
        return np.stack([x, y], axis=1)

    def pixels_per_metre(self, point: ArrayLike, size: tuple[int, int]) -> float:
        depth = float((self.eye - np.asarray(point, dtype=float)) @ self.axes[2])
        return float(0.5 * size[1] / np.tan(np.radians(0.5 * self.angle)) / depth)


def upward(scene: Scene) -> Array:
    if scene.up is not None:
        return scene.up
    for touch in scene.contacts:
        for i, frames in zip(touch.solids, touch.frames, strict=True):
            if scene.solids[i].unbounded:
                return np.asarray(frames[0, :3, 2])
    return np.array([0.0, 0.0, 1.0])


def direction(scene: Scene, focus: float | None = None) -> Array:
    """Return the unit vector to the viewer: that of the scene, else a direction that shows contacts from the side and the ground
    slightly from above. The time `focus` (s) has more weight than all other times."""
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
    # Looking straight down or up leaves the vertical of the picture undefined.
    cost += np.where(np.abs(views @ up) > 0.95, 10.0, 0.0)
    return np.asarray(views[np.argmin(cost)])


def _normals(scene: Scene, pick: NDArray[np.int64]) -> tuple[Array, Array]:
    normals, weights = [np.zeros((0, 3))], [np.zeros(0)]
    for touch in scene.contacts:
        first, second = (frames[pick] for frames in touch.frames)
        normals.append(first[:, :3, 2])
        distance = np.linalg.norm(second[:, :3, 3] - first[:, :3, 3], axis=1)
        weights.append(1.0 / (1.0 + (distance / (0.2 * scene.unit)) ** 2) + 1e-3)
    return np.concatenate(normals), np.concatenate(weights)


def fit(points: Array, view: Array, up: Array, size: tuple[int, int], inset: tuple[int, int, int, int]) -> Camera:
    """Return the camera in the direction `view` from the points, at a distance from which they fill the window minus its inset
    (left, top, right, bottom; pixels)."""
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
    centre = np.asarray(points).mean(axis=0)
    return Camera(centre + reach / np.tan(np.radians(7.0)) * view, centre, up)
