"""Archives of functional mock-up units have terminals, an icon, documentation and reference results, and identical bytes."""

from __future__ import annotations

import csv
import importlib.util
import io
import shutil
import subprocess
import zipfile
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import numpy as np
import pytest

from bondgraph import (
    J0,
    J1,
    Automaton,
    C,
    Graph,
    I,
    ModelError,
    R,
    Se,
    Transition,
    by_mode,
    compile_model,
    load_model,
    save_model,
)
from bondgraph.export import LivePage, fmu
from tests.export.live_pages import facts_of
from tests.export.test_run_in_c import juggler
from tests.inner.export import fmu_writer

fmpy, etree = pytest.importorskip("fmpy"), pytest.importorskip("lxml.etree")
validate = pytest.importorskip("fmpy.validation").validate_fmu
SOURCES: dict[str, Any] = {"platforms": (), "progress": False}
REFERENCES = "extra/org.fmi-standard.fmi-ls-ref"
TERMINALS = "terminalsAndIcons/terminalsAndIcons.xml"
PAGE = "documentation/index.html"


def ports() -> Graph:
    graph, v, node, body = (
        Graph("ports"),
        J1("v", domain="translation"),
        J0("node", domain="electrical"),
        J1("body", domain="screw"),
    )
    graph.connect(v, I("mass", inertia=2.0)).connect(v, C("spring", stiffness=50.0, initial=0.1))
    graph.connect(node, C("capacitor", capacitance=1.0, initial=2.0)).connect(node, R("resistor", 2.0))
    graph.connect(body, I("inertia", inertia=np.eye(6))).connect(body, R("drag", resistance=np.eye(6)))
    turning = J1("turning", domain="rotation")
    graph.connect(turning, I("wheel", 0.5)).connect(turning, Se("brake", 1.0))
    graph.connect(Se("motor", lambda value: 2.0 * value, parameters={"value": 1.0}), turning)
    graph.expose("shaft", v).expose("wrist", body).expose("capacitor", node)
    return graph


def oscillator() -> Graph:
    graph, v = Graph("oscillator"), J1("v", domain="translation")
    graph.connect(Se("push", 0.0), v).connect(v, I("mass", inertia=2.0))
    return graph.connect(v, C("spring", stiffness=50.0))


