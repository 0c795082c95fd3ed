"""Joints between rigid bodies: closed forms, independent equations, exact decay of what is off, closed loops."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.special import ellipj, ellipk

from bondgraph import J0, J1, C, Constraint, Graph, I, ModelError, Se, compile_model
from models.bodies import ground, prescribed_body, rigid_body
from models.joints import attach_joint, joint_graph
from models.joints.kinds import KINDS
from screws import joints, poses, rotation
from screws.errors import GeometryError
from screws.poses import pose, pose_state
from screws.rotations import quaternion

RNG = np.random.default_rng(5)
G = np.array([0.0, 0.0, -9.81])
INERTIA = (2e-3, 3e-3, 4.5e-3)
PSI, PITCH = 1.1, 0.03
EYE = np.eye(3)


def at(*point):
    return pose(EYE, point)


def numbers(kind):
    return {"universal": (PSI,), "helical": (PITCH,)}.get(kind, ())


def joint_of(kind):
    """Each kind along an oblique axis through a point away from the origin."""
    axis, point = np.array([0.36, 0.48, 0.8]), np.array([0.1, -0.2, 0.15])
    other = np.cos(PSI) * axis + np.sin(PSI) * np.array([0.8, -0.6, 0.0])
    return {
        "revolute": lambda: joints.revolute(axis, point),
        "prismatic": lambda: joints.prismatic(axis),
        "helical": lambda: joints.helical(axis, point, PITCH),
        "cylindrical": lambda: joints.cylindrical(axis, point),
        "universal": lambda: joints.universal(axis, other, point),
        "spherical": lambda: joints.spherical(point),
        "planar": lambda: joints.planar(axis, point),
        "free": joints.free,
        "fixed": joints.fixed,
    }[kind]()


def simulated(graph, t_end=2.0, samples=0.02, rtol=1e-10, **more):
    result = compile_model(graph).simulate(t_end, samples=samples, rtol=rtol, progress=False, **more)
    assert result.ok, result
    return result


def closed_pose(joint, q):
    """H_A_B in the joint's axes after the motions q, each about its screw, in series."""
    H = np.eye(4)
    for k in range(joint.freedoms):
        H = H @ poses.exp(joint.screws[:, k] * q[k])
    return np.asarray(poses.inverse(joint.frame) @ H @ joint.frame, dtype=float)


@pytest.mark.parametrize("kind", KINDS)
def test_closures_vanish_on_the_joints_motions_and_rows_are_their_derivatives(kind):
    """h = 0 along products of exponentials; dh/dt = W T off the joint too, to the error of central differences; F is dual to
    the motions and W without power on them."""
    joint, own = joint_of(kind), numbers(kind)
    q = RNG.uniform(-0.9, 0.9, size=joint.freedoms)
    H = closed_pose(joint, q)
    if kind != "free":
        assert np.abs(KINDS[kind].violation(H, *own)).max() < 1e-14
    if kind not in ("free", "spherical"):
        assert np.allclose(np.ravel(KINDS[kind].coordinates(H, *own)) if joint.freedoms else [], q, atol=1e-13)
    step = 1e-6
    rates = [(closed_pose(joint, q + step * e) - closed_pose(joint, q - step * e)) / (2 * step) for e in np.eye(joint.freedoms)]
    motions = np.array([poses.unhat(rate @ poses.inverse(H)) for rate in rates]).reshape(-1, 6).T
    F = np.atleast_2d(KINDS[kind].free(H, *own))
    if kind in ("free", "spherical"):
        assert np.array_equal(F, np.eye(6)[: len(F)])
    elif joint.freedoms:
        assert np.allclose(F @ motions, np.eye(joint.freedoms), atol=1e-9)
    if kind != "free":
        assert np.allclose(KINDS[kind].held(H, *own) @ motions, 0.0, atol=1e-9)
        off, T = poses.exp(0.3 * RNG.normal(size=6)) @ H, RNG.normal(size=6)
        ahead, behind = (KINDS[kind].violation(poses.exp(s * T) @ off, *own) for s in (step, -step))
        assert np.allclose((ahead - behind) / (2 * step), KINDS[kind].held(off, *own) @ T, atol=1e-8)


