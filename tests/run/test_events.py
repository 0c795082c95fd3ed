"""Events have correct times and transitions in order, and endless loops end the run."""

from __future__ import annotations

import numpy as np
import pytest

from bondgraph import J0, J1, Automaton, Block, Diode, Graph, I, R, Se, Transition, compile_model
from screws import scalars as s
from tests.inner.run import RunTransition, Slot, simulate
from tests.run.problems import ball, bumper, program
from tests.run.reference_solvers import ode_of

METHODS = ["dop853", "rodas5p"]
G = 9.81


def impacts(height, restitution, count):
    first = np.sqrt(2.0 * height / G)
    flights = 2.0 * first * restitution ** np.arange(1, count)
    return first + np.concatenate([[0.0], np.cumsum(flights)])


@pytest.mark.parametrize("method", METHODS)
def test_impacts_of_a_ball(method):
    result = simulate(ball(), [1.0, 0.0], [G, 0.7], [0.0], 2.0, method=method, rtol=1e-9)
    times = np.array([event.time for event in result.events])
    expected = impacts(1.0, 0.7, len(times))
    assert result.ok and len(times) == 4
    assert np.max(np.abs(times - expected)) < 1e-8
    if method == "dop853":
        assert np.max(np.abs(times / expected - 1.0)) < 1e-12
    event = result.events[0]
    assert (event.kind, event.name, event.internal) == ("impact", "floor", False)
    assert event.x_after[1] == pytest.approx(-0.7 * event.x_before[1])
    assert event.lost == pytest.approx((1.0 - 0.49) * G, rel=1e-7)
    assert result.ledger.relative_residual < 1e-8
    before, after = result.at_events("velocity")
    assert after == pytest.approx(-0.7 * before)


def test_impacts_by_solve_ivp():
    from scipy.integrate import solve_ivp

    ode, times = ode_of(ball(), [1.0, 0.0], [G, 0.7], [0.0]), []
    for _ in range(2):
        run = solve_ivp(ode.rates, (ode.t_start, 2.0), ode.start, "DOP853", events=ode.event_functions, rtol=1e-12, atol=1e-12)
        times.append(run.t[-1])
        ode = ode.after(0, run.t[-1], run.y[:, -1])
    assert times == pytest.approx(impacts(1.0, 0.7, 2), abs=1e-9)


@pytest.mark.parametrize("restitution", [0.3, 0.7, 0.9])
def test_zeno_behaviour_ends_the_run_with_a_report(restitution):
    result = simulate(ball(), [1.0, 0.0], [G, restitution], [0.0], 20.0, rtol=1e-9)
    assert result.failure is not None and result.failure.kind == "Zeno"
    assert result.failure.suspect == "floor"
    first = np.sqrt(2.0 / G)
    end = first * (1.0 + 2.0 * restitution / (1.0 - restitution))
    assert result.failure.time == pytest.approx(end, abs=1e-6)
    assert result.t[-1] <= result.failure.time < result.t[-1] + 0.021
    assert "Zeno" in str(result.failure) and "try:" in str(result.failure)


@pytest.mark.parametrize("method", METHODS)
def test_contact_with_a_spring(method):
    omega = 5000.0
    result = simulate(bumper(), [-0.01, 1.0], [omega**2, 0.0], [0.0], 0.02, method=method, rtol=1e-9)
    on, off = result.events
    assert on.time == pytest.approx(0.01, abs=1e-13)
    assert off.time - on.time == pytest.approx(np.pi / omega, rel=1e-8)
    assert [event.kind for event in result.events] == ["contact on", "contact off"]
    assert result["wall.mode"][0] == 0.0 and result["wall.mode"][-1] == 0.0
    assert result.ledger.relative_residual < 3e-9


def test_promise_of_the_ledger_for_an_impact():
    for damping in (0.0, 500.0):
        made = bumper(nominal=[2e-4, 1.0])
        result = simulate(made, [-0.01, 1.0], [5000.0**2, damping], [0.0], 0.02, rtol=1e-9)
        assert result.ledger.relative_residual < 1e-9


def test_an_active_guard_at_the_start_fires_at_once():
    result = simulate(bumper(), [0.001, 0.0], [1.0, 0.0], [0.0], 1.0)
    assert result.events[0].time == 0.0 and result["wall.mode"][0] == 1.0


def test_a_guard_at_zero_that_falls_does_not_fire():
    result = simulate(ball(), [0.0, 1.0], [G, 0.5], [0.0], 0.1)
    assert result.events == ()
    result = simulate(ball(), [0.0, 1.0], [G, 0.5], [0.0], 0.25)
    assert result.events[0].time == pytest.approx(2.0 / G, rel=1e-12)


