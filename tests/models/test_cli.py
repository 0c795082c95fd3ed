"""The command line writes every file and returns the right exit status."""

from __future__ import annotations

import inspect
import json
import os
import warnings
from pathlib import Path

import numpy as np
import pytest
from screwbond.models.cli import main

from bondgraph import warming
from bondgraph.errors import RoundingWarning
from bondgraph.methods import METHODS
from tests.inner.models_studies import Command

DATA = Path(__file__).parent / "data"
SCENARIO = next(iter(sorted(DATA.glob("S1a*.json"))))
FILES = {"trajectory.npz", "events.json", "summary.json", "graph.svg", "equations.tex"}
KEYS = {
    "t",
    "p1",
    "q1_wxyz",
    "v1",
    "w1_body",
    "p2",
    "q2_wxyz",
    "v2",
    "w2_body",
    "gap",
    "gapdot",
    "vx",
    "vy",
    "wz",
    "fn",
    "fx",
    "fy",
    "tx",
    "ty",
    "tz",
    "force_on_2_world",
    "cp1_O1",
    "cp2_O2",
    "uv1",
    "uv2",
    "alpha",
    "spring",
    "E",
    "Ediss",
}


def test_contact_writes_trajectory_events_summary_graph_and_equations(tmp_path: Path, capsys) -> None:
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "poster.png").write_bytes(b"of another run")
    assert main(["contact", str(SCENARIO), "--out", str(tmp_path / "new"), "--no-render"]) == 0
    assert {path.name for path in (tmp_path / "new").iterdir()} == FILES
    arrays = np.load(tmp_path / "new" / "trajectory.npz")
    assert set(arrays.files) >= KEYS
    scenario = json.loads(SCENARIO.read_text())
    assert arrays["t"][0] == 0.0 and arrays["t"][-1] == pytest.approx(scenario["t_end"], rel=1e-12)
    events = json.loads((tmp_path / "new" / "events.json").read_text())
    kinds = [event["kind"] for event in events if not event["internal"]]
    assert kinds == ["contact on", "contact off"]
    assert events[0]["time"] == pytest.approx(0.0377504460, abs=1e-10)
    assert any(event["internal"] for event in events)  # the trajectory passes near a pole
    summary = json.loads((tmp_path / "new" / "summary.json").read_text())
    assert summary["completed"] and summary["ledger_residual"] < 1e-11
    assert summary["peak_force"]["value"] == pytest.approx(21.99746, rel=1e-6)
    assert set(summary["wall_time"]) == {"build", "compile", "run"}
    assert "21.9975 N" in capsys.readouterr().out


def test_a_run_that_ends_early_is_written_and_says_so(tmp_path: Path, capsys) -> None:
    scenario = json.loads(SCENARIO.read_text())
    scenario["contact"]["k_n"] = 1.0  # so soft that the second egg dives through the centre of the first
    for body, x, speed in (("body1", 0.0, 0.0), ("body2", 0.08, -1.0)):
        scenario[body] |= {"p0": [x, 0.0, 0.0], "v0_com_world": [speed, 0.0, 0.0], "omega0_world": [0.0, 0.0, 0.0]}
        scenario[body]["quat0_wxyz"] = [1.0, 0.0, 0.0, 0.0]
    path = tmp_path / "soft.json"
    path.write_text(json.dumps(scenario))
    assert main(["contact", str(path), "--out", str(tmp_path / "out"), "--no-render"]) == 1
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert not summary["completed"] and "focal distance" in summary["failure"]
    assert summary["t_end"] < scenario["t_end"]
    assert "focal distance" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "says"), [({"t_end": -1.0}, "t_end"), ({"tend": 1.0}, "tend"), ({"gravity": {"type": "unifrom"}}, "unifrom")]
)
def test_bad_scenarios_write_nothing(tmp_path: Path, capsys, change: dict, says: str) -> None:
    path = tmp_path / "bad.json"
    path.write_text(json.dumps(json.loads(SCENARIO.read_text()) | change))
    assert main(["contact", str(path), "--out", str(tmp_path / "out")]) == 2
    assert says in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_an_output_place_that_cannot_be_written_is_refused_before_any_work(tmp_path: Path, capsys) -> None:
    (tmp_path / "file").write_text("")
    assert main(["contact", str(SCENARIO), "--out", str(tmp_path / "file" / "below")]) == 2
    assert "E413" in capsys.readouterr().err


