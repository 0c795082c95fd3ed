"""Dry friction of a contact, |f| <= mu N, with exact sticking.

In a compliant contact, each friction cone has an automaton, and a slider in series with its springs and dampers:

```
   1  T_O2^{C2,O1}
   |
  TF constrained
   |  v
   0 ----- TF ----- R slider       u: velocity of the slider, exactly zero in stick
   |  v - u
   1  deformation rate
  / \\
 C   R
```

With w = k q + c v, the trial force without slip, and N the normal force, the law is continuous, so that it does not chatter:

```
stick  |w| <= mu N:  u = 0,                          f = w
slip   |w| >  mu N:  u = (1 - mu N / |w|) w / c,     f = k q + c (v - u) = mu N w / |w|
```

If c is the same for v_x and v_y, the force is opposite to the slip. The slider dissipates the power f . u.

In a contact without springs, an element `Friction` takes the velocity (v_x, v_y) of the tangent plane. It is off while the
contact gives no force; at contact it starts in slip, with the velocity of the bodies, or in stick if this is rounding error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, ClassVar

import numpy as np
from screwbond.models.contacts.components import COMPONENTS, domain_of, selection

from bondgraph import TF, Automaton, Block, Element, Friction, Graph, Op, Parameter, R, Transition
from bondgraph.elements.friction import SLIP, STICK, direction, length
from bondgraph.errors import Problem, caller_place
from bondgraph.model.domains import SCREW, Domain
from bondgraph.model.ops import IDENTITY, NEGATE
from bondgraph.model.units import quotient
from screws.numeric_arguments import real
from screws.scalars import absolute, array, equal, maximum, sqrt, where

FRICTION_STATES = ("off", "stick", "slip")

_SLIP = 2.0
_TINY = 1e-300
# Excess that counts as rounding error, relative to the terms of the normal force.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Cone:
    """Friction cone of a contact: the constrained components that share it, and their coefficient of friction.

    Attributes
    ----------
    name : name of the automaton; its elements are `<name> cone` and `<name> slider`.
    components : components of the relative twist in C2, all constrained.
    coefficient : ratio of the limit to the normal force; dimensionless for a force, in m for a torque.
    """

    name: str
    components: tuple[str, ...]
    coefficient: float

    @property
    def unit(self) -> str:
        return "m" if self.components == ("omega_z",) else "1"

    @property
    def domain(self) -> Domain:
        return domain_of(self.components)


def friction_cones(chosen: Sequence[str], friction: float | None, torsional: float | None) -> tuple[Cone, ...]:
    tangential = tuple(component for component in ("v_x", "v_y") if component in chosen)
    cones = []
    if friction is not None:
        cones.append(Cone("friction", tangential, friction))
    if torsional is not None:
        cones.append(Cone("torsional friction", ("omega_z",), torsional))
    return tuple(cones)


def friction_problems(name: str, cones: Sequence[Cone], chosen: Sequence[str], damping: Mapping[str, float]) -> list[Problem]:
    source, problems = caller_place(), []
    for cone in cones:
        argument = cone.name.replace(" ", "_")
        if not 0.0 <= real(cone.coefficient) < np.inf:
            title = f'contact "{name}": {argument} = {cone.coefficient!r}'
            details = ("the ratio of the slip limit to the normal force must be non-negative and finite",)
            example = 0.5 if cone.unit == "1" else 1e-3
            problems.append(
                Problem("E490", title, details, (source,), (f"{argument}={example:g}, or None for contact that never slips",))
            )
        required = cone.components or ("v_x", "v_y")
        missing = [c for c in (*required, "v_z") if c not in chosen]
        if missing:
            title = f'contact "{name}" has {cone.name}, but leaves {", ".join(missing)} free'
            details = ("friction limits the forces of constrained components in proportion to the force of v_z",)
            both = [c for c in COMPONENTS if c in (*chosen, *missing)]
            cures = (f"constrained={both}", f"omit {argument}: a free component has no force")
            problems.append(Problem("E491", title, details, (source,), cures))
        elif any(damping[c] == 0.0 for c in cone.components):
            kind = "rotational_damping" if cone.components == ("omega_z",) else "tangential_damping"
            details = ("the slip velocity follows from the force and the damping",)
            cure = f"{kind}=...: c / k is the time constant with which the force follows the cone"
            problems.append(Problem("E492", f'contact "{name}" has {cone.name}, but no {kind}', details, (source,), (cure,)))
    return problems


def connect_friction(graph: Graph, force: Element, chosen: Sequence[str], cones: Sequence[Cone]) -> None:
    """Connect a slider for each cone to the 0-junction `force` of the constrained components, with its signals and automaton.

    Signals: `<cone> cone.normal` N (N), `.trial` w, `.excess` |w| - mu N (positive: the contact slips); `<cone> slider.flow`
    u and `.effort` f, in C2.
    """
    for cone in cones:
        indices = [chosen.index(component) for component in cone.components]
        columns = np.eye(len(chosen))[:, indices]
        signals = [*(f"{cone.name} cone.{s}" for s in ("trial", "limit", "damping")), f"{cone.name}.mode"]
        symbols = {"flow": "u", "effort": "f"}
        slider = R(f"{cone.name} slider", flow=SLIP_RATE, signals=signals, dimension=len(indices), symbols=symbols)
        pick = TF(
            f"{cone.name} components",
            columns,
            structural=True,
            domains=(cone.domain, domain_of(chosen)),
            symbols={"matrix": r"S_{\mathrm{cone}}"},
        )
        graph.connect(force, pick.port("2")).connect(pick.port("1"), slider)
        tangential = [chosen.index(component) for component in ("v_x", "v_y") if component in chosen]
        graph.add(_cone_block(cone, indices, chosen.index("v_z"), tangential))
        graph.add_automaton(_automaton(cone.name))
        graph.export(f"{cone.name} excess", f"{cone.name} cone.excess")
        graph.export(f"{cone.name} slip", f"{cone.name} slider.flow")


def _cone_block(cone: Cone, indices: Sequence[int], normal: int, tangential: Sequence[int]) -> Element:
    trial = _trial_force(tuple(indices), normal, tuple(tangential))
    effort = cone.domain.effort_unit
    return Block(
        f"{cone.name} cone",
        [
            (("normal", "trial", "damping", "pressing"), trial, ["spring", "rate", "dampings"]),
            ("limit", LIMIT, ["coefficient", "normal"]),
            ("excess", SLIDING_EXCESS, ["trial", "limit"]),
            ("beyond", EXCESS_BEYOND_ROUNDING, ["excess", "coefficient", "pressing"]),
        ],
        inputs={"spring": "spring.effort", "rate": "constrained.2.flow", "dampings": "damper.damping"},
        parameters={"coefficient": Parameter(cone.coefficient, cone.unit)},
        symbols={
            "normal": "N",
            "trial": "w",
            "limit": r"\mu N",
            "damping": r"D_{\mathrm{t}}",
            "pressing": "N_{|\\,|}",
            "coefficient": r"\mu",
        },
        units={"normal": "N", "pressing": "N", "damping": quotient(effort, cone.domain.flow_unit)}
        | dict.fromkeys(("trial", "limit", "excess", "beyond"), effort),
    )


@cache
def _trial_force(indices: tuple[int, ...], normal: int, tangential: tuple[int, ...]) -> Op:
    def parts(spring: Any, rate: Any, damping: Any) -> tuple[Any, ...]:
        trial = array([spring[i] + damping[i] * rate[i] for i in indices])
        spring_normal, damping_normal = spring[normal], damping[normal] * rate[normal]
        normal_force = maximum(spring_normal + damping_normal, 0.0)
        pressing = absolute(spring_normal) + sum(damping[i] for i in (normal, *tangential)) * absolute(rate[normal])
        dampings = array([damping[i] for i in indices])
        return (normal_force, trial, dampings, pressing) if len(indices) > 1 else (normal_force, trial[0], dampings[0], pressing)

    return Op("trial force", parts, r"N, w, c, N_{|\,|} \text{ of } #1 + #3\,#2")


def _length(w: Any) -> Any:
    entries = list(w) if np.ndim(w) else [w]
    return sqrt(maximum(sum(entry * entry for entry in entries), _TINY))


def _slip(effort: Any, trial: Any, limit: Any, damping: Any, mode: Any) -> Any:
    ratio = where(equal(mode, _SLIP), 1.0 - limit / _length(trial), 0.0)
    return ratio * trial / damping


LIMIT = Op("limit", lambda coefficient, normal: coefficient * normal, "#1 #2")
SLIDING_EXCESS = Op("excess", lambda w, limit: _length(w) - limit, "|#1| - #2")
EXCESS_BEYOND_ROUNDING = Op(
    "beyond rounding",
    lambda excess, coefficient, pressing: excess - _ROUNDING * coefficient * pressing - 2.0 * _TINY**0.5,
    r"#1 - 10^{-12}\,#2\,#3",
)
"""Excess of the force over its limit, less an allowance for rounding errors, because N is zero at separation and w is zero after
a vertical drop."""
SLIP_RATE = Op("slip", _slip, r"(1 - #3 / |#2|)\,#2 / #4 \text{ while it slips, else } 0")
CONTACT_GUARD = Op("contact", lambda mode: mode - 0.5, r"#1 - \tfrac12")
SEPARATION_GUARD = Op("no contact", lambda mode: 0.5 - mode, r"\tfrac12 - #1")


def _automaton(name: str) -> Automaton:
    excess = (f"{name} cone.excess",)
    switch = ("switch.mode",)
    prefix = name.removesuffix("friction")
    return Automaton(
        name,
        FRICTION_STATES,
        "off",
        (
            Transition("off", "stick", CONTACT_GUARD, switch, kind=f"{name} on", internal=True),
            Transition("stick", "slip", IDENTITY, (f"{name} cone.beyond",), kind=f"{prefix}slip"),
            Transition("slip", "stick", NEGATE, excess, kind=f"{prefix}stick"),
            Transition("stick", "off", SEPARATION_GUARD, switch, kind=f"{name} off", internal=True),
            Transition("slip", "off", SEPARATION_GUARD, switch, kind=f"{name} off", internal=True),
        ),
    )


FRICTION, OFF = "friction", "off"
IN_PLANE = ("v_x", "v_y")

COEFFICIENT, SLIP_DIRECTION = f"{FRICTION} cone.coefficient", f"{FRICTION}.heading"


@dataclass(frozen=True)
class SwitchStates:
    """States of a contact's switch, and the states in which it gives a force."""

    states: tuple[str, ...]
    acting: tuple[str, ...]

    def is_off(self, mode: Any) -> Any:
        return 1.0 - sum(where(equal(mode, float(self.states.index(state))), 1.0, 0.0) for state in self.acting)


