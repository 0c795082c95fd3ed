"""Loops, pipes and circuits from public issue trackers, with closed forms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import lambertw

from bondgraph import J0, J1, TF, Automaton, C, Diode, Graph, I, R, Se, Switch, Transition, signals
from screws.scalars import absolute, exp, less, maximum, sin, sqrt, where
from tests.comparisons.public_cases import Answer, case, times


def op_amp_oscillator(law: str) -> Graph:
    supply, gain, feedback = 10.0, 15e3, 0.5
    graph, i = Graph("oscillator"), J1("i", domain="electrical")
    graph.connect(i, R("R", 1e4)).connect(i, C("C", capacitance=1e-6, initial=1e-6))
    if law == "trigger":
        level = feedback * supply - supply / gain
        graph.connect(Se("out", lambda low: where(less(0.5, low), -supply, supply), signals=["trigger.mode"]), i)
        down = Transition("high", "low", lambda v: v - level, "C.effort")
        up = Transition("low", "high", lambda v: -v - level, "C.effort")
        graph.add_automaton(Automaton("trigger", ("high", "low"), "high", (down, up)))
        return graph
    out = J0("out", domain="electrical")

    def clipped(v: Any, u: Any) -> Any:
        e = gain * (feedback * u - v)
        return where(less(supply, e), supply, where(less(e, -supply), -supply, e))

    return graph.connect(Se("amp", clipped, signals=["C.effort", "out.effort"]), out).connect(out, i).connect(out, R("load", 2e4))


@case("ModelicaStandardLibrary #4333", 1e-9)
def trigger_with_hysteresis() -> Answer:
    """Every half period is RC ln((U + u) / (U - u)), where U is the saturation voltage and u the voltage at which the amplifier
    leaves saturation."""
    run = op_amp_oscillator("trigger").simulate(1.0)
    level = 5.0 - 10.0 / 15e3
    half = 1e-2 * np.log((10 + level) / (10 - level))
    return Answer(run, np.diff(times(run)), half, half)


def cubic_loop(**guess: Any) -> Graph:
    loop = J1("loop")
    return (
        Graph("cubic")
        .connect(Se("zero", 0.0), loop)
        .connect(loop, R("r", effort=lambda f: (f - 3) * (f + 10) * (f - 15), **guess))
    )


@case("OpenModelica #9868", 1e-14)
def solution_by_guess() -> Answer:
    runs = [cubic_loop(guess={"flow": guess}).simulate(1.0) for guess in (-8.0, 2.0, 14.0)]
    return Answer(runs[-1], [run["r.flow"][-1] for run in runs], [-10.0, 3.0, 15.0])


def tanks(**law: Any) -> Graph:
    graph, pipe = Graph("tanks"), J1("pipe", domain="hydraulic")
    a, b = J0("a", domain="hydraulic"), J0("b", domain="hydraulic")
    graph.connect(a, C("A", capacitance=1.0, initial=1.0)).connect(b, C("B", capacitance=1.0))
    return graph.connect(a, pipe).connect(pipe, b).connect(pipe, R("orifice", **law))


def tank(outflow: Callable[..., Any]) -> Graph:
    graph, bottom = Graph("tank"), J0("bottom", domain="hydraulic")
    return graph.connect(bottom, C("tank", capacitance=1.0, initial=1.0)).connect(bottom, R("hole", flow=outflow))


@case("modelica-ibpsa #745", 1e-7)
def root_law_at_zero_flow() -> Answer:
    """The levels meet after 2 s, when the slope of the square-root law is infinite, and stay together."""
    run = tanks(flow=lambda e: where(less(0.0, e), 1.0, -1.0) * sqrt(absolute(e) / 4.0)).simulate(4.0)
    return Answer(run, run["A.q"] - run["B.q"], np.maximum(1.0 - run.t / 2, 0.0) ** 2)


@case("ModelicaStandardLibrary #2770", 1e-14)
def loss_whose_square_term_vanishes() -> Answer:
    graph, pipe = Graph("pipe"), J1("pipe", domain="hydraulic")
    law = R("loss", effort=lambda f, a, b: a * f * absolute(f) + b * f, parameters={"a": 1e-3, "b": 2.0})
    compiled = graph.connect(Se("pump", 10.0), pipe).connect(pipe, law).compile()
    squares = np.array([1e-3, 1e-16, 1e-300, 0.0])
    runs = [compiled.simulate(1.0, parameters={"loss.a": a}) for a in squares]
    exact = 20.0 / (2.0 + np.sqrt(4.0 + 40.0 * squares))
    return Answer(runs[-1], [run["loss.flow"][-1] for run in runs], exact, 5.0)


@case("ModelingToolkit.jl #933", 1e-13)
def coils_in_series() -> Answer:
    graph, i = Graph("coils"), J1("i", domain="electrical")
    graph.connect(Se("u", 5.0), i).connect(i, R("r", 2.0)).connect(i, I("a", 0.1)).connect(i, I("b", 0.3))
    run = graph.simulate(1.0)
    return Answer(run, run["i.flow"], 2.5 * (1 - np.exp(-5 * run.t)), 2.5)


@case("ModelingToolkit.jl #1363", 1e-13)
def capacitors_across_a_source() -> Answer:
    graph, i = Graph("divider"), J1("i", domain="electrical")
    graph.connect(Se("u", lambda t: sin(2 * np.pi * t), signals=["time"]), i)
    run = graph.connect(i, C("a", capacitance=1.0)).connect(i, C("b", capacitance=3.0)).simulate(1.0)
    return Answer(run, run["i.flow"], 1.5 * np.pi * np.cos(2 * np.pi * run.t))


def coupled_coils() -> Graph:
    graph, both = Graph("coils"), J0("both", dimension=2)
    for k, part in enumerate((R("r", 1.0), R("load", 4.0))):
        side, row = J1(f"side {k}"), TF(f"row {k}", np.eye(2)[:, [k]])
        graph.connect(side, part).connect(side, row).connect(row, both)
    return graph.connect(both, I("L", np.array([[0.5, 0.5], [0.5, 0.5]])))


@case("ModelicaStandardLibrary #1011", 1e-13)
def coils_that_share_a_core() -> Answer:
    """An I of 0.5 H and a transformer of ratio 1 represent coils with L1 = L2 = M, which share one flux."""
    graph, core, turns = Graph("transformer"), J0("core", domain="electrical"), TF("turns", 1.0)
    primary, secondary = J1("primary", domain="electrical"), J1("secondary", domain="electrical")
    graph.connect(Se("u", 10.0), primary).connect(primary, R("r", 1.0)).connect(primary, core).connect(core, I("L", 0.5))
    run = graph.connect(core, turns).connect(turns, secondary).connect(secondary, R("load", 4.0)).simulate(2.0)
    return Answer(run, run["load.flow"], 2.0 * np.exp(-1.6 * run.t))


@case("circuitjs1 #971", 1e-14)
def switch_on_a_coil() -> Answer:
    graph, i = Graph("switched coil"), J1("i", domain="electrical")
    graph.connect(Se("u", 5.0), i).connect(i, R("r", 2.0)).connect(i, I("L", 0.1)).connect(
        i, Switch("s", automaton="gate", closed="on")
    )
    graph.add_automaton(Automaton("gate", ("on", "off"), "on", (Transition("on", "off", lambda t: t - 0.1, "time"),)))
    run = graph.simulate(0.3)
    return Answer(run, [run.events[0].lost, run["i.flow"][-1]], [0.05 * (2.5 * (1 - np.exp(-2))) ** 2, 0.0])


@case("circuitjs1 #376", 1e-10)
def coil_without_resistance() -> Answer:
    """A coil without resistance keeps the offset of its current, u / (w L) (1 - cos w t)."""
    graph, i, w = Graph("coil"), J1("i", domain="electrical"), 100 * np.pi
    graph.connect(Se("u", lambda t: 325.0 * sin(w * t), signals=["time"]), i).connect(i, I("L", 0.1))
    run = graph.simulate(1.0)
    top = 325.0 / (w * 0.1)
    return Answer(run, run["i.flow"], top * (1 - np.cos(w * run.t)), top)


def diode_beside_a_resistor(resistance: float) -> Graph:
    graph, i, node, arm = Graph("rectified RC"), J1("i"), J0("node"), J1("arm")
    graph.connect(Se("u", lambda u: u, signals=["p.y"]), i).connect(i, node).connect(i, C("C", capacitance=1e-3))
    graph.connect(node, R("R", 1e3)).connect(arm, Diode("D")).connect(arm, node)
    if resistance:
        graph.connect(arm, R("inside", resistance))
    graph.add(signals.pulse("p", start=0.0, width=3.0, after=5.0))
    return graph


@case("circuitjs1 #637", 1e-7)
def diode_empties_a_capacitor() -> Answer:
    """The capacitor charges with a time constant of 1 s, and discharges through the diode with one of 1 us."""
    run = diode_beside_a_resistor(1e-3).simulate(6.0)
    charging = run.t < 3.0
    exact = np.where(charging, 5 * (1 - np.exp(-run.t)), 0.0)
    after = run.t > 3.001
    return Answer(run, run["C.effort"][charging | after], exact[charging | after], 5.0)


@case("PowerGrid #383", 1e-10)
def bridge_of_exponential_diodes() -> Answer:
    saturation, thermal = 1e-12, 0.02585
    line, load, (a, b, plus, minus) = J1("line"), J1("load"), (J0(name) for name in ("a", "b", "plus", "minus"))
    graph = Graph("bridge").connect(Se("u", lambda t: 10 * sin(100 * np.pi * t), signals=["time"]), line)
    graph.connect(b, line).connect(line, a).connect(line, R("r", 1.0)).connect(minus, R("ground", 1e6))
    for k, (tail, head) in enumerate(((a, plus), (b, plus), (minus, a), (minus, b))):
        arm = J1(f"arm {k}")
        graph.connect(tail, arm).connect(arm, R(f"d{k}", flow=lambda e: saturation * (exp(e / thermal) - 1))).connect(arm, head)
    run = graph.connect(plus, load).connect(load, R("load r", 100.0)).connect(load, minus).simulate(0.02)
    drop = np.abs(10 * np.sin(100 * np.pi * run.t))
    # 2 thermal ln(1 + i / saturation) + 101 i = drop, by Lambert's W
    factor = 101 * saturation / (2 * thermal)
    exact = 2 * thermal / 101 * lambertw(factor * np.exp((drop + 101 * saturation) / (2 * thermal))).real - saturation
    return Answer(run, run["load.flow"], exact)


@case("ModelicaStandardLibrary #1582", 1e-8)
def tank_that_runs_empty() -> Answer:
    """A tank with a hole is empty after 1 s and stays empty, because the law uses only the positive part of the pressure."""
    run = tank(lambda e: 2.0 * sqrt(maximum(e, 0.0))).simulate(3.0)
    return Answer(run, run["tank.q"], np.maximum(1.0 - run.t, 0.0) ** 2)
