"""Command `screwbond diagram`: draw the bond graph of a Python file or module."""

from __future__ import annotations

import argparse
import importlib.util
import runpy
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from screwbond.models.studies.commands import Command

from bondgraph.errors import Problem, ProblemError, ScrewbondError
from bondgraph.graph.builder import Graph
from bondgraph.model.model import Model
from bondgraph.render.diagram import Analysed, Drawable, diagram
from bondgraph.render.palette import PALETTES


def load_drawable(where: str) -> Drawable:
    """Load a graph from a file or module; after a colon, the name of the graph or of a function without arguments that
    returns it (default "graph"): "car.py", "car.py:build", "examples.bouncing_ball:graph".

    The file is executed. Raises `ProblemError`: E587 for a missing file, module or graph, E588 if the file fails.
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
        raise _not_found(f'"{where}" is of type {type(drawable).__name__}, which is no graph')
    return drawable


def _not_found(title: str, *cures: str) -> ProblemError:
    return ProblemError(Problem("E587", title, cures=cures or ("FILE.py:NAME, the name of a graph, or of what makes one",)))


def _load_names(source: str) -> dict[str, Any]:
    """Return the names in a file, or in a module on the path or in the current folder."""
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
    """Call the user's code; E588 with the line of an error, unless it is an error of this project."""
    try:
        return function()
    except ScrewbondError:
        raise
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        title = f'"{source}" ends in an error: {type(error).__name__}: {error}'
        cure = f"python {source}" if source.endswith(".py") else f"python -m {source}"
        raise ProblemError(Problem("E588", title, (f"at {Path(last.filename).name}:{last.lineno}",), (), (cure,))) from error


def _fill(parser: argparse.ArgumentParser) -> None:
    parser.description = "Executes a Python file and draws the bond graph that it makes. Nothing is compiled or run."
    parser.add_argument("graph", metavar="FILE.py:NAME", help="file or module, and its graph or what makes it (default: graph)")
    parser.add_argument("picture", type=Path, help="file to be written, of which the ending says the format: .svg .pdf .png .tex")
    parser.add_argument("--fold", action="append", metavar="PATH", help="nested graph drawn as one box, or all; more than one")
    parser.add_argument("--unfold", action="append", default=[], metavar="PATH", help="nested graph that stays open")
    parser.add_argument("--title", help='words above the picture (default: the name of the graph; "": none)')
    parser.add_argument("--no-legend", action="store_true", help="do not explain the signs")
    parser.add_argument("--values", action="store_true", help="tell the parameters of elements")
    parser.add_argument("--labels", action="store_true", help="efforts and flows on the bonds")
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


DIAGRAM = Command("diagram", "the bond graph of a Python file as a picture", _fill, _run)
