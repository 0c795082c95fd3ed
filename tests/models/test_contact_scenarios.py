"""Runs of the contact graph against the independent simulator: combinations of surfaces, motions, gravities and laws.

Both integrate to the tolerances below; the figures in brackets are what was measured when the tests were written.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from models.contact_run import ContactRun, run_scenario
from models.scenario import Scenario
from tests.models.cases import EGG, EGG_MASS, PLANE, ellipsoid, fixed, free, frictionless, rolling, scenario, sphere
from tests.models.cases import turning, uniform
from tests.models.independent import Course, Simulator

SOFT = rolling(4e3, 3.0, 3e3, 2.0, 0.4, 4e-4)
DOWN = uniform(0.0, 0.0, -9.81)


@dataclass(frozen=True)
class Case:
    """A scenario, the tolerance of positions (m), and the external events that it must have at least."""

    build: Callable[[], Scenario]
    tolerance: float
    events: int = 0
    internal: int = 0
    max_step: float = 5e-3


def _bouncing() -> Scenario:
    body = free(ellipsoid(0.03, 0.02, 0.025), 0.1, (0, 0, 0.04), (0.9, 0.2, -0.3, 0.1), (0.1, 0, 0), (3.0, -2.0, 4.0))
    return scenario(0.75, 0.005, fixed(PLANE), body, frictionless(2e4), DOWN)


def _sphere_on_egg() -> Scenario:
    ball = free(sphere(0.015), 0.04, (0.004, -0.003, 0.055), v=(0, 0, -0.3), omega=(10, 5, -20))
    egg = fixed(EGG, quat=(0.9, 0.1, 0.2, -0.1))
    return scenario(0.15, 0.005, egg, ball, rolling(3e3, 1.0, 2e3, 1.0, 0.2, 2e-4), DOWN)


def _egg_on_plane() -> Scenario:
    egg = free(EGG, EGG_MASS, (0, 0, 0.0231), (0.75, 0.6, 0.2, 0.1), (-0.1, 0.05, 0), (2.0, 4.0, 0.5))
    return scenario(0.3, 0.005, fixed(PLANE), egg, SOFT, DOWN)


def _off_the_top() -> Scenario:
    ball = free(sphere(0.012), 0.03, (0.006, 0.002, 0.04), v=(0.08, 0.05, 0))
    return scenario(0.3, 0.005, fixed(EGG), ball, rolling(4e3, 2.0, 3e3, 2.0, 0.2, 2e-4), DOWN)


def _no_rolling() -> Scenario:
    one = free(ellipsoid(0.03, 0.02, 0.025), 0.1, (0, 0, 0), (0.9, 0.2, -0.3, 0.1), omega=(1, 2, 3))
    two = free(ellipsoid(0.02, 0.035, 0.022), 0.08, (0.01, 0.056, 0.0), (0.3, 0.8, 0.1, 0.4), (0, -0.4, 0.1), (5, -4, 2))
    law = {"constrained": ["omega_x", "omega_y", "v_z"], "k_n": 5e3, "c_n": 2.0, "k_w": 0.5, "r_w": 5e-4}
    return scenario(0.12, 0.002, one, two, law)


def _turntable() -> Scenario:
    egg = free(EGG, EGG_MASS, (0.1, 0, 0.0231), (0.75, 0.6, 0.2, 0.1), (0, 0.3, 0), (2.0, 4.0, 0.5))
    return scenario(0.25, 0.005, turning(PLANE, (0.2, 0.1, 3.0)), egg, SOFT, DOWN)


def _turning_egg() -> Scenario:
    ball = free(sphere(0.015), 0.04, (0.002, 0.001, 0.0437), v=(0.1, 0, 0), omega=(0, 0, 3))
    return scenario(0.2, 0.005, turning(EGG, (2.0, -1.0, 9.0), (0, 0, 0), (1, 0.1, 0, 0.05)), ball, SOFT, DOWN)


def _first_is_free() -> Scenario:
    egg = free(EGG, EGG_MASS, (0.005, 0.003, 0.06), (0.2, 0.5, 0.6, -0.3), (0, 0, -0.3), (4, 3, 1))
    return scenario(0.2, 0.005, egg, fixed(ellipsoid(0.05, 0.04, 0.03)), SOFT, DOWN)


def _both_free() -> Scenario:
    one = free(EGG, EGG_MASS, (0, 0, 0), (0.9, 0.2, 0.4, 0.1), (0.1, 0, 0), (1.5, -2.0, 3.0))
    two = free(ellipsoid(0.02, 0.03, 0.025), 0.08, (0.065, 0.012, 0.006), (0.5, 0.2, -0.5, 0.6), (-0.5, 0, 0), (-4, 5, 2))
    return scenario(0.1, 0.002, one, two, SOFT)


def _central() -> Scenario:
    one = free(EGG, 0.2, (0.1, 0.2, 0.3), (0.9, 0.2, 0.4, 0.1), omega=(0.5, 1.0, 1.0))
    two = free(sphere(0.02), 0.08, (0.147, 0.2, 0.3), v=(0, 0.25, 0.1), omega=(3, 0, 2))
    return scenario(0.25, 0.005, one, two, SOFT, {"type": "central", "g0": 9.81})


def _pole(law: dict[str, Any]) -> Callable[[], Scenario]:
    """An egg on its side turns over its pole, in the plane y = 0 exactly: sin u = 0 is met, not only approached."""

    def build() -> Scenario:
        height = 0.0279 if law is SOFT else 0.03
        half = np.radians(150.0) / 2.0
        egg = free(EGG, EGG_MASS, (0, 0, height), (np.cos(half), 0, np.sin(half), 0), (0.2, 0, 0), (0, 14.0, 0))
        return scenario(0.2, 0.005, fixed(PLANE), egg, law, DOWN)

    return build


def _over_the_pole_of_body_1() -> Scenario:
    ball = free(sphere(0.012), 0.03, (-0.012, 0.0, 0.03755), v=(0.35, 0, 0.15), omega=(0, 0, 0))
    return scenario(0.2, 0.005, fixed(EGG), ball, rolling(4e3, 2.0, 3e3, 2.0, 0.2, 2e-4), DOWN)


CASES = {
    "ellipsoid bounces on a plane": Case(_bouncing, 1e-9, 11),
    "sphere on egg": Case(_sphere_on_egg, 1e-9, 1),
    "egg rolls on a plane": Case(_egg_on_plane, 1e-9),
    "ball rolls off the top of an egg": Case(_off_the_top, 1e-9, 1, 1),
    "ellipsoids that may slide but not roll": Case(_no_rolling, 1e-9, 2),
    "egg on a turntable": Case(_turntable, 1e-9),
    "ball on a turning egg": Case(_turning_egg, 1e-9),
    "body 1 free, body 2 fixed": Case(_first_is_free, 1e-9, 1),
    "both free": Case(_both_free, 1e-9, 2),
    "central gravity, body 1 free": Case(_central, 1e-9),
    "through a pole, frictionless": Case(_pole(frictionless(4e3)), 1e-9, 1, 1),
    "through a pole, rolling": Case(_pole(SOFT), 1e-9, 0, 1),
    "over the pole of body 1": Case(_over_the_pole_of_body_1, 1e-9, 0, 1),
}
