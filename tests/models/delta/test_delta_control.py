"""Controllers of the delta robot have exact decays, static errors in closed form, and motions within limits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from screwbond.models.delta import DeltaParameters, DeltaRobot
from screwbond.models.motion import cubic_spline, hold, quintic

from bondgraph import ModelError
from tests.inner.models_delta import (
    check_path,
    gravity_compensation,
    joint_control,
    linearising_control,
    model_terms,
    task_control,
    track,
    transfer,
)

FIT = DeltaParameters.fit()
HOME = np.array([0.02, -0.03, 0.45])
KD, KP = 24.0, 144.0


def decay(t: np.ndarray, e0: np.ndarray, de0: np.ndarray, rate: float = 0.5 * KD) -> np.ndarray:
    """Return e for e'' + 2 rate e' + rate^2 e = 0."""
    return (e0 + np.multiply.outer(t, de0 + rate * e0)) * np.exp(-rate * t)[:, None]


@pytest.mark.parametrize("parameters", [FIT, DeltaParameters.lab()])
def test_model_of_the_controller_is_the_robot(parameters: DeltaParameters) -> None:
    robot, rng = DeltaRobot(parameters), np.random.default_rng(3)
    for y in rng.uniform(0.3, 1.0, (5, 3)):
        w, jacobian, inertia, gravity = (np.asarray(term, dtype=float) for term in model_terms(y, parameters))
        found = robot.forward_kinematics(y)
        np.testing.assert_allclose(w, found.w, atol=1e-14)
        np.testing.assert_allclose(jacobian, found.jacobian, atol=1e-13)
        np.testing.assert_allclose(inertia, robot.inertia(y), atol=1e-13)
        np.testing.assert_allclose(gravity, robot.gravity_torque(y), atol=1e-13)


def test_gravity_compensation_makes_every_pose_an_equilibrium() -> None:
    control = gravity_compensation(FIT)
    run = DeltaRobot(FIT).simulate(2.0, w=HOME, signals=control.torque, blocks=control.blocks)
    np.testing.assert_allclose(run.w, np.tile(HOME, (len(run.t), 1)), atol=1e-9)


@pytest.mark.parametrize("output", ["tool", "motors"])
def test_linearisation_is_exact(output: str) -> None:
    """The error obeys its linear equation to within rounding error, from a displaced, moving start."""
    robot = DeltaRobot(FIT)
    rates = np.array([0.4, -0.3, 0.2])
    posture = robot.forward_kinematics(robot.inverse_kinematics(HOME))
    at, moving = (HOME, posture.jacobian @ rates) if output == "tool" else (posture.y, rates)
    size = 0.05 if output == "tool" else 0.2
    motion = quintic(at + size * np.array([0.1, -0.2, 0.1]), at + size * np.array([1.0, 1.0, -1.0]), 0.0, 0.4)
    control = linearising_control(FIT, motion, kp=KP, kd=KD, output=output)
    run = robot.simulate(0.8, w=HOME, rates=rates, signals=control.torque, blocks=control.blocks, rtol=1e-11)
    found = motion.position(run.t) - (run.w if output == "tool" else run.y)
    expected = decay(run.t, motion.position(0.0) - at, motion.velocity(0.0) - moving)
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_linearisation_is_exact_off_the_constraint() -> None:
    """The law eliminates the multipliers, so the tool's error obeys its equation even with the tips apart."""
    robot = DeltaRobot(FIT)
    q = robot.kinematics.inverse(HOME)
    q[4] += 0.01
    motion = hold(HOME, 1.0)
    control = linearising_control(FIT, motion, kp=KP, kd=KD)
    run = robot.simulate(0.5, q=q, project=False, signals=control.torque, blocks=control.blocks, rtol=1e-11)
    assert run.drift[0] > 1e-3
    np.testing.assert_allclose(HOME - run.w, decay(run.t, HOME - run.w[0], np.zeros(3)), atol=1e-9)


def test_wrong_model_leaves_the_static_error_of_its_gravity() -> None:
    """At rest, kp e = Lambda^-1 J^-T (G - G_m) with the robot's gravity torque G; J, Lambda and G_m belong to the controller's
    model."""
    control = task_control(FIT, hold(HOME, 1.0), kp=400.0, kd=40.0)
    robot = DeltaRobot(FIT)
    graph = robot.graph(robot.inverse_kinematics(HOME), signals=control.torque)
    graph.add(*control.blocks)
    from bondgraph import compile_model

    heavier = replace(FIT, M3=0.12)
    run = compile_model(graph).simulate(3.0, parameters={"model.M3": heavier.M3})
    y, error = run["y"][-1], run["control.error"][-1]
    _, jacobian, inertia, gravity = (np.asarray(term, dtype=float) for term in model_terms(y, heavier))
    back = np.linalg.inv(jacobian)
    missing = robot.gravity_torque(y) - gravity
    expected = np.linalg.solve(back.T @ inertia @ back, back.T @ missing) / 400.0
    assert np.linalg.norm(expected) > 1e-3
    np.testing.assert_allclose(error, expected, atol=1e-9)


