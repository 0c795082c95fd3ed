"""Every run of a contact graph obeys laws of power, energy, momentum, passivity and reciprocity."""

from __future__ import annotations

import dataclasses
import itertools
from functools import cache

import numpy as np
import pytest

from tests.inner.models_two_bodies import ContactRun, Scenario, read_scenario, run_scenario
from tests.models.cases import DATA, EGG, PLANE, ellipsoid, fixed, free, frictionless, rolling, scenario, uniform, unit
from tests.models.contacts.test_contact_scenarios import CASES, run_of
from tests.models.independent import rotation

PASSIVE = [name for name in CASES if name not in ("egg on a turntable", "ball on a turning egg")]
JUNCTIONS = {"0", "1", "X0", "X1", "TF", "MTF", "GY", "MGY"}


def residual(name: str, rtol: float) -> float:
    run = run_of(name)
    times = run.result.t
    result = run.compiled.simulate(float(times[-1]), samples=times, rtol=rtol, progress=False)
    return result.ledger.relative_residual


@pytest.mark.parametrize("name", ["egg on a turntable", "both free", "central gravity, body 1 free", "through a pole, rolling"])
def test_power_is_continuous_at_every_junction(name):
    run = run_of(name)
    model, result = run.compiled.model, run.result
    steps, checked = len(result.t), 0
    for path, element in model.elements.items():
        if element.kind not in JUNCTIONS:
            continue
        balance, turnover = np.zeros(steps), np.full(steps, 1e-12)
        for bond in model.bonds_at(path):
            effort, flow = (result[f"{bond.name}:{variable}"].reshape(steps, -1) for variable in ("effort", "flow"))
            power = np.sum(effort * flow, axis=1)
            sign = 1.0 if bond.head.element == path else -1.0
            balance = balance + sign * power
            turnover = turnover + np.sum(np.abs(effort * flow), axis=1)
        assert np.abs(balance / turnover).max() < 1e-13, path
        checked += 1
    assert checked >= 9


@pytest.mark.parametrize("name", CASES)
def test_ledger_closes(name):
    assert residual(name, 1e-9) < 1e-9


@pytest.mark.parametrize("name", ["both free", "ellipsoid bounces on a plane", "egg on a turntable"])
def test_ledger_residual_falls_with_the_tolerance(name):
    residuals = [residual(name, rtol) for rtol in (1e-3, 1e-6, 1e-9)]
    # Down to the rounding of sums over some thousand steps.
    for loose, tight in itertools.pairwise(residuals):
        assert tight < max(loose / 2.0, 1e-10)
    assert all(found < rtol for found, rtol in zip(residuals, (1e-3, 1e-6, 1e-9), strict=True))


def momenta(given: Scenario, run: ContactRun) -> tuple[np.ndarray, np.ndarray]:
    linear, angular = 0.0, 0.0
    for index, body in enumerate((given.body1, given.body2), start=1):
        p, v, w = (run.trajectory[key] for key in (f"p{index}", f"v{index}", f"w{index}_body"))
        R = np.array([rotation(q) for q in run.trajectory[f"q{index}_wxyz"]])
        linear = linear + body.mass * v
        angular = angular + body.mass * np.cross(p, v) + np.einsum("kij,kj->ki", R, np.array(body.inertia) * w)
    return linear, angular


@pytest.mark.parametrize("name", ["both free", "ellipsoids that may slide but not roll", "central gravity, body 1 free"])
def test_momentum_of_two_free_bodies(name):
    """All internal forces cancel, including tangential forces and torsional moments."""
    run = run_of(name)
    given = CASES[name].build()
    linear, angular = momenta(given, run)
    speed = max(np.abs(run.trajectory["v1"]).max(), np.abs(run.trajectory["v2"]).max())
    size = given.body2.mass * speed
    reach = np.abs(run.trajectory["p2"]).max()
    assert np.abs(linear - linear[0]).max() < 1e-11 * size
    assert np.abs(angular - angular[0]).max() < 1e-10 * size * reach
    assert run.trajectory["fn"].max() > 0.1, "without contact there is nothing to cancel"


@pytest.mark.parametrize("name", PASSIVE)
def test_energy_never_grows(name):
    ledger = run_of(name).result.ledger
    assert np.diff(ledger.stored).max() < 1e-11 * ledger.in_play
    assert np.diff(ledger.dissipated).min() > -1e-11 * ledger.in_play
    assert np.diff(ledger.lost).min() > -1e-11 * ledger.in_play
    assert np.all(ledger.supplied == 0.0) and np.all(ledger.injected == 0.0)


@pytest.mark.parametrize("name", CASES)
def test_quaternions_stay_unit(name):
    result = run_of(name).result
    for body, spec in zip(run_of(name).bodies, (1, 2), strict=True):
        pose = np.atleast_2d(result[f"{body}.pose"])
        assert np.abs(np.linalg.norm(pose[:, :4], axis=1) - 1.0).max() < 1e-9, spec


