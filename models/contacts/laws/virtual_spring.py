"""Virtual spring contact law (Wang 2022): a spring that is stiffer in restitution than in compression.

At the end of compression the spring keeps its force and loses the share 1 - e^2 of its energy: its deformation becomes e^2 times
as large, its stiffness k / e^2. It returns the share e of the momentum in the share e of the time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from screwbond.models.contacts.laws.law_interface import ContactForces, ContactKinematics, number_problems
from screwbond.models.contacts.laws.three_state import APART, BALLISTIC, CLOSING_GUARD, INWARD_GUARD, OPENING_GUARD, PULLING_GUARD
from screwbond.models.contacts.laws.viscoelastic import CONSTRAINT_FORCE, NORMAL_COMPONENT, normal_only, normal_row
from screwbond.models.contacts.switches import CONTACT_OFF, CONTACT_ON, FREE, SPRING_RELEASE, range_limits

from bondgraph import Automaton, C, Element, Graph, Op, Parameter, Transition
from bondgraph.errors import Problem
from bondgraph.model.arguments import in_units
from bondgraph.model.ops import NEGATE
from screws.renamed import answer_old_names
from screws.scalars import equal, where

COMPRESSION, RESTITUTION = "compression", "restitution"
SPRING_PHASES = (FREE, COMPRESSION, RESTITUTION, BALLISTIC)


@in_units(k="N/m", restitution="1")
@answer_old_names
@dataclass(frozen=True)
class VirtualSpring:
    """Spring with f = k s in compression, and f = k/e^2 (s - (1 - e^2) s_most) in restitution, until that is zero.

    Force and penetration are in phase, the bodies separate with e times the speed of approach, and overlap by (1 - e^2) s_most as
    they do. A second compression before separation meets the stiffer spring.

    Attributes
    ----------
    k : N/m. restitution : e, above 0, at most 1 (a spring without loss).

    A law of impacts, not of rest: under a steady load every small bounce adds such an overlap.

    Source: Wang 2022, section V.B; Jia, Mason and Erdmann 2013.
    """

    k: Any
    restitution: Any

    components: ClassVar[tuple[str, ...]] = NORMAL_COMPONENT
    active_states: ClassVar[tuple[str, ...]] = (COMPRESSION, RESTITUTION)
    tangent_vectors: ClassVar[bool] = False
    stepping_only: ClassVar[bool] = False

    def problems(self, name: str, chosen: Sequence[str]) -> list[Problem]:
        """Report E435 components, E436 numbers."""
        ranges = (("k", "N/m", 0.0, math.inf), ("restitution", "", 0.0, 1.0))
        return [*normal_only(name, self, chosen), *number_problems(name, self, *ranges, above=("k", "restitution"))]

    def attach(self, graph: Graph, split: Element, head: ContactKinematics) -> ContactForces:
        """Connect the spring along the normal and its automaton."""
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
        shortening = ((length, SHORTENED, (length, "spring.restitution")),)
        machine = Automaton(
            "switch",
            SPRING_PHASES,
            FREE,
            (
                Transition(FREE, COMPRESSION, CLOSING_GUARD, (gap,), kind=CONTACT_ON),
                Transition(COMPRESSION, RESTITUTION, NEGATE, ("constrained.2.flow",), shortening, kind="end of compression"),
                Transition(RESTITUTION, BALLISTIC, PULLING_GUARD, (length,), SPRING_RELEASE, kind=CONTACT_OFF),
                Transition(BALLISTIC, FREE, OPENING_GUARD, (gap,), kind=APART),
                Transition(BALLISTIC, COMPRESSION, INWARD_GUARD, (gap, rate), kind=CONTACT_ON),
                *range_limits(head.surfaces, SPRING_PHASES),
            ),
        )
        return ContactForces(
            machine,
            CONSTRAINT_FORCE,
            CONSTRAINT_FORCE.signal,
            (("switch", FREE), ("switch", BALLISTIC)),
            ("kinematics.d", length, "switch"),
            lambda gap: (gap, max(-gap, 0.0), COMPRESSION if gap < 0.0 else FREE),
            "X0.effort",
            (length,),
        )


def _stiffness(k: Any, e: Any, mode: Any) -> Any:
    return k / where(equal(mode, float(SPRING_PHASES.index(RESTITUTION))), e * e, 1.0)


_STIFFNESS = r"#2\,#3^{-2\,[#4 = 2]}"
EFFORT = Op("virtual spring", lambda s, k, e, mode: _stiffness(k, e, mode) * s, rf"{_STIFFNESS}\,#1", "WA22 section V.B")
ENERGY = Op("energy", lambda s, k, e, mode: _stiffness(k, e, mode) * s * s / 2, rf"\tfrac12 {_STIFFNESS}\,#1^2")
SHORTENED = Op("e^2 s", lambda s, e: e * e * s, r"#2^2\,#1")
