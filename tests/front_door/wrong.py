"""Wrong inputs with their corrections, and models for their tests."""

from __future__ import annotations

import functools
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from screwbond.models.chains import BodyInertia, Chain, Link
from screwbond.models.robots import to_urdf

import screwbond as sb
from bondgraph import J1, Automaton, C, Compiled, Graph, I, R, Result, ScrewbondError, Se, Transition, signals
from screws import joints, pose


class Wrong(NamedTuple):
    """A wrong input, words of its message (the code first), and the corrected input."""

    wrong: Callable[[], Any]
    says: tuple[str, ...]
    right: Callable[[], Any]


def cart(*parts: Any) -> Graph:
    graph, v = Graph("cart"), J1("v", domain="translation")
    for part in (C("spring", stiffness=100.0), R("damper", damping=2.0), I("mass", mass=1.0), *parts):
        graph.connect(v, part)
    return graph.connect(Se("push", lambda y: y, signals=["gain.y"]), v).add(signals.gain("gain", "time", 2.0))


@functools.cache
def model() -> Compiled:
    return cart().compile(backend="numpy")


@functools.cache
def run() -> Result:
    return model().simulate(1.0, samples=11, progress=False)


def simulate(*arguments: Any, **settings: Any) -> Result:
    return model().simulate(*arguments, **{"samples": 11, "progress": False, **settings})


def pickled() -> Result:
    return pickle.loads(pickle.dumps(run()))  # noqa: S301 its own


def frozen(*parts: Any) -> Any:
    return cart(*parts).freeze()


def alone(part: Any) -> Any:
    return cart().add(part).freeze()


def ball(name: str = "ball") -> Any:
    return sb.rigid_body(name, mass=1.0, inertia=(1.0, 1.0, 1.0))


@functools.cache
def arm() -> Chain:
    hand = BodyInertia(1.0, np.eye(3))
    links = [
        Link(name, joints.revolute((0, 0, 1), (k, 0, 0)), hand, home=pose(np.eye(3), (k + 1, 0, 0)), limits=(-2.0, 2.0))
        for k, name in enumerate(("upper", "lower"))
    ]
    return Chain("arm", links)


def pushed(*forces: Any) -> Any:
    graph, body = Graph("flight"), ball()
    for force in forces:
        sb.attach_force(graph, force, body)
    return graph.freeze()


def twice() -> Any:
    graph, body, push = Graph("flight"), ball(), sb.force("push", (1, 0, 0))
    return sb.attach_force(sb.attach_force(graph, push, body), push, body).freeze()


def table(text: str, **arguments: Any) -> Any:
    path = Path("road.csv")
    path.write_text(text, encoding="utf-8")
    return signals.measured("road", path, **arguments)


def written(text: str) -> str:
    Path("cart.json").write_text(text, encoding="utf-8")
    return "cart.json"


def saved() -> Any:
    sb.save_model(Graph("cart").connect(Se("push", 1.0), I("mass", 1.0)), "cart.json")
    return sb.load_model("cart.json")


def switched(state: str) -> Any:
    door = Automaton("door", ("open", "shut"), state, [Transition("open", "shut", lambda t: t - 1.0, "time")])
    return cart().add_automaton(door).freeze()


def joined(a: Any, b: Any) -> Any:
    return sb.attach_joint(Graph("arm"), sb.joint_graph("hinge", joints.revolute((0, 0, 1))), a, b).freeze()


def driven(twist: Any) -> Any:
    graph, table = Graph("arm"), sb.prescribed_body("table", twist=twist)
    hinge = sb.joint_graph("hinge", joints.revolute((0, 0, 1)))
    return sb.attach_joint(graph, hinge, table, ball()).compile(backend="numpy")


def robot_file() -> str:
    Path("arm.urdf").write_text(to_urdf(arm()), encoding="utf-8")
    return "arm.urdf"


def connected(*ends: Any) -> Any:
    return Graph("g").connect(*ends)


def is_refused(row: Wrong) -> None:
    with pytest.raises(ScrewbondError) as caught:
        row.wrong()
    text = str(caught.value)
    assert all(word in text for word in row.says), text
    assert "try: " in text or "did you mean" in text, text
    row.right()