@pytest.mark.parametrize("name", CASES)
def test_the_normal_force_never_pulls(name):
    trajectory = run_of(name).trajectory
    assert trajectory["fn"].min() >= 0.0
    assert np.all(trajectory["fn"][trajectory["gap"] > 1e-12] == 0.0)


@pytest.mark.parametrize("name", CASES)
def test_contact_coordinates_stay_those_of_the_poses(name):
    trajectory = run_of(name).trajectory
    frame1, frame2 = trajectory["frame1"], trajectory["frame2"]
    across = frame2[:, :3, 3] - frame1[:, :3, 3]
    assert np.abs(across - trajectory["gap"][:, None] * frame1[:, :3, 2]).max() < 1e-9
    assert np.abs(frame1[:, :3, 2] + frame2[:, :3, 2]).max() < 1e-8
    cosine = np.einsum("ki,ki->k", frame1[:, :3, 0], frame2[:, :3, 0])
    sine = -np.einsum("ki,ki->k", frame1[:, :3, 0], frame2[:, :3, 1])
    away = np.minimum(np.abs(np.sin(trajectory["uv1"][:, 0])), np.abs(np.sin(trajectory["uv2"][:, 0]))) > 0.02
    if PLANE["type"] in run_of(name).bodies[0]:
        away = np.abs(np.sin(trajectory["uv2"][:, 0])) > 0.02
    error = np.hypot(cosine - np.cos(trajectory["alpha"]), sine - np.sin(trajectory["alpha"]))
    assert error[away].max() < 1e-6


def exchanged(given: Scenario) -> Scenario:
    one, two = given.body2, given.body1
    return dataclasses.replace(given, body1=dataclasses.replace(one, name="body1"), body2=dataclasses.replace(two, name="body2"))


def _falling_ellipsoid() -> Scenario:
    body = free(ellipsoid(0.03, 0.02, 0.025), 0.1, (0, 0, 0.04), (0.9, 0.2, -0.3, 0.1), (0.1, 0, 0), (3.0, -2.0, 4.0))
    return scenario(0.2, 0.005, fixed(PLANE), body, frictionless(2e4, 3.0), uniform(0, 0, -9.81))


@pytest.mark.parametrize("build", [lambda: read_scenario(DATA / "S1a.json"), _falling_ellipsoid])
def test_reciprocity(build):
    """The motion under a frictionless contact is the same whichever body is body 2."""
    given = build()
    one, two = run_scenario(given, progress=False), run_scenario(exchanged(given), progress=False)
    for ours, theirs in (("1", "2"), ("2", "1")):
        assert np.abs(one.trajectory[f"p{ours}"] - two.trajectory[f"p{theirs}"]).max() < 1e-9
        assert np.abs(one.trajectory[f"q{ours}_wxyz"] - two.trajectory[f"q{theirs}_wxyz"]).max() < 1e-8
    assert np.abs(one.trajectory["gap"] - two.trajectory["gap"]).max() < 1e-9
    assert np.abs(one.trajectory["force_on_2_world"] + two.trajectory["force_on_2_world"]).max() < 1e-6
    assert np.abs(np.array(one.contact_intervals()) - np.array(two.contact_intervals())).max() < 1e-9


@cache
def permuted(law: str) -> tuple[np.ndarray, ...]:
    """Return positions of an ellipsoid on an egg, with the ellipsoid's axes named (a, b, c), (b, c, a) and (c, a, b)."""
    soft = rolling(4e3, 3.0, 3e3, 2.0, 0.4, 4e-4)
    laws = {"frictionless": frictionless(4e3, 2.0), "rolling": soft, "literal": {**soft, "transport": "gauss"}}
    axes, q = np.array([0.03, 0.02, 0.025]), np.array([0.9, 0.2, -0.3, 0.1])
    ends = []
    for turn in range(3):
        w, x, y, z = q
        body = free(ellipsoid(*np.roll(axes, -turn)), 0.1, (0.004, 0.002, 0.06), unit(q), (0.05, 0.02, -0.2), (3.0, -2.0, 4.0))
        given = scenario(0.15, 0.005, fixed(EGG), body, laws[law], uniform(0, 0, -9.81))
        run = run_scenario(given, rtol=1e-11, progress=False)
        assert run.contact_intervals()
        ends.append(run.trajectory["p2"])
        # Quaternion times (1, 1, 1, 1) / 2: the new x axis is the old y axis, and so on.
        q = 0.5 * np.array([w - x - y - z, w + x + y - z, w - x + y + z, w + x - y + z])
    return tuple(ends)


@pytest.mark.parametrize("law", ["frictionless", "rolling"])
def test_charts_do_not_matter(law):
    first, second, third = permuted(law)
    assert max(np.abs(second - first).max(), np.abs(third - first).max()) < 1e-10


def test_charts_matter_to_tangential_springs_of_the_literal_law():
    """The springs turn with the polar angle of C2, which moves the ellipsoid by 5e-5 m."""
    first, second, third = permuted("literal")
    moved = max(np.abs(second - first).max(), np.abs(third - first).max())
    assert 1e-9 < moved < 1e-3
