"""Models of many kinds: names in; what a page shows of a run of each, and a quantity of it to watch, out."""

from __future__ import annotations

from collections.abc import Callable

from bondgraph import GY, J0, J1, Automaton, Block, C, Diode, Graph, I, R, Se, Sf, Switch, Transition, signals, simulate
from bondgraph.piles import pile
from bondgraph.run.outcome.result import Result
from examples.delta_pick_and_place import PICK, PLACE
from examples.dexterous_hand import UP_AND_ASIDE
from examples.parallel_gripper import runs
from examples.pile import boxes
from models import collisions, ground, read_scenario, two_body_graph
from models.delta import DeltaParameters
from models.delta.pictures.scene_pictures import tracking_scene
from models.delta.studies.pick_and_place import track, transfer
from models.hand import HandParameters, HandScenario, run_hand
from models.hand.pictures.scene import hand_scene
from models.maze import MazeParameters, run_maze
from models.maze.pictures.scene import maze_scene
from models.pictures import Scene, scene_of
from screws.scalars import sin, where
from screws.shapes import HalfSpace
from tests.models.pictures.test_any_model import arm


def quarter_car() -> Result:
    """Wheel and body over a hump: bonds of translation, nothing in space."""
    car, tyre, travel = Graph("quarter car"), J0("tyre", domain="translation"), J0("travel", domain="translation")
    wheel, body, strut = (J1(name, domain="translation") for name in ("wheel", "body", "strut"))
    road = Sf("road", lambda t: where(t < 0.1, 1.25 * sin(62.8 * t), 0.0), signals=["time"])
    car.connect(road, tyre).connect(tyre, C("tyre spring", stiffness=2e5)).connect(tyre, wheel)
    car.connect(wheel, I("wheel mass", mass=40.0)).connect(wheel, travel).connect(travel, body).connect(travel, strut)
    car.connect(strut, C("spring", stiffness=2e4)).connect(strut, R("damper", damping=1.2e3))
    return simulate(car.connect(body, I("body mass", mass=300.0)), 2.0, progress=False)


def boost() -> Result:
    """A boost converter: 400 periods at 20 kHz, each with four events."""
    volts = {"domain": "electrical"}
    coil, node, branch, out = J1("coil", **volts), J0("node", **volts), J1("branch", **volts), J0("out", **volts)
    graph = Graph("boost converter").connect(Se("battery", 12.0), coil).connect(coil, I("inductor", inductance=1e-4))
    graph.connect(coil, node).connect(node, Switch("transistor", automaton="gate", closed="on")).connect(node, branch)
    graph.connect(branch, out).connect(branch, Diode("diode")).connect(branch, R("wire", resistance=1e-3))
    graph.connect(out, C("smoothing", capacitance=2e-4)).connect(out, R("load", resistance=10.0))
    saw = {"parameters": {"f": 20e3}, "states": {"phase": 0.0}, "rates": {"phase": "rise"}}
    off = Transition("on", "off", lambda phase: phase - 0.5, ("saw.phase",))
    on = Transition("off", "on", lambda phase: phase - 1.0, ("saw.phase",), resets=(("saw.phase", lambda: 0.0, ()),))
    graph.add(Block("saw", [("rise", lambda f: f, "f")], **saw))
    graph.add_automaton(Automaton("gate", ("on", "off"), "on", (off, on)))
    return simulate(graph, 0.02, progress=False)


def sampled() -> Result:
    """A motor turned to an angle by a sampled PID."""
    drive, coil, shaft = Graph("sampled PID"), J1("coil", domain="electrical"), J1("shaft", domain="rotation")
    motor = GY("motor", ratio=0.05)
    drive.connect(Se("supply", lambda u: u, signals=["control.y"]), coil).connect(coil, R("winding", resistance=0.8))
    drive.connect(coil, I("inductance", inductance=5e-4)).connect(coil, motor.port("1")).connect(motor.port("2"), shaft)
    drive.connect(shaft, I("rotor", inertia=2e-4)).connect(shaft, R("bearing", damping=1e-4))
    drive.add(
        signals.step("goal", start=0.1, after=1.0),
        signals.integrator("angle", "shaft.flow", unit="rad"),
        signals.summation("error", {"goal.y": 1, "angle.y": -1}),
        signals.sampled_pid("control", "error.y", kp=4.0, kd=0.2, period=5e-3, time_constant=1e-2, limits=(-24.0, 24.0)),
    )
    return simulate(drive, 1.0, progress=False)


def eggs() -> Scene:
    """Two eggs that roll on each other."""
    return scene_of(simulate(two_body_graph(read_scenario("tests/models/data/S1a.json")), 0.06, samples=5e-4, progress=False))


def delta() -> Scene:
    """A delta robot, with what it should do beside what it does."""
    motion = transfer(PICK, PLACE, lift=0.08, velocity=1.0, acceleration=10.0, jerk=200.0, pause=0.2)
    return tracking_scene(track(DeltaParameters.fit(), motion, samples=5e-3))


def hand() -> Scene:
    """Three fingers with a ball: 76 bonds, nested graphs folded."""
    return hand_scene(run_hand(HandScenario("hand", 2.0, UP_AND_ASIDE[:1], HandParameters(fingers=3)), progress=False))


def maze() -> Scene:
    """A ball in a maze, with eight events in 45 s."""
    return maze_scene(run_maze(MazeParameters(), progress=False))


def table() -> Result:
    """An arm of three joints that touches a table."""
    return simulate(arm()[1], 0.6, progress=False)


def heap() -> Result:
    """Boxes that fall, in steps: bodies without bonds between them."""
    graph = collisions(Graph("heap"), [ground("floor", shape=HalfSpace()), *boxes(6)], friction=0.5, most=128)
    return pile(graph).simulate(1.0, step=0.01)


def gripper() -> Result:
    """Fingers that grip a disc, in steps with rigid contacts."""
    return runs()["coulomb"]


SHOWN: dict[str, tuple[Callable[[], Result | Scene], str]] = {
    "quarter car": (quarter_car, "spring.effort"),
    "boost converter": (boost, "smoothing.effort"),
    "sampled PID": (sampled, "angle.y"),
    "eggs": (eggs, "contact.gap"),
    "delta": (delta, "arm 1.mechanism.q"),
    "hand": (hand, "contact 0.gap"),
    "maze": (maze, "q.maze"),
    "arm on a table": (table, "touch.gap"),
    "heap": (heap, "box 0.twist"),
    "gripper": (gripper, "y spring.effort"),
}
"""Name -> how it is made, and a quantity that changes."""
