"""Commands `screwbond run` and `show`: run a saved model, or write its report and graph."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from screwbond.models.studies.commands import add_solver, study_command
from screwbond.models.studies.files import graph_files
from screwbond.models.studies.runs import cost_summary, end_summary, wall_times
from screwbond.models.studies.tasks import Outcome, Task

from bondgraph import Compiled, compile_model, load_model
from bondgraph.errors import refusal
from bondgraph.interchange.formulas import InvalidFormula, number_from_json
from bondgraph.interchange.strict_json import MAX_DEPTH, nesting_depth
from bondgraph.output.files import printable_path
from bondgraph.run.results.result import Result


@dataclass(frozen=True)
class RunRequest:
    """A model, and changes of its parameters and start values by name."""

    compiled: Compiled
    changes: dict[str, Any]


def read_saved(options: Namespace) -> RunRequest:
    """Load and compile the model of a file. Raises `ModelError` E358 for a script; as `load_model` and `compile_model`; E359 for
    invalid changes."""
    path = Path(options.model)
    if path.suffix in (".py", ".ipynb"):
        cures = (f"python {printable_path(path)}", 'save_model(graph, "model.json") in it, and the command with that file')
        why = "a file of a model is data, and nothing in it is executed"
        raise refusal("E358", f"{printable_path(path)} is a script", *cures, about=printable_path(path), why=why, places=())
    compiled = compile_model(load_model(path))
    return RunRequest(compiled, dict(_change(compiled, text) for text in getattr(options, "set", None) or ()))


def _change(compiled: Compiled, text: str) -> tuple[str, Any]:
    """Parse a change, "winding.resistance=3", "body.p=[0, 1, 2]" or, of an automaton, "contact=resting"."""
    name, _, value = (part.strip() for part in text.rpartition("="))  # a name may contain "=", a number does not
    if name in compiled.model.automata:
        return name, value
    try:
        if nesting_depth(value) > MAX_DEPTH:
            raise InvalidFormula("brackets without end")
        return name, _numbers(json.loads(value))
    except (ValueError, InvalidFormula):
        cure = '--set winding.resistance=3, --set "body.p=[0, 1, 2]", --set contact=resting'
        raise refusal("E359", f"{text[:80]!r} changes nothing", cure, about=compiled.model.name, places=()) from None


def _numbers(value: Any) -> Any:
    """Return a number, or lists of numbers as an array."""
    return np.array([_numbers(entry) for entry in value]) if isinstance(value, list) else number_from_json(value)


def run_saved(request: RunRequest, options: Namespace) -> Outcome:
    """Run a model with changed parameters and start values."""
    compiled = request.compiled
    parameters = {
        name: value for name, value in request.changes.items() if compiled.system.resolve(name) in compiled.system.parameters
    }
    initial = {name: value for name, value in request.changes.items() if name not in parameters}
    settings = {"rtol": options.rtol, "method": options.method, "keep": options.keep}
    result = compiled.simulate(options.t_end, parameters=parameters, initial=initial, **settings)
    summary = {
        "name": compiled.model.name,
        **end_summary(result),
        "changed": {name: np.asarray(value).tolist() for name, value in request.changes.items()},
        "events": dict(Counter(event.kind for event in result.events)),
        **cost_summary(result, wall_times(compiled, result)),
    }
    files = {
        "trajectory.npz": _arrays(result),
        "events.json": [{"t": event.time, "kind": event.kind} for event in result.events],
        "report.txt": compiled.report() + "\n",
        **graph_files(compiled),
    }
    figures = f"  {len(result.events)} events, {result.statistics.steps} steps, ledger {result.ledger.relative_residual:.1e}"
    return Outcome(summary, files, [f"{compiled.model.name}: {result.t[-1]:g} s", figures], failure=result.failure)


def _arrays(result: Result) -> dict[str, np.ndarray]:
    return {"t": result.t} | {name: np.asarray(result[name]) for name in result.names()}


def show_saved(request: RunRequest, options: Namespace) -> Outcome:
    """Return the report of a model, and its graph."""
    compiled = request.compiled
    named = {"parameters": list(compiled.parameters), "states": list(compiled.states)}
    files = {"report.txt": compiled.report() + "\n", **graph_files(compiled)}
    return Outcome({"name": compiled.model.name, **named}, files, compiled.report().splitlines())


def _model(parser: ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL.json", help="a file of save_model")


def _settings(group: Any) -> None:
    group.add_argument("--t-end", type=float, required=True, metavar="S", help="end of the run, s")
    group.add_argument("--set", action="append", metavar="NAME=VALUE", help="a parameter or a start value; more than one")
    group.add_argument("--keep", action="append", metavar="NAME", help="a quantity; no others are kept but those named so")
    add_solver(group, 1e-7)


GRAPH = ("report.txt", "graph.svg", "equations.tex")
RUN = Task("run a model that was saved", read_saved, run_saved, ("trajectory.npz", "events.json", *GRAPH), arguments=_settings)
SHOW = Task("write the report and the graph of a model that was saved", read_saved, show_saved, GRAPH)
RUN_SAVED = study_command("run", RUN, arguments=_model)
SHOW_SAVED = study_command("show", SHOW, arguments=_model)
