"""Implicit equations on small graphs, from constraints with a position and from loops, are solved."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from bondgraph import (
    J0,
    J1,
    MTF,
    Automaton,
    Block,
    C,
    Compiled,
    Constraint,
    Graph,
    I,
    R,
    Se,
    Sf,
    StateSpec,
    Transition,
    compile_model,
)
from screws.scalars import array, exp, log, sqrt


def compiled(graph: Graph) -> Compiled:
    return compile_model(graph, backend="numpy")


def rates(model: Compiled) -> np.ndarray:
    x, m = model.initial()
    return model.program.rates(0.0, x, model.parameters(), m)


def pendulum(**constraint) -> Graph:
    """Return a point mass on a rod in Cartesian coordinates; the rod is the constraint h = (x . x - 1) / 2 = 0."""
    graph, v = Graph("pendulum"), J1("v", dimension=2)
    graph.connect(v, I("m", 2.0, dimension=2)).connect(Se("weight", [0.0, -2.0 * 9.81]), v)
    place = {"x": StateSpec([1.0, 0.0])}
    graph.add(Block("at", [("x'", lambda v: v, ["v"])], inputs={"v": "v.flow"}, states=place, rates={"x": "x'"}))
    along = MTF("along", lambda x: x, signals=["at.x"], dimensions=(2, 1))
    rod = Constraint("rod", position=lambda x: (x @ x - 1.0) / 2.0, signals=["at.x"], **constraint)
    return graph.connect(v, along).connect(along, rod)


def test_a_pendulum_by_its_constraint() -> None:
    """The period from 90 degrees is 2.3678419 s, and the tension at the bottom is 3 m g."""
    result = compile_model(pendulum()).simulate(2.3678419, samples=[0.0, 2.3678419 / 4, 2.3678419], progress=False)
    assert result.ok
    np.testing.assert_allclose(result["at.x"][-1], [1.0, 0.0], atol=1e-6)
    np.testing.assert_allclose(result["at.x"][1], [0.0, -1.0], atol=1e-6)
    assert abs(result["rod.effort"][1]) == pytest.approx(3.0 * 2.0 * 9.81, rel=1e-6)
    np.testing.assert_allclose(result["rod.h"], 0.0, atol=1e-9)
    np.testing.assert_allclose(result.ledger.injected, 0.0, atol=1e-8)


def test_two_rods_in_large_motion() -> None:
    """For a double pendulum over 10 s, pivots chosen at the start suffice."""
    graph, v1, v2, apart = Graph("double"), J1("v1", dimension=2), J1("v2", dimension=2), J1("apart", dimension=2)
    for name, v, mass in (("1", v1, 2.0), ("2", v2, 1.0)):
        graph.connect(v, I(f"m{name}", mass, dimension=2)).connect(Se(f"weight{name}", [0.0, -mass * 9.81]), v)
    force = J0("force", dimension=2)
    graph.connect(v2, force).connect(force, v1).connect(force, apart)
    places = {"x": StateSpec([1.0, 0.0]), "y": StateSpec([1.0, 1.0])}
    written = [("x'", lambda v: v, ["v"]), ("y'", lambda v: v, ["w"]), ("d", lambda x, y: y - x, ["x", "y"])]
    inputs = {"v": "v1.flow", "w": "v2.flow"}
    graph.add(Block("at", written, inputs=inputs, states=places, rates={"x": "x'", "y": "y'"}))
    for name, v, signal in (("1", v1, "at.x"), ("2", apart, "at.d")):
        along = MTF(f"along{name}", lambda x: x, signals=[signal], dimensions=(2, 1))
        rod = Constraint(f"rod{name}", position=lambda x: (x @ x - 1.0) / 2.0, signals=[signal])
        graph.connect(v, along).connect(along, rod)
    result = compile_model(graph).simulate(10.0, progress=False)
    assert result.ok
    assert result.ledger.relative_residual < 2e-8
    for name in ("rod1.h", "rod2.h"):
        np.testing.assert_allclose(result[name], 0.0, atol=1e-8)


def test_the_cubic_term_of_the_stabilisation() -> None:
    """The equation is h'' + a1 h' + a0 h + a2 h^3 = 0."""
    model = compiled(pendulum(alpha1=3.0, alpha0=7.0, alpha2=11.0))
    x, m = model.initial({"at.x": [1.2, 0.3], "m.p": [0.4, -0.8]})
    p, step = model.parameters(), 1e-6
    slope = model.program.rates(0.0, x, p, m)
    now, after, before = (model.evaluate(0.0, x + h * slope, p, m) for h in (0.0, step, -step))
    speed = model.system.resolve("along.2.flow")
    second = (after[speed] - before[speed]) / (2 * step)
    h = now[model.system.resolve("rod.h")]
    assert h == pytest.approx((1.2**2 + 0.3**2 - 1) / 2)
    assert second == pytest.approx(-3.0 * now[speed] - 7.0 * h - 11.0 * h**3, rel=1e-7)


