"""Operating points, conserved amounts, steady motion, trims and sensitivities are correct, and failures have messages."""

from __future__ import annotations

import numpy as np
import pytest

from bondgraph import J0, J1, Automaton, Block, C, Graph, I, ModelError, R, Se, StateSpec, Transition, compile_model
from bondgraph.analysis import linearise, operating_point, sensitivities, steady_state
from screws.scalars import exp, log
from tests.analysis.models import chain, hoist, motor, pi_filter
from tests.inner.analysis import newton


def signals(name: str, rates, initial, parameters=None):
    graph = Graph(name)
    names = list(initial)
    graph.add(
        Block(
            "b",
            [([f"d{n}" for n in names] if len(names) > 1 else f"d{names[0]}", rates, [*names, *(parameters or {})])],
            states={n: StateSpec(v) for n, v in initial.items()},
            rates={n: f"d{n}" for n in names},
            parameters=parameters,
        )
    )
    return compile_model(graph, backend="numpy")


def test_motor_at_its_speed() -> None:
    point = steady_state(compile_model(motor(), backend="numpy"))
    assert point["rotor.flow"] == pytest.approx(502.044, rel=1e-6)
    assert point.iterations <= 2 and not point.undetermined and not point.due
    assert "inertia.p = 0.000502044" in str(point)
    np.testing.assert_allclose(point.linearise().poles(), [-266643.9, -23.755], rtol=1e-5)


def test_hoist() -> None:
    point = steady_state(compile_model(hoist(), backend="numpy"))
    assert point["rotor.flow"] == pytest.approx(398.793, rel=2e-6)
    assert point["armature.flow"] == pytest.approx(0.298878, rel=2e-6)
    assert point["elastic.effort"] == pytest.approx(5e-3 * 9.81, rel=1e-9)


def test_pi_filter() -> None:
    point = steady_state(compile_model(pi_filter(), backend="numpy"))
    np.testing.assert_allclose([point[n] for n in ("C_a.q", "C_b.q", "L.p")], 0.5, rtol=1e-12)


def test_trim_a_motor_to_a_speed() -> None:
    compiled = compile_model(motor(), backend="numpy")
    point = operating_point(compiled, free=["supply.value"], targets={"rotor.flow": 251.022})
    assert point.parameters["supply.value"] == pytest.approx(2.5, rel=1e-5)
    held = operating_point(compiled, {"inertia.p": 251.022e-6}, fixed=["inertia.p"], free=["supply.value"])
    assert held.parameters["supply.value"] == pytest.approx(2.5, rel=1e-5)


def falling() -> Graph:
    graph = Graph("falling")
    speed = J1("speed", domain="translation")
    graph.connect(Se("weight", 9.81), speed).connect(speed, I("body", 1.0)).connect(speed, R("air", 3.0))
    graph.add(
        Block("height", [("rate", lambda p: p, ["p"])], inputs={"p": "body.p"}, states={"h": StateSpec(0.0)}, rates={"h": "rate"})
    )
    return graph


def test_steady_motion_and_a_rate_that_cannot_vanish() -> None:
    compiled = compile_model(falling(), backend="numpy")
    point = operating_point(compiled, moving=["height.h"])
    assert point["speed.flow"] == pytest.approx(3.27)
    assert point.undetermined == (("height.h",),)
    with pytest.raises(ModelError, match="E254") as caught:
        steady_state(compiled)
    assert "moving=" in str(caught.value) and "height.h" in str(caught.value)


def test_a_free_direction_is_reported_and_left_alone() -> None:
    graph = Graph("free body")
    speed = J1("speed", domain="translation")
    graph.connect(speed, I("body", 1.0, initial=2.0)).connect(speed, R("air", 3.0))
    graph.add(
        Block("place", [("rate", lambda p: p, ["p"])], inputs={"p": "body.p"}, states={"x": StateSpec(5.0)}, rates={"x": "rate"})
    )
    point = steady_state(compile_model(graph, backend="numpy"))
    assert point["body.p"] == pytest.approx(0.0, abs=1e-15)
    # it coasts: x' = p and p' = -3 p, so x + p / 3 is conserved
    assert point["place.x"] == pytest.approx(5.0 + 2.0 / 3.0)
    assert point.undetermined == (("place.x",),)


def test_conserved_amounts_are_those_of_the_guess() -> None:
    """A + B <=> C with unit rate constants conserves a - b = -1 and a + c = 4, and ends at a b = c."""

    def rates(a, b, c):
        forward = a * b - c
        return -forward, -forward, forward

    compiled = signals("chemistry", rates, {"a": 1.0, "b": 2.0, "c": 3.0})
    point = steady_state(compiled)
    np.testing.assert_allclose(point.x, [np.sqrt(5) - 1, np.sqrt(5), 5 - np.sqrt(5)], rtol=1e-12)
    assert len(point.undetermined) == 2