def members(path: Path) -> dict[str, list[tuple[str | None, ...]]]:
    root = Xml.fromstring(zipfile.ZipFile(path).read(TERMINALS))
    named = ("memberName", "variableName", "variableKind")
    return {
        each.get("name", ""): [(each.get("terminalKind"),), *(tuple(map(member.get, named)) for member in each)]
        for each in root.iter("Terminal")
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("archives")


@pytest.fixture(scope="module")
def with_ports(folder: Path) -> Path:
    inputs, outputs = ["brake.value", "motor.value"], ["brake.flow", "mass.flow"]
    return fmu(ports(), folder / "ports.fmu", t_end=1.0, inputs=inputs, outputs=outputs, page=False, **SOURCES).path


def test_open_ports_and_constant_sources_are_terminals(with_ports: Path) -> None:
    assert members(with_ports) == {
        "shaft": [("_screwbond_translation",), ("effort", "shaft.value", "inflow"), ("flow", "mass.flow", "signal")],
        "wrist": [("_screwbond_screw",), ("effort", "wrist.value", "_screwbond_inflow"), ("flow", "wrist.flow", "signal")],
        "capacitor port": [
            ("_screwbond_electrical",),
            ("effort", "capacitor port.effort", "signal"),
            ("flow", "capacitor port.value", "inflow"),
        ],
        "brake": [("_screwbond_rotation",), ("effort", "brake.value", "outflow"), ("flow", "brake.flow", "signal")],
    }
    schema = Path(fmpy.__file__).with_name("schema") / "fmi3" / "fmi3TerminalsAndIcons.xsd"
    assert etree.XMLSchema(etree.parse(str(schema))).validate(etree.fromstring(zipfile.ZipFile(with_ports).read(TERMINALS)))
    assert not validate(str(with_ports))


def test_terminals_survive_a_file(folder: Path) -> None:
    model = load_model(save_model(oscillator(), folder / "oscillator.json"))
    options: dict[str, Any] = {"inputs": ["push.value"], "outputs": ["mass.flow"], "page": False, **SOURCES}
    path = fmu(model, folder / "loaded.fmu", t_end=1.0, **options).path
    assert members(path)["push"][1:] == [("effort", "push.value", "inflow"), ("flow", "mass.flow", "signal")]


def test_a_graph_keeps_its_open_ports() -> None:
    graph = ports()
    parts = list(graph)
    assert fmu_writer.drive_ports(graph).inputs == ("shaft.value", "wrist.value", "capacitor port.value")
    assert list(graph) == parts and len(graph.links) == len(ports().links)
    compiled = compile_model(graph)
    assert fmu_writer.drive_ports(compiled).model is compiled


def test_the_icon_is_the_graph(with_ports: Path) -> None:
    names = set(zipfile.ZipFile(with_ports).namelist())
    if importlib.util.find_spec("matplotlib") is None:
        assert not {name for name in names if "icon." in name}
        return
    packed = zipfile.ZipFile(with_ports)
    png, svg = packed.read("terminalsAndIcons/icon.png"), Xml.fromstring(packed.read("terminalsAndIcons/icon.svg"))
    assert png.startswith(b"\x89PNG")
    icon = Xml.fromstring(packed.read(TERMINALS)).find("GraphicalRepresentation/Icon")
    assert icon is not None
    x, y = (float(icon.get(f"{axis}2", "")) - float(icon.get(f"{axis}1", "")) for axis in "xy")
    assert max(x, y) == 200.0
    assert x / y == pytest.approx(float(svg.get("width", "")) / float(svg.get("height", "")), rel=5e-3)  # in whole pixels


def test_vectors_are_arrays_with_aliases_and_units(with_ports: Path) -> None:
    root = Xml.fromstring(zipfile.ZipFile(with_ports).read("modelDescription.xml"))
    listed = {each.get("name"): each for each in root.find("ModelVariables") or ()}
    push = listed["wrist.value"]
    assert (push.get("causality"), push.get("start"), [each.get("start") for each in push]) == (
        "input",
        " ".join(["0.0"] * 6),
        ["6"],
    )
    assert push.get("unit") is None  # N m, N: components without a common unit
    assert [each.get("start") for each in listed["inertia.inertia"].iter("Dimension")] == ["6", "6"]
    aliases = {alias.get("name"): each.get("name") for each in listed.values() for alias in each.iter("Alias")}
    assert aliases["inertia.p'"] == aliases["body -> inertia:effort"] == "inertia.effort"
    assert not aliases.keys() & listed.keys()
    units = {each.get("name"): {**each.find("BaseUnit").attrib} for each in root.iter("Unit")}  # type: ignore[union-attr]
    assert units["V"] == {"kg": "1", "m": "2", "s": "-3", "A": "-1"}
    assert units["rad/s"] == {"s": "-1", "rad": "1"}
    references = [each.get("valueReference") for each in listed.values()]
    assert len(set(references)) == len(references)


NAMES = [
    "Mass",
    "mass",
    "Ωμέγα Δ",
    "x" * 200,
    "int",
    "time",
    "der(mass",
    "a[1]",
    '"quoted" &<> &amp; ]]> </body>',
    "*/ int y; /* \\ %s %n ??/ {0} @DATA@ $(CC) \\",
    "</script>",
]


def test_every_name_comes_back(folder: Path) -> None:
    graph, v = Graph('*/ "</script>" &<\\'), J1("1", domain="translation")
    spring = C("spring", stiffness=by_mode("</script> &", {'<"on">': 50.0, "*/ off": 1.0}))
    leave = Transition('<"on">', "*/ off", lambda q: q - 9.0, ("spring.q",))
    graph.add_automaton(Automaton("</script> &", ('<"on">', "*/ off"), '<"on">', (leave,)))
    graph.connect(v, spring).connect(Se("push", 1.0), v)
    for name in NAMES[1:]:
        graph.connect(v, R(name, 1.0))
    graph.connect(v, I("Mass", 1.0))
    compiled = compile_model(graph)
    units = [
        fmu(
            compiled,
            folder / f"names {version}.fmu",
            t_end=1.0,
            version=version,
            inputs=["push.value"],
            outputs=["</script>.power"],
            **SOURCES,
        )
        for version in (3, 2)
    ]
    for unit in units:
        assert not validate(str(unit.path))
        described = fmpy.read_model_description(str(unit.path))
        assert described.modelName == graph.name
        read = {each.name for each in described.modelVariables}
        assert {f"{name}.resistance" for name in NAMES[1:]} | {"Mass.inertia", "Mass.p"} <= read
        page = zipfile.ZipFile(unit.path).read(PAGE).decode()
        assert page.count("</script>") == 2
        assert facts_of(LivePage("", page, 0))["live"][0]["name"] == "push.value"
        rows = csv.reader(io.StringIO(zipfile.ZipFile(unit.path).read(f"{REFERENCES}/{unit.identifier}_out.csv").decode()))
        assert next(rows) == ["time", "</script>.power"]
    states = Xml.fromstring(zipfile.ZipFile(units[0].path).read("modelDescription.xml")).iter("Item")
    assert [(each.get("name"), each.get("value")) for each in states] == [('<"on">', "0"), ("*/ off", "1")]
    if shutil.which("gcc"):
        source = zipfile.ZipFile(units[0].path).read("sources/model.c")
        command = ["gcc", "-std=c99", "-fsyntax-only", "-Wall", "-Wno-unused", "-Wno-strict-prototypes", "-Werror", "-xc", "-"]
        done = subprocess.run(command, input=source, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode()


def reference(path: Path) -> dict[str, np.ndarray]:
    packed = zipfile.ZipFile(path)
    (related,) = Xml.fromstring(packed.read(f"{REFERENCES}/fmi-ls-manifest.xml"))
    assert (related.get("role"), related.get("type")) == ("result", "text/csv")
    head, *rows = csv.reader(io.StringIO(packed.read(f"{REFERENCES}/{related.get('source')}").decode()))
    return {name: np.array([row[k].split() for row in rows], dtype=float) for k, name in enumerate(head)}


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed: no library can be built")
def test_reference_results_are_those_of_the_unit(folder: Path) -> None:
    outputs = ["held.y", "ball.p"]
    unit = fmu(juggler(), folder / "juggler.fmu", t_end=2.5, outputs=outputs, rtol=1e-6, page=False, progress=False)
    result, expected = fmpy.simulate_fmu(str(unit.path), fmi_type="CoSimulation", output=outputs), reference(unit.path)
    assert list(expected) == ["time", *outputs] and len(expected["time"]) == 101
    for name, values in expected.items():
        np.testing.assert_array_equal(result[name], values[:, 0])


def test_reference_results_have_a_column_for_each_number_in_version_2(folder: Path) -> None:
    graph, v = Graph("plane"), J1("v", domain="translation")
    graph.connect(v, I("mass", 1.0, initial=np.array([1.0, 2.0])))
    for name in ("drag", "more drag"):
        graph.connect(v, R(name, effort=lambda f, none, r: r * f, parameters={"none": np.zeros(0), "r": 0.5}))
    compiled = compile_model(graph)
    units = [fmu(compiled, folder / f"plane {k}.fmu", t_end=1.0, version=k, page=False, **SOURCES).path for k in (2, 3)]
    assert not [problem for path in units for problem in validate(str(path))]
    two, three = map(reference, units)
    assert list(two) == ["time", "mass.p[1]", "mass.p[2]"]
    np.testing.assert_array_equal(np.hstack(list(two.values())), np.hstack(list(three.values())))
    assert three["mass.p"][-1] == pytest.approx(np.exp(-1.0) * np.array([1.0, 2.0]), rel=1e-6)


def test_the_documentation_is_a_page_that_simulates(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = compile_model(oscillator())

    def page(**options: Any) -> str:
        inputs, outputs = ["push.value"], ["mass.flow"]
        unit = fmu(compiled, folder / "o.fmu", t_end=1.0, inputs=inputs, outputs=outputs, **options, **SOURCES)
        return zipfile.ZipFile(unit.path).read(PAGE).decode()

    live = page()
    facts = facts_of(LivePage("", live, 0))
    assert {each["name"]: (each["low"], each["high"]) for each in facts["live"]} == {
        "push.value": (-1.0, 1.0),
        "mass.inertia": (1.0, 4.0),
        "spring.stiffness": (25.0, 100.0),
    }
    assert [panel["curves"][0]["name"] for panel in facts["panels"]] == ["mass.flow"]
    plain = page(page=False)
    table = plain[plain.index("<svg") : plain.index("</table>")]
    assert table in live and "<tr><td>input</td><td>push.value</td><td>N</td></tr>" in table and "<script" not in plain
    chosen = facts_of(LivePage("", page(page={"spring.stiffness": (10.0, 200.0)}), 0))["live"]
    assert [(each["name"], each["high"]) for each in chosen] == [("spring.stiffness", 200.0)]
    with pytest.raises(ModelError, match="E620"):
        page(page={"sprung.stiffness": (10.0, 200.0)})
    with pytest.raises(ModelError, match=r"E614 page='yes' is not a table of ranges by name"):
        page(page="yes")
    monkeypatch.setattr(fmu_writer, "is_available", lambda: False)
    assert (
        page().replace("<p>This page does not simulate: it was made with an llvmlite that cannot write WebAssembly.</p>\n", "")
        == plain
    )


def test_an_archive_is_a_function_of_its_graph(folder: Path) -> None:
    options: dict[str, Any] = {"inputs": ["push.value"], "outputs": ["push.flow"]}
    first, second = (fmu(oscillator(), folder / f"{k}.fmu", t_end=1.0, **options, **SOURCES).path for k in range(2))
    assert TERMINALS in zipfile.ZipFile(first).namelist()
    assert first.read_bytes() == second.read_bytes()
    assert {each.date_time for each in zipfile.ZipFile(first).infolist()} == {(1980, 1, 1, 0, 0, 0)}
