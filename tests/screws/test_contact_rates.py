"""Contact rates agree with finite differences of closest points, found in R^3 without charts.

Eight unknowns (both points, the distance s along the normal and the ratio m of the normals) solve phi1 = 0, phi2 = 0, p2 - p1
= s grad phi1, grad phi2 = -m grad phi1.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import sympy

import screws
from screws import poses, surfaces
from screws.contact import contact_rates, relative_curvature, relative_pose
from screws.surfaces import nearest_coordinates
from tests.inner.screws import Geometry, frames

X = sympy.symbols("x y z", real=True)
x, y, z = X
F, S, ZB = 0.035, 0.084, 0.01
SHEAR = np.array([[0.03, 0.0, 0.008], [-0.004, 0.02, 0.0], [0.0, 0.0, 0.025]])
UNSHEARED = sympy.Matrix(SHEAR).inv() * sympy.Matrix(X)
PEAR_W = (sympy.sqrt(1 + 1.2 * z / 0.03) - 1) / 0.6

BODIES = {
    "sphere": (surfaces.sphere(0.02), x**2 + y**2 + z**2 - 0.02**2),
    "ellipsoid": (surfaces.ellipsoid((0.03, 0.02, 0.025)), (x / 0.03) ** 2 + (y / 0.02) ** 2 + (z / 0.025) ** 2 - 1),
    "egg": (
        surfaces.egg(F, S, ZB),
        sympy.sqrt(x**2 + y**2 + (z - ZB + F) ** 2) + 2 * sympy.sqrt(x**2 + y**2 + (z - ZB) ** 2) - S,
    ),
    "pear": (
        surfaces.revolution(lambda w: 0.03 + 0.006 * w, lambda w: 0.03 * (w + 0.3 * w * w)),
        x**2 + y**2 - (1 - PEAR_W**2) * (0.03 + 0.006 * PEAR_W) ** 2,
    ),
    "sheared": (
        surfaces.closed_surface(lambda n: tuple(sum(SHEAR[i, k] * n[k] for k in range(3)) for i in range(3))),
        UNSHEARED.dot(UNSHEARED) - 1,
    ),
    "plane": (surfaces.plane(), z),
    "cylinder": (surfaces.cylinder(0.02), x**2 + y**2 - 0.02**2),
    "torus": (surfaces.torus(0.05, 0.02), (sympy.sqrt(x**2 + y**2) - 0.05) ** 2 + z**2 - 0.02**2),
    # A chart that is neither orthogonal nor aligned with the principal directions.
    "oblique": (
        surfaces.parametric(
            lambda u, v: (u + 0.4 * v, v, -8.0 * (u + 0.4 * v) ** 2 - 12.0 * v * v + 5.0 * (u + 0.4 * v) * v),
            (-0.03, 0.03),
            (-0.03, 0.03),
            inside=(0.0, 0.0, -1.0),
        ),
        z + 8 * x**2 + 12 * y**2 - 5 * x * y,
    ),
    "saddle": (
        surfaces.parametric(
            lambda u, v: (u, v + 0.3 * u, 4.0 * u * u - 6.0 * (v + 0.3 * u) ** 2),
            (-0.03, 0.03),
            (-0.03, 0.03),
            inside=(0.0, 0.0, -1.0),
        ),
        z - 4 * x**2 + 6 * y**2,
    ),
}

PAIRS = [
    ("egg", "egg"),
    ("egg", "ellipsoid"),
    ("sphere", "egg"),
    ("plane", "egg"),
    ("ellipsoid", "plane"),
    ("cylinder", "sheared"),
    ("cylinder", "cylinder"),
    ("torus", "ellipsoid"),
    ("pear", "torus"),
    ("oblique", "pear"),
    ("saddle", "sheared"),
    ("oblique", "oblique"),
]


@cache
def implicit(name):
    phi = BODIES[name][1]
    gradient = [sympy.diff(phi, a) for a in X]
    hessian = [[sympy.diff(g, a) for a in X] for g in gradient]
    functions = sympy.lambdify(X, [phi, gradient, hessian], "numpy")
    return lambda p: tuple(np.array(part, dtype=float) for part in functions(*p))


def independent(name1, name2, H, p1, p2):
    """Return points (object 1, object 2) with opposite normals on one line, found from nearby points."""
    R, o = H[:3, :3], H[:3, 3]
    one, two = implicit(name1), implicit(name2)
    g1, g2 = one(p1)[1], two(p2)[1]
    delta = R @ p2 + o - p1
    unknown = np.concatenate([p1, p2, [delta @ g1 / (g1 @ g1), np.linalg.norm(g2) / np.linalg.norm(g1)]])
    for _ in range(12):
        a, b, s, m = unknown[:3], unknown[3:6], unknown[6], unknown[7]
        (f1, g1, h1), (f2, g2, h2) = one(a), two(b)
        residual = np.concatenate([[f1, f2], R @ b + o - a - s * g1, R @ g2 + m * g1])
        J = np.zeros((8, 8))
        J[0, :3], J[1, 3:6] = g1, g2
        J[2:5, :3], J[2:5, 3:6], J[2:5, 6] = -np.eye(3) - s * h1, R, -g1
        J[5:, :3], J[5:, 3:6], J[5:, 7] = m * h1, R @ h2, g1
        unknown = unknown - np.linalg.solve(J, residual)
    assert unknown[7] > 0.0
    return unknown[:3], unknown[3:6]


def coordinates(surface, point, chart, near):
    """Return coordinates of a surface point in a given chart; the periodic one is within pi of its value in `near`."""
    q, found = nearest_coordinates(surface, point)
    if surface.closed and found != chart:
        q = np.array(frames.coordinates(frames.point(q, found), chart))
    if surface.closed:
        q[1] = near[1] + (q[1] - near[1] + np.pi) % (2.0 * np.pi) - np.pi
    elif surface.name in ("cylinder", "torus"):
        q[0] = near[0] + (q[0] - near[0] + np.pi) % (2.0 * np.pi) - np.pi
    return q


def contact_coordinates(name1, name2, chart1, chart2, H, at):
    """Return (q1, q2, alpha, d) of a pose, with angles near the angles of `at`."""
    surface1, surface2 = BODIES[name1][0], BODIES[name2][0]
    p1, p2 = independent(name1, name2, H, surface1.point(at[:2], chart1), surface2.point(at[2:4], chart2))
    q1, q2 = coordinates(surface1, p1, chart1, at[:2]), coordinates(surface2, p2, chart2, at[2:4])
    F1, F2 = surface1.geometry(q1, chart1).H, H @ surface2.geometry(q2, chart2).H
    # About z2, from x1 to x2: x1 has the components (x1.x2, x1.y2) in frame 2, so alpha is minus its angle there.
    alpha = -np.arctan2(F1[:3, 0] @ F2[:3, 1], F1[:3, 0] @ F2[:3, 0])
    alpha = at[4] + (alpha - at[4] + np.pi) % (2.0 * np.pi) - np.pi
    gap = F1[:3, 2] @ (F2[:3, 3] - F1[:3, 3])
    return np.concatenate([q1, q2, [alpha, gap]])


def spot(surface, rng):
    if surface.closed:
        return np.array([rng.uniform(0.35, 2.75), rng.uniform(-3.0, 3.0)]), float(rng.integers(2))
    if surface.name == "torus":
        # Its outer half, where contact with a convex body is possible on both sides of the surface.
        return np.array([rng.uniform(0.3, 2.8), rng.uniform(-3.0, 3.0)]), 0.0
    return rng.uniform(-0.015, 0.015, 2), 0.0


@pytest.mark.parametrize(("name1", "name2"), PAIRS, ids=lambda name: name)
@pytest.mark.parametrize("sign", [1.0, -1.0], ids=["apart", "overlapping"])
def test_rates_against_independent_closest_points(name1, name2, sign):
    rng = np.random.default_rng([PAIRS.index((name1, name2)), int(sign > 0)])
    surface1, surface2 = BODIES[name1][0], BODIES[name2][0]
    done = 0
    while done < 4:
        (q1, chart1), (q2, chart2) = spot(surface1, rng), spot(surface2, rng)
        alpha, d = rng.uniform(-3.0, 3.0), sign * rng.uniform(0.0005, 0.006)
        g1, g2 = surface1.geometry(q1, chart1), surface2.geometry(q2, chart2)
        *_, (s11, s12, s21, s22) = relative_curvature(g1, g2, alpha, d)
        if abs(s11 * s22 - s12 * s21) < 60.0:
            # Close to the curvature limit, where finite differences lose their digits.
            continue
        done += 1
        H, T_body = relative_pose(g1, g2, alpha, d), rng.normal(size=6) * np.array([1.0] * 3 + [0.05] * 3)
        T = poses.Ad(poses.inverse(g2.H)) @ T_body
        assert np.hypot(T[3], T[4]) > 1e-3
        rates = np.concatenate([np.ravel(part) for part in contact_rates(g1, g2, alpha, d, T)])
        at = np.concatenate([q1, q2, [alpha, d]])
        assert np.allclose(contact_coordinates(name1, name2, chart1, chart2, H, at), at, rtol=0, atol=1e-11)
        scale = max(np.linalg.norm(rates[:5]), 1.0)

        def moved(h, H=H, T_body=T_body, at=at, rates=rates, chart1=chart1, chart2=chart2):
            return contact_coordinates(name1, name2, chart1, chart2, H @ poses.exp(h * T_body), at + h * rates)

        h = 4e-3 / scale
        central = [(moved(k * h) - moved(-k * h)) / (2 * k * h) for k in (1, 2, 3)]
        differences = 1.5 * central[0] - 0.6 * central[1] + 0.1 * central[2]
        for part in (slice(0, 2), slice(2, 4), slice(4, 5), slice(5, 6)):
            error = np.linalg.norm(rates[part] - differences[part])
            assert error < 1e-7 * max(np.linalg.norm(rates[part]), 1e-3 if part.start == 5 else 0.1), (part, error)


def test_equations_as_printed_where_they_are_right():
    """Rates agree with (18), (20), (21) and the corrected (19), evaluated with matrices."""
    rng = np.random.default_rng(11)
    g1 = BODIES["oblique"][0].geometry((0.01, -0.004))
    g2 = BODIES["egg"][0].geometry((1.1, 0.3), 1.0)
    alpha, d, T = 0.7, -0.002, rng.normal(size=6)
    R = np.array([[np.cos(alpha), -np.sin(alpha)], [-np.sin(alpha), -np.cos(alpha)]])
    A = R @ g1.K @ R
    B = d * A + np.eye(2)
    w, v = np.array([-T[1], T[0]]), T[3:5]
    q1 = np.linalg.inv(g1.M) @ R @ np.linalg.inv(g2.K @ B + A) @ (w + g2.K @ v)
    q2 = np.linalg.inv(g2.M) @ np.linalg.inv(B @ g2.K + A) @ (B @ w - A @ v)
    r1, r2, alphadot, ddot = contact_rates(g1, g2, alpha, d, T)
    assert np.allclose(r1, q1, rtol=1e-12) and np.allclose(r2, q2, rtol=1e-12)
    assert np.isclose(alphadot, T[2] + g1.T @ g1.M @ q1 + g2.T @ g2.M @ q2, rtol=1e-12) and ddot == -T[5]
    given = relative_curvature(g1, g2, alpha, d)
    for entries, matrix in zip(given, (A, B, g2.K @ B + A), strict=True):
        assert np.allclose(np.reshape(entries, (2, 2)), matrix, rtol=1e-12, atol=1e-12)


def test_chart_change_on_either_body_leaves_the_pose_and_adds_its_turn():
    one, two = BODIES["egg"][0], BODIES["ellipsoid"][0]
    q1, q2, alpha, d = np.array([0.4, 1.0]), np.array([2.6, -0.5]), 0.9, -0.001
    H = relative_pose(one.geometry(q1, 0.0), two.geometry(q2, 1.0), alpha, d)
    n1, turn1 = one.change_chart(q1, 0.0)
    n2, turn2 = two.change_chart(q2, 1.0)
    new = relative_pose(one.geometry(n1, 1.0), two.geometry(n2, 0.0), alpha + turn1 + turn2, d)
    assert np.allclose(new, H, atol=1e-14)


def test_sympy_passes_through_the_rates():
    symbols = sympy.symbols("u1 v1 u2 v2 alpha d w:3 f:3", real=True)
    numbers = dict(zip(symbols, (0.9, 0.2, 1.3, -0.4, 0.6, 0.001, 0.3, -0.2, 0.5, 0.1, -0.3, 0.2), strict=True))
    one, two = surfaces.ellipsoid((3.0, 2.0, 2.5)), surfaces.sphere(1.5)

    def rates(q):
        g1, g2 = one.geometry(q[:2]), two.geometry(q[2:4])
        return np.concatenate([np.ravel(part) for part in contact_rates(g1, g2, q[4], q[5], q[6:])])

    symbolic = [float(sympy.sympify(e).subs(numbers)) for e in rates(symbols)]
    assert np.allclose(symbolic, rates(list(numbers.values())), rtol=1e-12)


def test_public_names():
    assert isinstance(BODIES["egg"][0].geometry((1.0, 0.0)), Geometry)
    assert len(set(screws.__all__)) == len(screws.__all__)
    for name in screws.__all__:
        assert getattr(screws, name).__doc__, name
