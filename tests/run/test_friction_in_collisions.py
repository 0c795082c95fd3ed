"""Friction in collisions agrees with closed forms.

In the contact plane, a friction impulse F is bounded by mu times the normal impulse L, opposes remaining slip, and stops the
slip if possible (Moreau 1988).
"""

from __future__ import annotations

import functools

import numpy as np
import pytest

from bondgraph import J0, J1, TF, Automaton, Constraint, Friction, Graph, I, Se, Transition, UnreliableRunWarning, compile_model
from tests.inner.run import Cones, with_restitution

MASS, RADIUS, GRAVITY, HEIGHT = 2.0, 0.1, 9.81, 0.3
SPEED = np.sqrt(2.0 * GRAVITY * HEIGHT)


def contact(name, closing=False):
    leaves = Transition("rest", "free", lambda n: -n, (f"{name}.multiplier",), kind=f"off {name}")
    lands = Transition("free", "rest", lambda h: -h, (f"{name}.h",), kind=f"land {name}")
    hits = Transition("free", "free", lambda h: -h, (f"{name}.h",), kind=f"hit {name}", impact=(name,), accumulates="rest")
    return Automaton(f"on {name}", ("free", "rest"), "free", (lands if closing else hits, leaves))


@functools.cache
def ball(dimension, turn=0.0, closing=False, lift=None):
    graph, v, w = Graph("ball"), J1("v", domain="translation"), J1("w", domain="rotation")
    up, slip = J1("up", domain="translation"), J0("slip", domain="translation")
    one = np.ones(dimension) if dimension > 1 else 1.0
    graph.connect(Se("weight", -MASS * GRAVITY), up).connect(up, lift or I("up m", MASS))
    graph.connect(v, I("m", MASS * one)).connect(w, I("J", 0.4 * MASS * RADIUS**2 * one))
    hold = {} if closing else {"restitution": 0.5}
    graph.connect(up, Constraint("floor", initial=HEIGHT, automaton="on floor", active=["rest"], **hold))
    graph.add_automaton(contact("floor", closing))
    c, s = np.cos(turn), np.sin(turn)
    axes = np.array([[c, s], [-s, c]]) if dimension > 1 else 1.0
    lever = RADIUS * (axes @ np.array([[0.0, 1.0], [-1.0, 0.0]])) if dimension > 1 else RADIUS
    graph.connect(v, along := TF("along", axes)).connect(along, slip).connect(w, arm := TF("arm", lever)).connect(arm, slip)
    rubs = Friction("rubs", 0.2, scale=lambda n: n, signals=["floor.multiplier"], dimension=dimension)
    return compile_model(graph.connect(slip, rubs))


def struck(u, e, mu):
    """Return the friction impulse, opposed to u, on a ball whose lowest point moves with u; 2/7 m u stops the slip."""
    size = np.linalg.norm(u)
    most = mu * MASS * (1.0 + e) * SPEED
    return -np.asarray(u) * (min(2.0 / 7.0 * MASS, most / size) if size else 0.0)


@pytest.mark.parametrize("spin", [0.0, 5.0, 40.0, 80.0, -80.0])
@pytest.mark.parametrize("e", [0.0, 0.5, 1.0])
def test_a_ball_with_spin_bounces(spin, e):
    run = ball(1).simulate(
        0.26, initial={"J.p": 0.4 * MASS * RADIUS**2 * spin}, parameters={"floor.restitution": e}, progress=False
    )
    assert run.ok, run.failure
    hit, impulse = run.events[0], struck([RADIUS * spin], e, 0.2)[0]
    after = dict(zip([state for state in run.names() if state.endswith(".p")], hit.x_after[:3], strict=False))
    assert hit.kind == "hit floor" and after["m.p"] == pytest.approx(impulse, abs=1e-12)
    assert after["J.p"] == pytest.approx(0.4 * MASS * RADIUS**2 * spin + RADIUS * impulse, abs=1e-12)
    assert after["up m.p"] == pytest.approx(MASS * e * SPEED, abs=1e-9)
    lost = 0.5 * MASS * (1.0 - e**2) * SPEED**2 - impulse * RADIUS * spin - 0.5 * impulse**2 * 3.5 / MASS
    assert hit.lost == pytest.approx(lost, abs=1e-9) and run.ledger.relative_residual < 1e-9