@pytest.mark.parametrize("flips", list(itertools.product([False, True], repeat=4)))
def test_a_linear_loop_with_every_arrow(flips: tuple[bool, ...]) -> None:
    graph, a, node, b = Graph("loop"), J1("a"), J0("node"), J1("b")
    parts = [(a, R("r2", 2.0)), (node, R("r3", 3.0)), (b, R("r5", 5.0)), (b, I("i7", 7.0, initial=4.0))]
    graph.connect(Se("u", 1.5), a).connect(a, node).connect(node, b)
    for flip, (junction, part) in zip(flips, parts, strict=True):
        graph.connect(part, junction) if flip else graph.connect(junction, part)
    model = compiled(graph)
    assert rates(model) == pytest.approx([0.6 * 1.5 - 31 / 35 * 4.0])
    env = model.evaluate()
    assert env[model.system.resolve("u.power")] == pytest.approx(
        sum(env[model.system.resolve(f"{name}.power")] for name in ("r2", "r3", "r5", "i7"))
    )


def test_a_loop_of_vectors_whose_shape_only_the_formulas_know() -> None:
    """The loop is x = y / 2 + (1, 2), y = x / 2."""
    graph = Graph("blocks").connect(C("c", capacitance=1.0), R("r", 1.0))
    graph.add(Block("b", [("x", lambda y: y * 0.5 + array([1.0, 2.0]), ["y"]), ("y", lambda x: 0.5 * x, ["x"])]))
    np.testing.assert_allclose(compiled(graph).evaluate()["b.x"], [4 / 3, 8 / 3], rtol=1e-14)


def cubic_loop() -> Graph:
    """Return an effort source in series with e = f + f^3, a resistor and a capacitor, for which f + f^3 + R f = u - q."""
    loop = J1("loop")
    graph = Graph("cubic").connect(Se("u", 2.0), loop).connect(loop, R("a", effort=lambda f: f + f * f * f))
    return graph.connect(loop, R("b", 1.0)).connect(loop, C("c", capacitance=1.0))


def test_a_nonlinear_loop_is_solved_for_every_routine() -> None:
    model = compiled(cubic_loop())
    (loop,) = model.system.loops
    assert loop.guesses
    for charge in (0.0, 1.5, -3.0, 50.0):
        x, m = model.initial({"c.q": charge})
        env = model.evaluate(0.0, x, None, m)
        f = env[model.system.resolve("loop.flow")]
        assert 2 * f + f**3 == pytest.approx(2.0 - charge, abs=1e-12)
        assert env[model.system.resolve("a.power")] >= 0.0


def test_a_nonlinear_loop_along_a_run() -> None:
    """Flow and charge stay on their curve, and the flow follows the closed form t(f)."""
    result = compile_model(cubic_loop()).simulate(4.0, progress=False)
    assert result.ok
    f, q = result["loop.flow"], result["c.q"]
    np.testing.assert_allclose(2 * f + f**3, 2.0 - q, atol=1e-9)
    # q' = f and q = 2 - 2 f - f^3: t = -(2 ln f + 3 f^2 / 2) + constant
    curve = -(2 * np.log(f) + 1.5 * f**2)
    np.testing.assert_allclose(curve - curve[0], result.t, atol=1e-8)
    assert result.ledger.relative_residual < 1e-9


def test_a_run_that_ends_at_its_start_has_a_result() -> None:
    graph = cubic_loop().add_automaton(
        Automaton("limit", ("ok",), "ok", (Transition("ok", "ok", lambda f: f - 0.5, ("loop.flow",), error="too fast"),))
    )
    result = compiled(graph).simulate(1.0, progress=False)
    assert not result.ok
    assert "too fast" in str(result.failure)
    assert len(result.t) == 1


@pytest.mark.parametrize("k", [1.0, 1e-9, 300.0, 1e9])
def test_units_of_a_steep_curve_do_not_decide_whether_a_graph_is_refused(k: float) -> None:
    """At states of size 1, rounding error of sinh(300 x) would hide that two linear C follow a nonlinear one."""
    curve = C(
        "curve",
        output=lambda x: k * (exp(k * x) - exp(-k * x)) / 2,
        energy=lambda x: (exp(k * x) + exp(-k * x)) / 2 - 1.0,
        inverse=lambda e: log(e / k + sqrt(e * e / k**2 + 1.0)) / k,
    )
    graph, node = Graph("steep"), J0("node")
    graph.connect(node, curve).connect(node, C("a", capacitance=2.0 / k**2)).connect(node, C("b", capacitance=3.0 / k**2))
    graph.connect(Sf("i", 6.0 / k), node)
    compiled = compile_model(graph, backend="numpy")
    x, m = compiled.initial()
    # at zero, all three share the current in proportion to their capacitances 1, 2 and 3
    rates = compiled.program.rates(0.0, x, compiled.parameters(), m)
    assert rates == pytest.approx([1.0 / k], rel=1e-12)
