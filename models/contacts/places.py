"""Places where bodies touch that no contact holds: the poses of a run and its contacts in, times and points out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from screwbond.models.contacts.trajectory import contact_of, over_time

from bondgraph.run.results.result import Result
from screws.contact import contact_places, is_convex
from screws.contact.initial_guesses import Bodies, common_samples
from screws.errors import GeometryError
from screws.poses import inverse, pose_from_state
from screws.surfaces import Surface

INSTANTS, SEARCHES = 50, 5
"""Samples of a run that are looked at, and of these the global searches at most."""

_APART = 0.05
"""Distance of a place from all contacts, in sizes of the smaller body, from which it is another."""


class ContactWarning(UserWarning):
    """A run in which bodies went through each other where no contact holds them apart."""


@dataclass(frozen=True)
class Untracked:
    """A place where two bodies overlap and no contact is: time (s), point (3,) of body 1 in its axes (m), depth (m)."""

    time: float
    point: tuple[float, float, float]
    depth: float

    def __str__(self) -> str:
        where = ", ".join(f"{x:.4g}" for x in self.point)
        return (
            f"at t = {self.time:.6g} s the bodies overlap by {self.depth:.3g} m at ({where}) m of body 1, where no contact "
            "is: each contact follows one place; give each its own, with near=(x, y, z)"
        )


def untracked_place(
    result: Result, bodies: tuple[str, str], surfaces: tuple[Surface, Surface], contacts: Sequence[str]
) -> Untracked | None:
    """The first place found where two bodies overlap and none of their `contacts` is; None where there is none.

    Convex bodies touch in one place and are not looked at. Others are, at some samples of the run: points of each that lie
    inside the other away from all contacts, and there a global search.
    """
    if all(map(is_convex, surfaces)):
        return None
    searches = 0
    for k in np.unique(np.linspace(0, len(result.t) - 1, INSTANTS).astype(int)):
        H1, H2 = (np.asarray(pose_from_state(over_time(result, f"{name}.pose")[k]), dtype=float) for name in bodies)
        H_1_2 = np.asarray(inverse(H1), dtype=float) @ H2
        known = np.array([result[contact_of(result, name).point.frames[0]][k][:3, 3] for name in contacts])
        if searches < SEARCHES and _overlap_elsewhere(surfaces, H_1_2, known):
            searches += 1
            try:
                places = contact_places(*surfaces, H_1_2)
            except GeometryError:
                # Flat on flat has no isolated place, and the contact says so itself.
                continue
            for place in places:
                point = np.asarray(surfaces[0].point(place.q1, place.chart1), dtype=float)
                if place.d < 0.0 and _away(point[None, :], known, surfaces)[0]:
                    return Untracked(float(result.t[k]), tuple(map(float, point)), -place.d)  # type: ignore[arg-type]
    return None


def _away(points: np.ndarray, known: np.ndarray, surfaces: tuple[Surface, Surface]) -> np.ndarray:
    """Which of the points (k, 3) are away from all contacts."""
    distance = np.linalg.norm(points[:, None, :] - known[None, :, :], axis=2).min(axis=1)
    return distance > _APART * min(surface.size for surface in surfaces)


def _overlap_elsewhere(surfaces: tuple[Surface, Surface], H_1_2: np.ndarray, known: np.ndarray) -> bool:
    """Whether a sample of either body lies under the nearest sample of the other, away from all contacts."""
    bodies = Bodies(*surfaces, H_1_2)
    first, second = common_samples(bodies)
    points, normals = bodies.in_first(second)
    offset = points[None, :, :] - first.points[:, None, :]
    square = np.einsum("ijk,ijk->ij", offset, offset)
    above1, above2 = np.argmin(square, axis=0), np.argmin(square, axis=1)
    k1, k2 = np.arange(len(first.points)), np.arange(len(points))
    inside1 = np.einsum("jk,jk->j", offset[above1, k2], first.normals[above1]) < 0.0
    inside2 = np.einsum("ik,ik->i", -offset[k1, above2], normals[above2]) < 0.0
    found = np.concatenate([points[inside1], first.points[inside2]])
    return bool(len(found)) and bool(np.any(_away(found, known, surfaces)))
