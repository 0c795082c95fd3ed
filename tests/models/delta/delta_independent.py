"""A second delta robot from NumPy and SciPy alone, to test `screwbond.models.delta` and its graphs.

Two point masses replace every link, with the link's mass, centre and inertia across the rod; the end effector is a point at each
tip. Cross products of angular velocities give their velocities and accelerations, and d'Alembert's principle the equations of
motion: sum of m J^T (a - g) over the points. Neither the paper's Lagrangian nor its terms m, c1 ... c6, G are used.

States are x = (q1, v1, q2, v2, q3, v3) by arms, or (q, v) where stated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

SETS = {
    "fit": {
        "L0": 0.175,
        "L1": 0.24,
        "L2": 0.42,
        "L3": 0.05,
        "LC1": 0.12,
        "LC2": 0.21,
        "M1": 0.4,
        "M2": 0.3,
        "M3": 0.1,
        "J1": 0.00192,
        "J2": 0.00441,
        "g": 9.81,
        "DAMPING": 0.04,
    },
    "lab": {
        "L0": 0.2,
        "L1": 0.3,
        "L2": 0.8,
        "L3": 0.05,
        "LC1": 0.15,
        "LC2": 0.4,
        "M1": 1.0,
        "M2": 0.3,
        "M3": 0.3,
        "J1": 0.02,
        "J2": 0.02,
        "g": 9.81,
        "DAMPING": 0.1,
    },
}
ALPHA_1, ALPHA_0 = 10.0, 25.0
E = np.eye(3)
TO_WORLD = [
    np.array([[np.cos(a), -np.sin(a), 0.0], [np.sin(a), np.cos(a), 0.0], [0.0, 0.0, 1.0]])
    for a in np.deg2rad([0.0, 120.0, -120.0])
]
BY_ARMS = np.array([i + 9 * k for a in range(3) for k in range(2) for i in range(3 * a, 3 * a + 3)])
"""Index array: (q, v)[BY_ARMS] is (q1, v1, q2, v2, q3, v3)."""


def _cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    # np.cross, for complex numbers too
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def _about(axis: int, angle: Any) -> np.ndarray:
    c, s = np.cos(angle), np.sin(angle)
    i, k = (axis + 1) % 3, (axis + 2) % 3
    R = np.zeros((3, 3), dtype=np.result_type(c, float))
    R[axis, axis] = 1.0
    R[i, i], R[i, k], R[k, i], R[k, k] = c, -s, s, c
    return R


@dataclass(frozen=True)
class Point:
    """Point mass of one arm, in arm axes, with its Jacobian (3, 3) and its acceleration at v' = 0."""

    mass: float
    place: np.ndarray
    jacobian: np.ndarray
    bias: np.ndarray


def _pair(mass: float, centre: float, inertia: float) -> list[tuple[float, float]]:
    """Return two equal point masses, (mass, distance from the upper joint), with the mass, centre and inertia of a rod; none for
    a rod without mass."""
    if mass == 0.0:
        return []
    radius = np.sqrt(inertia / mass)
    return [(0.5 * mass, centre - radius), (0.5 * mass, centre + radius)]


def arm_points(p: dict[str, float], phi: np.ndarray, v: np.ndarray) -> list[Point]:
    """Return the point masses of one arm; the last is the tip, with a third of the end effector."""
    upper = _about(0, phi[0]) @ E[1]
    turned = _about(1, phi[2]) @ E[0]
    lower = _about(1, phi[2]) @ _about(0, phi[1]) @ E[1]
    omega_1 = v[0] * E[0]
    omega_2 = v[2] * E[1] + v[1] * turned
    alpha_2 = _cross(v[2] * E[1], v[1] * turned)
    slope = np.stack([_cross(E[0], upper), 0.0 * upper, 0.0 * upper], axis=1)
    upper_bias = _cross(omega_1, _cross(omega_1, upper))
    swing = np.stack([0.0 * lower, _cross(turned, lower), _cross(E[1], lower)], axis=1)
    lower_bias = _cross(alpha_2, lower) + _cross(omega_2, _cross(omega_2, lower))
    shaft = (p["L0"] - p["L3"]) * E[1]
    points = [Point(m, shaft + r * upper, r * slope, r * upper_bias) for m, r in _pair(p["M1"], p["LC1"], p["J1"])]
    beyond = [*_pair(p["M2"], p["LC2"], p["J2"]), (p["M3"], p["L2"])]
    points += [
        Point(m, shaft + p["L1"] * upper + r * lower, p["L1"] * slope + r * swing, p["L1"] * upper_bias + r * lower_bias)
        for m, r in beyond
    ]
    return points


