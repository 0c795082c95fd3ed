"""Gauss frame H, metric M, curvature K and torsion T from the derivatives of a surface point (Visser 2002, 2.2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from screws.scalars import Scalar, array
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
    """Return the pose (4, 4) from its three axes and its origin."""
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

    The derivatives are those along two directions s, t with c_u = c_s, c_v = scale c_t; `cot` is the rate d(scale)/du
    over the scale (both are 1 and 0 where s, t are the coordinates themselves).

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
