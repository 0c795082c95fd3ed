"""Loop closure of the three arms: constraint, Jacobian, Newton iteration and closed-form kinematics, compiled or for any scalar
type.

Newton's step on the six closure equations needs no 6x6 system: with n_i the direction of distal link i, the two columns
of an arm's Jacobian with respect to its unmeasured angles are perpendicular to n_i and to each other, so that the arm's equation
A_i dx_i = dw - r_i splits into n_i . (dw - r_i) = 0, three equations for the step dw of the tool, and two projections.
This is the step of Bortoff 2018, eq. (28), in the coordinates theta of `screwbond.models.delta.kinematics.arm`.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from screwbond.models.delta.kinematics.arm import ArmParameters, Constants, direction, elbow, tip, tip_jacobian
from screwbond.models.delta.kinematics.parameters import UNITS

from bondgraph import CompiledFormula, compile_formula
from screws.scalars import Scalar, acos, array, atan2, cos, less, sin, sqrt, where
from screws.vectors import cross, dot

_HALF = 0.5 * 3.0**0.5
ROTATIONS = (
    np.eye(3),
    np.array([[-0.5, -_HALF, 0.0], [_HALF, -0.5, 0.0], [0.0, 0.0, 1.0]]),
    np.array([[-0.5, _HALF, 0.0], [-_HALF, -0.5, 0.0], [0.0, 0.0, 1.0]]),
)
"""Rotation from each arm's axes to the world's: 0, +120 and -120 degrees about x3."""


def closure(theta: Any, p: ArmParameters) -> np.ndarray:
    """Return the constraint h (6,) in m: tip 1 - tip 2, tip 1 - tip 3, in the world. Bortoff 2018, eq. (10), with the offset."""
    first, second, third = (ROTATIONS[i] @ tip(theta[3 * i : 3 * i + 3], p) for i in range(3))
    return np.concatenate([first - second, first - third])


def closure_jacobian(theta: Any, p: ArmParameters) -> np.ndarray:
    """Return the derivative H (6, 9) of `closure` with respect to all angles, m."""
    first, second, third = (ROTATIONS[i] @ tip_jacobian(theta[3 * i : 3 * i + 3], p) for i in range(3))
    zero = np.zeros((3, 3))
    return np.concatenate([np.concatenate([first, -second, zero], axis=1), np.concatenate([first, zero, -third], axis=1)])


def newton_step(x: Any, y: Any, p: ArmParameters) -> dict[str, np.ndarray]:
    """Compute one Newton step on the unmeasured angles x (6,) at motor angles y (3,), and the posture at x.

    Returns next (6,); closure (6,); w (3,) tip of arm 1; derivatives jacobian (3, 3) and dtheta_dy (9, 3) with respect to y; side
    () and stretch (3,) as in `Configuration`.
    """
    arms = [array([y[i], x[2 * i], x[2 * i + 1]]) for i in range(3)]
    tips = [ROTATIONS[i] @ tip(arms[i], p) for i in range(3)]
    n = [ROTATIONS[i] @ direction(arms[i]) for i in range(3)]
    columns = [ROTATIONS[i] @ tip_jacobian(arms[i], p) for i in range(3)]
    # dual vectors of the directions: dw = sum of dual_i (n_i . dw)
    normals = [cross(n[1], n[2]), cross(n[2], n[0]), cross(n[0], n[1])]
    volume = dot(n[0], normals[0])
    dual = [normal / volume for normal in normals]
    # arm 1 is the reference
    residuals = [tip_i - tips[0] for tip_i in tips]
    step = sum((dual[i] * dot(n[i], residuals[i]) for i in range(3)), start=np.zeros(3))
    reach = [dot(n[i], columns[i][:, 0]) for i in range(3)]
    jacobian = np.stack([dual[i] * reach[i] for i in range(3)], axis=1)
    updated, slopes = [], np.zeros((9, 3), dtype=object)
    for i in range(3):
        slopes[3 * i, i] = 1.0
        for k in (1, 2):
            column = columns[i][:, k]
            size = p.L2 * p.L2 * cos(arms[i][2]) * cos(arms[i][2]) if k == 1 else p.L2 * p.L2
            updated.append(arms[i][k] + dot(column, step - residuals[i]) / size)
            for j in range(3):
                motor_column = columns[i][:, 0] if i == j else np.zeros(3)
                slopes[3 * i + k, j] = dot(column, jacobian[:, j] - motor_column) / size
    closure_error = np.concatenate([tips[0] - tips[1], tips[0] - tips[2]])
    return {
        "next": array(updated),
        "closure": closure_error,
        "w": tips[0],
        "jacobian": jacobian,
        "dtheta_dy": slopes,
        "side": volume,
        "stretch": array([value / p.L1 for value in reach]),
    }


def forward_closed_form(y: Any, p: ArmParameters, mode: Scalar) -> dict[str, np.ndarray]:
    """Solve the forward kinematics in closed form: the intersection of spheres of radius L2 about the elbows.

    Parameters
    ----------
    mode : +1 below the plane of the elbows, -1 above it.

    Returns w (3,); x (6,); reach (): squared distance of the tool from the plane of the elbows, m^2, negative where the spheres
    do not meet.
    """
    elbows = [ROTATIONS[i] @ elbow(array([y[i], 0.0, 0.0]), p) for i in range(3)]
    a, b = elbows[1] - elbows[0], elbows[2] - elbows[0]
    normal = cross(a, b)
    area = dot(normal, normal)
    # centre of the circle through the elbows
    centre = cross(dot(a, a) * b - dot(b, b) * a, normal) / (2.0 * area)
    height = p.L2 * p.L2 - dot(centre, centre)
    w = elbows[0] + centre + normal * (mode * sqrt(height) / sqrt(area))
    x = []
    for i in range(3):
        distal = ROTATIONS[i].T @ (w - elbows[i])
        x += _angles(distal)
    return {"w": w, "x": array(x), "reach": height}


def inverse_closed_form(w: Any, p: ArmParameters, branch: Any) -> dict[str, np.ndarray]:
    """Solve the inverse kinematics in closed form, arm by arm: the elbow is the intersection of two circles in the arm's plane.

    Parameters
    ----------
    branch : (3,) -1 elbow out, +1 elbow in, for each arm.

    Returns theta (9,); reach (3,): 1 - cosine^2 of the angle at the shaft, negative out of reach; stretch (3,).
    """
    theta, reach, stretch = [], [], []
    for i in range(3):
        tool = ROTATIONS[i].T @ w
        across, forward, down = tool[0], tool[1] - (p.L0 - p.L3), tool[2]
        square = forward * forward + down * down
        distance = sqrt(square)
        cosine = (square + p.L1 * p.L1 - (p.L2 * p.L2 - across * across)) / (2.0 * p.L1 * distance)
        # out of reach this angle does not exist, and all of the arm's angles are nan
        theta1 = _wrap_angle(atan2(down, forward) + branch[i] * acos(cosine))
        distal = array([across, forward - p.L1 * cos(theta1), down - p.L1 * sin(theta1)])
        theta2, theta3 = _angles(distal)
        theta += [theta1, theta2, theta3]
        reach.append((1.0 - cosine) * (1.0 + cosine))
        n = direction(array([theta1, theta2, theta3]))
        stretch.append(n[2] * cos(theta1) - n[1] * sin(theta1))
    return {"theta": array(theta), "reach": array(reach), "stretch": array(stretch)}


def _angles(distal: Any) -> list[Scalar]:
    inside = sqrt(distal[1] * distal[1] + distal[2] * distal[2])
    return [atan2(distal[2], distal[1]), atan2(distal[0], inside)]


def _wrap_angle(angle: Scalar) -> Scalar:
    pi = float(np.pi)
    below = where(less(angle, -pi), angle + 2.0 * pi, angle)
    return where(less(pi, below), below - 2.0 * pi, below)


@functools.cache
def compiled_formulas(backend: str = "auto") -> dict[str, CompiledFormula]:
    p = (len(UNITS),)

    def compile_(formula: Any, inputs: dict[str, tuple[int, ...]]) -> CompiledFormula:
        return compile_formula(formula, inputs, backend=backend)

    return {
        "newton": compile_(lambda x, y, p: newton_step(x, y, Constants(*p)), {"x": (6,), "y": (3,), "p": p}),
        "forward": compile_(lambda y, p, mode: forward_closed_form(y, Constants(*p), mode), {"y": (3,), "p": p, "mode": ()}),
        "inverse": compile_(
            lambda w, p, branch: inverse_closed_form(w, Constants(*p), branch), {"w": (3,), "p": p, "branch": (3,)}
        ),
    }
