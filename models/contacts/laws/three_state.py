"""Contact by a constraint on the gap that a machine of three states switches: Bortoff 2020; numbers in; a contact's tail out.

While the bodies touch, h'' + alpha1 h' + alpha0 h + alpha2 h^3 = 0 defines the force; else it is zero. A machine of two states
would chatter, since as a body leaves the force may fall below zero while the gap is still negative.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from screwbond.models.contacts.laws.holding import FORCE, connect_held, connect_normal, held_problems, ideal_tail
from screwbond.models.contacts.laws.numbers import number_problems
from screwbond.models.contacts.laws.rubbing import Follows, components_with, connect_rubbing
from screwbond.models.contacts.laws.tails import ContactForces, ContactKinematics
from screwbond.models.contacts.switches import BEGINS, ENDS, FREE, TOUCHING, limits

from bondgraph import Automaton, Element, Graph, Op, Transition
from bondgraph.errors import Problem
from screws.renamed import answer_old_names
from screws.scalars import minimum

BALLISTIC = "ballistic"
"""Inside the gap's surface, without force."""

STATES = (FREE, TOUCHING, BALLISTIC)

TOUCHED, RELEASED, APART, AGAIN = KINDS = ("contact", "release", "apart", "contact again")
"""Kinds of the events of a contact."""

LASTING = (BEGINS, ENDS, APART, BEGINS)
"""The same in the words of all laws of `contact`, which tell where a force begins and ends."""

MACHINE = "BO20 fig. 1"
CLOSED = Op("-h", lambda h: -h, "-#1", MACHINE)
OPEN = Op("h", lambda h: h, "#1", MACHINE)
PULLS = Op("-lambda", lambda force: -force, "-#1", MACHINE)
INWARDS = Op("inside and inwards", lambda h, rate: minimum(-h, -rate), r"\min(-#1, -#2)", MACHINE)


def contact_states(
    name: str,
    gap: str,
    rate: str,
    force: str,
    *,
    kinds: Sequence[str] = KINDS,
    resets: tuple[tuple[str, Op, tuple[str, ...]], ...] = (),
    further: Sequence[Transition] = (),
) -> Automaton:
    """The state machine of a contact: closes with its gap, opens where it would have to pull, and closes again as a body that
    has been let go inside the gap's surface turns inwards.

    Parameters
    ----------
    gap, rate, force : signals, m, m/s and N, the force positive where it presses.
    kinds : of the events touched, released, apart and touched again.
    resets : states that are set where it opens. further : transitions of the same machine.

    Source: Bortoff 2020, section 2, fig. 1.
    """
    touched, released, apart, again = kinds
    edges = (
        Transition(FREE, TOUCHING, CLOSED, (gap,), kind=touched),
        Transition(TOUCHING, BALLISTIC, PULLS, (force,), resets, kind=released),
        Transition(BALLISTIC, FREE, OPEN, (gap,), kind=apart),
        Transition(BALLISTIC, TOUCHING, INWARDS, (gap, rate), kind=again),
        *further,
    )
    return Automaton(name, STATES, FREE, edges)


@answer_old_names
@dataclass(frozen=True)
class ThreeState:
    """d'' + alpha1 d' + alpha0 d + alpha2 d^3 = 0 while the bodies touch, by whatever force that takes as long as it presses.

    An impact is smooth: the speed goes as the numbers say, in the time 1 / alpha1. What stabilisation gives or takes is booked as
    injected. Constrained components beside v_z come to rest with the same alpha1; with friction v_x and v_y slip where they would
    need more than it.

    Attributes
    ----------
    alpha1, alpha0, alpha2 : 1/s, 1/s^2, 1/(m^2 s^2).
    friction : coefficient of the cone of v_x and v_y; None: what of them is constrained never slips.

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
        """v_z, and with friction v_x and v_y."""
        return components_with(self.friction)

    def problems(self, name: str, chosen: Sequence[str]) -> list[Problem]:
        """E435 components, E436 numbers, E490, E491 friction."""
        every = (("alpha1", "1/s"), ("alpha0", "1/s^2"), ("alpha2", "1/(m^2 s^2)"))
        numbers = number_problems(name, self, *((field, unit, 0.0, math.inf) for field, unit in every))
        return [*held_problems(name, self, chosen), *numbers]

    def attach(self, graph: Graph, split: Element, head: ContactKinematics) -> ContactForces:
        """The constraint on the gap, and those of what does not move."""
        numbers: dict[str, Any] = {"alpha1": self.alpha1, "alpha0": self.alpha0, "alpha2": self.alpha2}
        connect_normal(graph, split, closing="smooth", **numbers)
        connect_held(graph, split, head.chosen, self.friction, closing="smooth", alpha1=self.alpha1)
        connect_rubbing(graph, split, self.friction, FORCE, Follows(STATES, (TOUCHING,)))
        signals = ("kinematics.d", "normal.h'", FORCE)
        machine = contact_states("switch", *signals, kinds=LASTING, further=limits(head.surfaces, STATES))
        return ideal_tail(machine, (FREE, BALLISTIC), lambda gap: (gap, TOUCHING if gap < 0.0 else FREE), self.friction)
