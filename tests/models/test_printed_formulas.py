"""The LaTeX of potentials, wrenches and joints agrees with the computation when the LaTeX is evaluated as printed."""

from __future__ import annotations

import re

import numpy as np
import pytest
from screwbond.models import attach_between, ground, rigid_body, spatial_spring
from screwbond.models.bodies import GRAVITY, POTENTIAL

from bondgraph import Graph, Op
from bondgraph.export import latex
from screws import Ad, inverse, joints, pose_from_state, pose_state
from screws.contact import contact_pose
from screws.poses import exp
from tests.inner.models_contacts import UNIQUENESS
from tests.inner.models_joints import KINDS, ROLES
from tests.inner.models_springs import _laws
from tests.models.printed import value

RANDOM = np.random.default_rng(5)
STATE = np.asarray(pose_state(exp(np.array([0.5, -0.7, 0.4, 0.02, -0.03, 0.05])).astype(float)), dtype=float)
H = pose_from_state(STATE).astype(float)
R, p = H[:3, :3], H[:3, 3]
I = np.eye(3)


def symmetric(size: float) -> np.ndarray:
    a = RANDOM.normal(size=(3, 3))
    return size * (a + a.T)


def test_the_reader_of_formulas() -> None:
    given = {"a": np.array([1.0, 2.0, 3.0]), "K": np.diag([1.0, 2.0, 3.0]), "tr": np.trace}
    assert value(r"\tfrac12 a^T K\,a - \operatorname{tr}(K)", given) == pytest.approx(0.5 * 36.0 - 6.0)
    assert np.allclose(value(r"2 (K\,a) \times a", given), 2 * np.cross(given["K"] @ given["a"], given["a"]))


def lines(op: Op) -> tuple[str, str]:
    formula, remarks = op.latex.split("\n")
    return formula, remarks


def rows(matrix: str) -> list[str]:
    return [row.strip() for row in re.search(r"\\begin\{bmatrix\}(.*)\\end\{bmatrix\}", matrix)[1].split(r"\\")]


def test_potential_and_wrench_of_a_weight() -> None:
    """V = -m g . (p + R c) includes the offset of the centre of mass."""
    mass, centre, gravity = 2.0, np.array([0.1, -0.2, 0.05]), np.array([0.3, -0.4, -9.81])
    given = {"#2": mass, "#3": centre, "#4": gravity, "R": R, "p": p}
    formula, remarks = lines(POTENTIAL)
    assert remarks == "(R, p) = #1"
    found = value(formula.replace("-#2", "-1 #2"), given)
    assert found == pytest.approx(float(POTENTIAL(STATE, mass, centre, gravity)), rel=1e-14)
    matrix, remarks = lines(GRAVITY)
    given["f"] = value(remarks.split(r",\;")[0].removeprefix("f = "), given)
    assert matrix.startswith("-")
    wrench = -np.concatenate([value(row, given) for row in rows(matrix)])
    assert np.allclose(wrench, np.asarray(GRAVITY(STATE, mass, centre, gravity), dtype=float), rtol=1e-13)


def right_jacobian_inverse(theta: np.ndarray) -> np.ndarray:
    """Return J^-1 in theta' = J^-1 omega, with omega in axes of B, by finite differences of the rotation vector."""

    def vector(turn: np.ndarray) -> np.ndarray:
        angle = np.arccos((np.trace(turn) - 1.0) / 2.0)
        axis = np.array([turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]]) / (2.0 * np.sin(angle))
        return angle * axis

    def turned(w: np.ndarray) -> np.ndarray:
        return vector(R @ exp(np.concatenate([w, np.zeros(3)])).astype(float)[:3, :3])

    assert np.allclose(vector(R), theta, atol=1e-12)
    return np.stack([(turned(1e-5 * e) - turned(-1e-5 * e)) / 2e-5 for e in np.eye(3)], axis=1)


