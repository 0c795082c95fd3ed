"""Kinematics, statics, start values, torques and singular configurations of the delta robot, as users see them."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from screwbond.models.cli import main
from screwbond.models.delta import DeltaParameters, DeltaRobot
from screwbond.models.motion import quintic

from bondgraph.errors import ModelError
from tests.models.delta import delta_independent as independent

SETS = {"fit": DeltaParameters.fit(), "lab": DeltaParameters.lab()}
ROBOTS = {name: DeltaRobot(p) for name, p in SETS.items()}
Y = np.array([0.6, 0.8, 0.95])


@pytest.mark.parametrize("name", SETS)
def test_statics_and_inertia_against_the_independent_equations(name):
    robot, p = ROBOTS[name], independent.SETS[name]
    q = independent.assemble(p, Y)
    holding = independent.holding_torque(p, q)
    assert np.abs(robot.gravity_torque(Y) - holding).max() < 1e-12 * np.abs(holding).max()
    for torque in np.eye(3):
        a, _ = independent.acceleration(p, q, np.zeros(9), holding + torque)
        assert np.abs(robot.inertia(Y) @ a[::3] - torque).max() < 1e-12


@pytest.mark.parametrize("name", SETS)
def test_kinematics_there_and_back(name):
    robot = ROBOTS[name]
    posture = robot.forward_kinematics(Y)
    assert np.abs(robot.inverse_kinematics(posture.w) - Y).max() < 1e-12
    step = 1e-6 * np.array([1.0, -2.0, 0.5])
    moved = robot.forward_kinematics(Y + step).w - robot.forward_kinematics(Y - step).w
    assert np.abs(robot.jacobian(Y) @ (2.0 * step) - moved).max() < 1e-13


@pytest.mark.parametrize("form", ["lagrangian", "hamiltonian"])
def test_torques(form):
    robot = DeltaRobot(SETS["lab"], form=form)
    held = robot.simulate(1.0, w=(0.05, -0.1, 0.8), torque="hold", rtol=1e-10)
    assert np.abs(held.w - [0.05, -0.1, 0.8]).max() < 1e-10
    torque = np.array([-3.0, -2.5, -2.8])
    constant = robot.simulate(0.5, y=Y, torque=torque, rtol=1e-10, samples=0.1)
    assert np.abs([constant[f"motor {i}.effort"] - torque[i - 1] for i in (1, 2, 3)]).max() == 0.0
    slow = robot.simulate(0.5, y=Y, torque=quintic(torque, torque, -1.0, 0.0), rtol=1e-10, samples=0.1)
    assert np.abs(slow.q - constant.q).max() < 1e-9
    rising = robot.simulate(0.5, y=Y, torque=quintic(np.zeros(3), torque, 0.0, 0.25), rtol=1e-8, samples=0.1)
    assert rising["motor 2.effort"][[0, -1]] == pytest.approx([0.0, -2.5], abs=1e-15)


def test_a_start_with_rates():
    rates = np.array([1.0, -1.0, 0.5])
    for form in ("lagrangian", "hamiltonian"):
        run = DeltaRobot(SETS["fit"], form=form).simulate(0.01, y=Y, rates=rates, samples=0.001)
        assert np.abs(run["tool velocity"][0] - ROBOTS["fit"].jacobian(Y) @ rates).max() < 1e-14
        assert np.abs(run["y"][0] - Y).max() == 0.0
        assert np.abs(run.v[0, ::3] - rates).max() < 1e-13


def test_inconsistent_starts():
    """Tips 0.4 mm apart are brought together with a note, and tips 42 mm apart are refused."""
    robot = ROBOTS["fit"]
    posture = robot.forward_kinematics(Y)
    off = posture.q + 1e-3 * np.array([0, 1, 0, 0, 0, 0, 0, 0, 0.5])
    run = robot.simulate(0.01, q=off)
    assert "m apart" in run.notes[0] and len(run.notes) == 1
    assert np.abs(run.q[0] - posture.q).max() < 1e-12
    assert robot.simulate(0.01, q=posture.q, v=posture.dq_dy @ np.ones(3)).notes == ()
    moving = robot.simulate(0.01, q=posture.q, v=posture.dq_dy @ np.ones(3) + 1e-3 * np.eye(9)[1])
    assert "parted" in moving.notes[0] and np.abs(moving.v[0] - posture.dq_dy @ np.ones(3)).max() < 1e-12
    for arguments, words in (
        ({"q": posture.q + 0.1 * np.eye(9)[4]}, "m apart"),
        ({"q": posture.q, "v": np.eye(9)[4]}, "pull the arms apart"),
    ):
        with pytest.raises(ModelError, match=words) as caught:
            robot.simulate(0.01, **arguments)
        assert [problem.code for problem in caught.value.problems] == ["E467"]


@pytest.mark.parametrize(
    "arguments",
    [{"y": Y, "w": (0.0, 0.0, 0.4)}, {"y": Y, "v": np.zeros(9)}, {"torque": "stay"}, {"torque": quintic(0.0, 1.0, 0.0, 1.0)}],
    ids=["two starts", "rates of all angles without them", "word", "motion of one axis"],
)
def test_arguments_that_do_not_go_together(arguments):
    with pytest.raises(ModelError) as caught:
        ROBOTS["fit"].simulate(0.1, **arguments)
    assert [problem.code for problem in caught.value.problems] == ["E468"]


def test_unknown_form():
    with pytest.raises(ModelError, match="E468"):
        DeltaRobot(SETS["fit"], form="newtonian")


def test_poses_that_cannot_be_linearised_or_held():
    for work in (ROBOTS["fit"].linearise, ROBOTS["fit"].gravity_torque):
        with pytest.raises(ModelError, match="E463"):
            work((9.0, 0.0, 0.0))


def test_singular_configurations_are_reported_where_they_are():
    """In a symmetric drop the arms are stretched where the tool is lowest; the distal links are parallel where L1 cos y = L3 -
    L0."""
    p = SETS["fit"]
    run = ROBOTS["fit"].simulate(0.5, rtol=1e-10, samples=0.002)
    stretched = next(x for x in run.singular_postures if x.kind == "arm 2 is stretched or folded")
    assert stretched.w[2] == pytest.approx(np.sqrt((p.L1 + p.L2) ** 2 - (p.L0 - p.L3) ** 2), abs=1e-8)
    d = stretched.y[1]
    straight = np.hypot(p.L1 + p.L2 * np.cos(stretched.q[4] - d), p.L2 * np.sin(stretched.q[4] - d))
    assert straight == pytest.approx(p.L1 + p.L2, abs=1e-8)
    parallel = next(x for x in run.singular_postures if "parallel" in x.kind)
    assert parallel.y == pytest.approx([np.arccos((p.L3 - p.L0) / p.L1)] * 3, abs=1e-4)
    assert stretched.time < parallel.time < 0.5
    assert "at 0.23" in str(stretched) and "y = (1.7" in str(stretched)
    assert ROBOTS["fit"].simulate(0.1).singular_postures == ()


def test_near_misses_of_the_singularity_of_the_papers_angles():
    """Arm 1 swings past the axis of phi2 and phi3 at 1.4e-3 and 1.4e-4 rad, while phi3 turns at thousands of rad/s."""
    p = replace(SETS["fit"], DAMPING=0.0)
    robot = DeltaRobot(p)
    y = robot.inverse_kinematics((0.0, p.L0 - p.L3 + p.L1 * np.cos(0.9) - p.L2, p.L1 * np.sin(0.9) + 0.06))
    rates = np.linalg.solve(robot.jacobian(y), [0.0, 0.0, -3.0])
    for tilt, fastest in ((1e-2, 3000.0), (1e-3, 8000.0)):
        run = robot.simulate(0.1, y=y + np.array([0.0, tilt, 0.0]), rates=rates, rtol=1e-9, samples=2e-4)
        assert run.ok and np.abs(run.v[:, 2]).max() > 0.5 * fastest
        assert np.ptp(run.energy) < 1e-8 and run.drift.max() < 1e-9


# --- the command ------------------------------------------------------------------------------------------------------

FILES = {"trajectory.npz", "trajectory.csv", "singularities.json", "summary.json", "graph.svg", "arm.svg", "equations.tex"}


def test_simulate_command(tmp_path: Path, capsys) -> None:
    parameters = tmp_path / "robot.json"
    parameters.write_text(SETS["lab"].to_json(), encoding="utf-8")
    given = ["delta", "--params", str(parameters), "simulate", "--out", str(tmp_path / "out"), "--y", "0.6", "0.8", "0.95"]
    assert main([*given, "--t-end", "0.2", "--torque", "-3", "-3", "-3.5", "--no-render"]) == 0
    out = tmp_path / "out"
    assert {path.name for path in out.iterdir()} == FILES
    arrays = np.load(out / "trajectory.npz")
    expected = ROBOTS["lab"].simulate(0.2, y=Y, torque=(-3.0, -3.0, -3.5), samples=0.005, rtol=1e-9)
    assert np.array_equal(arrays["w"], expected.w) and arrays["t"][-1] == 0.2
    with (out / "trajectory.csv").open(encoding="utf-8") as file:
        rows = list(csv.reader(file))
    assert len(rows) == 1 + len(expected.t) and len(rows[0]) == len(rows[1]) == 33
    assert [float(row[rows[0].index("wz")]) for row in rows[1:]] == expected.w[:, 2].tolist()
    assert [float(row[rows[0].index("u3")]) for row in rows[1:]] == [-3.5] * len(expected.t)
    summary = json.loads((out / "summary.json").read_text())
    assert summary["completed"] and summary["w_end"] == expected.w[-1].tolist()
    assert set(summary["wall_time"]) == {"build", "compile", "run"}
    assert "0.2 s simulated" in capsys.readouterr().out


@pytest.mark.thorough
def test_linearise_command_with_pictures(tmp_path: Path, capsys) -> None:
    pytest.importorskip("matplotlib")
    assert main(["delta", "linearise", "--params", "fit", "--y", "0", "0", "0", "--out", str(tmp_path)]) == 0
    names = {"linear.npz", "poles.csv", "summary.json", "graph.svg", "arm.svg", "equations.tex"}
    assert {path.name for path in tmp_path.iterdir()} == names | {"poles_zeros.png", "bode.png", "sweep.png"}
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["minimal_order"] == 6 and len(summary["cancelled"]) == 12 and not summary["stable"]
    assert summary["crossing_degrees"] == pytest.approx(22.1524404150, abs=1e-8)
    assert max(real for real, _ in summary["poles"]) == pytest.approx(5.18684161527, abs=1e-9)
    printed = capsys.readouterr().out
    assert "unstable" in printed and "22.1524 degrees" in printed


def test_workspace_command(tmp_path: Path, capsys) -> None:
    """The workspace volume from a 41^3 grid is within 2 % of that from a finer grid."""
    given = ["delta", "workspace", "--params", "fit", "--no-render", "--points"]
    volumes = []
    for points in ("41", "81"):
        assert main([*given, points, "--out", str(tmp_path / points)]) == 0
        summary = json.loads((tmp_path / points / "summary.json").read_text())
        volumes.append(summary["volume"])
    assert volumes[0] == pytest.approx(volumes[1], rel=0.02)
    assert summary["best"][:2] == [0.0, 0.0] and summary["best_dexterity"] > 0.95
    arrays = np.load(tmp_path / "81" / "workspace.npz")
    assert arrays["reachable"].shape == (81, 81, 81) and arrays["y"].shape == (81, 81, 81, 3)
    assert "m^3" in capsys.readouterr().out
    assert main([*given, "1", "--out", str(tmp_path / "none")]) == 2 and "E466" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--params", "nowhere.json"], "E401"),
        (["--params", "fit", "--y", "9", "0", "0"], "E463"),
        (["--params", "fit", "--w", "0", "0", "0.9", "linearise"], "E463"),
    ],
)
def test_bad_input_is_refused_before_anything_is_written(arguments, says, tmp_path, capsys) -> None:
    assert main(["delta", *arguments, "--out", str(tmp_path / "out")]) == 2
    assert says in capsys.readouterr().err and not (tmp_path / "out").exists()
