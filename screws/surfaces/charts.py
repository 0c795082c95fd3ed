"""Charts of closed surfaces: an atlas of two polar charts of the unit sphere, each regular at the other's poles.

A closed surface is c = F(n), n on the unit sphere. Chart 0 has its axis along z, chart 1 along x:
n = (sin u cos v, sin u sin v, cos u) and n = (cos u, sin u cos v, sin u sin v), 0 < u < pi.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from screws.scalars import Scalar, array, atan2, cos, equal, sin, sqrt, where
from screws.vectors import Triple, dot

MARGIN = 0.3
"""Value of sin u below which the other chart takes over; there sin u of the other chart is at least 0.95."""

LATEX = (r"n = (\sin u \cos v, \sin u \sin v, \cos u)", r"n = (\cos u, \sin u \cos v, \sin u \sin v)")
"""Formula of the point n of the unit sphere in each chart."""


class Direction(NamedTuple):
    """A point of the unit sphere and its chart: n, and the orthonormal tangents e = n_u, g = n_v / sin u."""

    n: Triple
    e: Triple
    g: Triple
    sin_u: Scalar
    cos_u: Scalar


def choose(chart: Scalar, in_chart_0: Scalar, in_chart_1: Scalar) -> Scalar:
    """Return the value that belongs to the chart; a chart that is a plain number is decided at once."""
    if isinstance(chart, (int, float, np.number)):
        return in_chart_1 if chart else in_chart_0
    return where(equal(chart, 0.0), in_chart_0, in_chart_1)


def direction(q: Sequence[Scalar] | np.ndarray, chart: Scalar) -> Direction:
    """Return the point and tangents of the unit sphere at the coordinates q = (u, v) of a chart."""
    su, cu, sv, cv = sin(q[0]), cos(q[0]), sin(q[1]), cos(q[1])
    a, b, minus_su = (su * cv, su * sv, cu), (cu * cv, cu * sv), -su
    return Direction(
        tuple(choose(chart, a[i], a[i - 1]) for i in range(3)),
        (choose(chart, b[0], minus_su), choose(chart, b[1], b[0]), choose(chart, minus_su, b[1])),
        (choose(chart, -sv, 0.0), choose(chart, cv, -sv), choose(chart, 0.0, cv)),
        su,
        cu,
    )


def point(q: Sequence[Scalar] | np.ndarray, chart: Scalar) -> Triple:
    """Return the point n of the unit sphere at the coordinates q of a chart."""
    su, cu = sin(q[0]), cos(q[0])
    a = (su * cos(q[1]), su * sin(q[1]), cu)
    return tuple(choose(chart, a[i], a[i - 1]) for i in range(3))


def coordinates(n: Triple, chart: Scalar) -> tuple[Scalar, Scalar]:
    """Return coordinates (u, v) of a unit vector in a chart, u in [0, pi], v in (-pi, pi]."""
    a = tuple(choose(chart, n[i], n[(i + 1) % 3]) for i in range(3))
    return atan2(sqrt(a[0] * a[0] + a[1] * a[1]), a[2]), atan2(a[1], a[0])


def better_chart(n: Sequence[float] | np.ndarray) -> float:
    """Return chart 0 unless the direction n lies near its poles (|n_z| > 0.8), else 1."""
    return 0.0 if abs(n[2]) <= 0.8 * float(np.sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2])) else 1.0


def margin(q: Sequence[Scalar] | np.ndarray) -> Scalar:
    """Return sin u - 0.3: positive inside the chart."""
    return sin(q[0]) - MARGIN


def change(q: Sequence[Scalar] | np.ndarray, chart: Scalar, M: np.ndarray) -> tuple[np.ndarray, Scalar]:
    """Return coordinates (2,) of the same point in the other chart, and the turn of the Gauss frame about its z.

    M is the metric (2, 2) of the surface in the present chart; x_new = cos(turn) x_old + sin(turn) y_old.
    """
    now = direction(q, chart)
    u, v = coordinates(now.n, 1.0 - chart)
    new = direction((u, v), 1.0 - chart)
    along, across = dot(new.e, now.e), dot(new.e, now.g) / now.sin_u
    return array([u, v]), atan2(across * M[1, 1], along * M[0, 0] + across * M[0, 1])


def in_better_chart(n: np.ndarray) -> tuple[np.ndarray, float]:
    """Return coordinates (2,) and chart of a direction (3,), not necessarily of unit length."""
    chart = better_chart(n)
    return np.array(coordinates(tuple(n), chart), dtype=float), chart
