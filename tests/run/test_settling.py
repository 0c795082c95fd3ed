"""Plastic impacts, clutches and bridges have events where guards are zero up to rounding."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from bondgraph import (
    J0,
    J1,
    Automaton,
    C,
    Constraint,
    Diode,
    Friction,
    Graph,
    I,
    ModelError,
    R,
    Se,
    Sf,
    Transition,
    compile_model,
)
from bondgraph.errors import RunEndedWarning
from screws.scalars import maximum, sin

G = 9.81


def ball(accumulates="resting", spring=None):
    graph, v = Graph("ball"), J1("v")
    floor = Constraint("floor", initial=1.0, automaton="contact", active=["resting"], restitution=0.5)
    graph.connect(Se("weight", -G), v).connect(v, I("m", 1.0)).connect(v, floor)
    if spring:
        graph.connect(v, C("spring", stiffness=spring)).connect(v, R("damper", 0.5))
    bounce = Transition("flying", "flying", lambda h: -h, ("floor.h",), impact=["floor"], kind="bounce", accumulates=accumulates)
    leave = Transition("resting", "flying", lambda f: -f, ("floor.multiplier",), kind="leave")
    return compile_model(graph.add_automaton(Automaton("contact", ("flying", "resting"), "flying", (bounce, leave))))


@pytest.fixture(scope="module")
def bouncing():
    return ball()


@pytest.mark.parametrize("rtol", [1e-3, 1e-6, 1e-9, 1e-12])
@pytest.mark.parametrize("restitution", [0.0, 1e-12, 1e-6, 0.01, 0.02, 0.1, 0.5, 0.9])
def test_a_ball_rests_after_the_time_that_all_its_bounces_take(bouncing, restitution, rtol):
    fall = np.sqrt(2.0 / G)
    end = fall * (1.0 + restitution) / (1.0 - restitution)
    run = bouncing.simulate(1.5 * end + 1.0, parameters={"floor.restitution": restitution}, rtol=rtol, progress=False)
    assert run.ok, run.failure
    (limit,) = [event.accumulation for event in run.events if event.accumulation is not None]
    assert limit == pytest.approx(end, rel=10.0 * rtol, abs=1e-7)  # the time taken by bounces too small to be seen
    assert abs(run["floor.h"][-1]) < 1e-9 and run["contact.mode"][-1] == 1.0
    assert run["floor.h"].min() > -1e-9
    assert sum(event.lost for event in run.events) == pytest.approx(G, rel=10.0 * rtol)


@pytest.mark.parametrize("scale", [1e-9, 1e9])
@pytest.mark.parametrize("restitution", [0.0, 0.01, 0.6])
def test_whether_a_ball_rests_does_not_depend_on_units(bouncing, restitution, scale):
    fall = np.sqrt(2.0 / (G * scale))
    end = fall * (1.0 + restitution) / (1.0 - restitution)
    sizes = {"floor.h": 1.0, "m.p": G * scale * fall}
    atol = [1e-10 * sizes[name] for name in bouncing.program.layout.names("x")]
    run = bouncing.simulate(
        2.0 * end, parameters={"weight.value": -G * scale, "floor.restitution": restitution}, rtol=1e-8, atol=atol
    )
    assert run.ok and run["contact.mode"][-1] == 1.0 and abs(run["floor.h"][-1]) < 1e-7
    assert [e.accumulation for e in run.events if e.accumulation] == pytest.approx([end], rel=1e-6)


@pytest.mark.parametrize("restitution", [0.0, 1e-6, 0.3])
def test_a_mass_on_a_spring_rests_against_its_stop(restitution):
    """At the stop, the weight of 9.81 N exceeds the spring's force of 4 N."""
    run = ball(spring=4.0).simulate(6.0, parameters={"floor.restitution": restitution}, progress=False)
    assert run.ok and abs(run["floor.h"][-1]) < 1e-9 and run["contact.mode"][-1] == 1.0
    assert run["floor.multiplier"][-1] == pytest.approx(G - 4.0, rel=1e-6)


def test_a_dead_bounce_without_a_state_of_rest_ends_the_run():
    with pytest.warns(RunEndedWarning, match='"bounce" of "contact"'):
        run = ball(accumulates=None).simulate(3.0, parameters={"floor.restitution": 0.0}, progress=False)
    assert run.failure is not None and run.failure.suspect == "contact"
    assert run.failure.time == pytest.approx(np.sqrt(2.0 / G)) and run["floor.h"].min() > -1e-9


