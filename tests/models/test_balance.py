"""Centre of mass, centroidal momentum and support polygon of robots are correct."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from screwbond.models.chains import (
    Link,
    Tree,
    centre_of_mass,
    centroidal_momentum,
    cylinder_inertia,
    forward_dynamics,
    link_pose,
    space_jacobian,
    support_margin,
    support_polygon,
)

from bondgraph import ModelError
from screws import joints, pose

RNG = np.random.default_rng(4)


def floating() -> Tree:
    base = np.eye(4)
    base[:3] = [[0, 0, 1, 0.2], [1, 0, 0, 0.5], [0, 1, 0, -0.1]]
    y = joints.revolute((0, 1, 0), (0.2, 0, 0))
    return Tree(
        "floating",
        (
            Link("hull", joints.free(), cylinder_inertia(5.0, 0.2, (-0.2, 0, 0), (0.3, 0, 0))),
            Link("arm", y, cylinder_inertia(1.0, 0.03, (0, 0, 0), (0.3, 0.1, 0)), pose(np.eye(3), (0.2, 0, 0))),
            Link("other", joints.prismatic((0, 1, 0)), cylinder_inertia(2.0, 0.03, (0, 0, 0), (0, 0.4, 0)), parent="hull"),
        ),
        base,
    )


def test_centre_and_momentum_are_sums_over_the_links() -> None:
    tree = floating()
    q, v = RNG.normal(size=(2, tree.freedoms)) * 0.5
    bodies: list[Any] = [
        (link.inertia, link_pose(tree, k, q), space_jacobian(tree, k, q) @ v) for k, link in enumerate(tree.links)
    ]
    places = [H[:3, :3] @ body.centre + H[:3, 3] for body, H, _ in bodies]
    masses = [body.mass for body, _, _ in bodies]
    centre = np.average(places, axis=0, weights=masses)
    assert np.allclose(centre_of_mass(tree, q), centre, rtol=1e-14)
    linear, angular = np.zeros(3), np.zeros(3)
    for (body, H, T), place in zip(bodies, places, strict=True):
        speed = T[3:] + np.cross(T[:3], place)
        linear += body.mass * speed
        angular += H[:3, :3] @ body.rotational @ H[:3, :3].T @ T[:3] + body.mass * np.cross(place - centre, speed)
    assert np.allclose(centroidal_momentum(tree, q, v), [*angular, *linear], rtol=1e-13)
    rows = centroidal_momentum(tree, [q, 2 * q], v)
    assert np.allclose(rows[0], [*angular, *linear], rtol=1e-13) and rows.shape == (2, 6)


def test_in_flight_the_momentum_changes_by_the_weight_alone() -> None:
    tree, g, h = floating(), np.array([0.0, 1.0, -9.0]), 1e-6
    q, v, effort = RNG.normal(size=(3, tree.freedoms)) * 0.5
    effort[:6] = 0.0  # no force acts on the hull
    a = np.asarray(forward_dynamics(tree, q, v, effort, g), dtype=float)
    ends = [centroidal_momentum(tree, q + s * h * v, v + s * h * a) for s in (1.0, -1.0)]
    assert np.allclose((ends[0] - ends[1]) / (2 * h), [0, 0, 0, *(8.0 * g)], atol=1e-7)


def test_a_polygon_is_the_hull_of_the_contacts_seen_from_above() -> None:
    feet = np.array([[0, 0, 0], [2, 0, 0.5], [2, 1, 0], [0, 1, 0], [1, 0.5, 0.3], [1, 0, 0.25]], dtype=float)
    corners = support_polygon(feet)
    assert sorted(map(tuple, corners)) == sorted(map(tuple, feet[:4]))
    x, y = corners[:, 0], corners[:, 1]
    assert 0.5 * np.sum(x * np.roll(y, -1) - np.roll(x, -1) * y) == pytest.approx(2.0)
    assert support_margin(feet, (1.0, 0.4, 7.0)) == pytest.approx(0.4)
    assert support_margin(feet, (3.0, 2.0, 0.0)) == pytest.approx(-np.sqrt(2.0))
    turned = np.roll(feet, 1, axis=1)
    assert support_margin(turned, (7.0, 1.0, 0.4), up=(1, 0, 0)) == pytest.approx(0.4)
    assert support_margin(feet[:2], (1.0, 0.2, 0.0)) == pytest.approx(-0.2)
    assert support_margin(feet[:1], (0.0, 0.3, 0.0)) == pytest.approx(-0.3) and len(support_polygon(feet[:1])) == 1


@pytest.mark.parametrize(
    "call",
    [
        lambda: support_polygon([0, 0, 1]),
        lambda: support_margin([[np.nan] * 3], [0] * 3),
        lambda: support_margin(np.eye(3), [0, 0]),
        lambda: support_polygon(np.eye(3), up=(0, 0, 0)),
    ],
)
def test_invalid_polygons_are_refused(call: Any) -> None:
    with pytest.raises(ModelError, match="E342"):
        call()