def components_with(friction: Any) -> tuple[str, ...]:
    return ("v_z",) if friction is None else (*IN_PLANE, "v_z")


class FrictionLaw:
    """Contact law without springs; with a coefficient `friction`, it includes dry friction in the tangent plane."""

    friction: Any
    active_states: ClassVar[tuple[str, ...]] = ()
    tangent_vectors: ClassVar[bool] = False
    stepping_only: ClassVar[bool] = False

    @property
    def components(self) -> tuple[str, ...]:
        """Component v_z and, with friction, v_x and v_y."""
        return components_with(self.friction)


def friction_coefficient_problems(name: str, friction: Any, chosen: Sequence[str]) -> list[Problem]:
    return friction_problems(name, friction_cones(chosen, friction, None), chosen, dict.fromkeys(IN_PLANE, 1.0))


def connect_dry_friction(graph: Graph, split: Element, friction: Any, force: str, switch: SwitchStates) -> None:
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


def _contact_friction_automaton(machine: Automaton, switch: SwitchStates) -> Automaton:
    kinds = {f"{FRICTION} slips": "slip", f"{FRICTION} sticks": "stick"}
    edges = [replace(edge, kind=kinds.get(edge.kind, edge.kind)) for edge in machine.transitions if edge.error is None]
    flow = f"{FRICTION}.flow"
    resets = (
        (SLIP_DIRECTION, Op("direction", direction), (flow, SLIP_DIRECTION)),
        (f"{FRICTION}.pace", Op("speed", length, "|#1|"), (flow,)),
    )
    touch_guard = Op("contact", lambda mode: 0.5 - switch.is_off(mode), r"\tfrac12 - [\text{apart}]")
    separation_guard = Op("no contact", lambda mode: switch.is_off(mode) - 0.5, r"[\text{apart}] - \tfrac12")
    mode = ("switch.mode",)
    on = Transition(OFF, SLIP, touch_guard, mode, resets, kind="friction on", internal=True, passes=STICK)
    # Where impacts accumulate (Zeno), so do the transitions of this automaton, which only follows them.
    options: dict[str, Any] = {"kind": "friction off", "internal": True, "accumulates": OFF}
    off = [Transition(state, OFF, separation_guard, mode, **options) for state in machine.states]
    return Automaton(machine.name, (*machine.states, OFF), OFF, (*edges, on, *off))
