"""Energy accounts are checked by island, a part of a graph whose elements are connected by bonds."""

from __future__ import annotations

import copy
import re
import warnings

import numpy as np
import pytest

from bondgraph import GY, J0, J1, Automaton, C, Domain, Graph, I, R, Se, Transition, compile_model
from screws import scalars as s
from tests.inner.run import BatchCollector

PSEUDO = Domain("heat", "temperature", "K", "heat flow", "W", "J", "")
"""Domain of pseudo-bonds, in which the product of temperature and heat flow is not a power."""

BIG = {
    "pseudo-bonds, 43 kJ": (PSEUDO, 1.0, 293.0),
    "thermal, 43 kJ": ("thermal", 1.0, 293.0),
    "hydraulic, 2 MJ": ("hydraulic", 1e-8, 2e-1),
}


@pytest.fixture(autouse=True)
def _quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def oscillator(graph: Graph, growing: float, size: float = 1.0) -> Graph:
    """Return a spring whose energy depends on time without any power, unless `growing` is 0."""
    v, law = J1("v"), lambda q, t: 2.0 * size * q**2 * (1.0 + growing * s.sin(t))
    graph.connect(v, C("spring", energy=law, signals=["time"], initial=1.0))
    return graph.connect(v, I("mass", size)).connect(v, R("damper", 0.1 * size))


def beside(graph: Graph, big: str) -> Graph:
    domain, capacitance, amount = BIG[big]
    node = J0("node", domain=domain)
    graph.connect(node, C("store", capacitance=capacitance, initial=amount, domain=domain))
    return graph.connect(node, R("wall", 5.0 / capacitance, domain=domain))


@pytest.mark.parametrize("growing", [0.0, 1e-3])
@pytest.mark.parametrize("big", BIG)
def test_a_verdict_does_not_depend_on_other_islands(big, growing):
    """An error of millijoules is found beside an island of kilojoules or more, whichever island is added first."""
    alone = compile_model(oscillator(Graph("alone"), growing)).simulate(3.0)
    assert alone.ok == (growing == 0.0) and alone.ledger.islands == ()
    graph, last = Graph("both"), list(BIG).index(big) % 2
    graph = beside(oscillator(graph, growing), big) if last else oscillator(beside(graph, big), growing)
    compiled = compile_model(graph)
    for run in (compiled.simulate(3.0), compiled.simulate(3.0, keep=["mass.p"])):
        small = next(island for island in run.ledger.islands if "spring" in island.elements)
        assert run.ok == alone.ok and set(small.elements) == {"spring", "mass", "damper"}
        assert small.in_play == pytest.approx(alone.ledger.in_play, rel=1e-6)
        assert small.relative_residual == pytest.approx(alone.ledger.relative_residual, rel=1e-5, abs=1e-9)
        assert run.ledger.relative_residual == small.relative_residual or alone.ok
        assert all('"spring"' in str(doubt) and doubt.suspect in small.elements for doubt in run.warnings)
    batch = compiled.prepare_run(3.0)
    ends = batch.run_many(*batch.start_values_many(initial={"spring.q": [1.0, 0.5]}), {"p": "mass.p"})
    assert ends.ok.tolist() == [alone.ok] * 2


@pytest.mark.parametrize("last", [False, True])
def test_machine_code_books_each_power_to_its_island(monkeypatch, last):
    monkeypatch.setattr(BatchCollector, "run_single", lambda *_: pytest.fail("checked in Python"))
    big = next(iter(BIG))
    graph = beside(oscillator(Graph("g"), 0.0), big) if last else oscillator(beside(Graph("g"), big), 0.0)
    batch = compile_model(graph).prepare_run(3.0)
    assert batch.run_many(*batch.start_values_many(initial={"spring.q": [1.0, 0.5]}), {"p": "mass.p"}).ok.all()


def test_a_verdict_does_not_depend_on_units():
    verdicts = []
    for size in (1.0, 2.0**-60):
        run = compile_model(beside(oscillator(Graph("g"), 1e-3, size), "thermal, 43 kJ")).simulate(3.0)
        verdicts.append((run.ok, next(island for island in run.ledger.islands if "spring" in island.elements).relative_residual))
    assert verdicts[0] == verdicts[1] and not verdicts[0][0]


