"""With implicit steps, a state leaves a branch of equilibria when the branch becomes unstable.

While the branch is stable, only an imperfection keeps the states away from zero, so a step that damps all fast modes would
stay there forever; explicit steps are the reference.
"""

import functools

import numpy as np
import pytest

from bondgraph import J0, J1, C, Graph, I, R, Se
from screws.scalars import sin, tanh

ONSET = 1.0 / 12.0  # 2 sin(2 pi t) = 1


def load(t):
    return 2.0 * sin(2.0 * np.pi * t) - 1.0


@functools.cache
def column():
    """Return a light column with an imperfection, under an oscillating load, so that one or two lateral positions are stable."""
    graph, v = Graph("column"), J1("v", domain="translation")
    graph.connect(v, I("mass", 1.0)).connect(v, R("damper", 1.0))
    graph.connect(v, C("spring", energy=lambda q: q * q * q * q / 4.0, initial=1.0))
    push = Se("push", lambda q, t, off: load(t) * q + off, signals=["spring.q", "time"], parameters={"off": 1.0})
    return graph.connect(push, v).compile()


@functools.cache
def latch():
    """Return two inverters in a ring with oscillating gain, a flip-flop that forgets and decides in every cycle."""
    graph = Graph("latch")
    for name, other, side in (("p", "q", 1.0), ("q", "p", -1.0)):
        node, inside = J0(name, domain="electrical"), J1(f"{name} inside", domain="electrical")

        def inverter(v, t, off, side=side):
            return side * off - tanh((1.0 + load(t) / 2.0) * v)

        graph.connect(Se(f"{name} gate", inverter, signals=[f"{other}.effort", "time"], parameters={"off": 1.0}), inside)
        graph.connect(inside, R(f"{name} r", 1.0)).connect(inside, node).connect(node, C(f"{name} c", capacitance=1.0))
    return graph.compile()


def column_run(tau, off, **settings):
    numbers = {"mass.inertia": tau**2, "damper.resistance": tau, "push.off": off}
    return column().simulate(2.0, parameters=numbers, samples=1e-3, **settings), "spring.q"


def latch_run(tau, off, unit=1.0, **settings):
    laws = {"c.capacitance": tau * unit, "r.resistance": 1.0 / unit, "gate.off": off}
    numbers = {f"{name} {law}": value for name in "pq" for law, value in laws.items()}
    start = {"p c.q": tau * unit, "q c.q": -tau * unit}
    return latch().simulate(2.0, parameters=numbers, initial=start, samples=1e-3, **settings), "p.effort"


def onsets(run, quantity):
    away = np.abs(run[quantity]) > 0.1
    after = np.flatnonzero(~away[:-1] & away[1:])
    size = np.abs(run[quantity])
    return run.t[after] + (0.1 - size[after]) / (size[after + 1] - size[after]) * (run.t[after + 1] - run.t[after])


@pytest.mark.parametrize("model", [column_run, latch_run])
@pytest.mark.parametrize("off", [1e-6, 1e-9])
def test_a_branch_is_left_when_it_becomes_unstable(model, off):
    exact = onsets(*model(1e-4, off, method="dop853", rtol=1e-9))
    assert len(exact) == 2
    for rtol in (1e-4, 1e-7):
        run, quantity = model(1e-4, off, method="rodas5p", rtol=rtol)
        assert run.ok
        np.testing.assert_allclose(onsets(run, quantity), exact, rtol=0.0, atol=0.02 * (exact[0] - ONSET))


@pytest.mark.parametrize("model", [column_run, latch_run])
@pytest.mark.parametrize("tau", [1e-5, 1e-7, 1e-9])
def test_a_faster_mode_leaves_its_branch_earlier(model, tau):
    """A mode that grows at the rate a t / tau amplifies an imperfection by the factor r after sqrt(2 tau ln(r) / a)."""
    run, quantity = model(tau, 1e-9, method="rodas5p", rtol=1e-5)
    late = onsets(run, quantity) - ONSET - np.arange(2)
    assert run.ok and len(late) == 2
    assert np.all(late > 0.0) and np.all(late < 3.0 * np.sqrt(tau * np.log(1e9)) + 1e-3)


def test_the_unit_of_charge_does_not_matter():
    runs = [latch_run(1e-6, 1e-9, unit=unit, method="rodas5p", rtol=1e-5)[0] for unit in (1.0, 2.0**-40)]
    assert runs[0].statistics.steps == runs[1].statistics.steps
    np.testing.assert_array_equal(*(run["p.effort"] for run in runs))


@functools.cache
def trigger():
    def amplifier(v, t, gain):
        return 15.0 * tanh(gain * (0.5 * v - 10.0 * sin(40.0 * np.pi * t)) / 15.0)

    graph, out, inside = Graph("trigger"), J0("out", domain="electrical"), J1("inside", domain="electrical")
    amplified = Se("amplifier", amplifier, signals=["out.effort", "time"], parameters={"gain": 1e5})
    graph.connect(amplified, inside).connect(inside, R("r", 1.0)).connect(inside, out)
    return graph.connect(out, C("c", capacitance=1e-6, initial=15e-6)).compile()


@pytest.mark.parametrize("method", ["auto", "dop853", "dopri5", "rodas5p"])
@pytest.mark.parametrize("gain", [1e5, 1e6])
@pytest.mark.parametrize("rtol", [1e-4, 1e-7])
def test_a_trigger_leaves_its_branch_where_that_ends(method, gain, rtol):
    """The branch v = 15 tanh(a), a = gain (v / 2 - u) / 15, ends where cosh(a)^2 = gain / 2."""
    a = np.arccosh(np.sqrt(gain / 2.0))
    falls = np.arcsin((7.5 * np.tanh(a) - 15.0 * a / gain) / 10.0) / (40.0 * np.pi)
    around = [turn + shift for turn in (falls, falls + 0.025) for shift in (-5e-5, 5e-5)]
    times = np.sort(np.concatenate([np.random.default_rng(2).uniform(0.0, 0.05, 24), around, [0.05]]))
    run = trigger().simulate(0.05, samples=times, method=method, rtol=rtol, parameters={"amplifier.gain": gain})
    expected = np.where((run.t > falls) & (run.t < falls + 0.025), -15.0, 15.0)
    assert run.ok
    np.testing.assert_allclose(run["out.effort"], expected, rtol=0.0, atol=2e-2)
