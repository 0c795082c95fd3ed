"""A quantity has the same unit, declared or implied, in a document, a plot, a page, a table and a functional mock-up unit."""

from __future__ import annotations

import json
import pickle
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import matplotlib.pyplot as plt
import numpy as np
import pytest

from bondgraph import GY, J1, Block, C, Compiled, Graph, I, Op, R, Se, compile_model, signals
from bondgraph.export import fmu
from bondgraph.sweeps import peak
from examples.gallery import ENTRIES
from tests.at_releases import one_in
from tests.gallery.entries import compiled_entry
from tests.inner.assembly import implied_units
from tests.inner.export import InlineCode, Math, TableBlock, content_of, document, live_page_module, paper_of
from tests.inner.models_pictures import Packed, pack_quantities
from tests.inner.run import chosen_quantities, curves

TIMES = np.array([0.0, 1.0])
MOST = 8
"""Maximum number of quantities with, and without, a declared unit that are compared in each model."""


def samples(compiled: Compiled) -> Any:
    """Return a result of zeros."""
    layout = compiled.program.layout

    class Zeros(SimpleNamespace):
        def __getitem__(self, name: str) -> np.ndarray:
            return np.zeros((len(TIMES), *layout[name].shape))

        def __contains__(self, name: object) -> bool:
            return False

    events = SimpleNamespace(times=np.zeros(0), internal=np.zeros(0, dtype=bool))
    return Zeros(program=compiled.program, t=TIMES, events=events)


def in_document(compiled: Compiled) -> dict[str, str]:
    def rows() -> Iterator[tuple[Any, Any]]:
        for block in paper_of(compiled, 5).blocks:
            if isinstance(block, TableBlock) and block.caption[-1] in ("Parameters.", "States."):
                yield from ((row[1], row[2]) for row in block.rows)
            if isinstance(block, TableBlock) and block.caption[-1] == "Further symbols.":
                yield from ((row[k + 1], row[k + 3]) for row in block.rows for k in (0, 4) if row[k + 1])

    def text(word: Any) -> str:
        return word.latex.replace("{", "").replace("}", "") if isinstance(word, Math) else word

    units = {
        name[0].text: "".join(map(text, unit)).replace("Ω", "Ohm") for name, unit in rows() if isinstance(name[0], InlineCode)
    }
    return {name: unit if unit != "not given" else "" for name, unit in units.items()}


def on_page(compiled: Compiled) -> dict[str, str]:
    result = samples(compiled)
    rows: Any = SimpleNamespace(result=result, t=TIMES, values=result.__getitem__)
    data = pack_quantities(rows, Packed(), ())
    units = {name: unit for name, unit, *_ in data["quantities"]}
    return units | {name: data["quantities"][k][1] for name, k in data["also"]}


def in_table(compiled: Compiled, names: list[str]) -> dict[str, str]:
    kept = chosen_quantities(compiled.program, names, 2).quantities(compiled.program.layout)
    return {quantity.name: quantity.unit for quantity in kept}


def in_code(compiled: Compiled) -> dict[str, str]:
    content = content_of(compiled, None, "fmu")
    return {entry.name: entry.unit for entry in (*content.x, *content.p, *content.y)}


def on_axis(compiled: Compiled, name: str, axes: Any) -> str:
    axes.clear()
    curves(samples(compiled), [name], axes)
    return axes.get_ylabel().partition("\n")[2].strip("()")


def chosen(compiled: Compiled, units: Mapping[str, str]) -> list[str]:
    """Return quantities with an implied, with a declared, and without a unit."""
    layout, values = compiled.program.layout, compiled.system.values
    slots = {name: layout[name] for name in layout.names() if name in values}
    names = [name for name, slot in slots.items() if slot.block in ("x", "out") and len(slot.shape) < 2 and 0 < slot.size < 8]
    bare = [name for name in names if not values[name].unit]
    return [*bare[:MOST], *[name for name in bare if units[name]][:MOST], *[name for name in names if name not in bare][:3]]


@pytest.fixture(scope="module")
def panel() -> Iterator[Any]:
    figure, axes = plt.subplots()
    yield axes
    plt.close(figure)