def test_strong_nonlinearity_is_damped() -> None:
    compiled = signals("diode", lambda x, s: 1.0 - x - s * (exp(x / 0.0258563) - 1.0) * 100.0, {"x": 0.0}, {"s": 1e-12})
    point = steady_state(compiled, {"b.x": 3.0})
    x = point.x[0]
    assert 1.0 - x == pytest.approx(100.0 * 1e-12 * np.expm1(x / 0.0258563), rel=1e-9)
    assert point.iterations > 5


def test_a_diode_in_series_conducts_in_the_steady_state() -> None:
    """The conductance of a diode at zero voltage is tiny, so Newton's first step ends far from the steady state."""
    graph = Graph("rectifier")
    loop, out = J1("loop", domain="electrical"), J0("out", domain="electrical")
    shockley = R("diode", flow=lambda e, Is, Vt: Is * (exp(e / Vt) - 1.0), parameters={"Is": 1e-14, "Vt": 0.025})
    graph.connect(Se("source", 5.0), loop).connect(loop, R("series", 1e3)).connect(loop, shockley).connect(loop, I("coil", 1e-3))
    graph.connect(loop, out).connect(out, C("filter", capacitance=1e-6)).connect(out, R("load", 2e3))
    point = steady_state(graph)
    current = point["coil.flow"]
    assert 3e3 * current + 0.025 * np.log(1.0 + current / 1e-14) == pytest.approx(5.0, rel=1e-9)
    assert point["out.effort"] == pytest.approx(2e3 * current, rel=1e-9) and 2.5 < point["out.effort"] < 3.0


def test_forces_that_cancel_leave_a_body_at_rest() -> None:
    """In floating point, 0.1 + 0.2 - 0.3 is 5.6e-17, which is rounding error and not a force."""
    graph, v = Graph("tug"), J1("v", domain="translation")
    for name, force in (("one", 0.1), ("two", 0.2), ("three", -0.3)):
        graph.connect(Se(name, force), v)
    graph.connect(v, I("body", 1.0)).connect(v, C("spring", stiffness=1.0))
    assert steady_state(graph)["spring.effort"] == pytest.approx(0.0, abs=1e-15)


def test_no_solution() -> None:
    with pytest.raises(ModelError, match=r"E25[34]") as caught:
        steady_state(signals("never", lambda x: 1.0 + x * x, {"x": 2.0}))
    assert "b.x'" in str(caught.value)
    with pytest.raises(ModelError, match="E253"):
        operating_point(signals("slow", lambda x: log(x) * 1e3, {"x": 1e-3}), iterations=1)


def test_wide_scales_do_not_reduce_the_rank() -> None:
    """At 1 V, the two capacitors of the ladder hold 1e-12 and 1 C."""
    graph = Graph("ladder")
    inlet, near, far = J1("inlet"), J0("near"), J0("far")
    between = J1("between")
    graph.connect(Se("supply", 1.0), inlet).connect(inlet, R("r1", 1e6)).connect(inlet, near).connect(
        near, C("small", capacitance=1e-12)
    )
    graph.connect(near, between).connect(between, R("r2", 1.0)).connect(between, far).connect(far, C("large", capacitance=1.0))
    graph.connect(far, R("load", 1e6))
    point = steady_state(compile_model(graph, backend="numpy"))
    assert point.undetermined == ()
    np.testing.assert_allclose([point["small.effort"], point["large.effort"]], [0.5, 0.5], rtol=1e-5)


def test_sparse_models() -> None:
    point = steady_state(compile_model(chain(300), backend="numpy"))
    assert point["wall.effort"] == pytest.approx(1.0, rel=1e-9)
    assert point.iterations <= 3


def test_a_large_singular_system_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bondgraph.analysis.damped_newton._MAX_DENSE", 2)
    monkeypatch.setattr("bondgraph.analysis.steady.SPARSE", 0)
    rates, start = lambda a, b, c, k: (b - a, a - b, k - c), {"a": 1.0, "b": 2.0, "c": 3.0}
    compiled = signals("chemistry", rates, start, {"k": 0.0})
    with pytest.raises(ModelError, match=r"E256.*\n.*\n.*fixed=\[...\] and moving="):
        steady_state(compiled)
    point = operating_point(compiled, fixed=["b.a"], moving=["b.a"])
    np.testing.assert_allclose(point.x, [1.0, 1.0, 0.0], atol=1e-12)
    with pytest.raises(ModelError, match="E256 the steady state is not determined"):
        sensitivities(compiled, ["b.a"], ["b.k"], point)