def test_event_losses_belong_to_their_energy_island():
    graph, node = beside(Graph("g"), "thermal, 43 kJ"), J0("n")
    store = C("cell", capacitance=2.0, initial=4.0)
    graph.connect(node, store).connect(node, R("leak", 1.0))
    halved = Transition("full", "half", lambda q: 2.0 - q, ("cell.q",), resets=[("cell.q", lambda q: 0.5 * q, "cell.q")])
    graph.add_automaton(Automaton("switch", ("full", "half"), "full", (halved,)))
    compiled = compile_model(graph)
    run, kept = compiled.simulate(3.0), compiled.simulate(3.0, keep=["cell.q"])
    assert run.ok and len(run.events) == 1 and run.ledger.lost[-1] == pytest.approx(0.75)
    assert max(island.relative_residual for island in (*run.ledger.islands, *kept.ledger.islands)) < 1e-9
    batch = compiled.prepare_run(3.0)
    ends = batch.run_many(*batch.start_values_many(initial={"cell.q": [4.0, 3.0]}), {"q": "cell.q"})
    assert kept.ok and ends.ok.all()


def test_pseudo_bonds_have_their_own_energy_unit():
    run = compile_model(beside(oscillator(Graph("g"), 0.0), "pseudo-bonds, 43 kJ")).simulate(3.0)
    units = {island.domains: island.unit for island in run.ledger.islands}
    assert units == {("generic",): "J", ("heat",): "K W s"}
    assert run.ledger.unit == "J" and run.ledger.stored[0] == pytest.approx(2.0) and run.ledger.in_play < 3.0
    unit = units["heat",]
    assert run.program.layout.unit("store.energy") == unit and run.program.layout.unit("spring.energy") == "J"
    assert run.program.layout.unit("wall.power") == "K W" and unit in run.ledger.tables()
    by_domain = run.ledger.tables().partition("domain by domain")[2].partition("element by element")[0]
    assert re.findall(">(J|K W s)<", by_domain) == ["J", unit]
    alone = compile_model(beside(Graph("g"), "pseudo-bonds, 43 kJ")).simulate(3.0)
    assert alone.ok and alone.ledger.unit == unit and alone.ledger.stored[0] == pytest.approx(293.0**2 / 2)


@pytest.mark.parametrize(
    ("effort", "flow", "unit"),
    [("V", "A", "J"), ("kPa", "l/s", "J"), ("K", "W/K", "J"), ("", "m/s", "J"), ("K", "W", "K W s"), ("mmHg", "mL/s", "mmHg mL")],
)
def test_the_unit_of_energies_follows_from_effort_and_flow(effort, flow, unit):
    assert Domain("own", "effort", effort, "flow", flow, "", "").energy_unit == unit


def test_a_large_graph_without_gaps_is_one_island():
    graph, before = Graph("row"), J1("v0")
    graph.connect(before, I("m0", 1.0, initial=1.0))
    for k in range(1, 6):
        node, after = J0(f"n{k}"), J1(f"v{k}")
        graph.connect(before, node).connect(node, C(f"k{k}", stiffness=float(k))).connect(node, after)
        graph.connect(after, I(f"m{k}", 1.0))
        before = after
    run = compile_model(graph).simulate(1.0, samples=np.array([1.0]))
    assert run.ok and run.ledger.islands == () and len(run.program.islands) == 1


def test_the_account_by_domain():
    graph, coil, shaft, motor = Graph("motor"), J1("coil", domain="electrical"), J1("shaft", domain="rotation"), GY("motor", 0.5)
    graph.connect(Se("u", 6.0), coil).connect(coil, R("wire", 2.0)).connect(coil, motor).connect(motor, shaft)
    graph.connect(shaft, I("rotor", 0.01, initial=0.02)).connect(shaft, R("brake", 0.1))
    run = compile_model(graph).simulate(5.0)
    electrical, rotation = run.ledger.domains["electrical"], run.ledger.domains["rotation"]
    for role in ("stored", "supplied", "dissipated", "injected"):
        assert getattr(electrical, role) + getattr(rotation, role) == pytest.approx(getattr(run.ledger, role), abs=1e-12)
    assert electrical.stored.tolist() == [0.0] * len(run.t) and rotation.supplied[-1] == 0.0
    assert electrical.received == pytest.approx(-rotation.received, abs=1e-9) and rotation.received[0] == 0.0
    speed = 6.0 * 0.5 / 2.0 / (0.1 + 0.5**2 / 2.0)
    power = np.gradient(rotation.received, run.t)[-2]
    assert power == pytest.approx(0.1 * speed**2, rel=1e-5)
    kept, copied = compile_model(graph).simulate(5.0, keep=["rotor.p"]), copy.deepcopy(run)
    assert kept.ledger.domains == {} and copied.ledger.domains.keys() == {"electrical", "rotation"}
