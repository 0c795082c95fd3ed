"""Contact laws with a spring along the normal: viscoelastic, Maxwell, and virtual spring (Wang 2022).

```
    viscoelastic                   Maxwell

   1  T_O2^{C2,O1}                 1  T_O2^{C2,O1}
   |                               |
  TF constrained                  TF constrained
   |                               |
   1  deformation rate             0  contact force
  / \\                             / \\
 C k  R c s                       C k  R c
```

The virtual spring is stiffer in restitution than in compression: at the end of compression it keeps its force and loses the
fraction 1 - e^2 of its energy, as its deformation becomes e^2 times as large and its stiffness k / e^2. Restitution returns the
fraction e of the momentum in the fraction e of the compression time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from screwbond.models.contacts.components import domain_of, selection
from screwbond.models.contacts.laws.law_interface import ContactForces, ContactKinematics, component_problem, number_problems
from screwbond.models.contacts.laws.three_state import (
    APART,
    BALLISTIC,
    CLOSING_GUARD,
    CONTACT_EVENT_KINDS,
    CONTACT_TWIST,
    INWARD_TWIST_GUARD,
    OPENING_GUARD,
    PHASES,
    PULLING_GUARD,
    contact_states,
)
from screwbond.models.contacts.switches import CONTACT_OFF, CONTACT_ON, FREE, SPRING_RELEASE, TOUCHING, gap_switch, range_limits

from bondgraph import J0, J1, TF, Automaton, C, Element, Graph, Op, Parameter, R, Transition
from bondgraph.errors import Problem
from bondgraph.model.arguments import in_units
from bondgraph.model.domains import SCREW
from bondgraph.model.model import SignalEntry
from bondgraph.model.ops import NEGATE
from screws.names import answer_old_names
from screws.scalars import equal, maximum, where

NORMAL_COMPONENT = ("v_z",)


class _NormalSpringLaw:
    components: ClassVar[tuple[str, ...]] = NORMAL_COMPONENT
    active_states: ClassVar[tuple[str, ...]] = (TOUCHING,)
    tangent_vectors: ClassVar[bool] = False
    stepping_only: ClassVar[bool] = False
    ranges: ClassVar[tuple[tuple[str, str, float, float], ...]]
    above: ClassVar[tuple[str, ...]]

    def problems(self, name: str, chosen: Sequence[str]) -> list[Problem]:
        cure = 'constrained=["v_z"]; Compliant(...) has springs for the other components too'
        numbers = number_problems(name, self, *self.ranges, above=self.above)
        return [*component_problem(name, self, chosen, NORMAL_COMPONENT, cure), *numbers]


@in_units(k="N/m", c="N s/m^2")
@answer_old_names
@dataclass(frozen=True)
class Viscoelastic(_NormalSpringLaw):
    """Spring and damper f = k s + c s s' on v_z, with s the penetration; the force begins and ends at zero.

    The bodies separate with the speed e v0, where w0 = -c v0 / k and e = (1 + W(-exp(w0 + ln(1 - w0) - 1))) / |w0| with Lambert's
    W: e is smaller for a faster impact, and 1 - 2/3 |w0| for a slow one. In an impact the force never pulls, since no motion
    reaches the line s' = -k / c; if other forces pull the bodies apart faster than that, the force is zero.

    Attributes
    ----------
    k : N/m.
    c : N s/m^2; k / c is a speed.

    Source: Wang 2022 (15); (17) there is the limit of fast impacts.
    """

    k: Any
    c: Any

    ranges = (("k", "N/m", 0.0, math.inf), ("c", "N s/m^2", 0.0, math.inf))
    above = ("k",)

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
        return _spring_forces(gap_switch(head.surfaces), (FREE,), self.active_states, penetration=SignalEntry("spring.q"))


DAMPING = Op(
    "damping in proportion to the penetration",
    lambda rate, c, s, spring: maximum(c * s * rate, -spring),
    r"\max(#2\,#3\,#1, -#4)",
    "WA22 (15)",
)
CONSTRAINT_FORCE = SignalEntry("constrained.2.effort")


def _spring_forces(
    switch: Automaton, off: Sequence[str], closed: tuple[str, ...], penetration: SignalEntry | None = None
) -> ContactForces:
    return ContactForces(
        switch,
        CONSTRAINT_FORCE,
        CONSTRAINT_FORCE.signal,
        tuple(("switch", state) for state in off),
        ("kinematics.d", "spring.q", "switch"),
        lambda gap: (gap, max(-gap, 0.0), closed[0] if gap < 0.0 else FREE),
        "X0.effort",
        ("spring.q",),
        penetration=penetration,
        spring=SignalEntry("spring.q"),
        closed=closed,
    )


def normal_row() -> Element:
    domains = (SCREW, domain_of(NORMAL_COMPONENT))
    return TF(
        "constrained", selection(NORMAL_COMPONENT), structural=True, domains=domains, symbols={"matrix": r"S_{\mathrm{con}}"}
    )


def normal_spring(stiffness: Any) -> Element:
    return C("spring", stiffness=stiffness, symbols={"q": "s", "stiffness": "k"})


@in_units(k="N/m", c="N s/m")
@answer_old_names
@dataclass(frozen=True)
class Maxwell(_NormalSpringLaw):
    """Spring k and damper c in series on v_z: f' + k/c f = k s'. It releases when the force falls to zero, while the bodies
    still overlap by the damper's deformation.

    At any approach speed, bodies of reduced mass m separate at the fraction e = exp(-pi delta / omega) of that speed, where delta
    = k / 2c and omega^2 = k/m - delta^2; for delta^2 >= k/m they do not separate. Under a steady load the damper yields without
    limit.

    Attributes
    ----------
    k, c : N/m, N s/m.

    Source: Wang 2022, section V.C.
    """

    k: Any
    c: Any

    ranges = (("k", "N/m", 0.0, math.inf), ("c", "N s/m", 0.0, math.inf))
    above = ("k", "c")

    def attach(self, graph: Graph, split: Element, head: ContactKinematics) -> ContactForces:
        """Connect spring and damper in series along the normal."""
        force = J0("contact force", symbols={"effort": "f"})
        graph.connect(split, row := normal_row()).connect(row, force)
        graph.connect(force, normal_spring(self.k)).connect(force, R("damper", self.c, symbols={"resistance": "c"}))
        signals, further = ("kinematics.d", CONTACT_TWIST, "spring.q"), range_limits(head.surfaces, PHASES)
        kinds, resets = CONTACT_EVENT_KINDS, SPRING_RELEASE
        machine = contact_states("switch", *signals, kinds=kinds, inward=INWARD_TWIST_GUARD, resets=resets, further=further)
        return _spring_forces(machine, (FREE, BALLISTIC), self.active_states)


COMPRESSION, RESTITUTION = "compression", "restitution"
SPRING_PHASES = (FREE, COMPRESSION, RESTITUTION, BALLISTIC)


@in_units(k="N/m", restitution="1")
@answer_old_names
@dataclass(frozen=True)
class VirtualSpring(_NormalSpringLaw):
    """Spring with f = k s in compression, and f = k/e^2 (s - (1 - e^2) s_max) in restitution, until the force is zero.

    Here s_max is the largest s, at which the force is largest. The bodies separate at e times the approach speed and then
    still overlap by (1 - e^2) s_max. A second compression before separation meets the stiffer spring.

    Attributes
    ----------
    k : N/m.
    restitution : e, above 0, at most 1 (a spring without loss).

    The law is for impacts, not for rest: under a steady load every small bounce adds such an overlap.

    Source: Wang 2022, section V.B; Jia, Mason and Erdmann 2013.
    """

    k: Any
    restitution: Any

    active_states = (COMPRESSION, RESTITUTION)
    ranges = (("k", "N/m", 0.0, math.inf), ("restitution", "", 0.0, 1.0))
    above = ("k", "restitution")

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
        gap, length = "kinematics.d", "spring.q"
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
                Transition(BALLISTIC, COMPRESSION, INWARD_TWIST_GUARD, (gap, CONTACT_TWIST), kind=CONTACT_ON),
                *range_limits(head.surfaces, SPRING_PHASES),
            ),
        )
        return _spring_forces(machine, (FREE, BALLISTIC), self.active_states)


def _stiffness(k: Any, e: Any, mode: Any) -> Any:
    return k / where(equal(mode, float(SPRING_PHASES.index(RESTITUTION))), e * e, 1.0)


_STIFFNESS = r"#2\,#3^{-2\,[#4 = 2]}"
EFFORT = Op("virtual spring", lambda s, k, e, mode: _stiffness(k, e, mode) * s, rf"{_STIFFNESS}\,#1", "WA22 section V.B")
ENERGY = Op("energy", lambda s, k, e, mode: _stiffness(k, e, mode) * s * s / 2, rf"\tfrac12 {_STIFFNESS}\,#1^2")
SHORTENED = Op("e^2 s", lambda s, e: e * e * s, r"#2^2\,#1")
