"""The two graphs that are measured: S2a (an egg rolls round a fixed egg) and S1a (two free eggs collide)."""

from __future__ import annotations

import numpy as np
from screwbond.models.bodies import rigid_body
from screwbond.models.contacts import attach_contact, contact

from bondgraph import Graph
from examples import rolling_eggs
from screws.surfaces import egg

END = {"s2a": 2.0, "s1a": 0.3}  # s


def rolling() -> Graph:
    return rolling_eggs.build()[0]


def colliding() -> Graph:
    skin = egg(f=0.035, S=0.084, zB=0.010425531914893621)
    mass, inertia = rolling_eggs.MASS, rolling_eggs.INERTIA
    egg1 = rigid_body(
        "egg 1",
        mass=mass,
        inertia=inertia,
        surface=skin,
        quaternion=(0.9004471023526769, 0.1898345223582485, 0.37966904471649676, 0.09491726117912422),
        velocity=(0.15, 0.02, -0.01),
        angular_velocity=(1.5, -2.0, 3.0),
    )
    egg2 = rigid_body(
        "egg 2",
        mass=mass,
        inertia=inertia,
        surface=skin,
        position=(0.07, 0.012, 0.006),
        quaternion=(0.4975710478917269, 0.16360329285681963, -0.5453443095227319, 0.6544131714272784),
        velocity=(-0.45, -0.05, 0.02),
        angular_velocity=(-4.0, 5.0, 2.5),
    )
    graph = Graph("colliding eggs")
    touching = contact("contact", egg1, egg2, constrained="rolling and sliding", normal_stiffness=5e4)
    attach_contact(graph, touching, egg1, egg2)
    return graph


GRAPHS = {"s2a": rolling, "s1a": colliding}


def random_states(name: str, states: int, samples: int, seed: int = 1) -> np.ndarray:
    """Return random states (samples, states), with coordinates within the charts and gaps of either sign."""
    random = np.random.default_rng(seed)
    x = np.empty((samples, states))

    def body(at: int, pose_at: int) -> None:
        x[:, at : at + 3] = 2e-4 * random.normal(size=(samples, 3))
        x[:, at + 3 : at + 6] = 2e-2 * random.normal(size=(samples, 3))
        quaternion = random.normal(size=(samples, 4))
        quaternion *= (1.0 + 1e-3 * random.normal(size=(samples, 1))) / np.linalg.norm(quaternion, axis=1)[:, None]
        x[:, pose_at : pose_at + 4] = quaternion
        x[:, pose_at + 4 : pose_at + 7] = 0.05 * random.normal(size=(samples, 3))

    body(0, 6)
    springs = 4 if name == "s2a" else 1
    at = 13 + springs
    x[:, 13:at] = 1e-4 * random.normal(size=(samples, springs))
    x[:, at : at + 4 : 2] = random.uniform(0.31, np.pi - 0.31, size=(samples, 2))
    x[:, at + 1 : at + 4 : 2] = random.uniform(-np.pi, np.pi, size=(samples, 2))
    x[:, at + 4] = random.uniform(-np.pi, np.pi, size=samples)
    x[:, at + 5] = 1e-3 * random.normal(size=samples)
    if name == "s2a":
        x[:, 23:26] = 0.05 * random.normal(size=(samples, 3))
    else:
        body(20, 26)
    return x
