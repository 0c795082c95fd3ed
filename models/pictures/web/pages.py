"""Any result, or a scene, in; one HTML file that opens offline, with bodies, bond graph and plots on one time slider, out."""

from __future__ import annotations

import base64
import gzip
import html
import json
import math
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from screwbond.models.pictures.filling.scenes import scene_of
from screwbond.models.pictures.parts import Panel
from screwbond.models.pictures.plotting import plain, shown_unit, titled
from screwbond.models.pictures.scene import Scene
from screwbond.models.pictures.style import AXES, ENERGIES, FORCE, INK
from screwbond.models.pictures.timing import show_times
from screwbond.models.pictures.web.bond_graphs import drawn, pack_bonds
from screwbond.models.pictures.web.opening import opened
from screwbond.models.pictures.web.packing import Packed
from screwbond.models.pictures.web.quantities import pack_quantities, telling, wanted
from screwbond.models.pictures.web.rows import Rows, Thinning
from screwbond.models.pictures.web.scenery import SAMPLES, pack_scene, thinned

from bondgraph.errors import refusal
from bondgraph.output.files import known_ending, nonfinite_to_null, write_text
from bondgraph.run.results.result import Result

SCRIPTS = ("data.js", "pointers.js", "vectors.js", "scene.js", "plots.js", "graph.js", "play.js")
"""In the order in which the page runs them."""

MARKS = 80
"""Events that plots mark; more are a grey veil."""

FRAME = "width: 100%; height: 720px; border: 1px solid #d5d9e0; border-radius: 8px"
"""Style of a page inside a notebook."""

UNPACK = """<!DOCTYPE html>
<p>This page moves with JavaScript, which is switched off here.</p>
<script>
const bytes = Uint8Array.from(atob("@PAGE@"), c => c.charCodeAt(0));
new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text().then(text => {
  document.open(); document.write(text); document.close();
});
</script>
"""
"""A page that unpacks another, and becomes it."""


@dataclass(frozen=True)
class Page:
    """A page; notebooks show it by themselves.

    Parameters
    ----------
    title : its heading.
    text : the whole file. It asks for nothing else: no network, no other file.
    """

    title: str
    text: str

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write the file and return its path. Raises `FileError` E415 for an ending other than .html, E414 where it cannot be
        written."""
        known_ending(path, ".html")
        return write_text(path, self.text)

    def open(self, path: str | os.PathLike[str]) -> bool:
        """Write the file and show it in the browser of the desktop; False where there is none. Raises as `write`."""
        return opened(self.write(path))

    def __repr__(self) -> str:
        return f'Page("{self.title}", {len(self.text) / 1e6:.1f} MB)'

    def _repr_html_(self) -> str:
        # A notebook keeps what it shows: packed, that is half as much.
        packed = base64.b64encode(gzip.compress(self.text.encode(), mtime=0)).decode()
        text = UNPACK.replace("@PAGE@", packed)
        return f'<iframe title="{html.escape(self.title)}" style="{FRAME}" srcdoc="{html.escape(text)}"></iframe>'


def page(
    shown: Result | Scene,
    path: str | os.PathLike[str] | None = None,
    seconds: float = 10.0,
    show: float | None = None,
    *,
    plots: Sequence[str] | None = None,
) -> Page:
    """A page of any result: what moves in it, its bond graph with the power on the bonds, and plots of whatever is chosen.

    Parameters
    ----------
    shown : of a run; or a scene that was filled otherwise, whose `result` gives bond graph and quantities.
    path : where it is written, too; must end in .html.
    seconds : how long playing takes at speed 1.
    show : the time (s) at which it opens; the start where None.
    plots : names of quantities that are plotted at first; those of the scene where None. All others can be chosen on the page.

    Raises `ModelError` E580 for what is neither, E581 for quantities that the result does not have, E582 for times that cannot
    be, E583 where nothing has a course; `FileError` E415, E414 as `Page.write`.
    """
    if path is not None:
        known_ending(path, ".html")
    scene = _scene(shown)
    _times(scene, seconds, show)
    files = resources.files("screwbond.models.pictures.web")
    parts = {name: files.joinpath(name).read_text(encoding="utf-8") for name in ("page.html", "page.css", *SCRIPTS)}
    data = json.dumps(nonfinite_to_null(contents(scene, seconds, show, plots)), separators=(",", ":"), allow_nan=False)
    seen = bool(scene.solids or scene.frames or scene.coils or scene.paths or scene.forces)
    graph, brief = drawn(scene.result, beside=seen) if scene.result is not None else ("", "")
    filled = {
        "TITLE": html.escape(scene.title),
        "STYLE": parts["page.css"],
        "PARTS": " ".join(["scene"] * seen + ["graph"] * bool(graph)),
        "GRAPH": graph,
        "BRIEF": brief,
        "SCRIPT": "\n".join(parts[name] for name in SCRIPTS),
        # No name can end the data, or begin a comment in it.
        "DATA": data.replace("<", "\\u003c"),
    }
    made = Page(scene.title, re.sub("@([A-Z]+)@", lambda mark: filled[mark[1]], parts["page.html"]))
    if path is not None:
        made.write(path)
    return made


def _scene(shown: Result | Scene) -> Scene:
    """The scene of what is shown; E580, E583."""
    if isinstance(shown, Scene):
        scene = shown
    elif isinstance(shown, Result):
        scene = scene_of(shown)
    else:
        cures = ("the result of a run: page(graph.simulate(1.0))", "a scene")
        raise refusal("E580", f"a page shows a result or a scene, not {type(shown).__name__}", *cures, about="page")
    if len(scene.t) < 2:
        title = f"a page shows a course over time, and there are {len(scene.t)} samples"
        raise refusal("E583", title, "a run that takes longer, or `samples` of more times", about=scene.title)
    return scene


def _times(scene: Scene, seconds: float, show: float | None) -> None:
    """E582 for a length of playing or a time that cannot be."""
    if not (math.isfinite(seconds) and seconds > 0.0):
        raise refusal("E582", f"playing cannot take {seconds:g} s", "seconds=10.0", about=scene.title)
    start, end = float(scene.t[0]), float(scene.t[-1])
    if show is not None and not start <= show <= end:
        cures = (f"show= between {start:g} and {end:g}", "none, for the start")
        raise refusal("E582", f"the page cannot open at {show:g} s", *cures, about=scene.title)


def contents(scene: Scene, seconds: float, show: float | None, plots: Sequence[str] | None = None) -> dict[str, Any]:
    """What the page's script reads: small values by name, arrays and curves packed."""
    playback = show_times(scene, 601)
    first = [] if scene.result is None else wanted(scene.result, plots)
    if scene.result is not None and plots is None and all(map(_of_energy, scene.panels)):
        first = telling(scene.result)
    events = [happening.t for happening in scene.happenings if not happening.internal]
    packed = Packed()
    panels = _plots(scene, packed) if plots is None else []
    scene = thinned(replace(scene, panels=()))
    packed.put("t", scene.t, "Float64")
    return {
        "subtitle": scene.subtitle,
        "early": _early(scene),
        "ink": INK,
        "palette": (*AXES, *ENERGIES[1:2], FORCE, *ENERGIES[2:]),
        "contacts": scene.contact_intervals(),
        "events": events if len(events) <= MARKS else [],
        "playback": playback.tolist(),
        "seconds": seconds,
        "show": float(scene.t[0]) if show is None else show,
        **pack_scene(scene, packed),
        "plots": panels,
        **_of_result(scene, packed, first),
        "arrays": packed.arrays,
        "curves": packed.curves,
    }


