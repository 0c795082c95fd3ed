"""Springs and dampers between bodies agree with closed forms and with gradients of their energies."""

from __future__ import annotations

import numpy as np
import pytest
from screwbond.models.bodies import ground, prescribed_body, rigid_body
from screwbond.models.springs import attach_between, centre_of_stiffness, line_force, point_spring, spatial_damper, spatial_spring

from bondgraph import C, Graph, Se, compile_model
from bondgraph.analysis import steady_state
from bondgraph.errors import ModelError
from screws.poses import Ad, exp, pose_from_state, pose_state
from screws.rotations import exp as turn
from screws.rotations import log
from tests.inner.models_springs import relative_pose, spring_energy, spring_wrench

RANDOM = np.random.default_rng(20240611)


def symmetric(size: int = 3) -> np.ndarray:
    A = RANDOM.normal(size=(size, size))
    return A @ A.T


def random_pose(angle: float) -> np.ndarray:
    axis = RANDOM.normal(size=3)
    H = np.eye(4)
    H[:3, :3] = np.asarray(turn(angle * axis / np.linalg.norm(axis)), dtype=float)
    H[:3, 3] = RANDOM.normal(size=3)
    return H


def state(H: np.ndarray, sign: float = 1.0) -> np.ndarray:
    x = np.asarray(pose_state(H), dtype=float)
    return np.concatenate([sign * x[:4], x[4:]])


STIFFNESSES = {
    "isotropic": (3.0, 40.0, None),
    "diagonal": (np.array([1.0, 2.0, 3.0]), np.array([40.0, 20.0, 70.0]), None),
    "full": (symmetric(), 30.0 * symmetric(), symmetric()),
}


@pytest.mark.parametrize("angle", [0.0, 1e-9, 0.09, 0.11, 1.0, 2.5, 3.1, np.pi - 1e-3])
@pytest.mark.parametrize("form", ["trace", "rotation vector"])
@pytest.mark.parametrize("which", STIFFNESSES)
def test_wrench_is_the_gradient_of_the_energy(which, form, angle):
    """The gradient is found by central differences along the six twists of B on SE(3)."""
    K = STIFFNESSES[which]
    H, h = random_pose(angle), 1e-5
    found = np.asarray(spring_wrench(state(H, -1.0), *K, form=form), dtype=float)
    slopes = np.zeros(6)
    for k in range(6):
        step = h * np.eye(6)[k]
        ahead, behind = (spring_energy(state(H @ np.asarray(exp(s * step), float)), *K, form=form) for s in (1.0, -1.0))
        slopes[k] = (ahead - behind) / (2.0 * h)
    assert np.abs(found - slopes).max() < 1e-7 * max(1.0, np.abs(found).max())


@pytest.mark.parametrize("angle", [0.0, 1e-8, 1e-3, 0.3, 2.0, 3.14])
def test_rotation_vector_form(angle):
    """The energy is 1/2 k |log R|^2 and the torque is k log R, for both signs of the quaternion."""
    H, k = random_pose(angle), 2.5
    theta = np.asarray(log(H[:3, :3]), dtype=float)
    for sign in (1.0, -1.0):
        x = state(H, sign)
        assert float(spring_energy(x, k, 0.0, form="rotation vector")) == pytest.approx(0.5 * k * theta @ theta, rel=1e-12)
        wrench = np.asarray(spring_wrench(x, k, 0.0, form="rotation vector"), dtype=float)
        assert np.abs(wrench[:3] - k * theta).max() < 1e-12 and np.all(wrench[3:] == 0.0)


def test_trace_form_of_an_isotropic_spring():
    """The energy is k (1 - cos angle), and the moment is k sin(angle) along the axis; with the co-stiffness G, the energy is
    tr(G (I - R))."""
    H, k = random_pose(2.2), 1.7
    assert float(spring_energy(state(H), k, 0.0)) == pytest.approx(k * (1.0 - np.cos(2.2)), rel=1e-14)
    torque = np.asarray(spring_wrench(state(H), k, 0.0), dtype=float)[:3]
    assert np.linalg.norm(torque) == pytest.approx(k * np.sin(2.2), rel=1e-13)
    K = symmetric()
    G = 0.5 * np.trace(K) * np.eye(3) - K
    assert float(spring_energy(state(H), K, 0.0)) == pytest.approx(np.trace(G @ (np.eye(3) - H[:3, :3])), rel=1e-12)


