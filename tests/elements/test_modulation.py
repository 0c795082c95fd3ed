"""Elements read signals: sources follow time, states modulate elements, and blocks form chains."""

from __future__ import annotations

import numpy as np
import pytest

from bondgraph import J0, J1, MGY, MTF, Block, C, Graph, I, R, Se, Sf, StateSpec
from screws.scalars import array, cos, exp, sin
from tests.elements.small_models import compiled, rates, star, value


def test_sources_follow_time_and_parameters() -> None:
    source = Se("u", lambda a, t: a * exp(-t), parameters={"a": 2.0}, signals=["time"])
    model = compiled(star(J1("loop"), source, C("c", capacitance=1.0), R("r", 1.0)))
    assert rates(model, 0.5)["c.q"] == pytest.approx(2.0 * np.exp(-0.5))
    assert rates(model, 0.5, {"u.a": 4.0})["c.q"] == pytest.approx(4.0 * np.exp(-0.5))
    flow = Sf("f", lambda t: array([sin(t), cos(t)]), signals=["time"], dimension=2)
    np.testing.assert_allclose(
        rates(compiled(star(J0("n"), flow, C("c", capacitance=1.0, dimension=2))), 0.3)["c.q"], [np.sin(0.3), np.cos(0.3)]
    )


def test_modulation_by_a_state() -> None:
    graph = Graph("modulated")
    v, lever = J1("v"), MTF("lever", lambda k, q: k * cos(q), parameters={"k": 3.0}, signals=["spring.q"])
    turn = MGY("turn", lambda q: 1 + q * q, signals=["spring.q"])
    graph.connect(v, I("m", 2.0, initial=1.0)).connect(v, lever).connect(lever, C("spring", stiffness=5.0, initial=0.4))
    graph.connect(v, turn).connect(turn, I("wheel", 0.5, initial=0.2))
    found, n, r = rates(compiled(graph)), 3.0 * np.cos(0.4), 1.16
    assert found["spring.q"] == pytest.approx(n * 0.5)
    assert found["m.p"] == pytest.approx(-n * 5.0 * 0.4 - r * 0.4)
    assert found["wheel.p"] == pytest.approx(r * 0.5)


def test_modulated_matrix_with_given_dimensions() -> None:
    graph, v = Graph("m"), J1("v")
    turn = MTF("turn", lambda a: array([[cos(a), -sin(a)], [sin(a), cos(a)]]), signals=["angle.a"], dimensions=(2, 2))
    angle = Block(
        "angle", [("rate", lambda w: w, ["w"])], parameters={"w": 1.5}, states={"a": StateSpec(0.3)}, rates={"a": "rate"}
    )
    graph.connect(v, I("m", 2.0, initial=[1.0, 2.0])).connect(v, turn).connect(turn, C("k", stiffness=1.0, initial=[0.5, 0.6]))
    graph.add(angle)
    found, c, s = rates(compiled(graph)), np.cos(0.3), np.sin(0.3)
    turned = np.array([[c, -s], [s, c]])
    np.testing.assert_allclose(found["k.q"], turned @ [0.5, 1.0])
    np.testing.assert_allclose(found["m.p"], -turned.T @ [0.5, 0.6])
    assert found["angle.a"] == pytest.approx(1.5)


def test_blocks_chain_signals_and_integrate() -> None:
    graph = star(J1("v"), I("m", 2.0, initial=4.0), Se("force", lambda u: -u, signals=["gain.y"]))
    graph.add(
        Block(
            "position",
            [("rate", lambda v: v, ["v"])],
            inputs={"v": "m.flow"},
            states={"x": StateSpec(0.5, unit="m")},
            rates={"x": "rate"},
        )
    )
    graph.add(Block("error", [("e", lambda x, r: x - r, ["x", "goal"])], inputs={"x": "position.x"}, parameters={"goal": 0.1}))
    graph.add(
        Block(
            "gain", [(("twice", "y"), lambda e, k: (2 * e, k * e), ["e", "k"])], inputs={"e": "error.e"}, parameters={"k": 30.0}
        )
    )
    model = compiled(graph)
    found = rates(model)
    assert found["position.x"] == pytest.approx(2.0)
    assert found["m.p"] == pytest.approx(-30.0 * 0.4)
    assert value(model, "gain.twice") == pytest.approx(0.8)
    assert model.program.layout.unit("position.x") == "m"
