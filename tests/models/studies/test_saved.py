"""The commands for files of models: run with changes, shown, scripts refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from bondgraph import save_model, simulate
from campaigns.small_models import SMALL
from models.cli import main


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


def test_a_run_keeps_what_is_named(drive: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
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
        (["{drive}", "--t-end", "1", "--set", "wind=3"], "E122"),
        (["{drive}", "--t-end", "1", "--keep", "wind"], "E346"),
    ],
)
def test_what_cannot_be_run(
    drive: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], code: str
) -> None:
    given = [str(drive) if word == "{drive}" else word for word in arguments]
    assert main(["run", *given, "--out", str(tmp_path / "out")]) == 2
    assert code in capsys.readouterr().err and not (tmp_path / "out").exists()
