"""Printed equations of Visser, Stramigioli and Heemskerk 2002 (VI02), compared with moving closest points of two spheroids.

Only the pose of a twist (`poses.exp`) is taken from the package; frames, angle, gap and twists follow from differences in
time.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from screwbond.models import attach_contact, contact, ground, rigid_body

from bondgraph import Graph, simulate
from screws import poses
from screws.surfaces import plane, sphere

SHAPES = ((0.03, 0.02), (0.025, 0.045))
"""Transverse radius and axial half length of each spheroid, m; neither is a sphere, and their charts are orthogonal."""
TWIST = np.array([0.7, -1.1, 0.6, 0.03, 0.05, -0.02])
"""Body twist T_O2_O1_O2, rad/s and m/s, with six nonzero components."""
STEP = 2e-4
GAPS = (0.004, -0.003)


def norm(a):
    """Return the length of a vector (3,), without conjugation, so that complex steps give its derivative."""
    return np.sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2])


def chart(shape, q):
    """Return the point c and its derivatives c_u, c_v of a spheroid."""
    a, b = shape
    su, cu, sv, cv = np.sin(q[0]), np.cos(q[0]), np.sin(q[1]), np.cos(q[1])
    c = np.array([a * su * cv, a * su * sv, b * cu])
    return c, np.array([a * cu * cv, a * cu * sv, -b * su]), np.array([-a * su * sv, a * su * cv, 0.0 * cv])


def axes(shape, q):
    """Return the columns x, y, z of equation (5), with z outward."""
    _, c_u, c_v = chart(shape, q)
    x, y = c_u / norm(c_u), c_v / norm(c_v)
    return np.stack([x, y, np.cross(x, y)], axis=1)


def gauss(shape, q):
    """Return H, equation (6)."""
    H = np.eye(4)
    H[:3, :3], H[:3, 3] = axes(shape, q), chart(shape, q)[0]
    return H


def forms(shape, q):
    """Return M, K, T, equations (7) to (9), from derivatives of the frame by complex steps."""
    _, c_u, c_v = chart(shape, q)
    lengths = np.array([norm(c_u), norm(c_v)])
    by_u, by_v = (axes(shape, np.asarray(q) + 1e-30j * np.eye(2)[k]).imag / 1e-30 for k in (0, 1))
    x, y, _ = axes(shape, q).T
    z_by, x_by = (np.stack([by_u[:, k], by_v[:, k]], axis=1) / lengths for k in (2, 0))
    return np.diag(lengths), np.stack([x, y]) @ z_by, y @ x_by


def nearest(H, q):
    """Return (u1, v1, u2, v2) where the line between both points is normal to both surfaces, found by Newton's method from q."""

    def residual(q):
        (c1, *t1), (c2, *t2) = chart(SHAPES[0], q[:2]), chart(SHAPES[1], q[2:])
        apart = H[:3, :3] @ c2 + H[:3, 3] - c1
        # the condition of parallel normals is regular for any gap
        z1 = np.cross(*t1)
        return np.array([t1[0] @ apart, t1[1] @ apart, (H[:3, :3] @ t2[0]) @ z1 * 1e2, (H[:3, :3] @ t2[1]) @ z1 * 1e2])

    for _ in range(20):
        slope = np.stack([residual(q + 1e-30j * e).imag / 1e-30 for e in np.eye(4)], axis=1)
        q = q - np.linalg.solve(slope, residual(q))
    assert np.abs(residual(q)).max() < 1e-15
    return q


