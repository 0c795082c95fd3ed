"""Friction in the contact component agrees with closed forms, stays in its cone, and sticks exactly."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
from screwbond.models.bodies import ground, rigid_body
from screwbond.models.contacts import attach_contact, contact

from bondgraph import Graph, compile_model
from bondgraph.errors import ModelError
from screws.rotations import quaternion_product, rotation
from screws.surfaces import egg, plane, sphere
from tests.inner.models_two_bodies import read_scenario, run_scenario
from tests.models.cases import EGG, PLANE, fixed, free, frictionless, rolling, scenario, uniform, unit
from tests.models.cases import sphere as ball_surface

G, R, M, MU = 9.81, 0.02, 0.1, 0.3
LYING = (np.sqrt(0.5), -np.sqrt(0.5), 0.0, 0.0)
HALF = {"constrained": "rolling", "rotational_stiffness": 1.0, "rotational_damping": 1e-3}


def ball_on_a_plane(
    k: float = 1e5,
    c: float = 60.0,
    *,
    v0: float = 1.0,
    spin: tuple[float, float, float] = (0.0, 0.0, 0.0),
    height: float = 0.0,
    tilt: float = 0.0,
    friction: float | None = MU,
    quaternion: tuple[float, ...] = LYING,
    turned: np.ndarray | None = None,
    moved: np.ndarray | None = None,
    **law: float,
):
    q = np.array([1.0, 0, 0, 0]) if turned is None else turned
    A, p = np.asarray(rotation(q), dtype=float), np.zeros(3) if moved is None else moved
    graph = Graph("ball on a plane")
    floor = ground("floor", surface=plane(), quaternion=q, position=p)
    depth = 0.0 if height else M * G * np.cos(tilt) / k
    ball = rigid_body(
        "ball",
        mass=M,
        inertia=[0.4 * M * R * R] * 3,
        surface=sphere(R),
        position=A @ [0.0, 0.0, R + height - depth] + p,
        quaternion=np.asarray(quaternion_product(q, np.asarray(quaternion)), dtype=float),
        velocity=A @ [v0, 0.0, 0.0],
        angular_velocity=A @ np.asarray(spin),
        gravity=A @ [G * np.sin(tilt), 0.0, -G * np.cos(tilt)],
    )
    options = {**HALF, "normal_stiffness": k, "normal_damping": c, "tangential_stiffness": k, "tangential_damping": c, **law}
    touching = contact("contact", floor, ball, **options, friction=friction)
    attach_contact(graph, touching, floor, ball)
    return compile_model(graph)


def times(result, kind: str) -> list[float]:
    return [event.time for event in result.events if event.kind == kind]


def tangential(result) -> np.ndarray:
    return np.hypot(*result["contact.wrench"][:, 3:5].T)


@pytest.mark.parametrize("k", [1e4, 1e6])
def test_a_sliding_ball_begins_to_roll(k):
    """The ball rolls at 5/7 v0 from t = 2 v0 / (7 mu g), and loses 1/7 m v0^2.

    This is exact for any stiffness, because during slip the force is mu N whatever the deflection.
    """
    compiled = ball_on_a_plane(k, 60.0 * np.sqrt(k / 1e5))
    end = 2.0 / (7.0 * MU * G)
    result = compiled.simulate(2.0 * end, samples=end / 50, rtol=1e-10, progress=False)
    assert times(result, "slip") == [0.0]
    (stuck,) = times(result, "stick")
    assert stuck == pytest.approx(end, rel=1e-8)
    assert np.linalg.norm(result["ball.twist"][-1, 3:]) == pytest.approx(5.0 / 7.0, rel=1e-6)
    assert abs(result["ball.twist"][-1, 2]) * R == pytest.approx(5.0 / 7.0, rel=1e-6)
    ledger = result.ledger
    assert ledger.dissipated[-1] == pytest.approx(M / 7.0, rel=1e-6) and ledger.relative_residual < 1e-9
    late = result.t < end
    slope = np.polyfit(result.t[late], np.linalg.norm(result["ball.twist"][late, 3:], axis=1), 1)[0]
    assert slope == pytest.approx(-MU * G, rel=1e-8)


def test_a_ball_with_side_spin_slips_along_a_parabola():
    """The slip u0 - 7/2 mu g t e keeps its direction, and then the ball rolls with v0 - 2/7 u0 (Coriolis 1835).

    This is exact under parallel transport of the spring.
    """
    errors = _side_spin((1e5, 1e7), "parallel")
    assert np.all(errors < 1e-9)


def test_a_spring_in_the_axes_of_c2_bends_the_parabola():
    """In the paper's literal law the spring turns with the axes of C2, with an error that decreases with mu N / k."""
    sizes = _side_spin((1e5, 1e6, 1e7), "gauss")
    assert np.all(sizes[0] > 5.0 * sizes[1]) and np.all(sizes[1] > 5.0 * sizes[2]) and np.all(sizes[2] < 1e-7)


