"""Shapes of the object in the hand: sizes (m) in; its surface about the centre of mass, and its moments of inertia, out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from screws.surfaces import Surface, egg, ellipsoid, sphere


@dataclass(frozen=True)
class ObjectShape:
    """Shape of the object: names of its sizes (m), and functions of them: its surface about the centre of mass, and the
    principal moments of the solid body over its mass (3,), m^2."""

    sizes: tuple[str, ...]
    surface: Callable[..., Surface]
    moments: Callable[..., np.ndarray]


def _ellipsoid_moments(a: float, b: float, c: float) -> np.ndarray:
    squares = np.array([a, b, c]) ** 2
    return (np.sum(squares) - squares) / 5.0


def _centred_egg(f: float, S: float) -> Surface:
    """Return the egg with its origin at the centre of mass of the solid egg."""
    return egg(f, S, -_egg_integrals(f, S)[1])


def _egg_moments(f: float, S: float) -> np.ndarray:
    _, centre, across, along = _egg_integrals(f, S)
    return np.array([across - centre**2, across - centre**2, along])


def _egg_integrals(f: float, S: float) -> tuple[float, float, float, float]:
    """Return volume (m^3), height of the centre above focus B (m), mean of x^2 + z^2 and of x^2 + y^2 (m^2) of a solid egg."""
    w, weight = np.polynomial.legendre.leggauss(80)
    b = 2.0 * S + f * w
    rho = (b - np.sqrt(b * b - 3.0 * (S * S - f * f))) / 3.0

    def over_volume(power: int, function: Callable[[np.ndarray], np.ndarray]) -> float:
        return float(2.0 * np.pi * np.sum(weight * rho ** (3 + power) * function(w)) / (3 + power))

    volume = over_volume(0, np.ones_like)
    z, zz = over_volume(1, lambda w: w) / volume, over_volume(2, lambda w: w * w) / volume
    yy = over_volume(2, lambda w: 0.5 * (1.0 - w * w)) / volume
    return volume, z, yy + zz, 2.0 * yy


SHAPES = {
    "sphere": ObjectShape(("radius",), sphere, lambda radius: _ellipsoid_moments(radius, radius, radius)),
    "ellipsoid": ObjectShape(("a", "b", "c"), lambda *axes: ellipsoid(axes), _ellipsoid_moments),
    "egg": ObjectShape(("f", "S"), _centred_egg, _egg_moments),
}
"""All shapes of the object."""
