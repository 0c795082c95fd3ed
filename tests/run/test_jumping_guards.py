"""Every method locates events of guards that jump, to rounding error, where smooth counterparts cross zero."""

from dataclasses import replace

import numpy as np
import pytest

from bondgraph import J1, Automaton, Block, C, Graph, I, R, Se, StateSpec, Transition, by_mode, signals
from screws.scalars import absolute, floor, less, maximum, minimum, sign, sin, sqrt, where

PAIRS = (
    (lambda x, c: x > c, lambda x, c: x - c),
    (lambda x, c: x >= c, lambda x, c: x - c),
    (lambda x, c: sign(x - c), lambda x, c: x - c),
    (lambda x, c: sign(sign(x - c)), lambda x, c: x - c),
    (lambda x, c: where(x > c, 1.0, -1.0), lambda x, c: x - c),
    (lambda x, c: where(x < c, -1.0, 1.0), lambda x, c: x - c),
    (lambda x, c: where(x > c, 0.0, -1.0), lambda x, c: x - c),
    (lambda x, c: where(x > c, 1e-9, -1.0), lambda x, c: x - c),
    (lambda x, c: where(x > c, 1.0, -1e-9), lambda x, c: x - c),
    (lambda x, c: where(x > c, 1e9, -1.0), lambda x, c: x - c),
    (lambda x, c: where(x > c, x, x - 9.0), lambda x, c: x - c),
    (lambda x, c: x - c + where(x > c, 1e-6, -1e-6), lambda x, c: x - c),
    (lambda x, c: where((x > c) & (x < 9.0), 1.0, -1.0), lambda x, c: minimum(x - c, 9.0 - x)),
    (lambda x, c: where((x > c) | (x < -9.0), 1.0, -1.0), lambda x, c: maximum(x - c, -9.0 - x)),
    (lambda x, c: where(x > 0.05, where(x > c, 2.0, -1.0), -3.0), lambda x, c: x - c),
    (lambda x, c: where(where(x > c, x, -x) > 0.0, 1.0, -1.0), lambda x, c: x - c),
    (lambda x, c: sign(where(x > c, 1.0, -1.0) - 0.5), lambda x, c: x - c),
    (lambda x, c: -sign(x - c) * sign(x - 9.0), lambda x, c: minimum(x - c, 9.0 - x)),
    (lambda x, c: sign(x - 0.05) + sign(x - c) - 1.0, lambda x, c: x - c),
    (lambda x, c: floor(x / c) - 0.5, lambda x, c: x - c),
    (lambda x, c: where(absolute(x - c - 3.0) < 3.0, 1.0, -1.0), lambda x, c: x - c),
    (lambda x, c: where(x * x > c * c, 1.0, -1.0), lambda x, c: x - c),
    (lambda x, c: where(sqrt(x) > c**0.5, 1.0, -1.0), lambda x, c: x - c),
    (lambda x, c: where(1e6 * x > 1e6 * c, 1e-6, -1e-6), lambda x, c: x - c),
    (lambda x, c: (x > c) * 2.0 - 1.0, lambda x, c: x - c),
)


def oscillator(*automata):
    graph, v = Graph("oscillator"), J1("v", domain="translation")
    graph.connect(Se("f", 1.0), v).connect(v, I("m", mass=1.0)).connect(v, R("r", damping=0.2)).connect(v, C("s", stiffness=1.0))
    for automaton in automata:
        graph.add_automaton(automaton)
    return graph


def once(name, guard, reads):
    return Automaton(name, ("before", "after"), "before", (Transition("before", "after", guard, reads),))


def at(pair, number):
    threshold = 0.13 + 0.05 * number
    return lambda x: pair(x, threshold)


def blocks():
    level = [signals.comparator(f"above {k}", "s.q", 0.07 + 0.01 * k) for k in range(5)]
    level += [signals.comparator("above signal", "s.q", "level.y"), signals.ramp("level", slope=0.0, offset=0.08)]
    level += [signals.logic("and", "and", ["above 0.y", "above 2.y"]), signals.logic("not", "not", ["above 3.y"])]
    return [*level, signals.table("steps", "above 4.y", [0.0, 0.5, 0.5 + 1e-6, 1.0], [-1.0, -1.0, 1.0, 1.0])]


BLOCKS = (
    (lambda y: y - 0.5, "above 0.y", 0.07),
    (lambda y: y - 0.5, "above signal.y", 0.08),
    (lambda y: y - 0.5, "and.y", 0.09),
    (lambda y: 0.5 - y, "not.y", 0.1),
    (lambda y: y, "steps.y", 0.11),
)


def models():
    pairs = [[once(f"a{i}", at(pair[k], i), "s.q") for i, pair in enumerate(PAIRS)] for k in (0, 1)]
    for i, (guard, read, threshold) in enumerate(BLOCKS):
        pairs[0].append(once(f"b{i}", guard, read))
        pairs[1].append(once(f"b{i}", lambda x, c=threshold: x - c, "s.q"))
    jumping, smooth = (oscillator(*automata) for automata in pairs)
    for block in blocks():
        jumping.add(block)
    return jumping.compile(), smooth.compile()


