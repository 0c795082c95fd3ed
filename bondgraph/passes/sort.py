"""Sorting: System -> System whose statements stand in an order of evaluation, algebraic loops torn and in one piece.

In the literature: block lower triangular form (BLT).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import replace

from bondgraph.assembly.system import Loop, Statement, System, Unknown, Value
from bondgraph.model.ops import APPLY_INVERSE, SOUGHT, combine
from bondgraph.passes.tear import tear


def sort_statements(system: System) -> System:
    """Every statement after those it needs, else in the order given; algebraic loops are torn and stand together."""
    statements = system.statements
    producer = {out: index for index, statement in enumerate(statements) for out in statement.outs}
    needs = [[producer[arg] for arg in statement.args if arg in producer] for statement in statements]
    order = evaluation_order(needs)
    if order is None:
        return _with_loops(system, needs)
    return replace(system, statements=tuple(statements[index] for index in order))


def _with_loops(system: System, needs: list[list[int]]) -> System:
    """Order with every algebraic loop in one piece: first its torn statements' unknowns are given, last its residuals."""
    import networkx as nx

    graph = nx.DiGraph()
    graph.add_nodes_from(range(len(needs)))
    graph.add_edges_from((before, after) for after, befores in enumerate(needs) for before in befores)
    whole = nx.condensation(graph)
    ordered: list[Statement] = []
    values = dict(system.values)
    divisors = {s.args[0] for s in system.statements if s.op is APPLY_INVERSE}
    loops: list[Loop] = []
    for part in nx.lexicographical_topological_sort(whole, key=lambda c: min(whole.nodes[c]["members"])):
        members = sorted(whole.nodes[part]["members"])
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
                    given, rest = f"{out}:computed", f"{out}:residual"
                    values[given] = values[rest] = replace(values[out], symbol="")
                    unknowns.append(Unknown(out, rest, statement.element, "algebraic loop"))
                    # The difference itself where it is known: beside a large unknown its digits would be lost.
                    apart = statement.args[1:] if statement.op is SOUGHT else (given, out)
                    residuals.append(Statement((rest,), combine((1, -1)), apart, statement.element))
                outs = tuple(f"{out}:computed" if out in used else out for out in statement.outs)
                statement = statement._replace(outs=outs)
            ordered.append(statement)
        ordered += residuals
        loops.append(Loop(begin, len(ordered), tuple(unknowns)))
    return replace(system, statements=tuple(ordered), values=values, loops=tuple(loops))


UNWANTED = 100
"""Scalars that a value of unknown shape counts for, and one that others are divided by: the matrix of a modulated two-port, or
its scalar ratio, is better not torn. A guess for it would begin at zero."""


def _size(name: str, value: Value, divisors: Collection[str]) -> int:
    return UNWANTED if value.shape is None or name in divisors else math.prod(value.shape)


def evaluation_order(needs: Sequence[Sequence[int]]) -> list[int] | None:
    """Indices such that all that one needs comes before it (depth first); None if there is a cycle."""
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
