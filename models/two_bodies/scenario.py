"""Scenario files: a checked `Scenario` of two bodies and their contact from JSON, or a report of all problems together.

`BodySpec`, `ContactSpec` and `GravitySpec` declare the fields of their sections. `COMMENTS` and keys that begin with an
underscore or with "comment" are ignored everywhere. The fields of a body depend on its motion:

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
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from screwbond.models.bodies import UNIT_TOLERANCE, Body, ground, prescribed_body, rigid_body
from screwbond.models.contacts import COMPONENTS
from screwbond.models.contacts.switches import TRANSPORTS
from screwbond.models.studies.fields import Declared, number, vector, word, words
from screwbond.models.studies.reading import JsonSection, read_file
from screwbond.models.studies.tasks import MAX_SAMPLES

from screws.errors import GeometryError
from screws.surfaces import Surface, egg, ellipsoid, plane, sphere


@dataclass(frozen=True)
class SurfaceKind:
    """Type of surface: constructor, parameters in a file in the order of its arguments, and the parameter that geometry errors
    name; two flat surfaces have no contact point."""

    make: Callable[..., Surface]
    numbers: Mapping[str, Declared]
    error_key: str = ""
    is_flat: bool = False


_EGG = {
    "f": Declared("distance between the foci of the oval r_A + 2 r_B = S", "m"),
    "S": Declared("the sum r_A + 2 r_B", "m"),
    "zB": Declared("height of the focus B above the origin", "m"),
}

SURFACES = {
    "egg": SurfaceKind(egg, _EGG, "S"),
    "sphere": SurfaceKind(sphere, {"radius": Declared("radius", "m", above=0.0)}, "radius"),
    "ellipsoid": SurfaceKind(ellipsoid, {"semi_axes": Declared("semi-axes", "m", many=True, count=3, above=0.0)}, "semi_axes"),
    "plane": SurfaceKind(plane, {}, is_flat=True),
}

TYPE = Declared("type of surface", options=tuple(SURFACES))


def read_surface(section: JsonSection | None) -> tuple[Surface | None, str]:
    """Return a surface of `screws` and its type. An invalid section or geometry gives None, with "" for an unknown type."""
    if section is None:
        return None, ""
    before = len(section.document.problems)
    name = section.value("type", TYPE)
    if not name:
        return None, ""
    kind = SURFACES[name]
    numbers = [section.value(key, declared) for key, declared in kind.numbers.items()]
    section.finish()
    if len(section.document.problems) > before:
        return None, name
    try:
        return kind.make(*numbers), name
    except GeometryError as error:
        section.report("E409", kind.error_key, f"{error.code} {error.message}", error.cure)
        return None, name


ZERO = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class MotionKind:
    """Kind of motion of a body: function that builds it from its name, `BodySpec` and uniform gravity (m/s^2), fields that a file
    must give, velocities that it may have, and whether forces move it."""

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


def _needs(field: str) -> Callable[[Mapping[str, Any]], bool]:
    return lambda before: before["motion"] in MOTIONS and field in MOTIONS[before["motion"]].needs


@dataclass(frozen=True, kw_only=True)
class BodySpec:
    """Body of a scenario: surface (of `screws`) and its type, kind of motion, and initial state (SI units).

    Mass and inertia are None unless the body is free.
    """

    name: str
    surface: Any
    surface_type: str
    motion: str = word(MOTIONS, "kind of motion")
    mass: float | None = number("kg", "mass of a free body", None, above=0.0, needed=_needs("mass"))
    inertia: tuple[float, ...] | None = vector(
        3, "kg m^2", "moments of inertia of a free body about its centre of mass, object axes", None, needed=_needs("inertia")
    )
    p0: tuple[float, ...] = vector(3, "m", "position of the object origin")
    quat0_wxyz: tuple[float, ...] = vector(4, "", "unit quaternion from object to world, real part first")
    v0_com_world: tuple[float, ...] = vector(3, "m/s", "velocity of the centre of mass, world axes", ZERO)
    omega0_world: tuple[float, ...] = vector(
        3, "rad/s", "angular velocity, world axes; a prescribed motion needs it", ZERO, needed=_needs("omega0_world")
    )

    @property
    def at_start(self) -> dict[str, Any]:
        return {"surface": self.surface, "position": self.p0, "quaternion": self.quat0_wxyz}


_VELOCITIES = {"v0_com_world": "have a velocity", "omega0_world": "turn"}


def body_fields(section: JsonSection | None, name: str, notes: list[str]) -> BodySpec | None:
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
    # Rounding in the file must not cause the refusal of a flat disc, whose moments meet the limit exactly.
    if large > (small + middle) * (1.0 + 1e-9):
        what = f"{large:g} is more than {small:g} + {middle:g}: no body has these moments (triangle inequality)"
        section.report("E410", "inertia", what, "moments about the centre of mass, in object axes")


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


STIFFNESS = {"v_z": "k_n", "v_x": "k_t", "v_y": "k_t", "omega_x": "k_w", "omega_y": "k_w", "omega_z": "k_w"}


def _needed(key: str) -> Callable[[Mapping[str, Any]], bool]:
    return lambda before: any(STIFFNESS[component] == key for component in before["constrained"])


@dataclass(frozen=True)
class ContactSpec:
    constrained: tuple[str, ...] = words(COMPONENTS, "components of the relative twist that are constrained")
    k_n: float = number("N/m", "stiffness of v_z", 0.0, least=0.0, needed=_needed("k_n"))
    c_n: float = number("N s/m", "damping of v_z", 0.0, least=0.0)
    k_t: float = number("N/m", "stiffness of v_x and v_y", 0.0, least=0.0, needed=_needed("k_t"))
    r_t: float = number("N s/m", "damping of v_x and v_y", 0.0, least=0.0)
    k_w: float = number("N m/rad", "stiffness of omega_x, omega_y and omega_z", 0.0, least=0.0, needed=_needed("k_w"))
    r_w: float = number("N m s/rad", "damping of omega_x, omega_y and omega_z", 0.0, least=0.0)
    friction: float | None = number("", "largest ratio of tangential to normal force; needs r_t", None, least=0.0)
    torsional_friction: float | None = number(
        "m", "largest ratio of the torque about the normal to the normal force; needs r_w", None, least=0.0
    )
    transport: str = word(TRANSPORTS, "how spring vectors are transported", TRANSPORTS[0])
    label: str = ""


_LIMITS = {"friction": (("v_x", "v_y", "v_z"), "r_t"), "torsional_friction": (("omega_z", "v_z"), "r_w")}


def contact_fields(section: JsonSection | None, notes: list[str]) -> ContactSpec | None:
    if section is None:
        return None
    values = section.read(ContactSpec)
    constrained = values["constrained"]
    for key in dict.fromkeys(STIFFNESS[component] for component in constrained):
        if values[key] == 0.0:
            section.report("E407", key, "0 where a positive number is needed")
    for key, (needs, damping) in _LIMITS.items():
        missing = [component for component in needs if component not in constrained]
        if values[key] is None:
            continue
        if missing:
            what = f"{', '.join(missing)} is not constrained, so there is no force to limit"
            section.report("E412", key, what, f"constrain {', '.join(needs)}, or leave {key} out")
        elif values[damping] == 0.0:
            what = f"{damping} is zero: a slider needs a damper in parallel with its spring"
            section.report("E412", key, what, f'"{damping}": a positive number')
    if "v_z" not in constrained:
        notes.append("contact.constrained: without v_z, nothing keeps the bodies apart, and they pass through each other")
    label = section.label("paper_name", section.label("mode", ""))
    section.finish()
    return ContactSpec(**values, label=label)


COMMENTS = frozenset({"name", "description", "units", "note", "notes", "mode", "paper_name", "conventions", "contact_seed"}) | {
    "R0",
    "twist0_world_WW",
    "initial_contact_coordinates",
    "initial_construction",
}

GRAVITIES = {"none": (), "uniform": ("vector",), "central": ("g0",)}


@dataclass(frozen=True)
class GravitySpec:
    """Gravity: none, uniform, or central towards the origin of body 1; a file must give the fields of its type."""

    type: str = word(GRAVITIES, "type of gravity")
    vector: tuple[float, ...] = vector(3, "m/s^2", "acceleration of uniform gravity", ZERO, needed=lambda before: True)
    g0: float = number("m/s^2", "constant acceleration of body 2 under central gravity", 0.0, needed=lambda before: True)

    @property
    def is_central(self) -> bool:
        return "g0" in GRAVITIES[self.type]


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """Two bodies, their contact, gravity, run length and sampling; `notes` lists corrections and likely mistakes."""

    name: str
    description: str
    file: str
    t_end: float = number("s", "end of the run", above=0.0)
    sample_dt: float = number("s", "time between samples", above=0.0)
    body1: BodySpec
    body2: BodySpec
    contact: ContactSpec
    gravity: GravitySpec
    notes: tuple[str, ...] = ()


def read_scenario(path: str | os.PathLike[str]) -> Scenario:
    """Read a scenario file and check all of it.

    Parameters
    ----------
    path : a JSON file; its text is parsed, never evaluated.

    Raises `ModelError` with every problem, each with its JSON path, file and line: E401 file, E402 JSON, E403
    missing, E404 unknown or repeated key, E405 type, E406 not finite, E407 out of range, E408 unknown word, E409 surface, E410
    inertia, E411 quaternion, E412 contradiction.
    """
    return read_file(path, _values, Scenario, COMMENTS)


def _values(section: JsonSection) -> dict[str, Any]:
    notes: list[str] = []
    file = section.document.file
    values = {
        "name": section.label("name", Path(file).stem),
        "description": section.label("description", ""),
        "file": file,
        **section.read(Scenario),
        **{name: body_fields(section.section(name), name, notes) for name in ("body1", "body2")},
        "contact": contact_fields(section.section("contact"), notes),
        "gravity": _gravity(section.section("gravity")),
    }
    _check_samples(values["t_end"], values["sample_dt"], section)
    _check_consistency(values["body1"], values["body2"], values["gravity"], section)
    return values | {"notes": tuple(notes)}


def _gravity(section: JsonSection | None) -> GravitySpec | None:
    if section is None:
        return None
    values = section.read(GravitySpec, "type")
    needs = GRAVITIES.get(values["type"])
    if needs is None:
        return None
    if needs:
        values |= section.read(GravitySpec, *needs)
    section.finish()
    return GravitySpec(**values)


def _check_samples(t_end: float, sample_dt: float, section: JsonSection) -> None:
    if 0 < t_end < sample_dt:
        section.report("E407", "sample_dt", f"{sample_dt:g} s is longer than t_end, {t_end:g} s", "a smaller sample_dt")
    elif t_end > 0 < sample_dt and t_end / sample_dt > MAX_SAMPLES:
        section.report("E407", "sample_dt", f"it gives {t_end / sample_dt:.1e} samples", "a longer sample_dt")


def _check_consistency(body1: BodySpec | None, body2: BodySpec | None, gravity: GravitySpec | None, section: JsonSection) -> None:
    if body1 is None or body2 is None:
        return
    motions = [MOTIONS.get(body.motion) for body in (body1, body2)]
    if not any(motion is None or motion.is_free for motion in motions):
        section.report("E412", "body2.motion", "no body is free, so nothing can be simulated", 'set one motion to "free"')
    if all(body.surface_type and SURFACES[body.surface_type].is_flat for body in (body1, body2)):
        what = "both bodies are planes: flat on flat has no contact point"
        section.report("E412", "body2.surface.type", what, "a curved surface for one of them: a sphere or an ellipsoid")
    if gravity is not None and gravity.is_central:
        if motions[1] is not None and not motions[1].is_free:
            what = f"central gravity pulls body 2, which is {body2.motion}"
            section.report("E412", "gravity.type", what, "exchange the bodies, or use uniform gravity")
        if body1.p0 == body2.p0:
            section.report("E412", "body2.p0", "central gravity has no direction: both origins coincide", "move body 2")
