"""A pile of 30 boxes and a bag of 100 balls, here and in MuJoCo: cost of a step, overlap, creep, and what energy is left.

Both fall from the same places and come to rest. MuJoCo's contact is soft: `solref` is a time constant, at least twice the step
by its manual, and what lies on something sinks into it; with friction that is regularised, what leans on something creeps. Here
contact is rigid and friction is Coulomb's law, solved to a tolerance of 1e-4 of the largest velocity. MuJoCo is given elliptic
cones, its Newton solver with its own defaults, and both `solref` of 20 ms, its default, and of twice the step; `condim` 3, as
here. Both run in this process, in turn; times are those of the processor, whoever else uses it. MuJoCo is C through and through;
here candidates and rows are NumPy and only the sweeps are machine code.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
"""Of a trial, how long all fall, s."""
TILT, WALL = np.radians(60.0), 0.3  # of the bag's four walls, which lean outwards, and where they stand, m


@dataclass(frozen=True)
class Scene:
    """Bodies of one kind and mass 1 kg at their start; a bag has walls."""

    title: str
    positions: np.ndarray
    quaternions: np.ndarray
    boxes: bool

    @property
    def inertia(self) -> float:
        """About every axis, kg m^2."""
        return EDGE**2 / 6.0 if self.boxes else 0.4 * RADIUS**2

    @property
    def walls(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Places and quaternions of half-spaces: the floor, and the walls of a bag."""
        found = [(np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0]))]
        for x, y in () if self.boxes else ((1, 0), (-1, 0), (0, 1), (0, -1)):
            half = 0.5 * TILT
            found.append(
                (np.array([WALL * x, WALL * y, 0.0]), np.array([np.cos(half), y * np.sin(half), -x * np.sin(half), 0.0]))
            )
        return found


def boxes(count: int = 30) -> Scene:
    """Boxes with edges of 0.1 m above each other, turned at random."""
    rng = np.random.default_rng(0)
    layer, place = np.divmod(np.arange(count), 3)
    angle = 2.0 * place + 0.5 * layer
    positions = np.stack([0.12 * np.cos(angle), 0.12 * np.sin(angle), 0.1 + 0.19 * layer], axis=1)
    turns = [
        np.asarray(quaternion(np.asarray(rotations.exp(v), dtype=float)), dtype=float) for v in rng.uniform(-2.0, 2.0, (count, 3))
    ]
    return Scene(f"{count} boxes", positions, np.array(turns), True)


def bag(count: int = 100) -> Scene:
    """Balls of 0.1 m across in layers of nine above a bag."""
    rng = np.random.default_rng(1)
    layer, place = np.divmod(np.arange(count), 9)
    y, x = np.divmod(place, 3)
    wobble = 0.003 * rng.standard_normal((count, 2))
    positions = np.column_stack([0.12 * (x - 1) + wobble[:, 0], 0.12 * (y - 1) + wobble[:, 1], 0.1 + 0.12 * layer])
    return Scene(f"{count} balls", positions, np.tile([1.0, 0.0, 0.0, 0.0], (count, 1)), False)


def graph(scene: Scene) -> Graph:
    """Our side."""
    held = ground("ground", shape=[HalfSpace(position=tuple(p), quaternion=tuple(q)) for p, q in scene.walls])
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
    return collisions(Graph(scene.title), [held, *bodies], friction=FRICTION, max_contacts=100000)


def scene_xml(scene: Scene, step: float, constant: float) -> str:
    """MuJoCo's side, with a time constant of contacts, s."""

    def words(values: Sequence[float] | np.ndarray) -> str:
        return " ".join(f"{value:.17g}" for value in values)

    size = words([0.5 * EDGE] * 3) if scene.boxes else f"{RADIUS}"
    walls = "".join(f'<geom type="plane" size="0 0 1" pos="{words(p)}" quat="{words(q)}"/>' for p, q in scene.walls)
    bodies = "".join(
        f'<body pos="{words(p)}" quat="{words(q)}"><freejoint/>'
        f'<inertial pos="0 0 0" mass="1" diaginertia="{words([scene.inertia] * 3)}"/>'
        f'<geom type="{"box" if scene.boxes else "sphere"}" size="{size}"/></body>'
        for p, q in zip(scene.positions, scene.quaternions, strict=True)
    )
    return (
        f'<mujoco><option timestep="{step}" gravity="0 0 {-GRAVITY}" cone="elliptic"/><size memory="64M"/>'
        f'<default><geom friction="{FRICTION} 0 0" condim="3" solref="{constant} 1"/></default>'
        f"<worldbody>{walls}{bodies}</worldbody></mujoco>"
    )


