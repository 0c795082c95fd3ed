"""The first second: CPU seconds of the solvers' own code and of models that are slow to compile, without imports.

`python -m benchmarks.first_second NAME`, with `SCREWBOND_CACHE` set, measures one case and prints its seconds as JSON.
"""

from __future__ import annotations

import itertools
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from math import cos, pi, sin, sqrt
from typing import Any

import numpy as np
from screwbond.models.bodies import ground, rigid_body
from screwbond.models.hand import Hand
from screwbond.models.joints import attach_joint, joint_graph

from benchmarks.cold_start import python
from benchmarks.command import run_command
from benchmarks.timing import median, processor, table
from bondgraph import J0, J1, C, Diode, Friction, Graph, I, R, Se, compile_model, warming
from screws import joints, pose
from screws.scalars import sin as sine

SOLVERS = "solvers of a first run"
PARTS = (
    *("dop853", "error control", "coupling graph of a Jacobian", "patterns of a Jacobian", "batches of runs"),
    "interpreter of derivatives",
)
"""Names, up to the first comma, of the entries of `warming.PARTS` that the first runs need."""


def oscillator() -> Graph:
    """Return a mass on a spring; its run loads all modules and the elementary functions."""
    graph = Graph("oscillator")
    graph.series(Se("push", sine, signals="time"), I("mass", 1.0), C("spring", stiffness=4.0), R("damper", 0.1))
    return graph


def blocks(count: int, *, sprung: bool) -> Graph:
    """Return blocks in a row with dry friction at the floor, and springs or dry friction between neighbours; the first is
    pushed."""
    graph, speeds = Graph("blocks"), [J1(f"block {k}") for k in range(count)]
    for k, speed in enumerate(speeds):
        graph.connect(speed, I(f"mass {k}", mass=1.0)).connect(speed, Friction(f"floor {k}", 0.5))
    for k in range(count - 1):
        force, between = J0(f"force {k}"), C(f"spring {k}", stiffness=50.0) if sprung else Friction(f"pad {k}", 0.3)
        graph.connect(speeds[k], force).connect(force, speeds[k + 1]).connect(force, between)
    return graph.connect(Se("push", lambda t: 4.0 * t, signals="time"), speeds[0])


def diodes(count: int) -> Graph:
    graph, plus = Graph("diodes"), J0("plus")
    for k in range(count):
        phase = Se(f"phase {k}", lambda t, angle=2 * pi * k / count: 100.0 * sine(100 * pi * t + angle), signals="time")
        graph.between(None, plus, phase, Diode(f"diode {k}"))
    return graph.between(plus, None, R("load", 20.0))


def turned(angle: float) -> tuple[float, ...]:
    return (cos(angle / 2), 0.0, 0.0, sin(angle / 2))


def at(*place: float) -> np.ndarray:
    return np.asarray(pose(np.eye(3), place), dtype=float)


def engine(r: float = 0.05, length: float = 0.15, angle: float = 0.5, speed: float = 10.0) -> Graph:
    """Return crank, rod and piston of one cylinder as rigid bodies connected by four joints."""
    x, y = r * cos(angle), r * sin(angle)
    along = sqrt(length**2 - y**2)  # from the pin of the crank to the pin of the piston
    lean, swing = -np.arctan2(y, along), -speed * x / along
    slide = -speed * y - swing * length * sin(lean)
    middle = (-speed * y - 0.5 * swing * length * sin(lean), speed * x + 0.5 * swing * along, 0.0)
    graph, base = Graph("engine"), ground("base")
    crank = rigid_body("crank", mass=1.0, inertia=(1e-3, 1e-3, 2e-3), quaternion=turned(angle), angular_velocity=(0, 0, speed))
    rod = rigid_body(
        "rod",
        mass=0.3,
        inertia=(1e-4, 5e-4, 5e-4),
        position=(x + along / 2, y / 2, 0.0),
        quaternion=turned(lean),
        velocity=middle,
        angular_velocity=(0, 0, swing),
    )
    piston = rigid_body("piston", mass=0.4, inertia=(1e-4, 1e-4, 1e-4), position=(x + along, 0, 0), velocity=(slide, 0, 0))
    turn, pin = joints.revolute((0, 0, 1)), at(length / 2, 0, 0)
    attach_joint(graph, joint_graph("bearing", turn), base, crank)
    attach_joint(graph, joint_graph("big end", turn, frame_a=at(r, 0, 0), frame_b=at(-length / 2, 0, 0)), crank, rod)
    attach_joint(graph, joint_graph("small end", joints.inline((0, 0, 1)), frame_a=pin), rod, piston)
    return attach_joint(graph, joint_graph("bore", joints.prismatic((1, 0, 0))), base, piston)


