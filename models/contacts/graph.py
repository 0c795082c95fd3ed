"""Contact of two curved bodies as a bond graph (Visser, Stramigioli and Heemskerk 2002, figure 3), and its start values.

```
 body 2 --> 0 --> body 1            the 0-junction subtracts the world twists: T_O2^{0,O1}
            |
           MTF  Ad(H_0^C2)          expresses it in the Gauss frame C2 of body 2
            |- - - - - - - - - - ->  contact kinematics: (u1, v1, u2, v2, alpha, d), whose d drives the switch
            X0                      on while there is contact; if the law has springs
            |
            1  T_O2^{C2,O1}
           / \
     TF free  the law's tail        splits the six components
        |
      Se 0
```

This is the head, which all contacts share; the tails, which differ, are in `screwbond.models.contacts.laws`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cmp_to_key, lru_cache
from typing import Any, Unpack

import numpy as np
from screwbond.models.connections import AD_SOURCE, Touchable, connect_bodies, screw_transformer
from screwbond.models.contacts.components import (
    COMPONENTS,
    body_problems,
    component_problems,
    domain_of,
    has_unpaired_component,
    near_problems,
    ordered_components,
    place_problems,
    selection,
)
from screwbond.models.contacts.kinematics import contact_kinematics
from screwbond.models.contacts.laws import LAWS, Compliant, ContactKinematics, ContactLaw
from screwbond.models.contacts.laws.compliant import COMPLIANCE_UNITS, Compliance
from screwbond.models.contacts.laws.law_interface import ContactForces
from screwbond.models.contacts.start_checks import COORDINATES_AND_FRAMES, coordinates_check, gap_check
from screwbond.models.contacts.switches import (
    POLE_MESSAGE,
    TWIST_2,
    chart_switch,
    merging_places,
    needs_transport,
    transport_problems,
)

from bondgraph import J0, J1, TF, X0, Element, Graph, Op, Se
from bondgraph.errors import Problem, caller_place, raise_if_any, refusal
from bondgraph.model.arguments import in_units, spelled_out
from bondgraph.model.domains import SCREW
from bondgraph.model.laws import Action
from bondgraph.model.model import ContactPoint, SignalEntry, Visible
from screws.arrays import Vector3
from screws.contact import ContactCoordinates, all_closest_points, closest_points, is_convex
from screws.contact.closest import MERGE_DISTANCE
from screws.contact.overlaps import closest_points_with_overlaps
from screws.errors import GeometryError, plural
from screws.names import answer_old_names
from screws.numeric_arguments import reals
from screws.poses import Ad_of_inverse, inverse, pose_from_state
from screws.surfaces import Surface
from screws.twists import transform_twist_back, transform_wrench


def start_parameters(surface1: Surface, surface2: Surface) -> list[str]:
    return [f"kinematics.surface {i} {key}" for i, s in ((1, surface1), (2, surface2)) for key in s.parameters]


def start_results(surface1: Surface, surface2: Surface, law_results: Sequence[str]) -> list[str]:
    charts = [f"chart {i}" for i, s in ((1, surface1), (2, surface2)) if s.charts > 1]
    return ["kinematics.q1", "kinematics.q2", "kinematics.alpha", *law_results, *charts]


StartPlace = Callable[[str, tuple[Surface, Surface], np.ndarray, np.ndarray], ContactCoordinates]
"""Function that returns the contact coordinates at the start from a contact's name (for errors), its surfaces, and the poses
(4, 4) of body 1 in the world and of body 2 in body 1."""


def only_place(near: np.ndarray | None = None) -> StartPlace:
    """Return the start place of a contact: the place nearest to the point `near` (3,) of body 1, m. Without `near` it is the only
    place, and bodies that overlap at several places are refused (E428)."""

    def place(name: str, surfaces: tuple[Surface, Surface], H1: np.ndarray, H_1_2: np.ndarray) -> ContactCoordinates:
        nearest = closest_points(*surfaces, H_1_2, near=near)
        if near is None and not all(map(is_convex, surfaces)):
            _check_single_contact(name, *surfaces, H_1_2)
        return nearest

    return place


def numbered_place(number: int, count: int) -> StartPlace:
    return lambda name, surfaces, H1, H_1_2: _numbered_places(name, surfaces, tuple(H1.ravel()), tuple(H_1_2.ravel()), count)[
        number - 1
    ]


def start_values(
    name: str,
    surface1: Surface,
    surface2: Surface,
    chosen: Sequence[str],
    begin: Callable[[float], tuple[Any, ...]],
    place: StartPlace,
) -> Any:
    def start(pose1: Any, pose2: Any, *numbers: Any) -> tuple[Any, ...]:
        count = len(surface1.parameters)
        actual1, actual2 = _with_numbers(surface1, numbers[:count]), _with_numbers(surface2, numbers[count:])
        H1 = pose_from_state(pose1)
        H_1_2 = np.asarray(inverse(H1) @ pose_from_state(pose2), dtype=float)
        try:
            nearest = place(name, (actual1, actual2), np.asarray(H1, dtype=float), H_1_2)
        except GeometryError as error:
            raise refusal(error.code, error.message, error.cure, about=name, why=f'contact "{name}"', places=()) from error
        if has_unpaired_component(chosen) and nearest.chart2 == 1.0:
            nearest = _in_polar_chart(name, actual2, nearest)
        charts = [
            ("axis z", "axis x")[int(c)] for c, s in ((nearest.chart1, surface1), (nearest.chart2, surface2)) if s.charts > 1
        ]
        return (nearest.q1, nearest.q2, nearest.alpha, *begin(float(nearest.d)), *charts)

    return start


def _check_single_contact(name: str, surface1: Surface, surface2: Surface, H_1_2: np.ndarray) -> None:
    overlaps = [contact for contact in all_closest_points(surface1, surface2, H_1_2) if contact.d < 0.0]
    if len(overlaps) < 2:
        return
    title = f'contact "{name}" has one place, but its bodies touch in {plural(len(overlaps), "place")}'
    cures = (
        f"places={len(overlaps)}",
        "a separate contact for each place where the bodies touch, with near=(x, y, z), a point of body 1 close to that place",
    )
    raise refusal("E428", title, *cures, about=name, why=_described(surface1, overlaps), places=())


def _described(surface1: Surface, minima: Sequence[ContactCoordinates]) -> tuple[str, ...]:
    least = 1e-9 * surface1.size
    points = ([x if abs(x) > least else 0.0 for x in surface1.point(contact.q1, contact.chart1)] for contact in minima)
    gaps = (f"{-contact.d:.3g} m deep" if contact.d < 0.0 else f"{contact.d:.3g} m apart" for contact in minima)
    return tuple(f"at ({', '.join(f'{x:.4g}' for x in point)}) m, {gap}" for point, gap in zip(points, gaps, strict=True))


@lru_cache(maxsize=8)
def _numbered_places(
    name: str, surfaces: tuple[Surface, Surface], H1: tuple[float, ...], H_1_2: tuple[float, ...], count: int
) -> tuple[ContactCoordinates, ...]:
    """Return the `count` places of a contact: overlapping places, then the places with the smallest gaps, numbered along x, y, z
    of the world, so that neither the order of the bodies nor the order of the search matters.

    Raises `ModelError` E439 if there are fewer places, E428 if the bodies touch in more.
    """
    pose1, H = np.reshape(H1, (4, 4)), np.reshape(H_1_2, (4, 4))
    minima = closest_points_with_overlaps(*surfaces, H)
    if not minima:
        minima = [closest_points(*surfaces, H)]  # or raises the error that says why there is none
    touching = sum(contact.d < 0.0 for contact in minima)
    if len(minima) < count:
        title = f'contact "{name}" has {count} places, but its bodies are close to each other in only {len(minima)} at the start'
        cures = ("start closer to contact, so that each place has its own nearest point", f"places={len(minima)}")
        raise refusal("E439", title, *cures, about=name, why=_described(surfaces[0], minima), places=())
    if touching > count:
        title = f'contact "{name}" has {count} places, but its bodies touch in {touching}'
        raise refusal("E428", title, f"places={touching}", about=name, why=_described(surfaces[0], minima[:touching]), places=())
    equal = MERGE_DISTANCE * min(surface.size for surface in surfaces)

    def position(contact: ContactCoordinates) -> np.ndarray:
        ends = surfaces[0].point(contact.q1, contact.chart1), H[:3, :3] @ surfaces[1].point(contact.q2, contact.chart2) + H[:3, 3]
        return np.asarray(pose1[:3, :3] @ (0.5 * (ends[0] + ends[1])) + pose1[:3, 3], dtype=float)

    def along_axes(first: ContactCoordinates, second: ContactCoordinates) -> int:
        apart = position(first) - position(second)
        return next((1 if x > 0.0 else -1 for x in apart if abs(x) > equal), 0)

    def by_gap(first: ContactCoordinates, second: ContactCoordinates) -> int:
        order, apart = (second.d < 0.0) - (first.d < 0.0), abs(first.d) - abs(second.d)
        if order == 0 and abs(apart) > equal:
            return 1 if apart > 0.0 else -1
        return order or along_axes(first, second)

    return tuple(sorted(sorted(minima, key=cmp_to_key(by_gap))[:count], key=cmp_to_key(along_axes)))


def _in_polar_chart(name: str, surface2: Surface, nearest: ContactCoordinates) -> ContactCoordinates:
    q2, turn = surface2.change_chart(nearest.q2, 1.0)
    if surface2.chart_margin(q2, 0.0) <= 0.0:
        cure = "constrain both components of a pair, or start farther from the pole"
        raise refusal("E423", f'contact "{name}" cannot start: {POLE_MESSAGE}', cure, about=name, places=())
    return replace(nearest, q2=np.asarray(q2, dtype=float), chart2=0.0, alpha=float(nearest.alpha + turn))


def _with_numbers(surface: Surface, numbers: Sequence[Any]) -> Surface:
    return replace(surface, parameters=dict(zip(surface.parameters, map(float, numbers), strict=True)))


class ContactGraph(Graph):
    def __init__(self, name: str, bodies: tuple[Touchable, Touchable], places: tuple[str, ...] = ()):
        super().__init__(name)
        self.bodies, self.places = bodies, places
        self.declare_input("pose 1", "pose 2", fed_by="attach_contact(graph, contact)")

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(f"{self.name}.{place}" for place in self.places) or (self.name,)


@in_units(near="m", **COMPLIANCE_UNITS)
@spelled_out
def contact(
    name: str,
    body1: Touchable,
    body2: Touchable,
    *,
    constrained: str | Sequence[str] | None = None,
    law: ContactLaw | None = None,
    transport: str = "parallel",
    near: Vector3 | None = None,
    places: int = 1,
    **compliance: Unpack[Compliance],
) -> ContactGraph:
    """Return the contact of the surfaces of two bodies, with ports `1` and `2` (world twists) and inputs `pose 1`, `pose 2`.

    Parameters
    ----------
    constrained : a name of the paper ("rolling", "sliding", "rolling and sliding") or a list of `COMPONENTS`; by default v_z,
        with friction or tangential parameters v_x and v_y, and with torsional friction or rotational parameters omega_z. All
        other components are free.
    law : the contact law: `Compliant`, `Viscoelastic`, `VirtualSpring`, `Maxwell`, `Impact`, `ThreeState`, or `Rigid` for time
        stepping.
    transport : transport of the springs' tangential vectors: "parallel" without turning about the normal, "bodies" with the mean
        rotation of both bodies about it, "gauss" with the axes of C2 (the paper's literal law).
    near : point (x, y, z) of body 1, m. Bodies that are not convex may touch at several points; this contact takes the point
        nearest to `near` at the start. Give each point its own contact, or use `places`.
    places : largest number of places at which the bodies touch simultaneously. Each of several places is a separate
        contact inside this contact, "place 1", "place 2" ..., with its own law, found from the start poses and numbered along x,
        y, z of the world. The run ends when two places merge.
    normal_stiffness, ... torsional_friction : parameters of `Compliant`, the default law.

    Signals: `gap` d (m, negative in contact), `normal force` (N), `wrench` in C2 (the negative acts on body 2), `q1`, `q2`,
    `alpha` (about z2), `frame` H_0_C2. Modes: `switch`, whose states are the law's, and, for surfaces with two charts, `chart 1`,
    `chart 2`. With friction, also `friction excess` |w| - mu N (N; negative in stick), `friction slip` u (m/s, in C2) and, except
    for `Rigid`, the mode `friction`: "off", "stick", "slip" and, for laws without springs, "start" as slip begins; likewise for
    `torsional friction`. With several places, each place has these signals and modes, such as `place 1.gap`.

    Raises `ModelError` E458 for anything but a body, E420 for a body without surface, E421 for unknown components, E422 for a
    missing stiffness, E426 for an unknown transport, E429 for an invalid `near`, E435, E436 for invalid components or parameters
    of a law, E438 for an invalid law, or a law given together with parameters of `Compliant`, E439 for an invalid number of
    places, E490, E491, E492 for invalid friction; at the start of a run E428 for bodies that touch at more points than the
    contact has places, E439 if they are close to each other in fewer places, E437 for overlapping bodies with `Impact`, E423
    near a pole of surface 2 with x or y constrained alone, E607 for start coordinates that contradict the poses, E608 for
    a start state that contradicts the gap.
    """
    raise_if_any(name, _law_problems(name, law, compliance))
    contact_law = Compliant(**compliance) if law is None else law
    requested = contact_law.components if constrained is None else constrained
    chosen = ordered_components(requested)
    problems = [*body_problems(name, (body1, body2)), *component_problems(name, requested, chosen)]
    problems += place_problems(name, (body1, body2), places, near)
    problems += [] if not chosen else contact_law.problems(name, chosen)
    raise_if_any(name, [*problems, *transport_problems(name, transport), *near_problems(name, near)])
    parts = _ContactParts(name, (body1, body2), contact_law, chosen, transport)
    if places == 1:
        return _place_graph(parts, name, only_place(None if near is None else reals(near, 3)))
    numbers = range(1, places + 1)
    return _several_places(parts, [_place_graph(parts, f"place {k}", numbered_place(k, places)) for k in numbers])


@dataclass(frozen=True)
class _ContactParts:
    name: str
    bodies: tuple[Touchable, Touchable]
    law: ContactLaw
    chosen: tuple[str, ...]
    transport: str


def _several_places(parts: _ContactParts, places: Sequence[ContactGraph]) -> ContactGraph:
    graph = ContactGraph(parts.name, parts.bodies, tuple(place.name for place in places))
    ends = [J1(f"twist of body {i}", domain=SCREW, frame="0", symbols={"flow": f"T_{{O_{i}}}^{{0,0}}"}) for i in (1, 2)]
    for place in places:
        graph.connect(ends[1], place.port("2")).connect(place.port("1"), ends[0])
        graph.wire("pose 1", place, "pose 1").wire("pose 2", place, "pose 2")
    sizes = [body.surface.size for body in parts.bodies if body.surface is not None]
    graph.add_automaton(merging_places(parts.name, graph.places, MERGE_DISTANCE * min(sizes)))
    for port, end in zip(("1", "2"), ends, strict=True):
        graph.expose(port, end)
    return graph


def _place_graph(parts: _ContactParts, name: str, place: StartPlace) -> ContactGraph:
    contact_law, chosen, transport = parts.law, parts.chosen, parts.transport
    surface1, surface2 = (body.surface for body in parts.bodies)
    assert surface1 is not None and surface2 is not None

    graph = ContactGraph(name, parts.bodies)
    relative = J0("relative twist", domain=SCREW, frame="0", symbols={"effort": "W^0"})
    symbols = {"matrix": r"\mathrm{Ad}_{H_0^{C_2}}", "2.flow": r"T_{O_2}^{C_2,O_1}"}
    if not contact_law.active_states:
        symbols["2.effort"] = "W^{C_2}"
    to_contact = screw_transformer(AD_CONTACT, TO_CONTACT, "kinematics.H_0_C2", ("0", "C2"), symbols=symbols)
    split = J1("contact twist", frame="C2", symbols={"flow": r"\bar T_{O_2}^{C_2,O_1}"})

    graph.connect(relative, to_contact)
    if contact_law.active_states:
        switched = X0("X0", automaton="switch", active=contact_law.active_states, frame="C2", symbols={"effort": "W^{C_2}"})
        graph.connect(to_contact, switched).connect(switched, split)
    else:
        graph.connect(to_contact, split)
    _connect_free(graph, split, () if contact_law.stepping_only else chosen)
    tail = contact_law.attach(graph, split, ContactKinematics(parts.name, chosen, transport, (surface1, surface2)))

    turning = transport if contact_law.tangent_vectors and needs_transport(transport, chosen) else None
    graph.add(contact_kinematics(surface1, surface2, turning))
    graph.add_automaton(tail.switch)
    for index, surface in ((1, surface1), (2, surface2)):
        if surface.charts > 1:
            graph.add_automaton(chart_switch(index, surface, chosen, contact_law.tangent_vectors, tail.vectors))
    graph.start(
        start_values(parts.name, surface1, surface2, chosen, tail.begin, place),
        ["pose 1", "pose 2", *start_parameters(surface1, surface2)],
        start_results(surface1, surface2, tail.begins),
    )
    size = min(surface1.size, surface2.size)
    graph.start(coordinates_check(parts.name, size), [f"kinematics.{signal}" for signal in COORDINATES_AND_FRAMES], [])
    if tail.closed:
        reads = ["kinematics.d", "switch.mode", *(() if tail.spring is None else (tail.spring.signal,))]
        graph.start(gap_check(parts.name, size, tail), reads, [])
    if turning == "parallel":
        second = J1(TWIST_2, domain=SCREW, frame="0", symbols={"flow": "T_{O_2}^{0,0}"})
        graph.connect(second, relative)
        graph.expose("2", second)
    else:
        graph.expose("2", relative)
    graph.expose("1", relative)
    graph.mark_contact(_contact_point(tail, chosen))
    sizes = {path.removeprefix("kinematics."): path for path in start_parameters(surface1, surface2)}
    graph.mark_visible(Visible("contact", {"1": "pose 1", "2": "pose 2", **sizes}, (surface1, surface2)))
    graph.export("gap", "kinematics.d")
    graph.export("wrench", tail.wrench)
    graph.export("normal force", tail.force)
    graph.export("frame", "kinematics.H_0_C2")
    for signal in ("q1", "q2", "alpha"):
        graph.export(signal, f"kinematics.{signal}")
    return graph


@answer_old_names
def attach_contact(graph: Graph, contact: Graph, body1: Touchable | None = None, body2: Touchable | None = None) -> Graph:
    """Connect a contact to its bodies: half arrows body 2 -> contact -> body 1, and the poses as signals.

    Return the graph. By default the bodies are those given to `contact`. Raises `ModelError` E566 for anything but a contact, and
    for bodies that are unknown or have other surfaces than those of the contact; E458, E488 and E591 as `attach_joint` does.
    """
    if not (isinstance(contact, Graph) and {"1", "2"} <= contact.ports.keys()):
        raise refusal("E566", f"{contact!r} is not a contact", "contact(name, body1, body2, ...)", about=graph.name)
    defaults = contact.bodies if isinstance(contact, ContactGraph) else (None, None)
    bodies = {"1": defaults[0] if body1 is None else body1, "2": defaults[1] if body2 is None else body2}
    attached = {port: body for port, body in bodies.items() if body is not None}
    if len(attached) < len(bodies):
        title = f'the bodies of "{contact.name}" are unknown'
        raise refusal("E566", title, "attach_contact(graph, contact(name, body1, body2, ...))", about=graph.name)
    for default, body in zip(defaults, attached.values(), strict=True):
        if default is not None and hasattr(body, "surface") and body.surface != default.surface:
            title = f'"{contact.name}" was built for the surface of "{default.name}", not for that of "{body.name}"'
            cure = "attach_contact(graph, contact), without the bodies, or with the bodies of contact(...) in the same order"
            raise refusal("E566", title, cure, about=graph.name)
    return connect_bodies(graph, contact, attached, cheapest=True)


AD_CONTACT = Op("Ad", Ad_of_inverse, r"\mathrm{Ad}_{#1^{-1}}", AD_SOURCE)


TO_CONTACT = Action(
    Op("twist to C2", transform_twist_back, r"\mathrm{Ad}_{#1^{-1}}\,#2", AD_SOURCE),
    Op("wrench to world", transform_wrench, r"\mathrm{Ad}_{#1^{-1}}^T\,#2", AD_SOURCE),
)


def _law_problems(name: str, law: Any, compliance: Iterable[str]) -> list[Problem]:
    source = caller_place()
    if law is None:
        return []
    if isinstance(law, type) or not isinstance(law, ContactLaw):
        title = f'contact "{name}": law = {law.__name__ if isinstance(law, type) else repr(law)}'
        details = (f"laws: {', '.join(kind.__name__ for kind in LAWS)}",)
        return [Problem("E438", title, details, (source,), ("a law with its parameters: law=Impact(restitution=0.8)",))]
    if compliance:
        title = f'contact "{name}" has a law and also {", ".join(compliance)}'
        details = ("these arguments are for a contact without law=, which is Compliant",)
        return [Problem("E438", title, details, (source,), (f"only a law, which has its own parameters: law={law!r}",))]
    return []


def _contact_point(tail: ContactForces, chosen: Sequence[str]) -> ContactPoint:
    return ContactPoint(
        "",
        "kinematics.d",
        "kinematics.d'",
        tail.normal,
        tuple(SignalEntry("Ad.2.flow", COMPONENTS.index(c)) for c in ("v_x", "v_y") if c in chosen),
        tail.friction,
        tail.off,
        tail.ignored,
        ("kinematics.H_O1_C1", "kinematics.H_O2_C2"),
        tail.stepped,
        caller_place(),
        tail.penetration,
    )


def _connect_free(graph: Graph, split: Element, chosen: Sequence[str]) -> None:
    free = [component for component in COMPONENTS if component not in chosen]
    if len(free) == len(COMPONENTS):
        graph.connect(split, Se("no wrench", dimension=len(free)))
    elif free:
        symbols = {"matrix": r"S_{\mathrm{free}}"}
        pick = TF("free", selection(free), structural=True, domains=(SCREW, domain_of(free)), symbols=symbols)
        graph.connect(split, pick).connect(pick, Se("no wrench", dimension=len(free)))