@pytest.mark.parametrize("turn", [0.0, 0.7, 2.0])
@pytest.mark.parametrize("unit", [1.0, 1e3])
def test_a_ball_with_spin_bounces_until_it_rolls(turn, unit):
    """The ball ends at 5/7 of its velocity plus 2/7 of the rolling velocity of its spin, whatever the axes and units."""
    v, w = np.array([0.5, -0.2]), np.array([3.0, -30.0])
    flow = v + RADIUS * np.array([w[1], -w[0]])
    mass, length = (1.0, 1.0) if unit == 1.0 else (1e3, 1e3)
    given = {"m.p": MASS * v * mass * length, "J.p": 0.4 * MASS * RADIUS**2 * w * mass * length**2}
    c, s = np.cos(turn), np.sin(turn)
    lever = RADIUS * np.array([[c, s], [-s, c]]) @ np.array([[0.0, 1.0], [-1.0, 0.0]])
    numbers = {
        "weight.value": -MASS * GRAVITY * mass * length,
        "up m.inertia": MASS * mass,
        "m.inertia": MASS * mass * np.ones(2),
        "J.inertia": 0.4 * MASS * RADIUS**2 * mass * length**2 * np.ones(2),
        "arm.ratio": lever * length,
    }
    compiled = ball(2, turn)
    known = set(compiled.system.parameters)
    ratio = next(name for name in known if name.startswith("arm."))
    numbers = {ratio if name == "arm.ratio" else name: value for name, value in numbers.items()}
    run = compiled.simulate(4.0, initial={**given, "floor.h": HEIGHT * length}, parameters=numbers, progress=False)
    assert run.ok, run.failure
    np.testing.assert_allclose(run["m.flow"][-1] / length, v - 2.0 / 7.0 * flow, atol=1e-9)
    first = run.events[0].x_after
    assert run["on floor.mode"][-1] == 1.0 and run["rubs.mode"][-1] == 0.0
    impulse = struck(flow, 0.5, 0.2) * mass * length
    assert any(np.allclose(first[k : k + 2], MASS * v * mass * length + impulse, rtol=1e-9) for k in range(len(first) - 1))


@pytest.mark.parametrize("spin", [5.0, 80.0])
def test_a_ball_that_stays_where_it_lands_is_struck_alike(spin):
    run = ball(1, closing=True).simulate(0.26, initial={"J.p": 0.4 * MASS * RADIUS**2 * spin}, progress=False)
    assert run.ok, run.failure
    land = run.events[0]
    assert land.kind == "land floor" and run["on floor.mode"][-1] == 1.0
    impulse = struck([RADIUS * spin], 0.0, 0.2)[0]
    assert np.min(np.abs(land.x_after - impulse)) < 1e-12 and land.m_after.tolist() == [1.0, 0.0 if spin < 20.0 else 1.0]


def test_a_block_that_sticks_gives_way_to_a_blow():
    """Dry friction with a limit gives no impulse, so a ball hits a sticking block as it would a free one."""
    graph, gap = Graph("billiard"), J0("gap", domain="translation")
    v1, v2 = J1("v1", domain="translation"), J1("v2", domain="translation")
    graph.connect(v1, I("ball", 1.0)).connect(v2, I("block", 3.0)).connect(v2, Friction("table", 6.0))
    graph.connect(v2, gap).connect(v1, turn := TF("turn", -1.0)).connect(turn, gap)
    graph.connect(gap, Constraint("touch", initial=0.1, automaton="on touch", active=["rest"], restitution=0.5))
    graph.add_automaton(contact("touch"))
    run = compile_model(graph).simulate(1.0, initial={"ball.p": 1.0}, progress=False)
    assert run.ok, run.failure
    hit, stop = run.events
    block = 1.5 * 1.0 / 4.0
    np.testing.assert_allclose(sorted(hit.x_after[:2] / [1.0, 3.0]), sorted([1.0 - 3.0 * block, block]), atol=1e-12)
    assert hit.time == pytest.approx(0.1) and stop.time == pytest.approx(0.1 + block / 2.0) and stop.kind == "table sticks"
    assert hit.lost == pytest.approx(0.5 * 0.75 * 0.75, rel=1e-12)


