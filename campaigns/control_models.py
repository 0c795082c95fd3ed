"""Six models of control engineers, in at most 25 lines each, against independent integrations.

Run it: `python -m campaigns.control_models`.
"""

from __future__ import annotations

import inspect
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp
from scipy.linalg import solve_continuous_are
from scipy.signal import lsim
from screwbond.models import parts

from bondgraph import IC, J0, J1, TF, C, Graph, I, R, Result, Se, Sf, signals
from screws.scalars import array, cos, maximum, minimum, sin

MOST_LINES = 25


def half_car() -> Result:
    """Drive over a sine, which the rear axle meets 0.2 s later."""
    graph, heave, pitch = Graph("half car"), J1("heave", domain="translation"), J1("pitch", domain="rotation")
    graph.connect(heave, I("body", mass=700.0)).connect(pitch, I("pitching", inertia=1200.0))
    for end, arm, delay in (("front", 1.2, 0.0), ("rear", -1.5, 0.2)):
        corner, wheel, strut, tyre = J0(f"{end} corner"), J1(f"{end} wheel"), J1(f"{end} strut"), J0(f"{end} tyre")
        lever = TF(f"{end} lever", arm)
        graph.connect(heave, corner).connect(pitch, lever.port("1")).connect(lever.port("2"), corner)
        graph.connect(corner, strut).connect(strut, C(f"{end} spring", stiffness=2e4)).connect(strut, R(f"{end} damper", 1500.0))
        graph.connect(corner, wheel).connect(wheel, I(f"{end} axle", mass=40.0)).connect(wheel, tyre)
        graph.connect(tyre, C(f"{end} rubber", stiffness=2e5))
        road = Sf(f"{end} road", lambda t, delay: 0.5 * sin(8.0 * (t - delay)), signals=["time"], parameters={"delay": delay})
        graph.connect(road, tyre)
    return graph.simulate(3.0, samples=601, rtol=1e-9)


def check_half_car(run: Result) -> float:
    """Newton's equations."""

    def rates(t: float, y: np.ndarray) -> list[float]:
        v, w, *rest = y
        force = moment = 0.0
        more: list[float] = []
        for k, (arm, delay) in enumerate(((1.2, 0.0), (-1.5, 0.2))):
            u, spring, tyre = rest[3 * k : 3 * k + 3]
            slip = v + arm * w - u
            strut = 2e4 * spring + 1500.0 * slip
            more += [(strut - 2e5 * tyre) / 40.0, slip, u + 0.5 * np.sin(8.0 * (t - delay))]
            force, moment = force - strut, moment - arm * strut
        return [force / 700.0, moment / 1200.0, *more]

    exact = solve_ivp(rates, (0.0, 3.0), np.zeros(8), rtol=1e-11, atol=1e-13, t_eval=run.t).y
    return float(np.abs(run["heave.flow"] - exact[0]).max() / np.abs(exact[0]).max())


def pmsm_drive() -> Result:
    """Control speed and currents of a synchronous motor every 0.1 ms."""
    p, psi, ell, r, h = 4, 0.05, 1e-3, 0.2, 1e-4

    def currents_control(
        x: Any, error: Any, speed: Any, flux: Any, angle: Any
    ) -> Any:  # integral of d and q, and the voltages of three phases
        iq, id = flux[1] / ell, flux[0] / ell
        ed, eq = -id, 8.0 * minimum(maximum(0.5 * error, -20.0), 20.0) - iq
        zd, zq = x[0] + h * ed, x[1] + h * eq
        vd, vq = 2.0 * ed + 400.0 * zd - p * speed * flux[1], 2.0 * eq + 400.0 * zq + p * speed * (flux[0] + psi)
        turned = [np.sqrt(2 / 3) * (cos(p * angle - k) * vd - sin(p * angle - k) * vq) for k in np.arange(3) * 2 * np.pi / 3]
        return array([zd, zq, *turned])

    graph = Graph("drive")
    motor = parts.machines.synchronous_motor("motor", pole_pairs=p, psi=psi, R_s=r, L_d=ell, L_q=ell, J=1e-3, b=1e-4)
    reads = ["error.y", "motor.rotor.flow", "motor.flux.p", "motor.angle.phi"]
    graph.add(signals.step("goal", 0.01, after=100.0), signals.summation("error", {"goal.y": 1, "motor.rotor.flow": -1}))
    graph.add(signals.sampled("control", currents_control, period=h, initial=np.zeros(5), signals=reads))
    for k, phase in enumerate("abc"):
        graph.connect(Se(f"inverter {phase}", lambda y, k=k: y[2 + k], signals=["control.y"]), motor.port(phase))
    graph.connect(motor.port("shaft"), R("load", 0.01))
    return graph.simulate(0.2, samples=2001)