JUMPING, SMOOTH = models()


@pytest.mark.parametrize("method", ["dop853", "dopri5", "rodas5p"])
@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e5])
@pytest.mark.parametrize("length", [2.5, 25.0])
def test_guards_that_jump_fire_where_their_smooth_counterparts_do(method, scale, length):
    times = []
    for compiled in (JUMPING, SMOOTH):
        values = {"m.mass": scale**2, "r.damping": 0.2 * scale}
        run = compiled.simulate(length * scale, parameters=values, method=method)
        assert run.ok
        times.append({event.name: event.time for event in run.events})
    assert times[0].keys() == times[1].keys() and len(times[0]) == len(PAIRS) + len(BLOCKS) == 30
    assert max(abs(times[0][name] / times[1][name] - 1.0) for name in times[0]) < 1e-13


def thermostat(*guards):
    graph, v = Graph("thermostat"), J1("v", domain="translation")
    edges = (Transition("on", "off", *guards[0]), Transition("off", "on", *guards[1]))
    graph.add_automaton(Automaton("switch", ("on", "off"), "on", edges))
    graph.connect(Se("f", by_mode("switch", {"on": 2.0, "off": 0.0})), v).connect(v, I("m", mass=1.0))
    return graph.connect(v, R("r", damping=1.0))


@pytest.mark.parametrize("backend", ["auto", "numpy"])
def test_a_thermostat_of_two_comparators_keeps_time(backend):
    graph = thermostat((lambda high: high - 0.5, "high.y"), (lambda low: 0.5 - low, "low.y"))
    graph.add(signals.comparator("high", "v.flow", 1.1))
    graph.add(signals.comparator("low", "v.flow", 0.9))
    times = graph.compile(backend=backend).simulate(20.0).events.times
    half = np.log(1.1 / 0.9)
    assert len(times) == 96
    assert times == pytest.approx(np.log(2.0 / 0.9) + half * np.arange(len(times)), abs=1e-12)


@pytest.mark.parametrize("length", [20.0, 200.0])
def test_a_thermostat_of_large_terms_keeps_time(length):
    graph = thermostat((lambda high: high - 0.5, "high.y"), (lambda low: 0.5 - low, "low.y"))
    graph.add(Block("far", [("y", lambda v, t: v + 273.15 + 5.0 * t, ["v", "t"])], inputs={"v": "v.flow", "t": "time"}))
    for name, level in (("high", 274.25), ("low", 274.05)):
        graph.add(signals.ramp(f"{name} level", slope=5.0, offset=level))
        graph.add(signals.comparator(name, "far.y", f"{name} level.y"))
    times = graph.compile().simulate(length).events.times
    half = np.log(1.1 / 0.9)
    assert times == pytest.approx(np.log(2.0 / 0.9) + half * np.arange(len(times)), rel=0.0, abs=1e-10)


def test_a_later_event_is_not_mistaken_for_a_jump():
    shortly = 1.0 - 1e-9
    graph = oscillator(once("first", lambda x: x - shortly, "s.q"), once("second", lambda x: x > 1.0, "s.q"))
    smooth = oscillator(once("first", lambda x: x - shortly, "s.q"), once("second", lambda x: x - 1.0, "s.q"))
    times = [model.simulate(1e4).events.times for model in (graph, smooth)]
    assert times[0] == pytest.approx(times[1], rel=1e-13) and times[0][1] > times[0][0] * (1.0 + 1e-10)


def counter(name, read):
    """Return a block whose state counts how often a wave rises through levels 1 apart, less how often it falls; its guards are 1
    or -1."""
    y = f"{name}.y"

    def above(u, y):
        return where(less(10.0 * u + 0.5, y + 1.0), -1.0, 1.0)

    def below(u, y):
        return where(less(10.0 * u + 0.5, y), 1.0, -1.0)

    edges = (
        Transition("on", "on", above, (read, y), [(y, lambda y: y + 1.0, (y,))], kind="rises"),
        Transition("on", "on", below, (read, y), [(y, lambda y: y - 1.0, (y,))], kind="falls"),
    )
    return replace(Block(name, [], states={"y": StateSpec(0.0)}), automaton=Automaton(name, ("on",), "on", edges))


def test_jumps_one_rounding_error_apart_all_fire():
    graph = Graph("pair")
    for name, factor in (("u", 1.0), ("w", -1.0)):
        wave = ("y", lambda t, a, factor=factor: factor * a * sin(t), ["t", "a"])
        graph.add(Block(name, [wave], inputs={"t": "time"}, parameters={"a": 1.0}))
        graph.add(counter(f"{name} count", f"{name}.y"))
    compiled = graph.compile()
    for a in 0.31 + 0.0137 * np.arange(60):
        run = compiled.simulate(15.0, samples=1501, parameters={"u.a": a, "w.a": a}, max_step=0.05)
        assert np.abs(run["u count.y"] + run["w count.y"]).max() == 0.0, a
