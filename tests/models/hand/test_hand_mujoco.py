"""MuJoCo's model of the hand ends in the pose of the graph, to within the creep of MuJoCo's contacts."""

from __future__ import annotations

import numpy as np
import pytest
from screwbond.models.hand import SCENARIOS, HandParameters, initial_posture

from benchmarks import hand_mujoco

mujoco = pytest.importorskip("mujoco")


def test_main_ends_within_the_creep() -> None:
    found = hand_mujoco.run(SCENARIOS["main"], 2e-3, repeats=1)
    off = np.linalg.norm(np.array(found["ball"]) - (0.009488, 0.0, 0.135844))
    assert 2e-5 < off < max(found["slip"]) < 2e-3
    assert np.linalg.norm(np.array(found["virtual object"]) - (0.010432, 0.0, 0.139804)) < 1e-4
    assert found["normal force"][0] > 2.8 and found["normal force"][1] < 3.3 and not found["lost"]


def test_masses_and_start_are_ours() -> None:
    given = HandParameters(fingers=4)
    pose = initial_posture(given)
    model = mujoco.MjModel.from_xml_string(hand_mujoco.scene(given, pose, 1e-3, 5e-3))
    data = mujoco.MjData(model)
    hand_mujoco.begin(model, data, given, pose)
    mujoco.mj_forward(model, data)
    finger = sum(given.link_masses) + given.tip_mass
    assert model.body_mass.sum() == pytest.approx(4 * finger + given.object_mass + given.virtual_mass, rel=1e-12)
    assert np.allclose([data.contact[i].dist for i in range(data.ncon)], -pose.penetrations, atol=1e-12)
    poles = [data.site(f"pole {i}").xpos for i in range(4)]
    assert np.allclose(poles, pose.poles, atol=1e-12)
