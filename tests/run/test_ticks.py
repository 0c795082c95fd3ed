"""Sampled blocks agree with recurrences and closed forms."""

from __future__ import annotations

import numpy as np
import pytest

from bondgraph import J1, Block, C, Graph, I, R, Se, StateSpec, compile_model, signals
from bondgraph.errors import ModelError, RunError
from tests.inner.model import Automaton, Transition

METHODS = [{}, {"method": "dopri5"}, {"method": "rodas5p"}]


def pushed(*blocks, force="control.y", mass=1.0, start=0.0, **more):
    graph, v = Graph("pushed"), J1("v")
    graph.connect(Se("push", lambda u: u, signals=[force]), v).connect(v, I("m", mass, initial=start))
    graph.add(Block("place", [], inputs={"v": "m.flow"}, states={"x": StateSpec(0.0)}, rates={"x": "v"}))
    graph.add(*blocks)
    for name, value in more.items():
        getattr(graph, name)(value)
    return graph


def proportional(period, k=5.0, offset=0.0):
    return signals.sampled(
        "control", lambda y, k, u: -k * u, period=period, offset=offset, parameters={"k": k}, signals=["m.flow"]
    )


@pytest.mark.parametrize("options", METHODS, ids=str)
def test_sampled_proportional_control_of_an_integrator(options):
    """The position follows x[n+1] = (1 - k T) x[n] in straight lines, and a sample at a tick shows the state before the tick."""
    period, k = 0.01, 5.0
    run = compile_model(pushed(proportional(period), start=1.0)).simulate(0.5, samples=period / 2.0, **options)
    at = (1.0 - k * period) ** np.arange(51)
    between = 0.5 * (at[1:] + at[:-1])
    tolerance = 1e-12 if not options else 1e-9
    assert run.ok and run["m.p"][::2] == pytest.approx(at, abs=tolerance)
    assert run["m.p"][1::2] == pytest.approx(between, abs=tolerance)
    assert run["control.y"][2::2] == pytest.approx(-k * at[:-1], abs=5.0 * tolerance)
    assert run["control.y"][0] == -k
    assert run.statistics.ticks == 50
    assert run.ledger.relative_residual < 1e-7


def test_twenty_thousand_ticks_cost_milliseconds():
    compiled = compile_model(pushed(proportional(1e-3), start=1.0))
    runs = [compiled.simulate(20.0, samples=[10.0, 20.0]) for _ in range(3)]
    assert runs[0].statistics.ticks == 20_000
    assert runs[0]["m.p"][1] == pytest.approx(0.995**10_000, rel=1e-9)
    assert min(run.statistics.wall_time for run in runs) < 0.2


def test_period_and_offset_are_run_time_parameters():
    compiled = compile_model(pushed(proportional(0.5), start=1.0))
    changed = {"control.period": 0.1, "control.offset": 0.05, "control.k": 2.0}
    run = compiled.simulate(1.0, parameters=changed, samples=[0.04, 0.15, 0.95])
    assert run["m.p"] == pytest.approx([1.0, 1.0, 1.0 - 0.2, (1.0 - 0.2) ** 9], abs=1e-12)
    with pytest.raises(RunError, match="E330"):
        compiled.simulate(1.0, parameters={"control.period": -0.1})
    with pytest.raises(RunError, match="E330") as refused:
        compiled.simulate(1.0, parameters={"control.period": 1e-12})
    assert "max_steps" not in str(refused.value)
    with pytest.raises(RunError, match=r"E330[\s\S]*try: a larger max_steps"):
        compiled.simulate(1.0, parameters={"control.period": 0.1}, max_steps=5)
    late = compiled.simulate(1.0, parameters={"control.offset": 2.0})
    assert late.statistics.ticks == 0 and late["m.p"][-1] == 1.0


