"""Bodies that touch in several places: each contact holds one, several hold several, and what none holds is said."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from screwbond.models.bodies import ground, rigid_body
from screwbond.models.contacts import ContactWarning, attach_contact, contact

from bondgraph import Graph, ModelError
from screws import pose
from screws.contact import all_closest_points, closest_points, is_convex
from screws.surfaces import cylinder, egg, ellipsoid, parametric, plane, sphere, torus
from tests.inner.models_two_bodies import ContactRun, run_contact

BAR = ellipsoid((0.06, 0.015, 0.015))
TROUGH = parametric(lambda u, v: (u, v, 10.0 * u * u), (-0.1, 0.1), (-0.2, 0.2), inside=(0.0, 0.0, -0.01))
LEFT, RIGHT = (-0.05, 0.0, 0.02), (0.05, 0.0, 0.02)


def dropped(*near, height: float = 0.045, t_end: float = 0.5) -> ContactRun:
    """A bar falls across a trough, with a contact for each place."""
    graph, floor = Graph("trough"), ground("trough", surface=TROUGH)
    bar = rigid_body(
        "bar", mass=0.1, inertia=(1e-5, 8e-5, 8e-5), surface=BAR, position=(0.0, 0.0, height), gravity=(0.0, 0.0, -9.81)
    )
    for i, place in enumerate(near):
        touching = contact(f"contact {i}", floor, bar, constrained="v_z", normal_stiffness=1e4, normal_damping=5.0, near=place)
        attach_contact(graph, touching, floor, bar)
    return run_contact(graph, floor, bar, t_end, 0.005, contact="contact 0", progress=False)


def test_places_of_a_bar_across_a_trough():
    """Two, mirrored; the one that is near a point is chosen."""
    H = pose(np.eye(3), np.array([0.0, 0.0, 0.04]))
    places = all_closest_points(TROUGH, BAR, H)
    assert len(places) == 2 and np.isclose(places[0].d, places[1].d, rtol=0.0, atol=1e-12)
    for side in (LEFT, RIGHT):
        assert np.sign(TROUGH.point(closest_points(TROUGH, BAR, H, near=np.array(side)).q1)[0]) == np.sign(side[0])


def test_two_contacts_hold_a_bar_across_a_trough():
    """It comes to rest level, each end with half of its weight."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", ContactWarning)
        run = dropped(LEFT, RIGHT)
    assert run.result.ok and run.untracked_contact is None and run.result.ledger.relative_residual < 1e-9
    assert np.abs(run.result["bar.pose"][-1, 1:4]).max() < 1e-8
    gaps = [run.result[f"contact {i}.gap"][-1] for i in (0, 1)]
    assert max(gaps) < 0.0 and np.isclose(*gaps, rtol=1e-6)


def test_an_end_that_no_contact_holds_is_said():
    """One contact: the other end goes through the trough, and the run says where."""
    with pytest.warns(ContactWarning, match="where no contact is"):
        run = dropped(LEFT, t_end=0.08)
    assert run.untracked_contact is not None and run.untracked_contact.depth > 0.0 and run.untracked_contact.point[0] > 0.02
    assert any("no contact" in note for note in run.summary()["notes"])


def test_a_start_in_several_places_is_refused():
    """E428, with both places; named, each is a contact."""
    with pytest.raises(ModelError) as caught:
        dropped(None, height=0.036)
    (problem,) = caught.value.problems
    assert problem.code == "E428" and "2 places" in problem.title and len(problem.details) == 2
    assert dropped(LEFT, RIGHT, height=0.036, t_end=0.05).result.ok


def test_convex_surfaces():
    """Two of them touch in one place: nothing to search for."""
    assert all(map(is_convex, (BAR, sphere(0.1), egg(0.035, 0.084), plane(), cylinder(0.1))))
    assert not is_convex(TROUGH) and not is_convex(torus(0.1, 0.02))
