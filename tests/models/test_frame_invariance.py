"""A scenario moved as a whole by a pose: the same motion, seen from another frame."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from models.contact_run import run_scenario
from models.scenario import BodySpec, Scenario, read_scenario
from screws import quaternion_product
from tests.models.cases import DATA
from tests.models.independent import rotation
from tests.models.test_contact_scenarios import CASES

INVARIANT = ("gap", "gapdot", "vx", "vy", "wz", "fn", "fx", "fy", "tx", "ty", "tz", "w1_body", "w2_body", "cp1_O1",
             "cp2_O2", "deformation", "E", "Ediss")  # fmt: skip


def moved(given: Scenario, q: np.ndarray, shift: np.ndarray) -> Scenario:
    """Both bodies, their velocities and the field turned by the quaternion q and shifted."""
    R = rotation(q)

    def body(spec: BodySpec) -> BodySpec:
        return dataclasses.replace(
            spec,
            p0=tuple(R @ spec.p0 + shift),
            quat0_wxyz=tuple(np.asarray(quaternion_product(q, spec.quat0_wxyz), dtype=float)),
            v0_com_world=tuple(R @ spec.v0_com_world),
            omega0_world=tuple(R @ spec.omega0_world),
        )

    gravity = dataclasses.replace(given.gravity, vector=tuple(R @ given.gravity.vector))
    return dataclasses.replace(given, body1=body(given.body1), body2=body(given.body2), gravity=gravity)


def _poses() -> list[tuple[np.ndarray, np.ndarray]]:
    """Two random poses, one of them a half turn, whose quaternion begins with zero."""
    random = np.random.default_rng(20020101)
    quaternions = random.normal(size=(2, 4))
    quaternions[1, 0] = 0.0
    return [(q / np.linalg.norm(q), shift) for q, shift in zip(quaternions, random.normal(size=(2, 3)), strict=True)]


NAMES = ["S1a", "egg on a turntable", "egg rolls on a plane", "both free", "central gravity, body 1 free",
         "through a pole, rolling", "ellipsoid bounces on a plane"]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_moving_everything_changes_nothing_but_the_frame(name):
    """To 1e-9 of each quantity's size [1e-10], events to 1e-10 s, over random poses."""
    given = read_scenario(DATA / "S1a.json") if name == "S1a" else CASES[name].build()
    plain = run_scenario(given, progress=False)
    for q, shift in _poses():
        other = run_scenario(moved(given, q, shift), progress=False)
        R = rotation(q)
        worst = {}
        for index in (1, 2):
            place = plain.trajectory[f"p{index}"] @ R.T + shift
            worst[f"p{index}"] = np.abs(other.trajectory[f"p{index}"] - place).max()
            speed = plain.trajectory[f"v{index}"] @ R.T
            worst[f"v{index}"] = np.abs(other.trajectory[f"v{index}"] - speed).max()
            turned = [R @ rotation(row) for row in plain.trajectory[f"q{index}_wxyz"]]
            seen = [rotation(row) for row in other.trajectory[f"q{index}_wxyz"]]
            worst[f"q{index}"] = np.abs(np.array(seen) - turned).max()
        force = plain.trajectory["force_on_2_world"]
        worst["force"] = np.abs(other.trajectory["force_on_2_world"] - force @ R.T).max() / max(np.abs(force).max(), 1.0)
        for key in INVARIANT:
            a, b = plain.trajectory[key], other.trajectory[key]
            if key == "E":
                # The potential counts from the world's origin, which moves along.
                a, b = a - a[0], b - b[0]
            worst[key] = np.abs(a - b).max() / max(np.abs(a).max(), 1.0)
        for key, error in worst.items():
            assert error < 1e-9, f"{key}: {error:.1e}"
        assert [e.kind for e in plain.result.events] == [e.kind for e in other.result.events]
        times = [(a.time, b.time) for a, b in zip(plain.result.events, other.result.events, strict=True)]
        assert all(abs(a - b) < 1e-10 for a, b in times)
