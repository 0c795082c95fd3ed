"""Parameters of the dexterous hand (Visser 2002, section 5), and its scenarios: the motion of the reference, from JSON files.

Only `motion` and `t_end` are required in a file; `name` is by default the name of the file, and the other values below are the
defaults:

```
{"name": "main", "t_end": 9.0, "sample_dt": 0.01, "parameters": {"fingers": 3, "grip": 0.01},
 "motion": [{"along": [0.012, 0, 0], "from": 0.5, "to": 2.5}, {"about": [0, 0, 0.4], "from": 2.5, "to": 4.5}]}
```
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from screwbond.models.studies.fields import changed_values, check_record, field_problems, number, vector, word
from screwbond.models.studies.reading import JsonSection, read_file
from screwbond.models.studies.tasks import MAX_SAMPLES

from bondgraph.errors import Problem, caller_place
from bondgraph.output.files import json_text
from bondgraph.output.short_repr import short_repr
from screws.errors import GeometryError
from screws.surfaces import Surface, egg, ellipsoid, sphere


@dataclass(frozen=True)
class ObjectShape:
    """Shape of the object: names of its sizes (m), and functions from these to its surface about the centre of mass, and to the
    solid body's principal moments per unit mass (3,), m^2."""

    sizes: tuple[str, ...]
    surface: Callable[..., Surface]
    moments: Callable[..., np.ndarray]


def _ellipsoid_moments(a: float, b: float, c: float) -> np.ndarray:
    squares = np.array([a, b, c]) ** 2
    return (np.sum(squares) - squares) / 5.0


def _egg_moments(f: float, S: float) -> np.ndarray:
    _, centre, across, along = _egg_integrals(f, S)
    return np.array([across - centre**2, across - centre**2, along])


def _egg_integrals(f: float, S: float) -> tuple[float, float, float, float]:
    """Return the volume (m^3) of a solid egg, the height of its centre above focus B (m), and its means of x^2 + z^2 and x^2 +
    y^2 (m^2)."""
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
    "egg": ObjectShape(("f", "S"), lambda f, S: egg(f, S, -_egg_integrals(f, S)[1]), _egg_moments),
}


def _size_count(fields: Mapping[str, Any]) -> int | None:
    shape = SHAPES.get(fields["object_shape"])
    return None if shape is None else len(shape.sizes)