@pytest.mark.parametrize("form", ["trace", "rotation vector"])
@pytest.mark.parametrize("coupled", [False, True])
def test_potential_and_wrench_of_a_spring(form: str, coupled: bool) -> None:
    K = [symmetric(1.0) + 4.0 * I, symmetric(10.0) + 300.0 * I, *([symmetric(2.0)] if coupled else [])]
    wrench_op, energy_op = _laws(form, coupled)
    theta = np.array([0.5, -0.7, 0.4])
    given: dict[str, object] = {f"#{k}": each for k, each in enumerate(K, start=1)}
    given |= {"R": R, "p": p, "y": R.T @ p, "I": I, "tr": np.trace, "G": lambda A: 0.5 * np.trace(A) * I - A}
    given |= {"as": lambda X: 0.5 * np.array([X[2, 1] - X[1, 2], X[0, 2] - X[2, 0], X[1, 0] - X[0, 1]])}
    given |= {r"\theta": theta, "J^{-T}": right_jacobian_inverse(theta).T}
    V = float(energy_op(*K, STATE))
    assert value(lines(energy_op)[0], given) == pytest.approx(V, rel=1e-13)
    W = np.asarray(wrench_op(*K, STATE), dtype=float)
    printed = np.concatenate([value(row, given) for row in rows(lines(wrench_op)[0])])
    assert np.allclose(printed, W, rtol=1e-8, atol=1e-9)

    def energy(T: np.ndarray) -> float:
        return float(energy_op(*K, np.asarray(pose_state(H @ exp(T).astype(float)), dtype=float)))

    slopes = [(energy(1e-5 * e) - energy(-1e-5 * e)) / 2e-5 for e in np.eye(6)]
    assert np.allclose(W, slopes, atol=1e-7)


def test_a_spring_is_printed_whole() -> None:
    graph, base, load = Graph("held"), ground("base"), rigid_body("load", mass=1.0, inertia=(1.0,) * 3)
    attach_between(graph, spatial_spring("spring", rotational=1.0, translational=2.0), base, load)
    text = latex(graph, powers=True)
    assert r"\tfrac14 p^T K_t" in text and r"\operatorname{tr}" in text
    assert "(R, p) = H_B^A" in text


@pytest.mark.parametrize("kind", ["revolute", "prismatic", "cylindrical", "spherical", "planar", "fixed"])
def test_wrenches_of_a_joint_are_columns(kind: str) -> None:
    """W^T (6 - n, 6) satisfies W^T S = 0 at the joint and dh/dt = W^T T even off the joint, and W spans `constrained`."""
    made = {
        "revolute": joints.revolute((0, 0, 1)),
        "prismatic": joints.prismatic((0, 0, 1)),
        "cylindrical": joints.cylindrical((0, 0, 1)),
    }
    made |= {"spherical": joints.spherical(), "planar": joints.planar((0, 0, 1)), "fixed": joints.fixed()}
    joint = made[kind]
    assert ROLES["held"] == ("constraint_matrix", "W^T")
    transposed = np.asarray(KINDS[kind].constraint_matrix(np.eye(4)), dtype=float)
    assert transposed.shape == (6 - joint.freedoms, 6)
    assert np.abs(transposed @ joint.screws).max(initial=0.0) < 1e-14
    assert np.linalg.matrix_rank(np.hstack([transposed.T, joint.constrained])) == 6 - joint.freedoms
    T = np.array([0.3, -0.5, 0.2, 0.1, 0.4, -0.2])  # T_A_A_B

    def h(t: float) -> np.ndarray:
        return np.asarray(KINDS[kind].violation(exp(t * T).astype(float) @ H), dtype=float)

    rate = (h(1e-5) - h(-1e-5)) / 2e-5
    assert np.allclose(np.asarray(KINDS[kind].constraint_matrix(H), dtype=float) @ T, rate, atol=1e-8)
    assert np.allclose(T, Ad(H) @ (Ad(inverse(H)) @ T))


def test_uniqueness_is_of_the_relative_curvature() -> None:
    """The printed value is min(det S, tr S |tr S|) - 1e-8 (|K1|^2 + |K2|^2), S = K2 B + A."""
    K1, K2 = np.array([[40.0, 3.0], [3.0, 25.0]]), np.array([[10.0, -4.0], [-4.0, 30.0]])
    turn = contact_pose(0.7, 0.0).astype(float)[:2, :2]
    A = turn @ K1 @ turn
    S = K2 @ (0.003 * A + np.eye(2)) + A
    wanted = min(np.linalg.det(S), np.trace(S) * abs(np.trace(S))) - 1e-8 * (np.sum(K1**2) + np.sum(K2**2))
    assert float(UNIQUENESS(K1, K2, 0.7, 0.003)) == pytest.approx(wanted, rel=1e-12)
