"""Impact law with restitution, and rest by a constraint on the gap."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from screwbond.models.contacts.laws.dry_friction import SwitchStates, components_with, connect_dry_friction
from screwbond.models.contacts.laws.ideal_constraints import (
    FORCE,
    NORMAL,
    connect_normal,
    connect_velocity_constraint,
    constraint_problems,
    ideal_tail,
)
from screwbond.models.contacts.laws.law_interface import ContactForces, ContactKinematics, number_problems
from screwbond.models.contacts.laws.three_state import CLOSING_GUARD, PULLING_GUARD
from screwbond.models.contacts.switches import CONTACT_OFF, FREE, STATES, TOUCHING, range_limits

from bondgraph import Automaton, Element, Graph, Transition
from bondgraph.errors import Problem, refusal
from bondgraph.model.arguments import in_units
from screws.renamed import answer_old_names

BOUNCE = "impact"
"""Kind of the impact event."""

OVERLAP_TOLERANCE, GAP_TOLERANCE = 1e-9, 1e-14
"""Initial depth and gap that count as touching, over the size of the smaller body."""


@in_units(restitution="1", friction="1")
@answer_old_names
@dataclass(frozen=True)
class Impact:
    """Impacts by impulses: the bodies separate with e times the speed of approach. Where impacts accumulate (Zeno) or are too
    small to resolve, the bodies stay together until the force would have to pull.

    Constrained components other than v_z do not move: an impact stops them, and contact holds them. With friction v_x and v_y
    slip where their force would exceed its limit.

    Attributes
    ----------
    restitution : Newton's e, 0 (they stay together) to 1 (no energy is lost).
    friction : coefficient of the cone of v_x and v_y; None: constrained ones never slip.
    """

    restitution: Any
    friction: Any = None

    active_states: ClassVar[tuple[str, ...]] = ()
    tangent_vectors: ClassVar[bool] = False
    stepping_only: ClassVar[bool] = False

    @property
    def components(self) -> tuple[str, ...]:
        """Components v_z, and with friction v_x and v_y."""
        return components_with(self.friction)

    def problems(self, name: str, chosen: Sequence[str]) -> list[Problem]:
        """Report E435 components, E436 restitution, E490, E491 friction."""
        return [*constraint_problems(name, self, chosen), *number_problems(name, self, ("restitution", "", 0.0, 1.0))]

    def attach(self, graph: Graph, split: Element, head: ContactKinematics) -> ContactForces:
        """Connect the constraint on the gap with its restitution, and that of the fixed components."""
        connect_normal(graph, split, restitution=self.restitution)
        constraints = connect_velocity_constraint(graph, split, head.chosen, self.friction, restitution=0.0)
        connect_dry_friction(graph, split, self.friction, FORCE, SwitchStates(STATES, (TOUCHING,)))
        bounce = Transition(
            FREE, FREE, CLOSING_GUARD, ("kinematics.d",), kind=BOUNCE, impact=(NORMAL, *constraints), accumulates=TOUCHING
        )
        release = Transition(TOUCHING, FREE, PULLING_GUARD, (FORCE,), kind=CONTACT_OFF)
        machine = Automaton("switch", STATES, FREE, (bounce, release, *range_limits(head.surfaces, STATES)))
        return ideal_tail(machine, (FREE,), _begin(head), self.friction)


def _begin(head: ContactKinematics) -> Callable[[float], tuple[float, str]]:
    size = min(surface.size for surface in head.surfaces)

    def begin(gap: float) -> tuple[float, str]:
        """Return (gap, state) of a start: apart, or just touching; E437 for bodies that overlap."""
        if gap < -OVERLAP_TOLERANCE * size:
            title = f'contact "{head.name}" is closed at the start: the bodies overlap by {-gap:.3g} m'
            why = "an impact happens where the gap falls through zero, and bodies that it parts do not overlap"
            cures = ("start poses with a gap of zero or more", "ThreeState(alpha1, alpha0), which presses them apart")
            raise refusal("E437", title, *cures, about=head.name, why=why, places=())
        return (gap if gap > GAP_TOLERANCE * size else 0.0), FREE

    return begin
