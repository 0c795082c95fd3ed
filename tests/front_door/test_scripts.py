"""Nine models, written as short scripts from the documentation alone, agree with hand derivations."""

import runpy
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.interpolate import CubicSpline
from scipy.linalg import expm, solve_continuous_are
from screwbond.models.pictures import rendering

SCRIPTS = Path(__file__).parent / "scripts"
LINES = 25
G = 9.81


def course(rates, start, times, **more):
    """Return states (k, n) at times, from an integrator that does not use bond graphs."""
    found = solve_ivp(lambda t, y: np.hstack(rates(t, y)), (0.0, times[-1]), start, "LSODA", times, rtol=1e-9, atol=1e-12, **more)
    assert found.success
    return found.y.T


def quarter_car(run, **_):
    """Compare with m_w v_w' = F_tyre - F and m_b v_b' = F, where F = k q + c q' + stop(q), all relative to the rest position."""

    def rates(t, y):
        tyre, v_w, q, v_b = y
        road = 0.08 / 0.1 * np.pi / 2 * np.sin(2 * np.pi * t / 0.1) if t < 0.1 else 0.0
        force = 2e4 * q + 1.2e3 * (v_w - v_b) + 5e5 * max(q - 0.04, 0.0)
        return road - v_w, (2e5 * tyre - force) / 40.0, v_w - v_b, force / 300.0

    expected = course(rates, np.zeros(4), run.t, max_step=1e-3)
    names = ("tyre spring.q", "wheel mass.flow", "spring.q", "body mass.flow")
    for name, values in zip(names, expected.T, strict=True):
        np.testing.assert_allclose(run[name], values, atol=2e-4 * np.abs(values).max())
    assert run["spring.q"].max() > 0.04 and run["bump stop.effort"].max() > 1000.0


def motor_pid(run, compiled, poles, **_):
    h, T, kp, ki, kd = 1e-3, 5e-3, 100.0, 400.0, 4.0
    k, inertia, drag = 0.05, 2e-5 + 0.01 / 400, 0.02 / 400
    A = np.array(
        [[-0.8 / 5e-4, -k / 5e-4, 0.0, 1.0 / 5e-4], [k / inertia, -drag / inertia, 0.0, 0.0], [0.0, 0.05, 0.0, 0.0], [0.0] * 4]
    )
    step = expm(A * h)
    x, integral, slope, before, angles = np.zeros(3), 0.0, 0.0, None, [0.0]
    for n in range(2000):
        error = float(n >= 100) - x[2]
        slope = 0.0 if before is None else (T * slope + error - before) / (T + h)
        wanted = kp * error + ki * (integral + h * error) + kd * slope
        if abs(wanted) < 24.0 or wanted * error < 0.0:
            integral += h * error
        before, x = error, (step @ [*x, np.clip(kp * error + ki * integral + kd * slope, -24.0, 24.0)])[:3]
        angles.append(x[2])
    np.testing.assert_allclose(compiled.simulate(2.0, samples=h)["angle.y"], angles, atol=2e-3)
    assert run["angle.y"][-1] == pytest.approx(1.0, abs=1e-3)
    # x, integral, slope and previous error, without limits
    update = np.array([[0, 0, -h, 1, 0, 0], [0, 0, -1 / (T + h), 0, T / (T + h), -1 / (T + h)], [0, 0, -1, 0, 0, 0]])
    law = np.array([0, 0, -kp, 0, 0, 0]) + ki * update[0] + kd * update[1]
    motion = np.hstack([step[:3, :3], np.zeros((3, 3))]) + np.outer(step[:3, 3], law)
    expected = np.linalg.eigvals(np.vstack([motion, update]))
    assert np.abs(poles).max() == pytest.approx(np.abs(expected).max(), abs=1e-9) and np.abs(expected).max() < 1.0
    np.testing.assert_allclose(np.sort_complex(poles)[-5:], np.sort_complex(expected)[-5:], atol=1e-7)


