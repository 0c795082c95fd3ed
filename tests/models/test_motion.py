"""Reference motions compared with closed forms, NumPy's polynomials and SciPy's rotations."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.polynomial import Polynomial
from scipy.spatial.transform import Rotation
from screwbond.models import prescribed_body
from screwbond.models.motion import (
    Motion,
    axes,
    axis_rotations,
    cubic_spline,
    flow_source,
    following_body,
    hold,
    pick_and_place,
    pose_motion,
    pose_reference,
    quintic,
    reference,
    s_curve,
    sequence,
)

from bondgraph import J1, Graph, I, ModelError, compile_model, signals
from screws.poses import pose_from_state, vee
from tests.inner.models_motion import QUANTITIES

LIMITS = {"velocity": 0.8, "acceleration": (3.0, 2.0, 4.0), "jerk": 40.0}


def walk(seed: int, count: int = 6) -> np.ndarray:
    return np.cumsum(np.random.default_rng(seed).normal(size=(count, 3)), axis=0)


def independent(motion: Motion, t: float, order: int) -> np.ndarray:
    """Return a derivative of NumPy's polynomials, extended linearly outside their range."""
    k = int(np.clip(np.searchsorted(motion.breaks, t, side="right") - 1, 0, len(motion.breaks) - 2))
    at = float(np.clip(t, motion.start, motion.end))
    out = []
    for column in motion.coefficients[k].reshape(motion.coefficients.shape[1], -1).T:
        polynomial, u = Polynomial(column), at - motion.breaks[k]
        if at == t and t < motion.end:
            out.append(polynomial.deriv(order)(u) if order else polynomial(u))
        else:
            slope = polynomial.deriv()(u)
            out.append((polynomial(u) + slope * (t - at), slope, 0.0, 0.0)[order])
    return np.array(out).reshape(motion.shape)


MOTIONS = {
    "quintic": quintic((0.0, 0.1, 0.3), (0.012, 0.1, -0.2), 0.5, 2.5),
    "scalar": quintic(0.0, 0.4, 0.5, 2.5).then(quintic(0.4, -0.1, 0.0, 1.0), pause=0.25),
    "spline": cubic_spline(walk(1), **LIMITS),
    "pick": pick_and_place((0.0, 0.0, 0.1), (0.3, 0.2, 0.1), (0.0, 0.0, 0.05), velocity=1.0, acceleration=5.0, jerk=100.0),
    "moving end": cubic_spline((0.045, 0.0019), velocity=0.05, acceleration=0.1, jerk=0.5, end_velocity=-2e-4),
}


@pytest.mark.parametrize("motion", MOTIONS.values(), ids=MOTIONS)
def test_signals_in_a_graph_equal_numpy(motion: Motion) -> None:
    graph = Graph("goal")
    graph.add(reference("goal", motion, unit="m"))
    model = compile_model(graph)
    (x, m), p = model.initial(), model.parameters()
    inside = np.random.default_rng(5).uniform(motion.start, motion.end, 20)
    for t in [motion.start - 0.3, *motion.breaks, *inside, motion.end + 0.7]:
        outputs = model.program.outputs(float(t), x, p, m)
        for order, what in enumerate(QUANTITIES):
            slot = model.program.layout[f"goal.{what}"]
            found = outputs[slot.start : slot.stop].reshape(slot.shape)
            scale = 1.0 + float(np.max(motion.peak(order)))
            np.testing.assert_allclose(found, motion.derivative(t, order), rtol=0.0, atol=1e-13 * scale)
            np.testing.assert_allclose(found, independent(motion, t, order), rtol=0.0, atol=1e-12 * scale)


def test_quintic_has_the_known_peaks() -> None:
    motion = quintic(1.0, 3.0, 0.5, 2.5)
    assert motion.peak(1) == pytest.approx(2.0 * 15.0 / 8.0 / 2.0, rel=1e-13)
    assert motion.peak(2) == pytest.approx(2.0 * 10.0 / np.sqrt(3.0) / 4.0, rel=1e-12)
    assert motion.peak(3) == pytest.approx(2.0 * 60.0 / 8.0, rel=1e-12)
    assert motion.smoothness() == 2
    np.testing.assert_array_equal(motion.position([0.0, 0.5, 9.0]), [1.0, 1.0, 3.0])
    np.testing.assert_array_equal(motion.velocity([0.0, 9.0]), 0.0)


