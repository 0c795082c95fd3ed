"""A spring that is stiffer as it lets go than as it was pressed, Wang 2022's virtual spring; numbers in; a contact's tail out.

Where compression ends the spring keeps its force and loses the part 1 - e^2 of its energy: its length becomes e^2 times as long,
its stiffness k / e^2. So it takes the part e of the momentum that it gave to give it back, in the part e of the time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from screwbond.models.contacts.laws.numbers import number_problems
from screwbond.models.contacts.laws.tails import ContactForces, ContactKinematics
from screwbond.models.contacts.laws.three_state import APART, BALLISTIC, CLOSED, INWARDS, OPEN, PULLS
from screwbond.models.contacts.laws.viscoelastic import ALONG, FORCE, normal_only, normal_row
from screwbond.models.contacts.switches import BEGINS, ENDS, FREE, RELEASE, limits

from bondgraph import Automaton, C, Element, Graph, Op, Parameter, Transition
from bondgraph.errors import Problem
from bondgraph.model.ops import NEGATE
from screws.renamed import answer_old_names
from screws.scalars import equal, where

COMPRESSION, RESTITUTION = "compression", "restitution"
STATES = (FREE, COMPRESSION, RESTITUTION, BALLISTIC)


@answer_old_names
@dataclass(frozen=True)
class VirtualSpring:
    """f = k s while the bodies come nearer, and f = k/e^2 (s - (1 - e^2) s_most) as they part, until that is zero.

    Force and penetration are in phase, the bodies part with e times the speed at which they met, and overlap by (1 - e^2) s_most
    as they do. What presses them together again before they part meets the stiffer spring.

    Attributes
    ----------
    k : N/m. restitution : e, above 0, at most 1 (a spring without loss).

    A law of impacts, not of rest: under a steady load every small bounce leaves such an overlap behind.

    Source: Wang 2022, section V.B; Jia, Mason and Erdmann 2013.
    """

    k: Any
    restitution: Any

    components: ClassVar[tuple[str, ...]] = ALONG
    active_states: ClassVar[tuple[str, ...]] = (COMPRESSION, RESTITUTION)
    tangent_vectors: ClassVar[bool] = False
    stepping_only: ClassVar[bool] = False

    def problems(self, name: str, chosen: Sequence[str]) -> list[Problem]:
        """E435 components, E436 numbers."""
        ranges = (("k", "N/m", 0.0, math.inf), ("restitution", "", 0.0, 1.0))
        return [*normal_only(name, self, chosen), *number_problems(name, self, *ranges, above=("k", "restitution"))]

    def attach(self, graph: Graph, split: Element, head: ContactKinematics) -> ContactForces:
        """The spring along the normal and its machine."""
        spring = C(
            "spring",
            output=EFFORT,
            energy=ENERGY,
            parameters={"stiffness": Parameter(self.k, "N/m"), "restitution": Parameter(self.restitution, "1")},
            signals=["switch.mode"],
            symbols={"q": "s", "stiffness": "k", "restitution": r"e_{\mathrm{r}}"},
        )
        graph.connect(split, row := normal_row()).connect(row, spring)
        gap, rate, length = "kinematics.d", "kinematics.d'", "spring.q"
        shorter = ((length, SHORTER, (length, "spring.restitution")),)
        machine = Automaton(
            "switch",
            STATES,
            FREE,
            (
                Transition(FREE, COMPRESSION, CLOSED, (gap,), kind=BEGINS),
                Transition(COMPRESSION, RESTITUTION, NEGATE, ("constrained.2.flow",), shorter, kind="end of compression"),
                Transition(RESTITUTION, BALLISTIC, PULLS, (length,), RELEASE, kind=ENDS),
                Transition(BALLISTIC, FREE, OPEN, (gap,), kind=APART),
                Transition(BALLISTIC, COMPRESSION, INWARDS, (gap, rate), kind=BEGINS),
                *limits(head.surfaces, STATES),
            ),
        )
        return ContactForces(
            machine,
            FORCE,
            FORCE.signal,
            (("switch", FREE), ("switch", BALLISTIC)),
            ("kinematics.d", length, "switch"),
            lambda gap: (gap, max(-gap, 0.0), COMPRESSION if gap < 0.0 else FREE),
            "X0.effort",
            (length,),
        )


def _stiffness(k: Any, e: Any, mode: Any) -> Any:
    return k / where(equal(mode, float(STATES.index(RESTITUTION))), e * e, 1.0)


_STIFFNESS = r"#2\,#3^{-2\,[#4 = 2]}"
EFFORT = Op("virtual spring", lambda s, k, e, mode: _stiffness(k, e, mode) * s, rf"{_STIFFNESS}\,#1", "WA22 section V.B")
ENERGY = Op("energy", lambda s, k, e, mode: _stiffness(k, e, mode) * s * s / 2, rf"\tfrac12 {_STIFFNESS}\,#1^2")
SHORTER = Op("e^2 s", lambda s, e: e * e * s, r"#2^2\,#1")