def _side_spin(stiffnesses: tuple[float, ...], transport: str) -> np.ndarray:
    """Return, for each stiffness, the relative error of the end of slip, and the largest position error (m)."""
    spin, v0 = (-30.0, 10.0, 0.0), 0.8
    slip = np.array([v0 - R * spin[1], R * spin[0]])
    errors = []
    for k in stiffnesses:
        compiled = ball_on_a_plane(
            k,
            60.0 * np.sqrt(k / 1e5),
            v0=v0,
            spin=spin,
            constrained=["v_x", "v_y", "v_z"],
            quaternion=(1.0, 0, 0, 0),
            transport=transport,
        )
        for mu in (0.1, 0.3):
            end = 2.0 * np.linalg.norm(slip) / (7.0 * mu * G)
            result = compiled.simulate(
                1.2 * end, samples=end / 50, rtol=1e-10, progress=False, parameters={"contact.friction cone.coefficient": mu}
            )
            (stuck,) = times(result, "stick")
            place, t = result["ball.pose"][:, 4:6], result.t[:, None]
            parabola = np.array([v0, 0.0]) * t - 0.5 * mu * G * t**2 * slip / np.linalg.norm(slip)
            errors.append([stuck / end - 1.0, np.abs(place - parabola)[result.t <= end].max()])
            last = (place[-1] - place[-2]) / (result.t[-1] - result.t[-2])
            assert last == pytest.approx(np.array([v0, 0.0]) - 2.0 / 7.0 * slip, abs=1e-4)
    return np.abs(errors).reshape(len(stiffnesses), 2, 2).max(axis=1)


@pytest.mark.parametrize("angle", [15.0, 40.0, 60.0])
def test_ball_on_an_incline(angle):
    """The ball rolls with 5/7 g sin a where 2/7 tan a < mu, and otherwise slips with g (sin a - mu cos a)."""
    theta = np.radians(angle)
    rolls = 2.0 / 7.0 * np.tan(theta) < MU
    result = ball_on_a_plane(v0=0.0, tilt=theta).simulate(0.4, samples=0.01, rtol=1e-10, progress=False)
    late = result.t > 0.2
    speed, spin = np.linalg.norm(result["ball.twist"][:, 3:], axis=1), np.abs(result["ball.twist"][:, 2])
    slopes = [np.polyfit(result.t[late], values[late], 1)[0] for values in (speed, spin)]
    across = 5.0 / 7.0 * G * np.sin(theta) if rolls else G * (np.sin(theta) - MU * np.cos(theta))
    turning = across / R if rolls else 2.5 * MU * G * np.cos(theta) / R
    assert slopes == pytest.approx([across, turning], rel=1e-7)
    assert result["contact.friction.mode"][-1] == (1.0 if rolls else 2.0)
    assert result.ledger.relative_residual < 1e-9


