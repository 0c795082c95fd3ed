"""Delays agree with exact solutions of delay differential equations and with the delayed signal itself."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.polynomial import Polynomial

from bondgraph import Block, Graph, ModelError, Parameter, RunError, compile_model, signals
from bondgraph.analysis import linearise, steady_state
from bondgraph.estimation import run_sensitivities
from bondgraph.export import c_run, c_source, document, explain, latex, state_equations, sympy_statements

METHODS = ("auto", "dop853", "dopri5", "rodas5p")


def compiled(*blocks, **settings):
    graph = Graph("delays")
    graph.add(*blocks)
    return compile_model(graph, progress=False, **settings)


def decay(rate=-1.0, history=1.0, start=1.0, length=1.0, **settings):
    delay = signals.delay("d", "x.y", length, initial=history)
    return compiled(delay, signals.gain("r", "d.y", rate), signals.integrator("x", "r.y", start), **settings)


def by_steps(t: np.ndarray) -> np.ndarray:
    """Return the solution of x' = -x(t - 1), x = 1 up to t = 0, by the method of steps, which gives a polynomial for each
    second."""
    pieces = [Polynomial([1.0])]
    for _ in range(int(t[-1]) + 1):
        slope = -pieces[-1].integ()
        pieces.append(slope + pieces[-1](1.0) - slope(0.0))
    return np.array([pieces[int(time) + 1](time - int(time)) for time in t.tolist()])


@pytest.mark.parametrize("method", METHODS)
def test_a_delayed_decay_is_that_of_the_method_of_steps(method):
    run = decay().simulate(10.0, samples=0.01, rtol=1e-9, method=method)
    np.testing.assert_allclose(run["x.y"], by_steps(run.t), atol=1e-9)
    np.testing.assert_allclose(run["d.y"], by_steps(np.maximum(run.t - 1.0, 0.0)), atol=1e-9)
    assert run.ok


@pytest.mark.parametrize("method", METHODS)
def test_a_history_that_is_a_function_of_the_time(method):
    """x = sin(pi t / 2) solves x' = -pi / 2 x(t - 1)."""
    model = decay(-np.pi / 2.0, lambda t: np.sin(np.pi * t / 2.0), 0.0)
    run = model.simulate(20.0, samples=0.1, rtol=1e-10, method=method)
    np.testing.assert_allclose(run["x.y"], np.sin(np.pi * run.t / 2.0), atol=1e-9)


def test_a_history_has_the_date_of_the_run():
    model = compiled(signals.sine("u"), signals.delay("d", "u.y", 1.0, initial=lambda t: abs(t - 999.7)))
    run = model.simulate(1003.0, t_start=1000.0, samples=0.125)
    before = run.t <= 1001.0
    np.testing.assert_allclose(run["d.y"][before], np.abs(run.t - 1000.7)[before], atol=1e-6)
    np.testing.assert_allclose(run["d.y"][~before], np.sin(run.t - 1.0)[~before], atol=1e-9)


def test_without_a_history_the_first_value_has_been_there_for_ever():
    run = compiled(signals.sine("u", omega=3.0, phase=0.5), signals.delay("d", "u.y", 0.7)).simulate(5.0, samples=0.01)
    np.testing.assert_allclose(run["d.y"], np.sin(3.0 * np.maximum(run.t - 0.7, 0.0) + 0.5), atol=1e-12)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_delay_of_a_delay_starts_at_its_first_value_in_either_order(order):
    delays = signals.delay("a", "x.y", 1.0), signals.delay("b", "a.y", 0.5)
    run = compiled(signals.integrator("x", "r.y", 2.0), signals.gain("r", "x.y", -1.0), *(delays[k] for k in order)).simulate(3.0)
    np.testing.assert_allclose(run["b.y"], 2.0 * np.exp(-np.maximum(run.t - 1.5, 0.0)), atol=1e-6)


def test_a_delay_of_a_history_starts_at_its_first_value():
    delays = signals.delay("a", "u.y", 1.0, initial=lambda t: 5.0 + t), signals.delay("b", "a.y", 0.5)
    run = compiled(signals.sine("u"), *delays).simulate(1.4, samples=0.1)
    np.testing.assert_allclose(run["b.y"], 4.0 + np.maximum(run.t - 0.5, 0.0), atol=1e-9)


def test_a_self_dependent_history_must_be_given():
    after = Block("u", [("y", lambda y: 1.0 - 0.5 * y, ["d"])], inputs={"d": "d.y"})
    with pytest.raises(RunError, match=r'E333 the delay "d" has no history[\s\S]*try: initial=0.0'):
        compiled(signals.delay("d", "u.y", 1.0), after).simulate(1.0)
    model = compiled(signals.delay("d", "u.y", 1.0, initial=0.0), after, signals.integrator("i", "u.y"))
    run = model.simulate(20.5, samples=0.25)
    levels = 2.0 / 3.0 + (1.0 - 2.0 / 3.0) * (-0.5) ** np.arange(22)  # y = 1 - y(t - 1) / 2: it jumps every second, forever
    areas, second = np.concatenate([[0.0], np.cumsum(levels)]), np.floor(run.t).astype(int)
    np.testing.assert_allclose(run["i.y"], areas[second] + levels[second] * (run.t - second), atol=1e-12)


SOURCES = {
    "step": [signals.step("u", 1.0)],
    "ticks": [signals.hold("u", "time", 0.3)],
    "events": [signals.sine("s"), signals.hysteresis("u", "s.y", -0.5, 0.5)],
}


