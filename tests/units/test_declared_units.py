"""Models whose numbers have units agree with the same models in SI."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from screwbond.models import parts
from screwbond.models.chains import BodyInertia, Chain, Link, chain_graph

from bondgraph import (
    GY,
    J0,
    J1,
    TF,
    Automaton,
    Block,
    C,
    Ce,
    Domain,
    Element,
    Friction,
    Graph,
    I,
    ModelError,
    Parameter,
    R,
    Se,
    Sf,
    StateSpec,
    Transition,
    by_mode,
    compile_model,
    dump_model,
    parse_model,
    signals,
    sweep,
)
from bondgraph.estimation import run_sensitivities
from bondgraph.export import c_source, document, explain, numpy_source, state_equations
from bondgraph.sweeps import last
from bondgraph.units import Conversion
from screws import joints

PI = math.pi
P = Parameter

CASES = {
    "u": (P(12000.0, "mV"), 12.0), "r": (P(0.5, "kOhm"), 500.0), "c": (P(20.0, "uF"), 2e-5), "l": (P(3.0, "mH"), 3e-3),
    "k_t": (P(2.0, "N m/A"), 2.0), "rotor": (P(50.0, "kg cm^2"), 5e-3), "bearing": (P(4.0, "mN m s/rad"), 4e-3),
    "shaft": (P(2.0, "N m/deg"), 360.0 / PI), "rack": (P(40.0, "mm/rad"), 0.04), "slide": (P(3.0, "lb"), 3 * 0.45359237),
    "spring": (P(1.5, "N/mm"), 1500.0), "guide": (P(0.2, "N s/mm"), 200.0), "load": (P(10.0, "lbf"), 44.482216152605),
    "dry": (P(2000.0, "mN"), 2.0), "supply": (P(30.0, "l/min"), 5e-4), "pipe": (P(0.3, "bar min/l"), 1.8e9),
    "tank": (P(1.0, "l/bar"), 1e-8), "room": (P(20.0, "degC"), 293.15), "wall": (P(3.0, "kK^2/kW"), 3000.0),
}  # fmt: skip


def plant(which: int) -> Graph:
    v = {name: pair[which] for name, pair in CASES.items()}
    graph, loop = Graph("plant"), J1("loop", domain="electrical")
    graph.connect(Se("u", v["u"]), loop).connect(loop, R("r", v["r"])).connect(loop, C("c", capacitance=v["c"]))
    graph.connect(loop, I("l", inductance=v["l"])).connect(loop, motor := GY("motor", v["k_t"]))
    turning, sliding, joint = J1("w", domain="rotation"), J1("v", domain="translation"), J0("twist")
    graph.connect(motor, turning).connect(turning, I("rotor", v["rotor"])).connect(turning, R("bearing", damping=v["bearing"]))
    graph.connect(turning, joint).connect(joint, C("shaft", stiffness=v["shaft"])).connect(joint, rack := TF("rack", v["rack"]))
    graph.connect(rack, sliding).connect(sliding, I("slide", mass=v["slide"])).connect(
        sliding, C("spring", stiffness=v["spring"])
    )
    graph.connect(sliding, R("guide", damping=v["guide"])).connect(Se("load", v["load"]), sliding)
    graph.connect(sliding, Friction("dry", v["dry"]))
    tank, wall = J0("tank node", domain="hydraulic"), J1("wall flow", domain="thermal")
    graph.connect(Sf("supply", v["supply"]), tank).connect(tank, C("tank", capacitance=v["tank"])).connect(
        tank, R("pipe", v["pipe"])
    )
    graph.connect(Se("room", v["room"]), wall).connect(wall, R("wall", v["wall"]))
    return graph


def test_a_model_in_units_of_engineers_runs_as_in_si() -> None:
    given, si = plant(0).compile(progress=False), plant(1).compile(progress=False)
    one, two = given.evaluate(0.0), si.evaluate(0.0)
    for name in two:
        assert np.all(np.abs(np.subtract(one[name], two[name])) <= 1e-15 * np.abs(two[name])), name
    runs = [compiled.simulate(0.02, samples=1e-3, progress=False) for compiled in (given, si)]
    for name in ("c.q", "rotor.flow", "slide.flow", "tank.effort", "wall.flow"):
        assert np.allclose(runs[0][name], runs[1][name], rtol=1e-9, atol=1e-9 * np.abs(runs[1][name]).max()), name


def circuit(capacitance: Parameter | float, resistance: Parameter | float = 1.0) -> Graph:
    loop = J1("loop", domain="electrical")
    graph = Graph("rc").connect(Se("u", 1.0), loop).connect(loop, R("r", resistance))
    return graph.connect(loop, C("c", capacitance=capacitance))


def test_a_bare_number_counts_in_the_unit_of_the_declaration() -> None:
    given, si = circuit(P(20.0, "mF")).compile(progress=False), circuit(0.02).compile(progress=False)
    expected = si.simulate(0.05, parameters={"c.capacitance": 0.04}, progress=False).final["c.q"]
    for change in (40.0, P(40.0, "mF"), P(0.04, "F"), P(40000.0, "uF")):
        assert given.simulate(0.05, parameters={"c.capacitance": change}, progress=False).final["c.q"] == expected
    with pytest.raises(ModelError, match=r"E175.*\n.*given: mH; expected: mF"):
        given.parameters({"c.capacitance": P(1.0, "mH")})
    for values in ([20.0, 40.0], P([0.02, 0.04], "F")):
        runs = sweep(given, {"c.capacitance": values}, 0.05, keep={"q": last("c.q")}, progress=False)
        assert runs["q"][-1] == pytest.approx(float(expected), rel=1e-12)
    start = si.simulate(0.01, initial={"c.q": P(3.0, "mC")}, progress=False)["c.q"][0]
    assert start == 3e-3


def test_sensitivities_are_by_the_declared_unit() -> None:
    given, si = circuit(P(20.0, "mF")).compile(progress=False), circuit(0.02).compile(progress=False)
    one, two = (run_sensitivities(each, "c.capacitance", 0.03, samples=0.01, progress=False) for each in (given, si))
    assert one["c.q"][-1] == pytest.approx(two["c.q"][-1] / 1000.0, rel=1e-8)
    assert (one.units, one.values.tolist(), two.units) == (("mF",), [20.0], ("F",))


def test_every_output_pairs_the_number_with_its_unit() -> None:
    graph = circuit(P(20.0, "mF"), P(0.5, "kΩ"))
    compiled = graph.compile(progress=False)
    assert "c.capacitance  20. mF" in str(compiled.parameters) and str(compiled.parameters["r.resistance"]) == "0.5 kΩ"
    assert ">20</td>" in compiled.parameters._repr_html_() and ">mF</td>" in compiled.parameters._repr_html_()
    result = compiled.simulate(0.01, progress=False)
    assert result["c.capacitance"] == 20.0 and compiled.program.layout.unit("c.capacitance") == "mF"
    text = document(compiled)
    assert r"c.\allowbreak capacitance} & mF & $20$" in text and r"k$\Omega$ & $0.5$" in text
    assert "20 mF in the table is 0.02 F" in text
    assert "capacitance = 20 mF" in graph.diagram(values=True)._repr_svg_()
    assert "c.capacitance = 20 mF" in str(explain(compiled, "loop.flow"))
    source = c_source(compiled)
    assert "/* c.capacitance, mF */" in source.header and "20.0" in source.source
    assert "'c.capacitance', 2, (), 'mF'" in numpy_source(compiled).source
    written = json.loads(dump_model(graph))["model"]["elements"]["c"]["parameters"]["capacitance"]
    assert written == {"value": 20, "unit": "mF"}
    back = parse_model(dump_model(graph)).elements["c"].parameters["capacitance"]
    assert (back.value, back.unit) == (20.0, "mF")


def test_symbols_of_equations_count_in_the_declared_unit() -> None:
    given, si = circuit(P(20.0, "mF")).compile(progress=False), circuit(0.02).compile(progress=False)
    assert str(state_equations(given, numbers=True)) == str(state_equations(si, numbers=True))
    assert str(state_equations(given)) == "c.q' = u.value/r.resistance - 1000*c.q/(c.capacitance*r.resistance)"


def test_values_by_mode_are_converted() -> None:
    def braked(damping: Parameter) -> Graph:
        graph, v = Graph("braked"), J1("v", domain="translation")
        edge = Transition("free", "braked", lambda t: t - 0.5, ("time",))
        graph.add_automaton(Automaton("brake", ("free", "braked"), "free", (edge,)))
        return graph.connect(Se("f", 1.0), v).connect(v, I("m", mass=1.0)).connect(v, R("d", damping=damping))

    states = ("free", "braked")
    given = braked(P(by_mode("brake", dict(zip(states, (1.0, 4.0), strict=True))), "N s/mm")).compile(progress=False)
    si = braked(P(by_mode("brake", dict(zip(states, (1000.0, 4000.0), strict=True))))).compile(progress=False)
    assert str(given.parameters["d.damping in braked"]) == "4. N s/mm"
    one, two = (compiled.simulate(1.0, samples=0.1, progress=False) for compiled in (given, si))
    assert np.array_equal(one["v.flow"], two["v.flow"]) and one["d.damping"][-1] == 4000.0
    assert given.program.layout.unit("d.damping") == "N s/m"


def test_loops_over_identical_parts_convert_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def line(capacitance: Parameter) -> Graph:
        graph, last = Graph("line"), J0("n0", domain="electrical")
        graph.connect(Se("u", 1.0), first := J1("first")).connect(first, R("source", 1.0)).connect(first, last)
        graph.connect(last, C("c0", capacitance=capacitance))
        for k in range(1, 8):
            graph.connect(last, j := J1(f"j{k}")).connect(j, R(f"r{k}", 2.0)).connect(j, last := J0(f"n{k}"))
            graph.connect(last, C(f"c{k}", capacitance=capacitance))
        return graph

    monkeypatch.setattr("bondgraph.compile.pipeline.is_large", lambda system: True)
    compiled = [line(value).compile(progress=False) for value in (P(20.0, "uF"), P(2e-5, "F"))]
    assert isinstance(compiled[0].system.conversions["c1.capacitance"], Conversion)
    runs = [each.simulate(1e-3, samples=1e-4, progress=False) for each in compiled]
    assert np.allclose(runs[0]["n5.effort"], runs[1]["n5.effort"], rtol=1e-12, atol=0.0)


def of_blocks(*blocks: Element) -> Graph:
    graph = Graph("blocks")
    for block in blocks:
        graph.add(block)
    return graph


def test_blocks_take_units() -> None:
    def wave(which: int) -> Graph:
        numbers = [(P(60.0, "rpm"), P(90.0, "deg"), P(10.0, "ms"), P(-1.0, "kN")), (2 * PI, PI / 2, 0.01, -1000.0)][which]
        top, angles = [(P(0.0005, "kN"), P([-90.0, 90.0], "deg")), (0.5, [-PI / 2, PI / 2])][which]
        return of_blocks(
            signals.sine("s", 1.0, omega=numbers[0], phase=numbers[1]),
            signals.hold("h", "s.y", numbers[2]),
            signals.lowpass("f", "h.y", numbers[2]),
            signals.limiter("l", "s.y", numbers[3], top, unit="N"),
            signals.table("t", "s.y", angles, [0.0, 1.0]),
        )

    given, si = wave(0).compile(progress=False), wave(1).compile(progress=False)
    one, two = (compiled.simulate(0.2, samples=0.01, progress=False) for compiled in (given, si))
    for name in ("s.y", "h.y", "f.y", "l.y", "t.y"):
        assert np.allclose(one[name], two[name], rtol=1e-14, atol=1e-15), name
    assert str(given.parameters["s.omega"]) == "60. rpm" and str(given.parameters["h.period"]) == "0.01 s"
    with pytest.raises(ModelError, match="E148"):
        signals.limiter("l", "s.y", P(1.0, "kN"), 500.0, unit="N")


def test_a_result_in_a_unit_of_its_own() -> None:
    limiter = signals.limiter("l", "a.y", P(-0.5 * PI, "rad"), 90.0, unit="deg")
    result = of_blocks(signals.sine("a", 100.0, unit="deg"), limiter).simulate(6.0, samples=0.1, progress=False)
    assert result["l.y"].max() == 90.0 and result["l.y"].min() == -90.0 and result["a.y"].max() > 99.0


def test_parameters_of_formulas_are_converted_to_si() -> None:
    def own(k: Parameter) -> Graph:
        loop = J1("v", domain="translation")
        graph = Graph("own").connect(loop, I("m", mass=1.0, initial=1.0))
        return graph.connect(loop, R("d", effort=lambda f, k: k * f, parameters={"k": k}))

    given, si = own(P(2.0, "N s/mm")).compile(progress=False), own(P(2000.0)).compile(progress=False)
    assert given.evaluate()["d.effort"] == si.evaluate()["d.effort"] == 2000.0
    with pytest.raises(ModelError, match="E175"):
        own(P(20.0, "degC")).freeze()
    block = Block("b", [("y", lambda k: k, ["k"])], parameters={"k": P(50.0, "%")})
    assert of_blocks(block).compile(progress=False).evaluate()["b.y"] == 0.5


def test_ranges_are_those_of_the_converted_number() -> None:
    sliding = J1("v", domain="translation")
    graph = Graph("g").connect(sliding, I("m", mass=1.0))
    assert graph.connect(sliding, Friction("f", P(0.5, "N"), stick_limit=P(600.0, "mN"))).freeze()
    worse = Graph("g").connect(again := J1("v", domain="translation"), I("m", mass=1.0))
    with pytest.raises(ModelError, match="E151"):
        worse.connect(again, Friction("f", P(0.5, "N"), stick_limit=P(400.0, "mN"))).freeze()


def test_start_values_with_units() -> None:
    loop = J1("v", domain="translation")
    graph = Graph("g").connect(loop, C("c", stiffness=1.0, initial=P(5.0, "mm"))).connect(loop, I("m", mass=1.0))
    assert str(graph.compile(progress=False).states["c.q"]) == "0.005 m"
    wrong = Graph("g").connect(other := J1("v", domain="translation"), C("c", stiffness=1.0, initial=P(5.0, "V")))
    with pytest.raises(ModelError, match=r"E175.*start value") as caught:
        wrong.connect(other, I("m", mass=1.0)).freeze()
    assert "m, mm" in str(caught.value) and "c.effort" not in str(caught.value)


@pytest.mark.parametrize("unit", ["K", "degC"])
def test_a_start_temperature_of_a_heat_store_is_refused_with_its_name_and_the_effort_as_the_cure(unit: str) -> None:
    case, water = J0("case"), C("water", capacitance=4186.0, domain="heat", initial=P(20.0, unit))
    graph = Graph("kettle").connect(Sf("heater", 5.0), case).connect(case, water)
    with pytest.raises(ModelError, match=r'E175 C "water": (.*\n)*.*initial={"water.effort": Parameter\(..., "K"\)}'):
        graph.freeze()


def test_amounts_of_a_network_have_units() -> None:
    text = "A <-> B : 2 1"
    net = parts.chemical.network("n", text, {"A": P(20.0, "mmol"), "B": 0.01})
    assert compile_model(net, backend="numpy", progress=False).evaluate(0.0)["amounts.A"] == 0.02
    with pytest.raises(ModelError, match=r'E175 "n": amounts\["A"\] cannot be given in \'g\''):
        parts.chemical.network("n", text, {"A": P(20.0, "g")})


def test_a_unit_of_another_dimension_names_element_line_and_cure() -> None:
    with pytest.raises(ModelError) as error:
        circuit(P(20.0, "mH"), P(1.0, "kgg")).freeze()
    text = str(error.value)
    assert "C \"c\": the unit of capacitance cannot be 'mH'\n  given: mH; expected: F" in text and "try: F, mF, uF, nF" in text
    assert "E156 R \"r\": the unit of resistance cannot be 'kgg'" in text and text.count("created at test_declared_units.py") == 2


def test_units_of_a_domain_of_ones_own() -> None:
    market = Domain("market", "price", "EUR/kg", "flow of goods", "kg/d", "kg", "EUR d/kg")

    def shop(value: float, unit: str) -> float:
        node = J0("node", domain=market)
        graph = Graph("market").connect(Sf("farm", 2.0), node).connect(node, R("shop", resistance=P(value, unit)))
        return float(graph.simulate(1.0, progress=False)["shop.effort"][0])

    assert shop(3.0, "EUR d/kg^2") == 6.0 and shop(72.0, "EUR h/kg^2") == 6.0
    with pytest.raises(ModelError, match="E175"):
        shop(1.0, "Ohm")


def test_chemistry_takes_units() -> None:
    node = J0("node")
    graph = Graph("g").connect(node, Ce("a", P(2.0, "1/mmol"), RT=P(2.5, "kJ/mol"), initial=P(1.0, "mmol")))
    graph.connect(node, R("leak", flow=lambda e: 0.0 * e))
    assert float(graph.compile(progress=False).evaluate()["a.effort"]) == pytest.approx(2500.0 * math.log(2.0), rel=1e-14)


@pytest.mark.parametrize(
    ("state", "units", "value", "unit"),
    [
        (Parameter(2.0, "mm"), {}, 2e-3, "m"),
        (Parameter(2.0, "m"), {"x": "mm"}, 2000.0, "mm"),
        (3.0, {"x": "mm"}, 3.0, "mm"),
        (StateSpec(3.0), {"x": "mm"}, 3.0, "mm"),
        (StateSpec(3.0, unit="m"), {}, 3.0, "m"),
        (3.0, {}, 3.0, ""),
    ],
)
def test_a_state_of_a_block_has_the_unit_of_its_start_value_or_of_units(state, units, value, unit) -> None:
    drift = Block("drift", [("rate", lambda x: -2.0 * x, "x")], states={"x": state}, rates={"x": "rate"}, units=units)
    compiled = compile_model(Graph("drift").add(drift), backend="numpy")
    start = compiled.states["drift.x"]
    assert (start.value, start.unit) == (pytest.approx(value), unit)
    assert compiled.program.layout.unit("drift.rate") == (f"{unit}/s" if unit else "")


def test_each_number_of_a_list_has_its_unit() -> None:
    """In start values and parameters of a run, and in the coordinates of a chain, whose units differ."""
    mass = BodyInertia(1.0, (0.1, 0.1, 0.1))
    arm = Chain("arm", (Link("turn", joints.revolute((0, 0, 1)), mass), Link("slide", joints.prismatic((1, 0, 0)), mass)))
    start, speeds = [P(180.0, "deg"), P(20.0, "mm")], [0.5, P(3.0, "cm/s")]
    model = compile_model(chain_graph(arm, position=start, velocity=speeds), backend="numpy", progress=False)
    values = model.evaluate(0.0)
    np.testing.assert_allclose([*values["mechanism.q"], *values["mechanism.v"]], [PI, 0.02, 0.5, 0.03], rtol=1e-15)
    again = model.simulate(0.01, initial={"q": [0.1, P(5.0, "mm")]}, progress=False)
    np.testing.assert_allclose(again["q"][0], [0.1, 0.005], rtol=1e-15)
    masses = Graph("masses").connect(v := J1("v", domain="translation"), I("m", mass=[1.0, 2.0])).connect(v, R("r", 1.0))
    other = masses.compile(progress=False).simulate(0.01, parameters={"m.mass": [P(500.0, "g"), 2.0]}, progress=False)
    assert other["m.mass"].tolist() == [0.5, 2.0]
    with pytest.raises(ModelError, match=r"E175 .*q cannot be given in 'mm'"):
        model.simulate(0.01, initial={"q": [P(5.0, "mm"), 0.0]}, progress=False)