@pytest.mark.parametrize("seed", range(3))
def test_spline_holds_its_limits_and_reaches_one(seed: int) -> None:
    points = walk(seed)
    motion = cubic_spline(points, **LIMITS)
    t = np.linspace(motion.start - 0.1, motion.end + 0.1, 20001)
    parts = [np.abs(motion.derivative(t, k)) / np.asarray(LIMITS[what]) for k, what in enumerate(QUANTITIES) if k]
    assert max(part.max() for part in parts) <= 1.0 + 1e-9
    exact = max(np.max(motion.peak(k) / np.asarray(LIMITS[what])) for k, what in enumerate(QUANTITIES) if k)
    assert exact == pytest.approx(1.0, abs=1e-12)
    # Twice continuously differentiable everywhere, including the ends, and through all waypoints.
    eps = 1e-9
    for order in (0, 1, 2):
        jumps = motion.derivative(motion.breaks + eps, order) - motion.derivative(motion.breaks - eps, order)
        np.testing.assert_allclose(jumps, 0.0, atol=2.1 * eps * 40.0)
    assert motion.smoothness() == 2
    inner = np.delete(motion.breaks, [1, -2])
    np.testing.assert_allclose(motion.position(inner), points, atol=1e-12)
    for order in (1, 2):
        np.testing.assert_allclose(motion.derivative([motion.start, motion.end], order), 0.0, atol=1e-9)


@pytest.mark.parametrize("seed", [1])
def test_searched_shares_save_time(seed: int) -> None:
    points = walk(seed)
    plain, best = cubic_spline(points, **LIMITS), cubic_spline(points, **LIMITS, shortest=True)
    assert best.duration < 0.97 * plain.duration and best.smoothness() == 2
    exact = max(np.max(best.peak(k) / np.asarray(LIMITS[what])) for k, what in enumerate(QUANTITIES) if k)
    assert exact == pytest.approx(1.0, abs=1e-12)
    assert all(np.abs(best.position(best.breaks) - point).max(axis=1).min() < 1e-12 for point in points)


@pytest.mark.thorough
def test_the_shortest_time_is_a_property_of_the_way() -> None:
    points, limits = walk(2), {what: np.asarray(limit) for what, limit in LIMITS.items()}
    least = cubic_spline(points, **limits, shortest=True).duration
    turned = {what: limit if limit.ndim == 0 else limit[::-1] for what, limit in limits.items()}
    scaled = {what: 1e3 * limit / 1e-3**power for power, (what, limit) in enumerate(limits.items(), start=1)}
    assert list(limits) == ["velocity", "acceleration", "jerk"]
    others = [
        cubic_spline(points[::-1, ::-1] + 7.1, **turned, shortest=True).duration,
        cubic_spline(1e3 * points, **scaled, shortest=True).duration / 1e-3,
    ]
    np.testing.assert_allclose(others, least, rtol=1e-6)


def test_spline_at_given_times_is_scaled_or_refused() -> None:
    points = walk(3)
    fastest = cubic_spline(points, **LIMITS)
    times = np.delete(fastest.breaks, [1, -2])
    same = cubic_spline(points, times, **LIMITS)
    np.testing.assert_allclose(same.coefficients, fastest.coefficients, rtol=1e-9, atol=1e-9)
    with pytest.raises(ModelError) as caught:
        cubic_spline(points, 0.8 * times, **LIMITS)
    (problem,) = caught.value.problems
    assert problem.code == "E473" and f"a duration of {fastest.duration:.6g} s or more" in problem.cures
    assert any("limit" in line and " at " in line for line in problem.details)


def test_straight_motion_of_two_waypoints_is_the_shortest_one_for_its_jerk() -> None:
    way, jerk = 0.7, 12.0
    shortest = (32.0 * way / jerk) ** (1.0 / 3.0)
    assert cubic_spline((0.2, 0.2 + way), jerk=jerk).duration == pytest.approx(shortest, rel=1e-12)
    assert s_curve(0.2, 0.2 + way, jerk=jerk).duration == pytest.approx(shortest, rel=1e-12)


@pytest.mark.parametrize(
    "v, a, shortest",
    [
        (0.5, 1.0, lambda d, v, a, j: d / v + v / a + a / j),
        (0.1, 9.0, lambda d, v, a, j: d / v + 2.0 * np.sqrt(v / j)),
        (9.0, 1.0, lambda d, v, a, j: a / j + np.sqrt((a / j) ** 2 + 4.0 * d / a)),
        (9.0, 90.0, lambda d, v, a, j: (32.0 * d / j) ** (1.0 / 3.0)),
    ],
)
def test_s_curve_is_the_fastest_motion(v, a, shortest) -> None:
    d, j = 1.3, 10.0
    motion = s_curve((0.0, 1.0), (d, 1.0 - d / 2), velocity=v, acceleration=a, jerk=j, at=0.3)
    assert motion.duration == pytest.approx(shortest(d, v, a, j), rel=1e-12)
    for order, limit in ((1, v), (2, a), (3, j)):
        assert np.all(motion.peak(order) <= limit * (1.0 + 1e-9))
    np.testing.assert_allclose(motion.position(motion.end), (d, 1.0 - d / 2), rtol=1e-13)
    assert motion.smoothness() == 2 and motion.start == 0.3
    slower = s_curve(0.0, d, velocity=v, acceleration=a, jerk=j, duration=2.0 * motion.duration)
    assert slower.duration == pytest.approx(2.0 * motion.duration)
    with pytest.raises(ModelError, match="E473"):
        s_curve(0.0, d, velocity=v, acceleration=a, jerk=j, duration=0.999 * motion.duration)