def arm_terms(p: dict[str, float], phi: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the inertia matrix (3, 3), Coriolis torques (3,) and gravity torques (3,) of one arm."""
    points = arm_points(p, phi, v)
    M = sum(x.mass * x.jacobian.T @ x.jacobian for x in points)
    C = sum(x.mass * x.jacobian.T @ x.bias for x in points)
    G = sum(-x.mass * p["g"] * x.jacobian.T @ E[2] for x in points)
    return np.asarray(M), np.asarray(C), np.asarray(G)


def energy(p: dict[str, float], q: np.ndarray, v: np.ndarray) -> float:
    total = 0.0
    for a in range(3):
        for x in arm_points(p, q[3 * a : 3 * a + 3], v[3 * a : 3 * a + 3]):
            u = x.jacobian @ v[3 * a : 3 * a + 3]
            total += 0.5 * x.mass * u @ u - x.mass * p["g"] * x.place[2]
    return float(total)


def constraint(p: dict[str, float], q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return h (6,), H (6, 9) and the part H' v (6,) of h''."""
    H = np.zeros((6, 9), dtype=np.result_type(q, v))
    place, bias = [], []
    for a in range(3):
        point = arm_points(p, q[3 * a : 3 * a + 3], v[3 * a : 3 * a + 3])[-1]
        place.append(TO_WORLD[a] @ point.place)
        bias.append(TO_WORLD[a] @ point.bias)
        J = TO_WORLD[a] @ point.jacobian
        if a == 0:
            H[:3, :3] = H[3:, :3] = J
        else:
            H[3 * (a - 1) : 3 * a, 3 * a : 3 * a + 3] = -J
    return (np.concatenate([place[0] - place[1], place[0] - place[2]]), H, np.concatenate([bias[0] - bias[1], bias[0] - bias[2]]))


def acceleration(
    p: dict[str, float], q: np.ndarray, v: np.ndarray, u: np.ndarray, alpha_1: float = ALPHA_1, alpha_0: float = ALPHA_0
) -> tuple[np.ndarray, np.ndarray]:
    """Return v' (9,) and the multipliers (6,) at motor torques u (3,)."""
    kind = np.result_type(q, v, u)
    M, rest = np.zeros((9, 9), dtype=kind), np.zeros(9, dtype=kind)
    for a in range(3):
        arm = slice(3 * a, 3 * a + 3)
        M[arm, arm], C, G = arm_terms(p, q[arm], v[arm])
        rest[arm] = -C - G - p["DAMPING"] * v[arm]
        rest[3 * a] += u[a]
    h, H, bias = constraint(p, q, v)
    K = np.zeros((15, 15), dtype=kind)
    K[:9, :9], K[:9, 9:], K[9:, :9] = M, -H.T, H
    out = np.linalg.solve(K, np.concatenate([rest, -bias - alpha_1 * (H @ v) - alpha_0 * h]))
    return out[:9], out[9:]


def rates(p: dict[str, float], x: np.ndarray, u: np.ndarray, **alphas: float) -> np.ndarray:
    """Return x' (18,) of a state x = (q1, v1, q2, v2, q3, v3)."""
    qv = np.empty_like(x)
    qv[BY_ARMS] = x
    a, _ = acceleration(p, qv[:9], qv[9:], u, **alphas)
    return np.concatenate([qv[9:], a])[BY_ARMS]


def assemble(p: dict[str, float], y: Any, depth: float | None = None) -> np.ndarray:
    """Return all angles (9,) at motor angles y (3,) by Gauss-Newton iteration from a guess with the tool at `depth` below the
    base (m)."""
    y = np.asarray(y, dtype=float)
    q = np.zeros(9)
    depth = 0.8 * p["L2"] + p["L1"] * np.sin(y).mean() if depth is None else depth
    for a in range(3):
        r, z = p["L0"] - p["L3"] + p["L1"] * np.cos(y[a]), depth - p["L1"] * np.sin(y[a])
        q[3 * a : 3 * a + 3] = y[a], np.arctan2(z, -r), 0.0
    free = np.array([1, 2, 4, 5, 7, 8])
    for _ in range(60):
        h, H, _ = constraint(p, q, np.zeros(9))
        step = np.linalg.solve(H[:, free], -h)
        q[free] += step * min(1.0, 0.5 / np.max(np.abs(step)))
        if np.max(np.abs(step)) < 1e-15:
            break
    assert np.max(np.abs(constraint(p, q, np.zeros(9))[0])) < 1e-14
    return q


def holding_torque(p: dict[str, float], q: np.ndarray) -> np.ndarray:
    """Return the motor torques (3,) that hold the robot at closed angles q, from [B H^T] [u; lam] = G."""
    B = np.zeros((9, 3))
    B[[0, 3, 6], [0, 1, 2]] = 1.0
    G = np.concatenate([arm_terms(p, q[3 * a : 3 * a + 3], np.zeros(3))[2] for a in range(3)])
    return np.linalg.solve(np.hstack([B, constraint(p, q, np.zeros(9))[1].T]), G)[:3]


def linearise(p: dict[str, float], y: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return A (18, 18), B (18, 3), q (9,) and u (3,) of x = (q, v) about rest at motor angles y under constant torques.

    Complex steps make the matrices exact to within rounding error.
    """
    q = assemble(p, y)
    u = holding_torque(p, q)
    at, size = np.concatenate([q, np.zeros(9), u]), 1e-30
    columns = []
    for k in range(21):
        z = at.astype(complex)
        z[k] += 1j * size
        a, _ = acceleration(p, z[:9], z[9:18], z[18:])
        columns.append(np.concatenate([z[9:18], a]).imag / size)
    whole = np.stack(columns, axis=1)
    return whole[:, :18], whole[:, 18:], q, u


def reduced(p: dict[str, float], y: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return A (6, 6) and B (6, 3) of the motion that keeps the arms together, in the coordinates (dy, dy').

    The reduction is exact, because the tangent space of the constraint is invariant under A.
    """
    A, B, q, _ = linearise(p, y)
    H = constraint(p, q, np.zeros(9))[1]
    free, own = [1, 2, 4, 5, 7, 8], [0, 3, 6]
    N = np.zeros((9, 3))
    N[own] = np.eye(3)
    N[free] = -np.linalg.solve(H[:, free], H[:, own])
    Z = np.block([[N, np.zeros((9, 3))], [np.zeros((9, 3)), N]])
    choose = [*own, *(9 + i for i in own)]
    A6, B6 = (A @ Z)[choose], B[choose]
    assert np.max(np.abs(A @ Z - Z @ A6)) < 1e-9 * np.max(np.abs(A)), "the tangent space is not invariant"
    return A6, B6


def poles(p: dict[str, float], y: Any) -> np.ndarray:
    return np.sort_complex(np.linalg.eigvals(reduced(p, y)[0]))


def simulate(
    p: dict[str, float], x0: np.ndarray, t: np.ndarray, torque: Any = None, rtol: float = 1e-12, **alphas: float
) -> np.ndarray:
    """Return states (n, 18) by arms at times t (n,) under torques u(t), integrated by DOP853."""
    drive = torque if torque is not None else lambda time: np.zeros(3)
    run = solve_ivp(lambda time, x: rates(p, x, drive(time), **alphas), (t[0], t[-1]), x0, "DOP853", t, rtol=rtol, atol=rtol)
    assert run.success, run.message
    return run.y.T


# --- recorded numbers ------------------------------------------------------------------------------------------------

SAMPLES = np.linspace(0.0, 2.0, 9)


def disturbed(p: dict[str, float]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return initial q (9,), offset (3,) and amplitude (3,) of the torques (N m) of an asymmetric motion from rest.

    u_j(t) = offset_j + amplitude_j sin(3 pi t + j), j = 0, 1, 2.
    """
    q = assemble(p, [0.6, 0.8, 0.95])
    u = holding_torque(p, q)
    return q, u, 0.4 * np.abs(u)


def torque_of(offset: np.ndarray, amplitude: np.ndarray) -> Any:
    return lambda t: offset + amplitude * np.sin(3.0 * np.pi * t + np.arange(3.0))


def crossing(p: dict[str, float]) -> float:
    """Return the common motor angle (rad) at which the unstable root is zero."""
    from scipy.optimize import brentq

    return float(brentq(lambda y: np.linalg.det(reduced(p, [y] * 3)[0]), 0.0, 0.7, xtol=1e-13))


def record(p: dict[str, float]) -> dict[str, Any]:
    found: dict[str, Any] = {"crossing_deg": float(np.rad2deg(crossing(p)))}
    for name, y in (("pi/4", np.pi / 4.0), ("0", 0.0)):
        q = assemble(p, [y] * 3)
        roots = poles(p, [y] * 3)
        found[name] = {
            "poles": [[float(z.real), float(z.imag)] for z in roots],
            "torque": holding_torque(p, q).tolist(),
            "q": q.tolist(),
        }
    q, offset, amplitude = disturbed(p)
    x0 = np.concatenate([q, np.zeros(9)])[BY_ARMS]
    x = simulate(p, x0, SAMPLES, torque_of(offset, amplitude), rtol=1e-13)
    found["disturbed"] = {"offset": offset.tolist(), "amplitude": amplitude.tolist(), "t": SAMPLES.tolist(), "x": x.tolist()}
    return found


def main() -> None:
    import json
    import re
    from pathlib import Path

    numbers = {name: record(p) for name, p in SETS.items()}
    text = re.sub(r"\n +(?=[-\d\]])", " ", json.dumps(numbers, indent=1))  # arrays of numbers on one line
    Path(__file__).with_name("delta_reference.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
