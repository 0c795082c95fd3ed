"""Models of many kinds, each with the page of a run and one quantity to watch."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from pathlib import Path

from screwbond.models import collisions, ground, read_scenario, two_body_graph
from screwbond.models.delta import DeltaParameters
from screwbond.models.hand import HandParameters, HandScenario, run_hand
from screwbond.models.maze import MazeParameters, run_maze
from screwbond.models.pictures import Scene, scene_of

from bondgraph import Graph, simulate
from examples.delta_pick_and_place import PICK, PLACE
from examples.dexterous_hand import UP_AND_ASIDE
from examples.parallel_gripper import runs
from examples.pile import boxes
from screws.shapes import HalfSpace
from tests.inner.models_delta import track, tracking_scene, transfer
from tests.inner.models_hand import hand_scene
from tests.inner.models_maze import maze_scene
from tests.inner.run import Result
from tests.inner.stepping import free_body_stepper
from tests.models.pictures.test_any_model import arm

SCRIPTS = Path(__file__).parents[2] / "front_door" / "scripts"


def script(name: str) -> Callable[[], Result]:
    def run() -> Result:
        result: Result = runpy.run_path(str(SCRIPTS / f"{name}.py"))["run"]
        return result

    return run


def eggs() -> Scene:
    return scene_of(simulate(two_body_graph(read_scenario("tests/models/data/S1a.json")), 0.06, samples=5e-4, progress=False))


def delta() -> Scene:
    motion = transfer(PICK, PLACE, lift=0.08, velocity=1.0, acceleration=10.0, jerk=200.0, pause=0.2)
    return tracking_scene(track(DeltaParameters.fit(), motion, samples=5e-3))


def hand() -> Scene:
    return hand_scene(run_hand(HandScenario("hand", 2.0, UP_AND_ASIDE[:1], HandParameters(fingers=3)), progress=False))


def maze() -> Scene:
    return maze_scene(run_maze(MazeParameters(), progress=False))


def table() -> Result:
    return simulate(arm()[1], 0.6, progress=False)


def heap() -> Result:
    graph = collisions(Graph("heap"), [ground("floor", shape=HalfSpace()), *boxes(6)], friction=0.5, max_contacts=128)
    return free_body_stepper(graph).simulate(1.0, step=0.01)


def gripper() -> Result:
    return runs()["coulomb"]


SHOWN: dict[str, tuple[Callable[[], Result | Scene], str]] = {
    "quarter car": (script("quarter_car"), "spring.effort"),
    "boost converter": (script("boost"), "smoothing.effort"),
    "sampled PID": (script("motor_pid"), "angle.y"),
    "eggs": (eggs, "contact.gap"),
    "delta": (delta, "arm 1.mechanism.q"),
    "hand": (hand, "contact 0.gap"),
    "maze": (maze, "q.maze"),
    "arm on a table": (table, "touch.gap"),
    "heap": (heap, "box 0.twist"),
    "gripper": (gripper, "y spring.effort"),
}