@pytest.fixture(scope="module")
def clutch():
    graph, shafts, slip = (Graph("clutch"), [J1(f"w{i}", domain="rotation") for i in range(2)], J0("slip", domain="rotation"))
    for i, shaft in enumerate(shafts):
        wave = {"a": 1.0, "w": 1.0, "p": 0.0}
        drive = Se(f"t{i}", effort=lambda a, w, p, t: a * sin(w * t + p), parameters=wave, signals=["time"])
        graph.connect(drive, shaft).connect(shaft, I(f"J{i}", 1.0)).connect(shaft, R(f"b{i}", 0.05))
    graph.connect(shafts[0], slip).connect(slip, shafts[1]).connect(slip, Friction("c", 1.0))
    return compile_model(graph)


def drives(seed):
    rng, given = np.random.default_rng(seed), {}
    for i in range(2):
        given |= {f"t{i}.a": rng.uniform(1, 4), f"t{i}.w": rng.uniform(1, 4), f"t{i}.p": rng.uniform(0, 6)}
    return given | {"J0.inertia": rng.uniform(0.5, 2.0), "J1.inertia": rng.uniform(0.5, 2.0)}


@pytest.mark.parametrize("seed", [0, 2, 6, *range(8, 16)])
def test_a_clutch_sticks_or_slips(clutch, seed):
    run = clutch.simulate(10.0, parameters=drives(seed), progress=False)
    assert run.ok, run.failure
    mode, torque, slip = run["c.mode"], run["c.effort"], run["w0.flow"] - run["w1.flow"]
    assert np.all(np.abs(torque[mode == 0]) <= 1.0 + 1e-9) and np.all(np.abs(slip[mode == 0]) < 1e-9)
    for value, sense in ((1, 1.0), (2, -1.0)):
        assert np.all(sense * slip[mode == value] > -1e-9) and np.allclose(torque[mode == value], sense)
    modes = [0, *(int(event.m_after[0]) for event in run.events)]
    assert all(a != b for a, b in itertools.pairwise(modes[1:]))
    assert run.ledger.relative_residual < 1e-8


def bridge(phase=0.0, snubbers=True):
    graph, plus, minus, out, cap = Graph("bridge"), J0("plus"), J0("minus"), J1("out"), J0("cap")
    for k in range(3):
        line, node, up, low = J1(f"phase{k}"), J0(f"n{k}"), J1(f"up{k}"), J1(f"low{k}")
        mains = Se(f"u{k}", lambda t, p=2 * np.pi * k / 3 - phase: 100.0 * sin(314.159 * t - p), signals="time")
        graph.connect(mains, line).connect(line, I(f"L{k}", 2e-3)).connect(line, R(f"R{k}", 0.1)).connect(line, node)
        graph.connect(node, R(f"snub{k}", 1e4)).connect(node, up).connect(up, Diode(f"Du{k}"))
        graph.connect(up, R(f"Ru{k}", 1e-2)).connect(up, plus)
        graph.connect(minus, low).connect(low, Diode(f"Dl{k}")).connect(low, R(f"Rl{k}", 1e-2)).connect(low, node)
    graph.connect(plus, out).connect(out, cap).connect(cap, C("C", capacitance=5e-4)).connect(cap, R("load", 20.0))
    graph.connect(out, minus).connect(minus, R("leak", 1e4)).connect(plus, R("leak2", 1e4))
    return graph


def test_a_bridge_of_six_pulses_starts_empty_where_all_its_diodes_are_at_zero():
    """The reference is the implicit Euler method with enumerated modes and steps of 0.25 us (error 0.03 V)."""
    run = compile_model(bridge()).simulate(0.005, progress=False, samples=[0.0, 0.005])
    assert run.ok, run.failure
    assert run["C.effort"][-1] == pytest.approx(231.1432, abs=0.1)


