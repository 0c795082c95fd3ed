"""Resistors given by a relation g(e, f) = 0 run in each causality; an example is an electric arc, (e - 20 V) f = 50 W."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from bondgraph import J0, J1, C, Graph, I, ModelError, R, Se, compile_model, dump_model, parse_model
from bondgraph.export import mechanical_equations, port_hamiltonian
from screws.scalars import array

ARC = {"V": 20.0, "P": 50.0}


def arc(e, f, V, P):
    return (e - V) * f - P


def fed(*others, **arguments):
    graph, loop = Graph("arc"), J1("loop", domain="electrical")
    graph.connect(Se("u", 200.0), loop).connect(loop, R("r", 10.0))
    graph.connect(loop, R("arc", relation=arc, parameters=ARC, **arguments))
    for other in others:
        graph.connect(loop, other)
    return graph


def test_a_current_through_an_arc():
    run = fed(I("l", 0.1, initial=1.0)).simulate(0.02, samples=0.001)
    expected = solve_ivp(
        lambda t, i: (200.0 - 10.0 * i - 20.0 - 50.0 / i) / 0.1, (0.0, 0.02), [10.0], t_eval=run.t, rtol=1e-12, atol=1e-12
    )
    assert run.ok and run.ledger.relative_residual < 1e-9
    np.testing.assert_allclose(run["arc.flow"], expected.y[0], rtol=1e-6)
    np.testing.assert_allclose(run["arc.effort"], 20.0 + 50.0 / run["arc.flow"], rtol=1e-12)
    np.testing.assert_allclose(run["arc.power"], 20.0 * run["arc.flow"] + 50.0, rtol=1e-12)


def test_a_loop_without_a_storage_has_two_solutions():
    """The equation 200 - 10 f - 20 = 50 / f has two solutions; a guess selects one of them."""
    for solution in np.roots([-10.0, 180.0, -50.0]):
        run = fed(guess={"flow": 1.01 * solution}).simulate(1.0, samples=0.5)
        assert run.ok
        np.testing.assert_allclose(run["arc.flow"], solution, rtol=1e-9)
    with pytest.raises(ModelError, match=r"E215 .*has 2 solutions"):
        fed().compile()


@pytest.mark.parametrize("away", [False, True])
@pytest.mark.parametrize("unit", [1.0, 1e-3])
def test_a_capacitor_discharges_through_an_arc(away, unit):
    """The capacitor sets the effort, so the flow is solved for; reversing the arc's arrow changes the sign of the flow."""
    graph, node = Graph("arc"), J0("node", domain="electrical")
    part = R("arc", relation=arc, parameters={"V": 20.0 * unit, "P": 50.0 * unit})
    graph.connect(node, C("c", capacitance=1e-3 / unit, initial=0.1))
    graph.connect(part, node) if away else graph.connect(node, part)
    run = graph.simulate(0.02, samples=0.002)
    # (v - 20)^2 / 2 falls by 50 W divided by the capacitance
    expected = 20.0 + np.sqrt(80.0**2 - 2.0 * 50.0 * run.t / 1e-3)
    assert run.ok and run.ledger.relative_residual < 1e-9
    np.testing.assert_allclose(run["arc.effort"], expected * unit, rtol=1e-7)
    np.testing.assert_allclose(run["arc.flow"] * (-1.0 if away else 1.0), 50.0 / (expected - 20.0), rtol=1e-6)
    assert run.ledger.dissipated[-1] == pytest.approx(0.5e-3 * unit * (100.0**2 - expected[-1] ** 2), rel=1e-6)


def test_a_relation_of_vectors_is_that_of_its_matrix():
    matrix = np.array([[2.0, 0.5], [0.5, 1.0]])

    def braked(brake):
        graph, v = Graph("braked"), J1("v", dimension=2)
        return graph.connect(v, I("mass", 1.0, dimension=2, initial=[1.0, -1.0])).connect(v, brake).simulate(2.0, samples=0.2)

    implicit = braked(R("brake", relation=lambda e, f: array(list(e - matrix @ f)), dimension=2))
    np.testing.assert_allclose(implicit["mass.p"], braked(R("brake", matrix))["mass.p"], atol=1e-8)


def test_a_relation_is_saved_and_has_no_explicit_forms():
    graph = fed(I("l", 0.1, initial=1.0))
    saved = compile_model(parse_model(dump_model(graph))).simulate(0.01, samples=0.002)
    np.testing.assert_array_equal(saved["arc.effort"], graph.simulate(0.01, samples=0.002)["arc.effort"])
    with pytest.raises(ModelError, match=r"E277 [\s\S]*is solved for neither effort nor flow"):
        port_hamiltonian(graph)
    graph, v = Graph("braked"), J1("v", domain="translation")
    graph.connect(v, I("mass", 1.0, initial=1.0)).connect(v, R("brake", relation=lambda e, f: e + e**3 - f))
    with pytest.raises(ModelError, match=r"E278 [\s\S]*not given by its velocity"):
        mechanical_equations(graph)


def at_a_node(relation, **arguments):
    graph, node = Graph("tried"), J0("node", **arguments)
    return graph.connect(node, C("c", capacitance=1.0)).connect(node, R("r", relation=relation, passive=True))


def test_passive_relations_are_tried():
    assert at_a_node(lambda e, f: f + f**3 - e).compile()
    assert at_a_node(lambda e, f: 1.0 / (f + 2.0) - 1.0 / (e + 2.0)).compile()  # poles are not solutions
    with pytest.raises(ModelError, match=r"E153 [\s\S]*its power is -"):
        at_a_node(lambda e, f: e + f).compile()
    with pytest.raises(ModelError, match=r"E153 [\s\S]*at effort = 1e-06, flow = -2.5 its power is -"):
        at_a_node(lambda e, f: arc(e, f, 20.0, 50.0)).compile()
    with pytest.raises(ModelError, match=r"E153 [\s\S]*several components"):
        at_a_node(lambda e, f: e - f, dimension=2).compile()


@pytest.mark.parametrize("arguments", [{"effort": lambda f: f}, {"resistance": 1.0}, {"flow": lambda e: e}])
def test_a_relation_stands_alone(arguments):
    with pytest.raises(ModelError, match=r"E110 .*needs exactly one of [\s\S]*given: .*relation"):
        R("r", relation=lambda e, f: e - f, **arguments)
