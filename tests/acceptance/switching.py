"""Acceptance cases of switching: impacts, clutches, friction, converters, and a ball on stabilised constraints."""

from __future__ import annotations

import numpy as np

from benchmarks.events import boost as converter
from bondgraph import J0, J1, Automaton, C, Constraint, Diode, Friction, Graph, I, R, Se, Sf, Transition
from screws.scalars import minimum, sin
from tests.acceptance.entries import Entries, Found, joined, run

ENTRIES = Entries()


@ENTRIES.add("bouncing ball")
def bouncing() -> Found:
    """A ball dropped with restitution e hits the floor at t1 = sqrt(2 h / g) and (1 + 2 e) t1; its impacts accumulate at t1
    (1 + e) / (1 - e)."""
    floor = Constraint("floor", initial=1.0, automaton="contact", active=["resting"], restitution=0.8)
    graph = joined(J1("v"), Se("weight", -9.81), I("ball", 1.0), floor)
    bounce = Transition("free", "free", lambda h: -h, ("floor.h",), impact=("floor",), accumulates="resting")
    graph.add_automaton(Automaton("contact", ("free", "resting"), "free", (bounce,)))
    result = run(graph, 5.0)
    limit = next(event for event in result.events if event.accumulation is not None)
    return [
        ([event.time for event in result.events[:2]], [0.451524, 1.173961], 6e-7),
        (limit.accumulation, 4.063713, 3e-7),
        (result.t[-1], 5.0, 1e-12),
        ([result["floor.h"][-1], result["ball.p"][-1], result["floor.multiplier"][-1]], [0.0, 0.0, 9.81], 1e-9),
    ]


@ENTRIES.add("bullet and wood")
def bullet() -> Found:
    graph, bullet, wood, gap = Graph("shot"), J1("bullet v"), J1("wood v"), J0("gap")
    graph.connect(bullet, I("bullet", 1.0, initial=1.0)).connect(wood, I("wood", 1.0))
    graph.connect(wood, gap).connect(gap, bullet)
    graph.connect(gap, Constraint("hold", initial=0.2, automaton="contact", active=["together"]))
    hit = Transition("apart", "together", lambda h: -h, ("hold.h",), kind="impact")
    graph.add_automaton(Automaton("contact", ("apart", "together"), "apart", (hit,)))
    result = run(graph, 1.0)
    (event,) = result.events
    return [
        (event.time, 0.2, 1e-9),
        ([result["bullet v.flow"][-1], result["wood v.flow"][-1]], 0.5, 1e-9),
        (event.lost, 0.25, 1e-9),
    ]


@ENTRIES.add("clutch")
def clutch() -> Found:
    graph, a, b, slip = Graph("clutch"), J1("a"), J1("b"), J0("slip")
    graph.connect(a, I("drive", 1.0, initial=10.0)).connect(a, slip).connect(slip, b).connect(b, I("load", 2.0))
    graph.connect(slip, Friction("plates", 5.0, initial="forward"))
    result = run(graph, 3.0)
    (event,) = result.events
    return [
        (event.time, 1.33333, 6e-6),
        ([result["a.flow"][-1], result["b.flow"][-1]], 3.33333, 6e-6),
        (result["a.flow"][-1] - result["b.flow"][-1], 0.0, 1e-14),
        (result.ledger.dissipated[-1], 33.3333, 6e-5),
    ]


@ENTRIES.add("clutch that locks at once")
def rigid_clutch() -> Found:
    """The clutch locks at once; its impulse conserves momentum, so the final speed and the loss equal those with friction."""
    graph, a, b, slip = Graph("clutch"), J1("a"), J1("b"), J0("slip")
    graph.connect(a, I("drive", 1.0, initial=10.0)).connect(a, slip).connect(slip, b).connect(b, I("load", 2.0))
    graph.connect(slip, Constraint("plates", holds="velocity", automaton="lever", active=["locked"]))
    lock = Transition("open", "locked", lambda t: t - 1.0, ("time",))
    graph.add_automaton(Automaton("lever", ("open", "locked"), "open", (lock,)))
    result = run(graph, 3.0)
    (event,) = result.events
    speeds = [result["a.flow"][-1], result["b.flow"][-1]]
    return [(event.time, 1.0, 1e-12), (speeds, 10.0 / 3.0, 1e-12), (event.lost, 100.0 / 3.0, 1e-12)]


