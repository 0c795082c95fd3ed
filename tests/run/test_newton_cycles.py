"""Algebraic loops with square roots, in which Newton steps would alternate between mirrored values, are solved."""

import numpy as np
import pytest

from bondgraph import J0, J1, Automaton, C, Graph, R, Se, Sf, Transition, by_mode
from screws.scalars import absolute, sign, sqrt, where


def root(p):
    return sign(p) * sqrt(absolute(p))


def orifices(*valve, **options):
    """Return an orifice in series with a valve of conductance a under 4 Pa, where the pressure between them is 4 / (1 + a^2)."""
    graph, node = Graph("orifices"), J0("node", domain="hydraulic")
    series, tank = J1("series", domain="hydraulic"), J0("tank", domain="hydraulic")
    graph.connect(Se("source", 4.0), series).connect(series, R("open", flow=root)).connect(series, node)
    graph.connect(node, R("valve", *valve, **options)).connect(Sf("inflow", 1.0), tank)
    return graph.connect(tank, C("store", capacitance=1.0))


def between(a):
    return 4.0 / (1.0 + a * a)


def test_an_orifice_and_a_valve_that_is_nearly_shut():
    compiled = orifices(flow=lambda p, a: a * root(p), parameters={"a": 1.0}).compile()
    for a in (10.0, 1.0, 1e-2, 1e-3, 1e-4, 1e-6, 1e-9, 1e-15, 0.0):
        run = compiled.simulate(1.0, parameters={"valve.a": a})
        assert run.ok and run["valve.effort"] == pytest.approx(between(a), rel=1e-9)


def shut_at_an_event(left):
    switch = Automaton("switch", ("open", "shut"), "open", (Transition("open", "shut", lambda q: q - 0.505, "store.q"),))
    law = by_mode("switch", {"open": 1.0, "shut": left})
    return orifices(flow=lambda p, a: a * root(p), parameters={"a": law}).add_automaton(switch)


@pytest.mark.parametrize("left", [0.5, 1e-3, 1e-9, 0.0])
def test_a_valve_that_shuts_at_an_event_and_at_a_break_of_time(left):
    at_event = shut_at_an_event(left)
    at_break = orifices(flow=lambda p, t: where(t < 0.5, 1.0, left) * root(p), signals=["time"])
    for graph in (at_event, at_break):
        run = graph.simulate(1.0, samples=0.01)
        assert run.ok
        after = run.t >= 0.5 if graph is at_break else run.t > 0.505
        np.testing.assert_allclose(run["valve.effort"], np.where(after, between(left), 2.0), rtol=1e-9)
        np.testing.assert_allclose(run["open.flow"], run["valve.flow"], atol=1e-7)
