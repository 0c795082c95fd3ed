"""Chemical parts agree with closed forms and published values, and bad networks are refused."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from screwbond.models import parts

from benchmarks.networks import random_network
from bondgraph import Graph, ModelError, Parameter, Se, compile_model
from tests.models.parts.checks import checks

c = parts.chemical
RT = 8.31446261815324 * 298.15
F = 96485.33212331
VT = RT / F
E5 = "y1 -> y2 + y3 : 7.89e-10; y1 + y3 -> y4 : 1.1e7; y2 + y3 -> 0 : 1.13e9; y4 -> y3 : 1.13e3"


def run_of(graph: Graph, t_end: float, **settings: object):
    return compile_model(graph, progress=False).simulate(t_end, progress=False, **settings)


def flows(part, efforts: Mapping[str, float]) -> dict[str, float]:
    graph = Graph("g")
    for port, effort in efforts.items():
        graph.connect(Se(f"source {port}", effort), part.port(port))
    run = run_of(graph, 1.0, samples=[0.0, 1.0])
    assert run.ok
    return {port: float(run[f"{part.name}.{port}.flow"][-1]) for port in efforts}


def mu(activity: float) -> float:
    return RT * np.log(activity)


# --- networks


@checks("chemical.network")
def test_a_reaction_relaxes_to_its_equilibrium() -> None:
    """A decays at the rate kf + kr, and the loss of free energy is dissipated."""
    run = run_of(c.network("n", "A <-> B : 2 1", {"A": 3.0}), 4.0, rtol=1e-10)
    assert run["amounts.A"] == pytest.approx(1 + 2 * np.exp(-3 * run.t), rel=1e-8)
    account = run.ledger.summary()
    assert run.ok and account["relative residual"] < 1e-9 and account["dissipated"] > 0 == account["supplied"]


def test_stoichiometric_numbers() -> None:
    """The reaction 2 A <-> B with the rate kf A^2 - kr B ends where B / A^2 = kf / kr."""
    run = run_of(c.network("n", "2 A <-> B : 1 4", {"A": 3.0}), 10.0)
    A = (np.sqrt(1 + 4 * 3 * 0.5) - 1) / (2 * 0.5)
    assert (run["amounts.A"][-1], run["amounts.B"][-1]) == pytest.approx((A, A * A / 4))


def test_rows_of_a_table_are_the_text() -> None:
    rows = [("E + S <-> ES", 3.0, "back"), ("ES <-> E + P", 5.0, 0.1)]
    text = "E + S <-> ES : 3 back  # binding\n\nES <-> E + P : 5 0.1;"
    ends = [
        run_of(c.network("n", each, {"E": 1.0, "S": 2.0}, rates={"back": 2.0}), 1.0)["amounts.P"][-1] for each in (rows, text)
    ]
    assert ends[0] == ends[1] > 0.1


def test_named_rates_of_kinetics_are_parameters_of_a_run() -> None:
    text, rates = "E + S <-> ES : kf kr\nES -> E + P : kc\nP -> 0 : kc", {"kf": 3.0, "kr": 2.0, "kc": 5.0, "other": 1.0}
    model = compile_model(c.network("n", text, {"E": 1.0, "S": 2.0}, rates=rates), progress=False)
    assert set(model.parameters) == {"amounts.kf", "amounts.kr", "amounts.kc"}
    run = model.simulate(1.0, parameters={"amounts.kr": 0.5, "amounts.kc": 4.0}, progress=False)
    numbers = run_of(c.network("n", "E + S <-> ES : 3 0.5\nES -> E + P : 4\nP -> 0 : 4", {"E": 1.0, "S": 2.0}), 1.0)
    assert run["amounts.P"] == pytest.approx(numbers["amounts.P"], rel=1e-12)
    with pytest.raises(ModelError, match=r'E568(.*\n)*.*or rates={"kc": 1.0}'):
        c.network("n", "A -> B : kc", {"A": 1.0})


@pytest.mark.parametrize("rate", ["q", "rate", "A"])
def test_a_rate_with_the_name_of_a_value_stays_a_number(rate: str) -> None:
    net = c.network("net", f"A -> B : {rate}", {"A": 1.0}, rates={rate: 2.0})
    assert run_of(net, 1.0)["amounts.A"][-1] == pytest.approx(np.exp(-2.0), rel=1e-6)


def test_one_rate_law_with_constants_uses_activities() -> None:
    """The rate is v = kappa (K_A q_A^2 - K_B q_B), as for a `Re`."""
    by_activity = c.network("n", "2 A <-> B : 3", {"A": 2.0}, constants={"A": 0.5, "B": 4.0})
    by_amount = c.network("n", "2 A <-> B : 0.75 12", {"A": 2.0})
    assert run_of(by_activity, 1.0)["amounts.B"] == pytest.approx(run_of(by_amount, 1.0)["amounts.B"], rel=1e-9)
    with pytest.raises(ModelError, match="or one with constants of all its species"):
        c.network("n", "2 A <-> B : 3", constants={"A": 0.5})


CYCLE = "A <-> B : 2 1\nB + X <-> A + Y : 3 4"


def test_chemostats_drive_a_cycle() -> None:
    """In steady state the dissipated power is R T times the flow times the affinity of the cycle."""
    run = run_of(c.network("n", CYCLE, {"A": 1.0}, chemostats={"X": 5.0, "Y": 0.5}), 20.0, rtol=1e-10)
    B = (2 + 4 * 0.5) / (2 + 4 * 0.5 + 1 + 3 * 5.0)
    v = 2 * (1 - B) - B
    (affinity,) = c.stoichiometry(CYCLE, held={"X": 5.0, "Y": 0.5}).affinities
    assert affinity == pytest.approx(np.log(2 / 1 * 3 / 4 * 5.0 / 0.5)) and run["amounts.B"][-1] == pytest.approx(B)
    power = np.gradient(run.ledger.dissipated, run.t)[-2]
    assert power == pytest.approx(RT * affinity * v, rel=1e-6) and run.ledger.relative_residual < 1e-8
    assert run["X chemostat.q"][-1] - run["X chemostat.q"][-2] == pytest.approx(-v * (run.t[-1] - run.t[-2]))


def test_a_chemostat_by_its_potential() -> None:
    """The constant of the species is 1, so the amount is exp(mu / (R T))."""
    by_potential = c.network("n", CYCLE, {"A": 1.0}, chemostats={"Y": 0.5}, potentials={"X": mu(5.0)})
    by_amount = c.network("n", CYCLE, {"A": 1.0}, chemostats={"Y": 0.5, "X": 5.0})
    assert run_of(by_potential, 1.0)["amounts.B"] == pytest.approx(run_of(by_amount, 1.0)["amounts.B"])


def test_the_account_of_chemostats_with_fast_reactions() -> None:
    """A chemostat's flow is a small difference of terms of 1e7 mol/s, so its energy follows from the amount."""
    text = "X <-> A : 1e7 1e7\nA <-> B : 1 1\nB <-> Y : 1e7 1e7"
    run = run_of(c.network("n", text, {"A": 1.0, "B": 1.0}, chemostats={"X": 2.0, "Y": 1.0}), 10.0)
    assert run.ok and run.ledger.relative_residual < 1e-9
    assert run["Y chemostat.q"][-1] == pytest.approx(10.0, rel=1e-6)


