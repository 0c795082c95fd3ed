"""Tearing: which values of an algebraic loop to take as unknown, so that the rest of it can be evaluated in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def tear(
    loop: Sequence[int], needs: Mapping[int, Sequence[int]], size: Mapping[int, int]
) -> tuple[list[int], list[int]]:
    """Nodes of a loop to cut, and an order of all its nodes once the cut nodes' results are known.

    Greedy: of every remaining cycle's strongly connected part, the node is cut whose result most others need and which
    needs most others, for its size.

    Parameters
    ----------
    loop : nodes of one strongly connected part.
    needs : node -> nodes whose results it needs (others than those of the loop are passed over).
    size : node -> count of scalars in its result.
    """
    import networkx as nx

    members = set(loop)
    graph = nx.DiGraph()
    graph.add_nodes_from(sorted(members))
    graph.add_edges_from((before, node) for node in loop for before in needs[node] if before in members)
    cut: list[int] = []
    parts = [set(graph.nodes)]
    while parts:
        part = parts.pop()
        inner = graph.subgraph(part)
        if len(part) == 1 and not inner.number_of_edges():
            continue
        node = max(sorted(part), key=lambda n: inner.in_degree(n) * inner.out_degree(n) / size[n])
        cut.append(node)
        graph.remove_edges_from(list(graph.out_edges(node)))
        parts += [set(c) for c in nx.strongly_connected_components(graph.subgraph(part))]
    return sorted(cut), list(nx.lexicographical_topological_sort(graph))