def test_an_approach_continues_with_its_end_velocity() -> None:
    """The reference of a soft touch moves from 45 mm to 1.9 mm, and then continues at 0.2 mm/s."""
    limits = {"velocity": 0.05, "acceleration": 0.1, "jerk": 0.5}
    motion = MOTIONS["moving end"]
    assert motion.position(motion.end) == pytest.approx(0.0019, abs=1e-15)
    assert motion.position(motion.end + 9.5) == pytest.approx(0.0, abs=1e-12)
    parts = [float(motion.peak(k) / limits[what]) for k, what in enumerate(QUANTITIES) if k]
    assert max(parts) == pytest.approx(1.0, abs=1e-9) and motion.smoothness() == 2


def test_motions_follow_each_other_and_stand_side_by_side() -> None:
    up, over = quintic((0.0, 0.0), (0.0, 1.0), 2.0, 3.0), quintic((0.0, 1.0), (2.0, 1.0), 0.0, 2.0)
    both = sequence(up, over, pause=0.5)
    np.testing.assert_array_equal(both.breaks, [2.0, 3.0, 3.5, 5.5])
    np.testing.assert_allclose(both.position([2.5, 3.2, 4.5]), [(0.0, 0.5), (0.0, 1.0), (1.0, 1.0)], atol=1e-15)
    x, z = s_curve(0.0, 1.0, jerk=32.0), quintic(0.3, 0.5, 0.4, 3.0)
    beside = axes(x, hold(7.0, 1.0), z)
    t = np.linspace(-1.0, 4.0, 201)
    for order in range(4):
        expected = np.stack([x.derivative(t, order), np.full(201, 7.0 if order == 0 else 0.0), z.derivative(t, order)], -1)
        np.testing.assert_allclose(beside.derivative(t, order), expected, atol=1e-11)


def test_a_flow_source_moves_its_followers() -> None:
    motion = MOTIONS["pick"]
    graph, joint = Graph("driven"), J1("slide", domain="translation")
    graph.connect(flow_source("drive", motion, unit="m"), joint)
    graph.connect(joint, I("load", 2.0, dimension=3))
    graph.add(signals.integrator("place", "slide.flow", initial=motion.position(0.0)))
    run = compile_model(graph).simulate(motion.end + 0.2, rtol=1e-9)
    np.testing.assert_allclose(run["place.y"], motion.position(run.t), atol=1e-8)
    np.testing.assert_allclose(run["load.effort"], 2.0 * motion.acceleration(run.t), atol=1e-7)


@pytest.mark.parametrize("moving", [False, True])
def test_turning_against_scipy(moving: bool) -> None:
    angles = [quintic(0.0, 0.4, 0.5, 2.5), quintic(0.0, 0.3, 2.0, 4.5)]
    turn = axis_rotations(angles, [(0.0, 0.0, 2.0), (1.0, 1.0, 0.0)], moving=moving)
    start = Rotation.from_euler("xyz", [0.2, -0.4, 1.0])
    arm, centre = np.array([0.1, -0.2, 0.3]), quintic((0.0, 0.0, 0.09), (0.012, 0.0, 0.15), 0.5, 3.5)
    motion = pose_motion(centre, turn, quaternion=start.as_quat(scalar_first=True), arm=arm)
    t = np.linspace(0.0, 5.0, 41)
    one, two = (
        Rotation.from_rotvec(np.multiply.outer(angle.position(t), direction))
        for angle, direction in zip(angles, turn.directions, strict=True)
    )
    turned = one * two if moving else two * one
    found = motion.pose(t)
    seen = Rotation.from_quat(found[:, :4], scalar_first=True)
    np.testing.assert_allclose(seen.as_matrix(), (turned * start).as_matrix(), atol=1e-14)
    np.testing.assert_allclose(found[:, 4:], centre.position(t) + turned.apply(arm), atol=1e-14)

    h = 1e-5
    for time in (1.3, 2.2, 3.3):
        before, at, after = (pose_from_state(motion.pose(time + s)).astype(float) for s in (-h, 0.0, h))
        np.testing.assert_allclose(motion.twist(time), vee((after - before) / (2 * h) @ np.linalg.inv(at)), atol=1e-9)
        rate = (motion.twist(time + h) - motion.twist(time - h)) / (2 * h)
        np.testing.assert_allclose(motion.twist_rate(time), rate, atol=1e-9)

    graph = Graph("turn")
    graph.add(pose_reference("hand", motion))
    run = compile_model(graph).simulate(5.0)
    for what in ("pose", "twist", "twist_rate"):
        np.testing.assert_allclose(run[f"hand.{what}"], getattr(motion, what)(run.t), atol=1e-14)


