"""Guards that touch zero briefly in a long step are detected."""

from __future__ import annotations

import numpy as np
import pytest

from bondgraph import J1, Automaton, Block, C, Graph, I, Se, Transition, compile_model
from screws import scalars as s

METHODS = [{}, {"method": "dopri5"}, {"method": "rodas5p"}]

SHAPES = {
    "spheres": lambda x, w: s.sqrt((1.0 + w) ** 2) - s.sqrt(1.0 + x * x),  # spheres of reach 1 + w that pass at a distance of 1
    "parabola": lambda x, w: w * w - x * x,
    "tent": lambda x, w: w - s.absolute(x),
    "bell": lambda x, w: 1.0 / (1.0 + (x / w) ** 2) - 0.5,
}
HALF = {"spheres": lambda w: np.sqrt(2.0 * w + w * w), "parabola": lambda w: w, "tent": lambda w: w, "bell": lambda w: w}
"""Half of the width over which the guard is positive."""


def passing(shape):
    graph, v = Graph("passing"), J1("v")
    graph.connect(v, I("m", 1.0, initial=1.0)).connect(v, Se("none", 0.0))
    place = Block(
        "place",
        [("d", lambda x, a: x - a, ["x", "a"])],
        inputs={"v": "m.flow"},
        states={"x": 0.0},
        rates={"x": "v"},
        parameters={"a": 203.7, "w": 1e-3},
    )
    graph.add(place)
    graph.add_automaton(
        Automaton(
            "a",
            ("apart", "in"),
            "apart",
            (
                Transition("apart", "in", SHAPES[shape], ("place.d", "place.w"), kind="in"),
                Transition("in", "apart", lambda x, w: -SHAPES[shape](x, w), ("place.d", "place.w"), kind="out"),
            ),
        )
    )
    return compile_model(graph)


@pytest.fixture(scope="module", params=SHAPES)
def shape(request):
    return request.param, passing(request.param)


@pytest.mark.parametrize("options", METHODS, ids=str)
def test_a_graze_is_seen_whatever_the_length_of_the_run(shape, options):
    name, compiled = shape
    # from far away, rounding hides the slope of the bell, but not the slopes of the other shapes
    widths = {"spheres": (1e-6, 1e-10), "bell": (1e-2, 1e-3)}.get(name, (1e-3, 5e-6))
    for end in (210.0, 400.0, 4321.0):
        for at in (203.7, 8.0, 137.77):  # also at the very end of a step
            for width in widths:
                half = HALF[name](width)
                run = compiled.simulate(end, parameters={"place.a": at, "place.w": width}, samples=[end], **options)
                assert [event.kind for event in run.events] == ["in", "out"]
                # the time of a zero is uncertain by rounding over slope; here slopes are at least `half`
                blur = 1e-12 * at + 1e-13 / half
                assert [event.time for event in run.events] == pytest.approx([at - half, at + half], abs=blur)


@pytest.mark.parametrize("options", METHODS, ids=str)
def test_guards_that_stay_below_zero_cause_no_event(options):
    for top in (-1e-12, 1e-12):
        graph = passing_height(top)
        run = graph.simulate(400.0, samples=[400.0], **options)
        assert len(run.events) == (2 if top > 0.0 else 0)


def passing_height(top):
    graph, v = Graph("passing"), J1("v")
    graph.connect(v, I("m", 1.0, initial=1.0)).connect(v, Se("none", 0.0))
    graph.add(Block("place", [], inputs={"v": "m.flow"}, states={"x": 0.0}, rates={"x": "v"}))
    rise = lambda x: top - (x - 203.7) ** 2  # noqa: E731
    edges = (Transition("apart", "in", rise, ("place.x",)), Transition("in", "apart", lambda x: -rise(x), ("place.x",)))
    graph.add_automaton(Automaton("a", ("apart", "in"), "apart", edges))
    return compile_model(graph)


@pytest.mark.parametrize("options", METHODS, ids=str)
def test_crossings_in_one_step_come_in_their_order(options):
    places = [50.02, 50.05, 51.7, 51.70001, 53.9]
    graph, v = Graph("gates"), J1("v")
    graph.connect(v, I("m", 1.0, initial=1.0)).connect(v, Se("none", 0.0))
    graph.add(Block("place", [], inputs={"v": "m.flow"}, states={"x": 0.0}, rates={"x": "v"}))
    for k, at in enumerate(places):
        gate = lambda x, at=at: 1e-6 - s.absolute(x - at)  # noqa: E731
        out = lambda x, at=at: s.absolute(x - at) - 1e-6  # noqa: E731
        edges = (Transition("o", "i", gate, ("place.x",), kind="in"), Transition("i", "o", out, ("place.x",), kind="out"))
        graph.add_automaton(Automaton(f"g{k}", ("o", "i"), "o", edges))
    run = compile_model(graph).simulate(400.0, samples=[400.0], **options)
    times = [at + side for at in places for side in (-1e-6, 1e-6)]
    assert [event.time for event in run.events] == pytest.approx(times, abs=1e-11)
    assert [event.name for event in run.events] == [f"g{k}" for k in range(len(places)) for _ in range(2)]


def test_watching_costs_little_where_nothing_comes_near():
    graph = Graph("far")
    for k in range(8):
        v = J1(f"v{k}")
        graph.connect(v, I(f"m{k}", 1.0, initial=1.0)).connect(v, C(f"k{k}", stiffness=1.0 + k))
        graph.add_automaton(Automaton(f"a{k}", ("x", "y"), "x", (Transition("x", "y", lambda q: q - 5.0, (f"k{k}.q",)),)))
    run = compile_model(graph).simulate(100.0, samples=[100.0])
    assert not run.events and run.statistics.guards < 8.5 * run.statistics.steps


@pytest.mark.parametrize(("depth", "count"), [(1e-3, 38), (1e-9, 38), (1e-13, 38), (-1e-13, 0), (-1e-9, 0)])
def test_a_pendulum_passes_a_line_just_below_its_turn_each_time(depth, count):
    graph, angle = Graph("pendulum"), "pendulum.angle"
    bob = Block(
        "pendulum",
        [("pull", lambda angle: -9.81 * s.sin(angle), ["angle"])],
        states={"angle": 2.0, "speed": 0.0},
        rates={"angle": "speed", "speed": "pull"},
    )
    pass_by = Transition("o", "o", lambda angle: angle - 2.0 * (1.0 - depth), (angle,))
    graph.add(bob)
    graph.add_automaton(Automaton("line", ("o",), "o", (pass_by,)))
    run = compile_model(graph).simulate(100.0, samples=[100.0], rtol=1e-12)
    assert len(run.events) == count
