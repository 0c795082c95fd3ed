"""Public models of heat, magnetism and batteries: bodies, coolants, a controlled temperature, an inductor, cells."""

from __future__ import annotations

from math import pi, sqrt

from screwbond.models import parts

from bondgraph import J0, Block, C, Diode, Element, Graph, R, Se, Sf, signals
from examples.gallery.record import Collection
from screws.scalars import absolute, cos, minimum, where

MODELS = Collection("Heat, magnetism and batteries")
HEAT = "Modelica.Thermal.HeatTransfer.Examples."
COOLING = "Modelica.Thermal.FluidHeatFlow.Examples."
AMBIENT = 293.15
t = parts.thermal


@MODELS.model(
    HEAT + "TwoMasses", statements=9, t_end=1.0, signals={"mass1.T": "hot.effort", "mass2.T": "cold.effort"}, tolerance=3e-6
)
def two_masses() -> Graph:
    """Two bodies that reach a common temperature."""
    graph, hot, cold = Graph("two masses"), J0("hot"), J0("cold")
    graph.connect(hot, t.heat_capacity("mass1", 15.0, 373.15)).connect(cold, t.heat_capacity("mass2", 15.0, 273.15))
    conduction = t.conductance("conduction", 10.0)
    return graph.connect(hot, conduction.port("1")).connect(conduction.port("2"), cold)


@MODELS.model(
    HEAT + "ControlledTemperature", statements=25, t_end=10.0, signals={"heatCapacitor.T": "body.effort"}, tolerance=3e-5
)
def controlled_temperature() -> Graph:
    """Resistor that a relay switches on and off, so that its temperature follows a ramp."""
    graph, body, room = Graph("controlled"), J0("body"), J0("room")
    graph.add(signals.ramp("reference", 25 / 6, 2.0, 8.0, offset=25.0))
    error = {"T": "body.effort", "wanted": "reference.y"}
    graph.add(Block("below", [("y", lambda T, wanted: wanted + 273.15 - T, ["T", "wanted"])], inputs=error))
    graph.add(signals.hysteresis("relay", "below.y", -1.0, 1.0, initial="high"))
    hot = {"effort": lambda i, T: 10 * (1 + (T - AMBIENT) / 255) * i, "signals": {"T": "body.effort"}}
    heater = R("resistor", **hot, heat=True, domain="electrical")
    graph.series(Se("source", lambda on: 10 * on, signals="relay.y"), heater)
    graph.connect(heater.port("heat"), body).connect(body, t.heat_capacity("capacitor", 1.0, AMBIENT))
    graph.connect(body, (conductor := t.conductance("conductor", 0.1)).port("1"))
    return graph.connect(conductor.port("2"), room).connect(Se("environment", AMBIENT), room)


def add_cooled_pipe(graph: Graph, name: str, start: float, source: float) -> Element:
    """Add a pipe with 0.1 J/K of coolant and a body of 0.1 J/K, heated by a source, with 1 W/K between them; return the pipe."""
    pipe, body = J0(f"pipe{name}", domain="heat"), J0(f"body{name}", domain="heat")
    graph.connect(pipe, C(f"coolant{name}", capacitance=0.1, initial=0.1 * AMBIENT))
    graph.connect(body, C(f"mass{name}", capacitance=0.1, initial=0.1 * start)).connect(Sf(f"source{name}", source), body)
    graph.between(body, pipe, R(f"film{name}", conductance=1.0))
    return pipe


ONE = {"heatCapacitor.T": "body.effort", "pipe.T": "pipe.effort"}


@MODELS.model(COOLING + "OneMass", statements=16, t_end=1.0, signals=ONE, tolerance=1e-5)
def one_mass() -> Graph:
    """Hot body, cooled by a coolant that flows forward and then backward."""
    graph, course = Graph("one mass"), signals.table("V", "time", [0.2, 0.4, 0.6, 0.8], [0.0, 1.0, 1.0, -1.0])
    graph.add(course)
    pipe, room = add_cooled_pipe(graph, "", 313.15, 0.0), J0("room", domain="heat")
    stream = R("stream", flow=lambda T, V: absolute(V) * T, signals={"V": "V.y"})
    return graph.connect(Se("ambient", AMBIENT), room).between(room, pipe, stream)


