"""Maxwell contact law: a spring and a damper in series, which Wang 2022 compares and rejects.

```
   1  T_O2^{C2,O1}
   |
  TF constrained
   |
   0  contact force
  / \\
 C k  R c
```
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from screwbond.models.contacts.laws.law_interface import ContactForces, ContactKinematics, number_problems
from screwbond.models.contacts.laws.three_state import BALLISTIC, CONTACT_EVENT_KINDS, PHASES, contact_states
from screwbond.models.contacts.laws.viscoelastic import CONSTRAINT_FORCE, NORMAL_COMPONENT, normal_only, normal_row, normal_spring
from screwbond.models.contacts.switches import FREE, SPRING_RELEASE, TOUCHING, range_limits

from bondgraph import J0, Element, Graph, R
from bondgraph.errors import Problem
from bondgraph.model.arguments import in_units
from screws.renamed import answer_old_names


@in_units(k="N/m", c="N s/m")
@answer_old_names
@dataclass(frozen=True)
class Maxwell:
    """Spring k and damper c in series on v_z: f' + k/c f = k s'. It releases where the force falls to zero, while the bodies
    still overlap by the damper's deformation.

    The bodies separate with e = exp(-pi delta / omega) of the speed of approach, delta = k / 2c, omega^2 = k/m - delta^2,
    whatever that speed; from delta^2 = k/m on they do not separate. Under a steady load the damper yields without end.

    Attributes
    ----------
    k, c : N/m, N s/m.

    Source: Wang 2022, section V.C.
    """

    k: Any
    c: Any

    components: ClassVar[tuple[str, ...]] = NORMAL_COMPONENT
    active_states: ClassVar[tuple[str, ...]] = (TOUCHING,)
    tangent_vectors: ClassVar[bool] = False
    stepping_only: ClassVar[bool] = False

    def problems(self, name: str, chosen: Sequence[str]) -> list[Problem]:
        """Report E435 components, E436 numbers."""
        ranges = (("k", "N/m", 0.0, math.inf), ("c", "N s/m", 0.0, math.inf))
        return [*normal_only(name, self, chosen), *number_problems(name, self, *ranges, above=("k", "c"))]

    def attach(self, graph: Graph, split: Element, head: ContactKinematics) -> ContactForces:
        """Connect spring and damper in series along the normal."""
        force = J0("contact force", symbols={"effort": "f"})
        graph.connect(split, row := normal_row()).connect(row, force)
        graph.connect(force, normal_spring(self.k)).connect(force, R("damper", self.c, symbols={"resistance": "c"}))
        signals = ("kinematics.d", "kinematics.d'", "spring.q")
        further = range_limits(head.surfaces, PHASES)
        machine = contact_states("switch", *signals, kinds=CONTACT_EVENT_KINDS, resets=SPRING_RELEASE, further=further)
        return ContactForces(
            machine,
            CONSTRAINT_FORCE,
            CONSTRAINT_FORCE.signal,
            (("switch", FREE), ("switch", BALLISTIC)),
            ("kinematics.d", "spring.q", "switch"),
            lambda gap: (gap, max(-gap, 0.0), TOUCHING if gap < 0.0 else FREE),
            "X0.effort",
            ("spring.q",),
        )
