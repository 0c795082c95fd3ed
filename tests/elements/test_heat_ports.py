"""Dissipators (RS) release their power as entropy flow or as heat at pseudo-bonds, and the heat is counted once."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from bondgraph import (
    J0,
    J1,
    TF,
    Automaton,
    C,
    Constraint,
    Diode,
    Element,
    Friction,
    Graph,
    I,
    ModelError,
    R,
    Se,
    Switch,
    Transition,
    compile_model,
)
from bondgraph.export import document
from screws.scalars import exp, sin
from tests.inner.render import COLOURED
from tests.inner.run import BatchCollector, Result

DOMAINS = ("thermal", "heat")
CAPACITY, START = 100.0, 300.0
"""Heat capacity of a body, J/K, and its initial temperature, K."""


def body(domain: str, name: str = "body", capacity: float = CAPACITY, start: float = START) -> Element:
    if domain == "heat":
        return C(name, capacitance=capacity, initial=capacity * start, domain="heat")
    return C(name, energy=lambda S, c, T: c * T * (exp(S / c) - 1.0), parameters={"c": capacity, "T": start}, domain="thermal")


def run(graph: Graph, t_end: float, **settings) -> Result:
    result = compile_model(graph).simulate(t_end, **settings)
    assert result.ok and result.ledger.unit == "J"
    assert result.ledger.relative_residual < 1e-9
    return result


def gained(result: Result, name: str = "body") -> float:
    stored = result.ledger.elements[name]
    return float(stored[-1] - stored[0])


def kettle(domain: str, flipped: bool = False) -> Graph:
    graph, loop, water, heater = Graph("kettle"), J1("loop"), J0("water"), R("heater", 5.0, heat=True)

    def bond(tail, head):
        graph.connect(head, tail) if flipped else graph.connect(tail, head)

    graph.connect(Se("u", 10.0), loop)
    bond(loop, heater)
    bond(heater.port("heat"), water)
    bond(water, body(domain))
    return graph.expose("water", water)


@pytest.mark.parametrize("flipped", [False, True])
@pytest.mark.parametrize("domain", DOMAINS)
def test_a_resistor_warms_a_body(domain, flipped):
    """A heater of 20 W supplies 2000 J in 100 s, which are stored; nothing is dissipated."""
    result = run(kettle(domain, flipped), 100.0)
    temperature = START + 20.0 * result.t / CAPACITY
    assert result["body.effort"] == pytest.approx(temperature, rel=1e-9)
    assert result["heater.heat.effort"] == pytest.approx(temperature, rel=1e-9)
    assert gained(result) == pytest.approx(2000.0, rel=1e-12) == result.ledger.supplied[-1]
    assert result.ledger.dissipated[-1] == 0.0 and set(result.ledger.elements) == {"body", "u"}
    assert [island.domains for island in result.ledger.islands][1:] == [(domain,)]
    heat = -1.0 if flipped else 1.0
    flow = 20.0 / temperature if domain == "thermal" else np.full(len(result.t), 20.0)
    assert heat * result["heater.heat.flow"] == pytest.approx(flow, rel=1e-9)
    layout = result.program.layout
    assert (layout.unit("heater.heat.power"), layout.unit("heater.heat.effort")) == ("W", "K")
    if domain == "thermal":
        assert result["body.q"][-1] == pytest.approx(CAPACITY * np.log(320.0 / START), rel=1e-9)


@pytest.mark.parametrize("domain", DOMAINS)
def test_a_rectifier_warms_itself(domain):
    """With a resistance R (1 + a x), x = T - T0, C (x + a x^2 / 2) is the integral of u^2 / R over the half waves."""
    U, w, resistance, a, capacity = 10.0, 2.0 * np.pi * 5.0, 5.0, 0.05, 2.0
    graph, loop, case = Graph("rectifier"), J1("loop", domain="electrical"), J0("case")

    def law(i, T):
        return resistance * (1.0 + a * (T - START)) * i

    wire = R("wire", effort=law, signals=["wire.heat.effort"], heat=True)
    diode = Diode("diode", heat=True)
    graph.connect(Se("u", lambda t: U * sin(w * t), signals="time"), loop).connect(loop, diode).connect(loop, wire)
    graph.connect(wire.port("heat"), case).connect(diode.port("heat"), case).connect(case, body(domain, capacity=capacity))
    result = run(graph, 1.0, rtol=1e-9)
    brought = 5.0 * U**2 / resistance * 0.1 / 2.0
    warmer = (np.sqrt(1.0 + 2.0 * a * brought / capacity) - 1.0) / a
    assert result["body.effort"][-1] - START == pytest.approx(warmer, rel=1e-7)
    assert gained(result) == pytest.approx(capacity * warmer, rel=1e-7)
    assert abs(gained(result) - result.ledger.supplied[-1]) < 1e-9 * result.ledger.supplied[-1]
    assert result["wire.heat.flow"].min() >= 0.0
    assert result["diode.heat.flow"] == pytest.approx(np.zeros(len(result.t)), abs=1e-12)
    assert result.ledger.dissipated[-1] == 0.0 == result.ledger.lost[-1]


@pytest.mark.parametrize("domain", DOMAINS)
def test_a_block_that_comes_to_rest_has_warmed_its_ground(domain):
    graph, v = Graph("brake"), J1("v", domain="translation")
    friction = Friction("pad", 4.0, viscous=0.5, heat=True)
    graph.connect(v, I("block", 2.0, initial=6.0)).connect(v, friction).connect(friction.port("heat"), body(domain))
    result = run(graph, 3.0)
    assert result["pad.mode"][-1] == 0.0 and result["block.flow"][-1] == pytest.approx(0.0, abs=1e-9)
    assert gained(result) == pytest.approx(9.0, rel=1e-9)
    assert result.ledger.stored == pytest.approx(np.full(len(result.t), result.ledger.stored[0]), rel=1e-9)


def test_friction_in_a_plane():
    graph, v = Graph("brake"), J1("v", domain="translation", dimension=2)
    friction = Friction("pad", 4.0, dimension=2, heat=True)
    graph.connect(v, I("block", [2.0, 2.0], initial=[6.0, 8.0])).connect(v, friction)
    result = run(graph.connect(friction.port("heat"), body("thermal")), 10.0)
    assert gained(result) == pytest.approx(25.0, rel=1e-7)


@pytest.mark.parametrize("domain", DOMAINS)
def test_impulse_losses_do_not_heat(domain):
    """When a switch connects a charged and an empty capacitor, half of the energy is lost, and the body does not receive the
    loss."""
    closes = Transition("off", "on", lambda t: t - 1.0, "time")
    graph, loop = Graph("caps").add_automaton(Automaton("key", ("off", "on"), "off", (closes,))), J1("loop", domain="electrical")
    switch = Switch("switch", automaton="key", closed="on", heat=True)
    graph.connect(C("full", capacitance=1.0, initial=2.0), loop).connect(loop, C("empty", capacitance=1.0)).connect(loop, switch)
    result = run(graph.connect(switch.port("heat"), body(domain)), 2.0)
    assert result.ledger.lost[-1] == pytest.approx(1.0, rel=1e-9) and gained(result) == pytest.approx(0.0, abs=1e-9)
    slow = Graph("with a wire").add_automaton(graph.automata["key"])
    loop, wire = J1("loop", domain="electrical"), R("wire", 1e-3, heat=True)
    switch = Switch("switch", automaton="key", closed="on")
    slow.connect(C("full", capacitance=1.0, initial=2.0), loop).connect(loop, C("empty", capacitance=1.0)).connect(loop, switch)
    result = run(slow.connect(loop, wire).connect(wire.port("heat"), body(domain)), 2.0)
    assert gained(result) == pytest.approx(1.0, rel=1e-9) and result.ledger.lost[-1] == pytest.approx(0.0, abs=1e-12)


def test_friction_in_a_collision_gives_no_heat():
    mass, radius, fall, spin = 2.0, 0.1, 0.3, 40.0
    hits = Transition("free", "free", lambda h: -h, "floor.h", impact="floor")
    leaves = Transition("rest", "free", lambda n: -n, "floor.multiplier")
    graph, v, w = Graph("ball"), J1("v", domain="translation"), J1("w", domain="rotation")
    up, slip, arm = J1("up", domain="translation"), J0("slip", domain="translation"), TF("arm", radius)
    graph.add_automaton(Automaton("on floor", ("free", "rest"), "free", (hits, leaves)))
    graph.connect(Se("weight", -9.81 * mass), up).connect(up, I("up m", mass)).connect(v, I("m", mass)).connect(v, slip)
    graph.connect(w, I("J", 0.4 * mass * radius**2, initial=0.4 * mass * radius**2 * spin)).connect(w, arm).connect(arm, slip)
    graph.connect(up, Constraint("floor", initial=fall, automaton="on floor", active=["rest"], restitution=0.5))
    rubs = Friction("rubs", 0.2, scale=lambda n: n, signals=["floor.multiplier"], heat=True)
    result = run(graph.connect(slip, rubs).connect(rubs.port("heat"), body("thermal")), 0.3)
    speed = np.sqrt(2.0 * 9.81 * fall)
    impulse = -min(2.0 / 7.0 * mass * radius * spin, 0.2 * mass * 1.5 * speed)
    lost = 0.5 * mass * 0.75 * speed**2 - impulse * radius * spin - 0.5 * impulse**2 * 3.5 / mass
    assert len(result.events) == 1 and result.ledger.lost[-1] == pytest.approx(lost, rel=1e-9)
    assert gained(result) == 0.0


def test_switch_losses_enter_the_heat_port():
    graph, loop = Graph("g"), J1("loop", domain="electrical")
    diode = Diode("diode", heat=True)
    graph.connect(Se("u", lambda t: 3.0 * sin(t), signals="time"), loop).connect(loop, diode).connect(loop, R("r", 1.7))
    result = run(graph.connect(diode.port("heat"), body("heat")), 3.0)
    assert np.array_equal(result["diode.heat.power"], -result["diode.power"])
    heat = next(s for s in compile_model(graph).system.statements if s.outs == ("diode.heat.power",))
    assert heat.args == ("diode.power",) and heat.op(2.0) == -2.0


def test_an_open_port_is_the_surroundings():
    graph, part, loop = Graph("g"), Graph("part"), J1("loop")
    inside = J1("inside")
    leak = R("leak", 4.0, heat=True)
    part.connect(inside, leak).expose("1", inside).expose("heat", leak.port("heat"))
    graph.connect(Se("u", 10.0), loop).connect(loop, R("r", 5.0, heat=True)).connect(loop, C("c", capacitance=1.0))
    graph.connect(loop, part.port("1"))
    compiled = compile_model(graph)
    assert compiled.model.ambient == ("r", "part.leak") and set(compiled.model.elements) >= {"r", "part.leak"}
    result = compiled.simulate(10.0)
    assert result.ok and set(result.ledger.elements) == {"r", "c", "u", "part.leak"}
    assert result.ledger.dissipated[-1] == pytest.approx(result.ledger.supplied[-1] - result.ledger.stored[-1], rel=1e-9)
    text = compiled.report()
    assert text.count("heat port") == 1 and '  "part.leak"' in text
    assert "heat port" not in compile_model(kettle("heat")).report()


def test_a_port_inside_a_part():
    part, inside, leak = Graph("part"), J1("inside"), R("leak", 5.0, heat=True)
    part.connect(inside, leak).expose("1", inside).expose("heat", leak.port("heat"))
    graph = Graph("g").connect(Se("u", 10.0), part.port("1")).connect(part.port("heat"), body("thermal"))
    result = run(graph, 10.0)
    assert gained(result) == pytest.approx(200.0, rel=1e-9)
    assert result["part.leak.heat.flow"][-1] == pytest.approx(20.0 / 302.0, rel=1e-9)


@pytest.mark.parametrize("growing", [0.0, 1e-3])
def test_a_millijoule_error_is_detected_despite_a_warm_body(growing):
    """A modulated spring gains energy without power, beside a body with 30 kJ of heat."""
    graph, v, damper = Graph("g"), J1("v"), R("damper", 0.1, heat=True)
    spring = C("spring", energy=lambda q, t: 2.0 * q**2 * (1.0 + growing * sin(t)), signals=["time"], initial=1.0)
    graph.connect(v, spring).connect(v, I("mass", 1.0)).connect(v, damper).connect(damper.port("heat"), body("heat"))
    compiled = compile_model(graph)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for result in (compiled.simulate(3.0), compiled.simulate(3.0, keep=["mass.p"])):
            mechanical, thermal = result.ledger.islands
            assert result.ok == (growing == 0.0) and mechanical.in_play < 5.0 and thermal.in_play > 3e4
            assert set(mechanical.elements) == {"spring", "mass", "damper"} and thermal.relative_residual < 1e-12
            assert (
                result.ledger.residual[-1] == pytest.approx(mechanical.residual[-1], abs=1e-10)
            ) and result.ledger.in_play > 3e4
        batch = compiled.prepare_run(3.0)
        ends = batch.run_many(*batch.start_values_many(initial={"spring.q": [1.0, 0.5]}), {"p": "mass.p"})
    assert ends.ok.tolist() == [growing == 0.0] * 2


def test_a_paper_has_the_balance_of_all():
    text = document(kettle("thermal"))
    balance = next(line for line in text.splitlines() if "tfrac{d}{dt}(" in line)
    assert balance.count(" + ") == 0 and " - " not in balance


def test_equal_resistors_are_booked_by_their_ports():
    graph, node, case = Graph("g"), J0("node", domain="electrical"), J0("case", domain="heat")
    graph.connect(Se("u", 10.0), node).connect(case, body("heat"))
    for k in range(6):
        graph.connect(node, each := R(f"r{k}", 5.0, heat=k % 2 == 0))
        if k % 2 == 0:
            graph.connect(each.port("heat"), case)
    result = run(graph, 10.0)
    assert set(result.ledger.elements) == {"body", "u", "r1", "r3", "r5"}
    assert gained(result) == pytest.approx(600.0, rel=1e-12) == result.ledger.dissipated[-1]


def test_batched_runs_use_the_energy_account_of_single_runs(monkeypatch):
    monkeypatch.setattr(BatchCollector, "run_single", lambda *_: pytest.fail("checked in Python"))
    batch = compile_model(kettle("thermal")).prepare_run(100.0)
    ends = batch.run_many(*batch.start_values_many(parameters={"heater.resistance": [5.0, 50.0]}), {"T": "body.effort"})
    assert ends.ok.all() and ends["T"][:, -1] == pytest.approx([320.0, 302.0], rel=1e-9)


def test_a_part_is_replaced_with_its_heat_port():
    graph = kettle("heat").replace("heater", R("heater", 10.0, heat=True))
    assert gained(run(graph, 10.0)) == pytest.approx(100.0, rel=1e-12)
    with pytest.raises(ModelError, match="E138"):
        kettle("heat").replace("heater", R("heater", 10.0))


@pytest.mark.parametrize(
    ("code", "graph", "words"),
    [
        (
            "E177",
            lambda: Graph("g").connect(J1("j"), r := R("r", 1.0, heat=True)).connect(r.port("heat"), C("c", capacitance=1.0)),
            ('RS "r.heat"', "domain generic", 'domain="heat"'),
        ),
        (
            "E177",
            lambda: (
                Graph("g")
                .connect(C("c", capacitance=1.0, domain="heat"), r := R("r", 1.0, heat=True))
                .connect(r.port("heat"), body("heat"))
            ),
            ('R "r" with heat=True', "is already heat"),
        ),
        (
            "E112",
            lambda: Graph("g").connect(J1("j"), r := R("r", 1.0)).connect(r.port("heat"), body("heat")),
            ('R "r" has no port "heat"', 'heat=True of R "r"'),
        ),
        (
            "E112",
            lambda: (
                Graph("g")
                .connect(J1("j"), r := R("r", 1.0, heat=True))
                .connect(r.port("heat"), J0("a"))
                .connect(r.port("heat"), J0("b"))
            ),
            ('"r.heat" has no free port',),
        ),
        (
            "E106",
            lambda: (
                Graph("g").connect(C("c", capacitance=1.0), R("r", 1.0, heat=True)).add(Graph("x").export("T", "r.heat.effort"))
            ),
            ("r.heat.effort",),
        ),
        (
            "E106",
            lambda: Graph("g").connect(
                C("c", capacitance=1.0), R("r", effort=lambda f, T: T * f, signals=["r.heat.effort"], heat=True)
            ),
            ('reads the signal "r.heat.effort"', 'connect the port "heat" of "r"'),
        ),
    ],
)
def test_invalid_heat_ports_are_refused(code, graph, words):
    with pytest.raises(ModelError, match=code) as caught:
        graph().freeze()
    assert all(word in str(caught.value) for word in words)


def test_a_drawing_shows_one_element_with_two_bonds():
    drawn = kettle("thermal").diagram().svg
    assert f'fill="{COLOURED.loss}"' in drawn.partition(">RS</")[0].rpartition("<text")[2]
    assert ">RS</" in drawn and ">heat</" not in drawn and drawn.count('data-bond="') == 4
