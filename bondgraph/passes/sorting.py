"""Sorting of statements into block lower triangular form (BLT): an order of evaluation in which each algebraic loop is one block,
solved by tearing: some of its values are taken as unknowns, so that its other values follow in order."""

from __future__ import annotations

import heapq
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from bondgraph.assembly.system import Loop, Statement, System, Unknown, Value
from bondgraph.errors import Problem, raise_if_any
from bondgraph.model.element import Element, named
from bondgraph.model.laws import Junction
from bondgraph.model.model import Model
from bondgraph.model.ops import APPLY_INVERSE, SOUGHT, combine

NODES_PER_CUT = 100
"""Size of a strongly connected component divided by the number of nodes cut (at least 1) before components are computed again."""


MAX_UNKNOWNS = 6
"""Maximum number of unknowns on which a value may depend without becoming an unknown itself: long loops then have sparse
matrices."""


def tear(loop: Sequence[int], needs: Mapping[int, Sequence[int]], size: Mapping[int, int]) -> tuple[list[int], list[int]]:
    """Return the nodes of a loop to cut, and an order of all its nodes once the results of the cut nodes are known.

    Nodes that need their own result are cut. Then, greedily, every strongly connected component that remains is cut at the node
    for which the number of predecessors times the number of successors, divided by the node's size, is largest. Finally, nodes
    whose results would depend on more than `MAX_UNKNOWNS` cut nodes are cut.

    Parameters
    ----------
    loop : nodes of one strongly connected component.
    needs : nodes whose results each node needs (nodes outside the loop are ignored).
    size : number of scalars in the result of each node.
    """
    import networkx as nx

    def parts_of(nodes: set[int]) -> list[set[int]]:
        graph = nx.from_edgelist(((n, m) for n in nodes for m in after[n] & nodes), nx.DiGraph)
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
    acyclic = nx.from_edgelist(((n, m) for n in before if n not in cut for m in after[n]), nx.DiGraph)
    acyclic.add_nodes_from(before)
    order = list(nx.lexicographical_topological_sort(acyclic))
    return sorted(cut | _too_dependent(order, before, cut, size)), order


def _cut(
    part: Collection[int], before: Mapping[int, set[int]], after: Mapping[int, set[int]], size: Mapping[int, int]
) -> set[int]:
    """Choose the best node of a component, or several nodes of a large component; after each choice, nodes that are no longer on
    a cycle are removed."""
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
            heapq.heappush(heap, (-score(node), node))  # its score has fallen since it was pushed
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


def sort_statements(system: System) -> System:
    statements = system.statements
    producer = {out: index for index, statement in enumerate(statements) for out in statement.outs}
    needs = [[producer[arg] for arg in statement.args if arg in producer] for statement in statements]
    order = evaluation_order(needs)
    if order is None:
        return _with_loops(system, needs)
    return replace(system, statements=tuple(statements[index] for index in order))


def _with_loops(system: System, needs: list[list[int]]) -> System:
    import networkx as nx

    graph = nx.DiGraph()
    graph.add_nodes_from(range(len(needs)))
    graph.add_edges_from((before, after) for after, befores in enumerate(needs) for before in befores)
    condensation = nx.condensation(graph)
    ordered: list[Statement] = []
    values = dict(system.values)
    divisors = {s.args[0] for s in system.statements if s.op is APPLY_INVERSE}
    loops: list[Loop] = []
    for part in nx.lexicographical_topological_sort(condensation, key=lambda c: min(condensation.nodes[c]["members"])):
        members = sorted(condensation.nodes[part]["members"])
        if len(members) == 1 and not graph.has_edge(members[0], members[0]):
            ordered.append(system.statements[members[0]])
            continue
        size = {n: sum(_size(out, values[out], divisors) for out in system.statements[n].outs) for n in members}
        cut, order = tear(members, dict(enumerate(needs)), size)
        begin, unknowns, residuals = len(ordered), [], []
        used = {arg for n in members for arg in system.statements[n].args}
        for n in order:
            statement = system.statements[n]
            if n in cut:
                for out in statement.outs:
                    if out not in used:
                        continue
                    computed, residual = f"{out}:computed", f"{out}:residual"
                    values[computed] = values[residual] = replace(values[out], symbol="")
                    unknowns.append(Unknown(out, residual, statement.element, "algebraic loop"))
                    # take the difference itself if the statement has it: a large unknown would swallow its digits
                    terms = statement.args[1:] if statement.op is SOUGHT else (computed, out)
                    residuals.append(Statement((residual,), combine((1, -1)), terms, statement.element))
                outs = tuple(f"{out}:computed" if out in used else out for out in statement.outs)
                statement = statement._replace(outs=outs)
            ordered.append(statement)
        ordered += residuals
        loops.append(Loop(begin, len(ordered), tuple(unknowns)))
    return replace(system, statements=tuple(ordered), values=values, loops=tuple(loops))