@pytest.mark.parametrize(("high", "low"), [(1.0, -1.0), (1e3, -1e-3)])
def test_a_guard_that_is_positive_for_an_instant_fires_when_it_jumps_up_again(high, low):
    """The guard has a pulse of zero width at the start, then pulses of 0.01, 0.02 and 0.03 s at the ticks of a clock."""
    graph = Graph("pulses")
    graph.add(Block("width", [("y", lambda t: 0.04 * s.maximum(t, 0.0), ["t"])], inputs={"t": "time"}))
    states = {"states": {"end": 0.0}, "updates": {"end": "next"}, "period": 0.25}
    graph.add(Block("pulse", [("next", lambda t, w: t + w, ["t", "w"])], inputs={"w": "width.y", "t": "time"}, **states))
    begins = Transition("low", "high", lambda end, t: s.where(s.less(t, end), high, low), ("pulse.end", "time"))
    ends = Transition("high", "low", lambda end, t: t - end, ("pulse.end", "time"))
    graph.add_automaton(Automaton("switch", ("low", "high"), "low", (begins, ends)))
    compiled = compile_model(graph, progress=False)
    for method in METHODS:
        times = [event.time for event in compiled.simulate(0.9, method=method, progress=False).events]
        assert times == pytest.approx([0.25, 0.26, 0.5, 0.52, 0.75, 0.78], abs=1e-9)


def flyby(radius, **options):
    gap = lambda t, x, p, m: [  # noqa: E731
        s.where(s.less(m[0], 0.5), p[0] * p[0] - x[0] * x[0] - 1.0, -1.0),
        s.where(s.less(m[0], 0.5), -1.0, x[0] * x[0] + 1.0 - p[0] * p[0]),
    ]
    edges = [RunTransition("disc", 0, 0.0, 1.0, "in"), RunTransition("disc", 0, 1.0, 0.0, "out")]
    return program(lambda t, x, p, m: [1.0], (1, 1, 1), guards=gap, transitions=edges, **options)


@pytest.mark.parametrize("half", [1e-3, 1e-2, 0.3])
def test_short_crossings_within_a_step_are_seen(half):
    radius = np.sqrt(1.0 + half**2)
    result = simulate(flyby(radius), [-50.0], [radius], [0.0], 100.0)
    assert [event.kind for event in result.events] == ["in", "out"]
    assert [event.time for event in result.events] == pytest.approx([50.0 - half, 50.0 + half], abs=1e-7)


def test_transitions_at_one_time_are_iterated_to_a_fixed_point():
    guards = lambda t, x, p, m: [  # noqa: E731
        s.where(s.less(m[0], 0.5), x[0], -1.0),
        s.where(s.less(m[1], 0.5), x[0], -1.0),
        s.where(s.equal(m[1], 1.0), 1.0, -1.0),
    ]
    edges = [RunTransition("a", 0, 0, 1, "a on"), RunTransition("b", 1, 0, 1, "b on"), RunTransition("b", 1, 1, 2, "b through")]
    made = program(lambda t, x, p, m: [1.0], (1, 0, 2), guards=guards, transitions=edges)
    for method in METHODS:
        result = simulate(made, [-0.3], [], [0.0, 0.0], 1.0, method=method)
        assert sorted(event.kind for event in result.events) == ["a on", "b on", "b through"]
        assert [event.time for event in result.events] == pytest.approx([0.3] * 3, abs=1e-12)
        assert result.m[-1].tolist() == [1.0, 2.0]


def test_transitions_without_end_are_chattering():
    guards = lambda t, x, p, m: [  # noqa: E731
        s.where(s.less(m[0], 0.5), x[0], -1.0),
        s.where(s.less(m[0], 0.5), -1.0, x[0]),
    ]
    edges = [RunTransition("relay", 0, 0, 1, "on"), RunTransition("relay", 0, 1, 0, "off")]
    made = program(lambda t, x, p, m: [1.0], (1, 0, 1), guards=guards, transitions=edges)
    result = simulate(made, [-0.5], [], [0.0], 1.0)
    assert result.failure is not None and result.failure.kind == "chattering"
    assert result.failure.time == pytest.approx(0.5) and result.failure.suspect == "relay"
    assert result.t[-1] <= 0.5


@pytest.mark.parametrize("method", METHODS)
def test_sliding_between_two_modes_is_chattering(method):
    """A relay without hysteresis drives its own input back through zero."""
    guards = lambda t, x, p, m: [  # noqa: E731
        s.where(s.less(m[0], 0.5), x[0], -1.0),
        s.where(s.less(m[0], 0.5), -1.0, -x[0]),
    ]
    edges = [RunTransition("relay", 0, 0, 1, "on"), RunTransition("relay", 0, 1, 0, "off")]
    made = program(lambda t, x, p, m: [1.0 - 2.0 * m[0]], (1, 0, 1), guards=guards, transitions=edges)
    result = simulate(made, [-0.5], [], [0.0], 1.0, method=method)
    assert result.failure is not None and result.failure.kind == "chattering"
    assert result.failure.time == pytest.approx(0.5, abs=1e-6)