def check_pmsm_drive(run: Result) -> float:
    """In the rotor's axes, integrated from tick to tick."""
    p, psi, ell, r, h, inertia, drag = 4, 0.05, 1e-3, 0.2, 1e-4, 1e-3, 1e-4 + 0.01
    y, zd, zq, speeds = np.zeros(4), 0.0, 0.0, [0.0]  # id, iq, speed, angle
    for k in range(2000):
        id, iq, speed, angle = y
        goal = 100.0 if k * h > 0.01 - 1e-9 else 0.0
        ed, eq = -id, 8.0 * float(np.clip(0.5 * (goal - speed), -20.0, 20.0)) - iq
        zd, zq = zd + h * ed, zq + h * eq
        vd, vq = 2.0 * ed + 400.0 * zd - p * speed * ell * iq, 2.0 * eq + 400.0 * zq + p * speed * (ell * id + psi)

        def rates(t: float, y: np.ndarray, vd: float = vd, vq: float = vq, angle: float = angle) -> list[float]:
            id, iq, speed, now = y
            turn = p * (now - angle)
            d, q = np.cos(turn) * vd + np.sin(turn) * vq, np.cos(turn) * vq - np.sin(turn) * vd
            return [(d - r * id + p * speed * ell * iq) / ell, (q - r * iq - p * speed * (ell * id + psi)) / ell,
                    (p * psi * iq - drag * speed) / inertia, speed]  # fmt: skip

        y = solve_ivp(rates, (0.0, h), y, rtol=1e-9, atol=1e-10).y[:, -1]
        speeds.append(y[2])
    return float(np.abs(run["motor.rotor.flow"] - speeds).max() / 100.0)


def furuta_pendulum() -> Result:
    """Balance the pendulum with gains of LQR for the linear system at the top."""
    import control

    m, ell, arm, J = 0.1, 0.2, 0.25, 0.01

    def inertia(q: Any) -> Any:
        return array(
            [[J + m * arm**2 + m * ell**2 * sin(q[1]) ** 2, m * arm * ell * cos(q[1])], [m * arm * ell * cos(q[1]), m * ell**2]]
        )

    pendulum = IC("pendulum", inertia=inertia, potential=lambda q: m * 9.81 * ell * cos(q[1]), position=[0.0, 0.3])
    graph, joints, K = Graph("furuta"), J1("joints", dimension=2, domain="rotation"), np.zeros(4)
    graph.connect(joints, pendulum).connect(joints, R("friction", np.diag([1e-3, 1e-4])))
    motor = Se("motor", lambda q, v, k: array([-(k[0] * q[0] + k[1] * q[1] + k[2] * v[0] + k[3] * v[1]), 0.0 * v[0]]),
               signals=["pendulum.q", "joints.flow"], parameters={"k": K})  # fmt: skip
    compiled = graph.connect(motor, joints).compile()
    upright = compiled.linearise(["motor[0]"], ["joints.flow"], initial={"pendulum.q": [0.0, 0.0]}).to_control()
    gain, _, _ = control.lqr(upright.A, upright.B, np.diag([1.0, 10.0, 0.1, 0.1]), [[10.0]])
    return compiled.simulate(5.0, parameters={"motor.k": gain[0]}, rtol=1e-9)


def check_furuta_pendulum(run: Result) -> float:
    """Lagrange's equations and the gains of the Riccati equation by hand (Furuta, Yamakita and Kobayashi 1992)."""
    m, ell, arm, J = 0.1, 0.2, 0.25, 0.01
    upright = np.linalg.inv([[J + m * arm**2, m * arm * ell], [m * arm * ell, m * ell**2]])
    a, b = np.eye(4, k=2), np.zeros((4, 1))
    a[2:, 1], a[2:, 2:], b[2:, 0] = upright[:, 1] * m * 9.81 * ell, -upright * [1e-3, 1e-4], upright[:, 0]
    (k,) = b.T @ solve_continuous_are(a, b, np.diag([1.0, 10.0, 0.1, 0.1]), [[10.0]]) / 10.0

    def rates(t: float, y: np.ndarray) -> list[float]:
        _, b, u, w = y
        s, c = np.sin(b), np.cos(b)
        mass = np.array([[J + m * arm**2 + m * ell**2 * s**2, m * arm * ell * c], [m * arm * ell * c, m * ell**2]])
        force = np.array([
            -k @ y - 1e-3 * u - 2 * m * ell**2 * s * c * u * w + m * arm * ell * s * w**2,
            -1e-4 * w + m * ell**2 * s * c * u**2 + m * 9.81 * ell * s,
        ])  # fmt: skip
        return [u, w, *np.linalg.solve(mass, force)]

    exact = solve_ivp(rates, (0.0, 5.0), [0.0, 0.3, 0.0, 0.0], rtol=1e-11, atol=1e-13, t_eval=run.t).y
    return float(np.abs(run["pendulum.q"].T - exact[:2]).max())


