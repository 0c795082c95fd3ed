"""Start values that depend on varied parameters have derivatives, or are refused where no derivative exists."""

from __future__ import annotations

import numpy as np
import pytest
from screwbond.models import attach_contact, contact, rigid_body

from bondgraph import IC, J0, J1, Automaton, Block, C, Friction, Graph, I, R, Se, StateSpec, Transition, compile_model
from bondgraph.errors import ModelError, RunError
from bondgraph.estimation import Experiment, estimate, run_sensitivities
from screws.scalars import sqrt
from screws.surfaces import egg
from tests.checks.small_graphs import loop
from tests.inner.estimation import free_parameters_of, start_slopes


def eggs():
    skin = egg(f=0.035, S=0.084, zB=0.010425531914893621)
    bodies = [
        rigid_body(f"egg {k}", mass=0.06, inertia=(1.5e-5, 1.5e-5, 1.25e-5), surface=skin, position=place, velocity=velocity)
        for k, (place, velocity) in enumerate(
            [((0.0, 0.0, 0.0), (0.15, 0.02, -0.01)), ((0.07, 0.012, 0.006), (-0.45, -0.05, 0.02))]
        )
    ]
    graph = Graph("eggs")
    attach_contact(graph, contact("contact", *bodies, constrained="rolling and sliding", normal_stiffness=5e4), *bodies)
    return compile_model(graph)


def test_closest_points_follow_the_poses_that_are_varied():
    compiled = eggs()
    varied = free_parameters_of(compiled, "egg 1.pose.H[4]")
    slopes = start_slopes(compiled, varied, {}, {})
    pose = np.array(compiled.states["egg 1.pose.H"].value, dtype=float)
    rows = []
    for sign in (1.0, -1.0):
        moved = pose.copy()
        moved[4] += sign * 1e-5
        rows.append(compiled.initial({"egg 1.pose.H": moved})[0])
    plain = (rows[0] - rows[1]) / 2e-5
    assert np.count_nonzero(np.abs(slopes[:, 0]) > 1e-3) > 3  # coordinates of both points, not only the pose
    np.testing.assert_allclose(slopes[:, 0], plain, atol=1e-4 * np.abs(plain).max())


def test_a_momentum_that_follows_from_a_velocity_depends_on_the_mass():
    compiled = loop(I("m", mass=2.0), R("d", damping=1.0)).compile()
    run = run_sensitivities(compiled, ["m.mass", "m.p"], 1.0, initial={"m.flow": 3.0}, progress=False)
    decay = np.exp(-run.t / 2.0)
    np.testing.assert_allclose(run["m.flow"], np.column_stack([0.75 * run.t * decay, 0.5 * decay]), rtol=1e-6, atol=1e-9)


def test_a_matrix_and_a_zero_may_be_varied_with_a_start_velocity():
    mass, step = np.array([[2.0, 0.5], [0.5, 1.0]]), np.array([[0.0, 1e-5], [1e-5, 0.0]])
    compiled = loop(I("m", mass=mass), R("d", damping=[1.0, 0.0])).compile()
    settings = {"initial": {"m.flow": [1.0, -1.0]}, "progress": False, "rtol": 1e-10}
    run = run_sensitivities(compiled, ["m.mass", "d.damping"], 1.0, **settings)
    ends = [compiled.simulate(1.0, parameters={"m.mass": mass + h}, **settings)["m.flow"][-1] for h in (step, -step)]
    np.testing.assert_allclose(run["m.flow"][-1, :, 1:3].sum(axis=1), (ends[0] - ends[1]) / 2e-5, rtol=1e-6)


@pytest.mark.parametrize(("name", "initial"), [("m.mass", {"m.flow": 3.0}), ("m.p", {"m.flow": 1.0}), ("m.p", {"m.p": 1.0})])
def test_an_estimate_with_a_start_velocity(name, initial):
    t = np.linspace(0.0, 3.0, 31)
    data = Experiment({"m.flow": (t, 3.0 * np.exp(-t / (1.7 if name == "m.mass" else 2.0)))}, initial=initial)
    made = estimate(loop(I("m", mass=2.0), R("d", damping=1.0)), {name: (0.5, 1.0, 10.0)}, data, progress=False)
    assert made.values == pytest.approx([1.7 if name == "m.mass" else 6.0], rel=1e-6)


