"""Simultaneous collisions agree with enumeration and closed forms.

Bodies are masses with rows of gap speeds g = J v. Some set of pushing contacts solves g+ = g + J M^-1 J^T L, L >= 0, g+ + e g
>= 0, where for each contact one of the last two is zero (Moreau 1988).
"""

from __future__ import annotations

import functools
import itertools

import numpy as np
import pytest

from bondgraph import J0, J1, TF, Automaton, Constraint, Graph, I, RunError, Se, Transition, compile_model
from tests.inner.run import complementary

AT = 0.25
"""Time at which all approaching bodies collide, s."""


def colliding(M, J, order=None):
    """Return a model of masses M (n,) with gaps whose rates are J (c, n) v, each gap with its own automaton."""
    graph, nodes = Graph("colliding"), [J1(f"v{k}", domain="translation") for k in range(len(M))]
    for k, node in enumerate(nodes):
        graph.connect(Se(f"force{k}", 0.0), node).connect(node, I(f"m{k}", M[k]))
    for i in order or range(len(J)):
        gap = J0(f"gap{i}", domain="translation")
        for k in np.flatnonzero(J[i]):
            arm = TF(f"arm{i}{k}", J[i, k])
            graph.connect(nodes[k], arm).connect(arm, gap)
        name = f"c{i}"
        graph.connect(gap, Constraint(name, initial=1.0, automaton=f"a{i}", active=["rest"], restitution=0.5))
        edges = (
            Transition("free", "free", lambda h: -h, (f"{name}.h",), kind=f"hit {i}", impact=(name,), accumulates="rest"),
            Transition("rest", "free", lambda f: -f, (f"{name}.multiplier",), kind=f"off {i}"),
        )
        graph.add_automaton(Automaton(f"a{i}", ("free", "rest"), "free", edges))
    return compile_model(graph)


def start(M, v, h):
    return {f"m{k}.p": M[k] * v[k] for k in range(len(M))} | {f"c{i}.h": h[i] for i in range(len(h))}


def velocities(run, M):
    return np.array([run[f"m{k}.flow"][-1] for k in range(len(M))])


def enumerated(G, q):
    """Return all L >= 0 with G L + q >= 0, where for each contact one of the two is zero."""
    found, n = [], len(q)
    for size in range(n + 1):
        for push in map(list, itertools.combinations(range(n), size)):
            L = np.zeros(n)
            L[push] = np.linalg.lstsq(G[np.ix_(push, push)], -q[push], rcond=None)[0]
            if np.all(L >= -1e-9) and np.all(G @ L + q >= -1e-9):
                found.append(L)
    return found


def after(M, J, v, e, touching):
    v = v.copy()
    for _ in range(100):
        g = J @ v
        part = [i for i in touching if g[i] <= 1e-12]
        if not any(g[i] < -1e-9 for i in part):
            return v
        rows = J[part]
        L = enumerated(rows / M @ rows.T, (1.0 + e[part]) * np.minimum(g[part], 0.0))[0]
        v = v + rows.T @ L / M
    raise AssertionError("no end")


@pytest.mark.parametrize("seed", range(12))
def test_impulses_solve_the_problem_of_their_signs(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 6))
    J = rng.normal(size=(n, 2 if seed % 3 == 0 else n + 1))
    G, q = J @ J.T, J @ rng.normal(size=J.shape[1])
    L = complementary(G, q)
    assert L is not None and L.min() >= 0.0 and (G @ L + q).min() > -1e-9 and abs(L @ (G @ L + q)) < 1e-9
    np.testing.assert_allclose(J.T @ L, J.T @ enumerated(G, q)[0], atol=1e-8)  # velocities are unique, shares need not be


@functools.cache
def bodies(seed):
    rng = np.random.default_rng(seed)
    n, c = int(rng.integers(2, 4)), int(rng.integers(2, 4))
    M, J = rng.uniform(0.5, 3.0, n), rng.normal(size=(min(c, n), n))
    return M, J, colliding(M, J)


@pytest.mark.parametrize("seed", range(10))
def test_bodies_that_meet_at_one_time(seed):
    M, J, compiled = bodies(seed)
    rng = np.random.default_rng(seed + 50)
    e = rng.choice([0.0, 0.3, 1.0, rng.uniform()], len(J))
    v = rng.normal(size=len(M))
    v = v if (J @ v).min() < 0.0 else -v
    h = np.where(J @ v < 0.0, -AT * (J @ v), 1.0)
    scale = 10.0 ** rng.integers(-9, 10)
    run = compiled.simulate(
        AT + 1e-3,
        initial=start(M, v * scale, h * scale),
        progress=False,
        rtol=1e-9,
        atol=1e-12 * scale,
        parameters={f"c{i}.restitution": value for i, value in enumerate(e)},
    )
    assert run.ok, run.failure
    expected = after(M, J, v, e, [i for i in range(len(J)) if J[i] @ v < 0.0])
    np.testing.assert_allclose(velocities(run, M) / scale, expected, atol=1e-9)
    assert all(event.lost >= -1e-12 * scale**2 for event in run.events)
    assert 0.5 * M @ expected**2 <= 0.5 * M @ v**2 + 1e-12


