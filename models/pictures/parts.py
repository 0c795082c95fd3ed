"""Parts of a scene: solids, contacts, frames, paths, forces, curves and event marks, as records of arrays over time.

Arrays have k rows, one for each sample time; SI units, world axes unless stated otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Never

import numpy as np
from numpy.typing import NDArray
from screwbond.models.pictures.interpolation import Array
from screwbond.models.pictures.shapes.meshes import Mesh
from screwbond.models.pictures.sources import Signal, Source, TouchSource
from screwbond.models.pictures.style import AMBER, blend

from bondgraph.errors import refusal
from bondgraph.output.plot_style import INK, MUTED
from screws.names import answer_old_names
from screws.numeric_arguments import shown
from screws.surfaces import Surface

Spans = tuple[tuple[float, float], ...]


class Look(Enum):
    """Rendering style of a solid: GLASS is clear where seen face on, so that frames and paths inside are visible; OPAQUE hides
    them; VEIL is a translucent colour; WALL is opaque from its front and invisible from behind."""

    GLASS = 1
    OPAQUE = 2
    VEIL = 3
    WALL = 4

    @classmethod
    def _missing_(cls, value: object) -> Never:
        raise refusal("E110", f"there is no look {shown(value)}", *(f"Look.{look.name}" for look in cls), about="look", places=())


@answer_old_names
@dataclass(frozen=True, eq=False)
class Solid:
    """Rigid body of a scene.

    Attributes
    ----------
    name : name of the body; `called`: its name in legends, by default `name`.
    poses : (k, 4, 4).
    shape : a surface of `screws`, or a mesh in its own axes.
    colour, ink : colours of the body and of contact paths on it; `lines`: colour of its mesh's lines, by default derived from
        `colour`.
    ghosts : time (s) from which earlier poses are shown; None: never.
    legend : meaning of its colour.
    framed : True if a camera must see the whole body.
    source : source of its poses, for pages that simulate; None if they follow from no signal.
    """

    name: str
    poses: Array
    shape: Surface | Mesh
    colour: str = AMBER[0]
    ink: str = AMBER[1]
    look: Look = Look.GLASS
    lines: str = ""
    called: str = ""
    ghosts: float | None = None
    legend: str = ""
    framed: bool = True
    source: Source | None = None

    @property
    def unbounded(self) -> bool:
        """True if the solid has no finite size."""
        return isinstance(self.shape, Surface) and self.shape.unbounded

    @cached_property
    def size(self) -> float:
        """Largest extent, m, infinite if unbounded."""
        if self.unbounded:
            return math.inf
        shape = self.shape
        points = shape.points if isinstance(shape, Mesh) else np.asarray(shape.grid(17, 17), dtype=float).reshape(-1, 3)
        return float(np.ptp(points, axis=0).max())

    @property
    def words(self) -> str:
        """Name in legends."""
        return self.called or self.name

    @property
    def line_colour(self) -> str:
        """Colour of its mesh's lines."""
        return self.lines or blend(self.colour, INK, 0.45)

    def moves(self) -> bool:
        """Return True if the solid moves away from its first pose."""
        return bool(np.abs(self.poses - self.poses[0]).max() > 1e-9 * (1.0 + np.abs(self.poses[0]).max()))


@dataclass(frozen=True, eq=False)
class Frame:
    """Triad of axes.

    Attributes
    ----------
    poses : (k, 4, 4).
    length, thickness : sizes relative to a Gauss frame; a frame of length 0 shows only its label.
    label : text and subscript.
    at_axis : True if the label is next to the z axis, not at the origin.
    shown : (k,) visibility; None: always.
    source : as for a solid.
    """

    poses: Array
    length: float = 1.0
    thickness: float = 1.0
    label: tuple[str, str] = ("", "")
    at_axis: bool = False
    shown: NDArray[np.bool_] | None = None
    source: Source | None = None


