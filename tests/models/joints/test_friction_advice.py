"""Dry friction in a loop of hinges, whose constraints repeat each other: the message names joints with more freedoms."""

from __future__ import annotations

import numpy as np
import pytest

from bondgraph import Friction, Graph, ModelError, R, compile_model
from models import ground, rigid_body
from models.joints import attach_joint, joint_graph
from screws import joints, pose

CRANK, COUPLER, ROCKER, FRAME = 0.1, 0.4, 0.3, 0.4


def four_bar(kinds, brake):
    """A planar four-bar at a crank angle of 1 rad; `kinds` are the joints in their order round the loop."""
    A = CRANK * np.array([np.cos(1.0), np.sin(1.0)])
    d = np.array([FRAME, 0.0]) - A
    n = float(np.hypot(*d))
    a = (COUPLER**2 - ROCKER**2 + n * n) / (2.0 * n)
    B = A + a * d / n + np.sqrt(COUPLER**2 - a * a) / n * np.array([-d[1], d[0]])
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


@pytest.mark.thorough
def test_friction_in_a_loop_of_hinges_advises_other_joints():
    with pytest.raises(ModelError, match="E212") as refused:
        four_bar("rrrr", Friction("brake", 0.3)).compile(progress=False)
    text = str(refused.value)
    assert "a spherical or universal one for a revolute" in text and "switch" not in text
    assert compile_model(four_bar("rrrr", R("brake", 0.01)), backend="numpy")
    assert compile_model(four_bar("rssr", Friction("brake", 0.3)), backend="numpy")
