"""What every law of contact is asked: the head of its contact in; the elements that act in it, by the same names for all, out.

A contact is one head, whatever acts in it: the relative twist in the Gauss frame, the contact coordinates, charts and start
values (`screwbond.models.contacts.graph`). A law is its tail: a frozen record of numbers that says what it needs, puts elements
behind the 1-junction of the contact twist, and names what they offer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from bondgraph import Automaton, Element, Graph
from bondgraph.errors import Problem
from bondgraph.model.model import SignalEntry
from screws.surfaces import Surface


@dataclass(frozen=True)
class ContactKinematics:
    """What a law finds: the contact's name, its constrained components in their order, their transport, both surfaces."""

    name: str
    chosen: tuple[str, ...]
    transport: str
    surfaces: tuple[Surface, Surface]


@dataclass(frozen=True)
class ContactForces:
    """What a law has put behind the head of a contact: names of signals, of states and of modes.

    Attributes
    ----------
    switch : the automaton "switch", whose states say when the law acts.
    normal : what presses the bodies apart, N, positive.
    force : the same as a signal of its own, which the contact exports as "normal force".
    off : (automaton, state) in which there is no force.
    begins : states and automata that start by the gap, that itself among them.
    begin : the gap at the start (m, negative where the bodies overlap) -> what they start with, modes by name.
    wrench : signal of the wrench on body 1, in C2.
    ignored : deformations of springs.
    friction : parameter of the coefficient of friction.
    stepped : signals of its forces, where only steps of time fill them.
    vectors : states (2,) in the axes x and y of C2, which turn with them from chart to chart.
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


@runtime_checkable
class ContactLaw(Protocol):
    """A law of contact, the tail that follows the head."""

    @property
    def components(self) -> Sequence[str] | str:
        """What it constrains where the caller does not say."""

    @property
    def active_states(self) -> tuple[str, ...]:
        """States of the switch in which an X0 joins its springs to the bodies; none without springs."""

    @property
    def tangent_vectors(self) -> bool:
        """Whether its springs hold vectors of the tangent plane, which must be carried along."""

    @property
    def stepping_only(self) -> bool:
        """Whether it has no tail: only time stepping gives it a force."""

    def problems(self, name: str, chosen: Sequence[str]) -> list[Problem]:
        """All that is wrong with its numbers, and with what it is to constrain, in the contact of this name."""

    def attach(self, graph: Graph, split: Element, head: ContactKinematics) -> ContactForces:
        """Put its elements behind the 1-junction `split` of the contact twist, T_O2^{C2,O1}."""
