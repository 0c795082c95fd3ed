"""Acceptance cases of mechanics and machines: motors, masses, oscillators, a pendulum and a rigid body."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import ellipk

from bondgraph import GY, J0, J1, TF, Automaton, C, EulerJunction, Graph, I, R, Se, Sf, Transition
from bondgraph.analysis import linearise, reciprocity, steady_state
from screws.scalars import array, cos, sin
from tests.acceptance.entries import Entries, Found, at_end, compiled, joined, poles, run

ENTRIES = Entries()


def motor(graph: Graph) -> Any:
    coil, shaft, k = J1("coil"), J1("shaft"), GY("k", 9.54e-3)
    graph.connect(Se("u", 5.0), coil).connect(coil, R("winding", 4.0)).connect(coil, I("l", 15e-6))
    graph.connect(coil, k).connect(k, shaft).connect(shaft, I("j", 1e-6)).connect(shaft, R("b", 1e-6))
    return shaft


@ENTRIES.add("DC motor")
def dc_motor() -> Found:
    motor(graph := Graph("motor"))
    model = compiled(graph)
    (speed,) = at_end(graph, 1.0, "shaft.flow")
    return [
        (linearise(model).poles()[0], -266643.9, 2e-7),
        (linearise(model).poles()[1], -23.755, 1e-5),
        (steady_state(model)["shaft.flow"], 502.044, 5e-4),
        (speed, 502.044, 5e-4),
    ]


@ENTRIES.add("DC motor with hoist")
def hoist() -> Found:
    graph = Graph("hoist")
    shaft, drum, rope, load = motor(graph), TF("drum", 0.05), J0("rope"), J1("load")
    graph.connect(shaft, drum).connect(drum, rope).connect(rope, C("stretch", capacitance=1e-6)).connect(rope, load)
    graph.connect(load, I("mass", 5e-3)).connect(Se("weight", -5e-3 * 9.81), load)
    point = steady_state(compiled(graph))
    speed, current = at_end(graph, 12.0, "shaft.flow", "coil.flow")
    return [([point["shaft.flow"], speed], 398.793, 1.5e-6), ([point["coil.flow"], current], 0.298878, 6e-7)]


@ENTRIES.add("two masses")
def two_masses() -> Found:
    graph, v1, v2, force, stretch = Graph("two"), J1("v1"), J1("v2"), J0("force"), J1("stretch")
    graph.connect(v1, I("m1", 2.0)).connect(v1, C("k1", stiffness=250.0)).connect(v1, R("c1", 5.0))
    graph.connect(v1, force).connect(force, v2).connect(v2, I("m2", 1.0)).connect(force, stretch)
    graph.connect(stretch, C("k2", stiffness=400.0)).connect(stretch, R("c2", 15.0))
    wanted = [-11.6728 - 22.5896j, -11.6728 + 22.5896j, -0.82715 - 8.755j, -0.82715 + 8.755j]
    return [(poles(graph), wanted, 6e-5)]


@ENTRIES.add("derivative causality: effective mass")
def effective_mass() -> Found:
    """An effort on side 1 accelerates the effective mass m1 + m2 / 9 = 23/9, because v2 = v1 / 3."""
    graph, v1, v2, lever = Graph("lever"), J1("v1"), J1("v2"), TF("lever", 1 / 3)
    graph.connect(Se("u", 1.0), v1).connect(v1, I("m1", 2.0)).connect(v1, lever).connect(lever, v2)
    graph.connect(v2, I("m2", 5.0)).connect(v2, R("b", 7.0))
    model = compiled(graph)
    linear = linearise(model, ["u.value"], ["v1.flow"])
    gain = linear.C @ linear.B  # acceleration immediately after a unit effort
    return [(linear.poles(), [-7 / 23], 1e-13), (1.0 / gain, [[23 / 9]], 1e-13)]


@ENTRIES.add("Duffing oscillator")
def duffing() -> Found:
    """With unit inertia and H = x^2 / 2 + x^4 / 4, the period at amplitude a is 4 K(m) / sqrt(1 + a^2), m = a^2 / (2 + 2 a^2)."""
    spring = C("x", output=lambda x: x + x**3, energy=lambda x: x**2 / 2 + x**4 / 4, initial=1.5)
    graph = joined(J1("v"), spring, I("m", 1.0))
    law = linearise(compiled(graph), initial={"x.q": 0.5}).A
    period = 4.0 * ellipk(1.5**2 / (2.0 + 2.0 * 1.5**2)) / np.sqrt(1.0 + 1.5**2)
    result = run(graph, 5.0 * period, [0.0, 2.5 * period, 5.0 * period])
    return [(law, [[0.0, 1.0], [-1.75, 0.0]], 1e-14), (result["x.q"], [1.5, -1.5, 1.5], 1e-7)]


def plate() -> Any:
    def efforts(z, c):
        x, y = z[0], z[1]
        return array([x / (c + y), -x * x / (2.0 * (c + y) * (c + y))])

    def energy(z, c):
        return z[0] * z[0] / (2.0 * (c + z[1]))

    return C("plate", output=efforts, energy=energy, parameters={"c": 1.0}, initial=[0.3, 0.2])


@ENTRIES.add("two-port storage and moving-plate capacitor")
def moving_plate() -> Found:
    """The two-port with H = x^2 / (2 (C + y)) has the efforts dH/dx and dH/dy, and is reciprocal."""
    graph, node, v = Graph("microphone"), J0("node"), J1("v")
    both = J0("both", dimension=2)
    charge, gap = TF("charge", [[1.0], [0.0]]), TF("gap", [[0.0], [1.0]])
    graph.connect(both, plate()).connect(node, charge).connect(charge, both).connect(v, gap).connect(gap, both)
    graph.connect(Sf("i", 0.1), node)
    graph.connect(v, I("m", 1.0, initial=0.1)).connect(v, C("k", stiffness=2.0)).connect(v, R("d", 0.3))
    model = compiled(graph)
    efforts = model.evaluate()[model.system.resolve("plate.effort")]
    (found,) = (r for r in reciprocity(model) if r.element == "plate")
    run(graph, 2.0)
    return [(efforts, [0.3 / 1.2, -(0.3**2) / (2 * 1.2**2)], 1e-15), (found.ok, True, 0.0)]


def crossings(signal: str, component: int | None = None) -> Automaton:
    def part(x):
        return x if component is None else x[component]

    fall = Transition("plus", "minus", lambda x: -part(x), (signal,), kind="fall")
    rise = Transition("minus", "plus", part, (signal,), kind="rise")
    return Automaton("mark", ("plus", "minus"), "plus", (fall, rise))


@ENTRIES.add("pendulum from 90 degrees")
def pendulum() -> Found:
    g = 9.81
    angle = C("angle", output=lambda q: g * sin(q), energy=lambda q: g * (1.0 - cos(q)), initial=np.pi / 2)
    graph = joined(J1("w"), angle, I("m", 1.0)).add_automaton(crossings("angle.q"))
    times = [event.time for event in run(graph, 4.5).events]
    return [(times[2] - times[0], 2.3678419, 6e-8)]


@ENTRIES.add("Euler junction")
def euler() -> Found:
    def turned(h):  # h' = h x w, so that the junction takes w x h
        return array([[0.0, h[2], -h[1]], [-h[2], 0.0, h[0]], [h[1], -h[0], 0.0]])

    inertia = np.array([1.0, 2.0, 3.0])
    body = I("body", inertia, initial=inertia * [0.01, 1.0, 0.01])
    turn = EulerJunction("turn", turned, signals=["body.p"], dimension=3)
    graph = joined(J1("w", dimension=3), body, turn)
    result = run(graph.add_automaton(crossings("body.p", 1)), 20.0, rtol=1e-11)
    momentum = np.linalg.norm(result["body.p"], axis=1)
    return [(result.events[0].time, 10.917, 6e-4), (np.ptp(result["body.energy"]), 0.0, 1e-9), (np.ptp(momentum), 0.0, 1e-9)]