def test_names_that_do_not_fit() -> None:
    compiled = compile_model(motor(), backend="numpy")
    with pytest.raises(ModelError, match="E261"):
        operating_point(compiled, fixed=["rotor.flow"])
    with pytest.raises(ModelError, match="E250"):
        operating_point(compiled, free=["coil.p"], targets={"rotor.flow": 1.0})
    wide = Graph("wide")
    node = J1("node", dimension=2)
    wide.connect(node, I("i", 1.0, initial=np.zeros(2))).connect(node, R("r", 1.0)).connect(Se("u", np.ones(2)), node)
    with pytest.raises(ModelError, match="E261 a target must be a number"):
        operating_point(compile_model(wide, backend="numpy"), free=["u.value"], targets={"node.flow": 1.0})


def test_events_that_are_due() -> None:
    graph = motor()
    transition = Transition("on", "off", lambda p: p - 1e-4, ("inertia.p",), kind="overspeed")
    graph.add_automaton(Automaton("governor", ("on", "off"), "on", (transition,)))
    point = steady_state(compile_model(graph, backend="numpy"))
    assert point.due == ("overspeed",) and 'transition "overspeed" is due' in str(point)
    assert steady_state(compile_model(graph, backend="numpy"), modes={"governor": "off"}).due == ()


def test_sensitivities_equal_differences_of_steady_states() -> None:
    compiled = compile_model(motor(), backend="numpy")
    names = ["supply.value", "winding.resistance", "emf.ratio", "friction.resistance", "coil.inertia"]
    outputs = ["rotor.flow", "winding.power"]
    point = steady_state(compiled)
    found = sensitivities(compiled, outputs, names, point)
    values = compiled.system.parameters
    for k, name in enumerate(names):
        step = 1e-5 * float(values[name])
        ends = [steady_state(compiled, parameters={name: float(values[name]) + s}) for s in (step, -step)]
        wanted = [(ends[0][n] - ends[1][n]) / (2.0 * step) for n in outputs]
        np.testing.assert_allclose(found.steady_outputs[:, k], wanted, rtol=1e-6, atol=1e-6)
    assert found.relative()[0, 0] == pytest.approx(1.0)
    np.testing.assert_array_equal(found.rates, linearise(compiled, names, initial=point.point.x).B)
    assert "supply.value" in str(found)


@pytest.mark.parametrize("unit", [1.0, 1e-6, 1e6])
def test_rounding_errors_of_a_momentum_do_not_prevent_equilibrium(unit: float) -> None:
    """The momentum of a mass at rest on a spring is a rounding error, whose size depends on the unit of force."""
    graph, v = Graph("oscillator"), J1("v")
    graph.connect(Se("push", 1.0 * unit), v).connect(v, I("mass", 2.0 * unit))
    compiled = compile_model(graph.connect(v, C("spring", stiffness=50.0 * unit)).connect(v, R("damper", 5.0 * unit)))
    found = sensitivities(compiled, ["spring.q"], ["push.value", "spring.stiffness"], at=steady_state(compiled))
    assert found.steady_outputs.ravel() == pytest.approx([0.02 / unit, -0.0004 / unit], rel=1e-9)


def test_sensitivity_with_a_conserved_amount() -> None:
    """For A <=> B with rates k1 and k2 and a total of three, a = 3 k2 / (k1 + k2)."""
    compiled = signals(
        "pair", lambda a, b, k1, k2: (k2 * b - k1 * a, k1 * a - k2 * b), {"a": 1.0, "b": 2.0}, {"k1": 2.0, "k2": 1.0}
    )
    found = sensitivities(compiled, ["b.a"], ["b.k1", "b.k2"], steady_state(compiled))
    np.testing.assert_allclose(found.steady_outputs, [[-3.0 / 9.0, 3.0 * 2.0 / 9.0]], rtol=1e-10)


def test_sensitivity_of_what_nothing_holds() -> None:
    compiled = signals("drift", lambda x, v: v + 0.0 * x, {"x": 1.0}, {"v": 0.0})
    with pytest.raises(ModelError, match="E259"):
        sensitivities(compiled, ["b.x"], ["b.v"])


def test_newton_on_rectangular_equations() -> None:
    def three(z):
        return np.array([z[0] ** 2 - 4, z[1] - z[0], z[0] * z[1] - 4]), np.array([[2 * z[0], 0], [-1, 1], [z[1], z[0]]])

    found = newton(three, np.array([1.0, 0.5]), np.ones(2), 1e-12, 50)
    assert found.converged and found.z == pytest.approx([2.0, 2.0])

    def one(z):
        return np.array([z[0] + z[1] - 2.0]), np.array([[1.0, 1.0]])

    found = newton(one, np.zeros(2), np.ones(2), 1e-12, 50)
    assert found.converged and found.z == pytest.approx([1.0, 1.0]) and found.free.shape == (2, 1)
