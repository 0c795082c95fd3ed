"""Blocks with states agree with closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import signal as control
from scipy.integrate import solve_ivp

from bondgraph import J1, Graph, I, Parameter, R, compile_model, signals
from tests.signals.chains import compiled, ramped, value


def test_integrator_lowpass_and_derivative_of_a_sine() -> None:
    w, T = 2.0, 0.3
    model = compiled(
        signals.sine("u", 1.0, w),
        signals.integrator("sum", "u.y", 0.5, unit="m"),
        signals.lowpass("low", "u.y", T),
        signals.derivative_filter("slope", "u.y", T),
    )
    run = model.simulate(5.0, rtol=1e-11, samples=0.1)
    t = run.t
    decay, size = np.exp(-t / T), 1.0 + (w * T) ** 2
    low = (np.sin(w * t) - w * T * (np.cos(w * t) - decay)) / size
    np.testing.assert_allclose(run["sum.y"], 0.5 + (1.0 - np.cos(w * t)) / w, atol=1e-8)
    np.testing.assert_allclose(run["low.y"], low, atol=1e-8)
    np.testing.assert_allclose(run["slope.y"], (np.sin(w * t) - low) / T, atol=1e-7)
    np.testing.assert_allclose(run["slope.filtered"], low, atol=1e-8)
    assert model.program.layout.unit("sum.y") == "m"
    slower = model.simulate(5.0, rtol=1e-10, samples=0.1, parameters={"low.time_constant": 3.0})
    size, decay = 1.0 + (3.0 * w) ** 2, np.exp(-t / 3.0)
    wanted = (np.sin(w * t) - 3.0 * w * (np.cos(w * t) - decay)) / size
    np.testing.assert_allclose(slower["low.y"], wanted, atol=1e-7)


def test_integrator_of_a_vector() -> None:
    """The position of a body that slows down is x = v0 (1 - e^-t)."""
    graph, v, start = Graph("vector"), J1("v"), np.array([1.0, -2.0])
    graph.connect(v, I("m", 1.0, initial=start)).connect(v, R("d", 1.0, dimension=2))
    graph.add(signals.integrator("x", "m.flow", dimension=2), signals.lowpass("low", "m.flow", 0.5, dimension=2))
    run = compile_model(graph).simulate(2.0, rtol=1e-10, samples=0.2)
    np.testing.assert_allclose(run["x.y"], np.outer(1.0 - np.exp(-run.t), start), atol=1e-8)
    low = 2.0 * (np.exp(-run.t) - np.exp(-2.0 * run.t))  # y' = 2 (e^-t - y)
    np.testing.assert_allclose(run["low.y"], np.outer(low, start), atol=1e-8)


TRANSFERS = [
    ([1.0], [1.0, 1.0]),
    ([2.0, 1.0], [1.0, 0.5, 4.0]),
    ([3.0], [2.0, 3.0, 5.0, 1.0]),
    ([1.0, 0.0, 9.0], [1.0, 2.0, 9.0]),
    ([5.0, 1.0], [2.0, 4.0]),
    ([1.0], [1.0, 0.0]),
    ([1.0], [1e-4, 0.02, 100.0]),
    ([0.0, 0.0, 4.0], [0.0, 2.0, 3.0]),
    ([0.0], [1.0, 1.0]),
]


@pytest.mark.parametrize(("num", "den"), TRANSFERS)
def test_transfer_function_step_response(num: list[float], den: list[float]) -> None:
    model = compiled(signals.step("u", -1.0, after=1.0), signals.transfer_function("h", "u.y", num, den))
    times = np.linspace(0.0, 6.0, 61)
    above, below = np.trim_zeros(num, "f") or [0.0], np.trim_zeros(den, "f")
    _, wanted = control.step((above, below), T=times) if any(above) else (times, np.zeros(len(times)))
    run = model.simulate(6.0, rtol=1e-10, samples=times)
    np.testing.assert_allclose(run["h.y"], wanted, atol=1e-8 * max(1.0, np.abs(wanted).max()))


def test_transfer_function_is_the_canonical_form_and_keeps_its_coefficients_free() -> None:
    num, den = [3.0, 1.0], [2.0, 4.0, 6.0]
    model = compiled(signals.sine("u"), signals.transfer_function("h", "u.y", num, den, initial=[0.5, -0.25]))
    (x, m), t = model.initial(), 0.8
    for a, b in ((den, num), ([1.0, 7.0, 5.0], [2.0, -3.0])):
        p = model.parameters({"h.den": a, "h.num": b})
        rate = model.program.rates(t, x, p, m)
        np.testing.assert_allclose(rate, [x[1], (np.sin(t) - a[1] * x[1] - a[2] * x[0]) / a[0]], rtol=1e-13)
        assert model.evaluate(t, p=p)["h.y"] == pytest.approx(b[1] * x[0] + b[0] * x[1])


def test_transfer_function_without_poles_is_a_gain() -> None:
    model = compiled(ramped(), signals.transfer_function("h", "t.y", [0.0, 3.0], Parameter([2.0], "s")))
    assert value(model, "h.y", 2.0) == 3.0
    assert not model.system.states
    assert model.program.layout.unit("h.den") == "s"


@pytest.mark.parametrize("gains", [(4.0,), (4.0, 3.0), (4.0, None, 0.5, 0.1), (4.0, 3.0, 0.5, 0.1)])
def test_pid_of_a_step(gains: tuple) -> None:
    """y = kp + ki t + kd / T e^(-t/T) for e = 1."""
    kp, ki, kd, T = (*gains, None, None, None)[:4]
    model = compiled(signals.step("e", -1.0), signals.pid("c", "e.y", *gains))
    assert [s.name for s in model.system.states] == [
        name for name, gain in (("c.integral", ki), ("c.filtered", kd)) if gain is not None
    ]
    run = model.simulate(2.0, rtol=1e-10, samples=0.1)
    wanted = kp + (ki or 0.0) * run.t + (kd / T * np.exp(-run.t / T) if kd else 0.0)
    np.testing.assert_allclose(run["c.y"], wanted, atol=1e-7)


def test_pid_starts_from_its_initial_output() -> None:
    pid = signals.pid("c", "e.y", 1.0, 2.0, 3.0, 0.5, initial={"integral": 4.0, "filtered": 1.0})
    assert value(compiled(signals.step("e", -1.0), pid), "c.y") == pytest.approx(1.0 + 2.0 * 4.0)


def test_back_calculation_keeps_a_limited_pid_from_winding_up() -> None:
    """With x' = u and |u| <= 1, x is controlled from 0 to 10; without back-calculation, x overshoots by 77 %."""
    kp, ki, tracking = 1.0, 0.4, 2.0
    loop = (signals.step("r", -1.0, after=10.0), signals.summation("e", {"r.y": 1, "x.y": -1}), signals.integrator("x", "u.y"))
    model = compiled(*loop, signals.pid("u", "e.y", kp, ki, limits=(-1.0, 1.0), tracking_time=tracking))
    wound = compiled(*loop, signals.pid("c", "e.y", kp, ki), signals.limiter("u", "c.y", -1.0, 1.0))
    run = model.simulate(40.0, rtol=1e-9)

    def law(t: float, state: np.ndarray) -> list[float]:
        x, integral = state
        wanted = kp * (10.0 - x) + ki * integral
        u = min(max(wanted, -1.0), 1.0)
        return [u, 10.0 - x + (u - wanted) / (ki * tracking)]

    expected = solve_ivp(law, (0.0, 40.0), [0.0, 0.0], rtol=1e-10, atol=1e-12, max_step=0.1, t_eval=[8.0, 12.0, 40.0]).y
    np.testing.assert_allclose(run["x.y"][[200, 300, 1000]], expected[0], atol=1e-5)
    assert run["x.y"].max() < 10.5 and np.abs(run["u.y"]).max() <= 1.0
    assert wound.simulate(40.0)["x.y"].max() > 13.0
    assert model.simulate(40.0, parameters={"u.ki": 0.0}, rtol=1e-9)["x.y"][-1] == pytest.approx(10.0, abs=1e-6)
