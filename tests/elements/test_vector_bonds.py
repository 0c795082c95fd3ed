"""Dimensions, matrices, rectangular two-ports and power of vector bonds agree with closed forms."""

from __future__ import annotations

import numpy as np
import pytest

from bondgraph import GY, J0, J1, TF, C, EulerJunction, Graph, I, ModelError, R, Se, Sf
from screws.scalars import array
from tests.elements.small_models import RNG, compiled, rates, spd, star, value


@pytest.mark.parametrize("n", [2, 3, 6])
@pytest.mark.parametrize("reverse", [False, True])
def test_vector_oscillator(n: int, reverse: bool) -> None:
    K, M, D, q, p, u = spd(n), spd(n), spd(n), RNG.normal(size=n), RNG.normal(size=n), RNG.normal(size=n)
    parts = Se("u", u), C("k", stiffness=K, initial=q), I("m", M, initial=p), R("d", D)
    model = compiled(star(J1("v"), *parts, reverse=reverse))
    v = np.linalg.solve(M, p)
    sign = -1 if reverse else 1
    np.testing.assert_allclose(rates(model)["k.q"], sign * v)
    np.testing.assert_allclose(rates(model)["m.p"], sign * (u - K @ q) - D @ v)
    assert value(model, "m.energy") == pytest.approx(p @ v / 2)
    assert value(model, "d.power") == pytest.approx(v @ D @ v)


@pytest.mark.parametrize("n", [2, 3])
def test_vector_node_with_matrices_in_flow_causality(n: int) -> None:
    Cm, G, Rm, q, p, M, i = (
        spd(n),
        spd(n),
        spd(n),
        RNG.normal(size=n),
        RNG.normal(size=n),
        np.arange(1.0, n + 1),
        RNG.normal(size=n),
    )
    parts = Sf("i", i), C("c", capacitance=Cm, initial=q), R("g", conductance=G), R("r", Rm), I("l", M, initial=p)
    found = rates(compiled(star(J0("node"), *parts)))
    e = np.linalg.solve(Cm, q)
    np.testing.assert_allclose(found["c.q"], i - G @ e - np.linalg.solve(Rm, e) - p / M)
    np.testing.assert_allclose(found["l.p"], e)


def test_scalar_parameters_serve_every_component() -> None:
    graph = star(J1("v", dimension=3), C("k", stiffness=4.0), I("m", 2.0, initial=[1.0, 2.0, 3.0]), R("d", 0.5))
    model = compiled(graph)
    np.testing.assert_allclose(rates(model)["k.q"], [0.5, 1.0, 1.5])
    np.testing.assert_allclose(rates(model, **{"k.q": [1.0, 1.0, 0.0]})["m.p"], [-4.25, -4.5, -0.75])


@pytest.mark.parametrize("structural", [False, True])
@pytest.mark.parametrize(
    "matrix", [[0.0, 1.0, 0.0], [[0.0, 1.0, 0.0]], [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]], np.arange(9.0).reshape(3, 3)]
)
def test_transformer_by_row_selection_and_matrix(matrix, structural: bool) -> None:
    N = np.atleast_2d(matrix)
    p, M = np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 4.0])
    n2 = N.shape[0]
    q = RNG.normal(size=n2) if n2 > 1 else 0.7
    graph, pick = Graph("pick"), TF("pick", matrix, structural=structural)
    v = J1("v")
    graph.connect(v, I("m", M, initial=p)).connect(v, pick.port("1")).connect(pick.port("2"), C("k", stiffness=5.0, initial=q))
    found = rates(compiled(graph))
    np.testing.assert_allclose(np.atleast_1d(found["k.q"]), N @ (p / M))
    np.testing.assert_allclose(found["m.p"], -N.T @ (5.0 * np.atleast_1d(q)))


def test_a_column_spreads_one_flow() -> None:
    graph, spread = Graph("spread"), TF("spread", [[1.0], [2.0]])
    v = J1("v")
    graph.connect(v, I("m", 2.0, initial=3.0)).connect(v, spread).connect(spread, C("k", stiffness=1.0, initial=[0.1, 0.2]))
    found = rates(compiled(graph))
    np.testing.assert_allclose(found["k.q"], [1.5, 3.0])
    assert found["m.p"] == pytest.approx(-0.5)


def test_a_matrix_transformer_has_one_causality_only() -> None:
    """A spring at port 1 and a mass at port 2 are both dependent, and each needs the rate of the other's output."""
    graph, t = Graph("wrong way"), TF("t", np.eye(2))
    spring = C("k", output=lambda q: q, energy=lambda q: q @ q / 2, initial=[1.0, 2.0])
    mass = I("m", output=lambda p: p, energy=lambda p: p @ p / 2, dimension=2)
    graph.connect(spring, t.port("1")).connect(t.port("2"), mass)
    with pytest.raises(ModelError, match="E207"):
        compiled(graph)


def test_gyrator_with_a_rectangular_matrix() -> None:
    r = RNG.normal(size=(3, 2))
    graph, g = Graph("g"), GY("g", r)
    graph.connect(a := J1("a"), I("one", 2.0, initial=[1.0, 2.0, 3.0]))
    graph.connect(a, g.port("1")).connect(g.port("2"), b := J1("b")).connect(b, I("two", 4.0, initial=[5.0, 6.0]))
    found = rates(compiled(graph))
    np.testing.assert_allclose(found["one.p"], -r @ np.array([5.0, 6.0]) / 4)
    np.testing.assert_allclose(found["two.p"], r.T @ np.array([1.0, 2.0, 3.0]) / 2)


def test_euler_junction_takes_no_power() -> None:
    """Euler's equations p' = -omega x p conserve |p| and the energy."""
    moment, p = np.array([1.0, 2.0, 3.0]), np.array([0.3, -0.5, 0.7])

    def tilde(p):
        return array([[0.0, -p[2], p[1]], [p[2], 0.0, -p[0]], [-p[1], p[0], 0.0]])

    euler = EulerJunction("euler", lambda p: -tilde(p), signals=["body.p"], dimension=3)
    for reverse in (False, True):
        model = compiled(star(J1("omega"), I("body", moment, initial=p), euler, reverse=reverse))
        np.testing.assert_allclose(rates(model)["body.p"], np.cross(p, p / moment))
        assert value(model, "euler.effort") @ value(model, "euler.flow") == pytest.approx(0.0, abs=1e-15)
        assert rates(model)["body.p"] @ p == pytest.approx(0.0, abs=1e-15)
