"""Causality uses a single relation of a resistor in the inverse direction, too."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
import pytest

from bondgraph import (
    J0,
    J1,
    TF,
    Automaton,
    C,
    Element,
    Graph,
    I,
    R,
    RunEndedWarning,
    Se,
    Sf,
    Transition,
    by_mode,
    compile_model,
    simulate,
)
from bondgraph.export import state_equations
from screws.scalars import absolute, cos, exp, sin, where
from tests.inner.tracing import routines


def series(*parts: Element, inward: bool = True) -> Graph:
    graph, loop = Graph("series"), J1("loop")
    for part in parts:
        graph.connect(loop, part) if inward else graph.connect(part, loop)
    return graph


def diode(saturation: float = 1.0, thermal: float = 1.0) -> Element:
    values = {"saturation": saturation, "thermal": thermal}
    return R("r", flow=lambda e, i, u: i * (exp(e / u) - 1.0), parameters=values)


INVERSES = {
    "diode": (diode, lambda f: np.log1p(f), [0.7, 3.0]),
    "diode of silicon": (lambda: diode(1e-12, 0.0258563), lambda f: 0.0258563 * np.log1p(f / 1e-12), [1e-6, 1.0, 10.0]),
    "linear": (lambda: R("r", flow=lambda e: 2.0 * e), lambda f: f / 2.0, [-3.0, 0.0, 5.0]),
    "cube": (lambda: R("r", flow=lambda e: e * e * e), np.cbrt, [-8.0, 1.0, 1e6]),
    "square": (lambda: R("r", flow=lambda e: e * absolute(e)), lambda f: np.sign(f) * np.sqrt(abs(f)), [-4.0, 9.0]),
    "bend": (lambda: R("r", flow=lambda e: where(e > 0.0, 3.0 * e, e)), lambda f: f / (3.0 if f > 0 else 1.0), [-2.0, 6.0]),
}


@pytest.mark.parametrize("inward", [True, False])
@pytest.mark.parametrize("case", INVERSES)
def test_a_source_determines_the_value_of_a_relation(case: str, inward: bool) -> None:
    make, inverse, flows = INVERSES[case]
    for f in flows:
        model = compile_model(series(Sf("drive", f if inward else -f), make(), inward=inward), backend="numpy")
        env = model.evaluate()
        assert env[model.system.resolve("r.effort")] == pytest.approx(inverse(f), rel=1e-11)
        assert env["r.power"] == pytest.approx(f * inverse(f), rel=1e-11)


def test_all_components_of_a_vector() -> None:
    found = simulate(series(Sf("drive", [2.0, -10.0]), R("r", flow=lambda e: e + e**3, dimension=2)), 1.0)
    np.testing.assert_allclose(found["r.effort"][-1], [1.0, -2.0], rtol=1e-12)


def slowed(f: float, t: np.ndarray) -> np.ndarray:
    """Return the solution of x' = -cbrt(x)."""
    return (f ** (2 / 3) - 2 * t / 3) ** 1.5


RUNS: dict[str, tuple[Callable[[], Graph], str, Callable[[np.ndarray], np.ndarray]]] = {
    "I against a line": (
        lambda: series(I("x", 1.0, initial=2.0), R("r", flow=lambda e: 4.0 * e)),
        "x.p",
        lambda t: 2.0 * np.exp(-t / 4.0),
    ),
    "I against a cube": (lambda: series(I("x", 1.0, initial=1.0), R("r", flow=lambda e: e**3)), "x.p", lambda t: slowed(1.0, t)),
    "C against a cube": (
        lambda: series(Se("u", -1.0), C("x", capacitance=1.0), R("r", effort=lambda f: f**3)),
        "x.q",
        lambda t: 1.0 - slowed(1.0, t),
    ),
    "tank": (
        lambda: series(C("x", capacitance=1.0, initial=1.0), R("r", effort=lambda f: f * absolute(f))),
        "x.q",
        lambda t: (1.0 - t / 2.0) ** 2,
    ),
    "C at a node": (
        lambda: (
            Graph("node")
            .connect(C("x", capacitance=1.0, initial=1.0), j := J0("j"))
            .connect(j, R("r", effort=lambda f: f * absolute(f)))
        ),
        "x.q",
        lambda t: (1.0 - t / 2.0) ** 2,
    ),
}


@pytest.mark.parametrize("case", RUNS)
def test_storages_keep_their_states_and_their_energy(case: str) -> None:
    make, state, closed_form = RUNS[case]
    result = simulate(make(), 1.0, rtol=1e-9)
    assert result.ok
    np.testing.assert_allclose(result[state], closed_form(result.t), rtol=1e-7, atol=1e-9)
    assert result.ledger.relative_residual < 1e-9


def test_an_inductor_against_a_diode() -> None:
    """With f' = -ln(1 + f), t is the integral of df / ln(1 + f)."""
    result = simulate(series(I("x", 1.0, initial=2.0), diode()), 1.0, samples=[0.0, 1.0])
    np.testing.assert_allclose(result["r.effort"], np.log1p(result["r.flow"]), rtol=1e-10)
    f, weights = np.polynomial.legendre.leggauss(40)
    low, high = result["x.p"][-1], 2.0
    f = low + (high - low) * (f + 1.0) / 2.0
    assert (high - low) / 2.0 * np.sum(weights / np.log1p(f)) == pytest.approx(1.0, rel=1e-7)
    assert result.ledger.relative_residual < 1e-9


