"""Public models of electronics: diodes, thyristors, switches, filters, resonance."""

from __future__ import annotations

from functools import partial
from math import pi, sqrt
from typing import Any

from screwbond.models import parts

from bondgraph import J0, C, Domain, Graph, I, R, Se, Sf, signals
from examples.gallery.circuits import bridge, diodes, sine
from examples.gallery.record import Collection
from screws.scalars import cos, exp, sin

MODELS = Collection("Electronics")
MSL, PHASES = "Modelica.Electrical.Analog.Examples.", "Modelica.Electrical.Polyphase.Examples."
HEAT = Domain("heat", "temperature", "K", "heat flow", "W", "J", "")
e = parts.electrical


@MODELS.model(MSL + "OvervoltageProtection", statements=17, t_end=0.4, signals={"CL.v": "CL.effort"}, tolerance=1e-4)
def overvoltage_protection() -> Graph:
    """Two Zener diodes back to back that limit a voltage."""
    graph, out, middle = Graph("overvoltage protection"), J0("out"), J0("middle")
    graph.between(None, out, sine("source", 10.0, 5.0), R("Rv", 20.0))
    graph.between(out, middle, e.zener("z1")).between(None, middle, e.zener("z2"))
    return graph.between(out, None, R("RL", 2000.0)).between(out, None, C("CL", capacitance=1e-7))


RECTIFIED = {f"Capacitor{k}.v": f"C{k}.effort" for k in (1, 2)} | {f"Inductor{k}.i": f"L{k}.flow" for k in (2, 3)}


@MODELS.model(MSL + "Rectifier", statements=49, t_end=0.1, signals=RECTIFIED, tolerance=2e-5)
def rectifier() -> Graph:
    """Bridge of six diodes with line inductances, between capacitors and a load of 500 A."""
    graph, star, plus, minus = Graph("rectifier"), J0("star"), J0("plus"), J0("minus")
    lines = [J0(f"line {k}") for k in (1, 2, 3)]
    for k, line in enumerate(lines):
        source = sine(f"source {k + 1}", 400 * sqrt(2 / 3), 50.0, -2 * pi * k / 3)
        graph.between(star, line, source, I(f"L{k + 1}", inductance=60e-6))
    charge, upper, lower = 0.03 * 400 / sqrt(2), *(diodes(side, 3, 1e-3, 1e-3, 2.0) for side in ("upper", "lower"))
    bridge(graph, lines, plus, minus, upper, lower).between(plus, minus, Sf("load", 500.0))
    graph.between(plus, None, C("C1", capacitance=0.03, initial=charge))
    return graph.between(None, minus, C("C2", capacitance=0.03, initial=charge))


STORED = {f"cDC{k}.v": f"C{k}.effort" for k in (1, 2)} | {f"supplyL.inductor[{k}].i": f"L{k}.flow" for k in (2, 3)}


@MODELS.model(PHASES + "Rectifier", statements=34, t_end=0.1, signals=STORED, tolerance=1e-4)
def loaded_rectifier() -> Graph:
    """Bridge of six diodes with line inductances, capacitors and a resistor, which starts with nonzero currents."""
    graph, star, plus, minus = Graph("loaded rectifier"), J0("star"), J0("plus"), J0("minus")
    lines, volts = [J0(f"line {k}") for k in (1, 2, 3)], 100 * 3 * sqrt(6) / pi
    for k, line in enumerate(lines):
        coil = I(f"L{k + 1}", inductance=1e-4, initial=1e-4 * (0, -volts / 2, volts / 2)[k])
        graph.between(star, line, sine(f"source {k + 1}", 100 * sqrt(2), 50.0, -2 * pi * k / 3), coil)
    bridge(graph, lines, plus, minus, diodes("upper", 3), diodes("lower", 3)).between(plus, minus, R("load", 2.0))
    graph.between(plus, None, C("C1", capacitance=0.01, initial=0.005 * volts))
    return graph.between(None, minus, C("C2", capacitance=0.01, initial=0.005 * volts))


TRIAC = {"idealTriac.capacitor.v": "-Cdis.effort"}


@MODELS.model(MSL + "IdealTriacCircuit", statements=10, t_end=2.0, signals=TRIAC, tolerance=1e-4)
def triac_circuit() -> Graph:
    """Triac with a snubber, fired every 0.25 s."""
    graph, node = Graph("triac circuit"), J0("node")
    graph.add(signals.square("fire", period=0.25, start=0.1, duty=0.5, low=0.0))
    graph.between(None, node, sine("source", 5.0, 2.0), R("R", 20.0))
    graph.between(None, node, e.triac("triac", "fire.y", Goff=2e-5, knee=0.8))
    return graph.between(None, node, R("Rdis", 100.0), C("Cdis", capacitance=0.005))


IDEAL = {"Ideal.v": "a.effort", "With_Ron_Goff.v": "b.effort", "With_Ron_Goff_Vknee.v": "c.effort"}