def pair(kind, turn=None, off=True, gravity=G):
    """Two bodies in free fall with any speeds, joined by a joint that is off; the whole seen from another frame."""
    rng = np.random.default_rng(3)
    joint = joint_of(kind)
    frame_a, frame_b = (np.asarray(poses.exp(0.4 * rng.normal(size=6)), dtype=float) for _ in range(2))
    H_0_a = np.asarray(poses.exp(rng.normal(size=6)), dtype=float)
    q = rng.uniform(-0.5, 0.5, size=joint.freedoms)
    H_j = joint.frame @ closed_pose(joint, q) @ poses.inverse(joint.frame)
    miss = poses.exp(1e-3 * rng.normal(size=6)) if off else np.eye(4)
    H_0_b = np.asarray(H_0_a @ frame_a @ miss @ H_j @ poses.inverse(frame_b), dtype=float)
    v_a, w_a, v_b, w_b = rng.normal(size=(4, 3))
    Q = np.eye(4) if turn is None else turn
    graph = Graph("pair")
    bodies = []
    turned = Q[:3, :3]
    for name, H, v, w in (("a", Q @ H_0_a, v_a, w_a), ("b", Q @ H_0_b, v_a + 0.02 * v_b, w_a + 0.02 * w_b)):
        start = {
            "position": H[:3, 3],
            "quaternion": quaternion(H[:3, :3]),
            "velocity": turned @ v,
            "angular_velocity": turned @ w,
        }
        bodies.append(rigid_body(name, mass=0.7, inertia=INERTIA, gravity=turned @ gravity, **start))
    tie = joint_graph("joint", joint, frame_a=frame_a, frame_b=frame_b, closing="smooth" if off else "impulse")
    return attach_joint(graph, tie, *bodies)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "free"])
def test_a_start_off_the_joint_decays_exactly_and_the_frame_does_not_matter(kind):
    """h = (h0 + (h0' + 5 h0) t) exp(-5 t) for every closure, in any frame, to 1e-9."""
    result = simulated(pair(kind), t_end=1.0)
    h, start = result["joint.violation"], result["joint.constraint.flow"][0]
    t = result.t[:, None]
    assert np.abs(h[0]).max() > 1e-4 and np.abs(start).max() > 1e-3
    assert np.abs(h - (h[0] + (start + 5.0 * h[0]) * t) * np.exp(-5.0 * t)).max() < 1e-9
    turned = simulated(pair(kind, np.asarray(poses.exp(np.array([0.7, -1.1, 0.4, 2.0, 1.0, -3.0])), dtype=float)), t_end=1.0)
    assert np.abs(turned["joint.violation"] - h).max() < 1e-9
    if kind != "fixed":
        assert np.abs(turned["joint.q"] - result["joint.q"]).max() < 1e-8
        assert np.abs(turned["joint.wrench"] - result["joint.wrench"]).max() < 1e-6


def test_free_bodies_with_a_free_joint_do_not_feel_it():
    result = simulated(pair("free"), t_end=0.5)
    fall = result["a.pose"][:, 4:]
    assert np.abs(result["joint.wrench"]).max() == 0.0
    t = result.t[:, None]
    assert np.abs(fall - (fall[0] + (fall[-1] - fall[0] - 0.5 * G * 0.25) * t / 0.5 + 0.5 * G * t * t)).max() < 1e-9


def hinge(theta=0.0, length=0.3, mass=0.7, gravity=G):
    """Pendulum about the y axis of the world; theta from hanging."""
    graph, floor = Graph("pendulum"), ground("floor")
    half = -0.5 * theta
    bob = rigid_body(
        "bob",
        mass=mass,
        inertia=INERTIA,
        quaternion=(np.cos(half), 0, np.sin(half), 0),
        gravity=gravity,
        position=(length * np.sin(theta), 0, -length * np.cos(theta)),
    )
    joint = joint_graph("hinge", joints.revolute((0, -1, 0)), frame_b=at(0, 0, length))
    return attach_joint(graph, joint, floor, bob), joint


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
    """A nut that falls along a fixed vertical screw: m p^2 + J is its inertia, and the angle counts whole turns."""
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