def test_a_terminal_transition_ends_the_run_with_its_reason():
    edges = [RunTransition("limit", 0, 0, 1, "limit", error="the body passed its limit")]
    made = program(lambda t, x, p, m: [1.0], (1, 0, 1), guards=lambda t, x, p, m: [x[0] - 1.0], transitions=edges)
    result = simulate(made, [0.0], [], [0.0], 5.0, samples=0.1)
    assert result.failure is not None and "passed its limit" in result.failure.reason
    assert 0.9 <= result.t[-1] <= 1.0 and len(result.events) == 1


def test_too_many_events():
    result = simulate(ball(), [1.0, 0.0], [G, 1.0], [0.0], 100.0, max_events=5)
    assert result.failure is not None and result.failure.kind == "too many events"
    assert len(result.events) == 6


@pytest.mark.parametrize("method", METHODS)
def test_a_law_that_jumps_to_and_fro_ends_after_max_steps(method):
    made = program(lambda t, x, p, m: [-s.sign(x[0])], (1, 0, 0))
    result = simulate(made, [0.5], [], [], 100.0, method=method, max_steps=5000)
    assert result.failure is not None and result.failure.kind in ("too many steps", "step too small")
    # the pause that notices it depends on the speed of the machine
    assert result.failure.time == pytest.approx(0.5, abs=1e-2)


def test_a_reset_that_is_not_finite():
    made = program(
        lambda t, x, p, m: [1.0],
        (1, 0, 1),
        guards=lambda t, x, p, m: [x[0]],
        resets=[lambda t, x, p, m: [s.log(-1.0 - x[0])]],
        transitions=[RunTransition("jump", 0, 0, 1, "jump")],
        slots={"x": Slot("x", 0)},
    )
    result = simulate(made, [-0.5], [], [0.0], 1.0)
    assert result.failure is not None and result.failure.kind == "not finite" and result.failure.suspect == "x"


def test_an_event_costs_little():
    result = simulate(ball(), [1.0, 0.0], [G, 1.0], [0.0], 200.0, samples=[200.0])
    events = len(result.events)
    assert events == 221
    assert result.statistics.rates / events < 100


@pytest.mark.parametrize("method", [*METHODS[:2], *METHODS[3:]])
@pytest.mark.parametrize("phase", [0.0, 1e-12])
def test_a_start_next_to_rest_does_not_set_the_scale_of_the_account(phase, method):
    """The diode of a rectifier closes with almost no energy, and a leak later takes far more."""
    graph, loop, gap, path = Graph("rectifier"), J1("loop"), J0("gap"), J1("path")
    graph.connect(Se("mains", lambda t: 10.0 * s.sin(314.0 * t + phase), signals=["time"]), loop)
    graph.connect(loop, I("L", 1e-2)).connect(loop, R("r", 1.0)).connect(loop, gap).connect(gap, R("leak", 1e3))
    graph.connect(gap, path).connect(path, Diode("diode")).connect(path, R("on", 0.01))
    result = compile_model(graph).simulate(0.04, method=method, progress=False)
    assert result.ok, result.failure
    assert [event.kind for event in result.events] == ["diode closes", "diode opens"] * 2
    assert result.statistics.steps < 2000
    assert result.ledger.relative_residual < (1e-12 if method == "dop853" else 1e-6)


def test_a_bridge_of_two_phases_starts_from_rest():
    graph, plus, minus, load = Graph("bridge"), J0("plus"), J0("minus"), J1("load")
    graph.connect(plus, load).connect(load, R("R", 10.0)).connect(load, I("L", 1e-2)).connect(load, minus)
    for k in range(2):
        node, phase = J0(f"node{k}"), J1(f"phase{k}")
        mains = Se(f"u{k}", lambda t, k=k: 10.0 * s.sin(314.0 * t + 3.14159265 * k), signals=["time"])
        graph.connect(mains, phase).connect(phase, R(f"r{k}", 0.1)).connect(phase, node)
        for name, a, b in ((f"up{k}", node, plus), (f"down{k}", minus, node)):
            path, leak = J1(f"path {name}"), J1(f"leak {name}")
            graph.connect(a, path).connect(path, b).connect(path, Diode(name)).connect(path, R(f"on {name}", 0.01))
            graph.connect(a, leak).connect(leak, b).connect(leak, R(f"off {name}", 1e5))
    result = compile_model(graph).simulate(0.08, progress=False)
    assert result.ok, result.failure
    last = result.t > 0.08 - 2.0 * np.pi / 314.0
    mean = 2.0 * 20.0 / np.pi / (10.0 + 2.0 * 0.11)
    assert np.mean(result["L.flow"][last]) == pytest.approx(mean, rel=0.01)
    assert result.ledger.relative_residual < 1e-9
