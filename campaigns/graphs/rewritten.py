"""A built graph written in another way: parts moved into nested graphs, connected in another order, or renamed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from bondgraph import Block, ModelError, assign_causality
from bondgraph.checks.parameters import is_linear
from bondgraph.graph.builder import Graph
from bondgraph.graph.draft import Link
from bondgraph.model.element import Element, PortRef
from bondgraph.model.laws import ByMode, Junction, Resistor, SignalBlock, Storage
from bondgraph.model.ops import Op
from campaigns.graphs.rebuilding import automaton_of, names_of, path_of, rebuilt


def nested(graph: Graph, rng: np.random.Generator) -> Graph:
    """Move some junctions of a flat graph, and parts connected only to these junctions, into two nested graphs."""
    parts = {name: part for name, part in graph.parts.items() if isinstance(part, Element)}
    home = dict.fromkeys(parts, "")
    ends = [(link.tail.owner.name, link.head.owner.name) for link in graph.links]
    for name, part in parts.items():
        if isinstance(part.law, Junction) and part.law.automaton is None:
            home[name] = ("", "left", "right")[rng.integers(3)]
    for name, part in parts.items():
        own = [pair for pair in ends if name in pair]
        if len(own) == 1 and not isinstance(part.law, Junction) and _is_free(part):
            home[name] = home.get(own[0][own[0][0] == name], "")
    inner = {where: Graph(where) for where in ("left", "right") if where in home.values()}
    new = Graph(graph.name)
    for name, part in graph.parts.items():
        where = inner.get(home.get(name, ""), new)
        where.add(_reading(part, home) if isinstance(part, Element) else part)
        if where is not new and isinstance(parts[name].law, Junction):
            where.expose(name, where.parts[name])
    for where in inner.values():
        new.add(where)

    def end(reference: PortRef, here: Graph) -> PortRef:
        name = reference.owner.name
        where = inner.get(home.get(name, ""), new)
        return PortRef(where.parts[name], reference.name) if where is here else where.port(name)

    for link in graph.links:
        homes = [inner.get(home.get(side.owner.name, ""), new) for side in (link.tail, link.head)]
        here = homes[0] if homes[0] is homes[1] else new
        here.links.append(Link(end(link.tail, here), end(link.head, here), link.place))
    for automaton in graph.automata.values():
        new.add_automaton(automaton_of(automaton, lambda name: _moved(name, home)))
    return new


def _is_free(part: Element) -> bool:
    return (
        part.automaton is None
        and getattr(part.law, "automaton", None) is None
        and not any(isinstance(p.value, ByMode) for p in part.parameters.values())
    )


def _moved(signal: str, home: dict[str, str]) -> str:
    where = home.get(signal.partition(".")[0], "")
    return f"{where}.{signal}" if where else signal


def _reading(part: Element, home: dict[str, str]) -> Element:
    return replace(part, signals=tuple(_moved(signal, home) for signal in part.signals))


@dataclass(frozen=True)
class Rewritten:
    graph: Graph
    paths: Mapping[str, str]
    shares: Mapping[str, str] = field(default_factory=dict)
    """Paths of the added parts, each with the path of the part with which it replaces one part of the original."""


def reordered(graph: Graph, rng: np.random.Generator) -> Rewritten:
    """Add parts and connect bonds in another order; sampled blocks keep their order, in which they tick."""
    new = rebuilt(graph)

    def shuffle(scope: Graph) -> None:
        for part in scope.parts.values():
            if isinstance(part, Graph):
                shuffle(part)
        names = list(scope.parts)
        blocks = iter([name for name in names if isinstance(scope.parts[name], Element) and _is_block(scope.parts[name])])
        names = [names[k] for k in rng.permutation(len(names))]
        names = [next(blocks) if _is_block(scope.parts[name]) else name for name in names]
        scope.parts = {name: scope.parts[name] for name in names}
        scope.links = [scope.links[k] for k in rng.permutation(len(scope.links))]

    shuffle(new)
    return Rewritten(new, {path: path for path in names_of(graph)})


def renamed(graph: Graph, rng: np.random.Generator) -> Rewritten:
    old = names_of(graph)
    words = rng.permutation(10 * len(old))[: len(old)]
    names = {path: f"n{word}" for path, word in zip(old, words, strict=True)}
    return Rewritten(rebuilt(graph, names), {path: path_of(path, names) for path in old})


def boxed(graph: Graph, rng: np.random.Generator) -> Rewritten:
    around = Graph(graph.name)
    around.parts["inside"] = graph
    return Rewritten(around, {path: f"inside.{path}" for path in names_of(graph)})


def turned(graph: Graph, rng: np.random.Generator) -> Rewritten:
    """Reverse some half arrows that do not determine the sign of a state or source: those of storages and sources with a
    junction's common variable, and of linear resistors; no signal reads the effort or flow of such a part."""
    new = rebuilt(graph)
    read = set(signals_read(new))

    def turn(scope: Graph) -> None:
        for k, link in enumerate(scope.links):
            for one, other in ((link.tail, link.head), (link.head, link.tail)):
                if _is_even(one.owner, other.owner, read) and rng.random() < 0.6:
                    scope.links[k] = Link(link.head, link.tail, link.place)
                    break
        for part in scope.parts.values():
            if isinstance(part, Graph):
                turn(part)

    turn(new)
    return Rewritten(new, {path: path for path in names_of(graph)})


