"""Closest points from any pose agree with closed forms and brute force."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from screws import poses, rotations, surfaces
from screws.contact import ContactCoordinates, closest_points, relative_pose
from screws.errors import GeometryError
from tests.inner.screws import closest, sphere_points

EGG = surfaces.egg(0.035, 0.084, 0.0104)
DIRECTIONS = sphere_points(2000)


def at(p, w=(0.0, 0.0, 0.0)):
    return poses.pose(rotations.exp(np.array(w)), np.array(p))


def rebuilt(one, two, c):
    return relative_pose(one.geometry(c.q1, c.chart1), two.geometry(c.q2, c.chart2), c.alpha, c.d)


def check(one, two, H, d=None, tolerance=1e-13):
    c = closest_points(one, two, H)
    size = min(one.size, two.size)
    assert np.allclose(rebuilt(one, two, c), H, rtol=0, atol=tolerance * max(1.0, np.max(np.abs(H)) / size))
    if d is not None:
        assert abs(c.d - d) <= 1e-14 * max(size, np.max(np.abs(H)))
    return c


@pytest.mark.parametrize("d", [1.0, 1e-6, 0.0, -1e-6, -0.3, -0.8])
def test_spheres_and_plane(d):
    rng = np.random.default_rng(1)
    n = rng.normal(size=3)
    n /= np.linalg.norm(n)
    w = rng.normal(size=3)
    check(surfaces.sphere(1.0), surfaces.sphere(0.5), at((1.5 + d) * n, w), d)
    check(surfaces.plane(), surfaces.sphere(0.5), at((40.0, -7.0, 0.5 + d), w), d)
    turned = at((3.0, 2.0, -1.0), w)
    check(surfaces.sphere(0.5), surfaces.plane(), poses.inverse(turned @ at((40.0, -7.0, 0.5 + d))) @ turned, d)
    check(surfaces.cylinder(0.7), surfaces.sphere(0.5), at(((1.2 + d) * 0.6, (1.2 + d) * 0.8, 33.0), w), d)


def test_skew_cylinders():
    for lean, d in ((1.5, 0.3), (0.4, -0.2), (0.05, 0.1)):
        H = at((1.2 + d, 3.0, -50.0), (lean, 0.0, 0.0)) @ at((0.0, 0.0, 4.0))
        check(surfaces.cylinder(0.7), surfaces.cylinder(0.5), H, d, tolerance=1e-11)


def test_ball_in_the_hole_of_a_torus_and_on_its_side():
    torus, ball = surfaces.torus(2.0, 0.5), surfaces.sphere(1.0)
    check(torus, ball, at((0.3, 0.0, 0.0)), 0.2)
    check(torus, ball, at((0.6, 0.0, 0.0)), -0.1)
    check(torus, ball, at((0.0, 2.0, 1.6)), 0.1)
    check(torus, ball, at((0.0, -3.7, 0.0)), 0.2)


@pytest.mark.parametrize("seed", range(10))
def test_ellipsoids_against_support_functions(seed):
    """The gap of convex bodies is the largest separation over all directions."""
    rng = np.random.default_rng(seed)
    ratio = 10.0 ** rng.uniform(-1.5, 1.5)
    A, B = 10.0 ** rng.uniform(-0.4, 0.4, 3), ratio * 10.0 ** rng.uniform(-0.4, 0.4, 3)
    R, way = rotations.exp(2.0 * rng.normal(size=3)), rng.normal(size=3)
    way /= np.linalg.norm(way)

    def separation(n, p):
        n = n / np.linalg.norm(n, axis=-1, keepdims=True)
        return n @ p - np.linalg.norm(n * A, axis=-1) - np.linalg.norm((n @ R) * B, axis=-1)

    target = (1.0 if seed % 2 else -0.2) * 10.0 ** rng.uniform(-3.0, 0.0) * min(A.min(), B.min())
    low, high = 0.0, 3.0 * (A.max() + B.max())
    for _ in range(50):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if separation(DIRECTIONS, middle * way).max() > target else (middle, high)
    p = high * way
    best = -np.inf
    for i in np.argsort(-separation(DIRECTIONS, p))[:3]:
        found = minimize(lambda n, p=p: -separation(n, p), DIRECTIONS[i], method="BFGS", options={"gtol": 1e-11})
        best = max(best, -found.fun)
    c = check(surfaces.ellipsoid(A), surfaces.ellipsoid(B), poses.pose(R, p))
    assert abs(c.d - best) < 1e-9 * max(A.max(), B.max())


def body_of_each_kind():
    pebble = surfaces.closed_surface(lambda n: (0.03 * n[0] + 0.008 * n[2], 0.02 * n[1], 0.025 * n[2]))
    pear = surfaces.revolution(lambda w: 0.03 + 0.006 * w, lambda w: 0.03 * w + 0.009 * w * w)
    dish = surfaces.parametric(
        lambda u, v: (u + 0.4 * v, v, -8.0 * (u + 0.4 * v) ** 2 - 12.0 * v * v),
        (-0.05, 0.05),
        (-0.05, 0.05),
        inside=(0.0, 0.0, -1.0),
    )
    return [EGG, surfaces.ellipsoid((0.03, 0.02, 0.025)), pebble, pear, dish]


BODIES = body_of_each_kind()
# Every kind with itself, with the next one, and with a plane: each is body 1 and body 2 of a pair.
PAIRS = [pair for k, one in enumerate(BODIES) for pair in ((one, one), (one, BODIES[k - 1]), (one, surfaces.plane()))]


@pytest.mark.parametrize(("one", "two"), PAIRS, ids=lambda s: s.name)
def test_known_contact_coordinates_are_found(one, two):
    rng = np.random.default_rng(3)
    for d in (0.01, -0.001):
        at_pole = bool(one.closed and d < 0)
        q1 = rng.uniform(-0.01, 0.01, 2) if not one.closed else np.array([rng.uniform(0.4, 2.7), rng.uniform(-3, 3)])
        q2 = rng.uniform(-0.01, 0.01, 2) if not two.closed else np.array([rng.uniform(0.4, 2.7), rng.uniform(-3, 3)])
        if at_pole:
            # Exactly the pole of chart 0, seen from chart 1.
            q1 = np.array([np.pi / 2, np.pi / 2])
        chart = 1.0 if one.closed else 0.0
        alpha = rng.uniform(-3.0, 3.0)
        H = relative_pose(one.geometry(q1, chart), two.geometry(q2, 0.0), alpha, d)
        c = check(one, two, H)
        assert abs(c.d - d) < 1e-14
        assert np.allclose(one.point(c.q1, c.chart1), one.point(q1, chart), atol=1e-13)
        swapped = closest_points(two, one, poses.inverse(H))
        assert abs(swapped.d - d) < 1e-14
        if at_pole:
            assert c.chart1 == 1.0


def test_guess_is_followed_and_a_bad_guess_does_no_harm():
    H = at((0.01, 0.05, 0.02), (1.0, 0.4, -0.3))
    c = closest_points(EGG, EGG, H)
    near = closest_points(EGG, EGG, H @ at((1e-4, 0.0, 0.0), (0.01, 0.0, 0.0)), guess=c)
    fresh = closest_points(EGG, EGG, H @ at((1e-4, 0.0, 0.0), (0.01, 0.0, 0.0)))
    assert abs(near.d - fresh.d) < 1e-16 and np.allclose(near.q1, fresh.q1, atol=1e-13)
    far_side = ContactCoordinates(np.array([np.pi - c.q1[0], c.q1[1] + np.pi]), c.chart1, c.q2, c.chart2, 0.0, 0.0)
    assert abs(closest_points(EGG, EGG, H, guess=far_side).d - c.d) < 1e-15


def test_large_distances_and_unlike_sizes():
    c = check(surfaces.sphere(1e-3), surfaces.ellipsoid((5.0, 4.0, 3.0)), at((5.0 + 1e-3 + 1e-5, 0.0, 0.0)))
    assert abs(c.d - 1e-5) < 1e-14
    c = check(EGG, EGG, at((100.0, 20.0, -3.0), (1.0, 2.0, 0.5)))
    assert c.d > 100.0


@pytest.mark.parametrize(
    ("code", "one", "two", "H"),
    [
        ("G122", surfaces.plane(), surfaces.plane(), at((0.0, 0.0, 0.1), (np.pi, 0.0, 0.0))),
        ("G122", surfaces.plane(), surfaces.cylinder(0.1), at((0.0, 0.0, 0.2), (np.pi / 2, 0.0, 0.0))),
        ("G122", surfaces.cylinder(0.1), surfaces.cylinder(0.1), at((0.3, 0.0, 0.0))),
        ("G122", surfaces.torus(1.0, 0.2), surfaces.plane(), at((0.0, 0.0, 0.3), (np.pi, 0.0, 0.0))),
        ("G123", surfaces.sphere(1.0), surfaces.sphere(1.0), at((0.0, 0.0, 0.0))),
        ("G123", surfaces.plane(), surfaces.sphere(0.5), at((0.0, 0.0, -2.0))),
        ("G123", surfaces.sphere(1.0), surfaces.sphere(0.2), at((0.3, 0.1, 0.0))),
        ("G123", EGG, EGG, at((0.001, 0.0, 0.001))),
        ("G121", surfaces.plane(), surfaces.cylinder(0.1), at((0.0, 0.0, 0.2), (0.3, 0.0, 0.0))),
        (
            "G121",
            surfaces.parametric(lambda u, v: (u, v, 0.0), (0.0, 1.0), (0.0, 1.0)),
            surfaces.sphere(0.1),
            at((3.0, 0.0, 0.2)),
        ),
        ("G124", EGG, EGG, np.diag([1.0, 1.0, -1.0, 1.0])),
        ("G124", EGG, EGG, np.full((4, 4), np.nan)),
        ("G124", EGG, EGG, np.eye(3)),
    ],
)
def test_refusals(code, one, two, H):
    with pytest.raises(GeometryError) as error:
        closest_points(one, two, H)
    assert error.value.code == code, str(error.value)
    assert error.value.cure


@pytest.mark.parametrize("pair", ["ellipsoids", "egg and plane", "sphere and cylinder", "egg and egg"])
def test_vectorised_closest_points_equal_the_search(pair):
    one, two = {
        "ellipsoids": (surfaces.ellipsoid((0.1, 0.03, 0.02)), surfaces.ellipsoid((0.02, 0.05, 0.3))),
        "egg and plane": (surfaces.plane(), EGG),
        "sphere and cylinder": (surfaces.sphere(0.02), surfaces.cylinder(0.2)),
        "egg and egg": (EGG, EGG),
    }[pair]
    rng, found = np.random.default_rng(5), 0
    for _ in range(6):
        where = rng.uniform(0.2, 0.5, 3) * (np.sign(rng.normal(size=3)) if pair != "egg and plane" else 1.0)
        H = at(where, rng.normal(size=3))
        first = closest._between_convex(closest._bodies(one, two, H))
        places = closest.all_closest_points(one, two, H)
        if first is None:
            continue
        found += 1
        assert len(places) == 1 and abs(places[0].d - first.gap) <= 1e-13
        assert np.allclose(one.point(places[0].q1, places[0].chart1), first.p1, rtol=0, atol=1e-9)
    assert found >= 3
    assert closest.all_closest_points(surfaces.plane(), surfaces.plane(), H) == []
