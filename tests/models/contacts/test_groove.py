"""A ball between two rigid walls: both contacts hold it, although their start values are equal until closest points are found."""

from __future__ import annotations

import numpy as np
import pytest
from screwbond.models import attach_contact, contact, ground, rigid_body
from screwbond.models.contacts import ContactLaw, Impact, ThreeState

from bondgraph import Graph
from screws.surfaces import plane, sphere


def groove(law: ContactLaw, left: float, right: float, y: float = 0.0) -> Graph:
    """Return a ball above a groove of two frictionless planes with these slopes."""
    radius, mass = 0.02, 0.1
    ball = rigid_body(
        "ball",
        mass=mass,
        inertia=(0.4 * mass * radius**2,) * 3,
        surface=sphere(radius),
        position=(0, y, 0.05),
        gravity=(0, 0, -9.81),
    )
    graph = Graph("groove")
    for name, slope in (("left", left), ("right", -right)):
        wall = ground(name, surface=plane(), quaternion=(np.cos(slope / 2), np.sin(slope / 2), 0, 0))
        attach_contact(graph, contact(f"{name} contact", wall, ball, law=law), wall, ball)
    return graph


@pytest.mark.parametrize("law", [Impact(0.5), ThreeState(20.0, 100.0)], ids=str)
@pytest.mark.parametrize(("left", "right", "y"), [(0.25, 0.25, 0.0), (0.25, 0.25, 0.01), (1 / 3, 1 / 6, 0.0), (0.1, 0.3, 0.003)])
def test_a_ball_comes_to_rest_in_a_groove(law: ContactLaw, left: float, right: float, y: float) -> None:
    """Both gaps vanish at rest, and the normal forces balance the weight."""
    run = groove(law, left * np.pi, right * np.pi, y).simulate(3.0)
    normals = np.array([[-np.sin(left * np.pi), np.cos(left * np.pi)], [np.sin(right * np.pi), np.cos(right * np.pi)]])
    assert run.ok
    np.testing.assert_allclose(run["ball.pose"][-1, 5:], np.linalg.solve(normals, [0.02, 0.02]), atol=1e-12)
    forces = [run[f"{side} contact.wrench"][-1, 5] for side in ("left", "right")]
    np.testing.assert_allclose(forces, np.linalg.solve(normals.T, [0.0, 0.981]), rtol=1e-11)


def test_a_ball_bounces_off_both_walls_of_a_groove_at_once() -> None:
    """It moves as above a floor, because a frictionless impact on both walls reverses the velocity."""
    run = groove(Impact(0.5), np.pi / 4, np.pi / 4).simulate(1.0)
    drop = np.sqrt(2.0 * (0.05 - 0.02 * np.sqrt(2.0)) / 9.81)
    np.testing.assert_allclose([e.time for e in run.events[:4]], drop * (1.0 + np.array([0.0, 1.0, 1.5, 1.75])), rtol=1e-9)
    assert run.ledger.lost[-1] == pytest.approx(0.981 * (0.05 - 0.02 * np.sqrt(2.0)), rel=1e-9)


@pytest.mark.parametrize("length", [0.1, 0.3, 3.0])
@pytest.mark.parametrize("rtol", [1e-6, 1e-8, 1e-10])
def test_an_impact_along_a_wall_does_not_release_it(length: float, rtol: float) -> None:
    """The ball slides down the left wall, which an impact on the right wall, at a right angle, neither pushes nor pulls."""
    run = groove(Impact(0.0), np.pi / 4, np.pi / 4, 0.01).simulate(length, rtol=rtol)
    sides = [event.name.split()[0] for event in run.events]
    assert run.ok and sides == ["left", "left", "right", "right"]
    assert run["left contact.wrench"][-1, 5] == pytest.approx(0.981 / np.sqrt(2.0), rel=1e-6)
