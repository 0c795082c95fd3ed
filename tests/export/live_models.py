"""Models of every kind that a page simulates: smooth, stiff, with events, accumulation, clocks, ideal diodes, loops, contact."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from bondgraph import J1, C, Graph, I, R, Se, signals
from campaigns.runs_in_c import bridge, newton_loop, oscillator, servo, stiff
from examples import bouncing_ball
from tests.systems import SYSTEMS


class Case(NamedTuple):
    """A model, the end of its run (s), settings, a slider with its range and another value, and what is shown."""

    graph: Callable[[], Graph]
    t_end: float
    settings: Mapping[str, Any]
    slider: tuple[str, float, float, float]
    show: tuple[str, ...]


def van_der_pol() -> Graph:
    """x'' = mu (1 - x^2) x' - x, with friction along a curve through points."""
    graph, v = Graph("Van der Pol"), J1("v")
    friction = signals.curve([-3.0, -1.5, -0.1, 0.0, 0.2, 1.7, 2.5], [-1.0, -0.7, -0.1, 0.0, 0.3, 0.8, 2.0], "akima", "extend")
    graph.connect(v, I("m", 1.0)).connect(v, C("c", stiffness=1.0, initial=2.0)).connect(v, R("r", effort=friction))
    push = Se("f", lambda x, v, mu: mu * (1 - x * x) * v, signals=["c.q", "m.flow"], parameters={"mu": 1.0})
    return graph.connect(push, v)


CASES = {
    "oscillator": Case(oscillator, 5.0, {}, ("spring.stiffness", 10.0, 200.0, 75.0), ("mass.flow", "spring.q")),
    "van der Pol": Case(van_der_pol, 20.0, {}, ("f.mu", 0.5, 3.0, 2.0), ("c.q", "r.effort")),
    "ball to rest": Case(bouncing_ball.with_restitution, 6.0, {}, ("ball.inertia", 0.5, 2.0, 1.5), ("floor.h", "contact.mode")),
    "ball on a constraint": Case(
        lambda: bouncing_ball.on_constraint(20.0), 6.0, {}, ("ball.inertia", 0.5, 2.0, 1.5), ("floor.h", "ball.flow")
    ),
    "servo": Case(servo, 0.5, {}, ("controller.kp", 0.01, 0.1, 0.07), ("rotor.flow", "controller.y")),
    "bridge": Case(bridge, 0.1, {}, ("load.resistance", 20.0, 100.0, 30.0), ("plus.effort",)),
    "Newton loop": Case(newton_loop, 2.0, {}, ("c.capacitance", 0.1, 1.0, 0.5), ("c.q", "d.flow")),
    "stiff": Case(stiff, 300.0, {"method": "rodas5p"}, ("r.resistance", 500.0, 2000.0, 800.0), ("c.q",)),
    "eggs": Case(SYSTEMS["rolling eggs"], 2.0, {"rtol": 1e-10}, ("gravity.spring.force", -20.0, 20.0, 1.0), ("contact.gap",)),
    "delta": Case(SYSTEMS["delta"], 1.0, {}, ("motor 1.torque", -10.0, 10.0, 1.0), ("arm 1.mechanism.q",)),
}
"""Models by name."""
