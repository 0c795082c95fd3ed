"""Scenario files: JSON text of two bodies and their contact in; a checked `Scenario`, or all problems at once, out.

What a body must say depends on its `motion`:

=============  ==================================================  ==========================================
motion         required                                            optional (default)
=============  ==================================================  ==========================================
`fixed`        surface, p0, quat0_wxyz                             velocities, if given, must be zero
`prescribed`   surface, p0, quat0_wxyz, omega0_world               v0_com_world, if given, must be zero
`free`         surface, p0, quat0_wxyz, mass, inertia              v0_com_world, omega0_world (zero)
=============  ==================================================  ==========================================

A contact must give the stiffness of each constrained component (`k_n` of v_z, `k_t` of v_x and v_y, `k_w` of omega_x,
omega_y, omega_z); dampings (`c_n`, `r_t`, `r_w`) are zero unless given. It may give `friction`, the coefficient of the
cone beyond which v_x and v_y slip, which needs `r_t`, and `torsional_friction`, the limit of the torque of omega_z over the
normal force (m), which needs `r_w`, and `transport`, how the springs' vectors are carried along ("parallel").
`COMMENTS` and keys that begin with an underscore or with "comment" pass anywhere and mean nothing.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bondgraph.errors import raise_if_any
from models.studies.fields import Document, Fields, parse_json
from models.two_bodies.contact_fields import COMPONENTS, ContactSpec, contact_fields

__all__ = ["COMMENTS", "COMPONENTS", "SURFACES", "BodySpec", "ContactSpec", "GravitySpec", "Scenario", "read_scenario"]

SURFACES = ("egg", "sphere", "ellipsoid", "plane")
"""Types of surface."""

COMMENTS = frozenset(
    (
        "name",
        "description",
        "units",
        "note",
        "notes",
        "R0",
        "twist0_world_WW",
        "contact_seed",
        "mode",
        "paper_name",
        "initial_contact_coordinates",
        "initial_construction",
        "conventions",
    )
)
"""Keys that are only read by people."""

UNIT_TOLERANCE = 1e-3
"""A quaternion whose norm is off by less is normalised, with a note; by more, it is refused."""


@dataclass(frozen=True)
class BodySpec:
    """One body: its surface, how it moves, and where it starts (SI units).

    Attributes
    ----------
    surface : the surface, from `screws`.
    surface_type : "egg", "sphere", "ellipsoid" or "plane".
    motion : "fixed", "prescribed" or "free".
    mass : kg; None where the body is not free.
    inertia : (Ixx, Iyy, Izz) about the centre of mass in object axes (kg m^2); None where the body is not free.
    p0, quat0_wxyz : position of the object origin (m) and unit quaternion from object to world.
    v0_com_world, omega0_world : velocity of the centre of mass (m/s) and angular velocity (rad/s), world axes.
    """

    name: str
    surface: Any
    surface_type: str
    motion: str
    mass: float | None
    inertia: tuple[float, ...] | None
    p0: tuple[float, ...]
    quat0_wxyz: tuple[float, ...]
    v0_com_world: tuple[float, ...]
    omega0_world: tuple[float, ...]


@dataclass(frozen=True)
class GravitySpec:
    """Gravity: "none", "uniform" with `vector` (m/s^2), or "central" with `g0` (m/s^2) towards the origin of body 1."""

    type: str
    vector: tuple[float, ...] = (0.0, 0.0, 0.0)
    g0: float = 0.0


@dataclass(frozen=True)
class Scenario:
    """Two bodies, their contact and gravity, run from 0 to `t_end` and sampled every `sample_dt` (s)."""

    name: str
    description: str
    file: str
    t_end: float
    sample_dt: float
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

    Returns
    -------
    The scenario; `notes` says what was put right silently (a quaternion that was not quite unit).

    Raises
    ------
    bondgraph.errors.ModelError : with one Problem per finding, each with the JSON path, file and line:
        E401 file, E402 JSON, E403 missing, E404 unknown or repeated key, E405 type, E406 not finite, E407 out of range,
        E408 unknown word, E409 surface, E410 inertia, E411 quaternion, E412 contradiction.
    """
    document = Document(os.fspath(path))
    scenario = None
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        document.report("E401", "", "it is not UTF-8 text")
    except OSError as error:
        document.report("E401", "", f"it cannot be read: {error.strerror or error}")
    else:
        values = parse_json(text, document)
        if values is not None:
            scenario = _scenario(Fields(document, "", values), document)
    raise_if_any(Path(path).name, document.problems)
    assert scenario is not None
    return scenario


