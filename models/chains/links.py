"""Links of a tree: inertia, joint screws, parent, home pose, damping, limits, surface and visuals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from screwbond.models.visuals import Visual, visuals_of

from bondgraph.errors import Place
from bondgraph.model.arguments import in_unit, in_units, refused
from bondgraph.model.laws import Parameter
from bondgraph.output.short_repr import short_repr
from screws.errors import GeometryError
from screws.inertia import check_inertia
from screws.joints import Joint
from screws.numeric_arguments import fixed_floats, floats, real
from screws.surfaces import Surface

Vector = Sequence[float] | np.ndarray


@in_units(mass="kg", rotational="kg m^2", centre="m")
@dataclass(frozen=True, eq=False)
class BodyInertia:
    """Inertia of a rigid body in its own frame.

    Parameters
    ----------
    mass : kg.
    rotational : inertia about the centre of mass in the axes of the frame, kg m^2: (3, 3), or (3,) principal.
    centre : centre of mass in the frame, m.

    Raises `GeometryError` G111 to G114 for an inertia that no rigid body can have.
    """

    mass: float
    rotational: np.ndarray
    centre: np.ndarray = field(default_factory=lambda: np.zeros(3))

    def __post_init__(self) -> None:
        check_inertia(self.mass, self.rotational)
        moment = np.asarray(self.rotational, dtype=float)
        moment = np.diag(moment) if moment.shape == (3,) else moment
        object.__setattr__(self, "mass", float(self.mass))
        object.__setattr__(self, "rotational", fixed_floats(0.5 * (moment + moment.T)))
        centre = floats(self.centre, (3,))
        if centre is None:
            raise GeometryError("G114", f"the centre of mass is {self.centre!r}", "three finite numbers, in m")
        object.__setattr__(self, "centre", fixed_floats(centre))


@dataclass(frozen=True, eq=False)
class UncheckedInertia(BodyInertia):
    """Inertia that a file gives, though no rigid body can have it.

    Attributes
    ----------
    defect : reason why no body can have it.
    is_passive : True if no motion has a negative kinetic energy: mass and moments are not negative.
    place : line of the file.
    """

    defect: str = ""
    is_passive: bool = True
    place: Place | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "rotational", fixed_floats(self.rotational))
        object.__setattr__(self, "centre", fixed_floats(self.centre))


@in_units(mass="kg", radius="m", start="m", end="m")
def cylinder_inertia(mass: float, radius: float, start: Vector, end: Vector) -> BodyInertia:
    """Return the inertia of a solid cylinder of `mass` (kg) and `radius` (m) between the centres `start` and `end` (m) of its
    faces. Raises `ModelError` E150 for an invalid radius or centre, and the errors of `BodyInertia`."""
    _need_radius(radius)
    a, b = _point("start", start), _point("end", end)
    length = float(np.linalg.norm(b - a))
    axis = (b - a) / length if length > 0.0 else np.array([0.0, 0.0, 1.0])
    along, across = mass * radius**2 / 2.0, mass * (3.0 * radius**2 + length**2) / 12.0
    return BodyInertia(mass, across * np.eye(3) + (along - across) * np.outer(axis, axis), 0.5 * (a + b))


@in_units(mass="kg", radius="m", centre="m")
def ball_inertia(mass: float, radius: float, centre: Vector = (0.0, 0.0, 0.0)) -> BodyInertia:
    """Return the inertia of a solid ball of `mass` (kg) and `radius` (m) whose centre is at `centre` (m). Errors are those of
    `cylinder_inertia`."""
    _need_radius(radius)
    return BodyInertia(mass, np.full(3, 0.4 * mass * radius**2), _point("centre", centre))


def _need_radius(radius: Any) -> None:
    if not 0.0 < real(radius) < np.inf:
        raise refused("radius", radius, "a positive number, m", "radius=0.1")


def _point(argument: str, value: Vector) -> np.ndarray:
    point = floats(value, (3,))
    if point is None:
        raise refused(argument, value, "a point of three finite numbers, m", f"{argument}=(0.0, 0.0, 1.0)")
    return point


def combined_inertia(*parts: BodyInertia) -> BodyInertia:
    """Return the inertia of rigidly joined bodies in one frame."""
    return BodyInertia(*combined_moments([(part.mass, part.rotational, part.centre) for part in parts]))


def combined_moments(parts: Sequence[tuple[float, np.ndarray, np.ndarray]]) -> tuple[float, np.ndarray, np.ndarray]:
    """Return mass, rotational inertia (3, 3) about the centre of mass, and centre (3,) of rigidly joined parts, which need not be
    physical: points, thin rods, corrections."""
    mass = sum(part[0] for part in parts)
    first_moment = sum((part[0] * part[2] for part in parts), np.zeros(3))
    centre = first_moment / mass if mass else np.zeros(3)
    moment = np.zeros((3, 3))
    for part_mass, inertia, part_centre in parts:
        r = part_centre - centre
        moment = moment + inertia + part_mass * ((r @ r) * np.eye(3) - np.outer(r, r))
    return mass, moment, centre


FREEDOM_UNITS = {
    "damping": {"rad": "N m s/rad", "m": "N s/m"},
    "armature": {"rad": "kg m^2", "m": "kg"},
    "stiffness": {"rad": "N m/rad", "m": "N/m"},
    "rest": {"rad": "rad", "m": "m"},
}
BEFORE = ""
"""Value of `parent` that stands for the preceding link of the list."""


@in_units(factor="", offset="")
@dataclass(frozen=True)
class Mimic:
    """Joint driven by the joint of another link: its coordinate is factor * (coordinate of `link`) + offset.

    Parameters
    ----------
    link : name of the link whose joint drives this joint; the driving joint may itself be driven.
    factor : not zero; 1, rad/m or m/rad.
    offset : rad or m.
    """

    link: str
    factor: float = 1.0
    offset: float = 0.0


@short_repr
@dataclass(frozen=True, eq=False)
class Link:
    """Body of a tree and the joint that carries it.

    Parameters
    ----------
    name : name in the tree; also the name of its port.
    joint : joint with screws (6, n) in the frame of the tree's base, with all joints at zero, outermost last. A joint of several
        freedoms is the product of the exponentials of its screws in this order.
    inertia : inertia in the frame of the link; None for a link without mass.
    home : (4, 4) pose of the link's frame in the base with all joints at zero.
    damping : viscous, N m s/rad or N s/m: a number, or one for each freedom.
    armature : motor inertia reflected to the joint, rotor inertia times gear ratio squared, kg m^2 or kg; numbers, as for
        damping. Gyroscopic torques of the rotor are neglected.
    stiffness, rest : stiffness of the joint's spring, N m/rad or N/m, and its rest position, rad or m; numbers, as for damping.
        Graphs include it; the formulas of efforts omit it, as they omit damping.
    limits : (lower, upper) limit of the joint, or (n, 2), rad or m; None or infinite: no limit. Degrees:
        `Parameter([-170, 170], "deg")`.
    surface : surface in the link's frame, for contacts.
    parent : name of an earlier link that carries it; `BEFORE` is the preceding link, None the base.
    mimic : for a joint with one freedom, the joint that drives it; it then has no coordinate of its own.
    visual : shapes for pictures, in the link's frame, one or several. If no link has any, pictures show rods from joint to joint.
    """

    name: str
    joint: Joint
    inertia: BodyInertia | None
    home: np.ndarray = field(default_factory=lambda: np.eye(4))
    damping: float | Vector = 0.0
    limits: Any = None
    surface: Surface | None = None
    parent: str | None = BEFORE
    mimic: Mimic | None = None
    visual: Visual | Sequence[Visual] | None = None
    armature: float | Vector = 0.0
    stiffness: float | Vector = 0.0
    rest: float | Vector = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "visual", visuals_of(self.name, self.visual))
        entered = {name: getattr(self, name) for name in ("limits", *FREEDOM_UNITS)}
        if any(isinstance(value, Parameter) for value in entered.values()):
            units = ["rad" if np.any(screw[:3]) else "m" for screw in self.joint.screws.T]
            units = units[:1] if len(set(units)) < 2 else units
            object.__setattr__(self, "limits", in_unit(self.name, "limits", self.limits, "; ".join(units)))
            for name, by_kind in FREEDOM_UNITS.items():
                entry_units = ", ".join(by_kind[unit] for unit in units)
                object.__setattr__(self, name, in_unit(self.name, name, entered[name], entry_units))