@pytest.mark.parametrize("form", ["trace", "rotation vector"])
def test_small_motions_feel_the_stiffness_matrix(form):
    """For small twists at the centre, the wrench is K = [[K_r, K_c], [K_c^T, K_t]] times the twist, column by column."""
    K_r, K_t, K_c = STIFFNESSES["full"]
    K, h = np.block([[K_r, K_c], [K_c, K_t]]), 1e-6
    columns = []
    for k in range(6):
        ends = [spring_wrench(state(np.asarray(exp(s * h * np.eye(6)[k]), float)), K_r, K_t, K_c, form=form) for s in (1, -1)]
        columns.append((np.asarray(ends[0], float) - np.asarray(ends[1], float)) / (2 * h))
    assert np.abs(np.array(columns).T - K).max() < 1e-8 * np.abs(K).max()


def test_exchanging_the_bodies_changes_nothing():
    """V(H) = V(H^-1), and in one frame the wrenches on the bodies are opposite."""
    for form in ("trace", "rotation vector"):
        H = random_pose(1.3)
        back = np.linalg.inv(H)
        K = STIFFNESSES["full"]
        assert float(spring_energy(state(H), *K, form=form)) == pytest.approx(
            float(spring_energy(state(back), *K, form=form)), rel=1e-12
        )
        in_B = np.asarray(spring_wrench(state(H), *K, form=form), float)
        in_A = np.asarray(spring_wrench(state(back), *K, form=form), float)
        assert np.abs(np.asarray(Ad(H), float).T @ in_A + in_B).max() < 1e-12 * np.abs(in_B).max()


def test_centre_of_stiffness():
    K = np.block([[symmetric(), np.zeros((3, 3))], [np.zeros((3, 3)), symmetric()]])
    coupling = 0.1 * symmetric()
    K[:3, 3:], K[3:, :3] = coupling, coupling
    r = np.array([0.3, -0.2, 0.5])
    H = np.eye(4)
    H[:3, 3] = -r
    shift = np.asarray(Ad(H), dtype=float)
    moved = shift.T @ K @ shift
    found, centred = centre_of_stiffness(moved)
    assert np.abs(found - r).max() < 1e-12 and np.abs(centred - K).max() < 1e-12
    with pytest.raises(ModelError, match="E494"):
        spatial_spring("s", moved)


# --- in graphs --------------------------------------------------------------------------------------------------------


def block(name: str, **more):
    return rigid_body(name, mass=0.4, inertia=(1e-3, 2e-3, 2.5e-3), **more)


def two_on_a_spring(place: np.ndarray | None = None, form: str = "rotation vector", damped: bool = False):
    H0 = np.eye(4) if place is None else place
    poses = []
    for H in (exp(np.array([0.2, 0.5, -0.3, 0.1, 0, 0.2])), exp(np.array([-0.2, 0.3, 0.2, 0.2, -0.05, 0.25]))):
        x = state(H0 @ np.asarray(H, float))
        poses.append({"quaternion": x[:4], "position": x[4:]})
    graph = Graph("pair")
    spin = H0[:3, :3] @ [1.0, -2.0, 0.5]
    one, two = (block("one", **poses[0]), block("two", **poses[1], angular_velocity=spin, velocity=H0[:3, :3] @ [0.1, 0, 0.3]))
    K = {"rotational": [0.3, 0.5, 0.4], "translational": np.diag([30.0, 50.0, 40.0]) + 5.0, "coupling": 0.4 * np.eye(3)}
    parts = [
        spatial_spring("spring", **K, frame_a=(0.02, 0.01, 0.0), frame_b=pose_state(random_frame()), form=form),
        point_spring("string", 60.0, (0.05, 0.0, 0.0), (0.0, 0.1, 0.0), rest_length=0.1),
    ]
    if damped:
        parts.append(spatial_damper("damper", rotational=2e-3, translational=[0.1, 0.2, 0.3], centre=(0, 0, 0.05)))
    for part in parts:
        attach_between(graph, part, one, two)
    return graph


