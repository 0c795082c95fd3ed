"""Untracked contacts: points where bodies of a run overlap and no contact of the graph acts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from screwbond.models.contacts.trajectory import find_contact, time_series

from bondgraph.run.results.result import Result
from screws.contact import is_convex
from screws.contact.overlaps import overlap_elsewhere
from screws.poses import inverse, pose_from_state
from screws.surfaces import Surface

MAX_SAMPLES = 50
"""Largest number of samples of a run that are examined."""


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

    Convex bodies touch at one point and are not examined. Other bodies are, at some samples of the run. Each run looks for the
    deepest such place by itself (`result.warnings`).
    """
    if all(map(is_convex, surfaces)):
        return None
    for k in np.unique(np.linspace(0, len(result.t) - 1, MAX_SAMPLES).astype(int)):
        H1, H2 = (np.asarray(pose_from_state(time_series(result, f"{name}.pose")[k]), dtype=float) for name in bodies)
        points = [find_contact(result, name).point for name in contacts]
        at = np.array([result[point.frames[0]][k][:3, 3] for point in points])
        depth = max((-float(result[point.gap][k]) for point in points), default=0.0)
        overlap = overlap_elsewhere(*surfaces, np.asarray(inverse(H1), dtype=float) @ H2, at, max(depth, 0.0))
        if overlap is not None:
            return UntrackedContact(float(result.t[k]), overlap.point, overlap.depth)
    return None
