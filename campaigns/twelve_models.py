"""Compare the models of `examples/twelve` with independent programs and closed forms, for default and random parameters.

Run `python -m campaigns.twelve_models --count 3 --seed 1`; `--only rattleback` checks a single model.
"""

from __future__ import annotations

import argparse
import inspect
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp
from scipy.linalg import solve_continuous_are
from scipy.optimize import brentq
from scipy.signal import lsim

from bondgraph import Result
from examples.twelve import (
    cam_follower,
    enzyme,
    excavator_boom,
    furuta_pendulum,
    half_car,
    kettle,
    measured_road,
    pmsm_drive,
    quadrotor,
    rattleback,
    scara,
    wilberforce_pendulum,
)

G = 9.81


def integrated(rates: Callable[..., Any], run: Result, start: Any) -> np.ndarray:
    solution = solve_ivp(rates, (0.0, run.t[-1]), start, "DOP853", rtol=1e-11, atol=1e-13, t_eval=run.t)
    return np.asarray(solution.y)


def relative(found: Any, exact: Any) -> float:
    return float(np.abs(found - exact).max() / np.abs(exact).max())


def half_car_deviation(run: Result, n: SimpleNamespace) -> float:
    """Newton's equations."""

    def rates(t: float, y: np.ndarray) -> list[float]:
        v, w, *rest = y
        force = moment = 0.0
        more: list[float] = []
        for k, (arm, lag) in enumerate(zip(n.arms, (0.0, n.delay), strict=True)):
            u, strut, tyre = rest[3 * k : 3 * k + 3]
            slip = v + arm * w - u
            pull = n.spring * strut + n.damper * slip
            more += [(pull - n.tyre * tyre) / n.axle, slip, u - n.road * np.sin(n.omega * (t - lag))]
            force, moment = force - pull, moment - arm * pull
        return [force / n.mass, moment / n.inertia, *more]

    exact = integrated(rates, run, np.zeros(8))
    return max(relative(run["heave.flow"], exact[0]), relative(run["pitch.flow"], exact[1]))


def pmsm_deviation(run: Result, n: SimpleNamespace) -> float:
    """Equations in the rotor's axes, from tick to tick."""
    drag, y, zd, zq, speeds = 1e-4 + n.load, np.zeros(4), 0.0, 0.0, [0.0]  # id, iq, speed, angle
    for k in range(len(run.t) - 1):
        id, iq, speed, angle = y
        goal = n.goal if k * n.h > 0.01 - 1e-9 else 0.0
        ed, eq = -id, 8.0 * float(np.clip(0.5 * (goal - speed), -n.most, n.most)) - iq
        zd, zq = zd + n.h * ed, zq + n.h * eq
        vd = 2.0 * ed + 400.0 * zd - n.p * speed * n.L * iq
        vq = 2.0 * eq + 400.0 * zq + n.p * speed * (n.L * id + n.psi)

        def rates(t: float, y: np.ndarray, vd: float = vd, vq: float = vq, angle: float = angle) -> list[float]:
            id, iq, speed, now = y
            turn = n.p * (now - angle)
            d, q = np.cos(turn) * vd + np.sin(turn) * vq, np.cos(turn) * vq - np.sin(turn) * vd
            return [
                (d - n.ohm * id + n.p * speed * n.L * iq) / n.L,
                (q - n.ohm * iq - n.p * speed * (n.L * id + n.psi)) / n.L,
                (n.p * n.psi * iq - drag * speed) / n.J,
                speed,
            ]

        y = solve_ivp(rates, (0.0, n.h), y, rtol=1e-9, atol=1e-10).y[:, -1]
        speeds.append(y[2])
    return relative(run["motor.rotor.flow"], speeds)