@pytest.mark.parametrize("size", [1e-12, 1.0, 1e6])
def test_a_diode_may_start_open_with_a_flow_that_is_rounding(size):
    graph, out = Graph("or"), J0("out")
    graph.connect(out, C("c", capacitance=1e-3)).connect(out, R("load", 10.0))
    for k in range(3):
        branch = J1(f"e{k}")
        source = Se(f"s{k}", lambda t, k=k: size * sin(314.0 * t + 6.2832 * k / 3), signals="time")
        graph.connect(source, branch).connect(branch, R(f"r{k}", 0.1)).connect(branch, Diode(f"d{k}")).connect(branch, out)
    run = compile_model(graph).simulate(0.02, progress=False, atol=1e-12 * size)
    assert run.ok, run.failure
    late = run["out.effort"][run.t > 0.01] / size
    assert 0.45 < late.min() < late.max() < 1.0


def belt(scale=None, signals=(), **options):
    graph, relative, block = Graph("belt"), J0("relative"), J1("block")
    graph.connect(Sf("belt", 0.1), relative).connect(relative, block).connect(block, I("m", 1.0))
    graph.connect(relative, Friction("friction", 4.0, scale=scale, signals=signals, **options))
    return compile_model(graph)


@pytest.mark.parametrize("initial", ["stick", "forward", "backward"])
def test_the_start_mode_of_friction_follows_the_motion(initial):
    """The mode of the wrong direction would stop the block with an impulse."""
    run = belt(initial=initial).simulate(0.2, initial={"m.p": 0.3}, progress=False)
    (event,) = run.events
    assert run["friction.mode"][0] == 2.0 and event.lost == pytest.approx(0.0, abs=1e-15)
    assert event.time == pytest.approx(0.05, rel=1e-9) and run["m.p"][-1] == pytest.approx(0.1, abs=1e-12)
    assert run.ledger.relative_residual < 1e-9


@pytest.mark.parametrize("told", ["stick", "forward"])
def test_a_friction_start_against_the_motion_is_refused(told):
    with pytest.raises(ModelError, match="E214"):
        belt().simulate(0.2, initial={"m.p": 0.3, "friction": told}, progress=False)


def test_a_flow_that_is_rounding_does_not_begin_a_slip():
    run = belt().simulate(0.2, initial={"m.p": 0.1 * (1.0 + 4e-16), "friction": "stick"}, progress=False)
    assert run.ok and run.events == () and run["friction.mode"][-1] == 0.0


def test_a_negative_scale_of_friction_ends_the_run():
    pressing = belt(lambda t: 1.0 - t, ["time"], initial="stick")
    with pytest.warns(RunEndedWarning, match='scale of friction "friction" is negative'):
        run = pressing.simulate(3.0, initial={"m.p": 0.3}, progress=False)
    assert run.failure is not None and run.failure.time == pytest.approx(1.0)
    none = belt(lambda t: maximum(1.0 - t, 0.0), ["time"]).simulate(3.0, initial={"m.p": 0.3}, progress=False)
    assert none.ok


def test_a_bridge_with_few_samples_has_the_events_of_one_with_many():
    mains, a, b, plus, out, dc = J1("mains"), J0("a"), J0("b"), J0("plus"), J1("out"), J0("dc")
    graph = Graph("bridge").connect(Se("u", lambda t: 10.0 * sin(100.0 * np.pi * t + 0.1), signals="time"), mains)
    graph.connect(mains, a).connect(b, mains).connect(plus, out)
    for node, name in ((a, "a"), (b, "b")):
        up, down = J1(f"{name} up"), J1(f"{name} down")
        graph.connect(node, up).connect(up, Diode(f"{name} plus")).connect(up, plus)
        graph.connect(down, Diode(f"ground {name}")).connect(down, node)
    graph.connect(out, I("choke", 5e-3, nominal=1e-2)).connect(out, dc)
    graph.connect(dc, C("c", capacitance=1e-3, nominal=1e-2)).connect(dc, R("load", 10.0))
    compiled = compile_model(graph)
    few, many = (compiled.simulate(0.2, samples=np.linspace(0.0, 0.2, count), progress=False) for count in (2, 201))
    assert few.ok and many.ok and len(few.events) > 60
    assert few.events.kinds == many.events.kinds
    np.testing.assert_allclose(few.events.times, many.events.times, rtol=0.0, atol=1e-9)
    assert few["c.q"][-1] == pytest.approx(many["c.q"][-1], rel=1e-6)
