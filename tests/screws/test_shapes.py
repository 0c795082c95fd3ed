"""Nearest points of balls, capsules, boxes, half-spaces and hulls agree with optimisation and the library Coal."""

import importlib.util
import itertools

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.spatial.transform import Rotation

from screws.errors import GeometryError
from screws.shapes import Ball, Box, Capsule, HalfSpace, Hull, arrangement, candidates, plane_hull
from tests.inner.screws import overlapping_boxes

COAL = importlib.util.find_spec("coal") is not None
needs_coal = pytest.mark.skipif(not COAL, reason="coal is not installed")

SOLIDS = {"ball": Ball(0.3), "capsule": Capsule(0.2, 0.9), "box": Box(0.5, 0.7, 1.1), "half-space": HalfSpace()}
CUBE = np.array(list(itertools.product((-1.0, 1.0), repeat=3)))
PAIRS = [pair for pair in itertools.combinations_with_replacement(SOLIDS, 2) if pair != ("half-space", "half-space")]


def search(a, b, R, p, reach=10.0):
    return candidates(arrangement([(0, a), (1, b)]), np.asarray(R, float), np.asarray(p, float), reach)


def poses(rng, spread):
    return Rotation.random(2, random_state=rng).as_matrix(), np.array([np.zeros(3), spread * rng.standard_normal(3)])


def core_point(solid, u):
    return solid.half * u


def judged_distance(a, b, R, p):
    """Return the distance between two solids, found by minimising over both cores; it is positive only if they are separate."""
    if isinstance(b, HalfSpace):
        n = R[1][:, 2]
        core = [n @ (p[0] + R[0] @ (a.half * u) - p[1]) for u in CUBE]
        return min(core) - a.radius

    def square(x):
        d = (p[0] + R[0] @ (a.half * x[:3])) - (p[1] + R[1] @ (b.half * x[3:]))
        return d @ d

    def slope(x):
        d = (p[0] + R[0] @ (a.half * x[:3])) - (p[1] + R[1] @ (b.half * x[3:]))
        return 2.0 * np.concatenate([a.half * (R[0].T @ d), -b.half * (R[1].T @ d)])

    best = minimize(
        square,
        np.zeros(6),
        jac=slope,
        bounds=[(-1, 1)] * 6,
        method="L-BFGS-B",
        options={"ftol": 1e-16, "gtol": 1e-12, "maxiter": 2000},
    )
    return np.sqrt(best.fun) - a.radius - b.radius


def held_by(solid, R, p, points, tolerance):
    local = (points - p) @ R
    if isinstance(solid, HalfSpace):
        return np.all(np.abs(local[:, 2]) <= tolerance)
    out = local - np.clip(local, -solid.half, solid.half)
    distance = np.linalg.norm(out, axis=1)
    if solid.radius:
        return np.all(np.abs(distance - solid.radius) <= tolerance)
    return np.all(np.abs(np.max(np.abs(local) - solid.half, axis=1)) <= tolerance)


@pytest.mark.parametrize("names", PAIRS, ids="-".join)
def test_least_gap_is_the_distance(names):
    """The tolerance is the square root of the minimiser's."""
    rng = np.random.default_rng(3)
    a, b = (SOLIDS[name] for name in names)
    apart = 0
    for _ in range(30):
        R, p = poses(rng, 1.2)
        expected = judged_distance(a, b, R, p)
        found = search(a, b, R, p)
        if expected > 1e-3:
            apart += 1
            assert found.gap.min() == pytest.approx(expected, abs=2e-6)
            least = np.argmin(found.gap)
            assert np.linalg.norm(found.p2[least] - found.p1[least]) == pytest.approx(expected, abs=2e-6)
        elif expected < -1e-3 or (a.radius + b.radius == 0 and expected < 1e-9):
            assert len(found) and found.gap.min() < 0.0
    assert apart > 5


@pytest.mark.parametrize("names", PAIRS, ids="-".join)
def test_points_lie_on_the_surfaces(names):
    rng = np.random.default_rng(4)
    a, b = (SOLIDS[name] for name in names)
    for _ in range(20):
        R, p = poses(rng, 1.0)
        for _ in range(8):  # move along the normal until they touch within 0.01
            found = search(a, b, R, p)
            k = np.argmin(found.gap)
            p[1] = p[1] - found.normal[k] * (found.gap[k] - rng.uniform(-0.004, 0.01))
        found = search(a, b, R, p, 0.02)
        assert np.allclose(np.linalg.norm(found.normal, axis=1), 1.0, atol=1e-12)
        assert np.allclose(np.sum(found.normal * (found.p2 - found.p1), axis=1), found.gap, atol=1e-9)
        assert np.allclose(found.p2 - found.p1, found.gap[:, None] * found.normal, atol=2e-9)
        assert held_by(a, R[0], p[0], found.p1, 2e-3) and held_by(b, R[1], p[1], found.p2, 2e-3)


