"""Impacts with restitution, and rest by a constraint on the gap: the coefficient in; the tail of a contact out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from screwbond.models.contacts.laws.holding import FORCE, NORMAL, connect_held, connect_normal, held_problems, ideal_tail
from screwbond.models.contacts.laws.numbers import number_problems
from screwbond.models.contacts.laws.rubbing import Follows, components_with, connect_rubbing
from screwbond.models.contacts.laws.tails import ContactForces, ContactKinematics
from screwbond.models.contacts.laws.three_state import CLOSED, PULLS
from screwbond.models.contacts.switches import ENDS, FREE, STATES, TOUCHING, limits

from bondgraph import Automaton, Element, Graph, Transition
from bondgraph.errors import Problem, refusal
from screws.renamed import answer_old_names

BOUNCE = "impact"
"""Kind of the event of an impact."""

ROUNDING, NO_GAP = 1e-9, 1e-14
"""Depth and gap of a start that count as touching, over the size of the smaller body."""


@answer_old_names
@dataclass(frozen=True)
class Impact:
    """The bodies part with e times the speed at which they met, by an impulse; where impacts follow one another ever faster, or
    are too small to be seen, they stay together, until the force would have to pull.

    Constrained components beside v_z do not move: an impact stops them, and in contact they stay so. With friction v_x and v_y
    slip where they would need more than it.

    Attributes
    ----------
    restitution : Newton's e, 0 (they stay together) to 1 (no energy is lost).
    friction : coefficient of the cone of v_x and v_y; None: what of them is constrained never slips.
    """

    restitution: Any
    friction: Any = None

    active_states: ClassVar[tuple[str, ...]] = ()
    tangent_vectors: ClassVar[bool] = False
    stepping_only: ClassVar[bool] = False

    @property
    def components(self) -> tuple[str, ...]:
        """v_z, and with friction v_x and v_y."""
        return components_with(self.friction)

    def problems(self, name: str, chosen: Sequence[str]) -> list[Problem]:
        """E435 components, E436 restitution, E490, E491 friction."""
        return [*held_problems(name, self, chosen), *number_problems(name, self, ("restitution", "", 0.0, 1.0))]

    def attach(self, graph: Graph, split: Element, head: ContactKinematics) -> ContactForces:
        """The constraint on the gap with its restitution, and that of what does not move."""
        connect_normal(graph, split, restitution=self.restitution)
        held = connect_held(graph, split, head.chosen, self.friction, restitution=0.0)
        connect_rubbing(graph, split, self.friction, FORCE, Follows(STATES, (TOUCHING,)))
        bounce = Transition(FREE, FREE, CLOSED, ("kinematics.d",), kind=BOUNCE, impact=(NORMAL, *held), accumulates=TOUCHING)
        leaves = Transition(TOUCHING, FREE, PULLS, (FORCE,), kind=ENDS)
        machine = Automaton("switch", STATES, FREE, (bounce, leaves, *limits(head.surfaces, STATES)))
        return ideal_tail(machine, (FREE,), _begin(head), self.friction)


def _begin(head: ContactKinematics) -> Callable[[float], tuple[float, str]]:
    size = min(surface.size for surface in head.surfaces)

    def begin(gap: float) -> tuple[float, str]:
        """Apart, or just touching; E437 for bodies that overlap."""
        if gap < -ROUNDING * size:
            title = f'contact "{head.name}" is closed at the start: the bodies overlap by {-gap:.3g} m'
            why = "an impact happens where the gap falls through zero, and bodies that it parts do not overlap"
            cures = ("start poses with a gap of zero or more", "ThreeState(alpha1, alpha0), which presses them apart")
            raise refusal("E437", title, *cures, about=head.name, why=why, places=())
        return (gap if gap > NO_GAP * size else 0.0), FREE

    return begin