def test_joint_pid_without_a_model_finds_the_torques_of_gravity() -> None:
    robot = DeltaRobot(FIT)
    y = robot.inverse_kinematics(HOME)
    control = joint_control(FIT, hold(y, 1.0), kp=60.0, ki=200.0, kd=4.0, gravity=False)
    run = robot.simulate(5.0, w=HOME, signals=control.torque, blocks=control.blocks, rtol=1e-8)
    np.testing.assert_allclose(run["control.torque"][-1], robot.gravity_torque(y), atol=1e-4)
    assert np.abs(run.y - y).max() > 1e-3 and np.abs(run.y[-1] - y).max() < 1e-5


def test_sampled_tracking_within_limits() -> None:
    motion = transfer((-0.12, -0.05, 0.5), (0.12, 0.06, 0.5), velocity=1.0, acceleration=10.0, jerk=200.0)
    for order, limit in ((1, 1.0), (2, 10.0), (3, 200.0)):
        assert np.all(motion.peak(order) <= limit * (1.0 + 1e-9))
    tracking = track(FIT, motion, samples=5e-3)
    assert tracking.run.ok and tracking.run.statistics.ticks >= 2 * 1000 * motion.end - 2
    assert tracking.rms_error < tracking.largest_error < 1e-3
    assert np.linalg.norm(tracking.error[-1]) < 1e-5
    exact = track(FIT, motion, linearising_control(FIT, motion, kp=KP, kd=KD), samples=5e-3)
    assert exact.largest_error < 1e-9
    later = track(FIT, motion, linearising_control(FIT, motion, kp=KP, kd=KD), samples=5e-3, t_start=0.3)
    assert later.run.t[0] == 0.3 and later.largest_error < 1e-9


def test_controller_of_the_benchmark_is_that_of_the_graph() -> None:
    pytest.importorskip("llvmlite")
    from benchmarks.delta_tracking import KD as OTHER_KD
    from benchmarks.delta_tracking import KP as OTHER_KP
    from benchmarks.delta_tracking import controller, tour

    motion, robot = tour(FIT), DeltaRobot(FIT)
    control = task_control(FIT, motion, kp=OTHER_KP, kd=OTHER_KD)
    start = robot.inverse_kinematics(motion.position(0.0)) + 0.01
    run = robot.simulate(0.5, y=start, signals=control.torque, blocks=control.blocks, samples=0.05, rtol=1e-11)
    call = controller(FIT, motion)
    found = [call(float(t), y.copy(), v[::3].copy()) for t, y, v in zip(run.t, run.y, run.v, strict=True)]
    np.testing.assert_allclose(found, run[control.torque], atol=1e-10)


def test_sampled_controller_of_the_benchmark_is_that_of_the_graph() -> None:
    pytest.importorskip("llvmlite")
    from benchmarks.delta_sampled import PERIOD, controller
    from benchmarks.delta_tracking import KD as OTHER_KD
    from benchmarks.delta_tracking import KP as OTHER_KP
    from benchmarks.delta_tracking import tour

    motion, robot = tour(FIT), DeltaRobot(FIT)
    control = task_control(FIT, motion, kp=OTHER_KP, kd=OTHER_KD, period=PERIOD)
    start = robot.inverse_kinematics(motion.position(0.0)) + 0.01
    times = np.arange(81) * 0.5 * PERIOD
    run = robot.simulate(0.04, y=start, signals=control.torque, blocks=control.blocks, samples=times, rtol=1e-11)
    call = controller(FIT, motion)
    found = [call(k, y.copy()) for k, y in enumerate(run.y[:-1:2])]
    np.testing.assert_allclose(found, run[control.torque][1::2], atol=1e-9)
    assert np.ptp(found, axis=0).min() > 0.1


def test_refusals() -> None:
    robot = DeltaRobot(FIT)
    with pytest.raises(ModelError, match="E442") as caught:
        track(FIT, cubic_spline([HOME, (0.7, 0.0, 0.45)], velocity=1.0))
    assert "leaves the workspace at" in str(caught.value)
    for motion in (quintic(0.0, 1.0, 0.0, 1.0), hold((0.0, 0.0), 1.0)):
        with pytest.raises(ModelError, match="E440"):
            check_path(robot, motion)
    with pytest.raises(ModelError, match="E440"):
        linearising_control(FIT, hold(HOME, 1.0), kp=1.0, kd=1.0, output="elbow")
    with pytest.raises(ModelError, match="E476") as caught:
        task_control(FIT, hold(HOME, 1.0), kp=401.0, kd=20.0)
    assert "0 ... 400" in str(caught.value)
    with pytest.raises(ModelError, match="E473"):
        cubic_spline([HOME, HOME + 0.1], times=(0.0, 0.1), velocity=1.0)
    with pytest.raises(ModelError, match="E478"):
        task_control(FIT, hold(HOME, 1.0), kp=1.0, kd=20.0, period=0.0)
