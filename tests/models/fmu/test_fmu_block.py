"""FMUs as blocks: a controller from a library against the same controller in the graph."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from screwbond.models.fmu import fmu_block

from bondgraph import J1, Block, C, Graph, I, ModelError, R, RunError, Se, compile_model, measures, signals, sweep
from bondgraph.analysis import linearise
from bondgraph.export import c_run, c_source, document, latex
from bondgraph.interchange import dump_model

pytestmark = pytest.mark.skipif(not shutil.which("cc") or sys.platform != "linux", reason="no C compiler makes the FMUs")
HERE = Path(__file__).parent
PLATFORM = {2: "linux64", 3: "x86_64-linux"}
REAL, TOKEN = {2: "Real", 3: "Float64"}, {2: "guid", 3: "instantiationToken"}


def description(version: int, **changes: str) -> str:
    rows = (
        (REAL[version], "error", 0, "input"),
        (REAL[version], "effort.y", 1, "output"),
        (REAL[version], "gain", 2, "parameter"),
        (REAL[version], "limit", 3, "parameter"),
        ({2: "Integer", 3: "Int32"}[version], "count", 4, "output"),
        ("Boolean", "on", 5, "output"),
    )
    variables = "".join(
        f'<ScalarVariable name="{name}" valueReference="{k}" causality="{causality}"><{kind}/></ScalarVariable>'
        if version == 2
        else f'<{kind} name="{name}" valueReference="{k}" causality="{causality}"/>'
        for kind, name, k, causality in rows
    )
    ways = changes.get("ways", '<CoSimulation modelIdentifier="controller"/>')
    head = (
        f'fmiVersion="{changes.get("stated", f"{version}.0")}" modelName="c" {TOKEN[version]}="{changes.get("token", "{token}")}"'
    )
    content = f"{ways}<ModelVariables>{variables}</ModelVariables>"
    return f"{changes.get('before', '')}<fmiModelDescription {head}>{content}</fmiModelDescription>"


@pytest.fixture(scope="module")
def libraries(tmp_path_factory):
    """The libraries of both versions."""
    folder = tmp_path_factory.mktemp("libraries")
    for version in (2, 3):
        command = ["cc", "-O1", "-fPIC", "-shared", f"-DVERSION={version}", str(HERE / "controller.c"), "-o", f"{version}.so"]
        subprocess.run(command, cwd=folder, check=True)
    return {version: (folder / f"{version}.so").read_bytes() for version in (2, 3)}


def archive(folder: Path, libraries, version: int = 3, entries=(), **changes: str) -> Path:
    """An FMU with the controller."""
    path = folder / f"pid{version}.fmu"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("modelDescription.xml", description(version, **changes).encode(changes.get("coding", "utf-8")))
        file.writestr(f"binaries/{changes.get('platform', PLATFORM[version])}/controller.so", libraries[version])
        for entry in entries:
            file.writestr(entry, "text")
    return path


def plant(controller) -> Graph:
    """A motor's shaft behind an elastic shaft under a controller of its speed, with a step of the reference at 50 ms."""
    graph, speed = Graph("plant"), J1("speed", domain="rotation")
    graph.add(signals.step("wanted", start=0.05, after=3.0))
    graph.add(signals.summation("error", {"wanted.y": 1, "rotor.flow": -1}))
    graph.add(controller)
    path = f"{controller.name}.effort.y" if "effort.y" in controller.law.states() else f"{controller.name}.y"
    graph.connect(Se("torque", lambda u: u, signals=[path]), speed).connect(speed, I("rotor", inertia=0.02))
    return graph.connect(speed, R("bearing", 0.1)).connect(speed, C("spring", stiffness=2.0))


def twin(period: float, gain: float) -> Block:
    equations = [
        ("next", lambda e, s, gain: gain * e + s, ["e", "s", "gain"]),
        ("sum", lambda e, s, period: s + e * period, ["e", "s", "period"]),
    ]
    states = {"states": {"y": 0.0, "s": 0.0}, "updates": {"y": "next", "s": "sum"}}
    return Block("pid", equations, inputs={"e": "error.y"}, **states, period=period, parameters={"gain": gain})


def block(path: Path, **changes):
    given = {"inputs": {"error": "error.y"}, "outputs": ["effort.y", "count", "on"], "period": 1e-3, "name": "pid"}
    return fmu_block(path, **{**given, "parameters": {"gain": 0.4}, **changes})


@pytest.fixture(scope="module")
def compiled(libraries, tmp_path_factory):
    folder = tmp_path_factory.mktemp("fmus")
    return {
        k: compile_model(plant(block(archive(folder, libraries, k), parameters={"gain": 0.4, "limit": 10.0}))) for k in (2, 3)
    }


