"""Data of a page that simulates: its run as WebAssembly, and where the script finds the data to redraw."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from screwbond.models.pictures.scene import Scene
from screwbond.models.pictures.sources import Signal, Source

from bondgraph.compile.compiled import Compiled
from bondgraph.compile.pipeline import compile_model
from bondgraph.errors import refusal
from bondgraph.export.run.c import run_content
from bondgraph.export.wasm.instance import instance_of, page_json
from bondgraph.export.wasm.module import is_available
from bondgraph.export.wasm.page import REPLAYS, doubts_of, slider_facts
from bondgraph.methods import METHODS, START
from bondgraph.run.program import Layout, Slot
from bondgraph.run.results.result import Result
from bondgraph.run_arguments import RunSettings
from screws.errors import plural

Live = Mapping[str, tuple[float, float]]
"""Parameters with sliders, by name, each with its minimum and maximum."""

RULES_BY_SIZE = {3: "at", 7: "pose", 16: "matrix"}
"""Rule that turns a signal into a pose, by the signal's number of components."""


def run_data(scene: Scene, data: Mapping[str, Any], live: Live, settings: RunSettings) -> str:
    """Return the run of a scene's result as JSON for the page's script; `data` is the other content of the page, at the scene's
    times.

    Raises `ModelError` E624 without a model, E625 for parts of the scene that follow from no signal, E626 if the run cannot be
    repeated with these settings; E281, E620 to E622 as for `live_page`.
    """
    result = scene.result
    if result is None or result.program.model is None:
        title, cure = "a live page needs a result with its model", "the result of `simulate` in this process"
        raise refusal("E624", title, cure, about=scene.title)
    _refuse_parts_without_source(scene)
    compiled = compile_model(result.program.model, progress=False)
    parameters, initial = _start(result, compiled)
    settings = {**settings, "t_start": float(result.t[0]), "samples": scene.t}
    run, steps = run_content(compiled, float(result.t[-1]), "page", None, parameters, initial, settings)
    if steps != result.statistics.steps:
        title = f"the run took {plural(result.statistics.steps, 'step')}, and {steps} when the page repeated it"
        raise refusal("E626", title, _how_to_repeat(result.statistics.method, run.method.name), about=scene.title)
    columns = _Columns(compiled.program.layout)
    facts = {
        "live": [slider_facts(run, name, bounds) for name, bounds in live.items()],
        "doubts": doubts_of(result),
        **_drawn_columns(scene, data, compiled, columns),
    }
    if not is_available():
        return page_json({**facts, "events": False, "why": REPLAYS, "replay": True})
    return instance_of(run, columns.slots).text(facts)


def _how_to_repeat(method: str, on_page: str) -> str:
    last = method.rpartition(", ")[2]
    if last in METHODS and METHODS[last].needs_series:
        return f'simulate(..., method="{START.name}"): a page has no {last} method'
    if last != method:
        return f"simulate(..., method=\"{last}\"), and page(result, live=..., settings={{'method': '{last}'}})"
    setting = f"'method': '{method}'" if method != on_page else "'rtol': 1e-9"
    return f"the settings of the run: page(result, live=..., settings={{{setting}}})"


def _refuse_parts_without_source(scene: Scene) -> None:
    parts = [f'"{solid.name}"' for solid in scene.solids if solid.source is None]
    parts += [f'"{touch.name}"' for touch in scene.contacts if touch.source is None]
    parts += [f'"{coil.name}"' for coil in scene.springs if coil.sources is None]
    parts += [f'the frame "{"".join(frame.label)}"' for frame in scene.frames if frame.source is None]
    parts += ["its paths"] * bool(scene.paths) + [f'the force "{force.label}"' for force in scene.forces if force.source is None]
    if parts:
        title = f"the page cannot move {', '.join(parts[:4])}{' ...' * (len(parts) > 4)} when it simulates"
        why = "they are arrays over time, not signals of the run"
        raise refusal("E625", title, "page(scene_of(result), live=...), or the result itself", about=scene.title, why=why)


def _start(result: Result, compiled: Compiled) -> tuple[dict[str, Any], Any]:
    plain = compiled.parameters
    parameters = {name: result[name] for name in plain if not np.array_equal(result[name], plain[name].value)}
    x, m = compiled.initial(None, parameters)
    same = np.array_equal(x, result.x[0]) and np.array_equal(m, result.m[0])
    return parameters, None if same else result.rows(np.array([0])).final


class _Columns:
    def __init__(self, layout: Layout):
        self.layout, self.slots, self._first, self._count = layout, list[Slot](), dict[Slot, int](), 0

    def of_slot(self, slot: Slot) -> int:
        if slot not in self._first:
            self._first[slot] = self._count
            self.slots.append(slot)
            self._count += slot.size
        return self._first[slot]

    def of(self, signal: Signal) -> int:
        return self.of_slot(self.layout[signal.name]) + signal.index


class _Rules:
    def __init__(self, columns: _Columns):
        self.columns, self.rules, self._numbers = columns, list[list[Any]](), dict[int, int]()

    def of(self, source: Source) -> int:
        if id(source) not in self._numbers:
            rule = [source.rule, *map(self._argument, source.arguments)]
            if source.rule in ("signal", "place"):
                size = self.columns.layout[source.arguments[0].name].size
                first = rule[1]
                rule = (
                    [RULES_BY_SIZE[size], first]
                    if source.rule == "signal"
                    else ["plane", first, first + 1, first + 2 if size > 2 else None]
                )
            self._numbers[id(source)] = len(self.rules)
            self.rules.append(rule)
        return self._numbers[id(source)]

    def _argument(self, value: Any) -> Any:
        if isinstance(value, Source):
            return self.of(value)
        if isinstance(value, Signal):
            return self.columns.of(value)
        return value.T.ravel().tolist() if isinstance(value, np.ndarray) else value


def _drawn_columns(scene: Scene, data: Mapping[str, Any], compiled: Compiled, columns: _Columns) -> dict[str, Any]:
    rules, program = _Rules(columns), compiled.program
    contacts = {contact.point.path: contact for contact in program.contacts}
    touches = [touch.source for touch in scene.contacts if touch.source is not None]
    frames = [*(frame.source for frame in scene.frames), *(frame for touch in touches for frame in touch.frames)]
    pseudo = {bond.name: bond.pseudo for bond in program.bonds}
    places = {
        "solids": [rules.of(solid.source) for solid in scene.solids if solid.source is not None],
        "frames": [rules.of(frame) for frame in frames if frame is not None],
        "coils": [[rules.of(end) for end in coil.sources] for coil in scene.springs if coil.sources is not None],
        "touches": [
            {
                "force": [columns.of(signal) for signal in touch.force],
                "gap": columns.of(touch.gap),
                "off": [(columns.of_slot(Slot("m", slot)), mode) for slot, mode in contacts[touch.contact].off],
                "always": drawing.show_gap,
            }
            for touch, drawing in zip(touches, scene.contacts, strict=True)
        ],
        "forces": [
            {"at": [*map(columns.of, force.source[0])], "newtons": [*map(columns.of, force.source[1])]}
            for force in scene.forces
            if force.source is not None
        ],
        "quantities": [columns.of(Signal(name)) for name, *_ in data["quantities"]],
        "switches": [columns.of(Signal(switch["signal"])) for switch in data["switches"]],
        "pseudo": [pseudo[bond["name"]] for bond in data["bonds"]],
        "internal": [edge.name for edge in program.transitions if edge.internal],
    }
    return {**places, "rules": rules.rules}