def furuta_deviation(run: Result, n: SimpleNamespace) -> float:
    """Lagrange's equations; gains by the Riccati equation (Furuta, Yamakita and Kobayashi 1992)."""
    m, ell, arm, J = n.m, n.reach, n.arm, n.J
    upright = np.linalg.inv([[J + m * arm**2, m * arm * ell], [m * arm * ell, m * ell**2]])
    a, b = np.eye(4, k=2), np.zeros((4, 1))
    a[2:, 1], a[2:, 2:], b[2:, 0] = upright[:, 1] * m * G * ell, -upright * n.friction, upright[:, 0]
    (k,) = b.T @ solve_continuous_are(a, b, np.diag([1.0, 10.0, 0.1, 0.1]), [[10.0]]) / 10.0

    def rates(t: float, y: np.ndarray) -> list[float]:
        _, b, u, w = y
        s, c = np.sin(b), np.cos(b)
        mass = np.array([[J + m * arm**2 + m * ell**2 * s**2, m * arm * ell * c], [m * arm * ell * c, m * ell**2]])
        force = np.array(
            [
                -k @ y - n.friction[0] * u - 2 * m * ell**2 * s * c * u * w + m * arm * ell * s * w**2,
                -n.friction[1] * w + m * ell**2 * s * c * u**2 + m * G * ell * s,
            ]
        )
        return [u, w, *np.linalg.solve(mass, force)]

    return relative(run["pendulum.q"].T, integrated(rates, run, [0.0, n.tilt, 0.0, 0.0])[:2])


def scara_deviation(run: Result, n: SimpleNamespace) -> float:
    """Quintic joint angles, a mass between controller and table, and forward kinematics by hand."""
    q, first, gap = run["arm.q"], 0.1, n.tip - n.press - 0.1
    mass = n.masses[2]

    def pressing(z: Any, v: Any) -> Any:
        return np.where(z < n.tip, np.maximum(0.0, n.stiffness * (n.tip - z) - n.damping * v), 0.0)

    def rates(t: float, y: np.ndarray) -> list[float]:
        s, (z, v) = min(t, 1.0), y
        goal = first + gap * s**3 * (10 - 15 * s + 6 * s**2)
        speed, rise = 30 * gap * s**2 * (1 - s) ** 2, 60 * gap * s * (1 - s) * (1 - 2 * s)
        return [v, rise + n.kd * (speed - v) + n.kp * (goal - z) + pressing(z, v) / mass]

    z, v = integrated(rates, run, [first, 0.0])
    s = np.minimum(run.t, 1.0)
    planar = q[0] + np.outer(s**3 * (10 - 15 * s + 6 * s**2), q[-1] - q[0])
    turn = np.cumsum(q[-1, :2])
    place = n.reach[0] * np.array([np.cos(turn[0]), np.sin(turn[0])]) + n.reach[1] * np.array([np.cos(turn[1]), np.sin(turn[1])])
    return max(
        relative(run["touch.normal force"], pressing(z, v)),
        relative(q[:, :3], planar[:, :3]),
        relative(place, np.asarray(n.place)),
        abs(q[-1, :3].sum()),
    )


def rattleback_deviation(run: Result, n: SimpleNamespace) -> float:
    """Newton-Euler equations of rolling without slip, in body axes (Kane and Levinson 1982)."""
    square, centre = np.square(n.axes), np.array([0.0, 0.0, -n.depth])
    c, s = np.cos(n.skew), np.sin(n.skew)
    R0 = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
    inertia = R0 @ np.diag(n.moments) @ R0.T

    def rates(t: float, y: np.ndarray) -> np.ndarray:
        R, omega = y[:9].reshape(3, 3), y[9:12]
        up = R[2]
        up_rate, size = np.cross(up, omega), np.sqrt(square @ up**2)
        r = -square * up / size - centre  # from the centre of mass to the point of contact
        r_rate = -square * up_rate / size + square * up * (square @ (up * up_rate)) / size**3
        v = np.cross(r, omega)
        known = np.cross(r_rate, omega) + np.cross(omega, v) + G * up  # the remaining acceleration, and the weight
        tilde = np.array([[0, -r[2], r[1]], [r[2], 0, -r[0]], [-r[1], r[0], 0]])
        moment = n.mass * np.cross(r, known) - np.cross(omega, inertia @ omega)
        rate = np.linalg.solve(inertia - n.mass * tilde @ tilde, moment)
        origin = v - np.cross(omega, centre)
        spin = np.array([[0, -omega[2], omega[1]], [omega[2], 0, -omega[0]], [-omega[1], omega[0], 0]])
        return np.concatenate([(R @ spin).ravel(), rate, R @ origin])

    exact = integrated(rates, run, np.concatenate([np.eye(3).ravel(), [n.rock, 0.0, n.spin], [0.0, 0.0, n.axes[2]]]))
    return max(relative(run["stone.twist"][:, :3], exact[9:12].T), relative(run["stone.pose"][:, 4:], exact[12:].T))


