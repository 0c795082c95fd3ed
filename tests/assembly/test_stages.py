"""Stages of statements agree with paths in their graph; the modes in which an unknown is active are found."""

from __future__ import annotations

import networkx as nx
import pytest

from bondgraph import J1, Automaton, C, Graph, I, R, Se, Switch, Transition, compile_model, signals
from tests.inner.assembly import System, stages_of
from tests.inner.compile import equations
from tests.inner.model import TIME_DERIVATIVE


def geared() -> Graph:
    graph, shaft, divider, branch = Graph("geared"), J1("shaft"), J1("divider"), J1("branch")
    graph.connect(Se("torque", 1.0), shaft).connect(shaft, I("one", 2.0)).connect(shaft, I("two", 3.0))
    graph.connect(Se("supply", 1.0), divider).connect(divider, R("upper", 2.0)).connect(divider, R("lower", 3.0))
    edge = Transition("open", "closed", lambda t: t - 0.1, "time")
    graph.add_automaton(Automaton("relay", ("open", "closed"), "open", edge))
    graph.connect(Se("battery", 12.0), branch).connect(branch, Switch("contact", automaton="relay", closed=["closed"]))
    return graph.connect(branch, I("coil", 0.1)).connect(branch, R("wire", 0.5))


@pytest.fixture
def system() -> System:
    return equations(geared().freeze())


def followers(system: System) -> nx.DiGraph:
    producer = {out: index for index, s in enumerate(system.statements) for out in s.outs}
    graph = nx.DiGraph()
    graph.add_nodes_from(range(len(system.statements)))
    graph.add_edges_from((producer[a], i) for i, s in enumerate(system.statements) for a in s.args if a in producer)
    return graph


def test_statements_after_a_time_derivative_are_late(system: System) -> None:
    stages, graph = stages_of(system), followers(system)
    seeds = {i for i, s in enumerate(system.statements) if s.op is TIME_DERIVATIVE}
    assert seeds
    assert set(stages.late) == seeds.union(*(nx.descendants(graph, seed) for seed in seeds))
    early = [index for step in stages.early for index in step.statements]
    assert sorted((*early, *stages.late)) == list(range(len(system.statements)))
    assert early == sorted(early) and list(stages.late) == sorted(stages.late)


def test_a_loop_is_one_step(system: System) -> None:
    (loop,) = system.loops
    (step,) = (step for step in stages_of(system).early if step.loop is not None)
    assert step.loop is loop and step.statements == tuple(range(loop.start, loop.stop))


def test_wanted_values_need_only_their_loop_and_its_unknowns(system: System) -> None:
    graph, producer = followers(system), {out: i for i, s in enumerate(system.statements) for out in s.outs}
    assert not stages_of(system, ["one.inertia"]).statements
    for name in ("upper.effort", "contact.effort", "one.p'"):
        found = stages_of(system, [system.resolve(name)]).statements
        sets = [u.unknowns for u in system.loops] + [system.unknowns]
        taken = {arg for i in found for arg in system.statements[i].args} | {system.resolve(name)}
        wanted = {producer[u.residual] for group in sets if taken & {u.value for u in group} for u in group}
        wanted |= {producer[system.resolve(name)]} if system.resolve(name) in producer else set()
        assert wanted <= found
        before = wanted.union(*(nx.ancestors(graph, i) for i in wanted))
        assert before <= found
        rates = {producer[s.rate] for s in system.states if s.rate in producer}
        rated = rates.union(*(nx.ancestors(graph, i) for i in rates))
        assert found <= before | rated


def test_an_unknown_acts_where_its_mode_does_not_make_it_zero(system: System) -> None:
    stages = stages_of(system)
    (switched,) = (u for u in system.unknowns if u.element == "contact")
    (gate,) = stages.gates.values()
    states = system.modes[gate.args[0]].states
    acts = {state: stages.acts(switched, {gate.args[0]: float(k)}) for k, state in enumerate(states)}
    assert switched.value == system.resolve("contact.effort"), "the coil determines the flow"
    assert acts == {"open": 1.0, "closed": 0.0}
    (follower,) = (u for u in system.unknowns if not u.held)
    assert stages.acts(follower, {}) == 1.0


def test_a_start_value_is_found_once_however_often_it_is_read() -> None:
    """Each of forty blocks reads its predecessor twice; without a cache, the first block would be evaluated 2^39 times."""
    graph, v = Graph("doubling"), J1("v")
    graph.connect(v, I("m", 1.0, initial=1.0)).connect(v, R("r", 1.0))
    graph.add(*(signals.product(f"b{k}", [f"b{k - 1}.y" if k else "m.p"] * 2) for k in range(40)))
    graph.connect(v, C("c", capacitance=1.0)).start(lambda y: (2.0 * y,), ["b39.y"], ["c.q"])
    assert compile_model(graph, backend="numpy").simulate(0.01, progress=False)["c.q"][0] == 2.0