@MODELS.model(MSL + "CharacteristicIdealDiodes", statements=22, t_end=1.0, signals=IDEAL, tolerance=1e-6)
def ideal_diodes() -> Graph:
    """Three diodes: ideal, with resistances, and with resistances and a knee."""
    graph = Graph("ideal diodes")
    for name, offset, *values in (("a", 0.0, 0.0, 0.0, 0.0), ("b", -9.0, 0.1, 0.1, 0.0), ("c", 0.0, 0.2, 0.2, 5.0)):
        source = Se(f"source {name}", lambda t, offset=offset: 10 * sin(2 * pi * t) + offset, signals="time")
        diode = e.ideal_diode(f"diode {name}", *values)
        graph.between(None, node := J0(name), source, R(f"R {name}", 1e-3)).between(node, None, diode)
    return graph


CAUER = {"C1.v": "C1.effort", "C3.v": "C3.effort", "C5.v": "C5.effort", "L1.i": "L1.flow", "L2.i": "L2.flow"}


@MODELS.model(MSL + "CauerLowPassAnalog", statements=27, t_end=60.0, signals=CAUER, tolerance=1e-4)
def cauer_low_pass() -> Graph:
    """Fifth-order low-pass filter."""
    graph, n1, n3, n5 = Graph("Cauer low-pass"), J0("n1"), J0("n3"), J0("n5")
    graph.between(None, n1, Se("step", lambda u: u, signals="V.y"), R("R1", 1.0)).add(signals.step("V", 1.0))
    for a, b, k, L, w in ((n1, n3, 1, 1.304, 1.704992), (n3, n5, 2, 0.8586, 1.179945)):
        graph.between(a, b, I(f"L{k}", inductance=L)).between(a, b, C(f"C{2 * k}", capacitance=1 / (w * w * L)))
    for node, k, capacitance in ((n1, 1, 1.072), (n3, 3, 1.682), (n5, 5, 0.7262)):
        graph.between(node, None, C(f"C{k}", capacitance=capacitance))
    return graph.between(n5, None, R("R2", 1.0))


RESONANCE = {f"capacitor{k}.v": f"C{k}.effort" for k in (1, 2)} | {f"inductor{k}.i": f"L{k}.flow" for k in (1, 2)}


@MODELS.model(MSL + "ParallelResonance", statements=31, t_end=1.0, signals=RESONANCE, tolerance=1e-4)
def parallel_resonance() -> Graph:
    """Two parallel resonant circuits, driven by a sine and a cosine current whose frequency rises to 200 Hz."""
    graph = Graph("parallel resonance")
    for k, wave in ((1, sin), (2, cos)):
        source = Sf(f"source {k}", lambda t, wave=wave: wave(2 * pi * 100 * t * t), signals="time")
        graph.between(None, node := J0(f"node {k}"), source)
        graph.between(node, None, C(f"C{k}", capacitance=1e-3 / (2 * pi)))
        graph.between(node, None, R(f"R{k}", 0.5), I(f"L{k}", inductance=0.1 / (2 * pi)))
    return graph


@MODELS.model(MSL + "SeriesResonance", statements=27, t_end=1.0, signals=RESONANCE, tolerance=1e-4)
def series_resonance() -> Graph:
    """Two series resonant circuits, driven by a sine and a cosine voltage whose frequency rises to 200 Hz."""
    graph = Graph("series resonance")
    for k, wave in ((1, sin), (2, cos)):
        source = Se(f"source {k}", lambda t, wave=wave: wave(2 * pi * 100 * t * t), signals="time")
        coil, capacitor = I(f"L{k}", inductance=0.1 / (2 * pi)), C(f"C{k}", capacitance=1e-3 / (2 * pi))
        graph.series(source, coil, capacitor, R(f"R{k}", 0.5))
    return graph


VARIABLE = {"VariableResistor.i": "variable.flow", "R2.i": "R2.flow"}


@MODELS.model(MSL + "ShowVariableResistor", statements=20, t_end=1.0, signals=VARIABLE, tolerance=1e-6)
def variable_resistor() -> Graph:
    """Branch of resistors in parallel with a second branch, in which one resistance grows with time."""
    graph, node = Graph("variable resistor"), J0("node", domain="electrical")
    variable = R("variable", effort=lambda i, t: (2 + 2.5 * t) * i, signals=["time"])
    graph.between(None, node, sine("source", -1.0, 1.0)).between(node, None, R("R4", 1.0), variable, R("R5", 1.0))
    return graph.between(node, None, *(R(f"R{k}", 1.0) for k in (1, 2, 3)))


SWITCHED = {"inductor1.i": "L1.flow", "inductor2.i": "L2.flow"}


def add_switched_coils(graph: Graph, control: str) -> Graph:
    """Add a coil with an ideal switch, and a coil with a switch that draws an arc."""
    for k, make in ((1, e.switch), (2, partial(e.arc_switch, V0=30.0, dVdt=1e4, Vmax=60.0))):
        coil = I(f"L{k}", inductance=0.1), R(f"R{k}", 1.0)
        graph.between(None, node := J0(f"node {k}"), Se(f"source {k}", 50.0), *coil)
        graph.between(node, None, make(f"switch {k}", control))
    return graph


