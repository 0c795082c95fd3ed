"""Start values that depend on varied parameters have derivatives, or are refused where no derivative exists."""

from __future__ import annotations

import numpy as np
import pytest
from screwbond.models import attach_contact, contact, rigid_body

from bondgraph import J0, J1, Automaton, Block, Friction, Graph, I, R, Se, StateSpec, Transition, compile_model
from bondgraph.errors import ModelError, RunError
from bondgraph.estimation import run_sensitivities
from screws.scalars import sqrt
from screws.surfaces import egg
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
