"""Public models of electric machines: DC motors, transformers."""

from __future__ import annotations

from math import pi, sqrt

from screwbond.models import parts

from bondgraph import J0, J1, C, Element, Graph, I, R, Se, signals
from examples.gallery.circuits import bridge, diodes, sine
from examples.gallery.record import Collection
from screws.scalars import absolute, maximum, minimum

MODELS = Collection("Machines")
MSL = "Modelica.Electrical.Machines.Examples."
m = parts.machines
STARTED = {"loadInertia.phi": "angle.y", "loadInertia.w": "motor.rotor.flow"}
PERMANENT = {**STARTED, "dcpm.la.i": "motor.L.flow"}
EXCITED = {**STARTED, "dcee.la.i": "motor.L_a.flow", "dcee.airGapDC.psi_e": "motor.L_f.p"}
SERIES = {**STARTED, "dcse.la.i": "motor.L.flow"}
NOMINAL = 95.0 / (2 * pi * 1425 / 60)
"""Ratio of voltage to speed (V s/rad) of a motor with 100 V, 100 A and 0.05 Ohm at 1425 rpm."""


def add_load(graph: Graph, motor: Graph, torque: Element, inertia: float = 0.15) -> Graph:
    """Add an inertia and a torque to a motor's shaft, and the signal of its angle."""
    graph.connect(motor.port("shaft"), shaft := J1("shaft", domain="rotation"))
    graph.connect(shaft, I("load inertia", inertia=inertia)).connect(shaft, torque)
    graph.add(signals.integrator("angle", "motor.rotor.flow"))
    return graph


def ramp_source(name: str) -> Element:
    return Se(name, lambda t: 125 * maximum(minimum(t - 0.2, 0.8), 0.0), signals="time")


def step() -> Element:
    """Return a load torque of 63.66 N m times the signal `step.y`."""
    return R("load", effort=lambda w, u: 63.66 * u, signals=["step.y"])


@MODELS.model(MSL + "DCMachines.DCPM_Start", statements=12, t_end=2.0, signals=PERMANENT, tolerance=1e-5)
def permanent_magnet_start() -> Graph:
    """DC motor with permanent magnets, started with a voltage ramp."""
    graph, motor = Graph("start"), m.dc_motor("motor", NOMINAL, R_a=0.05, L_a=1.5e-3, J=0.15, b=0.0)
    graph.connect(ramp_source("supply"), motor.port("armature")).add(signals.step("step", 1.5))
    return add_load(graph, motor, step())


@MODELS.model(MSL + "DCMachines.DCEE_Start", statements=17, t_end=2.0, signals=EXCITED, tolerance=1e-5)
def excited_start() -> Graph:
    """DC motor with a field winding, started with a voltage ramp."""
    graph, motor = Graph("start"), m.excited_motor("motor", NOMINAL, 0.05, 1.5e-3, R_f=100.0, L_f=1.0, J=0.15, b=0.0)
    graph.connect(ramp_source("supply"), motor.port("armature")).connect(Se("excitation", 100.0), motor.port("field"))
    graph.add(signals.step("step", 1.5))
    return add_load(graph, motor, step())


def series(source: Element) -> Graph:
    """Return a motor with a series winding that starts through a resistor, with a load proportional to its speed squared."""
    graph, w = Graph("start"), 2 * pi * 1410 / 60
    motor = m.series_motor("motor", 0.94 / w, R_t=0.06, L_t=2e-3, J=0.15, b=0.0)
    starter = R("starter", effort=lambda i, t: maximum(minimum(1 - (t - 0.1) / 0.9, 1.0), 0.0) * i, signals=["time"])
    graph.connect(graph.series(source, starter), motor.port("armature"))
    return add_load(graph, motor, R("load", effort=lambda speed: 63.66 * speed * absolute(speed) / w**2))


@MODELS.model(MSL + "DCMachines.DCSE_Start", statements=14, t_end=2.0, signals=SERIES, tolerance=1e-6)
def series_start() -> Graph:
    """DC motor with a series winding at a constant voltage."""
    return series(Se("supply", 100.0))


@MODELS.model(MSL + "DCMachines.DCSE_SinglePhase", statements=14, t_end=2.0, signals=SERIES, tolerance=1e-4)
def series_start_ac() -> Graph:
    """Motor with a series winding at an alternating voltage of 50 Hz."""
    return series(sine("supply", 100 * sqrt(2), 50.0))


MAINS = "Modelica.Electrical.Polyphase.Examples."
FLOWS = {f"transformerL.inductor[{k}].i": f"L{k}.flow" for k in (2, 3)}


@MODELS.model(MAINS + "TransformerYY", statements=23, t_end=1.0, signals=FLOWS, tolerance=1e-4)
def three_transformers() -> Graph:
    """Three ideal transformers with stray inductances and star-connected loads."""
    graph, star = Graph("three transformers"), J0("star")
    for k in (1, 2, 3):
        core, node = parts.electrical.ideal_transformer(f"core {k}"), J0(f"node {k}")
        graph.connect(sine(f"source {k}", 1.0, 5.0, -2 * pi * (k - 1) / 3), core.port("1"))
        graph.connect(core.port("2"), node)
        graph.between(node, star, R(f"R{k}", 0.05), I(f"L{k}", inductance=0.003), R(f"load {k}", 1.0))
    return graph


PULSED = {f"cDC{k}.v": f"C{k}.effort" for k in (1, 2)}
PULSED |= {f"transformer1.l2sigma.inductor[{k}].i": f"-L2 {k}.flow" for k in (1, 3)}


@MODELS.model(MSL + "Transformers.Rectifier6pulse", statements=27, t_end=0.1, signals=PULSED, tolerance=1e-4)
def six_pulses() -> Graph:
    """Delta-star transformer with a bridge of six diodes, two capacitors and a resistor."""
    graph, star, plus, minus, volts = Graph("six pulses"), J0("star"), J0("plus"), J0("minus"), 100 * sqrt(2 / 3)
    mains, lines = ([J0(f"{side} {k}") for k in (1, 2, 3)] for side in ("mains", "line"))
    for k in range(3):
        graph.connect(sine(f"source {k + 1}", volts, 50.0, -2 * pi * k / 3), mains[k])
        core, coils = parts.electrical.ideal_transformer(f"core {k + 1}", -sqrt(3)), (sqrt(6e-4), sqrt(6e-4) / 3)
        first, second = (I(f"L{n + 1} {k + 1}", inductance=coils[n] / (100 * pi)) for n in (0, 1))
        graph.between(mains[k], mains[k - 1], R(f"R1 {k + 1}", 5e-3), first, core.port("1"))
        graph.between(star, lines[k], core.port("2"), R(f"R2 {k + 1}", 5e-3 / 3), second)
    bridge(graph, lines, plus, minus, diodes("upper", 3), diodes("lower", 3)).between(plus, minus, R("load", 0.4))
    graph.between(plus, None, C("C1", capacitance=0.01, initial=0.005 * sqrt(3) * volts))
    return graph.between(None, minus, C("C2", capacitance=0.01, initial=0.005 * sqrt(3) * volts))
