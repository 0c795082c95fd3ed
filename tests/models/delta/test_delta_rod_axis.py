"""The delta robot moves through ordinary poses in which a rod is on the axis of the paper's angles, sin(phi2) = 0.

The robot in tool coordinates is the reference.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from screwbond.models.delta import DeltaParameters, DeltaRobot

from tests.inner.models_delta import CONE, phi_of, phi_rate, theta_of, theta_rate
from tests.inner.models_delta import arm as formulas
from tests.models.delta import delta_by_tool as by_tool
from tests.models.delta import delta_independent as independent

FIT = DeltaParameters.fit()
OUT, IN_1 = (-1.0, -1.0, -1.0), (1.0, -1.0, -1.0)


def on_axis(link: float, side: float, height: float = 0.0) -> np.ndarray:
    """Return the tool position (3,) at which rod 1 is level in its arm's plane, inwards (side -1) or outwards (+1), plus
    `height` in z."""
    return np.array([0.0, FIT.L0 - FIT.L3 + FIT.L1 * np.cos(link) + side * FIT.L2, FIT.L1 * np.sin(link) + height])


INWARDS = (on_axis(0.9, -1.0), "out", OUT, np.pi)
OUTWARDS = (on_axis(2.6, 1.0), ("in", "out", "out"), IN_1, 0.0)


def test_angles_there_and_back():
    rng = np.random.default_rng(4)
    for k in range(60):
        phi = rng.uniform([-np.pi, 0.1, -np.pi], [np.pi, np.pi - 0.1, np.pi])
        if k % 3 == 0:
            phi[1] = rng.choice([0.0, np.pi]) + 10.0 ** rng.uniform(-8.0, -1.0) * rng.choice([1.0, -1.0])
        phi[1] = np.abs(phi[1]) if phi[1] < np.pi else 2.0 * np.pi - phi[1]
        rate = rng.normal(size=3)
        theta, moving = theta_of(phi), theta_rate(phi, rate)
        near = np.sin(phi[1])
        assert np.abs(formulas.direction(theta) - independent_direction(phi)).max() < 1e-15
        assert np.abs(phi_of(theta) - phi).max() < 1e-14 / near
        assert np.abs(phi_rate(theta, moving) - rate).max() < 1e-13 / near**2
    for phi2, theta2 in ((0.0, 0.0), (np.pi, np.pi)):
        theta = np.array([0.3, theta2, 0.0])
        assert np.abs(theta_of([0.3, phi2, 0.0]) - theta).max() < 1e-15
        assert phi_of(theta) == pytest.approx([0.3, phi2, 0.0], abs=1e-15)
    assert phi_rate([0.3, 0.0, 0.0], [0.1, 2.0, 1.0]).tolist() == [0.1, 0.0, 0.0]


def independent_direction(phi: np.ndarray) -> np.ndarray:
    point = independent.arm_points(independent.SETS["fit"], phi, np.zeros(3))[-1]
    shaft = independent.arm_points(independent.SETS["fit"], phi * [1.0, 0.0, 0.0], np.zeros(3))[-1]
    return (point.place - shaft.place) / FIT.L2 + np.array([0.0, 1.0, 0.0])


def test_friction_is_the_papers_outside_a_narrow_cone_and_bounded_in_it():
    """Outside the cone |S v|^2 = |phi'|^2, and on the axis |S v|^2 = |v|^2."""
    rng = np.random.default_rng(5)
    for angle in (1.0, 0.1, 1.001 * CONE):
        for turn in rng.uniform(-np.pi, np.pi, 5):
            theta, v = theta_of([0.4, angle, turn]), rng.normal(size=3)
            given = np.sum((formulas.friction_rates(theta) @ v) ** 2)
            assert given == pytest.approx(np.sum(phi_rate(theta, v) ** 2), rel=1e-11)
    edge = [formulas.friction_rates(theta_of([0.4, np.arcsin(CONE) * (1.0 + s), 0.7])) for s in (1e-9, -1e-9)]
    assert np.abs(edge[0] - edge[1]).max() < 1e-6
    for side in (0.0, np.pi):
        S = formulas.friction_rates([0.4, side, 0.0])
        assert np.abs(S.T @ S - np.eye(3)).max() < 1e-12
    worst = max(
        np.abs(formulas.friction_rates(theta_of([0.0, s, t]))).max()
        for s in np.geomspace(1e-12, 1.0, 60)
        for t in (0.0, 0.5, 1.5)
    )
    assert worst < 1.0 / CONE


@pytest.mark.parametrize(
    ("place", "speed", "form", "damping"),
    [
        (INWARDS, (0.0, 0.0, 0.0), "lagrangian", FIT.DAMPING),
        (OUTWARDS, (0.4, -0.2, -1.0), "hamiltonian", 0.0),
        (INWARDS, (0.4, -0.2, -1.0), "hamiltonian", 0.0),
        (OUTWARDS, (0.4, -0.2, -1.0), "lagrangian", FIT.DAMPING),
    ],
    ids=["inwards at rest", "outwards moving", "inwards moving", "outwards damped"],
)
def test_a_start_on_the_axis(place, speed, form, damping):
    """The reference is a simulation in tool coordinates."""
    w, branch, signs, phi2 = place
    p = replace(FIT, DAMPING=damping)
    robot = DeltaRobot(p, form=form)
    q = robot.kinematics.inverse(w, branch=branch)
    assert np.abs(np.sin(q[1])) < 1e-15 and q[1] == pytest.approx(phi2, abs=1e-15)
    posture = robot.forward_kinematics(q[::3], start=np.delete(q, [0, 3, 6]), mode=mode_of(q))
    rates = np.linalg.solve(posture.jacobian, speed)
    run = robot.simulate(0.04, w=w, branch=branch, rates=rates, samples=0.01)
    assert run.ok
    expected = by_tool.simulate({**independent.SETS["fit"], "DAMPING": damping}, w, np.array(speed), run.t, signs)
    assert np.abs(run.w - expected[:, :3]).max() < 1e-7
    assert np.abs(run["tool velocity"] - expected[:, 3:]).max() < 1e-5
    assert np.abs(run.w[-1] - w).max() > 5e-3, "it moves"
    assert run.drift.max() < 1e-9 and run.ledger.relative_residual < 1e-8
    assert np.isfinite(run.q).all() and np.isfinite(run.v).all()


