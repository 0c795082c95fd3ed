"""Sampled states have symbolic values at ticks, and forms without ticks refuse them."""

from __future__ import annotations

import numpy as np
import pytest
import sympy

from bondgraph import J1, C, Graph, I, ModelError, R, Se, compile_model
from bondgraph.export import linear_equations, state_equations
from bondgraph.signals import hold
from tests.export.documented import MODELS
from tests.inner.output import labels_of


def held() -> Graph:
    graph, v = Graph("held"), J1("v")
    graph.connect(v, I("m", 2.0)).connect(v, C("k", stiffness=3.0, initial=1.0)).connect(v, R("r", 0.5))
    graph.add(hold("hold", "v.flow", period=0.1, offset=0.03))
    return graph.connect(Se("push", lambda y: -y, signals=["hold.y"]), v)


@pytest.mark.parametrize("graph", [held, MODELS["sampled"]], ids=["hold", "PID"])
def test_updates_are_those_of_the_compiled_clock(graph) -> None:
    compiled = compile_model(graph(), backend="numpy")
    found, program, rng = state_equations(compiled), compiled.program, np.random.default_rng(4)
    (clock,) = program.clocks
    ticking = set(found.ticks)
    assert ticking and all(f"{name} := " in str(found) and f"{name}' =" not in str(found) for name in ticking)
    assert all(set(pair) <= found.parameters.keys() for pair in found.ticks.values())
    symbols = [sympy.Symbol(name, real=True) for name in (*found.states, *found.parameters, *found.inputs)]
    numeric = sympy.lambdify(symbols, list(found.equations.values()), "numpy")
    p, (start, m) = compiled.parameters(), compiled.initial()
    given = dict(compiled.system.parameters)
    for _ in range(20):
        x = rng.normal(size=len(start))
        values = numeric(*x, *(found.parameters.get(s.name, given.get(s.name)) for s in symbols[len(x) :]))
        after, rates = clock.kernel(0.0, x, p, m), program.rates(0.0, x, p, m)
        places = [label for state in compiled.system.states for label in labels_of(state.name, np.shape(state.initial))]
        for k, label in enumerate(places):
            wanted = after[k] if label in ticking else rates[k]
            np.testing.assert_allclose(float(values[found.states.index(label)]), wanted, rtol=1e-12, atol=1e-12)


def test_no_matrix_has_ticks() -> None:
    with pytest.raises(ModelError, match=r"E276 .hold. is sampled"):
        linear_equations(held())
    assert r"\text{at } t = \text{offset}" in state_equations(held()).latex()
