"""The Taylor series method agrees with closed forms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from bondgraph import J1, Block, C, Compiled, Graph, I, ModelError, R, Se, compile_model
from bondgraph.errors import RunEndedWarning, RunError
from bondgraph.export import c_run
from screws import scalars as s
from tests.inner.emit import numpy_kernel
from tests.inner.run import gpu_refusal
from tests.inner.tape import NoSeries, Routine, Tape, taylor_coefficients
from tests.run.test_accumulation import ball
from tests.run.test_ticks import proportional, pushed

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "products": lambda x: (x * x + 3.0 * x) * (x - 2.0) / (1.0 + x * x),
    "roots": lambda x: s.sqrt(1.0 + x) + (2.0 + x) ** 0.3 + (1.0 + x) ** 2.5,
    "exponentials": lambda x: s.exp(-x) * s.log(2.0 + x) + s.expm1(0.5 * x),
    "angles": lambda x: s.sin(2.0 * x) * s.cos(x) + s.tan(0.5 * x),
    "arcs": lambda x: s.asin(0.4 * x) + s.acos(0.3 * x) + s.atan(x),
    "hyperbolic": lambda x: s.tanh(0.8 * x),
    "constant condition": lambda x: s.where(s.less(1.0, 2.0), x * x, s.absolute(x)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_series_is_that_of_the_function(name: str) -> None:
    """For x' = 1 and a state that integrates f(x), the derivative of the series equals f to rounding error after 18 terms."""
    f, order, x, h = FUNCTIONS[name], 18, 0.3, 0.1
    tape = Tape()
    inputs = {"t": tape.inputs("t", 1), "x": tape.inputs("x", 1)}
    rows = taylor_coefficients(tape, [1.0], [f(inputs["x"][0])], order)
    kernel = numpy_kernel(Routine("series", tape, (("t", 1), ("x", 1)), tuple(rows)))
    found = kernel(np.zeros(1), np.array([x])).reshape(order, 2)
    assert found[:, 0].tolist() == [1.0] + [0.0] * (order - 1)
    slope = sum((k + 1) * row * h**k for k, row in enumerate(found[:, 1]))
    assert slope == pytest.approx(float(f(x + h)), rel=1e-14)


def test_a_kink_and_too_many_operations_have_no_series() -> None:
    tape = Tape()
    tape.inputs("t", 1)
    x = tape.inputs("x", 2)
    with pytest.raises(NoSeries, match="absolute, less, where"):
        taylor_coefficients(tape, [s.where(s.less(x[0], 1.0), x[1], s.absolute(x[0])), x[0]], [], 8)
    value = x[1]
    for k in range(60):
        value = s.sin(value + float(k))
    with pytest.raises(NoSeries, match="operations"):
        taylor_coefficients(tape, [x[1], value], [], 8)


def swing(friction: float = 0.0) -> Graph:
    graph, turning = Graph("pendulum"), J1("v")
    graph.connect(turning, I("m", 1.0)).connect(turning, C("g", energy=lambda q: 9.81 * (1.0 - s.cos(q)), initial=2.0))
    return graph.connect(turning, R("r", friction)) if friction else graph


@pytest.fixture(scope="module")
def pendulum() -> Compiled:
    return compile_model(swing())


@pytest.mark.parametrize("rtol", [1e-6, 1e-12])
def test_a_long_run_is_as_exact_as_by_dop853_in_fewer_steps(pendulum: Compiled, rtol: float) -> None:
    exact = pendulum.simulate(100.0, rtol=1e-13, samples=1.0, progress=False)
    ours, theirs = (pendulum.simulate(100.0, rtol=rtol, method=m, samples=1.0, progress=False) for m in ("taylor", "dop853"))
    errors = [np.abs(run.x - exact.x).max() for run in (ours, theirs)]
    assert ours.ok and ours.statistics.method == "taylor" and errors[0] < max(errors[1], 20.0 * rtol)
    assert ours.statistics.rejected <= 2
    assert ours.statistics.steps < (900 if rtol == 1e-6 else 0.3 * theirs.statistics.steps)


def test_energy_is_accounted_for(pendulum: Compiled) -> None:
    run = compile_model(swing(0.3)).simulate(10.0, rtol=1e-10, method="taylor", progress=False)
    assert run.ok and abs(run.ledger.relative_residual) < 1e-10 and run.ledger.dissipated[-1] > 10.0


