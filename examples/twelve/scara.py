"""A SCARA robot with computed-torque control presses the round tip of its quill against a table."""

from screwbond import Chain, Graph, Link, Se, attach_contact, chain_graph, contact, cylinder_inertia
from screws import joints, plane, pose_from_state, sphere
from screwbond.models import chains, control, ground, motion


def simulate(reach=(0.3, 0.25), masses=(3.0, 2.0, 1.2), tip=0.02, place=(0.35, 0.25), press=0.005,
             kp=400.0, kd=40.0, stiffness=1e5, damping=200.0, t_end=2.0):  # fmt: skip
    (a, b), z, g = reach, (0, 0, 1), (0, 0, -9.81)
    at = lambda x, h: pose_from_state((1, 0, 0, 0, x, 0, h))
    rod = lambda mass, end: cylinder_inertia(mass, 0.02, (0, 0, 0), end)
    arm = Chain("arm", (
        Link("upper", joints.revolute(z), rod(masses[0], (a, 0, 0)), at(0, 0.2)),
        Link("fore", joints.revolute(z, (a, 0, 0)), rod(masses[1], (b, 0, 0)), at(a, 0.2)),
        Link("quill", joints.cylindrical(z, (a + b, 0, 0)), rod(masses[2], (0, 0, 0.3)),
             at(a + b, 0.2), surface=sphere(tip)),
    ))  # fmt: skip
    goals = [pose_from_state((1, 0, 0, 0, *place, h)) for h in (0.1, tip - press)]
    above, pressed = chains.inverse_kinematics(arm, "quill", goals).q
    robot = chain_graph(arm, ports=["quill"], gravity=g, position=above)
    goal = motion.reference("goal", motion.quintic(above, pressed, 0.0, 1.0))
    law = control.pd_feedforward("pd", "goal", "arm.q", "arm.v", kp=(kp,) * 4, kd=(kd,) * 4)
    drive = chains.inverse_dynamics_block("u", arm, "arm.q", "arm.v", "pd.acceleration", gravity=g)
    motors = Se("motors", lambda u: u, signals=["u.effort"], dimension=4)
    graph = Graph("SCARA").add(goal, law, drive).connect(motors, robot.port("joints"))
    table, stiff = ground("table", surface=plane()), {"normal_stiffness": stiffness}
    touch = contact("touch", table, robot.link("quill"), normal_damping=damping, **stiff)
    return attach_contact(graph, touch).simulate(t_end, samples=0.01, rtol=1e-9)