def mode_of(q: np.ndarray) -> str:
    from tests.inner.models_delta import assembly_mode, by_arms

    return assembly_mode(by_arms(theta_of, q))


@pytest.mark.parametrize(
    ("form", "speed"), [("lagrangian", (0.0, 0.0, -3.0)), ("hamiltonian", (0.7, 0.4, -2.0))], ids=["in the arm's plane", "askew"]
)
def test_a_swing_through_the_axis(form, speed):
    """Where the rod passes through the axis, phi3 jumps by half a turn; the reference is a simulation in tool coordinates."""
    p = replace(FIT, DAMPING=0.0)
    other, w = {**independent.SETS["fit"], "DAMPING": 0.0}, on_axis(0.9, -1.0)
    # frictionless motion runs backwards with reversed velocity
    back = by_tool.simulate(other, w, -np.array(speed), np.array([0.0, 0.025]))[-1]
    robot = DeltaRobot(p, form=form)
    rates = np.linalg.solve(robot.jacobian(robot.inverse_kinematics(back[:3])), -back[3:])
    run = robot.simulate(0.04, w=back[:3], rates=rates, samples=0.005)
    assert run.ok
    assert np.sin(run.q[5, 1]) < 1e-6 < 1e-2 < np.sin(run.q[[4, 6], 1]).min()
    turned = np.abs(run.q[6, 2] - run.q[4, 2])
    assert min(turned, 2.0 * np.pi - turned) == pytest.approx(np.pi, abs=0.3)
    expected = by_tool.simulate(other, back[:3], -back[3:], run.t)
    assert np.abs(run.w - expected[:, :3]).max() < 1e-8
    assert np.abs(run.w[5] - w).max() < 1e-8
    assert np.ptp(run.energy) < 1e-8 and run.drift.max() < 1e-9
    assert not any("arm 1" in str(passage) for passage in run.singular_postures)


@pytest.mark.parametrize("damping", [1e-3, FIT.DAMPING])
def test_a_damped_swing_is_led_through_the_axis(damping):
    """Unbounded friction would hold phi3 near the axis and lead the swing through it."""
    robot = DeltaRobot(replace(FIT, DAMPING=damping))
    y = robot.inverse_kinematics(on_axis(0.9, -1.0, 0.06)) + np.array([0.0, 1e-2, 0.0])
    rates = np.linalg.solve(robot.jacobian(y), [0.0, 0.0, -3.0])
    run = robot.simulate(0.03, y=y, rates=rates, samples=0.001)
    assert run.ok and np.sin(run.q[:, 1]).min() < CONE
    other = {**independent.SETS["fit"], "DAMPING": damping}
    expected = by_tool.simulate(other, run.w[0], run["tool velocity"][0], run.t)
    assert np.abs(run.w - expected[:, :3]).max() < 1e-7
    assert run.ledger.relative_residual < 1e-8


def test_gravity_inertia_and_control_are_regular_on_the_axis():
    """A controller moves the tool across the axis."""
    from screwbond.models.motion import quintic

    from tests.inner.models_delta import task_control

    robot = DeltaRobot(FIT)
    w = on_axis(0.9, -1.0)
    y = robot.inverse_kinematics(w)
    held = robot.simulate(0.5, w=w, torque="hold")
    assert held.ok and np.abs(held.w - w).max() < 1e-6
    beside = robot.inverse_kinematics(w + 1e-6)
    assert np.abs(robot.gravity_torque(y) - robot.gravity_torque(beside)).max() < 1e-4
    assert np.abs(robot.inertia(y) - robot.inertia(beside)).max() < 1e-4
    motion = quintic(w + np.array([0.0, 0.0, 0.03]), w - np.array([0.0, 0.0, 0.01]), 0.0, 0.4)
    control = task_control(FIT, motion, kp=400.0, kd=40.0)
    run = robot.simulate(0.4, w=motion.position(0.0), signals=control.torque, blocks=control.blocks, samples=0.02)
    assert run.ok and np.abs(run.w - motion.position(run.t)).max() < 2e-2
    assert np.sin(run.q[:, 1]).min() < CONE


def test_a_rod_along_its_shaft_is_named():
    """Where cos(theta3) = 0 the elbow moves at right angles to the rod, and the coordinates are singular."""
    from tests.inner.models_delta import DeltaKinematics

    theta = np.array([0.5, 0.3, np.pi / 2.0])
    e = np.array([0.0, -np.sin(0.5), np.cos(0.5)])
    assert abs(formulas.direction(theta) @ e) < 1e-15
    assert formulas.tip(theta, FIT)[0] == pytest.approx(FIT.L2)
    w = formulas.tip(theta, FIT) + np.array([1e-12, 0.0, 0.0])
    from bondgraph.errors import ModelError

    with pytest.raises(ModelError) as refused:
        DeltaKinematics(FIT).inverse(w)
    assert refused.value.problems[0].code in ("E463", "E464")
