"""Sections of a chain: home screws and poses -> one freedom each, along a coordinate axis of a frame on the joint's own axis.

The frames are chosen so that the constants of the chain are mostly 0 and 1, which cost nothing once a trace folds them: the
origin lies on the joint's axis, and the axes keep their direction from section to section as long as the joint allows it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from screws.rotations import tilde

SNAP = 1e-14
"""Entries of constant poses below this (relative to the chain's size) are rounding."""


@dataclass(frozen=True, eq=False)
class Section:
    """One freedom: the frame k turns about (or slides along) its coordinate axis `axis`."""

    R: np.ndarray
    """(3, 3) rotation of frame k in frame k - 1 at q = 0."""
    p: np.ndarray
    """(3,) origin of frame k in frame k - 1 at q = 0, m."""
    axis: int
    sign: float
    turns: bool
    pitch: float
    """Advance in m/rad of a section that turns."""


@dataclass(frozen=True, eq=False)
class Sections:
    """All freedoms of a chain, and where its links are."""

    freedoms: tuple[Section, ...]
    carrier: tuple[int, ...]
    """Of each link: the number of freedoms between it and the base."""
    R: tuple[np.ndarray, ...]
    p: tuple[np.ndarray, ...]
    """Of each link: constant rotation and origin of its frame in the frame of its last freedom."""


def sections_of(screws: Sequence[np.ndarray], homes: Sequence[np.ndarray]) -> Sections:
    """Sections of a chain from the screws (6, n_k) of its joints and the home poses (4, 4) of its links, all in the base."""
    size = max([1e-3, *(float(np.linalg.norm(np.asarray(H)[:3, 3])) for H in homes)])
    R, p = np.eye(3), np.zeros(3)
    freedoms: list[Section] = []
    carrier, R_links, p_links = [], [], []
    for columns, home in zip(screws, homes, strict=True):
        for screw in np.asarray(columns, dtype=float).T:
            section, R, p = _section(R, p, screw, size)
            freedoms.append(section)
        H = np.asarray(home, dtype=float)
        carrier.append(len(freedoms))
        R_links.append(_snapped(R.T @ H[:3, :3], 1.0))
        p_links.append(_snapped(R.T @ (H[:3, 3] - p), size))
    return Sections(tuple(freedoms), tuple(carrier), tuple(R_links), tuple(p_links))


def _section(R: np.ndarray, p: np.ndarray, screw: np.ndarray, size: float) -> tuple[Section, np.ndarray, np.ndarray]:
    """The section of a screw after the frame (R, p), and its own frame, both in the base at home."""
    omega, v = screw[:3], screw[3:]
    turns = bool(np.any(omega))
    direction = omega if turns else v
    own = R.T @ direction
    axis = int(np.argmax(np.abs(own)))
    sign = float(np.sign(own[axis]))
    unit = sign * np.eye(3)[axis]
    turn = _snapped(_shortest(unit, own), 1.0)
    point = p
    if turns:
        nearest = np.cross(omega, v)
        point = nearest + omega * (omega @ (p - nearest))
    section = Section(turn, _snapped(R.T @ (point - p), size), axis, sign, turns, float(omega @ v) if turns else 0.0)
    return section, R @ turn, point


def _shortest(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Rotation (3, 3) that takes the unit vector a to b without turning about either; b is not -a."""
    skew = np.asarray(tilde(np.cross(a, b)), dtype=float)
    return np.asarray(np.eye(3) + skew + skew @ skew / (1.0 + a @ b), dtype=float)


def _snapped(values: np.ndarray, size: float) -> np.ndarray:
    out = np.array(values, dtype=float)
    out[np.abs(out) < SNAP * size] = 0.0
    for whole in (1.0, -1.0):
        out[np.abs(out - whole) < SNAP] = whole
    out.setflags(write=False)
    return out
