"""A Furuta pendulum is balanced with LQR gains of the system linearised at the top.

A mass m swings at the distance `reach` from the end of an arm of inertia J; lengths are in m. The
pendulum starts at the angle `tilt`, rad.
"""

import numpy as np
from screwbond import IC, J1, Graph, R, Se
from screws.scalars import array, cos, sin


def simulate(m=0.1, reach=0.2, arm=0.25, J=0.01, friction=(1e-3, 1e-4), tilt=0.3, t_end=5.0):
    import control

    def inertia(q):
        side, swing = m * arm * reach * cos(q[1]), m * reach**2
        return array([[J + m * arm**2 + swing * sin(q[1]) ** 2, side], [side, swing]])

    graph, joints = Graph("Furuta pendulum"), J1("joints", dimension=2, domain="rotation")
    height = lambda q: m * 9.81 * reach * cos(q[1])
    rods = IC("pendulum", inertia=inertia, potential=height, position=[0.0, tilt])
    graph.connect(joints, rods).connect(joints, R("friction", np.diag(friction)))
    law = lambda q, v, k: array([-(k[0] * q[0] + k[1] * q[1] + k[2] * v[0] + k[3] * v[1]), 0.0])
    reads, gains = ["pendulum.q", "joints.flow"], {"k": np.zeros(4)}
    graph.connect(Se("motor", law, signals=reads, parameters=gains), joints)
    compiled, top = graph.compile(), {"pendulum.q": [0.0, 0.0]}
    upright = compiled.linearise(["motor[0]"], ["joints.flow"], initial=top).to_control()
    gain, _, _ = control.lqr(upright.A, upright.B, np.diag([1.0, 10.0, 0.1, 0.1]), [[10.0]])
    return compiled.simulate(t_end, parameters={"motor.k": gain[0]}, rtol=1e-9)
