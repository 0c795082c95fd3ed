"""An egg rolls round a fixed egg that attracts it (Visser 2002, figures 4 and 5).

   egg 2 --> 0 --> egg 1      the contact of figure 3: rolling, so that v_x, v_y, v_z and omega_z are constrained
             |                by springs and dampers, and omega_x, omega_y are free
          contact

A uniform field cannot press one egg against another for two seconds, so a force of constant magnitude points to its centre.
Whenever egg 2 rolls over one of its ends, the normal force peaks: ten times in two seconds.
"""

from __future__ import annotations

import numpy as np
from screwbond.models import (
    Body,
    ContactRun,
    attach_central_gravity,
    attach_contact,
    central_gravity,
    contact,
    ground,
    rigid_body,
    run_contact,
)

from bondgraph import Graph
from screws import Ad, pose_state
from screws.contact import relative_pose
from screws.surfaces import egg

MASS, STIFFNESS, PULL = 0.06, 2e4, 0.06 * 9.81  # kg, N/m, N
INERTIA = (1.5332794929832505e-05, 1.5332794929832505e-05, 1.2530893617021274e-05)  # kg m^2, homogeneous


def eggs() -> tuple[Body, Body]:
    """Return a fixed egg, touched at (u, v) = (1.28, 0), and an egg that touches it at (0.96, 0) at the angle 0.61 and rolls."""
    skin = egg(f=0.035, S=0.084, zB=0.010425531914893621)
    g1, g2 = skin.geometry((1.28, 0.0)), skin.geometry((0.96, 0.0))
    H_1_2 = relative_pose(g1, g2, alpha=0.61, d=-1.3846881203234679e-05)  # penetration = normal force / stiffness
    T_C2 = np.array([-17.48835273417163, 7.426810799070592, 0.0, 0.0, 0.0, 0.0])  # rolling: omega_x, omega_y only
    T_0 = Ad(H_1_2 @ g2.H) @ T_C2
    position, quaternion = H_1_2[:3, 3], pose_state(H_1_2)[:4]
    rolling = rigid_body(
        "egg 2",
        mass=MASS,
        inertia=INERTIA,
        surface=skin,
        position=position,
        quaternion=quaternion,
        velocity=T_0[3:] + np.cross(T_0[:3], position),
        angular_velocity=T_0[:3],
    )
    return ground("egg 1", surface=skin), rolling


def build() -> tuple[Graph, Body, Body]:
    """Return the graph of both eggs, their contact and the force towards the centre."""
    egg1, egg2 = eggs()
    touching = contact(
        "contact",
        egg1,
        egg2,
        constrained="rolling",
        normal_stiffness=STIFFNESS,
        normal_damping=10.0,
        tangential_stiffness=STIFFNESS,
        tangential_damping=10.0,
        rotational_stiffness=2.0,
        rotational_damping=2e-3,
        transport="gauss",
    )
    graph = Graph("rolling eggs")
    attach_contact(graph, touching, egg1, egg2)
    attach_central_gravity(graph, central_gravity("gravity", egg2, egg1, PULL))
    return graph, egg1, egg2


def simulate(t_end: float = 2.0, rtol: float = 1e-10) -> ContactRun:
    """Run the graph, with a sample every 5 ms."""
    return run_contact(*build(), t_end, 0.005, rtol=rtol)


if __name__ == "__main__":
    from screwbond.models import save_run
    from screwbond.models.studies.tasks import script_parser
    from screwbond.models.two_bodies.command import overview

    parser = script_parser(__doc__, "demo")
    parser.add_argument("--open", action="store_true", help="show the page in a browser before the pictures are drawn")
    options = parser.parse_args()
    print(overview(save_run(simulate(), options.out, show=options.open), options.out))
