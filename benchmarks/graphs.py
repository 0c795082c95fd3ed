"""The two graphs that are measured: S2a (an egg rolls round a fixed egg) and S1a (two free eggs collide)."""

from __future__ import annotations

import numpy as np

from examples import colliding_eggs, rolling_eggs

END = {"s2a": 2.0, "s1a": 0.3}  # s


GRAPHS = {"s2a": lambda: rolling_eggs.build()[0], "s1a": lambda: colliding_eggs.build()[0]}


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
