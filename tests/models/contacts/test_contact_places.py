"""Bodies touch at several places, and the run reports every place that no contact covers."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest
from screwbond.models.bodies import ground, rigid_body
from screwbond.models.contacts import ContactWarning, Viscoelastic, attach_contact, contact

from bondgraph import Graph, ModelError, RunEndedWarning, UnreliableRunWarning
from screws import pose, pose_from_state, revolution
from screws.contact import all_closest_points, closest_points, is_convex
from screws.scalars import absolute, sqrt
from screws.surfaces import Surface, cylinder, egg, ellipsoid, parametric, plane, sphere, torus
from tests.inner.models_two_bodies import ContactRun, run_contact
from tests.inner.run import batch_refusal, watched_contacts
from tests.inner.screws import Parametric, closest_points_with_overlaps

BAR = ellipsoid((0.06, 0.015, 0.015))
TROUGH = parametric(lambda u, v: (u, v, 10.0 * u * u), (-0.1, 0.1), (-0.2, 0.2), inside=(0.0, 0.0, -0.01))
GRAVITY = (0.0, 0.0, -9.81)
LEFT, RIGHT = (-0.05, 0.0, 0.02), (0.05, 0.0, 0.02)


def dropped(*near, height: float = 0.045, t_end: float = 0.5) -> ContactRun:
    graph, floor = Graph("trough"), ground("trough", surface=TROUGH)
    bar = rigid_body(
        "bar", mass=0.1, inertia=(1e-5, 8e-5, 8e-5), surface=BAR, position=(0.0, 0.0, height), gravity=(0.0, 0.0, -9.81)
    )
    for i, place in enumerate(near):
        touching = contact(f"contact {i}", floor, bar, constrained="v_z", normal_stiffness=1e4, normal_damping=5.0, near=place)
        attach_contact(graph, touching, floor, bar)
    return run_contact(graph, floor, bar, t_end, 0.005, contact="contact 0", progress=False)


def test_places_of_a_bar_across_a_trough():
    H = pose(np.eye(3), np.array([0.0, 0.0, 0.04]))
    places = all_closest_points(TROUGH, BAR, H)
    assert len(places) == 2 and np.isclose(places[0].d, places[1].d, rtol=0.0, atol=1e-12)
    for side in (LEFT, RIGHT):
        assert np.sign(TROUGH.point(closest_points(TROUGH, BAR, H, near=np.array(side)).q1)[0]) == np.sign(side[0])


def test_two_contacts_hold_a_bar_across_a_trough():
    with warnings.catch_warnings():
        warnings.simplefilter("error", ContactWarning)
        run = dropped(LEFT, RIGHT)
    assert run.result.ok and run.untracked_contact is None and run.result.ledger.relative_residual < 1e-9
    assert np.abs(run.result["bar.pose"][-1, 1:4]).max() < 1e-8
    gaps = [run.result[f"contact {i}.gap"][-1] for i in (0, 1)]
    assert max(gaps) < 0.0 and np.isclose(*gaps, rtol=1e-6)


def test_an_unsupported_end_is_reported():
    with pytest.warns(UnreliableRunWarning, match="where no contact acts"):
        run = dropped(LEFT, t_end=0.08)
        notes = run.summary()["notes"]
    assert not run.result.ok and any("without a contact" in note for note in notes)
    assert run.untracked_contact is not None and run.untracked_contact.depth > 0.0 and run.untracked_contact.point[0] > 0.02


def resting(floor, skin, height, *near, **start):
    graph, still = Graph("resting"), ground("floor", surface=floor)
    body = rigid_body("body", mass=0.1, inertia=(2e-5,) * 3, surface=skin, position=(0.0, 0.0, height), gravity=GRAVITY, **start)
    for i, place in enumerate(near):
        touching = contact(f"contact {i}", still, body, constrained="v_z", normal_stiffness=1e4, normal_damping=5.0, near=place)
        attach_contact(graph, touching, still, body)
    return graph


VALLEY = parametric(lambda u, v: (u, v, 1.2 * sqrt(u * u + 1e-4)), (-0.2, 0.2), (-0.2, 0.2))
PEANUT = revolution(lambda w, a: a * (0.6 + 0.5 * w * w), lambda w, a: 1.2 * a * w, {"a": 0.04})
LYING = (np.cos(0.75), 0.0, np.sin(0.75), 0.0)
TWICE = {
    "bar across a trough": (TROUGH, BAR, 0.045, {}),
    "ball in a valley": (VALLEY, sphere(0.05), 0.083, {"velocity": (0.05, 0.0, 0.0)}),
    "peanut on a floor": (plane(), PEANUT, 0.06, {"quaternion": LYING}),
}


@pytest.mark.parametrize("name", TWICE)
def test_every_run_notices_a_second_place(name):
    floor, skin, height, start = TWICE[name]
    compiled = resting(floor, skin, height, None, **start).compile()
    assert compiled.simulate(0.02, samples=[0.0, 0.02], progress=False).ok
    words = "overlap by .* m elsewhere, at .* where no contact acts"
    for options in ({"samples": [0.0, 0.12]}, {"samples": 1e-3, "keep": ["contact 0.gap"]}):
        with pytest.warns((UnreliableRunWarning, RunEndedWarning), match=words):
            run = compiled.simulate(0.12, progress=False, **options)
        assert not run.ok and run.warnings[-1].suspect == "contact 0"
    prepared = compiled.prepare_run(0.12, samples=[0.0, 0.12])
    many = prepared.run_many(*prepared.start_values_many({"contact 0.spring.stiffness": [1e4, 2e4]}))
    assert not many.ok.any()


def test_the_advice_for_a_second_place():
    with pytest.warns(UnreliableRunWarning):
        run = resting(TROUGH, BAR, 0.045, LEFT).simulate(0.08, samples=[0.0, 0.08], progress=False)
    near = re.search(r"near=\((.*?)\)", run.warnings[0].cures[0])
    assert near is not None
    held = resting(TROUGH, BAR, 0.045, LEFT, tuple(map(float, near[1].split(",")))).simulate(0.12, samples=[0.0, 0.12])
    assert held.ok and max(held[f"contact {i}.gap"][-1] for i in (0, 1)) > -1e-3
    assert "places=2" in run.warnings[0].cures[1]


def in_places(floor, skin, height, count=2, swapped=False, **start):
    graph, still = Graph("places"), ground("floor", surface=floor)
    inertia = {"mass": 0.1, "inertia": (2e-5, 8e-5, 8e-5), "gravity": GRAVITY}
    body = rigid_body("body", surface=skin, position=(0.0, 0.0, height), **inertia, **start)
    pair = (body, still) if swapped else (still, body)
    return attach_contact(graph, contact("touch", *pair, places=count, normal_stiffness=1e4, normal_damping=5.0))


def test_one_contact_holds_two_places_whichever_body_is_the_first():
    runs = []
    for swapped in (False, True):
        compiled = in_places(TROUGH, BAR, 0.045, swapped=swapped).compile()
        (watched,) = watched_contacts(compiled.program)
        assert [contact.point.path for contact, _ in watched.contacts] == ["touch.place 1", "touch.place 2"]
        refused = batch_refusal(compiled.prepare_run(0.3).program, "cuda:0", {}, check_rank=True)
        assert refused is not None and refused.code == "E289"
        why = "a surface is your own formula, so Python checks the contact after each run"
        assert refused.details == (f'"touch.place 1" and "touch.place 2": {why}',)
        run = compiled.simulate(0.3, samples=2e-3, progress=False)
        assert run.ok and run.ledger.relative_residual < 1e-8
        gaps, forces = ([run[f"touch.place {k}.{name}"] for k in (1, 2)] for name in ("gap", "normal force"))
        assert np.allclose(*forces, rtol=0.0, atol=1e-6 * forces[0].max()) and forces[0].max() > 1.0
        assert -2e-3 < min(gap.min() for gap in gaps) < -1e-4
        left, right = (run[f"touch.place {k}.frame"][:, 0, 3] for k in (1, 2))
        assert left.max() < 0.0 < right.min()
        runs.append(run)
    for name in ("touch.place 1.gap", "touch.place 2.normal force", "body.pose"):
        here, there = (run[name] for run in runs)
        assert np.abs(here - there).max() < 1e-5 * np.abs(here).max()


GROOVE = parametric(lambda u, v: (u, v, u * u / 0.06), (-0.06, 0.06), (-0.2, 0.2), inside=(0.0, 0.0, -0.01))
"""Groove with a radius of curvature of 30 mm at the bottom."""


def test_two_places_that_become_one_end_the_run():
    """A ball in a groove of larger radius has a single place of contact below the centre of curvature."""
    with pytest.warns(RunEndedWarning, match='"touch.place 1" and "touch.place 2" have become one place'):
        run = in_places(GROOVE, sphere(0.02), 0.05).simulate(0.2, samples=1e-3, progress=False)
    assert run.failure is not None and run.events[-1].kind == "places become one"
    assert np.sqrt(2.0 * (0.05 - 0.03) / 9.81) == pytest.approx(run.failure.time, rel=1e-3)
    assert in_places(GROOVE, sphere(0.02), 0.025, 1).simulate(0.1, samples=[0.0, 0.1], progress=False).ok


@pytest.mark.parametrize(
    ("surfaces", "options", "code", "words"),
    [
        ((TROUGH, BAR), {"places": 0}, "E439", "places = 0"),
        ((TROUGH, BAR), {"places": 1.5}, "E439", "places = 1.5"),
        ((TROUGH, BAR), {"places": True}, "E439", "places = True"),
        ((plane(), sphere(0.1)), {"places": 2}, "E439", "convex: plane and sphere"),
        ((TROUGH, BAR), {"places": 2, "near": LEFT}, "E429", "near"),
    ],
)
def test_places_that_no_contact_has(surfaces, options, code, words):
    with pytest.raises(ModelError, match=words) as caught:
        contact("touch", *(ground(f"body {k}", surface=skin) for k, skin in enumerate(surfaces)), normal_stiffness=1.0, **options)
    assert [problem.code for problem in caught.value.problems] == [code]


@pytest.mark.parametrize(("height", "count", "code", "advice"), [(0.045, 3, "E439", 1), (0.036, 1, "E428", 0)])
def test_more_or_fewer_places_than_the_bodies_have_at_the_start(height, count, code, advice):
    with pytest.raises(ModelError) as caught:
        in_places(TROUGH, BAR, height, count).simulate(0.01, progress=False)
    (problem,) = caught.value.problems
    assert problem.code == code and len(problem.details) == 2 and problem.cures[advice] == "places=2"
    assert count == 3 or in_places(TROUGH, BAR, height, 2).simulate(0.01, progress=False).ok


@pytest.mark.parametrize("name", ["bar across a trough", "ball in a valley"])
def test_places_are_the_same_from_either_body(name):
    floor, skin, height, start = TWICE[name]
    turned = np.asarray(pose_from_state([*start.get("quaternion", (1.0, 0.0, 0.0, 0.0)), 0.002, 0.001, height]), dtype=float)
    H = turned - 0.006 * np.outer([0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0])
    here, there = closest_points_with_overlaps(floor, skin, H), closest_points_with_overlaps(skin, floor, np.linalg.inv(H))
    points = [floor.point(c.q1, c.chart1) for c in here], [floor.point(c.q2, c.chart2) for c in there]
    assert len(points[0]) == len(points[1]) >= 2
    assert np.allclose(*(sorted(map(tuple, np.round(places, 9))) for places in points), atol=1e-8)


@pytest.mark.parametrize("law", [None, Viscoelastic(1e4, 1e4)])
def test_a_contact_that_loses_the_closest_points_is_reported(law):
    """In a V-shaped groove, the closest points jump from one side to the other."""
    edged = Surface(Parametric(lambda u, v: (u, v, absolute(u)), (-0.3, 0.3, False), (-0.3, 0.3, False)), {}, 0.3)
    graph, still = Graph("groove"), ground("floor", surface=edged)
    ball = rigid_body(
        "ball", mass=0.1, inertia=(2e-5,) * 3, surface=sphere(0.02), position=(0.1, 0, 0.2), velocity=(-1, 0, 0), gravity=GRAVITY
    )
    numbers = {"law": law} if law is not None else {"normal_stiffness": 1e4, "normal_damping": 5.0}
    attach_contact(graph, contact("touch", still, ball, **numbers), still, ball)
    with pytest.warns(UnreliableRunWarning, match="lost the closest points"):
        run = graph.simulate(0.6, samples=[0.0, 0.6], progress=False)
    assert not run.ok and not run.failure


def test_convex_bodies_cost_no_check():
    compiled = resting(plane(), BAR, 0.0151, None).compile()
    assert watched_contacts(compiled.program) == ()
    assert batch_refusal(compiled.prepare_run(0.01).program, "cuda:0", {}, check_rank=True) is None
    assert compiled.simulate(0.01, samples=[0.0, 0.01], progress=False).ok


def test_a_start_in_several_places_is_refused():
    with pytest.raises(ModelError) as caught:
        dropped(None, height=0.036)
    (problem,) = caught.value.problems
    assert problem.code == "E428" and "2 places" in problem.title and len(problem.details) == 2
    assert dropped(LEFT, RIGHT, height=0.036, t_end=0.05).result.ok


def test_convex_surfaces():
    assert all(map(is_convex, (BAR, sphere(0.1), egg(0.035, 0.084), plane(), cylinder(0.1))))
    assert not is_convex(TROUGH) and not is_convex(torus(0.1, 0.02))
