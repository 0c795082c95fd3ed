"""Controllers agree with closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import expm
from screwbond.models.control import (
    check_gains,
    fading_gain,
    joint_pid,
    operational_torque,
    pd_feedforward,
    soft_touch_gains,
    task_force,
    task_inertia,
)
from screwbond.models.motion import axes, cubic_spline, quintic, reference

from bondgraph import J0, J1, Block, C, Constraint, Graph, I, ModelError, R, Se, compile_model, signals
from screws.scalars import array, sin

M1, M2, STIFFNESS = 2.0, 0.5, 30.0
J = np.array([[1.0, 0.0], [-1.0, 1.0]])


def mass_on_a_line(name: str, mass: float, force: str, index: int | None = None, *more, **start: float) -> Graph:
    graph, joint = Graph(name), J1(f"{name} slide", domain="translation")
    effort = (lambda u: u) if index is None else (lambda u: u[index])
    graph.connect(Se(f"{name} drive", effort, signals=[force]), joint)
    graph.connect(joint, I(f"{name} inertia", mass, initial=mass * start.get("velocity", 0.0)))
    for element in more:
        graph.connect(joint, element)
    graph.add(signals.integrator(f"{name} place", f"{name} slide.flow", initial=start.get("place", 0.0), nominal=1e-2))
    return graph


def two_masses(goal, kp, kd, y0, dy0) -> Graph:
    x0, v0 = np.linalg.solve(J, y0), np.linalg.solve(J, dy0)
    graph = Graph("masses")
    slides = [J1(f"slide{k}", domain="translation") for k in (1, 2)]
    for k, (slide, mass) in enumerate(zip(slides, (M1, M2), strict=True)):
        graph.connect(Se(f"drive{k + 1}", lambda u, k=k: u[k], signals=["motors.torque"]), slide)
        graph.connect(slide, I(f"mass{k + 1}", mass, initial=mass * v0[k]))
        graph.add(signals.integrator(f"x{k + 1}", f"slide{k + 1}.flow", initial=x0[k]))
    stretch = J0("stretch", domain="translation")
    graph.connect(slides[1], stretch).connect(stretch, slides[0]).connect(stretch, C("spring", stiffness=STIFFNESS))
    graph.add(
        reference("goal", goal, unit="m"),
        Block(
            "task",
            [("y", lambda a, b: J @ array([a, b]), ["a", "b"]), ("dy", lambda a, b: J @ array([a, b]), ["c", "d"])],
            inputs={"a": "x1.y", "b": "x2.y", "c": "slide1.flow", "d": "slide2.flow"},
        ),
        pd_feedforward("control", "goal", "task.y", "task.dy", kp=kp, kd=kd),
        operational_torque(
            "motors",
            "control.acceleration",
            jacobian=lambda s: J,
            mass=lambda s: np.diag([M1, M2]),
            position=["spring.effort"],
            compensation=lambda s: array([-s, s]),
        ),
    )
    return graph


def test_task_space_pd_decays_in_closed_form() -> None:
    """In both task axes e'' + kd e' + kp e = 0, despite the spring and the coupling; the first axis is critically damped."""
    goal = axes(cubic_spline((0.0, 0.3, 0.1), velocity=0.5, acceleration=2.0, jerk=20.0), quintic(0.2, -0.1, 0.3, 1.1))
    kp, kd = np.array([36.0, 25.0]), np.array([12.0, 6.0])
    e0, de0 = np.array([0.02, -0.05]), np.array([0.1, 0.0])
    graph = two_masses(goal, kp, kd, goal.position(0.0) - e0, goal.velocity(0.0) - de0)
    run = compile_model(graph).simulate(2.5, rtol=1e-10)
    t, decay, omega = run.t, kd / 2.0, 4.0
    critical = (e0[0] + (de0[0] + decay[0] * e0[0]) * t) * np.exp(-decay[0] * t)
    ringing = np.exp(-decay[1] * t) * e0[1] * (np.cos(omega * t) + decay[1] / omega * np.sin(omega * t))
    np.testing.assert_allclose(run["control.error"], np.stack([critical, ringing], axis=1), atol=3e-9)


