"""Contact points that machine code finds in piles agree with the points from `screws.shapes`."""

import numpy as np
from scipy.spatial.transform import Rotation
from screwbond.models import collisions, ground, rigid_body

from bondgraph import Graph
from screws.shapes import Ball, Box, HalfSpace, candidates
from tests.inner.stepping import APART, Accuracy, free_body_stepper, new_run


def cloud(rng):
    shapes = [Box(*rng.uniform(0.1, 0.4, 3)) for _ in range(8)] + [Ball(rng.uniform(0.05, 0.2)) for _ in range(4)]
    shapes.append([Box(0.2, 0.1, 0.3, position=(0.1, 0, 0.1), quaternion=(0.6, 0.8, 0, 0)), Ball(0.1)])
    bodies = [
        rigid_body(
            f"b{k}", mass=1.0, inertia=(1, 1, 1), centre_of_mass=(0.01 * k, 0, 0.02), position=(3.0 * k, 0, 0), shape=shape
        )
        for k, shape in enumerate(shapes)
    ]
    apart = [(bodies[0], bodies[1])]
    return collisions(Graph("cloud"), [ground("floor", shape=HalfSpace()), *bodies], max_contacts=4096, exclude=apart)


def columns(pairs, keep=slice(None)):
    rows = np.column_stack([pairs.shape1, pairs.shape2, pairs.gap, pairs.p1, pairs.p2, pairs.normal])[keep]
    return rows[np.lexsort(np.round(rows[:, [5, 4, 3, 1, 0]], 6).T)]


def test_points_are_those_of_the_arrays():
    rng = np.random.default_rng(3)
    compiled = free_body_stepper(cloud(rng)).compiled
    (x, m), p = compiled.initial(), compiled.parameters()
    found, apart = 0, 0
    for trial in range(30):
        run = new_run(compiled, Accuracy(), p, x, m)
        n = run.bodies.free
        turns = Rotation.random(n, random_state=rng)
        if trial % 3 == 0:
            angles = rng.integers(0, 4, (n, 3)) * np.pi / 2 + 1e-4 * rng.standard_normal((n, 3))
            turns = Rotation.from_euler("zyx", angles)
        run.x[run.bodies.pose[:, :4]] = turns.as_quat(scalar_first=True)
        run.x[run.bodies.pose[:, 4:]] = np.array([0, 0, 0.3]) + rng.uniform(-0.35, 0.35, (n, 3))
        run.x[run.bodies.momentum] = 0.5 * rng.standard_normal((n, 6))
        pairs, (R, origin), reach = run.candidates(0.05 if trial % 2 else 0.001), run.poses(), run.table.arrays["reach"]
        wanted = columns(candidates(run.sets[0].arranged, R, origin, reach[: n + 1]))
        is_apart = run.table.arrays["feature"][: len(pairs)] >= APART
        points = columns(pairs, ~is_apart)
        assert len(points) == len(wanted) and (pairs.gap[is_apart] > 0.0).all()
        np.testing.assert_allclose(points, wanted, atol=1e-9)
        found, apart = found + len(wanted), apart + np.count_nonzero(is_apart)
    assert found > 1000 and apart > 100