@pytest.mark.parametrize("source", SOURCES)
def test_jumps_come_later_by_the_delay(source):
    """The integral of a delayed signal equals the delayed integral within rounding error."""
    blocks = [signals.delay("d", "u.y", 0.7), signals.integrator("i", "d.y"), signals.integrator("j", "u.y")]
    run = compiled(*SOURCES[source], *blocks).simulate(20.0, samples=0.1)
    np.testing.assert_allclose(run["i.y"], np.interp(run.t - 0.7, run.t, run["j.y"], left=0.0), atol=1e-12)


def test_an_event_of_a_delayed_signal_is_met():
    """sin(t - 1) rises through 1/2 at 1 + pi/6."""
    model = compiled(signals.sine("u"), signals.delay("d", "u.y", 1.0), signals.hysteresis("h", "d.y", -0.5, 0.5))
    events = model.simulate(6.0).events
    np.testing.assert_allclose([event.time for event in events], [1.0 + np.pi / 6.0, 1.0 + 7.0 * np.pi / 6.0], atol=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_two_delays_break_at_all_sums_of_them(method):
    def model(**settings):
        delays = [signals.delay(name, "x.y", length, initial=1.0) for name, length in (("d", 1.0), ("e", 0.37))]
        return compiled(*delays, signals.summation("s", {"d.y": -1, "e.y": -1}), signals.integrator("x", "s.y", 1.0), **settings)

    true = model().simulate(8.0, samples=0.1, rtol=1e-13)["x.y"]
    np.testing.assert_allclose(model().simulate(8.0, samples=0.1, rtol=1e-9, method=method)["x.y"], true, atol=1e-9)
    reference = model(backend="numpy").simulate(2.0, samples=0.1, rtol=1e-9)
    np.testing.assert_allclose(reference["x.y"], true[:21], atol=1e-9)


def test_a_delay_history_grows_beyond_its_buffer():
    """The delay covers the last 1000 of about 3000 steps, and in a second run 10^4 steps."""
    run = decay(-np.pi / 2.0, lambda t: np.sin(np.pi * t / 2.0), 0.0).simulate(3.0, max_step=1e-3)
    assert run["x.y"][-1] == pytest.approx(-1.0, abs=1e-9)
    blocks = [signals.sine("u"), signals.delay("d", "u.y", 2.0), signals.integrator("i", "d.y")]
    run = compiled(*blocks).simulate(3.0, max_step=2e-4)
    assert run["i.y"][-1] == pytest.approx(1.0 - np.cos(1.0), abs=1e-12)


def test_a_delay_is_a_parameter_of_runs_and_of_their_batches():
    model, lengths = decay(), (0.25, 0.5, 1.5)
    singles = [model.simulate(5.0, parameters={"d.time": T})["x.y"][-1] for T in lengths]
    assert len(set(singles)) == 3
    prepared = model.prepare_run(5.0)
    x, p, m = (np.array(rows) for rows in zip(*(prepared.start_values({"d.time": T}) for T in lengths), strict=True))
    batch = prepared.run_many(p, x, m, {"x": "x.y"})
    np.testing.assert_array_equal(batch["x"][:, -1], singles)
    assert model.simulate(5.0, parameters={"d.time": 1.5}, keep=["x.y"])["x.y"][-1] == singles[-1]
    assert decay(length=Parameter(250.0, "ms")).simulate(5.0)["x.y"][-1] == singles[0]


@pytest.mark.parametrize("length", [0.0, -1.0])
def test_a_delay_that_is_not_positive_does_not_run(length):
    with pytest.raises(RunError, match=r'E332 the delay "d" cannot run[\s\S]*try: a positive, finite time'):
        decay().simulate(1.0, parameters={"d.time": length})


@pytest.mark.parametrize("time", ["time", [0.1, 0.2]])
def test_a_delay_is_one_number(time):
    with pytest.raises(ModelError, match=r'E184 delay "d" needs a number as its time[\s\S]*try: time=0.1'):
        signals.delay("d", "x.y", time)


def test_a_delay_with_an_iterated_loop_is_refused():
    loop = Block("z", [("y", lambda y, d: d - y * y * y, ["y", "d"])], inputs={"d": "d.y"})
    with pytest.raises(RunError, match="E334 delays such as"):
        compiled(signals.sine("u"), signals.delay("d", "u.y", 1.0), loop).simulate(1.0)


REFUSING = {
    "linearise": linearise,
    "steady_state": steady_state,
    "sensitivities": lambda model: run_sensitivities(model, ["r.k"], 1.0),
    "latex": latex,
    "document": document,
    "sympy": sympy_statements,
    "state_equations": state_equations,
    "c_source": c_source,
    "c_run": lambda model: c_run(model, 1.0),
}


@pytest.mark.parametrize("what", REFUSING)
def test_exports_without_history_refuse_a_delay(what):
    with pytest.raises(ModelError) as caught:
        REFUSING[what](decay())
    assert caught.value.problems[0].code == "E335"
    assert 'does not support the delay "d"' in str(caught.value)


def test_the_pade_approximation_that_is_advised():
    """The phase of a sine delayed by 0.1 s is off by (w T)^3 / 12."""
    pade = signals.transfer_function("d", "u.y", [-0.05, 1.0], [0.05, 1.0])
    run = compiled(signals.sine("u"), pade).simulate(10.0)
    assert np.abs(run["d.y"] - np.sin(run.t - 0.1))[run.t > 2.0].max() < 2e-4


def test_a_delay_has_no_function_of_a_time_and_a_state():
    with pytest.raises(RunError, match="E349"):
        decay().ode()


def test_a_delay_explains_itself():
    assert "after the delay d.time: d.y := x.y" in str(explain(decay(), "d.y"))
