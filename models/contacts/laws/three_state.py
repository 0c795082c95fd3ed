"""Contact laws without springs: rigid for time stepping, an automaton of three states (Bortoff 2020), and impacts.

Constraints act on the gap, and on the components that neither slip nor turn:

```
   1  T_O2^{C2,O1}
  / \\
 TF  TF held           rows of the fixed components
 | -v_z = d'  |
 Constraint   Constraint
 normal       held
```

An automaton of two states would chatter, since the force that keeps h'' + alpha1 h' + alpha0 h + alpha2 h^3 = 0 for the gap h may
pull a separating body while the gap is still negative.

A rigid contact has no constraints in its graph: each time step solves for the forces of all rigid contacts together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from screwbond.models.contacts.components import COMPONENTS, domain_of, selection
from screwbond.models.contacts.friction import (
    COEFFICIENT,
    EXCESS,
    FRICTION,
    OFF,
    SLIP_DIRECTION,
    FrictionLaw,
    SwitchStates,
    components_with,
    connect_dry_friction,
    friction_coefficient_problems,
)
from screwbond.models.contacts.laws.law_interface import ContactForces, ContactKinematics, component_problem, number_problems
from screwbond.models.contacts.switches import CONTACT_OFF, CONTACT_ON, FREE, STATES, TOUCHING, range_limits

from bondgraph import TF, Automaton, Block, Constraint, Element, Graph, Op, Parameter, Transition
from bondgraph.elements.friction import STICK
from bondgraph.errors import Problem, refusal
from bondgraph.model.arguments import in_units
from bondgraph.model.domains import SCREW
from bondgraph.model.model import SignalEntry
from bondgraph.model.ops import zeros
from screws.names import answer_old_names
from screws.scalars import minimum

GAP = Op("gap", lambda d: d, "#1")
NORMAL, HELD = "normal", "held"

FORCE = f"{NORMAL}.multiplier"


def connect_normal(graph: Graph, split: Element, **numbers: Any) -> None:
    row = TF(
        "gap rate", 0.0 - selection(["v_z"]), structural=True, domains=(SCREW, domain_of(["v_z"])), symbols={"matrix": "S_d"}
    )
    gap = Constraint(
        NORMAL, position=GAP, signals=["kinematics.d"], automaton="switch", active=[TOUCHING], measured=True, **numbers
    )
    graph.connect(split, row).connect(row, gap)


def connect_velocity_constraint(
    graph: Graph, split: Element, chosen: Sequence[str], friction: Any, **numbers: Any
) -> tuple[str, ...]:
    others = components_with(friction)
    components = tuple(component for component in chosen if component not in others)
    if not components:
        return ()
    domains = (SCREW, domain_of(components))
    rows = TF(
        "held components", selection(components), structural=True, domains=domains, symbols={"matrix": r"S_{\mathrm{held}}"}
    )
    constraint = Constraint(HELD, holds="velocity", dimension=len(components), automaton="switch", active=[TOUCHING], **numbers)
    graph.connect(split, rows).connect(rows, constraint)
    return (HELD,)


def ideal_tail(
    switch: Automaton, free_states: Sequence[str], begin: Callable[[float], tuple[float, str]], friction: Any
) -> ContactForces:
    without = tuple(("switch", state) for state in free_states)
    parts = (switch, SignalEntry(FORCE), FORCE)
    if friction is None:
        return ContactForces(*parts, without, ("kinematics.d", "switch"), begin)
    return ContactForces(
        *parts,
        (*without, (FRICTION, OFF)),
        ("kinematics.d", "switch", FRICTION),
        lambda gap: (*begin(gap), STICK if gap < 0.0 else OFF),
        friction=COEFFICIENT,
        vectors=(SLIP_DIRECTION,),
    )


def constraint_problems(name: str, law: Any, chosen: Sequence[str]) -> list[Problem]:
    cure = 'constrained=["v_z"], or ["v_x", "v_y", "v_z"] for a contact that also does not slip'
    return [*component_problem(name, law, chosen, COMPONENTS, cure), *friction_coefficient_problems(name, law.friction, chosen)]


BALLISTIC = "ballistic"
"""State in which the law gives no force although the gap is negative."""

PHASES = (FREE, TOUCHING, BALLISTIC)

CONTACT_EVENT, APART = "contact", "apart"
EVENT_KINDS = (CONTACT_EVENT, "release", APART, "contact again")

CONTACT_EVENT_KINDS = (CONTACT_ON, CONTACT_OFF, APART, CONTACT_ON)

SOURCE = "BO20 fig. 1"
CLOSING_GUARD = Op("-h", lambda h: -h, "-#1", SOURCE)
OPENING_GUARD = Op("h", lambda h: h, "#1", SOURCE)
PULLING_GUARD = Op("-lambda", lambda force: -force, "-#1", SOURCE)
INWARD_GUARD = Op("inside and inwards", lambda h, rate: minimum(-h, -rate), r"\min(-#1, -#2)", SOURCE)
CONTACT_TWIST = "Ad.2.flow"
INWARD_TWIST_GUARD = Op(
    "inside and inwards",
    lambda h, twist: minimum(-h, twist[COMPONENTS.index("v_z")]),
    r"\min(-#1, v_z),\quad v_z \text{ of } #2",
    SOURCE,
)
"""Guard on the velocity that deforms a spring, not on the rate of the gap, which also corrects drift: that rate would let a
spring without force be pulled at once."""


def contact_states(
    name: str,
    gap: str,
    rate: str,
    force: str,
    *,
    kinds: Sequence[str] = EVENT_KINDS,
    inward: Op = INWARD_GUARD,
    resets: tuple[tuple[str, Op, tuple[str, ...]], ...] = (),
    further: Sequence[Transition] = (),
) -> Automaton:
    """Return the automaton of a contact: it closes with its gap, opens when it would have to pull, and closes again when a
    released body whose gap is still negative turns inwards.

    Parameters
    ----------
    gap, rate, force : signals, m, m/s and N, the force positive when it presses.
    inward : guard (gap, rate) that is positive if the bodies overlap and approach.
    kinds : kinds of the events in which it closes, opens, leaves the overlap and closes again.
    resets : states that are set when it opens.

    Source: Bortoff 2020, section 2, fig. 1.
    """
    closing, opening, separation, closing_again = kinds
    edges = (
        Transition(FREE, TOUCHING, CLOSING_GUARD, (gap,), kind=closing),
        Transition(TOUCHING, BALLISTIC, PULLING_GUARD, (force,), resets, kind=opening),
        Transition(BALLISTIC, FREE, OPENING_GUARD, (gap,), kind=separation),
        Transition(BALLISTIC, TOUCHING, inward, (gap, rate), kind=closing_again),
        *further,
    )
    return Automaton(name, PHASES, FREE, edges)


@in_units(alpha1="1/s", alpha0="1/s^2", alpha2="1/(m^2 s^2)", friction="1")
@answer_old_names
@dataclass(frozen=True)
class ThreeState(FrictionLaw):
    """Stabilised constraint d'' + alpha1 d' + alpha0 d + alpha2 d^3 = 0 while the bodies touch and the force is compressive.

    An impact is smooth: the speed decays in a time of about 1 / alpha1. Energy from stabilisation counts as injected. Constrained
    components other than v_z come to rest with the same alpha1; with friction v_x and v_y slip if their force would exceed its
    limit.

    Attributes
    ----------
    alpha1, alpha0, alpha2 : 1/s, 1/s^2, 1/(m^2 s^2).
    friction : coefficient of the cone of v_x and v_y; None: constrained components never slip.

    Source: Bortoff 2020, section 2.
    """

    alpha1: Any
    alpha0: Any
    alpha2: Any = 0.0
    friction: Any = None

    def problems(self, name: str, chosen: Sequence[str]) -> list[Problem]:
        """Report invalid components (E435), parameters (E436) and friction (E490, E491)."""
        units = (("alpha1", "1/s"), ("alpha0", "1/s^2"), ("alpha2", "1/(m^2 s^2)"))
        numbers = number_problems(name, self, *((field, unit, 0.0, math.inf) for field, unit in units))
        return [*constraint_problems(name, self, chosen), *numbers]

    def attach(self, graph: Graph, split: Element, head: ContactKinematics) -> ContactForces:
        """Connect the constraint on the gap, and the constraints of the fixed components."""
        numbers: dict[str, Any] = {"alpha1": self.alpha1, "alpha0": self.alpha0, "alpha2": self.alpha2}
        connect_normal(graph, split, closing="smooth", **numbers)
        connect_velocity_constraint(graph, split, head.chosen, self.friction, closing="smooth", alpha1=self.alpha1)
        connect_dry_friction(graph, split, self.friction, FORCE, SwitchStates(PHASES, (TOUCHING,)))
        signals = ("kinematics.d", "normal.h'", FORCE)
        machine = contact_states("switch", *signals, kinds=CONTACT_EVENT_KINDS, further=range_limits(head.surfaces, PHASES))
        return ideal_tail(machine, (FREE, BALLISTIC), lambda gap: (gap, TOUCHING if gap < 0.0 else FREE), self.friction)


BOUNCE = "impact"

OVERLAP_TOLERANCE, GAP_TOLERANCE = 1e-9, 1e-14
"""Largest initial depth and gap that count as touching, relative to the size of the smaller body."""


@in_units(restitution="1", friction="1")
@answer_old_names
@dataclass(frozen=True)
class Impact(FrictionLaw):
    """Impacts by impulses: the bodies separate with e times the speed of approach. When impacts accumulate (Zeno) or are too
    small to resolve, the bodies stay together until the force would have to pull.

    Constrained components other than v_z do not move: an impact stops them, and contact holds them. With friction v_x and v_y
    slip if their force would exceed its limit.

    Attributes
    ----------
    restitution : Newton's e, 0 (the bodies stay together) to 1 (no energy is lost).
    friction : coefficient of the cone of v_x and v_y; None: constrained components never slip.
    """

    restitution: Any
    friction: Any = None

    def problems(self, name: str, chosen: Sequence[str]) -> list[Problem]:
        """Report invalid components (E435), restitution (E436) and friction (E490, E491)."""
        return [*constraint_problems(name, self, chosen), *number_problems(name, self, ("restitution", "", 0.0, 1.0))]

    def attach(self, graph: Graph, split: Element, head: ContactKinematics) -> ContactForces:
        """Connect the constraint on the gap with its restitution, and the constraint of the fixed components."""
        connect_normal(graph, split, restitution=self.restitution)
        constraints = connect_velocity_constraint(graph, split, head.chosen, self.friction, restitution=0.0)
        connect_dry_friction(graph, split, self.friction, FORCE, SwitchStates(STATES, (TOUCHING,)))
        bounce = Transition(
            FREE, FREE, CLOSING_GUARD, ("kinematics.d",), kind=BOUNCE, impact=(NORMAL, *constraints), accumulates=TOUCHING
        )
        release = Transition(TOUCHING, FREE, PULLING_GUARD, (FORCE,), kind=CONTACT_OFF)
        machine = Automaton("switch", STATES, FREE, (bounce, release, *range_limits(head.surfaces, STATES)))
        return replace(ideal_tail(machine, (FREE,), _begin(head), self.friction), closed=(TOUCHING,))


def _begin(head: ContactKinematics) -> Callable[[float], tuple[float, str]]:
    size = min(surface.size for surface in head.surfaces)

    def begin(gap: float) -> tuple[float, str]:
        if gap < -OVERLAP_TOLERANCE * size:
            title = f'contact "{head.name}" is closed at the start: the bodies overlap by {-gap:.3g} m'
            why = "an impact occurs when the gap passes through zero, so the bodies must start apart"
            cures = ("start poses with a non-negative gap", "ThreeState(alpha1, alpha0), which pushes them apart")
            raise refusal("E437", title, *cures, about=head.name, why=why, places=())
        return (gap if gap > GAP_TOLERANCE * size else 0.0), FREE

    return begin


@in_units(friction="1")
@answer_old_names
@dataclass(frozen=True)
class Rigid(FrictionLaw):
    """Rigid contact: the bodies do not overlap, and slip if the tangential force would exceed friction times the normal force;
    only time stepping supports this law (E434).

    Attributes
    ----------
    friction : non-negative coefficient; None: no friction.
    """

    friction: Any = None

    stepping_only: ClassVar[bool] = True

    def problems(self, name: str, chosen: Sequence[str]) -> list[Problem]:
        """Report invalid components (E435) and friction (E490, E491)."""
        cure = f"constrained={list(self.components)}, or omit constrained"
        problems = component_problem(name, self, chosen, self.components, cure)
        return [*problems, *friction_coefficient_problems(name, self.friction, chosen)]

    def attach(self, graph: Graph, split: Element, head: ContactKinematics) -> ContactForces:
        """Add the forces, zero until a step sets them, and any friction coefficient as a parameter."""
        graph.add(Block("step", [("N", zeros(()), []), ("f", zeros((2,)), [])], units={"N": "N", "f": "N"}))
        if self.friction is not None:
            cone = Block(
                "friction cone",
                [("excess", EXCESS, ["effort", "coefficient", "normal"]), ("slip", SLIP, ["twist"])],
                inputs={"effort": "step.f", "normal": "step.N", "twist": "Ad.2.flow"},
                parameters={"coefficient": Parameter(self.friction, "1")},
                symbols={"coefficient": r"\mu", "slip": "u"},
                units={"excess": "N", "slip": "m/s"},
            )
            graph.add(cone)
            graph.export("friction excess", "friction cone.excess")
            graph.export("friction slip", "friction cone.slip")
        return ContactForces(
            Automaton("switch", STATES, FREE, tuple(range_limits(head.surfaces, STATES))),
            None,
            "step.N",
            (("switch", FREE),),
            ("kinematics.d", "switch"),
            lambda gap: (gap, TOUCHING if gap < 0.0 else FREE),
            friction=None if self.friction is None else COEFFICIENT,
            stepped=("step.N",) if self.friction is None else ("step.N", "step.f"),
        )


_PLANE = COMPONENTS.index("v_x")
SLIP = Op("slip", lambda twist: twist[_PLANE : _PLANE + 2], r"(v_x, v_y) \text{ of } #1")
