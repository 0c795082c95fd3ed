"""Wang 2022 (WA22): the restitution of its force law, as printed and as right."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import lambertw

from bondgraph import Graph, simulate
from models import attach_contact, contact, ground, rigid_body
from models.contacts import Viscoelastic
from screws.surfaces import plane, sphere


def restitution(w0: float) -> float:
    """Of a ball that meets a floor with the speed |w0| k/c in the law (15)."""
    k, c, mass, radius = 8.07e5, 4.60e7, 3.453, 0.1
    speed = w0 * k / c
    graph, floor = Graph("impact"), ground("floor", surface=plane())
    at = {"position": (0.0, 0.0, radius + 1e-3), "velocity": (0.0, 0.0, -speed)}
    ball = rigid_body("ball", mass=mass, inertia=(0.4 * mass * radius**2,) * 3, surface=sphere(radius), **at)
    attach_contact(graph, contact("touch", floor, ball, law=Viscoelastic(k, c)), floor, ball)
    run = simulate(graph, 1e-3 / speed + 20.0 * np.sqrt(mass / k) * (1.0 + w0), samples=2, rtol=1e-12, progress=False)
    assert [event.kind for event in run.events] == ["contact on", "contact off"]
    return float(run["ball.twist"][-1, 5]) / speed


@pytest.mark.parametrize("w0", [0.1, 1.0, 5.0])
def test_equation_17_is_a_limit_of_fast_impacts(w0):
    """(17) has e = k/(c |v0|) = 1/|w0|, which slow impacts would bounce with more energy by; s always returns to zero."""
    right = (1.0 + lambertw(-np.exp(-w0 + np.log1p(w0) - 1.0)).real) / w0
    found = restitution(w0)
    assert found == pytest.approx(right, rel=1e-10)
    assert found < 0.99 / w0 and (1.0 / w0 > 1.0) == (w0 < 1.0)
