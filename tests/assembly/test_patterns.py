"""Equal elements are written by a pattern, which gives the statements of separate elements with far fewer calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from benchmarks.front_end import calls
from bondgraph import GY, J0, J1, TF, C, Graph, I, ModelError, R, Se, Sf
from campaigns.graphs.drawn import random_graph
from tests.inner.assembly import System, assemble, patterns
from tests.inner.causality import assign_causality
from tests.inner.model import Model
from tests.schedule.graphs import bouncing, chain


def mixed(sections: int) -> Graph:
    rng = np.random.default_rng(sections)
    graph, before = Graph("mixed"), None
    for i in range(sections):
        mass, node, joint = J1(f"v %s {i}"), J0(f"f{i}"), J1(f"⟦0⟧{i}")
        symbols = {"p": "P", "effort": "W"} if i % 3 == 0 else None
        graph.connect(mass, I(f"m{i}", float(rng.uniform(1.0, 2.0)), initial=float(rng.uniform()), symbols=symbols))
        if i % 4 == 1:
            between = (TF if i % 8 == 1 else GY)(f"t{i}", 1.5 + 0.01 * i)
            graph.connect(before or Sf(f"wall{i}"), between.port("1")).connect(between.port("2"), node)
        else:
            graph.connect(before or Sf("wall"), node)
        graph.connect(node, mass).connect(node, joint)
        if i % 5 == 2:
            spring = C(f"k{i}", energy=lambda q, k: k * q**4 / 4, parameters={"k": 1.0 + i}, initial=0.1)
        elif i % 5 == 3:
            spring = C(f"k{i}", capacitance=0.1, nominal=0.1)
        else:
            spring = C(f"k{i}", stiffness=float(rng.uniform(50.0, 100.0)), initial=0.01)
        graph.connect(joint, spring)
        if i % 3 == 1:
            graph.connect(
                R(f"c{i}", effort=lambda f, a, e: a * f * abs(e), parameters={"a": 0.1}, signals=[f"k{i}.effort"]), joint
            )
        else:
            graph.connect(joint, R(f"c{i}", float(rng.uniform(0.1, 0.5))))
        if i % 6 == 5:
            graph.connect(Se(f"pull{i}", 0.1 * i), mass)
        before = mass
    return graph


def written(system: System) -> list[Any]:
    states = [(s.name, s.rate, s.held, *np.ravel(s.initial), *np.ravel(s.nominal)) for s in system.states]
    numbers = [(name, np.shape(value), *np.ravel(value)) for name, value in system.parameters.items()]
    statements = [(s.outs, s.op.name, s.op.latex, s.args, s.element) for s in system.statements]
    rest = [system.energies, system.powers, system.unknowns, system.clocks, system.events]
    return [statements, system.same, list(system.values.items()), states, numbers, *rest]


def assert_alike(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    causality = assign_causality(model)
    by_patterns = written(assemble(model, causality))
    with monkeypatch.context() as alone:
        alone.setattr(patterns, "_PATTERN_LAWS", ())
        assert written(assemble(model, causality)) == by_patterns


@pytest.mark.parametrize("make", [mixed, chain, bouncing])
def test_patterns_write_what_the_elements_say_one_by_one(make: Callable[[int], Graph], monkeypatch: pytest.MonkeyPatch) -> None:
    assert_alike(make(30).freeze(), monkeypatch)


def test_patterns_write_random_graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = 0
    for seed in range(40):
        try:
            model = random_graph(np.random.default_rng(seed)).freeze()
            assign_causality(model)
        except ModelError:
            continue
        assert_alike(model, monkeypatch)
        tried += 1
    assert tried > 30


def test_names_that_look_like_places_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    graph, node = Graph("odd"), J1("⟦1⟧ 100%")
    for name in ("⟦0⟧", "%s", "%(a)s", "⟦1⟧"):
        graph.connect(node, R(name, 1.0))
    graph.connect(node, I("mass", 1.0))
    model = graph.freeze()
    assert_alike(model, monkeypatch)
    assert "%s.power" in assemble(model, assign_causality(model)).values


def test_equal_parts_are_written_once() -> None:
    """A section of a chain has 6 elements with 33 values; one more section adds only names and numbers."""
    counts = []
    for sections in (100, 300):
        model = chain(sections).freeze()
        causality = assign_causality(model)
        counts.append(calls(lambda model=model, causality=causality: assemble(model, causality)))
    assert (counts[1] - counts[0]) / 200 < 120
