"""Interactive page: one HTML file that opens offline, with bodies, bond graph and plots driven by one time slider."""

from __future__ import annotations

import base64
import gzip
import html
import json
import math
import os
import re
import sys
import webbrowser
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from screwbond.models.pictures.from_results.scenes import scene_of
from screwbond.models.pictures.plotting import plain_text, shown_unit, title_with_unit
from screwbond.models.pictures.scene import OPEN_THICKNESS, Scene, show_times
from screwbond.models.pictures.style import AXES, ENERGIES, FORCE
from screwbond.models.pictures.web.live import Live, run_data
from screwbond.models.pictures.web.packing import SAMPLES, Downsampling, EventRows, Packed, downsample, pack_scene
from screwbond.models.pictures.web.quantities import characteristic_quantities, first_plots, initial_quantities, pack_quantities

from bondgraph.errors import refusal
from bondgraph.export.wasm.instance import page_part, script
from bondgraph.model.arguments import names_of
from bondgraph.model.laws import Junction
from bondgraph.model.model import Model
from bondgraph.output.files import known_ending, nonfinite_to_null, write_text
from bondgraph.output.plot_style import FLAT, INK
from bondgraph.render.diagram import diagram
from bondgraph.run.program.bonds import BondValues
from bondgraph.run.results.result import Result
from bondgraph.run_arguments import RunSettings
from screws.errors import plural

MAX_NODES = 400

POWER_PERCENTILE = 99.0
"""Percentile over time of each bond's power. The largest of these sets the scale of widths, so that a short impact does not
dominate."""


MAX_NODES_UNFOLDED = 15
"""Largest number of nodes in a narrow pane, if folding nested graphs achieves it."""

PANES = {True: (1010.0, 480.0), False: (900.0, 700.0)}
"""Largest width and height of a drawing that is legible in a window of 1300 x 800, with a scene beside it (True) or without."""

MIN_BONDS = 2


def bond_graph_svg(result: Result, with_scene: bool = False) -> tuple[str, str]:
    """Return the drawing as SVG and, if it is too large to read in its pane, a second drawing with nested graphs folded.

    Both are "" without a model, or if the drawing is too large to read or shows no bonds, as for folded free bodies. The
    second is "" if nothing needs folding. `with_scene` is True if the page also shows bodies.
    """
    model = result.program.model
    if model is None or not model.bonds:
        return "", ""
    inside = tuple(f"{path}." for path in model.groups)
    nodes = sum(not path.startswith(inside) for path in model.elements) + len(inside)
    if nodes > MAX_NODES:
        return "", ""
    full = diagram(model, title="", legend=False)
    if "data-bond=" not in full.svg:
        return "", ""
    brief = full
    for paths, remaining in _foldings(model, full.positions):
        drawn = diagram(model, title="", legend=False, folded=paths)
        if drawn.svg.count("data-bond=") < MIN_BONDS:
            break
        brief = drawn
        if remaining <= MAX_NODES_UNFOLDED and brief.width <= PANES[with_scene][0] and brief.height <= PANES[with_scene][1]:
            break
    return full.svg, "" if brief is full else brief.svg


def _foldings(model: Model, shown: Collection[str]) -> Iterator[tuple[tuple[str, ...], int]]:
    sizes = {path: sum(name.startswith(f"{path}.") for name in shown) for path in model.groups if "." not in path}
    folded: tuple[str, ...] = ()
    remaining = len(shown)
    if remaining <= MAX_NODES_UNFOLDED:
        return
    for size in sorted({*sizes.values()} - {0, 1}, reverse=True):
        paths = tuple(path for path in sizes if sizes[path] == size)
        folded, remaining = folded + paths, remaining - (size - 1) * len(paths)
        yield folded, remaining


