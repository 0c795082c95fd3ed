"""Untracked contacts: points where bodies of a run overlap and no contact of the graph acts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from screwbond.models.contacts.trajectory import find_contact, time_series

from bondgraph.run.results.result import Result
from screws.contact import all_closest_points, is_convex
from screws.contact.initial_guesses import Bodies, common_samples
from screws.errors import GeometryError
from screws.poses import inverse, pose_from_state
from screws.surfaces import Surface

MAX_SAMPLES, MAX_SEARCHES = 50, 5
"""Largest number of samples of a run that are examined, and of global searches among them."""

_MIN_DISTANCE = 0.05
"""Distance from all contacts, in sizes of the smaller body, beyond which a point is another contact."""


class ContactWarning(UserWarning):
    """Warning of a run in which bodies overlap where no contact acts."""


@dataclass(frozen=True)
class UntrackedContact:
    """Point where two bodies overlap without a contact: time (s), point (3,) of body 1 in its axes (m), depth (m)."""

    time: float
    point: tuple[float, float, float]
    depth: float

    def __str__(self) -> str:
        where = ", ".join(f"{x:.4g}" for x in self.point)
        return (
            f"at t = {self.time:.6g} s the bodies overlap by {self.depth:.3g} m at ({where}) m of body 1, where no contact "
            "is: each contact follows one place; give each its own, with near=(x, y, z)"
        )


def find_untracked_contact(
    result: Result, bodies: tuple[str, str], surfaces: tuple[Surface, Surface], contacts: Sequence[str]
) -> UntrackedContact | None:
    """Return the first point where two bodies overlap and none of their `contacts` acts; None without one.

    Convex bodies touch at one point and are not examined. Other bodies are, at some samples of the run: where points of one lie
    inside the other away from all contacts, a global search follows.
    """
    if all(map(is_convex, surfaces)):
        return None
    searches = 0
    for k in np.unique(np.linspace(0, len(result.t) - 1, MAX_SAMPLES).astype(int)):
        H1, H2 = (np.asarray(pose_from_state(time_series(result, f"{name}.pose")[k]), dtype=float) for name in bodies)
        H_1_2 = np.asarray(inverse(H1), dtype=float) @ H2
        contact_points = np.array([result[find_contact(result, name).point.frames[0]][k][:3, 3] for name in contacts])
        if searches < MAX_SEARCHES and _overlap_elsewhere(surfaces, H_1_2, contact_points):
            searches += 1
            try:
                minima = all_closest_points(*surfaces, H_1_2)
            except GeometryError:
                # Flat on flat has no isolated point, and the contact itself reports it.
                continue
            for minimum in minima:
                point = np.asarray(surfaces[0].point(minimum.q1, minimum.chart1), dtype=float)
                if minimum.d < 0.0 and _away(point[None, :], contact_points, surfaces)[0]:
                    return UntrackedContact(float(result.t[k]), tuple(map(float, point)), -minimum.d)  # type: ignore[arg-type]
    return None


def _away(points: np.ndarray, contact_points: np.ndarray, surfaces: tuple[Surface, Surface]) -> np.ndarray:
    """Return which of the points (k, 3) are away from all contacts."""
    distance = np.linalg.norm(points[:, None, :] - contact_points[None, :, :], axis=2).min(axis=1)
    return distance > _MIN_DISTANCE * min(surface.size for surface in surfaces)


def _overlap_elsewhere(surfaces: tuple[Surface, Surface], H_1_2: np.ndarray, contact_points: np.ndarray) -> bool:
    """Return True if a sample of either body lies under the nearest sample of the other, away from all contacts."""
    bodies = Bodies(*surfaces, H_1_2)
    first, second = common_samples(bodies)
    points, normals = bodies.in_first(second)
    offset = points[None, :, :] - first.points[:, None, :]
    square = np.einsum("ijk,ijk->ij", offset, offset)
    above1, above2 = np.argmin(square, axis=0), np.argmin(square, axis=1)
    k1, k2 = np.arange(len(first.points)), np.arange(len(points))
    inside1 = np.einsum("jk,jk->j", offset[above1, k2], first.normals[above1]) < 0.0
    inside2 = np.einsum("ik,ik->i", -offset[k1, above2], normals[above2]) < 0.0
    inside = np.concatenate([points[inside1], first.points[inside2]])
    return bool(len(inside)) and bool(np.any(_away(inside, contact_points, surfaces)))
