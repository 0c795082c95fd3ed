"""Under every contact law, a ball that slips begins to roll as a closed form predicts."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from screwbond.models import BodyInertia, Chain, Link, attach_contact, chain_graph, contact, ground, rigid_body
from screwbond.models.contacts import Compliant, ContactLaw, Impact, Rigid, ThreeState

from bondgraph import Graph, simulate
from bondgraph.stepping import stepper
from screws import joints
from screws.poses import pose, pose_from_state
from screws.surfaces import ellipsoid, plane, sphere
from tests.models.contacts.drops import MASS, RADIUS, G, dropped, in_world, rolled, times

SPIN = {"velocity": (1.0, 0.3, 0.0), "angular_velocity": (3.0, -2.0, 2.0)}
SLIP = np.array([1.0 + 2.0 * RADIUS, 0.3 + 3.0 * RADIUS])
ROLLS = np.array([1.0, 0.3]) - 2.0 / 7.0 * SLIP
LANDED, LANDS = np.sqrt(2.0 * 0.05 / G), np.sqrt(2.0 * 0.05 * G)


def test_a_ball_with_spin_slips_and_then_rolls_after_a_smooth_impact() -> None:
    """The ball rolls when 7/2 mu times the normal impulse per mass, g t + h' + v0, equals the initial slip."""
    mu, alpha1, alpha0 = 0.2, 20.0, 100.0
    run = rolled(ThreeState(alpha1, alpha0, friction=mu), None, 0.0, **SPIN)
    (stuck,) = times(run, "stick") - LANDED
    # The double pole at -10: h' = -v0 (1 - 10 t) exp(-10 t).
    rate = -LANDS * (1.0 - 10.0 * stuck) * np.exp(-10.0 * stuck)
    assert 3.5 * mu * (G * stuck + rate + LANDS) == pytest.approx(np.hypot(*SLIP), rel=1e-7)
    omega, v = in_world(run)
    assert v[:2] == pytest.approx(ROLLS, abs=1e-9) and omega[2] == pytest.approx(2.0, abs=1e-9)
    assert v[:2] + np.cross(omega, [0.0, 0.0, -RADIUS])[:2] == pytest.approx(np.zeros(2), abs=1e-9)
    assert np.abs(run["touch.friction slip"][run.t > LANDED + stuck]).max() < 1e-9
    # Friction takes just 2/7 of the energy of the slip.
    assert run.ledger.elements["touch.friction"][-1] == pytest.approx(MASS / 7.0 * SLIP @ SLIP, rel=1e-6)
    (point,) = dropped(ThreeState(alpha1, alpha0, friction=mu)).freeze().contacts
    assert point.friction == "touch.friction cone.coefficient" and ("touch.friction", "off") in point.off and len(point.slip) == 2


@pytest.mark.parametrize(("e", "mu"), [(0.0, 0.2), (0.5, 0.05), (0.5, 0.6)])
def test_a_ball_with_spin_slips_and_then_rolls_after_impacts(e: float, mu: float) -> None:
    """Each impact removes at most 7/2 mu (1 + e) v of the slip; the rest, u, vanishes 2 u / (7 mu g) after the bounces."""
    run = rolled(Impact(e, friction=mu), None, 0.0, **SPIN)
    impulses = LANDS * ((1.0 + e) / (1.0 - e) if e else 1.0)
    left = np.hypot(*SLIP) - 3.5 * mu * impulses
    stuck, rests = times(run, "stick"), times(run, "impact: accumulation")[0]
    if left > 0.0:
        assert stuck[-1] - rests == pytest.approx(2.0 * left / (7.0 * mu * G), rel=1e-6)
    else:
        # An impact has stopped it: it rests sticking.
        assert np.abs(run["touch.friction slip"][run.t > rests + 1e-6]).max() < 1e-9
    omega, v = in_world(run)
    assert v[:2] == pytest.approx(ROLLS, abs=1e-8) and omega[2] == pytest.approx(2.0, abs=1e-9)
    assert run.ledger.relative_residual < 1e-9


RUBBING = (Impact(0.5, friction=0.3), ThreeState(50.0, 1000.0, friction=0.3))