@functools.cache
def plate(friction, restitution, offset=0.0, h=(0.2, 0.2), mass=2.0, inertia=0.3, half=0.5, height=0.0):
    graph, w = Graph("plate"), J1("w", domain="rotation")
    x, y = J1("x", domain="translation"), J1("y", domain="translation")
    graph.connect(x, I("mx", mass)).connect(Se("weight", -mass * GRAVITY), y).connect(y, I("my", mass)).connect(
        w, I("J", inertia)
    )
    for side, gap in zip((-1.0, 1.0), h, strict=True):
        name = "right" if side > 0 else "left"
        up, along = J0(f"up {name}", domain="translation"), J0(f"along {name}", domain="translation")
        graph.connect(y, up).connect(w, arm := TF(f"arm {name}", side * half - offset)).connect(arm, up)
        graph.connect(x, along).connect(w, stem := TF(f"stem {name}", height or 1e-9)).connect(stem, along)
        hold = Constraint(name, initial=gap, automaton=f"on {name}", active=["rest"], restitution=restitution)
        graph.connect(up, hold).add_automaton(contact(name))
        graph.connect(along, Friction(f"rubs {name}", friction, scale=lambda n: n, signals=[f"{name}.multiplier"]))
    return compile_model(graph)


def test_housners_block_rocks_on():
    """When the other corner of a block of width 2 b and height 2 h lands without bouncing, the angular velocity is multiplied by
    1 - 1.5 sin^2(atan(b / h))."""
    b, h, mass, rate = 0.1, 0.3, 2.0, 0.8
    inertia = mass / 3.0 * (b**2 + h**2)
    model = plate(5.0, 0.0, h=(0.0, 2.0 * b * rate * 0.01), mass=mass, inertia=inertia, half=b, height=h)
    # about the left corner: the centre moves with w (-h, b), the right corner falls
    w = -rate
    start = {"J.p": inertia * w, "my.p": mass * b * w, "mx.p": -mass * h * w, "on left": "rest"}
    for how in ("simultaneous", "sequential"):
        run = model.simulate(0.012, initial=start, parameters={"weight.value": 0.0}, progress=False, impacts=how)
        assert run.ok, run.failure
        assert run["w.flow"][-1] / w == pytest.approx(1.0 - 1.5 * b**2 / (b**2 + h**2), rel=1e-9) == pytest.approx(0.85)
        assert run["on left.mode"][-1] == 0.0 and run["x.flow"][-1] == pytest.approx(-h * run["w.flow"][-1])


@pytest.mark.parametrize("restitution", [0.0, 0.5])
def test_a_rod_that_falls_flat_and_slides_stays_flat(restitution):
    """Friction at both ends has no lever arm, so it takes mu times the normal impulse without turning the rod."""
    run = plate(0.1, restitution).simulate(0.21, initial={"mx.p": 2.0}, progress=False)
    assert run.ok, run.failure
    hit = run.events[0]
    speed = np.sqrt(2.0 * GRAVITY * 0.2)
    assert len(hit.simultaneous) == 2 and np.abs(run["w.flow"]).max() < 1e-8
    moved = 1.0 - 0.1 * (1.0 + restitution) * speed
    assert np.min(np.abs(hit.x_after - 2.0 * moved)) < 1e-9 and hit.lost > 0.0


def random_problem(rng, restitution):
    contacts, size = int(rng.integers(1, 4)), int(rng.integers(1, 3))
    n = contacts * (1 + size)
    J, v = rng.normal(size=(n, n + int(rng.integers(0, 3)))), rng.normal(size=n + 2)
    v = v[: J.shape[1]]
    J[:contacts] *= -np.sign(J[:contacts] @ v)[:, None]
    bounds = np.zeros((contacts, n))
    bounds[np.arange(contacts), np.arange(contacts)] = rng.uniform(0, 1.2, contacts)
    flow = J @ v
    target = flow * np.where(np.arange(n) < contacts, 1.0 + restitution, 1.0)
    return Cones(J @ J.T, contacts, (size,) * contacts, bounds), flow, target


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("restitution", [0.0, 0.7])
def test_impulses_obey_the_laws_of_impact_and_friction(seed, restitution):
    problem, _, target = random_problem(np.random.default_rng(seed), restitution)
    z = problem.solve(target)
    assert z is not None
    flow, count = problem.response @ z + target, problem.count
    push = z[:count]
    assert push.min() >= 0.0 and flow[:count].min() > -1e-9 and np.abs(push * flow[:count]).max() < 1e-9
    at = count
    for row, size in zip(problem.bounds, problem.groups, strict=True):
        rub, slip, most = z[at : at + size], flow[at : at + size], row @ z
        assert np.linalg.norm(rub) <= most + 1e-9
        np.testing.assert_allclose(rub * np.linalg.norm(slip), -most * slip, atol=1e-8)
        at += size


