"""Every example is short, and correct in one physical quantity."""

from __future__ import annotations

import ast
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from screwbond.models.chains import gravity_forces

from bondgraph import simulate
from examples import (
    arm_impact,
    ball_maze,
    ball_on_turntable,
    bouncing_ball,
    colliding_eggs,
    delta_pick_and_place,
    delta_poles,
    delta_soft_touch,
    dexterous_hand,
    fast_arm,
    parallel_gripper,
    pile,
    pushing,
    rolling_eggs,
    sphere_robot,
    tipping_box,
    tolerances,
    urdf_robot,
)
from tests.syntax import files, nodes

rolling_run = cache(rolling_eggs.simulate)
colliding_run = cache(colliding_eggs.simulate)
ball_run = cache(ball_on_turntable.simulate)
FOLDER = Path(rolling_eggs.__file__).parent


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda path: path.stem)
def test_length(path):
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    assert 20 <= len(lines) <= 100


def test_every_example_is_tested():
    imports = [node for path in files("tests/examples") for node in nodes(path, ast.ImportFrom) if node.module == "examples"]
    tested = {name.name for node in imports for name in node.names}
    assert {path.stem for path in FOLDER.glob("*.py") if path.stem != "__init__"} <= tested


def test_arm_impact(monkeypatch):
    monkeypatch.setattr(arm_impact, "MEASURED", replace(arm_impact.MEASURED, poses=5))
    found = arm_impact.study()
    law = found.laws["viscoelastic"]
    assert (law.k, law.c, law.m, law.duration) == pytest.approx((8.07e5, 4.60e7, 3.453, 10.4e-3), rel=5e-4)
    assert found.disagreement < 1e-12
    assert "e = 0.100" in arm_impact.report(found)


def test_rolling_eggs():
    """The position after two seconds agrees to 1e-9 m with an independent trajectory integrated at rtol 1e-12."""
    run = rolling_run()
    assert run.result.ok and run.result.ledger.relative_residual < 1e-9
    reference = np.load(Path(__file__).parents[1] / "models" / "data" / "S2a.npz")
    assert run.trajectory["t"][-1] == 2.0
    assert np.abs(run.trajectory["p2"][-1] - reference["p2"][-1]).max() < 1e-9


def test_colliding_eggs():
    run = colliding_run()
    assert run.result.ok and run.result.ledger.relative_residual < 1e-9
    ((on, off),) = run.contact_intervals()
    assert abs(on - 0.0377504460285) < 1e-9 and abs(off - 0.0401415805939) < 1e-9
    assert run.peak_force()[1] == pytest.approx(21.99746, rel=1e-6)


def test_ball_on_turntable():
    run = ball_run()
    assert run.result.ok and run.result.ledger.relative_residual < 1e-9
    assert ball_on_turntable.circling_rate(run) == pytest.approx(2.0 / 7.0 * ball_on_turntable.RATE, rel=1e-6)


def test_ball_maze():
    """The fall through the last gate agrees to 1e-9 s with an independent program (tests/models/maze/maze_independent.py)."""
    run = ball_maze.simulate()
    assert run.result.ok and run.reached_centre and run.result.ledger.relative_residual < 1e-9
    assert ball_maze.last_gate() == pytest.approx(44.554526986366, abs=1e-9)
    assert "ring 1: poles +-1.4000, zeros +-0.7000 1/s" in ball_maze.report()


def test_fast_arm():
    pytest.importorskip("casadi")
    found, results = fast_arm.plan(), fast_arm.runs()
    assert found.time == pytest.approx(0.190701, abs=1e-6)
    assert np.min(np.max(np.abs(found.torques) / fast_arm.LIMITS[:, None], axis=0)) > 0.999
    assert np.abs(results[-1].x[-1] - fast_arm.ends()[1]).max() < 1e-7


def test_dexterous_hand():
    run = dexterous_hand.simulate()
    assert run.result.ok and run.result.ledger.relative_residual < 1e-9
    assert np.abs(run.trajectory["object"][-1, 4:] - (0.009488, 0.0, 0.135844)).max() < 2e-6
    assert dexterous_hand.simulate(friction=0.2).time_of_loss() == pytest.approx(6.4931, abs=1e-3)


def test_bouncing_ball():
    found = bouncing_ball.runs()
    assert all(result.ok and result.ledger.relative_residual < 1e-7 for result in found.values())
    leaves = {name: sum(e.kind == "lets go" for e in result.events) for name, result in found.items()}
    assert leaves["constraint, a1 = 10"] == 4 and leaves["constraint, a1 = 20"] == 2
    for name in ("constraint, a1 = 10", "constraint, a1 = 20", "restitution 0.8"):
        assert found[name]["floor.multiplier"][-1] == pytest.approx(9.81, abs=1e-6)
    (limit,) = (e.accumulation for e in found["restitution 0.8"].events if e.accumulation is not None)
    fall = np.sqrt(2.0 / 9.81)
    assert limit == pytest.approx(fall * (1.0 + 2.0 * 0.8 / 0.2), abs=1e-9)


def test_parallel_gripper():
    found = parallel_gripper.runs()
    for result in found.values():
        assert result.ok and result["y place.y"][-1] == pytest.approx(-0.014, abs=1e-9)
        assert next((e.kind, e.time) for e in result.events if e.name == "left finger") == ("slip", pytest.approx(0.08))


