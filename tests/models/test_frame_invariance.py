"""A scenario that is moved as a whole by a pose has the same motion, seen from another frame."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from screwbond.models.bodies import ground, rigid_body
from screwbond.models.contacts import attach_contact, contact

from bondgraph import Graph
from screws import quaternion_product
from screws.surfaces import egg, plane
from tests.inner.models_two_bodies import ContactRun, GravitySpec, Scenario, read_scenario, run_contact, run_scenario
from tests.inner.models_two_bodies import scenario_BodySpec as BodySpec
from tests.models.cases import DATA, EGG_INERTIA
from tests.models.contacts.test_contact_scenarios import CASES, run_of
from tests.models.independent import rotation

INVARIANT = (
    "gap",
    "gapdot",
    "vx",
    "vy",
    "wz",
    "fn",
    "fx",
    "fy",
    "tx",
    "ty",
    "tz",
    "w1_body",
    "w2_body",
    "cp1_O1",
    "cp2_O2",
    "deformation",
    "E",
    "Ediss",
)


def moved(given: Scenario, q: np.ndarray, shift: np.ndarray) -> Scenario:
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
    """Return two random poses, the second with a half turn, whose quaternion begins with zero."""
    random = np.random.default_rng(20020101)
    quaternions = random.normal(size=(2, 4))
    quaternions[1, 0] = 0.0
    return [(q / np.linalg.norm(q), shift) for q, shift in zip(quaternions, random.normal(size=(2, 3)), strict=True)]


NAMES = [
    "S1a",
    "egg on a turntable",
    "egg rolls on a plane",
    "both free",
    "central gravity, body 1 free",
    "through a pole, rolling",
    "ellipsoid bounces on a plane",
]


@pytest.mark.parametrize("name", NAMES)
def test_moving_everything_changes_nothing_but_the_frame(name):
    given = read_scenario(DATA / "S1a.json") if name == "S1a" else CASES[name].build()
    plain = run_scenario(given, progress=False) if name == "S1a" else run_of(name)
    for q, shift in _poses()[:: 1 if name == "both free" else 2]:
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
                # The potential is relative to the world's origin, which moves along.
                a, b = a - a[0], b - b[0]
            worst[key] = np.abs(a - b).max() / max(np.abs(a).max(), 1.0)
        for key, error in worst.items():
            assert error < 1e-9, f"{key}: {error:.1e}"
        assert [e.kind for e in plain.result.events] == [e.kind for e in other.result.events]
        times = [(a.time, b.time) for a, b in zip(plain.result.events, other.result.events, strict=True)]
        assert all(abs(a - b) < 1e-10 for a, b in times)


def _compare(plain: ContactRun, other: ContactRun, drift: np.ndarray) -> None:
    for index in (1, 2):
        assert np.abs(other.trajectory[f"p{index}"] - plain.trajectory[f"p{index}"] - drift).max() < 1e-9
        assert np.abs(other.trajectory[f"q{index}_wxyz"] - plain.trajectory[f"q{index}_wxyz"]).max() < 1e-9
    assert np.abs(other.trajectory["gap"] - plain.trajectory["gap"]).max() < 1e-10
    assert np.abs(other.trajectory["force_on_2_world"] - plain.trajectory["force_on_2_world"]).max() < 1e-7


def test_uniform_motion_changes_nothing():
    """Both bodies move 30 m/s faster (Galilean invariance), with tangential springs and dampers."""
    given, boost = CASES["both free"].build(), np.array([20.0, -20.0, 10.0])
    faster = [dataclasses.replace(b, v0_com_world=tuple(b.v0_com_world + boost)) for b in (given.body1, given.body2)]
    other = dataclasses.replace(given, body1=faster[0], body2=faster[1])
    plain = run_of("both free")
    _compare(plain, run_scenario(other, progress=False), plain.trajectory["t"][:, None] * boost)


def test_free_fall_changes_nothing():
    given, g = CASES["both free"].build(), np.array([3.0, -9.0, 4.0])
    falling = dataclasses.replace(given, gravity=GravitySpec("uniform", tuple(g)))
    plain = run_of("both free")
    _compare(plain, run_scenario(falling, progress=False), 0.5 * plain.trajectory["t"][:, None] ** 2 * g)


def test_object_frame_of_a_body_in_contact():
    """An egg with the object frame at its focus rolls like an egg with the frame at its centre of mass."""
    height, q = 0.010425531914893621, np.array([0.75, 0.6, 0.2, 0.1]) / np.linalg.norm([0.75, 0.6, 0.2, 0.1])
    runs = []
    for shift in (0.0, height):
        graph, floor = Graph("egg"), ground("floor", surface=plane())
        up = rotation(q)[:, 2]
        body = rigid_body(
            "egg",
            mass=0.06,
            inertia=EGG_INERTIA,
            surface=egg(0.035, 0.084, height - shift),
            centre_of_mass=(0.0, 0.0, -shift),
            position=np.array([0, 0, 0.026]) + shift * up,
            quaternion=q,
            angular_velocity=(2.0, 4.0, 0.5),
            gravity=(0, 0, -9.81),
        )
        law = contact(
            "contact",
            floor,
            body,
            normal_stiffness=4e3,
            normal_damping=3.0,
            tangential_stiffness=3e3,
            tangential_damping=2.0,
            rotational_stiffness=0.4,
            rotational_damping=4e-4,
        )
        attach_contact(graph, law, floor, body)
        run = run_contact(graph, floor, body, 0.2, 0.005, progress=False)
        axes = np.array([rotation(row)[:, 2] for row in run.trajectory["q2_wxyz"]])
        runs.append((run.trajectory["p2"] - shift * axes, run.trajectory))
    assert np.abs(runs[0][0] - runs[1][0]).max() < 1e-10
    assert np.abs(runs[0][1]["q2_wxyz"] - runs[1][1]["q2_wxyz"]).max() < 1e-9
    assert np.abs(runs[0][1]["fn"] - runs[1][1]["fn"]).max() < 1e-7 and runs[0][1]["fn"].max() > 0.5