def test_tolerances_out_of_range_are_refused(tmp_path: Path, capsys) -> None:
    assert main(["contact", str(SCENARIO), "--out", str(tmp_path / "out"), "--rtol", "2.0"]) == 2
    assert "E302" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.skipif(os.name != "posix", reason="links and names of POSIX")
def test_bad_numbers_and_places_end_with_one_line_before_any_work(tmp_path: Path, capsys) -> None:
    (tmp_path / "dangling").symlink_to("/nonexistent/place")
    (tmp_path / "taken" / "graph.svg").mkdir(parents=True)
    before = sorted(tmp_path.rglob("*"))
    commands = (
        ["contact", str(SCENARIO)],
        ["hand", "--scenario", "main"],
        *(["delta", task, "--params", "fit"] for task in ("simulate", "linearise", "soft-touch")),
    )
    for command in commands:
        for place, code in (("x" * 300, "E413"), ("dangling", "E413"), ("a\0b", "E413"), ("taken", "E417")):
            assert main([*command, "--out", str(tmp_path / place)]) == 2
            said = capsys.readouterr().err
            assert said.startswith(f"screwbond: {code} ") and said.count("\n") == 1, said
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("points", ["-1", "1", "301", "9" * 30])
def test_a_workspace_has_a_size(tmp_path: Path, capsys, points: str) -> None:
    given = ["delta", "workspace", "--params", "fit", "--no-render", "--points", points]
    assert main([*given, "--out", str(tmp_path / "out")]) == 2
    assert "E466" in capsys.readouterr().err and not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("error", "status", "says"),
    [
        (OSError(28, "No space left on device"), 2, "No space left on device"),
        (MemoryError(), 2, "not enough memory"),
        (ZeroDivisionError("division by zero"), 2, "internal error, please report: ZeroDivisionError: division by zero"),
        (KeyboardInterrupt(), 130, "nothing is written"),
    ],
)
def test_whatever_happens_ends_with_one_line(capsys, error: BaseException, status: int, says: str) -> None:
    def fails(_: object) -> int:
        raise error

    assert main(["fail"], [Command("fail", "", lambda parser: None, fails)]) == status
    said = capsys.readouterr().err
    assert said.startswith("screwbond: ") and says in said and said.count("\n") == 1


def test_a_warning_is_one_line_without_a_place_in_python(capsys) -> None:
    def doubts(_: object) -> int:
        warnings.warn('"main": the tolerance lies below the rounding', RoundingWarning, stacklevel=2)
        return 0

    assert main(["doubt"], [Command("doubt", "", lambda parser: None, doubts)]) == 0
    assert capsys.readouterr().err == 'screwbond: warning: "main": the tolerance lies below the rounding\n'


def test_info_names_versions_and_rendering(capsys) -> None:
    assert main(["info"]) == 0
    out = capsys.readouterr().out
    assert "numpy" in out and "rendering:" in out


def test_warm_compiles_all_code_that_no_model_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    made: list[str] = []
    monkeypatch.setattr(warming, "PARTS", {name: lambda name=name: made.append(name) for name in warming.PARTS})
    monkeypatch.setenv("SCREWBOND_CACHE", str(tmp_path))
    assert main(["warm"]) == 0
    assert made == list(warming.PARTS)
    *lines, last = capsys.readouterr().out.splitlines()
    assert [line.split(" s  ")[1] for line in lines] == made[: len(lines)] and last.endswith(f"in all, kept in {tmp_path}")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("place", "why"), [("off", "SCREWBOND_CACHE disables it"), ("file/folder", "cannot be written: ")])