@pytest.mark.parametrize(("law", "tilt"), [*zip(RUBBING, (0.3, 1.0), strict=True)], ids=["Impact", "ThreeState"])
def test_a_ball_on_a_slope_rolls_or_slips(law: ContactLaw, tilt: float) -> None:
    """The ball rolls with 5/7 g sin a where mu > 2/7 tan a, and otherwise slips with g (sin a - mu cos a)."""
    slips = 2.0 / 7.0 * np.tan(tilt) > 0.3
    run = rolled(law, None, tilt)
    late = run.t > 1.5
    H = np.array([np.asarray(pose_from_state(row), dtype=float) for row in run["ball.pose"][late]])
    v = np.einsum("kij,kj->ki", H[:, :3, :3], run["ball.twist"][late, 3:])[:, 0]
    slope = np.polyfit(run.t[late], v, 1)[0]
    expected = G * (np.sin(tilt) - 0.3 * np.cos(tilt)) if slips else 5.0 / 7.0 * G * np.sin(tilt)
    assert slope == pytest.approx(expected, rel=1e-6)
    assert (run["touch.friction.mode"][-1] == 0.0) == (not slips)


def test_contact_laws_have_the_same_margin_before_slip() -> None:
    stiff = {"normal_stiffness": 1e6, "normal_damping": 1e3, "tangential_stiffness": 1e6, "tangential_damping": 1e3}
    tilt, left = 0.3, []
    for law in (Compliant(**stiff, friction=0.3), Impact(0.5, friction=0.3), ThreeState(50.0, 1000.0, friction=0.3)):
        run = rolled(law, ["v_x", "v_y", "v_z"], tilt)
        left.append(run["touch.friction excess"][-1])
        assert np.abs(run["touch.friction slip"][-1]).max() < 1e-12
    assert left == pytest.approx([2.0 / 7.0 * MASS * G * np.sin(tilt) - 0.3 * MASS * G * np.cos(tilt)] * 3, rel=1e-3)
    graph = dropped(Compliant(**stiff, friction=0.3), constrained=["v_x", "v_y", "v_z"])
    for law in (Impact(0.5, friction=0.3), ThreeState(50.0, 1000.0, friction=0.3)):
        graph.replace("touch", contact("touch", graph.parts["floor"], graph.parts["ball"], law=law))  # type: ignore[arg-type]
        assert graph.freeze().contacts[0].friction == "touch.friction cone.coefficient"


def test_friction_of_a_ball_that_drops_straight_does_nothing() -> None:
    for law in (Impact(0.5, friction=0.3), ThreeState(20.0, 100.0, friction=0.3)):
        omega, v = in_world(rolled(law, None, 0.0))
        assert np.abs(np.concatenate([omega, v[:2]])).max() < 1e-9


@pytest.mark.parametrize(
    ("law", "height"),
    [(Impact(0.5, friction=0.2), 0.0), (Impact(0.5, friction=0.2), 1e-12), (ThreeState(20.0, 100.0, friction=0.2), 1e-6)],
)
def test_a_sliding_ball_begins_to_roll(law: ContactLaw, height: float) -> None:
    """A ball that slides at the speed v with friction mu rolls after 2 v / (7 mu g), even if ever smaller bounces come first."""
    graph = dropped(law, height=height, spin=(0.0, 0.0, 0.0), along=1.0)
    run = simulate(graph, 0.4, samples=0.01, rtol=1e-10, progress=False)
    assert run.ok and run.ledger.relative_residual < 1e-9
    assert times(run, "stick") == pytest.approx([2.0 / (7.0 * 0.2 * G)], abs=1e-9 + 0.2 * np.sqrt(2.0 * height / G))
    assert in_world(run)[1][0] == pytest.approx(5.0 / 7.0, abs=1e-9)


FRICTION = 0.1
EVERY_KIND = (
    Compliant(normal_stiffness=1e6, normal_damping=300.0, tangential_stiffness=1e6, tangential_damping=300.0, friction=FRICTION),
    Impact(0.0, friction=FRICTION),
    ThreeState(20.0, 100.0, 1e6, friction=FRICTION),
    Rigid(friction=FRICTION),
)


