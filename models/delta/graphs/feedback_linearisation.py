"""Exact feedback linearisation of the delta robot: motor torques for a target acceleration of the tool or the motors.

M v' = B u + H^T lambda - h(q, v) and H v' = -H' v - alpha1 H v - alpha0 c, with h all forces of motion, damping and weight, and
c the closure. With A = H M^-1 H^T the multipliers are eliminated:

v' = P u + a,  P = M^-1 B - M^-1 H^T A^-1 H M^-1 B,  a = -M^-1 h + M^-1 H^T A^-1 (H M^-1 h - H' v - alpha1 H v - alpha0 c)

For an output with the acceleration E v' + d, the torques for a target are u = (E P)^-1 (target - d - E a).

Source: Bortoff 2018, section 4, where the elimination comes after the stabilisation: alpha depends on q and v.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from screwbond.models.delta.kinematics import arm
from screwbond.models.delta.kinematics.arm import ArmParameters, Constants
from screwbond.models.delta.kinematics.checks import error
from screwbond.models.delta.kinematics.closure import ROTATIONS, closure, closure_jacobian
from screwbond.models.delta.kinematics.parameters import LETTERS, UNITS, DeltaParameters

from bondgraph import Block, Element, Op, Parameter
from screws.linear import solve_spd
from screws.scalars import array, cos, sin
from screws.vectors import cross, dot

OUTPUTS = ("tool", "motors")


def tip_drift(theta: Any, v: Any, p: ArmParameters) -> np.ndarray:
    """Return (d/dt dpsi) v (3,) in m/s^2: the tip's acceleration at zero angular acceleration, in the arm's axes."""
    s1, s2, s3 = sin(theta[0]), sin(theta[1]), sin(theta[2])
    c1, c2, c3 = cos(theta[0]), cos(theta[1]), cos(theta[2])
    square = v[1] * v[1] + v[2] * v[2]
    return array(
        [
            -p.L2 * s3 * v[2] * v[2],
            -p.L1 * c1 * v[0] * v[0] - p.L2 * (c3 * c2 * square - 2.0 * s3 * s2 * v[1] * v[2]),
            -p.L1 * s1 * v[0] * v[0] - p.L2 * (c3 * s2 * square + 2.0 * s3 * c2 * v[1] * v[2]),
        ]
    )


def torques(q: Any, v: Any, target: Any, p: ArmParameters, alpha1: Any, alpha0: Any, output: str = "tool") -> np.ndarray:
    """Return motor torques (3,) for the output's acceleration `target` (3,), at q and v (9,) of all arms; any scalar."""
    arms = [slice(3 * i, 3 * i + 3) for i in range(3)]
    inertias = [arm.inertia(q[s], p) for s in arms]
    forces = [arm.coriolis_torque(q[s], v[s], p) + arm.gravity_torque(q[s], p) + arm.friction_torque(q[s], v[s], p) for s in arms]
    H = closure_jacobian(q, p)
    drifts = [R @ tip_drift(q[s], v[s], p) for R, s in zip(ROTATIONS, arms, strict=True)]
    violation = np.concatenate([drifts[0] - drifts[1], drifts[0] - drifts[2]]) + alpha1 * (H @ v) + alpha0 * closure(q, p)
    # Columns of M^-1 [H^T, B, h], arm by arm.
    by_closure = np.concatenate(
        [np.stack([solve_spd(m, row[s]) for row in H], axis=1) for m, s in zip(inertias, arms, strict=True)]
    )
    by_motors = np.zeros((9, 3), dtype=object)
    for i, (m, s) in enumerate(zip(inertias, arms, strict=True)):
        by_motors[s, i] = solve_spd(m, (1.0, 0.0, 0.0))
    free = np.concatenate([solve_spd(m, f) for m, f in zip(inertias, forces, strict=True)])
    closure_matrix = H @ by_closure
    closure_response = np.stack([solve_spd(closure_matrix, column) for column in (H @ by_motors).T], axis=1)
    a = by_closure @ solve_spd(closure_matrix, H @ free - violation) - free
    P = by_motors - by_closure @ closure_response
    if output == "motors":
        rows, d = (lambda x: array([x[0], x[3], x[6]])), np.zeros(3)
    else:
        slope = arm.tip_jacobian(q[:3], p)
        rows, d = (lambda x: slope @ x[:3]), drifts[0]
    beta = np.stack([rows(column) for column in P.T], axis=1)
    return _solve3(beta, target - d - rows(a))


def _solve3(matrix: Any, right: Any) -> np.ndarray:
    """Solve a general 3x3 system by vector products."""
    a, b, c = matrix[:, 0], matrix[:, 1], matrix[:, 2]
    bc, ca, ab = cross(b, c), cross(c, a), cross(a, b)
    volume = dot(a, bc)
    return array([dot(bc, right) / volume, dot(ca, right) / volume, dot(ab, right) / volume])


def linearisation_block(parameters: DeltaParameters, alpha1: float, alpha0: float, output: str, acceleration: str) -> Element:
    """Return the block `linearisation` with the signal `.torque` (3,) for an acceleration at a path; E440 unknown output."""
    if output not in OUTPUTS:
        raise error("E440", f"output {output!r} is unknown", *(f'output="{name}"' for name in OUTPUTS))
    names = [f"{what}{i}" for what in ("q", "v") for i in (1, 2, 3)]

    def formula(u: Any, *arguments: Any) -> np.ndarray:
        q, v = (np.concatenate([np.asarray(part) for part in arguments[k : k + 3]]) for k in (0, 3))
        *p, first, second = arguments[6:]
        return torques(q, v, u, Constants(*p), first, second, output)

    law = Op("linearisation", formula, r"\beta^{-1} (#1 - \alpha)", "BO18 (23), (33), (34), (35); BO18 (22), corrected")
    values = {key: Parameter(getattr(parameters, key), unit) for key, unit in UNITS.items()}
    return Block(
        "linearisation",
        [("torque", law, ["u", *names, *UNITS, "alpha1", "alpha0"])],
        inputs={"u": acceleration, **{name: f"arm {name[1]}.{'theta' if name[0] == 'q' else 'theta rate'}" for name in names}},
        parameters={**values, "alpha1": Parameter(alpha1, "1/s"), "alpha0": Parameter(alpha0, "1/s^2")},
        units={"torque": "N m"},
        symbols={"torque": r"\tau", **LETTERS},
    )
