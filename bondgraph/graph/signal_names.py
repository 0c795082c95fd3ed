"""Names of signals: elements and automata of a flat model in; whether a name is one of theirs, without a list of all, out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from bondgraph.errors import Place, Problem
from bondgraph.graph.draft import own_automata
from bondgraph.graph.joining import Scope
from bondgraph.model.element import Element
from bondgraph.model.laws import ByMode, SignalBlock
from bondgraph.model.modal import numbers_of


def signals_of(path: str, element: Element) -> list[str]:
    """Every signal that an element offers by name: `<path>.<local>`; one that is listed twice is ambiguous."""
    start = f"{path}."
    return [start + name for name in _local(element)]


def _local(element: Element) -> tuple[str, ...]:
    """The same, as the element calls them."""
    own: list[str] = []
    for key, parameter in element.parameters.items():
        own.append(key)
        if isinstance(parameter.value, ByMode):
            own += numbers_of(key, parameter)
    return (*own, *element.law.signals([port.name for port in element.ports]))


class SignalNames:
    """All signals of a model: asked for few of them, since two elements have no path in common."""

    def __init__(self, elements: Mapping[str, Element], others: Mapping[str, None]):
        self._elements = elements
        self._others = others
        self._known: dict[str, frozenset[str]] = {}

    def __contains__(self, name: str) -> bool:
        dot = name.find(".")
        while dot >= 0:
            path = name[:dot]
            if path in self._elements and name[dot + 1 :] in self._signals(path):
                return True
            dot = name.find(".", dot + 1)
        return name in self._others

    def __iter__(self) -> Iterator[str]:
        yield from self._others
        for path, element in self._elements.items():
            yield from signals_of(path, element)

    def _signals(self, path: str) -> frozenset[str]:
        found = self._known.get(path)
        if found is None:
            found = self._known[path] = frozenset(_local(self._elements[path]))
        return found


def signal_names(scopes: list[Scope], elements: Mapping[str, Element], problems: list[Problem]) -> SignalNames:
    """All signals of a model; two of one name are a problem (within a block, `checks.check_blocks` says so)."""

    def twice(signal: str, why: str, place: Place | None, what: str) -> None:
        cures = (f"give the {what} another name",)
        problems.append(Problem("E101", f'two values are called "{signal}"', (why,), (place,), cures))

    for path, element in elements.items():
        own = _local(element)
        if len(set(own)) == len(own) or isinstance(element.law, SignalBlock):
            continue
        seen: set[str] = set()
        for name in own:
            if name in seen:
                why = f'{element.kind} "{path}" has a value of this name already'
                twice(f"{path}.{name}", why, element.place, "parameter")
            seen.add(name)
    others = dict[str, None](time=None)
    names = SignalNames(elements, others)
    for scope in scopes:
        for name, automaton in own_automata(scope.graph).items():
            signal = f"{scope.prefix}{name}.mode"
            if signal in names:
                twice(signal, "an automaton's mode is one of them", automaton.place, "automaton")
            others[signal] = None
    return names