def chain(count):
    J = np.zeros((count - 1, count))
    for i in range(count - 1):
        J[i, i : i + 2] = -1.0, 1.0
    return J


@functools.cache
def cradle(count):
    return colliding(np.ones(count), chain(count))


@pytest.mark.parametrize("gap", [0.0, 1e-17, 1e-14, -1e-17])
@pytest.mark.parametrize(
    ("count", "how", "expected"),
    [
        (3, "simultaneous", (-1 / 3, 2 / 3, 2 / 3)),
        (3, "sequential", (0, 0, 1)),
        (5, "simultaneous", (-0.6, 0.4, 0.4, 0.4, 0.4)),
        (5, "sequential", (0, 0, 0, 0, 1)),
    ],
)
def test_cradles(count, how, expected, gap):
    M, v = np.ones(count), np.eye(count)[0]
    given = start(M, v, [0.1, *[gap] * (count - 2)]) | {}
    run = cradle(count).simulate(
        0.2, initial=given, parameters={f"c{i}.restitution": 1.0 for i in range(count - 1)}, impacts=how, progress=False
    )
    assert run.ok, run.failure
    np.testing.assert_allclose(velocities(run, M), expected, atol=1e-12)
    taken = [len(event.simultaneous) for event in run.events]
    if how == "simultaneous":  # bodies that then move together may touch again by rounding error
        assert taken[0] == count - 1 and not any(taken[1:])
    else:
        assert taken == [0] * (count - 1)
    assert run.events[0].name == ("a0" if how == "sequential" else ", ".join(f"a{i}" for i in range(count - 1)))


def test_the_order_of_writing_decides_nothing():
    M, v, J = np.array([1.0, 2.0, 0.7, 1.3]), np.array([1.0, 0.0, 0.0, -0.5]), chain(4)
    found = {}
    for order in ((0, 1, 2), (2, 1, 0), (1, 2, 0)):
        compiled = colliding(M, J, order)
        for how in ("simultaneous", "sequential"):
            run = compiled.simulate(
                0.15,
                initial=start(M, v, [0.1, 0.0, 0.05]),
                parameters={f"c{i}.restitution": 0.6 for i in range(3)},
                impacts=how,
                progress=False,
            )
            assert run.ok, run.failure
            found.setdefault(how, []).append(velocities(run, M))
    for runs in found.values():
        np.testing.assert_allclose(runs, np.broadcast_to(runs[0], np.shape(runs)), atol=1e-12)
    assert np.abs(found["simultaneous"][0] - found["sequential"][0]).max() > 0.05


def rod(order=(1, -1), mass=2.0, inertia=0.3, half=0.5, offset=0.0):
    """Return a rod over supports at its two ends, with the centre of mass `offset` to the right of the middle."""
    graph, v, w = Graph("rod"), J1("v", domain="translation"), J1("w", domain="rotation")
    graph.connect(Se("weight", -9.81 * mass), v).connect(v, I("m", mass)).connect(w, I("J", inertia))
    for side in order:
        name = "right" if side > 0 else "left"
        sum_, gap = J0(f"sum {name}", domain="translation"), J1(f"gap {name}", domain="translation")
        arm = TF(f"arm {name}", side * half - offset)
        graph.connect(v, sum_).connect(w, arm).connect(arm, sum_).connect(sum_, gap)
        graph.connect(gap, Constraint(name, initial=0.2, automaton=f"on {name}", active=["rest"], restitution=0.5))
        edges = (
            Transition("free", "free", lambda h: -h, (f"{name}.h",), kind=f"hit {name}", impact=(name,), accumulates="rest"),
            Transition("rest", "free", lambda f: -f, (f"{name}.multiplier",), kind=f"off {name}"),
        )
        graph.add_automaton(Automaton(f"on {name}", ("free", "rest"), "free", edges))
    return compile_model(graph)


@pytest.fixture(scope="module")
def symmetric():
    return rod()


@pytest.mark.parametrize("restitution", [0.0, 0.01, 0.5, 0.9])
def test_a_rod_that_falls_flat_stays_flat(symmetric, restitution):
    fall = np.sqrt(0.4 / 9.81)
    end = fall * (1.0 + restitution) / (1.0 - restitution)
    given = {"left.restitution": restitution, "right.restitution": restitution}
    run = symmetric.simulate(1.2 * end, parameters=given, progress=False)
    assert run.ok, run.failure
    assert np.abs(run["w.flow"]).max() < 1e-9
    limits = [event.accumulation for event in run.events if event.accumulation]
    assert limits == pytest.approx([end, end], abs=1e-7)
    assert run["on left.mode"][-1] == run["on right.mode"][-1] == 1.0
    assert run["left.multiplier"][-1] == pytest.approx(9.81, rel=1e-6) == run["right.multiplier"][-1]
    assert sum(event.lost for event in run.events) == pytest.approx(2.0 * 9.81 * 0.2, rel=1e-8)