@pytest.mark.parametrize("options", METHODS, ids=str)
def test_clocks_whose_periods_do_not_divide(options):
    """Two counters and a hold tick every 0.1 s, 0.07 s and 0.1 s; the hold reads the first counter after its tick."""
    graph = pushed(
        signals.sampled("control", lambda n: n + 1.0, period=0.1),
        signals.sampled("other", lambda n: n + 1.0, period=0.07, offset=0.03),
        signals.hold("copy", "control.y", 0.1),
    )
    run = compile_model(graph).simulate(1.0, samples=[0.099, 0.101, 0.999], **options)
    assert run["control.y"].tolist() == [1.0, 1.0, 2.0, 10.0]
    assert run["other.y"].tolist() == [0.0, 1.0, 2.0, 14.0]
    assert run["copy.y"].tolist() == run["control.y"].tolist()
    assert run.statistics.ticks == 34


def test_no_rounding_accumulates_over_many_ticks():
    run = compile_model(pushed(signals.sampled("control", lambda n: n + 1.0, period=0.1))).simulate(
        1e4, samples=[9999.85, 9999.95]
    )
    assert run["control.y"].tolist() == [1.0, 99999.0, 100000.0]


@pytest.mark.parametrize("options", METHODS, ids=str)
def test_a_guard_that_jumps_at_a_tick_fires_there(options):
    latch = Automaton(
        "latch", ("held", "free"), "held", (Transition("held", "free", lambda u: u - 2.5, ("control.y",), kind="slip"),)
    )
    graph = pushed(signals.sampled("control", lambda n: n + 1.0, period=0.1), add_automaton=latch)
    run = compile_model(graph).simulate(0.35, samples=[0.2, 0.3], **options)
    assert [(event.kind, event.time) for event in run.events] == [("slip", 0.2)]
    assert run["latch.mode"].tolist() == [0.0, 0.0, 1.0]
    assert run["m.p"][-1] == pytest.approx(0.6, abs=1e-12 if not options else 1e-8)
    before, after = run.at_event(run.events[0], "latch.mode")
    assert (before, after) == (0.0, 1.0)


def test_events_between_ticks_leave_the_clock_alone():
    relay = Automaton("relay", ("low", "high"), "low", (Transition("low", "high", lambda x: x - 0.137, ("place.x",)),))
    run = compile_model(pushed(proportional(0.1), start=1.0, add_automaton=relay)).simulate(1.0, samples=0.1)
    assert len(run.events) == 1 and run.statistics.ticks == 10
    assert run["m.p"] == pytest.approx(0.5 ** np.arange(11), abs=1e-12)


def test_hand_made_recurrences_of_pid_and_derivative():
    h, kp, ki, kd, tau = 0.05, 2.0, 30.0, 0.1, 0.02
    graph = pushed(
        signals.sine("u", amplitude=1.0, omega=3.0, phase=0.4),
        signals.sampled_derivative("d", "u.y", h, tau),
        signals.sampled_pid("control", "u.y", kp, ki, kd, period=h, time_constant=tau, limits=(-3.0, 3.0)),
        signals.sampled_pid("slow", "u.y", kp, None, kd, period=h, filter_period=3 * h, measurement="u.y"),
    )
    run = compile_model(graph).simulate(2.0, samples=h / 2.0)
    u = np.sin(3.0 * h * np.arange(40) + 0.4)
    slope, total, slow = 0.0, 0.0, 0.0
    for n in range(40):
        if n:
            slope = (tau * slope + u[n] - u[n - 1]) / (tau + h)
        if n and n % 3 == 0:
            slow = (u[n] - u[n - 3]) / (3.0 * h)
        more = total + h * u[n]
        y = kp * u[n] + ki * more + kd * slope
        if abs(y) <= 3.0 or y * u[n] < 0.0:
            total = more
        y = min(max(kp * u[n] + ki * total + kd * slope, -3.0), 3.0)
        assert run["d.y"][2 * n + 1] == pytest.approx(slope, abs=1e-12)
        assert run["control.integral"][2 * n + 1] == pytest.approx(total, abs=1e-12)
        assert run["control.y"][2 * n + 1] == pytest.approx(y, abs=1e-12)
        assert run["slow.y"][2 * n + 1] == pytest.approx(kp * u[n] - kd * slow, abs=1e-12)
    assert np.max(run["control.y"]) == 3.0


