"""The energy account of thermal pseudo-bonds, of temperature and heat flow, is in joules, and no heat is created."""

from __future__ import annotations

import numpy as np
import pytest

from bondgraph import (
    DOMAINS,
    GY,
    IC,
    J0,
    J1,
    TF,
    Automaton,
    C,
    Constraint,
    Domain,
    Friction,
    Graph,
    I,
    ModelError,
    Parameter,
    R,
    Se,
    Sf,
    Switch,
    Transition,
    compile_model,
)
from bondgraph.export import port_hamiltonian
from tests.inner.run import Result

HEAT_A, HEAT_B, WALL = 100.0, 50.0, 0.5
"""Heat capacities, J/K, and the resistance between them, K/W."""


def bodies(graph: Graph, flipped: bool = False) -> Graph:
    a, b = J0("a", domain="heat"), J0("b", domain="heat")

    def bond(tail, head):
        graph.connect(head, tail) if flipped else graph.connect(tail, head)

    bond(a, C("A", capacitance=HEAT_A, initial=400.0 * HEAT_A))
    bond(b, C("B", capacitance=HEAT_B, initial=300.0 * HEAT_B))
    return graph.expose("b", b)


def coupled(*through, flipped: bool = False) -> Graph:
    graph, gap = bodies(Graph("bodies"), flipped), J1("gap")
    graph.connect(graph["a"], gap).connect(gap, graph["b"])
    for part in through:
        graph.connect(part, gap) if flipped else graph.connect(gap, part)
    return graph


def run(graph: Graph, t_end: float = 20.0) -> Result:
    result = compile_model(graph).simulate(t_end)
    assert result.ok and result.ledger.unit == "J"
    assert result.ledger.relative_residual < 1e-12
    return result


def ends(result: Result) -> dict[str, float]:
    return {name: float(course[-1]) for name, course in result.ledger.elements.items()}


@pytest.mark.parametrize("flipped", [False, True])
def test_two_bodies_share_their_heat(flipped):
    result = run(coupled(R("wall", WALL), flipped=flipped))
    series = HEAT_A * HEAT_B / (HEAT_A + HEAT_B)
    mean = (400.0 * HEAT_A + 300.0 * HEAT_B) / (HEAT_A + HEAT_B)
    above = 100.0 * np.exp(-result.t / (WALL * series)) * HEAT_B / (HEAT_A + HEAT_B)
    assert result["a.effort"] == pytest.approx(mean + above, rel=1e-7)
    assert ends(result)["wall"] == 0.0
    bond = result.bond_values("a -> gap")
    assert np.array_equal(bond.power, bond.flow)
    assert result.ledger.stored == pytest.approx(np.full(len(result.t), 55000.0), rel=1e-14)
    layout = result.program.layout
    assert (layout.unit("A.energy"), layout.unit("wall.power"), layout.unit("A.q")) == ("J", "W", "J")
    assert (layout.unit("A.capacitance"), layout.unit("wall.resistance")) == ("J/K", "K/W")


def test_two_resistances_at_one_junction_pass_all_on():
    account = ends(run(coupled(R("wall", WALL), R("film", WALL))))
    assert account["wall"] == account["film"] == 0.0


@pytest.mark.parametrize("flipped", [False, True])
def test_a_resistance_to_surroundings_at_zero_takes_the_heat(flipped):
    for at_junction in (False, True):
        graph, node = bodies(Graph("g"), flipped), J1("j") if at_junction else None
        if node is not None:
            graph.connect(graph["a"], node)
        for part in (R("loss", 1.0), R("film", 1.0)) if at_junction else (R("loss", 2.0),):
            graph.connect(node or graph["a"], part)
        result = run(graph)
        lost = 400.0 * HEAT_A * -np.expm1(-result.t[-1] / (2.0 * HEAT_A))
        assert result.ledger.dissipated[-1] == pytest.approx(lost, rel=1e-7)
        assert ends(result)["loss"] == pytest.approx(lost / (2 if at_junction else 1), rel=1e-7)