@pytest.mark.parametrize("order", [(1, -1), (-1, 1)])
def test_a_lopsided_rod_that_falls_flat(order):
    run = rod(order, offset=0.2).simulate(0.205, parameters={"left.restitution": 0.5, "right.restitution": 0.5}, progress=False)
    (event,) = run.events
    assert event.name == "on left, on right" and len(event.simultaneous) == 2
    before, past = (dict(zip(("m.p", "J.p"), x[:2], strict=True)) for x in (event.x_before, event.x_after))
    assert past["m.p"] == pytest.approx(-0.5 * before["m.p"]) and abs(past["J.p"]) < 1e-12


def test_a_supported_body_transmits_a_blow_and_a_pulled_one_separates():
    """A rod on both supports is hit beyond the right support, which takes the blow while the left end lifts."""
    M, v = np.array([2.0, 0.3, 0.5]), np.array([0.0, 0.0, -1.0])  # lift and rotation of the rod, then the ball
    J = np.array([[1.0, -0.3, 0.0], [1.0, 0.3, 0.0], [-1.0, -0.9, 1.0]])
    run = colliding(M, J).simulate(
        0.101,
        initial=start(M, v, [0.0, 0.0, 0.1]) | {"a0": "rest", "a1": "rest"},
        progress=False,
        parameters={f"c{i}.restitution": 0.5 for i in range(3)},
    )
    assert run.ok, run.failure
    L = enumerated(J / M @ J.T, np.array([0.0, 0.0, -1.5]))[0]
    assert L[0] == 0.0 and L[1] > 0.0
    np.testing.assert_allclose(velocities(run, M), v + J.T @ L / M, atol=1e-12)
    assert [event.kind for event in run.events][:2] == ["hit 2", "off 0"]
    assert run["a0.mode"][-1] == 0.0 and run["a1.mode"][-1] == 1.0


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_ball_falls_straight_into_a_wedge(order):
    J = np.array([[0.6, 0.8], [-0.6, 0.8]])
    compiled = colliding(np.ones(2), J, order)
    given = {f"c{i}.restitution": 0.5 for i in range(2)}
    run = compiled.simulate(0.2, initial=start(np.ones(2), [0.0, -1.0], [0.08, 0.08]), parameters=given, progress=False)
    assert run.ok, run.failure
    (event,) = run.events
    assert len(event.simultaneous) == 2 and event.time == pytest.approx(0.1)
    np.testing.assert_allclose(velocities(run, np.ones(2)), [0.0, 0.5], atol=1e-12)


def test_unknown_ways_are_refused(symmetric):
    with pytest.raises(RunError, match="E304"):
        symmetric.simulate(0.1, impacts="random")


@functools.cache
def column():
    graph, nodes = Graph("column"), [J1(f"v{k}", domain="translation") for k in range(2)]
    for k, node in enumerate(nodes):
        below = node if k == 0 else J0("gap", domain="translation")
        graph.connect(Se(f"w{k}", -9.81), node).connect(node, I(f"m{k}", 1.0))
        if k == 1:
            graph.connect(node, below).connect(below, nodes[0])
        graph.connect(below, Constraint(f"c{k}", initial=0.1, automaton=f"a{k}", active=["rest"], restitution=0.5))
        edges = (
            Transition("free", "free", lambda h: -h, (f"c{k}.h",), kind=f"hit {k}", impact=(f"c{k}",), accumulates="rest"),
            Transition("rest", "free", lambda f: -f, (f"c{k}.multiplier",), kind=f"off {k}"),
        )
        graph.add_automaton(Automaton(f"a{k}", ("free", "rest"), "free", edges))
    return compile_model(graph)


@pytest.mark.parametrize("h", [(0.35, 0.0), (0.1, 0.2)])
@pytest.mark.parametrize("e", [(0.0, 0.0), (0.01, 0.7), (0.7, 1e-6), (0.5, 0.3)])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e7])
def test_no_ball_of_a_column_falls_through_another_or_the_floor(h, e, scale):
    M = np.array([0.4, 3.1]) * scale
    given = {f"c{k}.restitution": e[k] for k in range(2)} | {f"m{k}.inertia": M[k] for k in range(2)}
    given |= {f"w{k}.value": -9.81 * M[k] for k in range(2)}
    atol = [1e-9 * (scale if name.endswith(".p") else 1.0) for name in column().program.layout.names("x")]
    run = column().simulate(
        6.0, parameters=given, initial={f"c{k}.h": h[k] for k in range(2)}, rtol=1e-7, atol=atol, progress=False
    )
    assert run.ok, run.failure
    assert min(run["c0.h"].min(), run["c1.h"].min()) > -1e-6
    assert run["a0.mode"][-1] == run["a1.mode"][-1] == 1.0
    assert run["c0.multiplier"][-1] == pytest.approx(9.81 * M.sum(), rel=1e-6)
    assert run["c1.multiplier"][-1] == pytest.approx(9.81 * M[1], rel=1e-6)
    assert all(event.lost > -1e-9 * scale for event in run.events)
