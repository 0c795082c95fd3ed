"""Acceptance cases of linear circuits: matrices, poles and time courses in closed form."""

from __future__ import annotations

import numpy as np

from bondgraph import J0, J1, C, Graph, I, R, Se, Sf
from bondgraph.analysis import steady_state
from screws.scalars import exp, sin
from tests.acceptance.entries import Entries, Found, at_end, compiled, joined, matrices, run

ENTRIES = Entries()


@ENTRIES.add("RC")
def rc() -> Found:
    return [(matrices(joined(J1("loop"), C("c", capacitance=1.0), R("r", 1.0)), ["c.q"]), [[-1.0]], 1e-14)]


@ENTRIES.add("RLC on a 0-junction")
def rlc() -> Found:
    graph = joined(J0("node"), R("r", 1.0), C("c", capacitance=1.0), I("l", 1.0))
    return [(matrices(graph, ["c.q", "l.p"]), [[-1.0, -1.0], [1.0, 0.0]], 1e-14)]


@ENTRIES.add("RLC in series with Se")
def rlc_series() -> Found:
    graph = joined(J1("loop"), Se("u", 1.0), R("r", 1.0), C("c", capacitance=1.0), I("l", 1.0))
    return [(matrices(graph, ["l.p", "c.q"], ["u.value"]), [[-1.0, -1.0, 1.0], [1.0, 0.0, 0.0]], 1e-14)]


@ENTRIES.add("C = 10, R = 100, L = 10 with Sf")
def rlc_flow() -> Found:
    graph = joined(J0("node"), Sf("u", 1.0), R("r", 100.0), C("c", capacitance=10.0), I("l", 10.0))
    return [(matrices(graph, ["c.q", "l.p"], ["u.value"]), [[-1e-3, -0.1, 1.0], [0.1, 0.0, 0.0]], 1e-14)]


def decaying(t):
    return exp(-t)


@ENTRIES.add("Se = e^-t on a series RC")
def rc_decaying() -> Found:
    graph = joined(J1("loop"), Se("u", decaying, signals=["time"]), C("c", capacitance=1.0), R("r", 1.0))
    result = run(graph, 5.0)
    return [(result["c.q"], result.t * np.exp(-result.t), 1e-9)]


@ENTRIES.add("Se parallel to C and R")
def parallel() -> Found:
    """The source sets the voltage u of C and R, so its current is C u' + u / R."""
    source = Se("u", lambda t: sin(3.0 * t) + 2.0, signals=["time"])
    model = compiled(joined(J0("node"), source, C("c", capacitance=0.5), R("r", 4.0)))
    times = np.linspace(0.0, 2.0, 5)
    current = [model.evaluate(t)[model.system.resolve("u.flow")] for t in times]
    return [
        (model.causality.derivative, ("c",), 0.0),
        (current, 0.5 * 3.0 * np.cos(3.0 * times) + (np.sin(3.0 * times) + 2.0) / 4.0, 1e-13),
    ]


@ENTRIES.add("RC discharge, R = 2, C = 1, q = 10")
def discharge() -> Found:
    result = run(joined(J1("loop"), R("r", 2.0), C("c", capacitance=1.0, initial=10.0)), 6.0)
    return [(result["c.q"], 10.0 * np.exp(-result.t / 2.0), 1e-8)]


@ENTRIES.add("RLC in two nested graphs")
def nested() -> Found:
    flat = joined(J1("loop"), Se("u", 2.0), R("r", 3.0), C("c", capacitance=0.5), I("l", 4.0))
    left, right, outer = Graph("left"), Graph("right"), Graph("outer")
    left.connect(Se("u", 2.0), a := J1("a")).connect(a, R("r", 3.0)).expose("port", a)
    right.connect(b := J1("b"), C("c", capacitance=0.5)).connect(b, I("l", 4.0)).expose("port", b)
    outer.connect(left.port("port"), right.port("port"))
    states = ["c.q", "l.p"]
    split = matrices(outer, [f"right.{name}" for name in states], ["left.u.value"])
    return [(split, matrices(flat, states, ["u.value"]), 1e-14)]


@ENTRIES.add("Sf = 3 and Sf = sin 2t on RC")
def flow_sources() -> Found:
    out = []
    for source, wanted in ((Sf("i", 3.0), 2.986524), (Sf("i", lambda t: sin(2.0 * t), signals=["time"]), 0.236258)):
        graph = joined(J0("node"), source, C("c", capacitance=1.0, initial=1.0), R("r", 1.0))
        out.append((at_end(graph, 5.0, "c.q"), wanted, 6e-7))
    return out


@ENTRIES.add("Pi filter")
def pi_filter() -> Found:
    graph, near, branch, far = Graph("pi"), J0("near"), J1("branch"), J0("far")
    graph.connect(Se("u", 1.0), near).connect(near, C("a", capacitance=1.0)).connect(near, branch)
    graph.connect(branch, R("r", 1.0)).connect(branch, I("l", 1.0)).connect(branch, far)
    graph.connect(far, C("b", capacitance=1.0)).connect(far, R("load", 1.0))
    point = steady_state(compiled(graph))
    return [([point[name] for name in ("a.q", "b.q", "l.p")], [1.0, 0.5, 0.5], 1e-9)]


@ENTRIES.add("linear algebraic loop")
def linear_loop() -> Found:
    graph, a, node, b = Graph("loop"), J1("a"), J0("node"), J1("b")
    graph.connect(Se("u", 1.0), a).connect(a, R("r2", 2.0)).connect(a, node).connect(node, R("r3", 3.0))
    graph.connect(node, b).connect(b, R("r5", 5.0)).connect(b, I("i7", 7.0))
    return [(matrices(graph, ["i7.p"], ["u.value"]), [[-31 / 35, 0.6]], 1e-14)]