def kettle() -> Result:
    """Keep water near 363 K with a heater that switches."""
    graph, circuit, water = Graph("kettle"), J1("circuit", domain="electrical"), J0("water", domain="heat")
    heater, wall = R("heater", 26.5, heat=True), J1("wall")
    graph.add(signals.hysteresis("hot", "water.effort", 362.0, 364.0, initial="low"))
    graph.connect(Se("mains", lambda hot: 230.0 * (1.0 - hot), signals=["hot.y"]), circuit).connect(circuit, heater)
    graph.connect(heater.port("heat"), water).connect(water, C("content", capacitance=4180.0, initial=4180.0 * 293.0))
    graph.connect(water, wall).connect(wall, R("loss", 0.5)).connect(wall, Se("kitchen", 293.0))
    return graph.simulate(600.0, rtol=1e-9)


def check_kettle(run: Result) -> float:
    """Exponentials between the switching instants."""
    tau, heat, on, t, temperature = 4180.0 * 0.5, 230.0**2 / 26.5, True, 0.0, 293.0
    times: list[float] = []
    while True:
        end, goal = 293.0 + 0.5 * heat * on, 364.0 if on else 362.0
        t += tau * np.log((temperature - end) / (goal - end))
        if t > 600.0:
            break
        times, temperature, on = [*times, t], goal, not on
    found = [event.time for event in run.events if event.kind.startswith("hot")]
    assert len(found) == len(times) > 2
    return float(np.abs(np.subtract(found, times)).max())


def enzyme() -> Result:
    """Convert a substrate by mass action."""
    text = "E + S <-> ES : 3 2\nES <-> E + P : 5 0.1"
    return Graph("flask").add(parts.chemical.network("enzyme", text, {"E": 0.1, "S": 2.0, "ES": 1e-6, "P": 1e-6})).simulate(20.0)


def check_enzyme(run: Result) -> float:
    """The law of mass action."""

    def rates(t: float, y: np.ndarray) -> list[float]:
        e, s, es, p = y
        one, two = 3.0 * e * s - 2.0 * es, 5.0 * es - 0.1 * e * p
        return [two - one, -one, one - two, two]

    exact = solve_ivp(rates, (0.0, 20.0), [0.1, 2.0, 1e-6, 1e-6], rtol=1e-11, atol=1e-13, t_eval=run.t).y
    return float(
        max(np.abs(run[f"enzyme.amounts.{name}"] - row).max() for name, row in zip(("E", "S", "ES", "P"), exact, strict=True))
    )


def profile() -> tuple[np.ndarray, np.ndarray]:
    """100,000 heights, m, over 100 s."""
    t = np.linspace(0.0, 100.0, 100_000)
    return t, np.cumsum(np.random.default_rng(1).normal(size=len(t))) * 1e-4


def measured_road() -> Result:
    """Drive over a road from a CSV file."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "road.csv")
        np.savetxt(
            file, np.column_stack(profile()) * [1.0, 1e3], delimiter=",", header="time (s),height (mm)", comments="", fmt="%.17g"
        )
        graph, body, wheel = Graph("quarter car"), J1("body", domain="translation"), J1("wheel", domain="translation")
        graph.connect(body, I("car", mass=300.0)).connect(wheel, I("axle", mass=40.0))
        graph.between(wheel, body, C("spring", stiffness=2e4), R("damper", 1500.0))
        graph.add(signals.measured("road", file, "height"), signals.integrator("height", "wheel.flow"))
        tyre = Se("tyre", lambda road, y: 2e5 * (road - y), signals=["road.y", "height.y"])
        return graph.connect(tyre, wheel).simulate(100.0, samples=profile()[0], rtol=1e-8)


def check_measured_road(run: Result) -> float:
    """The exact response of the linear car to a piecewise linear road."""
    a = np.zeros((4, 4))  # velocity and height of the wheel, velocity of the body, length of the spring
    a[0] = [-1500 / 40, -2e5 / 40, 1500 / 40, 2e4 / 40]
    a[1, 0], a[2], a[3] = 1.0, [1500 / 300, 0, -1500 / 300, -2e4 / 300], [-1, 0, 1, 0]
    t, road = profile()
    _, _, exact = lsim((a, np.array([[2e5 / 40], [0], [0], [0]]), np.eye(4), np.zeros((4, 1))), road, t)
    return float(np.abs(run["body.flow"] - exact[:, 2]).max() / np.abs(exact[:, 2]).max())


MODELS: dict[str, tuple[Callable[[], Result], Callable[[Result], float], float]] = {
    "half car": (half_car, check_half_car, 1e-6),
    "PMSM drive at 10 kHz": (pmsm_drive, check_pmsm_drive, 1e-5),
    "Furuta pendulum": (furuta_pendulum, check_furuta_pendulum, 1e-5),
    "kettle with heat": (kettle, check_kettle, 1e-3),
    "enzyme": (enzyme, check_enzyme, 1e-6),
    "measured road of 100,000 points": (measured_road, check_measured_road, 1e-5),
}


def main() -> None:
    """Print lines and error of each model."""
    for name, (build, check, tolerance) in MODELS.items():
        lines = len(inspect.getsource(build).splitlines())
        run = build()
        error = check(run)
        right = run.ok and error < tolerance and lines <= MOST_LINES
        print(f"{name}: {lines} lines, error {error:.1e}, {'ok' if right else 'WRONG'}", flush=True)


if __name__ == "__main__":
    main()
