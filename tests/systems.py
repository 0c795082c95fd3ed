"""Systems of the papers by name, each with the function that makes its graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from screwbond.models.delta import DeltaParameters, DeltaRobot, rigid_delta_graph, task_control
from screwbond.models.hand import Hand
from screwbond.models.maze import maze_graph
from screwbond.models.motion import axes, quintic

from bondgraph import Graph
from examples import rolling_eggs
from tests.inner.models_delta import touch_graph
from tests.inner.models_two_bodies import read_scenario, two_body_graph

ROBOT = DeltaParameters.fit()


def two_bodies() -> Graph:
    return two_body_graph(read_scenario(Path(__file__).parent / "models" / "data" / "S1a.json"))


def controlled_delta() -> Graph:
    way = axes(quintic(0.0, 0.01, 0.0, 1.0), quintic(0.0, 0.0, 0.0, 1.0), quintic(0.45, 0.45, 0.0, 1.0))
    control = task_control(ROBOT, way, kp=25.0, kd=10.0)
    graph = DeltaRobot(ROBOT).graph(signals=control.torque)
    graph.add(*control.blocks)
    return graph


SYSTEMS: Mapping[str, Callable[[], Graph]] = {
    "rolling eggs": lambda: rolling_eggs.build()[0],
    "two bodies": two_bodies,
    "hand": lambda: Hand().graph(),
    "delta": lambda: DeltaRobot(ROBOT).graph(),
    "delta, Hamilton": lambda: DeltaRobot(ROBOT, form="hamiltonian").graph(),
    "delta of rigid bodies": lambda: rigid_delta_graph(ROBOT, (0.7, 0.8, 0.9)),
    "delta under control": controlled_delta,
    "soft touch": lambda: touch_graph(ROBOT),
    "maze": maze_graph,
}
