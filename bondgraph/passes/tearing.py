"""Tearing: choose the values of an algebraic loop to take as unknowns, so that its other values follow in order."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Mapping, Sequence

NODES_PER_CUT = 100
"""Nodes of a strongly connected component for each one that is cut before its components are determined again."""


MAX_UNKNOWNS = 6
"""Unknowns that a value may depend on before it becomes an unknown itself: a long loop then has a sparse matrix."""


def tear(loop: Sequence[int], needs: Mapping[int, Sequence[int]], size: Mapping[int, int]) -> tuple[list[int], list[int]]:
    """Return the nodes of a loop to cut, and an order of all its nodes once the results of the cut nodes are known.

    Nodes that need their own result are cut. Then, greedily, in every strongly connected component that remains: the node with
    the most predecessors times successors for its size. Further nodes are cut whose results would depend on more than
    `MAX_UNKNOWNS` cut nodes.

    Parameters
    ----------
    loop : nodes of one strongly connected part.
    needs : node -> nodes whose results it needs (nodes outside the loop are ignored).
    size : node -> count of scalars in its result.
    """
    import networkx as nx

    def parts_of(nodes: set[int]) -> list[set[int]]:
        graph = nx.DiGraph((n, m) for n in nodes for m in after[n] & nodes)
        return [set(c) for c in nx.strongly_connected_components(graph)]

    before: dict[int, set[int]] = {n: set() for n in sorted(loop)}
    after: dict[int, set[int]] = {n: set() for n in before}
    for node in before:
        for other in needs[node]:
            if other in before:
                before[node].add(other)
                after[other].add(node)
    cut = {node for node in before if node in before[node]}
    parts = parts_of(set(before) - cut)
    while parts:
        part = parts.pop()
        if len(part) == 1 and not after[next(iter(part))] & part:
            continue
        cut |= (chosen := _cut(part, before, after, size))
        parts += parts_of(part - chosen)
    acyclic = nx.DiGraph((n, m) for n in before if n not in cut for m in after[n])
    acyclic.add_nodes_from(before)
    order = list(nx.lexicographical_topological_sort(acyclic))
    return sorted(cut | _too_dependent(order, before, cut, size)), order


def _cut(
    part: Collection[int], before: Mapping[int, set[int]], after: Mapping[int, set[int]], size: Mapping[int, int]
) -> set[int]:
    """Choose the best node of a component, or several of a large one; nodes that are no longer on a cycle are removed in
    between."""
    alive = set(part)
    entering = {n: len(before[n] & alive) for n in alive}
    leaving = {n: len(after[n] & alive) for n in alive}

    def score(node: int) -> float:
        return entering[node] * leaving[node] / size[node]

    heap, chosen = [(-score(n), n) for n in alive], set[int]()
    heapq.heapify(heap)
    while heap and len(chosen) < max(1, len(part) // NODES_PER_CUT):
        value, node = heapq.heappop(heap)
        if node not in alive:
            continue
        if value != -score(node):
            heapq.heappush(heap, (-score(node), node))  # its score has fallen since
            continue
        chosen.add(node)
        pending = [node]
        while pending:
            removed = pending.pop()
            if removed not in alive:
                continue
            alive.discard(removed)
            for counts, others in ((entering, after[removed]), (leaving, before[removed])):
                for other in others & alive:
                    counts[other] -= 1
                    if not counts[other]:
                        pending.append(other)
    return chosen


def _too_dependent(
    order: Sequence[int], before: Mapping[int, set[int]], cut: Collection[int], size: Mapping[int, int]
) -> set[int]:
    """Return further nodes to cut, so that no result depends on more than `MAX_UNKNOWNS` cut nodes; none in small loops."""
    if len(cut) <= 2 * MAX_UNKNOWNS:
        return set()
    extra: set[int] = set()
    roots: dict[int, frozenset[int]] = {}
    for node in order:
        unknowns = frozenset[int]().union(*(roots.get(n, frozenset((n,))) for n in before[node]))
        if node in cut or (len(unknowns) > MAX_UNKNOWNS and size[node] == 1):
            extra |= set() if node in cut else {node}
            unknowns = frozenset((node,))
        roots[node] = unknowns
    return extra
