"""A run ends soon in a sliding mode, in which both sides of a jump lead back to the jump."""

import numpy as np
import pytest

from bondgraph import J1, Automaton, C, Friction, Graph, I, R, RunEndedWarning, Se, Transition, by_mode, signals
from screws.scalars import sign, sin, tanh, where

METHODS = ["auto", "dopri5", "rodas5p"]


def cart(force):
    graph, v = Graph("cart"), J1("v", domain="translation")
    return graph.connect(v, I("m", mass=1.0)).connect(v, R("r", damping=0.1)).connect(force, v)


def relay(law):
    return cart(Se("relay", law, signals=["v.flow"]))


def comparator():
    graph = cart(Se("relay", lambda y: 3.0 - 4.0 * y, signals=["above.y"]))
    graph.add(signals.comparator("above", "v.flow", 1.0))
    return graph


def dry():
    graph, v = Graph("dry"), J1("v", domain="translation")
    graph.connect(v, I("m", mass=1.0)).connect(v, R("relay", effort=lambda f: 5.0 * sign(f)))
    return graph.connect(Se("push", lambda t: 2.0 * sin(t), signals=["time"]), v)


def sliding():
    graph, v = Graph("sliding"), J1("v", domain="translation")
    graph.connect(v, I("m", mass=1.0)).connect(v, C("s", stiffness=1.0))
    return graph.connect(Se("relay", lambda x, v: -3.0 * sign(x + v - 0.5), signals=["s.q", "v.flow"]), v)


CHATTERING = {
    "sign": lambda: relay(lambda v: 1.0 - 2.0 * sign(v - 1.0)),
    "where": lambda: relay(lambda v: where(v < 1.0, 3.0, -1.0)),
    "uneven": lambda: relay(lambda v: where(v < 1.0, 30.0, -0.5)),
    "small": lambda: relay(lambda v: 1e-6 * where(v < 1e-6, 3.0, -1.0)),
    "comparator": comparator,
    "dry friction": dry,
    "sliding mode control": sliding,
}


@pytest.mark.parametrize("name", CHATTERING)
def test_chattering_ends_a_run_early_and_names_the_law(name):
    compiled = CHATTERING[name]().compile()
    for method in METHODS:
        with pytest.warns(RunEndedWarning, match=r'(?s)"relay.effort" chatters.*`Friction`.*two thresholds'):
            run = compiled.simulate(10.0, method=method)
        assert (run.failure.kind, run.failure.suspect) == ("chattering", "relay")
        assert run.statistics.steps <= 40_000


@pytest.mark.parametrize("scale", [1e-9, 1e9])
def test_chattering_does_not_depend_on_units(scale):
    compiled = relay(lambda v, k=scale: k * where(v < 1.0, 3.0, -1.0)).compile()
    for length in (1.0, 100.0):
        with pytest.warns(RunEndedWarning, match="chatters"):
            run = compiled.simulate(10.0 * length, parameters={"m.mass": scale * length, "r.damping": 0.1 * scale})
        assert run.statistics.steps <= 40_000


def test_chattering_advice_helps():
    graph, v = Graph("held"), J1("v", domain="translation")
    graph.connect(v, I("m", mass=1.0)).connect(v, Friction("relay", 5.0))
    graph.connect(Se("push", lambda t: 2.0 * sin(t), signals=["time"]), v)
    held = graph.simulate(10.0)
    assert held.ok and not held["v.flow"].any()
    edges = (Transition("on", "off", lambda v: v - 1.05, "v.flow"), Transition("off", "on", lambda v: 0.95 - v, "v.flow"))
    two = cart(Se("relay", by_mode("switch", {"on": 3.0, "off": -1.0})))
    two.add_automaton(Automaton("switch", ("on", "off"), "on", edges))
    for model in (two, relay(lambda v: 1.0 - 2.0 * tanh(1e4 * (v - 1.0)))):
        run = model.simulate(10.0)
        assert run.ok and np.all(np.abs(run["v.flow"][run.t > 1.0] - 1.0) < 0.06)


def test_slow_runs_that_do_not_chatter_keep_their_reason():
    stiff = relay(lambda v: 1.0 - 1e9 * v)
    fast = cart(Se("relay", lambda t: sin(1e9 * t), signals=["time"]))
    for model in (stiff, fast):
        with pytest.warns(RunEndedWarning, match=r"steps (of integration|have covered)"):
            run = model.simulate(10.0, method="dopri5", max_steps=10_000, samples=[10.0])
        assert run.failure.kind == "too many steps"
    passed = relay(lambda v: where(v < 1.0, 3.0, 1.0)).simulate(10.0)
    assert passed.ok and passed.statistics.steps < 1000


def test_chattering_in_a_sweep_is_that_of_a_run():
    compiled = CHATTERING["where"]().compile()
    prepared = compiled.prepare_run(10.0)
    with pytest.warns(RunEndedWarning):
        alone = compiled.simulate(10.0)
    x, m = compiled.initial()
    many = prepared.run_many(np.tile(compiled.parameters({}), (2, 1)), x, m)
    assert [failure.reason for failure in many.failures.values()] == [alone.failure.reason] * 2


def gripped(force=0.44, mass=0.045, limit=42.0):
    graph, v = Graph("gripped"), J1("v", domain="translation")
    graph.connect(v, I("body", mass)).connect(v, Friction("pads", limit))
    return graph.connect(Se("push", force), v).compile()


@pytest.mark.parametrize("scale", [1.0, 2.0**40])
def test_a_state_at_rest_whose_rate_is_only_rounding_does_not_chatter(scale):
    compiled = gripped(0.44 * scale, 0.045 * scale, 42.0 * scale)
    run = compiled.simulate(3600.0)
    assert run.ok and run.statistics.steps < 10_000 and np.abs(run["body.p"]).max() < 1e-11 * scale
    moved = compiled.simulate(3600.0, initial={"body.p": 0.01 * scale})
    assert moved.ok and abs(moved["v.flow"][-1]) < 1e-7 * moved["v.flow"][0]