def test_vectors_and_outputs():
    graph = pushed(
        Block("pair", [("y", lambda t: np.array([t, 2.0 * t]), ["t"])], inputs={"t": "time"}),
        signals.hold("held", "pair.y", 0.1, dimension=2),
        signals.sampled_derivative("slope", "pair.y", 0.1, dimension=2),
        signals.sampled(
            "control", lambda x, k, u: x + u[1], period=0.1, output=lambda x, k: k * x, parameters={"k": 3.0}, signals=["pair.y"]
        ),
    )
    run = compile_model(graph).simulate(0.35, samples=[0.25])
    assert run["held.y"][1] == pytest.approx([0.2, 0.4])
    assert run["slope.y"][1] == pytest.approx([1.0, 2.0])
    assert run["control.y"][1] == pytest.approx(3.0 * 0.6)


def test_a_tick_inside_an_algebraic_loop():
    graph, v = Graph("loop"), J1("v")
    graph.connect(Se("push", lambda u: u, signals=["control.y"]), v)
    graph.connect(v, R("cubic", effort=lambda f: f * f * f)).connect(v, R("linear", resistance=1.0))
    graph.connect(v, C("spring", stiffness=1.0))
    graph.add(signals.sampled("control", lambda n: 10.0 - n, period=0.5, initial=0.0))
    run = compile_model(graph).simulate(1.4, samples=0.25)
    assert run.ok and run.statistics.ticks == 3
    balance = run["control.y"] - run["spring.q"] - run["v.flow"] - run["v.flow"] ** 3
    assert np.max(np.abs(balance)) < 1e-7


def test_invalid_clocks_are_refused():
    with pytest.raises(ModelError, match="E331"):
        signals.sampled_pid("pid", "u.y", 1.0, None, 1.0, period=0.02, filter_period=0.05)
    assert signals.sampled_pid("pid", "u.y", 1.0, None, 1.0, period=0.1, filter_period=0.3)
    for make in (
        lambda: signals.hold("a", "time", 0.0),
        lambda: signals.sampled("a", lambda x: x, period=-1.0),
        lambda: signals.sampled_derivative("a", "time", 0.0),
        lambda: signals.sampled_pid("a", "time", 1.0, period=0.0),
    ):
        with pytest.raises(ModelError, match="E142"):
            make()
    with pytest.raises(ModelError, match="E143"):
        signals.sampled_pid("a", "time", 1.0, period=0.1, measurement="time")
    with pytest.raises(ModelError, match="E148"):
        signals.sampled_pid("a", "time", 1.0, period=0.1, limits=(1.0, -1.0))
    with pytest.raises(ModelError, match="E118"):
        signals.sampled("a", lambda x, period: x, period=0.1, parameters={"period": 1.0})
    with pytest.raises(ModelError, match="E118"):
        pushed(Block("control", [], states={"y": StateSpec(0.0)}, updates={"y": "y"})).freeze()
    with pytest.raises(ModelError, match="E128"):
        compile_model(pushed(signals.sampled("control", lambda y: np.ones(2), period=1.0)))


@pytest.mark.parametrize("options", METHODS, ids=str)
def test_integration_stops_where_a_step_or_ramp_begins(options):
    start = 0.3
    graph = pushed(
        signals.step("jump", start),
        signals.ramp("rise", 2.0, start=0.5, end=0.8),
        signals.summation("control", {"jump.y": 1, "rise.y": 1}),
    )
    run = compile_model(graph).simulate(1.0, samples=[start, 0.5, 0.8, 1.0], **options)
    assert run["jump.y"].tolist() == [0.0, 1.0, 1.0, 1.0, 1.0]
    tolerance = 1e-12 if not options else 1e-8
    assert run["m.p"] == pytest.approx([0.0, 0.0, 0.2, 0.59, 0.91], abs=tolerance)
    assert run.statistics.ticks == 0
    if not options:
        assert run.statistics.rejected == 0


def test_a_sampler_sees_a_step_at_its_own_instant():
    graph = pushed(signals.step("jump", 0.3), signals.hold("control", "jump.y", 0.1))
    run = compile_model(graph).simulate(0.5, samples=[0.29, 0.31])
    assert run["control.y"].tolist() == [0.0, 0.0, 1.0]
