"""Bodies with shapes in -> a graph that knows that they may touch, anywhere: data for steps of time, no parts and no states."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from screwbond.models.bodies import Body

from bondgraph import Graph
from bondgraph.errors import refusal
from bondgraph.model import laws
from bondgraph.model.element import Element
from bondgraph.model.model import Collider, CollisionSet
from screws.numeric_arguments import real, shown

__all__ = ["collisions"]

MOST = 64
"""Candidates, where nobody says how many there may be."""


def collisions(
    graph: Graph,
    bodies: Sequence[Body],
    *,
    friction: float = 0.0,
    restitution: float = 0.0,
    most: int = MOST,
    pairs: Iterable[tuple[Body, Body]] | None = None,
    apart: Iterable[tuple[Body, Body]] = (),
) -> Graph:
    """Let bodies with shapes touch wherever they meet, in steps of time (`bondgraph.stepping.free_bodies`,
    `bondgraph.stepping`). A graph may have several such sets.

    Parameters
    ----------
    graph : holds the bodies, or gets those that it does not hold yet.
    bodies : made with `shape=`.
    friction : coefficient of Coulomb's cone, of all pairs.
    restitution : how much of the velocity of approach comes back, 0 to 1.
    most : largest number of candidates; more end a run (E514).
    pairs : those that may touch, in place of all.
    apart : those that may not; bodies that a constraint of the graph connects, such as a joint, need not be named.

    Raises `ModelError` E545 for what has no shape, E546 for numbers that cannot be, E547 for pairs of other bodies.
    """
    number: dict[str, int] = {}
    shapes = []
    if not isinstance(bodies, (list, tuple)):
        title = f"the bodies of collisions are no list: {_told(bodies)}"
        raise refusal("E545", title, "collisions(graph, [floor, box])", about=graph.name)
    for body in bodies:
        if not isinstance(body, Body) or not body.shapes:
            title = f"{_told(body)} has no shape to collide with"
            raise refusal("E545", title, "rigid_body(..., shape=Ball(0.1))", about=graph.name)
        if body.name in number:
            raise refusal("E545", f"{_told(body)} is named twice", "each body once, under a name of its own", about=graph.name)
        number[body.name] = len(number)
        shapes += [(number[body.name], solid) for solid in body.shapes]
        graph.add(body)
    mu, e = real(friction), real(restitution)
    if not 0.0 <= mu < float("inf"):
        raise refusal("E546", f"friction of collisions is {shown(friction)}", "a number of zero or more", about=graph.name)
    if not 0.0 <= e <= 1.0:
        raise refusal("E546", f"restitution of collisions is {shown(restitution)}", "a number from 0 to 1", about=graph.name)
    if isinstance(most, bool) or not isinstance(most, (int, np.integer)) or most < 1:
        raise refusal(
            "E546", f"collisions can have {shown(most)} candidates", "a whole number above zero: most=256", about=graph.name
        )
    colliders = tuple(_collider(body) for body in bodies)
    only = None if pairs is None else _pairs(graph, pairs, number)
    not_looked_at = (*_pairs(graph, apart, number), *_connected(graph, number))
    return graph.mark_collisions(CollisionSet(colliders, tuple(shapes), mu, e, int(most), not_looked_at, only))


def _collider(body: Body) -> Collider:
    momentum = None if body.momentum is None else f"{body.name}.{body.momentum}"
    return Collider(body.name, f"{body.name}.pose", f"{body.name}.world twist.flow", momentum, body.fixed)


def _pairs(graph: Graph, pairs: Any, number: dict[str, int]) -> tuple[tuple[int, int], ...]:
    if not isinstance(pairs, Iterable) or isinstance(pairs, str):
        title = f"{_told(pairs)} is no list of pairs of bodies"
        raise refusal("E547", title, "two of the bodies: pairs=[(box, floor)]", about=graph.name)
    return tuple(_pair(graph, pair, number) for pair in pairs)


def _pair(graph: Graph, pair: Any, number: dict[str, int]) -> tuple[int, int]:
    both = list(pair) if isinstance(pair, (tuple, list)) else [pair]
    names = [body.name for body in both if isinstance(body, Body) and body.name in number]
    if len(both) != 2 or len(set(names)) != 2:
        title = f"{' and '.join(_told(body) for body in both)}: no pair of the bodies that may collide"
        raise refusal("E547", title, "two of the bodies: pairs=[(box, floor)]", about=graph.name)
    return number[names[0]], number[names[1]]


def _told(given: Any) -> str:
    """A body by its name, anything else as it is written."""
    return f'"{given.name}"' if isinstance(given, Body) else shown(given)


def _connected(graph: Graph, number: dict[str, int]) -> list[tuple[int, int]]:
    """Pairs of bodies with a part between them that holds a constraint."""
    found = []
    for name, part in graph.parts.items():
        if name in number or not isinstance(part, Graph):
            continue
        if not any(isinstance(own, Element) and isinstance(own.law, laws.IdealConstraint) for own in part.parts.values()):
            continue
        ends = [{_owner(graph, link.tail), _owner(graph, link.head)} for link in graph.links]
        held = sorted({number[end] for both in ends if name in both for end in both if end in number})
        found += [(i, j) for i in held for j in held if i < j]
    return found


def _owner(graph: Graph, port: Any) -> str:
    """Name of the part of a graph that a port belongs to."""
    return next((name for name, part in graph.parts.items() if part is port.owner), "")
