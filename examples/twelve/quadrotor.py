"""A quadrotor levels itself and climbs: a thrust and a drag torque act at each rotor.

`drag` is torque over thrust, m; `tilt` is the initial angle about an oblique axis, rad; `goal` is
the final height, m.
"""

import numpy as np
from screwbond import Graph, attach_force, pose_from_state, rigid_body, wrench


def simulate(mass=1.0, inertia=(0.01, 0.01, 0.02), arm=0.2, drag=0.02, tilt=0.4, goal=1.0,
             t_end=4.0):  # fmt: skip
    start = (np.cos(tilt / 2), 0.8 * np.sin(tilt / 2), 0.6 * np.sin(tilt / 2), 0)
    weight, reads = (0, 0, -9.81), ["drone.pose", "drone.twist"]
    drone = rigid_body("drone", mass=mass, inertia=inertia, gravity=weight, quaternion=start)
    graph = Graph("quadrotor")
    for k, (x, y, turn) in enumerate(((arm, 0, 1), (0, arm, -1), (-arm, 0, 1), (0, -arm, -1))):

        def rotor(H, T, x=x, y=y, turn=turn):  # the rotor's share of height and attitude control
            R = pose_from_state(H)[:3, :3]
            lift = 0.25 * mass * (9.81 + 4.0 * (goal - H[6]) - 3.0 * (R @ T[3:])[2])
            roll, pitch = 2.0 * R[2, 1] + 0.4 * T[0], -2.0 * R[2, 0] + 0.4 * T[1]
            thrust = lift - y * roll + x * pitch - turn * 0.4 * T[2]
            return 0, 0, turn * drag * thrust, 0, 0, thrust

        push = wrench(f"rotor {k}", rotor, at=(x, y, 0), axes="body", signals=reads)
        attach_force(graph, push, drone)
    return graph.simulate(t_end, samples=0.01, rtol=1e-9)