@cache
def start(gap):
    """Return the pose H_O1_O2 with a given gap, and the coordinates of the closest points."""
    H = poses.exp(np.array([0.5, 0.9, -0.4, 0.0, 0.0, 0.0])).astype(float)
    H[:3, 3] = (0.06, 0.045, 0.03)
    grid = [np.array([u, v]) for u in np.linspace(0.1, 3.0, 40) for v in np.linspace(-np.pi, np.pi, 80)]
    one = np.array([chart(SHAPES[0], q)[0] for q in grid])
    two = np.array([H[:3, :3] @ chart(SHAPES[1], q)[0] + H[:3, 3] for q in grid])
    i, j = divmod(int(np.argmin(((one[:, None] - two) ** 2).sum(axis=2))), len(grid))
    q = nearest(H, np.concatenate([grid[i], grid[j]]))
    # a shift along the common normal leaves the closest points in place on both bodies
    H[:3, 3] += (gap - state(H, q)[1]) * axes(SHAPES[0], q[:2])[:, 2]
    return H, nearest(H, q)


def state(H, q):
    """Return alpha, d and R of the closest points, where x2 = cos(alpha) x1 - sin(alpha) y1."""
    one, two = gauss(SHAPES[0], q[:2]), H @ gauss(SHAPES[1], q[2:])
    between = np.linalg.inv(one) @ two
    return np.arctan2(-between[1, 0], between[0, 0]), between[2, 3], between


@cache
def course(gap):
    """Return poses and coordinates at times from -2 to 2 steps while body 2 moves with a constant body twist."""
    H, q = start(gap)
    found = []
    for k in (-2, -1, 0, 1, 2):
        moved = H @ poses.exp(k * STEP * TWIST).astype(float)
        found.append((moved, nearest(moved, q)))
    return found


def rate(values):
    return (values[0] - 8.0 * values[1] + 8.0 * values[3] - values[4]) / (12.0 * STEP)


def body_twist(frames):
    """Return the body twist T (6,) with hat(T) = H^-1 dH/dt, at the middle of five poses."""
    W = np.linalg.inv(frames[2]) @ rate(frames)
    return np.array([W[2, 1], W[0, 2], W[1, 0], *W[:3, 3]])


def measured(gap):
    """Return q1, q2, alpha, d, their rates, the relative twist in C2, and the frames over time."""
    path = course(gap)
    alphas, gaps, _ = zip(*(state(H, q) for H, q in path), strict=True)
    q = [q for _, q in path]
    one = [gauss(SHAPES[0], at[:2]) for at in q]
    two = [gauss(SHAPES[1], at[2:]) for at in q]
    T = poses.Ad(np.linalg.inv(two[2])).astype(float) @ TWIST
    return {
        "q": q[2],
        "alpha": alphas[2],
        "d": gaps[2],
        "rates": (rate(q)[:2], rate(q)[2:], rate(alphas), rate(gaps)),
        "T": T,
        "C1": one,
        "C2": two,
        "between": [np.linalg.inv(a) @ H @ b for a, (H, _), b in zip(one, path, two, strict=True)],
        "forms": (forms(SHAPES[0], q[2][:2]), forms(SHAPES[1], q[2][2:])),
    }


def off(found, wanted):
    return np.abs(np.asarray(found) - wanted).max() / np.abs(wanted).max()


SMALL, LARGE = 1e-7, 1e-2
"""Maximum error of finite differences in time, and minimum error that a wrong sign causes."""


@pytest.mark.parametrize("gap", GAPS)
def test_equation_14_is_a_reflection(gap):
    """The frames at the closest points have z2 = -z1, and R has the last entry -cos; R as printed is not even orthogonal."""
    alpha, _, between = state(*start(gap))
    c, s = np.cos(alpha), np.sin(alpha)
    assert np.abs(between[:3, 2] - (0.0, 0.0, -1.0)).max() < 1e-12
    assert np.abs(between[:2, :2] - [[c, -s], [-s, -c]]).max() < 1e-12
    printed = np.array([[c, -s], [-s, c]])
    assert np.abs(between[:2, :2] - printed).max() > LARGE
    assert np.abs(printed.T @ printed - np.eye(2)).max() > LARGE
    assert abs(np.linalg.det(between[:3, :3]) - 1.0) < 1e-12


