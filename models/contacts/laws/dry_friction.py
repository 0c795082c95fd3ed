"""Dry friction in the tangent plane of a contact, with exact sticking.

```
   1  T_O2^{C2,O1}
   |
  TF tangent plane
   |  (v_x, v_y)
 Friction             |f| <= mu N, opposed to the slip
```

It follows the switch of its contact: while that gives no force, friction is off; at contact it begins to slip with the velocity
of the bodies.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from screwbond.models.contacts.components import domain_of, selection
from screwbond.models.contacts.friction import friction_cones, friction_problems

from bondgraph import TF, Automaton, Block, Element, Friction, Graph, Op, Parameter, Transition
from bondgraph.elements.friction import SLIP, STICK, direction, length
from bondgraph.errors import Problem
from bondgraph.model.domains import SCREW
from screws.scalars import equal, where

FRICTION, OFF = "friction", "off"
IN_PLANE = ("v_x", "v_y")

COEFFICIENT, SLIP_DIRECTION = f"{FRICTION} cone.coefficient", f"{FRICTION}.heading"
"""Path of the coefficient, as in a compliant contact, and of the slip direction in the axes of C2."""


@dataclass(frozen=True)
class SwitchStates:
    """States of a contact's switch, and those in which it gives a force."""

    states: tuple[str, ...]
    acting: tuple[str, ...]

    def is_off(self, mode: Any) -> Any:
        """Return 1 in states without force, else 0; any scalar."""
        return 1.0 - sum(where(equal(mode, float(self.states.index(state))), 1.0, 0.0) for state in self.acting)


def components_with(friction: Any) -> tuple[str, ...]:
    """Return the constrained components of a law along the normal: v_z, and with friction v_x and v_y."""
    return ("v_z",) if friction is None else (*IN_PLANE, "v_z")


class FrictionLaw:
    """Law of the gap and, with a coefficient of `friction`, of dry friction in the tangent plane, without springs."""

    friction: Any
    active_states: ClassVar[tuple[str, ...]] = ()
    tangent_vectors: ClassVar[bool] = False
    stepping_only: ClassVar[bool] = False

    @property
    def components(self) -> tuple[str, ...]:
        """Components v_z, and with friction v_x and v_y."""
        return components_with(self.friction)


def friction_coefficient_problems(name: str, friction: Any, chosen: Sequence[str]) -> list[Problem]:
    """Report E490 for an invalid coefficient, E491 for friction of a free component."""
    return friction_problems(name, friction_cones(chosen, friction, None), chosen, dict.fromkeys(IN_PLANE, 1.0))


def connect_dry_friction(graph: Graph, split: Element, friction: Any, force: str, switch: SwitchStates) -> None:
    """Connect friction between the bodies with the limit coefficient times normal force; nothing if it is None."""
    if friction is None:
        return
    domain = domain_of(IN_PLANE)
    rows = TF(
        "tangent plane", selection(IN_PLANE), structural=True, domains=(SCREW, domain), symbols={"matrix": r"S_{\mathrm{t}}"}
    )
    # One parameter for the coefficient: it scales the limits of sticking and slipping.
    friction_element = Friction(FRICTION, 1.0, scale=lambda normal, mu: mu * normal, signals=[force, COEFFICIENT], dimension=2)
    assert friction_element.automaton is not None
    graph.connect(split, rows).connect(
        rows, replace(friction_element, automaton=_contact_friction_automaton(friction_element.automaton, switch))
    )
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
"""Excess of the force over its limit; negative while it sticks."""


def _contact_friction_automaton(machine: Automaton, switch: SwitchStates) -> Automaton:
    """Return the automaton of friction with a further state in which the contact gives no force. The normal force of a contact
    never pulls, as its switch prevents that."""
    kinds = {f"{FRICTION} slips": "slip", f"{FRICTION} sticks": "stick"}
    edges = [replace(edge, kind=kinds.get(edge.kind, edge.kind)) for edge in machine.transitions if edge.error is None]
    flow = f"{FRICTION}.flow"
    resets = (
        (SLIP_DIRECTION, Op("direction", direction), (flow, SLIP_DIRECTION)),
        (f"{FRICTION}.pace", Op("speed", length, "|#1|"), (flow,)),
    )
    touch_guard = Op("they touch", lambda mode: 0.5 - switch.is_off(mode), r"\tfrac12 - [\text{apart}]")
    separation_guard = Op("they are apart", lambda mode: switch.is_off(mode) - 0.5, r"[\text{apart}] - \tfrac12")
    mode = ("switch.mode",)
    on = Transition(OFF, SLIP, touch_guard, mode, resets, kind="friction on", internal=True)
    # Where impacts accumulate (Zeno), so does this automaton, which only follows them.
    options: dict[str, Any] = {"kind": "friction off", "internal": True, "accumulates": OFF}
    off = [Transition(state, OFF, separation_guard, mode, **options) for state in machine.states]
    return Automaton(machine.name, (*machine.states, OFF), OFF, (*edges, on, *off))


def friction_off_states(friction: Any) -> tuple[tuple[str, str], ...]:
    """Return (automaton, state) without friction."""
    return () if friction is None else ((FRICTION, OFF),)


def friction_automata(friction: Any) -> tuple[str, ...]:
    """Return the automata whose start state `with_friction_start` sets."""
    return () if friction is None else (FRICTION,)


def with_friction_start(friction: Any, begin: Callable[[float], tuple[Any, ...]]) -> Callable[[float], tuple[Any, ...]]:
    """Extend the start of a law by that of its friction: a closed contact sticks unless its velocities say otherwise."""
    return begin if friction is None else lambda gap: (*begin(gap), STICK if gap < 0.0 else OFF)