def test_following_body_agrees_with_an_integrated_twist() -> None:
    turn = axis_rotations([quintic(0.0, 0.4, 0.5, 2.5), quintic(0.0, 0.3, 2.5, 4.5)], [(0.0, 0.0, 1.0), (1.0, 0.0, 0.0)])
    motion = pose_motion((0.1, 0.2, 0.3), turn)
    graph = Graph("two")
    graph.add(following_body("exact", motion))
    # One trace of the formula for both: the exact body's twist drives the other.
    graph.add(signals.integrator("twist", "exact.motion.twist_rate", initial=np.zeros(6)))
    run = compile_model(graph).simulate(5.0, rtol=1e-10)
    np.testing.assert_allclose(run["twist.y"], motion.twist(run.t), atol=1e-9)
    np.testing.assert_allclose(run["exact.pose"], motion.pose(run.t), atol=1e-14)

    spin = prescribed_body("spun", twist=lambda t: np.array([0.0 * t, 0.0 * t, 0.4 + 0.0 * t, *(0.0 * t,) * 3], dtype=object))
    steady = pose_motion(turn=axis_rotations(Motion(np.array([0.0, 1.0]), np.array([[0.0, 0.4]])), (0.0, 0.0, 1.0)))
    both = Graph("spin")
    both.add(spin)
    both.add(following_body("exact", steady))
    run = compile_model(both).simulate(3.0, rtol=1e-10)
    np.testing.assert_allclose(run["spun.pose"], run["exact.pose"], atol=1e-9)


RISE = quintic(0.0, 1.0, 0.0, 1.0)
REFUSED = {
    "no numbers": ("E470", lambda: quintic("a", 1.0, 0.0, 1.0)),
    "two shapes": ("E470", lambda: quintic((0.0, 1.0), 1.0, 0.0, 1.0)),
    "no jerk": ("E470", lambda: s_curve(0.0, 1.0, jerk=None)),
    "duration": ("E470", lambda: hold(0.0, "long")),
    "one waypoint": ("E470", lambda: cubic_spline([1.0], jerk=1.0)),
    "nothing decides": ("E470", lambda: cubic_spline([0.0, 1.0])),
    "lift of two axes": ("E470", lambda: pick_and_place((0, 0, 0), (1, 0, 0), (0.0, 1.0), jerk=1.0)),
    "negative limit": ("E470", lambda: cubic_spline([0.0, 1.0], jerk=-1.0)),
    "limits of two axes": ("E470", lambda: cubic_spline(walk(0), jerk=(1.0, 2.0))),
    "not finite": ("E470", lambda: Motion(np.array([0.0, 1.0]), np.array([[np.nan, 0.0]]))),
    "backwards": ("E471", lambda: quintic(0.0, 1.0, 2.0, 1.0)),
    "times": ("E471", lambda: cubic_spline([0.0, 1.0, 2.0], [0.0, 1.0, 1.0])),
    "equal points": ("E471", lambda: cubic_spline([0.0, 1.0, 1.0, 2.0], jerk=1.0)),
    "no way": ("E471", lambda: s_curve(1.0, 1.0, jerk=1.0)),
    "pause": ("E471", lambda: RISE.then(RISE, pause=-1.0)),
    "position jumps": ("E472", lambda: RISE.then(quintic(1.1, 0.0, 0.0, 1.0))),
    "velocity jumps": ("E472", lambda: RISE.then(Motion(np.array([0.0, 1.0]), np.array([[1.0, 0.5]])))),
    "too fast": ("E473", lambda: cubic_spline([0.0, 1.0], [0.0, 0.1], velocity=1.0)),
    "end too fast": ("E474", lambda: cubic_spline([0.0, 1.0], velocity=1.0, jerk=1.0, end_velocity=2.0)),
    "axis": ("E475", lambda: axis_rotations(RISE, (0.0, 0.0, 0.0))),
    "axes": ("E475", lambda: axis_rotations([RISE, RISE], [(0.0, 0.0, 1.0)])),
}


@pytest.mark.parametrize("code, make", REFUSED.values(), ids=REFUSED)
def test_refused(code, make) -> None:
    with pytest.raises(ModelError) as caught:
        make()
    (problem,) = caught.value.problems
    assert problem.code == code and problem.cures and problem.places[0].file == __file__


def test_the_jump_is_named() -> None:
    with pytest.raises(ModelError, match=r"position of a motion jumps at 1 s\n  from 1 to 1\.1"):
        RISE.then(quintic(1.1, 0.0, 0.0, 1.0))