def cart_pendulum(run, plant, K, **_):
    """Compare with (M + m) x'' + m l cos(a) a'' - m l a'^2 sin(a) = F and l a'' + cos(a) x'' = g sin(a)."""
    M, m, L = 1.0, 0.2, 0.5
    A = np.zeros((4, 4))
    A[:2, 2:], A[2, 1], A[3, 1] = np.eye(2), -m * G / M, (M + m) * G / (M * L)
    B = np.array([[0.0], [0.0], [1.0 / M], [-1.0 / (M * L)]])
    np.testing.assert_allclose(plant.A, A, atol=1e-9)
    np.testing.assert_allclose(plant.B, B, atol=1e-9)
    np.testing.assert_allclose(K, 10.0 * B.T @ solve_continuous_are(A, B, np.diag([10.0, 10.0, 1.0, 1.0]), [[0.1]]), rtol=1e-6)

    def rates(t, y):
        a, w, force = y[1], y[3], -K[0] @ y
        mass = [[M + m, m * L * np.cos(a)], [np.cos(a), L]]
        return y[2:], np.linalg.solve(mass, [force + m * L * w * w * np.sin(a), G * np.sin(a)])

    expected = course(rates, [0.0, 0.3, 0.0, 0.0], run.t)
    np.testing.assert_allclose(run["pole.q"], expected[:, :2], atol=1e-5)
    assert np.abs(run["pole.q"][-1]).max() < 1e-3


def tippe_top(run, upright, R, BELOW, MASS, MOMENTS, SPIN, **_):
    """Check that L . a is constant, where a leads from the centre of mass to the contact point (Jellett 1872)."""
    assert upright[0] > 0.97 and upright[-1] < -0.97 and run.ok
    w, x, y, z = run["top.pose"][:, :4].T
    axis = np.stack([2 * (x * z + w * y), 2 * (y * z - w * x), w * w - x * x - y * y + z * z], axis=1)
    upward = np.stack([2 * (x * z - w * y), 2 * (y * z + w * x), axis[:, 2]], axis=1)  # of the world, in the axes of the body
    momentum = run["top.twist"][:, :3] * MOMENTS
    jellett = (momentum * (R * upward - BELOW * np.array([0.0, 0.0, 1.0]))).sum(axis=1)
    assert np.ptp(jellett) < 5e-3 * np.abs(jellett).max()
    # hence the spin of the inverted top, which keeps its sense in space
    moved = SPIN * (R - BELOW) / (R + BELOW)
    assert -run["top.twist"][-1, 2] == pytest.approx(moved, rel=0.03)


def ball_in_bowl(rises, **_):
    assert 2.0 * np.pi / np.diff(rises).mean() == pytest.approx(np.sqrt(5.0 * G / (7.0 * 0.18)), rel=2e-3)


def arm_on_table(run, **_):
    """Check that the moments of motors, weights and table cancel about each joint at rest."""
    q, m, length = run["arm.q"][-1], 0.5, 0.3
    assert np.abs(run["arm.v"][-1]).max() < 1e-4
    turned = np.cumsum(q)  # about y: a link points along (cos, -sin)
    x = np.concatenate([[0.0], np.cumsum(length * np.cos(turned))])
    tip = 0.3 - length * np.sin(turned).sum()
    force = 1e4 * (0.03 - tip)
    middle = (x[:-1] + x[1:]) / 2.0
    motors = np.array([40.0, 30.0, 10.0]) * (np.array([0.1, 0.3, 0.2]) - q)
    for k in range(3):
        weights = m * G * (middle[k:] - x[k]).sum()
        assert motors[k] + weights - force * (x[3] - x[k]) == pytest.approx(0.0, abs=1e-3)
    assert run["touch.normal force"][-1] == pytest.approx(force, rel=1e-3) and force > 1.0
    assert Path("arm_on_table.png").stat().st_size > 20_000


def cylinder(run, **_):
    """Compare with C p' = Q_pump - Q_tank - A v and m v' = A p - m g - b v."""
    area, mass = 2e-3, 1000.0

    def edge(drop, opening):
        return 3e-7 * max(opening, 0.0) * drop / np.sqrt(abs(drop) + 1e3)

    def rates(t, y):
        p, v, height = y
        s = np.clip((t - 0.2) / 1.0, 0.0, 1.0)
        spool = np.clip(10.0 * (0.3 * s**3 * (10 - 15 * s + 6 * s * s) - height), -1.0, 1.0)
        inflow = edge(1e7 - p, spool) - edge(p - 1e5, -spool)
        return (inflow - area * v) / 2e-12, (area * p - mass * G - 2e3 * v) / mass, v

    expected = course(rates, [mass * G / area, 0.0, 0.0], run.t, max_step=1e-2)
    np.testing.assert_allclose(run["height.y"], expected[:, 2], atol=1e-4)
    np.testing.assert_allclose(run["chamber.effort"], expected[:, 0], atol=1e-3 * expected[:, 0].max())
    assert run["height.y"][-1] == pytest.approx(0.3, abs=1e-3)