def cam_deviation(run: Result, n: SimpleNamespace) -> float:
    """Lift of an ellipse in closed form; free oscillation between loss of contact and landing."""
    (a, b), frequency = n.axes, np.sqrt(n.stiffness / n.mass)

    def lift(t: Any) -> tuple[Any, Any, Any]:
        """Return the distance of the follower from the shaft while it touches, and its rates."""
        angle, speed = n.speed * t + 0.5 * n.acceleration * t**2, n.speed + n.acceleration * t
        s, c, size = np.sin(angle), np.cos(angle), np.sqrt((a * np.cos(angle)) ** 2 + (b * np.sin(angle)) ** 2)
        slope = n.offset * s + (b**2 - a**2) * s * c / size
        bend = n.offset * c + (b**2 - a**2) * (c * c - s * s) / size - ((b**2 - a**2) * s * c) ** 2 / size**3
        return size - n.offset * c, slope * speed, bend * speed**2 + slope * n.acceleration

    rest = lift(0.0)[0] - n.pull / n.stiffness

    def force(t: Any) -> Any:
        return n.mass * lift(t)[2] + n.stiffness * (lift(t)[0] - rest)

    def flight(t: Any, off: float) -> Any:
        x, v, _ = lift(off)
        return rest + (x - rest) * np.cos(frequency * (t - off)) + v / frequency * np.sin(frequency * (t - off))

    exact, t, fine, releases = lift(run.t)[0], 0.0, 2e-5, []
    while True:
        grid = np.arange(t + fine, run.t[-1], fine)
        pulls = np.flatnonzero(force(grid) < 0.0)
        if not len(pulls):
            break
        k = int(pulls[0])
        off = brentq(force, grid[k] - fine, grid[k]) if force(grid[k] - fine) > 0.0 else t
        releases.append(off)
        grid = np.arange(off + fine, run.t[-1] + fine, fine)
        low = np.flatnonzero(flight(grid, off) < lift(grid)[0])
        between = (grid[low[0]] - fine, grid[low[0]]) if len(low) else None
        t = brentq(lambda t, off=off: flight(t, off) - lift(t)[0], *between) if between else run.t[-1]
        flying = (run.t > off) & (run.t <= t)
        exact[flying] = flight(run.t[flying], off)
    found = [event.time for event in run.events if event.kind == "contact off"]
    if bool(found) != bool(releases):
        return np.inf
    first = abs(found[0] / releases[0] - 1.0) if releases else 0.0
    return max(relative(run["follower.q"] + lift(0.0)[0], exact), first)


def boom_deviation(run: Result, n: SimpleNamespace) -> float:
    """Balance of moments about the hinge."""
    pin, foot = np.array(n.pin)[[0, 2]], np.array(n.foot)[[0, 2]]
    inertia = n.mass * (3 * 0.3**2 + n.reach**2) / 12 + n.mass * n.reach**2 / 4

    def rates(t: float, y: np.ndarray, load: float) -> list[float]:
        q, v, z = y
        s, c = np.sin(q), np.cos(q)
        line = np.array([[c, -s], [s, c]]) @ pin - foot
        lever = line @ (np.array([[-s, -c], [c, -s]]) @ pin) / np.linalg.norm(line)  # metres per radian
        push = n.kp * (n.goal - q) + n.ki * z - n.seal * lever * v
        return [v, (push * lever - (n.mass * G / 2 + load) * n.reach * c) / inertia, n.goal - q]

    before, after = run.t <= n.after, run.t > n.after
    options = {"rtol": 1e-11, "atol": 1e-13, "dense_output": True}
    first = solve_ivp(rates, (0.0, n.after), np.zeros(3), args=(0.0,), **options).sol
    second = solve_ivp(rates, (n.after, run.t[-1]), first(n.after), args=(n.load,), **options).sol
    return relative(run["boom.q"], np.concatenate([first(run.t[before])[0], second(run.t[after])[0]]))


