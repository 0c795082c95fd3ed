"""Poles, zeros, cancellations and order of the delta robot agree with independent values."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.linalg import block_diag
from screwbond.models.delta import (
    DeltaParameters,
    DeltaRobot,
    equilibrium,
    frequency_response,
    instability_angle,
    linearise_reduced,
    pole_zero_map,
    sweep_poles,
)

from bondgraph.errors import ModelError
from tests.inner.models_delta import theta_rate
from tests.models.delta import delta_independent as independent

SETS = {"fit": DeltaParameters.fit(), "lab": DeltaParameters.lab()}
ROBOTS = {name: DeltaRobot(p) for name, p in SETS.items()}
REFERENCE = json.loads(Path(__file__).with_name("delta_reference.json").read_text(encoding="utf-8"))
ANGLES = {"pi/4": 0.25 * np.pi, "0": 0.0}
CASES = [(name, at) for name in SETS for at in ANGLES]


def recorded(name: str, at: str) -> np.ndarray:
    return np.array([complex(*pair) for pair in REFERENCE[name][at]["poles"]])


def apart(found: np.ndarray, expected: np.ndarray) -> float:
    from scipy.optimize import linear_sum_assignment

    assert len(found) == len(expected)
    distance = np.abs(found[:, None] - expected[None, :])
    return float(distance[linear_sum_assignment(distance)].max())


@pytest.mark.parametrize(("name", "at"), CASES)
def test_six_poles_and_twelve_cancellations(name, at):
    shown = pole_zero_map(ROBOTS[name].linearise((ANGLES[at],) * 3))
    assert apart(shown.poles, recorded(name, at)) < 1e-9
    assert len(shown.zeros) == 0 and len(shown.cancelled_poles) == len(shown.cancelled_zeros) == 12
    assert np.abs(np.concatenate([shown.cancelled_poles, shown.cancelled_zeros]) + 5.0).max() < 1e-5


def test_the_poles_of_the_paper():
    """The poles are those of Bortoff 2018, fig. 5."""
    swings = linearise_reduced(ROBOTS["fit"], (0.25 * np.pi,) * 3).poles()
    assert np.all(np.abs(swings.real + 0.5) < 0.35) and np.all(np.abs(np.abs(swings.imag) - 5.5) < 0.55)
    poles = linearise_reduced(ROBOTS["fit"], (0.0,) * 3).poles()
    real, pairs = np.sort(poles[np.abs(poles.imag) < 1e-9].real), poles[np.abs(poles.imag) > 1e-9]
    assert real == pytest.approx([-6.5, 5.2], rel=0.005)
    assert len(pairs) == 4 and np.all(np.abs(np.abs(pairs.imag) - 1.0) < 0.05) and np.all(np.abs(pairs.real + 2.0) < 0.25)
    assert 22.0 < np.rad2deg(instability_angle(ROBOTS["fit"])) < 22.5


@pytest.mark.parametrize("form", ["lagrangian", "hamiltonian"])
@pytest.mark.parametrize(("name", "at"), CASES)
def test_reduced_system(name, at, form):
    small = linearise_reduced(DeltaRobot(SETS[name], form=form), (ANGLES[at],) * 3)
    A, B = independent.reduced(independent.SETS[name], (ANGLES[at],) * 3)
    assert np.abs(small.A - A).max() < 1e-11 * np.abs(A).max()
    assert np.abs(small.B - B).max() < 1e-11 * np.abs(B).max()
    assert apart(small.poles(), recorded(name, at)) < 1e-10


@pytest.mark.parametrize(("name", "at"), CASES)
def test_whole_system(name, at):
    """The minimal order is 6, or 4 with a single input."""
    linear = ROBOTS[name].linearise((ANGLES[at],) * 3)
    A, B, _, _ = independent.linearise(independent.SETS[name], (ANGLES[at],) * 3)
    order = independent.BY_ARMS
    # from the angles phi to the coordinates of the arms; at rest the same matrix maps their rates
    phi = ROBOTS[name].forward_kinematics((ANGLES[at],) * 3).q.reshape(3, 3)
    turn = block_diag(*(np.stack([theta_rate(x, e) for e in np.eye(3)], axis=1) for x in phi for _ in range(2)))
    A, B = turn @ A[np.ix_(order, order)] @ np.linalg.inv(turn), turn @ B[order]
    assert np.abs(linear.A - A).max() < 1e-11 * np.abs(A).max()
    assert np.abs(linear.B - B).max() < 1e-11 * np.abs(B).max()
    assert linear.minimal().order == 6
    assert linear.part("motor 1.torque", linear.outputs).minimal().order == 4
    assert linear.inputs == ("motor 1.torque", "motor 2.torque", "motor 3.torque") and linear.outputs == ("y[0]", "y[1]", "y[2]")


def test_unequal_motor_angles_give_six_poles_and_twelve_cancellations():
    y = (0.2, 0.5, 0.9)
    shown = pole_zero_map(ROBOTS["fit"].linearise(y))
    assert len(shown.cancelled_poles) == 12
    assert apart(shown.poles, independent.poles(independent.SETS["fit"], y)) < 1e-9


@pytest.mark.parametrize("name", SETS)
def test_the_unstable_root_is_zero_at_the_recorded_angle(name):
    angle = instability_angle(ROBOTS[name])
    assert np.rad2deg(angle) == pytest.approx(REFERENCE[name]["crossing_deg"], abs=1e-9)
    around = sweep_poles(ROBOTS[name], [angle - 0.01, angle + 0.01])
    assert around.rightmost[0] > 0.0 > around.rightmost[1]
    with pytest.raises(ModelError, match="E469"):
        instability_angle(ROBOTS[name], 0.0, 0.1)


@pytest.mark.parametrize(("name", "at"), CASES)
def test_equilibrium(name, at):
    rest = equilibrium(ROBOTS[name], (ANGLES[at],) * 3)
    assert rest.residual < 1e-12
    assert rest.torque == pytest.approx(REFERENCE[name][at]["torque"], rel=1e-12)


def test_gravity_compensation_leaves_every_pose_an_equilibrium():
    """With u = gravity_torque(y), three eigenvalues of A + B du/dy are zero."""
    robot, y = ROBOTS["fit"], np.array([0.1, 0.3, 0.5])
    small, h = linearise_reduced(robot, y), 1e-5
    slope = np.stack([(robot.gravity_torque(y + h * e) - robot.gravity_torque(y - h * e)) / (2.0 * h) for e in np.eye(3)], axis=1)
    closed = small.A.copy()
    closed[:, :3] += small.B @ slope
    poles = np.linalg.eigvals(closed)
    assert np.sum(np.abs(poles) < 1e-6) == 3 and np.sum(poles.real < -0.1) == 3


def test_frequency_response_matches_a_small_sine():
    from bondgraph import signals

    robot, y, omega, size = ROBOTS["fit"], (0.25 * np.pi,) * 3, 4.0, 1e-4
    expected = frequency_response(robot, y, np.array([omega]))[0, 0, 0]
    wave = signals.sine("wave", size, omega, 0.0)
    still = [signals.sine(f"still {i}", 0.0, 1.0, 0.0) for i in (2, 3)]
    period = 2.0 * np.pi / omega
    run = robot.simulate(
        12 * period,
        y=y,
        torque="hold",
        signals=["wave.y", "still 2.y", "still 3.y"],
        blocks=[wave, *still],
        samples=period / 64,
        rtol=1e-10,
    )
    last = slice(-64, None)
    phasor = 2.0 * np.mean((run.y[last, 0] - y[0]) * np.exp(-1j * (omega * run.t[last] - 0.5 * np.pi))) / size
    assert abs(phasor - expected) < 1e-3 * abs(expected)


@pytest.mark.thorough
def test_pictures(tmp_path):
    pytest.importorskip("matplotlib")
    from tests.inner.models_delta import bode_plot
    from tests.inner.models_delta import figures as pictures

    robot = ROBOTS["fit"]
    maps = {at: pole_zero_map(robot.linearise((angle,) * 3)) for at, angle in ANGLES.items()}
    pictures.pole_zero_plot(maps, tmp_path / "poles.svg", title="poles")
    text = (tmp_path / "poles.svg").read_text(encoding="utf-8")
    assert text.count("12 cancel at") == 2 and "unstable pole" in text
    omega = np.geomspace(0.1, 100.0, 50)
    bode_plot(omega, {"y": frequency_response(robot, (0.0,) * 3, omega)[:, 0, 0]}, tmp_path / "bode.png", dpi=40)
    pictures.time_plot(robot.simulate(0.5, samples=0.01), tmp_path / "course.png", dpi=40)
    assert all((tmp_path / name).stat().st_size > 1000 for name in ("bode.png", "course.png"))
