"""A linear system is refused if its rates or outputs need the time derivative of an input."""

from __future__ import annotations

import numpy as np
import pytest

from bondgraph import J0, J1, C, Graph, I, R, Se, Sf, signals
from bondgraph.analysis import differentiate, linearise, operating_point, sensitivities, steady_state
from bondgraph.errors import ModelError
from tests.inner.compile import point_of


def driven_capacitor():
    graph, node, branch = Graph("driven"), J0("node"), J1("branch")
    graph.connect(Se("u", 2.0), node).connect(node, C("c", capacitance=3.0)).connect(node, branch)
    return graph.connect(branch, R("r", 1.0)).connect(branch, I("l", 1.0)).compile()


def small_capacitor():
    """Return a capacitor of 1 pF beside stiff parts, whose entries in the matrices are 1e21 times as large."""
    graph, node, v = Graph("driven"), J0("node", domain="electrical"), J1("v", domain="translation")
    graph.connect(Se("u", 2.0), node).connect(node, C("c", capacitance=1e-12))
    return graph.connect(v, I("m", 1.0)).connect(v, R("d", 1e9)).compile()


def driven_mass():
    graph, v = Graph("driven"), J1("v", domain="translation")
    return graph.connect(Sf("u", 0.1), v).connect(v, I("m", 2.0)).connect(v, C("k", stiffness=5.0)).compile()


def limited():
    graph = Graph("limited").add(signals.step("u", after=0.2), signals.rate_limiter("y", "u.y", -1.0, 1.0))
    return graph.compile()


@pytest.mark.parametrize(
    ("compiled", "input", "output"),
    [
        (driven_capacitor(), "u.value", "c.flow"),
        (driven_capacitor(), "u", "u.flow"),
        (small_capacitor(), "u.value", "c.flow"),
        (driven_mass(), "u.flow", "u.effort"),
        (limited(), "u.y", "y.y"),
    ],
    ids=["value", "source", "small capacitor", "mass", "rate limiter"],
)
def test_the_rate_of_an_input_is_refused(compiled, input, output):
    with pytest.raises(ModelError, match="E592"):
        linearise(compiled, [input], [output])
    with pytest.raises(ModelError, match="E592"):
        differentiate(compiled, [input], [output])(point_of(compiled))
    with pytest.raises(ModelError, match="E592"):
        operating_point(compiled, moving=["k.q"] if "k.q" in compiled.states else ()).linearise([input], [output])


def test_what_does_not_depend_on_the_rate_is_linearised():
    linear = linearise(driven_capacitor(), ["u.value"], ["l.flow", "c.effort"], t=3.0)
    np.testing.assert_array_equal(linear.B, [[1.0]])
    np.testing.assert_array_equal(linear.D, [[0.0], [1.0]])
    np.testing.assert_array_equal(linearise(driven_mass(), ["u"], ["k.effort"]).B, [[1.0]])


def test_a_steady_state_has_constant_inputs():
    compiled = driven_capacitor()
    found = sensitivities(compiled, ["u.flow"], ["u.value"], at=steady_state(compiled))
    np.testing.assert_allclose(found.steady_outputs, [[1.0]])