def test_torsional_friction_stops_a_spinning_top():
    """The torque is N times the limit until t = J w0 / (limit m g); then the spring holds the ball."""
    limit, spin = 1e-3, 10.0
    compiled = ball_on_a_plane(v0=0.0, spin=(0.0, 0.0, spin), friction=None, torsional_friction=limit)
    result = compiled.simulate(0.3, samples=0.01, rtol=1e-10, progress=False)
    (stuck,) = times(result, "torsional stick")
    assert stuck == pytest.approx(0.4 * M * R * R * spin / (limit * M * G), rel=1e-8)
    slips = result["contact.torsional friction.mode"] == 2.0
    torque = np.abs(result["contact.wrench"][:, 2])
    assert np.abs(torque[slips] / (limit * M * G) - 1.0).max() < 1e-8
    assert result.ledger.relative_residual < 1e-9


BOUNCE = {
    "k": 1e5,
    "c": 20.0,
    "height": 0.05,
    "v0": 0.6,
    "spin": (3.0, -60.0, 25.0),
    "quaternion": unit((0.8, 0.6, 0.3, 0.1)),
    "friction": 0.15,
    "torsional_friction": 5e-4,
}


def bounce(rtol: float = 1e-9, samples: float = 5e-4, **more):
    return ball_on_a_plane(**{**BOUNCE, **more}).simulate(0.6, samples=samples, rtol=rtol, progress=False)


def test_the_cone_holds_at_every_sample():
    """In stick, |f| <= mu N, and in slip, |f| = mu N along the slip."""
    result = bounce(samples=2e-5)
    mode, f, N = result["contact.friction.mode"], tangential(result), result["contact.normal force"]
    u, wrench = result["contact.friction slip"], result["contact.wrench"]
    assert all((mode == m).sum() > 20 for m in (0.0, 1.0, 2.0))
    assert np.abs(N - result["contact.wrench"][:, 5]).max() < 1e-12 * N.max()
    slips = mode == 2.0
    assert np.abs(f - 0.15 * N)[slips].max() < 1e-12 * f.max()
    along = np.sum(u * wrench[:, 3:5], axis=1)[slips]
    assert (
        along.min() > -1e-12 * along.max()
        and np.abs(along - f[slips] * np.linalg.norm(u, axis=1)[slips]).max() < 1e-12 * along.max()
    )
    assert (f - 0.15 * N)[~slips].max() <= 0.0 and np.all(u[~slips] == 0.0)
    assert np.all(f[mode == 0.0] == 0.0) and np.all(N[mode == 0.0] == 0.0)
    turns = result["contact.torsional friction.mode"]
    torque = np.abs(wrench[:, 2])
    assert np.abs(torque - 5e-4 * N)[turns == 2.0].max() < 1e-12 * torque.max()
    assert (torque - 5e-4 * N)[turns != 2.0].max() <= 1e-15
    assert np.all(np.diff(result.ledger.dissipated) > -1e-13 * result.ledger.in_play)


def test_a_contact_that_never_slips_is_the_contact_without_a_limit():
    runs = [
        ball_on_a_plane(v0=0.1, spin=(0, 5.0, 2.0), tilt=0.1, friction=mu).simulate(
            0.3, samples=0.005, rtol=1e-11, progress=False
        )
        for mu in (None, 0.9)
    ]
    free_run, limited = runs
    for name in ("ball.pose", "ball.twist", "contact.wrench", "contact.spring.q"):
        assert np.abs(free_run[name] - limited[name]).max() < 1e-9 * np.abs(free_run[name]).max(), name
    assert limited.events == () and np.all(limited["contact.friction slip"] == 0.0)
    assert np.all(limited["contact.friction slider.power"] == 0.0)
    assert limited["contact.friction excess"].max() < 0.0 < tangential(limited).max()


