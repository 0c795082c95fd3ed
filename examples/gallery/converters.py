"""Public models of power electronics: rectifiers, choppers, bridges, inverters."""

from __future__ import annotations

from collections.abc import Sequence
from math import pi, sqrt

from screwbond.models import parts

from bondgraph import J0, C, Element, Graph, I, R, Se, signals
from examples.gallery.circuits import add_mean, add_pwm, bridge, diodes, sine
from examples.gallery.record import Collection

MODELS = Collection("Converters")
MSL = "Modelica.Electrical.PowerConverters.Examples."
e = parts.electrical
MEANS = {"meanVoltage.y": "mean voltage.y", "meanCurrent.y": "mean current.y"}
INDUCTIVE = {**MEANS, "inductor.i": "inductor.flow"}


def add_means(graph: Graph, voltage: str, current: str, frequency: float) -> Graph:
    """Add signals for the mean voltage and the mean current."""
    return add_mean(add_mean(graph, "mean voltage", voltage, frequency), "mean current", current, frequency)


def thyristor(graph: Graph, name: str, shift: float = 0.0) -> Graph:
    """Return a thyristor that is fired 30 degrees after the beginning of each 50 Hz half wave, which is at the angle `shift`."""
    begin = (pi / 6 + shift) / (100 * pi)
    graph.add(signals.square(f"wave of {name}", 0.02, begin, duty=5 / 12, low=0.0))
    graph.add(signals.step(f"begin of {name}", 1 / 600))
    graph.add(signals.product(f"gate of {name}", [f"wave of {name}.y", f"begin of {name}.y"]))
    return e.thyristor(name, f"gate of {name}.y")


def add_rectifier(graph: Graph, upper: list[Graph], lower: list[Graph], *load: Element) -> Graph:
    """Add a bridge fed with 110 V at 50 Hz, a load between the nodes plus and minus, and signals that measure the load."""
    line, plus, minus = J0("line"), J0("plus"), J0("minus")
    bridge(graph, [line, None], plus, minus, upper, lower).between(None, line, sine("source", 110 * sqrt(2), 50.0))
    graph.between(plus, minus, *load)
    graph.add(signals.summation("voltage", {"plus.effort": 1, "minus.effort": -1}))
    return add_means(graph, "voltage.y", f"{load[0].name}.flow", 100.0)


def thyristor_bridge(*load: Element) -> Graph:
    """Two-pulse bridge of four thyristors."""
    graph = Graph("thyristor bridge")
    upper, lower = ([thyristor(graph, f"{side} {k}", shift) for k, shift in enumerate(shifts, 1)] for side, shifts in SIDES)
    return add_rectifier(graph, upper, lower, *load)


SIDES = ("upper", (0.0, pi)), ("lower", (pi, 0.0))
ONE, TWO = MSL + "ACDC.Rectifier1Pulse.", MSL + "ACDC.RectifierBridge2Pulse."


@MODELS.model(ONE + "Thyristor1Pulse_R", statements=3, t_end=0.1, signals=MEANS, tolerance=1e-6)
def one_thyristor() -> Graph:
    """Thyristor with a resistive load."""
    graph = Graph("one thyristor")
    graph.series(sine("source", 110 * sqrt(2), 50.0), thyristor(graph, "thyristor"), R("load", 20.0))
    return add_means(graph, "load.effort", "load.flow", 50.0)


@MODELS.model(TWO + "DiodeBridge2Pulse", statements=20, t_end=0.1, signals=MEANS, tolerance=1e-6)
def diode_bridge() -> Graph:
    """Bridge of four diodes with a resistive load."""
    return add_rectifier(Graph("diode bridge"), diodes("upper", 2), diodes("lower", 2), R("load", 20.0))


@MODELS.model(TWO + "HalfControlledBridge2Pulse", statements=25, t_end=0.1, signals=MEANS, tolerance=1e-6)
def half_controlled_bridge() -> Graph:
    """Bridge of two thyristors and two diodes with a resistive load."""
    graph = Graph("half controlled bridge")
    return add_rectifier(graph, [thyristor(graph, "p"), thyristor(graph, "n", pi)], diodes("lower", 2), R("load", 20.0))