@pytest.mark.parametrize("version", [2, 3])
def test_a_controller_in_a_library_is_the_one_in_the_graph(version, compiled):
    """Up to the rounding of samples, through a step of the reference at a tick, twice, and with another gain."""
    own = compile_model(plant(twin(1e-3, 0.4)))
    for gain in (0.4, 0.4, 0.7):
        expected = own.simulate(0.2, parameters={"pid.gain": gain}, samples=0.01)
        run = compiled[version].simulate(0.2, parameters={"pid.gain": gain}, samples=0.01)
        assert run.ok
        assert run.statistics.steps == expected.statistics.steps
        np.testing.assert_allclose(run["rotor.p"], expected["rotor.p"], rtol=1e-14, atol=0.0)
        np.testing.assert_allclose(run["pid.effort.y"], expected["pid.y"], rtol=1e-14, atol=0.0)
        assert run["pid.count"][-1] == 200.0 and run["pid.on"][-1] == float(run["pid.effort.y"][-1] > 0.0)


def test_each_thread_has_an_instance_of_its_own(compiled):
    gains = np.linspace(0.1, 0.9, 8)
    alone = [compiled[3].simulate(0.1, parameters={"pid.gain": gain})["rotor.p"] for gain in gains]
    with ThreadPoolExecutor(4) as pool:
        runs = list(
            pool.map(lambda gain: compiled[3].simulate(0.1, parameters={"pid.gain": gain}, progress=False)["rotor.p"], gains)
        )
    np.testing.assert_array_equal(runs, alone)


@pytest.mark.parametrize("version", [2, 3])
def test_an_fmu_that_fails_ends_the_run_with_its_words(version, compiled):
    with pytest.raises(RunError, match=r'E692 the FMU of "pid" fails in fmi\dDoStep at t = 0\.05[\s\S]*too much'):
        compiled[version].simulate(0.2, parameters={"pid.limit": 1.0})
    assert compiled[version].simulate(0.2).ok


def test_functions_that_need_formulas_refuse_it(compiled):
    for function in (linearise, latex, document, lambda model: c_run(model, 1.0), c_source, dump_model):
        with pytest.raises(ModelError, match=r'E(693|350)[\s\S]*"pid"'):
            function(compiled[3])


def test_a_sweep_runs_it(compiled):
    found = sweep(compiled[3], {"pid.gain": [0.2, 0.6]}, 0.1, keep={"speed": measures.last("rotor.flow")}, progress=False)
    alone = [compiled[3].simulate(0.1, parameters={"pid.gain": gain})["rotor.flow"][-1] for gain in (0.2, 0.6)]
    np.testing.assert_array_equal(found["speed"], alone)


WRONG = {
    "no archive": (None, {}, "no archive"),
    "other platform": ({"platform": "riscv-plan9"}, {}, "no library for x86_64-linux[\\s\\S]*riscv-plan9"),
    "model exchange alone": ({"ways": '<ModelExchange modelIdentifier="controller"/>'}, {}, "no co-simulation"),
    "version": ({"stated": "1.0"}, {}, "FMI 1.0"),
    "entities": ({"before": '<!DOCTYPE a [<!ENTITY b "c">]>'}, {}, "document type"),
    "entities in another coding": ({"before": "<!DOCTYPE a>", "coding": "utf-16"}, {}, "document type"),
    "unknown coding": ({"before": '<?xml version="1.0" encoding="nothing"?>'}, {}, "cannot be read"),
    "no file": (None, {"path": "nowhere.fmu"}, "cannot be read"),
    "not well formed": ({"before": "<"}, {}, "cannot be read"),
    "identifier leads out": ({"ways": '<CoSimulation modelIdentifier="../controller"/>'}, {}, "no identifier"),
    "entry leads out": ({"entries": ["../out"]}, {}, "leads out"),
    "absolute entry": ({"entries": ["/etc/out"]}, {}, "leads out"),
    "unknown input": ({}, {"inputs": {"eror": "error.y"}}, 'does not have "eror"[\\s\\S]*error'),
    "output as input": ({}, {"inputs": {"effort.y": "error.y"}}, 'has as output "effort.y"'),
    "input as parameter": ({}, {"parameters": {"error": 1.0}}, "has as input"),
    "outputs as text": ({}, {"outputs": "effort.y"}, "several names"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_files_and_names_are_refused(case, libraries, tmp_path):
    changes, arguments, text = WRONG[case]
    path = tmp_path / "bad.fmu"
    if changes is None:
        path.write_bytes(b"PK\x03\x04 no more")
    else:
        path = archive(tmp_path, libraries, **changes)
    with pytest.raises(ModelError, match=f"E69[01][\\s\\S]*{text}"):
        block(**{"path": path, **arguments})


def test_an_fmu_that_does_not_know_its_token_cannot_be_instantiated(libraries, tmp_path):
    model = compile_model(plant(block(archive(tmp_path, libraries, token="other"))))
    with pytest.raises(RunError, match='E692 the FMU of "pid" cannot be instantiated'):
        model.simulate(0.1)
