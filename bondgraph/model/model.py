"""Model: the frozen, flat graph that every later stage reads. Names are paths in the user's words (`arm.elbow`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from bondgraph.errors import Place
from bondgraph.model.automata import Automaton, Start
from bondgraph.model.copies import Frozen
from bondgraph.model.domains import Domain
from bondgraph.model.element import Element
from bondgraph.output.short_repr import short_repr
from screws.shapes import Arrangement, Solid, arrangement

if TYPE_CHECKING:
    import networkx as nx


class End(NamedTuple):
    """One end of a bond: an element's path and its port's name (of a junction: the bond's own name)."""

    element: str
    port: str


@short_repr
@dataclass(frozen=True)
class Bond:
    """Half arrow from tail to head: effort * flow > 0 is power from tail to head."""

    name: str
    tail: End
    head: End
    dimension: int
    domain: Domain
    frame: str | None
    place: Place | None

    @property
    def shape(self) -> tuple[int, ...]:
        """Of its effort and its flow: () for dimension 1."""
        return (self.dimension,) if self.dimension > 1 else ()

    @property
    def ends(self) -> tuple[End, End]:
        """Tail and head."""
        return self.tail, self.head


@dataclass(frozen=True)
class SignalEntry:
    """A number in a signal: the signal's path, and the entry's index where it is a vector."""

    signal: str
    index: int | None = None


@short_repr
@dataclass(frozen=True)
class ContactPoint:
    """One place where two bodies may touch, whatever law acts in it. Time stepping, pictures and reports read these records;
    nothing finds a contact by how its signals are called."""

    path: str
    """Of the graph that holds it; a name of its own where one graph holds several."""
    gap: str
    """Signal: distance of the surfaces, m, negative where they overlap."""
    gap_rate: str
    """Signal: its rate, m/s."""
    normal: SignalEntry | None = None
    """Force that presses the bodies apart, N, positive; None: there is no law but that of a step."""
    slip: tuple[SignalEntry, ...] = ()
    """Velocities of body 2 beside body 1 in the tangent plane, perpendicular to each other, m/s; none without friction."""
    friction: str | None = None
    """Parameter: coefficient of the friction cone; None without friction."""
    off: tuple[tuple[str, str], ...] = ()
    """(automaton, state): states in which the law gives no force."""
    ignored: tuple[str, ...] = ()
    """States that belong to the law and not to the bodies: deformations of its springs."""
    frames: tuple[str, ...] = ()
    """Signals: poses (4, 4) of the frames of the contact in the axes of body 1 and of body 2; none of one without frames."""
    stepped: tuple[str, ...] = ()
    """Signals of the normal force and, with friction, of that in the tangent plane, which steps of time alone give it: another
    run is refused (E434). None where a law of its own acts."""
    place: Place | None = field(default=None, compare=False)
    """Line of the user's source."""


@dataclass(frozen=True)
class Collider:
    """A body that may collide: where it is and how it moves."""

    path: str
    pose: str
    """Signal (7,): quaternion and position of the body in the world."""
    twist: str
    """Signal (6,): its twist T_0_0_b in world coordinates."""
    momentum: str | None = None
    """State (6,) of a free body: its momentum in body coordinates; None for bodies that are moved or held."""
    fixed: bool = False
    """Whether it never moves."""


@short_repr
@dataclass(frozen=True, eq=False)
class CollisionSet:
    """Bodies with shapes that may touch anywhere. Where they do is found anew in every step: it is data, no state."""

    bodies: tuple[Collider, ...]
    shapes: tuple[tuple[int, Solid], ...]
    """Shapes by the number of their body."""
    friction: float
    restitution: float
    most: int
    """More candidates than this end a run."""
    apart: tuple[tuple[int, int], ...] = ()
    """Pairs of bodies that are not looked at."""
    only: tuple[tuple[int, int], ...] | None = None
    """Pairs that are looked at; None: all."""

    def arranged(self, number: Sequence[int]) -> Arrangement:
        """Its shapes for a search over bodies of which `number` says which its own are."""
        held = [k for k, body in zip(number, self.bodies, strict=True) if body.momentum is None]
        only = None if self.only is None else [(number[i], number[j]) for i, j in self.only]
        apart = [(number[i], number[j]) for i, j in self.apart]
        return arrangement([(number[i], solid) for i, solid in self.shapes], fixed=held, apart=apart, only=only)


@short_repr
@dataclass(frozen=True, eq=False)
class Visible:
    """Something that a picture can show: a body, a joint, a spring, a chain, a contact. Pictures of a result are made from these
    records; nothing finds a body by how its signals are called."""

    kind: str
    """Who draws it, by name."""
    signals: Mapping[str, str]
    """What it is for -> signal: where the thing is at every time of a run."""
    shape: Any = None
    """A frozen record that whoever draws it reads, and nobody else."""
    path: str = ""
    """Of the graph that holds it; a name of its own where one graph holds several of a kind."""


@short_repr
@dataclass(frozen=True)
class Model(Frozen):
    """A complete graph: elements by path, bonds, automata, signal aliases, and where nested graphs lie."""

    name: str
    elements: Mapping[str, Element]
    bonds: tuple[Bond, ...]
    automata: Mapping[str, Automaton]
    starts: tuple[Start, ...]
    aliases: Mapping[str, str]
    """Exported signal name (`egg 2.pose`) -> the value it stands for."""
    groups: tuple[str, ...] = ()
    """Paths of the nested graphs."""
    exposed: frozenset[str] = frozenset()
    """Junctions that are ports of a nested graph: they may wait for a bond."""
    contacts: tuple[ContactPoint, ...] = ()
    """Where bodies may touch."""
    collisions: tuple[CollisionSet, ...] = ()
    """Which bodies may touch anywhere."""
    visible: tuple[Visible, ...] = ()
    """What pictures can show."""

    def elements_at(self, paths: Iterable[str]) -> list[Element]:
        """Elements by their paths, each once; paths of none are left out."""
        return [self.elements[path] for path in dict.fromkeys(paths) if path in self.elements]

    def bonds_at(self, element: str) -> tuple[Bond, ...]:
        """Bonds that end at an element, in the order of their making."""
        return self._incidence.get(element, ())

    @cached_property
    def _incidence(self) -> Mapping[str, tuple[Bond, ...]]:
        found: dict[str, list[Bond]] = {}
        for bond in self.bonds:
            tail, head = bond.tail.element, bond.head.element
            found.setdefault(tail, []).append(bond)
            if head != tail:
                found.setdefault(head, []).append(bond)
        return {path: tuple(bonds) for path, bonds in found.items()}

    def network(self) -> nx.MultiDiGraph:
        """The graph in networkx: nodes with `kind`, edges along the half arrows with `bond`."""
        import networkx as nx

        graph = nx.MultiDiGraph(name=self.name)
        for path, element in self.elements.items():
            graph.add_node(path, kind=element.kind, element=element)
        for bond in self.bonds:
            graph.add_edge(bond.tail.element, bond.head.element, key=bond.name, bond=bond)
        return graph