def test_the_structure_of_a_network() -> None:
    net = c.stoichiometry("E + S <-> ES : 1 1\nES <-> E + P : 1 1\nS <-> P : 1 1")
    assert net.species == ("E", "S", "ES", "P") and net.matrix.tolist() == [[-1, 1, 0], [-1, 0, -1], [1, -1, 0], [0, 1, 1]]
    assert {frozenset(each.items()) for each in net.moieties} == {
        frozenset({("E", 1.0), ("ES", 1.0)}),
        frozenset({("E", -1.0), ("S", 1.0), ("P", 1.0)}),
    }
    assert net.cycles == ({0: -1.0, 1: -1.0, 2: 1.0},) and net.affinities == (0.0,)
    assert c.stoichiometry("A -> B : 1\nB -> A : 2").affinities == (np.inf,)


def test_e5_of_the_test_set_for_ivp_solvers() -> None:
    """If y2, y3 and y4 were all integrated, y2 = y3 + y4 would be lost in rounding errors, and y2 would end hundreds of
    times too large."""
    run = run_of(c.network("E5", E5, {"y1": 1.76e-3}), 1e13, samples=[0.0, 1e13])
    assert run.ok and [run[f"amounts.{each}"][-1] for each in ("y2", "y3")] == pytest.approx(2 * [8.87e-23], rel=0.01)
    assert abs(run["amounts.y1"][-1]) < 1e-24 and abs(run["amounts.y4"][-1]) < 1e-24


