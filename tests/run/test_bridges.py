"""Bridges of ideal diodes fed by ideal sources agree with closed forms."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from bondgraph import J0, J1, Automaton, Diode, Element, Graph, I, R, Se, Switch, Transition, compile_model
from screws.scalars import sin
from tests.inner.run import event_transitions
from tests.twin_runs import compared


def three_phase(order=range(6), choke=0.0):
    graph, plus, minus, out = Graph("bridge"), J0("plus"), J0("minus"), J1("out")
    nodes = [J0(f"n{k}") for k in range(3)]
    for k, node in enumerate(nodes):
        given = {"size": 1.0, "speed": 1.0, "late": 2.0 * np.pi * k / 3.0}
        wave = Se(f"u{k}", lambda size, speed, late, t: size * sin(speed * t - late), parameters=given, signals=["time"])
        graph.connect(wave, node)
    for side, k in (divmod(place, 3) for place in order):
        arm = J1(f"{'low' if side else 'up'}{k}")
        tail, head = (minus, nodes[k]) if side else (nodes[k], plus)
        graph.connect(tail, arm).connect(arm, Diode(f"D{arm.name}")).connect(arm, head)
    graph.connect(plus, out).connect(out, minus).connect(out, R("load", 1.0))
    if choke:
        graph.connect(out, I("choke", choke))
    return compile_model(graph)


def mains(speed, size, load):
    return {"load.resistance": load} | {
        f"u{k}.{name}": value for k in range(3) for name, value in (("speed", speed), ("size", size))
    }


def waves(t, speed, size):
    return np.array([size * np.sin(speed * t - 2.0 * np.pi * k / 3.0) for k in range(3)])


@pytest.fixture(scope="module")
def bridge():
    return three_phase()


@pytest.mark.parametrize("size, load", [(1.0, 1.0), (1e3, 1.0), (1e-3, 1.0), (1.0, 1e-3), (1e-3, 1e3)])
@pytest.mark.parametrize("speed", [1.0, 2.0 * np.pi * 50.0, 1e6])
def test_a_bridge_at_ideal_sources_gives_the_largest_line_voltage(bridge, speed, size, load):
    """Two diodes commutate every 60 degrees, first at 30 degrees."""
    end = 15.0 / speed
    t = np.linspace(0.0, end, 151)
    run = bridge.simulate(end, parameters=mains(speed, size, load), samples=t, progress=False)
    assert run.ok, run.failure
    assert run.statistics.events_in_python == 0
    u = waves(run.t, speed, size)
    np.testing.assert_allclose(run["load.effort"], u.max(axis=0) - u.min(axis=0), rtol=0.0, atol=1e-9 * size)
    np.testing.assert_allclose(run["load.flow"] * load, run["load.effort"], rtol=1e-12, atol=1e-12 * size)
    times = np.unique(np.round(speed * run.events.times, 9))
    np.testing.assert_allclose(times[times > 0.0], np.pi / 6.0 + np.arange(14) * np.pi / 3.0, rtol=0.0, atol=1e-9)


@pytest.fixture(scope="module")
def choked():
    return three_phase((5, 3, 1, 4, 2, 0), choke=1.0)


def test_a_choke_behind_a_bridge_follows_its_closed_form(choked):
    """L di/dt + R i equals the largest line voltage, whose phase runs from 60 to 120 degrees in every sixth of a period."""
    inductance, load, speed = 0.5, 2.0, 1.0
    given = mains(speed, 1.0, load) | {"choke.inertia": inductance}
    run = choked.simulate(15.0, parameters=given, samples=0.1, rtol=1e-11, atol=1e-13, progress=False)
    assert run.ok, run.failure
    assert run.statistics.events_in_python == 0
    z, gain = complex(load, speed * inductance), np.sqrt(3.0)

    def steady(t):
        """Return the periodic solution for the line voltage `gain` sin(t + pi / 3), with t from the start of each sixth of a
        period."""
        return (gain * np.exp(1j * (t + np.pi / 3.0)) / z).imag

    expected, current, begin = np.empty(len(run.t)), 0.0, -np.pi / 6.0
    for k in range(20):
        start, stop = max(begin, 0.0), begin + np.pi / 3.0
        here = (run.t >= start) & (run.t <= stop)
        free = current - steady(start - begin)
        expected[here] = steady(run.t[here] - begin) + free * np.exp(-load / inductance * (run.t[here] - start))
        current = steady(stop - begin) + free * np.exp(-load / inductance * (stop - start))
        begin = stop
        assert k < 19 or stop > run.t[-1]
    np.testing.assert_allclose(run["load.flow"], expected, rtol=0.0, atol=1e-9)


def test_machine_code_and_reference_find_the_same_events(bridge, monkeypatch):
    bridge.simulate(15.0, progress=False)  # compile before the function is replaced in CPython
    taken, fire = [], event_transitions.fire
    monkeypatch.setattr(event_transitions, "fire", lambda *given: taken.append(given[2]) or fire(*given))
    with compared() as told:
        run = bridge.simulate(15.0, progress=False)
    assert run.ok and told["runs"] == 1 and told["asked"] == 0 and len(run.events) > 28
    instants = len(np.unique(run.events.since))
    assert len(run.events) <= len(taken) < instants * len(bridge.program.transitions) / 2


def test_a_jump_that_is_rounding_does_not_lead_a_search_astray(choked):
    """Late in a run, the rounding error of time separates two equal line voltages, and exactly two diodes must commutate."""
    speed = 100.0 * np.pi
    run = choked.simulate(0.2, parameters=mains(speed, 325.0, 20.0) | {"choke.inertia": 5e-3}, progress=False)
    assert run.ok, run.failure
    assert run.statistics.events_in_python == 0
    times = run.events.times[run.events.times > 0.0]
    assert len(times) % 2 == 0
    np.testing.assert_array_equal(times[::2], times[1::2])
    np.testing.assert_allclose(speed * times[::2], np.pi / 6.0 + np.arange(len(times) // 2) * np.pi / 3.0, rtol=0.0, atol=1e-9)


def in_series(count: int) -> Graph:
    graph, arms = Graph("in series"), itertools.count()
    nodes: dict[object, Element] = {}

    def join(tail: object, head: object, part: Element) -> None:
        arm = J1(f"arm{next(arms)}")
        a, b = (nodes.setdefault(key, J0(f"node {key}")) for key in (tail, head))
        graph.connect(a, arm).connect(arm, b).connect(arm, part)

    for b in range(count):
        for k in range(3):
            phase = 2.0 * np.pi * k / 3.0 + np.pi * b / (3.0 * count)
            join(f"{b}{k}", f"star {b}", Se(f"u{b}{k}", lambda t, phase=phase: sin(t - phase), signals="time"))
            join(f"{b}{k}", f"rail {b}", Diode(f"up{b}{k}"))
            join(f"rail {b + 1}", f"{b}{k}", Diode(f"down{b}{k}"))
    join("rail 0", f"rail {count}", R("load", 2.0))
    return graph


@pytest.mark.parametrize("count", [2, 4])
def test_bridges_in_series_add_their_line_voltages(count: int) -> None:
    """The 12 or 24 diodes have 4,096 or 16,777,216 modes."""
    run = in_series(count).compile(progress=False).simulate(6.5, samples=0.05, progress=False)
    assert run.ok, run.failure
    phases = 2.0 * np.pi * np.arange(3) / 3.0 + np.pi * np.arange(count)[:, None] / (3.0 * count)
    u = np.sin(run.t[:, None, None] - phases)
    np.testing.assert_allclose(np.abs(run["load.effort"]), np.ptp(u, axis=2).sum(axis=1), rtol=0.0, atol=1e-11)
    times = np.unique(np.round(run.events.times, 9))
    np.testing.assert_allclose(times[times > 0.0], np.pi / (3 * count) * np.arange(1, 6 * count + 1), rtol=0.0, atol=1e-9)
    assert abs(run.ledger.summary()["relative residual"]) < 1e-9


def test_a_floating_source_takes_over_from_diode_to_diode() -> None:
    """Diodes connect ground to both ends of a source; both diodes together would short it, so the reverse-biased one opens."""
    graph, ends = Graph("floating"), [J0(name, domain="electrical") for name in ("high", "low")]
    states = ("off", "still off", "never on")
    turns = [Transition(a, b, lambda t: t - 9.0, "time") for a, b in itertools.pairwise(states)]
    graph.add_automaton(Automaton("lever", states, "off", turns))
    source, low, beside = (J1(name, domain="electrical") for name in ("source", "arm low", "beside"))
    first = J1("arm high", domain="electrical")
    graph.connect(first, Diode("D high")).connect(first, ends[0])
    wave = Se("V", lambda t: sin(4.7 * t + 3.5) - math.sin(3.5), signals="time")
    graph.connect(ends[0], source).connect(source, wave).connect(source, ends[1])
    graph.connect(low, Diode("D low")).connect(low, ends[1])
    graph.connect(beside, Switch("S", automaton="lever", closed=["never on"])).connect(beside, ends[1])
    run = compile_model(graph).simulate(2.0, samples=0.01, progress=False)
    assert run.ok, run.failure
    voltage = np.sin(4.7 * run.t + 3.5) - math.sin(3.5)
    inside = run.t > 0.0
    np.testing.assert_allclose(run["D high.effort"][inside], np.minimum(-voltage, 0.0)[inside], atol=1e-9)
    np.testing.assert_allclose(run["D low.effort"][inside], np.minimum(voltage, 0.0)[inside], atol=1e-9)
    assert max(np.abs(run[f"{name}.flow"]).max() for name in ("D high", "D low", "V")) < 1e-9