@pytest.fixture
def no_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the bond graph out of documents: to draw it takes longer than the rest."""
    monkeypatch.setattr(document, "figure", lambda *_: [])


@pytest.mark.parametrize("name", one_in(4, ENTRIES))
def test_a_quantity_has_one_unit_everywhere(name: str, panel: Any, no_figures: None) -> None:
    compiled = compiled_entry(name)
    layout = compiled.program.layout
    written, page, code = in_document(compiled), on_page(compiled), in_code(compiled)
    names = chosen(compiled, layout.units)
    expected = {each: layout.unit(each) for each in names}
    assert all(compiled.system.values[each].unit in ("", unit) for each, unit in expected.items())
    assert {each: code[each] for each in names} == expected
    assert not names or in_table(compiled, names) == expected
    assert {each: page[each] for each in names} == expected
    assert {each: on_axis(compiled, each, panel) for each in names} == {
        each: "" if unit == "1" else unit for each, unit in expected.items()
    }
    assert len(written) >= 2 and written == {each: layout.units[each] for each in written}
    assert {each: quantity.unit for each, quantity in compiled.parameters.items()} == {
        each: code[each] for each in compiled.parameters
    }


def servo() -> Graph:
    """Servo drive whose controller declares no units; the block `mixed` adds a current and an angle."""
    graph, winding, shaft = Graph("servo"), J1("winding", domain="electrical"), J1("shaft", domain="rotation")
    graph.connect(winding, I("coil", 1e-3)).connect(winding, R("copper", 0.5)).connect(winding, motor := GY("motor", 0.1))
    graph.connect(motor, shaft).connect(shaft, I("rotor", 0.1)).connect(shaft, C("angle", stiffness=2.0))
    graph.add(signals.step("goal", 1.0), signals.summation("error", {"goal.y": 1, "angle.q": -1}))
    graph.add(signals.gain("control", "error.y", 3.0), signals.limiter("voltage", "control.y", -24.0, 24.0))
    mixed = [("y", Op("mixed", lambda i, q: i + q), ["i", "q"])]
    graph.add(Block("mixed", mixed, inputs={"i": "winding.flow", "q": "angle.q"}))
    return graph.connect(Se("amplifier", lambda u: u, signals=["voltage.y"]), winding)


UNITS = {"error.y": "rad", "control.y": "V", "voltage.y": "V", "mixed.y": "", "angle.q": "rad"}
"""Units of the servo's signals; none may be shown for the sum of a current and an angle."""


@pytest.fixture(scope="module")
def drive() -> Compiled:
    return compile_model(servo(), progress=False)


def test_a_gain_has_the_ratio_of_the_units_of_its_signals(drive: Compiled) -> None:
    assert drive.parameters["control.k"].unit == in_code(drive)["control.k"] == in_document(drive)["control.k"] == "V/rad"


def test_a_plot_shows_implied_units(drive: Compiled) -> None:
    result = drive.simulate(0.1, samples=3)
    axes = result.plot(*UNITS, ("goal.y", "control.y"))
    labels = [each.get_ylabel().partition("\n")[2].strip("()") for each in axes]
    plt.close(axes[0].figure)
    assert labels == [*UNITS.values(), "rad; V"]


def test_tables_have_implied_units(drive: Compiled, tmp_path: Path) -> None:
    drive.simulate(0.1, samples=3, keep=list(UNITS), sink=tmp_path / "run.csv")
    head = json.loads((tmp_path / "run.csv").read_text(encoding="utf-8").partition("\n")[0].removeprefix("# "))
    result = drive.simulate(0.1, samples=3)
    frame = result.to_dataframe(list(UNITS))
    assert head["units"] == frame.attrs["units"] == {"t": "s", **UNITS}
    assert {name: result.to_xarray(list(UNITS))[name].attrs["units"] for name in UNITS} == UNITS
    assert "<li>y, V</li>" in result._repr_html_()


def test_a_functional_mock_up_unit_has_implied_units(tmp_path: Path) -> None:
    fmu(servo(), tmp_path / "servo.fmu", t_end=0.1, platforms=(), page=False, outputs=["control.y"])
    with zipfile.ZipFile(tmp_path / "servo.fmu") as archive:
        root = ElementTree.fromstring(archive.read("modelDescription.xml"))
    variables = {each.get("name"): each.get("unit", "") for each in root.iter("Float64")}
    assert {name: variables[name] for name in UNITS} == UNITS and variables["control.k"] == "V/rad"
    assert {each.get("name") for each in root.iter("Unit")} >= {"V", "rad", "V/rad"}


def test_a_live_page_has_implied_units(drive: Compiled) -> None:
    panels = live_page_module._panels(drive, [["control.y", "error.y", "voltage.y"], ["error.y"], ["mixed.y"]])
    facts = live_page_module._panel_facts(panels, drive.program.layout)
    assert [each["unit"] for each in facts] == ["V", "rad", "rad", ""]
    assert [[curve["column"] for curve in each["curves"]] for each in facts] == [[0, 2], [1], [3], [4]]


def test_a_run_and_its_values_need_no_implied_units(monkeypatch: pytest.MonkeyPatch) -> None:
    """Units are found when something that shows them is written, once for a compiled model."""
    calls = []
    monkeypatch.setattr(implied_units, "units_of", lambda system, find=implied_units.units_of: calls.append(1) or find(system))
    compiled = compile_model(servo(), progress=False)
    result = compiled.simulate(0.1, samples=3)
    kept = compiled.simulate(0.1, samples=3, keep={"most": peak("control.y")})
    chunks: list[Any] = []
    compiled.simulate(0.1, samples=3, keep=["control.y"], sink=lambda t, values: chunks.append(values))
    assert len(result["control.y"]) == 3 and kept["most"] >= 0.0 and chunks and result.final and repr(result)
    assert not calls and compiled.program.layout.unit("angle.q") == "rad" and not calls
    assert [compiled.program.layout.unit(name) for name in ("control.y", "control.k")] == ["V", "V/rad"] and calls == [1]


def test_a_pickled_result_keeps_its_units(drive: Compiled) -> None:
    result = drive.simulate(0.1, samples=3)
    copied = pickle.loads(pickle.dumps(result))  # noqa: S301 its own
    assert {name: copied.program.layout.unit(name) for name in UNITS} == UNITS
