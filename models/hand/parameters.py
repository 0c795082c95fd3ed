"""Parameters of the dexterous hand (Visser 2002, section 5), with their checks and the shapes of its object."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from screwbond.models.studies.fields import check_record, number, vector, word

from bondgraph.errors import Problem, caller_place
from bondgraph.output.short_repr import short_repr
from screws.errors import GeometryError
from screws.surfaces import Surface, egg, ellipsoid, sphere


@dataclass(frozen=True)
class ObjectShape:
    """Shape of the object: names of its sizes (m), and functions of them: its surface about the centre of mass, and the
    principal moments of the solid body over its mass (3,), m^2."""

    sizes: tuple[str, ...]
    surface: Callable[..., Surface]
    moments: Callable[..., np.ndarray]


def _ellipsoid_moments(a: float, b: float, c: float) -> np.ndarray:
    squares = np.array([a, b, c]) ** 2
    return (np.sum(squares) - squares) / 5.0


def _centred_egg(f: float, S: float) -> Surface:
    """Return the egg with its origin at the centre of mass of the solid egg."""
    return egg(f, S, -_egg_integrals(f, S)[1])


def _egg_moments(f: float, S: float) -> np.ndarray:
    _, centre, across, along = _egg_integrals(f, S)
    return np.array([across - centre**2, across - centre**2, along])


def _egg_integrals(f: float, S: float) -> tuple[float, float, float, float]:
    """Return volume (m^3), height of the centre above focus B (m), mean of x^2 + z^2 and of x^2 + y^2 (m^2) of a solid egg."""
    w, weight = np.polynomial.legendre.leggauss(80)
    b = 2.0 * S + f * w
    rho = (b - np.sqrt(b * b - 3.0 * (S * S - f * f))) / 3.0

    def over_volume(power: int, function: Callable[[np.ndarray], np.ndarray]) -> float:
        return float(2.0 * np.pi * np.sum(weight * rho ** (3 + power) * function(w)) / (3 + power))

    volume = over_volume(0, np.ones_like)
    z, zz = over_volume(1, lambda w: w) / volume, over_volume(2, lambda w: w * w) / volume
    yy = over_volume(2, lambda w: 0.5 * (1.0 - w * w)) / volume
    return volume, z, yy + zz, 2.0 * yy


SHAPES = {
    "sphere": ObjectShape(("radius",), sphere, lambda radius: _ellipsoid_moments(radius, radius, radius)),
    "ellipsoid": ObjectShape(("a", "b", "c"), lambda *axes: ellipsoid(axes), _ellipsoid_moments),
    "egg": ObjectShape(("f", "S"), _centred_egg, _egg_moments),
}
"""All shapes of the object."""


def _size_count(fields: Mapping[str, Any]) -> int | None:
    shape = SHAPES.get(fields["object_shape"])
    return None if shape is None else len(shape.sizes)


@short_repr
@dataclass(frozen=True)
class HandParameters:
    """A hand of equal fingers on a circle, the object between them, their contacts and the impedance controller.

    Finger i stands at the azimuth 2 pi i / fingers. A contact's normal spring and damper are on v_z, the tangential ones on v_x
    and v_y, the rotational ones on omega_z.

    Raises `ModelError` E480 for an invalid number; E481 for an object that is larger than the reach of the fingers.
    """

    fingers: int = number("", "how many", 3, integer=True, least=2, most=12)
    base_radius: float = number("m", "radius of the circle of the fingers' bases", 0.08, above=0.0)
    link_lengths: tuple[float, ...] = vector(
        4, "m", "of the cylinders along a finger; the last ends at the tip's centre", (0.015, 0.050, 0.040, 0.030), above=0.0
    )
    link_masses: tuple[float, ...] = vector(
        4, "kg", "of these cylinders, which are solid", (0.020, 0.030, 0.020, 0.012), above=0.0
    )
    link_radius: float = number("m", "of these cylinders", 0.006, above=0.0)
    tip_radius: float = number("m", "of the solid ball welded to the last link", 0.012, above=0.0)
    tip_mass: float = number("kg", "of that ball", 0.008, above=0.0)
    joint_damping: float = number("N m s", "viscous friction in every joint", 5e-3, least=0.0)
    joint_lower: tuple[float, ...] = vector(4, "rad", "lower limits of the angles", (-1.5, -1.5, -0.5, -1.5))
    joint_upper: tuple[float, ...] = vector(4, "rad", "upper limits of the angles", (1.5, 1.5, 2.5, 2.0))
    grasp_pitch: float = number("rad", "inclination of the last link from the vertical, inward, in the start posture", 1.2)
    object_shape: str = word(SHAPES, "of the object", "sphere")
    object_size: tuple[float, ...] = vector(
        _size_count, "m", "; ".join(f"{name}: {', '.join(shape.sizes)}" for name, shape in SHAPES.items()), (0.03,), above=0.0
    )
    object_mass: float = number("kg", "of the object", 0.1, above=0.0)
    object_inertia: tuple[float, ...] | None = vector(
        3, "kg m^2", "principal moments of the object, in its axes; homogeneous without", None
    )
    object_position: tuple[float, ...] = vector(3, "m", "start of the object's origin, its centre of mass", (0.0, 0.0, 0.09))
    object_quaternion: tuple[float, ...] = vector(4, "", "start of its orientation, real part first", (1.0, 0.0, 0.0, 0.0))
    normal_stiffness: float = number("N/m", "of the contacts", 2e4, above=0.0)
    normal_damping: float = number("N s/m", "of the contacts", 20.0, least=0.0)
    tangential_stiffness: float = number("N/m", "of the contacts", 2e4, above=0.0)
    tangential_damping: float = number("N s/m", "of the contacts", 20.0, least=0.0)
    rotational_stiffness: float = number("N m/rad", "of the contacts", 1.0, above=0.0)
    rotational_damping: float = number("N m s", "of the contacts", 1e-3, least=0.0)
    friction: float | None = number("", "coefficient of the contacts; they never slip without", None, least=0.0)
    virtual_mass: float = number("kg", "of the virtual object", 0.1, above=0.0)
    virtual_inertia: float = number("kg m^2", "of the virtual object about any axis", 1e-4, above=0.0)
    virtual_damping: float = number("N s/m", "on the virtual object's absolute motion", 8.0, least=0.0)
    virtual_rotational_damping: float = number("N m s", "on the virtual object's absolute motion", 0.01, least=0.0)
    reference_stiffness: float = number("N/m", "spring from the virtual object to the reference", 400.0, above=0.0)
    reference_rotational_stiffness: float = number("N m/rad", "spring from the virtual object to the reference", 1.0, above=0.0)
    finger_stiffness: float = number("N/m", "spring from each tip's pole to its virtual point", 300.0, above=0.0)
    grip: float = number("m", "depth of that point below the object's surface, in the virtual object", 0.01, above=0.0)

    def __post_init__(self) -> None:
        check_record(self, "E480", "hand", _contradictions)

    @property
    def azimuths(self) -> np.ndarray:
        """Azimuth of each finger (fingers,), rad."""
        return 2.0 * np.pi * np.arange(self.fingers) / self.fingers

    @property
    def radial(self) -> np.ndarray:
        """Outward unit vector of each finger (fingers, 3), world coordinates."""
        angles = self.azimuths
        return np.stack([np.cos(angles), np.sin(angles), np.zeros(self.fingers)], axis=1)

    @property
    def bases(self) -> np.ndarray:
        """Positions of the first joints (fingers, 3), m."""
        return self.base_radius * self.radial

    @cached_property
    def surface(self) -> Surface:
        """The object's surface; its origin is the centre of mass."""
        return SHAPES[self.object_shape].surface(*self.object_size)

    @cached_property
    def inertia(self) -> np.ndarray:
        """Principal moments of the object (3,), kg m^2."""
        if self.object_inertia is not None:
            return np.array(self.object_inertia, dtype=float)
        return self.object_mass * SHAPES[self.object_shape].moments(*self.object_size)

    def link_inertia(self, link: int) -> tuple[float, float]:
        """Return the moments of a link's cylinder about its axis and across it, through its centre, kg m^2."""
        m, r, length = self.link_masses[link], self.link_radius, self.link_lengths[link]
        return 0.5 * m * r * r, m * (3.0 * r * r + length * length) / 12.0

    @property
    def tip_inertia(self) -> float:
        """Moment of the tip's ball about any axis through its centre, kg m^2."""
        return 0.4 * self.tip_mass * self.tip_radius**2

    def changed(self, **changes: Any) -> HandParameters:
        """Return a copy with some numbers changed."""
        return dataclasses.replace(self, **changes)


