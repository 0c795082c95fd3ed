"""What the delta robot's kinematics refuses, with codes E463 to E466, and the checks that decide it."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import numpy as np

from bondgraph.errors import refusal

error = functools.partial(refusal, about="delta robot", places=())
"""The error of one problem of the robot, its controllers and its tasks: see `bondgraph.errors.refusal`."""

SINGULAR = 1e-7
"""Determinants of unit vectors, and sines, below this count as zero."""


def check_assembled(y: np.ndarray, reach: float) -> None:
    """Raise E463 where the tips cannot meet at motor angles y (3,), E464 where the elbows lie on one line (nan)."""
    if np.isnan(reach):
        title = "the forward kinematics is singular: the elbows lie on one line, or the distal links are parallel"
        why = (f"at y = {text(y, 'rad')}", "the motor angles do not determine where the tool goes")
        raise error("E464", title, "stay clear of this posture", why=why)
    if reach < 0.0:
        title = f"no tool position has the motor angles y = {text(y, 'rad')}"
        cure = "motor angles inside the workspace, or a longer distal link L2"
        raise error("E463", title, cure, why="the elbows are farther apart than the distal links can span")


def check_reached(w: np.ndarray, reach: np.ndarray) -> None:
    """Raise E463 where an arm cannot bring its tip to w (3,); `reach` (3,) is negative there."""
    far = [i for i in range(3) if not reach[i] >= 0.0]
    if far:
        title = f"the tool cannot reach w = {text(w, 'm')}"
        why = [f"arm {i + 1} is too short, or cannot fold that far" for i in far]
        raise error("E463", title, "a point inside the workspace (`screwbond.models.delta.kinematics.workspace`)", why=why)


def check_mode(y: np.ndarray, w: np.ndarray, side: float, sign: float, apart: float, allowed: float) -> None:
    """Raise E464 in a singular posture, E465 where the tips are apart (m) or the tool is on the wrong side."""
    if apart <= allowed and side * sign >= SINGULAR:
        return
    where = f"at y = {text(y, 'rad')}, w = {text(w, 'm')}"
    if abs(side) < SINGULAR:
        title = "the forward kinematics is singular: the three distal links lie in one plane or are parallel"
        why = (where, "the motor angles do not determine where the tool goes")
        raise error("E464", title, "stay clear of this posture; the Baumgarte form of the dynamics runs through it", why=why)
    if not apart <= allowed:
        title = "Newton's method finds no posture from this start"
        cure = "a start nearer to the posture, or none: then the assembly mode is exact from the start"
        raise error("E465", title, cure, why=(f"the tips are {apart:.3g} m apart after the last step", where))
    found, wanted = ("above", "below") if sign > 0.0 else ("below", "above")
    title = "the start leads to the other assembly mode"
    why = (f"the tool is {found} the plane of the elbows (x3 points down), not {wanted} it", where)
    raise error("E465", title, "a start in the wanted assembly mode, or none", f'mode="{found}" if it is meant', why=why)


def check_arms(theta: np.ndarray, stretch: np.ndarray | None, w: np.ndarray) -> None:
    """Raise E464 where an arm's own angles theta (9,) are not determined."""
    along = np.abs(np.cos(theta[2::3])) < SINGULAR
    straight = np.zeros(3, dtype=bool) if stretch is None else np.abs(stretch) < SINGULAR
    if not (along.any() or straight.any()):
        return
    i = int(np.argmax(along)) if along.any() else int(np.argmax(straight))
    where = f"arm {i + 1} at the angles {text(theta[3 * i : 3 * i + 3], 'rad')}, w = {text(w, 'm')}"
    if along[i]:
        title = f"arm {i + 1}: the distal link lies along its motor's shaft"
        why = (where, "the elbow moves across it, and the two rods of a real arm would lie on one line")
        raise error("E464", title, "another pose: this one is the edge of the workspace", why=why)
    title = f"arm {i + 1} is stretched or folded: the edge of the workspace"
    why = (where, "its two working branches meet here, and the motor cannot move the tool along the links")
    raise error("E464", title, "a pose a little inside the workspace", why=why)


def numbers(name: str, values: Any, size: int) -> np.ndarray:
    """Finite numbers (size,); E466 if they are none."""
    try:
        out = np.array(values, dtype=float)
    except (TypeError, ValueError):
        out = np.full(0, np.nan)
    if out.shape != (size,) or not np.all(np.isfinite(out)):
        raise error("E466", f"{name} = {values!r}", f"a list of {size} numbers", why=f"{name} is {size} finite numbers")
    return out


def choice(name: str, word: str, options: Mapping[str, float]) -> float:
    """The sign that a word stands for; E466 if it is unknown."""
    if word not in options:
        known = " or ".join(f'"{option}"' for option in options)
        raise error("E466", f"{name} {word!r} is unknown", known)
    return options[word]


def text(values: np.ndarray, unit: str) -> str:
    """Numbers with their unit, for messages."""
    return "(" + ", ".join(f"{value:.6g}" for value in values) + f") {unit}"
