"""Forward and inverse kinematics of the delta robot, with derivatives: motor angles <-> all angles and the tool.

Angles are q = (phi of arm 1, of arm 2, of arm 3), (9,), those of Bortoff 2018; all is computed in the coordinates theta of
`arm`, (9,) likewise. y are the three motor angles, x the six of q that are not measured, w the tool. Arm 2 and
3 are arm 1 turned by +120 and -120 degrees about x3, which points down. Forward kinematics is Newton's method on the six
equations of closure (Bortoff 2018, eq. (27) and (28)); its start, unless one is given, and whether the robot can be
assembled at all, follow from the intersection of three spheres about the elbows. Inverse kinematics is the intersection of
two circles in the plane of each arm.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from screwbond.models.delta.kinematics.arm import by_arms, phi_of, phi_rate, theta_of
from screwbond.models.delta.kinematics.checks import (
    check_arms,
    check_assembled,
    check_mode,
    check_reached,
    checked_choice,
    checked_numbers,
    error,
)
from screwbond.models.delta.kinematics.closure import compiled_formulas
from screwbond.models.delta.kinematics.parameters import DeltaParameters

MODES = {"below": 1.0, "above": -1.0}
"""Assembly modes: side of the elbows' plane on which the tool is; x3 points down."""

BRANCHES = {"out": -1.0, "in": 1.0}
"""Working branches of an arm: its elbow away from the robot's axis, or towards it."""

TOLERANCE = 1e-13
"""Closure error (m) at which the Newton iteration ends."""

_MAX_ITERATIONS = 25


@dataclass(frozen=True, eq=False)
class Configuration:
    """Posture of the robot, and its first derivatives.

    Parameters
    ----------
    theta : (9,) coordinates of the arms one after the other, rad.
    w : (3,) tool, m.
    jacobian : (3, 3) dw/dy, m: tool velocity from motor velocities.
    dtheta_dy : (9, 3) derivative of the coordinates by the motors' angles.
    closure : (6,) distances between the three tips, m.
    side : determinant of the three distal directions: +1 to -1, positive below the elbows; 0 where the forward
        kinematics is singular.
    stretch : (3,) cosine between each distal link and the velocity of its elbow; 0 where the arm is stretched or folded.
    iterations : Newton steps taken.
    """

    theta: np.ndarray
    w: np.ndarray
    jacobian: np.ndarray
    dtheta_dy: np.ndarray
    closure: np.ndarray
    side: float
    stretch: np.ndarray
    iterations: int

    @property
    def q(self) -> np.ndarray:
        """Angles phi (9,) of the arms one after the other, rad."""
        return by_arms(phi_of, self.theta)

    @property
    def dq_dy(self) -> np.ndarray:
        """Derivative (9, 3) of q by the motors' angles; zero for phi2 and phi3 of a rod along x2, see `arm`."""
        return np.stack([by_arms(phi_rate, self.theta, column) for column in self.dtheta_dy.T], axis=1)

    @property
    def y(self) -> np.ndarray:
        """Motor angles (3,), rad."""
        return self.theta[::3]

    @property
    def x(self) -> np.ndarray:
        """Angles that are not measured (6,), rad: q12, q13, q22, q23, q32, q33."""
        return self.q[_UNMEASURED]


_UNMEASURED = np.array([1, 2, 4, 5, 7, 8])


