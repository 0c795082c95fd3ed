"""Commands run saved model files with changes, and show them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from screwbond.models.cli import main

from bondgraph import J1, Automaton, Graph, I, R, Transition, save_model, simulate
from campaigns.small_models import SMALL


@pytest.fixture
def drive(tmp_path: Path) -> Path:
    return save_model(SMALL["drive"](), tmp_path / "drive.json")


def test_a_run_has_the_numbers_of_the_script(drive: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    changes = ["--set", "winding.resistance=3", "--set", "coil.p=0.002"]
    assert main(["run", str(drive), "--t-end", "0.2", *changes, "--out", str(out), "--only", "trajectory.npz,events"]) == 0
    expected = simulate(SMALL["drive"](), 0.2, parameters={"winding.resistance": 3.0}, initial={"coil.p": 0.002}, progress=False)
    with np.load(out / "trajectory.npz") as found:
        assert set(found) == {"t", *expected.names()}
        for name in expected.names():
            np.testing.assert_array_equal(found[name], expected[name], err_msg=name)
    summary = json.loads((out / "summary.json").read_text(encoding="utf-8"))
    assert summary["completed"] and summary["changed"] == {"winding.resistance": 3, "coil.p": 0.002}
    assert "drive: 0.2 s" in capsys.readouterr().out


def test_a_change_is_a_number_a_matrix_or_a_state(tmp_path: Path) -> None:
    """The name of a changed parameter may contain an equals sign."""
    graph, v = Graph("g"), J1("v", dimension=2)
    graph.connect(v, I("a=b", [1.0, 2.0])).connect(v, R("r", effort=lambda f, A: A @ f, parameters={"A": np.eye(2)}))
    graph.add_automaton(Automaton("mode", ("one", "other"), "one", (Transition("one", "other", lambda t: t - 9.0, "time"),)))
    path, out = save_model(graph, tmp_path / "g.json"), tmp_path / "out"
    changes = ["--set", "a=b.p=[1, 2]", "--set", "r.A=[[1, 2], [0, 3]]", "--set", "mode=other"]
    assert main(["run", str(path), "--t-end", "0.2", *changes, "--out", str(out), "--only", "trajectory.npz"]) == 0
    given = {"parameters": {"r.A": [[1.0, 2.0], [0.0, 3.0]]}, "initial": {"a=b.p": [1.0, 2.0], "mode": "other"}}
    expected = simulate(graph, 0.2, **given, progress=False)
    with np.load(out / "trajectory.npz") as found:
        np.testing.assert_array_equal(found["a=b.p"], expected["a=b.p"])
        assert found["mode.mode"].all()
    summary = json.loads((out / "summary.json").read_text(encoding="utf-8"))
    assert summary["changed"] == {"a=b.p": [1, 2], "r.A": [[1, 2], [0, 3]], "mode": "other"}


def test_a_saved_run_keeps_the_named_quantities(drive: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["run", str(drive), "--t-end", "0.2", "--keep", "coil.p", "--keep", "winding.effort", "--out", str(tmp_path / "out")]
    assert main([*given, "--only", "trajectory.npz"]) == 0
    expected = simulate(SMALL["drive"](), 0.2, progress=False)
    with np.load(tmp_path / "out" / "trajectory.npz") as found:
        assert set(found) == {"t", "coil.p", "winding.effort", *expected.program.layout.names("p")}
        np.testing.assert_array_equal(found["winding.effort"], expected["winding.effort"])
    assert "drive: 0.2 s" in capsys.readouterr().out


def test_a_model_is_shown(drive: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", str(drive), "--out", str(tmp_path / "out"), "--only", "report.txt"]) == 0
    report = (tmp_path / "out" / "report.txt").read_text(encoding="utf-8")
    assert report.strip() in capsys.readouterr().out and "winding" in report


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["model.py", "--t-end", "1"], "E358"),
        (["nothing.json", "--t-end", "1"], "E357"),
        (["{drive}", "--t-end", "1", "--set", "winding.resistance"], "E359"),
        (["{drive}", "--t-end", "1", "--set", "winding.resistance=three"], "E359"),
        (["{drive}", "--t-end", "1", "--set", "winding.resistance=[[1], [2, 3]]"], "E359"),
        (["{drive}", "--t-end", "1", "--set", "winding.resistance=[1, 2]"], "E124"),
        (["{drive}", "--t-end", "1", "--set", "wind=3"], "E121"),
        (["{drive}", "--t-end", "1", "--keep", "wind"], "E346"),
    ],
)
def test_unrunnable_models_are_refused(
    drive: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], code: str
) -> None:
    given = [str(drive) if word == "{drive}" else word for word in arguments]
    assert main(["run", *given, "--out", str(tmp_path / "out")]) == 2
    assert code in capsys.readouterr().err and not (tmp_path / "out").exists()