def test_fading_gain_leaves_velocity_control() -> None:
    """Once the gain is zero, e' decays at the rate kd, and e approaches a constant."""
    kd = 8.0
    gain = fading_gain((16.0, 16.0), 0.5, 1.5, axis=0)
    still = axes(quintic(0.0, 0.0, 0.0, 1.0), quintic(0.0, 0.0, 0.0, 1.0))
    graph = two_masses(still, gain, (kd, kd), np.array([0.1, 0.1]), np.array([0.0, 0.0]))
    run = compile_model(graph).simulate(4.0, rtol=1e-10, parameters={})
    np.testing.assert_allclose(run["control.kp"], gain.position(run.t), atol=1e-12)
    late = run.t > 1.5
    y, dy = run["task.y"][late, 0], run["task.dy"][late, 0]
    np.testing.assert_allclose(dy, dy[0] * np.exp(-kd * (run.t[late] - run.t[late][0])), atol=1e-9)
    np.testing.assert_allclose(y + dy / kd, y[0] + dy[0] / kd, atol=1e-9)
    assert abs(y[-1]) > 1e-4 > abs(run["task.y"][-1, 1])


def test_sampled_pd_is_the_exact_recursion() -> None:
    """Between ticks the controller holds the acceleration, so a mass on a line has a closed-form motion."""
    period, filter_time, kp, kd, mass = 1e-2, 4e-3, 25.0, 10.0, 3.0
    goal = quintic(0.0, 0.1, 0.1, 0.7)
    graph = mass_on_a_line("load", mass, "motors.torque", 0, place=0.02)
    graph.add(reference("goal", goal))
    graph.add(
        pd_feedforward("control", "goal", "load place.y", kp=kp, kd=kd, filter_time=filter_time, period=period),
        operational_torque(
            "motors",
            "control.acceleration",
            jacobian=lambda: np.ones((1, 1)),
            mass=lambda: np.array([[mass]]),
            dimension=1,
            period=period,
        ),
    )
    times = np.arange(0, 101) * period
    run = compile_model(graph).simulate(1.0, rtol=1e-11, samples=times[:-1] + 0.5 * period)
    hold = expm(np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]]) * 0.5 * period)
    x, slope, previous, expected = np.array([0.02, 0.0]), 0.0, 0.02, []
    for t in times[:-1]:
        slope = (filter_time * slope + x[0] - previous) / (filter_time + period)
        previous = x[0]
        r, dr, ddr = (float(goal.derivative(t, k)) for k in range(3))
        u = kp * (r - x[0]) + kd * (dr - slope) + ddr
        middle = hold @ [*x, u]
        expected.append(middle[:2])
        x = (hold @ middle)[:2]
    found = np.stack([run["load place.y"], run["load slide.flow"]], axis=1)
    middles = np.searchsorted(run.t, times[:-1] + 0.5 * period - 1e-12)
    np.testing.assert_allclose(run.t[middles], times[:-1] + 0.5 * period, atol=1e-12)
    np.testing.assert_allclose(found[middles], expected, atol=1e-10)


@pytest.mark.parametrize("count, axes_of_task", [(3, 2), (4, 1), (3, 3)])
def test_torques_give_the_task_its_acceleration(count: int, axes_of_task: int) -> None:
    """J M^-1 (torque - h) + J' v = u for any mechanism, whether redundant or not."""
    rng = np.random.default_rng(count)
    root, jacobian = rng.normal(size=(count, count)), rng.normal(size=(axes_of_task, count))
    mass, bias = root @ root.T + np.eye(count), rng.normal(size=count)
    drift, u = rng.normal(size=axes_of_task), rng.normal(size=axes_of_task)
    graph = Graph("torques")
    graph.add(
        Block("wish", [("u", lambda: u, [])]),
        operational_torque(
            "motors", "wish.u", jacobian=lambda: jacobian, mass=lambda: mass, drift=lambda: drift, compensation=lambda: bias
        ),
        operational_torque(
            "same",
            "wish.u",
            jacobian=lambda: jacobian,
            drift=lambda: drift,
            compensation=lambda: bias,
            Lambda=lambda: np.linalg.inv(jacobian @ np.linalg.inv(mass) @ jacobian.T),
        ),
    )
    terms = [("J", lambda: jacobian, []), ("M", lambda: mass, []), ("h", lambda: bias, []), ("d", lambda: drift, [])]
    graph.add(
        Block("robot", terms),
        operational_torque("wired", "wish.u", jacobian="robot.J", mass="robot.M", drift="robot.d", compensation="robot.h"),
    )
    run = compile_model(graph).simulate(0.1)
    np.testing.assert_allclose(run["wired.torque"], run["motors.torque"], atol=1e-12)
    torque = run["motors.torque"][0]
    np.testing.assert_allclose(jacobian @ np.linalg.solve(mass, torque - bias) + drift, u, atol=1e-12)
    np.testing.assert_allclose(run["same.torque"][0], torque, atol=1e-12)
    Lambda = np.linalg.inv(jacobian @ np.linalg.inv(mass) @ jacobian.T)
    np.testing.assert_allclose(task_inertia(mass, jacobian) @ Lambda, np.eye(axes_of_task), atol=1e-12)
    np.testing.assert_allclose(task_force(mass, jacobian, u), Lambda @ u, rtol=1e-10)


