"""Draft: contents of a graph under construction, written by the builder and read by flattening."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple, Self

from bondgraph.errors import ByName, Place, Problem, caller_place
from bondgraph.model.arguments import icon_of, need_name
from bondgraph.model.automata import Automaton, Start
from bondgraph.model.element import Element, PortRef
from bondgraph.model.model import CollisionSet, ContactPoint, Visible
from bondgraph.model.ops import Unpicklable
from bondgraph.output.short_repr import short_repr


@short_repr
class Link(NamedTuple):
    tail: PortRef
    head: PortRef
    place: Place | None


class Draft(Unpicklable):
    """Parts, links, automata, ports and signals of a graph under construction, and the problems so far."""

    def __init__(self, name: str, *, icon: str = ""):
        need_name("graph", name)
        self.name = name
        self.icon = icon_of(name, icon)
        """Picture of the folded graph, as SVG path data in a box from (0, 0) to (1, 1), y downwards."""
        self.place = caller_place()
        self.is_inside = False
        """True once the graph is a part of another graph, so that its own parts might contain it."""
        self.parts = ByName[Element | Draft]()
        self.links: list[Link] = []
        self.automata = ByName[Automaton]()
        self.starts: list[Start] = []
        self.contacts: list[ContactPoint] = []
        self.collisions: list[CollisionSet] = []
        self.visible: list[Visible] = []
        self.ports = ByName[PortRef]()
        self.inputs: dict[str, None] = {}
        self.fed_by = ""
        """Call that feeds the inputs, for messages."""
        self.wires: dict[tuple[str, str], str] = {}
        """Paths of the signals that feed inputs, by (nested graph, input)."""
        self.exports = ByName[str]()
        self.problems: list[Problem] = []

    def __copy__(self) -> Self:
        return self._copied(lambda value: copy.copy(value) if isinstance(value, (dict, list)) else value, {})

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self._copied(lambda value: copy.deepcopy(value, memo), memo)

    def _copied(self, copy_value: Callable[[Any], Any], memo: dict[int, Any]) -> Self:
        new = memo[id(self)] = type(self).__new__(type(self))
        new.__dict__.update((name, copy_value(value)) for name, value in self.__dict__.items())
        return new


def own_automata(graph: Draft) -> dict[str, Automaton]:
    of_elements = {
        part.automaton.name: replace(part.automaton, place=part.place)
        for part in graph.parts.values()
        if isinstance(part, Element) and part.automaton is not None
    }
    return {**graph.automata, **of_elements}
