"""Heat transfer and the Peltier element conserve energy and produce entropy, in agreement with closed forms."""

from __future__ import annotations

import numpy as np
import pytest

from bondgraph import J0, J1, TF, C, Element, Graph, HeatTransfer, ModelError, Parameter, R, Se, Sf, compile_model
from screws.scalars import exp
from tests.inner.run import Result

C1, C2, G = 100.0, 50.0, 2.0
"""Heat capacities, J/K, and a conductance, W/K."""


def body(name: str, capacity: float, start: float) -> Element:
    """Return a body whose energy c T0 (exp(S / c) - 1) is relative to the start."""
    values = {"c": capacity, "T0": start}
    return C(name, energy=lambda S, c, T0: c * T0 * (exp(S / c) - 1.0), parameters=values, domain="thermal")


def run(graph: Graph, t_end: float, **settings) -> Result:
    result = compile_model(graph).simulate(t_end, **settings)
    assert result.ok and result.ledger.unit == "J" and result.ledger.relative_residual < 1e-9
    return result


def pair(wall: Element, flipped: tuple[bool, bool] = (False, False), hot: float = 400.0, cold: float = 300.0) -> Graph:
    graph, bonds = Graph("pair"), ((body("A", C1, hot), wall.port("1")), (wall.port("2"), body("B", C2, cold)))
    for (tail, head), turned in zip(bonds, flipped, strict=True):
        graph.connect(head, tail) if turned else graph.connect(tail, head)
    return graph