def test_only_moieties_without_scale_are_eliminated() -> None:
    """If the total is not zero, an eliminated amount much smaller than the total would lose its digits."""
    for amounts, size in (({"y1": 1.0}, 3), ({"y2": 1.0}, 4)):
        assert run_of(c.network("n", E5, amounts), 1e-9)["amounts.q"].shape[1] == size
    assert c.stoichiometry(E5).eliminated({"y1": 1.0}) == {"y3": {"y2": 1.0, "y4": -1.0}}


def test_a_hundred_species_and_two_hundred_reactions() -> None:
    text, amounts = random_network()
    net = c.stoichiometry(text)
    run = run_of(c.network("large", text, amounts), 1e4)
    assert run.ok and run.ledger.relative_residual < 1e-7
    course = {each: run[f"amounts.{each}"] for each in net.species}
    for moiety in net.moieties:
        total = sum(n * course[each] for each, n in moiety.items())
        assert np.ptp(total) < 1e-12 * max(abs(n) * amounts[each] for each, n in moiety.items())
    fast = [each for each in net.reactions if each.forward > 1.0]
    for each in fast:
        forward, reverse = (
            rate * np.prod([course[s][-1] ** n for s, n in side.items()])
            for rate, side in ((each.forward, each.reactants), (each.reverse, each.products))
        )
        assert forward == pytest.approx(reverse, rel=1e-3)


