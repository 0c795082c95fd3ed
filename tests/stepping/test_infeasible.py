"""A box on one corner falls back onto the floor, or past the corner, which ends the run with an error."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from screwbond.models import (
    Rigid,
    attach_contact,
    attach_planar_contact,
    contact,
    ground,
    planar_body,
    planar_contact,
    rigid_body,
)

from bondgraph import J0, J1, C, Graph, I, RunEndedWarning, Se, Sf
from bondgraph.stepping import stepper
from screws.shapes import Box, HalfSpace
from screws.surfaces import plane, sphere
from tests.inner.models_contacts import collisions
from tests.inner.run import Result

HALF = 0.5


def tipped(angle: float, far: float | None = None) -> Graph:
    graph = Graph("tipped")
    corner = (math.cos(angle) * HALF + math.sin(angle) * HALF, math.sin(angle) * HALF - math.cos(angle) * HALF)
    box = planar_body("box", mass=1.0, inertia=1.0 / 6.0, place=(-corner[0], -corner[1], angle), gravity=9.81)
    for name, x in (("floor A", -HALF), ("floor B", HALF)):
        attach_planar_contact(graph, name, (box, (x, -HALF)), (None, (0.0, 1.0), 0.0), friction=1.5)
    if far is not None:
        finger = planar_body("finger", mass=1.0, place=(-far, 0.5))
        servo = J0("servo", dimension=2)
        graph.connect(Sf("command", (0.0, 0.0)), servo).connect(servo, finger.motion)
        graph.connect(servo, C("spring", stiffness=1000.0 * np.eye(2), initial=(0.0, 0.0)))
        attach_planar_contact(graph, "tip", (finger, (0.0, 0.0)), (box, (-1.0, 0.0), HALF), friction=1.5)
    return graph


def run(graph: Graph, reach: float = math.inf) -> Result:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RunEndedWarning)
        return stepper(graph, reach=reach).simulate(0.05, step=0.01)


@pytest.mark.parametrize("far", [None, 9.0], ids=["alone", "with a far finger"])
def test_within_its_balance_it_falls_back(far: float | None) -> None:
    result = run(tipped(-0.75, far), 2.0)
    assert result.ok
    assert result["box.place"][-1, 2] == pytest.approx(0.0, abs=2e-3)
    assert result["box.place"][-1, 1] == pytest.approx(HALF, abs=2e-3)


@pytest.mark.parametrize("far", [None, 9.0], ids=["alone", "with a far finger"])
def test_past_it_the_run_ends_and_says_how_it_falls(far: float | None) -> None:
    result = run(tipped(-0.80, far), 2.0)
    assert result.failure is not None and len(result.t) == 1
    said = str(result.failure)
    assert "E511" in said and '"box" falls by rotating past contact "floor B"' in said and "try" in said


def test_a_far_face_does_not_hold_a_falling_box() -> None:
    """Without `reach`, the face of a finger 9 m away, extended to an infinite plane, would stop the fall."""
    result = run(tipped(-0.80, 9.0))
    assert result.ok and result["box.place"][1, 2] < -1.0


def test_a_contact_that_moves_farther_than_it_is_known_ends_the_run() -> None:
    result = run(tipped(-0.75), 0.7)
    assert result.failure is not None and "E511" in str(result.failure)
    assert '"box" falls by rotating farther than the 0.7 m' in str(result.failure)


def test_a_body_in_space_that_nothing_holds() -> None:
    graph = Graph("slope")
    tilt = 0.3
    body = rigid_body(
        "ball",
        mass=1.0,
        inertia=(0.004,) * 3,
        surface=sphere(0.1),
        position=(0.0, 0.0, 0.1),
        gravity=(9.81 * math.sin(tilt), 0.0, -9.81 * math.cos(tilt)),
    )
    slope = ground("slope", surface=plane())
    touch = contact("touch", slope, body, law=Rigid())
    attach_contact(graph, touch, slope, body)
    said = str(run(graph).failure)
    assert "E511" in said and '"ball" moves along x along contact "touch"' in said


def test_a_weight_that_hangs_on_nothing() -> None:
    graph, fall = Graph("fall"), J1("fall", domain="translation")
    graph.connect(fall, I("stone", 1.0)).connect(fall, C("wind", stiffness=0.0))
    graph.connect(Se("weight", -9.81), fall)
    said = str(run(graph).failure)
    assert "E511" in said and '"stone" moves backwards' in said


def test_a_box_in_space_past_its_balance() -> None:
    a, angle = 0.2, math.radians(50.0)
    c, s = math.cos(angle), math.sin(angle)
    floor = ground("floor", shape=HalfSpace())
    box = rigid_body(
        "box",
        mass=1.0,
        inertia=(a * a / 6.0,) * 3,
        gravity=(0.0, 0.0, -9.81),
        position=(0.0, 0.0, a / 2.0 * (c + s)),
        quaternion=(math.cos(angle / 2.0), 0.0, math.sin(angle / 2.0), 0.0),
        shape=Box(a, a, a),
    )
    result = run(collisions(Graph("edge"), [floor, box], friction=0.8), 0.02)
    said = str(result.failure)
    assert "E511" in said and '"box" falls by rotating about y past contact "floor and box"' in said


def test_nonconvergent_friction_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """No known graph always fails to converge, so the limit is lowered to one program."""
    monkeypatch.setattr("bondgraph.stepping.step.MAX_PROGRAMS", 1)
    graph, x = Graph("slides"), J1("x", domain="translation")
    touch, servo = planar_contact("floor", friction=0.5), J0("servo", domain="translation")
    z = J1("z", domain="translation")
    graph.connect(x, I("along", 1.0)).connect(z, I("up", 1.0)).connect(Se("weight", -9.81), z)
    graph.connect(z, touch.port("normal")).connect(x, touch.port("tangent"))
    graph.connect(Sf("command", 1.0), servo).connect(servo, x).connect(servo, C("spring", stiffness=1000.0))
    said = str(run(graph).failure)
    assert "E512" in said and '"floor"' in said and 'friction="convex"' in said


def test_more_candidates_than_there_may_be_end_the_run() -> None:
    floor = ground("floor", shape=HalfSpace())
    box = rigid_body(
        "box", mass=1.0, inertia=(0.01,) * 3, gravity=(0.0, 0.0, -9.81), position=(0.0, 0.0, 0.1), shape=Box(0.2, 0.2, 0.2)
    )
    result = run(collisions(Graph("few"), [floor, box], friction=0.8, max_contacts=3))
    assert result.failure is not None and "E514" in str(result.failure) and "max_contacts=" in str(result.failure)
