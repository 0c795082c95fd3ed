"""If dependent storage elements modulate a two-port, the loop through the ratio is solved without division by zero."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq

from bondgraph import J0, J1, MTF, Automaton, C, Graph, I, R, Se, Sf, Switch, Transition, simulate
from screws.scalars import sin


def own(a, b, x):
    return a + b * sin(x)


def test_a_transformer_that_the_capacitor_behind_it_modulates() -> None:
    graph, a, b = Graph("g"), J0("a"), J0("b")
    ratio = MTF("m", lambda x: 1.5 + 0.25 * sin(x), signals=["c.q"])
    graph.connect(Se("s", lambda t: 1.0 + 0.5 * sin(t), signals=["time"]), a).connect(a, ratio).connect(ratio, b)
    graph.connect(b, C("c", capacitance=1.0)).connect(b, R("r", 1.0))
    result = simulate(graph, 2.0, rtol=1e-9, progress=False, samples=[0.0, 0.7, 2.0])
    u = 1.0 + 0.5 * np.sin(result.t)
    wanted = [brentq(lambda q, u: (1.5 + 0.25 * np.sin(q)) * q - u, 0.0, 2.0, args=(each,), xtol=1e-14) for each in u]
    assert result.ok
    np.testing.assert_allclose(result["c.q"], wanted, rtol=1e-7)
    assert result.ledger.relative_residual < 1e-7


@pytest.mark.parametrize("switched", [False, True])
def test_an_inertia_behind_a_transformer_of_its_own_momentum(switched: bool) -> None:
    graph, a, b, n = Graph("g"), J1("a"), J1("b"), J0("n")
    ratio = MTF("t", lambda x: 1 + x * x, signals=["i.p"])
    graph.connect(Sf("s", lambda t: 0.3 * sin(t), signals=["time"]), a).connect(a, ratio).connect(ratio, b)
    graph.connect(b, I("i", 1.0)).connect(n, C("c", capacitance=1.0))
    if switched:
        graph.connect(n, Switch("w", automaton="z", closed=["on"]))
        edges = (Transition("off", "on", lambda t: t - 0.5, "time"),)
        graph.add_automaton(Automaton("z", ("on", "off"), "off", edges))
    else:
        graph.connect(n, R("w", 1.0))
    result = simulate(graph, 1.0, rtol=1e-9, progress=False, samples=[0.0, 1.0])
    p = brentq(lambda p: p - (1 + p * p) * 0.3 * np.sin(1.0), 0.0, 1.0, xtol=1e-14)
    assert result.ok and result["i.p"][-1] == pytest.approx(p, rel=1e-7)


def test_junctions_that_a_bond_and_a_transformer_join() -> None:
    """A bond and a transformer of ratio N != 1 join two junctions, so f = N f, and nothing moves."""
    graph, a, b, c = Graph("g"), J1("a"), J1("b"), J1("c")
    m = MTF("m", own, parameters={"a": 1.9, "b": -0.3}, signals=["i.p"])
    t = MTF("t", own, parameters={"a": 1.7, "b": 0.2}, signals=["time"])
    graph.connect(m.port("1"), a).connect(b, m.port("2")).connect(b, t.port("1")).connect(t.port("2"), c)
    graph.connect(b, c).connect(a, I("i", 1.19))
    result = simulate(graph, 1.0, progress=False)
    assert result.ok and not np.any(result["i.p"]) and not np.any(result["b.flow"])
