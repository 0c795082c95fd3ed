"""Friction cones: rows of a contact's cone in the program of a step, with facets or exact.

A contact with gap d, normal row n, slip rows D and coefficient mu allows a step dq where, for every facet e_j of its cone,

    d + (n + mu e_j . D) dq >= -mu s

with s = 0 for the convex law (Anitescu 2006) and s = |D dq| for Coulomb's. The multiplier of a facet is a force along its edge:
normal force = sum of them, friction = mu sum of e_j times them. The exact cone is d + n dq + mu s >= mu |D dq|.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from bondgraph.errors import refusal

CONE = "cone"
FACETS = (4, 8, 16, 32)
"""Counts of facets in a plane of slip; with one direction of slip there are two."""


def check_facets(facets: int | str, name: str) -> int | str:
    """Return the number of facets, or "cone"; E501 for anything else."""
    if facets == CONE or (isinstance(facets, int) and not isinstance(facets, bool) and facets in FACETS):
        return facets
    counts = ", ".join(map(str, FACETS))
    raise refusal("E501", f"a cone cannot have {facets!r} facets", f'one of {counts}, or "{CONE}"', about=name, places=())


def directions(slips: int, facets: int | str) -> np.ndarray:
    """Return facets e_j (facets, slips) for a number of slip directions; of the exact cone the axes (slips, slips).

    >>> directions(1, 8).tolist()
    [[1.0], [-1.0]]
    >>> directions(0, 8).shape
    (1, 0)
    """
    if slips == 0:
        return np.zeros((1, 0))
    if slips == 1:
        return np.array([[1.0], [-1.0]])
    if facets == CONE:
        return np.eye(2)
    count = int(facets)
    # only sines of the first quadrant, so that opposite facets cancel to the last bit
    first = [(math.cos(angle), math.sin(angle)) for angle in (2.0 * math.pi * k / count for k in range(count // 4))]
    half = [*first, *((-y, x) for x, y in first)]
    return np.array([*half, *((-x, -y) for x, y in half)])


@dataclass(frozen=True, eq=False)
class Cone:
    """Rows of one contact in the program of a step."""

    path: str
    first: int
    """Its first row."""
    facets: np.ndarray
    """Facets (rows, slips); of the exact cone the axes (2, 2), behind a row for the normal."""
    exact: bool
    """True if its rows are the normal and the slips, as one second-order cone."""
    slip: int
    """Its first row among the slips of all contacts."""
    along: tuple[int, ...] = ()
    """Indices of the contact's slip components in which anything can move."""

    @property
    def slips(self) -> int:
        """Number of slip directions: 0, 1 or 2."""
        return int(self.facets.shape[1])

    @property
    def rows(self) -> int:
        """Number of its rows."""
        return len(self.facets) + self.exact

    @property
    def has_friction(self) -> bool:
        """True if the contact can slip."""
        return self.slips > 0


def force_matrices(cones: tuple[Cone, ...]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return matrices from the rows' multipliers to normal forces (contacts, rows) and to slip forces over mu (slips, rows), and
    the contact of each row (rows,)."""
    rows, slips = sum(cone.rows for cone in cones), sum(cone.slips for cone in cones)
    normal, tangent, owner = np.zeros((len(cones), rows)), np.zeros((slips, rows)), np.zeros(rows, dtype=int)
    for k, cone in enumerate(cones):
        span, along = slice(cone.first, cone.first + cone.rows), slice(cone.slip, cone.slip + cone.slips)
        owner[span] = k
        if cone.exact:
            normal[k, cone.first] = 1.0
            tangent[along, cone.first + 1 : cone.first + cone.rows] = cone.facets
        else:
            normal[k, span] = 1.0
            tangent[along, span] = cone.facets.T
    return normal, tangent, owner
