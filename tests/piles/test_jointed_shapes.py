"""In the general stepper, jointed bodies with shapes collide too, and free bodies behave as in a pile."""

import numpy as np
import pytest
from screwbond.models import collisions, ground, rigid_body
from screwbond.models.joints import attach_joint, joint_graph

from bondgraph import Graph
from bondgraph.errors import ModelError, RunEndedWarning
from bondgraph.stepping import stepper
from screws import pose, quaternion, rotations
from screws.joints import revolute
from screws.shapes import Ball, Box, Capsule, HalfSpace
from tests.inner.stepping import free_body_stepper

pytest.importorskip("daqp", reason="daqp is not installed")
DOWN = (0.0, 0.0, -9.81)


def floor(height=0.0):
    return ground("floor", shape=HalfSpace(position=(0.0, 0.0, height)))


def test_free_boxes_come_to_rest_as_in_a_pile():
    """The boxes slide along an edge of the facets, where the facets agree with Coulomb's cone."""
    a = 0.1
    inertia = (a * a / 6,) * 3

    def graph():
        boxes = [
            rigid_body("low", mass=1.0, inertia=inertia, gravity=DOWN, position=(0, 0, 0.05), shape=Box(a, a, a)),
            rigid_body(
                "high",
                mass=1.0,
                inertia=inertia,
                gravity=DOWN,
                position=(0.01, 0, 0.15),
                velocity=(0.3, 0, 0),
                shape=Box(a, a, a),
            ),
        ]
        return collisions(Graph("boxes"), [floor(), *boxes], friction=0.5)

    swept = free_body_stepper(graph(), tolerance=1e-10, max_sweeps=100000).simulate(0.2, step=0.01)
    whole = graph()
    solved = stepper(whole, "full").simulate(0.2, step=0.01)
    for name in ("low", "high"):
        assert np.allclose(swept[f"{name}.pose"], solved[f"{name}.pose"], atol=1e-6)
    assert swept["high.pose"][-1, 4] > 0.015


def arm():
    lying = quaternion(rotations.exp(np.array([0.0, 0.5 * np.pi, 0.0])))
    graph, base = Graph("arm"), ground("base")
    bar = rigid_body(
        "bar", mass=1.0, inertia=(0.1, 0.1, 0.01), gravity=DOWN, position=(0.5, 0, 0), quaternion=lying, shape=Capsule(0.05, 1.0)
    )
    start = np.asarray(
        pose(np.asarray(rotations.exp(np.array([0.0, 0.5 * np.pi, 0.0])), dtype=float), (0.0, 0.0, 0.0)), dtype=float
    )
    at_end = np.asarray(pose(np.eye(3), (0.0, 0.0, -0.5)), dtype=float)
    attach_joint(graph, joint_graph("hinge", revolute((0, 1, 0)), frame_a=start, frame_b=at_end), base, bar)
    return collisions(graph, [floor(-0.3), bar], friction=0.5)


def test_a_hinged_bar_falls_on_the_floor_and_stays():
    """The bar's end cap, of radius 0.05 m, comes to rest 0.25 m below the hinge, 1 m away."""
    graph = arm()
    run = stepper(graph, "full").simulate(1.0, step=0.005)
    assert run.failure is None
    assert run["bar.pose"][-1, 6] == pytest.approx(-0.125, abs=1e-4)
    assert np.linalg.norm(run["bar.twist"][-1]) < 1e-3
    assert np.linalg.norm(run["bar.pose"][-1, 4:]) == pytest.approx(0.5, abs=1e-4)


def test_more_candidates_than_there_may_be():
    balls = [rigid_body(f"ball {k}", mass=1.0, inertia=(1, 1, 1), position=(0.1 * k, 0, 0), shape=Ball(0.05)) for k in range(5)]
    few = collisions(Graph("few"), balls, max_contacts=3)
    with pytest.warns(RunEndedWarning, match="E514"):
        ended = stepper(few, "full").simulate(0.1, step=0.01)
    assert ended.failure is not None and ended.failure.kind == "E514" and len(ended.t) == 1
    assert ended.failure.time == 0.0 and "E514 4 candidates for contact, more than max_contacts=3" in str(ended.failure)
    with pytest.raises(ModelError, match="E514"):
        stepper(few, "full").step(h=0.01)
