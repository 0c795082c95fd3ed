"""so(3), SO(3), se(3), SE(3) and quaternions satisfy group axioms, duality and round trips."""

from __future__ import annotations

import numpy as np
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from screws import poses, rotations
from screws.poses import Ad, ad, hat, inverse, pose, pose_from_state, pose_rate, pose_state, vee

unit = st.floats(-1.0, 1.0, allow_nan=False)
vectors = st.tuples(unit, unit, unit).map(np.array)


@st.composite
def rotation_vectors(draw):
    """Draw rotation vectors, a third of them near the identity and a third near pi."""
    axis = draw(vectors)
    norm = np.linalg.norm(axis)
    axis = axis / norm if norm > 1e-3 else np.array([0.6, 0.0, 0.8])
    where = draw(st.integers(0, 2))
    small = 10.0 ** draw(st.floats(-12.0, -1.0))
    angle = (small, np.pi - small, draw(st.floats(0.0, np.pi)))[where]
    return axis * angle


twists = st.tuples(rotation_vectors(), vectors).map(np.concatenate)


@settings(max_examples=60, deadline=None)
@given(rotation_vectors())
def test_rotation_exp_log_round_trip(w):
    R = rotations.exp(w)
    assert np.allclose(R @ R.T, np.eye(3), atol=2e-15) and np.linalg.det(R) > 0
    back = rotations.log(R)
    # At exactly pi the axis may come back reversed; the rotation is the same.
    assert np.allclose(rotations.exp(back), R, atol=2e-15)
    if np.linalg.norm(w) < np.pi - 1e-6:
        assert np.allclose(back, w, rtol=0, atol=2e-15 + 4e-15 * np.linalg.norm(w))


def test_log_keeps_relative_precision_near_identity():
    for size in (1e-300, 1e-20, 1e-9, 1e-4):
        w = size * np.array([0.3, -0.5, 0.8])
        assert np.allclose(rotations.log(rotations.exp(w)), w, rtol=1e-11 if size > 1e-10 else 1e-6, atol=0)


@settings(max_examples=60, deadline=None)
@given(twists)
def test_pose_exp_log_round_trip(T):
    H = poses.exp(T)
    assert np.allclose(poses.exp(poses.log(H)), H, atol=5e-15)
    if np.linalg.norm(T[:3]) < np.pi - 1e-6:
        assert np.allclose(poses.log(H), T, atol=2e-14)


@settings(max_examples=30, deadline=None)
@given(twists, twists, twists)
def test_group_axioms(A, B, C):
    HA, HB, HC = poses.exp(A), poses.exp(B), poses.exp(C)
    assert np.allclose(poses.product(poses.product(HA, HB), HC), HA @ (HB @ HC), atol=1e-14)
    assert np.allclose(inverse(HA) @ HA, np.eye(4), atol=1e-14)
    assert np.allclose(poses.product(HA, np.eye(4)), HA)
    assert np.allclose(inverse(HA @ HB), inverse(HB) @ inverse(HA), atol=1e-14)


@settings(max_examples=30, deadline=None)
@given(twists, twists, twists)
def test_adjoint_is_a_homomorphism(A, B, T):
    HA, HB = poses.exp(A), poses.exp(B)
    assert np.allclose(Ad(HA @ HB), Ad(HA) @ Ad(HB), atol=1e-13)
    assert np.allclose(Ad(inverse(HA)) @ Ad(HA), np.eye(6), atol=1e-13)
    assert np.allclose(hat(Ad(HA) @ T), HA @ hat(T) @ inverse(HA), atol=1e-13)
    assert np.allclose(vee(hat(T)), T)
    assert np.allclose(hat(ad(A) @ B), hat(A) @ hat(B) - hat(B) @ hat(A), atol=1e-13)
    assert np.allclose(ad(A) @ B, -ad(B) @ A, atol=1e-13)


