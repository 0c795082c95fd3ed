"""A robot from a URDF file: motors hold a crane against its weight until they fail, and the crane falls onto its stops.

The URDF file next to this script has a tree of links: a column, a boom, a jib, and a gripper whose right jaw follows the left.
The motors of shoulder and elbow are sources of the torques that gravity_forces gives for the start pose, until they fail.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from screwbond.models.chains import chain_graph, gravity_forces
from screwbond.models.robots import Robot, read_urdf, robot_scene

from bondgraph import Graph, Op, Result, Se, simulate
from screws.scalars import where

FILE = Path(__file__).with_suffix(".urdf")
GRAVITY = (0.0, 0.0, -9.81)  # m/s^2
POSE = {"turn": 0.4, "shoulder": -0.8, "elbow": 0.6, "left slide": 0.03}
FAILURE = 0.5  # s


def read() -> Robot:
    """Return the crane with the shapes of its <visual> elements."""
    return read_urdf(FILE, meshes="visual")


def holding(robot: Robot) -> Graph:
    """Return the crane under its weight, with motors that hold the start pose until they fail."""
    graph, q = Graph("held"), robot.position(POSE)
    stops = {"limits": "stop", "stop_stiffness": 4e3}
    crane = chain_graph(robot.tree, "crane", gravity=GRAVITY, position=q, joint_ports=["boom", "jib"], **stops)
    torques = np.asarray(gravity_forces(robot.tree, GRAVITY, q), dtype=float)
    for link in ("boom", "jib"):
        torque = float(torques[robot.tree.coordinates.index(link)])
        held = Op("motor", lambda t, torque=torque: where(t < FAILURE, torque, 0.0), rf"{torque:.4g}\,[#1 < {FAILURE}]")
        graph.connect(Se(f"motor of the {link}", held, signals=["time"]), crane.port(f"joint {link}"))
    return graph


def run(t_end: float = 3.0) -> Result:
    """Simulate the crane, held for half a second and then falling."""
    return simulate(holding(read()), t_end, samples=0.01)


if __name__ == "__main__":
    from screwbond.models.pictures import movie, rendering, save_scene, still
    from screwbond.models.studies.tasks import output_folder

    out = output_folder(__doc__, "demo/urdf_robot")
    robot, result = read(), run()
    print(robot)
    print(*(f"{event.time:.3f} s: {event.kind}" for event in result.events), sep="\n")
    scene = robot_scene(robot, result["crane.q"], result.t, "A crane whose motors fail")
    save_scene(scene, out / "fall.glb", seconds=6.0)
    works, reason = rendering()
    if works:
        still(scene, out / "held.png", 0.0)
        movie(scene, out / "fall.mp4", seconds=6.0)
        print(f"  pictures in {out}")
    else:
        print(f"  no pictures: {reason}")