@MODELS.model(MSL + "SwitchWithArc", statements=23, t_end=2.0, signals=SWITCHED, tolerance=1e-6)
def switch_with_arc() -> Graph:
    """Coils that are switched off with and without an arc."""
    graph = Graph("switch with arc")
    graph.add(signals.square("pulse", low=0.0))
    return add_switched_coils(graph, "pulse.y")


@MODELS.model(MSL + "ControlledSwitchWithArc", statements=25, t_end=6.0, signals=SWITCHED, tolerance=1e-6)
def controlled_switch() -> Graph:
    """Coils that are switched on while a sine exceeds 0.5 V."""
    graph = Graph("controlled switch")
    graph.add(signals.sine("control", omega=2 * pi))
    return add_switched_coils(graph, "control.y")


HEATED = {"resistor.i": "resistor.flow", "resistor.LossPower": "resistor.power"}


@MODELS.model(MSL + "Resistor", statements=10, t_end=5.0, signals=HEATED, tolerance=1e-6)
def heated_resistor() -> Graph:
    """Resistor heated by its own loss and cooled to the surroundings through 50 W/K."""
    graph, warm = Graph("heated resistor"), J0("warm")
    resistor = R(
        "resistor", effort=lambda i, T: 100 * (1 + 1e-3 * (T - 293.15)) * i, signals=["warm.effort"], domain="electrical"
    )
    graph.series(sine("source", 220.0, 1.0), resistor)
    graph.between(None, warm, Sf("heat", lambda P: P, signals="resistor.power", domain=HEAT))
    return graph.between(warm, None, R("conductor", conductance=50.0), Se("surroundings", -293.15))


RECTIFIER = {"Capacitor1.v": "C.effort", "HeatCapacitor1.T": "body.effort"}


@MODELS.model(MSL + "HeatingRectifier", statements=14, t_end=5.0, signals=RECTIFIER, tolerance=5e-5)
def heating_rectifier() -> Graph:
    """Rectifier whose diode warms a body through 10 W/K, and conducts better as it warms."""

    def excess(v: Any, i: Any, T: Any) -> Any:
        T = T + v * i / 10.0
        V_T, warm = parts.electronics.BOLTZMANN * T, T / 300.15
        return 1e-6 * e.growth(v / V_T, 15.0) * warm**3 * exp((warm - 1) * 1.11 / V_T) + v / 1e8 - i

    graph, out = Graph("heating rectifier"), J0("out", domain="electrical")
    diode, body = R("diode", relation=excess, signals=["body.effort"], heat=True), parts.thermal.heat_capacity("body", 1.0)
    graph.between(None, out, sine("source", 1.0, 1.0), diode)
    graph.between(out, None, R("R", 1.0)).between(out, None, C("C", capacitance=1.0))
    return graph.connect(diode.port("heat"), body)


CAUER_OP = {f"C{k}.v": f"C{k}.effort" for k in (1, 2, 3, 4, 7)}


@MODELS.model(MSL + "CauerLowPassOPV", statements=116, t_end=60.0, signals=CAUER_OP, tolerance=1e-4)
def cauer_amplifiers() -> Graph:
    """Fifth-order low-pass filter with five amplifiers and negative resistances."""
    graph, (l1, l2) = Graph("Cauer low-pass with amplifiers"), (1.304, 0.8586)
    c1, c2, c3, c4, c5 = 1.072, 1 / (1.704992**2 * l1), 1.682, 1 / (1.179945**2 * l2), 0.7262
    node = {f"{pin}{k}": J0(f"{pin}{k}") for pin in "mo" for k in range(1, 6)}
    for k in range(1, 6):
        op = parts.electronics.op_amp(f"op{k}", 1e6)
        graph.connect(Se(f"ground {k}", 0.0), op.port("plus")).connect(node[f"m{k}"], op.port("minus"))
        graph.connect(op.port("out"), node[f"o{k}"])
    resistors = "R2 o2 m1,R3 m1 o1,-R4 o1 m2,-R5 o3 m2,R6 o4 m3,R7 o2 m3,-R8 o5 m4,-R9 o3 m4,R10 o4 m5,R11 m5 o5"
    for name, a, b in map(str.split, resistors.split(",")):
        graph.between(node[a], node[b], R(name.strip("-"), effort=(lambda i: -i) if name[0] == "-" else (lambda i: i)))
    values = c1 + c2, c2, l1, c4, c2, c2 + c3 + c4, l2, c4, c4 + c5
    places = "m1 o1, o3 m1, m2 o2, o5 m3, o1 m3, m3 o3, m4 o4, o3 m5, m5 o5"
    for k, (place, value) in enumerate(zip(places.split(", "), values, strict=True), 1):
        a, b = place.split()
        graph.between(node[a], node[b], C(f"C{k}", capacitance=value))
    graph.add(signals.step("V", 1.0, after=-1.0))
    return graph.between(None, node["m1"], Se("step", lambda u: u, signals="V.y"), R("R1", 1.0))
