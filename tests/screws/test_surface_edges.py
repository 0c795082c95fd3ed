"""Surfaces with an edge, a tip or a step are refused, because they have no tangent plane there."""

from __future__ import annotations

import numpy as np
import pytest

from screws import GeometryError, closed_surface, parametric, revolution
from screws.scalars import absolute, cos, exp, less, maximum, minimum, sin, sqrt, where

RANGE = (-0.2, 0.2)


def patch(height, u=RANGE, v=RANGE):
    return parametric(lambda u, v: (u, v, height(u, v)), u, v)


def radial(radius):
    return closed_surface(lambda n: tuple(radius(n) * c for c in n))


EDGES = {
    "groove": lambda: patch(lambda u, v: absolute(u)),
    "shallow, off the middle": lambda: patch(lambda u, v: 0.1 * absolute(u - 0.0317)),
    "along the other axis": lambda: patch(lambda u, v: 0.1 * absolute(v + 0.11)),
    "roof": lambda: patch(lambda u, v: -maximum(0.3 * u, -0.2 * v)),
    "two bowls": lambda: patch(lambda u, v: minimum((u - 0.1) ** 2, (u + 0.1) ** 2)),
    "ball through a floor": lambda: patch(
        lambda u, v: maximum(sqrt(0.04 - u * u - v * v) - 0.1, 0.0 * u), (-0.13, 0.13), (-0.13, 0.13)
    ),
    "near its end": lambda: patch(lambda u, v: maximum(0.0, u - 0.17)),
    "cone": lambda: patch(lambda u, v: -0.5 * sqrt((u - 0.0333) ** 2 + (v + 0.021) ** 2)),
    "double cone": lambda: parametric(lambda u, v: (u * cos(v), u * sin(v), u), (-1.0, 1.0), (-3.0, 3.0)),
    "step": lambda: patch(lambda u, v: where(less(u, 0.05), 0.0, 0.01)),
    "lens": lambda: radial(lambda n: 1.0 - 0.5 * absolute(n[2])),
    "cut ball": lambda: closed_surface(lambda n: (n[0], n[1], minimum(n[2], 0.8))),
    "drop": lambda: closed_surface(lambda n: (n[0], n[1], n[2] - 0.5 * sqrt(1.0 - n[2]))),
    "top": lambda: revolution(lambda w: 0.02 * (1.0 + 0.3 * absolute(w - 0.2)), lambda w: 0.02 * w),
}


@pytest.mark.parametrize("name", EDGES)
def test_an_edge_is_refused(name):
    with pytest.raises(GeometryError, match=r"G105.*(edge|tip|step).*no tangent plane"):
        EDGES[name]()


@pytest.mark.parametrize("unit", [1e-9, 1e-3, 1.0, 1e3])
def test_edges_in_any_unit(unit):
    span = (-0.2 * unit, 0.2 * unit)
    with pytest.raises(GeometryError, match="G105"):
        patch(lambda u, v: 0.3 * absolute(u), span, span)
    assert patch(lambda u, v: 0.3 * sqrt(u * u + (1e-3 * unit) ** 2), span, span).size > 0.0


ROUND = {
    "as the message advises": lambda: patch(lambda u, v: sqrt(u * u + 0.002**2)),
    "sharply": lambda: patch(lambda u, v: sqrt((u - 0.0123) ** 2 + 1e-10)),
    "a cone": lambda: patch(lambda u, v: sqrt(u * u + v * v + 1e-8)),
    "curvature that jumps": lambda: patch(lambda u, v: 3.0 * maximum(0.0, u) ** 2),
    "waves": lambda: patch(lambda u, v: 0.01 * sin(40.0 * u) * cos(30.0 * v)),
    "a bump": lambda: patch(lambda u, v: 0.05 * exp(-2000.0 * (u * u + v * v))),
    "a needle": lambda: closed_surface(lambda n: (0.02 * n[0], 0.02 * n[1], 0.6 * n[2])),
    "a bowl around its pole": lambda: parametric(lambda u, v: (u * cos(v), u * sin(v), u * u), (0.05, 1.0), (-3.0, 3.0)),
}


@pytest.mark.parametrize("name", ROUND)
def test_round_surfaces_are_accepted(name):
    assert np.isfinite(ROUND[name]().size)
