"""Dry friction in all directions of a plane agrees with closed forms of blocks and spheres, in any axes and units."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

from bondgraph import J0, J1, TF, C, Constraint, Friction, Graph, I, ModelError, RunEndedWarning, Se, compile_model
from screws.scalars import absolute, maximum, minimum, sin

LIMIT = 1.0


def block(load, mass=(1.0, 1.0), signals=(), **friction):
    graph, v = Graph("block"), J1("v", domain="translation")
    graph.connect(Se("load", load, signals=signals), v).connect(v, I("m", np.diag(mass)))
    return compile_model(graph.connect(v, Friction("f", LIMIT, dimension=2, **friction)))


@functools.cache
def loaded():
    return block(np.zeros(2))


def turned(angle):
    return np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])


@pytest.mark.filterwarnings("ignore::bondgraph.RoundingWarning")  # the end of a step may leave a speed of rounding error
@pytest.mark.parametrize("angle", [0.0, 0.4, np.arctan(4 / 3), 2.0, 3.0])
@pytest.mark.parametrize("unit", [1.0, 1e-6, 1e6])
def test_a_block_slides_straight_and_stops(angle, unit):
    """A block with the speed v and the deceleration a stops at t = v / a and stays at rest, in all axes and units."""
    v = unit * turned(angle)[0]
    run = loaded().simulate(2.0, initial={"m.p": v}, parameters={"f.limit": unit, "f.stick_limit": unit}, progress=False)
    (event,) = run.events
    assert run.ok and event.kind == "f sticks" and event.time == pytest.approx(1.0, abs=1e-12)
    assert np.all(run["m.p"][run.t > 1.0] == run["m.p"][-1]) and np.abs(run["m.p"][-1]).max() < 1e-15 * unit
    assert run.ledger.relative_residual < 1e-6


@pytest.mark.parametrize("load", [0.2, 0.5, 0.8])
@pytest.mark.parametrize("angle", [0.5, 1.5, 2.8])
def test_a_block_on_an_incline_turns_as_it_stops(load, angle):
    """For unit mass, speed s, friction k and a load L at the angle psi to the velocity, s (k + L cos psi) falls to zero at the
    rate k^2 - L^2."""
    start = np.array([np.cos(angle), np.sin(angle)])
    for axes in (np.eye(2), turned(0.7)):
        given = {"load.value": axes @ np.array([load, 0.0])}
        run = loaded().simulate(20.0, initial={"m.p": axes @ start}, parameters=given, progress=False)
        stop = run.events[-1]
        assert run.ok and stop.kind == "f sticks" and {e.kind for e in run.events[:-1]} <= {"f turns"}
        expected = (LIMIT + load * np.cos(angle)) / (LIMIT**2 - load**2)
        assert stop.time == pytest.approx(expected, rel=1e-5)
        assert np.abs(run["m.p"][-1]).max() < 1e-14


def test_a_block_on_a_steep_incline_turns_and_slides_on():
    given = {"load.value": np.array([0.0, -1.5])}
    for aside in (0.0, 1e-3, 0.5):
        run = loaded().simulate(5.0, initial={"m.p": np.array([aside, 1.0])}, parameters=given, progress=False, rtol=1e-9)
        assert run.ok and run["f.mode"][-1] == 1.0

        def rate(_, u):
            return np.array([0.0, -1.5]) - LIMIT * u / np.linalg.norm(u)

        if aside:
            expected = solve_ivp(rate, (0, 5), [aside, 1.0], rtol=1e-11, atol=1e-13, method="DOP853").y[:, -1]
            np.testing.assert_allclose(run["m.p"][-1], expected, atol=1e-6)
        else:  # down to rest within 1 / 2.5 s, then on under the remaining load
            np.testing.assert_allclose(run["m.p"][-1], [0.0, -0.5 * (5.0 - 0.4)], rtol=1e-9)


def test_unequal_masses_change_the_direction_of_sliding():
    """The motion M u' = L - k u / |u| agrees with SciPy's for 90 % of the time to the stop, at which both speeds are zero."""
    mass, load, start = np.array([1.0, 4.0]), np.array([0.3, -0.2]), np.array([1.0, 0.8])
    run = block(load, mass).simulate(6.0, initial={"m.p": mass * start}, progress=False, rtol=1e-9)
    stop = run.events[-1]
    assert run.ok and stop.kind == "f sticks"
    until = 0.9 * stop.time
    found = solve_ivp(
        lambda _, u: (load - LIMIT * u / np.linalg.norm(u)) / mass, (0, until), start, rtol=1e-11, atol=1e-13, dense_output=True
    )
    early = run.t < until
    np.testing.assert_allclose(run["m.flow"][early], found.sol(run.t[early]).T, atol=1e-7)
    assert np.abs(run["m.p"][-1]).max() < 1e-14


def test_friction_sticks_in_its_cone_and_slips_along_the_force():
    run = block(lambda t: [t * 0.6, t * 0.8], signals=["time"]).simulate(1.5, progress=False)
    assert run.ok and run.events[0].kind == "f slips" and run.events[0].time == pytest.approx(1.0, rel=1e-9)
    np.testing.assert_allclose(run["m.p"][run.t < 1.0], 0.0, atol=0.0)
    np.testing.assert_allclose(run["f.effort"][run.t < 1.0], np.outer(run.t[run.t < 1.0], [0.6, 0.8]), atol=1e-12)
    np.testing.assert_allclose(run["m.p"][-1], 0.5 * 0.5**2 * np.array([0.6, 0.8]), rtol=1e-7)
    np.testing.assert_allclose(np.linalg.norm(run["f.effort"][run.t > 1.001], axis=1), LIMIT, rtol=1e-12)


def test_the_load_may_turn_as_it_begins_to_slip():
    run = block(lambda t: [0.5 * t, 0.3 * t * t], signals=["time"]).simulate(3.0, progress=False)
    assert run.ok, run.failure
    start = run.events[0].time
    assert np.hypot(0.5 * start, 0.3 * start**2) == pytest.approx(LIMIT, rel=1e-9)
    stiff = solve_ivp(
        lambda t, u: np.array([0.5 * t, 0.3 * t * t]) - u / np.sqrt(u @ u + 1e-20),
        (start, 3.0),
        [0, 0],
        method="LSODA",
        rtol=1e-10,
    )
    np.testing.assert_allclose(run["m.p"][-1], stiff.y[:, -1], rtol=2e-5)


def test_friction_along_a_line_equals_the_scalar_element():
    runs, to = [], np.array([0.6, 0.8])
    options = {"stick_limit": 1.2, "viscous": 0.1}
    graph, v = Graph("line"), J1("v", domain="translation")
    graph.connect(Se("push", lambda t: 1.7 * sin(3.0 * t), signals=["time"]), v).connect(v, I("m", 1.0))
    plane = block(lambda t: [1.7 * part * sin(3.0 * t) for part in to], signals=["time"], **options)
    for model in (compile_model(graph.connect(v, Friction("f", LIMIT, **options))), plane):
        runs.append(model.simulate(6.0, progress=False, rtol=1e-9, samples=np.linspace(0, 6, 301)))
    one, two = runs
    assert one.ok and two.ok
    np.testing.assert_allclose(two["m.p"], np.outer(one["m.p"], to), atol=1e-8)
    outer = [[e.time for e in run.events if not e.internal] for run in runs]
    assert len(outer[0]) > 4
    np.testing.assert_allclose(outer[0], outer[1], atol=1e-7)


def sphere(friction, dimension, turn=0.0, mass=2.0, radius=0.1, gravity=9.81):
    graph, v, w, slip = (
        Graph("sphere"),
        J1("v", domain="translation"),
        J1("w", domain="rotation"),
        J0("slip", domain="translation"),
    )
    up = J1("up", domain="translation")
    graph.connect(Se("weight", -mass * gravity), up).connect(up, I("up m", mass)).connect(up, Constraint("floor"))
    one = dimension == 1
    inertia = np.ones(dimension) if not one else 1.0
    graph.connect(v, I("m", mass * inertia)).connect(w, I("J", 0.4 * mass * radius**2 * inertia))
    axes = 1.0 if one else turned(turn)
    lever = radius if one else radius * turned(turn) @ np.array([[0.0, 1.0], [-1.0, 0.0]])
    graph.connect(v, to := TF("along", axes)).connect(to, slip).connect(w, arm := TF("lever", lever)).connect(arm, slip)
    rubs = Friction("rubs", friction, dimension=dimension, scale=lambda n: n, signals=["floor.multiplier"])
    return compile_model(graph.connect(slip, rubs))


@pytest.mark.parametrize(("dimension", "turn"), [(1, 0.0), (2, 0.0), (2, 0.7), (2, 2.9)])
def test_a_sliding_sphere_rolls(dimension, turn):
    """A sphere that slides at the speed v with friction mu rolls after 2 v / (7 mu g), with 5/7 of its speed."""
    mu, mass, speed = 0.3, 2.0, 1.3
    start = mass * speed if dimension == 1 else mass * np.array([0.6, 0.8]) * speed
    run = sphere(mu, dimension, turn).simulate(0.5, initial={"m.p": start}, progress=False)
    (event,) = run.events
    assert run.ok and event.kind == "rubs sticks"
    assert event.time == pytest.approx(2.0 * speed / (7.0 * mu * 9.81), rel=1e-12)
    np.testing.assert_allclose(run["m.p"][-1], 5.0 / 7.0 * np.asarray(start), rtol=1e-12)
    assert run.ledger.relative_residual < 1e-8


def test_a_sphere_with_side_spin_curves_until_it_rolls():
    """While the sphere slides, the slip keeps its direction and the path is a parabola; v loses 2/7 of the slip."""
    mu, mass, radius, v, w = 0.2, 2.0, 0.1, np.array([1.0, 0.0]), np.array([6.0, -4.0])
    slip = v + radius * np.array([w[1], -w[0]])
    run = sphere(mu, 2).simulate(0.6, initial={"m.p": mass * v, "J.p": 0.4 * mass * radius**2 * w}, progress=False)
    (event,) = run.events
    assert event.time == pytest.approx(2.0 * np.linalg.norm(slip) / (7.0 * mu * 9.81), rel=1e-12)
    np.testing.assert_allclose(run["m.flow"][-1], v - 2.0 / 7.0 * slip, rtol=1e-11)


@pytest.mark.parametrize("given", [0, -1, 1.5, True, "two"])
def test_a_count_of_directions_that_is_none_is_refused(given):
    with pytest.raises(ModelError, match="E161"):
        Friction("f", 1.0, dimension=given)


def test_friction_cannot_start_against_its_motion():
    with pytest.raises(ModelError, match="E214"):
        loaded().simulate(1.0, initial={"m.p": np.array([1.0, 0.0]), "f": "stick"}, progress=False)


def test_sticking_friction_has_linear_equations():
    from bondgraph.export import linear_equations

    with pytest.raises(ModelError, match=r"E276(?s:.*)\"f\" is not linear(?s:.*)modes=\{\"f\": \"stick\"\}"):
        linear_equations(loaded())
    found = linear_equations(loaded(), modes={"f": "stick"}, numbers=True)
    assert float(found.A[0, 0]) == -10.0


def geared(drive, load, inertia=1.5, start=0.0, **friction):
    graph, gear = Graph("geared"), TF("gear", 0.5, domains=("rotation", "rotation"))
    shaft = graph.series(Se("drive", drive), I("shaft", 1.0, initial=start), Friction("loss", 1.0, **friction))
    graph.connect(shaft, gear).connect(gear, graph.series(I("body", inertia), Se("load", load)))
    return compile_model(graph, progress=False)


OWN = {"signals": {"load": "gear.1.effort"}, "parameters": {"mu": 0.5, "nu": 0.25}}
LOADED = OWN | {"scale": lambda load, mu: mu * absolute(load), "backward": lambda nu, load: nu * absolute(load)}


@pytest.mark.parametrize("drive", [-4.0, -1.0, 0.2, 1.0, 4.0])
@pytest.mark.parametrize("load", [-9.0, -2.1, 0.0, 3.0])
def test_friction_follows_a_load_that_it_changes(drive, load):
    fits = {0.0}
    for way, share in ((1.0, 0.5), (-1.0, 0.25)):
        for sign in (1.0, -1.0):
            factor = 1 + way * sign * share
            speed = (drive + factor * load / 2) / (1 + factor * 0.375)
            if speed * way > 0 and (0.375 * speed - load / 2) * sign >= 0:
                fits = {speed}
    (expected,) = fits
    model = geared(drive, load, **LOADED)
    run = model.simulate(1.0, progress=False)
    assert run.ok and run["shaft.flow"][-1] == pytest.approx(expected, abs=1e-12)
    smooth = model.simulate(1.0, parameters={"loss.mu": 0.0, "loss.nu": 0.0}, progress=False)
    assert smooth["shaft.flow"][-1] == pytest.approx((drive + load / 2) / 1.375, abs=1e-12)


@pytest.mark.parametrize(("drive", "load"), [(4.0, -9.0), (9.0, 0.5), (-4.0, 9.0), (1.9, -2.0), (-9.0, -1.0)])
def test_friction_that_is_bounded_follows_small_loads(drive, load):
    """The friction is half of the excess of the load above 0.5, and at most 1; SciPy solves the equation of motion for the
    speed."""

    def scale(tau):
        return minimum(maximum(absolute(tau) - 0.5, 0.0) / 2, 1.0)

    def excess(speed, way):
        tau = 0.375 * speed - load / 2
        return drive - tau - way * np.clip((abs(tau) - 0.5) / 2, 0.0, 1.0) - speed

    roots = [(brentq(excess, -50.0, 50.0, args=(way,)), way) for way in (1.0, -1.0)]
    expected = next((root for root, way in roots if root * way > 0), 0.0)
    run = geared(drive, load, scale=scale, signals=["gear.1.effort"]).simulate(1.0, progress=False)
    assert run.ok and run["shaft.flow"][-1] == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_friction_that_outgrows_its_load_ends_the_run():
    """With friction of twice the load, the equation a (1 - J / 4) = -1 has no valid solution for J >= 4 kg m^2."""
    slows = {"signals": ["gear.1.effort"], "scale": lambda e: 2.0 * absolute(e), "start": 1.0}
    assert geared(-1.0, 0.0, 3.0, **slows).simulate(0.1, progress=False).ok
    with pytest.warns(RunEndedWarning, match=r"E324 friction \"loss\": no solution, or several"):
        geared(-1.0, 0.0, 5.0, **slows).simulate(0.1, progress=False)
    graph, gear, twist = Graph("soft"), TF("gear", 0.5, domains=("rotation", "rotation")), J0("twist", domain="rotation")
    loss = Friction("loss", 1.0, scale=slows["scale"], signals=slows["signals"])
    shaft = graph.series(Se("drive", -1.0), I("shaft", 1.0, initial=1.0), loss)
    graph.connect(shaft, gear).connect(gear, twist).connect(twist, C("k", compliance=1e-2)).connect(twist, I("body", 5.0))
    assert compile_model(graph, progress=False).simulate(0.1, progress=False).ok


def test_backward_friction_of_its_own_limit():
    for load, speed in ((2.0, 1.0), (-2.0, 0.0), (-4.0, -1.0)):
        graph, v = Graph("ratchet"), J1("v", domain="translation")
        graph.connect(Se("load", load), v).connect(v, I("m", 1.0)).connect(v, Friction("f", 1.0, backward=lambda: 3.0))
        assert compile_model(graph).simulate(1.0, progress=False)["m.p"][-1] == pytest.approx(speed, abs=1e-12)
    with pytest.raises(ModelError, match="E161"):
        Friction("f", 1.0, backward=lambda: 3.0, dimension=2)
