"""Tasks that run or show a model in a file, and the commands `screwbond diagram`, which draws the bond graph of a script, and
`screwbond examples`, which copies the example scripts."""

from __future__ import annotations

import argparse
import importlib.util
import json
import runpy
import shutil
import sys
import traceback
from argparse import Namespace
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from screwbond.models.studies.tasks import Command, Outcome, Task, add_solver, cost_summary, end_summary, graph_files, wall_times

from bondgraph import Compiled, compile_model, load_model
from bondgraph.errors import FileError, Problem, ProblemError, ScrewbondError, refusal
from bondgraph.graph.builder import Graph
from bondgraph.interchange.formulas import InvalidFormula, number_from_json
from bondgraph.interchange.strict_json import MAX_DEPTH, nesting_depth
from bondgraph.model.model import Model
from bondgraph.output.files import printable_path, write_all
from bondgraph.render.diagram import Analysed, Drawable, diagram
from bondgraph.render.palette import PALETTES
from bondgraph.run.results.result import Result
from screws.errors import plural
from screws.names import similar_names


@dataclass(frozen=True)
class RunRequest:
    compiled: Compiled
    changes: dict[str, Any]


def read_saved(options: Namespace, load: Callable[[Path], Graph | Model] = load_model) -> RunRequest:
    """Load and compile a model from a file. Raises `ModelError` E358 for a script, E359 for invalid changes, and the errors of
    `load` and `compile_model`."""
    path = Path(options.model)
    if path.suffix in (".py", ".ipynb"):
        cures = (
            f"python {printable_path(path)}",
            'save_model(graph, "model.json") in the script, and this command with model.json',
        )
        why = "a model file is data, and nothing in it is executed"
        raise refusal("E358", f"{printable_path(path)} is a script", *cures, about=printable_path(path), why=why, places=())
    compiled = compile_model(load(path))
    return RunRequest(compiled, dict(_change(compiled, text) for text in getattr(options, "set", None) or ()))


def _change(compiled: Compiled, text: str) -> tuple[str, Any]:
    name, _, value = (part.strip() for part in text.rpartition("="))  # a name may contain "=", a number cannot
    if name in compiled.model.automata:
        return name, value
    try:
        if nesting_depth(value) > MAX_DEPTH:
            raise InvalidFormula("unbounded nesting of brackets")
        return name, _numbers(json.loads(value))
    except (ValueError, InvalidFormula):
        cure = '--set winding.resistance=3, --set "body.p=[0, 1, 2]", --set contact=resting'
        raise refusal("E359", f"{text[:80]!r} is not a setting", cure, about=compiled.model.name, places=()) from None


def _numbers(value: Any) -> Any:
    return np.array([_numbers(entry) for entry in value]) if isinstance(value, list) else number_from_json(value)


def run_saved(request: RunRequest, options: Namespace) -> Outcome:
    compiled = request.compiled
    starts = [*compiled.states, *compiled.model.automata]
    initial, parameters = dict[str, Any](), dict[str, Any]()
    for name, value in request.changes.items():
        is_parameter = compiled.system.resolve(name) in compiled.system.parameters
        near = similar_names(name, [*compiled.parameters, *starts], most=1)
        (parameters if is_parameter or (near and near[0] in compiled.parameters) else initial)[name] = value
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
    counts = f"{plural(len(result.events), 'event')}, {plural(result.statistics.steps, 'step')}"
    figures = f"  {counts}, ledger {result.ledger.relative_residual:.1e}"
    return Outcome(summary, files, [f"{compiled.model.name}: {result.t[-1]:g} s", figures], failure=result.failure)


def _arrays(result: Result) -> dict[str, np.ndarray]:
    return {"t": result.t} | {name: np.asarray(result[name]) for name in result.names()}


def show_saved(request: RunRequest, options: Namespace) -> Outcome:
    compiled = request.compiled
    named = {"parameters": list(compiled.parameters), "states": list(compiled.states)}
    files = {"report.txt": compiled.report() + "\n", **graph_files(compiled)}
    return Outcome({"name": compiled.model.name, **named}, files, compiled.report().splitlines())


def _settings(group: Any) -> None:
    group.add_argument("--t-end", type=float, required=True, metavar="S", help="end of the run, s")
    group.add_argument("--set", action="append", metavar="NAME=VALUE", help="parameter or start value to change; repeatable")
    group.add_argument(
        "--keep", action="append", metavar="NAME", help="quantity to keep; all other quantities are dropped; repeatable"
    )
    add_solver(group, 1e-7)


GRAPH = ("report.txt", "graph.svg", "equations.tex")
RUN = Task("run a model from a file", read_saved, run_saved, ("trajectory.npz", "events.json", *GRAPH), arguments=_settings)
SHOW = Task("write the report and the graph of a model from a file", read_saved, show_saved, GRAPH)


PACKAGE = Path(__file__).resolve().parents[1]


def example_files(package: Path = PACKAGE) -> list[Path]:
    for folder in (package / "examples", package.parent / "examples"):
        files = sorted(path for path in folder.glob("[!_.]*") if path.is_file())
        if files:
            return files
    title = f"this installation has no examples: missing folder {printable_path(package / 'examples')}"
    raise FileError(
        Problem("E595", title, (), (), ("reinstall screwbond", "run the command in the source tree, which has examples/"))
    )


