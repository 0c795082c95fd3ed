"""Joints between two bodies have closures with exact derivatives and decays, and motions in closed form."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.special import ellipj, ellipk
from screwbond.models.bodies import ground, rigid_body
from screwbond.models.joints import attach_joint, joint_graph

from bondgraph import C, Graph, Se
from screws import joints, poses, rotation
from tests.inner.models_joints import KINDS
from tests.models.joints.jointed import EYE, INERTIA, G, at, closed_pose, hinge, joint_of, numbers, pair, simulated

RNG = np.random.default_rng(5)


@pytest.mark.parametrize("kind", KINDS)
def test_closures_vanish_on_the_joints_motions_and_rows_are_their_derivatives(kind):
    """The derivative is dh/dt = W T even off the joint, and F is dual to the motions, on which W does no work."""
    joint, own = joint_of(kind), numbers(kind)
    q = RNG.uniform(-0.9, 0.9, size=joint.freedoms)
    H = closed_pose(joint, q)
    if kind != "free":
        assert np.abs(KINDS[kind].violation(H, *own)).max() < 1e-14
    balls = ("free", "spherical", "inline", "inplane", "rod")  # whose angles are not global coordinates
    if kind not in balls:
        assert np.allclose(np.ravel(KINDS[kind].coordinates(H, *own)) if joint.freedoms else [], q, atol=1e-13)
    step = 1e-6
    rates = [(closed_pose(joint, q + step * e) - closed_pose(joint, q - step * e)) / (2 * step) for e in np.eye(joint.freedoms)]
    motions = np.array([poses.vee(rate @ poses.inverse(H)) for rate in rates]).reshape(-1, 6).T
    F = np.atleast_2d(KINDS[kind].free(H, *own))
    if kind in ("free", "spherical"):
        assert np.array_equal(F, np.eye(6)[: len(F)])
    elif kind in balls:
        reference = np.atleast_2d(KINDS[kind].free(np.eye(4), *own))
        assert np.allclose(reference @ joint.seen_from(poses.inverse(joint.frame)).screws, np.eye(joint.freedoms), atol=1e-14)
        lengths = [k for k, screw in enumerate(joint.screws.T) if not np.any(screw[:3])]
        assert np.allclose((F @ motions)[lengths], np.eye(joint.freedoms)[lengths], atol=1e-9)
        assert np.allclose(KINDS[kind].coordinates(H, *own)[lengths], q[lengths], atol=1e-13)
        assert np.linalg.matrix_rank(np.vstack([F, KINDS[kind].constraint_matrix(H, *own)])) == 6
    elif joint.freedoms:
        assert np.allclose(F @ motions, np.eye(joint.freedoms), atol=1e-9)
    if kind != "free":
        assert np.allclose(KINDS[kind].constraint_matrix(H, *own) @ motions, 0.0, atol=1e-9)
        off, T = poses.exp(0.3 * RNG.normal(size=6)) @ H, RNG.normal(size=6)
        ahead, behind = (KINDS[kind].violation(poses.exp(s * T) @ off, *own) for s in (step, -step))
        assert np.allclose((ahead - behind) / (2 * step), KINDS[kind].constraint_matrix(off, *own) @ T, atol=1e-8)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "free"])
def test_a_start_off_the_joint_decays_exactly_and_the_frame_does_not_matter(kind):
    """h = (h0 + (h0' + 5 h0) t) exp(-5 t) for every closure, in any frame."""
    result = simulated(pair(kind), t_end=0.5)
    h, flow = (result[f"joint.{name}"].reshape(len(result.t), -1) for name in ("violation", "constraint.flow"))
    start = flow[0]
    t = result.t[:, None]
    assert np.abs(h[0]).max() > 1e-4 and np.abs(start).max() > 1e-3
    assert np.abs(h - (h[0] + (start + 5.0 * h[0]) * t) * np.exp(-5.0 * t)).max() < 1e-9
    turned = simulated(pair(kind, np.asarray(poses.exp(np.array([0.7, -1.1, 0.4, 2.0, 1.0, -3.0])), dtype=float)), t_end=0.5)
    assert np.abs(turned["joint.violation"].reshape(h.shape) - h).max() < 1e-9
    if kind != "fixed":
        assert np.abs(turned["joint.q"] - result["joint.q"]).max() < 1e-8
        assert np.abs(turned["joint.wrench"] - result["joint.wrench"]).max() < 1e-6


def test_free_bodies_with_a_free_joint_do_not_feel_it():
    result = simulated(pair("free"), t_end=0.5)
    fall = result["a.pose"][:, 4:]
    assert np.abs(result["joint.wrench"]).max() == 0.0
    t = result.t[:, None]
    assert np.abs(fall - (fall[0] + (fall[-1] - fall[0] - 0.5 * G * 0.25) * t / 0.5 + 0.5 * G * t * t)).max() < 1e-9


def test_pendulum_swings_with_the_elliptic_period():
    theta0, length, mass = 2.0, 0.3, 0.7
    graph, _ = hinge(theta0, length, mass)
    rate = np.sqrt(mass * 9.81 * length / (INERTIA[1] + mass * length**2))
    k = np.sin(theta0 / 2)
    period = 4.0 * ellipk(k * k) / rate
    result = simulated(graph, t_end=2.2 * period, samples=period / 100)
    sn = ellipj(ellipk(k * k) - rate * result.t, k * k)[0]
    assert np.abs(result["hinge.q"] - 2.0 * np.arcsin(k * sn)).max() < 1e-8
    assert np.abs(result["hinge.violation"]).max() < 1e-10
    stored = result.ledger.stored
    assert np.abs(stored - stored[0]).max() < 1e-9


def test_joint_force_at_rest_is_the_weight_and_a_motor_turns_its_joint():
    graph, joint = hinge()
    result = simulated(graph, t_end=0.1)
    # The joint's axes on the floor: z along -y of the world.
    R = np.asarray(joints.revolute((0, -1, 0)).frame, dtype=float)[:3, :3]
    wrench = result["hinge.wrench"][-1]
    assert np.allclose(R @ wrench[3:], [0, 0, 0.7 * 9.81], atol=1e-12) and np.allclose(wrench[:3], 0.0, atol=1e-12)
    graph, joint = hinge(gravity=0.0 * G)
    graph.connect(Se("motor", 0.05), joint.port("motion"))
    turning = simulated(graph, t_end=1e-3, samples=1e-4)
    expected = 0.05 / (INERTIA[1] + 0.7 * 0.09) * turning.t
    assert np.abs(turning["hinge.rate"] - expected).max() < 1e-9


def test_a_spring_at_the_motion_of_a_slider_oscillates():
    graph, floor = Graph("slider"), ground("floor")
    mass, stiffness = 0.5, 40.0
    carriage = rigid_body("carriage", mass=mass, inertia=INERTIA)
    joint = attach = joint_graph("slide", joints.prismatic((0.6, 0.0, 0.8)))
    attach_joint(graph, attach, floor, carriage)
    graph.connect(joint.port("motion"), C("spring", stiffness=stiffness, initial=0.02))
    result = simulated(graph, t_end=1.0)
    assert np.abs(result["slide.q"] + 0.02 - 0.02 * np.cos(np.sqrt(stiffness / mass) * result.t)).max() < 1e-9


def test_nut_turns_many_times_on_its_screw():
    """The nut falls with the inertia m p^2 + J."""
    graph, floor, pitch = Graph("screw"), ground("floor"), 0.01
    nut = rigid_body("nut", mass=0.7, inertia=INERTIA, gravity=G)
    attach_joint(graph, joint_graph("thread", joints.helical((0, 0, 1), pitch=pitch)), floor, nut)
    result = simulated(graph, t_end=3.0)
    rate = -0.7 * 9.81 * pitch / (0.7 * pitch**2 + INERTIA[2])
    assert result["thread.q"][-1] < -8 * np.pi
    assert np.abs(result["thread.q"] - 0.5 * rate * result.t**2).max() < 1e-7
    assert np.abs(result["thread.violation"]).max() < 1e-9


def test_double_pendulum_against_lagrange():
    l1, c1, c2, m1, m2, j1, j2 = 0.4, 0.2, 0.25, 0.6, 0.5, 8e-3, 1e-2
    a1, a2 = 1.2, 2.0

    def rates(t, x):
        p, q, u, v = x
        d = p - q
        M = [[j1 + m1 * c1**2 + m2 * l1**2, m2 * l1 * c2 * np.cos(d)], [m2 * l1 * c2 * np.cos(d), j2 + m2 * c2**2]]
        f = [
            -m2 * l1 * c2 * np.sin(d) * v * v - (m1 * c1 + m2 * l1) * 9.81 * np.sin(p),
            m2 * l1 * c2 * np.sin(d) * u * u - m2 * c2 * 9.81 * np.sin(q),
        ]
        return [u, v, *np.linalg.solve(M, f)]

    graph, floor = Graph("double"), ground("floor")

    def link(name, mass, moment, angle, position):
        q = (np.cos(angle / 2), 0, -np.sin(angle / 2), 0)
        return rigid_body(name, mass=mass, inertia=(moment, moment, 0.5 * moment), quaternion=q, position=position, gravity=G)

    elbow = np.array([l1 * np.sin(a1), 0, -l1 * np.cos(a1)])
    upper = link("upper", m1, j1, a1, 0.5 * elbow)
    lower = link("lower", m2, j2, a2, elbow + np.array([c2 * np.sin(a2), 0, -c2 * np.cos(a2)]))
    axis = joints.revolute((0, -1, 0))
    attach_joint(graph, joint_graph("shoulder", axis, frame_b=at(0, 0, c1)), floor, upper)
    attach_joint(graph, joint_graph("elbow", axis, frame_a=at(0, 0, c1 - l1), frame_b=at(0, 0, c2)), upper, lower)
    result = simulated(graph, t_end=1.5, rtol=1e-11)
    expected = solve_ivp(rates, (0, 1.5), [a1, a2, 0, 0], t_eval=result.t, rtol=1e-12, atol=1e-13, method="DOP853").y
    assert np.abs(result["shoulder.q"] - expected[0]).max() < 1e-8
    relative = result["elbow.q"] - (expected[1] - expected[0])
    assert np.abs((relative + np.pi) % (2 * np.pi) - np.pi).max() < 1e-8


def test_top_on_a_spherical_joint_against_eulers_equations_about_the_fixed_point():
    mass, arm = 0.7, np.array([0.03, -0.02, 0.12])
    J = np.diag(INERTIA) + mass * (arm @ arm * EYE - np.outer(arm, arm))
    spin, q0 = np.array([1.0, -2.0, 25.0]), np.array([0.9, 0.3, 0.1, 0.2]) / np.linalg.norm([0.9, 0.3, 0.1, 0.2])

    def rates(t, x):
        w, q = x[:3], x[3:]
        R = np.asarray(rotation(q), dtype=float)
        moment = np.cross(arm, R.T @ (mass * G))
        qw, qv = q[0], q[1:]
        return [*np.linalg.solve(J, moment - np.cross(w, J @ w)), -0.5 * qv @ w, *(0.5 * (qw * w + np.cross(qv, w)))]

    R0 = np.asarray(rotation(q0), dtype=float)
    tip = np.array([0.5, 0.2, 0.1])
    top = rigid_body(
        "top",
        mass=mass,
        inertia=INERTIA,
        centre_of_mass=arm,
        quaternion=q0,
        position=tip,
        gravity=G,
        velocity=R0 @ np.cross(spin, arm),
        angular_velocity=R0 @ spin,
    )
    graph = attach_joint(Graph("top"), joint_graph("tip", joints.spherical(), frame_a=at(*tip)), ground("floor"), top)
    result = simulated(graph, t_end=1.5, rtol=1e-11)
    x = solve_ivp(rates, (0, 1.5), [*spin, *q0], t_eval=result.t, rtol=1e-12, atol=1e-13, method="DOP853").y.T
    assert np.abs(result["top.twist"][:, :3] - x[:, :3]).max() < 1e-7
    expected = np.array([np.asarray(rotation(row[3:])) for row in x])
    found = np.array([np.asarray(rotation(row[:4])) for row in result["top.pose"]])
    assert np.abs(found - expected).max() < 1e-8


def test_a_point_on_a_line_or_in_a_plane_slides_down_and_a_rod_is_a_conical_pendulum():
    """A body held at its centre of mass moves like a point mass; on a rod it circles at w^2 = g / (L cos a)."""
    slope, graph, floor, spin = np.array([0.6, 0.0, -0.8]), Graph("points"), ground("floor"), np.array([0.0, 0.0, 3.0])
    length, tilt = 0.5, 0.7
    rate = np.sqrt(9.81 / (length * np.cos(tilt)))
    low = np.array([length * np.sin(tilt), 0.0, -length * np.cos(tilt)])
    made = {
        "line": (joints.inline(slope), (0, 0, 0), (0, 0, 0)),
        "plane": (joints.inplane((0.8, 0.0, 0.6)), (0, 0, 0), (0, 0, 0)),
        "rod": (joints.rod((0, 0, 0), low), low, (0, rate * low[0], 0)),
    }
    for name, (joint, place, velocity) in made.items():
        start = {"position": place, "velocity": velocity, "angular_velocity": spin}
        body = rigid_body(f"body {name}", mass=0.7, inertia=INERTIA, gravity=G, **start)
        attach_joint(graph, joint_graph(name, joint, frame_b=at(*-np.asarray(place))), floor, body)
    result = simulated(graph, t_end=1.0)
    t = result.t
    for name in ("line", "plane"):
        path = result[f"body {name}.pose"][:, 4:]
        assert np.abs(path - 0.5 * 9.81 * 0.8 * t[:, None] ** 2 * slope).max() < 1e-8
        assert np.abs(result[f"body {name}.twist"][:, :3] - spin).max() < 1e-8
    assert np.abs(result["line.q"][:, 0] - 0.5 * 9.81 * 0.8 * t**2).max() < 1e-8
    force, arm = np.array([0.0, 0.0, 0.7 * 9.81 * 0.6]), np.pad(result["plane.q"][:, :2], ((0, 0), (0, 1)))
    assert np.abs(result["plane.wrench"] - np.hstack([np.cross(arm, force), np.tile(force, (len(t), 1))])).max() < 1e-8
    circle = np.column_stack([low[0] * np.cos(rate * t), low[0] * np.sin(rate * t), np.full(len(t), low[2])])
    assert np.abs(result["body rod.pose"][:, 4:] - circle).max() < 1e-7
    assert np.abs(np.abs(result["rod.multiplier"]) - 0.7 * 9.81 / np.cos(tilt)).max() < 1e-6
