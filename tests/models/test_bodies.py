"""Single bodies and central gravity agree with closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ellipj, ellipk
from screwbond.models import attach_central_gravity, central_gravity
from screwbond.models.bodies import ground, prescribed_body, rigid_body

from bondgraph import Graph, ModelError, Se, compile_model
from screws import Ad, GeometryError, inverse, pose_from_state, quaternion_product, rotation
from tests.models.independent import rotation as plain_rotation

INERTIA = (2e-3, 3e-3, 4.5e-3)


def simulated(*parts, t_end=2.0, samples=0.02, rtol=1e-10, graph=None):
    graph = graph or Graph("bodies")
    for part in parts:
        graph.connect(Se(f"no wrench on {part.name}", dimension=6), part)
    result = compile_model(graph).simulate(t_end, samples=samples, rtol=rtol, progress=False)
    assert result.ok and result.ledger.relative_residual < 1e-9
    return result


def rotations(result, name):
    return np.array([plain_rotation(row[:4]) for row in result[f"{name}.pose"]])


def test_euler_top_against_jacobi():
    """The reference is the solution by elliptic functions (Landau and Lifshitz, Mechanics, section 37)."""
    J = np.array(INERTIA)
    # Start in the plane of the axes 1 and 3, with L^2 > 2 E J2: the motion circles axis 3.
    w = np.array([2.0, 0.0, 6.0])
    q = np.array([0.5, -0.5, 0.1, 0.7]) / 1.0
    q /= np.linalg.norm(q)
    result = simulated(rigid_body("top", mass=1.0, inertia=INERTIA, quaternion=q, angular_velocity=plain_rotation(q) @ w))
    E2, L2 = float(J @ w**2), float(J**2 @ w**2)
    assert E2 * J[1] < L2
    scale = np.sqrt((J[2] - J[1]) * (L2 - E2 * J[0]) / np.prod(J))
    m = (J[1] - J[0]) * (E2 * J[2] - L2) / ((J[2] - J[1]) * (L2 - E2 * J[0]))
    sn, cn, dn, _ = ellipj(scale * result.t, m)
    a1 = np.sqrt((E2 * J[2] - L2) / (J[0] * (J[2] - J[0])))
    a2 = np.sqrt((E2 * J[2] - L2) / (J[1] * (J[2] - J[1])))
    a3 = np.sqrt((L2 - E2 * J[0]) / (J[2] * (J[2] - J[0])))
    expected = np.stack([a1 * cn, a2 * sn, a3 * dn], axis=1)
    found = result["top.twist"][:, :3]
    assert 4.0 * ellipk(m) / scale < result.t[-1], "a whole period and more"
    assert np.abs(found - expected).max() < 1e-8
    momentum = np.einsum("kij,kj->ki", rotations(result, "top"), J * found)
    assert np.abs(momentum - momentum[0]).max() < 1e-10 * np.linalg.norm(momentum[0])
    assert np.abs(result.ledger.stored / result.ledger.stored[0] - 1.0).max() < 1e-10
    assert np.abs(np.linalg.norm(result["top.pose"][:, :4], axis=1) - 1.0).max() < 1e-9


def test_spin_about_the_middle_axis_turns_over():
    result = simulated(rigid_body("top", mass=1.0, inertia=INERTIA, angular_velocity=(1e-3, 8.0, 1e-3)), t_end=8.0)
    assert result["top.twist"][:, 1].min() < -7.9
    assert np.abs(np.linalg.norm(result["top.pose"][:, :4], axis=1) - 1.0).max() < 1e-9


def test_free_flight_is_a_parabola():
    g, v, p = np.array([0.4, -0.3, -9.81]), np.array([1.0, 2.0, 5.0]), np.array([0.1, 0.2, 0.3])
    centre, q = np.array([0.02, -0.05, 0.03]), np.array([0.5, 0.5, -0.5, 0.5])
    body = rigid_body(
        "stone",
        mass=0.7,
        inertia=INERTIA,
        centre_of_mass=centre,
        position=p,
        quaternion=q,
        velocity=v,
        angular_velocity=(3.0, -7.0, 5.0),
        gravity=g,
    )
    result = simulated(body)
    found = result["stone.pose"][:, 4:] + rotations(result, "stone") @ centre
    t = result.t[:, None]
    assert np.abs(found - (found[0] + v * t + 0.5 * g * t * t)).max() < 1e-10
    assert np.allclose(found[0], p + plain_rotation(q) @ centre)


def test_the_motion_is_independent_of_the_object_frame():
    turn, shift = np.array([0.8, 0.1, -0.5, 0.3]), np.array([0.03, 0.01, -0.02])
    turn /= np.linalg.norm(turn)
    R = plain_rotation(turn)
    q = np.array([0.9, 0.1, 0.2, -0.3]) / np.linalg.norm([0.9, 0.1, 0.2, -0.3])
    motion = {"velocity": (1.0, 0.5, 2.0), "angular_velocity": (3.0, -7.0, 5.0), "gravity": (0.0, 0.0, -9.81)}
    plain = rigid_body("plain", mass=0.7, inertia=INERTIA, quaternion=q, **motion)
    # New frame N: p_plain = R p_N + shift, so the centre of mass is at -R^T shift in N.
    turned = rigid_body(
        "turned",
        mass=0.7,
        inertia=R.T @ np.diag(INERTIA) @ R,
        centre_of_mass=-R.T @ shift,
        quaternion=quaternion_product(q, turn),
        position=plain_rotation(q) @ shift,
        **motion,
    )
    result = simulated(plain, turned)
    R1, R2 = rotations(result, "plain"), rotations(result, "turned")
    assert np.abs(R1 @ R - R2).max() < 1e-9
    p2 = result["plain.pose"][:, 4:] + R1 @ shift
    assert np.abs(p2 - result["turned.pose"][:, 4:]).max() < 1e-9


A_TURN = plain_rotation(np.array([0.8, 0.3, 0.4, 0.33]) / np.linalg.norm([0.8, 0.3, 0.4, 0.33]))


@pytest.mark.parametrize("inertia", [(1.6e-5,) * 3, (1e-5, 1.6e-5, 2e-5), A_TURN @ np.diag([1e-5, 1.6e-5, 2e-5]) @ A_TURN.T])
def test_a_body_without_spin_stays_without_spin(inertia):
    """Momentum along the velocity gives no torque, not even a rounding error, so the spin is exactly zero after 20 km."""
    start = {"velocity": (6.0, -7.0, 3.9), "quaternion": (0.5, -0.5, 0.1, 0.7)}
    graph = Graph("flight")
    graph.add(rigid_body("stone", mass=0.1, inertia=inertia, **start))
    result = compile_model(graph).simulate(2e3, samples=200.0, progress=False)
    assert result.ok and not result["stone.twist"][:, :3].any() and not result["stone.inertia.p"][:, :3].any()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("spin", [1e-6, 1e-3])
@pytest.mark.parametrize("offset", [0.0, 1e-6, 1e-2])
def test_a_slow_spin_costs_a_flight_no_steps(spin, offset):
    """If p x v were computed as a difference of products, its rounding error would cost 103 to 6,669 steps in these flights."""
    centre, turn = offset * np.array([1.0, -0.5, 0.3]), spin * np.array([0.7, 0.5, -0.6])
    start = {"velocity": (6.0, -7.0, 3.9), "angular_velocity": turn, "centre_of_mass": centre}
    graph = Graph("flight")
    graph.add(rigid_body("stone", mass=0.1, inertia=(1e-5, 1.6e-5, 2e-5), **start))
    result = compile_model(graph).simulate(2e3, samples=200.0, progress=False)
    assert result.ok and result.statistics.steps <= 150 and result.statistics.rounding.steps == 0


def test_momentum_is_constant_for_any_inertia():
    """In an ideal fluid a body has different masses along its axes (Kirchhoff), but its momentum in world axes is still
    constant."""
    random = np.random.default_rng(5)
    root = random.normal(size=(6, 6))
    graph = Graph("swimmer")
    graph.add(rigid_body("fish", mass=1.0, inertia=(1.0, 2.0, 2.5), centre_of_mass=(0.1, 0.2, 0.3)))
    start = {"fish.inertia.p": random.normal(size=6)}
    compiled = compile_model(graph)
    for inertia in (np.eye(6) + root @ root.T, np.diag([1.0, 2.0, 2.5, 1.0, 3.0, 4.0])):
        result = compiled.simulate(
            2.0, samples=0.2, rtol=1e-10, parameters={"fish.inertia.inertia": inertia}, initial=start, progress=False
        )
        poses = [np.asarray(pose_from_state(row), dtype=float) for row in result["fish.pose"]]
        momenta = np.array([Ad(inverse(H)).T @ P for H, P in zip(poses, result["fish.inertia.p"], strict=True)])
        assert result.ok and result.ledger.relative_residual < 1e-9
        assert np.abs(result["fish.twist"][-1] - result["fish.twist"][0]).max() > 0.1
        assert np.abs(momenta - momenta[0]).max() < 1e-8


@pytest.mark.parametrize("pitch", [0.0, 0.05])
def test_prescribed_constant_twist_is_a_screw_motion(pitch):
    axis, c, rate = np.array([0.48, -0.6, 0.64]), np.array([0.3, 0.1, -0.2]), 3.0
    q0, p0 = np.array([0.5, 0.1, -0.7, 0.5]), np.array([0.2, 0.3, 0.1])
    twist = rate * np.concatenate([axis, np.cross(c, axis) + pitch * axis])
    result = simulated(prescribed_body("table", twist=twist, position=p0, quaternion=q0))
    for t, row in zip(result.t[::10], result["table.pose"][::10], strict=True):
        half = 0.5 * rate * t
        R = plain_rotation(np.array([np.cos(half), *(np.sin(half) * axis)]))
        assert np.abs(row[4:] - (c + R @ (p0 - c) + pitch * rate * t * axis)).max() < 1e-9
        assert np.abs(plain_rotation(row[:4]) - R @ plain_rotation(q0)).max() < 1e-9


def test_prescribed_twist_of_time():
    from screws.scalars import array, sin

    table = prescribed_body("table", twist=lambda t: array([0.0, 0.0, 2.0 * sin(5.0 * t), 0.0, 0.0, 0.0]))
    result = simulated(table)
    angle = 2.0 * np.arctan2(result["table.pose"][:, 3], result["table.pose"][:, 0])
    assert np.abs(angle - 0.4 * (1.0 - np.cos(5.0 * result.t))).max() < 1e-9


def test_ground_stays():
    result = simulated(ground("floor", position=(1, 2, 3), quaternion=(0, 1, 0, 0)), rigid_body("b", mass=1, inertia=(1, 1, 1)))
    assert np.allclose(result["floor.pose"], [0, 1, 0, 0, 1, 2, 3])


def test_central_gravity_circles_of_two_free_bodies():
    """A force of constant magnitude F = m2 w^2 r2 = m1 w^2 r1 keeps two bodies on circles about their centre of mass."""
    m1, m2, distance, force = 0.5, 0.2, 0.7, 1.4
    r1, r2 = distance * m2 / (m1 + m2), distance * m1 / (m1 + m2)
    rate = np.sqrt(force / (m2 * r2))
    one = rigid_body("sun", mass=m1, inertia=(1e-3,) * 3, position=(-r1, 0, 0), velocity=(0, -rate * r1, 0))
    two = rigid_body("moon", mass=m2, inertia=(1e-3,) * 3, position=(r2, 0, 0), velocity=(0, rate * r2, 0))
    graph = Graph("circles")
    attach_central_gravity(graph, central_gravity("gravity", two, one, force))
    result = simulated(graph=graph)
    angle = rate * result.t
    circle = np.stack([np.cos(angle), np.sin(angle), 0.0 * angle], axis=1)
    assert np.abs(result["moon.pose"][:, 4:] - r2 * circle).max() < 1e-9
    assert np.abs(result["sun.pose"][:, 4:] + r1 * circle).max() < 1e-9
    with pytest.raises(ModelError, match="E458 \"gravity\" acts on 'sun', which is not a body"):
        central_gravity("gravity", two, "sun", force)


@pytest.mark.parametrize(
    ("change", "code", "words"),
    [
        ({"mass": 0.0}, "G111", "mass"),
        ({"mass": -2.0}, "G111", "mass"),
        ({"mass": float("nan")}, "G111", "mass"),
        ({"inertia": (1.0, 1.0, 0.0)}, "G112", "positive definite"),
        ({"inertia": (1.0, -1.0, 1.0)}, "G112", "positive definite"),
        ({"inertia": [[1.0, 0.5, 0], [0, 1.0, 0], [0, 0, 1.0]]}, "G112", "symmetric"),
        ({"inertia": (1.0, 1.0, 2.5)}, "G113", "triangle inequality"),
        ({"inertia": (1.0, 1.0)}, "G114", "shape"),
        ({"inertia": (1.0, float("inf"), 1.0)}, "G114", "finite"),
        ({"inertia": ("1", "1", "1")}, "G114", "three principal moments"),
        ({"inertia": "round"}, "G114", "'round'"),
        ({"inertia": None}, "G114", "None"),
        ({"mass": "1"}, "G111", "'1' kg"),
        ({"mass": True}, "G111", "True kg"),
    ],
)
def test_no_such_body(change, code, words):
    with pytest.raises(GeometryError) as caught:
        rigid_body("stone", **{"mass": 1.0, "inertia": (1.0, 1.0, 1.0), **change})
    assert caught.value.code == code and words in str(caught.value) and "try:" in str(caught.value)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"quaternion": (0.0, 0.0, 0.0, 0.0)}, "E425"),
        ({"quaternion": (1.0, 0.0, 0.1, 0.0)}, "E425"),
        ({"quaternion": (1.0, 0.0, float("nan"), 0.0)}, "E424"),
        ({"quaternion": (1.0, 0.0, 0.0)}, "E424"),
        ({"position": (0.0, float("inf"), 0.0)}, "E424"),
        ({"position": (0.0, 0.0)}, "E424"),
        ({"velocity": (0.0, float("nan"), 0.0)}, "E424"),
        ({"velocity": "fast"}, "E424"),
        ({"position": ("0", "0", "0.1")}, "E424"),
        ({"velocity": (0.0, True, 0.0)}, "E424"),
        ({"quaternion": ("1", "0", "0", "0")}, "E424"),
        ({"surface": "sphere"}, "E427"),
        ({"angular_velocity": (float("inf"), 0.0, 0.0)}, "E424"),
        ({"gravity": (0.0, 0.0, float("nan"))}, "E424"),
        ({"gravity": 9.81}, "E424"),
        ({"centre_of_mass": (0.0, 0.0)}, "E424"),
    ],
)
def test_nonnumeric_start_values_are_refused(change, code):
    with pytest.raises(ModelError) as caught:
        rigid_body("stone", **{"mass": 1.0, "inertia": (1.0, 1.0, 1.0), **change})
    (problem,) = caught.value.problems
    assert problem.code == code and next(iter(change)) in problem.title and '"stone"' in problem.title
    assert problem.places[0].file == __file__


def test_twist_of_a_prescribed_body_is_checked():
    for twist in ((0.0, 0.0, 1.0), (0.0,) * 5 + (float("nan"),)):
        with pytest.raises(ModelError, match="E424 twist of"):
            prescribed_body("table", twist=twist)


def test_quaternion_near_unit_is_normalised():
    body = rigid_body("stone", mass=1.0, inertia=(1.0, 1.0, 1.0), quaternion=(1.0005, 0.0, 0.0, 0.0))
    graph = Graph("near")
    graph.connect(Se("no wrench", dimension=6), body)
    x0, _ = compile_model(graph).initial()
    assert 1.0 in x0 and 1.0005 not in x0


def test_pose_of_any_quaternion_length_is_a_rotation():
    state = np.array([0.6, 0.1, -0.3, 0.2, 1, 2, 3])
    long = state.copy()
    long[:4] *= 1.001
    assert np.allclose(np.asarray(pose_from_state(long), float), np.asarray(pose_from_state(state), float), atol=1e-15)
    assert np.allclose(rotation(state[:4] / np.linalg.norm(state[:4])), plain_rotation(state[:4]))