def pack_bonds(
    rows: EventRows, downsampling: Downsampling, packed: Packed, number: Callable[[str], int | None]
) -> dict[str, Any]:
    result = rows.result
    model = result.program.model
    if model is None:
        return {"bonds": [], "switches": [], "most_power": 0.0}
    bonds, most = [], []
    domains = {bond.name: bond.domain for bond in model.bonds}
    for bond in result.bonds:
        effort, flow, domain = number(bond.effort), number(bond.flow), domains[bond.name]
        if effort is None or flow is None:
            continue
        power = BondValues(rows.values(bond.effort), rows.values(bond.flow)).power
        samples = result.bond_values(bond.name).power
        sizes = np.abs(samples[np.isfinite(samples)])
        most.append(float(np.percentile(sizes, POWER_PERCENTILE)) or float(sizes.max()) if len(sizes) else 0.0)
        ends = {"name": bond.name, "tail": bond.tail, "head": bond.head, "most": most[-1]}
        words = (domain.effort, domain.flow)
        bonds.append({**ends, "effort": effort, "flow": flow, "words": words, "power": packed.curve(downsampling.select(power))})
    switches = [
        {**switch, "signal": f"{name}.mode", "mode": packed.curve(downsampling.select(rows.values(f"{name}.mode")))}
        for name, switches in _switches(model).items()
        if f"{name}.mode" in result
        for switch in switches
    ]
    return {"bonds": bonds, "switches": switches, "most_power": max(most, default=0.0)}


def _switches(model: Model) -> Mapping[str, list[dict[str, Any]]]:
    """Return, for each automaton, the nodes that show its state in the drawing, the names of its states, and which of these pass
    power."""
    nodes: dict[str, list[dict[str, Any]]] = {}
    for path, element in model.elements.items():
        if isinstance(element.law, Junction) and element.law.automaton is not None:
            states = model.automata[element.law.automaton].states
            on = [state in element.law.active for state in states]
            nodes.setdefault(element.law.automaton, []).append({"node": path, "states": states, "on": on})
    for path, automaton in model.automata.items():
        if path not in nodes and len(automaton.states) > 1:
            nodes[path] = [{"node": path, "states": automaton.states, "on": [True] * len(automaton.states)}]
    return nodes


DESKTOPS = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
"""Environment variables of X, Wayland or the user's choice of browser; a page can be shown if any is set."""


def open_in_browser(path: Path) -> bool:
    """Open a file in the browser of the desktop; return False without a desktop, where a text browser would take over the
    terminal."""
    has_desktop = sys.platform in ("win32", "darwin") or any(map(os.environ.get, DESKTOPS))
    return has_desktop and webbrowser.open(path.resolve().as_uri())


SCRIPTS = ("data.js", "pointers.js", "vectors.js", "scene.js", "labels.js", "plots.js", "graph.js", "play.js")

MAX_EVENT_MARKS = 80

FRAME = "width: 100%; height: 720px; border: 1px solid #d5d9e0; border-radius: 8px"

UNPACK = """<!DOCTYPE html>
<p>This page needs JavaScript, which is switched off here.</p>
<script>
const bytes = Uint8Array.from(atob("@PAGE@"), c => c.charCodeAt(0));
new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text().then(text => {
  document.open(); document.write(text); document.close();
});
</script>
"""
"""Page that unpacks the packed page inside it and then shows that page."""


@dataclass(frozen=True)
class Page:
    """Interactive page; notebooks display it.

    Parameters
    ----------
    title : its heading.
    text : the whole file, which needs no network and no other file.
    """

    title: str
    text: str

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write the file and return its path. Raises `FileError` E415 for an extension other than .html, E414 if writing
        fails."""
        known_ending(path, ".html")
        return write_text(path, self.text)

    def open(self, path: str | os.PathLike[str]) -> bool:
        """Write the file and show it in the desktop's browser; return False without a browser. Raises the errors of `write`."""
        return open_in_browser(self.write(path))

    def __repr__(self) -> str:
        return f'Page("{self.title}", {len(self.text) / 1e6:.1f} MB)'

    def _repr_html_(self) -> str:
        # A notebook stores its output; packing halves the size.
        packed = base64.b64encode(gzip.compress(self.text.encode(), mtime=0)).decode()
        text = UNPACK.replace("@PAGE@", packed)
        return f'<iframe title="{html.escape(self.title)}" style="{FRAME}" srcdoc="{html.escape(text)}"></iframe>'