def test_a_run_is_right_as_far_as_it_goes_where_a_curve_is_flat() -> None:
    """e = cbrt(cos t) is infinitely steep at its zero, pi / 2."""

    def driven(**relations) -> Graph:
        return series(Sf("drive", lambda t: cos(t), signals=["time"]), R("r", **relations))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RunEndedWarning)
        result = simulate(driven(flow=lambda e: e * e * e), 3.0)
    assert result.t[-1] > np.pi / 2 - 0.01
    assert result.ok or "loop through r" in str(result.failure)
    np.testing.assert_allclose(result["r.effort"], np.cbrt(np.cos(result.t)), rtol=1e-4, atol=1e-4)

    def root(f):
        return where(f > 0.0, absolute(f) ** (1 / 3), -(absolute(f) ** (1 / 3)))

    result = simulate(driven(flow=lambda e: e * e * e, effort=root), 3.0)
    np.testing.assert_allclose(result["r.effort"], np.cbrt(np.cos(result.t)), atol=1e-12)


def test_two_relations_that_both_give_the_flow() -> None:
    graph = series(Se("u", -3.0), diode(), R("line", flow=lambda e: 2.0 * e))
    model = compile_model(graph, backend="numpy")
    env = model.evaluate()
    e, f = (float(env[model.system.resolve(f"r.{name}")]) for name in ("effort", "flow"))
    assert np.expm1(e) == pytest.approx(f, rel=1e-12)
    assert 2.0 * (3.0 - e) == pytest.approx(f, rel=1e-12)


def test_a_diode_behind_a_lever() -> None:
    """The lever has the ratio 2, so e1 = 2 ln(1 + 2 f)."""
    graph, lever, a = Graph("lever"), TF("lever", 2.0), J1("a")
    graph.connect(Sf("drive", 1.5), a).connect(a, lever).connect(lever, diode())
    model = compile_model(graph, backend="numpy")
    assert model.evaluate()[model.system.resolve("lever.1.effort")] == pytest.approx(2.0 * np.log(4.0), rel=1e-12)


def test_a_relation_that_is_used_as_given_makes_no_loop() -> None:
    model = compile_model(series(I("m", 1.0), C("c", capacitance=1.0), R("r", effort=lambda f: f**3)), backend="numpy")
    assert not model.system.loops


def test_modes_and_events() -> None:
    drive = Sf("drive", lambda t: 1.0 + t, signals=["time"])
    values = {"i": by_mode("heat", {"cold": 1.0, "hot": 2.0})}
    graph = series(drive, R("r", flow=lambda e, i: i * (exp(e) - 1.0), parameters=values))
    warm = Transition("cold", "hot", lambda e: e - np.log(3.0), ("r.effort",))
    graph.add_automaton(Automaton("heat", ("cold", "hot"), "cold", (warm,)))
    result = simulate(graph, 2.0, samples=[0.0, 0.5, 1.5, 2.0])
    assert [event.time for event in result.events] == pytest.approx([1.0], abs=1e-8)
    saturation = np.array([1.0, 1.0, 2.0, 2.0])
    np.testing.assert_allclose(result["r.effort"], np.log1p((1.0 + result.t) / saturation), rtol=1e-9)


def test_a_source_that_jumps() -> None:
    drive = Sf("drive", lambda t: where(t > 0.5, 7.0, 1.0) + 0.5 * sin(t), signals=["time"])
    result = simulate(series(drive, diode()), 1.0, samples=[0.0, 0.4, 0.6, 1.0])
    np.testing.assert_allclose(result["r.effort"], np.log1p(result["r.flow"]), rtol=1e-9)


@pytest.mark.parametrize("flow", [-2.0, lambda t: -2.0 * t])
def test_a_run_ends_where_a_relation_has_no_solution(flow) -> None:
    """The relation exp(e) - 1 stays above -1."""
    source = Sf("drive", flow, signals=["time"]) if callable(flow) else Sf("drive", flow)
    with pytest.warns(UserWarning, match='suspect: "r'):
        result = simulate(series(source, diode()), 1.0)
    assert not result.ok
    assert result.failure is not None
    assert result.failure.time == pytest.approx(0.5 if callable(flow) else 0.0, abs=1e-6)


def test_a_linear_relation_has_readable_equations() -> None:
    model = compile_model(series(I("m", 1.0), R("r", flow=lambda e: 2.0 * e)))
    assert str(state_equations(model).equations["m.p"]) == "-m.p/(2*m.inertia)"


def test_nonlinear_loops_are_found_in_one_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten loops need two traces, not eleven."""
    graph, runs = Graph("many"), []
    for k in range(10):
        node = J1(f"node {k}")
        graph.connect(I(f"x{k}", 1.0, initial=1.0 + k), node).connect(node, R(f"r{k}", flow=lambda e: e**3 + e))
    plain = routines.evaluate_system
    monkeypatch.setattr(routines, "evaluate_system", lambda ground: runs.append(1) or plain(ground))
    env = compile_model(graph, backend="numpy").evaluate()
    assert len(runs) == 2
    for k in range(10):
        assert env[f"r{k}.effort"] ** 3 + env[f"r{k}.effort"] == pytest.approx(1.0 + k, rel=1e-12)


def test_a_solution_at_zero_is_found_although_it_has_no_size() -> None:
    """The only solution of sinh p = 0.7 p is p = 0."""
    law = {"output": lambda p: (exp(p) - exp(-p)) / 2, "energy": lambda p: (exp(p) + exp(-p)) / 2 - 1.0}
    drive = Sf("drive", lambda gain, p: gain * p, parameters={"gain": 0.7}, signals=["x.p"])
    result = simulate(series(I("x", **law), drive), 0.1, rtol=1e-8)
    assert result.ok, result.failure
    assert np.abs(result["x.p"]).max() < 1e-12
