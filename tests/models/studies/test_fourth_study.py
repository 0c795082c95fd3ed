"""A study in one file outside the package has all features of other studies once it is registered."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from screwbond.models.cli import COMMANDS, main

from bondgraph import J1, C, Graph, I, simulate
from bondgraph.errors import ModelError
from tests.inner.models_studies import Outcome, Task, end_summary, study_command
from tests.inner.output import missing_package
from tests.models.studies import pendulum_study
from tests.models.studies.pendulum_study import PENDULUM, TASK, Pendulum, graph

TABLE = (*COMMANDS, PENDULUM)
GIVEN = {"mass": 0.5, "stiffness": 40.0, "start": [0.3, 0.0], "t_end": 2.0}
DATA = {"trajectory.npz", "swing.csv", "graph.svg", "equations.tex", "summary.json"}


def command(folder: Path, values: object, *more: str) -> tuple[int, Path]:
    path, out = folder / "ball.json", folder / "out"
    path.write_text(json.dumps(values, indent=1))
    return main(["pendulum", str(path), "--out", str(out), *more], TABLE), out


def test_it_is_one_short_file() -> None:
    assert len(Path(pendulum_study.__file__).read_text().splitlines()) <= 100


def test_it_runs_and_writes_its_files(tmp_path: Path, capsys) -> None:
    status, out = command(tmp_path, GIVEN, "--no-render")
    assert status == 0 and {path.name for path in out.iterdir()} == DATA == set(TASK.names) - {"swing.png"}
    summary = json.loads((out / "summary.json").read_text())
    assert summary["completed"] and summary["t_end"] == 2.0 and summary["ledger_residual"] < 1e-8
    assert set(summary["wall_time"]) == {"build", "compile", "run"} and summary["solver"]["steps"] > 10
    arrays = np.load(out / "trajectory.npz")
    table = np.genfromtxt(out / "swing.csv", delimiter=",", names=True)
    assert np.array_equal(table["x"], arrays["place"][:, 0]) and arrays["t"][-1] == 2.0
    assert f"{summary['largest_length']:.4f} m long" in (said := capsys.readouterr().out) and f"files in {out}" in said


def test_energy_of_spring_weight_and_ball_is_constant(tmp_path: Path) -> None:
    _, out = command(tmp_path, GIVEN, "--no-render", "--rtol", "1e-11")
    arrays = np.load(out / "trajectory.npz")
    t, place = arrays["t"], arrays["place"]
    # Central differences of fourth order at the middle of the run.
    k = len(t) // 2
    v = (place[k - 2] - 8.0 * place[k - 1] + 8.0 * place[k + 1] - place[k + 2]) / (12.0 * 0.01)
    energy = 0.25 * v @ v + 20.0 * (np.linalg.norm(place[k]) - 0.3) ** 2 + 0.5 * 9.81 * place[k, 1]
    # Its error is 0.01^4 / 30 of the fifth derivative, about 0.5 (80 / s^2)^(5/2) m.
    assert energy == pytest.approx(0.0, abs=0.5 * 2.0 * np.linalg.norm(v) * 0.01**4 / 30.0 * 0.5 * 80.0**2.5)


def test_it_has_a_picture(tmp_path: Path) -> None:
    if missing_package("matplotlib"):
        pytest.skip("no plots")
    status, out = command(tmp_path, GIVEN)
    assert status == 0 and {path.name for path in out.iterdir()} == set(TASK.names)
    assert (out / "swing.png").stat().st_size > 5000


def test_a_run_that_ends_early_is_written_and_says_so(tmp_path: Path, capsys) -> None:
    """The solution of x'' = 4 x^3 from x = 1 is infinite at 0.93 s."""
    runaway, velocity = Graph("runaway"), J1("velocity", domain="translation")
    runaway.connect(velocity, I("mass", 1.0)).connect(velocity, C("hill", energy=lambda x: -x * x * x * x, initial=1.0))
    result = simulate(runaway, 2.0)
    outcome = Outcome(end_summary(result), {}, ["runaway"], notes=["steep"], failure=result.failure)
    task = Task("run away", lambda options: None, lambda given, options: outcome, files=())
    assert main(["run", "--out", str(tmp_path / "out")], [study_command("run", task)]) == 1
    said = capsys.readouterr()
    assert said.out == f"runaway\n  files in {tmp_path / 'out'}\nnote: steep\n"
    assert said.err == f"screwbond: {result.failure}\n"
    assert not json.loads((tmp_path / "out" / "summary.json").read_text())["completed"]


@pytest.mark.parametrize(
    ("changes", "code", "says"),
    [
        ({"mass": -1.0}, "E407", "mass: -1 where more than 0 is needed"),
        ({"mass": "heavy"}, "E405", "mass: text where a number (kg) is needed"),
        ({"start": [0.1]}, "E405", "start: a list of 1 where a list of 2 numbers (m) is needed"),
        ({"medium": "oli"}, "E408", 'did you mean "oil"'),
        ({"massive": 1.0}, "E404", "massive: unknown key"),
        ({"mass": None}, "E405", "mass: null where a number (kg) is needed"),
    ],
)
def test_a_bad_field_is_refused_with_its_place(tmp_path: Path, capsys, changes: dict, code: str, says: str) -> None:
    values = GIVEN | changes
    status, out = command(tmp_path, values)
    said = capsys.readouterr().err
    (key,) = changes
    line = next(k for k, text in enumerate(json.dumps(values, indent=1).splitlines(), start=1) if f'"{key}":' in text)
    assert status == 2 and code in said and says in said and f"ball.json:{line}" in said and not out.exists()


def test_a_record_of_a_program_is_refused() -> None:
    with pytest.raises(ModelError, match=r"E480 mass = 0 is invalid for the pendulum\n  it must be more than 0 kg\n"):
        Pendulum(0, 40.0, start=(0.3, 0.0))


def test_help_names_every_field_with_its_unit(capsys) -> None:
    with pytest.raises(SystemExit):
        main(["pendulum", "--help"], TABLE)
    said = " ".join(capsys.readouterr().out.split())
    for part in (
        "mass kg of the ball (above 0)",
        "stiffness N/m of the spring (above 0)",
        "length m of the relaxed spring (0 or more; default 0.3)",
        "medium word what it swings in (vacuum, oil; default vacuum)",
        "start 2 x m place of the ball, to the side and up",
        "Writes trajectory.npz, swing.csv, graph.svg, equations.tex, summary.json, swing.png.",
    ):
        assert part in said


def test_a_fourth_study_is_listed_with_the_others(capsys) -> None:
    with pytest.raises(SystemExit):
        main(["--help"], TABLE)
    said = capsys.readouterr().out
    assert "pendulum  run a spring pendulum" in said and all(command.name in said for command in COMMANDS)


def test_oil_dissipates(tmp_path: Path) -> None:
    _, out = command(tmp_path, GIVEN | {"medium": "oil"}, "--no-render")
    energy = json.loads((out / "summary.json").read_text())["energy"]
    assert energy["dissipated"] > 1e-3 and graph(Pendulum(**GIVEN)).name == "pendulum"
