"""Bodies of a scenario file: a checked `BodySpec` from the section "body1" or "body2", and from it a body of a graph.

=============  ==================================================  ==========================================
motion         required                                            optional (default)
=============  ==================================================  ==========================================
`fixed`        surface, p0, quat0_wxyz                             velocities, if given, must be zero
`prescribed`   surface, p0, quat0_wxyz, omega0_world               v0_com_world, if given, must be zero
`free`         surface, p0, quat0_wxyz, mass, inertia              v0_com_world, omega0_world (zero)
=============  ==================================================  ==========================================
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from screwbond.models.bodies import UNIT_TOLERANCE, Body, ground, prescribed_body, rigid_body
from screwbond.models.studies.fields import number, vector, word
from screwbond.models.studies.reading import JsonSection
from screwbond.models.two_bodies.surfaces import read_surface

ZERO = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class MotionKind:
    """Kind of motion of a body: the function that builds it from its name, `BodySpec` and uniform gravity (m/s^2), the fields
    that it needs in a file, the velocities that it may have, and whether forces move it."""

    body: Callable[[str, BodySpec, tuple[float, ...]], Body]
    needs: tuple[str, ...] = ()
    velocities: tuple[str, ...] = ()
    is_free: bool = False


def _fixed(name: str, spec: BodySpec, gravity: tuple[float, ...]) -> Body:
    return ground(name, **spec.at_start)


def _prescribed(name: str, spec: BodySpec, gravity: tuple[float, ...]) -> Body:
    omega = np.asarray(spec.omega0_world, dtype=float)
    velocity = np.asarray(spec.v0_com_world, dtype=float)
    return prescribed_body(name, twist=np.concatenate([omega, velocity + np.cross(spec.p0, omega)]), **spec.at_start)


def _free(name: str, spec: BodySpec, gravity: tuple[float, ...]) -> Body:
    assert spec.mass is not None and spec.inertia is not None
    moving: dict[str, Any] = {"velocity": spec.v0_com_world, "angular_velocity": spec.omega0_world}
    return rigid_body(name, mass=spec.mass, inertia=spec.inertia, gravity=gravity, **moving, **spec.at_start)


MOTIONS = {
    "fixed": MotionKind(_fixed),
    "prescribed": MotionKind(_prescribed, needs=("omega0_world",), velocities=("omega0_world",)),
    "free": MotionKind(_free, needs=("mass", "inertia"), velocities=("v0_com_world", "omega0_world"), is_free=True),
}
"""All kinds of motion of a body."""


def _needs(field: str) -> Callable[[Mapping[str, Any]], bool]:
    return lambda before: before["motion"] in MOTIONS and field in MOTIONS[before["motion"]].needs


@dataclass(frozen=True, kw_only=True)
class BodySpec:
    """Body of a scenario: surface (of `screws`) and its type, kind of motion, and start state (SI units).

    Mass and inertia are None unless the body is free.
    """

    name: str
    surface: Any
    surface_type: str
    motion: str = word(MOTIONS, "how the body moves")
    mass: float | None = number("kg", "mass of a free body", None, above=0.0, needed=_needs("mass"))
    inertia: tuple[float, ...] | None = vector(
        3, "kg m^2", "moments of a free body about its centre of mass, object axes", None, needed=_needs("inertia")
    )
    p0: tuple[float, ...] = vector(3, "m", "position of the object origin")
    quat0_wxyz: tuple[float, ...] = vector(4, "", "unit quaternion from object to world, real part first")
    v0_com_world: tuple[float, ...] = vector(3, "m/s", "velocity of the centre of mass, world axes", ZERO)
    omega0_world: tuple[float, ...] = vector(
        3, "rad/s", "angular velocity, world axes; a prescribed motion needs it", ZERO, needed=_needs("omega0_world")
    )

    @property
    def at_start(self) -> dict[str, Any]:
        """Surface and start pose, as arguments of every body."""
        return {"surface": self.surface, "position": self.p0, "quaternion": self.quat0_wxyz}


_VELOCITIES = {"v0_com_world": "have a velocity", "omega0_world": "turn"}


def body_fields(section: JsonSection | None, name: str, notes: list[str]) -> BodySpec | None:
    """Read a body of a scenario, None without its section; invalid if the document has problems.

    A quaternion with a small error of its norm is normalised, with an entry in `notes`.
    """
    if section is None:
        return None
    values = section.read(BodySpec)
    surface, surface_type = read_surface(section.section("surface"))
    if values["inertia"] is not None:
        _check_inertia(values["inertia"], section)
    values["quat0_wxyz"] = _normalised(values["quat0_wxyz"], section, notes)
    motion = values["motion"]
    if motion:
        _check_velocities(motion, values, section)
        needs = MOTIONS[motion].needs
        values |= {field: None for field in ("mass", "inertia") if field not in needs}
    section.finish()
    return BodySpec(name=name, surface=surface, surface_type=surface_type, **values)


def _check_velocities(motion: str, values: Mapping[str, Any], section: JsonSection) -> None:
    for field, verb in _VELOCITIES.items():
        moving = any(v != 0.0 for v in values[field] if math.isfinite(v))
        if moving and field not in MOTIONS[motion].velocities:
            others = " or ".join(f'"{name}"' for name, kind in MOTIONS.items() if field in kind.velocities)
            section.report("E412", field, f"the body is {motion} and must not {verb}", f"remove it, or set motion to {others}")


def _check_inertia(inertia: tuple[float, ...], section: JsonSection) -> None:
    if not all(map(math.isfinite, inertia)):
        return
    if min(inertia) <= 0.0:
        section.report("E410", "inertia", f"{list(inertia)} is not positive definite: every moment must be above 0")
        return
    small, middle, large = sorted(inertia)
    # Rounding in the file must not refuse a flat disc, whose moments meet the limit exactly.
    if large > (small + middle) * (1.0 + 1e-9):
        what = f"{large:g} is more than {small:g} + {middle:g}: no body has these moments (triangle inequality)"
        section.report("E410", "inertia", what, "moments are about the centre of mass, in object axes")


def _normalised(quaternion: tuple[float, ...], section: JsonSection, notes: list[str]) -> tuple[float, ...]:
    norm = math.hypot(*quaternion)
    if math.isnan(norm) or abs(norm - 1.0) <= 1e-12:
        return quaternion
    if abs(norm - 1.0) >= UNIT_TOLERANCE:
        what = f"its norm is {norm:.6g}, which is far from 1"
        section.report("E411", "quat0_wxyz", what, "a unit quaternion, real part first: [w, x, y, z]")
        return quaternion
    notes.append(f"{section.at('quat0_wxyz')}: its norm is {norm:.9g}; it was normalised")
    return tuple(component / norm for component in quaternion)