def _scenario(fields: Fields, document: Document) -> Scenario:
    """The whole file; meaningless where the document holds problems."""
    notes: list[str] = []
    bodies = tuple(_body(fields.section(name), name, notes) for name in ("body1", "body2"))
    contact = contact_fields(fields.section("contact"), notes, COMMENTS)
    gravity = _gravity(fields.section("gravity"))
    scenario = Scenario(
        name=fields.label("name", Path(document.file).stem),
        description=fields.label("description", ""),
        file=document.file,
        t_end=fields.number("t_end", "s", above=0.0),
        sample_dt=fields.number("sample_dt", "s", above=0.0),
        body1=bodies[0],
        body2=bodies[1],
        contact=contact,
        gravity=gravity,
        notes=tuple(notes),
    )
    fields.finish(COMMENTS)
    _check_together(scenario, fields)
    return scenario


def _check_together(scenario: Scenario, fields: Fields) -> None:
    """What only the whole file can contradict."""
    one, two = scenario.body1, scenario.body2
    motions = (one.motion, two.motion)
    if "" not in motions and "free" not in motions:
        fields.report("E412", "body2.motion", "no body is free, so nothing can be simulated", 'set one motion to "free"')
    if one.surface_type == two.surface_type == "plane":
        what = "both bodies are planes: flat on flat has no contact point"
        fields.report("E412", "body2.surface.type", what, "curve one of them: a sphere or an ellipsoid")
    if scenario.gravity.type == "central" and two.motion in ("fixed", "prescribed"):
        what = f"central gravity pulls body 2, which is {two.motion}"
        fields.report("E412", "gravity.type", what, "exchange the bodies, or use uniform gravity")
    if scenario.gravity.type == "central" and one.p0 == two.p0:
        fields.report("E412", "body2.p0", "central gravity has no direction: both origins coincide", "move body 2")
    if 0 < scenario.t_end < scenario.sample_dt:
        what = f"{scenario.sample_dt:g} s is longer than t_end, {scenario.t_end:g} s"
        fields.report("E407", "sample_dt", what, "a shorter one")
    if scenario.t_end > 0 and scenario.sample_dt > 0 and scenario.t_end / scenario.sample_dt > 1e7:
        samples = scenario.t_end / scenario.sample_dt
        fields.report("E407", "sample_dt", f"{samples:.1e} samples of the result", "a longer sample_dt")


def _body(fields: Fields | None, name: str, notes: list[str]) -> BodySpec:
    zero = (0.0, 0.0, 0.0)
    if fields is None:
        return BodySpec(name, None, "", "", None, None, zero, (1.0, 0.0, 0.0, 0.0), zero, zero)
    motion = fields.choice("motion", ("fixed", "prescribed", "free"))
    surface, surface_type = _surface(fields.section("surface"))
    free = motion == "free"
    needs_mass = free or fields.has("mass")
    needs_inertia = free or fields.has("inertia")
    mass = fields.number("mass", "kg", above=0.0, default=None if needs_mass else 0.0)
    inertia = fields.vector("inertia", 3, "kg m^2", default=None if needs_inertia else zero)
    if needs_inertia:
        _check_inertia(inertia, fields)
    body = BodySpec(
        name=name,
        surface=surface,
        surface_type=surface_type,
        motion=motion,
        mass=mass if free else None,
        inertia=inertia if free else None,
        p0=fields.vector("p0", 3, "m"),
        quat0_wxyz=_quaternion(fields, notes),
        v0_com_world=fields.vector("v0_com_world", 3, "m/s", default=zero),
        omega0_world=fields.vector("omega0_world", 3, "rad/s", default=None if motion == "prescribed" else zero),
    )
    if motion in ("fixed", "prescribed") and any(v != 0.0 for v in body.v0_com_world if math.isfinite(v)):
        what = f"the body is {motion} and must not have a velocity"
        fields.report("E412", "v0_com_world", what, 'remove it, or set motion to "free"')
    if motion == "fixed" and any(w != 0.0 for w in body.omega0_world if math.isfinite(w)):
        cure = 'remove it, or set motion to "prescribed" (constant rate) or "free"'
        fields.report("E412", "omega0_world", "the body is fixed and must not turn", cure)
    fields.finish(COMMENTS)
    return body