@pytest.mark.parametrize("gap", GAPS)
def test_sense_of_alpha(gap):
    """x1 turns to x2 by alpha about z2, which is -alpha about z1; (20) is satisfied only by the sense about z2."""
    m = measured(gap)
    one, two = axes(SHAPES[0], m["q"][:2]), start(gap)[0][:3, :3] @ axes(SHAPES[1], m["q"][2:])
    x1, x2 = one[:, 0], two[:, 0]
    for normal, sense in ((two[:, 2], 1.0), (one[:, 2], -1.0)):
        angle = np.arctan2(normal @ np.cross(x1, x2), x1 @ x2)
        assert abs(np.exp(1j * angle) - np.exp(1j * sense * m["alpha"])) < 1e-12
    (M1, _, T1), (M2, _, T2) = m["forms"]
    r1, r2, alphadot, _ = m["rates"]
    right = m["T"][2] + T1 @ M1 @ r1 + T2 @ M2 @ r2
    assert off(right, alphadot) < SMALL
    assert off(right, -alphadot) > LARGE


@pytest.mark.parametrize("gap", GAPS)
def test_equation_15_has_rates_and_a_sign(gap):
    """The body twist of C2 relative to C1 is (0, 0, alpha', 0, 0, -d'), whose entries are rates, with a minus sign at d'."""
    m = measured(gap)
    found = body_twist(m["between"])
    alphadot, ddot = m["rates"][2:]
    assert np.abs(found - (0, 0, alphadot, 0, 0, -ddot)).max() < SMALL
    assert np.abs(found - (0, 0, alphadot, 0, 0, ddot)).max() > 1e-3
    assert np.abs(found - (0, 0, m["alpha"], 0, 0, m["d"])).max() > LARGE


@pytest.mark.parametrize("gap", GAPS)
def test_equation_17_needs_the_pose_between_the_frames(gap):
    """T = -T_C2 + T_C2_C1 + Ad(H_C1^C2) T_C1 holds, but not with Ad of a pose relative to the world, as printed."""
    m = measured(gap)
    first, second = body_twist(m["C1"]), body_twist(m["C2"])
    across = body_twist(m["between"])
    right = -second + across + poses.Ad(np.linalg.inv(m["between"][2])).astype(float) @ first
    assert np.abs(right - m["T"]).max() < SMALL
    world = poses.exp(np.array([0.3, -0.2, 0.9, 0.1, 0.2, -0.1])).astype(float) @ start(gap)[0] @ m["C2"][2]
    for H in (world, np.linalg.inv(world)):
        assert np.abs(-second + across + poses.Ad(H).astype(float) @ first - m["T"]).max() > LARGE


@pytest.mark.parametrize("gap", GAPS)
def test_equations_10_and_11(gap):
    m = measured(gap)
    for frames, (M, K, T), qdot in zip((m["C1"], m["C2"]), m["forms"], m["rates"], strict=False):
        wx, wy, wz, *v = body_twist(frames)
        assert np.abs(np.array([wy, -wx]) - K @ M @ qdot).max() < SMALL
        assert abs(wz - T @ M @ qdot) < SMALL
        assert np.abs(v - np.array([*(M @ qdot), 0.0])).max() < SMALL


def terms(m, T):
    """Return R, A, B, w and v, equations (18) and (19), for a twist T."""
    c, s = np.cos(m["alpha"]), np.sin(m["alpha"])
    R = np.array([[c, -s], [-s, -c]])
    A = R @ m["forms"][0][1] @ R
    return R, A, m["d"] * A + np.eye(2), np.array([-T[1], T[0]]), T[3:5]


@pytest.mark.parametrize("gap", GAPS)
def test_equation_18_takes_the_twist_in_C2(gap):
    """(18) is correct as printed for T_O2 expressed in C2, but not for the body twist of O2 that the paper names."""
    m = measured(gap)
    (M1, _, _), (_, K2, _) = m["forms"]

    def first(T):
        R, A, B, w, v = terms(m, T)
        return np.linalg.inv(M1) @ R @ np.linalg.solve(K2 @ B + A, w + K2 @ v)

    assert off(first(m["T"]), m["rates"][0]) < SMALL
    assert off(first(TWIST), m["rates"][0]) > LARGE


