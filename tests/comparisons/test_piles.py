"""Bodies with shapes agree with Siconos and MuJoCo, and with closed forms for the subjects of Drake's examples.

The results of Siconos are from siconos-tutorials b6c9bfd (Acary, Bremond, Perignon and others), `examples/mechanics`:
ImpactingStick.ref and BouncingBallNETS-WITHPROJ.ref. Its scheme has steps of 0.1 ms and 5 ms and a first-order error.
"""

import numpy as np
import pytest
from scipy.optimize import brentq
from screwbond.models import collisions, ground, rigid_body

from bondgraph import Graph
from screws.shapes import Ball, Box, HalfSpace
from tests.inner.stepping import free_body_stepper

STICK = np.array(
    [
        [0.0, 0.3535533906, 0.3635533906, 0.7853981634, 0.1],
        [0.05, 0.3285533906, 0.3560533906, 0.7903981634, 0.1],
        [0.075, 0.3159986167, 0.3484057835, 0.8160454981, 1.680022849],
        [0.1, 0.3034051458, 0.3383778703, 0.8580460694, 1.680022849],
        [0.15, 0.2782182041, 0.2995720439, 0.9420472118, 1.680022849],
        [0.175, 0.2655889127, 0.2743761784, 1.00158973, 3.212070579],
        [0.2, 0.2529172312, 0.2471693301, 1.081891494, 3.212070579],
    ]
)
"""Rows of time, position along and above the floor, angle from the vertical, and spin, in SI units."""

APEXES = np.array([1.20386737, 1.0006651, 0.83011049])
"""Apex heights of a ball's centre, m, for bounces with e = 0.9."""


def stepped(*bodies, step, end, **contact):
    graph = collisions(Graph("pile"), [ground("floor", shape=HalfSpace()), *bodies], **contact)
    return free_body_stepper(graph, tolerance=1e-10, max_sweeps=10000).simulate(end, step=step)


def stick(step, end=0.2, start=0.0):
    """Return the motion of a falling stick; until `start`, its flight has a closed form."""
    tilt = np.pi / 4 + 0.1 * start
    body = rigid_body(
        "stick",
        mass=1.0,
        inertia=(1 / 12, 1 / 12, 1e-3),
        gravity=(0, 0, -10.0),
        position=(0.5 * np.sin(np.pi / 4) - 0.5 * start, 0, 0.5 * np.cos(np.pi / 4) + 0.01 + 0.1 * start - 5.0 * start**2),
        quaternion=(np.cos(tilt / 2), 0, -np.sin(tilt / 2), 0),
        velocity=(-0.5, 0, 0.1 - 10.0 * start),
        angular_velocity=(0, -0.1, 0),
        shape=Ball(1e-9, position=(0, 0, -0.5)),
    )
    run = stepped(body, step=step, end=end - start, friction=0.01, restitution=1.0)
    pose, spin = run["stick.pose"], -run["stick.twist"][:, 1]
    course = np.column_stack([pose[:, 4], pose[:, 6], -2.0 * np.arctan2(pose[:, 2], pose[:, 0]), spin])
    wanted = STICK[(STICK[:, 0] >= start) & (STICK[:, 0] <= end), 0]
    return np.array([[np.interp(t - start, run.t, column) for column in course.T] for t in wanted])


def test_an_impacting_stick():
    """Positions have the error g h t / 2 before the first impact; each impact velocity has an error of g h."""
    found = stick(1e-4)
    assert np.allclose(found[:2], STICK[:2, 1:], atol=0.5 * 10.0 * 1e-4 * 0.05 * 1.01)
    assert np.allclose(found[:, :2], STICK[:, 1:3], atol=1e-4)
    assert np.allclose(found[:, 2], STICK[:, 3], atol=1e-3) and np.allclose(found[:, 3], STICK[:, 4], atol=1.5e-2)
    # Exact spin after the first impact: friction opposes the remaining slip, which the impact has reversed.
    at = brentq(lambda t: 0.5 * np.cos(np.pi / 4) + 0.01 + 0.1 * t - 5.0 * t * t - 0.5 * np.cos(np.pi / 4 + 0.1 * t), 0.01, 0.1)
    arm, height = 0.5 * np.sin(np.pi / 4 + 0.1 * at), 0.5 * np.cos(np.pi / 4 + 0.1 * at)
    turning = 12.0 * (arm - 0.01 * height)
    impulse = -2.0 * (0.1 - 10.0 * at + 0.1 * arm) / (1.0 + arm * turning)
    exact = 0.1 + turning * impulse
    assert -0.5 + 0.1 * height < 0.0 < -0.5 - 0.01 * impulse + exact * height
    assert found[3, 3] == pytest.approx(exact, abs=1e-2) and STICK[3, 4] == pytest.approx(exact, abs=1e-2)
    assert stick(4e-5, 0.076, start=0.05)[1, 3] == pytest.approx(exact, abs=4e-3)


