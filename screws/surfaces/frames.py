"""Gauss frame H, metric M, curvature K and torsion T from the derivatives of a surface point (Visser 2002, 2.2).

A closed surface is c = F(n), n on the unit sphere, in two polar charts, each regular at the other's poles. Chart 0
has its axis along z, chart 1 along x:

    n = (sin u cos v, sin u sin v, cos u) and n = (cos u, sin u cos v, sin u sin v), 0 < u < pi.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from screws.scalars import Scalar, array, atan2, cos, equal, sin, sqrt, where
from screws.vectors import Triple, cross, dot, length, scaled


@dataclass(frozen=True, eq=False)
class Geometry:
    """Differential geometry of a surface at one point, for contact kinematics.

    Attributes
    ----------
    H : Gauss frame in the object frame (4, 4): x along c_u, z the outward normal, origin c (m).
    M : metric (2, 2), upper triangular: [x y]^T c' = M q', m per unit of the coordinates.
    K : curvature (2, 2), symmetric, 1/m: [x y]^T z' = K M q'; positive for a convex body.
    T : torsion (2,), 1/m: y . x' = T M q'.
    """

    H: np.ndarray
    M: np.ndarray
    K: np.ndarray
    T: np.ndarray


def frame(x: Triple, y: Triple, z: Triple, c: Triple) -> np.ndarray:
    return array([[x[i], y[i], z[i], c[i]] for i in range(3)] + [[0.0, 0.0, 0.0, 1.0]])


def from_forms(
    H: np.ndarray,
    metric: tuple[Scalar, Scalar, Scalar],
    second: tuple[Scalar, Scalar, Scalar],
    turning: tuple[Scalar, Scalar],
    scale: Scalar = 1.0,
    cot: Scalar = 0.0,
) -> Geometry:
    """Return the geometry from the fundamental forms, without solving a system.

    The derivatives are taken along two directions s, t with c_u = c_s, c_v = scale c_t; `cot` is the rate d(scale)/du
    over the scale (scale = 1 and cot = 0 if s, t are the coordinates themselves).

    Parameters
    ----------
    H : Gauss frame (4, 4).
    metric : (x.c_s, x.c_t, y.c_t).
    second : (z.c_ss, z.c_st, z.c_tt), the second fundamental form.
    turning : (y.c_ss, y.c_st).
    """
    m11, m12, m22 = metric
    i, j = 1.0 / m11, 1.0 / m22
    slant = m12 * i
    # z_s . c_t = -z . c_st and so on: the frame's derivative is never formed.
    skew = second[1] - slant * second[0]
    k12 = -(skew * i * j)
    K = [[-(second[0] * i * i), k12], [k12, (slant * (second[1] + skew) - second[2]) * j * j]]
    t1 = turning[0] * i * i
    t2 = (turning[1] * i - t1 * m12) * j + cot * i
    return Geometry(H, array([[m11, m12 * scale], [0.0, m22 * scale]]), array(K), array([t1, t2]))


def gauss_frame(
    c: Triple, c_s: Triple, c_t: Triple, c_ss: Triple, c_st: Triple, c_tt: Triple, scale: Scalar = 1.0, cot: Scalar = 0.0
) -> Geometry:
    """Return the geometry from the derivatives of any regular chart, orthogonal or not; `scale` and `cot` as in `from_forms`."""
    normal = cross(c_s, c_t)
    m11, area = length(c_s), length(normal)
    x, z = scaled(c_s, 1.0 / m11), scaled(normal, 1.0 / area)
    y = cross(z, x)
    return from_forms(
        frame(x, y, z, c),
        (m11, dot(x, c_t), area / m11),
        (dot(z, c_ss), dot(z, c_st), dot(z, c_tt)),
        (dot(y, c_ss), dot(y, c_st)),
        scale,
        cot,
    )


MARGIN = 0.3
"""Value of sin u below which the other chart takes over; there sin u of the other chart is at least 0.95."""

LATEX = (r"n = (\sin u \cos v, \sin u \sin v, \cos u)", r"n = (\cos u, \sin u \cos v, \sin u \sin v)")
"""Formula of the point n of the unit sphere in each chart."""


class Direction(NamedTuple):
    """Point n of the unit sphere and its chart, with the orthonormal tangents e = n_u, g = n_v / sin u."""

    n: Triple
    e: Triple
    g: Triple
    sin_u: Scalar
    cos_u: Scalar


def choose(chart: Scalar, in_chart_0: Scalar, in_chart_1: Scalar) -> Scalar:
    if isinstance(chart, (int, float, np.number)):
        return in_chart_1 if chart else in_chart_0
    return where(equal(chart, 0.0), in_chart_0, in_chart_1)


def direction(q: Sequence[Scalar] | np.ndarray, chart: Scalar) -> Direction:
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
    su, cu = sin(q[0]), cos(q[0])
    a = (su * cos(q[1]), su * sin(q[1]), cu)
    return tuple(choose(chart, a[i], a[i - 1]) for i in range(3))


def coordinates(n: Triple, chart: Scalar) -> tuple[Scalar, Scalar]:
    """Return coordinates (u, v) of a unit vector in a chart, u in [0, pi], v in (-pi, pi]."""
    a = tuple(choose(chart, n[i], n[(i + 1) % 3]) for i in range(3))
    return atan2(sqrt(a[0] * a[0] + a[1] * a[1]), a[2]), atan2(a[1], a[0])


def better_chart(n: Sequence[float] | np.ndarray) -> float:
    return 0.0 if abs(n[2]) <= 0.8 * float(np.sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2])) else 1.0


def margin(q: Sequence[Scalar] | np.ndarray) -> Scalar:
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
    chart = better_chart(n)
    return np.array(coordinates(tuple(n), chart), dtype=float), chart
