"""Linear systems are printed, drawn and sampled, and agree with hand calculations and differences."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

from bondgraph import J1, C, Graph, I, R, Se, signals, simulate
from bondgraph.analysis import linearise, linearise_sampled, operating_point, passivity
from bondgraph.errors import ModelError, OpenSamplerWarning, UnreliableRunWarning
from screws.scalars import cos, sin


def oscillator():
    m = J1("m", domain="translation")
    graph = Graph("oscillator").connect(Se("force", 0.0), m).connect(m, I("mass", 2.0)).connect(m, R("damper", 1.0))
    return graph.connect(m, C("spring", stiffness=50.0)).compile().linearise("force.value", "spring.q")


def test_matrices_of_a_linear_system_are_printed():
    assert (
        str(oscillator())
        == """\
linear system of "oscillator": 2 states

A          mass.p  spring.q
mass.p'      -0.5       -50
spring.q'     0.5         0

B          force.value
mass.p'              1
spring.q'            0

C         mass.p  spring.q
spring.q       0         1

D         force.value
spring.q            0"""
    )


def test_drawn_by_python_control():
    pyplot, _ = pytest.importorskip("matplotlib.pyplot"), pytest.importorskip("control")
    system, before = oscillator(), pyplot.plot([0.0, 1.0], [3.0, 4.0])[0].axes
    magnitude, phase = system.bode(omega=np.array([1.0, 5.0, 20.0]))
    found = 20 * np.log10(np.abs(system.frequency_response([1.0, 5.0, 20.0])[:, 0, 0]))
    np.testing.assert_allclose(magnitude.lines[0].get_ydata(), found, rtol=1e-9)
    assert "dB" in magnitude.get_ylabel() and "deg" in phase.get_ylabel()
    (answer,) = system.step(t_end=40.0)
    assert answer.lines[0].get_ydata()[-1] == pytest.approx(1.0 / 50.0, rel=1e-3)
    (places,) = system.pzmap()
    assert len({axes.figure for axes in (before, magnitude, answer, places)}) == 4  # existing axes are not overdrawn
    assert len(answer.lines) == len(system.step()[0].lines)
    own = pyplot.figure().subplots(2, 1)
    assert set(system.bode(axes=own)) == set(own)
    with pytest.raises(ModelError, match="E255"):
        system.bode("force")
    pyplot.close("all")


def test_margins_in_words():
    """The phase of K / (1 + s)^3 is -180 degrees at sqrt 3, where the gain is K / 8."""
    pyplot, _ = pytest.importorskip("matplotlib.pyplot"), pytest.importorskip("control")
    without = oscillator()
    assert without.bode(margins=True)[0].get_title(loc="left") == "gain margin: no crossing, phase margin: no crossing"
    gain, crossing = 2.0, np.sqrt(2.0 ** (2.0 / 3.0) - 1.0)
    lags = replace(
        without,
        A=np.eye(3, k=-1) - np.eye(3),
        B=np.eye(3)[:, :1],
        C=gain * np.eye(3)[2:],
        states=("a", "b", "c"),
        rates=np.zeros(3),
        point=None,
    )
    said = lags.bode(margins=True)[0].get_title(loc="left")
    known = (20.0 * np.log10(8.0 / gain), np.sqrt(3.0), 180.0 - 3.0 * np.rad2deg(np.arctan(crossing)), crossing)
    assert said == "gain margin: {:.4g} dB at {:.4g} rad/s, phase margin: {:.4g} degrees at {:.4g} rad/s".format(*known)
    pyplot.close("all")


def test_sampled_by_python_control():
    pytest.importorskip("control")
    system, h = oscillator(), 0.05
    sampled = system.c2d(h)
    np.testing.assert_allclose(np.sort_complex(sampled.poles()), np.sort_complex(np.exp(system.poles() * h)), rtol=1e-9)
    assert sampled.period == h and sampled.to_control().dt == h and "sampled every 0.05 s" in str(sampled)
    slow = [abs(one.frequency_response(0.1)[0, 0, 0]) for one in (sampled, system)]
    assert slow[0] == pytest.approx(slow[1], rel=1e-3)
    with pytest.raises(ModelError, match="E564"):
        sampled.c2d(h)
    moving = replace(system, rates=np.array([1.0, -2.0]))
    change = np.linalg.solve(moving.A, (sampled.A - np.eye(2)) @ moving.rates)
    np.testing.assert_allclose(moving.c2d(h).rates, change, rtol=1e-9)
    rest = -moving.C @ np.linalg.solve(moving.A, moving.rates)
    for method in ("zoh", "foh", "impulse", "tustin", "bilinear", "euler", "backward_diff"):
        each = moving.c2d(h, method)
        np.testing.assert_allclose(each.C @ np.linalg.solve(np.eye(2) - each.A, each.rates), rest, rtol=1e-9)
    square = sampled.part(sampled.inputs[:1], sampled.outputs[:1])
    with pytest.raises(ModelError, match="E564"):
        passivity(square)
    html = square._repr_html_()
    assert "magnitude" in html and "[k+1]" in html and "1/s" not in html and "d/dt" not in html
    transfer = square.transfer_function()
    assert "z^{2}" in transfer.latex() and "s^{2}" not in transfer.latex() and "s^{2}" in replace(transfer, period=None).latex()


def loop(gain, period):
    m = J1("m", domain="translation")
    graph = Graph("loop").connect(Se("drive", effort=lambda u: u, signals="law.y"), m).connect(m, R("friction", 3.0))
    given = {"parameters": {"k": gain, "w": 0.0}, "signals": "mass.flow", "period": period}
    graph.add(signals.sampled("law", lambda y, k, w, v: k * (w - v), **given))
    return graph.connect(m, I("mass", 2.0))


def test_a_sampled_loop_by_hand():
    """For p' = u - (R/m) p with u = k (w - v) of the last tick, p[n+1] = phi p[n] + gamma u with phi = exp(-R h / m)
    and gamma = (1 - phi) m / R."""
    h, gain, m, r = 0.4, 5.0, 2.0, 3.0
    found = linearise_sampled(loop(gain, h), "law.w", "mass.p")
    phi, gamma = np.exp(-r * h / m), (1.0 - np.exp(-r * h / m)) * m / r
    places = [found.states.index("mass.p"), found.states.index("law.y")]
    expected = np.array([[phi - gamma * gain / m, 0.0], [-gain / m, 0.0]])
    np.testing.assert_allclose(found.A[np.ix_(places, places)], expected, atol=1e-12)
    np.testing.assert_allclose(found.B[places, 0], [gamma * gain, gain], rtol=1e-12)
    np.testing.assert_allclose(found.C[0, places], [1.0, 0.0])
    assert found.period == h and found.values == [0.0]
    limit = m / gamma * (1.0 + phi)  # phi - gamma k / m = -1
    inside, outside = (np.abs(linearise_sampled(loop(part * limit, h)).poles()).max() for part in (0.99, 1.01))
    assert inside < 1.0 < outside


def pendulum(period):
    axle = J1("axle", domain="rotation")
    graph = Graph("pendulum").connect(Se("motor", effort=lambda u: u, signals="law.y"), axle)
    graph.connect(axle, I("rotor", 0.5, initial=0.1)).connect(axle, R("bearing", 0.2))
    weight = {"output": lambda q, k: -k * sin(q), "energy": lambda q, k: k * cos(q), "parameters": {"k": 4.0}}
    graph.connect(axle, C("weight", **weight, initial=0.4))
    parameters = {"kp": 7.0, "kd": 1.5}
    law = signals.sampled(
        "law", lambda y, kp, kd, q, w: -kp * q - kd * w, parameters=parameters, period=period, signals=["weight.q", "rotor.flow"]
    )
    return graph.add(law)


def test_linearisation_away_from_rest_is_the_derivative_of_a_run():
    h = 0.2
    compiled = pendulum(h).compile()
    start = {"weight.q": 0.4, "rotor.p": 0.1, "law.y": -1.0}
    found = linearise_sampled(compiled, initial=start)
    end = h * (1.0 - 1e-13)

    def after(changes):
        run = compiled.simulate(end, initial=start | changes, rtol=1e-12)
        return np.array([run[name][-1] for name in found.states])

    for k, name in enumerate(found.states):
        step = 1e-5
        column = (after({name: start[name] + step}) - after({name: start[name] - step})) / (2 * step)
        np.testing.assert_allclose(found.A[:, k], column, atol=1e-7)
    np.testing.assert_allclose(found.rates, after({}) - [start[name] for name in found.states], atol=1e-8)


def test_the_upright_pendulum_falls_where_the_poles_say_so():
    fast, slow = pendulum(0.05).compile(), pendulum(0.7).compile()
    inside, outside = (
        np.abs(linearise_sampled(c, initial={"weight.q": 0.0, "rotor.p": 0.0}).poles()).max() for c in (fast, slow)
    )
    assert inside < 1.0 < outside
    assert abs(fast.simulate(20.0)["weight.q"][-1]) < 1e-3
    assert np.abs(slow.simulate(20.0)["weight.q"]).max() > 1.0


def test_an_open_sampler_is_reported():
    compiled = loop(5.0, 0.4).compile()
    with pytest.warns(OpenSamplerWarning, match='the values of "law" between ticks') as told:
        linearise(compiled)
    assert told[0].filename == __file__
    with pytest.warns(OpenSamplerWarning):
        compiled.linearise()
    with pytest.warns(OpenSamplerWarning):
        operating_point(compiled).linearise()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        linearise_sampled(compiled)


def test_a_sampled_matrix_that_does_not_converge_is_reported(monkeypatch):
    monkeypatch.setattr("bondgraph.analysis.sampled.MAX_STEPS", 2)
    with pytest.warns(UnreliableRunWarning, match="has not converged with 2 steps") as warned:
        linearise_sampled(pendulum(0.7))
    assert warned[0].filename == __file__


def test_models_without_a_period_are_refused():

    with pytest.raises(ModelError, match="E565 there is no sampled block"):
        linearise_sampled(Graph("rc").connect(j := J1("j"), C("c", capacitance=1.0)).connect(j, R("r", 1.0)))
    graph = loop(5.0, 0.4)
    graph.add(signals.hold("slow", "mass.flow", 0.5))
    with pytest.raises(ModelError, match='"law" and "slow" do not tick together'):
        linearise_sampled(graph)


def derived(h, T, kd, **more):
    m = J1("m", domain="translation")
    graph = Graph("derived").connect(Se("drive", effort=lambda u: u, signals="law.y"), m).connect(m, I("mass", 2.0))
    graph.add(signals.integrator("place", "m.flow"), signals.gain("error", "place.y", -1.0))
    return graph.add(signals.sampled_pid("law", "error.y", kp=3.0, kd=kd, period=h, time_constant=T, **more))


def test_a_sampled_derivative_acts_after_the_first_tick():
    """With e = -x, s+ = (T s + e - e_before) / (T + h) and u = kp e + kd s+, where u is held over a period."""
    h, T, kp, kd, m = 0.1, 0.05, 3.0, 2.0, 2.0
    found = linearise_sampled(derived(h, T, kd))
    slope = np.array([-1.0, 0.0, T, -1.0]) / (T + h)  # of (x, p, s, e_before)
    u = np.array([-kp, 0.0, 0.0, 0.0]) + kd * slope
    expected = np.array([[1.0, h / m, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], slope, [-1.0, 0.0, 0.0, 0.0]])
    expected[0] += h * h / (2 * m) * u
    expected[1] += h * u
    at = [found.states.index(name) for name in ("place.y", "mass.p", "law.slope", "law.previous")]
    np.testing.assert_allclose(found.A[np.ix_(at, at)], expected, atol=1e-12)
    run = simulate(derived(h, T, kd), 2.0, initial={"mass.p": 1.0}, samples=h)
    states = np.transpose([run[name] for name in ("place.y", "mass.p", "law.slope", "law.previous")])
    np.testing.assert_allclose(states[2:], states[1:-1] @ expected.T, atol=1e-6)  # at the first tick the difference is zero


def test_ticks_that_are_not_alike_are_refused():
    with pytest.raises(ModelError, match=r'E565 "law.count" changes at every tick'):
        linearise_sampled(derived(0.1, 0.05, 2.0, filter_period=0.3))