@MODELS.model(TWO + "ThyristorBridge2Pulse_R", statements=3, t_end=0.1, signals=MEANS, tolerance=1e-6)
def thyristor_bridge_r() -> Graph:
    """Bridge of four thyristors with a resistive load."""
    return thyristor_bridge(R("load", 20.0))


@MODELS.model(TWO + "ThyristorBridge2Pulse_RL", statements=5, t_end=0.1, signals=INDUCTIVE, tolerance=1e-6)
def thyristor_bridge_rl() -> Graph:
    """Bridge of four thyristors with a resistor and a coil as load."""
    return thyristor_bridge(R("load", 20.0), I("inductor", inductance=1.0))


@MODELS.model(TWO + "ThyristorBridge2Pulse_RLV", statements=7, t_end=0.1, signals=MEANS, tolerance=1e-6)
def thyristor_bridge_rlv() -> Graph:
    """Bridge of four thyristors that recovers power from a source of 120 V."""
    return thyristor_bridge(R("load", 20.0), I("inductor", inductance=1.0), Se("battery", 120.0))


def add_centre_tap(graph: Graph, angles: Sequence[float], valves: Sequence[Graph], frequency: float, *load: Element) -> Graph:
    """Add valves connected to grounded windings (110 V, 50 Hz), a load, and signals that measure the load."""
    plus = J0("plus")
    for angle, valve in zip(angles, valves, strict=True):
        graph.between(None, plus, sine(f"source {valve.name}", 110 * sqrt(2), 50.0, angle), valve)
    return add_means(graph.between(plus, None, *load), "plus.effort", f"{load[0].name}.flow", frequency)


TAP = MSL + "ACDC.RectifierCenterTap2Pulse."


@MODELS.model(TAP + "DiodeCenterTap2Pulse", statements=22, t_end=0.1, signals=MEANS, tolerance=1e-6)
def centre_tap() -> Graph:
    """Two diodes at a centre-tapped winding."""
    return add_centre_tap(Graph("centre tap"), (0.0, pi), diodes("diode", 2), 100.0, R("load", 20.0))


@MODELS.model(TAP + "ThyristorCenterTap2Pulse_R", statements=3, t_end=0.1, signals=MEANS, tolerance=1e-6)
def centre_tap_thyristors() -> Graph:
    """Two thyristors at a centre-tapped winding."""
    graph = Graph("centre tap")
    return add_centre_tap(graph, (0.0, pi), [thyristor(graph, "p"), thyristor(graph, "n", pi)], 100.0, R("load", 20.0))


@MODELS.model(TAP + "ThyristorCenterTap2Pulse_RL", statements=5, t_end=0.1, signals=INDUCTIVE, tolerance=1e-6)
def centre_tap_coil() -> Graph:
    """Two thyristors at a centre-tapped winding, with a coil."""
    graph, load = Graph("centre tap"), (R("load", 20.0), I("inductor", inductance=1.0))
    return add_centre_tap(graph, (0.0, pi), [thyristor(graph, "p"), thyristor(graph, "n", pi)], 100.0, *load)


STAR = [-2 * pi * k / 3 for k in range(3)]


M_TAP, TWO_M_TAP = MSL + "ACDC.RectifierCenterTapmPulse.", MSL + "ACDC.RectifierCenterTap2mPulse."


@MODELS.model(M_TAP + "DiodeCenterTapmPulse", statements=21, t_end=0.1, signals=MEANS, tolerance=1e-6)
def three_diodes() -> Graph:
    """Three diodes, one at each of three star-connected windings."""
    return add_centre_tap(Graph("three diodes"), STAR, diodes("diode", 3), 150.0, R("load", 20.0))


