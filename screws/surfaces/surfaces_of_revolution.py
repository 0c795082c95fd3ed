"""Closed surfaces of revolution about z with smooth poles, and the Cartesian oval (egg)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from screws.errors import GeometryError
from screws.jets import Jet, jet
from screws.numeric_arguments import real, shown
from screws.scalars import Scalar, array, sqrt
from screws.surfaces import checks, frames
from screws.surfaces.closed import Closed, checked_surface
from screws.surfaces.frames import Geometry, frame
from screws.surfaces.surface import Coordinates, Surface, Values
from screws.vectors import Triple, cross

Profile = Callable[..., Scalar]
Taylor = tuple[Scalar, Scalar, Scalar]


def taylor(profile: Profile, w: Scalar, p: Values) -> Taylor:
    result = jet(profile(Jet(w, 1.0), *p))
    return result.value, result.du, result.duu


def about_axis(n: Triple, rho: Scalar, sigma: Scalar) -> Triple:
    return (rho * n[0], rho * n[1], rho * n[2] + sigma)


def revolution_geometry(at: frames.Direction, rho: Taylor, sigma: Taylor) -> Geometry:
    """Return the geometry of c = rho(w) n + sigma(w) k with w = n_z and the unit vector k along z, regular at the poles.

    With the area vector c_s x c_t = rho (A n - B k), A = rho + rho' w + sigma', B = rho' + sigma' w, both fundamental
    forms are a multiple of the identity plus a multiple of (e_z, g_z) (e_z, g_z)^T; only scalars remain.
    """
    n, e, g, sin_u, cos_u = at
    (r0, r1, r2), (s0, s1, s2) = rho, sigma
    w, ez, gz = n[2], e[2], g[2]
    A, B = r0 + r1 * w + s1, r1 + s1 * w
    # First form P I + Q (ez, gz)(ez, gz)^T and its rates with w; second form (r0 A I - D (...)(...)^T) / area.
    P, Q = r0 * r0, 2.0 * r0 * s1 + r1 * r1 + s1 * (s1 + 2.0 * r1 * w)
    half_P = r0 * r1
    half_Q = r1 * r2 + s1 * (r2 * w + s2 + 2.0 * r1) + s2 * (r0 + r1 * w)
    D = r2 * (A - B * w) + s2 * (A * w - B) - 2.0 * r1 * B
    ee, eg = ez * ez, ez * gz
    sine_square = 1.0 - w * w
    E = P + Q * ee
    area_square = P + Q * sine_square
    m11, area = sqrt(E), sqrt(area_square)
    # Four divisions suffice.
    i, over_area, over_r0 = 1.0 / m11, 1.0 / area, 1.0 / r0
    ii = i * i
    m22, m12, j = r0 * area * i, Q * eg * i, m11 * over_area * over_r0

    x = (i * (r0 * e[0] + ez * (r1 * n[0])), i * (r0 * e[1] + ez * (r1 * n[1])), i * (r0 * ez + ez * (r1 * w + s1)))
    a, b = A * over_area, B * over_area
    z = (a * n[0], a * n[1], a * w - b)
    y = cross(z, x)

    across = a * over_r0
    meridian = (r0 * A - D * sine_square) * over_area * over_area * over_area
    k11 = (r0 * A - D * ee) * over_area * ii
    k12 = -(eg * (D * r0 + Q * A) * ii * over_area * over_area)
    k22 = across + meridian - k11

    bend = half_Q * ee - Q * w
    t1 = gz * (P * bend - half_P * (E + Q * ee)) * ii * ii * j
    stretch = half_P + half_Q * ee
    turn = (ez * (half_P + half_Q * (gz * gz)) - Q * eg * gz * ii * stretch) * j
    t2 = (turn * i - t1 * m12) * j + cos_u / sin_u * i
    return Geometry(
        frame(x, y, z, about_axis(n, r0, s0)),
        array([[m11, m12 * sin_u], [0.0, m22 * sin_u]]),
        array([[k11, k12], [k12, k22]]),
        array([t1, t2]),
    )


@dataclass(frozen=True)
class Revolution(Closed):
    """Surface of revolution r = sin(u) radius(cos u), z = height(cos u)."""

    radius: Profile
    height: Profile
    name: str = "surface of revolution"

    def position(self, q: Coordinates, chart: Scalar, p: Values) -> Triple:
        n = frames.point(q, chart)
        r = self.radius(n[2], *p)
        return (r * n[0], r * n[1], self.height(n[2], *p))

    def geometry(self, q: Coordinates, chart: Scalar, p: Values) -> Geometry:
        at = frames.direction(q, chart)
        w = at.n[2]
        rho = taylor(self.radius, w, p)
        height = taylor(self.height, w, p)
        sigma = (height[0] - rho[0] * w, height[1] - rho[1] * w - rho[0], height[2] - rho[2] * w - 2.0 * rho[1])
        return revolution_geometry(at, rho, sigma)


def oval_radius(w: Scalar, f: Scalar, S: Scalar) -> Scalar:
    """Return the distance rho from the focus B of a Cartesian oval r_A + 2 r_B = S; w is the cosine of the angle to the
    direction from A to B."""
    b = 2.0 * S + f * w
    return (b - sqrt(b * b - 3.0 * (S * S - f * f))) * (1.0 / 3.0)


@dataclass(frozen=True)
class Egg(Closed):
    """Cartesian oval r_A + 2 r_B = S, polar about its focus B = (0, 0, zB)."""

    name: str = "egg"
    letters: ClassVar[tuple[str, ...]] = ("f", "S", "z_B")
    latex: ClassVar[tuple[str, ...]] = (
        r"c = \rho\,n + (0, 0, z_B)",
        r"\rho = \tfrac{1}{3}(b - \sqrt{b^2 - 3\,(S^2 - f^2)})",
        r"b = 2\,S + f\,n_z",
    )

    def position(self, q: Coordinates, chart: Scalar, p: Values) -> Triple:
        n = frames.point(q, chart)
        return about_axis(n, oval_radius(n[2], p[0], p[1]), p[2])

    def geometry(self, q: Coordinates, chart: Scalar, p: Values) -> Geometry:
        at = frames.direction(q, chart)
        return revolution_geometry(at, taylor(oval_radius, at.n[2], (p[0], p[1])), (p[2], 0.0, 0.0))

    def guess(self, point: np.ndarray, p: Values) -> tuple[np.ndarray, float] | None:
        return frames.in_better_chart(point - np.array([0.0, 0.0, p[2]]))


def revolution(
    radius: Profile, height: Profile, parameters: Mapping[str, float] | None = None, name: str = "surface of revolution"
) -> Surface:
    """Return the closed surface r = sin(u) radius(cos u), z = height(cos u) about the z axis; its poles are smooth.

    Parameters
    ----------
    radius, height : plain formulas of (w, *parameters) in m, for any scalar, smooth for -1 <= w <= 1; radius > 0, height
        rising.
    parameters : numbers by name; passed to both formulas in this order and kept as run-time inputs.

    Raises `GeometryError` G101 for a radius that is not positive or a parameter that is not a number, G104 for an inward normal,
    G105 for a surface that is not regular or has a sharp edge or tip, G107 for a profile that fails.

    >>> bowl = revolution(lambda w, a: a * (1.0 + 0.1 * w), lambda w, a: 0.8 * a * w, {"a": 0.05})
    >>> bowl.closed, bowl.charts
    (True, 2)
    """
    numbers = checks.checked_parameters(name, parameters)
    if not (callable(radius) and callable(height)):
        raise GeometryError("G107", f"radius or height of the {name} is not a function", "functions of w = cos u")
    with checks.evaluating(name, ", ".join(["w", *numbers])):
        _check_radius(radius, tuple(numbers.values()), name)
        return checked_surface(Revolution(radius, height, name), numbers)


def _check_radius(radius: Profile, numbers: Values, name: str) -> None:
    low, high = -1.0, 1.0
    while high - low > 1e-6:
        # The smallest of 41 radii, then of 41 near it, and so on.
        sizes = {w: float(radius(w, *numbers)) for w in map(float, np.linspace(low, high, 41))}
        w, value = min(sizes.items(), key=lambda pair: pair[1] if np.isfinite(pair[1]) else -np.inf)
        if not (np.isfinite(value) and value > 0.0):
            title = f"the radius function of the {name} is {value:g} m at cos u = {w:.3g}"
            raise GeometryError("G101", title, "a profile r = sin(u) radius(cos u) with radius positive from pole to pole")
        step = (high - low) / 40.0
        low, high = max(-1.0, w - step), min(1.0, w + step)


def egg(f: float, S: float, zB: float = 0.0) -> Surface:
    """Return a Cartesian oval r_A + 2 r_B = S whose foci are f apart: B at height zB on the z axis, A below B (all m).

    Raises `GeometryError` G101 for invalid sizes, G102 if S = 2 f (a corner), G103 if S <= f (no such curve).
    """
    checks.check_positive("egg", f=f, S=S)
    if not np.isfinite(real(zB)):
        raise GeometryError("G101", f"zB of the egg is {shown(zB)}", "a finite height of the focus B in m")
    if f * (1.0 + 1e-9) >= S:
        title = f"no egg has S = {S:g} m and foci f = {f:g} m apart: r_A + 2 r_B = S is not a closed curve for S <= f"
        raise GeometryError("G103", title, "S > f; the larger S is, the rounder the egg")
    if abs(S - 2.0 * f) <= 1e-6 * f:
        title = f"the egg with S = 2 f = {S:g} m has a corner at its focus A, where the curvature is infinite"
        raise GeometryError("G102", title, "S at least a few per cent away from 2 f")
    numbers = {"f": float(f), "S": float(S), "zB": float(zB)}
    ends = [oval_radius(w, float(f), float(S)) for w in (-1.0, 1.0)]
    return Surface(Egg(), numbers, float(sum(ends)) / 2.0)