@dataclass(frozen=True, eq=False)
class Trail:
    """Path that is drawn up to the present time.

    Attributes
    ----------
    points, normals : (k, 3) in the axes of the solid `on` (its index), or of the world if None; normals keep the tube from
        twisting.
    thick : (k,) relative to the usual thickness.
    ahead : True if the whole path is shown from the start as a faint line.
    """

    points: Array
    normals: Array
    colour: str
    label: str = ""
    on: int | None = None
    thick: Array | float = 1.0
    ahead: bool = False


@dataclass(frozen=True, eq=False)
class Force:
    """Force (k, 3), N, at points (k, 3), where its arrow starts or, with `pushing`, ends.

    `source` : signals of the components of the point and of the force.
    """

    points: Array
    newtons: Array
    label: str = ""
    pushing: bool = False
    source: tuple[Sequence[Signal], Sequence[Signal]] | None = None


@dataclass(frozen=True, eq=False)
class SpringDrawing:
    """Spring between points (k, 3) and (k, 3), drawn as a helix between them.

    Attributes
    ----------
    radius : relative to the scene's unit.
    sources : sources of the poses whose origins are the ends.
    """

    name: str
    starts: Array
    ends: Array
    colour: str = MUTED
    turns: int = 9
    radius: float = 0.3
    sources: tuple[Source, Source] | None = None

    @cached_property
    def length(self) -> float:
        """Mean length, m, or 1 if the mean is zero."""
        return float(np.linalg.norm(self.ends - self.starts, axis=1).mean()) or 1.0


@answer_old_names
@dataclass(frozen=True, eq=False)
class ContactDrawing:
    """Contact, or the closest points of two solids.

    Attributes
    ----------
    solids : indices of both solids.
    frames : Gauss frames C1, C2 (k, 4, 4), z outward.
    gap : (k,) m, negative in contact.
    normal : (k,) normal force, N.
    force : (k, 3) on the second solid, N.
    intervals : times of contact, s.
    pushing : True if the arrow ends at the contact.
    show_gap : True if its frames, and a line across the gap, are shown while the gap is open.
    mark : suffix of the labels of its frames; None: no labels.
    source : source of frames, force and gap.
    """

    name: str
    solids: tuple[int, int]
    frames: tuple[Array, Array]
    gap: Array
    normal: Array
    force: Array
    intervals: Spans = ()
    pushing: bool = False
    show_gap: bool = True
    mark: str | None = ""
    source: TouchSource | None = None


@dataclass(frozen=True, eq=False)
class Curve:
    """Values (k,) over time, in the unit of their panel; the name may contain mathematics between dollar signs.

    `dashed` : 0 for a solid line, 1 for dashes, 2 for dots, so that coinciding curves are visible.
    """

    name: str
    values: Array
    colour: str
    dashed: int = 0


@dataclass(frozen=True, eq=False)
class Panel:
    """Curves with a common axis.

    Attributes
    ----------
    title, unit : SI; small values in m and J are shown in smaller units.
    level : True to mark zero.
    log : True for a logarithmic axis.
    key : True if posters and movies show it.
    on_demand : True if `plots` omits it, and a page draws it only when the user chooses its title.
    """

    title: str
    unit: str
    curves: tuple[Curve, ...]
    level: bool = False
    key: bool = False
    log: bool = False
    on_demand: bool = False


@dataclass(frozen=True)
class EventMark:
    """Event at time t, s; `internal` events (changes of chart) are not drawn."""

    t: float
    label: str
    internal: bool = False
    colour: str = MUTED


def inside(t: Array, spans: Sequence[tuple[float, float]]) -> NDArray[np.bool_]:
    return np.any([np.zeros(len(t), dtype=bool), *((t >= start) & (t <= end) for start, end in spans)], axis=0)


def negative(t: Array, values: Array) -> Spans:
    edges = np.flatnonzero(np.diff(values < 0.0, prepend=False, append=False)).reshape(-1, 2)
    return tuple((float(t[start]), float(t[end - 1])) for start, end in edges)