@pytest.mark.parametrize("flipped", [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize("temperatures", [(400.0, 300.0), (300.0, 400.0)])
def test_two_bodies_exchange_heat(flipped, temperatures):
    """The temperature difference decays as exp(-G t (1 / C1 + 1 / C2)); energy is conserved, and the bodies gain the generated
    entropy."""
    hot, cold = temperatures
    result = run(pair(HeatTransfer("wall", G), flipped, hot, cold), 60.0, rtol=1e-9)
    decay, mean = (hot - cold) * np.exp(-G * result.t * (1.0 / C1 + 1.0 / C2)), (C1 * hot + C2 * cold) / (C1 + C2)
    one, two = mean + decay * C2 / (C1 + C2), mean - decay * C1 / (C1 + C2)
    assert result["A.effort"] == pytest.approx(one, rel=1e-8) and result["B.effort"] == pytest.approx(two, rel=1e-8)
    assert result["wall.power"] == pytest.approx(G * decay, rel=1e-6)
    assert result["wall.entropy"] == pytest.approx(G * decay * (1.0 / two - 1.0 / one), rel=1e-6)
    assert result["wall.entropy"].min() >= 0.0
    signs = [-1.0 if turned else 1.0 for turned in flipped]
    assert result["wall.1.flow"] * signs[0] == pytest.approx(G * decay / one, rel=1e-6)
    assert result["wall.2.flow"] * signs[1] == pytest.approx(G * decay / two, rel=1e-6)
    made = result["A.q"] + result["B.q"]
    assert made == pytest.approx(C1 * np.log(one / hot) + C2 * np.log(two / cold), rel=1e-6, abs=1e-9)
    assert set(result.ledger.elements) == {"A", "B"} and result.ledger.islands == ()
    assert result.ledger.dissipated[-1] == result.ledger.supplied[-1] == 0.0
    moved = C1 * (hot - one[-1])
    assert result.ledger.elements["B"][-1] == pytest.approx(moved, rel=1e-8)
    assert abs(result.ledger.stored[-1]) < 1e-9 * abs(moved)
    layout = result.program.layout
    assert (layout.unit("wall.power"), layout.unit("wall.entropy"), layout.unit("wall.conductance")) == ("W", "W/K", "W/K")


def test_radiation_to_the_surroundings():
    """With surroundings near 0 K, c T' = -s T^4 gives T = (T0^-3 + 3 s t / c)^(-1/3)."""
    graph, s = Graph("probe"), 5.67e-8
    glow = HeatTransfer("glow", heat=lambda one, other, s: s * (one**4 - other**4), parameters={"s": s})
    graph.connect(body("probe", 5.0, 900.0), glow.port("1")).connect(glow.port("2"), Se("space", 2.7, domain="thermal"))
    result = run(graph, 5.0)
    assert result["probe.effort"][-1] == pytest.approx((900.0**-3 + 3.0 * s * 5.0 / 5.0) ** (-1.0 / 3.0), rel=1e-6)
    assert result.ledger.supplied[-1] == pytest.approx(-5.0 * (900.0 - result["probe.effort"][-1]), rel=1e-9)


def test_a_node_between_heat_flows_needs_no_capacity():
    graph, loop, node = Graph("wire"), J1("loop", domain="electrical"), J0("node", domain="thermal")
    wire, film = R("wire", 5.0, heat=True), HeatTransfer("film", 0.4)
    graph.connect(Sf("i", 2.0), loop).connect(loop, wire).connect(wire.port("heat"), node).connect(node, film.port("1"))
    graph.connect(film.port("2"), body("room", 1e3, 290.0))
    balanced = run(graph, 10.0)
    assert balanced["wire.heat.effort"] - balanced["room.effort"] == pytest.approx(50.0, rel=1e-9)
    run(graph.connect(node, body("wire itself", 0.1, 290.0)), 10.0)
    graph, loop, film = Graph("wire"), J1("loop", domain="electrical"), J1("film", domain="heat")
    graph.connect(Sf("i", 2.0), loop).connect(loop, wire).connect(wire.port("heat"), film).connect(film, R("film R", 2.5))
    result = run(graph.connect(film, C("room", capacitance=1e3, initial=290e3)), 10.0)
    assert result["wire.heat.effort"] == pytest.approx(290.0 + 20.0 * result.t / 1e3 + 50.0, rel=1e-9)


SEEBECK, OHM, LEAK, CURRENT = 0.05, 2.0, 0.5, 3.0
"""Seebeck coefficient (V/K), resistance (ohm), heat leak (W/K) and current (A)."""


def peltier(name: str) -> Graph:
    """Return a Peltier element with a TF for the entropy alpha i, half of the Joule heat at each side, and a heat leak."""
    part, i, carried = Graph(name), J1("i", domain="electrical"), J1("carried", domain="thermal")
    cold, hot = J0("cold", domain="thermal"), J0("hot", domain="thermal")
    pump, leak = TF("Seebeck", SEEBECK, domains=("electrical", "thermal")), HeatTransfer("leak", LEAK)
    part.connect(i, pump).connect(pump, carried).connect(cold, carried).connect(carried, hot)
    part.connect(hot, leak.port("1")).connect(leak.port("2"), cold)
    for side, node in (("cold", cold), ("hot", hot)):
        part.connect(i, half := R(f"{side} half", OHM / 2, heat=True)).connect(half.port("heat"), node)
    return part.expose("i", i).expose("cold", cold).expose("hot", hot)


def test_a_peltier_element_cools_a_body():
    """The body obeys c Tc' = K (Th - Tc) + R i^2 / 2 - alpha i Tc, a first-order lag."""
    graph, element, capacity, hot = Graph("cooler"), peltier("P"), 10.0, 300.0
    graph.connect(Sf("i", CURRENT, domain="electrical"), element.port("i")).connect(
        Se("fins", hot, domain="thermal"), element.port("hot")
    )
    result = run(graph.connect(element.port("cold"), body("body", capacity, hot)), 60.0, rtol=1e-9)
    rate, final = ((LEAK + SEEBECK * CURRENT) / capacity, (LEAK * hot + OHM * CURRENT**2 / 2) / (LEAK + SEEBECK * CURRENT))
    cold = final + (hot - final) * np.exp(-rate * result.t)
    assert result["body.effort"] == pytest.approx(cold, rel=1e-8)
    voltage = SEEBECK * (hot - cold) + OHM * CURRENT
    assert result["i.effort"] == pytest.approx(voltage, rel=1e-7)
    account = {name: float(course[-1]) for name, course in result.ledger.elements.items()}
    assert set(account) == {"i", "fins", "body"}
    assert account["body"] == pytest.approx(capacity * (cold[-1] - hot), rel=1e-8)
    assert account["body"] == pytest.approx(account["i"] + account["fins"], abs=1e-9 * account["i"])
    assert result.ledger.dissipated[-1] == 0.0
    domains = result.ledger.domains
    assert list(domains) == ["electrical", "thermal"] and "domain by domain" in result.ledger.tables()
    assert domains["electrical"].supplied[-1] == account["i"] and domains["thermal"].supplied[-1] == account["fins"]
    assert domains["electrical"].received == pytest.approx(-result.ledger.elements["i"], rel=1e-12)
    assert domains["thermal"].received == pytest.approx(result.ledger.elements["i"], abs=1e-9 * account["i"])
    made = result["P.leak.entropy"] + result["P.cold half.heat.flow"] + result["P.hot half.heat.flow"]
    assert result["P.leak.entropy"].min() >= 0.0 and result["P.cold half.heat.flow"].min() > 0.0
    gained = result["body.q"][-1] - np.trapezoid(result["fins.flow"], result.t)
    assert gained == pytest.approx(np.trapezoid(made, result.t), rel=1e-5)


def test_a_conductance_has_a_unit_and_a_bound():
    graph = pair(HeatTransfer("wall", Parameter(2000.0, "mW/K")))
    assert run(graph, 10.0)["wall.power"][0] == pytest.approx(200.0, rel=1e-12)
    for wrong, code in ((Parameter(2.0, "W"), "E175"), (-1.0, "E151")):
        with pytest.raises(ModelError, match=code):
            pair(HeatTransfer("wall", wrong)).freeze()


@pytest.mark.parametrize(
    ("code", "build", "words"),
    [
        ("E110", lambda: HeatTransfer("wall"), ("conductance, heat", "given: none")),
        ("E110", lambda: HeatTransfer("wall", 1.0, signals=["a.y"]), ("conductance", "signals")),
        (
            "E153",
            lambda: pair(HeatTransfer("pump", heat=lambda one, other: other - one)).freeze(),
            ('RS "pump" moves heat from cold to hot', "would destroy entropy"),
        ),
        (
            "E105",
            lambda: (
                Graph("g")
                .connect(C("c", capacitance=1.0, domain="heat"), w := HeatTransfer("w", 1.0))
                .connect(w, C("d", capacitance=1.0, domain="heat"))
                .freeze()
            ),
            ("domain heat", "domain thermal", 'domain="thermal" for both'),
        ),
    ],
)
def test_invalid_heat_transfer_is_refused(code, build, words):
    with pytest.raises(ModelError, match=code) as caught:
        build()
    assert all(word in str(caught.value) for word in words)