@pytest.mark.parametrize("flipped", [False, True])
def test_an_ambient_temperature_supplies_the_heat(flipped):
    graph, film = bodies(Graph("g"), flipped), J1("film")
    ambient = Se("ambient", Parameter(6.85, "degC"))
    graph.connect(ambient, film).connect(film, R("wall", WALL)).connect(film, graph["a"])
    graph.connect(Sf("heater", 30.0), graph["b"])
    result = run(graph)
    cooled = HEAT_A * 120.0 * np.expm1(-result.t[-1] / (WALL * HEAT_A))
    assert ends(result)["ambient"] == pytest.approx(cooled, rel=1e-7)
    assert ends(result)["heater"] == pytest.approx(600.0, rel=1e-12)
    assert ends(result)["wall"] == 0.0


def test_ambient_at_zero_is_a_source():
    """Zero is a temperature at pseudo-bonds, so the source takes heat, whereas an effort of zero at power bonds carries no
    power."""
    graph, film = bodies(Graph("g")), J1("film")
    graph.connect(graph["a"], film).connect(film, R("wall", WALL)).connect(film, Se("ambient"))
    assert ends(run(graph))["ambient"] == pytest.approx(400.0 * HEAT_A * np.expm1(-20.0 / (WALL * HEAT_A)), rel=1e-7)


def after_a_second(*states: str) -> Automaton:
    return Automaton("switch", states, states[0], (Transition(*states, lambda t: t - 1.0, "time"),))


def test_a_switch_mixes_two_bodies_without_a_loss():
    graph = coupled(Switch("touch", automaton="switch", closed="on")).add_automaton(after_a_second("off", "on"))
    result = run(graph, 2.0)
    assert result["a.effort"][-1] == pytest.approx(55000.0 / 150.0, rel=1e-12)
    assert result.ledger.lost[-1] == pytest.approx(0.0, abs=1e-8) and ends(result)["touch"] == 0.0


def test_an_impulse_of_heat_comes_from_the_source():
    graph, j = Graph("g").add_automaton(after_a_second("off", "on")), J1("j", domain="heat")
    graph.connect(Se("bath", 300.0), j).connect(j, Switch("touch", automaton="switch", closed="on"))
    result = run(graph.connect(j, C("body", capacitance=HEAT_A, initial=400.0 * HEAT_A)), 2.0)
    assert ends(result)["bath"] == pytest.approx(-100.0 * HEAT_A, rel=1e-12)
    assert result.ledger.lost[-1] == pytest.approx(0.0, abs=1e-8)


def test_two_capacities_at_one_temperature():
    graph = bodies(Graph("g"))
    graph.connect(graph["a"], C("lining", capacitance=20.0, initial=8000.0)).connect(graph["a"], R("loss", 2.0))
    result = run(graph)
    assert result["a.effort"] == pytest.approx(400.0 * np.exp(-result.t / (2.0 * 120.0)), rel=1e-7)
    assert ends(result)["lining"] == pytest.approx(20.0 * result["a.effort"][-1], rel=1e-12)


def test_a_capacity_by_a_formula_stores_its_heat():
    """The integral of T = 300 K sqrt(1 + q / 1 kJ) is not the energy, which is q itself."""
    graph, node = Graph("g"), J0("node", domain="heat")
    melting = C("body", energy=lambda q: 2e5 * (1.0 + q / 1e3) ** 1.5, initial=500.0)
    result = run(graph.connect(Sf("heater", 10.0), node).connect(node, melting), 10.0)
    assert result["body.energy"][-1] == pytest.approx(600.0, rel=1e-12)
    assert result["node.effort"][-1] == pytest.approx(300.0 * np.sqrt(1.6), rel=1e-9)


def test_vectors_of_temperatures():
    graph, node = Graph("g"), J0("node", domain="heat")
    graph.connect(Sf("heaters", np.array([1.0, 2.0])), node)
    result = run(graph.connect(node, C("bodies", capacitance=np.array([10.0, 20.0]), initial=np.zeros(2))))
    assert ends(result) == pytest.approx({"bodies": 60.0, "heaters": 60.0}, rel=1e-12)


def test_a_row_of_equal_parts_is_booked_as_each_of_them():
    graph, before = Graph("row"), None
    for k in range(6):
        node = J0(f"n{k}", domain="heat")
        body = C(f"c{k}", capacitance=10.0, initial=3000.0 + 500.0 * k)
        graph.connect(node, body).connect(node, R(f"loss{k}", 2.0))
        if before is not None:
            gap = J1(f"gap{k}")
            graph.connect(before, gap).connect(gap, node).connect(gap, R(f"r{k}", 2.0))
        before = node
    account = ends(run(graph))
    assert all(account[f"r{k}"] == 0.0 for k in range(1, 6))
    assert sum(account[f"loss{k}"] for k in range(6)) == pytest.approx(25500.0 * -np.expm1(-1.0), rel=1e-7)


