"""A rattleback, an ellipsoid with skewed inertia, rolls without slip, rattles and turns back.

`axes` are the semi-axes, and `depth` is the depth of the centre of mass below the ellipsoid's
centre, m; `skew` is the angle from the surface's axes to the principal axes of inertia, rad; `spin`
and `rock` are the initial angular velocities, rad/s. After several reversals the motion is so
sensitive that no two programs agree.
"""

import numpy as np
from screwbond import Graph, Impact, attach_contact, contact, ellipsoid, ground, plane, rigid_body


def simulate(mass=1.0, axes=(0.2, 0.03, 0.02), moments=(2e-4, 1.6e-3, 1.7e-3), skew=0.05,
             depth=0.01, spin=-5.0, rock=0.1, t_end=5.0):  # fmt: skip
    c, s = np.cos(skew), np.sin(skew)
    R, omega = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]]), (rock, 0.0, spin)
    stone = rigid_body(
        "stone", mass=mass, inertia=R @ np.diag(moments) @ R.T, surface=ellipsoid(axes),
        centre_of_mass=(0, 0, -depth), position=(0, 0, axes[2]), angular_velocity=omega,
        velocity=np.cross(omega, (0, 0, axes[2] - depth)), gravity=(0, 0, -9.81),
    )  # fmt: skip
    table = ground("table", surface=plane())
    touch = contact("touch", table, stone, constrained=["v_x", "v_y", "v_z"], law=Impact(0.0))
    graph = attach_contact(Graph("rattleback"), touch, table, stone)
    return graph.simulate(t_end, samples=0.004, rtol=1e-9)
