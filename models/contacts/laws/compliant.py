"""Compliant contact law: springs and dampers in parallel, limited by friction cones (Visser 2002).

```
   1  T_O2^{C2,O1}
   |
  TF constrained
   |
   1  deformation rate
  / \\
 C   R
```
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypedDict

import numpy as np
from screwbond.models.contacts.components import COMPONENTS, by_component, domain_of, selection, stiffness_problems
from screwbond.models.contacts.friction import FRICTION_STATES as FRICTION_STATES
from screwbond.models.contacts.friction import Cone, connect_friction, friction_cones, friction_problems
from screwbond.models.contacts.laws.law_interface import ContactForces, ContactKinematics
from screwbond.models.contacts.switches import FREE, TOUCHING, contact_spring, gap_switch

from bondgraph import J0, J1, TF, Block, Element, Graph, Op, Parameter, R
from bondgraph.errors import Problem
from bondgraph.model.arguments import in_units
from bondgraph.model.domains import SCREW
from bondgraph.model.model import SignalEntry
from bondgraph.model.units import quotient
from screws.names import answer_old_names
from screws.numeric_arguments import real
from screws.scalars import array, maximum

COMPLIANCE_UNITS = {
    "normal_stiffness": "N/m",
    "normal_damping": "N s/m",
    "tangential_stiffness": "N/m",
    "tangential_damping": "N s/m",
    "rotational_stiffness": "N m/rad",
    "rotational_damping": "N m s/rad",
    "friction": "1",
    "torsional_friction": "m",
}


class Compliance(TypedDict, total=False):
    normal_stiffness: float | None
    normal_damping: float | None
    tangential_stiffness: float | None
    tangential_damping: float | None
    rotational_stiffness: float | None
    rotational_damping: float | None
    friction: float | None
    torsional_friction: float | None


@in_units(**COMPLIANCE_UNITS)
@answer_old_names
@dataclass(frozen=True, kw_only=True)
class Compliant:
    """A spring and a damper in parallel for each constrained component; f_n = max(0, -k d - c d') on v_z.

    Attributes
    ----------
    normal_stiffness, normal_damping : N/m, N s/m on v_z.
    tangential_stiffness, tangential_damping : N/m, N s/m on v_x and v_y.
    rotational_stiffness, rotational_damping : N m/rad, N m s/rad on the omega components.
    friction : coefficient of the cone of v_x and v_y; None: no slip. Slip needs v_z and v_x or v_y constrained, and tangential
        damping.
    torsional_friction : limit of the torque of omega_z divided by the normal force, m; None: no slip.

    Source: Visser 2002, figure 3.
    """

    normal_stiffness: Any = None
    normal_damping: Any = 0.0
    tangential_stiffness: Any = 0.0
    tangential_damping: Any = 0.0
    rotational_stiffness: Any = 0.0
    rotational_damping: Any = 0.0
    friction: float | None = None
    torsional_friction: float | None = None

    active_states: ClassVar[tuple[str, ...]] = (TOUCHING,)
    tangent_vectors: ClassVar[bool] = True
    stepping_only: ClassVar[bool] = False

    @property
    def components(self) -> tuple[str, ...]:
        """Component v_z, with v_x and v_y if there is friction or a tangential parameter, and with omega_z if there is torsional
        friction or a rotational parameter."""
        slips = self.friction is not None or _any_nonzero(self.tangential_stiffness, self.tangential_damping)
        turns = self.torsional_friction is not None or _any_nonzero(self.rotational_stiffness, self.rotational_damping)
        return (*(("omega_z",) if turns else ()), *(("v_x", "v_y") if slips else ()), "v_z")

    def problems(self, name: str, chosen: Sequence[str]) -> list[Problem]:
        """Report invalid stiffness or damping (E422) and friction (E490, E491, E492)."""
        damping = self._damping
        problems = stiffness_problems(name, chosen, self._stiffness, damping)
        return problems + friction_problems(name, self._cones(chosen), chosen, damping)

    def attach(self, graph: Graph, split: Element, head: ContactKinematics) -> ContactForces:
        """Connect the springs and dampers of the constrained components, and the sliders of the cones."""
        chosen, cones = head.chosen, self._cones(head.chosen)
        _connect(graph, split, head, self._stiffness, self._damping, cones)
        normal = SignalEntry("X0.effort", COMPONENTS.index("v_z")) if "v_z" in chosen else None
        depth = SignalEntry("spring.q", chosen.index("v_z")) if "v_z" in chosen else None
        frictions = tuple(cone.name for cone in cones)
        return ContactForces(
            gap_switch(head.surfaces),
            normal,
            _normal_force(graph, chosen, cones),
            (("switch", FREE), *((cone, FRICTION_STATES[0]) for cone in frictions)),
            ("kinematics.d", "spring.q", "switch", *frictions),
            lambda gap: (gap, *_initial_spring(chosen, gap), *(["off" if gap >= 0.0 else "stick"] * len(frictions))),
            "X0.effort",
            ("spring.q",),
            None if self.friction is None else "friction cone.coefficient",
            penetration=depth,
            spring=depth,
            closed=self.active_states,
        )

    def _cones(self, chosen: Sequence[str]) -> tuple[Cone, ...]:
        return friction_cones(chosen, self.friction, self.torsional_friction)

    @property
    def _stiffness(self) -> dict[str, Any]:
        return by_component((self.normal_stiffness, self.tangential_stiffness, self.rotational_stiffness))

    @property
    def _damping(self) -> dict[str, Any]:
        return by_component((self.normal_damping, self.tangential_damping, self.rotational_damping))


def _any_nonzero(*numbers: Any) -> bool:
    return any(number is not None and real(number) != 0.0 for number in numbers)


def _initial_spring(chosen: Sequence[str], gap: float) -> tuple[Any, str]:
    spring = np.zeros(len(chosen))
    if gap < 0.0 and "v_z" in chosen:
        spring[chosen.index("v_z")] = -gap
    return spring if len(chosen) > 1 else spring[0], TOUCHING if gap < 0.0 else FREE


def _normal_force(graph: Graph, chosen: Sequence[str], cones: Sequence[Cone]) -> str:
    if cones:
        return f"{cones[0].name} cone.normal"
    if tuple(chosen) == ("v_z",):
        return "constrained.2.effort"
    graph.add(Block("pressing", [("N", NORMAL_FORCE, ["wrench"])], inputs={"wrench": "X0.effort"}, units={"N": "N"}))
    return "pressing.N"


NORMAL_FORCE = Op("normal force", lambda wrench: wrench[COMPONENTS.index("v_z")], r"(#1)_{v_z}")


def _connect(
    graph: Graph,
    split: Element,
    head: ContactKinematics,
    stiffness: Mapping[str, float],
    damping: Mapping[str, float],
    cones: Sequence[Cone],
) -> None:
    chosen, domain = head.chosen, domain_of(head.chosen)
    pick = TF("constrained", selection(chosen), structural=True, domains=(SCREW, domain), symbols={"matrix": r"S_{\mathrm{con}}"})
    common = J1("deformation rate", symbols={"flow": r"\dot s"})
    k, r = (np.array([values[c] for c in chosen]) for values in (stiffness, damping))
    spring = contact_spring(k, chosen, head.transport)
    normal = chosen.index("v_z") if "v_z" in chosen else None
    damper = R(
        "damper",
        effort=Op("damping", _parallel_damping(normal), r"#2\,#1 \text{, along } z \text{ at least } -#3"),
        parameters={"damping": Parameter(float(r[0]) if len(chosen) == 1 else r, quotient(domain.effort_unit, domain.flow_unit))},
        signals=["spring.effort"],
    )
    graph.connect(split, pick)
    if cones:
        force = J0("contact force", symbols={"effort": "f"})
        graph.connect(pick, force).connect(force, common)
        connect_friction(graph, force, chosen, cones)
    else:
        graph.connect(pick, common)
    graph.connect(common, spring).connect(common, damper)


def _parallel_damping(normal: int | None) -> Any:
    """Return the law of the damper in parallel with the spring; in the normal direction, spring and damper together
    never pull."""

    def law(rate: Any, damping: Any, spring: Any) -> Any:
        if np.ndim(rate) == 0:
            return maximum(damping * rate, -spring) if normal is not None else damping * rate
        forces = [damping[i] * rate[i] for i in range(len(rate))]
        if normal is not None:
            forces[normal] = maximum(forces[normal], -spring[normal])
        return array(forces)

    return law
