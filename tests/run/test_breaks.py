"""Every discontinuity in time is detected, and none lies within a step."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from bondgraph import J1, Automaton, Block, C, Graph, I, R, Se, Transition, compile_model, signals
from bondgraph.errors import RunError
from screws import scalars as s

METHODS = [{}, {"method": "dopri5"}, {"method": "rodas5p"}]


def pushed(*blocks, force=None, paths=("time",), **parameters):
    graph, v = Graph("pushed"), J1("v")
    own = Se("push", lambda u: u, signals=["p.y"]) if force is None else Se("push", force, signals=list(paths))
    graph.connect(own, v).connect(v, I("m", 1.0))
    if parameters:
        graph.add(Block("k", [], parameters=parameters))
    for block in blocks:
        graph.add(block)
    return graph


AT, WIDTH = 50.37, 1e-3
FORMS = {
    "absolute": lambda t, a, w: s.where(s.absolute(t - a - w / 2.0) < w / 2.0, 1.0, 0.0),
    "nested where": lambda t, a, w: s.where(t > a, s.where(t < a + w, 1.0, 0.0), 0.0),
    "and": lambda t, a, w: s.where((t > a) & (t < a + w), 1.0, 0.0),
    "product": lambda t, a, w: s.where((t - a) * (a + w - t) > 0.0, 1.0, 0.0),
    "square": lambda t, a, w: s.where((t - a - w / 2.0) ** 2 < w * w / 4.0, 1.0, 0.0),
    "minimum": lambda t, a, w: s.where(s.minimum(t - a, a + w - t) > 0.0, 1.0, 0.0),
    "hat": lambda t, a, w: s.maximum(0.0, 2.0 - 4.0 * s.absolute((t - a) / w - 0.5)),
    "sign": lambda t, a, w: 0.5 * (s.sign(t - a) - s.sign(t - a - w)),
    "floor": lambda t, a, w: s.where(s.equal(s.floor((t - a) / w), 0.0), 1.0, 0.0),
    "exponential": lambda t, a, w: s.where((s.exp(-t / 10.0) < s.exp(-a / 10.0)) & (t < a + w), 1.0, 0.0),
    "ratio": lambda t, a, w: s.where((t / a > 1.0) & (1.0 / t > 1.0 / (a + w)), 1.0, 0.0),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_pulse_is_seen_however_it_is_written(form):
    """The span is 100 s, or 1 s for `floor`, whose discontinuities are dense."""
    compiled = compile_model(pushed(force=FORMS[form], paths=("time", "k.a", "k.w"), a=AT, w=WIDTH))
    end = 1.0 if form == "floor" else 100.0
    for at, width in ((AT / 100.0 * end, WIDTH), (0.999 * end, 1e-4), (1e-5, 1e-5)):
        run = compiled.simulate(end, parameters={"k.a": at, "k.w": width}, samples=[end])
        assert run.ok and not run.events
        # edges are known to a few roundings of the time; where rounding in the square or exponential is larger, a step at the
        # edge is controlled only to that rounding
        rounding = 1e-2 * width if form in ("square", "exponential") else 0.0
        rounding += 1e-9 * width + 40.0 * np.spacing(at + width)
        assert run["m.p"][-1] == pytest.approx(width, abs=rounding)


# Multistep methods do not control the work of a pulse out of perfect rest: the size of the energies is unknown.
@pytest.mark.filterwarnings("ignore::bondgraph.UnreliableRunWarning")
@pytest.mark.parametrize("options", METHODS, ids=str)
@pytest.mark.parametrize(
    "block",
    [
        signals.pulse("p", start=AT, width=WIDTH),
        signals.table("p", "time", [0, AT, AT + 1e-9, AT + WIDTH, AT + WIDTH + 1e-9], [0, 0, 1, 1, 0]),
        signals.product("p", ["up.y", "down.y"]),
    ],
    ids=["pulse", "table", "comparators"],
)
def test_blocks_and_all_integrators(block, options):
    others = [
        signals.comparator("up", "later.y", AT),
        signals.comparator("down", "back.y", -AT - WIDTH),
        signals.gain("later", "time", 1.0),  # time, passed through a block
        signals.gain("back", "time", -1.0),
    ]
    run = compile_model(pushed(block, *others)).simulate(100.0, samples=[100.0], **options)
    assert run["m.p"][-1] == pytest.approx(WIDTH, rel=1e-5)


def test_a_chain_of_many_parts_sees_a_pulse():
    graph, last = Graph("line"), J1("v0")
    graph.connect(Se("u", lambda t: s.where(s.absolute(t - 5.037) < 5e-5, 1e4, 0.0), signals=["time"]), last)
    from bondgraph import J0

    for k in range(120):
        graph.connect(last, I(f"m{k}", 1.0)).connect(last, R(f"r{k}", 0.01))
        node, following = J0(f"n{k}"), J1(f"v{k + 1}")
        graph.connect(last, node).connect(node, C(f"c{k}", stiffness=1.0)).connect(node, following)
        last = following
    graph.connect(last, I("end", 1.0))
    compiled = compile_model(graph)
    assert compiled.program.break_names and set(compiled.program.break_names) == {"u"}
    run = compiled.simulate(5.05, samples=[5.05])
    total = sum(run[f"m{k}.p"][-1] for k in range(120)) + run["end.p"][-1]
    assert total == pytest.approx(1.0, rel=1e-3)  # the dampers have taken a little


@pytest.mark.parametrize("options", METHODS, ids=str)
def test_square_and_sawtooth_by_their_means(options):
    graph = pushed(signals.square("p", period=0.3, start=0.05, duty=0.1, high=2.0))
    graph.add(signals.sawtooth("s", period=0.3, start=0.05, low=-1.0, high=2.0), signals.integrator("area", "s.y"))
    run = compile_model(graph).simulate(3.05, samples=np.arange(0.05, 3.06, 0.3), **options)
    n = np.arange(len(run.t) - 1)
    sharp = {"abs": 1e-8 if options else 1e-12}
    assert run["m.p"][1:] == pytest.approx(0.06 * n, **sharp)
    assert run["area.y"][2:] - run["area.y"][1] == pytest.approx(0.15 * n[1:], **sharp)
    assert not run.events and run.statistics.ticks == 0


def test_long_periods_cost_nothing_and_absurd_ones_are_refused():
    compiled = compile_model(pushed(signals.square("p", period=1e6, start=1.0)))
    run = compiled.simulate(10.0, samples=[10.0])
    assert run["m.p"][-1] == pytest.approx(9.0, rel=1e-12) and run.statistics.steps < 200
    for period in (1e-9, -1.0, 0.0):
        if period > 0.0:
            with pytest.raises(RunError, match=r'(?s)E330 "p" has too many breaks.*1e\+10 breaks'):
                compiled.simulate(10.0, parameters={"p.period": period})


def test_breaks_of_a_sine_come_again():
    run = compile_model(pushed(force=lambda t: s.where(s.sin(0.2 * np.pi * t) > 1.0 - 1e-4, 1.0, 0.0))).simulate(
        100.0, samples=[100.0]
    )
    width = 2.0 * np.arccos(1.0 - 1e-4) / (0.2 * np.pi)
    assert run["m.p"][-1] == pytest.approx(10.0 * width, rel=1e-6)
    run = compile_model(pushed(force=lambda t: s.absolute(s.sin(t)))).simulate(10.0 * np.pi, samples=[10.0 * np.pi])
    assert run["m.p"][-1] == pytest.approx(20.0, rel=1e-11) and run.statistics.rejected == 0


def test_a_guard_of_time_fires_in_a_window_that_no_step_would_meet():
    window = Automaton(
        "w",
        ("off", "on", "done"),
        "off",
        (
            Transition("off", "on", lambda t: (t - 50.37) * (50.3701 - t), ("time",)),
            Transition("on", "done", lambda t: t - 50.3701, ("time",)),
        ),
    )
    graph = pushed(force=lambda t, m: s.where(s.equal(m, 1.0), 1.0, 0.0), paths=("time", "w.mode"))
    graph.add_automaton(window)
    run = compile_model(graph).simulate(100.0, samples=[100.0])
    assert [event.time for event in run.events] == pytest.approx([50.37, 50.3701], rel=1e-15)
    assert run["m.p"][-1] == pytest.approx(1e-4, rel=1e-9)


def test_a_jump_of_a_reference_reaches_a_controller_at_its_time():
    graph, v = Graph("servo"), J1("v")
    graph.connect(Se("motor", lambda u: u, signals=["control.y"]), v).connect(v, I("m", 1.0)).connect(v, R("d", 1.0))
    graph.add(
        Block("goal", [("y", lambda t: s.where((t >= 70.0) & (t < 70.0002), 1.0, 0.0), ["t"])], inputs={"t": "time"}),
        signals.summation("error", {"goal.y": 1, "m.flow": -1}),
        signals.pid("control", "error.y", kp=100.0),
    )
    run = compile_model(graph).simulate(80.0, samples=[70.0, 70.0002])
    assert run["m.p"][1:] == pytest.approx([0.0, 100.0 / 101.0 * (1.0 - np.exp(-101.0 * 2e-4))], rel=1e-7, abs=1e-15)


def test_a_table_of_hundreds_of_points_costs_its_points():
    points = np.linspace(0.0, 40.0, 501)
    run = compile_model(pushed(signals.table("p", "time", points, np.sin(points)))).simulate(40.0, samples=[40.0])
    assert run["m.p"][-1] == pytest.approx(np.trapezoid(np.sin(points), points), rel=1e-10)
    assert run.statistics.steps < 2.2 * len(points) and run.statistics.rejected < 10


def _shifted(T):
    graph, v = Graph("shifted"), J1("v")
    graph.connect(Se("u", lambda a, b: a + b, signals=["p.y", "h.y"]), v).connect(v, I("m", 1.0))
    graph.connect(v, C("k", stiffness=4.0)).connect(v, R("d", 0.2))
    graph.add(
        signals.pulse("p", start=T + 0.75, width=0.125, after=3.0),
        signals.sampled("h", lambda y, v: 0.5 * y - v, period=0.25, offset=T, signals=["m.flow"]),
    )
    graph.add_automaton(Automaton("a", ("x", "y"), "x", (Transition("x", "y", lambda t: t - (T + 1.5), ("time",)),)))
    graph.add_automaton(Automaton("b", ("x", "y"), "x", (Transition("x", "y", lambda q: q - 0.02, ("k.q",)),)))
    return compile_model(graph)


@pytest.mark.parametrize("options", METHODS, ids=str)
def test_a_model_shifted_in_time_runs_the_same(options):
    """The shifts by 2^10 s or by a date in seconds keep the ends of the pulse exact."""
    runs = {T: _shifted(T).simulate(T + 4.0, t_start=T, samples=0.25, **options) for T in (0.0, 1024.0, 1.7e9)}
    for T, run in runs.items():
        assert run.ok and run.t[0] == T and run.t[-1] == T + 4.0
        assert run["k.q"] == pytest.approx(runs[0.0]["k.q"], rel=1e-13, abs=1e-14)
        assert run["m.p"] == pytest.approx(runs[0.0]["m.p"], rel=1e-13, abs=1e-14)
        assert [e.kind for e in run.events] == [e.kind for e in runs[0.0].events] and len(run.events) == 2
        for mine, first in zip(run.events, runs[0.0].events, strict=True):
            assert mine.since == pytest.approx(first.since, abs=1e-12)
            assert mine.time == pytest.approx(T + first.time, abs=np.spacing(T + 4.0))
        assert run.ledger.relative_residual < 1e-8
        assert run.statistics.ticks == 16


def test_a_break_moves_with_its_parameter():
    compiled = compile_model(pushed(signals.pulse("p", start=10.0, width=0.5)))
    ends = [compiled.simulate(20.0, parameters={"p.start": at}, samples=[20.0]) for at in (0.0, 3.3, 19.75, 25.0, -0.25)]
    assert [run["m.p"][-1] for run in ends] == pytest.approx([0.5, 0.5, 0.25, 0.0, 0.25], abs=1e-13)


@pytest.mark.parametrize("options", METHODS, ids=str)
def test_a_run_split_anywhere_ends_the_same(options):
    """The splits include the exact edges of a pulse and of a wave."""
    graph, v = Graph("split"), J1("v")
    graph.connect(Se("u", lambda a, b: a + b, signals=["p.y", "w.y"]), v).connect(v, I("m", 1.0))
    graph.connect(v, C("k", stiffness=4.0)).connect(v, R("d", 0.2))
    graph.add(signals.pulse("p", start=1.3, width=0.2, after=5.0), signals.square("w", period=0.7, duty=0.3))
    compiled = compile_model(graph)
    options = {"rtol": 1e-9, **options}
    whole = compiled.simulate(3.0, samples=[3.0], **options)
    for cut in (0.31, 0.7, 1.3, 1.4, 1.5, 2.1, 2.999):
        first = compiled.simulate(cut, samples=[cut], **options)
        state = {name: first[name][-1] for name in ("m.p", "k.q")}
        second = compiled.simulate(3.0, t_start=cut, initial=state, samples=[3.0], **options)
        for name in state:
            assert second[name][-1] == pytest.approx(whole[name][-1], rel=1e-8, abs=1e-9)


def test_random_windows_of_time():
    chance = np.random.default_rng(3)
    compiled = compile_model(
        pushed(
            force=lambda t, a, b, c, w: (
                s.where(s.absolute(t - a) < w, 1.0, 0.0) * s.where(t < b, 2.0, -1.0) + s.maximum(0.0, 1.0 - s.absolute(t - c) / w)
            ),
            paths=("time", "k.a", "k.b", "k.c", "k.w"),
            a=1.0,
            b=2.0,
            c=3.0,
            w=0.1,
        )
    )
    for _ in range(40):
        a, c = chance.uniform(2.0, 98.0, 2)
        w = 10.0 ** chance.uniform(-6.0, -1.0)
        b = a + w * chance.uniform(-0.9, 0.9)
        run = compiled.simulate(100.0, parameters={"k.a": a, "k.b": b, "k.c": c, "k.w": w}, samples=[100.0])
        exact = 2.0 * (b - a + w) - (a + w - b) + w
        assert run["m.p"][-1] == pytest.approx(exact, abs=1e-9 * w + 1e-12)


def test_no_warning_and_no_trace_for_the_user():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = compile_model(pushed(signals.square("p", period=0.1))).simulate(1.0)
    assert run.ok and not run.events and run.statistics.events == 0 and run.statistics.ticks == 0