def bricard() -> Graph:
    """Return Bricard's linkage: five bars along the edges of a cube between six hinges, with one freedom, where the mobility
    formula gives none."""
    corners = np.array([(0, 0, 0), (1, 0, 0), (1, -1, 0), (1, -1, 1), (0, -1, 1), (0, 0, 1)], dtype=float)
    axes = ((0, 1, 0), (0, 0, 1), (1, 0, 0)) * 2
    graph, bars, centres = Graph("Bricard"), [ground("base")], [np.zeros(3)]
    for k, (a, b) in enumerate(itertools.pairwise(corners)):
        centres.append((a + b) / 2)
        inertia = (1 - np.abs(b - a)) / 12 + 1e-4
        bars.append(rigid_body(f"bar {k}", mass=1.0, inertia=tuple(inertia), position=tuple(centres[-1])))
    for k, axis in enumerate(axes):
        following = (k + 1) % len(bars)
        a, b = at(*(corners[k] - centres[k])), at(*(corners[k] - centres[following]))
        hinge = joint_graph(f"hinge {k}", joints.revolute(axis), frame_a=a, frame_b=b)
        attach_joint(graph, hinge, bars[k], bars[following])
    return graph


MODELS: Mapping[str, tuple[Callable[[], Graph], float]] = {
    "five blocks with friction": (lambda: blocks(5, sprung=True), 1.0),
    "three blocks with friction": (lambda: blocks(3, sprung=False), 1.0),
    "five diodes": (lambda: diodes(5), 0.04),
    "engine of rigid bodies": (engine, 0.3),
    "hand": (lambda: Hand().graph(), 0.3),
    "Bricard's linkage": (bricard, 0.3),
}


def worker(name: str) -> dict[str, float]:
    """Return the CPU seconds that this process, which must be fresh, spends on a case."""
    begin = time.process_time()
    for part, make in warming.PARTS.items():
        if part.partition(",")[0] in PARTS:
            make()
    if name == SOLVERS:
        return {"compile": time.process_time() - begin, "first run": 0.0, "second run": 0.0}
    make, end = MODELS[name]
    compile_model(oscillator()).simulate(1.0, progress=False)
    os.environ["SCREWBOND_CACHE"] = "off"
    graph, times = make(), [time.process_time()]
    compiled = compile_model(graph, progress=False)
    times.append(time.process_time())
    for _ in range(2):
        compiled.simulate(end, progress=False)
        times.append(time.process_time())
    return dict(zip(("compile", "first run", "second run"), np.diff(times).tolist(), strict=True))


def measured(name: str, cache: str, repeats: int) -> dict[str, float]:
    """Return medians over fresh processes; solvers start from an empty cache, models from a cache that contains the solvers."""
    runs = []
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as empty:
            runs.append(json.loads(python(["-m", "benchmarks.first_second", name], empty if name == SOLVERS else cache)))
    return {key: median([run[key] for run in runs]) for key in runs[0]}


def main(arguments: Sequence[str] | None = None) -> dict[str, Any] | None:
    return run_command(__doc__, arguments, _run)


def _run(quick: bool) -> dict[str, Any]:
    names = list(MODELS)[:1] if quick else [SOLVERS, *MODELS]
    with tempfile.TemporaryDirectory() as folder:
        cache = os.environ.get("SCREWBOND_CACHE", "") if quick else folder
        found = {name: measured(name, cache, 1 if quick else 3) for name in names}
    head = ("", "compile", "first run", "second run")
    rows = [(name, *(f"{row[key]:.2f}" for key in head[1:])) for name, row in found.items()]
    print(table(f"CPU seconds without cached code of the model ({processor()})", head, rows))
    return {"processor": processor(), "first second": found}


if __name__ == "__main__":
    if len(sys.argv) == 2 and sys.argv[1] in (SOLVERS, *MODELS):
        print(json.dumps(worker(sys.argv[1])))
    else:
        main()
