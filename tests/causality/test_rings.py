"""Parallel capacitors, coils in series, and rings with sources, switches and two-ports agree with independent equations."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from bondgraph import GY, J0, J1, TF, Automaton, C, Element, Graph, I, ModelError, R, Se, Sf, Switch, Transition, compile_model
from screws.scalars import sin


def attach(graph: Graph, arm: Element, *parts: Element) -> None:
    first, *others = parts
    if len(first.ports) > 1:
        graph.connect(arm, first.port("1")).connect(first.port("2"), others[0])
        return
    for part in parts:
        graph.connect(arm, part)


def network(parts: list[tuple], flipped: bool = False, name: str = "n") -> Graph:
    """Return a network of arms (element or elements, from, to) between nodes, of which node 0 is ground."""
    graph = Graph("network")
    nodes = {k: J0(f"{name}{k}", domain="electrical") for k in sorted({k for *_, a, b in parts for k in (a, b)} - {0})}
    for *arms, tail, head in parts:
        arm = J1(f"arm {arms[-1].name}", domain="electrical")
        for k, towards in ((tail, not flipped), (head, flipped)):
            if k:
                graph.connect(nodes[k], arm) if towards else graph.connect(arm, nodes[k])
        attach(graph, arm, *arms)
    return graph


def dual(parts: list[tuple]) -> Graph:
    graph = Graph("dual")
    nodes = {k: J1(f"n{k}", domain="electrical") for k in sorted({k for *_, a, b in parts for k in (a, b)} - {0})}
    for *arms, tail, head in parts:
        arm = J0(f"arm {arms[-1].name}", domain="electrical")
        if tail:
            graph.connect(nodes[tail], arm)
        if head:
            graph.connect(arm, nodes[head])
        attach(graph, arm, *arms)
    return graph


PAIR = [(R("R1", 1.0), 1, 0), (R("R2", 2.0), 2, 0), (C("C1", capacitance=1.0), 1, 2), (C("C2", capacitance=2.0), 1, 2)]


@pytest.mark.parametrize("order", list(itertools.permutations(range(4)))[::5])
@pytest.mark.parametrize("flipped", [False, True])
@pytest.mark.parametrize("unit", [1e-9, 1.0])
def test_parallel_capacitors_act_as_one(order, flipped, unit) -> None:
    """The charge obeys q' = -q / (C1 + C2) / (R1 + R2), whichever capacitor is dependent."""
    compiled = compile_model(network([PAIR[k] for k in order], flipped, "abc"[order[0] % 3]), progress=False)
    (dependent,) = compiled.causality.derivative
    free = {"C1": "C2", "C2": "C1"}[dependent]
    capacity = {"C1": 1.0, "C2": 2.0}
    given = {"C1.capacitance": unit, "C2.capacitance": 2.0 * unit}
    t = 5.0 * unit
    run = compiled.simulate(t, parameters=given, initial={f"{free}.q": unit * capacity[free]}, rtol=1e-9, progress=False)
    np.testing.assert_allclose(run["C1.effort"], np.exp(-run.t / (9.0 * unit)), rtol=1e-7)
    np.testing.assert_allclose(run["C2.effort"], run["C1.effort"], rtol=1e-12)
    np.testing.assert_allclose(run["C2.flow"], 2.0 * run["C1.flow"], rtol=1e-9)
    assert run.ledger.relative_residual < 1e-9 and not run.indeterminate