@dataclass(frozen=True)
class DeltaKinematics:
    """Forward and inverse kinematics of a delta robot.

    Parameters
    ----------
    parameters : the robot.
    backend : "llvm", "numpy", or "auto": machine code where llvmlite is installed, else NumPy.
    """

    parameters: DeltaParameters
    backend: str = "auto"

    def forward(
        self,
        y: Sequence[float] | np.ndarray,
        *,
        start: Sequence[float] | np.ndarray | None = None,
        mode: str = "below",
        tolerance: float = TOLERANCE,
    ) -> Configuration:
        """Return the posture at the motor angles y (3,), rad.

        Parameters
        ----------
        start : initial unmeasured angles (6,), such as those of the previous posture; by default the exact ones of the assembly
            mode.
        mode : "below" or "above": the assembly mode.
        tolerance : closure error, m, at which the iteration ends.

        Raises `ModelError` E463 if the tips cannot meet; E464 where they meet but do not determine the tool, or a distal link
        lies along its motor's shaft; E465 if a start leads to the other assembly mode, or to none; E466 for invalid arguments.
        """
        angles = checked_numbers("y", y, 3)
        sign = checked_choice("mode", mode, MODES)
        p = np.array(self.parameters.values())
        if start is None:
            result = compiled_formulas(self.backend)["closed"](angles, p, sign)
            check_assembled(angles, float(result["reach"]))
            x = result["x"]
        else:
            x = by_arms(theta_of, _merge_angles(angles, checked_numbers("start", start, 6)))[_UNMEASURED]
        newton = compiled_formulas(self.backend)["newton"]
        best, iterations = np.inf, 0
        while True:
            values = newton(x, angles, p)
            error_norm = float(np.max(np.abs(values["closure"])))
            stalled = error_norm >= best and error_norm < 100.0 * TOLERANCE
            if error_norm <= tolerance or stalled or not np.isfinite(error_norm) or iterations == _MAX_ITERATIONS:
                break
            best, x, iterations = min(best, error_norm), values["next"], iterations + 1
        fields = {name: values[name] for name in ("w", "jacobian", "dtheta_dy", "closure", "stretch")}
        posture = Configuration(_merge_angles(angles, x), side=float(values["side"]), iterations=iterations, **fields)
        check_arms(posture.theta, None, posture.w)
        check_mode(angles, posture.w, posture.side, sign, error_norm, max(tolerance, 100.0 * TOLERANCE))
        return posture

    def inverse(self, w: Sequence[float] | np.ndarray, *, branch: str | Sequence[str] = "out") -> np.ndarray:
        """Return all nine angles q (9,), rad, that bring the tool to w (3,), m.

        Parameters
        ----------
        branch : "out" or "in" for all arms, or one of them for each.

        Raises `ModelError` E463 out of reach; E464 where an arm is stretched or folded, or its distal link lies along its motor's
        shaft, so that the angles are not determined; E466 for invalid arguments.
        """
        tool = checked_numbers("w", w, 3)
        result = compiled_formulas(self.backend)["open"](tool, np.array(self.parameters.values()), branch_signs(branch))
        check_reached(tool, result["reach"])
        theta = result["theta"]
        check_arms(theta, result["stretch"], tool)
        return by_arms(phi_of, theta)

    def jacobian(self, y: Sequence[float] | np.ndarray, **options: Any) -> np.ndarray:
        """Return the derivative dw/dy (3, 3), m, at motor angles y; options and errors as in `forward`."""
        return self.forward(y, **options).jacobian

    def forward_many(self, y: np.ndarray, *, mode: str = "below") -> tuple[np.ndarray, np.ndarray]:
        """Return tools (n, 3) in m, nan where the tips cannot meet, and all angles (n, 9) of motor angles (n, 3)."""
        angles = np.ascontiguousarray(y, dtype=float).reshape(-1, 3)
        p, sign = np.array(self.parameters.values()), checked_choice("mode", mode, MODES)
        results = compiled_formulas(self.backend)["closed"].evaluate_many(angles, p, sign)
        theta = _merge_angles(angles, results["x"])
        theta[results["reach"] < 0.0] = np.nan
        return results["w"], by_arms(phi_of, theta)

    def inverse_many(self, w: np.ndarray, *, branch: str | Sequence[str] = "out") -> tuple[np.ndarray, np.ndarray]:
        """Return all angles (n, 9) in rad, nan out of reach, of tools (n, 3), and a mask (n,) of those within reach."""
        tools = np.ascontiguousarray(w, dtype=float).reshape(-1, 3)
        p = np.array(self.parameters.values())
        results = compiled_formulas(self.backend)["open"].evaluate_many(tools, p, branch_signs(branch))
        reached = np.all(results["reach"] >= 0.0, axis=1)
        return by_arms(phi_of, results["theta"]), reached

    def postures_many(self, q: np.ndarray) -> dict[str, np.ndarray]:
        """Return fields of `Configuration` at closed angles q (n, 9): w (n, 3), jacobian (n, 3, 3), side (n,), stretch (n, 3)."""
        return self.postures_at(by_arms(theta_of, np.asarray(q, dtype=float).reshape(-1, 9)))

    def postures_at(self, theta: np.ndarray) -> dict[str, np.ndarray]:
        """Return fields of `Configuration`, as `postures_many`, but at closed coordinates theta (n, 9)."""
        angles = np.ascontiguousarray(theta, dtype=float).reshape(-1, 9)
        values = compiled_formulas(self.backend)["newton"].evaluate_many(
            np.ascontiguousarray(angles[:, _UNMEASURED]), np.ascontiguousarray(angles[:, ::3]), np.array(self.parameters.values())
        )
        return {name: values[name] for name in ("w", "jacobian", "side", "stretch", "closure")}


def branch_signs(branch: str | Sequence[str]) -> np.ndarray:
    """Return signs (3,) of the working branches of the arms.

    >>> branch_signs(("out", "in", "out")).tolist()
    [-1.0, 1.0, -1.0]
    """
    words = (branch,) * 3 if isinstance(branch, str) else tuple(branch)
    if len(words) != 3:
        raise error("E466", f"{len(words)} working branches for three arms", "one word, or one for each arm")
    return np.array([checked_choice("branch", word, BRANCHES) for word in words])


def _merge_angles(y: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return all angles (..., 9) from the measured (..., 3) and the unmeasured ones (..., 6)."""
    theta = np.empty((*np.shape(y)[:-1], 9))
    theta[..., ::3], theta[..., _UNMEASURED] = y, x
    return theta
