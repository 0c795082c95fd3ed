"""Friction, impacts and mechanisms from public issue trackers, with closed forms or equations derived by hand."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp
from scipy.special import ellipj, ellipk
from screwbond.models import rigid_body
from screwbond.models.chains import chain_graph
from screwbond.models.robots import read_urdf

from bondgraph import IC, J0, J1, MTF, TF, C, Constraint, Diode, Friction, Graph, I, R, Se, Sf, signals
from screws.scalars import array, cos, less, maximum, sin, where
from tests.comparisons.public_cases import GRAVITY, Answer, ball, case, times, touch, with_blocks


@case("ModelicaStandardLibrary #1121", 1e-14)
def two_frictions_on_one_shaft() -> Answer:
    """Friction of 0.3 and 0.7 N m holds a shaft until its torque t / 2 reaches 1 N m; their shares do not affect the motion."""
    graph, shaft = Graph("shaft"), J1("shaft", domain="rotation")
    graph.connect(Se("torque", lambda t: 0.5 * t, signals=["time"]), shaft).connect(shaft, I("rotor", 2.0))
    run = graph.connect(shaft, Friction("bearing", 0.3)).connect(shaft, Friction("brake", 0.7)).simulate(4.0)
    return Answer(run, run["shaft.flow"], np.maximum(run.t - 2.0, 0.0) ** 2 / 8)


@case("ModelicaStandardLibrary #4129", 1e-12)
def commanded_friction() -> Answer:
    graph, v = Graph("commanded"), J1("v", domain="translation")
    graph.connect(Sf("drive", lambda t: sin(t), signals=["time"]), v).connect(v, I("slide", 2.0))
    run = graph.connect(v, Friction("brake", 10.0)).simulate(7.0, samples=np.linspace(0.0, 7.0, 8))
    t, sense = run.t[1:], (-1.0) ** np.floor(run.t[1:] / np.pi)
    path = 2.0 * np.floor(t / np.pi) + 1.0 - sense * np.cos(t)
    return Answer(run, np.stack([run["brake.effort"][1:], run.ledger.dissipated[1:] / 10.0]), np.stack([10.0 * sense, path]))


def gripped(mass: float, weight: float, limit: float) -> Graph:
    graph, v = Graph("grip"), J1("v", domain="translation")
    return graph.connect(Se("weight", -weight), v).connect(v, I("body", mass)).connect(v, Friction("pads", limit))


@case("mujoco #3328", 1e-10)
def gripped_body() -> Answer:
    run = gripped(0.045, 0.44, 42.0).simulate(3600.0)
    return Answer(run, np.stack([run["v.flow"], run["pads.effort"]]), np.array([[0.0], [-0.44]]))


@case("bullet3 #1530", 1e-9)
def ball_that_loses_nothing() -> Answer:
    run = ball(10.0, 1.0).simulate(1000.0)
    fall = np.sqrt(20 / GRAVITY)
    phase = (run.t / fall + 1) % 2 - 1
    return Answer(run, run["floor.h"], 10.0 - GRAVITY / 2 * (phase * fall) ** 2, 100.0)


@case("nimblephysics #143", 1e-14)
def two_balls_and_a_wall() -> Answer:
    """Ball 1 hits ball 2, which hits the wall and then ball 1; all impacts are elastic, so ball 1 returns at 2 m/s."""
    graph, gap, turned = Graph("balls"), J0("gap", domain="translation"), TF("turned", -1.0)
    v1, v2 = J1("v1", domain="translation"), J1("v2", domain="translation")
    graph.connect(v1, I("m1", 1.0, initial=2.0)).connect(v2, I("m2", 1.0)).connect(v2, gap).connect(gap, v1).connect(v2, turned)
    touch(graph, gap, "balls", 0.01, 1.0)
    touch(graph, turned, "wall", 0.01, 1.0)
    run = graph.simulate(1.0)
    return Answer(run, [*times(run), run["v1.flow"][-1], run["v2.flow"][-1]], [0.005, 0.01, 0.015, -2.0, 0.0])


def swing(t: np.ndarray, top: float) -> np.ndarray:
    """Return the angle of a pendulum of 1 m that starts at rest at the angle `top`."""
    m = np.sin(top / 2) ** 2
    return 2 * np.arcsin(np.sin(top / 2) * ellipj(ellipk(m) - np.sqrt(GRAVITY) * t, m)[0])


@case("ModelingToolkit.jl #988", 1e-8)
def pendulum_in_two_coordinates() -> Answer:
    graph, v = Graph("pendulum"), J1("v", dimension=2, domain="translation")
    graph.connect(Se("weight", [0.0, -GRAVITY]), v).connect(v, I("mass", 1.0, dimension=2))
    graph.connect(v, Constraint("rod", position=lambda q: (q @ q - 1) / 2, coordinates={"place.y": 2}).port("1"))
    graph.add(signals.integrator("place", "v.flow", initial=[1.0, 0.0], dimension=2))
    run = graph.simulate(100.0, rtol=1e-10)
    angle = swing(run.t, np.pi / 2)
    return Answer(run, run["place.y"], np.stack([np.sin(angle), -np.cos(angle)], axis=1))


@case("matter-js #1250", 1e-5)
def pendulum_without_loss() -> Answer:
    graph, w = Graph("pendulum"), J1("w", domain="rotation")
    bob = IC("bob", inertia=lambda q: 1.0 + 0 * q, potential=lambda q: -GRAVITY * cos(q), position=2.0)
    run = graph.connect(w, bob).connect(w, Se("free")).simulate(1000.0, rtol=1e-10)
    return Answer(run, run["bob.q"], swing(run.t, 2.0))


def turning(inertia: tuple[float, ...], spin: tuple[float, ...], t_end: float) -> tuple[Any, np.ndarray]:
    run = with_blocks("turning", rigid_body("body", mass=1.0, inertia=inertia, angular_velocity=spin)).simulate(t_end, rtol=1e-10)
    return run, run["body.twist"][:, :3]


@case("Principia #2519", 1e-6)
def dzhanibekov() -> Answer:
    A, B, D = 1.0, 2.0, 3.0
    run, spin = turning((A, B, D), (0.01, 5.0, 0.0), 60.0)

    def euler(t: float, w: np.ndarray) -> list[float]:
        return [(B - D) * w[1] * w[2] / A, (D - A) * w[2] * w[0] / B, (A - B) * w[0] * w[1] / D]

    reference = solve_ivp(euler, (0, 60.0), spin[0], "DOP853", rtol=1e-13, atol=1e-15, t_eval=run.t).y.T
    return Answer(run, spin, reference, 5.0)


@case("avian #420", 1e-8)
def fast_symmetric_spin() -> Answer:
    """In body axes, the angular velocity of a flat body with the inertias A, A, D, which spins at 1000 rad/s, turns at
    (D - A) / A times this rate."""
    A, D = 1e-5, 1.8e-5
    run, spin = turning((A, A, D), (30.0, 0.0, 1000.0), 2.0)
    wobble = (D - A) / A * 1000.0 * run.t
    return Answer(run, spin, np.stack([30 * np.cos(wobble), 30 * np.sin(wobble), 1000 + 0 * run.t], axis=1), 1000.0)


@case("sympy #27631", 1e-10)
def rolling_disk() -> Answer:
    """A disk rolls without slipping, as in SciPy's solution of the reduced equations; q holds the contact point, heading, lean
    and spin."""
    radius, flat, polar = 1.0, 0.25, 0.5

    def kinetic(q: Any, v: Any) -> Any:
        sy, cy, s, c = sin(q[2]), cos(q[2]), sin(q[3]), cos(q[3])
        centre = (
            v[0] + radius * (c * v[3] * sy + s * cy * v[2]),
            v[1] + radius * (s * sy * v[2] - c * v[3] * cy),
            -radius * s * v[3],
        )
        turn = flat * (v[3] ** 2 + (v[2] * c) ** 2) + polar * (v[4] + v[2] * s) ** 2
        return (centre[0] ** 2 + centre[1] ** 2 + centre[2] ** 2 + turn) / 2

    start, rates = np.array([0.0, 0.0, 0.0, 0.3, 0.0]), np.array([3.0, 0.0, 0.2, 0.5, 3.0])
    graph, v = Graph("disk"), J1("v", dimension=5)
    slip = MTF(
        "slip",
        lambda q: array([[1.0, 0, 0, 0, -radius * cos(q[2])], [0, 1.0, 0, 0, -radius * sin(q[2])]]),
        signals=["disk.q"],
        dimensions=(5, 2),
    )
    disk = IC("disk", kinetic=kinetic, potential=lambda q: GRAVITY * radius * cos(q[3]), position=start, velocity=rates)
    graph.connect(v, disk).connect(v, slip).connect(slip, Constraint("rolling", holds="velocity", dimension=2))
    run = graph.simulate(3.0, rtol=1e-10)

    def rolling(t: float, y: np.ndarray) -> list[float]:
        _, q, _, a, b, c = y
        lean = 4 * GRAVITY * np.sin(q) / (5 * radius) + np.sin(2 * q) * a**2 / 2 + 6 * np.cos(q) * a * c / 5
        return [a, b, c, -2 * b * c / np.cos(q), lean, -(10 * np.cos(q) * a - 12 * np.tan(q) * c) * b / 6]

    reference = solve_ivp(rolling, (0, 3.0), [*start[2:], *rates[2:]], "DOP853", rtol=1e-13, atol=1e-14, t_eval=run.t)
    return Answer(run, run["disk.q"][:, 2:], reference.y[:3].T)


@case("mujoco #172", 1e-7)
def driven_four_bar() -> Answer:
    """The speed of a four-bar linkage of slender bars is sqrt(2 work / J(angle)), with J from the law of cosines."""
    a, b, c, d, torque = 0.1, 0.3, 0.25, 0.32, 2.0
    m1, m2, m3 = 0.4, 0.6, 0.5

    def loop(crank: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        x, y = d - a * np.cos(crank), -a * np.sin(crank)
        span, base = np.hypot(x, y), np.arctan2(y, x)
        coupler = base + np.arccos((b * b + span**2 - c * c) / (2 * b * span))
        return coupler, np.arctan2(b * np.sin(coupler) - y, b * np.cos(coupler) - x)

    def inertia(q: Any) -> Any:
        both = m2 * a * b / 2 * cos(q[0] - q[1])
        return array([[(m1 / 3 + m2) * a * a, both, 0.0], [both, m2 * b * b / 3, 0.0], [0.0, 0.0, m3 * c * c / 3]])

    def gap(q: Any) -> Any:
        return array([a * cos(q[0]) + b * cos(q[1]) - c * cos(q[2]) - d, a * sin(q[0]) + b * sin(q[1]) - c * sin(q[2])])

    start = np.array([1.0, *loop(np.array(1.0))])
    graph, rates, crank = Graph("four-bar"), J1("rates", dimension=3), TF("crank", np.array([1.0, 0.0, 0.0]))
    graph.connect(rates, IC("bars", inertia=inertia, position=start))
    graph.connect(rates, Constraint("pin", position=gap, coordinates={"bars.q": 3}, dimension=2).port("1"))
    shaft = J1("shaft")
    run = graph.connect(rates, crank).connect(crank, shaft).connect(shaft, Se("motor", -torque)).simulate(0.5, rtol=1e-10)
    angle = run["bars.q"][:, 0]
    coupler, rocker = loop(angle)
    k2 = -a * np.sin(angle - rocker) / (b * np.sin(coupler - rocker))
    k3 = a * np.sin(angle - coupler) / (c * np.sin(rocker - coupler))
    moment = (m1 / 3 + m2) * a * a + m2 * a * b * np.cos(angle - coupler) * k2 + m2 * b * b / 3 * k2**2 + m3 * c * c / 3 * k3**2
    exact = np.sqrt(2 * torque * (angle - 1.0) / moment)
    return Answer(run, run["bars.v"][:, 0], exact, exact.max())


@case("example-robot-data #67", 1e-8)
def tool_without_inertia() -> Answer:
    text = """<robot name="arm"><link name="world"/><link name="tool0"/>
      <link name="rod"><inertial><origin xyz="1 0 0"/><mass value="2"/><inertia ixx="0" iyy="0.5" izz="0.5"/></inertial></link>
      <joint name="pivot" type="continuous"><parent link="world"/><child link="rod"/><axis xyz="0 1 0"/></joint>
      <joint name="flange" type="fixed"><parent link="rod"/><child link="tool0"/><origin xyz="2 0 0"/></joint></robot>"""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "arm.urdf"
        path.write_text(text, encoding="utf-8")
        tree = read_urdf(path).tree
    run = chain_graph(tree, gravity=(0, 0, -GRAVITY)).simulate(10.0, rtol=1e-10)
    angle = run["mechanism.q"] - np.pi / 2
    return Answer(run, angle, -swing(np.sqrt(2.0 / 2.5) * run.t, np.pi / 2))


@case("drake #2537", 1e-9)
def stick_slip() -> Answer:
    belt_speed, stiffness, limit, sliding = 0.1, 100.0, 2.0, 1.0
    graph, rub = Graph("belt"), J0("rub", domain="translation")
    v, belt = J1("v", domain="translation"), J1("belt", domain="translation")
    graph.connect(v, I("mass", 1.0, initial=belt_speed)).connect(v, C("spring", stiffness=stiffness))
    graph.connect(Sf("drive", belt_speed), belt).connect(belt, rub).connect(rub, v)
    run = graph.connect(rub, Friction("felt", sliding, stick_limit=limit)).simulate(20.0)
    w, reach = np.sqrt(stiffness), (limit - sliding) / stiffness
    slipping, sticking = 2 * (np.pi - np.arctan(reach * w / belt_speed)) / w, 2 * reach / belt_speed
    turns = np.arange(len(run.events))
    return Answer(run, times(run), limit / stiffness / belt_speed + (turns + 1) // 2 * slipping + turns // 2 * sticking)


@case("ModelicaStandardLibrary #2466", 1e-13)
def one_way_clutch() -> Answer:
    graph, slip = Graph("freewheel"), J0("slip", domain="rotation")
    a, b = J1("a", domain="rotation"), J1("b", domain="rotation")
    graph.connect(Se("torque", lambda t: where(less(t, 1.0), 2.0, -2.0), signals=["time"]), a).connect(a, I("rotor", 1.0))
    graph.connect(b, I("wheel", 3.0)).connect(b, R("drag", 0.3)).connect(b, slip).connect(slip, a)
    run = graph.connect(slip, Diode("sprags", initial="open")).simulate(4.0)
    speed = 2.0 / 0.3 * (1 - np.exp(-0.3 / 4))
    return Answer(run, [*times(run), run["a.flow"][-1], run["b.flow"][-1]], [1.0, speed - 6.0, speed * np.exp(-0.3)])


@case("ModelicaStandardLibrary #14", 1e-8)
def stop_that_does_not_pull() -> Answer:
    stiffness, damping = 100.0, 15.0
    graph, v = Graph("stop"), J1("v", domain="translation")
    graph.connect(v, I("mass", 1.0, initial=1.0)).add(signals.integrator("way", "v.flow", initial=-1.0))

    def push(x: Any, f: Any) -> Any:
        return where(less(0.0, x), -maximum(stiffness * x + damping * f, 0.0), 0.0)

    run = graph.connect(Se("stop", push, signals=["way.y", "v.flow"]), v).simulate(5.0)
    a, w = damping / 2, np.sqrt(stiffness - damping**2 / 4)
    leave = np.arctan2(damping * w, damping * a - stiffness) / w  # where stiffness x + damping v = 0

    def speed(t: float) -> float:
        return float(np.exp(-a * t) * (np.cos(w * t) - a / w * np.sin(w * t)))

    return Answer(run, run["v.flow"][-1], speed(leave))
