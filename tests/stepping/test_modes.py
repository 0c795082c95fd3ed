"""Random single steps of a body between three walls agree with an enumeration of all modes of the contacts."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from screwbond.models import attach_planar_contact, planar_body

from bondgraph import J0, C, Graph, ModelError, Sf
from bondgraph.stepping import Stepper, stepper

ANGLE = 0.2
POINTS = ((-0.2, -0.1), (0.25, -0.1), (0.2, 0.15))
NORMALS = ((0.1, 1.0), (-0.2, 1.0), (-1.0, 0.1))
WALLS = ("left", "right", "side")
H = 0.1


def cornered() -> Graph:
    graph = Graph("cornered")
    body = planar_body("body", mass=1.0, inertia=0.1, place=(0.0, 0.0, ANGLE))
    for name, point, normal in zip(WALLS, POINTS, NORMALS, strict=True):
        attach_planar_contact(graph, name, (body, point), (None, normal, 0.0), friction=0.5)
    servo = J0("servo", dimension=3)
    graph.connect(Sf("command", (0.0, 0.0, 0.0)), servo).connect(servo, body.motion)
    return graph.connect(servo, C("spring", stiffness=np.eye(3), initial=np.zeros(3)))


def rows() -> tuple[np.ndarray, np.ndarray]:
    turn = np.array([[math.cos(ANGLE), -math.sin(ANGLE)], [math.sin(ANGLE), math.cos(ANGLE)]])
    n, t = np.zeros((3, 3)), np.zeros((3, 3))
    for k in range(3):
        arm, normal = turn @ POINTS[k], np.array(NORMALS[k]) / np.linalg.norm(NORMALS[k])
        for row, e in ((n, normal), (t, np.array([normal[1], -normal[0]]))):
            row[k] = (*e, arm[0] * e[1] - arm[1] * e[0])
    return n, t


def solutions(K: np.ndarray, load: np.ndarray, gaps: np.ndarray, mu: float) -> list[np.ndarray]:
    (n, t), found = rows(), []
    kinds: tuple[Any, ...] = ("open", "stick", 1.0, -1.0)
    for modes in itertools.product(kinds, repeat=3):
        forces, conditions, right = [], [], []
        for k, mode in enumerate(modes):
            if mode == "stick":
                forces += [n[k], t[k]]
                conditions += [n[k], t[k]]
                right += [-gaps[k], 0.0]
            elif mode != "open":
                forces.append(n[k] - mode * mu * t[k])
                conditions.append(n[k])
                right.append(-gaps[k])
        G, R = np.array(forces).reshape(-1, 3), np.array(conditions).reshape(-1, 3)
        whole = np.block([[K, -G.T], [R, np.zeros((len(R), len(G)))]])
        if np.linalg.matrix_rank(whole) < len(whole):
            continue
        solved = np.linalg.solve(whole, np.concatenate([load, right]))
        dq, shares, place, fits = solved[:3], solved[3:], 0, True
        for k, mode in enumerate(modes):
            if mode == "open":
                fits &= n[k] @ dq + gaps[k] >= -1e-12
            elif mode == "stick":
                fits &= shares[place] >= -1e-12 and abs(shares[place + 1]) <= mu * shares[place] + 1e-12
                place += 2
            else:
                fits &= shares[place] >= -1e-12 and mode * (t[k] @ dq) >= -1e-12
                place += 1
        if fits:
            found.append(dq)
    return found


@pytest.fixture(scope="module")
def made() -> Stepper:
    return stepper(cornered())


def test_a_step_is_one_of_the_solutions(made: Stepper) -> None:
    rng = np.random.default_rng(0)
    met, refused = set(), 0
    for _ in range(120):
        root = rng.normal(size=(3, 3))
        K = 100.0 * (root @ root.T + 0.3 * np.eye(3))
        stretch, gaps, mu = 0.02 * rng.normal(size=3), 0.005 * rng.uniform(size=3), float(rng.uniform(0.1, 0.7))
        parameters = {"spring.stiffness": K} | {f"{name}.place.friction": mu for name in WALLS}
        start = made.steps.compiled.initial(
            {"spring.q": stretch} | {f"{name}.place.gap": float(gap) for name, gap in zip(WALLS, gaps, strict=True)}
        )[0]
        known = solutions(K, K @ stretch, gaps, mu)
        try:
            step = made.step(start, h=H, parameters=parameters)
        except ModelError as said:
            assert "E512" in str(said)
            refused += 1
            continue
        assert np.all(np.isfinite(step.dq))
        assert min(np.abs(step.dq - dq).max() for dq in known) < 1e-8
        met.add(step.mode)
    assert refused <= 2
    assert len(met) >= 10  # of 27: open, sticking and slipping in many combinations
