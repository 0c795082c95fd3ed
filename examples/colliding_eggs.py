"""Two eggs in free flight collide without friction (Visser 2002, figure 5: the impact).

Only v_z is constrained, by a spring without a damper: the paper calls this contact "rolling and sliding". Only the normal force
acts, for about 2.4 ms, and no energy is lost: translation, rotation and the spring exchange it.
"""

from __future__ import annotations

from screwbond.models import Body, ContactRun, attach_contact, contact, rigid_body, run_contact

from bondgraph import Graph
from screws.surfaces import egg

MASS = 0.06  # kg
INERTIA = (1.5332794929832505e-05, 1.5332794929832505e-05, 1.2530893617021274e-05)  # kg m^2, homogeneous


def build() -> tuple[Graph, Body, Body]:
    """Return the graph of both eggs and their contact."""
    skin = egg(f=0.035, S=0.084, zB=0.010425531914893621)
    egg1 = rigid_body(
        "egg 1",
        mass=MASS,
        inertia=INERTIA,
        surface=skin,
        quaternion=(0.9004471023526769, 0.1898345223582485, 0.37966904471649676, 0.09491726117912422),
        velocity=(0.15, 0.02, -0.01),
        angular_velocity=(1.5, -2.0, 3.0),
    )
    egg2 = rigid_body(
        "egg 2",
        mass=MASS,
        inertia=INERTIA,
        surface=skin,
        position=(0.07, 0.012, 0.006),
        quaternion=(0.4975710478917269, 0.16360329285681963, -0.5453443095227319, 0.6544131714272784),
        velocity=(-0.45, -0.05, 0.02),
        angular_velocity=(-4.0, 5.0, 2.5),
    )
    graph = Graph("colliding eggs")
    touching = contact("contact", egg1, egg2, constrained="rolling and sliding", normal_stiffness=5e4)
    attach_contact(graph, touching, egg1, egg2)
    return graph, egg1, egg2


def simulate(t_end: float = 0.3, rtol: float = 1e-10) -> ContactRun:
    """Run with a sample every millisecond."""
    return run_contact(*build(), t_end, 0.001, rtol=rtol)


if __name__ == "__main__":
    from screwbond.models import save_run
    from screwbond.models.studies.tasks import output_folder
    from screwbond.models.two_bodies.command import overview

    out = output_folder(__doc__, "demo/colliding_eggs")
    print(overview(save_run(simulate(), out), out))