def random_frame() -> np.ndarray:
    return np.asarray(exp(np.array([0.3, -0.2, 0.1, 0.01, 0.0, 0.03])), dtype=float)


@pytest.mark.parametrize("form", ["trace", "rotation vector"])
@pytest.mark.parametrize("damped", [False, True])
def test_energy_and_momentum(form, damped):
    compiled = compile_model(two_on_a_spring(form=form, damped=damped))
    result = compiled.simulate(2.0, samples=0.02, rtol=1e-9, progress=False)
    ledger = result.ledger
    assert result.failure is None and ledger.relative_residual < 1e-9
    spent = ledger.dissipated[-1] / ledger.in_play
    assert (0.05 < spent < 1.0) if damped else abs(spent) == 0.0
    assert np.diff(ledger.dissipated).min() > -1e-12 * ledger.in_play
    total = 0.0
    for name in ("one", "two"):
        P, pose = result[f"{name}.inertia.p"], result[f"{name}.pose"]
        total = total + np.array(
            [np.linalg.inv(np.asarray(Ad(pose_from_state(x)), float)).T @ p for p, x in zip(P, pose, strict=True)]
        )
    assert np.abs(total - total[0]).max() < 1e-9 * np.abs(result["one.inertia.p"]).max()


def test_the_spring_in_the_graph_is_the_formula():
    graph = two_on_a_spring()
    compiled = compile_model(graph)
    result = compiled.simulate(0.5, samples=0.1, rtol=1e-9, progress=False)
    assert not any("own" in name and np.size(result[name]) for name in ["spring.spring.own"])
    frame_a, frame_b = np.array([1.0, 0, 0, 0, 0.02, 0.01, 0.0]), state(random_frame())
    K = (np.array([0.3, 0.5, 0.4]), np.diag([30.0, 50.0, 40.0]) + 5.0, 0.4 * np.eye(3))
    for k in range(len(result.t)):
        a, b = result["one.pose"][k], result["two.pose"][k]
        x = np.asarray(relative_pose(a, b, frame_a, frame_b), float)
        H_a, H_b = (
            np.asarray(pose_from_state(p), float) @ np.asarray(pose_from_state(f), float) for p, f in ((a, frame_a), (b, frame_b))
        )
        assert np.abs(np.asarray(pose_from_state(x), float) - np.linalg.inv(H_a) @ H_b).max() < 1e-12
        assert result["spring.energy"][k] == pytest.approx(float(spring_energy(x, *K, form="rotation vector")), rel=1e-10)
        W = np.asarray(spring_wrench(x, *K, form="rotation vector"), float)
        assert np.abs(result["spring.wrench"][k] - W).max() < 1e-10
        world = np.asarray(Ad(np.linalg.inv(H_b)), float).T @ W
        assert np.abs(result["spring.world wrench"][k] - world).max() < 1e-10


@pytest.mark.parametrize("form", ["trace", "rotation vector"])
def test_moving_everything_changes_nothing(form):
    place = random_pose(2.0)
    runs = [
        compile_model(two_on_a_spring(where, form, True)).simulate(1.0, samples=0.1, rtol=1e-10, progress=False)
        for where in (None, place)
    ]
    for name in ("spring.wrench", "spring.energy", "string.energy", "damper.wrench", "one.twist"):
        assert np.abs(runs[0][name] - runs[1][name]).max() < 1e-7 * np.abs(runs[0][name]).max()
    first = np.array([place @ np.asarray(pose_from_state(x), float) for x in runs[0]["two.pose"]])
    other = np.array([np.asarray(pose_from_state(x), float) for x in runs[1]["two.pose"]])
    assert np.abs(first - other).max() < 1e-7