def test_laws_with_friction_take_each_others_place() -> None:
    graph, floor, radius = Graph("spin"), ground("floor", surface=plane()), 0.1
    inertia, spin = 0.4 * 0.5 * radius**2, (3.0, 20.0, 0.0)
    start = {"position": (0.0, 0.0, radius + 0.02), "angular_velocity": spin, "gravity": (0.0, 0.0, -9.81)}
    ball = rigid_body("ball", mass=0.5, inertia=(inertia,) * 3, surface=sphere(radius), **start)
    touch = contact("touch", floor, ball, constrained=["v_x", "v_y", "v_z"], law=EVERY_KIND[0])
    attach_contact(graph, touch, floor, ball)
    for law in EVERY_KIND[1:]:
        graph.replace("touch", contact("touch", floor, ball, constrained=["v_x", "v_y", "v_z"], law=law))
        if law.stepping_only:
            run = stepper(graph, inertia="full", facets="cone").simulate(1.0, step=5e-3, progress=False)
        else:
            run = simulate(graph, 1.0, samples=0.01, progress=False)
        assert run.ok, law
        np.testing.assert_allclose(run["ball.twist"][-1, :2], np.array(spin[:2]) * 2.0 / 7.0, atol=1e-3, err_msg=repr(law))
        # While it slips, the force is at its limit, or the springs would exceed it; while it sticks, a margin remains.
        excess, late = run["touch.friction excess"], run.t > 0.9
        assert (isinstance(law, Compliant) or excess.max() < 1e-6) and excess[late].max() < -0.4, law
        assert np.abs(run["touch.friction slip"][late]).max() < 1e-6, law


def carriage(turn: tuple[float, float, float], law: ContactLaw) -> tuple[np.ndarray, list[str]]:
    """A planar arm falls on its carriage; no joint moves the tip sideways, so one component of the friction has no effect."""
    R = Rotation.from_rotvec(turn).as_matrix()
    at = [R @ point for point in np.array([(0.0, 0.0, 0.0), (0.1, 0.0, 0.5), (0.25, 0.0, 0.29)])]
    light, sizes = BodyInertia(0.5, np.diag([1e-3, 1.2e-3, 1.1e-3])), (0.3, 0.2, 0.1)
    slider = joints.prismatic(R[:, 0])
    links = (
        Link("slider", slider, BodyInertia(2.0, np.diag([0.02, 0.03, 0.04])), pose(R, at[0]), surface=ellipsoid(sizes)),
        Link("arm", joints.revolute(R[:, 1], R @ (0.0, 0.0, 0.5)), BodyInertia(1.0, 0.01 * np.eye(3)), pose(R, at[1])),
        Link("tip", joints.prismatic(R @ (0.6, 0.0, -0.8)), light, pose(R, at[2]), surface=sphere(0.05)),
    )
    arm = chain_graph(Chain("arm", links), ports=["slider", "tip"], gravity=R @ (0.0, 0.0, -G))
    graph = attach_contact(Graph("carriage").add(arm), contact("touch", arm.link("slider"), arm.link("tip"), law=law))
    run = simulate(graph, 0.6, samples=0.6, rtol=1e-9, max_events=100, progress=False)
    assert run.ok
    return np.asarray(run["arm.q"][-1]), [event.kind for event in run.events if not event.internal]


@pytest.mark.parametrize(
    ("law", "turns"),
    [
        (ThreeState(20.0, 100.0, 1e5, friction=0.3), [(0.0, 0.0, 0.0), (0.0, 0.4, 0.0)]),
        (Impact(0.0, friction=0.6), [(0.0, 0.4, 0.0), (0.3, -1.1, 0.7)]),
    ],
    ids=["three states", "impact"],
)
def test_a_planar_arm_sticks_to_its_carriage_in_any_frame(law: ContactLaw, turns: list[tuple[float, float, float]]) -> None:
    (first, kinds), (second, other_kinds) = (carriage(turn, law) for turn in turns)
    assert kinds == other_kinds and len(kinds) == 2
    np.testing.assert_allclose(second, first, rtol=1e-7)