REFUSED = {
    "no arrow": ({"text": "A <=> B : 1 2"}, "E568", "line 1, column 1: a reaction needs an arrow"),
    "no space": ({"text": "C -> A : 1\nA + 2B <-> C : 1 1"}, "E568", 'line 2, column 5: "2B" is neither a species'),
    "no term": ({"text": "A + + B <-> C : 1 1"}, "E568", "line 1, column 5"),
    "one rate": ({"text": "A + 2 B <-> C : 1"}, "E568", "1 rate, where <-> needs 2"),
    "rate unnamed": ({"text": "A <-> C : 1 x"}, "E568", 'column 13: "x" is not a rate'),
    "rate negative": ({"text": "A <-> C : -1 1"}, "E568", 'column 11: "-1" is not a rate'),
    "rate infinite": ({"text": "A <-> C : 1 inf"}, "E568", '"inf" is not a rate'),
    "code": ({"text": "A -> __import__('os') : 1"}, "E568", "is neither a species"),
    "number": ({"text": 5}, "E568", "neither a string nor rows of a table"),
    "rows without text": ({"text": [(5, 1.0)]}, "E568", "neither a string nor rows of a table"),
    "amounts in a list": ({"text": "A <-> B : 1 1", "amounts": [1.0]}, "E137", "not a dict of names and numbers"),
    "amount in words": ({"text": "A <-> B : 1 1", "amounts": {"A": "much"}}, "E137", "A = 'much'"),
    "amount of a number": ({"text": "A <-> B : 1 1", "amounts": {1: 2.0}}, "E570", "1, but the species are A, B"),
    "rates in a list": ({"text": "A <-> B : k k", "rates": [1.0]}, "E137", "rates are"),
    "no reactions": ({"text": "# nothing"}, "E568", "has no reactions"),
    "no change": ({"text": "A <-> A : 1 1"}, "E569", "changes nothing"),
    "charge": ({"text": "Ca + E <-> ECa : 1 1", "contents": {"charge": {"Ca": 2}}}, "E569", "charge 2 becomes 0"),
    "unknown in the text": ({"text": "A <-> B : 1 1\nB <-> Bb : 1 1", "species": "A B"}, "E570", "line 2, column 7"),
    "unknown amount": ({"text": "A <-> B : 1 1", "amounts": {"Z": 1.0}}, "E570", "amounts has Z"),
    "unknown chemostat": ({"text": "A <-> B : 1 1", "chemostats": {"Z": 1.0}}, "E570", "chemostats has Z"),
    "amount of a chemostat": (
        {"text": "A <-> B : 1 1", "chemostats": {"A": 1.0}, "amounts": {"A": 1.0}},
        "E570",
        "amounts has A",
    ),
    "negative amount": ({"text": "A <-> B : 1 1", "amounts": {"A": -1.0}}, "E137", "A = -1.0"),
    "empty chemostat": ({"text": "A <-> B : 1 1", "chemostats": {"A": 0.0}}, "E137", "A = 0.0"),
    "twice": ({"text": "A <-> B : 1 1\nB <-> A : 2 3"}, "E571", "line 2"),
    "a cycle": ({"text": "A <-> B : 1 2\nB <-> C : 1 1\nC <-> A : 1 1"}, "E572", "its affinity is -0.693147 R T"),
    "constants": ({"text": "A <-> B : 1 2", "constants": {"A": 1.0, "B": 1.0}}, "E572", "contradicts the constants of A, B"),
    "port": ({"text": "A -> B : 1", "ports": ["A"]}, "E572", "A cannot be a port"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case) -> None:
    arguments, code, words = REFUSED[case]
    with pytest.raises(ModelError) as refused:
        c.network("n", **arguments)
    (problem,) = refused.value.problems
    assert problem.code == code and words in problem.title and problem.cures and __file__.endswith(problem.places[0].file[-20:])


def test_held_amounts_are_positive_amounts_of_the_species() -> None:
    for held, code in (({"X": 0.0}, "E137"), ({"Z": 1.0}, "E570")):
        with pytest.raises(ModelError, match=code):
            c.stoichiometry("X <-> Y : 1 1", held=held)


def test_the_cure_of_a_cycle_closes_it() -> None:
    c.network("n", "A <-> B : 1 2\nB <-> C : 1 1\nC <-> A : 1 0.5")


# --- other parts


@checks("chemical.chemostat")
def test_a_chemostat_holds_its_potential() -> None:
    """The energy of a chemostat is its potential times the amount received; 1 mol/s flows from activity 3 to activity 2."""
    graph, wall = Graph("g"), c.diffusion("wall")
    graph.connect(c.chemostat("X", mu(3.0)), wall.port("1")).connect(wall.port("2"), c.chemostat("Y", mu(2.0)))
    run = run_of(graph, 5.0)
    assert (run["X.q"][-1], run["Y.q"][-1]) == pytest.approx((-5.0, 5.0))
    assert run["Y.energy"][-1] == pytest.approx(5 * mu(2.0)) and run.ledger.relative_residual < 1e-9


@checks("chemical.diffusion", "chemical.michaelis_menten", "chemical.hill")
@pytest.mark.parametrize(
    ("part", "v"),
    [
        (c.diffusion("p", 2.0), 2 * (3.0 - 0.5)),
        (c.michaelis_menten("p", 4.0, K1=2.0, K2=0.25), 4 * (3.0 - 0.5) / (2 + 3 + 0.5 * 2 / 0.25)),
        (c.hill("p", 4.0, K=2.0, n=3.0), 4 * 27 / (8 + 27) * (1 - 0.5 / 3)),
    ],
)
def test_rates_of_conversion(part, v) -> None:
    assert flows(part, {"1": mu(3.0), "2": mu(0.5)}) == pytest.approx({"1": v, "2": -v})


@checks("chemical.membrane")
@pytest.mark.parametrize("z", [1.0, -2.0])
def test_the_flux_through_a_membrane(z) -> None:
    """The flux of Goldman, Hodgkin and Katz is zero at the Nernst potential, and obeys Fick's law without voltage."""
    part = c.membrane("p", 2.0, z)
    V = 0.03
    u = z * V / VT
    v = 2 * u * (3 - 0.5 * np.exp(-u)) / (1 - np.exp(-u))
    assert flows(part, {"inside": mu(3.0), "outside": mu(0.5), "voltage": V}) == pytest.approx(
        {"inside": v, "outside": -v, "voltage": z * F * v}
    )
    nernst = flows(part, {"inside": mu(3.0), "outside": mu(0.5), "voltage": VT / z * np.log(0.5 / 3)})
    assert nernst["inside"] == pytest.approx(0.0, abs=1e-12)
    assert flows(part, {"inside": mu(3.0), "outside": mu(0.5), "voltage": 0.0})["inside"] == pytest.approx(5.0)


@checks("chemical.electrode")
def test_an_electrode() -> None:
    """The resistance at rest is R T / (n F i0), and the current changes by a decade per Tafel slope."""
    graph = Graph("g").connect(Se("u", lambda t: t, signals="time"), c.electrode("e", i0=2.0, alpha=0.3, n=2.0))
    run = run_of(graph, 0.5, samples=[1e-7, 0.2, 0.2 + VT * np.log(10) / 0.6, 0.5])
    small, one, ten = run["e.flow"][1:4]
    assert small == pytest.approx(2 * 1e-7 * 2 / VT, rel=1e-5) and ten / one == pytest.approx(10.0, rel=1e-4)
    back = run_of(Graph("g").connect(Se("u", -0.2), c.electrode("e", i0=2.0, alpha=0.3, n=2.0)), 1.0)["e.flow"][-1]
    assert back == pytest.approx(-2.0 * np.exp(0.7 * 2 * 0.2 / VT), rel=1e-4)


@checks("chemical.ion_channel")
def test_an_ion_channel_under_a_voltage_clamp() -> None:
    """The squid's potassium gate obeys Hodgkin and Huxley 1952, (12) and (13), and approaches its value at 0 V."""
    run = run_of(Graph("g").connect(Se("clamp", 0.0), c.ion_channel("K").port("1")), 5e-3, rtol=1e-10)
    opens, closes = 1e4 * 0.055 / (1 - np.exp(-5.5)), 125 * np.exp(-0.065 / 0.08)
    n = 0.317676914 + (opens / (opens + closes) - 0.317676914) * (1 - np.exp(-(opens + closes) * run.t))
    assert run["K.n.x"] == pytest.approx(n, rel=1e-8)
    assert run["clamp.flow"] == pytest.approx(3.6e-4 * n**4 * 0.077, rel=1e-7)


def test_a_channel_feels_its_parameters_in_units() -> None:
    channel = c.ion_channel("K", g=Parameter(0.36, "mS"), E=Parameter(-77.0, "mV"))
    run = run_of(Graph("g").connect(Se("clamp", 0.0), channel.port("1")), 5e-3)
    assert run["clamp.flow"][0] == pytest.approx(3.6e-4 * 0.317676914**4 * 0.077)
