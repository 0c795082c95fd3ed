"""Impacts with restitution, and rest by a constraint on the gap: the coefficient in; the tail of a contact out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from bondgraph import Automaton, Element, Graph, Transition
from bondgraph.errors import Problem, refusal
from models.contacts.laws.holding import NORMAL, connect_held, connect_normal, held_problems, ideal_tail
from models.contacts.laws.numbers import number_problems
from models.contacts.laws.tails import Head, Tail
from models.contacts.laws.three_state import CLOSED, PULLS
from models.contacts.switches import ENDS, FREE, STATES, TOUCHING, limits

BOUNCE = "impact"
"""Kind of the event of an impact."""

ROUNDING = 1e-9
"""Depth of a start that counts as touching, over the size of the smaller body."""


@dataclass(frozen=True)
class Impact:
    """The bodies part with e times the speed at which they met, by an impulse; where impacts follow one another ever faster, or
    are too small to be seen, they stay together, until the force would have to pull.

    Components beside v_z neither slip nor turn: an impact stops them, and in contact they stay so.

    Attributes
    ----------
    restitution : Newton's e, 0 (they stay together) to 1 (no energy is lost).
    """

    restitution: Any
    friction: Any = None

    components: ClassVar[tuple[str, ...]] = ("v_z",)
    acting: ClassVar[tuple[str, ...]] = ()
    carried: ClassVar[bool] = False
    stepped: ClassVar[bool] = False

    def problems(self, name: str, chosen: Sequence[str]) -> list[Problem]:
        """E435 components, E436 restitution, E439 friction."""
        return [*held_problems(name, self, chosen), *number_problems(name, self, ("restitution", "", 0.0, 1.0))]

    def attach(self, graph: Graph, split: Element, head: Head) -> Tail:
        """The constraint on the gap with its restitution, and that of what does not move."""
        connect_normal(graph, split, restitution=self.restitution)
        held = connect_held(graph, split, head.chosen, restitution=0.0)
        bounce = Transition(FREE, FREE, CLOSED, ("kinematics.d",), kind=BOUNCE, impact=(NORMAL, *held), accumulates=TOUCHING)
        leaves = Transition(TOUCHING, FREE, PULLS, (f"{NORMAL}.multiplier",), kind=ENDS)
        machine = Automaton("switch", STATES, FREE, (bounce, leaves, *limits(head.surfaces, STATES)))
        return ideal_tail(machine, (FREE,), _begin(head))


def _begin(head: Head) -> Callable[[float], tuple[float, str]]:
    least = -ROUNDING * min(surface.size for surface in head.surfaces)

    def begin(gap: float) -> tuple[float, str]:
        """Apart, or just touching; E437 for bodies that overlap."""
        if gap < least:
            title = f'contact "{head.name}" is closed at the start: the bodies overlap by {-gap:.3g} m'
            why = "an impact happens where the gap falls through zero, and bodies that it parts do not overlap"
            cures = ("start poses with a gap of zero or more", "ThreeState(alpha1, alpha0), which presses them apart")
            raise refusal("E437", title, *cures, about=head.name, why=why, places=())
        return max(gap, 0.0), FREE

    return begin
