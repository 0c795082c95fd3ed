"""Parameters of the dexterous hand (Visser 2002, section 5): numbers in, a checked frozen record out."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from bondgraph.errors import Problem, caller_place, raise_if_any
from screws.errors import GeometryError
from screws.surfaces import Surface, egg, ellipsoid, sphere

SHAPES: dict[str, tuple[str, ...]] = {"sphere": ("radius",), "ellipsoid": ("a", "b", "c"), "egg": ("f", "S")}
"""Shape of the object -> names of the numbers in `object_size`, m."""

POSITIVE = (
    "base_radius",
    "link_lengths",
    "link_masses",
    "link_radius",
    "tip_radius",
    "tip_mass",
    "object_size",
    "object_mass",
    "normal_stiffness",
    "tangential_stiffness",
    "rotational_stiffness",
    "virtual_mass",
    "virtual_inertia",
    "reference_stiffness",
    "reference_rotational_stiffness",
    "finger_stiffness",
    "grip",
)
"""Numbers that must be above zero."""

NOT_NEGATIVE = (
    "joint_damping",
    "normal_damping",
    "tangential_damping",
    "rotational_damping",
    "virtual_damping",
    "virtual_rotational_damping",
    "friction",
)
"""Numbers that may be zero."""

VECTORS = {
    "link_lengths": 4,
    "link_masses": 4,
    "joint_lower": 4,
    "joint_upper": 4,
    "object_inertia": 3,
    "object_position": 3,
    "object_quaternion": 4,
}
"""Name -> how many numbers it has."""


@dataclass(frozen=True)
class HandParameters:
    """A hand of equal fingers on a circle, the object between them, their contacts and the impedance controller.

    Attributes
    ----------
    fingers : how many; finger i stands at the azimuth 2 pi i / fingers.
    base_radius : radius of the circle of their bases, m.
    link_lengths, link_masses, link_radius : of the four solid cylinders along a finger (m, kg, m); the last length ends
        at the tip's centre.
    tip_radius, tip_mass : of the solid ball welded to the last link, m and kg.
    joint_damping : viscous friction in every joint, N m s.
    joint_lower, joint_upper : limits of the four angles, rad.
    grasp_pitch : inclination of the last link from the vertical, inward, in the start posture, rad.
    object_shape, object_size : one of `SHAPES` and its numbers, m.
    object_mass, object_inertia : kg and principal moments in object axes, kg m^2; None: homogeneous.
    object_position, object_quaternion : start pose; the object's origin is its centre of mass.
    normal_stiffness ... rotational_damping : contact springs and dampers on v_z; v_x and v_y; omega_z (N/m, N s/m; N m/rad,
        N m s).
    friction : coefficient of the tangential force's limit; None: the contact never slips.
    virtual_mass, virtual_inertia : of the virtual object, kg and kg m^2 about any axis.
    virtual_damping, virtual_rotational_damping : on its absolute motion, N s/m and N m s.
    reference_stiffness, reference_rotational_stiffness : spring from the virtual object to the reference, N/m, N m/rad.
    finger_stiffness, grip : spring from each tip's pole to its virtual point, N/m, and how deep that point lies below
        the surface of the object in the virtual object, m.
    """

    fingers: int = 3
    base_radius: float = 0.08
    link_lengths: tuple[float, ...] = (0.015, 0.050, 0.040, 0.030)
    link_masses: tuple[float, ...] = (0.020, 0.030, 0.020, 0.012)
    link_radius: float = 0.006
    tip_radius: float = 0.012
    tip_mass: float = 0.008
    joint_damping: float = 5e-3
    joint_lower: tuple[float, ...] = (-1.5, -1.5, -0.5, -1.5)
    joint_upper: tuple[float, ...] = (1.5, 1.5, 2.5, 2.0)
    grasp_pitch: float = 1.2
    object_shape: str = "sphere"
    object_size: tuple[float, ...] = (0.03,)
    object_mass: float = 0.1
    object_inertia: tuple[float, ...] | None = None
    object_position: tuple[float, ...] = (0.0, 0.0, 0.09)
    object_quaternion: tuple[float, ...] = (1.0, 0.0, 0.0, 0.0)
    normal_stiffness: float = 2e4
    normal_damping: float = 20.0
    tangential_stiffness: float = 2e4
    tangential_damping: float = 20.0
    rotational_stiffness: float = 1.0
    rotational_damping: float = 1e-3
    friction: float | None = None
    virtual_mass: float = 0.1
    virtual_inertia: float = 1e-4
    virtual_damping: float = 8.0
    virtual_rotational_damping: float = 0.01
    reference_stiffness: float = 400.0
    reference_rotational_stiffness: float = 1.0
    finger_stiffness: float = 300.0
    grip: float = 0.01

    def __post_init__(self) -> None:
        raise_if_any("hand", parameter_problems(self))

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
        """Places of the first joints (fingers, 3), m."""
        return self.base_radius * self.radial

    @cached_property
    def surface(self) -> Surface:
        """The object's surface; its origin is the centre of mass."""
        return object_surface(self.object_shape, self.object_size)

    @cached_property
    def inertia(self) -> np.ndarray:
        """Principal moments of the object (3,), kg m^2."""
        if self.object_inertia is not None:
            return np.array(self.object_inertia, dtype=float)
        return self.object_mass * homogeneous_inertia(self.object_shape, self.object_size)

    def link_inertia(self, link: int) -> tuple[float, float]:
        """Moments of a link's cylinder about its own axis and across it, through its centre, kg m^2."""
        m, r, length = self.link_masses[link], self.link_radius, self.link_lengths[link]
        return 0.5 * m * r * r, m * (3.0 * r * r + length * length) / 12.0

    @property
    def tip_inertia(self) -> float:
        """Moment of the tip's ball about any axis through its centre, kg m^2."""
        return 0.4 * self.tip_mass * self.tip_radius**2

    def changed(self, **changes: Any) -> HandParameters:
        """A copy with some numbers changed."""
        return dataclasses.replace(self, **changes)