@pytest.mark.parametrize(("axis", "stiffness", "inertia"), [(0, 0.2, 1e-3), (2, 0.2, 2.5e-3), (3, 50.0, 0.4), (5, 50.0, 0.4)])
@pytest.mark.parametrize("form", ["trace", "rotation vector"])
def test_frequency_of_a_body_on_a_spring(axis, stiffness, inertia, form):
    """The angular frequency is sqrt(k / m), so after ten and a quarter periods a small displacement is zero."""
    start = 1e-3 * np.eye(6)[axis]
    x = state(np.asarray(exp(start), float))
    graph = Graph("oscillator")
    wall, body = ground("wall"), block("body", quaternion=x[:4], position=x[4:])
    attach_between(graph, spatial_spring("spring", rotational=0.2, translational=50.0, form=form), wall, body)
    omega = np.sqrt(stiffness / inertia)
    result = compile_model(graph).simulate(10.25 * 2 * np.pi / omega, rtol=1e-11, progress=False)
    end = np.asarray(result["body.pose"][-1], float)
    # After ten and a quarter periods the displacement is zero and the speed is largest.
    moved = np.concatenate([2.0 * end[1:4], end[4:]])
    assert np.abs(moved).max() < (1e-8 if form == "trace" and axis < 3 else 1e-9) * 1.0
    assert abs(result["body.twist"][-1][axis]) == pytest.approx(1e-3 * omega, rel=1e-5)


def test_a_damper_to_ground_damps_absolute_motion():
    """Velocity is v0 exp(-d t / m), and spin about a principal axis is w0 exp(-d t / J); the loss is the decrease of the kinetic
    energy."""
    graph = Graph("damped")
    room = ground("room", position=(0.3, 0.2, 0.1))
    body = block("body", position=(1.0, -2.0, 0.5), velocity=(0.3, 0.0, 0.0), angular_velocity=(5.0, 0.0, 0.0))
    attach_between(graph, spatial_damper("damper", rotational=1e-3, translational=0.8), room, body)
    result = compile_model(graph).simulate(1.0, rtol=1e-10, progress=False)
    twist = result["body.twist"][-1]
    assert twist[3] == pytest.approx(0.3 * np.exp(-0.8 / 0.4), rel=1e-8)
    assert twist[0] == pytest.approx(5.0 * np.exp(-1.0), rel=1e-8)
    ledger = result.ledger
    assert ledger.dissipated[-1] == pytest.approx(ledger.stored[0] - ledger.stored[-1], rel=1e-9)


def test_a_moving_reference_gives_its_work():
    graph = Graph("dragged")
    hand = prescribed_body("hand", twist=[0.0, 0.0, 0.4, 0.0, 0.2, 0.0])
    body = block("body")
    attach_between(graph, spatial_spring("spring", rotational=0.5, translational=80.0, form="rotation vector"), hand, body)
    attach_between(graph, spatial_damper("damper", rotational=5e-3, translational=4.0), hand, body)
    result = compile_model(graph).simulate(3.0, rtol=1e-9, progress=False)
    ledger = result.ledger
    assert ledger.relative_residual < 1e-9 and ledger.supplied[-1] > 0.1 * ledger.in_play
    reached = np.asarray(result["hand.pose"][-1], float)
    assert np.abs(result["body.pose"][-1] - reached).max() < 0.02


def test_point_spring():
    """The force along the line is k (|r| - L); a mass on the line oscillates at sqrt(k / m) about L."""
    graph = Graph("line")
    wall, body = ground("wall"), block("body", position=(0.5, 0.0, 0.0))
    attach_between(graph, point_spring("spring", 40.0, rest_length=0.3), wall, body)
    omega = np.sqrt(40.0 / 0.4)
    result = compile_model(graph).simulate(1.0, samples=0.05, rtol=1e-10, progress=False)
    x = result["body.pose"][:, 4]
    assert np.abs(x - (0.3 + 0.2 * np.cos(omega * result.t))).max() < 1e-8
    assert np.abs(result["spring.force"][:, 0] - 40.0 * (x - 0.3)).max() < 1e-9
    assert result.ledger.relative_residual < 1e-9