@pytest.mark.parametrize("names", PAIRS, ids="-".join)
def test_order_frame_and_units_make_no_difference(names):
    rng = np.random.default_rng(5)
    a, b = (SOLIDS[name] for name in names)
    for _ in range(15):
        R, p = poses(rng, 0.9)
        found = search(a, b, R, p, 0.3)
        turned = search(b, a, R[::-1], p[::-1], 0.3)
        G, g = Rotation.random(random_state=rng).as_matrix(), rng.standard_normal(3)
        moved = search(a, b, G @ R, p @ G.T + g, 0.3)
        for other, p1, p2, n in (
            (turned, turned.p2, turned.p1, -turned.normal),
            (moved, (moved.p1 - g) @ G, (moved.p2 - g) @ G, moved.normal @ G),
        ):
            assert len(other) == len(found)
            mine = np.lexsort(np.round(found.p1, 6).T)
            theirs = np.lexsort(np.round(p1, 6).T)
            assert np.allclose(found.gap[mine], other.gap[theirs], atol=1e-9)
            assert np.allclose(found.p1[mine], p1[theirs], atol=1e-8) and np.allclose(found.p2[mine], p2[theirs], atol=1e-8)
            assert np.allclose(found.normal[mine], n[theirs], atol=1e-8)


def test_a_box_flat_on_the_floor_has_four_corners():
    found = search(Box(1.0, 2.0, 3.0), HalfSpace(), [np.eye(3)] * 2, [(0.0, 0.0, 1.5), (0, 0, 0)], 0.01)
    assert len(found) == 4 and np.allclose(found.gap, 0.0) and np.allclose(found.normal, (0, 0, -1))
    assert sorted(map(tuple, np.round(found.p1, 12))) == [(-0.5, -1, 0), (-0.5, 1, 0), (0.5, -1, 0), (0.5, 1, 0)]


@pytest.mark.parametrize("shift", [(0, 0), (0.5, 0), (0.3, 0.2), (1.0, 0.0)])
@pytest.mark.parametrize("turn", [0.0, 90.0, 180.0])
def test_boxes_on_each_other_meet_in_a_rectangle(shift, turn):
    """Boxes that touch only along an edge give the edge's two ends."""
    R = [np.eye(3), Rotation.from_euler("z", turn, degrees=True).as_matrix()]
    found = search(Box(1, 1, 1), Box(1, 1, 1), R, [(0, 0, 0), (*shift, 1.0)], 0.01)
    assert np.allclose(found.gap, 0.0, atol=1e-12)
    assert shift[0] == 1.0 or np.allclose(found.normal, (0, 0, 1))
    assert len(found) == (2 if shift[0] == 1.0 else 4)
    low, high = np.array(shift) - 0.5, np.full(2, 0.5)
    assert np.allclose(found.p1[:, :2].min(axis=0), low) and np.allclose(found.p1[:, :2].max(axis=0), high)


def test_a_box_turned_by_45_degrees_on_another_has_eight_corners():
    R = [np.eye(3), Rotation.from_euler("z", 45, degrees=True).as_matrix()]
    found = search(Box(1, 1, 1), Box(1, 1, 1), R, [(0, 0, 0), (0, 0, 0.999)], 0.01)
    assert len(found) == 8 and np.allclose(found.gap, -0.001)
    assert np.allclose(np.sort(np.abs(found.p1[:, :2]), axis=1), [np.sqrt(0.5) - 0.5, 0.5])


def test_crossed_edges_meet_in_a_point():
    a = Rotation.from_euler("x", 45, degrees=True).as_matrix()
    b = Rotation.from_euler("y", 45, degrees=True).as_matrix()
    found = search(Box(1, 1, 1), Box(1, 1, 1), [a, b], [(0, 0, 0), (0.1, 0.2, np.sqrt(2) + 0.01)], 0.02)
    assert (
        len(found) == 1 and found.gap[0] == pytest.approx(0.01) and np.allclose(found.p1[0], (0.1, 0.0, np.sqrt(0.5)), atol=1e-12)
    )


