"""Plans of sweeps: read varied parameters, run length, measures and settings from a JSON file.

```
{
 "t_end": 5.0,
 "vary": {
  "winding.resistance": [3.0, 4.0, 5.0],
  "supply.value": {"from": 6, "to": 12, "count": 7},
  "rotor.inertia": {"normal": [1e-3, 1e-4]}
 },
 "runs": 100, "seed": 1,
 "keep": {"speed": {"last": "rotor.flow"}, "course": "rotor.flow"},
 "settings": {"samples": 0.01}
}
```

"points", a list of objects with a value for each name, may replace "vary".
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from screwbond.models.studies.documents import json_kind
from screwbond.models.studies.fields import number
from screwbond.models.studies.reading import JsonSection, read_file

from bondgraph.errors import ModelError
from bondgraph.methods import GONE, retired
from bondgraph.run.measures import MEASURES, STORED, Measure
from bondgraph.run_arguments import SETTINGS
from bondgraph.sweeps import loguniform, normal, uniform
from bondgraph.sweeps.interface import OWN
from bondgraph.sweeps.kept_columns import Keepable
from screws.renamed import SETTINGS as OLD_SETTINGS
from screws.renamed import current_settings

DISTRIBUTIONS = {"uniform": uniform, "loguniform": loguniform, "normal": normal}
"""Distributions with two parameters, by their names in files."""


@dataclass(frozen=True)
class Spaced:
    """Equally spaced values."""

    first: float = number("", "first value", key="from")
    last: float = number("", "last value", key="to")
    count: int = number("", "how many", integer=True, least=1, most=10_000_000)


@dataclass(frozen=True)
class SweepPlan:
    """Arguments of `sweep` besides the model."""

    points: Any
    keep: Mapping[str, Keepable]
    settings: Mapping[str, Any]
    t_end: float = number("s", "end of every run")
    runs: int | None = number("", "how often is drawn from distributions", None, integer=True, least=1)
    seed: int = number("", "of what is drawn", 0, integer=True, least=0)


def read_plan(path: str | os.PathLike[str]) -> SweepPlan:
    """Read the plan in a file; `ModelError` E401 to E408 with path, file and line of every problem."""
    return read_file(path, _plan, SweepPlan)


def _plan(section: JsonSection) -> dict[str, Any]:
    values = section.read(SweepPlan)
    return {**values, "points": _points(section), "keep": _keep(section), "settings": _settings(section)}


def _points(section: JsonSection) -> Any:
    if "points" in section.values:
        if "vary" in section.values:
            section.known_keys.append("vary")
            section.report("E404", "vary", 'what is varied stands in "points" already', "keep one of them")
        return [_accept_all_keys(point) for point in section.sections("points", "points")]
    vary = section.section("vary")
    return {} if vary is None else {name: _values(vary, name) for name in _accept_all_keys(vary)}


def _accept_all_keys(section: JsonSection) -> Mapping[str, Any]:
    """Return an object whose keys are names in the model."""
    section.known_keys.extend(section.values)
    return section.values


def _values(vary: JsonSection, name: str) -> Any:
    """Read the values of a name: a number, a word, a list of them, equally spaced values, or a distribution."""
    entry = vary.values[name]
    if not isinstance(entry, Mapping):
        return entry
    section = JsonSection(vary.document, vary.at(name), entry)
    if "count" in entry:
        spacing = section.read(Spaced)
        section.finish()
        return np.linspace(spacing["first"], spacing["last"], int(np.nan_to_num(spacing["count"])))
    if len(entry) != 1 or not set(entry) <= set(DISTRIBUTIONS):
        words = f"an object that names {', '.join(entry) or 'nothing'}"
        vary.report("E408", name, f"{words}, where one of {', '.join(DISTRIBUTIONS)} is known, or from, to and count")
        return []
    ((kind, numbers),) = entry.items()
    if not isinstance(numbers, Sequence) or isinstance(numbers, str) or len(numbers) != 2:
        section.report("E405", kind, f"{json_kind(numbers)} where two numbers are needed")
        return []
    try:
        return DISTRIBUTIONS[kind](*numbers)
    except ModelError as error:
        section.report("E407", kind, error.problems[0].title, *error.problems[0].details)
        return []


def _keep(section: JsonSection) -> dict[str, Keepable]:
    measures = section.section("keep")
    return {} if measures is None else {name: _measure(measures, name) for name in _accept_all_keys(measures)}


def _measure(keep: JsonSection, name: str) -> Keepable:
    """Read a quantity, or a measure of one."""
    entry = keep.values[name]
    if isinstance(entry, str):
        return entry
    if isinstance(entry, Mapping) and len(entry) == 1 and set(entry) <= {*MEASURES, *STORED}:
        ((kind, of),) = entry.items()
        if isinstance(of, str):
            return Measure(STORED.get(str(kind), str(kind)), of)
        keep.document.report(
            "E405", f"{keep.at(name)}.{kind}", f"{json_kind(of)} where the name of a quantity or event is needed"
        )
    else:
        requirement = f'the name of a quantity, or {{"last": name}} or another of {", ".join(MEASURES)}'
        keep.report("E405", name, f"{json_kind(entry)} where {requirement} is needed")
    return ""


def _settings(section: JsonSection) -> dict[str, Any]:
    settings = section.section("settings", required=False)
    if settings is None:
        return {}
    settings.known_keys.extend(name for name in (*SETTINGS, *OLD_SETTINGS, *GONE) if name not in OWN)
    settings.finish()
    return retired(current_settings(settings.values))