@MODELS.model(TWO_M_TAP + "DiodeCenterTap2mPulse", statements=24, t_end=0.1, signals=MEANS, tolerance=1e-6)
def six_windings() -> Graph:
    """Six diodes, one at each winding of two star-connected sets."""
    angles = [*STAR, *(angle + pi for angle in STAR)]
    return add_centre_tap(Graph("six windings"), angles, diodes("diode", 6), 300.0, R("load", 20.0))


def three_phase(graph: Graph, upper: list[Graph], lower: list[Graph], *load: Element) -> Graph:
    """Add a bridge fed with three phases of 110 V at 50 Hz, a load, and signals that measure the load."""
    lines, plus, minus, star = [J0(f"line {k}") for k in "123"], J0("plus"), J0("minus"), J0("star")
    bridge(graph, lines, plus, minus, upper, lower).between(plus, minus, *load)
    graph.between(star, None, R("insulation", 1e6))
    for line, angle in zip(lines, STAR, strict=True):
        graph.between(star, line, sine(f"source {line.name}", 110 * sqrt(2), 50.0, angle))
    graph.add(signals.summation("voltage", {"plus.effort": 1, "minus.effort": -1}))
    return add_means(graph, "voltage.y", f"{load[0].name}.flow", 300.0)


SIX = MSL + "ACDC.RectifierBridge2mPulse."


@MODELS.model(SIX + "DiodeBridge2mPulse", statements=20, t_end=0.1, signals=MEANS, tolerance=1e-6)
def six_diodes() -> Graph:
    """Bridge of six diodes with a resistive load."""
    return three_phase(Graph("six diodes"), diodes("upper", 3), diodes("lower", 3), R("load", 20.0))


def bridge_of_six(*load: Element) -> Graph:
    """Bridge of six thyristors."""
    graph, sides = Graph("six thyristors"), (("upper", pi / 6), ("lower", 7 * pi / 6))
    upper, lower = ([thyristor(graph, f"{side} {a:.0f}", start - a) for a in STAR] for side, start in sides)
    return three_phase(graph, upper, lower, *load)


@MODELS.model(SIX + "ThyristorBridge2mPulse_R", statements=3, t_end=0.1, signals=MEANS, tolerance=1e-6)
def six_thyristors() -> Graph:
    """Bridge of six thyristors with a resistive load."""
    return bridge_of_six(R("load", 20.0))


@MODELS.model(SIX + "ThyristorBridge2mPulse_RL", statements=5, t_end=0.1, signals=INDUCTIVE, tolerance=3e-5)
def six_thyristors_rl() -> Graph:
    """Bridge of six thyristors with a resistor and a coil as load."""
    return bridge_of_six(R("load", 20.0), I("inductor", inductance=1.0))


@MODELS.model(SIX + "ThyristorBridge2mPulse_RLV", statements=7, t_end=0.1, signals=INDUCTIVE, tolerance=1e-6)
def six_thyristors_rlv() -> Graph:
    """Bridge of six thyristors with a resistor, a coil and a source of 260 V as load."""
    return bridge_of_six(R("load", 20.0), I("inductor", inductance=1.0), Se("battery", 260.0))


@MODELS.model(SIX + "HalfControlledBridge2mPulse", statements=23, t_end=0.1, signals=MEANS, tolerance=1e-6)
def half_controlled_six() -> Graph:
    """Bridge of three thyristors and three diodes with a resistive load."""
    graph = Graph("half controlled bridge")
    upper = [thyristor(graph, f"upper {k}", pi / 6 - angle) for k, angle in enumerate(STAR)]
    return three_phase(graph, upper, diodes("lower", 3), R("load", 20.0))


def chopper(*load: Element) -> Graph:
    """Step-down chopper from 60 V: its pulse width follows a ramp, and a coil and a capacitor precede the load."""
    graph, middle, out = Graph("chopper"), J0("middle"), J0("out")
    graph.add(signals.ramp("duty", slope=4.0, start=0.025, end=0.075))
    add_pwm(graph, "pwm", "duty.y", 1000.0)
    graph.between(None, middle, Se("source", 60.0), e.gto("transistor", "pwm.on"))
    graph.between(None, middle, e.ideal_diode("diode"))
    graph.between(middle, out, I("inductor", inductance=0.025)).between(out, None, *load)
    graph.between(out, None, C("capacitor", capacitance=2e-5, initial=12 * 2e-5))
    return add_means(graph, "out.effort", f"{load[0].name}.flow", 1000.0)