def kettle_deviation(run: Result, n: SimpleNamespace) -> float:
    """Exponentials between the switching instants."""
    tau, heat, on, t, temperature = n.heat * n.loss, n.volt**2 / n.ohm, True, 0.0, n.room
    times: list[float] = []
    while True:
        end, goal = n.room + n.loss * heat * on, n.high if on else n.low
        t += tau * np.log((temperature - end) / (goal - end))
        if t > n.t_end:
            break
        times, temperature, on = [*times, t], goal, not on
    found = [event.time for event in run.events if event.kind.startswith("hot")]
    return relative(found, np.array(times)) if len(found) == len(times) > 0 else np.inf


def enzyme_deviation(run: Result, n: SimpleNamespace) -> float:
    """Law of mass action."""

    def rates(t: float, y: np.ndarray) -> list[float]:
        e, s, es, p = y
        one, two = n.bind * e * s - n.free * es, n.make * es - n.reverse * e * p
        return [two - one, -one, one - two, two]

    exact = integrated(rates, run, [n.enzyme, n.substrate, 1e-6, 1e-6])
    return max(relative(run[f"flask.amounts.{name}"], row) for name, row in zip(("E", "S", "ES", "P"), exact, strict=True))


def wilberforce_deviation(run: Result, n: SimpleNamespace) -> float:
    """Two normal modes in closed form."""
    a, d, b = n.k / n.mass, n.twist / n.inertia, n.coupling / np.sqrt(n.mass * n.inertia)
    angle = 0.5 * np.arctan2(2 * b, a - d)
    c, s = np.cos(angle), np.sin(angle)
    modes = np.array([[c, s], [-s, c]])
    squares = [0.5 * (a + d) + sign * np.hypot(0.5 * (a - d), b) for sign in (1, -1)]
    start = modes @ [np.sqrt(n.mass) * n.drop, np.sqrt(n.inertia) * n.turn]
    exact = modes.T @ (start[:, None] * np.cos(np.outer(np.sqrt(squares), run.t)))
    return relative(run["spring.storage.q"].T * np.sqrt([[n.mass], [n.inertia]]), exact)


def quadrotor_deviation(run: Result, n: SimpleNamespace) -> float:
    """Newton-Euler equations."""
    spots, moments = np.array([(n.arm, 0, 1), (0, n.arm, -1), (-n.arm, 0, 1), (0, -n.arm, -1)]), np.array(n.inertia)

    def rates(t: float, y: np.ndarray) -> np.ndarray:
        R, omega, p, v = y[:9].reshape(3, 3), y[9:12], y[12:15], y[15:]
        lift = 0.25 * n.mass * (G + 4.0 * (n.goal - p[2]) - 3.0 * v[2])
        roll, pitch = 2.0 * R[2, 1] + 0.4 * omega[0], -2.0 * R[2, 0] + 0.4 * omega[1]
        thrust = lift - spots[:, 1] * roll + spots[:, 0] * pitch - spots[:, 2] * 0.4 * omega[2]
        torque = np.array([spots[:, 1] @ thrust, -spots[:, 0] @ thrust, n.drag * spots[:, 2] @ thrust])
        spin = np.array([[0, -omega[2], omega[1]], [omega[2], 0, -omega[0]], [-omega[1], omega[0], 0]])
        push = R[:, 2] * thrust.sum() / n.mass - [0.0, 0.0, G]
        return np.concatenate([(R @ spin).ravel(), (torque - np.cross(omega, moments * omega)) / moments, v, push])

    axis, s, c = np.array([0.8, 0.6, 0.0]), np.sin(n.tilt), np.cos(n.tilt)
    cross = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
    R0 = np.eye(3) + s * cross + (1 - c) * cross @ cross
    exact = integrated(rates, run, np.concatenate([R0.ravel(), np.zeros(9)]))
    return max(relative(run["drone.pose"][:, 4:], exact[12:15].T), relative(run["drone.twist"][:, :3], exact[9:12].T))