def test_nothing_is_warmed_that_would_not_be_kept(place, why, tmp_path, monkeypatch, capsys) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr(warming, "PARTS", {"all": lambda: pytest.fail("compiled in vain")})
    monkeypatch.setenv("SCREWBOND_CACHE", place if place == "off" else str(tmp_path / place))
    assert main(["warm"]) == 2
    told = capsys.readouterr().err
    assert "E399" in told and why in told and "SCREWBOND_CACHE=FOLDER" in told


def test_warming_compiles_all_procedures() -> None:
    root = Path(warming.__file__).parent
    using = {path for path in root.rglob("*.py") if "compile_written" in path.read_text(encoding="utf-8")}
    methods = {Path(inspect.unwrap(entry.load().machine_code).__code__.co_filename) for entry in METHODS.values()}
    others = {Path(inspect.unwrap(make).__code__.co_filename) for make in warming.PARTS.values()} - {Path(warming.__file__)}
    assert methods | others | {root / "emit" / "llvm.py"} == using


CAR = """
from bondgraph import C, Graph, I, J1, R

def build(stiffness=2e4):
    graph, body = Graph("car"), J1("body", domain="translation")
    return graph.connect(body, C("spring", stiffness=stiffness)).connect(body, I("mass", 300.0)).connect(body, R("damper", 900.0))

graph = build()
number = 3

def fail():
    raise RuntimeError("no tyres")
"""


@pytest.fixture
def car(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "car.py").write_text(CAR)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("ending", ["svg", "pdf", "png", "tex"])
def test_diagram_draws_the_graph_of_a_file(car: Path, capsys: pytest.CaptureFixture[str], ending: str) -> None:
    assert main(["diagram", "car.py", f"car.{ending}"]) == 0
    assert capsys.readouterr().out == f"car.{ending}\n" and (car / f"car.{ending}").stat().st_size > 1000


def test_diagram_takes_every_option(car: Path) -> None:
    options = ["--values", "--labels", "--no-legend", "--title", "", "--colours", "black"]
    assert main(["diagram", "car.py:build", "a.svg", *options]) == 0
    drawn = (car / "a.svg").read_text(encoding="utf-8")
    assert "stiffness = 2e+04 N/m" in drawn and 'class="effort"' in drawn and "#c8374b" not in drawn
    assert 'class="title"' not in drawn and "causal stroke" not in drawn
    assert main(["diagram", "examples.rolling_eggs:build", "b.svg"]) == 2
    assert main(["diagram", "tests.render.graphs:touching_bodies", "b.svg", "--fold", "body 1", "--fold", "contact"]) == 0
    assert (car / "b.svg").read_text(encoding="utf-8").count('class="folded"') == 2
    assert main(["diagram", "tests.render.graphs:touching_bodies", "b.svg", "--fold", "all", "--unfold", "body 2"]) == 0
    assert (car / "b.svg").read_text(encoding="utf-8").count('class="folded"') == 2


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("lorry.py", 'E587 there is no file "lorry.py"'),
        ("lorry", 'E587 there is no module "lorry"'),
        ("car.py:motor", 'E587 "car.py" has no "motor"\n  try: car.py:graph'),
        ("car.py:number", 'E587 "car.py:number" is of type int'),
        ("car.py:fail", 'E588 "car.py" raises an error: RuntimeError: no tyres\n  at car.py:12'),
    ],
)
def test_the_diagram_command_names_missing_parts(car: Path, capsys: pytest.CaptureFixture[str], given: str, said: str) -> None:
    assert main(["diagram", given, "x.svg"]) == 2
    assert said in capsys.readouterr().err
    assert not (car / "x.svg").exists()