def bar(name, start, end, mass=0.4, **more):
    """Slender bar in the plane of x and z, its x axis from start to end, its frame at the middle."""
    start, end = np.array([start[0], 0, start[1]]), np.array([end[0], 0, end[1]])
    length = float(np.linalg.norm(end - start))
    angle = -np.arctan2(end[2] - start[2], end[0] - start[0])
    moment = mass * length**2 / 12
    quaternion = (np.cos(angle / 2), 0, np.sin(angle / 2), 0)
    inertia = (1e-4, moment + 1e-4, moment + 1e-4)
    body = rigid_body(name, mass=mass, inertia=inertia, position=(start + end) / 2, quaternion=quaternion, gravity=G, **more)
    return body, at(-length / 2, 0, 0), at(length / 2, 0, 0), quaternion


PINS = {"y": joints.revolute((0, -1, 0)), "u": joints.universal((0, -1, 0), (0, 0, 1)), "s": joints.spherical()}


def four_bar(kinds="yusy", **more):
    """Ground, crank (0.1), coupler (0.3), rocker (0.25): corners at (0, 0), (0, .1), closing over a base of 0.32."""
    corners = [np.zeros(2), np.array([0.0, 0.1])]
    base = np.array([0.32, 0.0])
    across = base - corners[1]
    d = np.linalg.norm(across)
    along = (d**2 + 0.3**2 - 0.25**2) / (2 * d)
    normal = np.array([-across[1], across[0]]) / d
    corners += [corners[1] + across / d * along + normal * np.sqrt(0.3**2 - along**2), base]
    graph, floor = Graph("four-bar"), ground("floor")
    crank, coupler, rocker = (bar(n, corners[k], corners[k + 1]) for k, n in enumerate(("crank", "coupler", "rocker")))
    names = ("A", "B", "C", "D")
    turned = [np.asarray(rotation(part[3]), dtype=float) for part in (crank, coupler, rocker)]
    # Joint frames with the axes of the world at the start.
    ends = [
        (floor, at(0, 0, 0), crank[0], pose(turned[0].T, crank[1][:3, 3])),
        (crank[0], pose(turned[0].T, crank[2][:3, 3]), coupler[0], pose(turned[1].T, coupler[1][:3, 3])),
        (coupler[0], pose(turned[1].T, coupler[2][:3, 3]), rocker[0], pose(turned[2].T, rocker[1][:3, 3])),
        (rocker[0], pose(turned[2].T, rocker[2][:3, 3]), floor, at(base[0], 0, 0)),
    ]
    for name, kind, (a, frame_a, b, frame_b) in zip(names, kinds, ends, strict=True):
        joint = joint_graph(name, PINS[kind], frame_a=frame_a, frame_b=frame_b, **more)
        attach_joint(graph, joint, a, b)
    return graph


@cache
def closed_loop():
    """The compiled four-bar that is just closed."""
    return compile_model(four_bar())


def test_closed_four_bar_keeps_its_energy_and_closes():
    result = closed_loop().simulate(2.0, samples=0.02, rtol=1e-10, progress=False)
    assert result.ok
    assert not result.statistics.rounding.states  # what moves out of the plane by rounding alone is no motion
    stored = result.ledger.stored
    assert np.abs(stored - stored[0]).max() < 1e-9
    for joint in "ABCD":
        assert np.abs(result[f"{joint}.violation"]).max() < 1e-10
    assert np.ptp(result["A.q"]) > 1.0
    # The crank angle alone gives the rocker's (law of cosines on the diagonal), an independent closure.
    tip = np.array([0.1 * np.sin(-result["A.q"]), 0.1 * np.cos(result["A.q"])])
    pin = result["rocker.pose"][:, [4, 6]] * 2 - np.array([0.32, 0.0])
    assert np.abs(np.linalg.norm(pin.T - tip, axis=0) - 0.3).max() < 1e-9