def profile() -> tuple[np.ndarray, np.ndarray]:
    """Return 100,000 heights, m, at times over 100 s."""
    t = np.linspace(0.0, 100.0, 100_000)
    return t, np.cumsum(np.random.default_rng(1).normal(size=len(t))) * 1e-4


def written_road(folder: Path) -> dict[str, Any]:
    t, height = profile()
    rows = np.column_stack([t, 1e3 * height])
    np.savetxt(folder / "road.csv", rows, delimiter=",", header="time (s),height (mm)", comments="", fmt="%.17g")
    return {"file": folder / "road.csv", "samples": t}


def road_deviation(run: Result, n: SimpleNamespace) -> float:
    """Exact response of the linear car to a piecewise linear road."""
    a = np.zeros((4, 4))  # velocity and height of the wheel, velocity of the body, length of the spring
    a[0] = np.array([-n.damper, -n.tyre, n.damper, n.spring]) / n.axle
    a[1, 0], a[2], a[3] = 1.0, np.array([n.damper, 0, -n.damper, -n.spring]) / n.mass, [-1, 0, 1, 0]
    t, road = profile()
    _, _, exact = lsim((a, np.array([[n.tyre / n.axle], [0], [0], [0]]), np.eye(4), np.zeros((4, 1))), road, t)
    return relative(run["body.flow"], exact[:, 2])


@dataclass(frozen=True)
class Checked:
    """Model, its largest relative deviation from its reference, and ranges of random parameters; `inputs` writes files
    into a folder and returns arguments."""

    module: ModuleType
    deviation: Callable[[Result, SimpleNamespace], float]
    tolerance: float
    ranges: Mapping[str, tuple[Any, Any]]
    inputs: Callable[[Path], dict[str, Any]] = lambda _: {}

    @property
    def reference(self) -> str:
        return (self.deviation.__doc__ or "").rstrip(".")

    def run(self, **numbers: Any) -> Result:
        with tempfile.TemporaryDirectory() as folder:
            result: Result = self.module.simulate(**self.inputs(Path(folder)), **numbers)
        return result

    def deviates(self, run: Result, **numbers: Any) -> float:
        defaults = {name: each.default for name, each in inspect.signature(self.module.simulate).parameters.items()}
        return self.deviation(run, SimpleNamespace(**defaults | numbers))

    def draw(self, random: np.random.Generator) -> dict[str, Any]:
        drawn = {name: random.uniform(low, high) for name, (low, high) in self.ranges.items()}
        return {name: tuple(value.tolist()) if np.ndim(value) else float(value) for name, value in drawn.items()}