@pytest.mark.parametrize("gap", GAPS)
def test_equation_19_has_a_minus(gap):
    """The term in (19) is - A v, not + A v as printed."""
    m = measured(gap)
    (M2, K2, _), (_, A, B, w, v) = m["forms"][1], terms(m, m["T"])
    right, printed = (np.linalg.inv(M2) @ np.linalg.solve(B @ K2 + A, B @ w + sign * A @ v) for sign in (-1.0, 1.0))
    assert off(right, m["rates"][1]) < SMALL
    assert off(printed, m["rates"][1]) > LARGE


@pytest.mark.parametrize("gap", GAPS)
def test_equation_21_has_a_minus(gap):
    """d' = -v_z, since z2 points towards body 1."""
    m = measured(gap)
    assert abs(m["rates"][3] + m["T"][5]) < SMALL * abs(m["T"][5])
    assert abs(m["rates"][3] - m["T"][5]) > LARGE * abs(m["T"][5])


def test_equation_3_of_the_world_twist():
    """hat(T) = dH/dt H^-1 is a twist; the printed dH/dt H is not."""
    frames = [H for H, _ in course(GAPS[0])]
    H, slope = frames[2], rate(frames)
    hat = slope @ np.linalg.inv(H)
    assert np.abs(hat[:3, :3] + hat[:3, :3].T).max() < SMALL
    T = np.array([hat[2, 1], hat[0, 2], hat[1, 0], *hat[:3, 3]])
    assert np.abs(T - poses.Ad(H).astype(float) @ body_twist(frames)).max() < SMALL
    printed = slope @ H
    assert np.abs(printed[:3, :3] + printed[:3, :3].T).max() > LARGE


def test_equation_4_needs_the_tilde():
    """Ad expresses a twist in another frame, hat(T_a) = H hat(T_b) H^-1, with the block tilde(p) R; the printed p R is not a
    matrix."""
    H, T = start(GAPS[0])[0], TWIST
    hat = np.zeros((4, 4))
    hat[:3, :3] = [[0, -T[2], T[1]], [T[2], 0, -T[0]], [-T[1], T[0], 0]]
    hat[:3, 3] = T[3:]
    moved = H @ hat @ np.linalg.inv(H)
    assert np.abs(poses.Ad(H).astype(float) @ T - [moved[2, 1], moved[0, 2], moved[1, 0], *moved[:3, 3]]).max() < 1e-14
    assert (H[:3, 3] @ H[:3, :3]).shape == (3,)


def test_contact_is_on_below_zero():
    """With "greater than zero", as printed, the contact would act, and pull, at the height from which the ball falls."""
    height, stiffness = 1e-3, 1e4
    floor = ground("floor", surface=plane())
    ball = rigid_body(
        "ball", mass=0.1, inertia=(1e-5,) * 3, surface=sphere(0.02), position=(0, 0, 0.02 + height), gravity=(0, 0, -9.81)
    )
    touch = contact("touch", floor, ball, constrained="rolling and sliding", normal_stiffness=stiffness)
    graph = Graph("drop")
    attach_contact(graph, touch, floor, ball)
    run = simulate(graph, 0.03, samples=2e-4)
    on, gap, force = run.events[0], run["touch.gap"], run["touch.wrench"][:, 5]
    assert on.kind == "contact on" and on.time == pytest.approx(np.sqrt(2 * height / 9.81), rel=1e-6)
    assert np.any(gap > 1e-5) and np.any(gap < -1e-5)
    assert np.all(force[gap > 0.0] == 0.0)
    pressed = gap < -1e-5
    assert np.allclose(force[pressed], -stiffness * gap[pressed], rtol=1e-5)
    assert np.ptp(run["ball.pose"][run.t < on.time, 6]) > 0.9 * height
