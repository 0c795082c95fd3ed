"""Checks of the delta robot's kinematics, and their errors E463 to E466."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import numpy as np

from bondgraph.errors import refusal

error = functools.partial(refusal, about="delta robot", places=())
"""Return the error of one problem of the robot, its controllers and its tasks: see `bondgraph.errors.refusal`."""

SINGULARITY_TOLERANCE = 1e-7
"""Size below which determinants of unit vectors, and sines, count as zero."""


def check_assembled(y: np.ndarray, reach: float) -> None:
    """Raise E463 where the tips cannot meet at motor angles y (3,), E464 where the elbows lie on one line (nan)."""
    if np.isnan(reach):
        title = "the forward kinematics is singular: the elbows lie on one line, or the distal links are parallel"
        why = (f"at y = {format_numbers(y, 'rad')}", "the motor angles do not determine where the tool goes")
        raise error("E464", title, "stay clear of this posture", why=why)
    if reach < 0.0:
        title = f"no tool position has the motor angles y = {format_numbers(y, 'rad')}"
        cure = "motor angles inside the workspace, or a longer distal link L2"
        raise error("E463", title, cure, why="the elbows are farther apart than the distal links can span")


def check_reached(w: np.ndarray, reach: np.ndarray) -> None:
    """Raise E463 where an arm cannot bring its tip to w (3,); `reach` (3,) is negative there."""
    unreached = [i for i in range(3) if not reach[i] >= 0.0]
    if unreached:
        title = f"the tool cannot reach w = {format_numbers(w, 'm')}"
        why = [f"arm {i + 1} is too short, or cannot fold that far" for i in unreached]
        raise error("E463", title, "a point inside the workspace (`screwbond.models.delta.kinematics.workspace`)", why=why)


def check_mode(y: np.ndarray, w: np.ndarray, side: float, sign: float, distance: float, tolerance: float) -> None:
    """Raise E464 in a singular posture, E465 where the tips are `distance` (m) apart or the tool is on the wrong side."""
    if distance <= tolerance and side * sign >= SINGULARITY_TOLERANCE:
        return
    where = f"at y = {format_numbers(y, 'rad')}, w = {format_numbers(w, 'm')}"
    if abs(side) < SINGULARITY_TOLERANCE:
        title = "the forward kinematics is singular: the three distal links lie in one plane or are parallel"
        why = (where, "the motor angles do not determine where the tool goes")
        raise error("E464", title, "stay clear of this posture; the Baumgarte form of the dynamics runs through it", why=why)
    if not distance <= tolerance:
        title = "Newton's method finds no posture from this start"
        cure = "a start nearer to the posture, or none: then the assembly mode is exact from the start"
        raise error("E465", title, cure, why=(f"the tips are {distance:.3g} m apart after the last step", where))
    actual, expected = ("above", "below") if sign > 0.0 else ("below", "above")
    title = "the start leads to the other assembly mode"
    why = (f"the tool is {actual} the plane of the elbows (x3 points down), not {expected} it", where)
    raise error("E465", title, "a start in the wanted assembly mode, or none", f'mode="{actual}" if it is meant', why=why)


def check_arms(theta: np.ndarray, stretch: np.ndarray | None, w: np.ndarray) -> None:
    """Raise E464 where an arm's own angles theta (9,) are not determined."""
    along = np.abs(np.cos(theta[2::3])) < SINGULARITY_TOLERANCE
    straight = np.zeros(3, dtype=bool) if stretch is None else np.abs(stretch) < SINGULARITY_TOLERANCE
    if not (along.any() or straight.any()):
        return
    i = int(np.argmax(along)) if along.any() else int(np.argmax(straight))
    where = f"arm {i + 1} at the angles {format_numbers(theta[3 * i : 3 * i + 3], 'rad')}, w = {format_numbers(w, 'm')}"
    if along[i]:
        title = f"arm {i + 1}: the distal link lies along its motor's shaft"
        why = (where, "the elbow moves across it, and the two rods of a real arm would lie on one line")
        raise error("E464", title, "another pose: this one is the edge of the workspace", why=why)
    title = f"arm {i + 1} is stretched or folded: the edge of the workspace"
    why = (where, "its two working branches meet here, and the motor cannot move the tool along the links")
    raise error("E464", title, "a pose a little inside the workspace", why=why)


def checked_numbers(name: str, values: Any, size: int) -> np.ndarray:
    """Return finite numbers (size,); E466 otherwise."""
    try:
        out = np.array(values, dtype=float)
    except (TypeError, ValueError):
        out = np.full(0, np.nan)
    if out.shape != (size,) or not np.all(np.isfinite(out)):
        raise error("E466", f"{name} = {values!r}", f"a list of {size} numbers", why=f"{name} is {size} finite numbers")
    return out


def checked_choice(name: str, word: str, options: Mapping[str, float]) -> float:
    """Return the sign of a word; E466 if it is unknown."""
    if word not in options:
        names = " or ".join(f'"{option}"' for option in options)
        raise error("E466", f"{name} {word!r} is unknown", names)
    return options[word]


def format_numbers(values: np.ndarray, unit: str) -> str:
    """Format numbers with their unit, for messages."""
    return "(" + ", ".join(f"{value:.6g}" for value in values) + f") {unit}"