@ENTRIES.add("stick-slip")
def stick_slip() -> Found:
    """With m = k = 1, a belt at 0.2 m/s, stiction 1 N and friction 0.5 N, the mass slips for pi + 2 atan(0.4) s and sticks
    for 5 s."""
    graph, v, relative, belt = Graph("belt"), J1("v"), J0("relative"), 0.2
    graph.connect(v, I("m", 1.0, initial=belt)).connect(v, C("k", capacitance=1.0, initial=0.5))
    graph.connect(Sf("belt", belt), relative).connect(relative, v)
    graph.connect(relative, Friction("friction", 0.5, stick_limit=1.0))
    result = run(graph, 30.0)
    times = [event.time for event in result.events]
    assert [event.kind for event in result.events][:2] == ["friction slips", "friction sticks"]
    sticking = result["friction.mode"] == 0.0
    return [(np.diff(times)[:4], [3.902605, 5.0, 3.902605, 5.0], 6e-7), (np.ptp(result["v.flow"][sticking]), 0.0, 1e-14)]


@ENTRIES.add("ideal rectifier")
def rectifier() -> Found:
    graph, loop, out = Graph("rectifier"), J1("loop"), J0("out")
    graph.connect(Se("mains", lambda t: 10.0 * sin(100.0 * np.pi * t), signals=["time"]), loop)
    graph.connect(loop, Diode("diode", initial="closed")).connect(loop, out)
    graph.connect(out, C("c", capacitance=200e-6, nominal=1e-3)).connect(out, R("load", 100.0))
    result = run(graph, 0.05)
    off, on = result.events[:2]
    assert [off.kind, on.kind] == ["diode opens", "diode closes"]
    return [
        ([off.time, on.time], [5.502392e-3, 21.466345e-3], 6e-10),
        ([off.x_before[0] / 200e-6, on.x_before[0] / 200e-6], [9.875705, 4.445445], 6e-7),
    ]


@ENTRIES.add("ideal boost converter")
def boost() -> Found:
    half = 0.5 / 50e3
    result = run(converter(), 1500 * 2 * half, [1500 * 2 * half])
    before = {name: result.at_events(name)[0] for name in ("coil.flow", "out.effort")}
    kinds = [event.kind for event in result.events]
    last = {kind: max(k for k, one in enumerate(kinds) if one == kind) for kind in ("open", "closed")}
    found = {kind: [before["coil.flow"][k], before["out.effort"][k]] for kind, k in last.items()}
    return [(found["closed"], [4.196961, 24.109746], 6e-7), (found["open"], [5.396961, 23.86985], 6e-7)]


def landing(alpha1: float) -> Graph:
    """Return the ball of Bortoff 2020, section 2, whose contact is a constraint that a three-state machine switches."""
    ground = Constraint(
        "ground", alpha1=alpha1, alpha0=100.0, alpha2=1e6, initial=1.0, automaton="contact", active=["contact"], closing="smooth"
    )
    graph = joined(J1("v"), Se("weight", -9.81), I("ball", 1.0), ground)
    transitions = (
        Transition("free", "contact", lambda h: -h, ("ground.h",), kind="touch"),
        Transition("contact", "ballistic", lambda force: -force, ("ground.multiplier",), kind="let go"),
        Transition("ballistic", "free", lambda h: h, ("ground.h",), kind="off"),
        Transition("ballistic", "contact", lambda h, v: minimum(-h, -v), ("ground.h", "ground.h'"), kind="back"),
    )
    return graph.add_automaton(Automaton("contact", ("free", "contact", "ballistic"), "free", transitions))


@ENTRIES.add("ball on a constraint, a1 = 0")
def growing() -> Found:
    result = run(landing(0.0), 12.0, rtol=1e-11)
    touches = [event for event in result.events if event.kind == "touch"]
    slot = result.program.layout
    heights = [e.x_before[slot["ground.h"].start] + e.x_before[slot["ball.p"].start] ** 2 / 2.0 / 9.81 for e in touches]
    fifth = [event.time for event in result.events if event.kind == "let go"][4]
    return [(np.diff(heights), 0.0138852, 5e-8), (np.ptp(np.diff(heights)), 0.0, 1e-9), (fifth, 4.3620, 5e-5)]


@ENTRIES.add("ball on a constraint, a1 = 10 and 20")
def settling() -> Found:
    found: Found = []
    for alpha1, bounces in ((10.0, 4), (20.0, 2)):
        result = run(landing(alpha1), 8.0)
        kinds = [event.kind for event in result.events]
        found += [(kinds.count("let go"), bounces, 0.0), (kinds[-1], "touch", 0.0)]
        found += [(result["ground.multiplier"][-1], 9.81, 1e-8), (result["ground.h"][-1], 0.0, 1e-8)]
    return found
