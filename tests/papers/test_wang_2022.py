"""Wrench transforms, sums over links and restitution of Wang, Dehio and Kheddar 2022 (WA22), as printed and as corrected.

The paper writes the linear part first; `lin` reorders matrices of this project.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.special import lambertw
from screwbond.models import attach_contact, contact, ground, rigid_body
from screwbond.models.contacts import Viscoelastic
from screwbond.models.impact import (
    default_striker,
    effective_mass,
    graph_effective_mass,
    inverse_inertia,
    restitution,
    study_poses,
)

from bondgraph import Graph, simulate
from screws.inertia import spatial_inertia
from screws.poses import Ad, pose
from screws.rotations import exp
from screws.surfaces import plane, sphere
from screws.twists import wrench_of_force
from tests.inner.models_impact import striking_point

FORCE = np.array([3.0, -1.0, 2.0])


def lin(matrix):
    swap = np.roll(np.eye(6), 3, axis=0)
    return swap @ np.asarray(matrix, dtype=float) @ swap.T


def some_pose():
    """Return g_ip, the pose of the contact frame in a link's frame."""
    return np.asarray(pose(exp((0.3, -0.8, 0.5)), (0.2, -0.1, 0.4)), dtype=float)


def test_equation_1_holds_without_self_motion():
    """With seven joints, some motions of the arm leave the point at rest, but have kinetic energy."""
    arm = default_striker()
    where = striking_point(*arm.arguments[:3])
    M, J = where.mass_matrix, where.jacobian
    equivalent = np.linalg.inv(where.mobility)
    right = np.linalg.solve(M, J.T @ (equivalent @ [0.0, 0.1, 0.0, 0.3, 0.0, 0.2]))
    assert right @ M @ right == pytest.approx((J @ right) @ equivalent @ (J @ right), rel=1e-10)
    still = np.linalg.svd(J)[2][-1]
    assert np.abs(J @ still).max() < 1e-13 and still @ M @ still > 1e-2
    other = right + still
    assert other @ M @ other - (J @ other) @ equivalent @ (J @ other) == pytest.approx(still @ M @ still, rel=1e-9)


def test_equations_5_and_7_transform_wrenches_by_the_inverse_transpose():
    """A force at the point has the moment p x R f about the link's origin; the paper prints Ad^T(g_ip) without the inverse."""
    H = some_pose()
    f = H[:3, :3] @ FORCE
    moment = np.cross(H[:3, 3], f)
    force = np.concatenate([FORCE, np.zeros(3)])
    adjoint = lin(Ad(H))
    assert np.linalg.inv(adjoint).T @ force == pytest.approx(np.concatenate([f, moment]), rel=1e-12)
    assert np.abs(adjoint.T @ force - np.concatenate([f, moment])).max() > 0.5
    # (7): the point of a free body that is hit gains the energy f . dv / 2, which is positive for any force.
    M = np.asarray(spatial_inertia(2.0, (0.02, 0.03, 0.04)), dtype=float)
    twist = np.linalg.solve(M, wrench_of_force(f, H[:3, 3]).astype(float))
    gained = 0.5 * twist @ M @ twist
    jumps = [np.linalg.solve(lin(M), transform @ force) for transform in (np.linalg.inv(adjoint).T, adjoint.T)]
    at_point = [(np.linalg.inv(adjoint) @ jump)[:3] for jump in jumps]
    assert 0.5 * FORCE @ at_point[0] == pytest.approx(gained, rel=1e-12)
    assert abs(0.5 * FORCE @ at_point[1] - gained) > 0.1 * gained


def test_equation_10_counts_the_impulse_once():
    """The sum over seven links of a term without i is seven times the impulse, which acts once."""
    arm = default_striker()
    where = striking_point(*arm.arguments[:3])
    body, n = where.composite, np.asarray(arm.normal)
    g_cp = np.asarray(pose(np.eye(3), -body.centre), dtype=float)
    M = lin(spatial_inertia(body.mass, body.rotational))
    to_point = np.linalg.inv(lin(Ad(g_cp)))
    once = to_point @ np.linalg.solve(M, to_point.T)
    measured = graph_effective_mass(*arm.arguments, kind="composite").mass
    assert 1.0 / (n @ once[:3, :3] @ n) == pytest.approx(measured, rel=1e-12)
    assert 1.0 / (n @ (7.0 * once)[:3, :3] @ n) == pytest.approx(measured / 7.0, rel=1e-12)
    printed = to_point @ np.linalg.solve(M, lin(Ad(g_cp)).T)
    # Without the inverse the point would move against the force.
    assert np.linalg.eigvalsh(once[:3, :3])[0] > 0.0 > np.linalg.eigvalsh(0.5 * (printed + printed.T)[:3, :3])[0]


