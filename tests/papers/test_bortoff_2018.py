"""Printed equations of Bortoff 2018 (BO18), compared with point masses in space and with finite differences."""

from __future__ import annotations

from dataclasses import asdict, replace

import numpy as np
import pytest
from screwbond.models.delta import DeltaParameters, DeltaRobot

from tests.inner.models_delta import ROTATIONS, model_terms
from tests.inner.models_delta import arm as formulas
from tests.models.delta import delta_appendix as appendix
from tests.models.delta import delta_independent as independent

P = DeltaParameters.lab()
"""Parameter set whose base and end effector differ by L0 - L3 = 0.15 m, with a damping of 0.1 N m s."""
NUMBERS = asdict(P)
Y = np.array([0.5, 0.8, 0.65])
TORQUES = np.array([1.0, -0.6, 0.3])
E = np.eye(3)


def arms(x):
    return x.reshape(3, 3)


def closed(speed=1.5):
    """Return angles (9,) at which the tips meet, and rates (9,) that keep the tips together."""
    q = independent.assemble(NUMBERS, Y)
    H = independent.constraint(NUMBERS, q, np.zeros(9))[1]
    _, _, vectors = np.linalg.svd(H)
    return q, speed * vectors[6:].T @ np.array([0.7, -0.4, 0.55])


def bare(q):
    """Return psi (3,) of equation (4) as printed, without the offset L0 - L3."""
    s, c = np.sin(q), np.cos(q)
    return np.array([P.L2 * s[1] * s[2], P.L1 * c[0] + P.L2 * c[1], P.L1 * s[0] + P.L2 * s[1] * c[2]])


def psi(q):
    return bare(q) + (P.L0 - P.L3) * E[1]


def by_time(f, q, v, a, h=1e-4):
    """Return d/dt of f(q, v) along a motion with these rates and accelerations, accurate to fourth order."""

    def at(t):
        return np.asarray(f(q + t * v + 0.5 * t * t * a, v + t * a))

    return (at(-2 * h) - 8.0 * at(-h) + 8.0 * at(h) - at(2 * h)) / (12.0 * h)


def gradient(f, x, h=1e-5):
    return np.array([(f(x + h * e) - f(x - h * e)) / (2 * h) for e in np.eye(len(x))])


def mass(q):
    M = np.zeros((9, 9))
    for a in range(3):
        M[3 * a : 3 * a + 3, 3 * a : 3 * a + 3] = independent.arm_terms(NUMBERS, arms(q)[a], np.zeros(3))[0]
    return M


def kinetic(q, v):
    return 0.5 * v @ mass(q) @ v


def weight(q):
    return np.concatenate([independent.arm_terms(NUMBERS, part, np.zeros(3))[2] for part in arms(q)])


def pushed(u):
    return np.array([u[0], 0, 0, u[1], 0, 0, u[2], 0, 0])


def lengths(q, tool):
    """Return the lengths of the rods, from elbows on shafts at the radius L0 to corners of the end effector at the radius L3."""
    found = []
    for R, (motor, *_) in zip(ROTATIONS, arms(q), strict=True):
        elbow = R @ np.array([0.0, P.L0 + P.L1 * np.cos(motor), P.L1 * np.sin(motor)])
        corner = tool + R @ np.array([0.0, P.L3, 0.0])
        found.append(np.linalg.norm(corner - elbow))
    return np.array(found)


def test_equation_4_needs_the_offset():
    """Rods of length L2 between shafts at the radius L0 and corners at L3 meet at psi with the offset L0 - L3, which the printed
    psi lacks."""
    q, _ = closed()
    assert np.abs(lengths(q, psi(arms(q)[0])) - P.L2).max() < 1e-14
    assert np.abs(lengths(q, bare(arms(q)[0])) - P.L2).max() > 1e-2
    theta = DeltaRobot(P).forward_kinematics(Y).theta[:3]
    assert np.abs(formulas.tip(theta, P) - psi(DeltaRobot(P).forward_kinematics(Y).q[:3])).max() < 1e-12


def test_equation_10_needs_the_offset():
    """h vanishes for a robot that closes; with the printed psi, two tips are sqrt(3) (L0 - L3) apart."""
    q, _ = closed()
    first, second, third = arms(q)
    for place, wanted in ((psi, 0.0), (bare, np.sqrt(3.0) * (P.L0 - P.L3))):
        for R, other in ((ROTATIONS[1], second), (ROTATIONS[2], third)):
            assert np.linalg.norm(place(first) - R @ place(other)) == pytest.approx(wanted, abs=1e-13)