def page(
    shown: Result | Scene,
    path: str | os.PathLike[str] | None = None,
    seconds: float | None = None,
    show: float | None = None,
    *,
    plots: str | Sequence[str] | None = None,
    live: Live | None = None,
    settings: RunSettings | None = None,
) -> Page:
    """Return a page for any result: moving bodies, the bond graph with the power on its bonds, and plots of chosen quantities.

    With `live` it also contains the model and its solver: when a slider changes a parameter, the browser repeats the run as
    `simulate` would, and shows its bodies, power and plots.

    Parameters
    ----------
    shown : the result of a run; or a scene, whose `result` supplies bond graph and quantities.
    path : file to write, which must end in .html.
    seconds : playing time at speed 1; by default real time, or 10 s for runs of less than 1 s or more than 60 s.
    show : initial time (s); by default the start.
    plots : names of quantities plotted initially; by default the scene's panels, and characteristic quantities if these panels
        show only energies. Other scalars and vectors of up to 7 components can be chosen on the page.
    live : parameters with sliders, by name, each with its minimum and maximum: `{"spring.stiffness": (10, 200)}`.
    settings : with `live`, settings of the run that differ from the defaults of `simulate`: `{"rtol": 1e-9}`.

    Raises `ModelError` E580 for anything but a result or a scene, E581 for unknown quantities, E582 for invalid times, E583 for
    fewer than two samples; with `live` E620 to E622 for parameters without a slider, E624 to E626 and E281 for runs that a page
    cannot repeat; `FileError` E415, E414 as for `Page.write`.
    """
    if path is not None:
        known_ending(path, ".html")
    scene = _scene(shown)
    plots = None if plots is None else names_of(plots, "plots")
    seconds = _duration(scene) if seconds is None else seconds
    _check_times(scene, seconds, show)
    if live is not None:
        # The run in the page has its own samples, shared by everything drawn, and no energy account.
        scene = replace(downsample(scene), panels=())
        plots = first_plots(scene) if plots is None else plots
    files = resources.files("screwbond.models.pictures.web")
    parts = {name: files.joinpath(name).read_text(encoding="utf-8") for name in ("page.html", "page.css", *SCRIPTS)}
    content = contents(scene, seconds, show, plots)
    data = json.dumps(nonfinite_to_null(content), separators=(",", ":"), allow_nan=False)
    style, lines, run = parts["page.css"], [page_part("numbers.js"), *(parts[name] for name in SCRIPTS)], ""
    if live is not None:
        run = f'<script type="application/json" id="run">{run_data(scene, content, live, settings or {})}</script>\n'
        style += page_part("sliders.css")
        lines += [page_part("inflate.js"), script(), files.joinpath("live.js").read_text(encoding="utf-8")]
    seen = bool(scene.solids or scene.frames or scene.springs or scene.paths or scene.forces)
    graph, brief = bond_graph_svg(scene.result, seen) if scene.result is not None else ("", "")
    filled = {
        "TITLE": html.escape(scene.title),
        "STYLE": style,
        "PARTS": " ".join(["scene"] * seen + ["graph"] * bool(graph)),
        "GRAPH": graph,
        "BRIEF": brief,
        # Indents and comments are for readers of the sources.
        "SCRIPT": re.sub(r"^ +(?://.*\n)?|^//.*\n", "", "\n".join(lines), flags=re.MULTILINE),
        "RUN": run,
        # Prevent names from closing the script element or starting a comment in it.
        "DATA": data.replace("<", "\\u003c"),
    }
    result_page = Page(scene.title, re.sub("@([A-Z]+)@", lambda mark: filled[mark[1]], parts["page.html"]))
    if path is not None:
        result_page.write(path)
    return result_page


def _scene(shown: Result | Scene) -> Scene:
    if isinstance(shown, Scene):
        scene = shown
    elif isinstance(shown, Result):
        scene = scene_of(shown)
    else:
        cures = ("the result of a run: page(graph.simulate(1.0))", "a scene")
        raise refusal("E580", f"a page shows a result or a scene, not {type(shown).__name__}", *cures, about="page")
    if len(scene.t) < 2:
        title = f"a page shows motion over time, but the scene has {plural(len(scene.t), 'sample')}"
        raise refusal("E583", title, "a longer run, or `samples` at more times", about=scene.title)
    return scene


