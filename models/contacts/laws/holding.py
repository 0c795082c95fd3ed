"""Ideal parts of a contact: constraints on the gap and on what does not slip or turn, behind the contact twist.

```
   1  T_O2^{C2,O1}
  / \\
 TF  TF held           rows of what does not move
 | -v_z = d'  |
 Constraint   Constraint
 normal       held
```
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from screwbond.models.contacts.components import COMPONENTS, domain_of, selection
from screwbond.models.contacts.laws.numbers import component_problem
from screwbond.models.contacts.laws.rubbing import (
    COEFFICIENT,
    HEADING,
    begins_with,
    components_with,
    rubbing_begins,
    rubbing_off,
    rubbing_problems,
)
from screwbond.models.contacts.laws.tails import ContactForces
from screwbond.models.contacts.switches import TOUCHING

from bondgraph import TF, Automaton, Constraint, Element, Graph, Op
from bondgraph.errors import Problem
from bondgraph.model.domains import SCREW
from bondgraph.model.model import SignalEntry

GAP = Op("gap", lambda d: d, "#1")
NORMAL, HELD = "normal", "held"
"""Names of the constraints."""

FORCE = f"{NORMAL}.multiplier"
"""The normal force."""


def connect_normal(graph: Graph, split: Element, **numbers: Any) -> None:
    """The constraint on the gap d, whose rate is -v_z; it holds in contact."""
    row = TF(
        "gap rate", 0.0 - selection(["v_z"]), structural=True, domains=(SCREW, domain_of(["v_z"])), symbols={"matrix": "S_d"}
    )
    gap = Constraint(
        NORMAL, position=GAP, signals=["kinematics.d"], automaton="switch", active=[TOUCHING], measured=True, **numbers
    )
    graph.connect(split, row).connect(row, gap)


def connect_held(graph: Graph, split: Element, chosen: Sequence[str], friction: Any, **numbers: Any) -> tuple[str, ...]:
    """The constraint of what does not move in contact: what neither the normal nor friction has; its name, if there is one."""
    others = components_with(friction)
    components = tuple(component for component in chosen if component not in others)
    if not components:
        return ()
    domains = (SCREW, domain_of(components))
    rows = TF(
        "held components", selection(components), structural=True, domains=domains, symbols={"matrix": r"S_{\mathrm{held}}"}
    )
    still = Constraint(HELD, holds="velocity", dimension=len(components), automaton="switch", active=[TOUCHING], **numbers)
    graph.connect(split, rows).connect(rows, still)
    return (HELD,)


def ideal_tail(
    switch: Automaton, apart: Sequence[str], begin: Callable[[float], tuple[float, str]], friction: Any
) -> ContactForces:
    """The tail of a constraint on the gap, with the states in which it does not hold."""
    return ContactForces(
        switch,
        SignalEntry(FORCE),
        FORCE,
        (*(("switch", state) for state in apart), *rubbing_off(friction)),
        ("kinematics.d", "switch", *rubbing_begins(friction)),
        begins_with(friction, begin),
        friction=None if friction is None else COEFFICIENT,
        vectors=() if friction is None else (HEADING,),
    )


def held_problems(name: str, law: Any, chosen: Sequence[str]) -> list[Problem]:
    """E435 for a contact without v_z; E490, E491 for friction that cannot be."""
    cure = 'constrained=["v_z"], or ["v_x", "v_y", "v_z"] for a contact that does not slip either'
    return [*component_problem(name, law, chosen, COMPONENTS, cure), *rubbing_problems(name, law.friction, chosen)]