def test_equations_30_and_31_need_the_rotations():
    """Equation (29), psi(q1) = w, holds as printed for arm 1; for arms 2 and 3, psi is rotated by +120 and -120 degrees."""
    robot = DeltaRobot(P)
    found = robot.forward_kinematics(Y)
    q, w = found.q, found.w
    assert np.abs(lengths(q, w) - P.L2).max() < 1e-12
    assert np.abs(psi(arms(q)[0]) - w).max() < 1e-12
    for R, part in zip(ROTATIONS[1:], arms(q)[1:], strict=True):
        assert np.abs(R @ psi(part) - w).max() < 1e-12
        assert np.abs(psi(part) - w).max() > 1e-2


def test_units_of_table_I():
    """With time in ms, the poles become a thousandth only if J, in kg m^2 = N m s^2, is unchanged.

    In N m/s^2, as printed, J would change by the fourth power of a thousandth.
    """
    slow = {**NUMBERS, "g": P.g * 1e-6, "DAMPING": P.DAMPING * 1e-3}
    wanted = np.sort_complex(independent.poles(NUMBERS, Y) * 1e-3)
    assert np.allclose(np.sort_complex(independent.poles(slow, Y)), wanted, rtol=1e-9)
    printed = {**slow, "J1": P.J1 * 1e-12, "J2": P.J2 * 1e-12}
    assert not np.allclose(np.sort_complex(independent.poles(printed, Y)), wanted, rtol=1e-2)


def arm_kinetic(m3):
    """Return the kinetic energy of arm 1, equation (1), with the factor `m3` / 2 instead of the printed m3 / 6."""
    q, v = closed()
    q, v = arms(q)[0], arms(v)[0]
    s, c = np.sin(q), np.cos(q)

    def speed(first, second):
        x = np.array(
            [
                second * (c[1] * s[2] * v[1] + s[1] * c[2] * v[2]),
                -first * s[0] * v[0] - second * s[1] * v[1],
                first * c[0] * v[0] + second * (c[1] * c[2] * v[1] - s[1] * s[2] * v[2]),
            ]
        )
        return x @ x

    own = 0.5 * P.J1 * v[0] ** 2 + 0.5 * P.J2 * ((s[1] * v[2]) ** 2 + v[1] ** 2)
    return own + 0.5 * P.M1 * speed(P.LC1, 0.0) + 0.5 * P.M2 * speed(P.L1, P.LC2) + 0.5 * m3 * speed(P.L1, P.L2)


def test_equation_1_counts_a_third_of_the_third():
    """m3 is already one third (table I), so the square of the speed has the factor m3 / 2, not m3 / 6."""
    q, v = closed()
    right = 0.5 * arms(v)[0] @ appendix.inertia(arms(q)[0], P) @ arms(v)[0]
    alone = sum(
        0.5 * x.mass * np.sum((x.jacobian @ arms(v)[0]) ** 2) for x in independent.arm_points(NUMBERS, arms(q)[0], arms(v)[0])
    )
    assert arm_kinetic(P.M3) == pytest.approx(right, rel=1e-13) == pytest.approx(alone, rel=1e-13)
    assert abs(arm_kinetic(P.M3 / 3) / right - 1.0) > 1e-2
    # the end effector as a whole: three arms carry all of 3 M3
    more = independent.energy({**NUMBERS, "M3": P.M3 + 1.0, "g": 0.0}, q, v) - independent.energy({**NUMBERS, "g": 0.0}, q, v)
    tool = by_time(lambda q, v: psi(q[:3]), q, v, np.zeros(9))
    assert more == pytest.approx(0.5 * 3.0 * tool @ tool, rel=1e-9)


def test_equation_5_counts_a_third_of_the_third():
    """The end effector has the mass 3 M3, of which each of three arms carries M3; the paper prints M3 / 3."""
    q, _ = closed()
    phi = arms(q)[0]

    def V(m3):
        reach = (P.LC1 * P.M1 + P.L1 * (P.M2 + m3)) * np.sin(phi[0])
        return -P.g * (reach + (P.LC2 * P.M2 + P.L2 * m3) * np.sin(phi[1]) * np.cos(phi[2]))

    points = independent.arm_points(NUMBERS, phi, np.zeros(3))
    right = -sum(x.mass * P.g * x.place[2] for x in points)
    assert V(P.M3) == pytest.approx(right, rel=1e-13)
    assert abs(V(P.M3 / 3) / right - 1.0) > 1e-2


