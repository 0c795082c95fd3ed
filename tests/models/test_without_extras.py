"""Commands and tasks write their files with only the required packages, and name missing extras."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from screwbond.models import movie, poster, rigid_body, show, still
from screwbond.models.cli import COMMANDS

from bondgraph import J1, C, Graph, R, simulate
from bondgraph.errors import ExtraError
from tests.inner.models_delta import TASKS

ROOT = Path(__file__).parents[2]
SCENARIO = ROOT / "tests" / "models" / "data" / "S1a.json"

BLOCKED = """
import importlib.abc, json, sys
from pathlib import Path

class Blocked(importlib.abc.MetaPathFinder):
    names = {"matplotlib", "pyvista", "vtk", "vtkmodules", "PIL", "imageio", "imageio_ffmpeg", "pandas", "control", "mujoco"}
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in self.names:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return None

sys.meta_path.insert(0, Blocked())
from screwbond.models.cli import main
for arguments in json.loads(sys.argv[1]):
    print("\\n#", *arguments, file=sys.stderr)
    print("status", main(arguments), flush=True)
"""
COMMON = ("summary.json", "graph.svg")
RUNS = {
    "contact": (
        ["contact", str(SCENARIO)],
        {*COMMON, "trajectory.npz", "events.json", "equations.tex", "page.html", "scene.glb"},
    ),
    "simulate": (
        ["delta", "simulate", "--params", "fit", "--t-end", "0.01"],
        {*COMMON, "trajectory.npz", "trajectory.csv", "singularities.json", "arm.svg", "equations.tex"},
    ),
    "linearise": (["delta", "linearise", "--params", "fit"], {*COMMON, "linear.npz", "poles.csv", "arm.svg", "equations.tex"}),
    "soft-touch": (["delta", "soft-touch", "--params", "fit", "--until", "0.01"], {*COMMON, "touch.csv", "events.json"}),
    "workspace": (["delta", "workspace", "--params", "fit", "--points", "5"], {"workspace.npz", "summary.json"}),
    "hand": (
        ["hand"],
        {*COMMON, "trajectory.npz", "study.csv", "events.json", "scenario.json", "equations.tex", "page.html", "scene.glb"},
    ),
    "impact": (["impact", "--poses", "2"], {"summary.json", "laws.npz", "masses.csv", "poses.csv", "impacts.npz"}),
    "maze": (["maze"], {*COMMON, "trajectory.npz", "events.json", "maze.json", "equations.tex", "scene.glb"}),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("out")
    short = folder / "short.json"
    short.write_text(json.dumps({"t_end": 0.01, "motion": []}))
    runs = {name: [*given, "--out", str(folder / name)] for name, (given, _) in RUNS.items()}
    runs["hand"] += ["--scenario", str(short)]
    command = [sys.executable, "-c", BLOCKED, json.dumps([*runs.values(), ["info"]])]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    (folder / "stdout").write_text(done.stdout)
    (folder / "stderr").write_text(done.stderr)
    return folder


def test_every_command_and_task_is_run():
    others = {"diagram", "examples", "export", "info", "run", "show", "sweep", "warm"}  # these draw nothing that needs an extra
    assert {command.name for command in COMMANDS} == {given[0] for given, _ in RUNS.values()} | others
    assert set(TASKS) <= set(RUNS)


@pytest.mark.release
def test_all_end_well(folder):
    said = (folder / "stdout").read_text()
    assert said.count("status 0\n") == len(RUNS) + 1, said + (folder / "stderr").read_text()
    assert 'pip install "screwbond[viz]"' in said  # of info


@pytest.mark.release
@pytest.mark.parametrize("name", RUNS)
def test_files_without_extras_are_written(folder, name):
    assert {path.name for path in (folder / name).iterdir()} == RUNS[name][1]


@pytest.mark.release
@pytest.mark.parametrize("name", RUNS)
def test_one_line_names_the_missing_extras(folder, name):
    parts = {part.splitlines()[0]: part.splitlines()[1:] for part in (folder / "stderr").read_text().split("\n# ")[1:]}
    said = [lines for given, lines in parts.items() if f"/{name} " in given + " "]
    (lines,) = said
    assert len([line for line in lines if line]) == 1 and 'pip install "screwbond[viz]"' in lines[0], lines


@pytest.fixture
def no_extras(monkeypatch):
    for name in ("matplotlib", "pandas", "control", "PIL"):
        monkeypatch.setitem(sys.modules, name, None)


def discharge():
    graph, loop = Graph("rc"), J1("loop")
    return simulate(graph.connect(loop, C("c", capacitance=1.0, initial=1.0)).connect(loop, R("r", 1.0)), 1.0)


def test_missing_extras_are_named(no_extras, tmp_path):
    from tests.inner.models_pictures import plot_signals

    result = discharge()
    with pytest.raises(ExtraError, match=r'E416 .*pandas is not installed; try: pip install "screwbond\[tables\]"') as caught:
        result.to_dataframe()
    assert isinstance(caught.value, ImportError)
    with pytest.raises(ExtraError, match=r'E416 .*matplotlib is not installed; try: pip install "screwbond\[viz\]"'):
        plot_signals(result, {"c.q": "charge"}, tmp_path / "courses.png")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "draw", [still, poster, movie, lambda result, path: show(result)], ids=["still", "poster", "movie", "show"]
)
def test_every_picture_of_bodies_names_a_missing_pyvista(draw, monkeypatch, tmp_path):
    graph = Graph("thrown")
    graph.add(rigid_body("ball", mass=1.0, inertia=(1.0, 1.0, 1.0)))
    result = graph.simulate(0.1)
    monkeypatch.setitem(sys.modules, "pyvista", None)
    with pytest.raises(ExtraError, match=r'E416 .*pyvista is not installed; try: pip install "screwbond\[viz\]"'):
        draw(result, tmp_path / "ball.mp4" if draw is movie else tmp_path / "ball.png")
    assert not list(tmp_path.iterdir())
