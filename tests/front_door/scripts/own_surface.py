"""User-defined surfaces roll on a plane: a cube with round edges tumbles, and a ring rolls in a curve."""

import numpy as np

from screwbond import Graph, attach_contact, closed_surface, contact, ground, parametric, plane, rigid_body, simulate
from screws.scalars import cos, sin, sqrt


def rounded_cube(n, a, e):
    """Return the point in the direction of the unit vector n at which x^4 + y^4 + z^4 + e a^2 (x^2 + y^2 + z^2) = a^4."""
    quartic = n[0] ** 4 + n[1] ** 4 + n[2] ** 4
    return n * a * sqrt((sqrt(e * e + 4.0 * quartic) - e) / (2.0 * quartic))


def ring(u, v, R, r):
    """Return a tube of radius r along a circle of radius R about the y axis."""
    return (R + r * cos(v)) * sin(u), r * sin(v), (R + r * cos(v)) * cos(u)


def roll(surface, height, spin):
    """Roll on a floor for two seconds, starting with the angular velocity `spin` and the centre at `height`."""
    body = rigid_body("body", mass=0.2, inertia=(8e-5,) * 3, surface=surface, position=(0, 0, height), gravity=(0, 0, -9.81),
                      angular_velocity=spin, velocity=np.cross(spin, (0, 0, height)))  # fmt: skip
    rolling = contact("touch", ground("floor", surface=plane()), body, normal_stiffness=1e7, normal_damping=300.0,
                      tangential_stiffness=1e7, tangential_damping=300.0)  # fmt: skip
    return simulate(attach_contact(Graph("rolling"), rolling), 2.0, samples=5e-3)


cube, turn = closed_surface(rounded_cube, {"a": 0.03, "e": 0.2}), (-np.pi, np.pi)
tumbled = roll(cube, cube.point((np.pi / 2, 0.0))[0], (0.0, 14.0, 0.0))
rolled = roll(parametric(ring, turn, turn, {"R": 0.05, "r": 0.015}, periodic=(True, True)), 0.065, (0.0, 8.0, 1.0))
for name, run in (("cube", tumbled), ("ring", rolled)):
    print(name, "rolls to x = {:.3f} m, y = {:.3f} m".format(*run["body.pose"][-1, 4:6]))
