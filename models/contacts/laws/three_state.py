"""Contact law by a constraint on the gap that an automaton of three states switches (Bortoff 2020).

While the bodies touch, h'' + alpha1 h' + alpha0 h + alpha2 h^3 = 0 defines the force; else it is zero. An automaton of two states
would chatter, since the force of a leaving body may fall below zero while the gap is still negative.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from screwbond.models.contacts.laws.dry_friction import SwitchStates, components_with, connect_dry_friction
from screwbond.models.contacts.laws.ideal_constraints import (
    FORCE,
    connect_normal,
    connect_velocity_constraint,
    constraint_problems,
    ideal_tail,
)
from screwbond.models.contacts.laws.law_interface import ContactForces, ContactKinematics, number_problems
from screwbond.models.contacts.switches import CONTACT_OFF, CONTACT_ON, FREE, TOUCHING, range_limits

from bondgraph import Automaton, Element, Graph, Op, Transition
from bondgraph.errors import Problem
from bondgraph.model.arguments import in_units
from screws.renamed import answer_old_names
from screws.scalars import minimum

BALLISTIC = "ballistic"
"""State without force inside the gap's surface."""

PHASES = (FREE, TOUCHING, BALLISTIC)

TOUCHED, RELEASED, APART, AGAIN = EVENT_KINDS = ("contact", "release", "apart", "contact again")
"""Kinds of the events of a contact."""

CONTACT_EVENT_KINDS = (CONTACT_ON, CONTACT_OFF, APART, CONTACT_ON)
"""Kinds of these events in the words common to all laws of `contact`: where a force begins and ends."""

SOURCE = "BO20 fig. 1"
CLOSING_GUARD = Op("-h", lambda h: -h, "-#1", SOURCE)
OPENING_GUARD = Op("h", lambda h: h, "#1", SOURCE)
PULLING_GUARD = Op("-lambda", lambda force: -force, "-#1", SOURCE)
INWARD_GUARD = Op("inside and inwards", lambda h, rate: minimum(-h, -rate), r"\min(-#1, -#2)", SOURCE)


def contact_states(
    name: str,
    gap: str,
    rate: str,
    force: str,
    *,
    kinds: Sequence[str] = EVENT_KINDS,
    resets: tuple[tuple[str, Op, tuple[str, ...]], ...] = (),
    further: Sequence[Transition] = (),
) -> Automaton:
    """Return the automaton of a contact: it closes with its gap, opens where it would have to pull, and closes again when a
    released body inside the gap's surface turns inwards.

    Parameters
    ----------
    gap, rate, force : signals, m, m/s and N, the force positive where it presses.
    kinds : of the events touched, released, apart and touched again.
    resets : states that are set where it opens. further : more transitions of the automaton.

    Source: Bortoff 2020, section 2, fig. 1.
    """
    touched, released, apart, again = kinds
    edges = (
        Transition(FREE, TOUCHING, CLOSING_GUARD, (gap,), kind=touched),
        Transition(TOUCHING, BALLISTIC, PULLING_GUARD, (force,), resets, kind=released),
        Transition(BALLISTIC, FREE, OPENING_GUARD, (gap,), kind=apart),
        Transition(BALLISTIC, TOUCHING, INWARD_GUARD, (gap, rate), kind=again),
        *further,
    )
    return Automaton(name, PHASES, FREE, edges)


@in_units(alpha1="1/s", alpha0="1/s^2", alpha2="1/(m^2 s^2)", friction="1")
@answer_old_names
@dataclass(frozen=True)
class ThreeState:
    """Stabilised constraint d'' + alpha1 d' + alpha0 d + alpha2 d^3 = 0 while the bodies touch, by any force that presses.

    An impact is smooth: the speed vanishes in the time 1 / alpha1. Energy from stabilisation counts as injected. Constrained
    components other than v_z come to rest with the same alpha1; with friction v_x and v_y slip where their force would exceed its
    limit.

    Attributes
    ----------
    alpha1, alpha0, alpha2 : 1/s, 1/s^2, 1/(m^2 s^2).
    friction : coefficient of the cone of v_x and v_y; None: constrained ones never slip.

    Source: Bortoff 2020, section 2.
    """

    alpha1: Any
    alpha0: Any
    alpha2: Any = 0.0
    friction: Any = None

    active_states: ClassVar[tuple[str, ...]] = ()
    tangent_vectors: ClassVar[bool] = False
    stepping_only: ClassVar[bool] = False

    @property
    def components(self) -> tuple[str, ...]:
        """Components v_z, and with friction v_x and v_y."""
        return components_with(self.friction)

    def problems(self, name: str, chosen: Sequence[str]) -> list[Problem]:
        """Report E435 components, E436 numbers, E490, E491 friction."""
        units = (("alpha1", "1/s"), ("alpha0", "1/s^2"), ("alpha2", "1/(m^2 s^2)"))
        numbers = number_problems(name, self, *((field, unit, 0.0, math.inf) for field, unit in units))
        return [*constraint_problems(name, self, chosen), *numbers]

    def attach(self, graph: Graph, split: Element, head: ContactKinematics) -> ContactForces:
        """Connect the constraint on the gap, and those of the fixed components."""
        numbers: dict[str, Any] = {"alpha1": self.alpha1, "alpha0": self.alpha0, "alpha2": self.alpha2}
        connect_normal(graph, split, closing="smooth", **numbers)
        connect_velocity_constraint(graph, split, head.chosen, self.friction, closing="smooth", alpha1=self.alpha1)
        connect_dry_friction(graph, split, self.friction, FORCE, SwitchStates(PHASES, (TOUCHING,)))
        signals = ("kinematics.d", "normal.h'", FORCE)
        machine = contact_states("switch", *signals, kinds=CONTACT_EVENT_KINDS, further=range_limits(head.surfaces, PHASES))
        return ideal_tail(machine, (FREE, BALLISTIC), lambda gap: (gap, TOUCHING if gap < 0.0 else FREE), self.friction)