def test_a_momentum_that_follows_from_a_velocity_depends_on_the_position():
    arm = IC("arm", inertia=lambda q: 2.0 + q * q, form="hamiltonian", position=1.0)
    run = run_sensitivities(
        loop(Se("u", 0.0), arm, R("r", 1.0)), ["arm.q", "arm.p"], 0.1, initial={"loop.flow": 2.0}, progress=False
    )
    np.testing.assert_allclose(run["arm.p"][0], [4.0, 1.0], atol=1e-8)


def test_a_charge_that_follows_from_a_voltage_depends_on_its_law():
    law = C("c", charge=lambda e, a: a * e + 0.1 * e**3, parameters={"a": 2.0})
    run = run_sensitivities(loop(law, R("r", 1.0)), "c.a", 1.0, initial={"c.effort": 2.0}, progress=False)
    assert run["c.q"][0] == pytest.approx([2.0], rel=1e-9)


def test_sensitivities_begin_at_the_start_time():
    supply = Se("supply", lambda t: 1.0 + t, signals="time")
    compiled = loop(supply, C("c", capacitance=1.0), R("r", 2.0)).compile()
    begins = ({"r.effort": 0.5}, {"c.q": compiled.starting_point({"r.effort": 0.5}, None, 2.0)[0][0]})
    runs = [run_sensitivities(compiled, "r.resistance", 3.0, t_start=2.0, initial=each, progress=False) for each in begins]
    np.testing.assert_allclose(*(run["c.q"] for run in runs), rtol=1e-6, atol=1e-9)


def test_a_start_that_jumps_has_no_derivative():
    graph, v = Graph("stepped"), J1("v")
    graph.connect(v, I("m", 1.0, initial=1.0)).connect(v, R("r", 1.0))
    still = ("still", lambda k: 0.0 * k, ["k"])
    graph.add(Block("gauge", [still], states={"x": StateSpec(0.0)}, rates={"x": "still"}, parameters={"k": 0.5}))
    graph.start(lambda k: (np.where(k < 0.5, 0.0, 1.0),), ["gauge.k"], ["gauge.x"])
    with pytest.raises(ModelError, match="E371"):
        run_sensitivities(compile_model(graph), "gauge.k", 1.0, progress=False)


@pytest.mark.parametrize("name", ["load.p", "drive.p"])
def test_a_clutch_that_sticks_at_rest_slips_as_soon_as_one_side_moves(name):
    """Sticking sides have one speed, so a change of one momentum would make the clutch slip; only the torque has a derivative."""
    graph, a, b, slip = Graph("clutch"), J1("a"), J1("b"), J0("slip")
    graph.connect(a, I("drive", 1.0)).connect(a, slip).connect(slip, b).connect(b, I("load", 2.0))
    graph.connect(Se("torque", 1.0), a).connect(slip, Friction("plates", 5.0))
    with pytest.raises(ModelError, match=f'E371 the start changes its mode if "{name}" changes slightly'):
        run_sensitivities(compile_model(graph), name, 1.0, progress=False)
    assert run_sensitivities(compile_model(graph), "torque.value", 1.0, progress=False).ok


def test_a_start_that_is_near_another_mode_has_a_derivative():
    """Differences of one per cent would cross the boundary between the modes."""
    graph, edge = Graph("near"), 1.003
    gauge = ("still", lambda k: 0.0 * k, ["k"])
    graph.add(Block("gauge", [gauge], states={"x": StateSpec(0.0)}, rates={"x": "still"}, parameters={"k": 1.0}))
    stay = Transition("below", "above", lambda x: x - 10.0, ["gauge.x"])
    graph.add_automaton(Automaton("side", ("below", "above"), "below", (stay,)))
    graph.start(lambda k: (k**3, "above" if k > edge else "below"), ["gauge.k"], ["gauge.x", "side"])
    compiled = compile_model(graph)
    found = run_sensitivities(compiled, "gauge.k", 1.0, samples=[1.0], progress=False)
    assert found["gauge.x", "gauge.k"] == pytest.approx(3.0, rel=1e-9)
    with pytest.raises(ModelError, match="E371"):
        run_sensitivities(compiled, "gauge.k", 1.0, parameters={"gauge.k": edge}, progress=False)


def test_a_rate_whose_derivative_is_infinite():
    graph = Graph("root")
    graph.add(Block("tank", [("inflow", lambda h: sqrt(h), ["h"])], states={"h": StateSpec(0.0)}, rates={"h": "inflow"}))
    with pytest.raises(RunError, match="E375"):
        run_sensitivities(compile_model(graph), "tank.h", 0.1, progress=False)