@short_repr
@dataclass(frozen=True)
class HandParameters:
    """Parameters of a hand of equal fingers on a circle, the object between them, their contacts and the passive controller.

    Finger i is at the azimuth 2 pi i / fingers. A contact's normal spring and damper act on v_z, its tangential elements on v_x
    and v_y, and its rotational elements on omega_z.

    Raises `ModelError` E480 for an invalid value; E481 for an object larger than the reach of the fingers.
    """

    fingers: int = number("", "number of fingers", 3, integer=True, least=2, most=12)
    base_radius: float = number("m", "radius of the circle of the fingers' bases", 0.08, above=0.0)
    link_lengths: tuple[float, ...] = vector(
        4,
        "m",
        "lengths of the cylinders along a finger; the last ends at the tip's centre",
        (0.015, 0.050, 0.040, 0.030),
        above=0.0,
    )
    link_masses: tuple[float, ...] = vector(
        4, "kg", "masses of these cylinders, which are solid", (0.020, 0.030, 0.020, 0.012), above=0.0
    )
    link_radius: float = number("m", "radius of these cylinders", 0.006, above=0.0)
    tip_radius: float = number("m", "radius of the solid ball welded to the last link", 0.012, above=0.0)
    tip_mass: float = number("kg", "mass of this ball", 0.008, above=0.0)
    joint_damping: float = number("N m s", "viscous friction in every joint", 5e-3, least=0.0)
    joint_lower: tuple[float, ...] = vector(4, "rad", "lower limits of the joint angles", (-1.5, -1.5, -0.5, -1.5))
    joint_upper: tuple[float, ...] = vector(4, "rad", "upper limits of the joint angles", (1.5, 1.5, 2.5, 2.0))
    grasp_pitch: float = number("rad", "initial inward inclination of the last link from the vertical", 1.2)
    object_shape: str = word(SHAPES, "shape of the object", "sphere")
    object_size: tuple[float, ...] = vector(
        _size_count, "m", "; ".join(f"{name}: {', '.join(shape.sizes)}" for name, shape in SHAPES.items()), (0.03,), above=0.0
    )
    object_mass: float = number("kg", "mass of the object", 0.1, above=0.0)
    object_inertia: tuple[float, ...] | None = vector(
        3, "kg m^2", "principal moments of the object, in its axes; by default uniform density", None
    )
    object_position: tuple[float, ...] = vector(
        3, "m", "initial position of the object's origin, its centre of mass", (0.0, 0.0, 0.09)
    )
    object_quaternion: tuple[float, ...] = vector(
        4, "", "initial orientation of the object, real part first", (1.0, 0.0, 0.0, 0.0)
    )
    normal_stiffness: float = number("N/m", "normal stiffness of the contacts", 2e4, above=0.0)
    normal_damping: float = number("N s/m", "normal damping of the contacts", 20.0, least=0.0)
    tangential_stiffness: float = number("N/m", "tangential stiffness of the contacts", 2e4, above=0.0)
    tangential_damping: float = number("N s/m", "tangential damping of the contacts", 20.0, least=0.0)
    rotational_stiffness: float = number("N m/rad", "rotational stiffness of the contacts", 1.0, above=0.0)
    rotational_damping: float = number("N m s", "rotational damping of the contacts", 1e-3, least=0.0)
    friction: float | None = number(
        "", "friction coefficient of the contacts; if none is given, they never slip", None, least=0.0
    )
    virtual_mass: float = number("kg", "mass of the virtual object", 0.1, above=0.0)
    virtual_inertia: float = number("kg m^2", "moment of inertia of the virtual object about any axis", 1e-4, above=0.0)
    virtual_damping: float = number("N s/m", "damping of the virtual object's absolute translation", 8.0, least=0.0)
    virtual_rotational_damping: float = number("N m s", "damping of the virtual object's absolute rotation", 0.01, least=0.0)
    reference_stiffness: float = number(
        "N/m", "translational stiffness between the virtual object and the reference", 400.0, above=0.0
    )
    reference_rotational_stiffness: float = number(
        "N m/rad", "rotational stiffness between the virtual object and the reference", 1.0, above=0.0
    )
    finger_stiffness: float = number("N/m", "stiffness of the spring from each tip's pole to its virtual point", 300.0, above=0.0)
    grip: float = number("m", "depth of the virtual point below the object's surface", 0.01, above=0.0)

    def __post_init__(self) -> None:
        check_record(self, "E480", "hand", _parameter_contradictions)

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

    def changed(self, **changes: Any) -> HandParameters:
        """Return a copy with changed parameters."""
        return dataclasses.replace(self, **changes)


def _parameter_contradictions(parameters: HandParameters) -> list[Problem]:
    problems: list[Problem] = []
    place = caller_place()

    def report(name: str, need: str) -> None:
        title = f"{name} = {getattr(parameters, name)!r} is invalid for the hand"
        problems.append(Problem("E480", title, (f"it needs {need}",), (place,)))

    if any(low >= high for low, high in zip(parameters.joint_lower, parameters.joint_upper, strict=True)):
        report("joint_lower", "angles below joint_upper")
    if abs(np.linalg.norm(parameters.object_quaternion) - 1.0) > 1e-3:
        report("object_quaternion", "a unit quaternion, real part first")
    inertia = parameters.object_inertia
    if inertia is not None and (min(inertia) <= 0.0 or 2.0 * max(inertia) > sum(inertia) * (1.0 + 1e-12)):
        report("object_inertia", "positive moments, none above the sum of the other two")
    try:
        surface = parameters.surface
    except GeometryError as error:
        problems.append(Problem("E480", f"object_size: {error.message}", (error.code,), (place,), (error.cure,)))
        return problems
    if parameters.grip >= surface.size:
        report("grip", f"less than half the object's width, {surface.size:g} m: the virtual points lie inside the object")
    reach = parameters.base_radius + sum(parameters.link_lengths[1:]) - parameters.tip_radius
    if surface.size > reach:
        title = f"the object, {2.0 * surface.size:g} m wide, exceeds the reach of the fingers"
        details = (f"even when its finger bends outward, a tip stays within {reach:g} m of the axis of the hand",)
        problems.append(Problem("E481", title, details, (place,), ("a smaller object, longer links, or bases farther out",)))
    return problems


COMMENTS = ("description", "note", "notes", "units")

ZERO = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class ReferenceStep:
    """Smooth step of the reference between two times: a shift, a turn, or both, in world axes.

    Turns are applied in order and do not change the position.
    """

    begin: float = number("s", "start of a step", least=0.0, key="from")
    end: float = number("s", "end of a step", key="to")
    shift: tuple[float, ...] = vector(3, "m", "shift of the reference, world axes", ZERO, key="along")
    turn: tuple[float, ...] = vector(3, "rad", "turn of the reference, as a rotation vector in world axes", ZERO, key="about")