@MODELS.model(COOLING + "SimpleCooling", statements=22, t_end=1.0, signals=ONE, tolerance=1e-5)
def simple_cooling() -> Graph:
    """Source of heat, cooled by a coolant."""
    graph, room = Graph("simple cooling"), J0("room", domain="heat")
    pipe = add_cooled_pipe(graph, "", AMBIENT, 10.0)
    return graph.connect(Se("ambient", AMBIENT), room).between(room, pipe, R("stream", conductance=1.0))


PARALLEL = {f"pipe{k}.T": f"pipe{k}.effort" for k in (1, 2, 3)} | {f"heatCapacitor{k}.T": f"body{k}.effort" for k in (1, 2)}


@MODELS.model(COOLING + "ParallelCooling", statements=41, t_end=1.0, signals=PARALLEL, tolerance=1e-5)
def parallel_cooling() -> Graph:
    """Two sources of heat in parallel branches of a coolant, which then mix."""
    graph, room, mixed = Graph("parallel cooling"), J0("room", domain="heat"), J0("pipe3", domain="heat")
    graph.connect(Se("ambient", AMBIENT), room)
    for k, power in ((1, 5.0), (2, 10.0)):
        graph.between(room, add_cooled_pipe(graph, str(k), AMBIENT, power), R(f"stream{k}", conductance=0.5))
    graph.connect(mixed, C("coolant3", capacitance=0.1, initial=0.1 * AMBIENT))
    pipes = [f"pipe{k}.effort" for k in (1, 2, 3)]
    return graph.connect(Sf("mixing", lambda a, b, T: (a + b) / 2 - T, signals=pipes), mixed)


@MODELS.model(COOLING + "TwoMass", statements=29, t_end=1.0, signals=PARALLEL, tolerance=3e-5)
def two_mass() -> Graph:
    """Two hot bodies in parallel branches of a coolant that flows forward and then backward."""
    graph, pipes = Graph("two mass"), {"V": "V.y"} | {f"T{k}": f"pipe{k}.effort" for k in (1, 2, 3)}
    graph.add(signals.table("V", "time", [0.2, 0.4, 0.6, 0.8], [0.0, 1.0, 1.0, -1.0]))
    for k, hot in ((1, 313.15), (2, 333.15)):
        before = {"V": "V.y", "T": f"pipe{k}.effort", "behind": "pipe3.effort"}
        into = Sf(f"into{k}", lambda V, T, behind: absolute(V) / 2 * (where(V > 0, AMBIENT, behind) - T), signals=before)
        graph.connect(into, add_cooled_pipe(graph, str(k), hot, 0.0))
    mixed = J0("pipe3", domain="heat")
    graph.connect(mixed, C("coolant3", capacitance=0.1, initial=0.1 * AMBIENT))
    mixing = Sf("mixing", lambda V, T1, T2, T3: absolute(V) * (where(V > 0, (T1 + T2) / 2, AMBIENT) - T3), signals=pipes)
    return graph.connect(mixing, mixed)


INDUCTOR = {"coil.i": "source.flow", "r_mFe.B": "iron.B"}


