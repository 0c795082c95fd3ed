"""Formulas that are not functions of their arguments are refused."""

from __future__ import annotations

import itertools
import random
import time
from datetime import UTC, datetime

import numpy as np
import pytest

from bondgraph import J0, J1, MTF, Automaton, Block, C, Graph, I, ModelError, R, Se, Transition, compile_model, signals
from bondgraph.signals import sampled
from screws.scalars import where
from tests.checks.small_graphs import loop


def with_guard(guard):
    graph = loop(I("m", 1.0), R("r", 1.0))
    return graph.add_automaton(Automaton("relay", ("a", "b"), "a", Transition("a", "b", guard, ["time"])))


def with_block(block):
    graph = loop(I("m", 1.0), R("r", 1.0))
    graph.add(block)
    return graph


def turned(matrix):
    return loop(I("m", 1.0), turn := MTF("t", matrix, signals=["time"])).connect(turn, R("r", 1.0))


COUNT, STATE, GENERATOR = itertools.count(), [], np.random.default_rng(1)
NOISES = {
    "random": lambda: random.gauss(0.0, 1.0),
    "numpy": lambda: float(np.random.default_rng().normal()),
    "clock": time.time,
    "date": lambda: datetime.now(UTC).microsecond * 1e-6,
    "counter": lambda: float(next(COUNT)),
    "equal draws": lambda: random.choice((1.0, 1.0)),
    "generator": lambda: float(GENERATOR.choice((1.0, 1.0))),
    "growing list": lambda: float(STATE.append(0) or len(STATE)),
}
PLACES = {
    "source": lambda noise: loop(Se("u", lambda t: t * noise(), signals=["time"]), I("m", 1.0)),
    "resistor": lambda noise: loop(I("m", 1.0), R("r", effort=lambda f: f * noise())),
    "energy": lambda noise: loop(I("m", 1.0), C("c", energy=lambda q: q * q * noise())),
    "matrix": lambda noise: turned(lambda t: 1.0 + noise() * t),
    "guard": lambda noise: with_guard(lambda t: t - noise()),
    "block": lambda noise: with_block(Block("b", [("y", lambda u: where(u > 2.0, noise(), u), ["u"])], inputs={"u": "time"})),
    "by name": lambda noise: loop(
        I("m", 1.0), R("r", effort=lambda f, t, k: f * k * noise(), parameters={"k": 1.0}, signals=["time"])
    ),
    "tick": lambda noise: with_block(sampled("b", lambda s: s + noise(), period=0.1)),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("noise", NOISES)
def test_formulas_with_hidden_state_are_refused(place, noise):
    """Noise times zero, in an unused branch of `where`, or in a gradient shows only in a symbolic evaluation."""
    with pytest.raises(ModelError, match=r"E174 .* is not a function of its arguments"):
        compile_model(PLACES[place](NOISES[noise]))


def test_a_large_model_of_identical_parts_is_checked_too():
    graph, before = Graph("line"), J1("v0")
    graph.connect(Se("u", 1.0), before)
    for k in range(400):
        node, after = J0(f"n{k}"), J1(f"v{k + 1}")
        graph.connect(before, node).connect(node, C(f"c{k}", capacitance=1.0)).connect(node, after)
        graph.connect(after, I(f"i{k}", 1.0)).connect(after, R(f"r{k}", effort=_noisy))
        before = after
    with pytest.raises(ModelError, match="E174"):
        compile_model(graph, progress=False)


def _noisy(f):
    return f * random.random()


def test_the_advice_runs_a_drawn_noise():
    points, values = np.linspace(0.0, 1.0, 101), np.random.default_rng(1).normal(size=101)
    graph = loop(Se("u", lambda y: y, signals=["noise.y"]), I("m", 1.0))
    graph.add(signals.table("noise", "time", points, values))
    run = graph.simulate(1.0, samples=points, progress=False)
    np.testing.assert_allclose(run["u.effort"], values, rtol=1e-12, atol=1e-12)


REPEATABLE = {
    "a constant nan": lambda t: where(t > 2.0, float("nan"), t),
    "a memory of its own": (lambda memory: lambda t: memory.setdefault("k", 2.0) * t)({}),
    "an object that is called": type("Law", (), {"__call__": lambda self, t: 2.0 * t})(),
    "a constant array": lambda t: np.array([1.0, 2.0]) @ np.array([t, t]),
}


@pytest.mark.parametrize("law", REPEATABLE)
def test_a_function_is_accepted(law):
    assert loop(Se("u", REPEATABLE[law], signals=["time"]), I("m", 1.0)).simulate(1.0, progress=False).ok
