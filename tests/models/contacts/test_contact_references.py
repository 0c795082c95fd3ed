"""Two scenarios agree with reduced copies of independent trajectories, integrated at rtol 1e-12."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from tests.inner.models_two_bodies import ContactRun, read_scenario, run_scenario
from tests.models.cases import DATA

SIZE = {"w1_body": 10.0, "w2_body": 10.0, "fn": 10.0, "force_on_2_world": 10.0, "uv1": 10.0, "uv2": 10.0, "vx": 1.0}


@cache
def pair(name: str) -> tuple[ContactRun, dict[str, np.ndarray]]:
    run = run_scenario(read_scenario(DATA / f"{name}.json"), progress=False)
    with np.load(DATA / f"{name}.npz") as stored:
        return run, dict(stored)


@pytest.mark.parametrize("name", ["S1a", "S2a"])
def test_every_quantity(name):
    run, reference = pair(name)
    trajectory = run.trajectory
    rows = np.searchsorted(trajectory["t"], reference["t"] - 1e-9)
    for key, expected in reference.items():
        if key == "alpha":
            continue
        found = trajectory[key][rows]
        if key in ("uv1", "uv2"):
            # Longitudes are equal up to full turns.
            assert np.allclose(np.exp(1j * found), np.exp(1j * expected), rtol=0.0, atol=1e-10), (name, key)
        else:
            assert np.abs(found - expected).max() < 1e-10 * SIZE.get(key, 1.0), (name, key)


@pytest.mark.parametrize("name", ["S1a", "S2a"])
def test_alpha_is_montanas(name):
    """The reference measures alpha about z1; Montana's alpha is about z2 = -z1."""
    run, reference = pair(name)
    rows = np.searchsorted(run.trajectory["t"], reference["t"] - 1e-9)
    ours = run.trajectory["alpha"][rows]
    assert np.abs(np.exp(1j * ours) - np.exp(-1j * reference["alpha"])).max() < 1e-10
    assert np.abs(np.sin(ours)).max() > 0.1, "angles too small to show the sign"


def test_impact_of_two_eggs():
    run, _ = pair("S1a")
    ((on, off),) = run.contact_intervals()
    assert abs(on - 0.0377504460285) < 1e-9 and abs(off - 0.0401415805939) < 1e-9
    assert run.peak_force()[1] == pytest.approx(21.99746, rel=1e-6)
    energy = run.trajectory["E"]
    assert np.abs(energy / energy[0] - 1.0).max() < 1e-11
    kinds = [event.kind for event in run.result.events if not event.internal]
    assert kinds == ["contact on", "contact off"]


def test_rolling_egg():
    run, reference = pair("S2a")
    assert np.abs(run.trajectory["p2"][-1] - reference["p2"][-1]).max() < 1e-9
    assert np.abs(run.trajectory["p2"][-1] - [-0.038287, 0.008301, -0.025086]).max() < 1e-6
    force = run.trajectory["fn"]
    assert force.min() == pytest.approx(0.2171, abs=1e-4) and run.peak_force()[1] == pytest.approx(0.2852, abs=1e-4)
    settled = force[run.trajectory["t"] > 0.05]
    humps = np.count_nonzero((settled[1:-1] > settled[:-2]) & (settled[1:-1] >= settled[2:]))
    assert humps == 10
