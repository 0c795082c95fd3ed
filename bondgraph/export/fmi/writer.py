"""Write a model with its solver as a functional mock-up unit, FMI 2.0 or 3.0, that other simulation tools load."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Unpack
from xml.etree import ElementTree as Xml

import numpy as np

from bondgraph.compile.compiled import Compiled
from bondgraph.compile.pipeline import Compilable, compiled_form
from bondgraph.errors import Problem, RunError, ScrewbondError, SourceOnlyWarning, refusal
from bondgraph.export.code.content import Content
from bondgraph.export.fmi import build
from bondgraph.export.fmi.archive import write_archive
from bondgraph.export.fmi.description import CO_SIMULATION, MODEL_EXCHANGE, UnitContent, description, document
from bondgraph.export.fmi.documentation import documentation, icons, slider_ranges
from bondgraph.export.fmi.partials import partials_of
from bondgraph.export.fmi.references import POINTS, reference_files, sample_times
from bondgraph.export.fmi.source import LIBRARY, MODEL, DefaultExperiment, Scaling, model_source, scaling_of, solver_source
from bondgraph.export.fmi.terminals import drive_ports, terminals_and_icons, terminals_of
from bondgraph.export.fmi.variables import ModelVariable, interface_of, variables_of, without_rates
from bondgraph.export.run.c import Numbers, run_content, workspace_of
from bondgraph.export.wasm.module import is_available
from bondgraph.export.wasm.page import live_page
from bondgraph.output.files import known_ending
from bondgraph.render.diagram import diagram
from bondgraph.run.batch.image import Image, image_of
from bondgraph.run_arguments import Initial, RunSettings, spelled_settings

Page = bool | Mapping[str, tuple[float, float]]
"""Choice of a live page: True for default sliders, a mapping with the ranges of sliders, or False for no live page."""
KINDS = (CO_SIMULATION, MODEL_EXCHANGE)
VERSIONS = (2, 3)
_CHANGE = 1e-6
"""Relative change of a parameter that reveals its effect on the start."""
_NOT_LIVE = "This page does not simulate: it was made with an llvmlite that cannot write WebAssembly."
_SHIFT = 2.0**-20
"""Shift of the start time that reveals its effect, as a fraction of the run; a power of two, so that sums are exact."""


@dataclass(frozen=True)
class FMU:
    """Functional mock-up unit in the file `path`.

    Parameters
    ----------
    version : version of the standard, 2 or 3.
    identifier : name of the library.
    token : string that the importer must pass back.
    kinds : interface types.
    platforms : platforms for which it has a library; empty for an FMU with only sources.
    method : method of integration in co-simulation.
    steps : number of steps that the run took during export.
    constants : parameters that the importer cannot set, because clocks, time events or start values depend on them.
    """

    path: Path
    version: int
    identifier: str
    token: str
    kinds: tuple[str, ...]
    platforms: tuple[str, ...]
    method: str
    steps: int
    constants: tuple[str, ...]


@spelled_settings
def fmu(
    model: Compilable,
    path: str | os.PathLike[str],
    *,
    t_end: float,
    version: int = 3,
    inputs: Sequence[str] = (),
    outputs: Sequence[str] = (),
    kinds: Sequence[str] = KINDS,
    platforms: Sequence[str] = (build.HOST,),
    sources: bool = False,
    page: Page = True,
    name: str | None = None,
    initial: Initial | None = None,
    parameters: Mapping[str, Any] | None = None,
    **settings: Unpack[RunSettings],
) -> FMU:
    """Write a model with its solver as a functional mock-up unit.

    In co-simulation it takes the same steps as `simulate`, whatever the communication points, until an input changes. Export
    simulates the run once, as for `c_run`, and again for the reference results and for the page.

    Parameters
    ----------
    model : compiled, or a graph, which is compiled first.
    path : path of the file, which ends with .fmu.
    t_end : end of the experiment that the FMU suggests, s; it sets the time scale of the solver.
    version : version of the standard: 2 for FMI 2.0, 3 for FMI 3.0.
    inputs : parameters that the importer sets during a run, such as "push.value".
    outputs : values that become outputs of the FMU; all other values can also be read.
    kinds : interface types: "co-simulation", "model exchange".
    platforms : "host", or "x86_64-linux", "aarch64-linux", "x86_64-windows", "x86_64-darwin", "aarch64-darwin", which need the
        package ziglang; empty for an FMU with only sources.
    sources : True to include the source files.
    page : True for a `live_page` in the documentation, with sliders for the first inputs and parameters; ranges of its sliders
        by name, `{"spring.stiffness": (10, 200)}`; or False for none. It needs an llvmlite that can write WebAssembly.
    name : name of the library, an identifier; the model's name by default.
    initial, parameters, settings : as for `simulate`.

    An open port of a graph becomes a terminal: its effort or flow is an input, initially zero, and its conjugate variable is an
    output. The FMU contains results of `simulate` as a reference.

    Without a compiler for "host" the FMU has no library for this machine, and a `SourceOnlyWarning` is issued; an FMU without any
    library contains its sources.

    Raises `ModelError` as `c_run` does; E593 and E600 to E602 for inputs and outputs, E603 for an unknown version, kind or
    platform, E604 if ziglang is missing, E605 if a compiler fails, E614 and E620 to E622 for `page`; `FileError` E414 or E415 for
    the path.
    """
    ports = drive_ports(model)
    compiled = compiled_form(ports.model, "fmu", progress=settings.get("progress", True))
    _refuse_choices(compiled, version, kinds, platforms, page)
    known_ending(path, ".fmu")
    run, steps = run_content(compiled, t_end, "fmu", name, parameters, initial, settings)
    content, program = run.content, run.program
    prepared = compiled.prepare_run(t_end, **settings)
    x, p, m = prepared.start_values(parameters, initial)
    at = prepared.program.settings
    experiment = DefaultExperiment(at.t_start, at.span, at.rtol)
    named = {compiled.system.resolve(output) for output in outputs}
    outputs = [*outputs, *(answer for answer in ports.outputs if compiled.system.resolve(answer) not in named)]
    starts = _deciding_starts(compiled, content, parameters, initial, at.t_start)
    interface = without_rates(compiled.system, interface_of(content, [*inputs, *ports.inputs], outputs, run.fixed, starts))
    scaling = _scaling(compiled, (x, p, m), t_end, experiment, {**settings, "method": run.method.name})
    guards = 0 if program.guards is None else program.guards.n_out
    start = {"x": x, "p": p, "m": m}
    variables = variables_of(content, interface, start, guards, MODEL_EXCHANGE in kinds)
    partials = partials_of(compiled.system, variables) if MODEL_EXCHANGE in kinds else None
    text, token = model_source(run, experiment, scaling, variables, kinds, version, partials)
    texts = {LIBRARY: solver_source(run.method), MODEL: text}
    binaries, built = _binaries(texts, content.name, version, platforms)
    with_sources = sources or not binaries
    files = {f"binaries/{folder}/{content.name}.{ending}": made for folder, ending, made in binaries}
    if with_sources:
        files |= {f"sources/{file}": source.encode() for file, source in texts.items()}
        if version == 3:
            files["sources/buildDescription.xml"] = _build_description(content.name)
    listed = tuple(texts) if with_sources else ()
    ordered = tuple(kind for kind in KINDS if kind in kinds)
    unit = UnitContent(
        compiled.model.name,
        content.name,
        token,
        ordered,
        guards if MODEL_EXCHANGE in kinds else 0,
        at.t_start,
        at.t_start + at.span,
        at.rtol,
        at.span / POINTS,
        derivatives=partials is not None,
        sources=listed,
    )
    files["modelDescription.xml"] = description(unit, variables, version)
    again: dict[str, Any] = {"parameters": parameters, "initial": initial, **settings, "method": run.method.name}
    times = sample_times(at.t_start, at.span)
    files |= reference_files(compiled.simulate(t_end, **{**again, "samples": times}), times, variables, content.name, version)
    picture = diagram(compiled)
    files |= icons(picture, version)
    if version == 3:
        icon = (picture.width, picture.height) if "terminalsAndIcons/icon.png" in files else None
        terminals = terminals_of(compiled.model, variables, compiled.system.aliases)
        files |= terminals_and_icons(terminals, icon)
    live = "" if page is False or not is_available() else _live(compiled, t_end, page, variables, again)
    files["documentation/index.html"] = documentation(
        picture, compiled.model.name, variables, live, "" if page is False else _NOT_LIVE
    )
    written, constants = write_archive(path, files), tuple(interface.constants)
    return FMU(written, version, content.name, token, ordered, built, run.method.name, steps, constants)


def _live(compiled: Compiled, t_end: float, page: Page, variables: Sequence[ModelVariable], settings: Mapping[str, Any]) -> str:
    shown = [each.name for each in variables if each.causality == "output" and not set(",;") & set(each.unit)]
    live = page if isinstance(page, Mapping) else slider_ranges(variables)
    return live_page(compiled, t_end=t_end, live=live, show=shown or None, **settings).text


def _refuse_choices(compiled: Compiled, version: int, kinds: Sequence[str], platforms: Sequence[str], page: Page) -> None:
    if not isinstance(page, bool | Mapping):
        cure = 'page={"spring.stiffness": (10, 200)}, or True or False'
        raise refusal("E614", f"page={page!r} is not a table of ranges by name", cure, about=compiled.model.name)
    about, all_platforms = compiled.model.name, (build.HOST, *build.PLATFORMS)
    for argument, values, allowed in (
        ("version", (version,), VERSIONS),
        ("kinds", kinds, KINDS),
        ("platforms", platforms, all_platforms),
    ):
        one_of = ", ".join(map(repr, allowed))
        if isinstance(values, str) or (argument == "kinds" and not values):
            fault = "is not a tuple of names" if isinstance(values, str) else "is empty"
            raise refusal("E603", f"{argument}={values!r} {fault}", f"some of {one_of}", about=about)
        for value in values:
            if value not in allowed:
                raise refusal("E603", f"{argument}: {value!r} is unknown", f"one of {one_of}", about=about)


def _deciding_starts(
    compiled: Compiled, content: Content, parameters: Mapping[str, Any] | None, initial: Initial | None, t: float
) -> tuple[int, ...]:
    """Return the indices of the parameters that determine start values or modes at the time t (s), found by changing each by a
    millionth."""
    x, m, p = compiled.starting_point(initial, parameters, t)
    solved = [k for name in content.system.guesses for k in content.system.places[name]]  # the run itself solves for these
    deciding = list[int]()
    for entry in content.p:
        if entry.identifier:
            numbers = p[entry.start : entry.start + entry.size].reshape(entry.shape)
            other = np.where(numbers == 0.0, _CHANGE, numbers * (1.0 + _CHANGE))
            try:
                x_other, m_other, _ = compiled.starting_point(initial, {**(parameters or {}), entry.name: other}, t)
            except ScrewbondError:  # a different value has no consistent start
                deciding += entry.indices
                continue
            moved = np.abs(x_other - x) > 1e-3 * _CHANGE * np.maximum(1.0, np.abs(x))
            moved[solved] = False
            if moved.any() or not np.array_equal(m, m_other):
                deciding += entry.indices
    return tuple(deciding)


def _scaling(compiled: Compiled, start: Numbers, t_end: float, experiment: DefaultExperiment, settings: Any) -> Scaling:
    x, p, m = start
    shared = {key: value for key, value in settings.items() if key != "samples"}

    def image(end: float, **changes: float) -> Image | None:
        try:
            prepared = compiled.prepare_run(end, **{**shared, **changes}).program
            return image_of(workspace_of(prepared, prepared.choice), p, x, m)
        except RunError:  # for example, a clock would tick too often in a run twice as long
            return None

    base, loose = image(t_end), image(t_end, rtol=4.0 * experiment.tolerance)
    assert base is not None
    shift = experiment.span * _SHIFT
    later = image(t_end + shift, t_start=experiment.start + shift)
    return scaling_of(
        base,
        experiment.start,
        None if later is None else (experiment.start + shift, later),
        image(t_end + experiment.span),
        loose,
    )


def _binaries(
    texts: Mapping[str, str], identifier: str, version: int, platforms: Sequence[str]
) -> tuple[list[tuple[str, str, bytes]], tuple[str, ...]]:
    made = list[tuple[str, str, bytes]]()
    names = list[str]()
    for platform in platforms:
        is_host = platform == build.HOST
        kind = build.this_platform() if is_host else build.PLATFORMS[platform]
        command = build.host_compiler() if is_host else build.cross_compiler(build.PLATFORMS[platform].target)
        if not is_host and not command:
            title = f'a library for "{platform}" needs the package ziglang'
            raise refusal("E604", title, 'pip install "screwbond[cross]"', about="fmu")
        if kind is None or not command:
            fault = "this platform is not supported" if kind is None else "no C compiler was found"
            other = f'pip install "screwbond[cross]", and platforms=("{kind.name if kind else next(iter(build.PLATFORMS))}",)'
            cures = (other,) if kind is None else ("cc, gcc, clang, or a compiler named by the environment variable CC", other)
            problem = Problem("E606", f"{fault}: the FMU has no library for this machine", cures=cures)
            warnings.warn(SourceOnlyWarning(problem), stacklevel=4)
            continue
        made.append((kind.name_of_2 if version == 2 else kind.name, kind.ending, build.library(texts, identifier, kind, command)))
        names.append(kind.name)
    return made, tuple(names)


def _build_description(identifier: str) -> bytes:
    root = Xml.Element("fmiBuildDescription", fmiVersion="3.0")
    configuration = Xml.SubElement(root, "BuildConfiguration", modelIdentifier=identifier)
    files = Xml.SubElement(configuration, "SourceFileSet", language="C99", compilerOptions="-ffp-contract=off")
    for file in (LIBRARY, MODEL):
        Xml.SubElement(files, "SourceFile", name=file)
    return document(root)