STEP_DOWN = MSL + "DCDC.ChopperStepDown."


@MODELS.model(STEP_DOWN + "ChopperStepDown_R", statements=7, t_end=0.1, signals=MEANS, tolerance=1e-6)
def chopper_r() -> Graph:
    """Chopper with a resistive load."""
    return chopper(R("load", 10.0))


@MODELS.model(STEP_DOWN + "ChopperStepDown_RL", statements=9, t_end=0.1, signals=INDUCTIVE, tolerance=1e-6)
def chopper_rl() -> Graph:
    """Chopper with a resistor and a coil as load."""
    return chopper(R("load", 10.0), I("load coil", inductance=0.025))


def leg(graph: Graph, name: str, gates: tuple[str, str], supplies: tuple[Element, Element | None]) -> Element:
    """Add two transistors with diodes between supplies, and return the node between them."""
    middle = J0(name)
    for side, gate, (start, stop) in zip("pn", gates, ((supplies[0], middle), (middle, supplies[1])), strict=True):
        graph.between(start, stop, e.gto(f"{name} transistor {side}", gate))
        graph.between(stop, start, e.ideal_diode(f"{name} diode {side}"))
    return middle


def h_bridge(*load: Element) -> Graph:
    """Bridge of four transistors at 100 V, with a duty cycle of 0.6."""
    graph, plus = Graph("H bridge"), J0("plus")
    graph.between(None, plus, Se("source", 100.0))
    graph.add(signals.square("on", 1e-3, duty=0.6, low=0.0))
    graph.add(signals.square("off", 1e-3, 0.6e-3, duty=0.4, low=0.0))
    left = leg(graph, "left", ("on.y", "off.y"), (plus, None))
    right = leg(graph, "right", ("off.y", "on.y"), (plus, None))
    graph.between(left, right, *load).add(signals.summation("voltage", {"left.effort": 1, "right.effort": -1}))
    return add_means(graph, "voltage.y", f"{load[0].name}.flow", 1000.0)


@MODELS.model(MSL + "DCDC.HBridge.HBridge_R", statements=3, t_end=0.1, signals=MEANS, tolerance=1e-6)
def h_bridge_r() -> Graph:
    """H bridge with a resistive load."""
    return h_bridge(R("load", 100.0))


@MODELS.model(MSL + "DCDC.HBridge.HBridge_RL", statements=5, t_end=0.1, signals=INDUCTIVE, tolerance=1e-5)
def h_bridge_rl() -> Graph:
    """H bridge with a resistor and a coil as load."""
    return h_bridge(R("load", 100.0), I("inductor", inductance=1.0))


def inverter(*load: Element) -> Graph:
    """Single-phase inverter between two 50 V sources, pulse-width modulated by a 50 Hz sine."""
    graph, plus, minus = Graph("inverter"), J0("plus"), J0("minus")
    graph.between(None, plus, Se("upper", 50.0)).between(None, minus, Se("lower", -50.0))
    graph.add(signals.sine("duty", 0.5, 100 * pi, offset=0.5))
    add_pwm(graph, "pwm", "duty.y", 1000.0)
    graph.between(leg(graph, "ac", ("pwm.on", "pwm.off"), (plus, minus)), None, *load)
    return graph


@MODELS.model(
    MSL + "DCAC.SinglePhaseTwoLevel.SinglePhaseTwoLevel_RL",
    statements=5,
    t_end=0.1,
    signals={"inductor.i": "inductor.flow"},
    tolerance=1e-6,
)
def inverter_rl() -> Graph:
    """Inverter with a resistor and a coil as load."""
    return inverter(R("load", 100.0), I("inductor", inductance=1.0))