def test_start_velocities_that_do_not_fit_a_loop_are_refused_and_the_advice_works():
    """The crank alone is given a momentum: refused. A joint's rate that is kept gives all others, by the loop's own closure."""
    compiled = closed_loop()
    pushed = {"crank.inertia.p": [0.0, 0.01, 0.0, 0.0, 0.0, 0.0]}
    with pytest.raises(ModelError, match="E455") as refused:
        compiled.simulate(1.0, initial=pushed)
    assert "of motion" in str(refused.value) and '"A.constraint"' in str(refused.value)
    started = compiled.consistent(keep={"A.rate": 2.0})
    result = compiled.simulate(0.3, initial=started, rtol=1e-10, samples=0.01, progress=False)
    assert result.ok and abs(result["A.rate"][0] - 2.0) < 1e-12
    assert np.abs(result.ledger.injected).max() < 1e-9 * result.ledger.in_play
    # Both ends of the coupler move alike along it: the rate of the rocker by hand.
    tip, base = np.array([0.0, 0.1]), np.array([0.32, 0.0])
    pin = 2.0 * result["rocker.pose"][0, [4, 6]] - base
    along, across = pin - tip, np.array([[0.0, -1.0], [1.0, 0.0]])
    by_hand = 2.0 * (across @ tip) @ along / ((across @ (pin - base)) @ along)
    assert abs(result["D.rate"][0]) == pytest.approx(abs(by_hand), rel=1e-9)
    nearest = compiled.consistent(pushed)
    whole = compiled.simulate(0.1, initial=nearest, samples=0.1, progress=False)
    assert whole.ok and whole["A.rate"][0] != 0.0
    for keep in ({"A.rate": 2.0, "D.rate": 2.0}, ["crank"]):
        with pytest.raises(ModelError, match="E432"):
            compiled.consistent(pushed, keep=keep)
    with pytest.raises(ModelError, match="E122"):
        compiled.consistent(keep=["nobody"])


def test_the_nearest_velocities_are_those_of_an_impulse():
    """Two discs that are locked to each other share their spin; in any unit of inertia."""
    for unit in (1.0, 1e-9, 1e9):
        graph, slip = Graph("discs"), J0("slip")
        for name, inertia, spin in (("a", 2.0, 6.0), ("b", 1.0, 0.0)):
            shaft = J1(f"shaft {name}")
            graph.connect(shaft, I(f"disc {name}", inertia * unit, initial=inertia * spin * unit))
            graph.connect(shaft, slip) if name == "a" else graph.connect(slip, shaft)
        graph.connect(slip, Constraint("lock", holds="velocity"))
        compiled = compile_model(graph, backend="numpy")
        with pytest.raises(ModelError, match="E455"):
            compiled.simulate(1.0)
        found = compiled.consistent()
        np.testing.assert_allclose([found["disc a.p"], found["disc b.p"]], [8.0 * unit, 4.0 * unit], rtol=1e-9)
        found = compiled.consistent(keep=["disc a.p"])
        np.testing.assert_allclose([found["disc a.p"], found["disc b.p"]], [12.0 * unit, 6.0 * unit], rtol=1e-9)
        found = compiled.consistent(keep={"disc b.flow": 1.0})
        np.testing.assert_allclose([found["disc a.p"], found["disc b.p"]], [2.0 * unit, 1.0 * unit], rtol=1e-9)
        assert compiled.simulate(0.1, initial=found).ok


def test_four_revolutes_in_a_plane_repeat_each_other_and_move_as_one_loop():
    """The motion, and the forces in the plane, of the four-bar that is just closed; the report names what repeats."""
    compiled = compile_model(four_bar("yyyy"))
    run = compiled.simulate(1.0, samples=0.02, rtol=1e-10, progress=False)
    once = closed_loop().simulate(1.0, samples=0.02, rtol=1e-10, progress=False)
    assert run.ok and np.abs(run["A.q"] - once["A.q"]).max() < 1e-9
    assert np.abs(run["A.wrench"][:, 3:5] - once["A.wrench"][:, 3:5]).max() < 1e-6
    for joint in "ABCD":
        assert np.abs(run[f"{joint}.violation"]).max() < 1e-10
        assert f'"{joint}.constraint" (5)' in compiled.report()
    assert np.abs(run.ledger.injected).max() < 1e-9 * run.ledger.in_play


