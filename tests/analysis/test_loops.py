"""Transfer functions, margins and plots of loops that are driven by signals or opened at signals agree with closed forms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bondgraph import J1, Block, C, Compiled, Graph, I, ModelError, R, Se, signals
from bondgraph.analysis import Linear, linearise_sampled
from screws.scalars import array
from tests.inner.output import styled

OMEGA = np.array([0.1, 1.0, 3.0])


def plant(s: Any, gain: float = 3.0) -> Any:
    return gain / (s + 1.0) ** 3


def controller(s: Any) -> Any:
    return 2.0 + 0.5 / s


@pytest.fixture(scope="module")
def loop() -> Compiled:
    graph = Graph("loop").add(
        signals.step("goal"),
        signals.summation("error", {"goal.y": 1, "plant.y": -1}),
        signals.pid("control", "error.y", 2.0, 0.5),
        signals.transfer_function("plant", "control.y", [3.0], [1.0, 3.0, 3.0, 1.0]),
    )
    return graph.compile(progress=False)


def test_signals_of_blocks_as_inputs(loop: Compiled) -> None:
    linear, s = loop.linearise(["error.y", "control.y", "goal.after"], ["plant.y", "error.y"], t=1.0), 1j * OMEGA
    closed = 1.0 / (1.0 + plant(s) * controller(s))
    expected = [[plant(s) * controller(s), plant(s), plant(s) * controller(s)], [np.ones(3), -plant(s), np.ones(3)]]
    np.testing.assert_allclose(linear.frequency_response(OMEGA), np.moveaxis(expected * closed, 2, 0), rtol=1e-10)
    assert linear.inputs == ("error.y", "control.y", "goal.after")


def test_an_input_has_the_name_that_the_user_gave() -> None:
    gains = Block("gains", [("y", lambda t: array([t, 2.0 * t]), ["t"])], inputs={"t": "time"})
    control = Graph("control").add(gains).export("y", "gains.y")
    graph = Graph("loop").add(control, signals.gain("drive", "control.y", 1.0))
    compiled = graph.compile(backend="numpy", progress=False)
    linear = compiled.linearise("control.y[1]", "drive.y")
    assert linear.inputs == ("control.y[1]",) and linear.D.tolist() == [[0.0], [1.0]]
    assert "period" not in repr(linear) + repr(linear.transfer_function(output="drive.y[1]"))
    with pytest.raises(ModelError, match=r'E250 "contrl\.y" .*\n.*similar names: control\.y'):
        compiled.linearise("contrl.y")
    with pytest.raises(ModelError, match=r'E250 "control\.y\[2\]" is not a component'):
        compiled.linearise("control.y[2]")


def test_sources_as_inputs_wherever_the_model_stands() -> None:
    graph, v = Graph("drag"), J1("v", domain="translation")
    graph.connect(Se("push", lambda v, t: 5.0 * t - 2.0 * v, signals=["v.flow", "time"]), v).connect(v, I("mass", 2.0))
    graph.connect(v, R("drag", effort=lambda v: 3.0 * v * v)).connect(Se("pull", 1.0), v)
    graph.add(signals.gain("weight", "time", 0.0))
    compiled = graph.compile(progress=False)
    linear = compiled.linearise(["push", "pull"], ["v.flow"], t=4.0, initial={"v.flow": 2.0})
    assert linear.A[0, 0] == pytest.approx((-2.0 - 12.0) / 2.0) and linear.B.tolist() == [[1.0, 1.0]]
    assert linear.rates[0] == pytest.approx(20.0 - 4.0 + 1.0 - 12.0) and linear.inputs == ("push.effort", "pull.effort")
    for name in ("v.flow", "mass.p", "time", "nothing"):
        with pytest.raises(ModelError, match=rf'E250 "{name}" is not a parameter, source or signal of a block'):
            compiled.linearise([name])
    with pytest.raises(ModelError, match="E250 an input is named twice"):
        compiled.linearise(["push", "push.effort"])


def test_components_of_a_signal_as_inputs() -> None:
    graph = Graph("two").add(signals.state_space("u", "time", [], [], [], [[1.0], [2.0]]))
    graph.add(signals.integrator("x", "u.y", [0.0, 0.0]))
    linear = graph.compile(progress=False).linearise(["u.y[1]"], ["x.y"])
    assert linear.B.tolist() == [[0.0], [1.0]] and linear.inputs == ("u.y[1]",)


def test_a_loop_is_cut_at_a_signal(loop: Compiled) -> None:
    for at in ("control.y", "error.y", "plant.y"):
        cut = loop.linearise([at], [at]).loop_transfer(at)
        s = 1j * OMEGA
        np.testing.assert_allclose(cut.frequency_response(OMEGA)[:, 0, 0], plant(s) * controller(s), rtol=1e-10)
    with pytest.raises(ModelError, match="E255"):
        loop.linearise(["control.y"], ["plant.y"]).loop_transfer("control.y")


def test_an_algebraic_loop_is_cut_at_a_signal() -> None:
    graph = Graph("through").add(signals.step("r"), signals.summation("e", {"r.y": 1, "y.y": -1}), signals.gain("u", "e.y", 4.0))
    compiled = graph.add(signals.transfer_function("y", "u.y", [1.0, 1.0], [1.0, 2.0])).compile(progress=False)
    s = 1j * OMEGA
    for at in ("e.y", "u.y", "y.y"):
        cut = compiled.linearise([at], [at]).loop_transfer(at)
        np.testing.assert_allclose(cut.frequency_response(OMEGA)[:, 0, 0], 4.0 * (s + 1.0) / (s + 2.0), rtol=1e-10)


def test_a_sampled_loop_is_cut_at_a_signal() -> None:
    """With x' = u and u = k (r - x), sampled every h, the loop transfer function is k h / (z - 1)."""
    k, h = 3.0, 0.1
    graph = Graph("sampled").add(signals.step("r"), signals.summation("e", {"r.y": 1, "x.y": -1}))
    graph.add(signals.sampled("u", lambda u, e: k * e, signals=["e.y"], period=h), signals.integrator("x", "u.y"))
    cut = linearise_sampled(graph.compile(progress=False), ["e.y"], ["e.y"]).loop_transfer("e.y")
    np.testing.assert_allclose(cut.frequency_response(OMEGA)[:, 0, 0], k * h / (np.exp(1j * OMEGA * h) - 1.0), rtol=1e-8)


