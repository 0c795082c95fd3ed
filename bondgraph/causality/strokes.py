"""Causal strokes: propagate causal constraints of the junction structure bond by bond, with their causes, and undo them.

All counts are kept per node, so that a stroke costs the same in a large graph and at a junction with many bonds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from bondgraph.model.laws import Gyrator, Junction, Ratio
from bondgraph.model.model import Bond, Model


@dataclass
class Node:
    """A junction or two-port and its strokes decided so far.

    The strong bond of a 0-junction imposes the common effort, and the strong bond of a 1-junction receives the balance of
    efforts.
    """

    path: str
    bonds: list[tuple[int, bool]] = field(default_factory=list)
    """Bonds, each with True if the node is at its head."""
    strong_takes_effort: bool | None = None
    """True if the effort of a junction's strong bond goes into the node (0-junction), False if out of it (1-junction);
    None for a two-port."""
    is_gyrator: bool = False
    open: int = 0
    strong: int = -1


class Cause(NamedTuple):
    """Cause of a stroke: an element that requires it, or a node through which the strokes of other bonds propagate."""

    by: str
    node: Node | None = None
    bonds: tuple[int, ...] = ()


class Clash(Exception):
    """Incompatible strokes, at one node or on one bond.

    `groups` holds the sides of the clash, each as bonds whose strokes meet or as the path of an element that requires a
    causality; `new` is the cause of the stroke that is excluded.
    """

    def __init__(
        self, node: Node | None, bond: int, case: str, groups: Sequence[tuple[int, ...] | str], new: Cause | None = None
    ):
        self.new = new
        self.node = node
        self.bond = bond
        self.case = case
        self.groups = tuple(groups)


class Strokes:
    """Strokes of all bonds decided so far; `assign` sets one with its consequences, or nothing."""

    def __init__(self, model: Model, bonds_at: Callable[[str], Sequence[Bond]]):
        self.bonds = model.bonds
        self.index = {bond.name: i for i, bond in enumerate(model.bonds)}
        self.into_head: list[bool | None] = [None] * len(model.bonds)
        self.causes: list[Cause | None] = [None] * len(model.bonds)
        self.trail: list[int] = []
        self.nodes: dict[str, Node] = {}
        self._at: list[list[tuple[Node, bool]]] = [[] for _ in model.bonds]
        for path, element in model.elements.items():
            law = element.law
            if not isinstance(law, (Junction, Ratio)):
                continue
            node = Node(
                path,
                strong_takes_effort=law.type == 0 if isinstance(law, Junction) else None,
                is_gyrator=isinstance(law, Gyrator),
            )
            for bond in bonds_at(path):
                i, at_head = self.index[bond.name], bond.head.element == path
                node.bonds.append((i, at_head))
                self._at[i].append((node, at_head))
            node.open = len(node.bonds)
            self.nodes[path] = node

    def assign(self, bond: int, into_head: bool, by: str) -> None:
        """Set one stroke because the element `by` requires it, with its consequences; a `Clash` leaves all strokes unchanged."""
        mark = len(self.trail)
        try:
            self._propagate(bond, into_head, Cause(by))
        except Clash:
            self.undo(mark)
            raise

    def _propagate(self, bond: int, into_head: bool, cause: Cause) -> None:
        queue = [(bond, into_head, cause)]
        while queue:
            i, value, why = queue.pop()
            decided = self.into_head[i]
            if decided is not None:
                if decided != value:
                    raise self._clash_on(i, why)
                continue
            self.into_head[i], self.causes[i] = value, why
            self.trail.append(i)
            for node, _ in self._at[i]:
                node.open -= 1
            for node, at_head in self._at[i]:
                into = value == at_head
                if node.strong_takes_effort is None or into is node.strong_takes_effort or (node.strong < 0 and node.open <= 1):
                    queue += self._consequences(node, i, into)

    def _consequences(self, node: Node, i: int, into: bool) -> Iterator[tuple[int, bool, Cause]]:
        strong_takes_effort = node.strong_takes_effort
        if strong_takes_effort is None:
            j, at_head = node.bonds[0] if node.bonds[1][0] == i else node.bonds[1]
            yield j, (into == node.is_gyrator) == at_head, Cause(node.path, node, (i,))
        elif into is strong_takes_effort:
            if node.strong >= 0:
                raise Clash(node, i, "two", ((node.strong,), (i,)))
            node.strong = i
            if node.open:
                cause = Cause(node.path, node, (i,))
                for j, at_head in node.bonds:
                    if self.into_head[j] is None:
                        yield j, (not strong_takes_effort) == at_head, cause
        else:  # a weak stroke that leaves one bond open, or none
            weak = tuple(j for j, _ in node.bonds if self.into_head[j] is not None)
            if node.open == 0:
                raise Clash(node, i, "none", [(j,) for j in weak])
            for j, at_head in node.bonds:
                if self.into_head[j] is None:
                    yield j, strong_takes_effort == at_head, Cause(node.path, node, weak)

    def _clash_on(self, i: int, new: Cause) -> Clash:
        old = self.causes[i]
        assert old is not None
        side: tuple[int, ...] | str = new.bonds if new.node is not None else new.by
        node = old.node
        if node is None:
            return Clash(None, i, "bond", (old.by, side), new)
        if node.strong_takes_effort is None:
            return Clash(node, i, "two-port", (old.bonds, side), new)
        if node.strong == i:
            return Clash(node, i, "none", [*((j,) for j in old.bonds), side], new)
        return Clash(node, i, "two", (old.bonds, side), new)

    def undo(self, mark: int) -> None:
        while len(self.trail) > mark:
            i = self.trail.pop()
            self.into_head[i] = self.causes[i] = None
            for node, _ in self._at[i]:
                node.open += 1
                if node.strong == i:
                    node.strong = -1

    def roots(self, bonds: Sequence[int]) -> tuple[str, ...]:
        """Return the elements whose required causalities led to the strokes of these bonds, in the order of the search."""
        elements: dict[str, None] = {}
        seen, stack = set(bonds), list(reversed(bonds))
        while stack:
            cause = self.causes[stack.pop()]
            if cause is None:
                continue
            if cause.node is None:
                elements[cause.by] = None
            for j in cause.bonds:
                if j not in seen:
                    seen.add(j)
                    stack.append(j)
        return tuple(elements)
