"""Model: the frozen, flat bond graph that all later stages read. Names are paths of the user's names (`arm.elbow`)."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from bondgraph.errors import FixedEntries, Place
from bondgraph.model.automata import Automaton, Start
from bondgraph.model.domains import Domain
from bondgraph.model.element import Element
from bondgraph.model.laws import IdealSwitch, Junction, Resistor
from bondgraph.model.ops import Frozen
from bondgraph.output.short_repr import short_repr
from bondgraph.units import symbols_of
from screws.names import answer_old_names
from screws.shapes import Arrangement, Solid, arrangement

if TYPE_CHECKING:
    import networkx as nx


class End(NamedTuple):
    """End of a bond: an element's path and its port's name (for a junction, the bond's name)."""

    element: str
    port: str


@short_repr
@dataclass(frozen=True)
class Bond:
    """Bond with a half arrow from tail to head; power flows from tail to head while effort * flow > 0."""

    name: str
    tail: End
    head: End
    dimension: int
    domain: Domain
    frame: str | None
    place: Place | None

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the bond's effort and flow: () for dimension 1."""
        return (self.dimension,) if self.dimension > 1 else ()

    @property
    def ends(self) -> tuple[End, End]:
        """Tail and head."""
        return self.tail, self.head


@dataclass(frozen=True)
class SignalEntry:
    """Number in a signal: the signal's path, and the entry's index in a vector."""

    signal: str
    index: int | None = None


@short_repr
@dataclass(frozen=True)
class ContactPoint:
    """Contact of two bodies, with any law, for time stepping, pictures and reports."""

    path: str
    """Path of the contact's graph, or a separate name if this graph has several contacts."""
    gap: str
    """Signal: distance between the surfaces, m, negative if they overlap."""
    gap_rate: str
    """Signal: rate of the gap, m/s."""
    normal: SignalEntry | None = None
    """Force that pushes the bodies apart, N, positive; None if only time stepping provides it."""
    slip: tuple[SignalEntry, ...] = ()
    """Velocity of body 2 relative to body 1, m/s: its components along perpendicular directions in the tangent plane on which
    the law acts."""
    friction: str | None = None
    """Parameter: coefficient of the friction cone; None without friction."""
    off: tuple[tuple[str, str], ...] = ()
    """States of automata in which the law gives no force: (automaton, state)."""
    ignored: tuple[str, ...] = ()
    """States of the law, not of the bodies: deformations of its springs."""
    frames: tuple[str, ...] = ()
    """Signals: poses (4, 4) of the frames of the contact in the axes of body 1 and of body 2; empty without frames."""
    stepped: tuple[str, ...] = ()
    """Signals of the normal force and, with friction, the tangential force, which only time stepping provides: other runs are
    refused (E434). Empty if the contact has a law."""
    place: Place | None = field(default=None, compare=False)
    penetration: SignalEntry | None = None
    """State of the law that equals the penetration depth, m, while the law acts; None if the law has no such state."""


@dataclass(frozen=True)
class Collider:
    path: str
    pose: str
    """Signal (7,): quaternion and position of the body in the world."""
    twist: str
    """Signal (6,): twist T_0_0_b of the body in world coordinates."""
    momentum: str | None = None
    """State (6,) of a free body: its momentum in body coordinates; None for prescribed or fixed bodies."""
    fixed: bool = False


@answer_old_names
@short_repr
@dataclass(frozen=True, eq=False)
class CollisionSet:
    """Set of bodies with shapes that may touch anywhere. Their contacts are found in every step, and are not states."""

    bodies: tuple[Collider, ...]
    shapes: tuple[tuple[int, Solid], ...]
    """Index of a body, and a shape of this body."""
    friction: float
    restitution: float
    max_contacts: int
    """Maximum number of contact candidates; a run with more candidates ends."""
    exclude: tuple[tuple[int, int], ...] = ()
    """Pairs of bodies that are not checked for contact."""
    only: tuple[tuple[int, int], ...] | None = None
    """Pairs that are checked; None for all."""
    rolling_friction: float = 0.0
    """Largest torque against rolling per unit of normal force, m."""
    spinning_friction: float = 0.0
    """Largest torque against spin about the normal per unit of normal force, m."""

    def arranged(self, number: Sequence[int]) -> Arrangement:
        fixed = [k for k, body in zip(number, self.bodies, strict=True) if body.momentum is None]
        only = None if self.only is None else [(number[i], number[j]) for i, j in self.only]
        apart = [(number[i], number[j]) for i, j in self.exclude]
        return arrangement([(number[i], solid) for i, solid in self.shapes], fixed=fixed, exclude=apart, only=only)


@short_repr
@dataclass(frozen=True, eq=False)
class Visible:
    """Part that a picture can show: a body, a joint, a spring, a chain, a contact."""

    kind: str
    """Kind of part, which selects the drawing function."""
    signals: Mapping[str, str]
    """Signals by use, such as the pose of the part at every time of a run."""
    shape: Any = None
    """Frozen record that only the drawing function reads."""
    path: str = ""
    """Path of the part's graph, or a separate name if this graph has several parts of the kind."""


@short_repr
@dataclass(frozen=True)
class Face:
    """Symbol of a folded nested graph: its icon, and its ports by name."""

    icon: str = ""
    ports: Mapping[str, End] = field(default_factory=dict)
    """Element and port inside the graph for each port of the graph; the inner port is "" for a junction."""


@short_repr
@dataclass(frozen=True)
class Model(Frozen):
    """Complete graph: elements by path, bonds, automata, signal aliases, and paths of nested graphs."""

    name: str
    elements: Mapping[str, Element]
    bonds: tuple[Bond, ...]
    automata: Mapping[str, Automaton]
    starts: tuple[Start, ...]
    aliases: Mapping[str, str]
    """Names of values by exported signal name (`egg 2.pose`)."""
    groups: tuple[str, ...] = ()
    exposed: frozenset[str] = frozenset()
    """Elements that are ports of nested graphs; a junction among them may have a single bond."""
    contacts: tuple[ContactPoint, ...] = ()
    collisions: tuple[CollisionSet, ...] = ()
    visible: tuple[Visible, ...] = ()
    guess: Mapping[str, float] = field(default_factory=dict)
    """Initial guesses for values in algebraic loops with several solutions, by name; they select the nearest solution."""
    ambient: tuple[str, ...] = ()
    """Elements whose heat port is open: their heat goes to the surroundings."""
    references: tuple[str, ...] = ()
    """Junctions of networks without ground whose effort or flow is set to zero; each has a source that the compiler adds."""
    faces: Mapping[str, Face] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for each in ("elements", "automata"):
            if type(table := getattr(self, each)) is dict:
                object.__setattr__(self, each, FixedEntries(table))

    @property
    def guesses(self) -> Mapping[str, float]:
        """Guesses of the elements and of the model."""
        local = {f"{path}.{name}": value for path, element in self.elements.items() for name, value in element.guess.items()}
        return {**local, **self.guess}

    def elements_at(self, paths: Iterable[str]) -> list[Element]:
        """Return elements by their paths, each once; unknown paths are left out."""
        return [self.elements[path] for path in dict.fromkeys(paths) if path in self.elements]

    def bonds_at(self, element: str) -> tuple[Bond, ...]:
        """Return the bonds of an element, in the order of their creation."""
        return self._incidence.get(element, ())

    def across(self, bond: Bond, path: str) -> str:
        """Return the path of the element at the other end of a bond."""
        return (bond.tail if bond.head.element == path else bond.head).element

    def heat_ends(self, junction: str) -> tuple[list[Bond], list[Bond]]:
        """Return the pseudo-bonds through which heat enters or leaves a 1-junction, and the bonds to the R and switches through
        which it passes."""
        bonds = self.bonds_at(junction)
        passed = [isinstance(self.elements[self.across(bond, junction)].law, Resistor | IdealSwitch) for bond in bonds]
        return [bond for bond, by in zip(bonds, passed, strict=True) if not by], list(itertools.compress(bonds, passed))

    @cached_property
    def heat_shares(self) -> Mapping[str, float]:
        """Fraction of the heat into each R or switch at a 1-junction of pseudo-bonds that leaves the model there, by path.

        An R between two temperatures, at a 1-junction with both, passes on all its heat (0). Without a second temperature it
        conducts to surroundings at zero, which no element represents (1, or its share if several R are at a junction).
        """
        shares: dict[str, float] = {}
        for path in dict.fromkeys(end.element for bond in self.bonds if bond.domain.pseudo for end in bond.ends):
            law = self.elements[path].law
            if isinstance(law, Junction) and law.type == 1:
                ends, passing = self.heat_ends(path)
                shares |= {self.across(bond, path): 0.0 if len(ends) > 1 else 1.0 / len(passing) for bond in passing}
        return shares

    def bonds_by_port(self, path: str) -> tuple[Bond, ...]:
        """Return the bonds of an element in the order of its ports."""
        bonds, element = self.bonds_at(path), self.elements[path]
        if len(bonds) < 2 or isinstance(element.law, Junction):
            return bonds
        names = [port.name for port in element.ports]
        return tuple(sorted(bonds, key=lambda bond: min(names.index(end.port) for end in bond.ends if end.element == path)))

    @cached_property
    def domain_symbols(self) -> frozenset[str]:
        """Unit symbols of the domains of all bonds, which may be the user's own."""
        domains = {id(bond.domain): bond.domain for bond in self.bonds}.values()
        return symbols_of([u for d in domains for u in (d.effort_unit, d.flow_unit, d.displacement_unit, d.momentum_unit)])

    @cached_property
    def _incidence(self) -> Mapping[str, tuple[Bond, ...]]:
        incident: dict[str, list[Bond]] = {}
        for bond in self.bonds:
            tail, head = bond.tail.element, bond.head.element
            incident.setdefault(tail, []).append(bond)
            if head != tail:
                incident.setdefault(head, []).append(bond)
        return {path: tuple(bonds) for path, bonds in incident.items()}

    def network(self) -> nx.MultiDiGraph:
        """Return a networkx graph: nodes with `kind` and `element`, edges along the half arrows with `bond`."""
        import networkx as nx

        graph = nx.MultiDiGraph(name=self.name)
        for path, element in self.elements.items():
            graph.add_node(path, kind=element.kind, element=element)
        for bond in self.bonds:
            graph.add_edge(bond.tail.element, bond.head.element, key=bond.name, bond=bond)
        return graph