def test_coincident_centres_and_axes_that_cut_each_other_have_directions():
    """Several directions are equivalent, so the search returns one of them and the full depth."""
    same = [np.eye(3)] * 2
    for a, b, depth in (
        (Ball(0.3), Ball(0.2), -0.5),
        (Ball(0.3), Capsule(0.2, 1.0), -0.5),
        (Ball(0.1), Box(1, 2, 3), -0.6),
        (Box(1, 2, 3), Box(1, 2, 3), -1.0),
    ):
        found = search(a, b, same, np.zeros((2, 3)))
        assert len(found) and found.gap.min() == pytest.approx(depth)
        assert np.allclose(np.linalg.norm(found.normal, axis=1), 1.0)
    cross = [np.eye(3), Rotation.from_euler("x", 90, degrees=True).as_matrix()]
    found = search(Capsule(0.1, 1.0), Capsule(0.1, 1.0), cross, np.zeros((2, 3)))
    assert len(found) == 1 and found.gap[0] == pytest.approx(-0.2) and np.allclose(np.abs(found.normal), (1, 0, 0))


def test_parallel_capsules_touch_at_both_ends_of_the_overlap():
    found = search(Capsule(0.1, 1.0), Capsule(0.1, 1.0), [np.eye(3)] * 2, [(0, 0, 0), (0.2, 0, 0.4)], 0.01)
    assert len(found) == 2 and np.allclose(found.gap, 0.0, atol=1e-12)
    assert np.allclose(np.sort(found.p1[:, 2]), (-0.1, 0.5))


def test_a_capsule_on_a_box_touches_at_both_ends_of_the_overlap():
    lying = Rotation.from_euler("y", 90, degrees=True).as_matrix()
    found = search(Capsule(0.1, 4.0), Box(1, 1, 1), [lying, np.eye(3)], [(0.2, 0.1, 0.6), (0, 0, 0)], 0.01)
    assert len(found) == 2 and np.allclose(found.gap, 0.0, atol=1e-12) and np.allclose(np.sort(found.p1[:, 0]), (-0.5, 0.5))


@needs_coal
@pytest.mark.parametrize("other", ["ball", "capsule", "box"])
def test_a_hull_of_a_box_is_that_box(other):
    """Coal agrees with closed forms to 2.5e-4; its EPA stops at a tolerance of 1e-6."""
    rng = np.random.default_rng(6)
    box = SOLIDS["box"]
    hull = Hull(CUBE * box.half)
    for _ in range(40):
        R, p = poses(rng, 0.7)
        for _ in range(6):
            found = search(box, SOLIDS[other], R, p)
            k = np.argmin(found.gap)
            p[1] = p[1] - found.normal[k] * (found.gap[k] - rng.uniform(-0.004, 0.01))
        mine, theirs = search(box, SOLIDS[other], R, p, 0.02), search(hull, SOLIDS[other], R, p, 0.02)
        assert theirs.gap.min() == pytest.approx(mine.gap.min(), abs=1e-3 * 0.25)
        assert theirs.normal[np.argmin(theirs.gap)] @ mine.normal[np.argmin(mine.gap)] > 0.99


@needs_coal
def test_a_hull_on_a_box_has_the_corners_of_its_face():
    top = search(Hull(CUBE * 0.5), Box(3, 3, 1), [np.eye(3)] * 2, [(0, 0, 1.0), (0, 0, 0)], 0.01)
    assert len(top) == 4 and np.allclose(top.gap, 0.0, atol=1e-6) and np.allclose(top.normal, (0, 0, -1), atol=1e-6)


@needs_coal
def test_hulls_that_are_apart_are_as_far_as_a_plane_between_them_says():
    rng, seen = np.random.default_rng(17), 0
    for _ in range(400):
        hulls = [Hull(0.3 * rng.standard_normal((12, 3))) for _ in range(2)]
        R, p = poses(rng, 0.7)
        found = search(*hulls, R, p)
        low, high = [hull.points @ R[k].T @ found.normal[0] + p[k] @ found.normal[0] for k, hull in enumerate(hulls)]
        if high.min() - low.max() > 1e-6:
            seen += 1
            assert found.gap.min() == pytest.approx(high.min() - low.max(), abs=1e-5)
    assert seen > 100


