"""Applied forces, torques and wrenches: effort sources at a point of a body, in world or body axes.

```
 Se source --> MTF --> world      the flow of the source is the velocity of the point, in the axes of the force
```
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from screwbond.models.connections import Touchable, refuse_attached

from bondgraph import MTF, Block, Element, Graph, Op, Parameter, Se
from bondgraph.elements.binding import Signals
from bondgraph.errors import refusal
from bondgraph.model.arguments import in_units, names_of
from bondgraph.model.domains import ROTATION, SCREW, TRANSLATION, Domain
from bondgraph.model.element import PortRef
from bondgraph.model.model import Visible
from screws.arrays import Vector3
from screws.numeric_arguments import floats
from screws.poses import Ad_of_inverse, pose, pose_from_state

AXES = ("world", "body")

Applied = Vector3 | Callable[..., Any]

_ROWS = {ROTATION: slice(0, 3), TRANSLATION: slice(3, 6), SCREW: slice(0, 6)}


class AppliedForce(Graph):
    """Graph of an applied force, torque or wrench, which `attach_force` connects to its body.

    Signals: `velocity` of the point in the axes of the force (velocity times force is the power), for a torque the angular
    velocity, for a wrench the twist; `wrench` (6,), on the body in world coordinates; `point` (3,), in the world, m.
    """

    def __init__(self, name: str, paths: Sequence[str]):
        super().__init__(name)
        self.paths = {f"input {k}": path for k, path in enumerate(paths, start=1)}
        self.declare_input("pose", *self.paths, fed_by="attach_force(graph, part, body)")


def _place(axes: str) -> Op:
    def frame(body: Any, at: Any) -> Any:
        H = pose_from_state(body)
        return pose(H[:3, :3] if axes == "body" else np.eye(3), H[:3, 3] + H[:3, :3] @ at)

    return Op("place", frame, r"H_c^0(#1, #2)")


_PLACES = {axes: _place(axes) for axes in AXES}
_TWISTS = {
    domain: Op("twist", lambda H, rows=rows: Ad_of_inverse(H)[rows], r"\left(\mathrm{Ad}_{(#1)^{-1}}\right)")
    for domain, rows in _ROWS.items()
}
_ORIGIN = Op("origin", lambda H: H[:3, 3], "p(#1)")


@in_units(force="N", at="m")
def force(
    name: str, force: Applied, *, at: Vector3 = (0.0, 0.0, 0.0), axes: str = "world", signals: Signals = ()
) -> AppliedForce:
    """Return a force (3,), N, at a point of a body, to which `attach_force(graph, part, body)` connects it.

    Parameters
    ----------
    force : three numbers, or a function of `signals` that returns them, as for `Se`.
    at : point of application in object coordinates, m; it moves with the body.
    axes : axes of the components: "world", or "body" for a force that turns with the body, such as a thrust.
    signals : paths in the graph around the body, arguments of the function.

    Signals of the part: `velocity` (3,), `wrench` (6,), `point` (3,); see `AppliedForce`. Parameters: `source.value`, `place.at`.

    Raises `ModelError` E337 for invalid components, point or axes.
    """
    return _applied(name, force, TRANSLATION, at, axes, signals)


@in_units(torque="N m")
def torque(name: str, torque: Applied, *, axes: str = "world", signals: Signals = ()) -> AppliedForce:
    """Return a torque (3,), N m, on a body; the other arguments are those of `force`, without `at`."""
    return _applied(name, torque, ROTATION, (0.0, 0.0, 0.0), axes, signals)


@in_units(wrench="N m, N", at="m")
def wrench(
    name: str, wrench: Applied, *, at: Vector3 = (0.0, 0.0, 0.0), axes: str = "world", signals: Signals = ()
) -> AppliedForce:
    """Return a wrench [torque; force] (6,), N m and N, about the point `at` of a body; the other arguments are those of
    `force`."""
    return _applied(name, wrench, SCREW, at, axes, signals)


def _applied(name: str, value: Applied, domain: Domain, at: Vector3, axes: str, signals: Signals) -> AppliedForce:
    size = 6 if domain is SCREW else 3
    point = floats(at, (3,))
    if axes not in AXES:
        cure = 'axes="world", or axes="body" for a force that turns with the body'
        raise refusal("E337", f'the axes of "{name}" are {axes!r}', cure, about=name)
    if point is None:
        raise refusal("E337", f'the point of "{name}" is {at!r}', "three finite numbers in object coordinates, m", about=name)
    if not callable(value) and floats(value, (size,)) is None:
        cure = f"{size} finite numbers, or a function of signals that returns them"
        raise refusal("E337", f'"{name}" has the components {value!r}', cure, about=name)
    paths = list(signals.values()) if isinstance(signals, Mapping) else names_of(signals, "signals", name)
    part = AppliedForce(name, paths)
    read: Signals = dict(zip(signals, part.paths, strict=True)) if isinstance(signals, Mapping) else [*part.paths]
    frame = "body" if axes == "body" else "0"
    source = Se("source", value, signals=read, dimension=size, domain=domain, frame=frame)
    twist = MTF("twist", _TWISTS[domain], signals=["place.H"], dimensions=(6, size), domains=(SCREW, domain), frames=("0", frame))
    part.add(
        Block(
            "place",
            [("H", _PLACES[axes], ["pose", "at"]), ("p", _ORIGIN, ["H"])],
            inputs={"pose": "pose"},
            parameters={"at": Parameter(point, "m")},
            units={"H": "1, m", "p": "m"},
            symbols={"H": "H_c^0", "p": "p_c^0", "at": "p_c"},
        )
    )
    part.connect(source, twist.port("2")).expose("body", twist.port("1"))
    part.export("velocity", "source.flow").export("wrench", "twist.1.effort").export("point", "place.p")
    part.mark_visible(Visible("force", {"point": "place.p", "wrench": "twist.1.effort"}))
    return part


def attach_force(graph: Graph, part: AppliedForce, body: Touchable) -> Graph:
    """Connect an applied force to its body in the graph that contains both, with a half arrow to the body and the signals of its
    function, and return the graph.

    Raises `ModelError` E336 if `part` is not a force, torque or wrench, or if `body` is not a body or is inside another part;
    E488 if the force is attached already.
    """
    if not isinstance(part, AppliedForce):
        cure = 'attach_force(graph, force("push", (10.0, 0.0, 0.0)), body)'
        raise refusal("E336", f"{part!r} is not an applied force", cure, about=graph.name)
    port = getattr(body, "world", None)
    if not isinstance(port, PortRef):
        cures = "rigid_body(...), ground(...)", "a link of a chain: chain_graph(tree, ports=[link]).link(link)"
        raise refusal("E336", f'"{part.name}" acts on {body!r}, which is not a body', *cures, about=part.name)
    holder = _holder(graph, port.owner)
    if holder is not None:
        title = f'"{part.name}" acts on "{body.name}", which is inside "{holder.name}" and not in "{graph.name}" itself'
        raise refusal("E336", title, f'attach_force(graph["{holder.name}"], part, body)', about=part.name)
    refuse_attached(graph, part)
    graph.connect(part.port("body"), port)
    graph.wire(body.frame_path, part, "pose")
    for name, path in part.paths.items():
        graph.wire(path, part, name)
    return graph


def _holder(graph: Graph, part: Graph | Element) -> Graph | None:
    inside = [inner for inner in graph.parts.values() if isinstance(inner, Graph)]
    return next((inner for inner in inside if any(each is part for each in inner.parts.values()) or _holder(inner, part)), None)
