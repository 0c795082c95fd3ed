"""Viscoelastic contact law: a spring with damping proportional to the penetration (Wang 2022 (15)).

```
   1  T_O2^{C2,O1}
   |
  TF constrained            s: penetration, from the spring's own state
   |
   1  deformation rate
  / \\
 C k  R c s                 f = k s + c s s'
```
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from screwbond.models.contacts.components import domain_of, selection
from screwbond.models.contacts.laws.law_interface import ContactForces, ContactKinematics, component_problem, number_problems
from screwbond.models.contacts.switches import FREE, TOUCHING, gap_switch

from bondgraph import J1, TF, C, Element, Graph, Op, Parameter, R
from bondgraph.errors import Problem
from bondgraph.model.arguments import in_units
from bondgraph.model.domains import SCREW
from bondgraph.model.model import SignalEntry
from screws.renamed import answer_old_names
from screws.scalars import maximum

NORMAL_COMPONENT = ("v_z",)
"""Component that springs along the normal constrain."""


@in_units(k="N/m", c="N s/m^2")
@answer_old_names
@dataclass(frozen=True)
class Viscoelastic:
    """Spring and damper f = k s + c s s' on v_z, with s the penetration; the force begins and ends at zero.

    The bodies separate with the speed e v0, where w0 = -c v0 / k and e = (1 + W(-exp(w0 + ln(1 - w0) - 1))) / |w0| of Lambert's
    W: less for a faster impact, e = 1 - 2/3 |w0| for a slow one. In an impact the force never pulls, since no motion reaches the
    line s' = -k / c; where other forces pull the bodies apart faster than that, it is zero.

    Attributes
    ----------
    k : N/m. c : N s/m^2; k / c is a speed.

    Source: Wang 2022 (15); (17) there is the limit of fast impacts.
    """

    k: Any
    c: Any

    components: ClassVar[tuple[str, ...]] = NORMAL_COMPONENT
    active_states: ClassVar[tuple[str, ...]] = (TOUCHING,)
    tangent_vectors: ClassVar[bool] = False
    stepping_only: ClassVar[bool] = False

    def problems(self, name: str, chosen: Sequence[str]) -> list[Problem]:
        """Report E435 components, E436 numbers."""
        numbers = number_problems(name, self, ("k", "N/m", 0.0, math.inf), ("c", "N s/m^2", 0.0, math.inf), above=("k",))
        return [*normal_only(name, self, chosen), *numbers]

    def attach(self, graph: Graph, split: Element, head: ContactKinematics) -> ContactForces:
        """Connect spring and damper along the normal."""
        common = J1("deformation rate", symbols={"flow": r"\dot s"})
        damper = R(
            "damper",
            effort=DAMPING,
            parameters={"damping": Parameter(self.c, "N s/m^2")},
            signals=["spring.q", "spring.effort"],
            symbols={"damping": "c"},
        )
        graph.connect(split, row := normal_row()).connect(row, common)
        graph.connect(common, normal_spring(self.k)).connect(common, damper)
        return ContactForces(
            gap_switch(head.surfaces),
            CONSTRAINT_FORCE,
            CONSTRAINT_FORCE.signal,
            (("switch", FREE),),
            ("kinematics.d", "spring.q", "switch"),
            lambda gap: (gap, max(-gap, 0.0), TOUCHING if gap < 0.0 else FREE),
            "X0.effort",
            ("spring.q",),
            penetration=SignalEntry("spring.q"),
        )


DAMPING = Op(
    "damping in proportion to the penetration",
    lambda rate, c, s, spring: maximum(c * s * rate, -spring),
    r"\max(#2\,#3\,#1, -#4)",
    "WA22 (15)",
)
CONSTRAINT_FORCE = SignalEntry("constrained.2.effort")
"""Signal of the force of a spring along the normal."""


def normal_row() -> Element:
    """Return the TF that selects v_z of the contact twist."""
    domains = (SCREW, domain_of(NORMAL_COMPONENT))
    return TF(
        "constrained", selection(NORMAL_COMPONENT), structural=True, domains=domains, symbols={"matrix": r"S_{\mathrm{con}}"}
    )


def normal_spring(stiffness: Any) -> Element:
    """Return the C whose state is the penetration, m."""
    return C("spring", stiffness=stiffness, symbols={"q": "s", "stiffness": "k"})


def normal_only(name: str, law: object, chosen: Sequence[str]) -> list[Problem]:
    """Report E435 for a law along the normal that constrains another component."""
    cure = 'constrained=["v_z"]; Compliant(...) has springs for the other components too'
    return [*component_problem(name, law, chosen, NORMAL_COMPONENT, cure)]
