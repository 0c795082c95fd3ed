"""A ball rolls in a bowl with the angular frequency sqrt(5 g / (7 (R - r)))."""

import numpy as np

from screwbond import Graph, attach_contact, contact, ground, parametric, rigid_body, simulate, sphere

BOWL, BALL, MASS, G, X = 0.2, 0.02, 0.05, 9.81, 0.001  # m, m, kg, m/s^2, m

bowl = parametric(lambda u, v, R: (u, v, (u * u + v * v) / (2.0 * R)), (-0.1, 0.1), (-0.1, 0.1), {"R": BOWL})
slope = np.arctan(X / BOWL)
place = (X - BALL * np.sin(slope), 0.0, X**2 / (2 * BOWL) + BALL * np.cos(slope))
dish = ground("dish", surface=bowl)
ball = rigid_body("ball", mass=MASS, inertia=[0.4 * MASS * BALL**2] * 3, surface=sphere(BALL), position=place, gravity=(0, 0, -G))
rolling = contact(
    "touch", dish, ball, normal_stiffness=1e5, normal_damping=20.0, tangential_stiffness=1e5, tangential_damping=20.0
)
run = simulate(attach_contact(Graph("ball in a bowl"), rolling), 3.0, samples=1e-3)

x = run["ball.pose[4]"]
rises = run.t[:-1][(x[:-1] < 0.0) & (x[1:] >= 0.0)]
print(f"{2 * np.pi / np.diff(rises).mean():.3f} rad/s, {np.sqrt(5 * G / (7 * (BOWL - BALL))):.3f} by hand")
