"""Thirty boxes fall onto a heap, and a hundred balls into a bag; time stepping simulates bodies that may touch anywhere.

Bodies collide by their shapes; every step finds the contact points, and the impulses with Coulomb friction. At rest the floor
carries their total weight, though its distribution over the contacts is indeterminate.
"""

from __future__ import annotations

import numpy as np
from screwbond.models import Body, collisions, ground, rigid_body

from bondgraph import Graph
from bondgraph.stepping.free_bodies import FreeBodyResult, free_body_stepper
from screws import quaternion, rotations
from screws.shapes import Ball, Box, HalfSpace

EDGE, RADIUS, MASS, FRICTION = 0.1, 0.05, 1.0, 0.5  # m, m, kg
GRAVITY, STEP = (0.0, 0.0, -9.81), 0.005  # m/s^2, s


def boxes(count: int = 30) -> list[Body]:
    """Return cubes, one above the other, turned at random."""
    rng = np.random.default_rng(0)
    inertia, bodies = (MASS * EDGE**2 / 6,) * 3, []
    for k in range(count):
        angle, turned = 2.0 * (k % 3) + 0.5 * (k // 3), quaternion(rotations.exp(rng.uniform(-2.0, 2.0, 3)))
        place = (0.12 * np.cos(angle), 0.12 * np.sin(angle), 0.1 + 0.19 * (k // 3))
        box = {"mass": MASS, "inertia": inertia, "gravity": GRAVITY, "shape": Box(EDGE, EDGE, EDGE)}
        bodies.append(rigid_body(f"box {k}", position=place, quaternion=turned, **box))
    return bodies


def balls(count: int = 100) -> list[Body]:
    """Return balls in layers of nine."""
    rng = np.random.default_rng(1)
    places = [(0.12 * (k % 3 - 1), 0.12 * (k // 3 % 3 - 1), 0.1 + 0.12 * (k // 9)) for k in range(count)]
    inertia, wobble = (0.4 * MASS * RADIUS**2,) * 3, np.pad(0.003 * rng.standard_normal((count, 2)), ((0, 0), (0, 1)))
    return [
        rigid_body(f"ball {k}", mass=MASS, inertia=inertia, gravity=GRAVITY, position=place + wobble[k], shape=Ball(RADIUS))
        for k, place in enumerate(places)
    ]


def bag(lean: float = np.radians(60.0), wide: float = 0.3) -> Body:
    """Return a floor, and four walls that lean outwards."""
    walls = [
        HalfSpace(position=(wide * x, wide * y, 0.0), quaternion=tuple(quaternion(rotations.exp(lean * np.array([y, -x, 0.0])))))
        for x, y in ((1, 0), (-1, 0), (0, 1), (0, -1))
    ]
    return ground("bag", shape=[HalfSpace(), *walls])


def heap() -> Graph:
    """Return boxes above a floor."""
    return collisions(Graph("heap"), [ground("floor", shape=HalfSpace()), *boxes()], friction=FRICTION, max_contacts=512)


def bagful() -> Graph:
    """Return balls above the bag."""
    return collisions(Graph("bag"), [bag(), *balls()], friction=FRICTION, max_contacts=1024)


def simulate(graph: Graph, t_end: float) -> FreeBodyResult:
    """Simulate a graph of bodies that fall and come to rest, from 0 to `t_end` (s)."""
    return free_body_stepper(graph).simulate(t_end, step=STEP)


if __name__ == "__main__":
    from screwbond.models.pictures import save_scene, scene_of, still
    from screwbond.models.studies.tasks import output_folder

    out = output_folder(__doc__, "demo/pile")
    for graph, end in ((heap(), 2.5), (bagful(), 3.0)):
        run = simulate(graph, end)
        print(
            f"{graph.name}: {run.contact_count[-1]} contacts, slip {run.slip_speed[-1]:.1e} m/s,"
            f" {run.penetration[-1]:.1e} m overlap"
        )
        scene = scene_of(run)
        save_scene(scene, out / f"{graph.name}.glb")
        still(scene, out / f"{graph.name}.png", end)
