"""FMUs built from `unit.c` for tests, and a plant that they control."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from screwbond.models.fmu import fmu_block

from bondgraph import J0, J1, Block, C, Graph, I, R, Se, signals
from bondgraph.export import fmu

HERE = Path(__file__).parent
CAN_BUILD = bool(shutil.which("cc")) and sys.platform == "linux"
PLATFORM = {2: "linux64", 3: "x86_64-linux"}
TOKEN = {2: "guid", 3: "instantiationToken"}
OF_2 = {"Float64": "Real", "Float32": "Real", "Int8": "Integer", "Int32": "Integer", "UInt64": "Integer", "Boolean": "Boolean"}
ROWS = (
    ("Float64", "error", "input"),
    ("Float64", "effort.y", "output"),
    ("Float64", "gain", "parameter"),
    ("Float64", "limit", "parameter"),
    ("Int32", "steps", "output"),
    ("Boolean", "on", "output"),
    ("Int8", "whole", "input"),
    ("Int8", "whole.out", "output"),
    ("Boolean", "flag", "input"),
    ("Boolean", "flag.out", "output"),
    ("Float32", "small", "input"),
    ("Float32", "small.out", "output"),
    ("UInt64", "stair", "output"),
    ("Float64", "late", "output"),
    ("Float64", "meet", "parameter"),
)


def description(version: int, **changes: str) -> str:
    variables = "".join(
        f'<ScalarVariable name="{name}" valueReference="{k}" causality="{causality}"><{OF_2[kind]}/></ScalarVariable>'
        if version == 2
        else f'<{kind} name="{name}" valueReference="{k}" causality="{causality}"/>'
        for k, (kind, name, causality) in enumerate(ROWS)
    )
    ways = changes.get("ways", '<CoSimulation modelIdentifier="unit"/>')
    stated, token = changes.get("stated", f"{version}.0"), changes.get("token", "{token}")
    content = f"{ways}<ModelVariables>{variables}</ModelVariables>"
    head = f'<fmiModelDescription fmiVersion="{stated}" modelName="c" {TOKEN[version]}="{token}">'
    return f"{changes.get('before', '')}{head}{content}</fmiModelDescription>"


def built(folder: Path) -> dict[int, bytes]:
    for version in (2, 3):
        command = ["cc", "-O1", "-fPIC", "-shared", f"-DVERSION={version}", str(HERE / "unit.c"), "-o", f"{version}.so", "-lm"]
        subprocess.run(command, cwd=folder, check=True)
    return {version: (folder / f"{version}.so").read_bytes() for version in (2, 3)}


def archive(folder: Path, library: bytes, version: int = 3, entries=(), **changes: str) -> Path:
    path = folder / f"pid{version}.fmu"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("modelDescription.xml", description(version, **changes).encode(changes.get("coding", "utf-8")))
        file.writestr(f"binaries/{changes.get('platform', PLATFORM[version])}/unit.so", library)
        for entry in entries:
            file.writestr(entry, "text")
    return path


def block(path: Path, **changes):
    given = {"inputs": {"error": "error.y"}, "outputs": ["effort.y", "steps", "on"], "period": 1e-3, "name": "pid"}
    return fmu_block(path, **{**given, "parameters": {"gain": 0.4}, **changes})


def twin(period: float, gain: float) -> Block:
    equations = [
        ("next", lambda e, s, gain: gain * e + s, ["e", "s", "gain"]),
        ("sum", lambda e, s, period: s + e * period, ["e", "s", "period"]),
    ]
    states = {"states": {"y": 0.0, "s": 0.0}, "updates": {"y": "next", "s": "sum"}}
    return Block("pid", equations, inputs={"e": "error.y"}, **states, period=period, parameters={"gain": gain})


def plant(controller, path: str = "pid.effort.y", start: float = 0.05) -> Graph:
    graph, speed = Graph("plant"), J1("speed", domain="rotation")
    graph.add(signals.step("wanted", start=start, after=3.0))
    graph.add(signals.summation("error", {"wanted.y": 1, "rotor.flow": -1}))
    graph.add(controller)
    graph.connect(Se("torque", lambda u: u, signals=[path]), speed).connect(speed, I("rotor", inertia=0.02))
    return graph.connect(speed, R("bearing", 0.1)).connect(speed, C("spring", stiffness=2.0))


def still(name: str) -> Graph:
    v = J0("v", domain="electrical")
    return Graph(name).connect(v, C("c", capacitance=1.0)).connect(v, R("r", 1.0))


def pid_unit(path: Path, version: int, period: float, offset: float) -> Path:
    graph = still("unit")
    graph.add(Block("u", [("y", lambda value: value, ["value"])], parameters={"value": 0.0}))
    graph.add(signals.hold("held", "u.y", period, offset=offset))
    graph.add(signals.sampled_pid("pid", "held.y", kp=0.4, ki=2.0, kd=1e-3, period=period, offset=offset))
    fmu(graph, path, t_end=0.5, t_start=offset, version=version, inputs=["u.value"], outputs=["pid.y"], kinds=["co-simulation"])
    return path
