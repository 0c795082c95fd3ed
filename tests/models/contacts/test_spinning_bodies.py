"""Bodies that collide while they spin, and overlap again after their contact has released."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from screwbond.models import attach_contact, contact, rigid_body
from screwbond.models.contacts import Maxwell

from bondgraph import Graph
from screws.surfaces import egg, ellipsoid
from tests.inner.run import Result

SURFACES = ellipsoid((0.05, 0.06, 0.08)), egg(0.035, 0.084)


def collision(seed: int, swapped: bool) -> Result:
    rng, graph = np.random.default_rng(seed), Graph("two")
    way = rng.normal(size=3)
    way /= np.linalg.norm(way)
    bodies = []
    for name, mass, moments, place in (("one", 0.5, (4e-4, 5e-4, 6e-4), 0.0), ("two", 0.8, (9e-4, 7e-4, 8e-4), 0.26)):
        bodies.append(
            rigid_body(
                name,
                mass=mass,
                inertia=moments,
                surface=SURFACES[rng.integers(2)],
                position=place * way,
                quaternion=Rotation.random(random_state=int(rng.integers(1 << 30))).as_quat(scalar_first=True),
                angular_velocity=rng.normal(scale=3.0, size=3),
                velocity=rng.normal(scale=0.05, size=3) - (place > 0.0) * rng.uniform(0.5, 1.5) * way,
            )
        )
    pair = bodies[::-1] if swapped else bodies
    attach_contact(graph, contact("touch", *pair, constrained="v_z", law=Maxwell(2e4, 50.0)), *pair)
    return graph.simulate(0.25, samples=2, rtol=1e-9, progress=False)


@pytest.mark.parametrize("seed", range(20, 24))
def test_a_released_contact_that_turns_inwards_touches_once(seed: int) -> None:
    first, second = (collision(seed, swapped) for swapped in (False, True))
    assert first.ok and second.ok
    for body in ("one", "two"):
        np.testing.assert_allclose(second[f"{body}.pose"][-1], first[f"{body}.pose"][-1], atol=1e-10)
