"""The kinds of storage elements, and not the order of connection, decide which of them are dependent."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from bondgraph import (
    GY,
    J0,
    J1,
    TF,
    X0,
    X1,
    Automaton,
    C,
    Graph,
    I,
    ModelError,
    R,
    Se,
    Sf,
    Switch,
    Transition,
    assign_causality,
    compile_model,
    simulate,
)


def opening(name: str = "gate") -> Automaton:
    edges = (Transition("on", "off", lambda t: (t - 0.5) * (1.0 - t), "time"), Transition("off", "on", lambda t: t - 1.0, "time"))
    return Automaton(name, ("on", "off"), "on", edges)


def charging(order: bool, meet: str) -> Graph:
    graph, a, b, v = Graph("charging"), C("a", capacitance=1.0), C("b", capacitance=3.0), J1("v")
    x = X0("x", automaton="gate", active=["on"]) if meet == "X0" else J0("x")
    for part in (a, b) if order else (b, a):
        if meet == "switch" and part is b:
            apart = J1("apart")
            graph.connect(x, apart).connect(apart, b).connect(apart, Switch("s", automaton="gate", closed=["on"]))
        else:
            graph.connect(x, part)
    graph.connect(x, v).connect(v, R("r", 1.0)).connect(v, I("i", 1.0)).connect(Se("u", 1.0), v)
    return graph.add_automaton(opening())


@pytest.mark.parametrize("order", [True, False])
def test_two_capacitors_at_a_switched_junction_are_refused(order: bool) -> None:
    with pytest.raises(ModelError, match="E154") as caught:
        compile_model(charging(order, "X0"))
    (problem,) = caught.value.problems
    assert 'C "a"' in problem.details[0] and 'C "b"' in problem.details[0]
    assert len({str(place) for place in problem.places}) > 1


def test_the_switch_that_is_advised_leaves_the_charge_where_it_is() -> None:
    ends = []
    for order in (True, False):
        result = simulate(charging(order, "switch"), 2.0, rtol=1e-9, progress=False)
        assert result.ok and abs(result.ledger.residual[-1]) < 1e-8
        held = result["b.q"][(result.t > 0.5) & (result.t < 1.0)]
        assert abs(held[0]) > 0.02 and np.ptp(held) < 1e-9 * abs(held[0])
        ends.append([result[name][-1] for name in ("a.q", "b.q", "i.p")])
    np.testing.assert_allclose(ends[0], ends[1], rtol=1e-7)


def two_sides(kind: type, order: bool) -> Graph:
    meet, side, source = (X0, J1, Se) if kind is X0 else (X1, J0, Sf)
    graph, x = Graph("sides").add_automaton(opening()), meet("x", automaton="gate", active=["on"])
    for name in ("a", "b") if order else ("b", "a"):
        graph.connect(x, end := side(f"{name} side")).connect(end, R(f"{name} r", 1.0)).connect(source(name, 2.0), end)
    return graph


@pytest.mark.parametrize("order", [True, False])
@pytest.mark.parametrize("kind", [X0, X1])
def test_sides_of_a_switched_junction_that_are_alike_are_refused(kind: type, order: bool) -> None:
    with pytest.raises(ModelError, match="E154"):
        assign_causality(two_sides(kind, order).freeze())


def test_what_a_storage_decides_is_not_ambiguous() -> None:
    graph, x, a, b = Graph("relay").add_automaton(opening()), X0("x", automaton="gate", active=["on"]), J1("a"), J1("b")
    graph.connect(x, a).connect(a, I("l", 1.0)).connect(x, R("r", 1.0)).connect(x, R("r2", 1.0))
    graph.connect(x, b).connect(b, I("m", 1.0, initial=1.0))
    assert assign_causality(graph.freeze()).derivative == ()


@pytest.mark.parametrize("between", [None, TF, GY])
def test_a_resistor_behind_a_two_port_counts_as_a_resistor(between: type | None) -> None:
    """Either resistor may set the effort, since neither has power once the junction opens."""
    graph, x, v = Graph("dead").add_automaton(opening()), X0("x", automaton="gate", active=["on"]), J1("v")
    graph.connect(v, I("i", 1.0, initial=1.0)).connect(v, x).connect(x, R("a", 2.0))
    if between is None:
        graph.connect(x, R("b", 3.0))
    else:
        graph.connect(x, (ratio := between("n", 3.0 if between is GY else 1.0)).port("1"))
        graph.connect(ratio.port("2"), R("b", 3.0))  # 3^2 / 3, the same resistance
    result = simulate(graph, 0.9, progress=False)
    assert result["i.p"][-1] == pytest.approx(np.exp(-0.5 / (1 / 2 + 1 / 3)), rel=1e-6)
    assert result["a.power"][-1] == result["b.power"][-1] == 0.0


STORAGES = {
    "charged": lambda: C("charged", capacitance=2.0, initial=1.0),
    "curved": lambda: C("curved", energy=lambda q: q * q / 2 + q**4 / 4),
    "invertible": lambda: C("invertible", output=lambda q: q * q * q, energy=lambda q: q**4 / 4, inverse=lambda e: e ** (1 / 3)),
    "linear": lambda: C("linear", capacitance=1.0),
}


@pytest.mark.parametrize("some", list(itertools.permutations(STORAGES, 2)))
def test_properties_decide_which_storage_follows(some: tuple[str, ...]) -> None:
    graph, node = Graph("node"), J0("n")
    for name in some:
        graph.connect(node, STORAGES[name]())
    graph.connect(node, R("r", 1.0))
    _, second = sorted(some, key=list(STORAGES).index)
    assert assign_causality(graph.freeze()).derivative == (second,)


@pytest.mark.parametrize("order", [True, False])
@pytest.mark.parametrize("kind", [C, I])
def test_a_start_value_is_given_to_whoever_has_it(kind: type, order: bool) -> None:
    graph, meet = Graph("pair"), (J0 if kind is C else J1)("n")
    word = "capacitance" if kind is C else "inertia"
    parts = [kind("a", **{word: 1.0}), kind("b", **{word: 3.0}, initial=0.6), R("r", 1.0)]
    for part in parts if order else parts[::-1]:
        graph.connect(meet, part)
    result = simulate(graph, 1.0, progress=False)
    state = "q" if kind is C else "p"
    decay = np.exp(-1.0 / 4.0)
    np.testing.assert_allclose(result[f"a.{state}"][-1], 0.2 * decay, rtol=1e-7)
