"""Runs of the contact graph agree with the independent simulator for many surfaces, motions, gravities and laws."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from tests.inner.models_two_bodies import ContactRun, Scenario, run_scenario
from tests.models.cases import (
    EGG,
    EGG_MASS,
    PLANE,
    ellipsoid,
    fixed,
    free,
    frictionless,
    rolling,
    rolling_start,
    scenario,
    sphere,
    turning,
    uniform,
)
from tests.models.independent import COMPONENTS as ORDER
from tests.models.independent import Course, Simulator

SOFT = rolling(4e3, 3.0, 3e3, 2.0, 0.4, 4e-4)
DOWN = uniform(0.0, 0.0, -9.81)


@dataclass(frozen=True)
class Case:
    """Scenario with its minimum counts of contact events and chart switches."""

    build: Callable[[], Scenario]
    events: int = 0
    internal: int = 0


def _bouncing() -> Scenario:
    body = free(ellipsoid(0.03, 0.02, 0.025), 0.1, (0, 0, 0.04), (0.9, 0.2, -0.3, 0.1), (0.1, 0, 0), (3.0, -2.0, 4.0))
    return scenario(0.3, 0.005, fixed(PLANE), body, frictionless(2e4), DOWN)


def _sphere_on_egg() -> Scenario:
    ball = free(sphere(0.015), 0.04, (0.004, -0.003, 0.055), v=(0, 0, -0.3), omega=(10, 5, -20))
    egg = fixed(EGG, quat=(0.9, 0.1, 0.2, -0.1))
    return scenario(0.15, 0.005, egg, ball, rolling(3e3, 1.0, 2e3, 1.0, 0.2, 2e-4), DOWN)


def _egg_on_plane() -> Scenario:
    egg = free(EGG, EGG_MASS, (0, 0, 0.03), (0.75, 0.6, 0.2, 0.1), omega=(2.0, 4.0, 0.5))
    return rolling_start(scenario(0.15, 0.005, fixed(PLANE), egg, SOFT, DOWN), EGG_MASS * 9.81)


def _off_the_top() -> Scenario:
    ball = free(sphere(0.012), 0.03, (0.004, 0.002, 0.05), omega=(-2.0, 9.0, 1.0))
    law = rolling(4e3, 2.0, 3e3, 2.0, 0.2, 2e-4)
    return rolling_start(scenario(0.15, 0.005, fixed(EGG), ball, law, DOWN), 0.03 * 9.81)


def _no_rolling() -> Scenario:
    one = free(ellipsoid(0.03, 0.02, 0.025), 0.1, (0, 0, 0), (0.9, 0.2, -0.3, 0.1), omega=(1, 2, 3))
    two = free(ellipsoid(0.02, 0.035, 0.022), 0.08, (0.01, 0.056, 0.0), (0.3, 0.8, 0.1, 0.4), (0, -0.4, 0.1), (5, -4, 2))
    law = {"constrained": ["omega_x", "omega_y", "v_z"], "k_n": 5e3, "c_n": 2.0, "k_w": 0.5, "r_w": 5e-4}
    return scenario(0.12, 0.002, one, two, law)


def _turntable() -> Scenario:
    egg = free(EGG, EGG_MASS, (0.1, 0, 0.03), (0.75, 0.6, 0.2, 0.1), omega=(2.0, 4.0, 0.5))
    return rolling_start(scenario(0.12, 0.005, turning(PLANE, (0.2, 0.1, 3.0)), egg, SOFT, DOWN), EGG_MASS * 9.81)


def _turning_egg() -> Scenario:
    ball = free(sphere(0.015), 0.04, (0.002, 0.001, 0.0437), v=(0.1, 0, 0), omega=(0, 0, 3))
    return scenario(0.1, 0.005, turning(EGG, (2.0, -1.0, 9.0), (0, 0, 0), (1, 0.1, 0, 0.05)), ball, SOFT, DOWN)


def _first_is_free() -> Scenario:
    egg = free(EGG, EGG_MASS, (0.005, 0.003, 0.06), (0.2, 0.5, 0.6, -0.3), (0, 0, -0.3), (4, 3, 1))
    return scenario(0.11, 0.005, egg, fixed(ellipsoid(0.05, 0.04, 0.03)), SOFT, DOWN)


def _both_free() -> Scenario:
    one = free(EGG, EGG_MASS, (0, 0, 0), (0.9, 0.2, 0.4, 0.1), (0.1, 0, 0), (1.5, -2.0, 3.0))
    two = free(ellipsoid(0.02, 0.03, 0.025), 0.08, (0.065, 0.012, 0.006), (0.5, 0.2, -0.5, 0.6), (-0.5, 0, 0), (-4, 5, 2))
    return scenario(0.1, 0.002, one, two, SOFT)


def _central() -> Scenario:
    one = free(EGG, 0.2, (0.1, 0.2, 0.3), (0.9, 0.2, 0.4, 0.1), omega=(0.5, 1.0, 1.0))
    two = free(sphere(0.02), 0.08, (0.147, 0.2, 0.3), v=(0, 0.25, 0.1), omega=(3, 0, 2))
    return scenario(0.09, 0.005, one, two, SOFT, {"type": "central", "g0": 9.81})


def _pole(law: dict[str, Any]) -> Callable[[], Scenario]:
    """Return a maker of scenarios in which an egg turns over its pole exactly in the plane y = 0."""

    def build() -> Scenario:
        half = np.radians(140.0) / 2.0
        egg = free(EGG, EGG_MASS, (0, 0, 0.035), (np.cos(half), 0, np.sin(half), 0), omega=(0, 14.0, 0))
        return rolling_start(scenario(0.06, 0.005, fixed(PLANE), egg, law, DOWN), EGG_MASS * 9.81)

    return build


def _over_the_pole_of_body_1() -> Scenario:
    ball = free(sphere(0.012), 0.03, (-0.012, 0.0, 0.04), omega=(0, 45.0, 0))
    law = rolling(4e3, 2.0, 3e3, 2.0, 0.2, 2e-4)
    return rolling_start(scenario(0.06, 0.004, fixed(EGG), ball, law, DOWN), 0.03 * 9.81)


CASES = {
    "ellipsoid bounces on a plane": Case(_bouncing, 6),
    "sphere on egg": Case(_sphere_on_egg, 2),
    "egg rolls on a plane": Case(_egg_on_plane),
    "ball rolls off the top of an egg": Case(_off_the_top, 1, 1),
    "ellipsoids that may slide but not roll": Case(_no_rolling, 2),
    "egg on a turntable": Case(_turntable),
    "ball on a turning egg": Case(_turning_egg, 5),
    "body 1 free, body 2 fixed": Case(_first_is_free, 4),
    "both free": Case(_both_free, 2),
    "central gravity, body 1 free": Case(_central, 4),
    "through a pole, frictionless": Case(_pole(frictionless(4e3)), 0, 1),
    "through a pole, rolling": Case(_pole(SOFT), 0, 1),
    "over the pole of body 1": Case(_over_the_pole_of_body_1, 0, 1),
}


@cache
def run_of(name: str) -> ContactRun:
    return run_scenario(CASES[name].build(), progress=False)


@pytest.mark.parametrize("name", CASES)
def test_agrees_with_independent_simulator(name):
    case = CASES[name]
    given, run = case.build(), run_of(name)
    assert run.result.ok and run.result.ledger.relative_residual < 1e-9
    course = Simulator(given).run(run.trajectory["t"])
    external = [event for event in run.result.events if not event.internal]
    assert [event.kind for event in external] == [kind for _, kind in course.events]
    assert all(abs(event.time - at) < 1e-8 for event, (at, _) in zip(external, course.events, strict=True))
    assert len(external) >= case.events and len(run.result.events) - len(external) >= case.internal
    for quantity, (error, bound) in differences(run, course).items():
        assert error < bound, f"{quantity}: {error:.2e}"


COMPONENTS = [
    ["v_x", "v_z"],
    ["v_y", "v_z"],
    ["omega_x", "v_z"],
    ["omega_y", "omega_z", "v_z"],
    ["v_x", "v_y", "v_z"],
    ["omega_x", "omega_y", "omega_z", "v_x", "v_y", "v_z"],
    ["omega_z", "v_x", "v_y"],
]
PAIRS = [
    (EGG, ellipsoid(0.02, 0.03, 0.025)),
    (ellipsoid(0.02, 0.03, 0.025), PLANE),
    (sphere(0.03), EGG),
    (PLANE, ellipsoid(0.03, 0.02, 0.025)),
    (ellipsoid(0.02, 0.03, 0.025), sphere(0.02)),
    (EGG, EGG),
    (sphere(0.03), sphere(0.02)),
]


@pytest.mark.parametrize(("components", "pair"), list(zip(COMPONENTS, PAIRS, strict=True)), ids=map("+".join, COMPONENTS))
def test_constrained_components(components, pair):
    """Bodies in light contact slip, spin and roll for too short a time to change a chart."""
    law = {"constrained": components, "k_n": 4e3, "c_n": 2.0, "k_t": 2e3, "r_t": 1.0, "k_w": 0.5, "r_w": 5e-4}
    bodies = []
    # The surface normals meet on the x axis, away from the poles of either chart.
    for surface, p, quat in ((pair[0], (0, 0, 0), (0.8, 0.1, 0.5, -0.3)), (pair[1], (0.2, 0.01, 0.02), (0.95, 0.2, 0.15, -0.1))):
        if surface is PLANE:
            lying = (np.sqrt(0.5), 0, np.sqrt(0.5) if not bodies else -np.sqrt(0.5), 0)
            bodies.append(fixed(PLANE, p, lying))
        else:
            bodies.append(free(surface, 0.08, p, quat, (0.1, 0.05, -0.04), (4.0 - 8.0 * len(bodies), 3.0, -2.0)))
    start = rolling_start(scenario(0.02, 0.001, *bodies, law, uniform(0.5, -0.2, 0.3)), 0.6)
    given = replace(start, body2=replace(start.body2, v0_com_world=(-0.05, 0.1, 0.02) if pair[1] is not PLANE else (0, 0, 0)))
    run = run_scenario(given, progress=False)
    assert run.result.ok and run.result.ledger.relative_residual < 1e-9
    assert not any(event.internal for event in run.result.events) and run.trajectory["gap"][0] < 0.0
    course = Simulator(given).run(run.trajectory["t"])
    assert [event.kind for event in run.result.events] == [kind for _, kind in course.events]
    for quantity, (error, bound) in differences(run, course).items():
        assert error < bound, f"{quantity}: {error:.2e}"
    felt = np.abs(run.trajectory["deformation"]).max(axis=0) > 0.0
    assert felt.tolist() == [name in components for name in ORDER]


def differences(run: ContactRun, course: Course) -> dict[str, tuple[float, float]]:
    """Return the largest difference of each quantity, and its bound, with contact forces in world axes.

    At rtol 1e-10, with errors that grow up to fiftyfold, lengths of 0.1 m are off by at most 5e-10 m.
    """
    trajectory, out = run.trajectory, {}
    for index in (1, 2):
        body = course.body(index)
        out[f"p{index}"] = _largest(body["p"] - trajectory[f"p{index}"]), 1e-8
        out[f"q{index}"] = _largest(body["q"] - trajectory[f"q{index}_wxyz"]), 1e-7
        out[f"v{index}"] = _largest(body["v"] - trajectory[f"v{index}"]), 1e-7
        out[f"w{index}"] = _largest(body["w"] - trajectory[f"w{index}_body"]), 1e-5
    frames = trajectory["frame2"][:, :3, :3]
    force = np.einsum("kij,kj->ki", course.frame, course.wrench[:, 3:])
    torque = np.einsum("kij,kj->ki", course.frame, course.wrench[:, :3])
    given = np.stack([trajectory["tx"], trajectory["ty"], trajectory["tz"]], axis=1)
    out["gap"] = _largest(course.gap - trajectory["gap"]), 1e-8
    out["force"] = _largest(force - trajectory["force_on_2_world"]), 1e-5
    out["torque"] = _largest(torque - np.einsum("kij,kj->ki", frames, given)), 1e-8
    for o in (0, 3):
        ours = np.einsum("kij,kj->ki", course.frame, course.spring[:, o : o + 3])
        theirs = np.einsum("kij,kj->ki", frames, trajectory["deformation"][:, o : o + 3])
        out[f"deformation {o}"] = _largest(ours - theirs), 1e-7 if o == 0 else 1e-9
    return out


def _largest(a: np.ndarray) -> float:
    return float(np.abs(a).max())
