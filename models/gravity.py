"""Central gravity: a force of constant size that draws one body to the origin of another, as a C between them."""

from __future__ import annotations

from typing import Any

import numpy as np

from bondgraph import J0, MTF, C, Graph, Op, Parameter
from bondgraph.model.domains import SCREW, TRANSLATION
from models.bodies import Body
from screws.poses import pose_from_state
from screws.rotations import tilde
from screws.scalars import array, sqrt


def _length(r: Any) -> Any:
    return sqrt(r[0] * r[0] + r[1] * r[1] + r[2] * r[2])


PULL = Op("pull", lambda r, size: size * r / _length(r), r"#2\,#1 / |#1|")
WELL = Op("well", lambda r, size: size * _length(r), r"#2\,|#1|")


def _origin_velocity(pose: Any) -> Any:
    """(3, 6) map from the world twist T_0_0_b to the velocity of the body's origin, v + omega x p."""
    p = pose_from_state(pose)[:3, 3]
    return array(np.concatenate([-tilde(p), np.eye(3)], axis=1))


ORIGIN = Op("origin velocity", _origin_velocity, r"\begin{bmatrix} -\tilde p & I \end{bmatrix}(#1)")


def central_gravity(name: str, drawn: Body, centre: Body, force: float) -> Graph:
    """Force of constant size `force` (N) on `drawn`, towards the origin of `centre`, which feels the reaction.

    The state of its C is the vector from the origin of `centre` to that of `drawn` in world coordinates, m; its energy
    is force * distance. Ports `drawn` and `centre` take the bodies' world twists; inputs `pose drawn`, `pose centre`.
    """
    graph = Graph(name).declare_input("pose drawn", "pose centre")
    distance = J0("relative velocity", domain=TRANSLATION, dimension=3, frame="0")
    ends = {}
    for label in ("drawn", "centre"):
        ends[label] = MTF(
            f"origin of {label}",
            ORIGIN,
            signals=[f"pose {label}"],
            dimensions=(6, 3),
            domains=(SCREW, TRANSLATION),
            frames=("0", "0"),
        )
    graph.connect(ends["drawn"], distance)
    graph.connect(distance, ends["centre"].port("2"))
    graph.connect(
        distance,
        C(
            "spring",
            output=PULL,
            energy=WELL,
            parameters={"force": Parameter(force, "N")},
            initial=np.zeros(3),
            symbols={"q": "r"},
        ),
    )
    graph.expose("drawn", ends["drawn"].port("1"))
    graph.expose("centre", ends["centre"].port("1"))
    graph.start(
        lambda pose2, pose1: (np.asarray(pose2)[4:] - np.asarray(pose1)[4:],), ["pose drawn", "pose centre"], ["spring.q"]
    )
    return graph


def attach_central_gravity(graph: Graph, gravity: Graph, drawn: Body, centre: Body) -> None:
    """Connect a central gravity to its two bodies in the graph around them."""
    graph.connect(drawn, gravity.port("drawn"))
    graph.connect(gravity.port("centre"), centre)
    graph.wire(f"{drawn.name}.pose", gravity, "pose drawn")
    graph.wire(f"{centre.name}.pose", gravity, "pose centre")
