"""Command `screwbond sweep`: run a model file at the points of a plan file, store the runs, write a table, and resume a store.

A plan is a JSON file of varied parameters, run length, measures and settings:

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

import argparse
import csv
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from screwbond.models.pictures.style import PLOTS
from screwbond.models.studies.fields import field_lines, number
from screwbond.models.studies.reading import JsonSection, json_kind, make_from_input, read_file
from screwbond.models.studies.tasks import Command

from bondgraph.errors import ModelError
from bondgraph.interchange import load_model
from bondgraph.methods import REMOVED_SETTINGS, migrated_settings
from bondgraph.output.extras import require_package
from bondgraph.output.files import atomic_file, known_ending, printable_path
from bondgraph.run.measures import MEASURES, STORED, Measure
from bondgraph.run_arguments import SETTINGS
from bondgraph.sweeps import Runs, loguniform, normal, sweep, uniform
from bondgraph.sweeps.interface import SWEEP_SETTINGS
from bondgraph.sweeps.tasks import Keepable
from screws.errors import plural
from screws.names.renamed import SETTINGS as OLD_SETTINGS
from screws.names.renamed import current_settings

DISTRIBUTIONS = {"uniform": uniform, "loguniform": loguniform, "normal": normal}


@dataclass(frozen=True)
class Spaced:
    first: float = number("", "first value", key="from")
    last: float = number("", "last value", key="to")
    count: int = number("", "number of values", integer=True, least=1, most=10_000_000)


@dataclass(frozen=True)
class SweepPlan:
    """Content of a plan file: arguments of `sweep`."""

    points: Any
    keep: Mapping[str, Keepable]
    settings: Mapping[str, Any]
    t_end: float = number("s", "end of every run")
    runs: int | None = number("", "number of draws from distributions", None, integer=True, least=1)
    seed: int = number("", "seed of random values", 0, integer=True, least=0)


def read_plan(path: str | os.PathLike[str]) -> SweepPlan:
    """Read the plan in a file. Raises `ModelError` E401 to E408 with the file, JSON path and line of every problem."""
    return read_file(path, _plan, SweepPlan)


def _plan(section: JsonSection) -> dict[str, Any]:
    values = section.read(SweepPlan)
    return {**values, "points": _points(section), "keep": _keep(section), "settings": _settings(section)}


def _points(section: JsonSection) -> Any:
    if "points" in section.values:
        if "vary" in section.values:
            section.known_keys.append("vary")
            section.report("E404", "vary", '"points" already lists what varies', "either points or vary")
        return [_accept_all_keys(point) for point in section.sections("points", "points")]
    vary = section.section("vary")
    return {} if vary is None else {name: _values(vary, name) for name in _accept_all_keys(vary)}


def _accept_all_keys(section: JsonSection) -> Mapping[str, Any]:
    section.known_keys.extend(section.values)
    return section.values


def _values(vary: JsonSection, name: str) -> Any:
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
        vary.report("E408", name, f"{words}; it must name one of {', '.join(DISTRIBUTIONS)}, or from, to and count")
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
    settings.known_keys.extend(name for name in (*SETTINGS, *OLD_SETTINGS, *REMOVED_SETTINGS) if name not in SWEEP_SETTINGS)
    settings.finish()
    return migrated_settings(current_settings(settings.values))


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = "Runs a model at many points. Stored runs are not repeated: after an interruption, repeat the command."
    parser.add_argument("model", type=Path, metavar="MODEL.json", help="a saved model (save_model)")
    parser.add_argument("plan", type=Path, metavar="PLAN.json", help="varied values, duration, kept quantities")
    parser.add_argument("--store", type=Path, required=True, metavar="FILE", help="an SQLite database, created or continued")
    parser.add_argument("--out", type=Path, metavar="TABLE.csv", help="table with a row for each run, written after the last run")
    parser.add_argument("--plot", type=Path, metavar="PICTURE", help="kept quantities versus varied values: .png, .svg, .pdf")
    parser.add_argument(
        "--processes", type=_process_count, metavar="N", help="number of processes, instead of threads of this process"
    )
    parser.add_argument("--device", metavar="NAME", help='a GPU: "cuda", "cuda:1" or "auto"; the CPU by default')
    parser.epilog = "\n".join(
        ["PLAN.json: vary or points, keep, settings, and", *(f"  {line}" for line in field_lines(SweepPlan))]
    )


def _process_count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of processes: it must be a positive integer")
    return int(text)


def _sweep(options: argparse.Namespace) -> int:
    if options.out is not None:
        known_ending(options.out, ".csv")
    if options.plot is not None:
        known_ending(options.plot, *PLOTS)
        require_package("plots", "matplotlib")
    plan, model = read_plan(options.plan), load_model(options.model)
    with _executor(options.processes) as executor:
        runs = make_from_input(
            lambda: sweep(
                model,
                plan.points,
                plan.t_end,
                keep=plan.keep,
                runs=plan.runs,
                seed=plan.seed,
                store=options.store,
                executor=executor,
                device=options.device,
                **plan.settings,
            )
        )
    if options.out is not None:
        write_runs(runs, options.out)
    if options.plot is not None:
        write_plot(runs, options.plot)
    print("\n".join(_overview(runs, options.store)))
    return 0


def write_runs(runs: Runs, path: Path) -> None:
    columns = runs.table()
    with atomic_file(path) as part, part.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*(column.tolist() for column in columns.values()), strict=True))


def write_plot(runs: Runs, path: Path) -> None:
    import matplotlib.pyplot as plt

    figure = runs.plot()[0].figure
    with atomic_file(path) as part:
        figure.savefig(part, dpi=160)
    plt.close(figure)


def _overview(runs: Runs, store: Path) -> Iterator[str]:
    failures = runs.failures
    yield f"{runs.name}: {plural(len(runs), 'run')} in {printable_path(store)}, {len(failures)} failed"
    for (kind, reason), count in Counter((fault.kind, fault.reason) for fault in failures).most_common(5):
        yield f"  {count} x {kind}: {reason}"


def _executor(processes: int | None) -> AbstractContextManager[Executor | None]:
    if processes is None:
        return nullcontext()
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    return ProcessPoolExecutor(processes, mp_context=get_context("spawn"))


SWEEP = Command("sweep", "run a model at many points, from files", _arguments, _sweep)
