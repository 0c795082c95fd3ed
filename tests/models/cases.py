"""Scenarios for tests, made by the reader of scenario files."""

from __future__ import annotations

import dataclasses
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from tests.inner.models_two_bodies import Scenario, read_scenario
from tests.models.independent import Simulator, rotation

EGG = {"type": "egg", "f": 0.035, "S": 0.084, "zB": 0.010425531914893621}
EGG_MASS = 0.06
EGG_INERTIA = [1.5332794929832505e-05, 1.5332794929832505e-05, 1.2530893617021274e-05]
PLANE = {"type": "plane"}
IDENTITY = [1.0, 0.0, 0.0, 0.0]
DATA = Path(__file__).parent / "data"


def scenario(t_end: float, sample_dt: float, body1: Any, body2: Any, contact: Any, gravity: Any = None) -> Scenario:
    content = {
        "t_end": t_end,
        "sample_dt": sample_dt,
        "body1": body1,
        "body2": body2,
        "contact": contact,
        "gravity": gravity or {"type": "none"},
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "case.json"
        path.write_text(json.dumps(content, default=lambda a: np.asarray(a).tolist()), encoding="utf-8")
        return read_scenario(path)


def ellipsoid(*semi_axes: float) -> dict[str, Any]:
    return {"type": "ellipsoid", "semi_axes": list(semi_axes)}


def sphere(radius: float) -> dict[str, Any]:
    return {"type": "sphere", "radius": radius}


def solid(surface: dict[str, Any], mass: float) -> dict[str, Any]:
    if surface["type"] == "egg":
        return {"surface": surface, "mass": mass, "inertia": [i * mass / EGG_MASS for i in EGG_INERTIA]}
    a, b, c = surface.get("semi_axes", [surface.get("radius")] * 3)
    return {
        "surface": surface,
        "mass": mass,
        "inertia": [mass / 5 * (b * b + c * c), mass / 5 * (a * a + c * c), mass / 5 * (a * a + b * b)],
    }


def fixed(surface: dict[str, Any], p0: Any = (0.0, 0.0, 0.0), quat: Any = IDENTITY) -> dict[str, Any]:
    return {"surface": surface, "motion": "fixed", "p0": list(p0), "quat0_wxyz": unit(quat)}


def turning(surface: dict[str, Any], omega: Any, p0: Any = (0.0, 0.0, 0.0), quat: Any = IDENTITY) -> dict[str, Any]:
    return {**fixed(surface, p0, quat), "motion": "prescribed", "omega0_world": list(omega)}


def free(
    surface: dict[str, Any], mass: float, p0: Any, quat: Any = IDENTITY, v: Any = (0, 0, 0), omega: Any = (0, 0, 0)
) -> dict[str, Any]:
    return {
        **solid(surface, mass),
        "motion": "free",
        "p0": list(p0),
        "quat0_wxyz": unit(quat),
        "v0_com_world": list(v),
        "omega0_world": list(omega),
    }


def uniform(*vector: float) -> dict[str, Any]:
    return {"type": "uniform", "vector": list(vector)}


def frictionless(k_n: float, c_n: float = 0.0) -> dict[str, Any]:
    return {"constrained": ["v_z"], "k_n": k_n, "c_n": c_n}


def rolling(k_n: float, c_n: float, k_t: float, r_t: float, k_w: float, r_w: float) -> dict[str, Any]:
    """Return the paper's rolling contact, in which omega_x and omega_y are free."""
    return {
        "constrained": ["v_x", "v_y", "v_z", "omega_z"],
        "k_n": k_n,
        "c_n": c_n,
        "k_t": k_t,
        "r_t": r_t,
        "k_w": k_w,
        "r_w": r_w,
    }


def unit(quaternion: Any) -> list[float]:
    return (np.asarray(quaternion, dtype=float) / np.linalg.norm(quaternion)).tolist()


def rolling_start(given: Scenario, load: float) -> Scenario:
    """Return the scenario with body 2 at the depth where the spring carries `load` (N), moving without slip."""
    simulator = Simulator(given)
    now = simulator.contact(simulator.start())
    normal, two = -now.frame[:, 2], given.body2
    p0 = np.array(two.p0) - (now.near.d + load / given.contact.k_n) * normal
    place = np.array(given.body1.p0) + rotation(np.array(given.body1.quat0_wxyz)) @ now.near.x1
    below = np.cross(given.body1.omega0_world, place - np.array(given.body1.p0)) + np.array(given.body1.v0_com_world)
    v0 = below - np.cross(two.omega0_world, place - p0)
    body2 = dataclasses.replace(two, p0=tuple(map(float, p0)), v0_com_world=tuple(map(float, v0)))
    return dataclasses.replace(given, body2=body2)