def boost(run, **_):
    """Compare with the periodic steady state of two linear circuits, from matrix exponentials."""
    L, C, load, wire, h = 1e-4, 2e-4, 10.0, 0.01, 2.5e-5
    on = [[0.0, 0.0, 12.0 / L], [0.0, -1.0 / (load * C), 0.0], [0.0] * 3]
    off = [[-wire / L, -1.0 / L, 12.0 / L], [1.0 / C, -1.0 / (load * C), 0.0], [0.0] * 3]
    half, fine = expm(np.array(on) * h), h / 100
    period = expm(np.array(off) * h) @ half
    x = np.append(np.linalg.solve(np.eye(2) - period[:2, :2], period[:2, 2]), 1.0)
    assert x[0] > 0.0, "the coil must always carry current"
    voltages = []
    for circuit in (on, off):
        for _ in range(100):
            voltages.append(x[1])
            x = expm(np.array(circuit) * fine) @ x
    late = run.t > 0.025
    mean = np.trapezoid(run["out.effort"][late], run.t[late]) / np.ptp(run.t[late])
    assert mean == pytest.approx(np.mean(voltages), rel=2e-3) and np.mean(voltages) == pytest.approx(24.0, rel=5e-3)


def own_surface(tumbled, rolled, **_):
    mass, inertia = 0.2, 8e-5
    phi = np.linspace(-np.pi / 4, np.pi / 4, 40001)
    quartic = np.sin(phi) ** 4 + np.cos(phi) ** 4
    radius = 0.03 * np.sqrt((np.sqrt(0.2**2 + 4 * quartic) - 0.2) / (2 * quartic))
    angles = np.linspace(0.0, np.pi / 2, 401)
    height = [max((radius * np.cos(phi - min(angle, np.pi / 2 - angle))).max(), 0.0) for angle in angles]
    height = CubicSpline(angles, [*height[:-1], height[0]], bc_type="periodic")
    energy = 0.5 * (inertia + mass * height(0.0) ** 2) * 14.0**2 + mass * G * height(0.0)

    def tumble(t, y):
        h, slope = height(y[0] % (np.pi / 2)), height(y[0] % (np.pi / 2), 1)
        rate = np.sqrt(2.0 * (energy - mass * G * h) / (inertia + mass * (h * h + slope * slope)))
        return rate, rate * h

    np.testing.assert_allclose(tumbled["body.pose"][:, 4], course(tumble, np.zeros(2), tumbled.t)[:, 1], atol=5e-4)

    def ring(t, y):
        """Return the rates of centre, angular velocity and axis of a ring that rolls without slip."""
        omega, axis, up = y[3:6], y[6:], np.array([0.0, 0.0, 1.0])
        turn = np.cross(omega, axis)
        u, u_rate = up - axis[2] * axis, -turn[2] * axis - axis[2] * turn
        n = u / np.linalg.norm(u)
        rho, rho_rate = -0.05 * n - 0.015 * up, -0.05 * (u_rate - n * (n @ u_rate)) / np.linalg.norm(u)
        about = inertia * np.eye(3) + mass * (rho @ rho * np.eye(3) - np.outer(rho, rho))
        moment = mass * np.cross(rho, G * up - np.cross(omega, rho_rate))
        return -np.cross(omega, rho), np.linalg.solve(about, moment), turn

    expected = course(ring, [0.0, 0.0, 0.065, 0.0, 8.0, 1.0, 0.0, 1.0, 0.0], rolled.t)
    np.testing.assert_allclose(rolled["body.pose"][:, 4:7], expected[:, :3], atol=1e-3)
    assert np.ptp(rolled["body.pose"][:, 5]) > 0.05  # the ring rolls in a curve


CHECKS = [quarter_car, motor_pid, cart_pendulum, tippe_top, ball_in_bowl, arm_on_table, cylinder, boost, own_surface]
NEEDS = {cart_pendulum: "control"}
DRAWS = (arm_on_table,)


def test_every_script_is_checked():
    assert {path.stem for path in SCRIPTS.glob("*.py")} == {check.__name__ for check in CHECKS} and len(CHECKS) == 9


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_script(check, capsys, tmp_path, monkeypatch):
    if check in NEEDS:
        pytest.importorskip(NEEDS[check])
    if check in DRAWS and not rendering()[0]:
        pytest.skip(rendering()[1])
    monkeypatch.chdir(tmp_path)
    path = SCRIPTS / f"{check.__name__}.py"
    assert sum(bool(line.strip()) for line in path.read_text(encoding="utf-8").splitlines()) < LINES
    found = runpy.run_path(str(path))
    assert capsys.readouterr().out.strip()
    check(**found)
