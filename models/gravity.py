"""Central gravity: a force of constant magnitude that pulls one body to the origin of another, as a C between them."""

from __future__ import annotations

import numpy as np
from screwbond.models.bodies import Body
from screwbond.models.connections import connect_bodies, point_transformer, velocity_at

from bondgraph import J0, C, Graph, Op, Parameter
from bondgraph.model.arguments import in_units
from bondgraph.model.domains import TRANSLATION
from screws.poses import pose_from_state
from screws.vectors import length

FORCE = Op("pull", lambda r, size: size * r / length(r), r"#2\,#1 / |#1|")
ENERGY = Op("well", lambda r, size: size * length(r), r"#2\,|#1|")
ORIGIN_VELOCITY = Op(
    "origin velocity",
    lambda pose: velocity_at(pose_from_state(pose)[:3, 3]),
    r"\begin{bmatrix} -\tilde p & \mathbf{1} \end{bmatrix}" + "\n" + "(R, p) = #1",
)


@in_units(force="N")
def central_gravity(name: str, drawn: Body, centre: Body, force: float) -> Graph:
    """Build a force of constant magnitude `force` (N) on `drawn`, towards the origin of `centre`, which feels the reaction.

    The state of its C is the vector from the origin of `centre` to that of `drawn` in world coordinates, m; its energy
    is force * distance. Ports `drawn` and `centre` take the bodies' world twists; inputs `pose drawn`, `pose centre`.
    """
    graph = Graph(name).declare_input("pose drawn", "pose centre", fed_by="attach_central_gravity(graph, gravity, drawn, centre)")
    distance = J0("relative velocity", domain=TRANSLATION, dimension=3, frame="0")
    end1, end2 = (point_transformer(f"origin of {label}", ORIGIN_VELOCITY, f"pose {label}") for label in ("drawn", "centre"))
    parameters = {"force": Parameter(force, "N")}
    spring = C("spring", output=FORCE, energy=ENERGY, parameters=parameters, initial=np.zeros(3), symbols={"q": "r"})
    graph.connect(end1, distance).connect(distance, end2.port("2")).connect(distance, spring)
    graph.expose("drawn", end1.port("1"))
    graph.expose("centre", end2.port("1"))
    graph.start(
        lambda pose2, pose1: (np.asarray(pose2)[4:] - np.asarray(pose1)[4:],), ["pose drawn", "pose centre"], ["spring.q"]
    )
    return graph


def attach_central_gravity(graph: Graph, gravity: Graph, drawn: Body, centre: Body) -> None:
    """Connect a central gravity to its two bodies in the graph around them."""
    connect_bodies(graph, gravity, {"centre": centre, "drawn": drawn})
