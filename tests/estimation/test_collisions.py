"""Sensitivities through collisions agree with complex steps through closed forms, or with differences of runs."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from screwbond.models import attach_contact, ground, rigid_body
from screwbond.models import contact as contact_of

from bondgraph import IC, J0, J1, MTF, TF, Automaton, Constraint, Friction, Graph, I, Se, Transition, compile_model
from bondgraph.errors import RunError
from bondgraph.estimation import Experiment, estimate, run_sensitivities
from screws.scalars import array, cos, sin
from screws.surfaces import plane, sphere
from tests.estimation.differences import differences, extrapolated
from tests.estimation.test_run_sensitivities import agree
from tests.inner.models_contacts import Impact
from tests.run.test_friction_in_collisions import GRAVITY, HEIGHT, MASS, RADIUS, SPEED, ball, contact, plate

EXACT, TIGHT = 1e-8, {"rtol": 1e-12, "progress": False}


def bounced(times, numbers):
    """Return height, speed along the floor and spin of a bouncing ball; parameters may be complex.

    At each bounce friction stops the slip, or its impulse is mu times the normal impulse.
    """
    mu, e, mass, inertia, w, v, h, weight = numbers
    rows, t, p, at = [], 0.0 * mu, 0.0 * mu, list(times)
    while True:
        hit = (p + np.sqrt(p * p - 2.0 * weight * MASS * h)) / -weight
        while at and at[0] <= (t + hit).real:
            s = at.pop(0) - t
            rows.append([h + (p * s + weight * s * s / 2.0) / MASS, v, w])
        if not at:
            return np.array(rows)
        p = p + weight * hit
        slip, most = v + RADIUS * w, -mu * (1.0 + e) * p
        taken = slip / (1.0 / mass + RADIUS**2 / inertia)
        if abs(taken.real) > most.real:
            taken = most * np.sign(slip.real)
        t, h, p, v, w = t + hit, 0.0 * h, -e * p, v - taken / mass, w - RADIUS * taken / inertia


@pytest.mark.parametrize("spin", [5.0, 40.0, -80.0])
def test_a_ball_with_spin_against_complex_steps(spin):
    names = ("rubs.limit", "floor.restitution", "m.inertia", "J.inertia", "J.p", "m.p", "floor.h", "weight.value")
    inertia, times = 0.4 * MASS * RADIUS**2, np.linspace(0.0, 0.7, 12)
    start = {"J.p": inertia * spin, "m.p": 0.2}
    found = run_sensitivities(
        ball(1), names, 0.7, samples=times, initial=start, parameters={"rubs.stick_limit": 1.0, "rubs.limit": 0.2}, **TIGHT
    )
    assert found.ok and len(found.result.events) >= 4
    for j, name in enumerate(names):
        numbers = np.array([0.2, 0.5, MASS, inertia, inertia * spin, 0.2, HEIGHT, -MASS * GRAVITY], dtype=complex)
        numbers[j] += 1e-30j
        mu, e, mass, J, spun, pushed, h, weight = numbers
        wanted = bounced(times, (mu, e, mass, J, spun / J, pushed / mass, h, weight)).imag / 1e-30
        for k, quantity in enumerate(("floor.h", "m.flow", "w.flow")):
            if np.any(wanted[:, k]):
                agree(found[quantity, name], wanted[:, k])
            else:
                assert np.abs(found[quantity, name]).max() <= EXACT * np.abs(wanted).max()


@functools.cache
def rod(restitution=0.975):
    graph, w = Graph("rod"), J1("w", domain="rotation")
    x, y = J1("x", domain="translation"), J1("y", domain="translation")
    graph.connect(x, I("mx", 1.0)).connect(y, I("my", 1.0)).connect(w, I("J", 1.0 / 3.0))
    up, along = J0("up", domain="translation"), J0("along", domain="translation")
    graph.connect(y, up).connect(w, arm := TF("arm", -np.cos(0.92))).connect(arm, up)
    graph.connect(x, along).connect(w, stem := TF("stem", np.sin(0.92))).connect(stem, along)
    graph.connect(up, Constraint("floor", initial=0.1, automaton="on floor", active=["rest"], restitution=restitution))
    graph.add_automaton(contact("floor"))
    graph.connect(along, Friction("rubs", 0.91, stick_limit=2.0, scale=lambda n: n, signals=["floor.multiplier"]))
    return compile_model(graph)


CASES = {
    "in a plane": (
        lambda: ball(2, 0.7),
        {"J.p": [0.24, -0.64], "m.p": [1.0, -0.4]},
        ("rubs.limit", "J.inertia[1]", "floor.h"),
        ("m.flow[0]", "m.flow[1]", "w.flow[0]"),
        0.6,
    ),
    "two ends one after the other": (
        lambda: plate(0.3, 0.5, offset=0.1, h=(0.2, 0.23)),
        {"mx.p": 2.0},
        ("J.inertia", "left.h"),
        ("x.flow", "y.flow", "w.flow"),
        0.3,
    ),
    "two ends at once": (
        lambda: plate(0.1, 0.5),
        {"mx.p": 2.0},
        ("rubs left.limit", "mx.p", "left.restitution"),
        ("x.flow",),
        0.3,
    ),
    "less restitution, for no energy is gained": (
        rod,
        {"my.p": -1.0, "mx.p": 0.51},
        ("J.inertia",),
        ("x.flow", "y.flow", "w.flow"),
        0.11,
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_against_differences_of_runs(case):
    make, initial, names, outputs, t_end = CASES[case]
    compiled = make()
    rubs = {name: 2.0 for name in compiled.parameters if name.endswith(".stick_limit")}
    settings = {**TIGHT, "samples": t_end * np.array([0.2, 0.45, 0.7, 0.87, 1.0])}
    found = run_sensitivities(compiled, names, t_end, initial=initial, parameters=rubs, **settings)
    assert found.ok and found.result.events
    for name in names:
        wanted = differences(compiled, name, t_end, outputs, 1e-2, rubs, initial, **settings)
        agree(np.stack([found[output, name] for output in outputs], axis=-1), wanted)


@functools.cache
def cradle(count=3, restitution=1.0):
    graph, speeds = Graph("cradle"), [J1(f"v{k}") for k in range(count)]
    for k, p in enumerate((1.0, *[0.0] * (count - 1))):
        graph.connect(speeds[k], I(f"ball{k}", 1.0, initial=p))
    for k, gap in enumerate((0.2, *[0.0] * (count - 2))):
        between = J0(f"between{k}")
        graph.connect(speeds[k + 1], between).connect(between, speeds[k])
        graph.connect(
            between, Constraint(f"gap{k}", initial=gap, automaton=f"contact{k}", active=["on"], restitution=restitution)
        )
        hit = Transition("off", "off", lambda h: -h, (f"gap{k}.h",), impact=(f"gap{k}",), accumulates="on")
        graph.add_automaton(Automaton(f"contact{k}", ("off", "on"), "off", (hit,)))
    return compile_model(graph)


def test_balls_that_touch_are_struck_at_once():
    names, t = ("ball0.p", "ball0.inertia", "ball1.inertia", "ball2.inertia", "gap0.h"), np.array([0.0, 0.1, 0.3, 0.5])
    found = run_sensitivities(cradle(), names, 0.5, samples=t, **TIGHT)
    assert found.ok and any(event.simultaneous for event in found.result.events)

    def momenta(p, a, b, c, _):
        mobility = np.array([[1.0 / a + 1.0 / b, -1.0 / b], [-1.0 / b, 1.0 / b + 1.0 / c]])
        first, second = np.linalg.solve(mobility, np.array([2.0 * p / a, 0.0]))
        return np.array([p - first, first - second, second])

    for j, name in enumerate(names):
        numbers = np.ones(5, dtype=complex)
        numbers[j] += 1e-30j
        wanted = momenta(*numbers).imag / 1e-30
        got = np.stack([found[f"ball{k}.p", name] for k in range(3)], axis=-1)
        assert got[2:] == pytest.approx(np.array([wanted, wanted]), abs=1e-10)


def test_contacts_that_another_value_takes_apart_are_refused():
    with pytest.raises(
        RunError, match=r'E374(.|\n)*no derivative with respect to "gap1.h"(.|\n)*"contact\d" closes at the same time by chance'
    ):
        run_sensitivities(cradle(), ("ball0.p", "gap1.h"), 0.5, progress=False)
    for how in ("simultaneous", "sequential"):
        settings = {"initial": {"mx.p": 2.0}, "impacts": how, "progress": False}
        assert run_sensitivities(plate(0.1, 0.5), ("mx.p", "my.inertia"), 0.25, **settings).ok
        with pytest.raises(RunError, match=r'E374(.|\n)*no derivative with respect to "left.h"'):
            run_sensitivities(plate(0.1, 0.5), ("mx.p", "left.h"), 0.25, **settings)


def momenta_after_impacts(count, p, masses, restitutions):
    momenta = [p, *[0.0 * p] * (count - 1)]
    for k, e in enumerate(restitutions):
        approach = momenta[k] / masses[k] - momenta[k + 1] / masses[k + 1]
        taken = (1.0 + e) * approach / (1.0 / masses[k] + 1.0 / masses[k + 1])
        momenta[k], momenta[k + 1] = momenta[k] - taken, momenta[k + 1] + taken
    return np.array(momenta)


@pytest.mark.parametrize("count", [3, 4, 5])
def test_sensitivities_of_sequential_impacts_in_a_cradle(count):
    """Balls of decreasing mass separate; equal balls touch at rest, where a change of their masses makes them collide again."""
    masses, settings = [1.0 - 0.1 * k for k in range(count)], {**TIGHT, "samples": [0.0, 0.1, 0.3], "impacts": "sequential"}
    names = ("ball0.p", *(f"ball{k}.inertia" for k in range(count)), *(f"gap{k}.restitution" for k in range(count - 1)))
    given = {f"ball{k}.inertia": mass for k, mass in enumerate(masses)}
    found = run_sensitivities(cradle(count), names, 0.3, parameters=given, **settings)
    assert found.ok and len(found.result.events) == count - 1
    for j, name in enumerate(names):
        numbers = np.array([1.0, *masses, *np.ones(count - 1)], dtype=complex)
        numbers[j] += 1e-30j
        wanted = momenta_after_impacts(count, numbers[0], numbers[1 : 1 + count], numbers[1 + count :]).imag / 1e-30
        agree(np.array([found[f"ball{k}.p", name][-1] for k in range(count)]), wanted)
    alike = run_sensitivities(cradle(count), ("ball0.p", "gap0.h"), 0.3, **settings)
    assert alike.ok and alike[f"ball{count - 1}.p", "ball0.p"][-1] == pytest.approx(1.0, rel=EXACT)
    for name, why in (("ball1.p", "closes at the same time by chance"), ("ball1.inertia", '"gap0" touches without approaching')):
        with pytest.raises(RunError, match=rf'E374(.|\n)*no derivative with respect to "{name}"(.|\n)*{why}'):
            run_sensitivities(cradle(count), ("ball0.p", name), 0.3, **settings)


def beam():
    graph, y, turn = Graph("beam"), J1("y"), J1("turn")
    graph.connect(y, I("mass", 2.0, initial=-1.0)).connect(turn, I("J", 0.3))
    for name, arm in (("left", 0.5), ("right", -0.5)):
        at, lever = J0(f"at {name}"), TF(f"lever {name}", arm)
        graph.connect(y, at).connect(turn, lever).connect(lever, at)
        graph.connect(at, Constraint(name, initial=0.1, automaton=f"on {name}", active=["rest"], restitution=0.5))
        hit = Transition("off", "off", lambda h: -h, (f"{name}.h",), impact=(name,), accumulates="rest")
        graph.add_automaton(Automaton(f"on {name}", ("off", "rest"), "off", (hit,)))
    return compile_model(graph)


def test_an_order_by_chance_is_refused_without_friction_too():
    compiled, settings = beam(), {"impacts": "sequential", "progress": False, "rtol": 1e-10}
    turns = [compiled.simulate(0.3, initial={"left.h": 0.1 + off}, **settings)["J.p"][-1] for off in (-1e-6, 1e-6)]
    assert turns[0] == pytest.approx(-turns[1], rel=1e-4) and turns[1] > 0.1
    for name in ("left.h", "right.h", "J.p"):
        why = rf'E374(.|\n)*no derivative with respect to "{name}"(.|\n)*closes at the same time by chance'
        with pytest.raises(RunError, match=why):
            run_sensitivities(compiled, name, 0.3, **settings)
    found = run_sensitivities(compiled, "mass.p", 0.3, **settings)  # which treats both sides alike
    assert found.ok and found["J.p", "mass.p"][-1] == pytest.approx(-found.result["J.p"][-1], rel=1e-8)


def test_the_edge_between_sticking_and_slipping_is_refused():
    """Friction at exactly its limit stops the slip; with more spin, the ball would continue to slip."""
    spin, inertia = 40.0, 0.4 * MASS * RADIUS**2
    edge = 2.0 / 7.0 * RADIUS * spin / (1.5 * np.sqrt(2.0 * GRAVITY * HEIGHT))
    start = {"initial": {"J.p": inertia * spin}, "progress": False, "rtol": 1e-10}
    sides = []
    for part in (1.0 - 1e-6, 1.0 + 1e-6):
        limits = {"rubs.limit": part * edge, "rubs.stick_limit": 1.0}
        sides.append(run_sensitivities(ball(1), "J.p", 0.3, parameters=limits, samples=[0.3], **start)["m.flow", "J.p"][-1])
    assert sides[0] == pytest.approx(0.0, abs=1e-9) and sides[1] == pytest.approx(2.0 / 7.0 * RADIUS / inertia * -1.0, rel=1e-6)
    limits = {"rubs.limit": edge, "rubs.stick_limit": 1.0}
    with pytest.raises(RunError, match=r'E374(.|\n)*to "J.p"(.|\n)*"rubs" is at the boundary between sticking and slipping'):
        run_sensitivities(ball(1), "J.p", 0.3, parameters=limits, **start)


def test_only_the_restitution_has_no_derivative_at_one():
    """With a larger restitution, impacts would gain energy; all other parameters have derivatives."""
    elastic = {"parameters": {"floor.restitution": 1.0}, "progress": False, "samples": [0.3]}
    found = run_sensitivities(ball(1), ("floor.h", "up m.inertia"), 0.3, **elastic)
    since = 0.3 - SPEED / GRAVITY  # h = v s - g s^2 / 2 with v^2 = 2 g h0, and s is shorter by as much as the fall is longer
    slower = -1.0 / SPEED
    assert found.ok
    assert found["floor.h", "floor.h"][-1] == pytest.approx(
        GRAVITY / SPEED * since + (SPEED - GRAVITY * since) * slower, rel=1e-5
    )
    with pytest.raises(RunError, match=r'E374(.|\n)*to "floor.restitution"(.|\n)*add energy'):
        run_sensitivities(ball(1), ("floor.h", "floor.restitution"), 0.3, **elastic)


def test_independent_collisions_have_independent_times():
    def blocks(count):
        graph = Graph("blocks")
        for k in range(count):
            x, y = J1(f"x{k}", domain="translation"), J1(f"y{k}", domain="translation")
            graph.connect(x, I(f"mx{k}", 1.0, initial=5.0)).connect(Se(f"weight{k}", -9.81), y).connect(y, I(f"my{k}", 1.0))
            graph.connect(y, Constraint(f"floor{k}", initial=0.3, automaton=f"on floor{k}", active=["rest"], restitution=0.5))
            graph.add_automaton(contact(f"floor{k}"))
            graph.connect(x, Friction(f"rubs{k}", 0.2, scale=lambda n: n, signals=[f"floor{k}.multiplier"]))
        return compile_model(graph)

    samples = [0.2, 0.3, 0.45]
    two = run_sensitivities(blocks(2), ("floor0.h", "mx1.p", "weight1.value"), 0.45, samples=samples, **TIGHT)
    one = run_sensitivities(blocks(1), ("floor0.h", "weight0.value"), 0.45, samples=samples, **TIGHT)
    assert two.ok and two.result.events[0].simultaneous
    for own, name, alone in ((0, "floor0.h", "floor0.h"), (1, "weight1.value", "weight0.value")):
        for state in ("mx", "my"):
            agree(two[f"{state}{own}.p", name], one[f"{state}0.p", alone])
            assert np.abs(two[f"{state}{1 - own}.p", name]).max() <= EXACT


@functools.cache
def pendulum():
    def inertia(q, m1, m2):
        both = m2 * cos(q[1] - q[0])
        return array([[m1 + m2, both], [both, m2]])

    def height(q, m1, m2):
        return -9.81 * ((m1 + m2) * cos(q[0]) + m2 * cos(q[1]))

    graph, rates = Graph("double pendulum"), J1("rates", dimension=2)
    start = {"position": np.array([-0.6, -0.9]), "velocity": np.array([0.3, 0.2]), "parameters": {"m1": 1.0, "m2": 0.5}}
    graph.connect(rates, IC("arms", inertia=inertia, potential=height, **start))
    wall = Constraint(
        "wall",
        position=lambda x, q: x - sin(q[0]) - sin(q[1]),
        coordinates={"arms.q": 2},
        parameters={"x": 0.3},
        automaton="on wall",
        active=["rest"],
        restitution=0.4,
    )
    graph.connect(rates, wall.port("1")).add_automaton(contact("wall"))
    along = MTF("along", lambda q: array([[sin(q[0]), sin(q[1])]]), signals=["arms.q"], dimensions=(2, 1))
    rubs = Friction("rubs", 0.3, stick_limit=1.0, scale=lambda n: n, signals=["wall.multiplier"])
    return compile_model(graph.connect(rates, along).connect(along, rubs))


def test_an_arm_that_strikes_a_wall():
    names = ("rubs.limit", "wall.restitution", "arms.m2", "wall.x")
    outputs, settings = ("arms.q[0]", "arms.v[1]"), {**TIGHT, "samples": [0.5, 0.8, 1.0]}
    found = run_sensitivities(pendulum(), names, 1.0, **settings)
    assert found.ok and "hit wall" in found.result.events.kinds
    for name in names:
        wanted = differences(pendulum(), name, 1.0, outputs, 1e-2, **settings)
        agree(np.stack([found[output, name] for output in outputs], axis=-1), wanted)


def test_a_ball_in_space():
    graph, surface = Graph("drop"), ground("floor", surface=plane(5.0))
    start = {"position": (0.0, 0.0, 0.4), "velocity": (0.5, -0.2, 0.0), "angular_velocity": (3.0, -30.0, 0.0)}
    part = rigid_body("ball", mass=2.0, inertia=[0.008] * 3, surface=sphere(0.1), gravity=(0.0, 0.0, -9.81), **start)
    graph.add(surface)
    graph.add(part)
    attach_contact(graph, contact_of("touch", part, surface, law=Impact(0.5, friction=0.2)), part, surface)
    compiled, names = compile_model(graph), ("touch.friction cone.coefficient", "touch.normal.restitution", "ball.inertia.p[0]")
    outputs, settings = [f"ball.twist[{k}]" for k in (0, 3, 4)], {**TIGHT, "samples": [0.2, 0.3]}
    found = run_sensitivities(compiled, names, 0.3, **settings)
    assert found.ok and "impact" in found.result.events.kinds
    for name in names:
        wanted = differences(compiled, name, 0.3, outputs, 1e-2, **settings)
        agree(np.stack([found[output, name] for output in outputs], axis=-1), wanted)


@pytest.mark.parametrize("seed", range(1))
def test_friction_and_restitution_are_found_from_noisy_data(seed):
    t = np.linspace(0.0, 0.65, 80)[1:]
    t = t[np.all(np.abs(np.subtract.outer(t, (0.247, 0.544))) > 0.015, axis=1)]  # where speeds jump, so would the sum of squares
    truth = {"rubs.limit": 0.15, "floor.restitution": 0.6, "J.p": 0.2}
    settings = {"parameters": {"rubs.stick_limit": 1.0}, "initial": {"m.p": 0.2}}
    run = ball(1).simulate(
        0.65,
        samples=t,
        parameters={**settings["parameters"], "rubs.limit": 0.15, "floor.restitution": 0.6},
        initial={"m.p": 0.2, "J.p": 0.2},
        progress=False,
    )
    rng = np.random.default_rng(seed)
    noise = {"m.flow": 0.01, "floor.h": 0.01, "w.flow": 0.2}
    data = {name: (t, run[name][1:] + rng.normal(scale=sigma, size=len(t)), sigma) for name, sigma in noise.items()}
    ranges = {"rubs.limit": (0.05, 0.1, 0.5), "floor.restitution": (0.5, 0.7), "J.p": (0.1, 0.25, 0.4)}
    found = estimate(ball(1), ranges, [Experiment(data, **settings)], progress=False)
    assert found.mahalanobis_distance(truth) < 4.5 and found.chi2 == pytest.approx(found.degrees_of_freedom, rel=0.5)
    assert np.all(found.standard_errors < 0.1 * found.values)


def plank(arms, gap=0.1, friction=False, **mass):
    """Return a plank on supports at `arms`; with `friction`, the force of the last support limits the friction of a slide."""
    graph, y, turn, x = Graph("plank"), J1("y"), J1("turn"), J1("x")
    graph.connect(y, I("mass", **(mass or {"inertia": 2.0}), domain="translation")).connect(turn, I("J", 0.3))
    graph.connect(Se("weight", -19.62), y)
    for name, arm in arms.items():
        at, lever = J0(f"at {name}"), TF(f"lever {name}", arm)
        graph.connect(y, at).connect(turn, lever).connect(lever, at)
        graph.connect(at, Constraint(name, initial=gap, automaton=f"on {name}", active=["rest"], restitution=0.5))
        graph.add_automaton(contact(name))
    if friction:
        graph.connect(x, I("slide", 1.0, initial=1.0, domain="translation"))
        graph.connect(x, Friction("rubs", 0.2, stick_limit=1.0, scale=lambda n: n, signals=[f"{list(arms)[-1]}.multiplier"]))
    return compile_model(graph)


def refuses(compiled, name, why, t_end=0.2, **settings):
    with pytest.raises(RunError, match=rf'E374(.|\n)*no derivative with respect to "{name}"(.|\n)*{why}'):
        run_sensitivities(compiled, name, t_end, progress=False, **settings)


def test_an_unloaded_support_is_at_the_boundary_of_contact():
    """The support is at the centre of percussion, so heavier ends pull the plank up there, and lighter ends press it down."""
    compiled = plank({"left": -0.3, "right": 0.5}, friction=True)
    rests = {"initial": {"on left": "rest", "left.h": 0.0}, "samples": [0.2]}
    refuses(compiled, "J.inertia", '"left" is at the boundary between contact and separation', **rests)
    found = run_sensitivities(compiled, ("right.h", "right.restitution"), 0.2, **rests, **TIGHT)
    assert found.ok and found.result["on left.mode"][-1] == 1.0
    for name in found.labels:
        wanted = differences(compiled, name, 0.2, ["mass.p", "slide.p"], 1e-3, initial=rests["initial"], samples=[0.2], **TIGHT)
        agree(np.array([found[state, name][-1] for state in ("mass.p", "slide.p")]), wanted[-1])


def test_a_touching_contact_at_rest_is_at_the_boundary_of_an_impact():
    """The second ball is hit together with the last ball, unless the last ball moves away first."""
    struck = {"initial": {"gap0.h": 0.0}, "t_end": 0.1}
    for how in ("simultaneous", "sequential"):
        for name in ("ball1.p", "ball2.p"):
            refuses(cradle(), name, '"gap1" touches without approaching', impacts=how, **struck)
    found = run_sensitivities(cradle(), "ball0.p", 0.1, initial={"gap0.h": 0.0}, **TIGHT)
    assert [found[f"ball{k}.p", "ball0.p"][-1] for k in range(3)] == pytest.approx([-1.0 / 3.0, 2.0 / 3.0, 2.0 / 3.0])


def test_three_supports_share_a_blow_as_they_like_unless_it_matters():
    arms, falls = {"left": -0.5, "mid": 0.0, "right": 0.5}, {"mass.p": -1.0}
    smooth = plank(arms)
    found = run_sensitivities(smooth, ("weight.value", "mass.inertia"), 0.15, initial=falls, samples=[0.15], **TIGHT)
    assert found.ok and found.result.events
    for name in found.labels:
        wanted = differences(smooth, name, 0.15, ["mass.p"], 1e-3, initial=falls, samples=[0.15], **TIGHT)
        agree(found["mass.p", name], wanted[:, 0])
    refuses(smooth, "mid.restitution", "between contact and separation", 0.15, initial=falls)
    refuses(plank(arms, friction=True), "weight.value", "contacts are redundant", 0.15, initial=falls)


def test_an_end_that_comes_to_rest_while_the_plank_turns_on():
    compiled, falls = plank({"left": 0.3}, friction=True), {"J.p": 0.5}
    found = run_sensitivities(compiled, "J.p", 0.6, initial=falls, samples=[0.6], **TIGHT)
    last, limit = found.result.events[-2:]
    assert found.ok and limit.accumulation is not None and last.since == limit.since
    states = ("mass.p", "J.p", "slide.p")

    def end(p):  # the number of bounces before the limit is taken does not matter
        run = compiled.simulate(0.6, initial={"J.p": p}, samples=[0.6], **TIGHT)
        return np.array([run[state][-1] for state in states])

    agree(np.array([found[state, "J.p"][-1] for state in states]), extrapolated(end, 0.5, 0.05))


@pytest.mark.parametrize("how", ["simultaneous", "sequential"])
def test_nonlinear_storages_collide_sequentially(how):
    """The collision of nonlinear storages is not a linear problem, so the run solves one impact after another."""
    compiled = plank({"left": -0.5, "right": 0.5}, energy=lambda p: p * p / 4 + p**4 / 50)
    settings = {"initial": {"mass.p": -1.0, "right.h": 0.12}, "samples": [0.14], "impacts": how, **TIGHT}
    found = run_sensitivities(compiled, ("right.restitution", "mass.p"), 0.14, **settings)
    assert found.ok and found.result.events
    for name in found.labels:
        wanted = differences(compiled, name, 0.14, ["mass.p", "J.p"], 1e-3, None, **settings)
        agree(np.array([found[state, name][-1] for state in ("mass.p", "J.p")]), wanted[-1])