AVOIDED_SIZE = 100
"""Size assumed for a value of unknown shape and for a divisor: the matrix or ratio of a modulated two-port is a bad tearing
variable, because its guess would start at zero."""


def _size(name: str, value: Value, divisors: Collection[str]) -> int:
    return AVOIDED_SIZE if value.shape is None or name in divisors else math.prod(value.shape)


def evaluation_order(needs: Sequence[Sequence[int]]) -> list[int] | None:
    """Return indices in topological order (depth first), or None if there is a cycle."""
    new, begun, done = 0, 1, 2
    state = [new] * len(needs)
    order: list[int] = []
    for start in range(len(needs)):
        stack = [start]
        while stack:
            index = stack[-1]
            if state[index] != new:
                stack.pop()
                if state[index] == begun:
                    state[index] = done
                    order.append(index)
                continue
            state[index] = begun
            for before in reversed(needs[index]):
                if state[before] == begun:
                    return None
                if state[before] == new:
                    stack.append(before)
    return order


def refuse_undefined_values(system: System, model: Model) -> System:
    """Return the system unchanged if every value is defined.

    Raises `ModelError`: E206 if a ring of junctions passes a value around and nothing else sets it, E173 if no statement computes
    it.
    """
    defined = {"time", *(s.name for s in system.states), *system.parameters, *system.modes}
    defined |= {u.value for u in system.unknowns} | {out for s in system.statements for out in s.outs}
    undefined = dict.fromkeys(arg for s in system.statements for arg in s.args if arg not in defined)
    problems = []
    for name in undefined:
        shared = {n for n, root in system.aliases.items() if root == name} | {name}
        bonds = [b for b in model.bonds if {f"{b.name}:effort", f"{b.name}:flow"} & shared]
        paths = [end.element for b in bonds for end in b.ends if isinstance(model.elements[end.element].law, Junction)]
        junctions = [e for e in model.elements_at(paths) if paths.count(e.name) > 1]
        if not junctions:
            problems.append(_no_statement(name, model.elements_at([end.element for b in bonds for end in b.ends])))
            continue
        title = "algebraic loop without a unique solution"
        details = (f"a ring of junctions passes one value around, and nothing sets it: {named(junctions)}",)
        cures = ("one bond instead of two between like junctions, or a C, I or R in the ring",)
        problems.append(Problem("E206", title, details, tuple(e.place for e in junctions[:12]), cures))
    raise_if_any(model.name, problems)
    return system


def _no_statement(name: str, neighbours: Sequence[Element]) -> Problem:
    laws = dict.fromkeys(type(e.law).__name__ for e in neighbours)
    details = (f"at: {named(neighbours) or 'no bond'}, with laws {', '.join(laws) or 'of signals'}",)
    cures = ("a statement that computes this value, in the function that writes the statements of your own law",)
    return Problem("E173", f'no statement computes the value "{name}"', details, tuple(e.place for e in neighbours), cures)
