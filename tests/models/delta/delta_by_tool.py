"""The delta robot in three tool coordinates, without rod angles, for poses at which the angles are singular.

The elbow of each arm follows from the tool by two circles. With all points x(w) the equation of motion is
sum of m J^T (x'' - g) = 0; J = dx/dw comes from complex steps, and x'' - J w'' from a second difference of the points.
Nothing of `models` is used. The method fails where an arm is stretched.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

from tests.models.delta.delta_independent import TO_WORLD, _pair

STEP = 1e-4
"""Step of the differences, m; a difference of fourth order has an error proportional to STEP^4."""


def link(p: dict[str, float], tool: Any, branch: float) -> Any:
    """Return the directions (2, k) of the proximal link, along x2 and x3, for the tip at `tool` (3, k) in the arm's axes.

    The elbow points outwards for branch -1 and inwards for +1.
    """
    y, z = tool[1] - (p["L0"] - p["L3"]), tool[2]
    square = y * y + z * z
    cosine = (square + p["L1"] ** 2 - p["L2"] ** 2 + tool[0] ** 2) / (2.0 * p["L1"] * np.sqrt(square))
    sine = np.sqrt(1.0 - cosine * cosine)
    along = np.array([y, z]) / np.sqrt(square)
    return cosine * along + branch * sine * np.array([-along[1], along[0]])


def features(p: dict[str, float], w: Any, branch: tuple[float, float, float]) -> tuple[Any, Any, Any]:
    """Return, for tools (3, k), positions of all point masses (3 n, k) in world axes, and directions of links and rods (9, k)."""
    points, links, rods = [], [], []
    shaft = np.array([[0.0], [p["L0"] - p["L3"]], [0.0]])
    for R, sign in zip(TO_WORLD, branch, strict=True):
        tool = R.T @ w
        y, z = link(p, tool, sign)
        upper = np.array([0.0 * y, y, z])
        lower = (tool - shaft - p["L1"] * upper) / p["L2"]
        points += [R @ (shaft + r * upper) for _, r in _pair(p["M1"], p["LC1"], p["J1"])]
        points += [R @ (shaft + p["L1"] * upper + r * lower) for _, r in [*_pair(p["M2"], p["LC2"], p["J2"]), (0.0, p["L2"])]]
        links.append(upper)
        rods.append(lower)
    return np.concatenate(points), np.concatenate(links), np.concatenate(rods)


def masses(p: dict[str, float]) -> np.ndarray:
    one = [m for m, _ in (*_pair(p["M1"], p["LC1"], p["J1"]), *_pair(p["M2"], p["LC2"], p["J2"]), (p["M3"], 0.0))]
    return np.tile(one, 3)


def acceleration(p: dict[str, float], w: np.ndarray, v: np.ndarray, branch: Any, cone: float) -> np.ndarray:
    """Return w'' (3,) without motor torques; friction acts on the paper's angles with a divisor of at least cone^2."""
    h = STEP / max(float(np.linalg.norm(v)), 1e-3)
    # Complex steps along the three axes at w, and along v at four points around it, all in one call.
    ahead = [w + k * h * v + 1e-30j * v for k in (-2.0, -1.0, 1.0, 2.0)]
    found = features(p, np.stack([*(w + 1e-30j * np.eye(3)), *ahead], axis=1), branch)
    points, links, rods = (part.imag / 1e-30 for part in found)
    J, weights = points[:, :3], np.repeat(masses(p), 3)
    bias = points[:, 3:] @ [1.0, -8.0, 8.0, -1.0] / (12.0 * h)
    down = np.tile([0.0, 0.0, p["g"]], len(J) // 3)
    force = J.T @ (weights * (down - bias))
    n = found[2][:, 0].real.reshape(3, 3)
    for i in range(3):
        swing, turn = rods[3 * i : 3 * i + 3, :3], links[3 * i : 3 * i + 3, :3]
        about = np.cross(n[i], swing, axis=0)[1] * n[i, 1] / max(1.0 - n[i, 1] ** 2, cone * cone)
        for row in (*turn, *swing, about):
            force = force - p["DAMPING"] * row * (row @ v)
    return np.linalg.solve(J.T @ (weights[:, None] * J), force)


def simulate(
    p: dict[str, float], w: np.ndarray, v: np.ndarray, t: np.ndarray, branch: Any = (-1.0,) * 3, cone: float = 1e-2
) -> np.ndarray:
    """Return the position and velocity of the tool (k, 6) at the times t, without motor torques."""

    def rates(_: float, x: np.ndarray) -> np.ndarray:
        return np.concatenate([x[3:], acceleration(p, x[:3], x[3:], branch, cone)])

    run = solve_ivp(rates, (t[0], t[-1]), np.concatenate([w, v]), "DOP853", t, max_step=5e-3, rtol=1e-10, atol=1e-12)
    assert run.success
    return run.y.T
