"""A page that simulates: one HTML file that opens offline, with sliders for parameters and curves of the run."""

from __future__ import annotations

import html
import itertools
import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from bondgraph.compile.compiled import Compiled
from bondgraph.compile.pipeline import Compilable, compiled_form
from bondgraph.errors import refusal
from bondgraph.export.run.c import run_content
from bondgraph.export.run.source import RunContent
from bondgraph.export.wasm.instance import instance_of, packed_text, page_json, page_part, script
from bondgraph.export.wasm.module import is_available
from bondgraph.model.arguments import names_of
from bondgraph.output.files import known_ending, nonfinite_to_null, write_text
from bondgraph.output.plot_style import FLAT
from bondgraph.run.program.names import Layout, Slot
from bondgraph.run.results.result import Result
from bondgraph.run_arguments import Initial, RunSettings, spelled_settings
from bondgraph.units import entry_units
from screws.names import similar_names

DEFAULT_PANELS = 4
_FRAME = "width: 100%; height: 560px; border: 1px solid #d5d9e0; border-radius: 8px"
REPLAYS = "this page only replays a run: it was made with an llvmlite that cannot write WebAssembly"


@dataclass(frozen=True)
class LivePage:
    """Page that simulates; notebooks display it.

    Parameters
    ----------
    title : heading of the page.
    text : content of the file, which needs no network and no other files.
    steps : number of steps that its first run took during export.
    """

    title: str
    text: str
    steps: int

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write the file and return its path. Raises `FileError` E415 if its name does not end in .html, E414 if it cannot be
        written."""
        known_ending(path, ".html")
        return write_text(path, self.text)

    def __repr__(self) -> str:
        return f'LivePage("{self.title}", {len(self.text) / 1024:.0f} KB)'

    def _repr_html_(self) -> str:
        return f'<iframe title="{html.escape(self.title)}" style="{_FRAME}" srcdoc="{html.escape(self.text)}"></iframe>'


@spelled_settings
def live_page(
    model: Compilable,
    path: str | os.PathLike[str] | None = None,
    *,
    t_end: float,
    live: Mapping[str, tuple[float, float]] | None = None,
    show: Sequence[str | Sequence[str]] | None = None,
    title: str | None = None,
    initial: Initial | None = None,
    parameters: Mapping[str, Any] | None = None,
    **settings: Unpack[RunSettings],
) -> LivePage:
    """Return a page that simulates the model, with sliders for some parameters and curves of the run, which the browser repeats
    whenever a slider moves.

    The page is one file that opens offline. It contains the model and its solver as WebAssembly, and takes the same steps as
    `simulate`, bit for bit. Start values stay as exported, even if they were computed from a parameter that a slider
    changes. If llvmlite cannot write WebAssembly, the page only replays the run, with a note.

    Parameters
    ----------
    model : compiled, or a graph, which is compiled first.
    path : file to write, which must end in .html.
    t_end : end of the run, s.
    live : parameters with sliders, by name, each with its minimum and maximum: `{"spring.stiffness": (10, 200)}`.
    show : quantities to plot, one panel for each unit of each name or list of names; by default at most four, states first.
    title : heading; by default the model's name.
    initial, parameters, settings : as for `simulate`.

    Raises `ModelError` as `simulate` and `c_run` do (E281); E620 for a parameter that cannot have a slider, E621 for one that
    sets times of clocks or time events, E622 for an invalid range, E623 for quantities that cannot be shown;
    `KeyError` for an unknown quantity in `show`; `FileError` E415, E414 as `LivePage.write` does.
    """
    if path is not None:
        known_ending(path, ".html")
    compiled = compiled_form(model, "live_page", progress=settings.get("progress", True))
    panels = _panels(compiled, show)
    run, steps = run_content(compiled, t_end, "live_page", None, parameters, initial, settings)
    facts: dict[str, Any] = {
        "panels": _panel_facts(panels, compiled.program.layout),
        "live": [slider_facts(run, name, bounds) for name, bounds in (live or {}).items()],
        "span": [float(run.dates[0]), float(run.dates[-1])],
        "flat": FLAT,
    }
    native = compiled.simulate(t_end, parameters=parameters, initial=initial, **settings)
    lines = f'"use strict";\n{page_part("numbers.js")}{script()}{page_part("page.js")}'
    facts |= {"doubts": doubts_of(native), "script": packed_text(lines.encode())}
    if is_available():
        data = instance_of(run, [slot for panel in panels for _, slot in panel]).text(facts)
    else:
        data = page_json({**facts, "events": False, "why": REPLAYS, "replay": _columns(native, panels)})
    heading = compiled.model.name if title is None else title
    page = LivePage(heading, _page_text(heading, data), steps)
    if path is not None:
        page.write(path)
    return page


Panel = Sequence[tuple[str, Slot]]


def _panels(compiled: Compiled, show: Sequence[str | Sequence[str]] | None) -> list[Panel]:
    layout, name = compiled.program.layout, compiled.model.name
    if show is None:
        plain = [word for block in ("x", "out") for word in layout.names(block) if layout[word].size]
        show = plain[:DEFAULT_PANELS]
    panels: list[Panel] = [
        [(each, layout[each]) for each in names_of(words, "show")] for words in ([show] if isinstance(show, str) else show)
    ]
    for panel in panels:
        names = ", ".join(f'"{word}"' for word, _ in panel) or "an empty panel"
        if not any(slot.size for _, slot in panel) or any(slot.is_parameter for _, slot in panel):
            why = "a parameter has only one value in a run" if panel else "it contains no quantity"
            cure = "states, outputs and modes in `compiled.names()`"
            raise refusal("E623", f"{names} cannot be shown on a page", cure, about=name, why=why)
    return panels


def _labels(name: str, slot: Slot) -> Iterator[str]:
    for index in np.ndindex(slot.shape):
        yield f"{name}[{', '.join(map(str, index))}]" if index else name


def _panel_facts(panels: Sequence[Panel], layout: Layout) -> list[dict[str, Any]]:
    """Return the data of the panels as drawn: each unit in a panel gets a separate one."""
    columns, facts = itertools.count(), list[dict[str, Any]]()
    for panel in panels:
        curves: dict[str, list[dict[str, Any]]] = {}
        for word, slot in panel:
            unit = layout.unit(word)
            units = entry_units(unit, slot.shape)
            for label, each in zip(_labels(word, slot), itertools.repeat(unit) if units is None else units.flat, strict=False):
                curves.setdefault(_shown_unit(each), []).append({"name": label, "column": next(columns)})
        facts += [{"unit": unit, "curves": each} for unit, each in curves.items()]
    return facts


def _columns(result: Result, panels: Sequence[Panel]) -> dict[str, Any]:
    columns = [result[word].reshape(len(result.t), -1).T for panel in panels for word, _ in panel]
    return {"t": result.t.tolist(), "columns": nonfinite_to_null(np.vstack(columns).tolist())}


def slider_facts(run: RunContent, name: str, bounds: tuple[float, float]) -> dict[str, Any]:
    """Return the data of a slider for the script. Raises `ModelError` E620, E621, E622."""
    model, layout = run.content.system.name, run.program.layout
    try:
        slot = layout[name]
    except KeyError:
        numbers = [word for word in layout.names("p") if not layout[word].shape]
        near = [f'"{each}"' for each in similar_names(name, numbers) or numbers[:DEFAULT_PANELS]]
        raise refusal("E620", f'"{name}" cannot have a slider: the model has no such parameter', *near, about=model) from None
    if not slot.is_parameter or slot.shape:
        why = f"its shape is {slot.shape}" if slot.shape else "it is not a parameter"
        cures = [f'a component, "{next(_labels(name, slot))}"'] if slot.is_parameter else []
        raise refusal("E620", f'"{name}" cannot have a slider: {why}', *cures, about=model)
    if slot.start in run.fixed:
        why = "the times of clocks or time events depend on it, but the export fixes these times"
        raise refusal("E621", f'"{name}" cannot have a slider', "a separate page for each of its values", about=model, why=why)
    word = run.image.arrays["p"] + slot.start
    value = float(run.image.words[word : word + 1].view(np.float64)[0])
    try:
        low, high = map(float, bounds)
    except (TypeError, ValueError):
        low = high = math.nan
    if not (low < high and math.isfinite(high - low) and low <= value <= high):
        why = f"a range needs a minimum and a maximum, with the current value {value:g} between them"
        cure = f'live={{"{name}": ({min(0.5 * value, 2.0 * value):g}, {max(0.5 * value, 2.0 * value) or 1.0:g})}}'
        raise refusal("E622", f'the range of "{name}" is invalid: {bounds!r}', cure, about=model, why=why)
    return {"name": name, "unit": _shown_unit(layout.unit(name)), "index": slot.start, "value": value, "low": low, "high": high}


def doubts_of(result: Result) -> list[str]:
    return [f'{doubt.reason}, at about t = {doubt.time:.4g} s ("{doubt.suspect}")' for doubt in result.warnings]


def _shown_unit(unit: str) -> str:
    return "" if unit == "1" else unit


def _page_text(title: str, data: str) -> str:
    style = page_part("page.css") + page_part("sliders.css")
    filled = {"TITLE": html.escape(title), "STYLE": style, "SCRIPT": page_part("inflate.js"), "DATA": data}
    return re.sub("@([A-Z]+)@", lambda mark: filled[mark[1]], page_part("page.html"))