@pytest.mark.parametrize("seed", range(10))
def test_the_order_of_contacts_decides_nothing(seed):
    problem, _, target = random_problem(np.random.default_rng(seed), 0.3)
    z = problem.solve(target)
    size, count = problem.groups[0], problem.count
    turned = np.array([*range(count)][::-1] + [count + size * k + i for k in range(count)[::-1] for i in range(size)])
    other = Cones(problem.response[np.ix_(turned, turned)], count, problem.groups, problem.bounds[::-1][:, turned])
    np.testing.assert_allclose(other.solve(target[turned]), z[turned], atol=1e-8)


def test_restitution_is_reduced_where_energy_would_increase():
    """A rod hits the floor with one end, at an angle at which full restitution would increase the rod's energy."""
    angle, mu, e, u = 0.92, 0.91, 0.975, 0.51
    up, along, cross = 1.0 + 3.0 * np.cos(angle) ** 2, 1.0 + 3.0 * np.sin(angle) ** 2, -3.0 * np.sin(angle) * np.cos(angle)
    problem = Cones(np.array([[up, cross], [cross, along]]), 1, (1,), np.array([[mu, 0.0]]))
    flow = np.array([-1.0, u])

    def gained(z):
        return float(z @ (flow + 0.5 * problem.response @ z))

    def solve(part):
        return problem.solve(flow * np.array([1.0 + part * e, 1.0]))

    assert gained(solve(1.0)) > 0.05
    z, part = with_restitution(solve, gained, 1e-12)
    assert 0.0 < part < 1.0
    after = flow + problem.response @ z
    assert abs(gained(z)) < 1e-9 and 0.0 < after[0] < e
    assert abs(z[1]) <= mu * z[0] + 1e-12


def test_the_energy_of_a_rod_that_strikes_askew_never_grows():
    graph, w = Graph("rod"), J1("w", domain="rotation")
    x, y = J1("x", domain="translation"), J1("y", domain="translation")
    angle, half = 0.92, 1.0
    graph.connect(x, I("mx", 1.0)).connect(y, I("my", 1.0)).connect(w, I("J", half**2 / 3.0))
    up, along = J0("up", domain="translation"), J0("along", domain="translation")
    graph.connect(y, up).connect(w, arm := TF("arm", -half * np.cos(angle))).connect(arm, up)
    graph.connect(x, along).connect(w, stem := TF("stem", half * np.sin(angle))).connect(stem, along)
    graph.connect(up, Constraint("floor", initial=0.1, automaton="on floor", active=["rest"], restitution=0.975))
    graph.add_automaton(contact("floor"))
    graph.connect(along, Friction("rubs", 0.91, scale=lambda n: n, signals=["floor.multiplier"]))
    run = compile_model(graph).simulate(0.2, initial={"my.p": -1.0, "mx.p": 0.51}, progress=False)
    assert run.ok, run.failure
    hit = run.events[0]
    assert hit.lost == pytest.approx(0.0, abs=1e-9) and hit.lost > -1e-11
    assert run.ledger.relative_residual < 1e-9


@pytest.mark.parametrize("impacts", ["simultaneous", "sequential"])
def test_a_run_that_loses_friction_in_an_impact_says_so(impacts):
    """The momentum of the lifted mass is no linear function of its speed, so the problem of impulses is not linear."""
    compiled = ball(1, lift=I("up m", energy=lambda p: p * p / (2.0 * MASS) + 1e-3 * p**4, domain="translation"))
    options = {"initial": {"J.p": 0.2}, "impacts": impacts, "progress": False}
    with pytest.warns(UnreliableRunWarning, match=r"friction is missing in 1 impact(.|\n)*\"on floor\""):
        run = compiled.simulate(0.3, **options)
    assert not run.ok and run.failure is None and run.warnings[0].time == run.events[0].time
    assert run.events.without_friction.sum() == 1 and run.events.without_friction[0]
    with pytest.warns(UnreliableRunWarning, match="friction is missing in 1 impact"):
        kept = compiled.simulate(0.3, keep=["m.p"], **options)
    assert not kept.ok
    prepared = compiled.prepare_run(0.3, impacts=impacts)
    many = prepared.run_many(*prepared.start_values_many({}, {"J.p": np.array([0.1, 0.2])}))
    assert sorted(many.warnings) == [0, 1]


def test_the_search_for_impulses_ends_if_there_are_none_without_restitution():
    parts = []
    assert with_restitution(parts.append, lambda impulses: 0.0, 0.0) == (None, 0.0)
    assert parts == [1.0, 0.0]
