"""Runs with events, clocks, loops and discontinuities have the same bits, whether single, prepared or many."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from benchmarks.events import boost
from bondgraph import J1, Automaton, C, Friction, Graph, I, R, Se, Transition, compile_model, signals
from bondgraph.errors import RunError
from examples.bouncing_ball import on_constraint, with_restitution
from screws import scalars as s
from tests.inner.run import BatchCollector, RunTransition, events, integral, last, mean, peak, prepare, series, simulate
from tests.run.problems import ball, program
from tests.run.test_both_loops import ringing
from tests.run.test_ticks import proportional
from tests.run.test_ticks import pushed as pushed_by_clock
from tests.twin_runs import compared


def rubbing():
    graph, v = Graph("rubbing"), J1("v", domain="translation")
    graph.add(signals.sine("drag", amplitude=2.0, omega=3.0))
    graph.connect(Se("load", lambda u: u, signals=["drag.y"]), v).connect(v, I("m", 1.0)).connect(v, Friction("f", 1.0))
    return graph


def servo():
    relay = Automaton("relay", ("low", "high"), "low", (Transition("low", "high", lambda x: x - 0.137, ("place.x",)),))
    return pushed_by_clock(proportional(0.1), start=1.0, add_automaton=relay)


def pulsed():
    graph, v = Graph("pulsed"), J1("v")
    graph.connect(Se("u", lambda a, b: a + b, signals=["p.y", "w.y"]), v).connect(v, I("m", 1.0))
    graph.connect(v, C("k", stiffness=4.0)).connect(v, R("d", 0.2))
    graph.add(signals.pulse("p", start=0.3, width=0.2, after=5.0), signals.square("w", period=0.7, duty=0.3))
    return graph


def charging():
    graph, ring = Graph("charging"), J1("ring")
    graph.connect(Se("u", 2.0), ring).connect(ring, C("store", capacitance=0.5)).connect(ring, R("linear", 2.0))
    return graph.connect(ring, R("cubic", effort=lambda f: f**3 + 0.5 * f))


def kicked():
    graph, v = Graph("kicked"), J1("v", domain="translation")
    kick = Transition("on", "on", lambda q: q, ("k.q",), (("m.p", lambda p: 1.05 * p, ("m.p",)),), kind="kick")
    graph.connect(v, I("m", 1.0)).connect(v, C("k", stiffness=9.0, initial=1.0)).connect(v, R("d", 0.1))
    return graph.add_automaton(Automaton("kicks", ("on",), "on", (kick,)))


def falls(**options):
    return program(
        lambda t, x, p, m: [x[1], -p[0]],
        (2, 2, 1),
        guards=lambda t, x, p, m: [-x[0], x[0] - 1.5],
        energies=lambda t, x, p, m: [p[0] * x[0], 0.5 * x[1] * x[1]],
        resets=[lambda t, x, p, m: [x[0], -p[1] * x[1]], None],
        transitions=[
            RunTransition("floor", 0, 0.0, 0.0, "impact", impact=True),
            RunTransition("ceiling", 0, 0.0, 0.0, "hit", error="the ceiling is hit"),
        ],
        **options,
    )


CASES = {
    "bounces": (with_restitution, 6.0, {}, {"floor.h": [1.0, 0.7, 1.3]}, ("floor.h", "contact.mode")),
    "a switched constraint": (
        lambda: on_constraint(10.0),
        3.0,
        {},
        {"floor.h": [1.0, 1.2, 0.5]},
        ("floor.h", "floor.multiplier"),
    ),
    "a converter": (boost, 1e-3, {"load.resistance": [10.0, 8.0, 30.0]}, {}, ("l.flow", "switch.mode")),
    "friction": (rubbing, 4.0, {"f.limit": [1.0, 0.5, 0.9]}, {}, ("m.flow", "f.effort")),
    "a clock": (servo, 1.0, {"control.k": [5.0, 3.0, 7.0]}, {}, ("m.p", "control.y")),
    "clocks of their own": (servo, 1.0, {"control.period": [0.1, 0.1, 0.07], "control.offset": [0.0, 0.0, 0.01]}, {}, ("m.p",)),
    "breaks": (pulsed, 2.0, {"p.start": [0.3, 0.0, 1.95], "d.resistance": [0.2, 0.3, 0.2]}, {}, ("m.p", "p.y")),
    "a loop": (charging, 3.0, {"linear.resistance": [2.0, 1.0, 4.0]}, {}, ("store.q", "cubic.flow")),
    "a loop and events": (ringing, 8.0, {"linear.resistance": [2.0, 1.0, 4.0]}, {}, ("store.q", "drive.mode")),
    "kicks": (kicked, 6.0, {"d.resistance": [0.1, 0.0, 0.2]}, {}, ("k.q", "m.p")),
}


@functools.cache
def compiled_case(name):
    return compile_model(CASES[name][0]())


@pytest.fixture
def alone(monkeypatch):
    numbers, single = [], BatchCollector.run_single

    def noted(own, run):
        numbers.append(run)
        single(own, run)

    monkeypatch.setattr(BatchCollector, "run_single", noted)
    return numbers


def ensure_alike(ends, k, run):
    spent = run.statistics
    for name, own in (("x", run.x), ("m", run.m), ("integrals", run.integrals)):
        np.testing.assert_array_equal(getattr(ends, name)[k], own[-1])
    counts = ends.steps[k], ends.rejected[k], ends.rates[k], ends.events[k]
    assert counts == (spent.steps, spent.rejected, spent.rates, spent.events) and ends.t[k] == run.t[-1]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", CASES)
def test_many_are_single_runs(name, threads, alone):
    _, t_end, parameters, initial, quantities = CASES[name]
    compiled = compiled_case(name)
    run = compiled.prepare_run(t_end, samples=t_end / 40.0, progress=False)
    assert run.program.in_machine_code
    keep = {f"{kind('')} {of}": kind(of) for kind in (last, mean, series) for of in quantities}
    ends = run.run_many(*run.start_values_many(parameters, initial), keep, threads=threads, check_rank=False)
    assert ends.ok.all() and not alone
    for k in range(3):
        given = {"parameters": {n: v[k] for n, v in parameters.items()}, "initial": {n: v[k] for n, v in initial.items()}}
        single = compiled.simulate(t_end, samples=t_end / 40.0, progress=False, **given)
        assert single.ok
        ensure_alike(ends, k, single)
        for of in quantities:
            course = single[of]
            np.testing.assert_array_equal(ends[f"series() {of}"][k], course)
            assert ends[f"last() {of}"][k] == course[-1] and ends[f"mean() {of}"][k] == mean(of)(single)
    assert ends.events.any() == (name not in ("breaks", "a loop"))


@pytest.mark.parametrize("name", CASES)
def test_go_is_a_single_run(name):
    _, t_end, parameters, initial, _ = CASES[name]
    compiled = compiled_case(name)
    run = compiled.prepare_run(t_end, samples=t_end / 40.0, progress=False)
    for k in (0, 2, 1, 0):
        given = {"parameters": {n: v[k] for n, v in parameters.items()}, "initial": {n: v[k] for n, v in initial.items()}}
        x, p, m = run.start_values(**given)
        end, single = run.run(p, x, m), run(**given)
        assert end.completed and end.t == single.since[-1]
        np.testing.assert_array_equal(end.rows, np.hstack([single.x, single.integrals]))
        np.testing.assert_array_equal(end.modes, single.m)
        for name_, own in (("x", single.x), ("m", single.m), ("q", single.integrals)):
            np.testing.assert_array_equal(getattr(end, name_), own[-1])
        spent = single.statistics
        assert (end.steps, end.rates, end.events) == (spent.steps, spent.rates, spent.events)


def test_runs_settled_in_python_do_not_disturb_others(alone):
    prepared = prepare(falls(), 1.5, samples=0.1, progress=False)
    p = np.array([[9.81, 0.9], [9.81, 1.4], [9.81, 0.8], [np.nan, 0.8], [9.81, 0.7]])
    for threads in (1, 2):
        alone.clear()
        ends = prepared.run_many(p, [1.0, 0.0], [0.0], threads=threads)
        assert sorted(alone) == [1, 3] and list(ends.failures) == [1] and list(ends.errors) == [3]
        assert ends.failures[1].kind == "ended" and ends.ok.tolist() == [True, False, True, False, True]
        for k in (0, 2, 4):
            ensure_alike(ends, k, simulate(falls(), [1.0, 0.0], p[k], [0.0], 1.5, samples=0.1))


def test_only_unexplained_energy_raises_a_concern(alone):
    def leaking(**options):
        return program(
            lambda t, x, p, m: [x[1], -p[0]],
            (2, 3, 1),
            guards=lambda t, x, p, m: [-x[0]],
            energies=lambda t, x, p, m: [p[0] * x[0], 0.5 * x[1] * x[1]],
            powers=lambda t, x, p, m: [p[2] * x[1] * x[1]],
            resets=[lambda t, x, p, m: [x[0], -p[1] * x[1]]],
            transitions=[RunTransition("floor", 0, 0.0, 0.0, "impact", impact=True)],
            roles=("dissipated",),
            **options,
        )

    prepared = prepare(leaking(), 1.3, samples=0.05, progress=False)
    ends = prepared.run_many([[9.81, 0.7, 0.0], [9.81, 0.7, 1e-3], [9.81, 0.5, 0.0]], [1.0, 0.0], [0.0], threads=1)
    assert alone == [1] and list(ends.warnings) == [1] and not ends.failures
    assert ends.events.min() >= 2


def test_a_loop_that_is_lost_at_a_sample_is_found(alone, monkeypatch):
    prepared = compiled_case("a loop").prepare_run(1.0, samples=0.1, progress=False)
    monkeypatch.setattr("bondgraph.run.batch.tables.NEWTON_ROUNDING", 0.0)
    monkeypatch.setattr("bondgraph.run.batch.tables.RTOL_FACTOR", 0.0)
    assert prepared.run_many(*prepared.start_values_many(), threads=1).ok.all() and alone == [0]


def test_clocks_that_cannot_run_are_refused_by_run(alone):
    run = compiled_case("a clock").prepare_run(1.0, samples=[1.0], progress=False)
    ends = run.run_many(*run.start_values_many({"control.period": [0.1, 1e-12, 0.2]}), threads=1)
    assert alone == [1] and ends.errors[1].problem.code == "E330" and ends.ok.tolist() == [True, False, True]
    x, p, m = run.start_values({"control.period": 1e-12})
    with pytest.raises(RunError, match="E330"):
        run.run(p, x, m)


def test_a_full_event_log_grows(monkeypatch, alone):
    expected = compiled_case("a converter").simulate(4e-3, samples=1e-4, progress=False)
    monkeypatch.setattr("bondgraph.run.events.handler.BUFFER_BYTES", 0)
    run = compiled_case("a converter").prepare_run(4e-3, samples=1e-4, progress=False)
    keep = {"u": "c.effort", "charge": integral("c.effort"), "top": peak("c.effort"), "count": events()}
    ends = run.run_many(*run.start_values_many(), keep, threads=1)
    assert ends.ok.all() and not alone and ends.events[0] == len(expected.events) > 300
    ensure_alike(ends, 0, expected)
    np.testing.assert_array_equal(ends["u"][0], expected["c.effort"])
    assert ends["charge"][0] == integral("c.effort")(expected) and ends["top"][0] == expected.peak("c.effort")[1]
    assert ends["count"][0] == len(expected.events)
    assert run().events == expected.events


def test_ticks_that_solve_loops_are_left_to_python(alone):
    graph, v = Graph("loop"), J1("v")
    graph.connect(Se("push", lambda u: u, signals=["control.y"]), v).connect(v, C("spring", stiffness=1.0))
    graph.connect(v, R("cubic", effort=lambda f: f * f * f)).connect(v, R("linear", resistance=1.0))
    graph.add(signals.sampled("control", lambda n: 10.0 - n, period=0.5, initial=0.0))
    compiled = compile_model(graph)
    run = compiled.prepare_run(1.4, samples=0.25, progress=False)
    single = compiled.simulate(1.4, samples=0.25, progress=False)
    ends = run.run_many(*run.start_values_many({"linear.resistance": [1.0, 2.0]}), threads=1)
    assert not run.program.in_machine_code and alone == [0, 1] and single.statistics.ticks == 3
    ensure_alike(ends, 0, single)
    x, p, m = run.start_values()
    assert np.array_equal(run.run(p, x, m).x, single.x[-1])


def test_too_many_events_are_reported_as_in_single_runs(alone):
    prepared = prepare(ball(), 2.0, samples=[2.0], max_events=1, progress=False)
    ends = prepared.run_many([9.81, 0.9], [[1.0, 0.0], [30.0, 0.0]], [0.0], threads=1)
    assert alone == [0] and ends.failures[0].kind == "too many events" and ends.ok.tolist() == [False, True]


def test_a_method_change_continues_from_the_same_state():
    def stiffening():
        return program(
            lambda t, x, p, m: [-(1.0 + p[0] * m[0]) * (x[0] - s.cos(t))],
            (1, 1, 1),
            guards=lambda t, x, p, m: [s.where(s.less(m[0], 0.5), t - 1.0, -1.0)],
            transitions=[RunTransition("gain", 0, 0.0, 1.0, "rises")],
        )

    prepared = prepare(stiffening(), 10.0, samples=1.0, progress=False)
    with compared() as told:
        results = [prepared.checked_run([0.0], [gain], [0.0]) for gain in (1.0, 1e5, 1.0, 1e5)]
    assert told["runs"] == 4 and [len(run.events) for run in results] == [1] * 4
    for before, again in (results[::2], results[1::2]):
        assert np.array_equal(before.x, again.x) and before.statistics.steps == again.statistics.steps


@pytest.mark.parametrize("gain", [0.9, 1.3])
def test_python_continues_where_machine_code_stops(gain):
    with compared() as told:
        result = prepare(falls(), 3.0, samples=0.1, progress=False).checked_run([1.0, 0.0], [9.81, gain], [0.0])
    assert told["runs"] == 1 and (result.failure is None) == (gain < 1.0)
    assert len(result.events) >= 2 and result.statistics.events_in_python == (gain > 1.0)
