"""Draft: what a graph under construction holds; the builder writes it, flattening reads it."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple, Self

from bondgraph.errors import Place, Problem, caller_place
from bondgraph.model.automata import Automaton, Start
from bondgraph.model.copies import OfFormulas
from bondgraph.model.element import Element, PortRef
from bondgraph.model.model import CollisionSet, ContactPoint, Visible
from bondgraph.model.names import need_name
from bondgraph.output.short_repr import short_repr


@short_repr
class Link(NamedTuple):
    """A bond as the user made it, its ends not yet resolved."""

    tail: PortRef
    head: PortRef
    place: Place | None


class Draft(OfFormulas):
    """Parts, links, automata, ports and signals of a graph under construction, and the problems met so far."""

    def __init__(self, name: str):
        need_name("graph", name)
        self.name = name
        self.place = caller_place()
        self.parts: dict[str, Element | Draft] = {}
        self.links: list[Link] = []
        self.automata: dict[str, Automaton] = {}
        self.starts: list[Start] = []
        self.contacts: list[ContactPoint] = []
        self.collisions: list[CollisionSet] = []
        self.visible: list[Visible] = []
        self.ports: dict[str, PortRef] = {}
        self.inputs: dict[str, None] = {}
        self.wires: dict[tuple[str, str], str] = {}
        """(nested graph, its input) -> path of the signal that feeds it."""
        self.exports: dict[str, str] = {}
        self.problems: list[Problem] = []

    def __copy__(self) -> Self:
        return self._copied(lambda own: own.copy() if isinstance(own, (dict, list)) else own, {})

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self._copied(lambda own: copy.deepcopy(own, memo), memo)

    def _copied(self, part: Callable[[Any], Any], memo: dict[int, Any]) -> Self:
        new = memo[id(self)] = type(self).__new__(type(self))
        new.__dict__.update((name, part(own)) for name, own in self.__dict__.items())
        return new


def own_automata(graph: Draft) -> dict[str, Automaton]:
    """Automata of one graph: those added to it, and those that its elements bring along."""
    brought = {
        part.automaton.name: replace(part.automaton, place=part.place)
        for part in graph.parts.values()
        if isinstance(part, Element) and part.automaton is not None
    }
    return {**graph.automata, **brought}