def pendulum(control, start: float = 0.0, torque: str = "control.torque") -> Graph:
    """Return a damped pendulum with m g l = 2 N m and inertia 0.1 kg m^2."""
    graph, joint = Graph("pendulum"), J1("joint", domain="rotation")
    graph.connect(Se("motor", lambda u: u, signals=[torque]), joint)
    graph.connect(Se("weight", lambda q: -2.0 * sin(q), signals=["angle.y"]), joint)
    graph.connect(joint, I("rod", 0.1)).connect(joint, R("bearing", 0.05))
    graph.add(signals.integrator("angle", "joint.flow", initial=start))
    graph.add(signals.step("goal", 0.0, 0.7, 0.7), control)
    return graph


@pytest.mark.parametrize("period", [None, 2e-3])
def test_joint_pid_on_a_pendulum(period: float | None) -> None:
    goal, paths = 0.7, ({"position": "goal.y"}, "angle.y", "joint.flow")
    weight = {"compensation": lambda q: 2.0 * sin(q), "compensation_signals": ["angle.y"]}
    bare = compile_model(pendulum(joint_pid("control", *paths, kp=40.0, kd=3.0, period=period))).simulate(6.0)
    rest = bare["angle.y"][-1]
    assert 40.0 * (goal - rest) == pytest.approx(2.0 * np.sin(rest), rel=1e-6) and goal - rest > 0.02
    for more in ({"ki": 60.0}, weight):
        run = compile_model(pendulum(joint_pid("control", *paths, kp=40.0, kd=3.0, period=period, **more))).simulate(12.0)
        assert run["angle.y"][-1] == pytest.approx(goal, abs=2e-6)
    held = compile_model(pendulum(joint_pid("control", *paths, kp=40.0, kd=3.0, **weight), goal)).simulate(1.0)
    np.testing.assert_allclose(held["angle.y"], goal, atol=1e-12)


def test_limited_torque_winds_the_integral_back() -> None:
    paths, gains = ({"position": "goal.y"}, "angle.y", "joint.flow"), {"kp": 8.0, "kd": 1.0, "ki": 20.0}
    wound = pendulum(joint_pid("control", *paths, **gains), -1.5, "cut.y")
    wound.add(signals.limiter("cut", "control.torque", -1.8, 1.8))
    back = pendulum(joint_pid("control", *paths, **gains, limit=1.8), -1.5)
    late, soon = (compile_model(graph).simulate(12.0) for graph in (wound, back))
    assert np.abs(soon["control.torque"]).max() == pytest.approx(1.8, rel=1e-9)
    assert soon["angle.y"][-1] == pytest.approx(0.7, abs=1e-4)
    assert np.abs(soon["control.integral"]).max() < 0.5 * np.abs(late["control.integral"]).max()
    assert soon["angle.y"].max() - 0.7 < 0.6 * (late["angle.y"].max() - 0.7)


def test_filtered_derivative_instead_of_a_velocity() -> None:
    """With a filter the error obeys T e''' + e'' + kd e' + kp (T e' + e) = 0."""
    kp, kd, T = 36.0, 12.0, 1e-2
    graph = mass_on_a_line("load", 1.0, "control.acceleration", None, place=-0.05)
    graph.add(Block("goal", [(("position", "velocity", "acceleration"), lambda: (0.0, 0.0, 0.0), [])]))
    graph.add(pd_feedforward("control", "goal", "load place.y", kp=kp, kd=kd, filter_time=T, initial=-0.05))
    run = compile_model(graph).simulate(1.0, rtol=1e-10)
    A = np.array([[0.0, 1.0, 0.0], [-kp - kd / T, 0.0, kd / T], [1.0 / T, 0.0, -1.0 / T]])
    expected = np.array([(expm(A * t) @ [-0.05, 0.0, -0.05])[0] for t in run.t[::100]])
    np.testing.assert_allclose(run["load place.y"][::100], expected, atol=1e-9)