CHECKED: dict[str, Checked] = {
    "half car": Checked(
        half_car, half_car_deviation, 1e-9,
        {"mass": (400, 1200), "inertia": (600, 2000), "arms": ((0.9, -1.8), (1.6, -1.0)), "spring": (1e4, 4e4),
         "damper": (500, 3000), "road": (0.1, 1.0), "omega": (3, 15), "delay": (0.05, 0.4)},
    ),
    "PMSM drive": Checked(
        pmsm_drive, pmsm_deviation, 1e-9,
        {"psi": (0.03, 0.08), "L": (8e-4, 2e-3), "ohm": (0.1, 0.5), "J": (5e-4, 2e-3), "load": (5e-3, 0.02), "goal": (50, 150)},
    ),
    "Furuta pendulum": Checked(
        furuta_pendulum, furuta_deviation, 1e-8,
        {"m": (0.05, 0.2), "reach": (0.15, 0.3), "arm": (0.15, 0.3), "J": (5e-3, 0.02), "tilt": (0.05, 0.3)},
    ),
    "SCARA": Checked(
        scara, scara_deviation, 1e-7,
        {"reach": ((0.25, 0.2), (0.35, 0.3)), "masses": ((2.0, 1.0, 0.5), (5.0, 3.0, 1.5)), "tip": (0.01, 0.04),
         "place": ((0.25, 0.15), (0.35, 0.25)), "press": (2e-3, 0.01), "stiffness": (3e4, 3e5), "damping": (50, 500)},
    ),
    "rattleback": Checked(
        rattleback, rattleback_deviation, 1e-5,
        {"mass": (0.7, 1.3), "skew": (0.03, 0.1), "depth": (5e-3, 0.012), "spin": (-7, -3), "rock": (0.05, 0.3)},
    ),
    "cam follower": Checked(
        cam_follower, cam_deviation, 1e-8,
        {"axes": ((0.018, 0.021), (0.022, 0.028)), "offset": (3e-3, 7e-3), "mass": (0.1, 0.3), "stiffness": (300, 900),
         "pull": (1, 5), "speed": (0, 20), "acceleration": (80, 150)},
    ),
    "excavator boom": Checked(
        excavator_boom, boom_deviation, 1e-8,
        {"mass": (600, 1200), "reach": (4, 7), "goal": (0.2, 0.7), "seal": (2e4, 6e4), "load": (500, 4000), "after": (1, 5)},
    ),
    "kettle": Checked(
        kettle, kettle_deviation, 1e-9,
        {"ohm": (20, 30), "volt": (210, 240), "loss": (0.3, 0.7), "room": (280, 300), "high": (363.5, 366.0)},
    ),
    "enzyme": Checked(
        enzyme, enzyme_deviation, 1e-6,
        {"bind": (1, 5), "free": (0.5, 4), "make": (1, 8), "reverse": (0.05, 0.3), "enzyme": (0.05, 0.3), "substrate": (1, 4)},
    ),
    "Wilberforce pendulum": Checked(
        wilberforce_pendulum, wilberforce_deviation, 1e-9,
        {"mass": (0.3, 0.8), "inertia": (5e-5, 2e-4), "k": (3, 8), "twist": (5e-4, 2e-3), "coupling": (2e-3, 0.02),
         "drop": (0.05, 0.2), "turn": (-2, 2)},
    ),
    "quadrotor": Checked(
        quadrotor, quadrotor_deviation, 1e-8,
        {"mass": (0.5, 2), "arm": (0.1, 0.3), "drag": (0.01, 0.05), "tilt": (-0.6, 0.6), "goal": (0.5, 3)},
    ),
    "measured road": Checked(
        measured_road, road_deviation, 1e-9,
        {"mass": (200, 500), "axle": (25, 60), "spring": (1e4, 4e4), "damper": (800, 3000), "tyre": (1e5, 3e5)}, written_road,
    ),
}  # fmt: skip


def main(given: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m campaigns.twelve_models", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=2, help="draws of each model (2)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the draws (1)")
    parser.add_argument("--only", nargs="*", choices=[*CHECKED, []], metavar="MODEL", help=", ".join(CHECKED))
    options = parser.parse_args([] if given is None else given)
    wrong = False
    for name in options.only or CHECKED:
        model, random = CHECKED[name], np.random.default_rng(options.seed)
        for drawn in ({}, *(model.draw(random) for _ in range(options.count))):
            run = model.run(**drawn)
            deviation = model.deviates(run, **drawn) if run.ok and not run.warnings else np.inf
            right = deviation < model.tolerance
            wrong |= not right
            print(f"{name}: {deviation:.1e}{'' if right else f', WRONG: {run!r} {run.warnings} {drawn}'}", flush=True)
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
