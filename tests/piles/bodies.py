"""Bodies and graphs for the tests of piles."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from screwbond.models import collisions, ground, rigid_body

from bondgraph import Graph
from bondgraph.errors import ModelError
from screws.shapes import Ball, Box, HalfSpace

G = 9.81
DOWN = (0.0, 0.0, -G)


def ball(name, radius=0.05, mass=1.0, gravity=DOWN, **start):
    return rigid_body(name, mass=mass, inertia=(0.4 * mass * radius**2,) * 3, gravity=gravity, shape=Ball(radius), **start)


def cuboid(name, edges=(0.1, 0.1, 0.1), mass=1.0, gravity=DOWN, **start):
    a, b, c = edges
    inertia = tuple(mass / 12.0 * s for s in (b * b + c * c, a * a + c * c, a * a + b * b))
    return rigid_body(name, mass=mass, inertia=inertia, gravity=gravity, shape=Box(*edges), **start)


def graph_of(*bodies, **settings):
    return collisions(Graph("pile"), bodies, **settings)


def floor(**settings):
    return ground("floor", shape=HalfSpace(**settings))


def turned(axis, angle):
    return Rotation.from_rotvec(angle * np.array(axis, float)).as_quat(scalar_first=True)


def refused(code, act):
    with pytest.raises(ModelError) as found:
        act()
    assert code in str(found.value)
