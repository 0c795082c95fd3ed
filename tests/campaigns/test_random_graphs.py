"""A small sample of the campaign of random graphs, and errors that its checks detect."""

from __future__ import annotations

import functools
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from bondgraph import J0, J1, X0, Automaton, C, Graph, I, ModelError, R, Se, Sf, compile_model
from campaigns import random_graphs
from campaigns.graphs import verdicts
from campaigns.graphs.hidden import allowed, is_singular
from campaigns.graphs.point import Point
from campaigns.graphs.rows import Situation
from campaigns.graphs.situations import at_random, indices_of, values_of
from campaigns.graphs.smallest import smallest
from campaigns.graphs.verdicts import verdict_on
from campaigns.graphs.widened import FEATURES, Drawn
from campaigns.random_graphs import Trial, campaign, drawn, lines, trial

PARTS, SAMPLE = 1, 22
once = functools.cache(trial)


@pytest.mark.parametrize("part", range(PARTS))
def test_random_graphs_agree_with_dense_algebra(part: int) -> None:
    trials = campaign(SAMPLE, 7, first=SAMPLE * part)
    failed = [(t.number, t.verdict, t.smallest) for t in trials if t.verdict.failed]
    assert not failed, failed
    kinds = Counter(t.verdict.kind for t in trials)
    assert kinds["right"] > SAMPLE // 2, kinds
    assert {feature for t in trials for feature in t.drawn_from} >= set(FEATURES)
    assert list(lines(trials, 7))[-1] == f"0 of {SAMPLE} graphs failed"


@pytest.mark.parametrize("number", [2505, 3222])
def test_states_that_depend_by_a_ratio_jump_with_it(number: int) -> None:
    found = trial((1, number))
    assert {"instant", "ratio"} <= set(found.drawn_from) and found.verdict.kind == "right"


def test_a_graph_is_a_function_of_its_number() -> None:
    one, two = (drawn(1, 5) for _ in range(2))
    assert list(one.graph.parts) == list(two.graph.parts) and one.features == two.features


def test_an_interrupt_keeps_the_verdicts_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    one = once((89, 100))

    def stopped(job: tuple[int, int]) -> Trial:
        if job[1] == 2:
            raise KeyboardInterrupt
        return replace(one, number=job[1])

    monkeypatch.setattr(random_graphs, "trial", stopped)
    assert [found.number for found in campaign(5, 7)] == [0, 1]


def loop() -> Graph:
    graph, v = Graph("loop"), J1("v")
    graph.connect(Se("u", 2.0), v).connect(v, I("m", 0.5, initial=1.0)).connect(v, I("n", 1.5)).connect(v, R("r", 3.0))
    return graph


def test_hidden_equations_give_the_rates_of_dependent_storages() -> None:
    """The masses of 0.5 and 1.5 kg move together at v = 2 under the force 2 - 6 = -4, so v' = -2 and the momenta have the
    rates -1 and -3."""
    compiled = compile_model(loop(), backend="numpy")
    x, m = compiled.initial()
    point = Point(compiled.model, Situation(values_of(compiled, x, m), {}))
    found = allowed(point, 1)
    assert found.rates_determined.all() and found.determined.all()
    np.testing.assert_allclose([found.rates[point.rows.places[f"{k}.p"]][0] for k in "mn"], [-1.0, -3.0], atol=1e-12)


def test_a_wrong_rate_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    given = Drawn(loop(), "rigid", (), True)
    assert verdict_on(given, np.random.default_rng(0)).kind == "right"
    original = compile_model

    def wrong(graph: Graph, backend: str):
        compiled = original(graph, backend=backend)
        rates = compiled.program.rates
        bent = replace(compiled.program, rates=lambda *arguments: 1.001 * rates(*arguments))
        return replace(compiled, program=bent)

    monkeypatch.setattr(verdicts, "compile_model", wrong)
    assert verdict_on(given, np.random.default_rng(0)).failed


def test_verdicts_on_refusals_follow_the_rank() -> None:
    graph, node = Graph("two"), J0("node")
    graph.connect(Se("a", 1.0), node).connect(Se("b", 1.0), node).connect(node, R("r", 1.0))
    assert is_singular(at_random(graph.freeze(), {}, {}, np.random.default_rng(0)))
    assert verdict_on(Drawn(graph, "any", (), True), np.random.default_rng(0)).kind == "rightly refused"


def test_an_open_junction_of_several_meanings_is_rightly_refused() -> None:
    graph, node = Graph("open"), X0("x", automaton="relay", active=["on"])
    graph.connect(node, C("a", capacitance=1.0)).connect(node, C("b", capacitance=2.0)).connect(Sf("i", 1.0), node)
    graph.add_automaton(Automaton("relay", ("off", "on"), "on", ()))
    with pytest.raises(ModelError, match="E154"):
        compile_model(graph)
    verdict = verdict_on(Drawn(graph, "any", (), True), np.random.default_rng(0))
    assert (verdict.kind, verdict.reason) == ("rightly refused", "E154: an open junction is ambiguous")


def test_the_smallest_graph_is_found() -> None:
    graph = smallest(loop(), lambda less: {"m", "n"} <= set(less.parts))
    assert set(graph.parts) == {"m", "n", "v"}
    assert indices_of(graph.freeze(), {}).size == 0


def test_an_inconsistent_reference_gives_no_verdict() -> None:
    """One graph has gains of 1e9, so decisive singular values are cut off, and the reference violates its own relations."""
    assert trial((89, 19464)).verdict.kind == "undecided"
    assert once((89, 100)).verdict.kind == "right"
