"""Costs of the edges of a sketch: length, crossings, and nodes in the way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bondgraph.render.layout.parts import Copies
from bondgraph.render.sketch import Sketch


@dataclass(frozen=True)
class Prices:
    """Edges of a sketch as arrays, and the weights of their costs; faults of bonds cost more than those of signals."""

    tails: np.ndarray
    heads: np.ndarray
    length: np.ndarray
    slant: np.ndarray
    cross: np.ndarray
    forward: np.ndarray
    passing: np.ndarray
    """Cost of an edge that passes through a node."""
    loose: np.ndarray
    """True for edges that are not inside a block, in which nothing changes."""


def prices(sketch: Sketch, blocks: Sequence[Copies] = ()) -> Prices:
    """Return the costs of all edges of a sketch; parallel edges count once. Nodes inside one of the `blocks` do not move
    relative to each other."""
    bond_ends = {frozenset((edge.tail, edge.head)) for edge in sketch.edges if edge.bond is not None}
    kept: dict[frozenset[int], int] = {}
    for index, edge in enumerate(sketch.edges):
        ends = frozenset((edge.tail, edge.head))
        if len(ends) == 2 and (edge.bond is not None or ends not in bond_ends):
            kept.setdefault(ends, index)
    edges = [sketch.edges[i] for i in kept.values()]
    bond = np.array([edge.bond is not None for edge in edges], dtype=bool)
    tails, heads = np.array([(edge.tail, edge.head) for edge in edges], dtype=int).reshape(-1, 2).T
    home = np.arange(len(sketch.nodes))
    for block in blocks:
        for members in block.members:
            home[members] = -1 - members[0]
    return Prices(
        tails,
        heads,
        length=np.where(bond, 1.0, 0.35),
        slant=np.where(bond, 1.8, 0.15),
        cross=np.where(bond, 2.2, 0.8),
        forward=np.where(bond, 0.03, 0.06),
        passing=np.where(bond, 4.0, 1.6),
        loose=home[tails] != home[heads],
    )
