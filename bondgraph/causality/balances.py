"""Nodes without storage: a 0-junction whose effort no element sets takes the effort at which its flows balance.

Elements whose input is an effort and whose output is a flow, and matrices that work in one direction, can meet at a node where
nothing sets the effort: two heat transfers, a source of current and a motor. Such a node gets an ideal constraint, whose effort
makes the sum of the flows zero.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from bondgraph.causality.assign import Causality, assign_causality, demands_of
from bondgraph.causality.strokes import Clash, Strokes
from bondgraph.elements.one_ports import Constraint
from bondgraph.errors import ModelError
from bondgraph.model.domains import THERMAL
from bondgraph.model.laws import CausalityPreference, Junction, Source
from bondgraph.model.model import Bond, End, Model

TEMPERATURE_GUESS = 300.0
"""Initial guess for a temperature, K, far from the negative solutions that a radiation balance also has."""


def with_balances(model: Model) -> tuple[Model, Causality]:
    """Return the model with a constraint at each node whose effort no element sets, and its causality.

    Raises `ModelError` E203 or E154 of the given model if it has no causality with such constraints either.
    """
    try:
        return model, assign_causality(model)
    except ModelError as refused:
        extended, node = model, _node_in_balance(model)
        while node is not None:
            extended = _with_balance(extended, node)
            node = _node_in_balance(extended)
        if extended is model:
            raise
        try:
            return extended, assign_causality(extended)
        except ModelError:
            raise refused from None


def _with_balance(model: Model, node: str) -> Model:
    at, path = model.bonds_at(node)[0], f"{node} balance"
    element = Constraint(path.rpartition(".")[2], holds="velocity", domain=at.domain, dimension=at.dimension)
    guess = {"effort": TEMPERATURE_GUESS} if at.domain is THERMAL else {}
    element = replace(element, place=model.elements[node].place, guess=guess)
    name = f"{node}->{path}"
    bond = Bond(name, End(node, name), End(path, element.ports[0].name), at.dimension, at.domain, at.frame, at.place)
    return replace(model, elements={**model.elements, path: element}, bonds=(*model.bonds, bond))


def _node_in_balance(model: Model) -> str | None:
    """Return a 0-junction whose effort no element sets, near the first conflict of causalities; None without a conflict, or
    for a conflict of sources alone."""
    strokes, requests = Strokes(model, model.bonds_by_port), demands_of(model)[CausalityPreference.MUST]
    one_way = {path for path, _, _ in requests if not isinstance(model.elements[path].law, Source)}
    for path, bond, into_element in requests:
        try:
            strokes.assign(strokes.index[bond.name], into_element == (bond.head.element == path), path)
        except Clash as clash:
            chain = [*_chain(strokes, clash)]
            paths = {path, *(each for each, _ in chain), *(each for each in clash.groups if isinstance(each, str))}
            nodes = (each for each, weak in chain if len(weak) + 1 >= len(model.bonds_at(each)) and _may_balance(model, each))
            return next(nodes, None) if paths & one_way else None
    return None


def _may_balance(model: Model, path: str) -> bool:
    law = model.elements[path].law
    return isinstance(law, Junction) and law.type == 0 and law.automaton is None and f"{path} balance" not in model.elements


def _chain(strokes: Strokes, clash: Clash) -> Iterator[tuple[str, Sequence[int]]]:
    """Yield the causes of conflicting strokes, the nearest first: an element, and the bonds whose strokes propagate through
    it."""
    groups = [group for group in clash.groups if not isinstance(group, str)]
    waiting, seen = [clash.bond, *(bond for group in groups for bond in group)], set[int]()
    if clash.node is not None and clash.case == "none":
        yield clash.node.path, waiting[1:]
    if clash.new is not None:
        yield clash.new.by, clash.new.bonds
        waiting += clash.new.bonds
    while waiting:
        bond = waiting.pop(0)
        cause = strokes.causes[bond]
        if bond not in seen and cause is not None:
            yield cause.by, cause.bonds
            waiting += cause.bonds
        seen.add(bond)
