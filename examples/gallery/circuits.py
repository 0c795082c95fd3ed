"""Sources, bridges and measuring blocks that several models of the gallery share."""

from __future__ import annotations

from collections.abc import Sequence
from math import pi

from screwbond.models import parts

from bondgraph import Block, Element, Graph, Se, signals
from screws.scalars import sin


def sine(name: str, amplitude: float, frequency: float, phase: float = 0.0) -> Element:
    return Se(name, lambda t: amplitude * sin(2 * pi * frequency * t + phase), signals="time")


def bridge(
    graph: Graph,
    lines: Sequence[Element | None],
    plus: Element,
    minus: Element | None,
    upper: Sequence[Graph],
    lower: Sequence[Graph],
) -> Graph:
    """Add a valve from each line to the positive rail `plus`, and one from the negative rail `minus` to each line."""
    for line, up, down in zip(lines, upper, lower, strict=True):
        graph.between(line, plus, up).between(minus, line, down)
    return graph


def diodes(name: str, count: int, *values: float) -> list[Graph]:
    return [parts.electrical.ideal_diode(f"{name} {k}", *values) for k in range(1, count + 1)]


def add_mean(graph: Graph, name: str, signal: str, frequency: float) -> Graph:
    """Add a signal `<name>.y`: the mean of a signal over the last whole period."""
    graph.add(signals.integrator(f"{name} sum", signal))
    graph.add(signals.sampled_derivative(name, f"{name} sum.y", 1 / frequency))
    return graph


def add_pwm(graph: Graph, name: str, duty: str, frequency: float) -> Graph:
    """Add signals `<name>.on`, above 1/2 during the pulse that begins each period, and `<name>.off`."""
    graph.add(signals.hold(f"{name} duty", duty, 1 / frequency))
    graph.add(signals.sawtooth(f"{name} saw", 1 / frequency))
    formulas = [("on", lambda d, s: 0.5 + d - s, ["d", "s"]), ("off", lambda d, s: 0.5 + s - d, ["d", "s"])]
    graph.add(Block(name, formulas, inputs={"d": f"{name} duty.y", "s": f"{name} saw.y"}))
    return graph
