"""Record of a scene, from which every picture is made, and its interpolation to other times.

Builders decide colours and words; renderers know nothing of models.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
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
from screwbond.models.pictures.shapes.meshes import Mesh
from screwbond.models.pictures.shapes.surfaces import surface_mesh
from screwbond.models.pictures.style import force_scale

from bondgraph.errors import refusal
from bondgraph.run.results.result import Result
from screws.renamed import answer_old_names

OPEN_THICKNESS = 0.4
"""Thickness of a contact path where the bodies are apart, over that in contact."""


@answer_old_names
@dataclass(frozen=True, eq=False)
class Scene:
    """Moving solids, contacts, forces and events over t (k,), s.

    Attributes
    ----------
    title, name : heading, and name of the run.
    size : unit length (m) of frames, tubes and arrows; None: size of the smallest solid in contact.
    view, up : unit vectors to the viewer and upward; None: automatic.
    slow : spans that a movie slows down; if empty, short contacts.
    result : the run, if there is one: pages show its bond graph and its quantities.
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
        """Raise `ModelError` E160 if a picture of such parts would be empty."""
        if any(parts):
            return
        title = f'the scene "{self.title}" has no {what}, so there is nothing to draw'
        plots = ("plots of its panels, for energies over time",) if self.panels else ()
        alternatives = ('result.plot("name"), or page(result, "run.html")',) if self.result is not None else ()
        placed = "rigid_body(...), chain_graph(...) or a signal that is a pose (4, 4): these have places"
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
        """Size (m) of the largest solid of finite size."""
        return max((solid.size for solid in self.solids if solid.framed and not solid.unbounded), default=self.unit)

    @cached_property
    def stride(self) -> float:
        """Size (m) of the largest solid with ghosts."""
        return max((solid.size for solid in self.solids if solid.ghosts is not None), default=self.reach)

    def _span(self) -> float:
        """Return the extent of all origins of frames, m."""
        origins = np.concatenate([np.zeros((1, 3)), *(frame.poses[:, :3, 3] for frame in self.frames)])
        return float(np.linalg.norm(np.ptp(origins, axis=0))) or 1.0

    @cached_property
    def scale(self) -> tuple[float, float, str]:
        """Newtons per metre of an arrow, unit length (m), and the text of the scale; from the largest force."""
        forces = [float(np.linalg.norm(force.newtons, axis=1).max()) for force in self.all_forces]
        return force_scale(max(forces, default=0.0), self.unit)

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
        """Contact paths on both solids of every contact, then the others."""
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
        """Force on the second solid of every contact, then the others."""
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
        """Label of the arrows; "" without forces (impacts are impulses)."""
        forces = [force for force in self.all_forces if np.any(force.newtons)]
        if not forces:
            return ""
        labels = {force.label for force in forces}
        words = ["forces" if len(forces) > 1 else "force", *(labels if len(labels) == 1 else ())]
        return " ".join(filter(None, words))

    @property
    def force_legend(self) -> str:
        """Label and scale of the arrows; "" without forces."""
        return f"{self.force_words}: {self.scale[2]}" if self.force_words else ""

    def contact_intervals(self) -> list[tuple[float, float]]:
        """Return the intervals (s) in which anything touches."""
        intervals: list[tuple[float, float]] = []
        for start, end in sorted(span for touch in self.contacts for span in touch.intervals):
            if intervals and start <= intervals[-1][1]:
                intervals[-1] = (intervals[-1][0], max(end, intervals[-1][1]))
            else:
                intervals.append((start, end))
        return intervals

    def mesh(self, index: int, n_u: int = 65, n_v: int = 97) -> Mesh:
        """Return the mesh of a solid; of a surface with n_u by n_v points, multiples of 8 and of 12, plus 1."""
        solid = self.solids[index]
        if isinstance(solid.shape, Mesh):
            return solid.shape
        touching = [touch.frames[touch.solids.index(index)] for touch in self.contacts if index in touch.solids]
        near = touching or [other.poses for other in self.solids if other is not solid and not other.unbounded]
        points = [in_body_axes(solid.poses, H[:, :3, 3]) for H in near]
        return surface_mesh(solid.shape, np.concatenate(points or [np.zeros((1, 3))]), self.reach, n_u, n_v)

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