def test_a_hull_on_the_floor_needs_no_coal():
    found = search(Hull(CUBE * 0.5), HalfSpace(), [np.eye(3)] * 2, [(0, 0, 0.5), (0, 0, 0)], 0.01)
    assert len(found) == 4 and np.allclose(found.gap, 0.0)


@needs_coal
def test_boxes_against_coal():
    import coal

    rng = np.random.default_rng(7)
    box = SOLIDS["box"]
    held = coal.Box(*(2.0 * box.half))
    for _ in range(100):
        R, p = poses(rng, 0.5)
        found = search(box, box, R, p)
        for _ in range(6):
            k = np.argmin(found.gap)
            p[1] = p[1] - found.normal[k] * (found.gap[k] - rng.uniform(-0.05, 0.05))
            found = search(box, box, R, p)
        result = coal.DistanceResult()
        distance = coal.distance(
            held, coal.Transform3s(R[0], p[0]), held, coal.Transform3s(R[1], p[1]), coal.DistanceRequest(), result
        )
        assert found.gap.min() == pytest.approx(distance, abs=1e-5 if distance > 0.0 else 1e-3 * 0.55)


def test_shapes_lie_where_their_bodies_carry_them():
    rng = np.random.default_rng(8)
    R, p = poses(rng, 0.3)
    q = Rotation.from_matrix(R[0]).as_quat(scalar_first=True)
    carried = search(Ball(0.1, position=(0.3, 0.2, 0.1)), Box(1, 1, 1), R, p)
    alone = search(Ball(0.1), Box(1, 1, 1), R, [p[0] + R[0] @ (0.3, 0.2, 0.1), p[1]])
    turned = search(Box(1, 2, 3, position=p[0], quaternion=q), Ball(0.1), [np.eye(3), R[1]], [(0, 0, 0), p[1]])
    plain = search(Box(1, 2, 3), Ball(0.1), R, p)
    assert np.allclose(carried.gap, alone.gap) and np.allclose(turned.p1, plain.p1)


def test_pairs_of_bodies_are_filtered():
    shapes = [(0, HalfSpace()), (1, Ball(0.5)), (2, Ball(0.5)), (2, Ball(0.4)), (3, Ball(0.5))]
    R, p = np.array([np.eye(3)] * 4), np.array([(0.0, 0.0, -0.5), (0, 0, 0), (0.9, 0, 0), (1.8, 0, 0)])

    def pairs(**filters):
        found = candidates(arrangement(shapes, **filters), R, p, 0.01)
        return {(int(a), int(b)) for a, b in zip(found.body1, found.body2, strict=True)}

    assert pairs() == {(0, 1), (0, 2), (0, 3), (1, 2), (2, 3)}
    assert pairs(fixed=(0, 1)) == {(0, 2), (0, 3), (1, 2), (2, 3)}
    assert pairs(exclude=[(2, 1)]) == {(0, 1), (0, 2), (0, 3), (2, 3)}
    assert pairs(only=[(1, 2)]) == {(1, 2)}
    assert pairs(only=[(1, 2), (1, 9)], exclude=[(0, 9)], fixed=[9]) == {(1, 2)}  # body 9 has no shape


def test_bodies_may_have_reaches_of_their_own():
    shapes = [(k, Ball(0.5)) for k in range(3)]
    R, p = np.array([np.eye(3)] * 3), np.array([(0.0, 0.0, 0.0), (1.1, 0, 0), (2.2, 0, 0)])
    found = candidates(arrangement(shapes), R, p, np.array([0.07, 0.04, 0.04]))
    assert found.body1.tolist() == [0] and found.body2.tolist() == [1]


@pytest.mark.parametrize("count", [0, 1, 2, 60])
def test_sweep_and_prune_equals_brute_force(count):
    rng = np.random.default_rng(count)
    low = rng.uniform(0.0, 5.0, (count, 3))
    high = low + rng.uniform(0.0, 1.5, (count, 3))
    if count > 2:
        low[:2], high[:2] = -np.inf, np.inf
        low[2:5], high[2:5] = 1.0, 2.0  # three copies of the same box
    allowed = rng.random((count, count)) < 0.8
    allowed = allowed & allowed.T
    i, j = overlapping_boxes(low, high, allowed)
    every = {(a, b) for a in range(count) for b in range(a + 1, count)}
    hit = {(a, b) for a, b in every if allowed[a, b] and np.all(low[a] <= high[b]) and np.all(low[b] <= high[a])}
    assert list(zip(i.tolist(), j.tolist(), strict=True)) == sorted(hit)


