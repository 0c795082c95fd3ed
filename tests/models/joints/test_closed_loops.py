"""Loops closed by joints agree with closed forms and keep their energy; redundant joints are reported."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from screwbond.models.bodies import ground, prescribed_body, rigid_body
from screwbond.models.chains import BodyInertia, Link, Tree, chain_graph, link_pose
from screwbond.models.joints import attach_joint, joint_graph

from bondgraph import J0, J1, Constraint, Graph, I, ModelError, RunEndedWarning, compile_model
from screws import joints, rotation
from screws.poses import pose
from tests.models.joints.jointed import INERTIA, G, at, simulated


def bar(name, start, end, mass=0.4, **more):
    start, end = np.array([start[0], 0, start[1]]), np.array([end[0], 0, end[1]])
    length = float(np.linalg.norm(end - start))
    angle = -np.arctan2(end[2] - start[2], end[0] - start[0])
    moment = mass * length**2 / 12
    quaternion = (np.cos(angle / 2), 0, np.sin(angle / 2), 0)
    inertia = (1e-4, moment + 1e-4, moment + 1e-4)
    body = rigid_body(name, mass=mass, inertia=inertia, position=(start + end) / 2, quaternion=quaternion, gravity=G, **more)
    return body, at(-length / 2, 0, 0), at(length / 2, 0, 0), quaternion


TURN = joints.revolute((0, 0, 1))
PINS = {"y": joints.revolute((0, -1, 0)), "u": joints.universal((0, -1, 0), (0, 0, 1)), "s": joints.spherical()}


def four_bar(kinds="yusy", **more):
    """Return a four-bar linkage: crank 0.1 m, upright at the start; coupler 0.3 m; rocker 0.25 m; base 0.32 m."""
    corners = [np.zeros(2), np.array([0.0, 0.1])]
    base = np.array([0.32, 0.0])
    across = base - corners[1]
    d = np.linalg.norm(across)
    along = (d**2 + 0.3**2 - 0.25**2) / (2 * d)
    normal = np.array([-across[1], across[0]]) / d
    corners += [corners[1] + across / d * along + normal * np.sqrt(0.3**2 - along**2), base]
    graph, floor = Graph("four-bar"), ground("floor")
    crank, coupler, rocker = (bar(n, corners[k], corners[k + 1]) for k, n in enumerate(("crank", "coupler", "rocker")))
    names = ("A", "B", "C", "D")
    turned = [np.asarray(rotation(part[3]), dtype=float) for part in (crank, coupler, rocker)]
    # Joint frames with the axes of the world at the start.
    ends = [
        (floor, at(0, 0, 0), crank[0], pose(turned[0].T, crank[1][:3, 3])),
        (crank[0], pose(turned[0].T, crank[2][:3, 3]), coupler[0], pose(turned[1].T, coupler[1][:3, 3])),
        (coupler[0], pose(turned[1].T, coupler[2][:3, 3]), rocker[0], pose(turned[2].T, rocker[1][:3, 3])),
        (rocker[0], pose(turned[2].T, rocker[2][:3, 3]), floor, at(base[0], 0, 0)),
    ]
    for name, kind, (a, frame_a, b, frame_b) in zip(names, kinds, ends, strict=True):
        joint = joint_graph(name, PINS[kind], frame_a=frame_a, frame_b=frame_b, **more)
        attach_joint(graph, joint, a, b)
    return graph


@cache
def closed_loop():
    return compile_model(four_bar())


def test_closed_four_bar_keeps_its_energy_and_closes():
    result = closed_loop().simulate(2.0, samples=0.02, rtol=1e-10, progress=False)
    assert result.ok
    assert not result.statistics.rounding.states  # rounding out of the plane is not motion
    stored = result.ledger.stored
    assert np.abs(stored - stored[0]).max() < 1e-9
    for joint in "ABCD":
        assert np.abs(result[f"{joint}.violation"]).max() < 1e-10
    assert np.ptp(result["A.q"]) > 1.0
    # The crank angle alone determines the rocker's (law of cosines on the diagonal), an independent closure.
    tip = np.array([0.1 * np.sin(-result["A.q"]), 0.1 * np.cos(result["A.q"])])
    pin = result["rocker.pose"][:, [4, 6]] * 2 - np.array([0.32, 0.0])
    assert np.abs(np.linalg.norm(pin.T - tip, axis=0) - 0.3).max() < 1e-9


def test_start_velocities_that_do_not_fit_a_loop_are_refused_and_the_advice_works():
    compiled = closed_loop()
    pushed = {"crank.inertia.p": [0.0, 0.01, 0.0, 0.0, 0.0, 0.0]}
    with pytest.raises(ModelError, match="E455") as refused:
        compiled.simulate(1.0, initial=pushed)
    assert "of the kinetic energy" in str(refused.value) and '"A.constraint"' in str(refused.value)
    started = compiled.consistent(keep={"A.rate": 2.0})
    result = compiled.simulate(0.3, initial=started, rtol=1e-10, samples=0.01, progress=False)
    assert result.ok and abs(result["A.rate"][0] - 2.0) < 1e-12
    assert np.abs(result.ledger.injected).max() < 1e-9 * result.ledger.in_play
    # Both ends of the coupler have the same velocity along it, which gives the rocker's rate.
    tip, base = np.array([0.0, 0.1]), np.array([0.32, 0.0])
    pin = 2.0 * result["rocker.pose"][0, [4, 6]] - base
    along, across = pin - tip, np.array([[0.0, -1.0], [1.0, 0.0]])
    by_hand = 2.0 * (across @ tip) @ along / ((across @ (pin - base)) @ along)
    assert abs(result["D.rate"][0]) == pytest.approx(abs(by_hand), rel=1e-9)
    nearest = compiled.consistent(pushed)
    whole = compiled.simulate(0.1, initial=nearest, samples=0.1, progress=False)
    assert whole.ok and whole["A.rate"][0] != 0.0
    for keep in ({"A.rate": 2.0, "D.rate": 2.0}, ["crank"]):
        with pytest.raises(ModelError, match="E432"):
            compiled.consistent(pushed, keep=keep)
    with pytest.raises(ModelError, match="E122"):
        compiled.consistent(keep=["nobody"])


def test_the_nearest_velocities_are_those_of_an_impulse():
    """Two discs that are locked to each other share their spin, in any unit of inertia."""
    for unit in (1.0, 1e-9, 1e9):
        graph, slip = Graph("discs"), J0("slip")
        for name, inertia, spin in (("a", 2.0, 6.0), ("b", 1.0, 0.0)):
            shaft = J1(f"shaft {name}")
            graph.connect(shaft, I(f"disc {name}", inertia * unit, initial=inertia * spin * unit))
            graph.connect(shaft, slip) if name == "a" else graph.connect(slip, shaft)
        graph.connect(slip, Constraint("lock", holds="velocity"))
        compiled = compile_model(graph, backend="numpy")
        with pytest.raises(ModelError, match="E455"):
            compiled.simulate(1.0)
        found = compiled.consistent()
        np.testing.assert_allclose([found["disc a.p"], found["disc b.p"]], [8.0 * unit, 4.0 * unit], rtol=1e-9)
        found = compiled.consistent(keep=["disc a.p"])
        np.testing.assert_allclose([found["disc a.p"], found["disc b.p"]], [12.0 * unit, 6.0 * unit], rtol=1e-9)
        found = compiled.consistent(keep={"disc b.flow": 1.0})
        np.testing.assert_allclose([found["disc a.p"], found["disc b.p"]], [2.0 * unit, 1.0 * unit], rtol=1e-9)
        assert compiled.simulate(0.1, initial=found).ok


def test_four_revolutes_in_a_plane_repeat_each_other_and_move_as_one_loop():
    compiled = compile_model(four_bar("yyyy"))
    run = compiled.simulate(1.0, samples=0.02, rtol=1e-10, progress=False)
    once = closed_loop().simulate(1.0, samples=0.02, rtol=1e-10, progress=False)
    assert run.ok and np.abs(run["A.q"] - once["A.q"]).max() < 1e-9
    assert np.abs(run["A.wrench"][:, 3:5] - once["A.wrench"][:, 3:5]).max() < 1e-6
    for joint in "ABCD":
        assert np.abs(run[f"{joint}.violation"]).max() < 1e-10
        assert f'"{joint}.constraint" (5)' in compiled.report()
    assert np.abs(run.ledger.injected).max() < 1e-9 * run.ledger.in_play


def test_crank_slider_drives_its_slider_as_the_closed_form():
    """A crank at a given rate w gives x = r cos(wt) + sqrt(l^2 - r^2 sin^2(wt))."""
    r, length, w = 0.1, 0.35, 4.0
    graph, floor = Graph("crank-slider"), ground("floor")
    crank = prescribed_body("crank", twist=(0, -w, 0, 0, 0, 0))
    rod, near, far, _ = bar("rod", (r, 0), (r + length, 0))
    slider = rigid_body("slider", mass=0.3, inertia=INERTIA, position=(r + length, 0, 0), gravity=G, velocity=(0, 0, 0))
    attach_joint(graph, joint_graph("wrist", PINS["u"], frame_a=at(r, 0, 0), frame_b=near), crank, rod)
    attach_joint(graph, joint_graph("pin", PINS["s"], frame_a=far), rod, slider)
    attach_joint(graph, joint_graph("guide", joints.prismatic((1, 0, 0)), frame_a=at(r + length, 0, 0)), floor, slider)
    compiled = compile_model(graph)
    with pytest.raises(ModelError, match="E455"):
        compiled.simulate(1.0)
    result = compiled.simulate(1.0, samples=0.02, rtol=1e-10, progress=False, initial=compiled.consistent())
    assert result.ok and np.abs(result.ledger.injected).max() < 1e-9
    x = result["slider.pose"][:, 4]
    angle = w * result.t
    expected = r * np.cos(angle) + np.sqrt(length**2 - (r * np.sin(angle)) ** 2)
    assert np.abs(x - expected).max() < 1e-8


def test_an_inline_joint_closes_a_loop_in_a_plane_where_a_hinge_repeats_constraints():
    """The reference is a hand-written constraint of two coordinates."""
    corners = ((0.0, 0.0), (0.4, 0.0), (0.5, 1.1), (-0.15, 1.0))
    a, b, c, d = (np.array([*corner, 0.0]) for corner in corners)

    def body(start, end):
        return BodyInertia(1.0, (0.01, 0.1, 0.1), (start + end) / 2)

    turning = [joints.revolute((0, 0, 1), point) for point in (a, b, d)]
    links = Link("1", turning[0], body(a, b)), Link("2", turning[1], body(b, c)), Link("4", turning[2], body(d, c), parent=None)
    tree = Tree("bars", links)

    def bars():
        return chain_graph(tree, ports=("2", "4"), gravity=(0, -9.81, 0))

    def pinned(joint):
        return attach_joint(Graph("loop"), joint_graph("pin", joint((0, 0, 1), c)), (chain := bars()).link("2"), chain.link("4"))

    with pytest.raises(ModelError, match="an inline joint instead of the last revolute") as refused:
        compile_model(pinned(joints.revolute))
    assert "E208" in str(refused.value)
    graph, by_hand = pinned(joints.inline), bars()
    gap = Constraint(
        "gap",
        dimension=2,
        position=lambda q: ((link_pose(tree, 2, q) - link_pose(tree, 1, q)) @ np.array([*c, 1.0]))[:2],
        coordinates={"bars.q": 3},
    )
    expected = simulated(Graph("by hand").connect(by_hand.port("joints"), gap), t_end=1.0)
    result = simulated(graph, t_end=1.0)
    assert np.abs(result["bars.q"] - expected["bars.q"]).max() < 1e-7
    assert np.ptp(result["bars.q"][:, 0]) > 1.0


@cache
def parallelogram():
    """Return cranks of 0.5 m and a coupler of 0.8 m between free bodies, without weight."""
    graph, names, previous = Graph("parallelogram"), ("left", "coupler", "right"), (ground("floor"), np.eye(4))
    corners = np.array([[0.0, 0, 0], [0.3, 0.4, 0], [1.1, 0.4, 0], [0.8, 0, 0]])
    for k, name in enumerate(names):
        step = corners[k + 1] - corners[k]
        length, half = float(np.linalg.norm(step)), 0.5 * np.arctan2(step[1], step[0])
        start = {"position": 0.5 * (corners[k] + corners[k + 1]), "quaternion": (np.cos(half), 0, 0, np.sin(half))}
        body = rigid_body(name, mass=1.0, inertia=(0.01, 0.05, 0.05), **start)
        joint = joint_graph(f"pin {name}", TURN, frame_a=previous[1], frame_b=at(-length / 2, 0, 0))
        attach_joint(graph, joint, previous[0], body)
        previous = body, at(length / 2, 0, 0)
    attach_joint(graph, joint_graph("pin floor", TURN, frame_a=previous[1], frame_b=at(0.8, 0, 0)), previous[0], graph["floor"])
    compiled = compile_model(graph)
    return compiled, compiled.consistent(keep={"pin left.rate": 4.0})


@pytest.mark.parametrize("rtol", [1e-6, 1e-9])
def test_bodies_in_a_parallelogram_pass_its_flat_positions_on_their_branch(rtol):
    """Directions out of the plane, which only rounding errors excite, do not disturb the passage."""
    compiled, start = parallelogram()
    run = compiled.simulate(6.0, initial=start, rtol=rtol, samples=0.05, singular="keep", progress=False)
    assert run.ok and np.unwrap(run["pin left.q"])[-1] - run["pin left.q"][0] == pytest.approx(24.0, abs=1e-6)
    assert np.ptp(run["coupler.pose"][:, 3]) < 1e-8 and np.ptp(run.ledger.stored) < 1e-7 * run.ledger.in_play


def test_a_flat_position_ends_the_run_though_redundant_joints_contradict_later():
    """A run beyond the flat position can leave its branch, and then redundant joints contradict each other."""
    compiled, start = parallelogram()
    flat = (np.pi - np.arctan2(0.4, 0.3)) / 4.0
    for samples in (0.02, 0.05):
        for rtol in (1e-6, 1e-9):
            with pytest.warns(RunEndedWarning, match="singular position"):
                run = compiled.simulate(6.0, initial=start, rtol=rtol, samples=samples, progress=False)
            assert run.failure.kind == "singular position" and abs(run.failure.time - flat) < 1e-3 and run.t[-1] < flat
