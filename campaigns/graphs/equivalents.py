"""A graph with the same physics but other elements: resistors split, unit transformers inserted, effort and flow exchanged."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from bondgraph import TF
from bondgraph.checks.parameters import is_linear
from bondgraph.graph.builder import Graph
from bondgraph.graph.draft import Link
from bondgraph.graph.joining import signals_of
from bondgraph.model.element import Element, PortRef
from bondgraph.model.laws import (
    OTHER,
    ByMode,
    Gyrator,
    Junction,
    Law,
    Parameter,
    Resistor,
    SignalBlock,
    Source,
    Storage,
    Transformer,
)
from bondgraph.model.ops import Op
from campaigns.graphs.rebuilding import names_of, rebuilt
from campaigns.graphs.rewritten import Rewritten, put, signals_read

DUAL = {"C": "I", "I": "C", "q": "p", "p": "q", "effort": "flow", "flow": "effort", "Se": "Sf", "Sf": "Se"}


def split(graph: Graph, rng: np.random.Generator) -> Rewritten:
    """Replace every linear R at a junction by two, in series or in parallel, unless a signal reads the R or its number depends on
    a mode."""
    new, shares = rebuilt(graph), {}
    read = set(signals_read(new))
    for scope, prefix, link, part, junction in list(_at_junctions(new)):
        numbers = list(part.parameters.items())
        if not isinstance(part.law, Resistor) or not is_linear(part) or isinstance(numbers[0][1].value, ByMode):
            continue
        if any(f"{part.name}." in signal for signal in read):
            continue
        key, given = numbers[0]
        share = float(rng.uniform(0.2, 0.8))
        series = (junction.law.type == 1) == (key == "resistance")  # or conductances in parallel: shares that add up
        sizes = (share, 1.0 - share) if series else (1.0 / share, 1.0 / (1.0 - share))
        one, other = (
            replace(part, name=name, parameters={key: Parameter(size * np.asarray(given.value)[()], given.unit)})
            for name, size in ((part.name, sizes[0]), (f"{part.name} too", sizes[1]))
        )
        put(scope, part, one)
        scope.parts[other.name] = other
        ends = [PortRef(other, end.name) if end.owner is part else end for end in (link.tail, link.head)]
        scope.links.append(Link(ends[0], ends[1], link.place))
        shares[f"{prefix}{other.name}"] = f"{prefix}{part.name}"
    return Rewritten(new, {path: path for path in names_of(graph)}, shares)


def with_units(graph: Graph, rng: np.random.Generator) -> Rewritten:
    """Insert unit transformers between some scalar one-ports and their junctions."""
    new = rebuilt(graph)
    model = new.freeze()
    for scope, prefix, link, part, _ in list(_at_junctions(new)):
        path = f"{prefix}{part.name}"
        if model.bonds_at(path)[0].dimension > 1 or rng.random() < 0.3:
            continue
        unit = TF(f"unit at {part.name}", 1.0)
        scope.parts[unit.name] = unit
        at = next(k for k, known in enumerate(scope.links) if known is link)
        scope.links[at : at + 1] = [Link(link.tail, unit.port("1"), link.place), Link(unit.port("2"), link.head, link.place)]
    return Rewritten(new, {path: path for path in names_of(graph)})


def _at_junctions(scope: Graph, prefix: str = "") -> Iterator[tuple[Graph, str, Link, Element, Element]]:
    for link in scope.links:
        for end, other in ((link.tail, link.head), (link.head, link.tail)):
            part, junction = end.owner, other.owner
            if not isinstance(part, Element) or not isinstance(junction, Element) or len(part.ports) != 1:
                continue
            if isinstance(junction.law, Junction) and not isinstance(part.law, Junction):
                yield scope, prefix, link, part, junction
    for name, part in scope.parts.items():
        if isinstance(part, Graph):
            yield from _at_junctions(part, f"{prefix}{name}.")


def dual(graph: Graph, rng: np.random.Generator) -> Rewritten | None:
    """Exchange effort and flow; return None if an element has no dual (an IC, a constraint, or a matrix with a direction)."""
    model = graph.freeze()
    if any(_dual_law(element.law) is None for element in model.elements.values()):
        return None
    elsewhere = {
        signal: ".".join((path, *(DUAL.get(step, step) for step in signal.removeprefix(f"{path}.").split("."))))
        for path, element in model.elements.items()
        if not isinstance(element.law, SignalBlock)
        for signal in signals_of(path, element)
    }
    new = rebuilt(graph, elsewhere=elsewhere)

    def exchange(scope: Graph) -> None:
        for part in list(scope.parts.values()):
            if isinstance(part, Graph):
                exchange(part)
            elif not isinstance(part.law, SignalBlock):
                law = _dual_law(part.law)
                assert law is not None
                kind = part.kind[:-1] + str(law.type) if isinstance(law, Junction) else DUAL.get(part.kind, part.kind)
                put(scope, part, replace(part, kind=kind, law=law))

    exchange(new)
    return Rewritten(new, {path: path for path in names_of(graph)})


def _dual_law(law: Law) -> Law | None:
    match law:
        case Storage() if law.rate is None and law.state in DUAL:
            return replace(law, state=DUAL[law.state], gives=OTHER[law.gives])
        case Resistor():
            return replace(law, effort=law.flow, flow=law.effort)
        case Junction():
            return replace(law, type=1 - law.type)
        case Transformer() | Gyrator() if law.invertible:
            return replace(law, matrix=_inverted(law.matrix))
        case Source():
            return replace(law, gives=OTHER[law.gives])
        case SignalBlock():
            return law
        case _:
            return None


def _inverted(ratio: Op) -> Op:
    def inverse(*arguments: Any) -> Any:
        return 1.0 / ratio(*arguments)

    return Op("inverse ratio", inverse)