@pytest.mark.parametrize("n", [6, 48])
def test_coefficients_that_are_zero_by_chance_are_not_trusted(n: int) -> None:
    """For x' = t^(n-1) / (1 + t^n)^2, the first n - 1 coefficients are zero at the start."""
    graph = Graph("late")
    law = ("f", lambda t: t ** (n - 1) / (1.0 + t**n) ** 2, ["t"])
    rate = Block("b", [law], inputs={"t": "time"}, states={"x": 0.0}, rates={"x": "f"})
    run = compile_model(graph.add(rate)).simulate(500.0, method="taylor", rtol=1e-9, progress=False)
    exact = (1.0 - 1.0 / (1.0 + run.t**n)) / n
    assert run.ok and np.abs(run["b.x"] - exact).max() < 1e-10 and (run.statistics.rejected > 0) == (n == 48)


def test_the_unit_of_time_does_not_matter() -> None:
    """In a circuit with times of 1e-15 s, coefficients of order 19 exceed 1e250, and their squares overflow."""
    steps = []
    for second in (1.0, 1e-15):
        graph, v = Graph("circuit"), J1("v")
        graph.connect(v, I("l", second, initial=second)).connect(v, C("c", capacitance=second))
        run = compile_model(graph).simulate(20.0 * second, method="taylor", rtol=1e-13, samples=second, progress=False)
        assert run.ok and np.abs(run["l.p"] / second - np.cos(run.t / second)).max() < 1e-13
        steps.append(run.statistics.steps)
    assert steps[0] == steps[1]


def test_bounces_are_found_at_their_times() -> None:
    fall = np.sqrt(2.0 / 9.81)
    times = fall + 2.0 * fall * np.cumsum([0.0, *0.8 ** np.arange(1.0, 5.0)])
    run = compile_model(ball()).simulate(float(times[-1]) + 0.05, method="taylor", rtol=1e-10, progress=False)
    np.testing.assert_allclose([event.time for event in run.events], times, rtol=1e-12)


def test_a_tick_changes_the_taylor_series() -> None:
    """Under a sampled controller, x[n+1] = (1 - k T) x[n]."""
    compiled = compile_model(pushed(proportional(0.1, k=5.0), start=1.0))
    run = compiled.simulate(1.0, samples=0.1, method="taylor", progress=False)
    assert run["m.p"] == pytest.approx(0.5 ** np.arange(11), rel=1e-12) and run.statistics.ticks == 10


def test_functions_without_taylor_series_are_refused_by_name() -> None:
    graph, v = Graph("stop"), J1("v")
    graph.connect(v, I("m", 1.0, initial=1.0)).connect(v, C("wall", energy=lambda q: 50.0 * s.maximum(q, 0.0) ** 2))
    with pytest.raises(RunError, match=r"E304.*taylor cannot integrate \"stop\"(.|\n)*maximum(.|\n)*auto"):
        graph.compile().simulate(1.0, method="taylor")
    graph, v = Graph("loop"), J1("v")
    graph.connect(Se("source", 1.0), v).connect(v, R("d", effort=lambda i: i + i**3)).connect(v, R("r", 1.0))
    graph.connect(v, C("c", capacitance=0.3))
    with pytest.raises(RunError, match=r"E304(.|\n)*algebraic loop of"):
        graph.compile().simulate(1.0, method="taylor")
    with pytest.raises(RunError, match=r"E304(.|\n)*no tape in machine code"):
        compile_model(swing(), backend="numpy").simulate(1.0, method="taylor")


def test_a_root_at_zero_has_no_series() -> None:
    """For x' = 1 - x^(5/2), the rate is finite at 0, but its third derivative is not."""
    rate = Block("b", [("f", lambda x: 1.0 - x**2.5, ["x"])], states={"x": 0.0}, rates={"x": "f"})
    compiled = compile_model(Graph("root").add(rate))
    with pytest.warns(RunEndedWarning, match=r'method="auto": a rate may be finite'):
        run = compiled.simulate(1.0, method="taylor", progress=False)
    assert run.failure is not None and run.failure.time == 0.0
    assert compiled.simulate(1.0, progress=False).ok


def test_it_stays_on_this_machine(pendulum: Compiled) -> None:
    with pytest.raises(ModelError, match=r'E281(.|\n)*code for the method "taylor"'):
        c_run(pendulum, 1.0, method="taylor")
    assert "Taylor series" in str(gpu_refusal(pendulum.prepare_run(1.0, method="taylor", progress=False).program))
