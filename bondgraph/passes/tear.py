"""Tearing: which values of an algebraic loop to take as unknown, so that the rest of it can be evaluated in order."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Mapping, Sequence

AT_ONCE = 100
"""Of so many nodes that hang together one is cut before it is looked anew at what still does."""

FEW = 6
"""Unknowns that a value may depend on, or it becomes an unknown itself: a long loop then has a sparse matrix."""


def tear(loop: Sequence[int], needs: Mapping[int, Sequence[int]], size: Mapping[int, int]) -> tuple[list[int], list[int]]:
    """Nodes of a loop to cut, and an order of all its nodes once the cut nodes' results are known.

    Nodes that need their own result are cut. Then, greedily: of every remaining cycle's strongly connected part, the node is
    cut whose result most others need and which needs most others, for its size. Where results of the rest would depend on
    more than a few cut nodes, more are cut.

    Parameters
    ----------
    loop : nodes of one strongly connected part.
    needs : node -> nodes whose results it needs (others than those of the loop are passed over).
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
        cut |= (found := _cut(part, before, after, size))
        parts += parts_of(part - found)
    kept = nx.DiGraph((n, m) for n in before if n not in cut for m in after[n])
    kept.add_nodes_from(before)
    order = list(nx.lexicographical_topological_sort(kept))
    return sorted(cut | _too_dependent(order, before, cut, size)), order


def _cut(
    part: Collection[int], before: Mapping[int, set[int]], after: Mapping[int, set[int]], size: Mapping[int, int]
) -> set[int]:
    """The best node of a part, or of a large part some, each found after what no longer is on a cycle has been left out."""
    alive = set(part)
    entering = {n: len(before[n] & alive) for n in alive}
    leaving = {n: len(after[n] & alive) for n in alive}

    def worth(node: int) -> float:
        return entering[node] * leaving[node] / size[node]

    best, found = [(-worth(n), n) for n in alive], set[int]()
    heapq.heapify(best)
    while best and len(found) < max(1, len(part) // AT_ONCE):
        value, node = heapq.heappop(best)
        if node not in alive:
            continue
        if value != -worth(node):
            heapq.heappush(best, (-worth(node), node))  # it has fallen meanwhile
            continue
        found.add(node)
        gone = [node]
        while gone:
            left = gone.pop()
            if left not in alive:
                continue
            alive.discard(left)
            for counts, others in ((entering, after[left]), (leaving, before[left])):
                for other in others & alive:
                    counts[other] -= 1
                    if not counts[other]:
                        gone.append(other)
    return found


def _too_dependent(
    order: Sequence[int], before: Mapping[int, set[int]], cut: Collection[int], size: Mapping[int, int]
) -> set[int]:
    """Nodes to cut besides, so that no result depends on many that are cut; in small loops none."""
    if len(cut) <= 2 * FEW:
        return set()
    more: set[int] = set()
    roots: dict[int, frozenset[int]] = {}
    for node in order:
        found = frozenset[int]().union(*(roots.get(n, frozenset((n,))) for n in before[node]))
        if node in cut or (len(found) > FEW and size[node] == 1):
            more |= set() if node in cut else {node}
            found = frozenset((node,))
        roots[node] = found
    return more