def test_sphere_robot():
    found = sphere_robot.runs()
    assert np.abs(found["coulomb, h = 0.01 s"]["floor.friction force"]).max() == pytest.approx(5.0, rel=1e-9)
    coarse, fine = (found[f"convex, h = {h} s"]["floor.gap"].max() for h in (0.01, 0.0025))
    most = sphere_robot.FRICTION * sphere_robot.STROKE * sphere_robot.RATE
    assert fine == pytest.approx(most * 0.0025, rel=1e-3) and coarse == pytest.approx(4.0 * fine, rel=1e-2)


def test_tipping_box():
    found = tipping_box.runs()
    assert np.max(found["ignored"]["finger tip.normal force"][2:10]) == pytest.approx(tipping_box.TIPS, rel=1e-2)
    for result in found.values():
        assert result.ok and np.abs(result["box.place"][-1, 1:] - (0.5, 0.0)).max() < 2e-3
    assert found["full"]["finger tip.gap"].max() > 0.3


def test_pushing():
    found = pushing.runs()
    plane, space = found["in a plane"], found["in space"]
    assert plane["spring.effort"][-1, 0] == pytest.approx(4.905, abs=1e-6)
    assert plane["box.place"][-1, 0] == pytest.approx(0.1 - 4.905e-3, abs=1e-6)
    assert space.ok and abs(space["box.pose"][-1, 6] - 0.05) < 1e-6
    assert space["box.pose"][-1, 3] < -0.05  # turned away


def test_delta_poles():
    assert delta_poles.crossing_angle() == pytest.approx(22.152440415007, abs=1e-8)
    for shown in delta_poles.maps().values():
        assert len(shown.poles) == 6 and not len(shown.zeros)
        assert np.abs(np.concatenate([shown.cancelled_poles, shown.cancelled_zeros]) + 5.0).max() < 1e-5
        assert len(shown.cancelled_poles) == 12


@pytest.mark.parametrize("run", [ball_run, colliding_run, rolling_run], ids=["ball", "colliding", "rolling"])
def test_ledger_closes_and_its_residual_falls_with_the_tolerance(run):
    compiled = run().compiled
    tight, loose = (
        compiled.simulate(0.2, samples=0.005, rtol=rtol, progress=False).ledger.relative_residual for rtol in (1e-9, 1e-3)
    )
    assert tight < 1e-9
    assert tight < 0.1 * loose


def test_delta_pick_and_place():
    tracking = delta_pick_and_place.simulate()
    assert tracking.run.ok and tracking.largest_error < 1e-3
    assert np.linalg.norm(tracking.run.w[-1] - delta_pick_and_place.PICK) < 1e-5


def test_delta_soft_touch():
    """The force is 90 mN at first contact and 40 mN afterwards, as in figure 13 of the paper."""
    soft, kept, ball = delta_soft_touch.simulate(13.0).values()
    assert abs(soft.peak - 0.09) < 1e-3 and abs(soft.holding_force - 0.04) < 5e-4
    assert soft.displacement == 0.0 and soft.bounces == 0
    assert kept.displacement > 1e-4 and ball.bounces >= 2


def test_pile():
    floor = pile.ground("floor", shape=pile.HalfSpace())
    graph = pile.collisions(pile.Graph("heap"), [floor, *pile.boxes(9)], friction=pile.FRICTION, max_contacts=256)
    run = pile.simulate(graph, 1.5)
    assert run.ok and run.slip_speed[-1] < 1e-4 and run.penetration[-1] < 1e-5
    carried = np.sum(run.impulses[run.pairs.body2 == 9, 2]) - np.sum(run.impulses[run.pairs.body1 == 9, 2])
    assert abs(carried) / pile.STEP == pytest.approx(9 * pile.MASS * 9.81, rel=1e-3)


def test_urdf_robot():
    pytest.importorskip("lxml", reason="THE EXAMPLE WITH A URDF FILE IS NOT TESTED: lxml is not installed")
    run, robot = urdf_robot.run(), urdf_robot.read()
    q = run["crane.q"]
    held = run.t <= urdf_robot.FAILURE
    assert np.abs(q[held] - robot.position(urdf_robot.POSE)).max() < 1e-9
    assert run.ok and run.ledger.relative_residual < 1e-6
    # At rest its weight and its load press the boom against its stop.
    boom = robot.tree.coordinates.index("boom")
    rest = simulate(urdf_robot.holding(robot), 30.0)["crane.q"][-1]
    weight = -float(gravity_forces(robot.tree, urdf_robot.GRAVITY, rest)[boom])
    assert 4e3 * (rest[boom] - 1.0) == pytest.approx(weight, rel=1e-4)


def test_tolerances():
    """Every motor turns at the steady speed of its own parts, to within exp(-t / tau) < 4e-5."""
    runs = tolerances.series(60)
    k, r, b = (runs[name] for name in ("magnet.ratio", "winding.resistance", "bearing.resistance"))
    assert runs.complete and not runs.failures
    np.testing.assert_allclose(runs["speed"], tolerances.VOLTAGE * k / (k**2 + r * b), rtol=1e-4)
    assert runs["speed"].mean() == pytest.approx(tolerances.STEADY, rel=0.02)
