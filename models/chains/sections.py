"""Sections of a tree: one freedom each, along a coordinate axis of a frame on the joint's own axis.

The frames make most constants of the tree 0 or 1, which cost nothing once a trace folds them: the origin lies on the joint's
axis, and the axes keep their direction from section to section as long as the joint allows it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from screws.rotations import tilde

SNAP = 1e-14
"""Entries of constant poses below this (relative to the tree's size) are rounding."""


@dataclass(frozen=True, eq=False)
class Section:
    """One freedom: its frame turns about (or slides along) its axis number `axis`, against the frame before it."""

    before: int
    """Number of the section that carries it, from 1; 0 is the base."""
    R: np.ndarray
    """(3, 3) rotation of its frame in the frame before at q = 0."""
    p: np.ndarray
    """(3,) origin of its frame in the frame before at q = 0, m."""
    axis: int
    sign: float
    turns: bool
    pitch: float
    """Advance in m/rad of a section that turns."""

    @property
    def screw(self) -> tuple[np.ndarray, np.ndarray]:
        """Angular and linear part of its unit screw, in its own frame."""
        unit = self.sign * np.eye(3)[self.axis]
        return (unit, self.pitch * unit) if self.turns else (np.zeros(3), unit)


@dataclass(frozen=True)
class Drive:
    """Coordinate of a freedom: factor * q[coordinate] + offset."""

    coordinate: int
    factor: float
    offset: float
    direct: bool
    """True if the coordinate is that of its own joint, factor 1 and offset 0."""


@dataclass(frozen=True, eq=False)
class Sections:
    """Freedoms of a tree, each after the one that carries it, and frames of its links."""

    freedoms: tuple[Section, ...]
    drives: tuple[Drive, ...]
    """Of each freedom."""
    carrier: tuple[int, ...]
    """Of each link: the number of the section that carries it, from 1; 0 is the base."""
    R: tuple[np.ndarray, ...]
    p: tuple[np.ndarray, ...]
    """Of each link: constant rotation and origin of its frame in the frame of its carrier."""

    def path(self, number: int) -> list[int]:
        """Return the indices of the sections from the base to the one with this number."""
        indices: list[int] = []
        while number:
            indices.append(number - 1)
            number = self.freedoms[number - 1].before
        return indices[::-1]

    def positions(self, q: Any) -> list[Any]:
        """Return the positions of all sections from the coordinates (n,)."""
        return [q[d.coordinate] if d.direct else d.factor * q[d.coordinate] + d.offset for d in self.drives]

    def rates(self, v: Any) -> list[Any]:
        """Return the rates of all sections from those of the coordinates (n,)."""
        return [v[d.coordinate] if d.direct else d.factor * v[d.coordinate] for d in self.drives]

    def gathered(self, values: Sequence[Any]) -> list[Any]:
        """Sum efforts, or columns of a Jacobian, of the sections to those of the coordinates: the transpose of `rates`."""
        sums: dict[int, Any] = {d.coordinate: value for d, value in zip(self.drives, values, strict=True) if d.direct}
        for d, value in zip(self.drives, values, strict=True):
            if not d.direct:
                sums[d.coordinate] = sums[d.coordinate] + d.factor * value
        return [sums[k] for k in range(len(sums))]


def sections_of(
    screws: Sequence[np.ndarray], homes: Sequence[np.ndarray], parents: Sequence[int], drives: Sequence[Drive]
) -> Sections:
    """Return the sections of a tree from the screws (6, n_k) of its joints and the home poses (4, 4) of its links, all in the
    base, the indices of the parents (-1: the base), and the drive of each freedom."""
    size = max([1e-3, *(float(np.linalg.norm(np.asarray(H)[:3, 3])) for H in homes)])
    base = (0, np.eye(3), np.zeros(3))
    freedoms: list[Section] = []
    ends: list[tuple[int, np.ndarray, np.ndarray]] = []
    R_links, p_links = [], []
    for columns, home, parent in zip(screws, homes, parents, strict=True):
        before, R, p = ends[parent] if parent >= 0 else base
        for screw in np.asarray(columns, dtype=float).T:
            section, R, p = _section(before, R, p, screw, size)
            freedoms.append(section)
            before = len(freedoms)
        H = np.asarray(home, dtype=float)
        ends.append((before, R, p))
        R_links.append(_snapped(R.T @ H[:3, :3], 1.0))
        p_links.append(_snapped(R.T @ (H[:3, 3] - p), size))
    return Sections(tuple(freedoms), tuple(drives), tuple(end[0] for end in ends), tuple(R_links), tuple(p_links))


def _section(before: int, R: np.ndarray, p: np.ndarray, screw: np.ndarray, size: float) -> tuple[Section, np.ndarray, np.ndarray]:
    """Return the section of a screw after the frame (R, p), and its own frame, both in the base at home."""
    omega, v = screw[:3], screw[3:]
    turns = bool(np.any(omega))
    direction = omega if turns else v
    local_axis = R.T @ direction
    axis = int(np.argmax(np.abs(local_axis)))
    sign = float(np.sign(local_axis[axis]))
    unit = sign * np.eye(3)[axis]
    turn = _snapped(_shortest(unit, local_axis), 1.0)
    point = p
    if turns:
        nearest = np.cross(omega, v)
        point = nearest + omega * (omega @ (p - nearest))
    start, pitch = _snapped(R.T @ (point - p), size), float(omega @ v) if turns else 0.0
    section = Section(before, turn, start, axis, sign, turns, pitch)
    return section, R @ turn, point


def _shortest(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the rotation (3, 3) that takes the unit vector a to b without turning about either; b is not -a."""
    skew = np.asarray(tilde(np.cross(a, b)), dtype=float)
    return np.asarray(np.eye(3) + skew + skew @ skew / (1.0 + a @ b), dtype=float)


def _snapped(values: np.ndarray, size: float) -> np.ndarray:
    out = np.array(values, dtype=float)
    out[np.abs(out) < SNAP * size] = 0.0
    for unit in (1.0, -1.0):
        out[np.abs(out - unit) < SNAP] = unit
    out.setflags(write=False)
    return out
