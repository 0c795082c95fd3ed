"""Collision shapes become closed meshes of the correct volume, visible from outside."""

import itertools

import numpy as np
import pytest
from screwbond.models import collisions, ground, rigid_body
from screwbond.models.pictures import Look, rendering, scene_of, still

from bondgraph import Graph
from screws.shapes import Ball, Box, Capsule, HalfSpace, Hull
from tests.inner.models_pictures import solids_mesh
from tests.inner.stepping import free_body_stepper

CUBE = np.array(list(itertools.product((-0.5, 0.5), repeat=3)))
can_render, why = rendering()


def volume(mesh):
    corners = mesh.points[mesh.faces]
    return np.sum(np.cross(corners[:, 0], corners[:, 1]) * corners[:, 2]) / 6.0


@pytest.mark.parametrize(
    "solid, expected, rel",
    [
        (Ball(0.5), np.pi / 6.0, 0.05),
        (Box(1.0, 2.0, 3.0), 6.0, 1e-12),
        (Box(1.0, 2.0, 3.0, position=(5, 0, 0), quaternion=(0.5, 0.5, 0.5, 0.5)), 6.0, 1e-12),
        (Hull(CUBE), 1.0, 1e-12),
    ],
)
def test_volume(solid, expected, rel):
    """The volume follows from Gauss's theorem; a ball's is that of the polyhedron of its facets."""
    mesh = solids_mesh([solid], 1.0)
    assert volume(mesh) == pytest.approx(expected, rel=rel) and not mesh.open


def test_edges():
    assert len(solids_mesh([Box(1, 1, 1)], 1.0).lines) == 12 and len(solids_mesh([Hull(CUBE)], 1.0).lines) == 12


def test_a_capsule_is_as_long_as_it_is():
    points = solids_mesh([Capsule(0.1, 1.0)], 1.0).points
    assert np.ptp(points, axis=0) == pytest.approx((0.2, 0.2, 1.2), rel=1e-2)


def test_walls_end_where_they_meet():
    side = np.sqrt(0.5)
    walls = [HalfSpace(position=(s, 0, 0), quaternion=(side, 0, -s * side, 0)) for s in (1, -1)]
    mesh = solids_mesh([HalfSpace(), *walls], 3.0)
    assert np.abs(mesh.points[:, 0]).max() == pytest.approx(1.0) and mesh.points[:, 2].min() == pytest.approx(0.0)
    assert mesh.points[:, 2].max() == pytest.approx(3.0)


def heap():
    ball = rigid_body("ball", mass=1.0, inertia=(1e-3,) * 3, gravity=(0, 0, -9.81), position=(0, 0, 0.06), shape=Ball(0.05))
    graph = collisions(Graph("heap"), [ground("floor", shape=HalfSpace()), ball])
    return graph, free_body_stepper(graph).simulate(0.1, step=0.01)


def test_a_scene_contains_colliding_bodies():
    run = heap()[1]
    scene = scene_of(run)
    assert {solid.name: solid.look for solid in scene.solids} == {"floor": Look.WALL, "ball": Look.OPAQUE}
    assert "pressing contacts" in [panel.title for panel in scene.panels]


@pytest.mark.skipif(not can_render, reason=why)
def test_a_still_shows_it(tmp_path):
    from PIL import Image

    run = heap()[1]
    still(scene_of(run), tmp_path / "heap.png", 0.1, size=(320, 180))
    colours = np.asarray(Image.open(tmp_path / "heap.png").convert("RGB"), dtype=float)
    blue = (colours[..., 2] > colours[..., 0] + 40).mean()
    assert 0.02 < blue < 0.6
