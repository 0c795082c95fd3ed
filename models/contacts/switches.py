"""Switches of a contact: on and off with the gap, and from chart to chart near the poles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from screwbond.models.contacts.components import pairs, unpaired
from screwbond.models.contacts.transport import turned, turned_pair

from bondgraph import Automaton, Op, Transition
from bondgraph.model.ops import IDENTITY, NEGATE
from screws.scalars import array
from screws.surfaces import Surface

STATES = FREE, TOUCHING = ("free", "contact")
"""States of the switch; its mode is the index."""

BEGINS, ENDS = "contact on", "contact off"
"""Kinds of the events with which a contact that lasts begins and ends."""


def gap_switch(surfaces: Sequence[Surface]) -> Automaton:
    """Contact begins as the gap falls through zero and ends as it rises through zero, where the spring is released."""
    return Automaton(
        "switch",
        STATES,
        FREE,
        (
            Transition(FREE, TOUCHING, NEGATE, ("kinematics.d",), kind=BEGINS),
            Transition(TOUCHING, FREE, IDENTITY, ("kinematics.d",), RELEASE, kind=ENDS),
            *limits(surfaces, STATES),
        ),
    )


RELEASE = (("spring.q", Op("zero", lambda s: 0.0 * s, "0"), ("spring.q",)),)
"""Reset: the spring of a contact that ends is without deformation."""


def limits(surfaces: Sequence[Surface], states: Sequence[str]) -> list[Transition]:
    """Transitions that end the run in any of the states, where nearest points stop being unique, or leave the range of a surface
    that has an edge."""
    focal = "the bodies reach a focal distance: nearest points are not unique any more (K2 B + A is singular)"
    found = [Transition(s, s, NEGATE, ("kinematics.uniqueness",), kind="curvature limit", error=focal) for s in states]
    for index, surface in enumerate(surfaces, start=1):
        if surface.has_edge:
            beyond = Op("beyond the edge", lambda q, s=surface: -s.edge_margin(q))
            error = (
                f"the nearest point leaves the range of surface {index}, the {surface.name}: its formula ends there, and "
                "an edge has no law of contact"
            )
            edge = f"edge of surface {index}"
            found += [Transition(s, s, beyond, (f"kinematics.q{index}",), kind=edge, error=error) for s in states]
    return found


def chart_switch(index: int, surface: Surface, chosen: Sequence[str], springs: bool, vectors: Sequence[str]) -> Automaton:
    """The second chart takes over near a pole of the first; the coordinates, alpha and the spring's axes follow.

    A component of body 2 without its partner has a meaning along the polar axes only: near their pole the run ends. `springs`:
    whether there are any; `vectors`: further states (2,) in these axes.
    """
    if index == 2 and unpaired(chosen):
        margin = Op("margin", lambda q: -surface.chart_margin(q, 0.0))
        ends = Transition("axis z", "axis z", margin, ("kinematics.q2",), kind="pole of surface 2", error=POLE)
        return Automaton("chart 2", ("axis z", "axis x"), "axis z", (ends,))
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
        if index == 2 and springs and pairs(chosen):
            turn = Op("turned axes", lambda s, k, q, *p, f=change: turned(s, k, f(q, p)[1], pairs(chosen)))
            resets.append(("spring.q", turn, ("spring.q", "spring.stiffness", q, *parameters)))
        if index == 2:
            along = Op("turned vector", lambda u, q, *p, f=change: array(turned_pair(u[0], u[1], f(q, p)[1])))
            resets += [(vector, along, (vector, q, *parameters)) for vector in vectors]
        margin = Op("margin", lambda q, c=float(chart): -surface.chart_margin(q, c))
        now, then = states[chart], states[1 - chart]
        kind = f"chart of surface {index}: {then}"
        transitions.append(Transition(now, then, margin, (q,), tuple(resets), kind=kind, internal=True))
    return Automaton(f"chart {index}", states, states[0], tuple(transitions))


def _chart_change(surface: Surface, chart: float) -> Any:
    return lambda q, parameters: surface.change_chart(q, chart, parameters)


POLE = "the contact nears a pole of surface 2, where the axes x and y of C2 end: x or y alone cannot be constrained there"
