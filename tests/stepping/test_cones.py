"""Friction facets agree with the exact cone, or differ from it by the known amount."""

from __future__ import annotations

import math

import numpy as np
import pytest
from screwbond.models import Rigid, attach_contact, attach_planar_contact, contact, ground, planar_body, rigid_body

from bondgraph import J0, C, Graph, Sf
from bondgraph.stepping import stepper
from screws.scalars import array
from screws.shapes import Ball, Box, HalfSpace
from screws.surfaces import plane, sphere
from tests.inner.models_contacts import collisions
from tests.inner.stepping import directions

MU, WEIGHT = 0.5, 9.81


def test_facets_are_spread_evenly_and_cancel() -> None:
    for count in (4, 8, 16, 32):
        edges = directions(2, count)
        np.testing.assert_allclose(np.linalg.norm(edges, axis=1), 1.0, rtol=1e-15)
        np.testing.assert_array_equal(edges[: count // 2], -edges[count // 2 :])
        angles = np.sort(np.arctan2(edges[:, 1], edges[:, 0]))
        np.testing.assert_allclose(np.diff(angles), 2.0 * math.pi / count, rtol=1e-12)


def pulled(angle: float) -> Graph:
    graph = Graph("pulled")
    body = rigid_body(
        "ball", mass=1.0, inertia=(0.004,) * 3, surface=sphere(0.1), position=(0.0, 0.0, 0.1), gravity=(0, 0, -WEIGHT)
    )
    floor = ground("floor", surface=plane())
    attach_contact(graph, contact("touch", floor, body, law=Rigid(friction=MU)), floor, body)
    servo = J0("servo", dimension=6, domain="screw", frame="0")
    speed = (0.0, 0.0, 0.0, 0.1 * math.cos(angle), 0.1 * math.sin(angle), 0.0)
    stiff = np.diag([1e3, 1e3, 1e3, 200.0, 200.0, 0.0])
    graph.connect(Sf("command", lambda *_: array(speed), signals=["time"], dimension=6, domain="screw", frame="0"), servo)
    graph.connect(servo, C("spring", stiffness=stiff, initial=np.zeros(6), domain="screw", frame="0"))
    return graph.connect(servo, body.world)


@pytest.mark.parametrize("facets, size, direction", [(4, 1.0, None), (8, math.cos(math.pi / 8), 22.5), ("cone", 1.0, 22.5)])
def test_a_pull_between_facets(facets: int | str, size: float, direction: float | None) -> None:
    """Halfway between two of eight facets, friction is cos(pi/8) mu N, the length of their mean; a cone gives mu N."""
    result = stepper(pulled(math.pi / 8), facets=facets).simulate(1.0, step=0.05)
    force = result["touch.friction force"][-1]
    normal = result["touch.normal force"][-1]
    assert normal == pytest.approx(WEIGHT, rel=1e-6)
    if direction is None:
        assert np.linalg.norm(force) <= MU * normal * (1.0 + 1e-9)
        return
    assert np.linalg.norm(force) == pytest.approx(size * MU * normal, rel=1e-5)
    assert math.degrees(math.atan2(abs(force[1]), abs(force[0]))) == pytest.approx(direction, abs=1e-3)


def test_a_planar_contact_has_two_facets() -> None:
    graph = Graph("plane")
    body = planar_body("body", mass=1.0, place=(0.0, 0.0), gravity=WEIGHT)
    attach_planar_contact(graph, "floor", (body, (0.0, 0.0)), (None, (0.0, 1.0), 0.0), friction=MU)
    made = stepper(graph)
    assert [cone.rows for cone in made.steps.layout.cones] == [2]
    step = made.step(h=0.1)
    assert step.normal == pytest.approx([WEIGHT]) and step.tangential == pytest.approx([0.0], abs=1e-9)


@pytest.mark.parametrize("inertia", ["damped", "full"])
def test_boxes_with_shapes_rest_where_they_are(inertia: str) -> None:
    a = 0.1
    floor = ground("floor", shape=HalfSpace())
    boxes = [
        rigid_body(
            f"box {k}",
            mass=1.0,
            inertia=(a * a / 6.0,) * 3,
            gravity=(0.0, 0.0, -WEIGHT),
            position=(0.01 * k, 0.0, (0.5 + k) * a),
            shape=Box(a, a, a),
        )
        for k in range(3)
    ]
    graph = collisions(Graph("tower"), [floor, *boxes], friction=MU)
    result = stepper(graph, inertia=inertia, facets=4).simulate(0.05, step=0.01)
    for k in range(3):
        np.testing.assert_allclose(result[f"box {k}.pose"][-1, 4:], (0.01 * k, 0.0, (0.5 + k) * a), atol=1e-8)


def test_the_frame_of_the_world_does_not_matter() -> None:
    ways = []
    for turn in (0.0, 0.7):
        c, s = math.cos(turn), math.sin(turn)
        ball = rigid_body(
            "ball",
            mass=1.0,
            inertia=(0.004,) * 3,
            gravity=(0.0, 0.0, -WEIGHT),
            position=(0.0, 0.0, 0.1),
            velocity=(c, s, 0.0),
            angular_velocity=(0.0, 0.0, 3.0),
            shape=Ball(0.1),
        )
        graph = collisions(Graph("thrown"), [ground("floor", shape=HalfSpace()), ball], friction=MU)
        result = stepper(graph, inertia="full", facets="cone").simulate(0.1, step=5e-3)
        x, y = result["ball.pose"][-1, 4:6]
        ways.append((c * x + s * y, c * y - s * x))
    np.testing.assert_allclose(ways[0], ways[1], atol=1e-6)
    slides = 2.0 / (7.0 * MU * WEIGHT)
    assert ways[0][0] == pytest.approx(slides * 6.0 / 7.0 + (0.1 - slides) * 5.0 / 7.0, abs=2e-3)


def test_an_exact_cone_beyond_reach_is_left_out() -> None:
    """A spinning ball falls from beyond reach, lands, slips, and rolls with 2/7 of its spin, as with facets."""
    graph = Graph("spinning")
    body = rigid_body(
        "ball",
        mass=1.0,
        inertia=(0.004,) * 3,
        surface=sphere(0.1),
        position=(0.0, 0.0, 0.3),
        angular_velocity=(0.0, 20.0, 0.0),
        gravity=(0.0, 0.0, -WEIGHT),
    )
    floor = ground("floor", surface=plane())
    attach_contact(graph, contact("touch", floor, body, law=Rigid(friction=MU)), floor, body)
    result = stepper(graph, inertia="full", facets="cone", reach=0.05).simulate(0.4, step=2e-3)
    x = result["ball.pose"][:, 4]
    assert result.ok and (x[-1] - x[-2]) / 2e-3 == pytest.approx(2.0 / 7.0 * 0.1 * 20.0, rel=1e-6)
    assert np.abs(result["touch.gap"][-50:]).max() < 1e-9
