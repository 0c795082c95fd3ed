"""Ideal constraints of a rigid contact: on the gap, and on components that neither slip nor turn, behind the contact twist.

```
   1  T_O2^{C2,O1}
  / \\
 TF  TF held           rows of the fixed components
 | -v_z = d'  |
 Constraint   Constraint
 normal       held
```
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from screwbond.models.contacts.components import COMPONENTS, domain_of, selection
from screwbond.models.contacts.laws.dry_friction import (
    COEFFICIENT,
    SLIP_DIRECTION,
    components_with,
    friction_automata,
    friction_coefficient_problems,
    friction_off_states,
    with_friction_start,
)
from screwbond.models.contacts.laws.law_interface import ContactForces, component_problem
from screwbond.models.contacts.switches import TOUCHING

from bondgraph import TF, Automaton, Constraint, Element, Graph, Op
from bondgraph.errors import Problem
from bondgraph.model.domains import SCREW
from bondgraph.model.model import SignalEntry

GAP = Op("gap", lambda d: d, "#1")
NORMAL, HELD = "normal", "held"
"""Names of the constraints."""

FORCE = f"{NORMAL}.multiplier"
"""Path of the normal force."""


def connect_normal(graph: Graph, split: Element, **numbers: Any) -> None:
    """Connect the constraint on the gap d, whose rate is -v_z; it holds in contact."""
    row = TF(
        "gap rate", 0.0 - selection(["v_z"]), structural=True, domains=(SCREW, domain_of(["v_z"])), symbols={"matrix": "S_d"}
    )
    gap = Constraint(
        NORMAL, position=GAP, signals=["kinematics.d"], automaton="switch", active=[TOUCHING], measured=True, **numbers
    )
    graph.connect(split, row).connect(row, gap)


def connect_velocity_constraint(
    graph: Graph, split: Element, chosen: Sequence[str], friction: Any, **numbers: Any
) -> tuple[str, ...]:
    """Connect the velocity constraint of the components outside the normal and the friction; return its name, if there is one."""
    others = components_with(friction)
    components = tuple(component for component in chosen if component not in others)
    if not components:
        return ()
    domains = (SCREW, domain_of(components))
    rows = TF(
        "held components", selection(components), structural=True, domains=domains, symbols={"matrix": r"S_{\mathrm{held}}"}
    )
    constraint = Constraint(HELD, holds="velocity", dimension=len(components), automaton="switch", active=[TOUCHING], **numbers)
    graph.connect(split, rows).connect(rows, constraint)
    return (HELD,)


def ideal_tail(
    switch: Automaton, free_states: Sequence[str], begin: Callable[[float], tuple[float, str]], friction: Any
) -> ContactForces:
    """Return the tail of a constraint on the gap, with the states in which it does not hold."""
    return ContactForces(
        switch,
        SignalEntry(FORCE),
        FORCE,
        (*(("switch", state) for state in free_states), *friction_off_states(friction)),
        ("kinematics.d", "switch", *friction_automata(friction)),
        with_friction_start(friction, begin),
        friction=None if friction is None else COEFFICIENT,
        vectors=() if friction is None else (SLIP_DIRECTION,),
    )


def constraint_problems(name: str, law: Any, chosen: Sequence[str]) -> list[Problem]:
    """Report E435 for a contact without v_z; E490, E491 for invalid friction."""
    cure = 'constrained=["v_z"], or ["v_x", "v_y", "v_z"] for a contact that does not slip either'
    return [*component_problem(name, law, chosen, COMPONENTS, cure), *friction_coefficient_problems(name, law.friction, chosen)]