@dataclass(frozen=True)
class HandScenario:
    """Hand and motion of its reference, run from 0 to `t_end` and sampled every `sample_dt` (s).

    Raises `ModelError` E480 for an invalid value; E483 for a reference that jumps.
    """

    name: str
    t_end: float = number("s", "end of the run", above=0.0)
    steps: tuple[ReferenceStep, ...] = ()
    parameters: HandParameters = field(default_factory=HandParameters)
    sample_dt: float = number("s", "time between samples", 0.01, above=0.0)
    description: str = ""

    def __post_init__(self) -> None:
        check_record(self, "E480", "scenario", _contradictions, name=self.name)

    def changed(self, **changes: Any) -> HandScenario:
        """Return a copy with changed entries."""
        return dataclasses.replace(self, **changes)


def _contradictions(scenario: HandScenario) -> Iterator[Problem]:
    place = caller_place()
    if scenario.sample_dt > scenario.t_end:
        title = f"sample_dt of the scenario, {scenario.sample_dt:g} s, is longer than its t_end, {scenario.t_end:g} s"
        yield Problem("E480", title, (), (place,), ("a smaller sample_dt",))
    elif scenario.t_end / scenario.sample_dt > MAX_SAMPLES:
        title = f"sample_dt of the scenario gives {scenario.t_end / scenario.sample_dt:.1e} samples"
        yield Problem("E480", title, (), (place,), ("a larger sample_dt",))
    for i, step in enumerate(scenario.steps):
        if step.end <= step.begin or step.begin < 0.0:
            title = f"the reference jumps: step {i} goes from {step.begin:g} s to {step.end:g} s"
            details = ("a step must begin at 0 or later, and end after it begins",)
            yield Problem("E483", title, details, (place,), ("a step that takes a few tenths of a second",))
        else:
            yield from field_problems(step, "E480", f"step {i} of the reference")


_SIDEWAYS_STEP = ReferenceStep(0.5, 2.5, (0.012, 0.0, 0.0))
_MOTIONS = {
    "main": (
        9.0,
        (_SIDEWAYS_STEP, ReferenceStep(2.5, 7.5, (0.0, 0.0, 0.06))),
        "to the side, then up to the limit of the fingers' reach",
    ),
    "far": (
        12.0,
        (_SIDEWAYS_STEP, ReferenceStep(2.5, 9.5, (0.0, 0.0, 0.09))),
        "like main, but the reference moves far beyond reach",
    ),
    "rotate": (
        6.0,
        (ReferenceStep(0.5, 2.5, turn=(0.0, 0.0, 0.4)), ReferenceStep(2.5, 4.5, turn=(0.3, 0.0, 0.0))),
        "turns about z, then about x",
    ),
}
SCENARIOS = {name: HandScenario(name, t_end, steps, description=words) for name, (t_end, steps, words) in _MOTIONS.items()}
"""Scenarios of the example, by name."""


def read_scenario(source: str | os.PathLike[str]) -> HandScenario:
    """Return the example scenario with this name, or read a scenario from a JSON file.

    Raises `ModelError` E401-E408 for an invalid file, E480, E481, E483 for contradictory values.
    """
    if str(source) in SCENARIOS:
        return SCENARIOS[str(source)]
    cure = "one of " + ", ".join(SCENARIOS) + ", or the path of a JSON file"
    return read_file(source, _values, _scenario, COMMENTS, cure)


def _values(root: JsonSection) -> dict[str, Any]:
    values = root.read(HandScenario)
    values |= {"name": root.label("name", Path(root.document.file).stem), "description": root.label("description", "")}
    values["steps"] = [_read_all(section, ReferenceStep) for section in root.sections("motion", "steps")]
    parameters = root.section("parameters", required=False)
    values["parameters"] = {} if parameters is None else _read_all(parameters, HandParameters)
    return values


def _read_all(section: JsonSection, record: type) -> dict[str, Any]:
    values = section.read(record)
    section.finish()
    return values


def _scenario(steps: list[dict[str, Any]], parameters: dict[str, Any], **settings: Any) -> HandScenario:
    return HandScenario(steps=tuple(ReferenceStep(**step) for step in steps), parameters=HandParameters(**parameters), **settings)


def as_json(scenario: HandScenario) -> dict[str, Any]:
    return {
        "name": scenario.name,
        "description": scenario.description,
        "t_end": scenario.t_end,
        "sample_dt": scenario.sample_dt,
        "parameters": changed_values(scenario.parameters),
        "motion": [changed_values(step) for step in scenario.steps],
    }


def to_json(scenario: HandScenario) -> str:
    """Return the content of a scenario file as a string."""
    return json_text(as_json(scenario))