def test_a_linear_system_without_inputs_says_so(loop: Compiled) -> None:
    pytest.importorskip("control")
    with pytest.raises(ModelError, match="E255 the linear system has no inputs"):
        loop.linearise(outputs=["plant.y"]).margins()


@pytest.mark.parametrize("gain", [0.8, 10.0])
def test_margins_in_closed_form(gain: float) -> None:
    """L = gain / (s + 1)^3 has the magnitude gain / 8 at the phase -180 degrees and, if gain > 1, the magnitude 1 at
    sqrt(gain^(2/3) - 1)."""
    pytest.importorskip("control")
    graph = Graph("lags").add(signals.step("u"), signals.transfer_function("y", "u.y", [gain], [1.0, 3.0, 3.0, 1.0]))
    margins = graph.compile(progress=False).linearise(["u.after"], ["y.y"]).margins()
    if gain == 0.8:
        assert margins.stable and margins.gain == pytest.approx(10.0) and margins.least_gain == 0.0
        assert str(margins).splitlines()[1] == "gain margin: 20 dB at 1.732 rad/s" and "no crossing" in str(margins)
        return
    at = np.sqrt(gain ** (2.0 / 3.0) - 1.0)
    phase = 180.0 - np.degrees(3.0 * np.arctan(at))
    assert not margins.stable and margins.least_gain == pytest.approx(0.8) and margins.gain == np.inf
    assert (margins.phase, margins.phase_at) == pytest.approx((phase, at)) and phase < 0.0
    words = str(margins).splitlines()
    assert words[0].startswith("the closed loop is unstable") and words[2] == "gain reduction: -1.938 dB at 1.732 rad/s"
    assert not any(promise in str(margins) for promise in ("margin", "delay"))