def test_crank_slider_drives_its_slider_as_the_closed_form():
    """A crank that turns at a given rate: x = r cos(wt) + sqrt(l^2 - r^2 sin^2(wt))."""
    r, length, w = 0.1, 0.35, 4.0
    graph, floor = Graph("crank-slider"), ground("floor")
    crank = prescribed_body("crank", twist=(0, -w, 0, 0, 0, 0))
    rod, near, far, _ = bar("rod", (r, 0), (r + length, 0))
    slider = rigid_body("slider", mass=0.3, inertia=INERTIA, position=(r + length, 0, 0), gravity=G, velocity=(0, 0, 0))
    attach_joint(graph, joint_graph("wrist", PINS["u"], frame_a=at(r, 0, 0), frame_b=near), crank, rod)
    attach_joint(graph, joint_graph("pin", PINS["s"], frame_a=far), rod, slider)
    attach_joint(graph, joint_graph("guide", joints.prismatic((1, 0, 0)), frame_a=at(r + length, 0, 0)), floor, slider)
    compiled = compile_model(graph)
    with pytest.raises(ModelError, match="E455"):
        compiled.simulate(1.0)
    result = compiled.simulate(1.0, samples=0.02, rtol=1e-10, progress=False, initial=compiled.consistent())
    assert result.ok and np.abs(result.ledger.injected).max() < 1e-9
    x = result["slider.pose"][:, 4]
    angle = w * result.t
    expected = r * np.cos(angle) + np.sqrt(length**2 - (r * np.sin(angle)) ** 2)
    assert np.abs(x - expected).max() < 1e-8


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda: joint_graph("j", joints.Joint("own", np.eye(6)[:, :1])), "E456"),
        (lambda: joint_graph("j", "revolute"), "E456"),
        (lambda: joint_graph("j", joints.free(), frame_a=np.eye(3)), "E457"),
        (lambda: joint_graph("j", joints.free(), frame_a="here"), "E457"),
        (lambda: joint_graph("j", joints.free(), largest_gap="small"), "E151"),
        (lambda: joint_graph("j", joints.free(), largest_tilt=float("nan")), "E151"),
        (lambda: attach_joint(Graph("g"), joint_graph("j", joints.spherical()), ground("a"), "b"), "E458"),
        (lambda: attach_joint(Graph("g"), "j", ground("a"), ground("b")), "E458"),
        (lambda: joint_graph("j", joints.free(), frame_b=np.diag([1.0, 1.0, -1.0, 1.0])), "E457"),
    ],
)
def test_bad_input_is_refused(make, code):
    with pytest.raises((ModelError, GeometryError)) as refused:
        make()
    assert code in str(refused.value) and "try:" in str(refused.value)


@pytest.mark.parametrize(
    ("kind", "state", "said"),
    [
        ("revolute", (0.0, 1.0, 0.0, 0.0, 0, 0, 0), "3.142 rad"),
        ("fixed", (np.cos(1.5), np.sin(1.5), 0.0, 0.0, 0, 0, 0), "3 rad"),
        ("spherical", (1.0, 0.0, 0.0, 0.0, 0.3, 0, 0), "0.3 m"),
        ("universal", (np.cos(0.25), 0.0, 0.0, np.sin(0.25), 0, 0, 0), "rad"),
    ],
)
def test_a_start_far_from_the_joint_is_refused_with_the_amount(kind, state, said):
    """Also the reversed poses, on which the closures vanish."""
    made = {
        "revolute": joints.revolute((0, 0, 1)),
        "fixed": joints.fixed(),
        "spherical": joints.spherical(),
        "universal": joints.universal((1, 0, 0), (0, 1, 0)),
    }
    body = rigid_body("b", mass=1.0, inertia=INERTIA, quaternion=state[:4], position=state[4:])
    graph = attach_joint(Graph("far"), joint_graph("elbow", made[kind]), ground("floor"), body)
    with pytest.raises(ModelError, match="E455") as refused:
        compile_model(graph)
    assert said in str(refused.value) and '"elbow"' in str(refused.value)


def test_pose_states_of_frames_are_parameters():
    """The place of a joint is a run-time input: a longer pendulum without compiling again."""
    graph, _ = hinge(0.1)
    compiled = compile_model(graph)
    axis = joints.revolute((0, -1, 0)).frame
    longer = pose_state(np.asarray(at(0, 0, 0.305) @ axis, dtype=float))
    result = compiled.simulate(1.0, samples=0.02, rtol=1e-10, progress=False, parameters={"hinge.relative pose.frame b": longer})
    h = result["hinge.violation"]
    t = result.t
    found = np.linalg.norm(h[:, 2:], axis=1)
    assert np.isclose(found[0], 0.005) and np.abs(found - 0.005 * (1 + 5 * t) * np.exp(-5 * t)).max() < 1e-9