def copy_scripts(out: Path, package: Path = PACKAGE) -> list[Path]:
    files = example_files(package)
    changed = [path.name for path in files if (out / path.name).is_file() and (out / path.name).read_bytes() != path.read_bytes()]
    if changed:
        title = f"{printable_path(out)} contains examples that you changed: {', '.join(changed)}"
        raise FileError(Problem("E596", title, ("your changes are not overwritten",), (), ("another folder",)))

    def write(folder: Path) -> None:
        for path in files:
            shutil.copyfile(path, folder / path.name)

    write_all(out, write)
    return [out / path.name for path in files]


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = "Copies the examples into a folder; run them with python DIR/NAME.py --out PICTURES."
    parser.add_argument("out", type=Path, nargs="?", default=Path("examples"), metavar="DIR", help="default %(default)s")


def _copy(options: argparse.Namespace) -> int:
    written = copy_scripts(options.out)
    first = next(path for path in written if path.suffix == ".py")
    print(f"{plural(len(written), 'file')} in {options.out}; for instance: python {first}")
    return 0


EXAMPLES = Command("examples", "copy the example scripts into a folder", _arguments, _copy)


def load_drawable(where: str) -> Drawable:
    """Load a graph from a file or module, which is executed: "car.py", "car.py:build", "examples.bouncing_ball:graph".

    The name after the colon, by default "graph", is that of the graph, or of a function without arguments that returns it. Raises
    `ProblemError` E587 for a missing file, module or graph, E588 if the file or the function raises an error.
    """
    source, _, name = where.partition(":")
    names = _load_names(source)
    drawable = names.get(name or "graph")
    if drawable is None:
        graphs = [key for key, value in names.items() if isinstance(value, Graph | Model | Analysed)]
        raise _not_found(f'"{source}" has no "{name or "graph"}"', *(f"{source}:{key}" for key in graphs[:4]))
    if callable(drawable) and not isinstance(drawable, Graph):
        drawable = _call(source, drawable)
    if not isinstance(drawable, Graph | Model | Analysed):
        raise _not_found(f'"{where}" is of type {type(drawable).__name__}, which is not a graph')
    return drawable


def _not_found(title: str, *cures: str) -> ProblemError:
    return ProblemError(Problem("E587", title, cures=cures or ("FILE.py:NAME, a graph, or a function that returns one",)))


def _load_names(source: str) -> dict[str, Any]:
    path = Path(source)
    sys.path.insert(0, str(path.resolve().parent if path.suffix == ".py" else Path.cwd()))
    try:
        if path.suffix == ".py":
            if not path.is_file():
                raise _not_found(f'there is no file "{source}"')
            names: dict[str, Any] = _call(source, lambda: runpy.run_path(str(path)))
            return names
        if importlib.util.find_spec(source.partition(".")[0]) is None:
            raise _not_found(f'there is no module "{source}"')
        return vars(_call(source, lambda: importlib.import_module(source)))
    finally:
        del sys.path[0]


def _call(source: str, function: Callable[[], Any]) -> Any:
    try:
        return function()
    except ScrewbondError:
        raise
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        title = f'"{source}" raises an error: {type(error).__name__}: {error}'
        cure = f"python {source}" if source.endswith(".py") else f"python -m {source}"
        raise ProblemError(Problem("E588", title, (f"at {Path(last.filename).name}:{last.lineno}",), (), (cure,))) from error


def _fill(parser: argparse.ArgumentParser) -> None:
    parser.description = "Executes a Python file and draws its bond graph. The graph is neither compiled nor simulated."
    parser.add_argument("graph", metavar="FILE.py:NAME", help="file or module, and a graph or function in it (default: graph)")
    parser.add_argument("picture", type=Path, help="file to write; its extension sets the format: .svg .pdf .png .tex")
    parser.add_argument("--fold", action="append", metavar="PATH", help="nested graph to draw as one box, or all; repeatable")
    parser.add_argument("--unfold", action="append", default=[], metavar="PATH", help="nested graph to keep open; repeatable")
    parser.add_argument("--title", help='title above the picture (default: the name of the graph; "": none)')
    parser.add_argument("--no-legend", action="store_true", help="omit the legend")
    parser.add_argument("--values", action="store_true", help="show the parameters of elements")
    parser.add_argument("--labels", action="store_true", help="show efforts and flows on the bonds")
    parser.add_argument("--colours", choices=PALETTES, default="colour", help="default %(default)s")


def _run(options: argparse.Namespace) -> int:
    folded = "all" if options.fold == ["all"] else options.fold
    drawing = diagram(
        load_drawable(options.graph),
        folded=folded,
        unfolded=options.unfold,
        title=options.title,
        legend=not options.no_legend,
        values=options.values,
        labels=options.labels,
        colours=options.colours,
    )
    print(drawing.write(options.picture))
    return 0


DIAGRAM = Command("diagram", "draw the bond graph of a Python file", _fill, _run)
