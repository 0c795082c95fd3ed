"""A tippe top: a spinning ball whose centre of mass lies below its geometric centre turns over and spins on its stem."""

import numpy as np

from screwbond import Graph, attach_contact, contact, ground, plane, rigid_body, simulate, sphere

R, BELOW, MASS, SPIN = 0.02, 0.003, 0.015, 160.0  # m, m, kg, rad/s
MOMENTS = np.array([0.38, 0.38, 0.40]) * MASS * R**2

floor = ground("floor", surface=plane())
top = rigid_body("top", mass=MASS, inertia=MOMENTS, surface=sphere(R), centre_of_mass=(0, 0, -BELOW), gravity=(0, 0, -9.81),
                 position=(0, 0, R), quaternion=(np.cos(0.1), np.sin(0.1), 0, 0), angular_velocity=(0, 0, SPIN))  # fmt: skip
rubbing = contact("touch", floor, top, normal_stiffness=2e4, normal_damping=4.0,
                  tangential_stiffness=1e4, tangential_damping=1.0, friction=0.1)  # fmt: skip
run = simulate(attach_contact(Graph("tippe top"), rubbing), 4.0, samples=2e-3)

w, x, y, z = run["top.pose"][:, :4].T
upright = 1.0 - 2.0 * (x**2 + y**2)
print(f"the axis stands at {upright[0]:.2f} and ends at {upright[-1]:.2f}; spin {run['top.twist'][-1, 2]:.0f} rad/s")
