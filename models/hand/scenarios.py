"""Reference motions and scenario files of the hand: steps of the reference in, its pose and velocity at any time out.

A scenario file is JSON; everything but `motion` and `t_end` may be left out (the numbers are then those of the example):

```
{"name": "main", "t_end": 9.0, "sample_dt": 0.01, "parameters": {"fingers": 3, "grip": 0.01},
 "motion": [{"along": [0.012, 0, 0], "from": 0.5, "to": 2.5}, {"about": [0, 0, 0.4], "from": 2.5, "to": 4.5}]}
```
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from bondgraph.errors import ModelError, Problem, caller_place, raise_if_any
from models.hand.parameters import SHAPES, VECTORS, HandParameters
from models.studies.fields import Document, Fields, kind, parse_json
from screws.rotations import quaternion_product, rotation
from screws.scalars import Scalar, array, cos, maximum, minimum, sin

MOST_SAMPLES = 1e7
"""Samples of a result that fit into memory."""


@dataclass(frozen=True)
class Step:
    """A smooth step of the reference between two times (s): a shift (3,), m, or a turn, a rotation vector (3,), rad.

    Both are in world axes; turns follow one another in the order in which they are given and leave the position alone.
    """

    begin: float
    end: float
    shift: tuple[float, ...] = (0.0, 0.0, 0.0)
    turn: tuple[float, ...] = (0.0, 0.0, 0.0)


def smooth_step(t: Scalar, begin: float, end: float) -> tuple[Scalar, Scalar]:
    """Quintic step from 0 to 1 with velocity and acceleration zero at its ends, and its rate, 1/s."""
    x = minimum(maximum((t - begin) / (end - begin), 0.0), 1.0)
    rest = 1.0 - x
    return x * x * x * (10.0 - 15.0 * x + 6.0 * x * x), 30.0 * x * x * rest * rest / (end - begin)


@dataclass(frozen=True)
class Scenario:
    """A hand and the motion of its reference, run from 0 to `t_end` and sampled every `sample_dt`, s.

    The formulas take times of any scalar of `screws.scalars`.
    """

    name: str
    t_end: float
    steps: tuple[Step, ...] = ()
    parameters: HandParameters = field(default_factory=HandParameters)
    sample_dt: float = 0.01
    description: str = ""

    def __post_init__(self) -> None:
        raise_if_any(self.name, _scenario_problems(self))

    def reference(self, t: Scalar) -> np.ndarray:
        """Pose of the reference (7,): quaternion (w, x, y, z) and position, m, at the time t, s."""
        q: Any = np.array(self.parameters.object_quaternion, dtype=float)
        p: Any = np.array(self.parameters.object_position, dtype=float)
        for step in self.steps:
            s, _ = smooth_step(t, step.begin, step.end)
            p = p + s * np.array(step.shift)
            angle = math.hypot(*step.turn)
            if angle > 0.0:
                half = 0.5 * angle * s
                c, sn = cos(half), sin(half)
                q = quaternion_product(array([c, *(sn * (a / angle) for a in step.turn)]), q)
        return array([*q, *p])

    def reference_velocity(self, t: Scalar) -> np.ndarray:
        """Angular velocity of the reference and velocity of its origin (6,), world axes, rad/s and m/s."""
        omega: Any = np.zeros(3)
        v: Any = np.zeros(3)
        for step in self.steps:
            s, rate = smooth_step(t, step.begin, step.end)
            v = v + rate * np.array(step.shift)
            angle = math.hypot(*step.turn)
            if angle > 0.0:
                half = 0.5 * angle * s
                c, sn = cos(half), sin(half)
                turned = rotation(array([c, *(sn * (a / angle) for a in step.turn)])) @ omega
                omega = turned + rate * np.array(step.turn)
        return array([*omega, *v])

    def changed(self, **changes: Any) -> Scenario:
        """A copy with other entries."""
        return dataclasses.replace(self, **changes)


def _scenario_problems(given: Scenario) -> list[Problem]:
    place = caller_place()
    problems = []
    for name in ("t_end", "sample_dt"):
        value = getattr(given, name)
        if not (math.isfinite(value) and value > 0.0):
            problems.append(Problem("E480", f"{name} of the scenario is {value!r}", ("it needs more than zero",), (place,)))
    if given.sample_dt > given.t_end > 0.0:
        title = f"sample_dt of the scenario, {given.sample_dt:g} s, is longer than its t_end, {given.t_end:g} s"
        problems.append(Problem("E480", title, (), (place,), ("a shorter one",)))
    elif given.t_end > 0.0 < given.sample_dt and given.t_end / given.sample_dt > MOST_SAMPLES:
        title = f"sample_dt of the scenario makes {given.t_end / given.sample_dt:.1e} samples of the result"
        problems.append(Problem("E480", title, (), (place,), ("a longer one",)))
    for i, step in enumerate(given.steps):
        numbers = (step.begin, step.end, *step.shift, *step.turn)
        if len(numbers) != 8 or not all(map(math.isfinite, numbers)):
            problems.append(Problem("E480", f"step {i} of the reference is {step!r}", ("it needs finite numbers",), (place,)))
        elif step.end <= step.begin or step.begin < 0.0:
            problems.append(
                Problem(
                    "E483",
                    f"the reference jumps: step {i} goes from {step.begin:g} s to {step.end:g} s",
                    ("a step must begin at 0 or later, and end later than it begins",),
                    (place,),
                    ("give it time: a few tenths of a second",),
                )
            )
    return problems


SCENARIOS: dict[str, Scenario] = {
    "main": Scenario(
        "main",
        9.0,
        (Step(0.5, 2.5, (0.012, 0.0, 0.0)), Step(2.5, 7.5, (0.0, 0.0, 0.06))),
        description="to the side, then up until the fingers reach no farther",
    ),
    "far": Scenario(
        "far",
        12.0,
        (Step(0.5, 2.5, (0.012, 0.0, 0.0)), Step(2.5, 9.5, (0.0, 0.0, 0.09))),
        description="as main, but the reference goes far beyond the reach",
    ),
    "rotate": Scenario(
        "rotate",
        6.0,
        (Step(0.5, 2.5, turn=(0.0, 0.0, 0.4)), Step(2.5, 4.5, turn=(0.3, 0.0, 0.0))),
        description="turns about z, then about x",
    ),
}
"""The motions of the example by name."""


def read_scenario(source: str | os.PathLike[str]) -> Scenario:
    """Scenario with a known name, or of a JSON file.

    Raises
    ------
    ModelError
        E401-E408 for what is wrong with the file, E480-E483 for what is wrong with the numbers.
    """
    if str(source) in SCENARIOS:
        return SCENARIOS[str(source)]
    path = Path(source)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        cure = "one of " + ", ".join(SCENARIOS) + ", or the path of a JSON file"
        raise ModelError(path.name, [Problem("E401", f"cannot read {path}: {error}", cures=(cure,))]) from error
    document = Document(path.name)
    values = parse_json(text, document)
    if values is None:
        raise ModelError(path.name, document.problems)
    whole = Fields(document, "", values)
    name = whole.label("name", path.stem)
    t_end = whole.number("t_end", "s", above=0.0)
    sample_dt = whole.number("sample_dt", "s", 0.01, above=0.0)
    steps = _steps(document, whole)
    parameters = _parameters(whole)
    whole.finish(("description", "note", "notes", "units"))
    raise_if_any(path.name, document.problems)
    description = whole.label("description", "")
    try:
        return Scenario(name, t_end, steps, HandParameters(**parameters), sample_dt, description)
    except ModelError as error:
        # It was the file that made them, no line of a program.
        raise ModelError(path.name, [dataclasses.replace(problem, places=()) for problem in error.problems]) from error


def _steps(document: Document, whole: Fields) -> tuple[Step, ...]:
    whole.known.append("motion")
    given = whole.values.get("motion")
    if not isinstance(given, list):
        whole.report("E403" if given is None else "E405", "motion", f"a list of steps is needed, not {kind(given)}")
        return ()
    steps = []
    for i, entry in enumerate(given):
        if not isinstance(entry, dict):
            document.report("E405", f"motion[{i}]", f"{kind(entry)} where an object {{...}} is needed")
            continue
        fields = Fields(document, f"motion[{i}]", entry)
        zero = (0.0, 0.0, 0.0)
        begin, end = fields.number("from", "s", least=0.0), fields.number("to", "s")
        steps.append(Step(begin, end, fields.vector("along", 3, "m", zero), fields.vector("about", 3, "rad", zero)))
        fields.finish(())
    return tuple(steps)


def _parameters(whole: Fields) -> dict[str, Any]:
    if not whole.has("parameters"):
        whole.known.append("parameters")
        return {}
    section = whole.section("parameters")
    if section is None:
        return {}
    found: dict[str, Any] = {}
    shape = section.choice("object_shape", SHAPES) if section.has("object_shape") else "sphere"
    sizes = VECTORS | {"object_size": len(SHAPES.get(shape, ("radius",)))}
    for entry in dataclasses.fields(HandParameters):
        key = entry.name
        section.known.append(key)
        if not section.has(key):
            continue
        if key == "object_shape":
            found[key] = shape
        elif section.values[key] is None and entry.default is None:
            found[key] = None
        elif key in sizes:
            found[key] = section.vector(key, sizes[key])
        else:
            number = section.number(key)
            found[key] = int(number) if key == "fingers" and number == number // 1 else number
    section.finish(())
    return found


def to_json(given: Scenario) -> str:
    """The text of a scenario file that `read_scenario` reads back."""
    default = HandParameters()
    numbers = {
        entry.name: getattr(given.parameters, entry.name)
        for entry in dataclasses.fields(HandParameters)
        if getattr(given.parameters, entry.name) != getattr(default, entry.name)
    }
    motion = [
        {"from": step.begin, "to": step.end}
        | ({"along": step.shift} if any(step.shift) else {})
        | ({"about": step.turn} if any(step.turn) else {})
        for step in given.steps
    ]
    whole = {
        "name": given.name,
        "description": given.description,
        "t_end": given.t_end,
        "sample_dt": given.sample_dt,
        "parameters": numbers,
        "motion": motion,
    }
    return json.dumps(whole, indent=1) + "\n"