def test_the_equivalent_inertia_needs_transposes():
    """The expression below equation (10), corrected to Ad^-T(g_pc) I Ad^-1(g_pc), is the composite's inertia about the point."""
    arm = default_striker()
    where = striking_point(*arm.arguments[:3])
    body = where.composite
    g_pc = np.asarray(pose(np.eye(3), body.centre), dtype=float)
    back = np.linalg.inv(lin(Ad(g_pc)))
    M = lin(spatial_inertia(body.mass, body.rotational))
    about_the_point = lin(spatial_inertia(body.mass, body.rotational, body.centre))
    assert back.T @ M @ back == pytest.approx(about_the_point, rel=1e-12, abs=1e-12)
    printed = back @ M @ back
    assert np.abs(printed - printed.T).max() > 1.0
    W = inverse_inertia(*arm.arguments[:3], kind="composite")
    assert np.linalg.inv(about_the_point)[:3, :3] == pytest.approx(W, rel=1e-10, abs=1e-12)


def at_release(w0):
    """Return (s, s', energy dissipated in the damper) when the contact (15) opens, in units of k, m and v0."""

    def back(_, x):
        return x[0]

    back.terminal, back.direction = True, -1.0
    return solve_ivp(
        lambda _, x: [x[1], -x[0] * (1.0 + w0 * x[1]), w0 * x[0] * x[1] ** 2],
        (0.0, 1e3),
        [0.0, 1.0, 0.0],
        "DOP853",
        rtol=1e-11,
        atol=1e-13,
        events=back,
    ).y_events[0][0]


def rebound(w0):
    """Return the restitution of a ball that meets a floor at the speed w0 k/c under the law (15)."""
    k, c, mass, radius = 8.07e5, 4.60e7, 3.453, 0.1
    speed = w0 * k / c
    graph, floor = Graph("impact"), ground("floor", surface=plane())
    at = {"position": (0.0, 0.0, radius + 1e-3), "velocity": (0.0, 0.0, -speed)}
    ball = rigid_body("ball", mass=mass, inertia=(0.4 * mass * radius**2,) * 3, surface=sphere(radius), **at)
    attach_contact(graph, contact("touch", floor, ball, law=Viscoelastic(k, c)), floor, ball)
    end = 1e-3 / speed + 20.0 * np.sqrt(mass / k) * (1.0 + w0)
    run = simulate(graph, end, samples=end, rtol=1e-11, progress=False)
    assert [event.kind for event in run.events] == ["contact on", "contact off"]
    return float(run["ball.twist"][-1, 5]) / speed


@pytest.mark.parametrize(("w0", "off"), [(0.1, 9.69), (1.0, 0.685), (5.0, 0.0153), (10.0, 1.84e-4)])
def test_equation_17_is_a_limit_of_fast_impacts(w0, off):
    """Equation (17) gives e = k / (c v0) = 1 / w0, which is too large by the fraction `off`; slow impacts would gain energy."""
    found = rebound(w0)
    assert found == pytest.approx((1.0 + lambertw(-np.exp(-w0 + np.log1p(w0) - 1.0)).real) / w0, rel=1e-9)
    assert restitution(1.0, w0, 1.0) == pytest.approx(found, rel=1e-9)
    assert 1.0 / w0 / found - 1.0 == pytest.approx(off, rel=0.02)
    assert (1.0 / w0 > 1.0) == (w0 < 1.0)


def test_the_compression_returns_to_zero():
    """The paper leaves energy in the spring; in fact force and compression reach zero together, at a speed below k / c."""
    for w0 in (0.5, 5.0):
        s, rate, lost = at_release(w0)
        assert abs(s) < 1e-10 and -rate < 1.0 / w0
        assert 0.5 * rate**2 + lost == pytest.approx(0.5, rel=1e-9)


def test_effective_masses_have_no_fixed_order():
    """In some poses the composite mass exceeds the projected mass, so the order in the three poses of Fig. 7 is not general."""
    arm = default_striker()
    study = study_poses(arm.chain, arm.point, arm.normal, count=80)
    shares = study.shares()
    assert shares["projection >= momentum"] == 1.0
    assert 0.1 < shares["projection > composite > momentum"] < 0.9
    masses = {kind: effective_mass(*arm.arguments, kind=kind) for kind in ("projection", "composite")}
    assert masses["composite"] > 1.5 * masses["projection"]
