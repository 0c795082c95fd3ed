"""Models of every kind that a page simulates."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from bondgraph import GY, J0, J1, C, Diode, Graph, I, R, Se, signals
from examples import bouncing_ball
from screws.scalars import sin
from tests.sweeps.oscillators import oscillator
from tests.systems import SYSTEMS


class Case(NamedTuple):
    graph: Callable[[], Graph]
    t_end: float
    settings: Mapping[str, Any]
    slider: tuple[str, float, float, float]
    show: tuple[str, ...]


def stiff() -> Graph:
    graph, v = Graph("stiff"), J1("v")
    graph.connect(v, I("m", 1.0, initial=1.0)).connect(v, C("c", stiffness=1e3, initial=1.0))
    return graph.connect(v, R("r", 1e3))


def servo() -> Graph:
    graph, current, speed = Graph("servo"), J1("current", domain="electrical"), J1("speed", domain="rotation")
    graph.add(signals.step("wanted", start=0.05, after=100.0))
    graph.add(signals.summation("error", {"wanted.y": 1, "rotor.flow": -1}))
    graph.add(signals.sampled_pid("controller", "error.y", kp=0.05, ki=2.0, kd=1e-4, period=1e-3, limits=(-24.0, 24.0)))
    graph.connect(Se("supply", lambda u: u, signals=["controller.y"]), current)
    graph.connect(current, R("winding", 1.0)).connect(current, I("coil", 2e-3))
    motor = GY("motor", 0.05)
    graph.connect(current, motor).connect(motor, speed)
    return graph.connect(speed, I("rotor", 1e-4)).connect(speed, R("bearing", 1e-4))


def bridge() -> Graph:
    mains, a, b, plus = J1("mains"), J0("a"), J0("b"), J0("plus")
    graph = Graph("bridge").connect(Se("u", lambda t: 20 * sin(314.16 * t), signals="time"), mains)
    graph.connect(b, mains).connect(mains, a).connect(mains, R("winding", 1.0)).connect(b, R("leak", 1e6))
    for name, tail, head in (("a plus", a, plus), ("b plus", b, plus), ("ground a", None, a), ("ground b", None, b)):
        arm = J1(name)
        graph.connect(arm, Diode(f"diode {name}")).connect(arm, R(f"R {name}", 1e-3)).connect(arm, head)
        if tail is not None:
            graph.connect(tail, arm)
    return graph.connect(plus, C("reservoir", capacitance=1e-3)).connect(plus, R("load", 50.0))


def newton_loop() -> Graph:
    graph, v = Graph("loop"), J1("v")
    graph.connect(Se("source", lambda t: 2.0 * sin(6.0 * t), signals=["time"]), v).connect(v, R("r", 1.0))
    return graph.connect(v, R("d", effort=lambda i: i + i**3)).connect(v, C("c", capacitance=0.3))


def resistive() -> Graph:
    v = J1("v")
    return Graph("resistive").connect(Se("source", lambda t: sin(6.0 * t), signals=["time"]), v).connect(v, R("r", 2.0))


def van_der_pol() -> Graph:
    """Return Van der Pol's oscillator, x'' = mu (1 - x^2) x' - x - f(x'), with tabulated friction f."""
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
