"""Forces between points of two bodies: a translational spring with a damper along its line, a line force, and central gravity.

```
 b --> MTF --> 0 --> MTF --> a      velocities of the two points
               |
               C                    1/2 k (|r| - L)^2, with an R beside it at a 1-junction if there is damping
              MTF --> 1 line        of a line force: the rate of |r|
```
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from screwbond.models.connections import Touchable, connect_bodies, point_transformer, require_bodies, velocity_at
from screwbond.models.springs.formulas import point_energy, point_force, spring_error, spring_of_signal

from bondgraph import J0, J1, MTF, Block, C, Element, Graph, Op, Parameter, R
from bondgraph.errors import refusal
from bondgraph.model.arguments import in_units
from bondgraph.model.domains import TRANSLATION
from bondgraph.model.model import Visible
from screws.numeric_arguments import floats, real
from screws.poses import pose_from_state
from screws.scalars import array
from screws.vectors import dot, length


def _world_position(pose: Any, point: Any) -> Any:
    H = pose_from_state(pose)
    return H[:3, :3] @ point + H[:3, 3]


POSITION = Op("place", _world_position, "#1\\,#2")
VELOCITY = Op("point velocity", velocity_at, r"\begin{bmatrix} -\tilde{#1} & \mathbf{1} \end{bmatrix}")

DIFFERENCE = Op("difference", lambda b, a: b - a, "#1 - #2")
LENGTH = Op("length", length, "|#1|")
DIRECTION = Op("direction", lambda r: array([[r[k] / length(r) for k in range(3)]]), r"#1^T / |#1|")
WITHOUT_LENGTH = (
    Op("force", lambda k, r: k * r, "#1\\,#2"),
    Op("energy", lambda k, r: 0.5 * k * dot(r, r), r"\tfrac12 #1 |#2|^2"),
)
ALONG = Op("damping", lambda v, c, r: c * dot(r, v) / dot(r, r) * r, r"#2\,#3\,(#3 \cdot #1) / |#3|^2")
WITH_LENGTH = (
    Op("force", lambda k, L, r: point_force(r, k, L), r"#1 (1 - #2 / |#3|)\,#3"),
    Op("energy", lambda k, L, r: point_energy(r, k, L), r"\tfrac12 #1 (|#3| - #2)^2"),
)


@in_units(stiffness="N/m", point_a="m", point_b="m", rest_length="m", damping="N s/m")
def point_spring(
    name: str,
    stiffness: float,
    point_a: Any = (0.0, 0.0, 0.0),
    point_b: Any = (0.0, 0.0, 0.0),
    rest_length: float = 0.0,
    damping: float = 0.0,
) -> Graph:
    """Return a spring between `point_a` of body a and `point_b` of body b, in object coordinates, m.

    Ports `a`, `b` for world twists, inputs `pose a`, `pose b` ((7,) or (4, 4)): `attach_between` connects them.

    Parameters
    ----------
    stiffness : N/m.
    rest_length : m; at zero the force is k r, else k (|r| - L) along the line, which has no direction at r = 0.
    damping : N s/m, times the rate of |r|; the force acts along the line.

    Signals: `r` (3,) from a to b in world coordinates, m; `force` (3,), N, on a (the force on b is its negative); `energy`.

    Raises `ModelError` E493 for a stiffness or damping that is negative or not finite, E495 for an invalid point, E497 for an
    invalid rest length.
    """
    for word, value, unit in (("stiffness", stiffness, "N/m"), ("damping", damping, "N s/m")):
        if not 0.0 <= real(value) < np.inf:
            raise spring_error("E493", name, f"{word} = {value!r}", f"a non-negative number, {unit}")
    if not 0.0 <= real(rest_length) < np.inf:
        raise spring_error("E497", name, f"rest_length = {rest_length!r}", "a non-negative length, m")
    graph, relative = _between_points(name, point_a, point_b, "attach_between(graph, spring, a, b)")
    spring = _spring(float(stiffness), float(rest_length))
    if damping:
        stretch = J1("stretch", domain=TRANSLATION, dimension=3, frame="0")
        numbers = {"damping": Parameter(float(damping), "N s/m")}
        damper = R("damper", effort=ALONG, parameters=numbers, signals=["points.r"], symbols={"damping": "c"})
        graph.connect(relative, stretch).connect(stretch, spring).connect(stretch, damper)
    else:
        graph.connect(relative, spring)
    graph.export("energy", "spring.energy")
    return graph.mark_visible(Visible("spring", {"a": "points.a", "b": "points.b"}, float(rest_length)))


def _between_points(name: str, point_a: Any, point_b: Any, fed_by: str) -> tuple[Graph, Element]:
    points = {"a": _point(name, "point_a", point_a), "b": _point(name, "point_b", point_b)}
    graph = Graph(name).declare_input("pose a", "pose b", fed_by=fed_by)
    relative = J0("relative velocity", domain=TRANSLATION, dimension=3, frame="0")
    a, b = (point_transformer(f"point of {label}", VELOCITY, f"points.{label}") for label in points)
    graph.connect(b, relative).connect(relative, a.port("2"))
    graph.add(
        Block(
            "points",
            [("a", POSITION, ["pose a", "point a"]), ("b", POSITION, ["pose b", "point b"]), ("r", DIFFERENCE, ["b", "a"])],
            inputs={"pose a": "pose a", "pose b": "pose b"},
            parameters={f"point {label}": Parameter(value, "m") for label, value in points.items()},
            units=dict.fromkeys("abr", "m"),
            symbols={"a": "p_a^0", "b": "p_b^0", "point a": "p_a^a", "point b": "p_b^b"},
        )
    )
    graph.expose("a", a.port("1")).expose("b", b.port("1"))
    graph.export("r", "points.r").export("force", "relative velocity.effort")
    return graph, relative


def _spring(stiffness: float, rest_length: float) -> Element:
    laws, values = WITHOUT_LENGTH, {"stiffness": stiffness}
    if rest_length:
        laws, values = WITH_LENGTH, {"stiffness": stiffness, "rest length": rest_length}
    return spring_of_signal(*laws, values, "points.r", 3, TRANSLATION, "0")


def _point(name: str, what: str, value: Any) -> np.ndarray:
    numbers = floats(value, (3,))
    if numbers is None:
        raise spring_error("E495", name, f"{what} = {value!r} is not a point", "three finite numbers, m")
    return numbers


@in_units(point_a="m", point_b="m")
def line_force(name: str, point_a: Any = (0.0, 0.0, 0.0), point_b: Any = (0.0, 0.0, 0.0)) -> Graph:
    """Return the line between `point_a` of body a and `point_b` of body b, in object coordinates, m, as a scalar port `line`.

    The flow of `line` is the rate of the distance |r|, m/s. A source into it pushes the points apart:
    `graph.connect(Se("oil", 5e4), cylinder.port("line"))`. A spring, damper or friction element that the line drives resists
    motion: `graph.connect(cylinder.port("line"), R("seal", 10.0))`. A line with an open port is free.

    Ports `a`, `b` and inputs `pose a`, `pose b`: `attach_between` connects them. Signals: `r` (3,) from a to b in world
    coordinates, m; `length` |r|; `force` (3,), N, on a (the force on b is its negative).

    Raises `ModelError` E495 for an invalid point. At |r| = 0 the line has no direction.

    Source: Modelica.Mechanics.MultiBody.Forces.LineForceWithMass, without the mass.
    """
    graph, relative = _between_points(name, point_a, point_b, "attach_between(graph, line, a, b)")
    along = MTF("along", DIRECTION, signals=["points.r"], dimensions=(3, 1), domains=(TRANSLATION, TRANSLATION))
    line = J1("line", dimension=1, domain=TRANSLATION)
    graph.connect(relative, along).connect(along, line).expose("line", line)
    graph.add(Block("distance", [("length", LENGTH, ["r"])], inputs={"r": "points.r"}, units={"length": "m"}))
    graph.export("length", "distance.length")
    return graph.mark_visible(Visible("line force", {"a": "points.a", "b": "points.b"}))


FORCE = Op("pull", lambda r, size: size * r / length(r), r"#2\,#1 / |#1|")
ENERGY = Op("well", lambda r, size: size * length(r), r"#2\,|#1|")
ORIGIN_VELOCITY = Op(
    "origin velocity",
    lambda pose: velocity_at(pose_from_state(pose)[:3, 3]),
    r"\begin{bmatrix} -\tilde p & \mathbf{1} \end{bmatrix}" + "\n" + "(R, p) = #1",
)


class CentralGravity(Graph):
    def __init__(self, name: str, drawn: Touchable, centre: Touchable):
        super().__init__(name)
        require_bodies(self, drawn, centre)
        self.bodies = drawn, centre
        self.declare_input("pose drawn", "pose centre", fed_by="attach_central_gravity(graph, gravity)")


@in_units(force="N")
def central_gravity(name: str, drawn: Touchable, centre: Touchable, force: float) -> CentralGravity:
    """Build a force of constant magnitude `force` (N) on `drawn`, towards the origin of `centre`, on which the reaction acts.

    The state of its C is the vector, in world coordinates, m, from the origin of `centre` to the origin of `drawn`; its energy
    is force * distance. `attach_central_gravity` connects the bodies. Raises `ModelError` E458 for anything but a body, E113 for
    a force that is not a finite number.
    """
    if not math.isfinite(real(force)):
        raise refusal("E113", f'"{name}": force = {force!r}', "a finite number, N", about=name)
    graph = CentralGravity(name, drawn, centre)
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


def attach_central_gravity(
    graph: Graph, gravity: CentralGravity, drawn: Touchable | None = None, centre: Touchable | None = None
) -> Graph:
    """Connect a central gravity to its bodies, by default those given to `central_gravity`. Return the graph.

    Raises `ModelError` E458 for anything but a body or a central gravity, E488 for a part that is attached already, E591 if both
    bodies are the same.
    """
    if not isinstance(gravity, CentralGravity):
        cure = 'central_gravity("pull", drawn, centre, force=9.81), or attach_between for a part with ports a and b'
        raise refusal("E458", f"{gravity!r} is not a central gravity", cure, about="attach_central_gravity")
    first, second = gravity.bodies
    return connect_bodies(graph, gravity, {"centre": centre or second, "drawn": drawn or first})