def _contradictions(parameters: HandParameters) -> list[Problem]:
    """Return the contradictions between valid numbers: E480 a value, E481 the object's size against the fingers."""
    problems: list[Problem] = []
    place = caller_place()

    def report(name: str, need: str) -> None:
        title = f"{name} of the hand is {getattr(parameters, name)!r}"
        problems.append(Problem("E480", title, (f"it needs {need}",), (place,)))

    if any(low >= high for low, high in zip(parameters.joint_lower, parameters.joint_upper, strict=True)):
        report("joint_lower", "angles below joint_upper")
    if abs(np.linalg.norm(parameters.object_quaternion) - 1.0) > 1e-3:
        report("object_quaternion", "a unit quaternion, real part first")
    inertia = parameters.object_inertia
    if inertia is not None and (min(inertia) <= 0.0 or 2.0 * max(inertia) > sum(inertia) * (1.0 + 1e-12)):
        report("object_inertia", "positive moments, none above the sum of the others")
    try:
        surface = parameters.surface
    except GeometryError as error:
        problems.append(Problem("E480", f"object_size: {error.message}", (error.code,), (place,), (error.cure,)))
        return problems
    if parameters.grip >= surface.size:
        report("grip", f"less than the object's size, {surface.size:g} m: the virtual points lie inside it")
    reach = parameters.base_radius + sum(parameters.link_lengths[1:]) - parameters.tip_radius
    if surface.size > reach:
        title = f"the object (size {surface.size:g} m) is larger than the reach of the fingers"
        details = (f"bent outward, a tip stays within {reach:g} m of the axis of the hand",)
        problems.append(Problem("E481", title, details, (place,), ("a smaller object, longer links, or bases farther out",)))
    return problems
