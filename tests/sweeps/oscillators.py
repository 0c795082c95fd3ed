"""Models for the tests of sweeps, in a module so that other processes can build them too."""

from __future__ import annotations

import numpy as np

from bondgraph import J1, C, Graph, I, R, Se
from tests.inner.run import Result


def oscillator() -> Graph:
    graph, velocity = Graph("oscillator"), J1("velocity", domain="translation")
    graph.connect(Se("push", 1.0), velocity).connect(velocity, I("mass", inertia=2.0))
    return graph.connect(velocity, C("spring", stiffness=50.0)).connect(velocity, R("damper", resistance=5.0))


def pendulum_in_space() -> Graph:
    graph, velocity = Graph("space"), J1("velocity", domain="translation", dimension=3)
    graph.connect(velocity, I("mass", 1.0, dimension=3))
    energy = {"energy": lambda q, k: 0.5 * (k[0] * q[0] ** 2 + k[1] * q[1] ** 2 + k[2] * q[2] ** 2)}
    springs = C("springs", **energy, parameters={"k": (4.0, 9.0, 16.0)}, initial=(1.0, 1.0, 1.0))
    return graph.connect(velocity, springs)


def relaxed() -> Graph:
    return oscillator().start(lambda push, stiffness: (push / stiffness,), ["push.value", "spring.stiffness"], ["spring.q"])


def extremes(result: Result) -> np.ndarray:
    return np.array([result["spring.q"].min(), result["spring.q"].max()])
