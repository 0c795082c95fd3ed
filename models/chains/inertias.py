"""Inertias of rigid bodies: mass, centre of mass and moments of inertia; cylinders, balls and combined bodies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from bondgraph.errors import Place
from bondgraph.model.arguments import in_units
from screws.errors import GeometryError
from screws.inertia import check_inertia
from screws.numeric_arguments import fixed_floats, floats

Vector = Sequence[float] | np.ndarray


@in_units(mass="kg", rotational="kg m^2", centre="m")
@dataclass(frozen=True, eq=False)
class BodyInertia:
    """Inertia of a rigid body in a frame of its own.

    Parameters
    ----------
    mass : kg.
    rotational : about the centre of mass in the axes of the frame, kg m^2: (3, 3), or (3,) principal.
    centre : centre of mass in the frame, m.

    Raises `GeometryError` G111 to G114 for an inertia that no rigid body can have.
    """

    mass: float
    rotational: np.ndarray
    centre: np.ndarray = field(default_factory=lambda: np.zeros(3))

    def __post_init__(self) -> None:
        moment = np.asarray(self.rotational, dtype=float)
        moment = np.diag(moment) if moment.shape == (3,) else moment
        check_inertia(float(self.mass), moment)
        object.__setattr__(self, "mass", float(self.mass))
        object.__setattr__(self, "rotational", fixed_floats(0.5 * (moment + moment.T)))
        centre = floats(self.centre, (3,))
        if centre is None:
            raise GeometryError("G114", f"the centre of mass is {self.centre!r}", "three finite numbers, in m")
        object.__setattr__(self, "centre", fixed_floats(centre))


@dataclass(frozen=True, eq=False)
class UncheckedInertia(BodyInertia):
    """Inertia that a file gives, though no rigid body has it.

    Attributes
    ----------
    defect : why no body has it.
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
    faces."""
    a, b = np.asarray(start, dtype=float), np.asarray(end, dtype=float)
    length = float(np.linalg.norm(b - a))
    axis = (b - a) / length if length > 0.0 else np.array([0.0, 0.0, 1.0])
    along, across = mass * radius**2 / 2.0, mass * (3.0 * radius**2 + length**2) / 12.0
    return BodyInertia(mass, across * np.eye(3) + (along - across) * np.outer(axis, axis), 0.5 * (a + b))


@in_units(mass="kg", radius="m", centre="m")
def ball_inertia(mass: float, radius: float, centre: Vector = (0.0, 0.0, 0.0)) -> BodyInertia:
    """Return the inertia of a solid ball of `mass` (kg) and `radius` (m) about `centre` (m)."""
    return BodyInertia(mass, np.full(3, 0.4 * mass * radius**2), np.asarray(centre, dtype=float))


def combined_inertia(*parts: BodyInertia) -> BodyInertia:
    """Return the inertia of rigidly joined bodies in one frame."""
    mass = sum(part.mass for part in parts)
    centre = sum((part.mass * part.centre for part in parts), np.zeros(3)) / mass
    moment = np.zeros((3, 3))
    for part in parts:
        r = part.centre - centre
        moment = moment + part.rotational + part.mass * ((r @ r) * np.eye(3) - np.outer(r, r))
    return BodyInertia(mass, moment, centre)
