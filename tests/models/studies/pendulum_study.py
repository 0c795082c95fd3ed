"""A fourth study, written as a user of the package would write it: a ball on a spring that swings in a plane.

```
weight (Se) --- 1 velocity --- I ball
                /       \\
         spring (C)   damping (R)
```

`screwbond pendulum FILE.json --out DIR` reads the parameters, runs the graph and writes all files.
"""

from __future__ import annotations

from argparse import Namespace
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from screwbond.models.pictures.plotting import plot_signals
from screwbond.models.studies import tasks
from screwbond.models.studies.fields import check_record, number, vector, word
from screwbond.models.studies.reading import read_file

from bondgraph import J1, C, Graph, I, R, Se, compile_model
from screws.scalars import sqrt

MEDIA = {"vacuum": 0.0, "oil": 1.0}
"""Factor of the damping in each medium in which the ball swings."""


@dataclass(frozen=True)
class Pendulum:
    """Ball on a spring, released from rest at `start`; the spring is fixed at the origin and acts along its own line."""

    mass: float = number("kg", "of the ball", above=0.0)
    stiffness: float = number("N/m", "of the spring", above=0.0)
    start: tuple[float, float] = vector(2, "m", "place of the ball, to the side and up")
    length: float = number("m", "of the relaxed spring", 0.3, least=0.0)
    damping: float = number("N s/m", "of the ball in oil", 0.1, least=0.0)
    medium: str = word(MEDIA, "what it swings in", "vacuum")
    t_end: float = number("s", "end of the run", 5.0, above=0.0)

    def __post_init__(self) -> None:
        check_record(self, "E480", "pendulum")


def graph(given: Pendulum) -> Graph:
    """Return the bond graph; the spring's state is the ball's position (2,), m."""
    ball, velocity = Graph("pendulum"), J1("velocity", domain="translation", dimension=2)
    energy = {"energy": lambda q, k, rest: 0.5 * k * (sqrt(q[0] * q[0] + q[1] * q[1]) - rest) ** 2}
    spring = C("spring", **energy, parameters={"k": given.stiffness, "rest": given.length}, initial=given.start)
    ball.connect(Se("weight", (0.0, -9.81 * given.mass)), velocity).connect(velocity, I("ball", given.mass, dimension=2))
    return ball.connect(velocity, spring).connect(velocity, R("damping", MEDIA[given.medium] * given.damping, dimension=2))


def read(options: Namespace) -> Pendulum:
    return read_file(options.file, lambda given: given.read(Pendulum), Pendulum)


def run(given: Pendulum, options: Namespace) -> tasks.Outcome:
    compiled = compile_model(graph(given))
    result = compiled.simulate(given.t_end, samples=0.01, rtol=options.rtol, method=options.method, progress=False)
    place = result["spring.q"]
    largest = float(np.linalg.norm(place, axis=1).max())
    summary = {
        "largest_length": largest,
        **tasks.end_summary(result),
        **tasks.cost_summary(result, tasks.wall_times(compiled, result)),
    }
    files = {
        "trajectory.npz": {"t": result.t, "place": place},
        "swing.csv": tasks.Table(("t", "x", "y"), np.column_stack([result.t, place])),
        **tasks.graph_files(compiled),
    }
    pictures = {"swing.png": tasks.plot(lambda path: plot_signals(result, {"spring.q": "place (m)"}, path))}
    return tasks.Outcome(
        summary, files, [f"pendulum: the spring is {largest:.4f} m long at most"], pictures, failure=result.failure
    )


def arguments(parser: Any) -> None:
    parser.add_argument("file", type=Path, metavar="FILE.json")
    tasks.add_solver(parser, 1e-9)


TASK = tasks.Task(
    "run a spring pendulum",
    read,
    run,
    files=("trajectory.npz", "swing.csv", "graph.svg", "equations.tex"),
    pictures=("swing.png",),
    arguments=arguments,
    fields={"FILE.json": Pendulum},
)
PENDULUM = tasks.study_command("pendulum", TASK)