def _is_even(part: object, junction: object, read: set[str]) -> bool:
    if not isinstance(part, Element) or not isinstance(junction, Element) or not isinstance(junction.law, Junction):
        return False
    if any(f"{part.name}.{kind}" in signal for signal in read for kind in ("effort", "flow", "inflow")):
        return False
    if isinstance(part.law, Resistor):
        return is_linear(part)
    kinds = ("C", "Ce", "Se") if junction.law.type == 0 else ("I", "IC", "Sf")
    return part.kind in kinds


def _is_block(part: object) -> bool:
    return isinstance(part, Element) and isinstance(part.law, SignalBlock)


def signals_read(graph: Graph) -> Iterator[str]:
    for part in graph.parts.values():
        yield from (part.reads if isinstance(part, Element) else signals_read(part))
    for automaton in graph.automata.values():
        for transition in automaton.transitions:
            yield from transition.signals
            yield from (signal for _, _, read in transition.resets for signal in read)
    yield from graph.exports.values()
    yield from graph.wires.values()


def rescaled(graph: Graph, rng: np.random.Generator) -> Rewritten:
    """Scale the state of every independent storage by a factor from 1e-12 to 1e12; signals that read the state convert it
    back."""
    same = {path: path for path in names_of(graph)}
    try:
        model = graph.freeze()
        dependent = assign_causality(model).derivative
    except ModelError:
        return Rewritten(rebuilt(graph), same)
    given = {state for a in model.automata.values() for t in a.transitions for state, _, _ in t.resets}
    given |= {name for start in model.starts for name in (*start.arguments, *start.results)}
    units: dict[str, float] = {}
    for path, element in model.elements.items():
        law = element.law
        if isinstance(law, Storage) and law.rate is None and path not in dependent and f"{path}.{law.state}" not in given:
            units[path] = float(10.0 ** rng.uniform(-12.0, 12.0))
    elsewhere = {f"{path}.{model.elements[path].law.state}": f"{_unit(path)}.value" for path in units}
    new = rebuilt(graph, elsewhere=elsewhere)

    def rescale(scope: Graph, prefix: str) -> None:
        for name, part in list(scope.parts.items()):
            if isinstance(part, Graph):
                rescale(part, f"{prefix}{name}.")
            elif f"{prefix}{name}" in units:
                scale = units[f"{prefix}{name}"]
                put(scope, part, replace(part, law=_scaled(part.law, scale)))
                scope.add(
                    Block(
                        _unit(name),
                        [("value", lambda x, s: x / s, ["x", "s"])],
                        inputs={"x": f"{name}.{part.law.state}"},
                        parameters={"s": scale},
                    )
                )

    rescale(new, "")
    return Rewritten(new, same)


def put(scope: Graph, part: Element, changed: Element) -> None:
    def end(old: PortRef) -> PortRef:
        return PortRef(changed if old.owner is part else old.owner, old.name)

    scope.parts[part.name] = changed
    scope.links = [Link(end(x.tail), end(x.head), x.place) for x in scope.links]
    scope.ports = {name: end(port) for name, port in scope.ports.items()}


def _unit(path: str) -> str:
    around, dot, name = path.rpartition(".")
    return f"{around}{dot}unit of {name}"


def _scaled(law: Storage, s: float) -> Storage:
    return replace(
        law,
        spec=replace(law.spec, initial=s * np.asarray(law.spec.initial, dtype=float)[()], nominal=None),
        rate=Op("scaled rate", lambda x, given, *others: s * given),
        output=Op("scaled output", lambda x, *others: law.output(x / s, *others)),
        energy=Op("scaled energy", lambda x, *others: law.energy(x / s, *others)),
        inverse=None,
        by_gradient=False,
    )
