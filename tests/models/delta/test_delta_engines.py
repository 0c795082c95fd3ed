"""The delta robot in MuJoCo and Pinocchio, as the benchmark builds it, agrees with the independent code."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from screwbond.models.delta import DeltaParameters

from benchmarks.delta_joints import angles_of, hinges, undamped
from tests.models.delta import delta_independent as independent


@cache
def fall() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    p = {**independent.SETS["fit"], "DAMPING": 0.0}
    q = independent.assemble(p, [0.5, 0.7, 0.8])
    u = independent.holding_torque(p, q) * np.array([1.2, 0.8, 1.1])
    x0 = np.concatenate([q, np.zeros(9)])[independent.BY_ARMS]
    x = independent.simulate(p, x0, np.array([0.0, 0.2]), lambda t: u, rtol=1e-11)[-1]
    end = np.empty(18)
    end[independent.BY_ARMS] = x
    assert np.abs(end[:9] - q).max() > 0.1, "it moves"
    return q, u, end[:9]


def test_hinges():
    q, v = fall()[2], np.random.default_rng(1).normal(size=9)
    angles, rates = hinges(q, v)
    assert np.abs(angles_of(angles) - q).max() < 1e-15
    step = 1e-6
    difference = (hinges(q + step * v, v)[0] - hinges(q - step * v, v)[0]) / (2.0 * step)
    assert np.abs(difference - rates).max() < 1e-8


def test_mujoco():
    """MuJoCo's soft constraints let the tips part."""
    pytest.importorskip("mujoco")
    from benchmarks.delta_mujoco import DeltaMujoco

    q, u, expected = fall()
    found = {}
    for stiffness, damping, step in ((1e4, 2e2, 1e-3), (1e6, 2e3, 1e-4)):
        robot = DeltaMujoco.make(undamped(DeltaParameters.fit()), step=step, stiffness=stiffness, damping=damping)
        robot.put(q, np.zeros(9), u)
        robot.run(0.2)
        found[stiffness] = np.abs(robot.q() - expected).max(), robot.apart()
    assert found[1e6][0] < 1e-8 and found[1e6][1] < 1e-8
    # both errors decrease as the stiffness grows
    assert found[1e4][0] > 30.0 * found[1e6][0] and found[1e4][1] > 30.0 * found[1e6][1]


def test_pinocchio():
    pytest.importorskip("pinocchio")
    from benchmarks.delta_pinocchio import DeltaPinocchio

    q, u, expected = fall()
    robot = DeltaPinocchio.make(undamped(DeltaParameters.fit()))
    p = {**independent.SETS["fit"], "DAMPING": 0.0}
    a, _ = independent.acceleration(p, q, np.zeros(9), u)
    assert np.abs(robot.acceleration(hinges(q, np.zeros(9))[0], np.zeros(9), u)[::3] - a[::3]).max() < 1e-10
    assert np.abs(robot.run(q, np.zeros(9), u, 0.2, 2e-3) - expected).max() < 1e-9
