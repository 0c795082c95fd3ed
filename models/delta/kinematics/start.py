"""Where a run of the delta robot starts: motor angles, a tool position, or all angles, brought onto the constraint."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from screwbond.models.delta.kinematics.angles import by_arms, phi_of, theta_of, theta_rate
from screwbond.models.delta.kinematics.arm import direction, tip
from screwbond.models.delta.kinematics.formulas import ROTATIONS, closure, closure_jacobian
from screwbond.models.delta.kinematics.refusals import check_arms, error, numbers, text
from screwbond.models.delta.kinematics.whole_robot import Configuration, DeltaKinematics

EXACT = 1e-9
"""Closure error (m), and rate of it (m/s), that needs no mention."""

SMALL_GAP = 1e-3
"""Largest closure error of given angles that is put right, m."""

SMALL_SPEED = 1e-2
"""Largest relative velocity of the tips that is put right, m/s."""

MEANT = "project=False, if the start is meant to be off the constraint"
"""Cure of a start that is too far off the constraint to be put right."""


@dataclass(frozen=True, eq=False)
class Start:
    """Coordinates theta and their rates v (9,) of the arms, as in `screwbond.models.delta.kinematics.arm`, and what was done to
    them."""

    theta: np.ndarray
    v: np.ndarray
    notes: tuple[str, ...]

    @property
    def x(self) -> np.ndarray:
        """Angles phi (6,) that are not measured, rad."""
        return _unmeasured(self.theta)


def start_of(
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
) -> Start:
    """Start from the motor angles y (3,), the tool w (3,) or all angles q (9,), phi arm after arm, one of them.

    Parameters
    ----------
    rates : (3,) velocities of the motors, rad/s; or
    v : (9,) rates of all angles, with q only. Neither is rest.
    mode, branch : assembly mode for y, working branch for w.
    project : bring q and v onto the constraint, the motors' own kept; False starts off it.

    Raises `ModelError` E463 to E466 from the kinematics, E464 also for a rod along its motor's shaft in q; E467 for angles or
    rates too far off the constraint; E468 for arguments that do not go together.
    """
    given = [name for name, value in (("y", y), ("w", w), ("q", q)) if value is not None]
    if len(given) > 1 or (rates is not None and v is not None) or (v is not None and q is None):
        both = " and ".join([*given, *(n for n, value in (("rates", rates), ("v", v)) if value is not None)])
        raise error("E468", f"a start cannot be given by {both}", "y, w or q; rates of the motors, or v with q")
    notes: list[str] = []
    if q is not None:
        angles, slopes = _angles(kinematics, by_arms(theta_of, numbers("q", q, 9)), project, notes)
    else:
        if w is not None:
            found = kinematics.inverse(w, branch=branch)
            posture = _posture(kinematics, by_arms(theta_of, found))
        else:
            posture = kinematics.forward((0.25 * np.pi,) * 3 if y is None else y, mode=mode)
        angles, slopes = posture.theta, posture.dtheta_dy
    if v is not None:
        given_rates = by_arms(theta_rate, numbers("q", q, 9), numbers("v", v, 9))
        return Start(angles, _rates(kinematics, angles, slopes, given_rates, project, notes), tuple(notes))
    motors = np.zeros(3) if rates is None else numbers("rates", rates, 3)
    if slopes is None and np.any(motors):
        slopes = _posture(kinematics, angles).dtheta_dy
    return Start(angles, np.zeros(9) if slopes is None else slopes @ motors, tuple(notes))


def assembly_mode(theta: np.ndarray) -> str:
    """The assembly mode that all coordinates theta (9,) are in."""
    n = [ROTATIONS[i] @ np.asarray(direction(theta[3 * i : 3 * i + 3]), dtype=float) for i in range(3)]
    return "below" if np.linalg.det(np.array(n)) >= 0.0 else "above"


def _posture(kinematics: DeltaKinematics, theta: np.ndarray) -> Configuration:
    """The closed posture at the motor angles of theta (9,), the nearest."""
    return kinematics.forward(theta[::3], start=_unmeasured(theta), mode=assembly_mode(theta))


def _unmeasured(theta: np.ndarray) -> np.ndarray:
    return np.delete(by_arms(phi_of, theta), [0, 3, 6])


def _angles(
    kinematics: DeltaKinematics, theta: np.ndarray, project: bool, notes: list[str]
) -> tuple[np.ndarray, np.ndarray | None]:
    check_arms(theta, None, np.asarray(tip(theta[:3], kinematics.parameters), dtype=float))
    apart = np.asarray(closure(theta, kinematics.parameters), dtype=float).reshape(2, 3)
    gap = float(np.max(np.linalg.norm(apart, axis=1)))
    if gap <= EXACT or not project:
        return theta, None
    q = by_arms(phi_of, theta)
    if not gap <= SMALL_GAP:
        why = (f"the tips are {gap:.3g} m apart, more than {SMALL_GAP:g} m", f"q = {text(q, 'rad')}")
        cure = "the motor angles y alone, from which the others follow"
        raise error("E467", "these angles do not close the arms", cure, MEANT, why=why)
    posture = _posture(kinematics, theta)
    most = float(np.max(np.abs(posture.theta - theta)))
    notes.append(f"the tips were {gap:.3g} m apart: unmeasured angles moved by up to {most:.3g} rad, motor angles kept")
    return posture.theta, posture.dtheta_dy


def _rates(
    kinematics: DeltaKinematics, theta: np.ndarray, slopes: np.ndarray | None, v: np.ndarray, project: bool, notes: list[str]
) -> np.ndarray:
    apart = (np.asarray(closure_jacobian(theta, kinematics.parameters), dtype=float) @ v).reshape(2, 3)
    speed = float(np.max(np.linalg.norm(apart, axis=1)))
    if speed <= EXACT or not project:
        return v
    if not speed <= SMALL_SPEED:
        why = (f"the tips part at {speed:.3g} m/s, more than {SMALL_SPEED:g} m/s", f"v = {text(v, 'rad/s')}")
        cure = "the rates of the motors alone, from which the others follow"
        raise error("E467", "these rates pull the arms apart", cure, MEANT, why=why)
    if slopes is None:
        slopes = _posture(kinematics, theta).dtheta_dy
    notes.append(f"the tips parted at {speed:.3g} m/s: rates follow from those of the motors")
    return slopes @ v[::3]