@MODELS.model(
    "Modelica.Magnetic.FluxTubes.Examples.BasicExamples.SaturatedInductor",
    statements=19,
    t_end=0.1,
    signals=INDUCTOR,
    tolerance=3e-5,
)
def saturated_inductor() -> Graph:
    """Inductor whose laminated core saturates, with an air gap and leakage."""
    graph, coil, m, area = Graph("inductor"), parts.magnetic.coil("coil", 600.0, 7.5), parts.magnetic, 0.025**2

    def field(flux: float) -> float:
        ratio = absolute(flux) / area / 1.16
        mu = 1 + (1209 + 24630 * ratio) / (1 + 2.44 * ratio + ratio**14)
        return 0.26 * flux / (area * mu * 4e-7 * pi)

    voltage = Se("source", lambda t: 230 * sqrt(2) * cos(100 * pi * t), signals="time")
    ends = J0("ends")
    graph.connect(voltage, coil.port("winding")).connect(coil.port("core"), ends).connect(ends, m.leakage("leak", 1 / 1.2e6))
    graph.between(ends, None, C("core", output=field), m.reluctance("gap", 1e-4, area, 1.0))
    graph.add(Block("iron", [("B", lambda flux: flux / area, ["flux"])], inputs={"flux": "core.q"}))
    return graph


OPEN = [0.595, 0.656, 0.688, 0.714, 0.737, 0.744, 0.750, 0.754, 0.756, 0.758, 0.761, 0.774, 0.786, 0.795, 0.804]
OPEN += [0.811, 0.818, 0.826, 0.835, 0.843, 0.855, 0.871, 0.888, 0.905, 0.926, 0.943, 0.964, 0.980, 1.00]
CHARGE = [0.01 * k for k in range(10)] + [0.05 * k for k in range(2, 21)]
"""Open-circuit voltage of a cell, as a fraction of 4.2 V, over its charge, as a fraction of 18000 C."""


def charged_cell(name: str, pairs: dict[int, tuple[float, float]]) -> Graph:
    """Return a cell that is charged with 25 A up to 4.2 V, and then at 4.2 V; `pairs` of resistance and time constant are in
    series."""
    graph, pin, end, inner = Graph(name), J0("pin", domain="electrical"), J0("end"), J0("inner")
    graph.connect(Sf("charger", lambda t: 25 * minimum(1.0, t / 60), signals="time"), pin).connect(end, Se("limit", 4.2))
    graph.between(pin, end, Diode("clamp"))
    volts = signals.curve([18e3 * each for each in CHARGE], [4.2 * each for each in OPEN], "akima")
    graph.between(inner, None, C("cell", output=volts, initial=1800.0)).between(inner, None, R("leak", conductance=1e-3 / 4.2))
    branch = graph.series(R("R0", 0.0035 - sum(resistance for resistance, _ in pairs.values())))
    for k, (resistance, time) in pairs.items():
        graph.connect(branch, graph.parallel(R(f"R{k}", resistance), C(f"C{k}", capacitance=time / resistance)))
    graph.connect(pin, branch).connect(branch, inner)
    meter = [("soc", lambda q: q / 18e3, ["q"]), ("P", lambda v, i: v * i, ["v", "i"])]
    paths = {"q": "cell.q", "v": "pin.effort", "i": "R0.flow"}
    graph.add(Block("meter", meter, inputs=paths, states={"E": 0.0}, rates={"E": "P"}))
    return graph


CELL = {"cell.cell.limIntegrator.y": "meter.soc", "energy.y": "meter.E"}
BATTERIES = "Modelica.Electrical.Batteries.Examples."


@MODELS.model(BATTERIES + "CCCV_Cell", statements=12, t_end=1200.0, signals=CELL, tolerance=3e-5)
def cccv_cell() -> Graph:
    """Cell that is charged with a constant current, then at a constant voltage."""
    return charged_cell("cell", {})


PAIRS = {f"cell.cell.capacitor[{k}].v": f"C{k}.effort" for k in (1, 2)}


@MODELS.model(BATTERIES + "CCCV_CellRC", statements=12, t_end=1200.0, signals=CELL | PAIRS, tolerance=3e-5)
def cccv_cell_rc() -> Graph:
    """Cell that is charged as in `cccv_cell`, with two time constants."""
    return charged_cell("cell", {1: (0.0007, 60.0), 2: (0.00035, 10.0)})
