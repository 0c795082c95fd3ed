"""Description of a robot in a file, the same for URDF, MJCF and SDF: links with inertias and shapes, joints, and drives."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from bondgraph.errors import Place, Problem
from screws.errors import plural
from screws.joints import Joint

FIXED = "fixed"

InertiaTerms = tuple[float, np.ndarray, np.ndarray]
"""Mass, rotational inertia (3, 3) about the centre of mass, and the centre (3,)."""


@dataclass(frozen=True)
class Ignored:
    """Part of a file that was omitted from the robot, or a harmless error, with the reason and the lines."""

    what: str
    why: str
    lines: tuple[int, ...] = ()

    def __str__(self) -> str:
        times = f"{plural(len(self.lines), 'time')}, first in line" if len(self.lines) > 1 else "line"
        where = f" ({times} {self.lines[0]})" if self.lines else ""
        return f"{self.what}{where}: {self.why}"


def merged(notes: Iterable[Ignored]) -> list[Ignored]:
    lines: dict[tuple[str, str], tuple[int, ...]] = {}
    for note in notes:
        lines[note.what, note.why] = lines.get((note.what, note.why), ()) + note.lines
    return [Ignored(*key, each) for key, each in lines.items()]


@dataclass(frozen=True, eq=False)
class ShapeEntry:
    """Shape of a link: "box" (edges), "cylinder" and "capsule" (radius, length), "sphere" (radius), "ellipsoid" (semi-axes) in m,
    or "mesh" (scale along x, y and z)."""

    kind: str
    size: tuple[float, ...]
    origin: np.ndarray
    """Pose (4, 4) in the frame of the link."""
    colour: str | None = None
    path: str = ""


@dataclass(frozen=True, eq=False)
class LinkEntry:
    name: str
    place: Place
    inertia: InertiaTerms | None = None
    visuals: tuple[ShapeEntry, ...] = ()
    collisions: tuple[ShapeEntry, ...] = ()


@dataclass(frozen=True, eq=False)
class JointEntry:
    name: str
    kind: str
    """Kind as in the file, or "fixed"."""
    parent: str
    child: str
    place: Place
    origin: np.ndarray = field(default_factory=lambda: np.eye(4))
    """Pose (4, 4) of the child in the frame of its parent, with the joint at zero."""
    screws: Joint | None = None
    """Joint in the frame of the child, or None if there are `problems`."""
    limits: tuple[float, float] | None = None
    damping: float = 0.0
    armature: float = 0.0
    stiffness: float = 0.0
    rest: float = 0.0
    friction: float = 0.0
    effort: float | None = None
    velocity: float | None = None
    leader: str | None = None
    """Joint that this joint mimics, with position = `multiplier` * (position of the leader) + `offset`."""
    multiplier: float = 1.0
    offset: float = 0.0
    problems: tuple[Problem, ...] = ()
    limit_problems: tuple[Problem, ...] = ()
    limit_notes: tuple[Ignored, ...] = ()
    notes: tuple[Ignored, ...] = ()

    @property
    def moves(self) -> bool:
        return self.kind != FIXED


@dataclass(frozen=True)
class RobotDrive:
    """Motor or servo at a joint, for information: a graph has only the sources that you add (`limited_drive`, PID of
    `screwbond.models.control`).

    Attributes
    ----------
    name : as in the file.
    kind : "motor", "position" or "velocity"; for a general actuator, the kind with the same force.
    joint : joint that it drives with the effort gear * force; for a motor, force = gain * u; for a position or velocity servo,
        force = gain * (u - gear * (position or velocity)) - damping * gear * velocity.
    gear : ratio to the joint, 1 or 1/m.
    gain, damping : factors of the formulas above.
    control, force : ranges of u and of the force; None: no range.
    """

    name: str
    kind: str
    joint: str
    gear: float = 1.0
    gain: float = 1.0
    damping: float = 0.0
    control: tuple[float, float] | None = None
    force: tuple[float, float] | None = None

    @property
    def effort(self) -> float | None:
        """Largest effort at the joint, N m or N, or None if no range limits it."""
        ranges = ((self.force, 1.0), (self.control if self.kind == "motor" else None, self.gain))
        bounds = [abs(self.gear * factor) * max(map(abs, bound)) for bound, factor in ranges if bound is not None]
        return min(bounds, default=None)


@dataclass(frozen=True, eq=False)
class RobotFile:
    file: Path
    name: str
    links: tuple[LinkEntry, ...]
    joints: tuple[JointEntry, ...]
    base: np.ndarray = field(default_factory=lambda: np.eye(4))
    """Pose (4, 4) of the root link in the world."""
    drives: tuple[RobotDrive, ...] = ()
    problems: tuple[Problem, ...] = ()
    ignored: tuple[Ignored, ...] = ()
    harmless: tuple[Ignored, ...] = ()
