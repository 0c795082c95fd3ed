"""Rigid contact law for time stepping: no tail, only a coefficient of friction and signals for the forces.

A step solves for the forces of all rigid contacts at once, from the gaps, normals and slips that `Model.contacts` names.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from screwbond.models.contacts.components import COMPONENTS
from screwbond.models.contacts.friction import COEFFICIENT, EXCESS, FrictionLaw, friction_coefficient_problems
from screwbond.models.contacts.laws.law_interface import ContactForces, ContactKinematics, component_problem
from screwbond.models.contacts.switches import FREE, STATES, TOUCHING, range_limits

from bondgraph import Automaton, Block, Element, Graph, Op, Parameter
from bondgraph.errors import Problem
from bondgraph.model.arguments import in_units
from bondgraph.model.ops import zeros
from screws.renamed import answer_old_names


@in_units(friction="1")
@answer_old_names
@dataclass(frozen=True)
class Rigid(FrictionLaw):
    """The bodies do not overlap, and slip where the tangential force would exceed friction times the normal force; only time
    stepping supports this law (E434).

    Attributes
    ----------
    friction : coefficient, zero or more; None: no friction.
    """

    friction: Any = None

    stepping_only: ClassVar[bool] = True

    def problems(self, name: str, chosen: Sequence[str]) -> list[Problem]:
        """Report E435 components, E490, E491 friction."""
        cure = f"constrained={list(self.components)}, or leave it out"
        problems = component_problem(name, self, chosen, self.components, cure)
        return [*problems, *friction_coefficient_problems(name, self.friction, chosen)]

    def attach(self, graph: Graph, split: Element, head: ContactKinematics) -> ContactForces:
        """Add the forces, zero until a step sets them, and the coefficient as a parameter."""
        graph.add(Block("step", [("N", zeros(()), []), ("f", zeros((2,)), [])], units={"N": "N", "f": "N"}))
        if self.friction is not None:
            cone = Block(
                "friction cone",
                [("excess", EXCESS, ["effort", "coefficient", "normal"]), ("slip", SLIP, ["twist"])],
                inputs={"effort": "step.f", "normal": "step.N", "twist": "Ad.2.flow"},
                parameters={"coefficient": Parameter(self.friction, "1")},
                symbols={"coefficient": r"\mu", "slip": "u"},
                units={"excess": "N", "slip": "m/s"},
            )
            graph.add(cone)
            graph.export("friction excess", "friction cone.excess")
            graph.export("friction slip", "friction cone.slip")
        return ContactForces(
            Automaton("switch", STATES, FREE, tuple(range_limits(head.surfaces, STATES))),
            None,
            "step.N",
            (("switch", FREE),),
            ("kinematics.d", "switch"),
            lambda gap: (gap, TOUCHING if gap < 0.0 else FREE),
            friction=None if self.friction is None else COEFFICIENT,
            stepped=("step.N",) if self.friction is None else ("step.N", "step.f"),
        )


_PLANE = COMPONENTS.index("v_x")
SLIP = Op("slip", lambda twist: twist[_PLANE : _PLANE + 2], r"(v_x, v_y) \text{ of } #1")
"""Velocity of body 2 relative to body 1 in the tangent plane."""
