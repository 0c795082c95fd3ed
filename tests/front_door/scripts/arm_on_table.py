"""An arm of three joints lowers its round finger onto a table and presses on it; the script draws a picture."""

import numpy as np
from screwbond.models.pictures import still

from screwbond import Chain, Graph, Link, Se, attach_contact, chain_graph, contact, cylinder_inertia, ground, plane, pose, sphere
from screws import joints

L, HEIGHT, TIP, MASS = 0.3, 0.3, 0.03, 0.5  # m, m, m, kg
rod = cylinder_inertia(MASS, 0.02, (-L, 0, 0), (0, 0, 0))
links = [
    Link(name, joints.revolute((0, 1, 0), (k * L, 0, HEIGHT)), rod, pose(np.eye(3), ((k + 1) * L, 0, HEIGHT)), damping=0.5)
    for k, name in enumerate(["upper", "fore", "hand"])
]
arm = chain_graph(Chain("arm", links), ports=["hand"], gravity=(0, 0, -9.81), position=[-0.3, 0.3, 0.4])
stiffness, goal = np.array([40.0, 30.0, 10.0]), np.array([0.1, 0.3, 0.2])
robot = Graph("arm on a table").connect(
    Se("motors", effort=lambda q: stiffness * (goal - q), signals="arm.q"), arm.port("joints")
)
table, finger = ground("table", surface=plane()), arm.link("hand", surface=sphere(TIP))
attach_contact(robot, contact("touch", table, finger, normal_stiffness=1e4, normal_damping=50.0))

run = robot.simulate(5.0)
still(run, "arm_on_table.png", 5.0)
print(f"{-run['touch.gap'][-1] * 1e3:.2f} mm deep, with {run['touch.normal force'][-1]:.2f} N")
