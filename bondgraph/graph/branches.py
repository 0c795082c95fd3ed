"""Branches: junctions and half arrows of parts between two nodes, in series and in parallel."""

from __future__ import annotations

import itertools
from collections.abc import Container, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from bondgraph.elements import J0, J1
from bondgraph.errors import refusal
from bondgraph.graph.draft import Draft
from bondgraph.model.dissipation import HEAT_PORT
from bondgraph.model.element import Element, PortRef
from bondgraph.model.laws import Junction, Source

Node = Element | PortRef | Draft


class Arrow(NamedTuple):
    """Bond to be made, with the half arrow from tail to head."""

    tail: Node
    head: Node


def branch(
    graph: str, start: Node | None, stop: Node | None, parts: tuple[Node, ...], taken: Container[str] = ()
) -> Iterator[Arrow]:
    """Yield the bonds of parts that share one flow from the node `start` to the node `stop`; None is ground. Names in `taken` are
    not used.

    A single part with two ports conducts from `start` to `stop` if neither is ground. Between 0-junctions the flow of other parts
    passes through a 1-junction. Between 1-junctions it is the flow of `stop` minus the flow of `start`. A source raises the
    effort or flow of `stop`.

    Raises `ModelError` E178 for nodes that are not junctions of one type, and for a branch without parts.
    """
    if start is not None and stop is not None and len(through := _through(parts)) == 2:
        yield from (Arrow(start, through[0]), Arrow(through[1], stop))
        return
    kind = _type_of(graph, start, stop)
    name = junction_name(graph, "branch of", parts, taken)
    grounded = start is None if kind == 1 or _is_source(parts[0]) else stop is None
    if grounded and (kind == 1 or len(parts) == 1):
        yield from joined(stop if start is None else start, parts)
        return
    shared = J1(name)
    if kind == 0:
        chain = start, shared, stop
    else:
        difference = J0(junction_name(graph, "difference at", parts, taken))
        yield Arrow(difference, shared)
        chain = stop, difference, start
    yield from (Arrow(tail, head) for tail, head in itertools.pairwise(each for each in chain if each is not None))
    yield from joined(shared, parts)


def _through(parts: Sequence[Node]) -> list[PortRef]:
    part = parts[0] if len(parts) == 1 else None
    if not isinstance(part, (Element, Draft)):
        return []
    names = [port.name for port in part.ports] if isinstance(part, Element) else list(part.ports)
    return [PortRef(part, name) for name in names if name != HEAT_PORT]


def joined(junction: Any, parts: Iterable[Node]) -> Iterator[Arrow]:
    """Yield the bonds of parts at a junction: power is positive out of sources and into all other parts."""
    for part in parts:
        yield Arrow(part, junction) if _is_source(part) else Arrow(junction, part)


def junction_name(graph: str, word: str, parts: Sequence[Node], taken: Container[str]) -> str:
    """Return the name of a junction, after the first of its parts, such as "loop of supply", or, if that name is taken, also
    after the port: "branch of transformer 2".

    Raises `ModelError` E178 for no parts.
    """
    if not parts:
        title = f"a {word.split()[0]} without parts"
        cures = (
            'between(a, b, R("r", 1.0))',
            'series(Se("u", 1.0), R("r", 1.0))',
            'parallel(R("r", 1.0), C("c", capacitance=1.0))',
        )
        raise refusal("E178", title, *cures, about=graph)
    name, first = f"{word} {_name(parts[0])}", parts[0]
    return f"{name} {first.name}" if name in taken and isinstance(first, PortRef) and first.name else name


def _type_of(graph: str, *ends: Node | None) -> int:
    inner = [(_name(end), _inner(end)) for end in ends if end is not None]
    types = {each.law.type if isinstance(each, Element) and isinstance(each.law, Junction) else None for _, each in inner}
    if types in ({0}, {1}):
        return 0 if 0 in types else 1
    shown = ", ".join(f'"{name}", {_kind(each)}' for name, each in inner)
    title = "a branch lies between two nodes: both 0-junctions, or both 1-junctions"
    cures = (
        "J0 for nodes of one voltage, pressure or temperature, J1 for nodes of one velocity",
        "graph.connect(...) for a single bond",
    )
    raise refusal("E178", title, *cures, about=graph, why=f"given: {shown or 'ground alone'}")


def _kind(node: Element | Draft) -> str:
    if isinstance(node, Draft):
        return "a graph without this port"
    return f"J{node.kind}" if isinstance(node.law, Junction) else node.kind


def _name(node: Node) -> str:
    return node.owner.name if isinstance(node, PortRef) else node.name


def _inner(node: Node) -> Element | Draft:
    """Return the element at a port of nested graphs; if a graph lacks the port, return this graph, and `freeze` reports the
    error."""
    while True:
        owner, port = node if isinstance(node, PortRef) else (node, "")
        if isinstance(owner, Element):
            return owner
        port = port or next(iter(owner.ports), "") if len(owner.ports) == 1 else port
        if port not in owner.ports:
            return owner
        node = owner.ports[port]


def _is_source(part: Node) -> bool:
    inner = _inner(part)
    return isinstance(inner, Element) and isinstance(inner.law, Source)
