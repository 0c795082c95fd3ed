"""Piles of boxes and balls in screwbond, MuJoCo and Bullet: cost of a step, overlap, creep, and remaining energy.

All bodies start at the same positions; no program lets them sleep. MuJoCo's contact and friction are soft, so resting bodies
overlap and leaning bodies creep; it has elliptic cones, and `solref` is 20 ms, its default, or twice the step, the minimum by its
manual. In screwbond contact is rigid and Coulomb's law is solved to 1e-4 of the largest relative velocity. Bullet has its own
defaults (50 iterations) without damping. Times are CPU times.

In the hopper screwbond makes at most 200 sweeps, MuJoCo solves by conjugate gradients (by Newton's method a step takes 9 s), and
the other programs run only the first half second.
"""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from screwbond.models import collisions, ground, rigid_body

from benchmarks import timing
from benchmarks.command import run_command
from bondgraph import Graph
from bondgraph.stepping.free_bodies import FreeBodyStepper, free_body_stepper
from screws import quaternion, rotations
from screws.shapes import Ball, Box, HalfSpace

EDGE, RADIUS, FRICTION, GRAVITY = 0.1, 0.05, 0.5, 9.81
STEP, FALL, REST = 0.005, 3.0, 0.5  # s
TRIAL = 0.25
TILT, WALL = np.radians(60.0), 0.3  # tilt of the bag's four walls, which lean outwards, rad, and their distance, m


@dataclass(frozen=True)
class Scene:
    """Equal bodies of 1 kg at their initial poses, on a floor, with or without the leaning walls of a bag, and with fixed
    plates."""

    title: str
    positions: np.ndarray
    quaternions: np.ndarray
    boxes: bool
    leaning: bool = False
    plates: tuple[tuple[np.ndarray, np.ndarray, tuple[float, float, float]], ...] = ()
    """Position, quaternion and edge lengths of fixed boxes."""
    falls: float = FALL
    """Duration of the fall, s; `rests` is the duration of the second run, in which `ms rest` and creep are measured."""
    rests: float = REST
    rolling: float = 0.0
    """Rolling and spinning friction, m."""
    others: float = np.inf
    """Longest fall that other programs compute, s."""
    sweeps: int = 1000
    solver: str = "Newton"

    @property
    def inertia(self) -> float:
        """Moment of inertia of a body, equal about all its axes, kg m^2."""
        return EDGE**2 / 6.0 if self.boxes else 0.4 * RADIUS**2

    @property
    def walls(self) -> list[tuple[np.ndarray, np.ndarray]]:
        found = [(np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0]))]
        for x, y in () if not self.leaning else ((1, 0), (-1, 0), (0, 1), (0, -1)):
            half = 0.5 * TILT
            found.append(
                (np.array([WALL * x, WALL * y, 0.0]), np.array([np.cos(half), y * np.sin(half), -x * np.sin(half), 0.0]))
            )
        return found


def boxes(count: int = 30) -> Scene:
    """Return boxes with edges of 0.1 m, in layers of three, turned at random."""
    rng = np.random.default_rng(0)
    layer, place = np.divmod(np.arange(count), 3)
    angle = 2.0 * place + 0.5 * layer
    positions = np.stack([0.12 * np.cos(angle), 0.12 * np.sin(angle), 0.1 + 0.19 * layer], axis=1)
    turns = [
        np.asarray(quaternion(np.asarray(rotations.exp(v), dtype=float)), dtype=float) for v in rng.uniform(-2.0, 2.0, (count, 3))
    ]
    return Scene(f"{count} boxes", positions, np.array(turns), True)


def bag(count: int = 100, rolling: float = 0.0) -> Scene:
    """Return balls 0.1 m across, in layers of nine above a bag."""
    rng = np.random.default_rng(1)
    layer, place = np.divmod(np.arange(count), 9)
    y, x = np.divmod(place, 3)
    wobble = 0.003 * rng.standard_normal((count, 2))
    positions = np.column_stack([0.12 * (x - 1) + wobble[:, 0], 0.12 * (y - 1) + wobble[:, 1], 0.1 + 0.12 * layer])
    title = f"{count} balls" + (f", rolling friction {1e3 * rolling:g} mm" if rolling else "")
    return Scene(title, positions, np.tile([1.0, 0.0, 0.0, 0.0], (count, 1)), False, leaning=True, rolling=rolling)


