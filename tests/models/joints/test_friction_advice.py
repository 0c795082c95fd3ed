"""Dry friction in a loop of hinges is simulated, or refused with advice that works."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad

from bondgraph import Friction, Graph, ModelError, R, compile_model
from models import ground, rigid_body
from models.joints import attach_joint, joint_graph
from screws import joints, pose

CRANK, COUPLER, ROCKER, FRAME = 0.1, 0.4, 0.3, 0.4


def corners(crank):
    A = CRANK * np.array([np.cos(crank), np.sin(crank)])
    d = np.array([FRAME, 0.0]) - A
    n = float(np.hypot(*d))
    a = (COUPLER**2 - ROCKER**2 + n * n) / (2.0 * n)
    return A, A + a * d / n + np.sqrt(COUPLER**2 - a * a) / n * np.array([-d[1], d[0]])


def four_bar(kinds, brake):
    A, B = corners(1.0)
    angles = (1.0, np.arctan2(*(B - A)[::-1]), np.arctan2(*(B - (FRAME, 0.0))[::-1]))
    starts, lengths = ((0.0, 0.0), A, (FRAME, 0.0)), (CRANK, COUPLER, ROCKER)
    crank, coupler, rocker = (
        rigid_body(
            name,
            mass=1.0,
            inertia=(0.01, 0.02, 0.02),
            centre_of_mass=(length / 2.0, 0.0, 0.0),
            position=(*start, 0.0),
            quaternion=(np.cos(angle / 2.0), 0.0, 0.0, np.sin(angle / 2.0)),
        )
        for name, length, start, angle in zip(("crank", "coupler", "rocker"), lengths, starts, angles, strict=True)
    )
    frame, graph = ground("frame"), Graph("four-bar")
    at = [None if x is None else pose(np.eye(3), (x, 0.0, 0.0)) for x in (None, CRANK, COUPLER, FRAME)]
    ends = (
        (at[0], None, frame, crank),
        (at[1], None, crank, coupler),
        (at[2], pose(np.eye(3), (ROCKER, 0.0, 0.0)), coupler, rocker),
    )
    for name, kind, (frame_a, frame_b, one, two) in zip("mABD", kinds, (*ends, (at[3], None, frame, rocker)), strict=True):
        joint = joints.revolute((0.0, 0.0, 1.0)) if kind == "r" else joints.spherical()
        attach_joint(graph, part := joint_graph(name, joint, frame_a=frame_a, frame_b=frame_b), one, two)
        if name == "m":
            graph.connect(part.port("motion"), brake)
    return graph


def inertia(crank, step=1e-4):
    def places(angle):
        A, B = corners(angle)
        turns = angle, np.arctan2(*(B - A)[::-1]), np.arctan2(*(B - (FRAME, 0.0))[::-1])
        return np.concatenate([A / 2.0, (A + B) / 2.0, (B + np.array((FRAME, 0.0))) / 2.0, np.sqrt(0.02) * np.array(turns)])

    slopes = (8.0 * (places(crank + step) - places(crank - step)) - places(crank + 2 * step) + places(crank - 2 * step)) / 12.0
    return slopes @ slopes / step**2


@pytest.mark.thorough
def test_friction_brings_a_loop_of_hinges_to_rest_where_one_coordinate_comes_to_rest():
    """M w^2 / 2 decreases by the friction limit F times the angle, so M(a) w^2 / 2 = M(1) w_0^2 / 2 - F (a - 1)."""
    limit, speed = 0.3, 8.0
    compiled = four_bar("rrrr", Friction("brake", limit)).compile(progress=False)
    run = compiled.simulate(1.0, initial=compiled.consistent(keep={"m.rate": speed}), rtol=1e-9, progress=False)
    (event,) = run.events
    begin = inertia(1.0) * speed**2 / 2.0
    turned = begin / limit
    time, _ = quad(lambda a: np.sqrt(inertia(1.0 + a) / 2.0 / (begin - limit * a)), 0.0, turned, limit=200)
    assert run.ok and event.kind == "brake sticks"
    assert event.time == pytest.approx(time, rel=1e-6)
    assert run["m.q"][-1] % (2.0 * np.pi) == pytest.approx((1.0 + turned) % (2.0 * np.pi), abs=1e-6)
    assert run.ledger.relative_residual < 1e-9 and np.abs(run.ledger.injected).max() < 1e-9 * run.ledger.in_play


@pytest.mark.thorough
def test_friction_by_a_normal_force_in_a_loop_of_hinges_advises_other_joints():
    """Redundant constraints share the pressing force in any proportion."""
    with pytest.raises(ModelError, match="E212") as refused:
        four_bar("rrrr", Friction("brake", 0.3, scale=lambda w: w[0], signals=["m.multiplier"])).compile(progress=False)
    text = str(refused.value)
    assert "redundant: spherical or universal" in text and "switch" not in text
    assert compile_model(four_bar("rrrr", R("brake", 0.01)), backend="numpy")
    assert compile_model(four_bar("rssr", Friction("brake", 0.3)), backend="numpy")