REAL_TIME = 1.0, 60.0
PLAYING = 10.0
"""Playing time, s, of runs that are shorter or longer than `REAL_TIME`."""


def _duration(scene: Scene) -> float:
    duration = float(scene.t[-1] - scene.t[0])
    return duration if REAL_TIME[0] <= duration <= REAL_TIME[1] else PLAYING


def _check_times(scene: Scene, seconds: float, show: float | None) -> None:
    if not (math.isfinite(seconds) and seconds > 0.0):
        raise refusal("E582", f"the playing time cannot be {seconds:g} s", "seconds=10.0", about=scene.title)
    start, end = float(scene.t[0]), float(scene.t[-1])
    if show is not None and not start <= show <= end:
        cures = (f"show= between {start:g} and {end:g}", "omit `show` to begin at the start")
        raise refusal("E582", f"the page cannot open at {show:g} s", *cures, about=scene.title)


def contents(scene: Scene, seconds: float, show: float | None, plots: Sequence[str] | None = None) -> dict[str, Any]:
    first = [] if scene.result is None else initial_quantities(scene.result, plots)
    only_energies = all(panel.unit == "J" or panel.title.startswith("energy") for panel in scene.panels)
    if scene.result is not None and plots is None and only_energies:
        first = characteristic_quantities(scene.result)
    events = [mark.t for mark in scene.event_marks if not mark.internal]
    packed, playback = Packed(), show_times(scene, 601)
    packed.put("playback", playback - playback[0])
    panels = _plots(scene, packed) if plots is None else []
    scene = downsample(replace(scene, panels=()))
    packed.put("t", scene.t, "Float64")
    return {
        "subtitle": scene.subtitle,
        "early": _early_end(scene),
        "ink": INK,
        "palette": (*AXES, *ENERGIES[1:2], FORCE, *ENERGIES[2:]),
        "contacts": scene.contact_intervals(),
        "events": events if len(events) <= MAX_EVENT_MARKS else [],
        "most_marks": MAX_EVENT_MARKS,
        "open_thickness": OPEN_THICKNESS,
        "seconds": seconds,
        "show": float(scene.t[0]) if show is None else show,
        "flat": FLAT,
        **pack_scene(scene, packed),
        "plots": panels,
        **_result_data(scene, packed, first),
        "arrays": packed.arrays,
        "curves": packed.curves,
    }


def _early_end(scene: Scene) -> str:
    failure = None if scene.result is None else scene.result.failure
    return "" if failure is None else f"ended early: {failure.reason}"


def _result_data(scene: Scene, packed: Packed, first: Sequence[str]) -> dict[str, Any]:
    result = scene.result
    if result is None:
        return {"quantities": [], "also": [], "left_out": 0, "open": [], "bonds": [], "switches": [], "most_power": 0.0}
    variables = [name for bond in result.bonds for name in (bond.effort, bond.flow)]
    rows = EventRows.of(result, float(scene.t[0]), float(scene.t[-1]))
    fields = pack_quantities(rows, packed, [*first, *variables])
    number, downsampling, layout = fields.pop("number"), fields.pop("downsampling"), result.program.layout

    def place(name: str) -> int | None:
        slot = layout[name]
        return number.get((slot.block, slot.start, slot.size))

    opened = [(k, name) for name in first if (k := place(name)) is not None]
    return {**fields, "open": opened, **pack_bonds(rows, downsampling, packed, place)}


def _plots(scene: Scene, packed: Packed) -> list[dict[str, Any]]:
    downsampling, plots = Downsampling.of(scene.t, SAMPLES[1]), []
    packed.put("tp", downsampling.times, "Float64")
    for panel in scene.panels:
        factor, unit = shown_unit(panel)
        curves = []
        for curve in panel.curves:
            look = {"colour": curve.colour, "name": plain_text(curve.name), "dash": bool(curve.dashed)}
            values = downsampling.select(factor * np.asarray(curve.values, dtype=float))
            curves.append({"curve": packed.curve(values, "tp"), **look})
        title = title_with_unit(plain_text(panel.title), unit)
        plots.append({"title": title, "curves": curves, "log": panel.log, "on_demand": panel.on_demand})
    return plots