def test_point_spring_with_damping_along_its_line():
    """Along the line a mass oscillates as m x'' + c x' + k x = 0; its motion across the line is undamped."""
    c, k, mass = 2.0, 40.0, 0.4
    decay, omega = c / (2 * mass), np.sqrt(k / mass - (c / (2 * mass)) ** 2)
    for across in (0.0, 1.0):
        graph = Graph("line")
        speed = across * np.sqrt(k * 0.2 * 0.5 / mass)
        wall, body = ground("wall"), block("body", position=(0.5, 0.0, 0.0), velocity=(0.0, speed, 0.0))
        attach_between(graph, point_spring("spring", k, rest_length=0.3, damping=c), wall, body)
        result = compile_model(graph).simulate(1.0, samples=0.05, rtol=1e-10, progress=False)
        x, t = result["body.pose"][:, 4:6], result.t
        swing = np.exp(-decay * t) * (np.cos(omega * t) + decay / omega * np.sin(omega * t))
        reach = 0.5 if across else 0.3 + 0.2 * swing
        assert np.abs(np.hypot(*x.T) - reach).max() < 1e-8 and result.ledger.relative_residual < 1e-9
        pull = np.gradient(x[:, 0], t)[1:-1] * c + k * (x[1:-1, 0] - 0.3)
        assert across or np.abs(result["spring.force"][1:-1, 0] - pull).max() < 0.05 * np.abs(pull).max()


def test_a_line_force_pushes_its_points_apart_with_its_effort():
    points = np.array([0.1, 0.2, 0.0]), np.array([0.0, -0.1, 0.3])
    graph, cylinder = Graph("line"), line_force("cylinder", *points)
    one, two = block("one"), block("two", position=(0.5, 0.3, -0.2), velocity=(0.3, -0.2, 0.1))
    attach_between(graph, cylinder, one, two)
    graph.connect(Se("oil", 7.0), cylinder.port("line"))
    graph.connect(cylinder.port("line"), C("spring", stiffness=50.0, initial=0.1))
    compiled = compile_model(graph, backend="numpy")
    (x, m), layout = compiled.initial(), compiled.program.layout
    grown = compiled.program.rates(0.0, x, compiled.parameters(), m)
    r = np.array([0.5, 0.3, -0.2]) + points[1] - points[0]
    way = r / np.linalg.norm(r)
    for name, push, point in zip(("one", "two"), (-2.0 * way, 2.0 * way), points, strict=True):
        start = layout[f"{name}.inertia.p"].start
        assert np.allclose(grown[start : start + 6], [*np.cross(point, push), *push], rtol=0, atol=1e-13)
    assert grown[layout["spring.q"].start] == pytest.approx(way @ [0.3, -0.2, 0.1], rel=1e-13)
    result = compiled.simulate(1e-9, samples=[0.0], progress=False)
    assert result["cylinder.length"][0] == pytest.approx(np.linalg.norm(r), rel=1e-14)
    assert np.allclose(result["cylinder.force"][0], -2.0 * way, rtol=0, atol=1e-13)
    with pytest.raises(ModelError, match=r"E495.*point_b"):
        line_force("cylinder", (0, 0, 0), (0, 0))


def test_a_spring_that_is_turned_to_pi_ends_the_run():
    """A rotation vector jumps at an angle of pi, which ends the run; with the trace form the body passes this angle."""
    ends = {}
    for form in ("trace", "rotation vector"):
        graph = Graph("wound")
        wall, body = ground("wall"), block("body", angular_velocity=(0.0, 0.0, 80.0))
        attach_between(graph, spatial_spring("spring", rotational=0.2, form=form), wall, body)
        ends[form] = compile_model(graph).simulate(0.2, rtol=1e-9, progress=False)
    assert ends["trace"].failure is None and ends["trace"].ledger.relative_residual < 1e-9
    failure = ends["rotation vector"].failure
    assert failure is not None and "pi" in str(failure)
    angle = 2.0 * np.arccos(abs(ends["rotation vector"]["body.pose"][-1][0]))
    assert 2.5 < angle < np.pi


def test_springs_add_no_degrees_of_freedom():
    graph = Graph("held")
    wall = ground("wall")
    body = rigid_body("body", mass=0.4, inertia=(1e-3, 2e-3, 2.5e-3), position=(0.01, 0.0, 0.0), gravity=(0, 0, -9.81))
    for k in range(3):
        attach_between(graph, point_spring(f"string {k}", 10.0 + k, np.eye(3)[k], (0, 0, 0)), wall, body)
    attach_between(graph, spatial_spring("spring", rotational=[1.0, 2.0, 3.0], frame_a=(0.1, 0, 0)), wall, body)
    compiled = compile_model(graph)
    assert compiled.program.states == 13
    point = steady_state(compiled)
    assert point["body.pose"][4:] == pytest.approx(np.array([10.0, 11.0, 12.0 - 0.4 * 9.81]) / 33.0, abs=1e-9)
    modes = np.linalg.eigvals(point.linearise().A)
    expected = np.sqrt([33.0 / 0.4, 33.0 / 0.4, 33.0 / 0.4, 1.0 / 1e-3, 2.0 / 2e-3, 3.0 / 2.5e-3])
    assert np.sort(modes.imag[modes.imag > 1e-3]) == pytest.approx(np.sort(expected), rel=1e-6)


