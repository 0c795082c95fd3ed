"""Interface of contact laws: what a law gets from its contact, what it returns, and checks of its parameters and components.

All contacts share the contact kinematics and start values (`screwbond.models.contacts.graph`). A law is a frozen record of
parameters that connects its elements at the 1-junction of the contact twist, and names their signals.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from bondgraph import Automaton, Element, Graph
from bondgraph.errors import Problem, caller_place
from bondgraph.model.model import SignalEntry
from screws.numeric_arguments import real
from screws.surfaces import Surface


@dataclass(frozen=True)
class ContactKinematics:
    """Input of a law: the contact's name, its constrained components in order, their transport, and both surfaces."""

    name: str
    chosen: tuple[str, ...]
    transport: str
    surfaces: tuple[Surface, Surface]


@dataclass(frozen=True)
class ContactForces:
    """Output of a law: its automaton, and names of signals, states and modes.

    Attributes
    ----------
    switch : the automaton "switch", whose states determine when the law acts.
    normal : force that pushes the bodies apart, N, positive in contact; None without one, or if only time stepping sets it.
    force : path of this force, which the contact exports as "normal force".
    off : pairs (automaton, state); in each of these states there is no force.
    begins : states and automata whose start values depend on the gap, and the gap itself.
    begin : function of the gap at the start (m, negative in overlap) that returns their start values, modes by name.
    wrench : signal of the wrench on body 1, in C2.
    ignored : deformations of springs.
    friction : parameter of the coefficient of friction.
    stepped : signals of the forces, if only time stepping sets them.
    vectors : states (2,) in the axes x and y of C2, which a change of chart rotates.
    penetration : state that is the penetration depth while the law acts, if any.
    spring : deformation along the normal, zero while the gap is open, if the law has a spring there.
    closed : states of the switch in which the gap is not open.
    """

    switch: Automaton
    normal: SignalEntry | None
    force: str
    off: tuple[tuple[str, str], ...]
    begins: tuple[str, ...]
    begin: Callable[[float], tuple[Any, ...]]
    wrench: str = "Ad.2.effort"
    ignored: tuple[str, ...] = ()
    friction: str | None = None
    stepped: tuple[str, ...] = ()
    vectors: tuple[str, ...] = ()
    penetration: SignalEntry | None = None
    spring: SignalEntry | None = None
    closed: tuple[str, ...] = ()


@runtime_checkable
class ContactLaw(Protocol):
    """Contact law: the tail of a contact graph, connected to the head that all contacts share."""

    @property
    def components(self) -> Sequence[str] | str:
        """Components that the law constrains by default."""

    @property
    def active_states(self) -> tuple[str, ...]:
        """States of the switch in which an X0 connects the law's springs to the bodies; empty without springs."""

    @property
    def tangent_vectors(self) -> bool:
        """True if the law's springs store vectors of the tangent plane, which must be transported."""

    @property
    def stepping_only(self) -> bool:
        """True if only time stepping computes the law's force."""

    def problems(self, name: str, chosen: Sequence[str]) -> list[Problem]:
        """Report all problems with the law's parameters and constrained components in the contact `name`."""

    def attach(self, graph: Graph, split: Element, head: ContactKinematics) -> ContactForces:
        """Connect the law's elements at the 1-junction `split` of the contact twist, T_O2^{C2,O1}."""


def number_problems(
    contact: str, law: object, *ranges: tuple[str, str, float, float], above: Sequence[str] = ()
) -> Iterator[Problem]:
    """Report E436 for arguments of a law that are not numbers, or out of range.

    Parameters
    ----------
    ranges : (name of the field, unit, least, most).
    above : names of fields that must exceed their least value.
    """
    for field, unit, least, most in ranges:
        argument: Any = getattr(law, field)
        value = real(argument)
        if math.isfinite(value) and least <= value <= most and not (value == least and field in above):
            continue
        kind = type(law).__name__
        bound = f"above {least:g}" if field in above else f"of {least:g} or more"
        bound += f", at most {most:g}" if math.isfinite(most) else ""
        title = f'contact "{contact}": {kind} has {field} = {argument!r}'
        example = f"{kind}({field}={0.5 if math.isfinite(most) else 1e4:g}, ...)"
        yield Problem(
            "E436", title, (f"it needs a number {bound}" + (f", {unit}" if unit else ""),), (caller_place(),), (example,)
        )


def component_problem(contact: str, law: object, chosen: Sequence[str], allowed: Sequence[str], cure: str) -> Iterator[Problem]:
    others = [component for component in chosen if component not in allowed]
    if "v_z" in chosen and not others:
        return
    kind = type(law).__name__
    title = f'contact "{contact}": {kind} cannot {"constrain " + ", ".join(others) if others else "leave v_z free"}'
    details = (f"{kind} acts on {', '.join(allowed)}", f"constrained: {', '.join(chosen)}")
    yield Problem("E435", title, details, (caller_place(),), (cure,))