def wall(count: int = 1000, high: int = 25) -> Scene:
    """Return a wall of bricks in running bond, with `high` courses."""
    layer, place = np.divmod(np.arange(count), count // high)
    positions = np.column_stack([1.001 * EDGE * (place + 0.5 * (layer % 2)), np.zeros(count), EDGE * (layer + 0.5)])
    turns = np.tile([1.0, 0.0, 0.0, 0.0], (count, 1))
    return Scene(f"{count} boxes in a wall", positions, turns, True, falls=0.25, rests=0.25)


def hopper(count: int = 5000) -> Scene:
    """Return balls in a funnel of four plates at 45 degrees, with an outlet of 0.8 m."""
    rng, outlet, length, thick, low = np.random.default_rng(2), 0.4, 4.0, 0.1, 1.0
    middle, lean = 0.5 * np.sqrt(0.5) * length, np.sqrt(0.125) * thick
    plates = []
    for k in range(4):
        about, half = 0.5 * np.pi * k, -np.pi / 8.0
        at = outlet + middle + lean
        place = np.array([at * np.cos(about), at * np.sin(about), low + middle - lean])
        c, s, cz, sz = np.cos(half), np.sin(half), np.cos(0.5 * about), np.sin(0.5 * about)
        plates.append((place, np.array([cz * c, -sz * s, cz * s, sz * c]), (length, 2.0 * length, thick)))
    places = list[tuple[float, float, float]]()
    height = low + 0.3
    while len(places) < count:
        side = int((outlet + height - low - 0.09) / 0.055) + 1
        row = 0.11 * (np.arange(side) - 0.5 * (side - 1))
        places += [(x, y, height) for x in row for y in row]
        height += 0.11
    positions = np.array(places[:count]) + 0.002 * rng.standard_normal((count, 3))
    turns = np.tile([1.0, 0.0, 0.0, 0.0], (count, 1))
    return Scene(
        f"{count} balls in a hopper",
        positions,
        turns,
        False,
        plates=tuple(plates),
        falls=2.0,
        rests=0.05,
        others=0.5,
        sweeps=200,
        solver="CG",
    )


def graph(scene: Scene) -> Graph:
    walls = [HalfSpace(position=tuple(p), quaternion=tuple(q)) for p, q in scene.walls]
    plates = [Box(*edges, position=tuple(p), quaternion=tuple(q)) for p, q, edges in scene.plates]
    fixed_body = ground("ground", shape=[*walls, *plates])
    bodies = [
        rigid_body(
            f"body {k}",
            mass=1.0,
            inertia=(scene.inertia,) * 3,
            gravity=(0.0, 0.0, -GRAVITY),
            position=p.tolist(),
            quaternion=q.tolist(),
            shape=Box(EDGE, EDGE, EDGE) if scene.boxes else Ball(RADIUS),
        )
        for k, (p, q) in enumerate(zip(scene.positions, scene.quaternions, strict=True))
    ]
    return collisions(
        Graph(scene.title),
        [fixed_body, *bodies],
        friction=FRICTION,
        rolling_friction=scene.rolling,
        spinning_friction=scene.rolling,
        max_contacts=100000,
    )


def scene_xml(scene: Scene, step: float, constant: float) -> str:
    def words(values: Sequence[float] | np.ndarray) -> str:
        return " ".join(f"{value:.17g}" for value in values)

    size = words([0.5 * EDGE] * 3) if scene.boxes else f"{RADIUS}"
    walls = "".join(f'<geom type="plane" size="0 0 1" pos="{words(p)}" quat="{words(q)}"/>' for p, q in scene.walls)
    walls += "".join(
        f'<geom type="box" size="{words(0.5 * np.array(edges))}" pos="{words(p)}" quat="{words(q)}"/>'
        for p, q, edges in scene.plates
    )
    bodies = "".join(
        f'<body pos="{words(p)}" quat="{words(q)}"><freejoint/>'
        f'<inertial pos="0 0 0" mass="1" diaginertia="{words([scene.inertia] * 3)}"/>'
        f'<geom type="{"box" if scene.boxes else "sphere"}" size="{size}"/></body>'
        for p, q in zip(scene.positions, scene.quaternions, strict=True)
    )
    return (
        f'<mujoco><option timestep="{step}" gravity="0 0 {-GRAVITY}" cone="elliptic" solver="{scene.solver}"/><size memory="1G"/>'
        f'<default><geom friction="{FRICTION} {scene.rolling} {scene.rolling}" condim="{6 if scene.rolling else 3}" '
        f'solref="{constant} 1"/></default>'
        f"<worldbody>{walls}{bodies}</worldbody></mujoco>"
    )


def ours(made: FreeBodyStepper, scene: Scene, step: float, falls: float, rests: float) -> dict[str, float]:
    clock = time.process_time()
    fall = made.simulate(falls, step=step)
    falling = (time.process_time() - clock) / fall.statistics.steps
    clock = time.process_time()
    rest = made.simulate(rests, step=step, initial=fall.final)
    resting = (time.process_time() - clock) / rest.statistics.steps
    count = len(scene.positions)
    place = np.array([rest[f"body {k}.pose"][[0, -1], 4:] for k in range(count)])
    speed = np.array([np.linalg.norm(rest[f"body {k}.twist"][-1, 3:]) for k in range(count)])
    return {
        "fall": 1e3 * falling,
        "rest": 1e3 * resting,
        "contacts": float(rest.contact_count[-1]),
        "deepest": 1e3 * float(np.max(fall.penetration)),
        "unsolved": 100.0 * float(np.mean(fall.residual > 1.0)),
        "overlap": 1e3 * float(rest.penetration[-1]),
        "creep": 1e3 * float(np.max(np.linalg.norm(place[:, 1] - place[:, 0], axis=1))) / rests,
        "kinetic": 0.5 * float(np.sum(speed**2)),
        "height": float(np.mean(place[:, 1, 2])),
    }


def in_mujoco(scene: Scene, step: float, constant: float, falls: float, rests: float) -> dict[str, float]:
    import mujoco

    model = mujoco.MjModel.from_xml_string(scene_xml(scene, step, constant))
    data = mujoco.MjData(model)
    deepest = 0.0
    clock, watched = time.process_time(), 0.0
    for _ in range(round(falls / step)):
        mujoco.mj_step(model, data)
        aside = time.process_time()
        deepest = min(deepest, float(np.min(data.contact.dist, initial=0.0)))
        watched += time.process_time() - aside
    fall = (time.process_time() - clock - watched) / round(falls / step)
    before = data.qpos.reshape(-1, 7)[:, :3].copy()
    clock = time.process_time()
    for _ in range(round(rests / step)):
        mujoco.mj_step(model, data)
    rest = (time.process_time() - clock) / round(rests / step)
    after = data.qpos.reshape(-1, 7)[:, :3]
    speed = np.linalg.norm(data.qvel.reshape(-1, 6)[:, :3], axis=1)
    return {
        "fall": 1e3 * fall,
        "rest": 1e3 * rest,
        "contacts": float(data.ncon),
        "deepest": -1e3 * deepest,
        "overlap": -1e3 * float(np.min(data.contact.dist, initial=0.0)),
        "creep": 1e3 * float(np.max(np.linalg.norm(after - before, axis=1))) / rests,
        "kinetic": 0.5 * float(np.sum(speed**2)),
        "height": float(np.mean(after[:, 2])),
    }


def in_bullet(scene: Scene, step: float, falls: float, rests: float) -> dict[str, float]:
    """Simulate the scene in Bullet; overlaps during the fall are computed only in every tenth step."""
    import pybullet

    pybullet.connect(pybullet.DIRECT)
    pybullet.setGravity(0, 0, -GRAVITY)
    pybullet.setTimeStep(step)
    planes = [(pybullet.createCollisionShape(pybullet.GEOM_PLANE), p, q) for p, q in scene.walls]
    for p, q, edges in scene.plates:
        planes.append((pybullet.createCollisionShape(pybullet.GEOM_BOX, halfExtents=(0.5 * np.array(edges)).tolist()), p, q))
    fixed = [pybullet.createMultiBody(0, shape, -1, p.tolist(), [*q[1:], q[0]]) for shape, p, q in planes]
    kind, size = (
        (pybullet.GEOM_BOX, {"halfExtents": [0.5 * EDGE] * 3}) if scene.boxes else (pybullet.GEOM_SPHERE, {"radius": RADIUS})
    )
    shape = pybullet.createCollisionShape(kind, **size)
    bodies = [
        pybullet.createMultiBody(1.0, shape, -1, p.tolist(), [*q[1:], q[0]])
        for p, q in zip(scene.positions, scene.quaternions, strict=True)
    ]
    for body in (*fixed, *bodies):  # the coefficients of a pair are multiplied
        pybullet.changeDynamics(body, -1, lateralFriction=np.sqrt(FRICTION), linearDamping=0.0, angularDamping=0.0)
        if scene.rolling:  # a pair has the sum of each body's friction times the other body's rolling friction
            resistance = scene.rolling / (2.0 * np.sqrt(FRICTION))
            pybullet.changeDynamics(body, -1, rollingFriction=resistance, spinningFriction=resistance)

    def places() -> np.ndarray:
        return np.array([pybullet.getBasePositionAndOrientation(body)[0] for body in bodies])

    def overlap() -> float:
        return max((-point[8] for point in pybullet.getContactPoints()), default=0.0)

    spent, deepest = 0.0, 0.0
    for k in range(round(falls / step)):
        clock = time.process_time()
        pybullet.stepSimulation()
        spent += time.process_time() - clock
        deepest = max(deepest, overlap()) if k % 10 == 0 else deepest
    fall, before = spent / round(falls / step), places()
    clock = time.process_time()
    for _ in range(round(rests / step)):
        pybullet.stepSimulation()
    rest, after = (time.process_time() - clock) / round(rests / step), places()
    speed = np.linalg.norm([pybullet.getBaseVelocity(body)[0] for body in bodies], axis=1)
    found = {
        "fall": 1e3 * fall,
        "rest": 1e3 * rest,
        "contacts": float(len(pybullet.getContactPoints())),
        "deepest": 1e3 * deepest,
        "overlap": 1e3 * overlap(),
        "creep": 1e3 * float(np.max(np.linalg.norm(after - before, axis=1))) / rests,
        "kinetic": 0.5 * float(np.sum(speed**2)),
        "height": float(np.mean(after[:, 2])),
    }
    pybullet.disconnect()
    return found


def measure(scenes: Sequence[Scene], falls: float | None = None, rounds: int = 3) -> dict[str, Any]:
    """Return medians over rounds in which all programs run these scenes in turn; `falls`, s, replaces the scenes' own
    durations."""
    import mujoco

    found: dict[str, Any] = {"mujoco": mujoco.__version__, "scenes": {}, "spans": {}}
    for scene in scenes:
        made, spans = free_body_stepper(graph(scene), max_sweeps=scene.sweeps), (falls or scene.falls, scene.rests)
        short = (min(spans[0], scene.others), spans[1])
        note = "" if short == spans else f", first {short[0]:g} s"
        runs: dict[str, Callable[[], dict[str, float]]] = {
            "screwbond": partial(ours, made, scene, STEP, *spans),
            f"MuJoCo, solref 20 ms{note}": partial(in_mujoco, scene, STEP, 0.02, *short),
            f"MuJoCo, solref {2e3 * STEP:g} ms{note}": partial(in_mujoco, scene, STEP, 2.0 * STEP, *short),
        }
        if importlib.util.find_spec("pybullet"):
            runs[f"Bullet{note}"] = partial(in_bullet, scene, STEP, *short)
        taken: dict[str, list[dict[str, float]]] = {name: [] for name in runs}
        for _ in range(rounds):
            for name, run in runs.items():
                taken[name].append(run())
        found["spans"][scene.title] = spans
        found["scenes"][scene.title] = {
            name: {key: timing.median([one[key] for one in several]) for key in several[0]} for name, several in taken.items()
        }
    return found


def report(found: Mapping[str, Any]) -> str:
    tables = []
    head = [
        "",
        "ms fall",
        "ratio",
        "ms rest",
        "ratio",
        "contacts",
        "deepest mm",
        "overlap mm",
        "creep mm/s",
        "kinetic J",
        "height m",
        "unsolved %",
    ]
    for title, runs in found["scenes"].items():
        base = next(run for name, run in runs.items() if name.startswith("MuJoCo"))
        rows = [
            [
                name,
                f"{run['fall']:.2f}",
                f"{run['fall'] / base['fall']:.1f}",
                f"{run['rest']:.2f}",
                f"{run['rest'] / base['rest']:.1f}",
                f"{run['contacts']:.0f}",
                f"{run['deepest']:.2f}",
                f"{run['overlap']:.2g}",
                f"{run['creep']:.2g}",
                f"{run['kinetic']:.1e}",
                f"{run['height']:.4f}",
                f"{run['unsolved']:.1f}" if "unsolved" in run else "",
            ]
            for name, run in runs.items()
        ]
        spans = " and ".join(f"{span:g} s" for span in found["spans"][title])
        head_line = f"{title}, steps of {1e3 * STEP:g} ms, in {spans}, compared with MuJoCo {found['mujoco']}"
        tables.append(timing.table(head_line, head, rows))
    note = "  ms: time per step, falling and at rest; creep: fastest body at rest; deepest: overlap in the fall\n"
    note += "  unsolved: steps of the fall that are not solved to the tolerance"
    return "\n".join([*tables, note])


def main(arguments: Sequence[str] | None = None) -> dict[str, Any] | None:
    return run_command(__doc__.splitlines()[0] if __doc__ else None, arguments, _run)


def _run(quick: bool) -> dict[str, Any]:
    if quick:
        found = measure((boxes(4), bag(4), bag(4, 5e-4)), TRIAL, 1)
    else:
        found, large = measure((boxes(), bag(), bag(rolling=5e-4))), measure((wall(), hopper()), rounds=1)
        found = {**found, "scenes": found["scenes"] | large["scenes"], "spans": found["spans"] | large["spans"]}
    print(report(found))
    return found


if __name__ == "__main__":
    main()
