"""Names of the signals of a flat model, looked up without a list of all of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from bondgraph.errors import Place, Problem
from bondgraph.graph.draft import own_automata
from bondgraph.graph.joining import Scope
from bondgraph.model.element import Element
from bondgraph.model.laws import ByMode, SignalBlock
from bondgraph.model.modal import numbers_of


def signals_of(path: str, element: Element) -> list[str]:
    """Return the names of all signals of an element, `<path>.<local>`; one that is listed twice is ambiguous."""
    start = f"{path}."
    return [start + name for name in _local_names(element)]


def _local_names(element: Element) -> tuple[str, ...]:
    """Return the local names of all signals of an element."""
    names: list[str] = []
    for key, parameter in element.parameters.items():
        names.append(key)
        if isinstance(parameter.value, ByMode):
            names += numbers_of(key, parameter)
    return (*names, *element.law.signals([port.name for port in element.ports]))


class SignalNames:
    """Signals of a model, evaluated for the looked-up elements only."""

    def __init__(self, elements: Mapping[str, Element], others: Mapping[str, None]):
        self._elements = elements
        self._others = others
        self._cache: dict[str, frozenset[str]] = {}

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
        names = self._cache.get(path)
        if names is None:
            names = self._cache[path] = frozenset(_local_names(self._elements[path]))
        return names


def signal_names(scopes: list[Scope], elements: Mapping[str, Element], problems: list[Problem]) -> SignalNames:
    """Return all signals of a model; report two with the same name (within a block, `checks.check_blocks` does)."""

    def twice(signal: str, why: str, place: Place | None, what: str) -> None:
        cures = (f"give the {what} another name",)
        problems.append(Problem("E101", f'two values are called "{signal}"', (why,), (place,), cures))

    for path, element in elements.items():
        local_names = _local_names(element)
        if len(set(local_names)) == len(local_names) or isinstance(element.law, SignalBlock):
            continue
        seen: set[str] = set()
        for name in local_names:
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
