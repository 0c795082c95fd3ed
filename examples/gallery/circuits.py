"""Sources, bridges and measuring blocks that several models of the gallery share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import pi

from bondgraph import Element, Graph, Se
from screws.scalars import sin


def sine(name: str, amplitude: float, frequency: float, phase: float = 0.0) -> Element:
    """Source of a sine."""
    return Se(name, lambda t: amplitude * sin(2 * pi * frequency * t + phase), signals="time")


def bridge(
    graph: Graph,
    lines: Sequence[Element],
    plus: Element,
    minus: Element | None,
    upper: Callable[[str], Graph],
    lower: Callable[[str], Graph],
) -> Graph:
    """Put a valve between each line and plus, and between minus and each line."""
    for k, line in enumerate(lines, 1):
        graph.between(line, plus, upper(f"upper {k}")).between(minus, line, lower(f"lower {k}"))
    return graph