def _early(scene: Scene) -> str:
    """Why the run ended before its time; "" if it did not."""
    failure = None if scene.result is None else scene.result.failure
    return "" if failure is None else f"ended early: {failure.reason}"


def _of_energy(panel: Panel) -> bool:
    """Whether a panel says nothing but where energy is."""
    return panel.unit == "J" or panel.title.startswith("energy")


def _of_result(scene: Scene, packed: Packed, first: Sequence[str]) -> dict[str, Any]:
    """Quantities, bonds and switches of the scene's result; none where it has none."""
    result = scene.result
    if result is None:
        return {"quantities": [], "also": [], "left_out": 0, "open": [], "bonds": [], "switches": [], "most_power": 0.0}
    variables = [name for bond in result.bonds for name in (bond.effort, bond.flow)]
    rows = Rows.of(result, float(scene.t[0]), float(scene.t[-1]))
    found = pack_quantities(rows, packed, [*first, *variables])
    number, thin, layout = found.pop("number"), found.pop("thin"), result.program.layout

    def place(name: str) -> int | None:
        slot = layout[name]
        return number.get((slot.block, slot.start, slot.size))

    opened = [(k, name) for name in first if (k := place(name)) is not None]
    return {**found, "open": opened, **pack_bonds(rows, thin, packed, place)}


def _plots(scene: Scene, packed: Packed) -> list[dict[str, Any]]:
    """Titles and curves of the scene's panels, at times "tp"."""
    thin, found = Thinning.of(scene.t, SAMPLES[1]), []
    packed.put("tp", thin.times, "Float64")
    for panel in scene.panels:
        factor, unit = shown_unit(panel)
        curves = []
        for curve in panel.curves:
            look = {"colour": curve.colour, "name": plain(curve.name), "dash": bool(curve.dashed)}
            values = thin.kept(factor * np.asarray(curve.values, dtype=float))
            curves.append({"curve": packed.curve(values, "tp"), **look})
        found.append({"title": titled(plain(panel.title), unit), "curves": curves, "log": panel.log})
    return found
