"""Transformers whose products have their own formulas equal transformers with the matrix alone."""

from __future__ import annotations

import numpy as np
import pytest
from screwbond.models.connections import AD, AD_ACTION

from bondgraph import J1, MTF, C, Graph, I, Op, compile_model
from screws import poses
from tests.inner.model import Action
from tests.inner.models_contacts import AD_CONTACT, TO_CONTACT
from tests.inner.models_springs import AD_FRAME, TO_FRAME

RANDOM = np.random.default_rng(3)


def _state() -> np.ndarray:
    return np.asarray(poses.pose_state(poses.exp(RANDOM.normal(size=6))), dtype=float)


def _pose() -> np.ndarray:
    return np.asarray(poses.exp(RANDOM.normal(size=6)), dtype=float)


@pytest.mark.parametrize(
    "matrix, action, given",
    [
        (AD, AD_ACTION, [_state()]),
        (AD_CONTACT, TO_CONTACT, [_pose()]),
        (AD, AD_ACTION, [_pose()]),
        (AD_FRAME, TO_FRAME, [_state(), _state()]),
    ],
)
def test_the_action_is_that_of_the_matrix(matrix, action, given):
    N, x = np.asarray(matrix(*given), dtype=float), RANDOM.normal(size=6)
    assert np.allclose(action.forward(*given, x), N @ x, rtol=0.0, atol=1e-13 * np.abs(N).max())
    assert np.allclose(action.transposed(*given, x), N.T @ x, rtol=0.0, atol=1e-13 * np.abs(N).max())


def _oscillator(action: Action | None) -> Graph:
    graph, one, two = Graph("oscillator"), J1("fast", dimension=2), J1("slow", dimension=2)
    turn = MTF(
        "turn",
        lambda q: np.array([[1.0, 0.5], [-0.5, 2.0]]) * (1.0 + q[0]),
        signals=["spring.q"],
        dimensions=(2, 2),
        action=action,
    )
    graph.connect(one, I("mass", np.array([1.0, 2.0]), initial=np.array([0.3, -0.2])))
    graph.connect(one, turn).connect(turn, two)
    graph.connect(two, C("spring", stiffness=np.array([3.0, 5.0]), initial=np.array([0.1, 0.2])))
    return graph


def test_equations_use_the_action():
    N = np.array([[1.0, 0.5], [-0.5, 2.0]])
    action = Action(
        Op("N f", lambda q, f: (1.0 + q[0]) * (N @ f), r"N(#1)\,#2"),
        Op("N^T e", lambda q, e: (1.0 + q[0]) * (N.T @ e), r"N(#1)^T\,#2"),
    )
    runs = [compile_model(_oscillator(given)).simulate(1.0, samples=0.1, rtol=1e-10, progress=False) for given in (None, action)]
    assert np.allclose(runs[0]["spring.q"], runs[1]["spring.q"], rtol=0.0, atol=1e-12)
    assert np.allclose(runs[1]["turn.N"][-1], (1.0 + runs[1]["spring.q"][-1, 0]) * N)
    assert runs[1].ledger.relative_residual < 1e-8