SUPERNODE = [(I("L1", 1.3), 0, 1), (I("L2", 0.7), 2, 0), (R("R", 0.4), 2, 1), (R("r", 0.1), Se("V", 0.5), 1, 2)]


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
@pytest.mark.parametrize("flipped", [False, True])
def test_coils_into_and_out_of_two_nodes_carry_one_current(order, flipped) -> None:
    """Thevenin's theorem gives (L1 + L2) i' = V R / (r + R) - i r R / (r + R)."""
    compiled = compile_model(network([SUPERNODE[k] for k in order], flipped, "abc"[order[0] % 3]), progress=False)
    assert len(compiled.causality.derivative) == 1
    run = compiled.simulate(20.0, rtol=1e-9, progress=False)
    current = -0.5 / 0.1 * (1.0 - np.exp(-0.1 * 0.4 / (0.1 + 0.4) / (1.3 + 0.7) * run.t))
    np.testing.assert_allclose(run["L1.flow"], current, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(run["L2.flow"], current, rtol=1e-7, atol=1e-9)


HANGING = [
    (R("r", 0.1), Se("V", 0.5), 1, 0),
    (R("R", 2.0), 1, 2),
    (C("C1", capacitance=1.0), 2, 1),
    (C("C2", capacitance=2.0), 2, 1),
]


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
@pytest.mark.parametrize("flipped", [False, True])
def test_capacitors_and_a_resistor_at_a_node_without_current(order, flipped) -> None:
    """The charge obeys q' = -q / (C1 + C2) / R, despite an algebraic loop through the resistor."""
    compiled = compile_model(network([HANGING[k] for k in order], flipped, "abc"[order[0] % 3]), progress=False)
    (dependent,) = compiled.causality.derivative
    free, charge = {"C1": ("C2", 2.0), "C2": ("C1", 1.0)}[dependent]
    run = compiled.simulate(20.0, initial={f"{free}.q": charge}, rtol=1e-9, progress=False)
    np.testing.assert_allclose(run["C1.effort"], np.exp(-run.t / 6.0), rtol=1e-7)
    np.testing.assert_allclose(run["C2.effort"], run["C1.effort"], rtol=1e-12)
    np.testing.assert_allclose(run["C2.flow"], 2.0 * run["C1.flow"], rtol=1e-9)
    np.testing.assert_allclose(run["V.flow"], 0.0, atol=1e-12)


NO_RETURN = [(I("L", 1.3), 0, 1), (R("R", 0.5), 1, 2), (C("C", capacitance=2.0), 2, 1)]


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
@pytest.mark.parametrize("flipped", [False, True])
def test_a_coil_without_a_return_path_carries_no_current(order, flipped) -> None:
    """The coil only grounds a capacitor and its resistor, for which q' = -q / (R C)."""
    compiled = compile_model(network([NO_RETURN[k] for k in order], flipped, "abc"[order[0] % 3]), progress=False)
    assert compiled.causality.derivative == ("L",)
    run = compiled.simulate(2.0, initial={"C.q": 1.0}, rtol=1e-9, progress=False)
    np.testing.assert_allclose(run["C.effort"], 0.5 * np.exp(-run.t), rtol=1e-7)
    np.testing.assert_allclose(run["L.flow"], 0.0, atol=1e-12)


def potentials(parts: list[tuple[str, float, int, int]], inflow: float, t: float) -> np.ndarray:
    """Return the potentials (n,) at time t of an RC network with a constant flow into node 1 from rest, from eigenvalues."""
    n = max(max(part[2:]) for part in parts)
    stored, lost = np.zeros((n + 1, n + 1)), np.zeros((n + 1, n + 1))
    for kind, value, a, b in parts:
        matrix, number = (stored, value) if kind == "C" else (lost, 1.0 / value)
        matrix[[a, b], [a, b]] += number
        matrix[[a, b], [b, a]] -= number
    E, G, b = stored[1:, 1:], lost[1:, 1:], np.zeros(n)
    b[0] = inflow
    rest = np.linalg.solve(G, b)
    sizes, modes = np.linalg.eig(np.linalg.solve(G, E))
    start = np.linalg.solve(modes, rest)
    decay = np.where(np.abs(sizes) > 1e-12, np.exp(-t / np.where(np.abs(sizes) > 1e-12, sizes, 1.0)), 0.0)
    return np.real(rest - modes @ (decay * start))


def test_random_networks_of_capacitors() -> None:
    random, several = np.random.default_rng(7), 0
    for _ in range(6):
        n = int(random.integers(2, 5))
        parts = [("R", float(random.integers(1, 5)), k, 0) for k in range(1, n + 1)]
        parts += [("C", float(random.integers(1, 5)), k, k % n + 1) for k in range(1, n + 1)]
        parts += [("C", float(random.integers(1, 5)), *map(int, random.choice(n + 1, 2, replace=False))) for _ in range(2)]
        parts = [parts[k] for k in random.permutation(len(parts))]
        elements = [
            (R(f"r{k}", value) if kind == "R" else C(f"c{k}", capacitance=value), a, b)
            for k, (kind, value, a, b) in enumerate(parts)
        ]
        graph = network([*elements, (Sf("drive", -1.0), 1, 0)])
        compiled = compile_model(graph, progress=False)
        several += len(compiled.causality.derivative) > 1
        run = compiled.simulate(3.0, rtol=1e-9, progress=False)
        found = np.array([run[f"n{k}.effort"][-1] for k in range(1, n + 1)])
        sign = np.sign(found[0]) if found[0] else 1.0
        np.testing.assert_allclose(sign * found, potentials(parts, 1.0, 3.0), atol=1e-6)
        assert run.ledger.relative_residual < 1e-9
    assert several


def test_coils_in_series_between_two_junctions_are_one() -> None:
    """In the dual of the parallel capacitors, (L1 + L2) i' = -R1 R2 / (R1 + R2) i."""
    parts = [(R("R1", 1.0), 1, 0), (R("R2", 0.5), 2, 0), (I("L1", 1.0), 1, 2), (I("L2", 2.0), 1, 2)]
    compiled = compile_model(dual(parts), progress=False)
    (dependent,) = compiled.causality.derivative
    free = {"L1": "L2", "L2": "L1"}[dependent]
    run = compiled.simulate(3.0, initial={f"{free}.p": {"L1": 1.0, "L2": 2.0}[free]}, rtol=1e-9, progress=False)
    np.testing.assert_allclose(run["L1.flow"], np.exp(-run.t / 9.0), rtol=1e-7)
    np.testing.assert_allclose(run["L2.flow"], run["L1.flow"], rtol=1e-12)
    assert run.ledger.relative_residual < 1e-9


def check_parallel_capacitance(part: Element, two_port: Element, capacity: float) -> None:
    parts = [(R("R1", 1.0), 1, 0), (R("R2", 2.0), 2, 0), (C("C1", capacitance=1.0), 1, 2), (Sf("drive", 1.0), 1, 0)]
    graph = network([*parts, (two_port, part, 1, 2)])
    run = compile_model(graph, progress=False).simulate(3.0, rtol=1e-9, progress=False)
    np.testing.assert_allclose(np.abs(run["C1.effort"]), 1.0 - np.exp(-run.t / 3.0 / (1.0 + capacity)), atol=1e-7)
    assert run.ledger.relative_residual < 1e-9


def test_a_ring_through_a_transformer() -> None:
    check_parallel_capacitance(C("C2", capacitance=2.0), TF("n", 2.0), 2.0 / 4.0)


def test_a_ring_through_a_gyrator() -> None:
    check_parallel_capacitance(I("L", 4.0), GY("r", 2.0), 1.0)


def test_capacitors_in_parallel_with_an_ideal_source() -> None:
    parts = [(R("R1", 1.0), 1, 0), (R("R2", 2.0), 2, 0), (Se("u", lambda t: sin(t), signals="time"), 1, 2)]
    parts += [(C("C1", capacitance=2.0), 1, 2), (C("C2", capacitance=1.0), 1, 2)]
    run = compile_model(network(parts), progress=False).simulate(3.0, rtol=1e-9, progress=False)
    np.testing.assert_allclose(np.abs(run["C1.flow"]), 2.0 * np.abs(np.cos(run.t)), atol=1e-12)
    np.testing.assert_allclose(run["C1.flow"], 2.0 * run["C2.flow"], atol=1e-12)
    assert run.ledger.relative_residual < 1e-9


def lever(*states: str) -> Automaton:
    steps = [Transition(a, b, lambda t, k=k: t - 1.0 - k, "time") for k, (a, b) in enumerate(itertools.pairwise(states))]
    return Automaton("lever", states, states[0], tuple(steps))


def switch(name: str) -> Switch:
    return Switch(name, automaton="lever", closed="on")


def test_a_switch_in_a_ring_of_capacitors() -> None:
    parts = [(C("C1", capacitance=1.0), 1, 2), (C("C2", capacitance=2.0), 2, 3), (switch("S"), 3, 1), (R("R1", 1.0), 1, 0)]
    parts += [(R("R2", 2.0), 2, 0), (R("R3", 3.0), 3, 0), (Sf("drive", -1.0), 1, 0)]
    graph = network(parts).add_automaton(lever("off", "on"))
    run = compile_model(graph, progress=False).simulate(2.0, samples=np.linspace(0.0, 2.0, 21), rtol=1e-9, progress=False)
    closed = run.t > 1.0 + 1e-9
    np.testing.assert_allclose(run["C1.effort"][closed], -run["C2.effort"][closed], atol=1e-9)
    assert np.abs(run["C1.effort"][10] + run["C2.effort"][10]) > 0.1 and run.ledger.relative_residual < 1e-9


@pytest.mark.parametrize("turned", [0, 1, 2])
def test_a_ring_of_switches_shares_its_current_by_least_norm(turned) -> None:
    """Closed switches leave the ring current undetermined; the run marks the solution of least norm as indeterminate."""
    drives = [(Se(f"u{k}", 1.0 + k), R(f"r{k}", 1.0)) for k in range(3)]
    graph, nodes = Graph("ring"), [J0(f"n{k}", domain="electrical") for k in range(3)]
    for k in range(3):
        feed, arm = J1(f"feed{k}", domain="electrical"), J1(f"arm{k}", domain="electrical")
        graph.connect(drives[k][0], feed).connect(feed, drives[k][1]).connect(feed, nodes[k])
        one, other = nodes[(k + turned) % 3], nodes[(k + turned + 1) % 3]
        graph.connect(one, arm).connect(arm, switch(f"s{k}")).connect(arm, other).connect(nodes[k], R(f"c{k}", 1.0))
    run = compile_model(graph.add_automaton(lever("off", "on")), progress=False).simulate(
        2.0, samples=np.array([0.0, 0.5, 1.5]), rtol=1e-9, progress=False
    )
    flows = np.array([run[f"s{k}.flow"] for k in range(3)])
    np.testing.assert_allclose(flows[:, 1], 0.0, atol=1e-12)
    np.testing.assert_allclose(np.roll(flows[:, 2], turned), [-1 / 3, -1 / 3, 2 / 3], atol=1e-12)
    np.testing.assert_allclose([run[f"n{k}.effort"][2] for k in range(3)], 1.0, atol=1e-12)
    assert all(run.indeterminate[f"s{k}.flow"].tolist() == [False, False, True] for k in range(3))
    assert run.ledger.relative_residual < 1e-9


def test_a_coil_in_series_with_a_switch_keeps_its_causality() -> None:
    parts = [(R("R1", 1.0), 1, 0), (R("R2", 2.0), 2, 0), (I("L", 1.0), 1, 2), (switch("S"), 1, 2), (Se("u", -1.0), 1, 0)]
    compiled = compile_model(dual(parts).add_automaton(lever("on", "off")), progress=False)
    run = compiled.simulate(2.0, samples=np.linspace(0.0, 2.0, 21), progress=False)
    assert compiled.causality.derivative == () and np.abs(run["L.flow"][9]) > 0.1 and np.all(run["L.flow"][11:] == 0.0)
    assert run.ledger.relative_residual < 1e-9


@pytest.mark.parametrize("make", [network, dual])
def test_sources_that_set_one_value_twice_are_refused_and_the_advice_works(make) -> None:
    source = Se if make is network else Sf
    parts = [(R("R1", 1.0), 1, 0), (R("R2", 2.0), 2, 0), (source("a", 1.0), 1, 2), (source("b", 1.0), 1, 2)]
    with pytest.raises(ModelError, match="E206") as refused:
        compile_model(make(parts), progress=False)
    assert "set values that depend on each other" in str(refused.value)
    assert "an R (a resistance) at one of these junctions" in str(refused.value)
    parts[3] = (R("inside", 1.0), source("b", 1.0), 1, 2)
    assert compile_model(make(parts), progress=False).simulate(1.0, progress=False).ok
