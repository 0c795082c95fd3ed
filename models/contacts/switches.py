"""Automata of a contact: on and off with the gap, and from chart to chart near the poles, with their guards and resets."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

from screwbond.models.contacts.components import component_pairs, has_unpaired_component
from screwbond.models.contacts.transport import rotate_components, rotate_pair

from bondgraph import Automaton, Op, Transition
from bondgraph.model.ops import IDENTITY, NEGATE
from screws.scalars import array
from screws.surfaces import Surface

STATES = FREE, TOUCHING = ("free", "contact")
"""States of the switch; its mode is the index."""

CONTACT_ON, CONTACT_OFF = "contact on", "contact off"
"""Kinds of the events at which a lasting contact begins and ends."""


def gap_switch(surfaces: Sequence[Surface]) -> Automaton:
    """Return the automaton of a compliant contact, on and off as the gap crosses zero; off releases the spring."""
    return Automaton(
        "switch",
        STATES,
        FREE,
        (
            Transition(FREE, TOUCHING, NEGATE, ("kinematics.d",), kind=CONTACT_ON),
            Transition(TOUCHING, FREE, IDENTITY, ("kinematics.d",), SPRING_RELEASE, kind=CONTACT_OFF),
            *range_limits(surfaces, STATES),
        ),
    )


SPRING_RELEASE = (("spring.q", Op("zero", lambda s: 0.0 * s, "0"), ("spring.q",)),)
"""Reset of the spring's deformation to zero at the end of contact."""


def range_limits(surfaces: Sequence[Surface], states: Sequence[str]) -> list[Transition]:
    """Return transitions that end the run where closest points stop being unique or leave a surface with an edge."""
    focal = (
        "the bodies reach a focal distance: nearest points are not unique any more (K2 B + A is singular), as over a hollow whose"
        " radius of curvature is no larger than that of the body"
    )
    transitions = [Transition(s, s, NEGATE, ("kinematics.uniqueness",), kind="curvature limit", error=focal) for s in states]
    for index, surface in enumerate(surfaces, start=1):
        if surface.has_edge:
            beyond = Op("beyond the edge", lambda q, s=surface: -s.edge_margin(q))
            error = (
                f"the nearest point leaves the range of surface {index}, the {surface.name}: its formula ends there, and "
                "an edge has no law of contact"
            )
            edge = f"edge of surface {index}"
            transitions += [Transition(s, s, beyond, (f"kinematics.q{index}",), kind=edge, error=error) for s in states]
    return transitions


def merging_places(name: str, places: Sequence[str], merged: float) -> Automaton:
    """Return the automaton that ends the run where two places of a contact come as close as `merged`, m: they are one."""
    transitions = []
    for first, second in combinations(places, 2):
        error = (
            f'"{name}.{first}" and "{name}.{second}" have become one place, where the bodies would be pressed apart twice: with '
            "places=1, start where they have one nearest point already"
        )
        frames = (f"{first}.frame", f"{second}.frame")
        transitions.append(Transition("apart", "apart", _closeness(merged), frames, kind="places become one", error=error))
    return Automaton("places", ("apart",), "apart", tuple(transitions))


def _closeness(merged: float) -> Op:
    """Return the guard of two Gauss frames (4, 4) in the world: the squared distance of their origins below that of one place."""
    square = merged * merged
    return Op("closeness", lambda H1, H2: square - sum((H1[i, 3] - H2[i, 3]) ** 2 for i in range(3)))


def chart_switch(index: int, surface: Surface, chosen: Sequence[str], springs: bool, vectors: Sequence[str]) -> Automaton:
    """Return the automaton that changes the chart near a pole; the coordinates, alpha and the spring's axes follow.

    An unpaired component of body 2 is defined along the polar axes only: near their pole the run ends. `springs`: True if there
    are any; `vectors`: further states (2,) in these axes.
    """
    if index == 2 and has_unpaired_component(chosen):
        margin = Op("margin", lambda q: -surface.chart_margin(q, 0.0))
        pole = Transition("axis z", "axis z", margin, ("kinematics.q2",), kind="pole of surface 2", error=POLE_MESSAGE)
        return Automaton("chart 2", ("axis z", "axis x"), "axis z", (pole,))
    states = ("axis z", "axis x")
    alpha, q, parameters = (
        "kinematics.alpha",
        f"kinematics.q{index}",
        [f"kinematics.surface {index} {key}" for key in surface.parameters],
    )
    transitions = []
    for chart in (0, 1):
        change = _chart_change(surface, float(chart))
        resets = [
            (q, Op("change of chart", lambda q, *p, f=change: f(q, p)[0]), (q, *parameters)),
            (alpha, Op("turned angle", lambda alpha, q, *p, f=change: alpha + f(q, p)[1]), (alpha, q, *parameters)),
        ]
        if index == 2 and springs and component_pairs(chosen):
            turn = Op("turned axes", lambda s, k, q, *p, f=change: rotate_components(s, k, f(q, p)[1], component_pairs(chosen)))
            resets.append(("spring.q", turn, ("spring.q", "spring.stiffness", q, *parameters)))
        if index == 2:
            rotation = Op("turned vector", lambda u, q, *p, f=change: array(rotate_pair(u[0], u[1], f(q, p)[1])))
            resets += [(vector, rotation, (vector, q, *parameters)) for vector in vectors]
        margin = Op("margin", lambda q, c=float(chart): -surface.chart_margin(q, c))
        now, then = states[chart], states[1 - chart]
        kind = f"chart of surface {index}: {then}"
        transitions.append(Transition(now, then, margin, (q,), tuple(resets), kind=kind, internal=True))
    return Automaton(f"chart {index}", states, states[0], tuple(transitions))


def _chart_change(surface: Surface, chart: float) -> Any:
    return lambda q, parameters: surface.change_chart(q, chart, parameters)


POLE_MESSAGE = "the contact nears a pole of surface 2, where the axes x and y of C2 end: x or y alone cannot be constrained there"
