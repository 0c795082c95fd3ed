"""Planar bodies and their contacts: graphs from masses, start poses, contact points and faces.

```
 body 2 --> 0 normal  --> body 1       flow: rate of the gap
 body 2 --> 0 tangent --> body 1       flow: slip
```

Time stepping (`bondgraph.stepping`) treats a contact as rigid. Its gap is the integral of a flow, so it needs no closest-point
search, and suits mechanisms in generalised coordinates as well as bodies with corners and faces.

Pictures show what `planar_body` and `attach_planar_contact` build; mark a mechanism in other coordinates with `mark_planar_body`
and `mark_planar_contact`, which do not affect the mechanics.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from screwbond.models.visuals import Visual, visuals_of

from bondgraph import J0, J1, MTF, Block, Graph, I, Op, Parameter, Se, StateSpec
from bondgraph.errors import refusal
from bondgraph.model.arguments import in_units, refused
from bondgraph.model.domains import TRANSLATION, motions
from bondgraph.model.element import PortRef
from bondgraph.model.model import ContactPoint, SignalEntry, Visible
from bondgraph.signals import integrator
from screws.arrays import Row
from screws.numeric_arguments import floats, length, real, shown
from screws.scalars import array, cos, sin

PlaceSignals = str | Mapping[str, str]
"""Signal (2,) or (3,) of x, y and the angle, or scalar signals by the keys "x", "y" and "angle"; missing ones are zero."""

Outline = float | Sequence[Row] | np.ndarray
"""Radius of a disc, or corners (n, 2) of a convex polygon, m."""

COORDINATES = ("x", "y", "angle")


@dataclass(frozen=True, eq=False)
class PlanarAppearance:
    """Appearance of a planar body.

    Attributes
    ----------
    outline : radius of a disc about its origin, or corners (n, 2) of a convex polygon in its axes, m; None: unknown.
    visuals : visuals that pictures show instead of the outline.
    mass, inertia : kg, kg m^2; they size the square drawn for a body without an outline; None: unknown.
    gravity : along -y, m/s^2.
    """

    outline: float | np.ndarray | None = None
    visuals: tuple[Visual, ...] = ()
    mass: float | None = None
    inertia: float | None = None
    gravity: float = 0.0


@dataclass(frozen=True, eq=False)
class PlanarContactGeometry:
    """Contact point on one body and straight face on another body or on the world.

    Attributes
    ----------
    point : (2,) in the axes of its body, m.
    normal, offset : (2,) outward unit normal of the face in the axes of its body, and the distance of the face from the origin
        along this normal, m.
    slip : (2,) unit vector in the axes of the face's body along which the slip of the point is positive.
    """

    point: np.ndarray
    normal: np.ndarray
    offset: float
    slip: np.ndarray


def mark_planar_body(
    graph: Graph,
    name: str,
    place: PlaceSignals,
    *,
    outline: Outline | None = None,
    visual: Visual | Sequence[Visual] | None = None,
) -> Graph:
    """Mark a moving object in the plane of x and y, so that pictures show it.

    Parameters
    ----------
    place : pose of its origin: a signal (x, y, angle), or {"x": ..., "y": ..., "angle": ...} with scalar signals, m and rad; a
        missing signal is zero.
    outline : radius of a disc, or corners (n, 2) of a convex polygon in its axes, m.
    visual : a `Visual`, or several, that pictures show instead of the outline.

    Return the graph. Raises `ModelError` E575 for invalid places and outlines, E576 for an invalid visual.
    """
    appearance = PlanarAppearance(check_outline(name, outline), visuals_of(name, visual))
    return graph.mark_visible(Visible("planar body", _signals(name, place), appearance, name))


def mark_planar_contact(
    graph: Graph,
    name: str,
    point: tuple[PlaceSignals, Row],
    face: tuple[PlaceSignals | None, Row, float],
    slip: Row | None = None,
) -> Graph:
    """Mark the location of the contact `name` of a graph, so that pictures show its frames and forces.

    Parameters
    ----------
    point : the place of a body, as given to `mark_planar_body`, and the point in the axes of the body, m.
    face : the place of its body, or None for the world; the outward normal in the axes of that body; and the distance of the face
        from the origin along the normal, m.
    slip : direction in the axes of the face's body in which the slip of the point is positive; None: the normal rotated by -90
        degrees, as in `attach_planar_contact`.

    Return the graph. Raises `ModelError` E575 for an invalid place, normal or slip.
    """
    (body, contact_point), (other, outward, offset) = point, face
    normal = _direction(name, "normal", outward)
    direction = np.array([normal[1], -normal[0]]) if slip is None else _direction(name, "slip", slip)
    signals = {f"point {use}": signal for use, signal in _signals(name, body).items()}
    signals |= {f"face {use}": signal for use, signal in ({} if other is None else _signals(name, other)).items()}
    geometry = PlanarContactGeometry(np.asarray(contact_point, dtype=float), normal, float(offset), direction)
    return graph.mark_visible(Visible("planar touch", signals, geometry, name))


def _direction(name: str, what: str, vector: Any) -> np.ndarray:
    numbers = floats(vector, (2,))
    if numbers is None or not np.any(numbers):
        cure = "two finite numbers, not both zero, such as (0.0, 1.0)"
        raise refusal("E575", f'the {what} of "{name}" is {vector!r}', cure, about=name)
    return numbers / np.linalg.norm(numbers)


def check_outline(name: str, outline: Any) -> float | np.ndarray | None:
    if outline is None:
        return None
    radius = floats(outline, ())
    if radius is not None and radius > 0.0:
        return float(radius)
    corners = floats(outline, (len(outline), 2)) if radius is None and np.ndim(outline) == 2 else None
    if corners is not None and len(corners) > 2:
        edges = np.roll(corners, -1, axis=0) - corners
        next_edges = np.roll(edges, -1, axis=0)
        cross_products = edges[:, 0] * next_edges[:, 1] - edges[:, 1] * next_edges[:, 0]
        # One revolution, always in the same direction.
        total_angle = np.arctan2(cross_products, np.sum(edges * next_edges, axis=1)).sum()
        if np.all(cross_products > 0.0) and total_angle < 7.0:
            return corners
        if np.all(cross_products < 0.0) and total_angle > -7.0:
            return corners[::-1].copy()
    title = f'the outline of "{name}" is {outline!r}'
    cures = ("a radius in m, outline=0.1", "corners of a convex polygon in order, outline=[(0, 0), (0.2, 0), (0, 0.1)]")
    raise refusal("E575", title, *cures, about=name)


def _signals(name: str, place: Any) -> dict[str, str]:
    if isinstance(place, str):
        return {"place": place}
    if (
        isinstance(place, Mapping)
        and place
        and set(place) <= set(COORDINATES)
        and all(isinstance(signal, str) for signal in place.values())
    ):
        return dict(place)
    cure = 'a signal (x, y, angle) such as "box.place", or signals by key: {"x": "cart place.y"}; keys: x, y, angle'
    raise refusal("E575", f'the place of "{name}" is {place!r}', cure, about=name)


_GAP_RATE = Op("gap rate", lambda rate, *_: rate, "#1")


@in_units(gap="m", friction="1")
def planar_contact(name: str, *, gap: float = 0.0, friction: float | None = None) -> Graph:
    """Build a contact between coordinates, with the ports `normal` and, with friction, `tangent`.

    The flow of a half arrow into `normal` opens the gap, and that of a half arrow out of it closes the gap; the flow of `tangent`
    is the slip, with the same signs.

    Parameters
    ----------
    gap : gap at the start, m.
    friction : coefficient; None: frictionless.

    Signals: `gap` m, `slip` m/s. Raises `ModelError` E503 for an invalid gap or friction.
    """
    _check_numbers(name, gap=gap, friction=friction)
    graph = Graph(name)
    normal = J0("normal", domain=TRANSLATION)
    graph.connect(normal, Se("no force", 0.0))
    parameters = {} if friction is None else {"friction": Parameter(float(friction))}
    graph.add(
        Block(
            "place",
            [("rate", _GAP_RATE, ["v", *parameters])],
            inputs={"v": "no force.flow"},
            states={"gap": StateSpec(float(gap), unit="m")},
            rates={"gap": "rate"},
            parameters=parameters,
        )
    )
    graph.expose("normal", normal)
    slip: tuple[SignalEntry, ...] = ()
    if friction is not None:
        tangent = J0("tangent", domain=TRANSLATION)
        graph.connect(tangent, Se("no friction", 0.0))
        graph.expose("tangent", tangent)
        graph.export("slip", "no friction.flow")
        slip = (SignalEntry("no friction.flow"),)
    graph.mark_contact(ContactPoint("", "place.gap", "place.rate", None, slip, "place.friction" if slip else None))
    graph.export("gap", "place.gap")
    return graph


class PlanarBody(Graph):
    """Graph of a body in a plane; `start` is its start pose: (3,), or (2,) for a body that does not rotate."""

    def __init__(self, name: str, start: np.ndarray):
        super().__init__(name)
        self.start_place = start

    @property
    def motion(self) -> PortRef:
        """Port of the velocities of the centre, m/s, and of the angular velocity, rad/s, if the body rotates."""
        return self.port("motion")


@in_units(mass="kg", inertia="kg m^2", gravity="m/s^2", outline="m")
def planar_body(
    name: str,
    *,
    mass: float,
    inertia: float | None = None,
    place: Row = (0.0, 0.0, 0.0),
    gravity: float = 0.0,
    outline: Outline | None = None,
    visual: Visual | Sequence[Visual] | None = None,
) -> PlanarBody:
    """Build a body in the plane of x and y, with the port `motion` and the signal `place`: (x, y, angle), without inertia (x, y).

    Parameters
    ----------
    mass : kg.
    inertia : kg m^2 about its centre; None: the body does not rotate.
    place : start pose of its centre of mass, m and rad; without inertia the angle is zero.
    gravity : along -y, m/s^2.
    outline : for pictures only: radius of a disc, or corners (n, 2) of a convex polygon in its axes, m; None: the square that
        has its inertia, or a dot.
    visual : a `Visual`, or several, that pictures show instead of the outline.

    Raises `ModelError` E503 for invalid values, E150 for an invalid place, E575 and E576 for an invalid outline or visual.
    """
    _check_numbers(name, mass=mass, inertia=inertia, gravity=gravity)
    numbers = floats(place, (2,), (3,))
    if numbers is None:
        raise refused("place", place, "finite x, y and angle, in m and rad", "place=(0.0, 1.0, 0.0)")
    if inertia is None and any(numbers[2:]):
        raise refused("place", place, "(x, y), in m: a body without inertia does not rotate", "place=(0.0, 1.0)")
    start = np.array([*numbers, 0.0][:3] if inertia is not None else numbers[:2])
    size = len(start)
    body = PlanarBody(name, start)
    junction = J1("motion", domain=motions([False, False, True][:size]), dimension=size)
    body.connect(junction, I("inertia", (mass, mass, inertia)[:size]))
    if gravity != 0.0:
        body.connect(Se("weight", (0.0, -mass * gravity, 0.0)[:size]), junction)
    body.add(integrator("position", "inertia.flow", initial=start, dimension=size))
    body.expose("motion", junction)
    body.export("place", "position.y")
    appearance = PlanarAppearance(check_outline(name, outline), visuals_of(name, visual), mass, inertia, gravity)
    body.mark_visible(Visible("planar body", {"place": "position.y"}, appearance))
    return body


@in_units(friction="1")
def attach_planar_contact(
    graph: Graph,
    name: str,
    point: tuple[PlanarBody, Row],
    face: tuple[PlanarBody | None, Row, float],
    friction: float | None = None,
) -> Graph:
    """Add a contact between a point of one body and a straight face of another body or of the world (None).

    Parameters
    ----------
    point : the body, and the point in its axes, m.
    face : the body or None, the outward normal in its axes, and the distance of the face from the body's origin along the normal,
        m.
    friction : coefficient; None: frictionless.

    Return the contact, which is `graph.<name>`. Raises `ModelError` E503 for an invalid point, face or friction.
    """
    if length(point) != 2 or length(face) != 3:
        cure = "attach_planar_contact(graph, name, (body, (x, y)), (None, (0.0, 1.0), 0.0))"
        raise refusal("E503", f'the point or the face of "{name}" is incomplete', cure, about=name)
    (body, corner), (other, outward, offset) = point, face
    c, normal = floats(corner, (2,)), floats(outward, (2,))
    if c is None or normal is None or not np.linalg.norm(normal) > 0.0:
        title = f'"{name}" has the point {shown(corner)} and the normal {shown(outward)}'
        raise refusal("E503", title, "two finite numbers each; a normal has a length above 0", about=name)
    normal = normal / np.linalg.norm(normal)
    gap = _gap(c, normal, offset)
    starts = [each.start_place for each in (body, other) if each is not None]
    contact = planar_contact(name, gap=gap(*starts)[0], friction=friction)
    graph.add(contact)
    face_signal = None if other is None else f"{other.name}.place"
    mark_planar_contact(graph, name, (f"{body.name}.place", corner), (face_signal, outward, offset))
    signals = [f"{body.name}.place", *([] if other is None else [f"{other.name}.place"])]
    graph.start(gap, signals, [f"{name}.place.gap"])
    for port, direction in (("normal", normal), *([] if friction is None else [("tangent", np.array([normal[1], -normal[0]]))])):
        for number, partner in enumerate((body, other)):
            if partner is not None:
                lever = MTF(
                    f"{name} {port} of {partner.name}",
                    _lever(c, direction, number, len(partner.start_place)),
                    signals=signals,
                    dimensions=(len(partner.start_place), 1),
                )
                if number == 0:
                    graph.connect(partner.motion, lever).connect(lever, contact.port(port))
                else:
                    graph.connect(contact.port(port), lever.port("2")).connect(lever.port("1"), partner.motion)
    return contact


def _rotated(place: Any, vector: Any) -> Any:
    if len(place) < 3:
        return array([vector[0], vector[1]])
    c, s = cos(place[2]), sin(place[2])
    return array([c * vector[0] - s * vector[1], s * vector[0] + c * vector[1]])


def _gap(c: np.ndarray, normal: np.ndarray, offset: float) -> Callable[..., tuple[float]]:
    def gap(place: Any, face_place: Any = (0.0, 0.0)) -> tuple[float]:
        p, n = _rotated(place, c) + place[:2], _rotated(face_place, normal)
        return (float(n @ (p - np.asarray(face_place)[:2]) - offset),)

    return gap


def _lever(c: np.ndarray, direction: np.ndarray, number: int, size: int) -> Op:
    def row(place: Any, face_place: Any = (0.0, 0.0)) -> Any:
        arm, n = _rotated(place, c), _rotated(face_place, direction)
        if number:
            arm = array([place[0] + arm[0] - face_place[0], place[1] + arm[1] - face_place[1]])
        return array([n[0], n[1], arm[0] * n[1] - arm[1] * n[0]][:size])

    return Op("lever", row)


def _check_numbers(name: str, **values: float | None) -> None:
    kinds = {"friction": ", non-negative", "mass": ", positive", "inertia": ", positive"}
    for what, value in values.items():
        kind, number = kinds.get(what, ""), real(value)
        valid = math.isfinite(number) and (not kind or number > 0.0 or (what == "friction" and number == 0.0))
        if value is not None and not valid:
            raise refusal("E503", f'{what} of "{name}" is {value!r}', f"a finite{kind} number", about=name)
