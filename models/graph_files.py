"""Readers of model files, chosen by the file's extension, and the commands `screwbond run`, `show` and `export`."""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from screwbond.models.netlist import read_netlist
from screwbond.models.parts.makers import MAKERS
from screwbond.models.sbml import read_sbml
from screwbond.models.studies.model_commands import RUN, SHOW, RunRequest, read_saved
from screwbond.models.studies.tasks import Command, study_command

from bondgraph import Graph, load_model, read_graph, save_model
from bondgraph.errors import ScrewbondError, refusal
from bondgraph.export import c_source, fmu, matlab_source, modelica_source, numpy_source, to_casadi
from bondgraph.export.code.content import model_identifier
from bondgraph.interchange.records import FORMAT
from bondgraph.interchange.short.documents import json_document, text_of
from bondgraph.model.model import Model
from bondgraph.output.files import check_directory, printable_path


def _short(path: Path) -> Graph:
    return read_graph(path, parts=MAKERS)


def _json(path: Path) -> Graph | Model:
    try:
        is_short = json_document(*text_of(path)).content.get("format") != FORMAT
    except ScrewbondError:  # for example a saved model of more than a megabyte
        is_short = False
    return _short(path) if is_short else load_model(path)


def _network(path: Path) -> Graph:
    return read_sbml(path).graph


READERS: Mapping[str, Callable[[Path], Graph | Model]] = MappingProxyType(
    {".json": _json, ".yaml": _short, ".yml": _short, ".xml": _network, ".sbml": _network}
    | dict.fromkeys((".cir", ".net", ".sp", ".spice"), read_netlist)
)


def load_any(path: Path) -> Graph | Model:
    read = READERS.get(path.suffix.lower())
    if read is None:
        title = f"cannot read a model from {printable_path(path)}: its extension is unknown"
        raise refusal("E357", title, f"a file that ends in {', '.join(READERS)}", about=printable_path(path), places=())
    return read(path)


def read_request(options: Namespace) -> RunRequest:
    return read_saved(options, load_any)


def _model(parser: Any) -> None:
    parser.add_argument("model", metavar="FILE", help=f"a model: {', '.join(READERS)}")


def follow(path: Path, redraw: Callable[[], object], go_on: Callable[[], bool]) -> int:
    """Call `redraw` at once and after each change of a file, while `go_on()` is true; return the number of calls. A
    `ScrewbondError` is printed and does not end the loop."""
    content, count = None, 0
    while count == 0 or go_on():
        try:
            new = path.read_bytes()
        except OSError:  # an editor may replace the file
            new = b"no file"
        if new != content:
            content, count = new, count + 1
            try:
                redraw()
            except ScrewbondError as error:
                print(error)
    return count


def _wait() -> bool:
    try:
        time.sleep(0.2)
    except KeyboardInterrupt:
        return False
    return True


_SHOW = replace(SHOW, read=read_request)


def _show(options: Namespace) -> int:
    if not options.watch:
        return _SHOW(options)
    follow(Path(options.model), lambda: _SHOW(options), _wait)
    return 0


def _show_arguments(parser: ArgumentParser) -> None:
    _AS_SHOW.fill(parser)
    parser.add_argument("--watch", action="store_true", help="repeat whenever the file changes, until interrupted")


@dataclass(frozen=True)
class Export:
    about: str
    write: Callable[[Graph | Model, Path, Namespace], Any]


def _fmu(model: Graph | Model, out: Path, options: Namespace) -> Path:
    if options.t_end is None:
        title = "a functional mock-up unit needs the end time of its run"
        raise refusal("E613", title, "--t-end 10, in s", about=model.name, places=())
    path = out / f"{model_identifier(model.name)}.fmu"
    inputs, outputs = options.input or (), options.output or ()
    return fmu(model, path, t_end=options.t_end, version=options.fmi_version or 3, inputs=inputs, outputs=outputs).path


def _casadi(model: Graph | Model, out: Path, _: Namespace) -> Path:
    function, path = to_casadi(model), out / f"{model_identifier(model.name)}.casadi"
    function.save(str(path))
    return path


EXPORTS: Mapping[str, Export] = MappingProxyType(
    {
        "json": Export("a saved model (save_model)", lambda model, out, _: save_model(model, out / f"{model.name}.json")),
        "c": Export("C source", lambda model, out, _: c_source(model).write(out)),
        "matlab": Export("a MATLAB package", lambda model, out, _: matlab_source(model).write(out)),
        "numpy": Export("a NumPy module", lambda model, out, _: numpy_source(model).write(out)),
        "modelica": Export("a Modelica model", lambda model, out, _: modelica_source(model).write(out)),
        "fmu": Export("a functional mock-up unit (FMI); without a C compiler, its sources", _fmu),
        "casadi": Export("the rates as a function for casadi.Function.load", _casadi),
    }
)


def _export_arguments(parser: ArgumentParser) -> None:
    parser.description = "Writes " + "; ".join(f"{name}: {export.about}" for name, export in EXPORTS.items()) + "."
    _model(parser)
    parser.add_argument("--to", choices=list(EXPORTS), required=True, help="form to write")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")
    unit = parser.add_argument_group("options for a functional mock-up unit")
    unit.add_argument("--t-end", type=float, metavar="S", help="end time of its run, s; required")
    unit.add_argument("--input", action="append", metavar="NAME", help="a parameter that the importer sets; may be repeated")
    unit.add_argument("--output", action="append", metavar="NAME", help="a value that is an output; may be repeated")
    unit.add_argument("--fmi-version", type=int, choices=(2, 3), help="version of the standard, 3 by default")


def _export(options: Namespace) -> int:
    for_units = ("t_end", "input", "output", "fmi_version")
    used = " and ".join(f"--{name.replace('_', '-')}" for name in for_units if getattr(options, name) is not None)
    if options.to != "fmu" and used:
        title = f"{used}: only for a functional mock-up unit"
        raise refusal("E613", title, "--to fmu", f"--to {options.to} without {used}", about=options.model, places=())
    check_directory(options.out)
    model = load_any(Path(options.model))
    options.out.mkdir(parents=True, exist_ok=True)
    written = EXPORTS[options.to].write(model, options.out, options)
    print("\n".join(map(str, written if isinstance(written, tuple) else (written,))))
    return 0


_AS_SHOW = study_command("show", _SHOW, arguments=_model)
RUN_FILE = study_command("run", replace(RUN, read=read_request), arguments=_model)
SHOW_FILE = Command("show", SHOW.help, _show_arguments, _show)
EXPORT_FILE = Command(
    "export",
    "write the model of a file as source code, as a functional mock-up unit, or as a saved model",
    _export_arguments,
    _export,
)
