"""Convex hulls of points in a plane."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from screws.errors import GeometryError
from screws.numeric_arguments import floats, length, shown


def plane_hull(points: ArrayLike) -> np.ndarray:
    """Return the row indices (j,) of the corners of the convex hull of points (k, 2), in any unit, counter-clockwise where y
    points up. A point on an edge is not a corner.

    Raises `GeometryError` G145 for anything but points. Source: Andrew 1979 (monotone chain).

    >>> plane_hull([[0.0, 0.0], [2.0, 0.0], [1.0, 0.5], [2.0, 2.0], [0.0, 2.0]]).tolist()
    [0, 1, 3, 4]
    """
    count = length(points)
    numbers = floats(points, (count, 2))
    if numbers is None or not count:
        raise GeometryError("G145", f"{shown(points)} is not an array of points in a plane", "finite numbers (k, 2), k >= 1")
    places = numbers.tolist()
    rows = {tuple(place): row for row, place in enumerate(places)}
    order = [rows[place] for place in sorted(rows)]
    corners: list[int] = []
    for half in (order, order[::-1]):  # the lower half, then the upper one
        chain: list[int] = []
        for row in half:
            while len(chain) > 1 and _turn(places[chain[-2]], places[chain[-1]], places[row]) <= 0.0:
                chain.pop()
            chain.append(row)
        corners += chain[:-1]
    return np.array(corners or order[:1])


def _turn(a: list[float], b: list[float], c: list[float]) -> float:
    """Return twice the area of the triangle a, b, c (2,); positive if it is counter-clockwise."""
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