def test_loops_of_a_large_model_hold_springs_too(monkeypatch):
    small = compile_model(two_on_a_spring()).simulate(0.5, rtol=1e-10, progress=False)
    monkeypatch.setattr("bondgraph.compile.pipeline.is_large", lambda system: True)
    large = compile_model(two_on_a_spring()).simulate(0.5, rtol=1e-10, progress=False)
    assert np.abs(small["two.pose"][-1] - large["two.pose"][-1]).max() < 1e-10
    assert np.abs(small["spring.energy"] - large["spring.energy"]).max() < 1e-10


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda: spatial_spring("s", translational=-1.0), "E493"),
        (lambda: spatial_spring("s", np.ones((5, 5))), "E493"),
        (lambda: spatial_spring("s", rotational=[[1, 2, 0], [0, 1, 0], [0, 0, 1]]), "E493"),
        (lambda: spatial_spring("s", np.eye(6), rotational=1.0), "E493"),
        (lambda: spatial_spring("s", rotational=1.0, translational=1.0, coupling=2.0 * np.eye(3)), "E493"),
        (lambda: spatial_spring("s", rotational="stiff"), "E493"),
        (lambda: spatial_spring("s", rotational=1.0, translational=1.0, coupling=[[0, 1, 0], [0, 0, 0], [0, 0, 0]]), "E494"),
        (lambda: spatial_spring("s", np.eye(6), frame_a=(0.0, 1.0)), "E495"),
        (lambda: spatial_spring("s", np.eye(6), frame_b=2.0 * np.eye(4)), "E495"),
        (lambda: spatial_spring("s", np.eye(6), form="euler"), "E496"),
        (lambda: spatial_damper("d", translational=-1.0), "E493"),
        (lambda: spatial_damper("d", np.eye(6), rotational=1.0), "E493"),
        (lambda: point_spring("p", -1.0), "E493"),
        (lambda: point_spring("p", 1.0, damping=-1.0), "E493"),
        (lambda: point_spring("p", 1.0, point_a=(0.0, np.nan, 0.0)), "E495"),
        (lambda: point_spring("p", 1.0, rest_length=-0.1), "E497"),
        (lambda: centre_of_stiffness(np.zeros((6, 6))), "E493"),
    ],
)
def test_refusals(make, code):
    with pytest.raises(ModelError) as caught:
        make()
    assert [problem.code for problem in caught.value.problems] == [code]


def test_the_norm_of_a_quaternion_leaves_a_body_at_rest_regular():
    """The quaternion's length returns to one by itself, so analyses find neither a pole at zero nor an undetermined
    direction."""
    frame, box = ground("frame"), rigid_body("box", mass=2.0, inertia=(0.1, 0.2, 0.3), quaternion=(0.6, 0.0, 0.8, 0.0))
    graph, H = Graph("mount"), np.eye(4)
    H[:3, :3] = pose_from_state(np.array([0.6, 0.0, 0.8, 0.0, 0.0, 0.0, 0.0]))[:3, :3]
    attach_between(graph, spatial_spring("spring", rotational=3.0, translational=40.0, frame_a=H), frame, box)
    attach_between(graph, spatial_damper("damper", rotational=0.1, translational=1.0), frame, box)
    guess = {"box.pose.H": np.array([0.72, 0.06, 0.96, 0.12, 0.0, 0.02, 0.0])}
    point = steady_state(graph, guess)
    np.testing.assert_allclose(point["box.pose.H"], [0.6, 0.0, 0.8, 0.0, 0.0, 0.0, 0.0], atol=1e-9)
    assert point.undetermined == ()
    poles = point.linearise().poles()
    assert poles.real.max() < -0.05 and np.abs(poles + 2.0).min() < 1e-9