def test_batched_shapes_equal_single_pairs():
    rng = np.random.default_rng(9)
    kinds = [Ball(0.3), Capsule(0.2, 0.6), Box(0.4, 0.5, 0.6), HalfSpace(position=(0, 0, -1.0))]
    solids = [kinds[3]] + [kinds[k % 3] for k in range(24)]
    R, p = Rotation.random(25, random_state=rng).as_matrix(), rng.uniform(-1, 1, (25, 3))
    whole = candidates(arrangement(list(enumerate(solids))), R, p, 0.05)
    assert np.all(np.diff(100 * whole.shape1 + whole.shape2) >= 0) and len(set(zip(whole.shape1, whole.shape2, strict=True))) > 30
    for i, j in itertools.combinations(range(25), 2):
        alone = search(solids[i], solids[j], R[[i, j]], p[[i, j]], 0.05)
        rows = (whole.body1 == i) & (whole.body2 == j)
        assert np.allclose(whole.gap[rows], alone.gap, atol=1e-12) and np.allclose(whole.p1[rows], alone.p1, atol=1e-12)


@pytest.mark.parametrize("scale", [1e-3, 1e3])
def test_lengths_in_another_unit(scale):
    rng = np.random.default_rng(10)
    for _ in range(30):
        R, p = poses(rng, 0.6)
        for a, b in itertools.combinations_with_replacement((Box(0.5, 0.7, 1.1), Capsule(0.2, 0.9)), 2):
            big = [
                Box(*(scale * 2 * s.half)) if isinstance(s, Box) else Capsule(scale * s.size, scale * s.length) for s in (a, b)
            ]
            found, scaled = search(a, b, R, p, 0.1), search(*big, R, scale * p, scale * 0.1)
            assert len(found) == len(scaled) and np.allclose(scale * found.gap, scaled.gap, rtol=1e-9, atol=1e-10 * scale)


@pytest.mark.parametrize(
    "make, code",
    [
        (lambda: Ball(-1.0), "G141"),
        (lambda: Box(1.0, np.nan, 1.0), "G141"),
        (lambda: Capsule(0.1, "1"), "G141"),
        (lambda: Ball(1.0, quaternion=(2, 0, 0, 0)), "G142"),
        (lambda: HalfSpace(position=(0, 0)), "G142"),
        (lambda: Hull([(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0)]), "G143"),
        (lambda: Hull("points"), "G143"),
        (lambda: Hull([(0, 0), (1, 0, 0)]), "G143"),
        (lambda: Hull(5), "G143"),
        (lambda: Hull(np.array(5.0)), "G143"),
        (lambda: plane_hull([0, 1, 2]), "G145"),
        (lambda: plane_hull([(0, 0), (1, 0, 0)]), "G145"),
        (lambda: plane_hull([]), "G145"),
        (lambda: plane_hull([(0.0, np.inf)]), "G145"),
    ],
)
def test_shapes_that_are_none(make, code):
    with pytest.raises(GeometryError) as refused:
        make()
    assert refused.value.code == code


def test_a_hull_in_a_plane_is_convex_and_holds_every_point():
    rng = np.random.default_rng(3)
    for points in (rng.normal(size=(60, 2)), rng.integers(0, 4, size=(40, 2)), [(0, 0), (2, 2), (1, 1)], [(3, 4)] * 3):
        points = np.array(points, dtype=float)
        corners = points[plane_hull(points)]
        edges = np.roll(corners, -1, axis=0) - corners
        left = np.linalg.det(np.stack(np.broadcast_arrays(edges[:, None], points - corners[:, None]), axis=-2))
        assert np.all(left >= -1e-12)
        turns = np.linalg.det(np.stack([edges, np.roll(edges, -1, axis=0)], axis=-2))
        assert np.all(turns > 0.0) if len(corners) > 2 else len(corners) == len(np.unique(corners, axis=0))
    assert plane_hull([(0, 0), (2, 2), (1, 1)]).tolist() == [0, 1]


def test_hulls_without_coal(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "coal", None)
    with pytest.raises(GeometryError, match="coal") as refused:
        search(Hull(CUBE), Ball(0.1), [np.eye(3)] * 2, np.zeros((2, 3)))
    assert refused.value.code == "G144"
