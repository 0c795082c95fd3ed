"""Kinematics and dynamics of serial chains agree with products of exponentials, sums over bodies and closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from screwbond.models.chains import (
    BodyInertia,
    Chain,
    Link,
    ball_inertia,
    bias,
    body_jacobian,
    body_twists,
    combined_inertia,
    cylinder_inertia,
    gravity_forces,
    kinetic_energy,
    link_pose,
    link_pose_state,
    mass_matrix,
    potential,
    space_jacobian,
)

from bondgraph import ModelError
from screws import GeometryError, joints, pose, pose_from_state, spatial_inertia
from screws.poses import Ad, exp, inverse, vee
from screws.surfaces import sphere
from tests.inner.model import Mechanics
from tests.inner.models_chains import recursion_is_shorter

HOME = np.array([0.0, -0.5058167754, 1.5417097332, 0.1641070423])


def finger(azimuth: float = 0.0, *, damping: float = 0.0, limits: object = None, name: str = "finger") -> Chain:
    """Return a chain of four joints with slender cylinders and a ball fixed to the last link, as in Visser 2002, section 5."""
    heights, masses = (0.0, 0.015, 0.065, 0.105, 0.135), (0.02, 0.03, 0.02, 0.012)
    R = np.asarray(exp([0.0, 0.0, azimuth, 0.0, 0.0, 0.0]))[:3, :3]
    links = []
    for k, mass in enumerate(masses):
        joint = joints.revolute([0, 0, 1]) if k == 0 else joints.revolute([0, -1, 0], [0, 0, heights[k]])
        home = pose(np.eye(3), [0.0, 0.0, heights[k + 1] if k == 3 else heights[k]])
        start, end = (np.array([0.0, 0.0, z]) - home[:3, 3] for z in heights[k : k + 2])
        inertia = cylinder_inertia(mass, 0.006, start, end)
        if k == 3:
            inertia = combined_inertia(inertia, ball_inertia(0.008, 0.012))
        skin = sphere(0.012) if k == 3 else None
        links.append(Link("tip" if k == 3 else f"link {k + 1}", joint, inertia, home, damping, limits, skin))
    return Chain(name, tuple(links), pose(R, R @ np.array([0.08, 0.0, 0.0])))


def anything(seed: int = 1) -> Chain:
    rng = np.random.default_rng(seed)

    def place() -> np.ndarray:
        return np.asarray(exp(rng.normal(size=6)), dtype=float)

    def three() -> np.ndarray:
        return 0.3 * rng.normal(size=3)

    kinds = (
        joints.revolute(three(), three()),
        joints.prismatic(three()),
        joints.helical(three(), three(), 0.05),
        joints.universal([0, 0, 1], [1, 0, 0], three()),
        joints.fixed(),
        joints.cylindrical([0, 1, 0], three()),
        joints.spherical(three()),
        joints.planar(three(), three()),
    )
    links = []
    for k, joint in enumerate(kinds):
        A = rng.normal(size=(3, 3))
        J = 1e-2 * A @ A.T
        links.append(Link(f"body {k}", joint, BodyInertia(1.0 + 0.1 * k, np.trace(J) * np.eye(3) - J, three()), place()))
    return Chain("anything", tuple(links), place())


def products_of_exponentials(chain: Chain, q: np.ndarray) -> np.ndarray:
    H, values, found = np.array(chain.base), iter(q), []
    for link in chain.links:
        for screw in link.joint.screws.T:
            H = H @ np.asarray(exp(screw * next(values)), dtype=float)
        found.append(H @ link.home)
    return np.array(found)


def sum_over_bodies(chain: Chain, q: np.ndarray) -> np.ndarray:
    total = np.zeros((len(q), len(q)))
    slopes = np.stack([difference(lambda x: products_of_exponentials(chain, x), q, i) for i in range(len(q))])
    for k, link in enumerate(chain.links):
        if link.inertia is None:
            continue
        H = inverse(products_of_exponentials(chain, q)[k])
        columns = np.array([vee(H @ slope) for slope in slopes[:, k]]).T
        total += columns.T @ spatial_inertia(link.inertia.mass, link.inertia.rotational, link.inertia.centre) @ columns
    return total


def difference(function, q: np.ndarray, i: int, h: float = 1e-3) -> np.ndarray:
    """Return the derivative along coordinate i by sixth-order central differences."""
    e = h * np.eye(len(q))[i]
    terms = [(45.0, 1), (-9.0, 2), (1.0, 3)]
    return sum(c * (np.asarray(function(q + k * e)) - np.asarray(function(q - k * e))) for c, k in terms) / (60.0 * h)


@pytest.fixture(params=[anything(), anything(2), finger(2.0)], ids=["all joints", "others", "finger"])
def case(request):
    chain = request.param
    rng = np.random.default_rng(5)
    return chain, rng.normal(size=chain.freedoms), rng.normal(size=chain.freedoms)


def test_poses_and_jacobians(case):
    chain, q, v = case
    twists = body_twists(chain, q, v)
    for k in range(len(chain.links)):
        H = products_of_exponentials(chain, q)[k]
        assert np.abs(link_pose(chain, k, q) - H).max() < 1e-13
        assert np.abs(pose_from_state(link_pose_state(chain, k, q)) - H).max() < 1e-13
        assert np.linalg.norm(link_pose_state(chain, k, q)[:4]) == pytest.approx(1.0, abs=1e-13)
        body = body_jacobian(chain, k, q)
        assert np.abs(space_jacobian(chain, k, q) - Ad(H) @ body).max() < 1e-12
        rate = sum(difference(lambda x, k=k: link_pose(chain, k, x), q, i) * v[i] for i in range(len(q)))
        assert np.abs(vee(inverse(H) @ rate) - body @ v).max() < 1e-10
        assert np.abs(twists[k] - body @ v).max() < 1e-12
        assert np.array_equal(body_jacobian(chain, chain.links[k].name, q), body)
    for function in (link_pose_state, space_jacobian, body_jacobian):
        with pytest.raises(ModelError, match="E454"):
            function(chain, len(chain.links), q)


def test_mass_matrix_velocity_forces_and_weight(case):
    """M is the sum over the bodies, h follows from derivatives of M, and gravity forces are the gradient of -sum(m g . p)."""
    chain, q, v = case
    M = mass_matrix(chain, q)
    assert np.abs(M - sum_over_bodies(chain, q)).max() < 1e-11 * np.abs(M).max()
    assert kinetic_energy(chain, q, v) == pytest.approx(0.5 * v @ M @ v, rel=1e-13)

    rate = difference(lambda s: mass_matrix(chain, q + s[0] * v), np.zeros(1), 0)
    h = rate @ v - [difference(lambda x: kinetic_energy(chain, x, v), q, i) for i in range(len(q))]
    assert np.abs(bias(chain, q, v) - h).max() < 1e-10 * np.abs(h).max()
    by_tape = Mechanics(lambda x: mass_matrix(chain, x), None, None, None, None, False).coriolis(q, v)
    assert np.abs(bias(chain, q, v) - by_tape).max() < 1e-12 * np.abs(h).max()

    g = np.array([0.3, -2.0, -9.81])

    def weight(x: np.ndarray) -> float:
        return -sum(
            link.inertia.mass * g @ (H @ [*link.inertia.centre, 1.0])[:3]
            for k, (link, H) in enumerate(zip(chain.links, products_of_exponentials(chain, x), strict=True))
            if chain.sections.carrier[k]
        )

    assert potential(chain, g, q) == pytest.approx(weight(q), rel=1e-12)
    forces = [difference(weight, q, i) for i in range(len(q))]
    assert np.abs(gravity_forces(chain, g, q) - forces).max() < 1e-10 * np.abs(forces).max()


def test_double_pendulum_closed_form():
    l1, l2, m1, m2, g = 0.7, 0.4, 1.3, 0.8, 9.81
    rods = (
        Link("upper", joints.revolute([0, 1, 0]), cylinder_inertia(m1, 1e-3, [0, 0, 0], [0, 0, -l1])),
        Link("lower", joints.revolute([0, 1, 0], [0, 0, -l1]), cylinder_inertia(m2, 1e-3, [0, 0, -l1], [0, 0, -l1 - l2])),
    )
    chain, q, v = Chain("pendulum", rods), np.array([0.4, -1.1]), np.array([2.0, -3.0])
    I1, I2 = m1 * (3e-6 + l1**2) / 12.0, m2 * (3e-6 + l2**2) / 12.0
    a = I1 + m1 * l1**2 / 4 + I2 + m2 * (l1**2 + l2**2 / 4)
    b, d = m2 * l1 * l2 / 2, I2 + m2 * l2**2 / 4
    c, s = np.cos(q[1]), np.sin(q[1])
    assert mass_matrix(chain, q) == pytest.approx(np.array([[a + 2 * b * c, d + b * c], [d + b * c, d]]), rel=1e-13)
    assert bias(chain, q, v) == pytest.approx([-b * s * (2 * v[0] * v[1] + v[1] ** 2), b * s * v[0] ** 2], rel=1e-13)
    lower = m2 * g * l2 / 2 * np.sin(q[0] + q[1])
    upper = (m1 / 2 + m2) * g * l1 * np.sin(q[0])
    assert gravity_forces(chain, [0, 0, -g], q) == pytest.approx([upper + lower, lower], rel=1e-13)


def test_dynamics_are_independent_of_the_base_frame():
    chain = anything()
    X = np.asarray(exp([0.3, -1.2, 0.7, 0.2, 0.5, -0.4]), dtype=float)
    moved = Chain(
        "moved", tuple(Link(x.name, x.joint.seen_from(X), x.inertia, X @ x.home) for x in chain.links), chain.base @ inverse(X)
    )
    rng = np.random.default_rng(3)
    q, v, g = rng.normal(size=chain.freedoms), rng.normal(size=chain.freedoms), [1.0, 2.0, 3.0]
    for formula, arguments in ((mass_matrix, (q,)), (bias, (q, v)), (gravity_forces, (g, q))):
        if formula is gravity_forces:
            assert np.abs(formula(chain, *arguments) - formula(moved, *arguments)).max() < 1e-11
        else:
            one, two = formula(chain, *arguments), formula(moved, *arguments)
            assert np.abs(one - two).max() < 1e-12 * np.abs(one).max()
    for k in range(len(chain.links)):
        assert np.abs(link_pose(chain, k, q) - link_pose(moved, k, q)).max() < 1e-12


def test_a_finger_at_home_presses_the_ball():
    """At home each tip presses 1.478e-4 m into the ball of radius 0.03 m at height 0.09 m, from its own side."""
    for azimuth in (0.0, 2 * np.pi / 3, 4 * np.pi / 3):
        chain = finger(azimuth)
        tip = link_pose(chain, 3, HOME)[:3, 3]
        assert np.linalg.norm(tip - [0, 0, 0.09]) - 0.042 == pytest.approx(-300 * 0.01 / (2e4 + 300), abs=1e-9)
        assert np.arctan2(tip[1], tip[0]) == pytest.approx(np.arctan2(np.sin(azimuth), np.cos(azimuth)), abs=1e-12)


def test_constants_of_a_finger_are_sparse():
    for section in finger(2.0).sections.freedoms:
        assert np.array_equal(section.R, np.eye(3)) and np.count_nonzero(section.p) <= 1


def test_shorter_velocity_forces():
    assert not recursion_is_shorter(finger())
    assert recursion_is_shorter(anything())


def test_inertia_helpers():
    rod = cylinder_inertia(2.0, 0.1, [0, 0, 0], [0.6, 0, 0])
    assert np.diagonal(rod.rotational) == pytest.approx([0.01, 2 * (0.03 + 0.36) / 12, 2 * (0.03 + 0.36) / 12])
    assert rod.centre == pytest.approx([0.3, 0, 0])
    two = combined_inertia(ball_inertia(1.0, 0.1, [0, 0, 1.0]), ball_inertia(3.0, 0.1, [0, 0, -1.0]))
    assert two.centre == pytest.approx([0, 0, -0.5])
    assert np.diagonal(two.rotational) == pytest.approx([0.016 + 3.0, 0.016 + 3.0, 0.016])


REVOLUTE = joints.revolute([0, 0, 1])
BALL = ball_inertia(1.0, 0.1)


@pytest.mark.parametrize(
    ("code", "links", "base"),
    [
        ("E450", [], np.eye(4)),
        ("E450", [Link("a", joints.fixed(), BALL)], np.eye(4)),
        ("E450", [Link("a", REVOLUTE, BALL), Link("a", REVOLUTE, BALL)], np.eye(4)),
        ("E450", [Link("a", "revolute", BALL)], np.eye(4)),
        ("E450", [Link("a", joints.free(), BALL), Link("a 3", REVOLUTE, BALL)], np.eye(4)),
        ("E450", ["a"], np.eye(4)),
        ("E450", [Link("a.b", REVOLUTE, BALL)], np.eye(4)),
        ("E450", [Link(3, REVOLUTE, BALL)], np.eye(4)),
        ("E453", [Link("a", REVOLUTE, np.zeros((6, 6)))], np.eye(4)),
        ("E451", [Link("a", REVOLUTE, BALL, home=np.eye(3))], np.eye(4)),
        ("E451", [Link("a", REVOLUTE, BALL)], np.diag([1.0, 1.0, -1.0, 1.0])),
        ("E452", [Link("a", joints.Joint("j", np.array([[0, 0, 2.0, 0, 0, 0]]).T), BALL)], np.eye(4)),
        ("E453", [Link("a", REVOLUTE, BALL, damping=-1.0)], np.eye(4)),
        ("E453", [Link("a", REVOLUTE, BALL, damping=(1.0, 2.0))], np.eye(4)),
        ("E453", [Link("a", REVOLUTE, BALL, damping="soft")], np.eye(4)),
        ("E453", [Link("a", REVOLUTE, BALL, limits=(1.0, -1.0))], np.eye(4)),
        ("E453", [Link("a", REVOLUTE, BALL, limits="none")], np.eye(4)),
    ],
)
def test_refused_chains(code, links, base):
    with pytest.raises(ModelError) as caught:
        Chain("bad", tuple(links), base)
    assert [problem.code for problem in caught.value.problems] == [code]
    assert caught.value.problems[0].cures and "bad" in str(caught.value)


def test_refused_inertia():
    with pytest.raises(GeometryError, match="triangle"):
        BodyInertia(1.0, (1.0, 1.0, 3.0))
    with pytest.raises(GeometryError, match="centre"):
        BodyInertia(1.0, (1.0, 1.0, 1.0), (0.0, 1.0))


def test_axes_that_are_almost_parallel_are_not_taken_for_parallel():
    """A URDF file gives pi / 2 to nine digits, so the error in the angle must not be neglected."""
    for tilt in (1e-12, 1e-9, 1e-7, 1e-5):
        axis = np.array([0.0, np.sin(tilt), np.cos(tilt)])
        links = [
            Link(str(k), joint, ball_inertia(1.0, 0.1, (1, 0, 0)))
            for k, joint in enumerate((joints.revolute([0, 0, 1]), joints.revolute(axis)))
        ]
        chain, q = Chain("tilted", tuple(links)), [0.4, 0.9]
        wanted = np.asarray(exp([0, 0, q[0], 0, 0, 0]), float) @ np.asarray(exp([*(q[1] * axis), 0, 0, 0]), float)
        assert np.abs(np.asarray(link_pose(chain, 1, q), float) - wanted).max() < 3e-14  # SNAP, and rounding
