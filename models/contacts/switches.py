"""Automata that switch a contact on and off with its gap, and from chart to chart; transport of its springs' vectors.

A spring of a pair (v_x, v_y or omega_x, omega_y) stores a vector s of the tangent plane as components in the Gauss frame C2,
whose axes follow the polar angle of body 2, so that they turn about the normal even if no body does. With the rate `turning` of
C2 about z2, relative to the transported vector,

    s' = T_constrained + turning J s,    J = [[0, 1], [-1, 0]]

```
parallel   the vector does not turn about the normal in space: turning = omega_2 . z2 + T2 M2 q2'
bodies     it turns with the mean rotation of both bodies about the normal: turning = omega_z / 2 + T2 M2 q2'
gauss      it turns with the Gauss frame, turning = 0, which is the paper's literal law
```

`T2 M2 q2'` is the rate at which C2 turns in body 2 (its torsion form). The first two laws are geometric: they depend neither on
the axes of the bodies nor on which body is body 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
from screwbond.models.contacts.components import component_pairs, domain_of, has_unpaired_component

from bondgraph import Automaton, C, Element, Op, Parameter, StateSpec, Transition
from bondgraph.errors import Problem, caller_place
from bondgraph.model.element import one_port
from bondgraph.model.laws import Storage
from bondgraph.model.ops import IDENTITY, NEGATE
from bondgraph.model.units import quotient
from screws.scalars import array, cos, equal, sin, sqrt, where
from screws.surfaces import Surface

TRANSPORTS = ("parallel", "bodies", "gauss")

TWIST_2 = "twist of body 2"
"""Name of the 1-junction of the world twist of body 2, in a contact with parallel transport."""


def needs_transport(transport: str, chosen: Sequence[str]) -> bool:
    return transport != "gauss" and bool(component_pairs(chosen))


def contact_spring(stiffness: np.ndarray, chosen: Sequence[str], transport: str) -> Element:
    """Return the C of the constrained components; its state s is in the frame C2, m or rad."""
    single = len(chosen) == 1
    k, start = (float(stiffness[0]), 0.0) if single else (stiffness, np.zeros(len(chosen)))
    symbols = {"q": "s", "stiffness": "K_s"}
    if not needs_transport(transport, chosen):
        return C("spring", stiffness=k, initial=start, symbols=symbols)
    vectors = tuple(component_pairs(chosen))
    law = Storage(
        "effort",
        "q",
        StateSpec(start, 1e-4),
        Op("multiply", lambda s, k, turning: k * s, "#2\\,#1"),
        Op("energy", lambda s, k, turning: s @ (k * s) / 2, "\\tfrac12 #1^T #2\\,#1"),
        Op("transport", lambda s, rate, k, turning: array(_transported_rates(s, rate, k, turning, vectors)), r"#2 + #4\,J #1"),
    )
    domain = domain_of(chosen)
    values = {"stiffness": Parameter(k, quotient(domain.effort_unit, domain.displacement_unit))}
    return one_port("C", "spring", law, values, ["kinematics.turning"], dimension=len(chosen), symbols=symbols)


def _transported_rates(s: Any, rate: Any, k: Any, turning: Any, vectors: Sequence[tuple[int, int]]) -> list[Any]:
    rates = list(rate)
    for x, y in vectors:
        ratio = _ratio(k[x], k[y])
        rates[x] = rates[x] + turning * ratio * s[y]
        rates[y] = rates[y] - turning / ratio * s[x]
    return rates


def _ratio(k_x: Any, k_y: Any) -> Any:
    """Return sqrt(k_y / k_x), or 1 if both are equal, even if both are zero."""
    return where(equal(k_x, k_y), 1.0, sqrt(k_y / k_x))


def rotate_components(s: Any, k: Any, turn: Any, vectors: Sequence[tuple[int, int]]) -> Any:
    """Return components s in axes turned by `turn` about z.

    If the stiffnesses k of a pair differ, sqrt(k) s turns, so that the energy is unchanged.
    """
    entries = list(s)
    for x, y in vectors:
        entries[x], entries[y] = rotate_pair(s[x], s[y], turn, _ratio(k[x], k[y]))
    return array(entries)


def rotate_pair(x: Any, y: Any, turn: Any, ratio: Any = 1.0) -> tuple[Any, Any]:
    c, s = cos(turn), sin(turn)
    return c * x + s * ratio * y, c * y - s / ratio * x


def _turn_in_body(M2: Any, T2: Any, rate: Any) -> Any:
    return T2[0] * (M2[0, 0] * rate[0] + M2[0, 1] * rate[1]) + T2[1] * (M2[1, 1] * rate[1])


_IN_SPACE = Op(
    "turning",
    lambda M2, T2, rate, H, twist: sum(H[i, 2] * twist[i] for i in range(3)) + _turn_in_body(M2, T2, rate),
    r"\omega_2 \cdot z_2 + #2 #1 #3",
    "VI02 (10)",
)
_BETWEEN_BODIES = Op(
    "turning", lambda M2, T2, rate, T: 0.5 * T[2] + _turn_in_body(M2, T2, rate), r"\tfrac12 \omega_z + #2 #1 #3", "VI02 (10)"
)


def turning_equation(transport: str) -> tuple[str, Op, list[str]]:
    if transport == "parallel":
        return "turning", _IN_SPACE, ["M2", "T2", "q2'", "H_0_C2", TWIST_2]
    return "turning", _BETWEEN_BODIES, ["M2", "T2", "q2'", "T"]


def transport_problems(name: str, transport: object) -> list[Problem]:
    if isinstance(transport, str) and transport in TRANSPORTS:
        return []
    names = ", ".join(f'"{law}"' for law in TRANSPORTS)
    cure = f"one of {names}, or omit transport"
    return [Problem("E426", f'contact "{name}": transport = {transport!r}', (), (caller_place(),), (cure,))]


STATES = FREE, TOUCHING = ("free", "contact")

CONTACT_ON, CONTACT_OFF = "contact on", "contact off"


def gap_switch(surfaces: Sequence[Surface]) -> Automaton:
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


def range_limits(surfaces: Sequence[Surface], states: Sequence[str]) -> list[Transition]:
    focal = (
        "the bodies reach a focal distance: nearest points are no longer unique (K2 B + A is singular), as over a hollow whose"
        " radius of curvature is no larger than the body's"
    )
    transitions = [Transition(s, s, NEGATE, ("kinematics.uniqueness",), kind="curvature limit", error=focal) for s in states]
    for index, surface in enumerate(surfaces, start=1):
        if surface.has_edge:
            beyond = Op("beyond the edge", lambda q, s=surface: -s.edge_margin(q))
            error = (
                f"the nearest point leaves the range of surface {index}, the {surface.name}: its formula ends there, and "
                "there is no contact law for an edge"
            )
            edge = f"edge of surface {index}"
            transitions += [Transition(s, s, beyond, (f"kinematics.q{index}",), kind=edge, error=error) for s in states]
    return transitions


def merging_places(name: str, places: Sequence[str], merged: float) -> Automaton:
    transitions = []
    for first, second in combinations(places, 2):
        error = (
            f'"{name}.{first}" and "{name}.{second}" have become one place, where the bodies would be pushed apart twice: use '
            "places=1, and start where the bodies have a single nearest point"
        )
        frames = (f"{first}.frame", f"{second}.frame")
        transitions.append(Transition("apart", "apart", _closeness(merged), frames, kind="places become one", error=error))
    return Automaton("places", ("apart",), "apart", tuple(transitions))


def _closeness(merged: float) -> Op:
    square = merged * merged
    return Op("closeness", lambda H1, H2: square - sum((H1[i, 3] - H2[i, 3]) ** 2 for i in range(3)))


def chart_switch(index: int, surface: Surface, chosen: Sequence[str], springs: bool, vectors: Sequence[str]) -> Automaton:
    """Return the automaton that changes the chart near a pole; the coordinates, alpha and the spring's axes follow.

    An unpaired component of body 2 is defined along the polar axes only: near their pole the run ends. `springs` : True if the
    contact has springs; `vectors` : further states (2,) in these axes.
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


POLE_MESSAGE = (
    "the contact nears a pole of surface 2, where the axes x and y of C2 are undefined: x or y alone cannot be constrained there"
)
