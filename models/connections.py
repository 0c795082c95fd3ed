"""Connections between bodies: junctions, screw transformers and half arrows from ports and poses of two bodies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from bondgraph import J0, MTF, Element, Graph, Op
from bondgraph.errors import Place, refusal
from bondgraph.model.domains import SCREW, TRANSLATION
from bondgraph.model.element import PortRef
from bondgraph.model.laws import Action
from screws.poses import Ad, pose_from_state
from screws.rotations import tilde
from screws.scalars import array
from screws.surfaces import Surface
from screws.twists import transform_twist, transform_wrench_back


class Touchable(Protocol):
    @property
    def name(self) -> str:
        """Name in messages."""

    @property
    def surface(self) -> Surface | None:
        """Surface in object coordinates, or None for a body without contacts."""

    @property
    def place(self) -> Place | None:
        """Line of the user's source."""

    @property
    def world(self) -> PortRef:
        """Port of the twist T_0_0_b."""

    @property
    def pose_path(self) -> str:
        """Path of the pose signal (7,) in the graph around the body."""

    @property
    def frame_path(self) -> str:
        """Path of the pose in the cheapest form, (7,) or (4, 4)."""


def connect_bodies(graph: Graph, part: Graph, bodies: Mapping[str, Touchable], cheapest: bool = False) -> Graph:
    """Connect a part to two `bodies`, given by the names of its ports: half arrows second body -> part -> first body, and the
    poses of both as its inputs `pose <port>`, (7,) unless it takes them in the `cheapest` form.

    Raises `ModelError` E458 for anything but a body, E488 for a part that is connected already, E591 if both bodies are the same.
    """
    (first, body1), (second, body2) = bodies.items()
    require_bodies(part, *bodies.values())
    refuse_attached(graph, part)
    if body1.world == body2.world and body1.pose_path == body2.pose_path:
        title = f'"{part.name}" would connect "{body1.name}" to itself'
        raise refusal("E591", title, "two bodies; ground(...) for one that never moves", about=part.name)
    graph.connect(body2.world, part.port(second)).connect(part.port(first), body1.world)
    for port, body in bodies.items():
        graph.wire(body.frame_path if cheapest else body.pose_path, part, f"pose {port}")
    return graph


def require_bodies(part: Graph, *bodies: Any) -> None:
    cures = "rigid_body(...), ground(...)", "a link of a chain: chain_graph(tree, ports=[link]).link(link)"
    for body in bodies:
        if not (hasattr(body, "world") and hasattr(body, "pose_path")):
            raise refusal("E458", f'"{part.name}" acts on {body!r}, which is not a body', *cures, about=part.name)


def refuse_attached(graph: Graph, part: Graph) -> None:
    if any(name == part.name for name, _ in graph.wires) and graph.parts.get(part.name) is part:
        title = f'"{part.name}" is attached in "{graph.name}" already'
        cures = "a similar part with another name", f'graph.remove("{part.name}") first, to attach it elsewhere'
        raise refusal("E488", title, *cures, about=part.name)


def two_body_part(name: str, fed_by: str) -> tuple[Graph, Element]:
    graph = Graph(name).declare_input("pose a", "pose b", fed_by=fed_by)
    relative = J0("relative twist", domain=SCREW, frame="0", symbols={"effort": "W^0"})
    graph.expose("a", relative)
    graph.expose("b", relative)
    return graph, relative


def point_transformer(name: str, matrix: Op, signal: str) -> Element:
    return MTF(name, matrix, signals=[signal], dimensions=(6, 3), domains=(SCREW, TRANSLATION), frames=("0", "0"))


def velocity_at(point: Any) -> np.ndarray:
    """Return the map (3, 6) from a twist to the velocity of the body-fixed point that is now at `point`: v + omega x p."""
    return array(np.concatenate([-tilde(point), np.eye(3)], axis=1))


def screw_transformer(matrix: Op, action: Action, signal: str, frames: tuple[str, str], **options: Any) -> Element:
    return MTF("Ad", matrix, signals=[signal], dimensions=(6, 6), domains=(SCREW, SCREW), frames=frames, action=action, **options)


AD_SOURCE = "VI02 (4), corrected"

AD = Op("Ad", lambda pose: Ad(pose_from_state(pose)), r"\mathrm{Ad}_{#1}", AD_SOURCE)
AD_ACTION = Action(
    Op("twist", lambda pose, T: transform_twist(pose_from_state(pose), T), r"\mathrm{Ad}_{#1}\,#2", AD_SOURCE),
    Op("wrench back", lambda pose, W: transform_wrench_back(pose_from_state(pose), W), r"\mathrm{Ad}_{#1}^T\,#2", AD_SOURCE),
)
