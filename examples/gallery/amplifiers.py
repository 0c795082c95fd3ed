"""Public models of operational amplifiers: gains, sums, filters, triggers, oscillators, control."""

from __future__ import annotations

from collections.abc import Sequence
from math import log, pi, sqrt
from typing import Any

from screwbond.models import parts

from bondgraph import J0, C, Element, Graph, I, R, Se, Sf, signals
from examples.gallery.circuits import sine
from examples.gallery.record import Collection
from screws.scalars import absolute, floor, maximum, minimum

MODELS = Collection("Amplifiers")
MSL = "Modelica.Electrical.Analog.Examples.OpAmps."
e = parts.electrical
OUT = {"opAmp.out.v": "out of op.effort", "opAmp.out.i": "-op.output.flow"}
VOLTAGE = {"opAmp.v_out": "out of op.effort"}


def signals_of(name: str) -> dict[str, str]:
    """Return the map from the voltage and the current of the amplifier `name` in the original to signals of our model."""
    return {f"{name}.{signal}": path for signal, path in OUT.items()}


def trapezoid(low: float = -5.0) -> Element:
    """Return a source of a 10 Hz trapezoidal voltage up to 5 V, which begins in the middle of its upper level."""

    def voltage(t: Any) -> Any:
        return low + (5.0 - low) * maximum(minimum(1.75 - 50 * absolute(t - floor(10 * t + 0.5) / 10), 1.0), 0.0)

    return Se("input", voltage, signals="time")


Nodes = tuple[Element, Element, Element]


def amplifier(graph: Graph, name: str = "op", gain: float = 15e3, limit: float = 15.0) -> Nodes:
    """Add an amplifier with an output limit, and return the nodes plus, minus and out."""
    op = parts.electronics.limited_op_amp(name, gain, -limit, limit)
    plus, minus, out = (J0(f"{pin} of {name}") for pin in ("plus", "minus", "out"))
    graph.connect(plus, op.port("plus")).connect(minus, op.port("minus")).connect(op.port("out"), out)
    return plus, minus, out


def add_inverter(graph: Graph, *inlets: Sequence[Any], feedback: Sequence[Sequence[Element]], name: str = "op") -> Element:
    """Add an amplifier with a grounded non-inverting input, inlets (node, parts ...) to the inverting input, and feedback
    branches from the output; return the output."""
    plus, minus, out = amplifier(graph, name)
    graph.connect(Se(f"ground of {name}", 0.0), plus)
    for inlet in inlets:
        graph.between(inlet[0], minus, *inlet[1:])
    for branch in feedback:
        graph.between(out, minus, *branch)
    return out


def inverting_circuit(title: str, *inlet: Element, feedback: Sequence[Element]) -> Graph:
    """Return the graph of one inverting amplifier."""
    add_inverter(graph := Graph(title), (None, *inlet), feedback=[[element] for element in feedback])
    return graph


@MODELS.model(MSL + "InvertingAmplifier", statements=9, t_end=1.0, signals=signals_of("gain"), tolerance=1e-6)
def inverting_amplifier() -> Graph:
    """Amplifier of gain -2."""
    return inverting_circuit("inverting amplifier", trapezoid(), R("r1", 1e3), feedback=[R("r2", 2e3)])


@MODELS.model(MSL + "NonInvertingAmplifier", statements=9, t_end=1.0, signals=signals_of("buffer"), tolerance=1e-6)
def noninverting_amplifier() -> Graph:
    """Amplifier of gain 2."""
    plus, minus, out = amplifier(graph := Graph("non-inverting amplifier"))
    return graph.connect(trapezoid(), plus).between(minus, None, R("r1", 1e3)).between(out, minus, R("r2", 1e3))


@MODELS.model(MSL + "VoltageFollower", statements=14, t_end=1.0, signals=OUT, tolerance=1e-6)
def voltage_follower() -> Graph:
    """Unity-gain amplifier with a load."""
    plus, minus, out = amplifier(graph := Graph("voltage follower"))
    return graph.between(None, plus, trapezoid(), R("ri", 1.0)).connect(out, minus).between(out, None, R("rl", 1.0))


@MODELS.model(MSL + "Adder", statements=12, t_end=1.0, signals={"vOut.v": "-out of op.effort"}, tolerance=1e-6)
def adder() -> Graph:
    """Summing amplifier for a sine and a constant."""
    inlets = (None, sine("in 1", 5.0, 10.0), R("r1", 1e3)), (None, Se("in 2", 5.0), R("r2", 1e3))
    add_inverter(graph := Graph("adder"), *inlets, feedback=[[R("r", 1e3)]])
    return graph