@pytest.mark.parametrize("direct", [-2.0, -1.0, -0.5, 0.5, 2.0])
def test_margins_of_a_loop_that_passes_all_frequencies(direct: float) -> None:
    """For L = (direct s + 1) / (s + 1), the loop closed with the gain k has the pole -(1 + k) / (1 + k direct)."""
    pytest.importorskip("control")
    graph = Graph("direct").add(signals.step("u"), signals.transfer_function("y", "u.y", [direct, 1.0], [1.0, 1.0]))
    margins = graph.compile(progress=False).linearise(["u.after"], ["y.y"]).margins()
    assert margins.stable is (direct > -1.0)
    assert margins.gain == (2.0 if direct == -0.5 else np.inf) and margins.least_gain == (0.5 if direct == -2.0 else 0.0)
    assert (margins.delay == 0.0) is (abs(direct) >= 1.0)
    assert "at inf rad/s" in str(margins) or direct not in (-2.0, -0.5)


HIGHEST = np.pi / 0.1


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # python-control divides by zero at a pole at z = 1
@pytest.mark.parametrize(
    ("num", "pole", "gain", "at"), [(0.5, -0.2, 1.6, HIGHEST), (-0.4, 0.2, 2.0, 0.0), (0.5, 1.0, 4.0, HIGHEST)]
)
def test_margins_of_a_sampled_loop_at_the_ends_of_its_frequencies(num: float, pole: float, gain: float, at: float) -> None:
    """On the unit circle, L = num / (z - pole) is real only at z = 1 and z = -1; the loop closed with a gain has the pole
    `pole` - gain num."""
    pytest.importorskip("control")
    matrices = (np.array([[x]]) for x in (pole, 1.0, num, 0.0))
    loop = Linear("loop", *matrices, ("x",), ("u",), ("y",), np.zeros(1), np.zeros(1), period=0.1)
    margins = loop.margins()
    assert margins.stable and (margins.gain, margins.gain_at) == pytest.approx((gain, at))
    assert abs(pole - gain * num) == pytest.approx(1.0)


def test_delay_margin_and_plots(loop: Compiled) -> None:
    pytest.importorskip("control")
    pytest.importorskip("matplotlib").use("agg")
    graph = Graph("integrator").add(signals.step("u"), signals.integrator("y", "u.y"))
    linear = graph.compile(progress=False).linearise(["u.after"], ["y.y"])
    margins = linear.margins()
    assert (margins.phase, margins.phase_at, margins.delay) == pytest.approx((90.0, 1.0, np.pi / 2.0)) and margins.gain == np.inf
    cut = loop.linearise(["control.y"], ["control.y"]).loop_transfer("control.y")
    with styled():
        (nyquist,), (nichols,) = cut.nyquist(), cut.nichols()
    assert (nyquist.get_xlabel(), nichols.get_ylabel()) == ("real part", "gain (dB)")


@pytest.mark.parametrize("damping", [0.2, 1.0])
def test_curves_of_a_resonance_are_smooth_and_labels_of_a_chart_apart(damping: float) -> None:
    """Near a resonance, the response of a lightly damped oscillator is a circle."""
    pytest.importorskip("control")
    pytest.importorskip("matplotlib").use("agg")
    graph, v = Graph("oscillator"), J1("v", domain="translation")
    graph.connect(Se("push", 1.0), v).connect(v, I("m", mass=2.0))
    graph.connect(v, C("k", stiffness=50.0)).connect(v, R("d", damping=damping))
    linear = graph.compile(progress=False).linearise(["push.value"], ["v.flow"])
    (nyquist,), (nichols,) = linear.nyquist(), linear.nichols()
    curves = [line.get_xdata() + 1j * line.get_ydata() for line in nyquist.lines]
    lengths = [np.ma.filled(np.abs(np.ma.diff(np.ma.masked_invalid(curve))), 0.0) for curve in curves if len(curve) > 20]
    assert max(each.sum() for each in lengths) > 0.9 * np.pi / damping and np.concatenate(lengths).max() < 0.1 / damping
    boxes = [text.get_window_extent() for text in nichols.texts]
    assert len(boxes) > 5 and not any(a.overlaps(b) for k, a in enumerate(boxes) for b in boxes[:k])
    assert all("-" not in text.get_text() for text in nichols.texts)
