"""Rigid contact for time stepping: a coefficient of friction in; a contact without a tail, only marked, out.

A step finds the forces of all rigid contacts together, from the gaps, normals and slips that `Model.contacts` names.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from bondgraph import Automaton, Block, Element, Graph, Op, Parameter
from bondgraph.errors import Problem
from bondgraph.model.ops import zeros
from models.contacts.laws.numbers import component_problem, number_problems
from models.contacts.laws.rubbing import components_with
from models.contacts.laws.tails import Head, Tail
from models.contacts.switches import FREE, STATES, TOUCHING, limits


@dataclass(frozen=True)
class Rigid:
    """The bodies do not overlap, and slip where the force in the tangent plane would exceed friction times the normal force: a
    step finds it, and nothing else does (E434).

    Attributes
    ----------
    friction : coefficient, zero or more; None: nothing keeps them from slipping.
    """

    friction: Any = None

    acting: ClassVar[tuple[str, ...]] = ()
    carried: ClassVar[bool] = False
    stepped: ClassVar[bool] = True

    @property
    def components(self) -> tuple[str, ...]:
        """v_z, and with friction v_x and v_y."""
        return components_with(self.friction)

    def problems(self, name: str, chosen: Sequence[str]) -> list[Problem]:
        """E435 components, E436 friction."""
        found = [*component_problem(name, self, chosen, self.components, f"constrained={list(self.components)}, or leave it out")]
        return found if self.friction is None else [*found, *number_problems(name, self, ("friction", "1", 0.0, math.inf))]

    def attach(self, graph: Graph, split: Element, head: Head) -> Tail:
        """Nothing but the normal force, zero until a step says otherwise, and the coefficient as a parameter."""
        friction = self.friction is not None
        equations: list[tuple[str, Op, list[str]]] = [("N", zeros(()), [])]
        graph.add(
            Block(
                "step",
                [*equations, ("limit", LIMIT, ["coefficient", "N"])] if friction else equations,
                parameters={"coefficient": Parameter(self.friction, "1")} if friction else {},
                symbols={"coefficient": r"\mu", "limit": r"\mu N"},
                units={"N": "N", "limit": "N"},
            )
        )
        return Tail(
            Automaton("switch", STATES, FREE, tuple(limits(head.surfaces, STATES))),
            None,
            "step.N",
            (("switch", FREE),),
            ("kinematics.d", "switch"),
            lambda gap: (gap, TOUCHING if gap < 0.0 else FREE),
            friction="step.coefficient" if friction else None,
        )


LIMIT = Op("limit", lambda coefficient, normal: coefficient * normal, "#1 #2")