@MODELS.model(MSL + "Subtracter", statements=12, t_end=1.0, signals={"vOut.v": "-out of op.effort"}, tolerance=1e-6)
def subtracter() -> Graph:
    """Difference amplifier for a constant and a sine."""
    graph = Graph("subtracter")
    add_subtracter(graph, (None, sine("in 1", 5.0, 10.0)), (None, Se("in 2", 5.0)))
    return graph


def add_subtracter(graph: Graph, less: Sequence[Any], more: Sequence[Any], name: str = "op") -> Element:
    """Add an amplifier of the voltage difference between the inlets `more` and `less` (node, parts ...); return its output."""
    plus, minus, out = amplifier(graph, name)
    graph.between(less[0], minus, *less[1:], R(f"r1 of {name}", 1e3)).between(out, minus, R(f"r3 of {name}", 1e3))
    graph.between(more[0], plus, *more[1:], R(f"r2 of {name}", 1e3)).between(plus, None, R(f"r4 of {name}", 1e3))
    return out


@MODELS.model(
    MSL + "DifferentialAmplifier", statements=46, t_end=0.2, signals={"opAmp.v_out": "out of op.effort"}, tolerance=1e-6
)
def differential_amplifier() -> Graph:
    """Difference amplifier that measures the voltage between two lines, with a resistance to ground."""
    first, second, ground = J0("first"), J0("second"), J0("ground of op")
    plus, minus, out = amplifier(graph := Graph("differential amplifier"), gain=1e4, limit=1e3)
    for line, node, pin, sense in ((1, first, minus, 1), (2, second, plus, -1)):
        graph.between(None, node, sine(f"source {line}", 400 * sqrt(2 / 3), 50.0, sense * pi / 3))
        graph.between(node, pin, R(f"r{line}", 1e5))
    graph.between(first, second, R("load", 10.0)).between(minus, out, R("r3", 1e3)).between(plus, ground, R("r4", 1e3))
    return graph.between(out, ground, R("instrument", 1e5)).between(ground, None, R("earth", 1e5))


@MODELS.model(MSL + "Integrator", statements=9, t_end=1.0, signals=signals_of("integrator"), tolerance=1e-6)
def integrator() -> Graph:
    """Integrating amplifier with a gain of 2 at 10 Hz."""
    return inverting_circuit("integrator", trapezoid(), R("r", 1e3), feedback=[C("c", capacitance=1 / (40e3 * pi))])


@MODELS.model(MSL + "Differentiator", statements=9, t_end=1.0, signals=signals_of("der_"), tolerance=1e-6)
def differentiator() -> Graph:
    """Differentiating amplifier with a gain of 2 at 10 Hz."""
    return inverting_circuit("differentiator", trapezoid(), C("c", capacitance=1 / (10e3 * pi)), feedback=[R("r", 1e3)])


@MODELS.model(MSL + "LowPass", statements=9, t_end=1.0, signals=signals_of("firstOrder"), tolerance=1e-6)
def low_pass() -> Graph:
    """First-order low-pass filter at 1 Hz."""
    return inverting_circuit("low-pass", trapezoid(0.0), R("r1", 1e3), feedback=[R("r2", 1e3), C("c", capacitance=1 / 2e3 / pi)])


@MODELS.model(MSL + "HighPass", statements=9, t_end=1.0, signals=signals_of("derivative"), tolerance=1e-6)
def high_pass() -> Graph:
    """First-order high-pass filter at 1 Hz."""
    return inverting_circuit("high-pass", trapezoid(0.0), C("c", capacitance=1 / 2e3 / pi), R("r1", 1e3), feedback=[R("r2", 1e3)])


@MODELS.model(MSL + "Comparator", statements=14, t_end=1.0, signals={"opAmp.out.v": "out of op.effort"}, tolerance=1e-6)
def comparator() -> Graph:
    """Comparator with a potentiometer between the supplies as its reference."""
    plus, minus, out = amplifier(graph := Graph("comparator"))
    graph.connect(trapezoid(), plus).between(None, minus, Se("positive", 15.0), R("upper", 500.0))
    return graph.between(None, minus, Se("negative", -15.0), R("lower", 500.0)).connect(Sf("load"), out)


@MODELS.model(MSL + "InvertingSchmittTrigger", statements=14, t_end=1.0, signals=OUT, tolerance=1e-6)
def inverting_trigger() -> Graph:
    """Inverting Schmitt trigger with thresholds of -1 V and 1 V."""
    plus, minus, out = amplifier(graph := Graph("inverting trigger"))
    return graph.connect(trapezoid(), minus).between(out, plus, R("r2", 14e3)).between(plus, None, R("r1", 1e3))


