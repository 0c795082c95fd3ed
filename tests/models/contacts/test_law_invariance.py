"""Contact laws do not change when bodies are swapped, frames turned, poles crossed or units changed."""

from __future__ import annotations

import numpy as np
import pytest
from screwbond.models import attach_contact, contact, ground, rigid_body
from screwbond.models.contacts import Compliant, ContactLaw, Impact, Maxwell, ThreeState, VirtualSpring, Viscoelastic

from bondgraph import Graph, simulate
from screws.surfaces import Surface, egg, plane, sphere
from tests.inner.models_contacts import contact_intervals
from tests.inner.run import Result
from tests.models.contacts.drops import MASS, RADIUS, G, in_world, rolled


def head_on(law: ContactLaw, surface1: Surface, surface2: Surface, *, swapped: bool = False, turned: bool = False) -> Result:
    q = np.array([0.5, 0.5, -0.5, 0.5]) if turned else np.array([1.0, 0.0, 0.0, 0.0])
    w, x, y, z = q
    R = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )
    graph = Graph("two")
    one = rigid_body("one", mass=0.3, inertia=(2e-4, 3e-4, 2.5e-4), surface=surface1, quaternion=q)
    two = rigid_body(
        "two",
        mass=0.2,
        inertia=(2e-4, 1e-4, 2.5e-4),
        surface=surface2,
        position=R @ np.array([0.005, 0.008, 0.2]),
        velocity=R @ np.array([0.0, 0.0, -1.0]),
        angular_velocity=R @ np.array([1.0, -2.0, 0.5]),
        quaternion=q,
    )
    pair = (two, one) if swapped else (one, two)
    attach_contact(graph, contact("touch", *pair, constrained="v_z" if law.tangent_vectors else None, law=law), *pair)
    run = simulate(graph, 0.3, samples=0.3, rtol=1e-11, progress=False)
    assert run.ok and run.ledger.relative_residual < 1e-9, run.failure
    return run


EGG = egg(0.035, 0.084, 0.010425531914893621)


@pytest.mark.parametrize(
    "law",
    [
        Compliant(normal_stiffness=5e4),
        Viscoelastic(5e4, 5e4),
        VirtualSpring(5e4, 0.6),
        Maxwell(5e4, 2e2),
        Impact(0.6),
        pytest.param(Impact(0.6, friction=0.2), marks=pytest.mark.thorough),
    ],
    ids=repr,
)
def test_eggs_on_eggs_are_invariant_under_frame_and_order(law: ContactLaw) -> None:
    run, turned, swapped = (head_on(law, EGG, EGG), head_on(law, EGG, EGG, turned=True), head_on(law, EGG, EGG, swapped=True))
    assert {"impact", "contact on"} & {event.kind for event in run.events}
    # Swapping the bodies shifts the point of action by the deformation's depth, about 1e-3 m.
    close = 1e-9 if isinstance(law, Impact) else 2e-3
    for body in ("one", "two"):
        assert turned[f"{body}.twist"][-1] == pytest.approx(run[f"{body}.twist"][-1], abs=1e-8)
        assert swapped[f"{body}.twist"][-1] == pytest.approx(run[f"{body}.twist"][-1], abs=close * 10.0)


@pytest.mark.parametrize(
    ("law", "exchanged"), [(Impact(0.5), False), (Impact(0.5), True), (ThreeState(50.0, 1000.0), True)], ids=str
)
def test_held_bodies_roll_over_all_poles(law: ContactLaw, exchanged: bool) -> None:
    """The ball rolls with 5/7 of the acceleration of frictionless sliding, while its chart changes more than 20 times."""
    tilt = 0.3
    run = rolled(law, ["v_x", "v_y", "v_z"], tilt, exchanged)
    charts = [event for event in run.events if event.internal]
    assert len(charts) > 20 and contact_intervals(run, "touch")[-1][1] == run.t[-1]
    omega, v = in_world(run)
    landed = np.sqrt(2.0 * 0.05 / (G * np.cos(tilt)))
    if isinstance(law, Impact):
        # An impulse at the contact point conserves the angular momentum about it; so does flight, except for the weight.
        assert v[0] == pytest.approx(5.0 / 7.0 * G * np.sin(tilt) * 2.0, rel=1e-9)
        assert abs(run["touch.gap"][-1]) < 1e-10
    assert 5.0 / 7.0 * G * np.sin(tilt) * 2.0 - v[0] < G * np.sin(tilt) * landed
    assert v + np.cross(omega, [0.0, 0.0, -RADIUS]) == pytest.approx(np.zeros(3), abs=1e-8 if law == Impact(0.5) else 1e-4)


