"""A solid ball rolls on a turntable: it does not fly off but moves in circles, at 2/7 of the table's rate.

The table is a plane with a prescribed twist (an Sf), the ball is a free body under its weight, and the contact is "rolling"
without the constraint on omega_z: the ball touches the table at a point. The circle agrees with the closed form for a homogeneous
ball, for any size, mass and start.
"""

from __future__ import annotations

import numpy as np
from screwbond.models import ContactRun, attach_contact, contact, prescribed_body, rigid_body, run_contact

from bondgraph import Graph
from screws.surfaces import plane, sphere

RADIUS, MASS, STIFFNESS = 0.02, 0.1, 2e5  # m, kg, N/m
RATE = 6.0  # of the table, rad/s
START, SPEED = 0.15, 0.2  # distance from the axis, m; radial speed, m/s


def simulate(t_end: float = 4.0, rtol: float = 1e-9) -> ContactRun:
    """Build and run; the ball starts in rolling contact, pressed in by its weight, and is thrown outward."""
    table = prescribed_body("table", twist=(0.0, 0.0, RATE, 0.0, 0.0, 0.0), surface=plane())
    height = RADIUS - MASS * 9.81 / STIFFNESS
    below = np.cross((0.0, 0.0, RATE), (START, 0.0, 0.0))  # velocity of the table under the ball
    slip = np.array([SPEED, 0.0, 0.0]) - below
    ball = rigid_body(
        "ball",
        mass=MASS,
        inertia=(0.4 * MASS * RADIUS**2,) * 3,
        surface=sphere(RADIUS),
        position=(START, 0.0, height),
        velocity=(SPEED, 0.0, 0.0),
        angular_velocity=np.cross((0.0, 0.0, 1.0 / height), slip),
        gravity=(0.0, 0.0, -9.81),
    )
    touching = contact(
        "contact",
        table,
        ball,
        constrained=["v_x", "v_y", "v_z"],
        normal_stiffness=STIFFNESS,
        normal_damping=40.0,
        tangential_stiffness=STIFFNESS,
        tangential_damping=40.0,
    )
    graph = Graph("ball on a turntable")
    attach_contact(graph, touching, table, ball)
    return run_contact(graph, table, ball, t_end, 0.01, rtol=rtol)


def circling_rate(run: ContactRun) -> float:
    """Return the mean rate at which the ball's velocity turns, rad/s."""
    v = run.trajectory["v2"]
    angle = np.unwrap(np.arctan2(v[:, 1], v[:, 0]))
    return float(np.polyfit(run.trajectory["t"], angle, 1)[0])


if __name__ == "__main__":
    from screwbond.models import save_run
    from screwbond.models.studies.tasks import output_folder
    from screwbond.models.two_bodies.command import overview

    out = output_folder(__doc__, "demo/ball_on_turntable")
    run = simulate()
    print(overview(save_run(run, out), out))
    print(f"  circling at {circling_rate(run):.4f} rad/s; 2/7 of the table's rate is {2 / 7 * RATE:.4f} rad/s")
