"""Scenarios of the hand: its parameters and the motion of its reference, as records and JSON files.

Only `motion` and `t_end` are required in a file; the default numbers are those of the example:

```
{"name": "main", "t_end": 9.0, "sample_dt": 0.01, "parameters": {"fingers": 3, "grip": 0.01},
 "motion": [{"along": [0.012, 0, 0], "from": 0.5, "to": 2.5}, {"about": [0, 0, 0.4], "from": 2.5, "to": 4.5}]}
```
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from screwbond.models.hand.parameters import HandParameters
from screwbond.models.studies.fields import changed_values, check_record, field_problems, number, vector
from screwbond.models.studies.reading import JsonSection, read_file
from screwbond.models.studies.runs import MAX_SAMPLES

from bondgraph.errors import Problem, caller_place
from bondgraph.output.files import json_text

COMMENTS = ("description", "note", "notes", "units")
"""Keys of a file that the program ignores."""

ZERO = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class ReferenceStep:
    """A smooth step of the reference between two times: a shift, a turn, or both, in world axes.

    Turns follow one another in their order and leave the position alone.
    """

    begin: float = number("s", "begin of a step", least=0.0, key="from")
    end: float = number("s", "end of a step", key="to")
    shift: tuple[float, ...] = vector(3, "m", "shift of the reference, world axes", ZERO, key="along")
    turn: tuple[float, ...] = vector(3, "rad", "turn of the reference, a rotation vector in world axes", ZERO, key="about")


@dataclass(frozen=True)
class HandScenario:
    """A hand and the motion of its reference, run from 0 to `t_end` and sampled every `sample_dt`.

    Raises `ModelError` E480 for an invalid number; E483 for a reference that jumps.
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
        """Return a copy with other entries."""
        return dataclasses.replace(self, **changes)


def _contradictions(scenario: HandScenario) -> Iterator[Problem]:
    place = caller_place()
    if scenario.sample_dt > scenario.t_end:
        title = f"sample_dt of the scenario, {scenario.sample_dt:g} s, is longer than its t_end, {scenario.t_end:g} s"
        yield Problem("E480", title, (), (place,), ("a shorter one",))
    elif scenario.t_end / scenario.sample_dt > MAX_SAMPLES:
        title = f"sample_dt of the scenario makes {scenario.t_end / scenario.sample_dt:.1e} samples of the result"
        yield Problem("E480", title, (), (place,), ("a longer one",))
    for i, step in enumerate(scenario.steps):
        if step.end <= step.begin or step.begin < 0.0:
            title = f"the reference jumps: step {i} goes from {step.begin:g} s to {step.end:g} s"
            details = ("a step must begin at 0 or later, and end later than it begins",)
            yield Problem("E483", title, details, (place,), ("give it time: a few tenths of a second",))
        else:
            yield from field_problems(step, "E480", f"step {i} of the reference")


_SIDEWAYS_STEP = ReferenceStep(0.5, 2.5, (0.012, 0.0, 0.0))
_MOTIONS = {
    "main": (
        9.0,
        (_SIDEWAYS_STEP, ReferenceStep(2.5, 7.5, (0.0, 0.0, 0.06))),
        "to the side, then up until the fingers reach no farther",
    ),
    "far": (
        12.0,
        (_SIDEWAYS_STEP, ReferenceStep(2.5, 9.5, (0.0, 0.0, 0.09))),
        "as main, but the reference goes far beyond the reach",
    ),
    "rotate": (
        6.0,
        (ReferenceStep(0.5, 2.5, turn=(0.0, 0.0, 0.4)), ReferenceStep(2.5, 4.5, turn=(0.3, 0.0, 0.0))),
        "turns about z, then about x",
    ),
}
SCENARIOS = {name: HandScenario(name, t_end, steps, description=words) for name, (t_end, steps, words) in _MOTIONS.items()}
"""The motions of the example by name."""


def read_scenario(source: str | os.PathLike[str]) -> HandScenario:
    """Return the scenario of the example with this name, or read one from a JSON file.

    Raises `ModelError` E401-E408 for a wrong file, E480-E483 for numbers that contradict each other.
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
    """Return the content of a scenario file that `read_scenario` reads back."""
    return {
        "name": scenario.name,
        "description": scenario.description,
        "t_end": scenario.t_end,
        "sample_dt": scenario.sample_dt,
        "parameters": changed_values(scenario.parameters),
        "motion": [changed_values(step) for step in scenario.steps],
    }


def to_json(scenario: HandScenario) -> str:
    """Return the text of a scenario file."""
    return json_text(as_json(scenario))
