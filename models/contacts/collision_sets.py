"""Collision sets: bodies of a graph that may touch anywhere, for collision detection in time stepping."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from screwbond.models.bodies import Body

from bondgraph import Graph
from bondgraph.errors import refusal
from bondgraph.model import laws
from bondgraph.model.arguments import in_units
from bondgraph.model.element import Element
from bondgraph.model.model import Collider, CollisionSet
from screws.names import answer_old_names
from screws.numeric_arguments import real, shown

MAX_CANDIDATES = 64


@in_units(friction="1", restitution="1", rolling_friction="m", spinning_friction="m")
@answer_old_names
def collisions(
    graph: Graph,
    bodies: Sequence[Body],
    *,
    friction: float = 0.0,
    restitution: float = 0.0,
    rolling_friction: float = 0.0,
    spinning_friction: float = 0.0,
    max_contacts: int = MAX_CANDIDATES,
    pairs: Iterable[tuple[Body, Body]] | None = None,
    exclude: Iterable[tuple[Body, Body]] = (),
) -> Graph:
    """Let bodies with shapes collide, in time stepping (`bondgraph.stepping`); return the graph, which may have several such
    sets of bodies.

    Parameters
    ----------
    graph : graph of the bodies; bodies that it lacks are added.
    bodies : bodies made with `shape=`.
    friction : coefficient of Coulomb's cone, for all pairs.
    restitution : ratio of separation to approach velocity, 0 to 1.
    rolling_friction : length, m: a contact resists rolling by a torque of at most this length times its normal force.
    spinning_friction : the same for spin about the normal (torsional friction).
    max_contacts : largest number of candidate contacts; a run that exceeds it stops (E514).
    pairs : pairs that may touch, instead of all pairs.
    exclude : pairs that may not touch; bodies that a constraint of the graph connects, such as a joint, are excluded anyway.

    Raises `ModelError` E545 for a body without a shape or listed twice, E546 for invalid parameters, E547 for anything but
    pairs of these bodies.
    """
    index: dict[str, int] = {}
    shapes = []
    if not isinstance(bodies, (list, tuple)):
        title = f"the bodies of collisions are not a list: {_describe(bodies)}"
        raise refusal("E545", title, "collisions(graph, [floor, box])", about=graph.name)
    for body in bodies:
        if not isinstance(body, Body) or not body.shapes:
            title = f"{_describe(body)} has no shape to collide with"
            raise refusal("E545", title, "rigid_body(..., shape=Ball(0.1))", about=graph.name)
        if body.name in index:
            raise refusal("E545", f"{_describe(body)} is named twice", "each body once, with its own name", about=graph.name)
        index[body.name] = len(index)
        shapes += [(index[body.name], solid) for solid in body.shapes]
        graph.add(body)
    mu, e = real(friction), real(restitution)
    if not 0.0 <= mu < float("inf"):
        raise refusal("E546", f"friction of collisions is {shown(friction)}", "a non-negative number", about=graph.name)
    if not 0.0 <= e <= 1.0:
        raise refusal("E546", f"restitution of collisions is {shown(restitution)}", "a number from 0 to 1", about=graph.name)
    lengths = {"rolling_friction": rolling_friction, "spinning_friction": spinning_friction}
    for word, length in lengths.items():
        if not 0.0 <= real(length) < float("inf"):
            title = f"{word} of collisions is {shown(length)}"
            raise refusal("E546", title, f"a non-negative length in m: {word}=1e-3", about=graph.name)
    if isinstance(max_contacts, bool) or not isinstance(max_contacts, (int, np.integer)) or max_contacts < 1:
        raise refusal(
            "E546",
            f"max_contacts of collisions is {shown(max_contacts)}",
            "a positive integer: max_contacts=256",
            about=graph.name,
        )
    colliders = tuple(_collider(body) for body in bodies)
    only = None if pairs is None else _pairs(graph, pairs, index)
    excluded = (*_pairs(graph, exclude, index), *_connected(graph, index))
    resistance = {word: real(length) for word, length in lengths.items()}
    return graph.mark_collisions(CollisionSet(colliders, tuple(shapes), mu, e, int(max_contacts), excluded, only, **resistance))


def _collider(body: Body) -> Collider:
    momentum = None if body.momentum is None else f"{body.name}.{body.momentum}"
    return Collider(body.name, f"{body.name}.pose", f"{body.name}.world twist.flow", momentum, body.fixed)


def _pairs(graph: Graph, pairs: Any, index: dict[str, int]) -> tuple[tuple[int, int], ...]:
    if not isinstance(pairs, Iterable) or isinstance(pairs, str):
        title = f"{_describe(pairs)} is not a list of pairs of bodies"
        raise refusal("E547", title, "a list of pairs: pairs=[(box, floor)]", about=graph.name)
    return tuple(_pair(graph, pair, index) for pair in pairs)


def _pair(graph: Graph, pair: Any, index: dict[str, int]) -> tuple[int, int]:
    entries = list(pair) if isinstance(pair, (tuple, list)) else [pair]
    names = [body.name for body in entries if isinstance(body, Body) and body.name in index]
    if len(entries) != 2 or len(set(names)) != 2:
        title = f"{' and '.join(_describe(body) for body in entries)}: not a pair of bodies that may collide"
        raise refusal("E547", title, "two of the bodies: pairs=[(box, floor)]", about=graph.name)
    return index[names[0]], index[names[1]]


def _describe(value: Any) -> str:
    return f'"{value.name}"' if isinstance(value, Body) else shown(value)


def _connected(graph: Graph, index: dict[str, int]) -> list[tuple[int, int]]:
    connected = []
    for name, part in graph.parts.items():
        if name in index or not isinstance(part, Graph):
            continue
        if not any(
            isinstance(element, Element) and isinstance(element.law, laws.IdealConstraint) for element in part.parts.values()
        ):
            continue
        ends = [{_owner(graph, link.tail), _owner(graph, link.head)} for link in graph.links]
        indices = sorted({index[end] for both in ends if name in both for end in both if end in index})
        connected += [(i, j) for i in indices for j in indices if i < j]
    return connected


def _owner(graph: Graph, port: Any) -> str:
    return next((name for name, part in graph.parts.items() if part is port.owner), "")
