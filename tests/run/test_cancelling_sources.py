"""Where the terms of sources cancel, a run also estimates the rounding error of formulas with constants."""

from __future__ import annotations

import math

import numpy as np
import pytest

from bondgraph import J0, J1, C, Diode, Element, Graph, I, R, Se, compile_model
from screws.scalars import sin, where
from tests.inner.tape import Tape, hoist, opcodes, reachable


def branch(graph: Graph, tail: Element | None, head: Element | None, *parts: Element) -> None:
    arm = J1(f"arm {parts[0].name}", domain="electrical")
    if tail is not None:
        graph.connect(tail, arm)
    for part in parts:
        graph.connect(arm, part)
    if head is not None:
        graph.connect(arm, head)


def test_diodes_change_over_where_a_small_voltage_is_at_its_extremum() -> None:
    """The current reverses at 0.0036 s, where the voltage of 8e-5 V is the difference of two numbers near one."""
    phase, speed, first, second = 4.7, 3.4, 0.89, 1.1
    graph, near, middle = Graph("series"), J0("near", domain="electrical"), J0("middle", domain="electrical")
    branch(graph, near, None, Diode("forward"))
    branch(graph, None, near, Diode("backward"))
    branch(graph, near, middle, C("first", capacitance=first))
    wave = Se("wave", lambda t: -math.sin(phase) + sin(speed * t + phase), signals="time")
    branch(graph, middle, None, C("second", capacitance=second), wave)
    run = compile_model(graph).simulate(0.5, samples=0.001, rtol=1e-10, progress=False)
    assert run.ok, run.failure
    voltage = -math.sin(phase) + np.sin(speed * run.t + phase)
    np.testing.assert_allclose(-run["first.q"], voltage * first * second / (first + second), atol=1e-12)
    turn = (1.5 * math.pi - phase) / speed
    assert [event.time for event in run.events if event.time > 0.0] == pytest.approx([turn, turn], rel=1e-6)


@pytest.mark.parametrize("method", ["dop853", "dopri5", "rodas5p"])
def test_a_coil_starts_at_a_source_that_cancels(method: str) -> None:
    """The source is zero at the start and then reverse-biases both diodes in series, so L di/dt + R i = v."""
    phase, speed, resistance, inductance = 3.9, 5.3, 0.27, 0.38
    graph, begin, middle = Graph("coil"), J0("begin", domain="electrical"), J0("middle", domain="electrical")
    branch(graph, begin, None, Se("wave", lambda t: -math.sin(phase) + sin(speed * t + phase), signals="time"))
    branch(graph, begin, middle, Diode("first"))
    branch(graph, middle, None, Diode("second"))
    branch(graph, None, middle, R("R", resistance))
    branch(graph, begin, middle, I("L", inductance))
    run = compile_model(graph).simulate(0.25, samples=0.01, rtol=1e-10, method=method, progress=False, max_steps=2000)
    assert run.ok and len(run.events) == 0, run.failure
    z, rate = complex(resistance, speed * inductance), resistance / inductance
    forced = (np.exp(1j * (speed * run.t + phase)) / z).imag - math.sin(phase) / resistance
    expected = forced - forced[0] * np.exp(-rate * run.t)
    np.testing.assert_allclose(run["L.flow"], expected, atol=1e-8)


def test_numbers_in_sums_of_time_are_prepared_and_no_others() -> None:
    tape = Tape()
    (t,), (x,) = tape.inputs("t", 1), tape.inputs("x", 1)
    tape.inputs("p", 1)
    moved = hoist(tape, [x + (0.75 + sin(t)), where(x > 0.75, x, t), x * sin(t + 0.75), x + 0.75, 0.75 * t])
    assert [scalar.value for scalar in moved.prepared] == [0.75]
    place = (opcodes.INPUT, list(moved.tape.blocks).index("p"), 1)
    seen = [place in {moved.tape.nodes[k] for k in reachable(moved.tape, [each.index])} for each in moved.outputs]
    assert seen == [True, False, False, False, False]