def test_nothing_creeps_below_the_limit():
    """On a slope, a steady tangential force of 0.99 mu N deflects the spring without slip."""
    theta = np.arctan(3.5 * MU * 0.99)
    compiled = ball_on_a_plane(v0=0.0, tilt=theta, friction=MU, c=200.0)
    result = compiled.simulate(1.0, samples=0.01, rtol=1e-10, progress=False)
    share = tangential(result) / (MU * result["contact.normal force"])
    assert share[-1] == pytest.approx(0.99, rel=1e-6)
    late = result.t > 0.2
    assert np.all(result["contact.friction slip"][late] == 0.0)
    stretch = np.linalg.norm(result["contact.spring.q"][late, 1:3], axis=1)
    assert np.ptp(stretch) < 1e-6 * stretch.max() and stretch.max() > 1e-7


def test_switching_times_converge_with_the_tolerance():
    reference = bounce(1e-12).events
    assert len(reference) > 20
    for rtol in (1e-5, 1e-7, 1e-9):
        events = bounce(rtol).events
        assert [event.kind for event in events] == [event.kind for event in reference]
        assert max(abs(one.time - two.time) for one, two in zip(events, reference, strict=True)) < 20.0 * rtol


def test_ledger_and_solvers():
    result = bounce()
    assert result.failure is None and result.ledger.relative_residual < 1e-9
    other = ball_on_a_plane(**BOUNCE).simulate(0.6, samples=5e-4, rtol=1e-10, method="rodas5p", progress=False)
    assert np.abs(other["ball.pose"][-1] - result["ball.pose"][-1]).max() < 1e-7
    assert [e.kind for e in other.events] == [e.kind for e in result.events]


def test_frame_invariance():
    turned = np.asarray(unit((0.3, -0.5, 0.7, 0.2)))
    moved = np.array([0.4, -1.1, 0.6])
    here, there = bounce(1e-11), bounce(1e-11, turned=turned, moved=moved)
    A = np.asarray(rotation(turned), dtype=float)
    assert np.abs(here["ball.pose"][:, 4:] @ A.T + moved - there["ball.pose"][:, 4:]).max() < 1e-8
    assert [e.kind for e in here.events] == [e.kind for e in there.events]
    assert max(abs(a.time - b.time) for a, b in zip(here.events, there.events, strict=True)) < 1e-9


def test_without_friction_coefficient_it_is_frictionless():
    result = ball_on_a_plane(friction=0.0).simulate(0.1, rtol=1e-10, progress=False)
    assert np.linalg.norm(result["ball.twist"][-1, 3:]) == pytest.approx(1.0, rel=1e-12)
    assert [event.kind for event in result.events] == ["slip"]


def test_an_egg_slips_over_poles():
    graph = Graph("egg on a plane")
    floor = ground("floor", surface=plane())
    body = rigid_body(
        "egg",
        mass=0.06,
        inertia=(1.5e-5, 1.5e-5, 1.25e-5),
        surface=egg(0.035, 0.084, 0.0104),
        gravity=(0, 0, -G),
        position=(0, 0, 0.0283),
        velocity=(0.5, 0.1, 0),
        angular_velocity=(2.0, 8.0, 5.0),
    )
    law = {"normal_stiffness": 2e4, "normal_damping": 5.0, "tangential_stiffness": 2e4, "tangential_damping": 5.0}
    attach_contact(graph, contact("contact", floor, body, **HALF, **law, friction=0.2, torsional_friction=1e-3), floor, body)
    result = compile_model(graph).simulate(1.0, samples=1e-3, rtol=1e-9, progress=False)
    kinds = [event.kind for event in result.events]
    assert result.failure is None and result.ledger.relative_residual < 1e-9
    assert any(kind.startswith("chart of surface 2") for kind in kinds) and kinds.count("slip") > 3
    sides = result.at_events("contact.friction cone.excess")
    for before, after, event in zip(*sides, result.events, strict=True):
        if event.kind.startswith("chart") and event.m_before.sum() > 0:
            assert before == pytest.approx(after, abs=1e-9)


# --- scenario files -------------------------------------------------------------------------------------------------