def test_a_bouncing_ball():
    """At Siconos' step size, both programs miss the exact apexes by millimetres; the error decreases with the step size."""
    ball = {"mass": 1.0, "inertia": (1, 1, 1), "gravity": (0, 0, -9.81), "position": (0, 0, 1.0), "velocity": (0, 0, 2.0)}
    exact = 0.1 + (0.9 + 2.0**2 / (2 * 9.81)) * 0.81 ** np.arange(3)
    errors = []
    for step in (5e-3, 2e-3):
        run = stepped(rigid_body("ball", shape=Ball(0.1), **ball), step=step, end=2.0, friction=0.6, restitution=0.9)
        z = run["ball.pose"][:, 6]
        tops = z[1:-1][(z[1:-1] > z[:-2]) & (z[1:-1] >= z[2:])][:3]
        errors.append(np.abs(tops - exact).max())
    assert errors[0] < 0.01 and np.abs(APEXES - exact).max() < 0.01
    assert errors[1] < 0.5 * errors[0]


@pytest.mark.parametrize("friction", [0.2, 0.05, 0.3])
def test_a_ball_on_an_inclined_plane(friction):
    """The ball rolls with the acceleration 5/7 g sin(a) if mu > 2/7 tan(a), and otherwise slides with g (sin(a) - mu cos(a))."""
    angle = np.radians(40.0)
    slides = friction < 2.0 / 7.0 * np.tan(angle)
    gravity = 9.81 * np.array([np.sin(angle), 0.0, -np.cos(angle)])
    ball = rigid_body("ball", mass=1.0, inertia=(0.4 * 0.01,) * 3, gravity=gravity, position=(0, 0, 0.1), shape=Ball(0.1))
    run = stepped(ball, step=2e-3, end=0.5, friction=friction)
    speed = np.linalg.norm(run["ball.twist"][-1, 3:])
    a = 9.81 * (np.sin(angle) - friction * np.cos(angle)) if slides else 5.0 / 7.0 * 9.81 * np.sin(angle)
    assert speed == pytest.approx(a * 0.5, rel=1e-6)
    assert (run.slip_speed[-1] > 1e-3) == slides


def test_a_box_slides_as_in_mujoco():
    """The box slides v^2 / (2 mu g) to within one step; MuJoCo, which regularises friction and has a compliant contact, agrees to
    5 per cent."""
    mujoco = pytest.importorskip("mujoco", reason="MuJoCo is not installed")
    v, mu, step = 1.0, 0.4, 2e-3
    box = rigid_body(
        "box",
        mass=1.0,
        inertia=(0.01,) * 3,
        gravity=(0, 0, -9.81),
        position=(0, 0, 0.05),
        velocity=(v, 0, 0),
        shape=Box(0.4, 0.4, 0.1),
    )
    run = stepped(box, step=step, end=0.6, friction=mu)
    exact = v * v / (2 * mu * 9.81)
    assert run["box.pose"][-1, 4] == pytest.approx(exact, abs=v * step)
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><option timestep="{step}" cone="elliptic"/><default><geom friction="{mu} 0 0" condim="3"/></default><worldbody>'
        '<geom type="plane" size="0 0 1"/><body pos="0 0 0.05"><freejoint/>'
        '<inertial pos="0 0 0" mass="1" diaginertia=".01 .01 .01"/>'
        '<geom type="box" size="0.2 0.2 0.05"/></body></worldbody></mujoco>'
    )
    data = mujoco.MjData(model)
    data.qvel[0] = v
    for _ in range(300):
        mujoco.mj_step(model, data)
    assert data.qpos[0] == pytest.approx(run["box.pose"][-1, 4], rel=0.05)