MOTION = IC("part", inertia=lambda q: 1.0)


@pytest.mark.parametrize(
    ("graph", "words"),
    [
        (lambda: coupled(TF("t", 2.0)).connect(TF("t2", 1.0), J0("x")), ('TF "t"', 'domain="thermal"')),
        (
            lambda: (
                Graph("g")
                .connect(C("c", capacitance=1.0), g := GY("g1", 1.0, domains=(None, "heat")))
                .connect(g, C("d", capacitance=1.0))
            ),
            ('GY "g1"', "is already a power"),
        ),
        (lambda: coupled(I("mass", 1.0)), ('I "mass"', "domain heat")),
        (lambda: coupled(Friction("rub", 1.0)), ('friction "rub"',)),
        (lambda: coupled(Constraint("held")), ('constraint "held"',)),
        (lambda: coupled(MOTION), ('IC "part"',)),
        (lambda: coupled(R("wall", WALL), C("third", capacitance=1.0)), ('1-junction "gap"', 'C "third"', "a J0")),
        (lambda: coupled(), None),
    ],
)
def test_junctions_that_do_not_conserve_heat_are_refused(graph, words):
    if words is None:
        graph().freeze()
        return
    with pytest.raises(ModelError, match="E179") as caught:
        graph().freeze()
    assert all(word in str(caught.value) for word in words)


def test_two_arrows_into_a_junction_are_refused():
    """The junction's effort would be the sum of two temperatures."""
    graph, gap = bodies(Graph("g")), J1("gap")
    graph.connect(graph["a"], gap).connect(graph["b"], gap).connect(gap, R("wall", WALL))
    with pytest.raises(ModelError, match="E179") as caught:
        graph.freeze()
    assert "via 2 bonds and leaves via 0" in str(caught.value) and "one with its arrow away" in str(caught.value)
    reverse = bodies(Graph("g"))
    reverse.connect(reverse["a"], gap).connect(gap, reverse["b"]).connect(gap, R("wall", WALL)).freeze()


def test_a_pseudo_domain_has_flows_in_watt():
    with pytest.raises(ModelError, match="E179") as caught:
        Domain("water", "pressure", "Pa", "mass flow", "kg/s", "kg", "", pseudo=True)
    assert "pseudo=True)" in str(caught.value) and "kg/s" in str(caught.value)
    own = Domain("degrees", "temperature", "degC", "heat flow", "W", "J", "", pseudo=True)
    assert own.energy_unit == "J" and own.power_unit == "W"


def test_a_bond_between_power_and_heat_names_the_heat_port():
    graph = Graph("g").connect(C("body", capacitance=1.0, domain="heat"), R("r", 1.0, domain="electrical"))
    with pytest.raises(ModelError, match="E105") as caught:
        graph.freeze()
    assert 'port("heat")' in str(caught.value) and "TF" not in str(caught.value)


def test_a_pseudo_bond_has_no_energy_function():
    with pytest.raises(ModelError, match="E277"):
        port_hamiltonian(coupled(R("wall", WALL)))


def test_a_magnetic_circuit():
    """A coil of 100 turns on a core obeys u = R i + N phi' and N i = Rm phi."""
    turns, reluctance, graph, coil = 100.0, 2e6, Graph("choke"), GY("coil", 100.0, domains=("electrical", "magnetic"))
    graph.connect(Se("u", 1.0), loop := J1("loop")).connect(loop, R("wire", 1.0)).connect(loop, coil.port("1"))
    graph.connect(coil.port("2"), C("core", stiffness=Parameter(reluctance, "A/Wb")))
    result = compile_model(graph).simulate(0.02)
    L = turns**2 / reluctance
    assert result["loop.flow"] == pytest.approx(-np.expm1(-result.t / L), rel=1e-6, abs=1e-9)
    layout = result.program.layout
    assert (layout.unit("core.q"), layout.unit("core.effort")) == ("Wb", "A")
    assert result.ok and result["core.energy"][-1] == pytest.approx(L * result["loop.flow"][-1] ** 2 / 2, rel=1e-9)
    assert DOMAINS["magnetic"].part("C") == "a C (a permeance)"
