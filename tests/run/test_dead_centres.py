"""Dry friction of force F on a slider dissipates F times the path length, also at dead centres, where the lever arm vanishes."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from screwbond.models.bodies import ground, rigid_body
from screwbond.models.joints import attach_joint, joint_graph

from bondgraph import J1, MTF, Automaton, Block, Constraint, Friction, Graph, I, Se, Transition, compile_model
from bondgraph.estimation import run_sensitivities
from screws import joints, pose
from screws.scalars import array, cos, maximum, sin, sqrt
from tests.estimation.differences import differences

RADIUS, ROD, SPEED = 0.5, 1.2, 10.0
ACCOUNT = 1e-8
"""Permitted energy error of a run at the default tolerance, relative to the energy at the start."""


def machine(*levers, mass=0.1, **friction):
    graph, turn = Graph("machine"), J1("turn", domain="rotation")
    graph.connect(turn, I("wheel", 1.0, initial=SPEED)).connect(Se("load", 0.0), turn)
    for k, lever in enumerate(levers):
        slide, crank = J1(f"slide{k}", domain="translation"), MTF(f"crank{k}", lever, signals=["angle.phi"])
        graph.connect(turn, crank).connect(crank, slide).connect(slide, Friction(f"liner{k}", 1.0, **friction))
        if mass:
            graph.connect(slide, I(f"piston{k}", mass))
    graph.add(Block("angle", [], inputs={"w": "turn.flow"}, states={"phi": 0.5}, rates={"phi": "w"}))
    return graph


def crank(angle):
    return -RADIUS * sin(angle)


def across(angle):
    return RADIUS * cos(angle)


compiled_crank = functools.cache(lambda: compile_model(machine(crank)))
massless_crank = functools.cache(lambda: compile_model(machine(crank, mass=0.0)))


def path(place, start, end):
    """Return the path length along place(angle), on a grid so fine that turning points do not matter."""
    angle = np.linspace(start, end, 50_001)
    return np.abs(np.diff(place(angle))).sum()


def energy(run, *levers, mass=0.1):
    phi, w = run["angle.phi"][[0, -1]], run["turn.flow"][[0, -1]]
    return 0.5 * w**2 * (1.0 + mass * sum(lever(phi) ** 2 for lever in levers))


def of_numbers(lever):
    return lambda angles: np.array([float(lever(angle)) for angle in np.atleast_1d(angles)])


def take(run, force, places, levers, mass=0.1, load=0.0, within=ACCOUNT):
    assert run.ok, run.failure
    before, after = energy(run, *(of_numbers(lever) for lever in levers), mass=mass)
    first, last = run["angle.phi"][[0, -1]]
    taken = force * sum(path(place, first, last) for place in places)
    scale = before + abs(load * (last - first))
    assert after == pytest.approx(before - taken + load * (last - first), abs=within * (scale + 1e-9))
    assert run.ledger.summary()["lost"] <= 1e-9 * scale and run.ledger.relative_residual < within
    changes = sum(e.kind.endswith("changes direction") for e in run.events)
    assert abs(changes - sum(reversals(of_numbers(lever)(np.linspace(first, last, 500))) for lever in levers)) <= len(levers)


def reversals(values):
    signs = np.sign(values[values != 0.0])
    return np.count_nonzero(np.diff(signs))


@pytest.mark.parametrize("speed", [SPEED, -SPEED])
@pytest.mark.parametrize("start", [0.0, 0.5, np.pi / 2.0, np.pi, -np.pi])
def test_a_crank_passes_its_dead_centres(start, speed):
    """Starts include a dead centre, where the sticking mode has no finite effort."""
    for force in (0.0, 1e-6, 0.01, 3.0):
        given = {"parameters": {"liner0.limit": force, "liner0.stick_limit": force}, "progress": False}
        run = compiled_crank().simulate(2.0, initial={"angle.phi": start, "wheel.p": speed}, **given)
        take(run, force, [lambda a: RADIUS * np.cos(a)], [crank])


@pytest.mark.parametrize("method", ["dop853", "dopri5", "rodas5p"])
def test_every_method_passes_them(method):
    run = massless_crank().simulate(2.0, method=method, rtol=1e-9, progress=False)
    take(run, 1.0, [lambda a: RADIUS * np.cos(a)], [crank], mass=0.0)


def test_two_cylinders_at_right_angles_pass_theirs_in_turn():
    compiled = compile_model(machine(crank, across))
    places = [lambda a: RADIUS * np.cos(a), lambda a: RADIUS * np.sin(a)]
    for mass in (1e-9, 0.1, 2.0):
        for start in (0.0, 0.5, np.pi / 2.0):
            masses = {"piston0.inertia": mass, "piston1.inertia": mass}
            run = compiled.simulate(2.0, parameters=masses, initial={"angle.phi": start}, progress=False)
            take(run, 1.0, places, [crank, across], mass)


def dwelling(angle):
    """Return the integral of 0.1 sin^2 over the first halves of all turns."""
    turns = np.floor(angle / (2.0 * np.pi))
    rest = np.minimum(angle - 2.0 * np.pi * turns, np.pi)
    return 0.05 * (np.pi * turns + rest - np.sin(rest) * np.cos(rest))


CAMS = {
    "double zero": (lambda a: 0.3 * (1.0 - cos(a)), lambda a: 0.3 * (a - np.sin(a))),
    "triple zero": (lambda a: 0.1 * sin(a) ** 3, lambda a: 0.1 * (np.cos(a) ** 3 / 3.0 - np.cos(a))),
    "dwell": (lambda a: 0.1 * maximum(0.0, sin(a)) ** 2, dwelling),
}


@pytest.mark.parametrize("cam", CAMS)
def test_cams_whose_rate_is_flat_at_zero(cam):
    lever, place = CAMS[cam]
    compiled = compile_model(machine(lever))
    for k in range(20 if cam == "double zero" else 6):  # rounding shifts the detected contact a little
        begin = {"angle.phi": 0.3 * k - 0.9, "wheel.p": SPEED * (-1.3) ** k}
        run = compiled.simulate(40.0 / abs(begin["wheel.p"]), initial=begin, method="dopri5", progress=False)
        take(run, 1.0, [place], [lever], within=1e-6)


def test_it_sticks_where_friction_holds_the_crank():
    given = {"liner0.limit": 10.0, "liner0.stick_limit": 10.0}
    run = compiled_crank().simulate(5.0, parameters=given, progress=False)
    angle = run["angle.phi"][-1]
    assert run.events[-1].kind == "liner0 sticks" and abs(run["turn.flow"][-1]) < 1e-12 and run.ok
    before = 50.0 * (1.0 + 0.1 * crank(0.5) ** 2)
    assert 10.0 * path(lambda a: RADIUS * np.cos(a), 0.5, angle) == pytest.approx(before, rel=1e-7)
    holds = 10.0 * RADIUS * abs(np.sin(angle))
    for load, stays in ((0.99 * holds, True), (1.01 * holds, False)):
        start = {"angle.phi": angle, "wheel.p": 0.0}
        run = compiled_crank().simulate(0.5, parameters={**given, "load.value": load}, initial=start, progress=False)
        assert run.ok and (run["angle.phi"][-1] == angle) == stays


def test_a_load_starts_the_crank_from_rest_at_a_dead_centre():
    for load in (0.0, 2.0, -2.0):
        start = {"angle.phi": 0.0, "wheel.p": 0.0}
        run = compiled_crank().simulate(5.0, parameters={"load.value": load}, initial=start, progress=False)
        take(run, 1.0, [lambda a: RADIUS * np.cos(a)], [crank], load=load)
        assert np.sign(run["angle.phi"][-1]) == np.sign(load)


def rod_lever(angle):
    return -RADIUS * sin(angle) * (1.0 + RADIUS * cos(angle) / sqrt(ROD**2 - (RADIUS * sin(angle)) ** 2))


def stroke(angle):
    return RADIUS * np.cos(angle) + np.sqrt(ROD**2 - (RADIUS * np.sin(angle)) ** 2)


def with_rod(start):
    graph, turn, slide = Graph("rod"), J1("turn", domain="rotation"), J1("slide0", domain="translation")
    graph.connect(turn, I("wheel", 1.0, initial=SPEED)).connect(slide, Friction("liner0", 1.0))
    graph.connect(slide, I("piston0", 0.1, initial=0.1 * SPEED * float(rod_lever(start))))
    graph.add(Block("angle", [], inputs={"w": "turn.flow"}, states={"phi": start}, rates={"phi": "w"}))
    graph.add(Block("place", [], inputs={"v": "slide0.flow"}, states={"x": float(stroke(start))}, rates={"x": "v"}))

    def length(angle, x):
        return ((x - RADIUS * cos(angle)) ** 2 + (RADIUS * sin(angle)) ** 2 - ROD**2) / (2.0 * ROD)

    rod = Constraint("rod", position=length, coordinates=("angle.phi", "place.x"))
    return graph.connect(turn, rod.port("1")).connect(slide, rod.port("2"))


def test_a_connecting_rod_as_a_transformer_and_as_a_constraint():
    by_ratio = compile_model(machine(rod_lever))
    for start in (0.5, 0.0, np.pi):
        one = by_ratio.simulate(2.0, initial={"angle.phi": start}, rtol=1e-9, progress=False)
        other = with_rod(start).simulate(2.0, rtol=1e-9, progress=False)
        for run in (one, other):
            take(run, 1.0, [stroke], [rod_lever])
        assert other["angle.phi"][-1] == pytest.approx(one["angle.phi"][-1], abs=1e-6)


@pytest.mark.thorough
@pytest.mark.parametrize("start", [0.5, 0.0, np.pi])
def test_crank_rod_and_piston_as_rigid_bodies(start):
    """At a dead centre the constraints have redundant rows while friction sticks."""
    radius, length = 0.1, 0.35
    pin = radius * np.array([np.cos(start), np.sin(start)])
    x, lean = pin[0] + np.sqrt(length**2 - pin[1] ** 2), np.arcsin(-pin[1] / length)

    def at(x):
        return pose(np.eye(3), (x, 0.0, 0.0))

    def turned(angle):
        return {"quaternion": (np.cos(angle / 2.0), 0.0, 0.0, np.sin(angle / 2.0))}

    wheel = rigid_body("wheel", mass=0.5, inertia=(0.5, 0.5, 0.5), **turned(start))
    middle = (length / 2.0, 0.0, 0.0)
    rod = rigid_body("rod", mass=0.2, inertia=(1e-4, 2e-3, 2e-3), centre_of_mass=middle, position=(*pin, 0.0), **turned(lean))
    piston = rigid_body("piston", mass=0.3, inertia=(1e-3, 1e-3, 1e-3), position=(x, 0.0, 0.0))
    graph, frame = Graph("engine"), ground("frame")
    attach_joint(graph, joint_graph("main", joints.revolute((0.0, 0.0, 1.0))), frame, wheel)
    attach_joint(graph, joint_graph("pin", joints.universal((0.0, 0.0, 1.0), (0.0, 1.0, 0.0)), frame_a=at(radius)), wheel, rod)
    attach_joint(graph, joint_graph("wrist", joints.spherical(), frame_a=at(length)), rod, piston)
    attach_joint(graph, guide := joint_graph("guide", joints.prismatic((1.0, 0.0, 0.0))), frame, piston)
    compiled = compile_model(graph.connect(guide.port("motion"), Friction("liner", 1.0)))
    run = compiled.simulate(2.0, initial=compiled.consistent(keep={"main.rate": SPEED}), progress=False)
    angle = np.unwrap(np.ravel(run["main.q"]))
    way = path(lambda a: radius * np.cos(a) + np.sqrt(length**2 - (radius * np.sin(a)) ** 2), angle[0], angle[-1])
    account = run.ledger.summary()
    assert run.ok and angle[-1] - angle[0] > 18.0 and account["lost"] == 0.0 and run.ledger.relative_residual < 1e-9
    assert account["dissipated"] == pytest.approx(way, rel=1e-6)
    assert account["stored at start"] - account["stored"] == pytest.approx(way, rel=1e-6)


@pytest.mark.parametrize("start", [0.5, 0.0])
def test_in_a_plane_both_axes_pass_at_once(start):
    """With both axes at a dead centre, the pad has no velocity in any direction."""
    graph, turn, slide = Graph("pad"), J1("turn", domain="rotation", dimension=2), J1("slide", domain="translation", dimension=2)
    graph.connect(turn, I("wheels", np.diag([1.0, 0.16]), initial=SPEED * np.array([1.0, 0.16])))

    def lever(angle):
        return array([[-0.5 * sin(angle[0]), 0.0], [0.0, -0.2 * sin(angle[1])]])

    arms = MTF("arms", lever, signals=["angle.phi"], dimensions=(2, 2))
    graph.connect(turn, arms).connect(arms, slide).connect(slide, Friction("rubs", 1.0, dimension=2))
    graph.add(Block("angle", [], inputs={"w": "turn.flow"}, states={"phi": np.array([start] * 2)}, rates={"phi": "w"}))
    run = graph.simulate(2.0, progress=False)
    angle, account = run["angle.phi"][-1], run.ledger.summary()
    way = path(lambda a: np.hypot(0.5, 0.2) * np.cos(a), start, angle[0])
    assert run.ok and angle[0] == pytest.approx(angle[1], rel=1e-9) and account["lost"] == 0.0
    assert account["dissipated"] == pytest.approx(way, rel=1e-6) and run.ledger.relative_residual < 1e-9
    assert sum(e.kind == "rubs changes direction" for e in run.events) >= 6


@pytest.mark.parametrize("dimension", [1, 2])
def test_a_flow_that_a_blow_reverses_is_not_stopped(dimension):
    """The friction limit is a force, not an impulse, so the block slips back at its reversed speed."""
    one = np.ones(dimension) if dimension > 1 else 1.0
    graph, v = Graph("block"), J1("v", domain="translation", **({"dimension": 2} if dimension > 1 else {}))
    graph.connect(v, I("m", np.eye(2) if dimension > 1 else 1.0, initial=2.0 * one))
    graph.connect(v, Friction("rubs", np.sqrt(dimension), dimension=dimension))
    blow = Transition("before", "after", lambda t: t - 0.5, ("time",), resets=(("m.p", lambda p: -p, ("m.p",)),))
    run = graph.add_automaton(Automaton("blow", ("before", "after"), "before", (blow,))).simulate(3.0, progress=False)
    assert run.ok and run.ledger.summary()["lost"] == pytest.approx(0.0, abs=1e-9)
    assert [e.kind for e in run.events if not e.internal][1:] == ["rubs changes direction", "rubs sticks"]
    assert run.events[-1].time == pytest.approx(2.0, abs=1e-6)


def test_units_names_and_arrows_do_not_matter():
    plain = machine(crank).simulate(2.0, progress=False)
    size, slower = 1e-6, 40.0
    graph, turn, slide = Graph("other"), J1("z", domain="rotation"), J1("a", domain="translation")
    lever = MTF("lever", lambda a: size * -RADIUS * sin(a), signals=["angle.phi"])
    graph.connect(Friction("A", 1.0 / size / slower**2), slide).connect(slide, lever.port("2")).connect(lever.port("1"), turn)
    graph.connect(turn, I("wheel", 1.0, initial=SPEED / slower)).connect(slide, I("p", 0.1 / size**2))
    graph.add(Block("angle", [], inputs={"w": "z.flow"}, states={"phi": 0.5}, rates={"phi": "w"}))
    other = graph.simulate(2.0 * slower, progress=False)
    assert other.ok and other["angle.phi"][-1] == pytest.approx(plain["angle.phi"][-1], rel=1e-7)
    assert [e.time / slower for e in other.events] == pytest.approx([e.time for e in plain.events], rel=1e-7)


@pytest.mark.parametrize("threads", [1, 2])
def test_many_runs_pass_as_single_ones(threads):
    run = compiled_crank().prepare_run(2.0, samples=0.1, progress=False)
    starts, forces = [0.5, 0.0, np.pi, 1.0], [1e-6, 1.0, 3.0, 50.0]
    both = {"liner0.limit": forces, "liner0.stick_limit": forces}
    ends = run.run_many(*run.start_values_many(both, {"angle.phi": starts}), threads=threads, check_rank=False)
    for k, (start, force) in enumerate(zip(starts, forces, strict=True)):
        given = {"parameters": dict.fromkeys(both, force), "initial": {"angle.phi": start}}
        single = compiled_crank().simulate(2.0, samples=0.1, progress=False, **given)
        assert ends.ok[k] and single.ok
        np.testing.assert_array_equal(ends.x[k], single.x[-1])


def test_sensitivities_pass_too():
    tight = {"rtol": 1e-11, "progress": False, "samples": [2.0]}
    compiled = compile_model(machine(crank, stick_limit=2.0))
    found = run_sensitivities(compiled, "liner0.limit", 2.0, **tight)
    wanted = differences(compiled, "liner0.limit", 2.0, ["wheel.p"], 1e-3, **tight)
    assert found.ok and found["wheel.p", "liner0.limit"][-1] == pytest.approx(wanted[-1], rel=1e-6)