def test_equation_12_counts_the_constraint_twice():
    """Lagrange's derivative of L_a, which contains lambda^T h, leaves only B u without the printed lambda^T H.

    Damping is left out, because (12) has no damping.
    """
    free = {**NUMBERS, "DAMPING": 0.0}
    q, v = closed()
    a, multipliers = independent.acceleration(free, q, v, TORQUES)
    H = independent.constraint(free, q, v)[1]
    momentum = by_time(lambda q, v: mass(q) @ v, q, v, a)

    def augmented(q):
        return kinetic(q, v) - independent.energy(free, q, np.zeros(9)) + multipliers @ independent.constraint(free, q, v)[0]

    left = momentum - gradient(augmented, q)
    assert np.abs(left - pushed(TORQUES)).max() < 1e-6
    assert np.abs(left - pushed(TORQUES) - H.T @ multipliers).max() > 1e-1


def test_equations_15_and_22_lack_the_damping():
    """The robot of the appendix has the term D v in M v' + C + D v + G = H^T lambda + B u; (22) equals h'' only if
    this term is added."""
    q, v = closed()
    a, multipliers = independent.acceleration(NUMBERS, q, v, TORQUES)
    _, H, bias = independent.constraint(NUMBERS, q, v)
    C = np.concatenate(
        [sum(v_i * v_k * c for (v_i, v_k), c in zip(_products(w), vectors(p), strict=True)) for p, w in pairs(q, v)]
    )
    G = np.concatenate([appendix.gravity_torque(part, P) for part in arms(q)])
    M = mass(q)
    right = H.T @ multipliers + pushed(TORQUES)
    assert np.abs(M @ a + C + P.DAMPING * v + G - right).max() < 1e-11
    assert np.abs(M @ a + C + G - right).max() > 1e-2
    second = by_time(lambda q, v: independent.constraint(NUMBERS, q, v)[1] @ v, q, v, a)
    inside = right - C - G
    assert np.abs(bias + H @ np.linalg.solve(M, inside - P.DAMPING * v) - second).max() < 1e-8
    assert np.abs(bias + H @ np.linalg.solve(M, inside) - second).max() > 1e-1
    # (23): this is its stabilisation
    h = independent.constraint(NUMBERS, q, v)[0]
    assert np.abs(second + 10.0 * H @ v + 25.0 * h).max() < 1e-8


def _products(w):
    return ((w[0], w[0]), (w[1], w[1]), (w[2], w[2]), (w[0], w[1]), (w[1], w[2]), (w[0], w[2]))


def vectors(phi):
    return appendix.coriolis_vectors(phi, P)


def pairs(q, v):
    return list(zip(arms(q), arms(v), strict=True))


def test_equation_18_lacks_the_damping():
    """In p' = +1/2 v^T dM/dq v - G - D v + B u + H^T lambda, the plus is right as printed, and the printed equation lacks D v."""
    q, v = closed()
    a, multipliers = independent.acceleration(NUMBERS, q, v, TORQUES)
    H = independent.constraint(NUMBERS, q, v)[1]
    rate = by_time(lambda q, v: mass(q) @ v, q, v, a)
    printed = gradient(lambda at: kinetic(at, v), q) - weight(q) + pushed(TORQUES) + H.T @ multipliers
    assert np.abs(printed - P.DAMPING * v - rate).max() < 1e-6
    assert np.abs(printed - rate).max() > 1e-2
    other_sign = printed - 2.0 * gradient(lambda at: kinetic(at, v), q) - P.DAMPING * v
    assert np.abs(other_sign - rate).max() > 1e-2


def test_equation_21_has_a_derivative_too_many():
    """z1 = H q' is the rate of h; dH/dq q', as printed, is a matrix (6, 9), the rate of H."""
    q, v = closed()
    v = v + np.linspace(-1.0, 1.0, 9)
    h_rate = by_time(lambda q, v: independent.constraint(NUMBERS, q, v)[0], q, v, np.zeros(9))
    assert np.abs(independent.constraint(NUMBERS, q, v)[1] @ v - h_rate).max() < 1e-10
    printed = by_time(lambda q, v: independent.constraint(NUMBERS, q, v)[1], q, v, np.zeros(9))
    assert printed.shape == (6, 9) != h_rate.shape


def test_equation_32_in_its_right_order():
    """[B H^T] [u; lambda] = G supports the robot; under torques from the printed [u; lambda] [B H^T] = G, the robot falls."""
    q, _ = closed()
    B = np.stack([pushed(e) for e in E], axis=1)
    both = np.hstack([B, independent.constraint(NUMBERS, q, np.zeros(9))[1].T])
    right, printed = np.linalg.solve(both, weight(q))[:3], np.linalg.solve(both.T, weight(q))[:3]
    for u, falls in ((right, False), (printed, True)):
        a, _ = independent.acceleration(NUMBERS, q, np.zeros(9), u)
        assert bool(np.abs(a).max() > 1.0) == falls
    assert np.abs(model_terms(Y, P)[3] - right).max() < 1e-10


