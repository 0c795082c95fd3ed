"""Where a run of the delta robot starts: motor angles, a tool position, or all angles, brought onto the constraint."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from models.delta.arm import direction
from models.delta.formulas import ROTATIONS, closure, closure_jacobian
from models.delta.kinematics import DeltaKinematics
from models.delta.refusals import error, numbers, text

EXACT = 1e-9
"""Closure error (m), and rate of it (m/s), that needs no mention."""

SMALL_GAP = 1e-3
"""Largest closure error of given angles that is put right, m."""

SMALL_SPEED = 1e-2
"""Largest relative velocity of the tips that is put right, m/s."""


@dataclass(frozen=True, eq=False)
class Start:
    """Angles q and rates v (9,) of the arms, and what was done to them."""

    q: np.ndarray
    v: np.ndarray
    notes: tuple[str, ...]


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
    """Start from the motor angles y (3,), the tool w (3,) or all angles q (9,), one of them.

    Parameters
    ----------
    rates : (3,) velocities of the motors, rad/s; or
    v : (9,) rates of all angles, with q only. Neither is rest.
    mode, branch : assembly mode for y, working branch for w.
    project : bring q and v onto the constraint, the motors' own kept; False starts off it.

    Raises
    ------
    ModelError
        E463 to E466 from the kinematics; E467 for angles or rates too far off the constraint; E468 for arguments that do not
        go together.
    """
    given = [name for name, value in (("y", y), ("w", w), ("q", q)) if value is not None]
    if len(given) > 1 or (rates is not None and v is not None) or (v is not None and q is None):
        both = " and ".join([*given, *(n for n, value in (("rates", rates), ("v", v)) if value is not None)])
        raise error("E468", f"a start cannot be given by {both}", [], "y, w or q; rates of the motors, or v with q")
    notes: list[str] = []
    if q is not None:
        angles, slopes = _angles(kinematics, numbers("q", q, 9), project, notes)
    else:
        if w is not None:
            found = kinematics.inverse(w, branch=branch)
            posture = kinematics.forward(found[::3], start=np.delete(found, [0, 3, 6]), mode=assembly_mode(found))
        else:
            posture = kinematics.forward((0.25 * np.pi,) * 3 if y is None else y, mode=mode)
        angles, slopes = posture.q, posture.dq_dy
    if v is not None:
        return Start(angles, _rates(kinematics, angles, slopes, numbers("v", v, 9), project, notes), tuple(notes))
    motors = np.zeros(3) if rates is None else numbers("rates", rates, 3)
    if slopes is None and np.any(motors):
        slopes = kinematics.forward(angles[::3], start=np.delete(angles, [0, 3, 6]), mode=assembly_mode(angles)).dq_dy
    return Start(angles, np.zeros(9) if slopes is None else slopes @ motors, tuple(notes))


def assembly_mode(q: np.ndarray) -> str:
    """The assembly mode that all angles q (9,) are in."""
    n = [ROTATIONS[i] @ np.asarray(direction(q[3 * i : 3 * i + 3]), dtype=float) for i in range(3)]
    return "below" if np.linalg.det(np.array(n)) >= 0.0 else "above"


def _angles(
    kinematics: DeltaKinematics, q: np.ndarray, project: bool, notes: list[str]
) -> tuple[np.ndarray, np.ndarray | None]:
    apart = np.asarray(closure(q, kinematics.parameters), dtype=float).reshape(2, 3)
    gap = float(np.max(np.linalg.norm(apart, axis=1)))
    if gap <= EXACT or not project:
        return q, None
    if not gap <= SMALL_GAP:
        raise error(
            "E467",
            "these angles do not close the arms",
            [f"the tips are {gap:.3g} m apart, more than {SMALL_GAP:g} m", f"q = {text(q, 'rad')}"],
            "the motor angles y alone, from which the others follow",
            "project=False, if the start is meant to be off the constraint",
        )
    posture = kinematics.forward(q[::3], start=np.delete(q, [0, 3, 6]), mode=assembly_mode(q))
    most = float(np.max(np.abs(posture.q - q)))
    notes.append(f"the tips were {gap:.3g} m apart: unmeasured angles moved by up to {most:.3g} rad, motor angles kept")
    return posture.q, posture.dq_dy


def _rates(
    kinematics: DeltaKinematics,
    q: np.ndarray,
    slopes: np.ndarray | None,
    v: np.ndarray,
    project: bool,
    notes: list[str],
) -> np.ndarray:
    apart = (np.asarray(closure_jacobian(q, kinematics.parameters), dtype=float) @ v).reshape(2, 3)
    speed = float(np.max(np.linalg.norm(apart, axis=1)))
    if speed <= EXACT or not project:
        return v
    if not speed <= SMALL_SPEED:
        raise error(
            "E467",
            "these rates pull the arms apart",
            [f"the tips part at {speed:.3g} m/s, more than {SMALL_SPEED:g} m/s", f"v = {text(v, 'rad/s')}"],
            "the rates of the motors alone, from which the others follow",
            "project=False, if the start is meant to be off the constraint",
        )
    if slopes is None:
        slopes = kinematics.forward(q[::3], start=np.delete(q, [0, 3, 6]), mode=assembly_mode(q)).dq_dy
    notes.append(f"the tips parted at {speed:.3g} m/s: rates follow from those of the motors")
    return slopes @ v[::3]