def _check_inertia(inertia: tuple[float, ...], fields: Fields) -> None:
    if not all(map(math.isfinite, inertia)):
        return
    if min(inertia) <= 0.0:
        fields.report("E410", "inertia", f"{list(inertia)} is not positive definite: every moment must be above 0")
        return
    small, middle, large = sorted(inertia)
    # Rounding in the file must not refuse a flat disc, whose moments meet the limit exactly.
    if large > (small + middle) * (1.0 + 1e-9):
        what = f"{large:g} is more than {small:g} + {middle:g}: no body has these moments (triangle inequality)"
        fields.report("E410", "inertia", what, "moments are about the centre of mass, in object axes")


def _quaternion(fields: Fields, notes: list[str]) -> tuple[float, ...]:
    quaternion = fields.vector("quat0_wxyz", 4)
    norm = math.hypot(*quaternion)
    if math.isnan(norm) or abs(norm - 1.0) <= 1e-12:
        return quaternion
    if abs(norm - 1.0) >= UNIT_TOLERANCE:
        what = f"its norm is {norm:.6g}, which is far from 1"
        fields.report("E411", "quat0_wxyz", what, "a unit quaternion, real part first: [w, x, y, z]")
        return quaternion
    notes.append(f"{fields.at('quat0_wxyz')}: its norm is {norm:.9g}; it was normalised")
    return tuple(component / norm for component in quaternion)


def _surface(fields: Fields | None) -> tuple[Any, str]:
    """The surface of `screws` and its type; (None, type) where the file or the geometry is wrong."""
    if fields is None:
        return None, ""
    before = len(fields.document.problems)
    surface_type = fields.choice("type", SURFACES)
    arguments: tuple[Any, ...] = ()
    if surface_type == "egg":
        arguments = tuple(fields.number(key, "m") for key in ("f", "S", "zB"))
    elif surface_type == "sphere":
        arguments = (fields.number("radius", "m", above=0.0),)
    elif surface_type == "ellipsoid":
        arguments = (fields.vector("semi_axes", 3, "m"),)
        if min(arguments[0]) <= 0.0:
            fields.report("E407", "semi_axes", f"{list(arguments[0])}: every semi-axis must be above 0")
    if surface_type:
        fields.finish(COMMENTS)
    if not surface_type or len(fields.document.problems) > before:
        return None, surface_type
    # Imported here, so that reading this module's records does not load the whole of screws.
    from screws import surfaces
    from screws.errors import GeometryError

    try:
        return getattr(surfaces, surface_type)(*arguments), surface_type
    except GeometryError as error:
        key = {"sphere": "radius", "ellipsoid": "semi_axes", "egg": "S"}.get(surface_type, "")
        fields.report("E409", key, f"{error.code} {error.message}", error.cure)
        return None, surface_type


def _gravity(fields: Fields | None) -> GravitySpec:
    if fields is None:
        return GravitySpec("none")
    gravity_type = fields.choice("type", ("none", "uniform", "central"))
    gravity = GravitySpec(gravity_type)
    if gravity_type == "uniform":
        gravity = GravitySpec("uniform", vector=fields.vector("vector", 3, "m/s^2"))
    elif gravity_type == "central":
        gravity = GravitySpec("central", g0=fields.number("g0", "m/s^2"))
    if gravity_type:
        fields.finish(COMMENTS)
    return gravity