def test_equation_28_converges_to_the_solution_of_27():
    """Newton's method as printed, with the derivative with respect to the unmeasured angles, converges from 0.05 rad away."""
    q, _ = closed()
    wanted, free = q.copy(), [1, 2, 4, 5, 7, 8]
    q[free] += 0.05 * np.array([1, -1, 1, 1, -1, 1])
    for _ in range(4):
        h, H, _ = independent.constraint(NUMBERS, q, np.zeros(9))
        q[free] -= np.linalg.solve(H[:, free], h)
    assert np.abs(q - wanted).max() < 1e-12


def test_equations_34_and_35():
    q, v = closed()
    a, _ = independent.acceleration(NUMBERS, q, v, TORQUES)
    tip = independent.arm_points(NUMBERS, q[:3], v[:3])[-1]
    assert np.abs(by_time(lambda q, v: psi(q[:3]), q, v, a) - tip.jacobian @ v[:3]).max() < 1e-10

    def velocity(q, v):
        return independent.arm_points(NUMBERS, q[:3], v[:3])[-1].jacobian @ v[:3]

    assert np.abs(by_time(velocity, q, v, a) - tip.bias - tip.jacobian @ a[:3]).max() < 1e-8


def test_alpha_of_feedback_linearisation_depends_on_the_rates():
    """The paper prints w2' = alpha(q) + beta(q) u, but at fixed q and u the acceleration of the tool changes with v."""
    q, v = closed()

    def tool(v):
        a, _ = independent.acceleration({**NUMBERS, "DAMPING": 0.0}, q, v, TORQUES)
        tip = independent.arm_points(NUMBERS, q[:3], v[:3])[-1]
        return tip.bias + tip.jacobian @ a[:3]

    assert np.abs(tool(v) - tool(0.0 * v)).max() > 1e-2


def test_the_angles_phi_are_singular():
    """Where phi2 = 0 the inertia matrix of the appendix is singular, despite "there are no singularities" (section 2.D)."""
    assert abs(np.linalg.det(appendix.inertia(np.array([0.4, 0.0, 0.3]), P))) < 1e-15
    assert np.linalg.det(appendix.inertia(np.array([0.4, 1.2, 0.3]), P)) > 1e-6


def test_six_of_the_twelve_modes_are_seen():
    """Of the twelve modes at the roots of (23), "neither controllable nor observable" (section 2.E), none is controllable, but
    six are observable from the motor angles."""
    A, B, *_ = independent.linearise(NUMBERS, Y)
    C = np.eye(18)[[0, 3, 6]]
    moved = np.linalg.matrix_power(A + 5.0 * np.eye(18), 2)
    _, sizes, right = np.linalg.svd(moved)
    modes = right[np.sum(sizes > 1e-6 * sizes[0]) :].T
    left = np.linalg.svd(moved.T)[2][np.sum(sizes > 1e-6 * sizes[0]) :].T
    assert modes.shape == (18, 12)
    assert np.abs(left.T @ B).max() < 1e-9 * np.abs(B).max()
    inside = np.linalg.lstsq(modes, A @ modes, rcond=None)[0]
    seen = np.vstack([C @ modes @ np.linalg.matrix_power(inside, k) / 5.0**k for k in range(12)])
    assert np.linalg.matrix_rank(seen, tol=1e-6) == 6


def test_gravity_compensation_leaves_three_modes_at_rest():
    """With u of (32) as a function of y, three eigenvalues are zero, so no equilibrium is exponentially stable (section 4.E)."""
    A, B = independent.reduced(NUMBERS, Y)

    def holding(y):
        return independent.holding_torque(NUMBERS, independent.assemble(NUMBERS, y))

    slope = np.stack([(holding(Y + h) - holding(Y - h)) / 2e-4 for h in 1e-4 * E], axis=1)
    poles = np.linalg.eigvals(A + B @ np.hstack([slope, np.zeros((3, 3))]))
    assert np.sum(np.abs(poles) < 1e-4) == 3
    assert np.all(np.sort(poles.real)[:3] < -1e-2)


def test_forward_kinematics_have_two_assemblies():
    """The same motor angles place the tool above or below the elbows, so the kinematics are not "one-to-one" (section 4.A)."""
    robot = DeltaRobot(replace(P, DAMPING=0.0))
    below, above = (robot.forward_kinematics(Y, mode=mode) for mode in ("below", "above"))
    for found in (below, above):
        assert np.abs(lengths(found.q, found.w) - P.L2).max() < 1e-12
    assert np.linalg.norm(below.w - above.w) > 0.1