@MODELS.model(MSL + "SchmittTrigger", statements=14, t_end=1.0, signals=OUT, tolerance=1e-6)
def schmitt_trigger() -> Graph:
    """Schmitt trigger with thresholds of -1 V and 1 V."""
    plus, minus, out = amplifier(graph := Graph("Schmitt trigger"))
    graph.between(None, plus, trapezoid(), R("r1", 1e3)).between(out, plus, R("r2", 15e3))
    return graph.connect(Se("ground", 0.0), minus)


@MODELS.model(MSL + "Multivibrator", statements=17, t_end=1.0, signals={"c.v": "c.effort", **OUT}, tolerance=2e-3)
def multivibrator() -> Graph:
    """10 Hz oscillator: a trigger, and a capacitor charged by the trigger's output."""
    plus, minus, out = amplifier(graph := Graph("multivibrator"))
    graph.between(out, plus, R("r2", 1e3)).between(plus, None, R("r1", 1e3)).between(out, minus, R("r", 1e3))
    return graph.between(minus, None, C("c", capacitance=1 / (2e4 * log(3)), initial=1 / (2e4 * log(3))))


SHAPES = {"c.v": "c.effort", "opAmp1.out.v": "out of trigger.effort", "opAmp2.out.v": "out of integrator.effort"}


@MODELS.model(MSL + "SignalGenerator", statements=23, t_end=1.0, signals=SHAPES, tolerance=1e-6)
def signal_generator() -> Graph:
    """Generator of square and triangle waves: a trigger, and an integrator of the trigger's output."""
    plus, minus, out = amplifier(graph := Graph("signal generator"), "trigger")
    triangle = add_inverter(graph, (out, R("r", 1e3)), feedback=[[C("c", capacitance=37.5e-6)]], name="integrator")
    graph.between(out, plus, R("r2", 1.5e3)).between(plus, triangle, R("r1", 1e3))
    return graph.connect(Se("ground", 0.0), minus)


TANK = {"c.v": "c.effort", "l.i": "l.flow", "opAmp.out.v": "out of op.effort"}


@MODELS.model(MSL + "LCOscillator", statements=20, t_end=0.01, signals=TANK, tolerance=1e-3)
def lc_oscillator() -> Graph:
    """1 kHz oscillator whose amplifier just compensates the damping."""
    plus, minus, out = amplifier(graph := Graph("LC oscillator"))
    graph.between(out, minus, R("r2", 10.0)).between(minus, None, R("r1", 1e4)).between(out, plus, R("r", 1e4))
    c = 1 / ((2000 * pi) ** 2 * 1e-3)
    return graph.between(plus, None, C("c", capacitance=c, initial=10 * c)).between(plus, None, I("l", inductance=1e-3))


CONTROLLED = {
    "firstOrder1A.c.v": "c of first.effort",
    "firstOrder2A.c.v": "c of second.effort",
    "PIA.c.v": "c of PI.effort",
    "firstOrder1B.y": "first lag.y",
    "firstOrder2B.y": "second lag.y",
}


@MODELS.model(MSL + "ControlCircuit", statements=36, t_end=1.0, signals=CONTROLLED, tolerance=1e-6)
def control_circuit() -> Graph:
    """Control of a second-order plant with a disturbance, by amplifiers and, for comparison, by blocks."""
    graph, measured = Graph("control circuit"), J0("measured")
    set_point, load = (Se(f"{name} source", lambda u: u, signals=f"{name}.y") for name in ("set point", "load"))
    error = add_subtracter(graph, (measured,), (None, set_point), "error")
    feedback = R("r of PI", 500.0), C("c of PI", capacitance=2e-5)
    control = add_inverter(graph, (error, R("r", 1e3)), feedback=[feedback], name="PI")
    first = lag(graph, "first", control)
    total = add_inverter(graph, (first, R("a", 1e3)), (None, load, R("b", 1e3)), feedback=[[R("c", 1e3)]], name="sum")
    graph.connect(lag(graph, "second", total), measured)
    for block in (
        signals.step("set point", 0.1, after=10.0),
        signals.step("load", 0.5),
        signals.summation("difference", {"set point.y": 1, "second lag.y": -1}),
        signals.pid("controller", "difference.y", 0.5, 50.0),
        signals.lowpass("first lag", "controller.y", 0.01),
        signals.summation("loaded", {"first lag.y": 1, "load.y": 1}),
        signals.lowpass("second lag", "loaded.y", 0.01),
    ):
        graph.add(block)
    return graph


def lag(graph: Graph, name: str, start: Element) -> Element:
    """Add an inverting low-pass filter of 10 ms; return its output."""
    feedback = [[R(f"r2 of {name}", 1e3)], [C(f"c of {name}", capacitance=1e-5)]]
    return add_inverter(graph, (start, R(f"r1 of {name}", 1e3)), feedback=feedback, name=name)
