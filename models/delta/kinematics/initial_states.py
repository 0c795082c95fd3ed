"""Initial states of the delta robot from motor angles, a tool position, or all angles, projected onto the constraint."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from screwbond.models.delta.kinematics.arm import by_arms, direction, phi_of, theta_of, theta_rate, tip
from screwbond.models.delta.kinematics.checks import check_arms, checked_numbers, error, format_numbers
from screwbond.models.delta.kinematics.closure import ROTATIONS, closure, closure_jacobian
from screwbond.models.delta.kinematics.robot_kinematics import Configuration, DeltaKinematics

EXACT_TOLERANCE = 1e-9
"""Closure error (m), and rate of it (m/s), below which no note is given."""

MAX_PROJECTED_GAP = 1e-3
"""Largest closure error of start angles that is projected away, m."""

MAX_PROJECTED_SPEED = 1e-2
"""Largest relative velocity of the tips that is projected away, m/s."""

NO_PROJECTION = "project=False, if the start is meant to be off the constraint"
"""Advice for a start too far off the constraint."""


@dataclass(frozen=True, eq=False)
class InitialState:
    """Coordinates theta and rates v (9,) of the arms, as in `arm`, with notes on corrections."""

    theta: np.ndarray
    v: np.ndarray
    notes: tuple[str, ...]

    @property
    def x(self) -> np.ndarray:
        """Angles phi (6,) that are not measured, rad."""
        return _unmeasured(self.theta)


def initial_state(
    kinematics: DeltaKinematics,
    *,
    y: Any = None,
    w: Any = None,
    q: Any = None,
    rates: Any = None,
    v: Any = None,
    mode: str = "below",
    branch: Any = "out",
    project: bool = True,
) -> InitialState:
    """Return the initial state from either the motor angles y (3,), the tool w (3,) or all angles q (9,), phi arm after arm.

    Parameters
    ----------
    rates : (3,) velocities of the motors, rad/s; or
    v : (9,) rates of all angles, with q only. Without either, the robot is at rest.
    mode, branch : assembly mode for y, working branch for w.
    project : project q and v onto the constraint, keeping those of the motors; False starts off it.

    Raises `ModelError` E463 to E466 from the kinematics, E464 also for a rod along its motor's shaft in q; E467 for angles or
    rates too far off the constraint; E468 for conflicting arguments.
    """
    arguments = [name for name, value in (("y", y), ("w", w), ("q", q)) if value is not None]
    if len(arguments) > 1 or (rates is not None and v is not None) or (v is not None and q is None):
        names = " and ".join([*arguments, *(n for n, value in (("rates", rates), ("v", v)) if value is not None)])
        raise error("E468", f"a start cannot be given by {names}", "y, w or q; rates of the motors, or v with q")
    notes: list[str] = []
    if q is not None:
        angles, slopes = _project_angles(kinematics, by_arms(theta_of, checked_numbers("q", q, 9)), project, notes)
    else:
        if w is not None:
            angles_of_w = kinematics.inverse(w, branch=branch)
            posture = _posture(kinematics, by_arms(theta_of, angles_of_w))
        else:
            posture = kinematics.forward((0.25 * np.pi,) * 3 if y is None else y, mode=mode)
        angles, slopes = posture.theta, posture.dtheta_dy
    if v is not None:
        coordinate_rates = by_arms(theta_rate, checked_numbers("q", q, 9), checked_numbers("v", v, 9))
        return InitialState(angles, _project_rates(kinematics, angles, slopes, coordinate_rates, project, notes), tuple(notes))
    motors = np.zeros(3) if rates is None else checked_numbers("rates", rates, 3)
    if slopes is None and np.any(motors):
        slopes = _posture(kinematics, angles).dtheta_dy
    return InitialState(angles, np.zeros(9) if slopes is None else slopes @ motors, tuple(notes))


def assembly_mode(theta: np.ndarray) -> str:
    """Return the assembly mode of all coordinates theta (9,)."""
    n = [ROTATIONS[i] @ np.asarray(direction(theta[3 * i : 3 * i + 3]), dtype=float) for i in range(3)]
    return "below" if np.linalg.det(np.array(n)) >= 0.0 else "above"


def _posture(kinematics: DeltaKinematics, theta: np.ndarray) -> Configuration:
    """Return the nearest closed posture at the motor angles of theta (9,)."""
    return kinematics.forward(theta[::3], start=_unmeasured(theta), mode=assembly_mode(theta))


def _unmeasured(theta: np.ndarray) -> np.ndarray:
    return np.delete(by_arms(phi_of, theta), [0, 3, 6])


def _project_angles(
    kinematics: DeltaKinematics, theta: np.ndarray, project: bool, notes: list[str]
) -> tuple[np.ndarray, np.ndarray | None]:
    check_arms(theta, None, np.asarray(tip(theta[:3], kinematics.parameters), dtype=float))
    tip_distances = np.asarray(closure(theta, kinematics.parameters), dtype=float).reshape(2, 3)
    gap = float(np.max(np.linalg.norm(tip_distances, axis=1)))
    if gap <= EXACT_TOLERANCE or not project:
        return theta, None
    q = by_arms(phi_of, theta)
    if not gap <= MAX_PROJECTED_GAP:
        why = (f"the tips are {gap:.3g} m apart, more than {MAX_PROJECTED_GAP:g} m", f"q = {format_numbers(q, 'rad')}")
        cure = "the motor angles y alone, from which the others follow"
        raise error("E467", "these angles do not close the arms", cure, NO_PROJECTION, why=why)
    posture = _posture(kinematics, theta)
    largest = float(np.max(np.abs(posture.theta - theta)))
    notes.append(f"the tips were {gap:.3g} m apart: unmeasured angles moved by up to {largest:.3g} rad, motor angles kept")
    return posture.theta, posture.dtheta_dy


def _project_rates(
    kinematics: DeltaKinematics, theta: np.ndarray, slopes: np.ndarray | None, v: np.ndarray, project: bool, notes: list[str]
) -> np.ndarray:
    tip_velocities = (np.asarray(closure_jacobian(theta, kinematics.parameters), dtype=float) @ v).reshape(2, 3)
    speed = float(np.max(np.linalg.norm(tip_velocities, axis=1)))
    if speed <= EXACT_TOLERANCE or not project:
        return v
    if not speed <= MAX_PROJECTED_SPEED:
        why = (f"the tips part at {speed:.3g} m/s, more than {MAX_PROJECTED_SPEED:g} m/s", f"v = {format_numbers(v, 'rad/s')}")
        cure = "the rates of the motors alone, from which the others follow"
        raise error("E467", "these rates pull the arms apart", cure, NO_PROJECTION, why=why)
    if slopes is None:
        slopes = _posture(kinematics, theta).dtheta_dy
    notes.append(f"the tips parted at {speed:.3g} m/s: rates follow from those of the motors")
    return slopes @ v[::3]