def test_soft_touch_forces() -> None:
    """When an axis in velocity control is blocked, the multiplier jumps to the peak force and falls to the holding force."""
    Lambda, speed = 0.0400 / (236.0 * 2e-4), 2e-4
    gains = soft_touch_gains(Lambda, speed, 0.040, 0.090)
    assert (gains.kd, gains.alpha1) == (pytest.approx(236.0), pytest.approx(531.0))
    assert (gains.kp0, gains.alpha0) == (pytest.approx(236.0**2 / 4.0), pytest.approx(531.0**2 / 4.0))
    check_gains(fading_gain(gains.kp0, 2.5, 9.0), gains.kd)

    wall = Constraint("wall", alpha1=gains.alpha1, alpha0=gains.alpha0, closing="smooth")  # it brakes softly
    graph = mass_on_a_line("finger", Lambda, "motors.torque", 0, wall, velocity=speed)
    graph.add(
        reference("goal", cubic_spline((0.0, speed), (0.0, 1.0), start_velocity=speed, end_velocity=speed)),
        pd_feedforward("control", "goal", "finger place.y", "finger slide.flow", kp=0.0, kd=gains.kd),
        operational_torque(
            "motors", "control.acceleration", jacobian=lambda: np.ones((1, 1)), Lambda=lambda: np.array([[Lambda]])
        ),
    )
    run = compile_model(graph).simulate(0.5, rtol=1e-9)
    force = np.abs(run["wall.effort"])
    assert force[0] == pytest.approx(0.090, rel=1e-9) and force.max() == pytest.approx(0.090, rel=1e-9)
    assert force[-1] == pytest.approx(0.040, rel=1e-6)


def test_gains_are_checked_at_all_times_with_their_bound() -> None:
    check_gains(25.0, 5.0)
    check_gains((0.0, 25.0), 5.0)
    check_gains(fading_gain((25.0, 4.0), 1.0, 2.0, axis=0), (5.0, 2.0))
    with pytest.raises(ModelError, match=r"kp along axis 1 is 9 at 1 s, above kd\^2: it must lie in 0 ... 4 1/s\^2"):
        check_gains(fading_gain((25.0, 9.0), 1.0, 2.0, axis=0), (5.0, 2.0))
    with pytest.raises(ModelError, match="kp is -1 at 2 s, below 0"):
        check_gains(fading_gain(1.0, 1.0, 2.0, to=-1.0), 5.0)


def test_an_invalid_gain_is_a_problem_of_the_controller() -> None:
    with pytest.raises(ModelError, match=r'problem in "control"\nE470 the gain is nan'):
        joint_pid(*PD_WIRE, "y.dy", kp=float("nan"), kd=5.0)


PD_WIRE = ("control", "goal", "y.y")
REFUSED = {
    "kp too large": ("E476", lambda: pd_feedforward(*PD_WIRE, "y.dy", kp=26.0, kd=5.0)),
    "kd negative": ("E476", lambda: pd_feedforward(*PD_WIRE, "y.dy", kp=1.0, kd=-5.0)),
    "kd for other axes": ("E470", lambda: check_gains((1.0, 1.0), (5.0, 5.0, 5.0))),
    "fading axis": ("E470", lambda: fading_gain((1.0, 1.0), 0.0, 1.0, axis=2)),
    "speed": ("E477", lambda: soft_touch_gains(0.8, 0.0, 0.04, 0.09)),
    "peak": ("E477", lambda: soft_touch_gains(0.8, 2e-4, 0.09, 0.04)),
    "no rate": ("E478", lambda: pd_feedforward(*PD_WIRE, kp=1.0, kd=5.0)),
    "two rates": ("E478", lambda: pd_feedforward(*PD_WIRE, "y.dy", kp=1.0, kd=5.0, filter_time=1e-3)),
    "filter": ("E478", lambda: pd_feedforward(*PD_WIRE, kp=1.0, kd=5.0, filter_time=0.0)),
    "period": ("E478", lambda: pd_feedforward(*PD_WIRE, "y.dy", kp=1.0, kd=5.0, period=-1.0)),
    "reference": ("E478", lambda: pd_feedforward("control", {"place": "x"}, "y.y", "y.dy", kp=1.0, kd=5.0)),
    "two inertias": ("E478", lambda: operational_torque("m", "u.y", jacobian="j.y", mass="m.y", Lambda="l.y")),
    "negative": ("E478", lambda: joint_pid(*PD_WIRE, "y.dy", kp=-1.0, kd=5.0)),
    "joints": ("E478", lambda: joint_pid(*PD_WIRE, "y.dy", kp=(1.0, 2.0), kd=(1.0, 2.0, 3.0))),
    "limit": ("E478", lambda: joint_pid(*PD_WIRE, "y.dy", kp=1.0, kd=5.0, limit=0.0)),
}


@pytest.mark.parametrize("code, make", REFUSED.values(), ids=REFUSED)
def test_refused(code, make) -> None:
    with pytest.raises(ModelError) as caught:
        make()
    (problem,) = caught.value.problems
    assert problem.code == code and problem.cures and problem.places[0].file == __file__