def test_adjoint_structure_and_rate():
    rng = np.random.default_rng(1)
    T, A = rng.normal(size=6), rng.normal(size=6)
    H = poses.exp(A)
    assert poses.is_pose(H) and not poses.is_pose(H * np.append(np.full(3, 1.0 + 4e-6), 1.0))
    R, p = poses.rotation_of(H), poses.position_of(H)
    assert np.array_equal(Ad(H), np.block([[R, np.zeros((3, 3))], [rotations.tilde(p) @ R, R]]))
    h = 1e-5
    rate = (Ad(H @ poses.exp(h * T)) - Ad(H @ poses.exp(-h * T))) / (2 * h)
    assert np.allclose(rate, Ad(H) @ ad(T), atol=1e-9)


@settings(max_examples=40, deadline=None)
@given(rotation_vectors(), rotation_vectors(), st.floats(0.1, 10.0))
def test_quaternions(a, b, stretch):
    A, B = rotations.exp(a), rotations.exp(b)
    qa, qb = rotations.quaternion(A), rotations.quaternion(B)
    assert abs(qa @ qa - 1.0) < 1e-14 and qa[0] >= 0.0
    assert np.allclose(rotations.rotation(stretch * qa), A, atol=3e-15)
    assert np.allclose(rotations.rotation(rotations.quaternion_product(qa, qb)), A @ B, atol=5e-15)


def test_half_turns_about_each_axis():
    for k in range(3):
        w = np.zeros(3)
        w[k] = np.pi
        R = rotations.exp(w)
        assert np.allclose(np.abs(rotations.log(R)), w, atol=1e-15)
        assert np.allclose(np.abs(rotations.quaternion(R))[k + 1], 1.0)


def test_pose_state_and_rate():
    rng = np.random.default_rng(2)
    T, H = rng.normal(size=6), poses.exp(rng.normal(size=6))
    x = pose_state(H)
    assert np.allclose(pose_from_state(x), H, atol=1e-15)
    assert np.array_equal(pose(H[:3, :3].tolist(), H[:3, 3].tolist()), H)
    h = 1e-5
    moved = (pose_state(H @ poses.exp(h * T)) - pose_state(H @ poses.exp(-h * T))) / (2 * h)
    assert np.allclose(pose_rate(x, T), moved, atol=1e-9)
    # Off the manifold the rate pulls |q| back without turning.
    x[:4] *= 1.1
    turning = np.abs(T[:3]).sum()
    more = (pose_rate(x, T, kappa=2.0) - pose_rate(x, T, kappa=1.0))[:4]
    assert np.allclose(more, turning * (1.0 - 1.21) * x[:4] / 8.0, atol=1e-15)
    assert np.array_equal(pose_rate(x, np.zeros(6)), np.zeros(7))


@given(rotation_vectors(), st.lists(st.floats(-10.0, 10.0), min_size=6, max_size=6), st.floats(0.5, 2.0), st.integers(-40, 40))
def test_the_rate_of_a_pose_knows_no_unit_of_time(w, T, stretch, power):
    x = pose_state(pose(rotations.exp(w), np.ones(3)))
    x[:4] *= stretch
    faster = 2.0**power
    assert np.allclose(pose_rate(x, faster * np.array(T)), faster * pose_rate(x, T), rtol=1e-15, atol=1e-280)


def test_tilde_and_products():
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=3), rng.normal(size=3)
    assert np.allclose(rotations.tilde(a) @ b, np.cross(a, b))
    assert np.allclose(rotations.untilde(rotations.tilde(a)), a)
    assert np.array_equal(pose(np.eye(3), a)[:3, 3], a)


def test_sympy_passes_through():
    symbols = sympy.symbols("q:4 p:3 w:3 v:3", real=True)
    numbers = dict(zip(symbols, np.random.default_rng(4).normal(size=13), strict=True))
    x, T = np.array(symbols[:7], dtype=object), np.array(symbols[7:], dtype=object)

    def value(array):
        return np.array([float(sympy.sympify(e).subs(numbers)) for e in array.flat]).reshape(array.shape)

    H = pose_from_state(x)
    assert np.allclose(value(H), pose_from_state(value(x)), atol=1e-14)
    assert np.allclose(value(Ad(H) @ T), Ad(pose_from_state(value(x))) @ value(T), atol=1e-13)
    assert np.allclose(value(pose_rate(x, T)), pose_rate(value(x), value(T)), atol=1e-13)
    assert np.allclose(value(rotations.exp(T[:3])), rotations.exp(value(T[:3])), atol=1e-14)