def sliding_scenario(**law):
    body = free(ball_surface(0.02), 0.1, (0, 0, 0.02 - 0.1 * G / 1e5), LYING, v=(1.0, 0, 0))
    given = {**rolling(1e5, 60.0, 1e5, 60.0, 1.0, 1e-3), **law}
    return scenario(0.2, 0.002, fixed(PLANE), body, given, uniform(0, 0, -G))


def test_scenario_with_friction():
    run = run_scenario(sliding_scenario(friction=MU), progress=False)
    assert np.linalg.norm(run.trajectory["v2"][-1]) == pytest.approx(5.0 / 7.0, rel=1e-6)
    counted = run.summary()["events"]
    assert counted["slip"] == counted["stick"] == 1 and counted["chart switches"] == 0
    plain = run_scenario(sliding_scenario(), progress=False)
    assert "slip" not in plain.summary()["events"] and "contact.friction.mode" not in plain.result.program.layout


@pytest.mark.parametrize(
    ("law", "code", "words"),
    [
        ({"friction": -0.1}, "E407", "contact.friction"),
        ({"friction": "much"}, "E405", "contact.friction"),
        ({"friction": 0.3, "r_t": 0.0}, "E412", "r_t"),
        ({"friction": 0.3, "constrained": ["v_z"]}, "E412", "v_x"),
        ({"torsional_friction": 1e-3, "r_w": 0.0}, "E412", "r_w"),
        ({"frictoin": 0.3}, "E404", "friction"),
    ],
)
def test_scenario_refusals(tmp_path, law, code, words):
    given = {
        "t_end": 0.1,
        "sample_dt": 0.01,
        "body1": fixed(EGG),
        "body2": free(ball_surface(0.02), 0.1, (0, 0, 0.1)),
        "contact": {**rolling(1e5, 60.0, 1e5, 60.0, 1.0, 1e-3), **law},
    }
    path = tmp_path / "case.json"
    path.write_text(json.dumps(given))
    with pytest.raises(ModelError) as caught:
        read_scenario(path)
    assert any(p.code == code and words in str(p) for p in caught.value.problems)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"friction": -0.1}, "E490"),
        ({"friction": float("nan")}, "E490"),
        ({"friction": "much"}, "E490"),
        ({"friction": 0.3, "constrained": "sliding", "rotational_damping": 1.0}, "E491"),
        ({"friction": 0.3, "constrained": ["v_x", "v_y"]}, "E491"),
        ({"friction": 0.3, "c": 0.0}, "E492"),
        ({"friction": None, "torsional_friction": 1e-3, "rotational_damping": 0.0}, "E492"),
        ({"friction": None, "torsional_friction": 1e-3, "constrained": ["v_x", "v_y", "v_z"]}, "E491"),
    ],
)
def test_refusals(arguments, code):
    with pytest.raises(ModelError) as caught:
        ball_on_a_plane(**arguments)
    assert [problem.code for problem in caught.value.problems] == [code]


def test_frictionless_scenarios_have_no_part_in_it():
    given = scenario(0.1, 0.01, fixed(PLANE), free(ball_surface(0.02), 0.1, (0, 0, 0.1)), frictionless(1e4), uniform(0, 0, -G))
    assert given.contact.friction is None and dataclasses.replace(given.contact, friction=0.3) != given.contact


@pytest.mark.parametrize("damping", [0.0, 10.0])
@pytest.mark.parametrize("turned", [None, (0.5, 0.1, -0.7, 0.5)])
def test_a_straight_drop_has_no_slip(turned, damping):
    q = None if turned is None else np.array(turned) / np.linalg.norm(turned)
    result = ball_on_a_plane(v0=0.0, height=0.01, turned=q, normal_damping=damping).simulate(0.2, progress=False)
    kinds = [event.kind for event in result.events]
    assert kinds[:4] == ["contact on", "friction on", "contact off", "friction off"] and len(kinds) >= 6
    assert set(kinds) == set(kinds[:4])
