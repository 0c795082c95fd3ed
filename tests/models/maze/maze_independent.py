"""A ball maze written by hand with NumPy and SciPy; every evaluation solves for the accelerations of the constraints.

M q'' + G = H^T lambda + B u with q = (maze, right, up, spin), and h'' + a1 h' + a0 h = 0 for h1 and h2 on a ring: two linear
equations for lambda. The compensators are realised as (s + z)/(s + p) = 1 + (z - p)/(s + p).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

G, RADII, BALL, MASS, BALL_J, MAZE_J = 9.81, (4.0, 3.25, 2.5, 1.75), 0.1, 1e-3, 3.883e-5, 3.745e-3
A1, A0, K1, Z1, P1, K2, Z2, P2 = 10.0, 25.0, 0.32, 0.6, 10.0, 0.04, 0.05, 5.0
BEGIN, START = 10.0, 4.1 + 0.04905
GATES = (0.5 * np.pi, 0.0, 0.5 * np.pi, 0.0)
M = np.diag([MAZE_J, MASS, MASS, BALL_J])


@dataclass(frozen=True)
class Leg:
    """Phase between two events: its state, from 0 to 2 n, and q at the last landing."""

    state: int
    q0: np.ndarray

    @property
    def ring(self) -> int:
        return min(self.state // 2, len(RADII) - 1)


def torque(t: float, y: np.ndarray, state: int) -> float:
    if state == 2 * len(RADII):
        return 0.0
    goal = 0.0 if t < BEGIN or state == 0 else GATES[(state - 1) // 2]
    y1, y2 = y[1], y[0] - goal
    return K1 * (y1 + y[8]) + K2 * (y2 + y[9])


def rates(t: float, y: np.ndarray, leg: Leg) -> np.ndarray:
    q, v = y[:4], y[4:8]
    goal = 0.0 if t < BEGIN or leg.state == 0 else GATES[min((leg.state - 1) // 2, 3)]
    force = np.array([torque(t, y, leg.state), 0.0, -MASS * G, 0.0])
    force = force + (jacobian(q, leg)[0].T @ multipliers(t, y, leg) if leg.state % 2 else 0.0)
    filters = ((Z1 - P1) * q[1] - P1 * y[8], (Z2 - P2) * (q[0] - goal) - P2 * y[9])
    return np.concatenate([v, force / np.diag(M), filters])


def jacobian(q: np.ndarray, leg: Leg) -> tuple[np.ndarray, Any]:
    r = RADII[leg.ring]
    a, d = r + BALL, q[1] ** 2 + q[2] ** 2
    H = np.array([[0.0, 2.0 * q[1], 2.0 * q[2], 0.0], [r, a * q[2] / d, -a * q[1] / d, BALL]])

    def drift(v: np.ndarray) -> np.ndarray:
        # theta'' of atan2(x, y) without accelerations: -2 (x x' + y y')(y x' - x y') / d^2
        turn = -2.0 * (q[1] * v[1] + q[2] * v[2]) * (q[2] * v[1] - q[1] * v[2]) / d**2
        return np.array([2.0 * (v[1] ** 2 + v[2] ** 2), a * turn])

    return H, drift


def gaps(q: np.ndarray, leg: Leg) -> np.ndarray:
    r, q0 = RADII[leg.ring], leg.q0
    turned = np.arctan2(q[1], q[2]) - np.arctan2(q0[1], q0[2])
    h2 = BALL * (q[3] - q0[3]) + r * (q[0] - q0[0]) + (r + BALL) * turned
    return np.array([q[1] ** 2 + q[2] ** 2 - (r + BALL) ** 2, h2])


def multipliers(t: float, y: np.ndarray, leg: Leg) -> np.ndarray:
    """Return the multipliers lambda (2,) while the ball is on a ring."""
    q, v = y[:4], y[4:8]
    H, drift = jacobian(q, leg)
    free = np.array([torque(t, y, leg.state), 0.0, -MASS * G, 0.0]) / np.diag(M)
    wanted = -A1 * (H @ v) - A0 * gaps(q, leg) - drift(v) - H @ free
    return np.linalg.solve(H @ np.linalg.solve(M, H.T), wanted)


def guard(y: np.ndarray, leg: Leg) -> float:
    if leg.state % 2 == 0:
        return -float(gaps(y[:4], leg)[0])
    i = leg.state // 2
    sense = np.sign(GATES[i] - (GATES[i - 1] if i else 0.0))
    return float(sense * (y[0] + np.arctan2(y[1], y[2]) - GATES[i]))


@dataclass(frozen=True)
class Course:
    """Phase from `start` to `end`, s, with its solution as a function of time -> y (10,)."""

    leg: Leg
    start: float
    end: float
    solution: Any


def courses(rtol: float = 1e-12) -> list[Course]:
    y, t, found = np.zeros(10), 0.0, []
    y[2] = START
    leg = Leg(0, y[:4].copy())
    while leg.state < 2 * len(RADII):
        found.append(_until_the_guard(t, y, leg, rtol))
        t = found[-1].end
        y = found[-1].solution(t)
        leg = Leg(leg.state + 1, leg.q0 if leg.state % 2 else y[:4].copy())
    return found


def _until_the_guard(start: float, y: np.ndarray, leg: Leg, rtol: float) -> Course:
    """Integrate in pieces of at most 2 s that do not cross the step in the reference."""
    pieces: list[Any] = []
    t = start
    while True:
        end = BEGIN if t < BEGIN else t + 2.0
        part = solve_ivp(rates, (t, end), y, "DOP853", rtol=rtol, atol=1e-14, dense_output=True, args=(leg,))
        pieces.append((t, part.sol))
        values = np.array([guard(row, leg) for row in part.y.T])
        rising = np.flatnonzero((values[:-1] <= 0.0) & (values[1:] > 0.0))
        if len(rising):
            low, high = part.t[rising[0]], part.t[rising[0] + 1]
            found = brentq(lambda s, inner=part.sol: guard(inner(s), leg), low, high, xtol=1e-14, rtol=1e-14)
            return Course(leg, start, found, lambda at: next(sol for low, sol in reversed(pieces) if low <= at)(at))
        t, y = end, part.y[:, -1]
        if t > 100.0:
            raise RuntimeError(f"the ball stays in state {leg.state}")


def linear(i: int) -> tuple[float, float]:
    """Return the pole and the zero, 1/s, of ring i = 0, 1, ... from Lagrange's equations in the angles of maze and ball.

    With R = r + b and b spin' = -(r maze' + R theta'), 2 T = Jm maze'^2 + m R^2 theta'^2 + Jb spin'^2 and V = m g R cos(theta).
    """
    r = RADII[i]
    R = r + BALL
    a, b = MAZE_J + BALL_J * (r / BALL) ** 2, BALL_J * r * R / BALL**2
    c, k = MASS * R**2 + BALL_J * (R / BALL) ** 2, MASS * G * R
    return float(np.sqrt(k / (c - b * b / a))), float(np.sqrt(k / c))
