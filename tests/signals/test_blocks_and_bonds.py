"""Signals act on bonds, cross the boundaries of nested graphs, and switch automata."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import signal as control

from bondgraph import GY, J1, MTF, Automaton, C, Element, Graph, I, R, Se, Transition, compile_model, signals
from tests.signals.chains import chain, compiled, ramped, value


def motor(*controller: Element, voltage: str) -> Graph:
    graph, coil, shaft = Graph("drive"), J1("coil"), J1("shaft")
    constant = GY("K", 0.2)
    graph.connect(Se("U", lambda u: u, signals=[voltage]), coil).connect(coil, R("winding", 4.0))
    graph.connect(coil, I("L", 0.5)).connect(coil, constant.port("1")).connect(constant.port("2"), shaft)
    graph.connect(shaft, I("J", 0.1)).connect(shaft, R("b", 0.05))
    graph.add(*controller)
    return graph


@pytest.mark.parametrize(("kp", "ki"), [(3.0, 2.0), (10.0, 8.0)])
def test_pi_speed_control_of_a_motor(kp: float, ki: float) -> None:
    """The transfer function is K (kp s + ki) / (s ((L s + R)(J s + b) + K^2) + K (kp s + ki))."""
    model = compile_model(
        motor(
            signals.step("goal", -1.0, after=15.0),
            signals.summation("error", {"goal.y": 1, "J.flow": -1}),
            signals.pid("control", "error.y", 3.0, 2.0),
            voltage="control.y",
        )
    )
    times = np.linspace(0.0, 8.0, 81)
    run = model.simulate(8.0, rtol=1e-10, samples=times, parameters={"control.kp": kp, "control.ki": ki})
    plant = np.polyadd(np.polymul([0.5, 4.0], [0.1, 0.05]), [0.2**2])
    loop = 0.2 * np.array([kp, ki])
    _, wanted = control.step((15.0 * loop, np.polyadd(np.polymul(plant, [1.0, 0.0]), loop)), T=times)
    np.testing.assert_allclose(run["J.flow"], wanted, atol=1e-6)
    assert run.ledger.relative_residual < 1e-8


def test_a_closed_loop_without_delay_is_solved_in_place() -> None:
    """y = k (u - y) through a gain and a sum gives u k / (1 + k), without a state."""
    model = compiled(ramped(), signals.summation("error", {"t.y": 1, "back.y": -1}), signals.gain("back", "error.y", 4.0))
    assert value(model, "back.y", 3.0) == pytest.approx(3.0 * 4.0 / 5.0)


def test_signals_drive_a_lever_and_a_source() -> None:
    """The ratio n of the lever grows with time, and v' = (F - n k q) / m, q' = n v."""
    graph, v = Graph("lever"), J1("v")
    lever = MTF("lever", lambda n: n, signals=["ratio.y"])
    graph.connect(Se("push", lambda u: u, signals=["push limit.y"]), v).connect(v, I("m", 2.0, initial=1.0))
    graph.connect(v, lever).connect(lever, C("k", stiffness=5.0, initial=0.3))
    graph.add(ramped(offset=1.0), signals.table("ratio", "t.y", [1.0, 2.0], [3.0, 7.0]))
    graph.add(signals.gain("stroke", "k.q", 100.0), signals.limiter("push limit", "stroke.y", -4.0, 4.0))
    model = compile_model(graph)
    x, m = model.initial()
    slots = model.program.layout
    for t, n in ((0.0, 3.0), (0.25, 4.0), (0.5, 5.0), (3.0, 7.0)):
        rates = model.program.rates(t, x, model.parameters(), m)
        assert rates[slots["k.q"].start] == pytest.approx(n * 0.5)
        assert rates[slots["m.p"].start] == pytest.approx(4.0 - n * 5.0 * 0.3)
    assert model.simulate(1.0, rtol=1e-9).ledger.relative_residual < 1e-8


def test_blocks_inside_a_nested_graph_read_its_inputs_and_time() -> None:
    part = Graph("part").declare_input("u")
    part.add(signals.sine("s"), signals.summation("sum", {"u": 1, "s.y": 1})).name  # noqa: B018
    graph = Graph("whole")
    graph.add(signals.step("one", -1.0))
    graph.wire("one.y", part, "u")
    assert value(compile_model(graph), "part.sum.y", 0.7) == pytest.approx(1.0 + np.sin(0.7))


def test_an_automaton_switches_at_the_exact_instant_of_a_comparison() -> None:
    graph = chain(signals.sine("s", 1.0, 2.0))
    rise = Transition("low", "high", lambda y: y - 0.5, ("s.y",))
    run = compile_model(graph.add_automaton(Automaton("a", ("low", "high"), "low", (rise,)))).simulate(1.0)
    assert [event.time for event in run.events] == pytest.approx([np.arcsin(0.5) / 2.0], abs=1e-9)
