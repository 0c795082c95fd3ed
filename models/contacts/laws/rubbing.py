"""Dry friction in the tangent plane of a contact, exact while it sticks: its coefficient and a normal force in; an element out.

```
   1  T_O2^{C2,O1}
   |
  TF tangent plane
   |  (v_x, v_y)
 Friction             |f| <= mu N, opposed to the slip
```

It follows the switch of its contact: while that gives no force, friction is off, and it begins to slip as the bodies move when
they meet.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from screwbond.models.contacts.components import domain_of, selection
from screwbond.models.contacts.friction import friction_cones, friction_problems

from bondgraph import TF, Automaton, Block, Element, Friction, Graph, Op, Parameter, Transition
from bondgraph.elements.friction import SLIP, STICK, direction, length
from bondgraph.errors import Problem
from bondgraph.model.domains import SCREW
from screws.scalars import equal, where

FRICTION, OFF = "friction", "off"
IN_PLANE = ("v_x", "v_y")

COEFFICIENT, HEADING = f"{FRICTION} cone.coefficient", f"{FRICTION}.heading"
"""Its parameter, by the same name as in a compliant contact, and its state in the axes of C2."""


@dataclass(frozen=True)
class Follows:
    """When a contact gives a force: states of its switch, and which of them do."""

    states: tuple[str, ...]
    acting: tuple[str, ...]

    def apart(self, mode: Any) -> Any:
        """1 where it gives no force, else 0."""
        return 1.0 - sum(where(equal(mode, float(self.states.index(state))), 1.0, 0.0) for state in self.acting)


def components_with(friction: Any) -> tuple[str, ...]:
    """What a law along the normal constrains: v_z, and with friction v_x and v_y."""
    return ("v_z",) if friction is None else (*IN_PLANE, "v_z")


def rubbing_problems(name: str, friction: Any, chosen: Sequence[str]) -> list[Problem]:
    """E490 for a coefficient that is none, E491 for friction of what is free."""
    return friction_problems(name, friction_cones(chosen, friction, None), chosen, dict.fromkeys(IN_PLANE, 1.0))


def connect_rubbing(graph: Graph, split: Element, friction: Any, force: str, touch: Follows) -> None:
    """Friction between the bodies, whose limit is the coefficient times the signal of the normal force; none where it is None."""
    if friction is None:
        return
    domain = domain_of(IN_PLANE)
    rows = TF(
        "tangent plane", selection(IN_PLANE), structural=True, domains=(SCREW, domain), symbols={"matrix": r"S_{\mathrm{t}}"}
    )
    # One parameter for the coefficient: it scales what limits sticking and slipping alike.
    made = Friction(FRICTION, 1.0, scale=lambda normal, mu: mu * normal, signals=[force, COEFFICIENT], dimension=2)
    assert made.automaton is not None
    graph.connect(split, rows).connect(rows, replace(made, automaton=_following(made.automaton, touch)))
    cone = Block(
        "friction cone",
        [("excess", EXCESS, ["effort", "coefficient", "normal"])],
        inputs={"effort": f"{FRICTION}.effort", "normal": force},
        parameters={"coefficient": Parameter(friction, "1")},
        symbols={"coefficient": r"\mu"},
        units={"excess": "N"},
    )
    graph.add(cone)
    graph.export("friction excess", "friction cone.excess")
    graph.export("friction slip", f"{FRICTION}.flow")


EXCESS = Op("excess", lambda effort, mu, normal: length(effort) - mu * normal, r"|#1| - #2\,#3")
"""What the force is beyond its limit; negative: what is left before it slips."""


def _following(machine: Automaton, touch: Follows) -> Automaton:
    """The machine of friction with a further state, in which the contact gives no force. There the normal force is that of a
    contact, which the switch keeps from pulling."""
    kinds = {f"{FRICTION} slips": "slip", f"{FRICTION} sticks": "stick"}
    edges = [replace(edge, kind=kinds.get(edge.kind, edge.kind)) for edge in machine.transitions if edge.error is None]
    flow = f"{FRICTION}.flow"
    noted = ((HEADING, Op("direction", direction), (flow, HEADING)), (f"{FRICTION}.pace", Op("speed", length, "|#1|"), (flow,)))
    meets = Op("they touch", lambda mode: 0.5 - touch.apart(mode), r"\tfrac12 - [\text{apart}]")
    parts = Op("they are apart", lambda mode: touch.apart(mode) - 0.5, r"[\text{apart}] - \tfrac12")
    mode = ("switch.mode",)
    on = Transition(OFF, SLIP, meets, mode, noted, kind="friction on", internal=True)
    # Where impacts accumulate, so does this, which only follows them.
    ends: dict[str, Any] = {"kind": "friction off", "internal": True, "accumulates": OFF}
    off = [Transition(state, OFF, parts, mode, **ends) for state in machine.states]
    return Automaton(machine.name, (*machine.states, OFF), OFF, (*edges, on, *off))


def rubbing_off(friction: Any) -> tuple[tuple[str, str], ...]:
    """(automaton, state) in which there is no friction."""
    return () if friction is None else ((FRICTION, OFF),)


def rubbing_begins(friction: Any) -> tuple[str, ...]:
    """Automata whose start `begins_with` says."""
    return () if friction is None else (FRICTION,)


def begins_with(friction: Any, begin: Callable[[float], tuple[Any, ...]]) -> Callable[[float], tuple[Any, ...]]:
    """The start of a law with that of its friction: a closed contact sticks, where its velocities do not say otherwise."""
    return begin if friction is None else lambda gap: (*begin(gap), STICK if gap < 0.0 else OFF)