def object_surface(shape: str, size: Iterable[float]) -> Surface:
    """Surface of a shape; that of an egg is shifted so that its origin is the centre of mass of the full egg."""
    numbers = [float(number) for number in size]
    if shape == "sphere":
        return sphere(numbers[0])
    if shape == "ellipsoid":
        return ellipsoid(numbers)
    return egg(numbers[0], numbers[1], -_egg_moments(*numbers)[1])


def homogeneous_inertia(shape: str, size: Iterable[float]) -> np.ndarray:
    """Principal moments of a full body over its mass (3,), m^2."""
    numbers = [float(number) for number in size]
    if shape == "egg":
        _, centre, across, along = _egg_moments(*numbers)
        return np.array([across - centre**2, across - centre**2, along])
    axes = np.array(numbers * 3 if shape == "sphere" else numbers)
    return (np.sum(axes**2) - axes**2) / 5.0


def _egg_moments(f: float, S: float) -> tuple[float, float, float, float]:
    """Volume (m^3), height of the centre above focus B (m), mean of x^2 + z^2 and of x^2 + y^2 (m^2) of a full egg."""
    w, weight = np.polynomial.legendre.leggauss(80)
    b = 2.0 * S + f * w
    rho = (b - np.sqrt(b * b - 3.0 * (S * S - f * f))) / 3.0

    def over_volume(power: int, function: Callable[[np.ndarray], np.ndarray]) -> float:
        return float(2.0 * np.pi * np.sum(weight * rho ** (3 + power) * function(w)) / (3 + power))

    volume = over_volume(0, np.ones_like)
    z, zz = over_volume(1, lambda w: w) / volume, over_volume(2, lambda w: w * w) / volume
    yy = over_volume(2, lambda w: 0.5 * (1.0 - w * w)) / volume
    return volume, z, yy + zz, 2.0 * yy


def parameter_problems(given: HandParameters) -> list[Problem]:
    """All that is wrong with the numbers of a hand: E480 a value, E481 the object's size against the fingers."""
    problems: list[Problem] = []
    place = caller_place()

    def report(name: str, need: str) -> None:
        title = f"{name} of the hand is {getattr(given, name)!r}"
        problems.append(Problem("E480", title, (f"it needs {need}",), (place,)))

    if isinstance(given.fingers, bool) or not isinstance(given.fingers, int) or not 2 <= given.fingers <= 12:
        report("fingers", "a whole number from 2 to 12")
    if given.object_shape not in SHAPES:
        report("object_shape", "one of " + ", ".join(SHAPES))
    sizes = VECTORS | {"object_size": len(SHAPES.get(given.object_shape, given.object_size))}
    for field in dataclasses.fields(given):
        name, value = field.name, getattr(given, field.name)
        if name in ("fingers", "object_shape") or (value is None and name in ("friction", "object_inertia")):
            continue
        numbers = _finite(value, sizes.get(name))
        if numbers is None:
            report(name, "finite numbers" if name in sizes else "a finite number")
        elif name in POSITIVE and min(numbers) <= 0.0:
            report(name, "more than zero")
        elif name in NOT_NEGATIVE and min(numbers) < 0.0:
            report(name, "zero or more")
    if problems:
        return problems
    if any(low >= high for low, high in zip(given.joint_lower, given.joint_upper, strict=True)):
        report("joint_lower", "angles below joint_upper")
    if abs(np.linalg.norm(given.object_quaternion) - 1.0) > 1e-3:
        report("object_quaternion", "a unit quaternion, real part first")
    inertia = given.object_inertia
    if inertia is not None and (min(inertia) <= 0.0 or 2.0 * max(inertia) > sum(inertia) * (1.0 + 1e-12)):
        report("object_inertia", "positive moments, none above the sum of the others")
    try:
        surface = object_surface(given.object_shape, given.object_size)
    except GeometryError as error:
        problems.append(Problem("E480", f"object_size: {error.message}", (error.code,), (place,), (error.cure,)))
        return problems
    if given.grip >= surface.size:
        report("grip", f"less than the object's size, {surface.size:g} m: the virtual points lie inside it")
    room = given.base_radius + sum(given.link_lengths[1:]) - given.tip_radius
    if surface.size > room:
        problems.append(
            Problem(
                "E481",
                f"the object (size {surface.size:g} m) is larger than the reach of the fingers",
                (f"bent outward, a tip stays within {room:g} m of the axis of the hand",),
                (place,),
                ("a smaller object, longer links, or bases farther out",),
            )
        )
    return problems


def _finite(value: Any, count: int | None) -> tuple[float, ...] | None:
    """Finite numbers of the right count; None for anything else."""
    entries = value if isinstance(value, tuple) else (value,)
    if isinstance(value, tuple) != (count is not None) or (count is not None and len(entries) != count):
        return None
    right = all(isinstance(v, int | float | np.number) and not isinstance(v, bool) and math.isfinite(v) for v in entries)
    return tuple(float(v) for v in entries) if right else None