def ours(made: FreeBodyStepper, scene: Scene, step: float, falls: float = FALL) -> dict[str, float]:
    """One fall and one rest."""
    clock = time.process_time()
    fall = made.simulate(falls, step=step)
    falling = (time.process_time() - clock) / fall.statistics.steps
    clock = time.process_time()
    rest = made.simulate(REST, step=step, initial=fall.final)
    resting = (time.process_time() - clock) / rest.statistics.steps
    count = len(scene.positions)
    place = np.array([rest[f"body {k}.pose"][[0, -1], 4:] for k in range(count)])
    speed = np.array([np.linalg.norm(rest[f"body {k}.twist"][-1, 3:]) for k in range(count)])
    return {
        "fall": 1e3 * falling,
        "rest": 1e3 * resting,
        "contacts": float(rest.contact_count[-1]),
        "deepest": 1e3 * float(np.max(fall.penetration)),
        "overlap": 1e3 * float(rest.penetration[-1]),
        "creep": 1e3 * float(np.max(np.linalg.norm(place[:, 1] - place[:, 0], axis=1))) / REST,
        "kinetic": 0.5 * float(np.sum(speed**2)),
        "height": float(np.mean(place[:, 1, 2])),
    }


def theirs(scene: Scene, step: float, constant: float, falls: float = FALL) -> dict[str, float]:
    """The same in MuJoCo."""
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
    for _ in range(round(REST / step)):
        mujoco.mj_step(model, data)
    rest = (time.process_time() - clock) / round(REST / step)
    after = data.qpos.reshape(-1, 7)[:, :3]
    speed = np.linalg.norm(data.qvel.reshape(-1, 6)[:, :3], axis=1)
    return {
        "fall": 1e3 * fall,
        "rest": 1e3 * rest,
        "contacts": float(data.ncon),
        "deepest": -1e3 * deepest,
        "overlap": -1e3 * float(np.min(data.contact.dist, initial=0.0)),
        "creep": 1e3 * float(np.max(np.linalg.norm(after - before, axis=1))) / REST,
        "kinetic": 0.5 * float(np.sum(speed**2)),
        "height": float(np.mean(after[:, 2])),
    }


def measure(scenes: Sequence[Scene], falls: float = FALL, rounds: int = 3) -> dict[str, Any]:
    """All figures of these scenes: medians over rounds in which both sides run in turn."""
    import mujoco

    found: dict[str, Any] = {"mujoco": mujoco.__version__, "falls": falls, "scenes": {}}
    for scene in scenes:
        made = free_body_stepper(graph(scene))
        runs = {
            "screwbond": lambda made=made, scene=scene: ours(made, scene, STEP, falls),
            "MuJoCo, solref 20 ms": lambda scene=scene: theirs(scene, STEP, 0.02, falls),
            f"MuJoCo, solref {2e3 * STEP:g} ms": lambda scene=scene: theirs(scene, STEP, 2.0 * STEP, falls),
        }
        taken: dict[str, list[dict[str, float]]] = {name: [] for name in runs}
        for _ in range(rounds):
            for name, run in runs.items():
                taken[name].append(run())
        found["scenes"][scene.title] = {
            name: {key: timing.median([one[key] for one in several]) for key in several[0]} for name, several in taken.items()
        }
    return found


def report(found: Mapping[str, Any]) -> str:
    """The figures as tables, times beside those of MuJoCo at the same step."""
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
            ]
            for name, run in runs.items()
        ]
        tables.append(timing.table(f"{title}, steps of {1e3 * STEP:g} ms, against MuJoCo {found['mujoco']}", head, rows))
    spans = f"while they fall ({found['falls']:g} s) and at rest ({REST:g} s)"
    note = f"  ms: of a step {spans}; creep: fastest body at rest; deepest: overlap in the fall"
    return "\n".join([*tables, note])


def main(arguments: Sequence[str] | None = None) -> dict[str, Any] | None:
    """Measure, print, and write JSON where asked; says so where MuJoCo is missing."""
    return run_command(__doc__.splitlines()[0] if __doc__ else None, arguments, _run)


def _run(quick: bool) -> dict[str, Any]:
    found = measure((boxes(4), bag(4)), TRIAL, 1) if quick else measure((boxes(), bag()))
    print(report(found))
    return found


if __name__ == "__main__":
    main()