@pytest.mark.parametrize("law", [Impact(0.5), ThreeState(50.0, 1000.0)], ids=lambda law: type(law).__name__)
def test_free_bodies_slide_and_held_bodies_keep_momentum(law: ContactLaw) -> None:
    """If only v_z is constrained, slip and spin are unchanged; constrained v_x and v_y give (5 v + 2 r w) / 7."""
    motion = {"velocity": (1.0, 0.3, 0.0), "angular_velocity": (3.0, 1.0, 2.0)}
    omega, v = in_world(rolled(law, ["v_z"], 0.0, **motion))
    assert omega == pytest.approx([3.0, 1.0, 2.0], abs=1e-9) and v[:2] == pytest.approx([1.0, 0.3], abs=1e-9)
    omega, v = in_world(rolled(law, ["v_x", "v_y", "v_z"], 0.0, **motion))
    close = 1e-9 if isinstance(law, Impact) else 2e-3  # a smooth impact acts slightly above the lowest point
    assert v[:2] == pytest.approx([(5.0 + 2.0 * RADIUS) / 7.0, (1.5 - 6.0 * RADIUS) / 7.0], abs=close)
    assert omega[2] == pytest.approx(2.0, abs=1e-9)
    omega, _ = in_world(rolled(law, "rolling", 0.0, **motion))
    assert omega[2] == pytest.approx(0.0, abs=1e-9)


UNITS = {
    Compliant(normal_stiffness=1e5, normal_damping=10.0): Compliant(normal_stiffness=1e8, normal_damping=1e4),
    Viscoelastic(1e5, 1e4): Viscoelastic(1e8, 1e4),
    VirtualSpring(1e5, 0.5): VirtualSpring(1e8, 0.5),
    Maxwell(1e5, 1e3): Maxwell(1e8, 1e6),
    Impact(0.8): Impact(0.8),
    ThreeState(10.0, 100.0, 1e6): ThreeState(10.0, 100.0, 1.0),
}
"""Laws in kg and m -> the same laws in g and mm, with forces in micronewtons."""


@pytest.mark.parametrize("law", UNITS, ids=lambda law: type(law).__name__)
def test_a_ball_in_grams_and_millimetres_bounces_as_one_in_kilograms_and_metres(law: ContactLaw) -> None:
    def events(law: ContactLaw, unit: float) -> list[float]:
        graph, floor = Graph("drop"), ground("floor", surface=plane())
        ball = rigid_body(
            "ball",
            mass=unit * MASS,
            inertia=(0.4 * unit * MASS * (unit * RADIUS) ** 2,) * 3,
            surface=sphere(unit * RADIUS),
            position=(0.0, 0.0, unit * 0.3),
            velocity=(unit * 0.5, 0.0, 0.0),
            gravity=(0.0, 0.0, -unit * G),
        )
        attach_contact(graph, contact("touch", floor, ball, law=law, constrained="v_z"), floor, ball)
        run = simulate(graph, 0.8, samples=0.01, rtol=1e-10, progress=False)
        assert run.ok and run.ledger.relative_residual < 1e-9
        return [event.time for event in run.events if not event.internal]

    mine, theirs = events(law, 1.0), events(UNITS[law], 1e3)
    # The virtual spring bounces endlessly; rounding determines its ever smaller bounces.
    count = 12 if isinstance(law, VirtualSpring) else len(mine)
    assert len(mine[:count]) == len(theirs[:count]) >= 2 and mine[:count] == pytest.approx(theirs[:count], abs=1e-8)
