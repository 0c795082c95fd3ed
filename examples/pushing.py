"""A finger pushes a box over the floor, in a plane and in space.

In the plane the box stands on two corners, and the push rises to mu m g. In space the four contact points are found from the
box's shape at every step; pushed off centre, the box turns, and the finger slides along it.
"""

from __future__ import annotations

import numpy as np
from screwbond.models import attach_planar_contact, ground, planar_body, rigid_body
from screwbond.models.contacts.collision_sets import collisions

from bondgraph import J0, C, Graph, Result, Sf
from bondgraph.stepping import stepper
from screws.shapes import Ball, Box, HalfSpace

MASS, GRAVITY, FRICTION, SPEED, STIFFNESS = 1.0, 9.81, 0.5, 0.1, 1000.0  # kg, m/s^2, -, m/s, N/m
A, B, FINGER = 0.2, 0.1, 0.02  # width and height of the box, radius of the finger, m
WORLD = {"dimension": 6, "domain": "screw", "frame": "0"}


def in_a_plane() -> Graph:
    """Return a box on two corners, and a finger low on its left face."""
    graph = Graph("pushing in a plane")
    inertia, sides = MASS * (A * A + B * B) / 12, [(-A / 2, -B / 2), (A / 2, -B / 2), (A / 2, B / 2), (-A / 2, B / 2)]
    body = planar_body("box", mass=MASS, inertia=inertia, place=(0.0, B / 2, 0.0), gravity=GRAVITY, outline=sides)
    rod = [(0.0, FINGER), (-A / 2, FINGER), (-A / 2, -FINGER), (0.0, -FINGER)]  # its right end is its origin
    finger = planar_body("finger", mass=0.1, place=(-A / 2, B / 4), outline=rod)
    servo = J0("servo", dimension=2, domain="translation")
    graph.connect(Sf("command", (SPEED, 0.0)), servo).connect(servo, finger.motion)
    graph.connect(servo, C("spring", stiffness=STIFFNESS * np.eye(2), initial=(0.0, 0.0)))
    for name, x in (("rear", -A / 2), ("front", A / 2)):
        attach_planar_contact(graph, name, (body, (x, -B / 2)), (None, (0.0, 1.0), 0.0), friction=FRICTION)
    attach_planar_contact(graph, "tip", (finger, (0.0, 0.0)), (body, (-1.0, 0.0), A / 2), friction=0.2)
    return graph


def in_space(aside: float = 0.04) -> Graph:
    """Return a box and a finger (a ball), which is `aside` (m) from the middle of the box's face."""
    down = (0.0, 0.0, -GRAVITY)
    inertia = (MASS * (A * A + B * B) / 12, MASS * (A * A + B * B) / 12, MASS * A * A / 6)
    body = rigid_body("box", mass=MASS, inertia=inertia, gravity=down, position=(0, 0, B / 2), shape=Box(A, A, B))
    start = (-A / 2 - FINGER, aside, B / 4)
    finger = rigid_body("finger", mass=0.1, inertia=(1e-4,) * 3, position=start, shape=Ball(FINGER))
    floor = ground("floor", shape=HalfSpace())
    graph = collisions(Graph("pushing"), [floor, body, finger], friction=FRICTION, pairs=[(floor, body), (finger, body)])
    servo = J0("servo", **WORLD)
    graph.connect(Sf("command", (0, 0, 0, SPEED, 0, 0), **WORLD), servo).connect(servo, finger.world)
    stiff = np.diag([10.0, 10.0, 10.0, STIFFNESS, STIFFNESS, STIFFNESS])
    return graph.connect(servo, C("spring", stiffness=stiff, initial=np.zeros(6), domain="screw", frame="0"))


def runs() -> dict[str, Result]:
    """Return the results by setting, in a plane or in space."""
    plane = stepper(in_a_plane()).simulate(1.0, step=0.01)
    return {"in a plane": plane, "in space": stepper(in_space(), reach=0.02).simulate(1.0, step=0.01)}


if __name__ == "__main__":
    from screwbond.models.pictures.plotting import plot_signals
    from screwbond.models.studies.tasks import output_folder

    out = output_folder(__doc__, "demo/pushing")
    results = runs()
    plane, space = results["in a plane"], results["in space"]
    print(f"in a plane: {plane['spring.effort'][-1, 0]:.4f} N push it to x = {plane['box.place'][-1, 0]:.6f} m")
    push, (w, z), place = space["spring.effort"][-1, 3:], space["box.pose"][-1, [0, 3]], space["box.pose"][-1, 4:]
    print(f"in space: {np.linalg.norm(push):.4f} N push it to {place}, turned by {2.0 * np.arctan2(z, w):.4f} rad")
    shown = {
        "spring.effort": ("push (N)", "x", "y"),
        "box.place": ("place (m, rad)", "x", "y", "angle"),
        "front.normal force": "at the front (N)",
    }
    plot_signals(plane, shown, out / "plane.png", title="A box is pushed in a plane")
    wrench = ("push (N m, N)", *(f"{kind} {axis}" for kind in ("moment", "force") for axis in "xyz"))
    pose = ("pose of the box (1, m)", *["w", "i", "j", "k", "x", "y", "z"])
    plot_signals(space, {"spring.effort": wrench, "box.pose": pose}, out / "space.png", title="A box is pushed in space")
    print(f"  pictures in {out}")
