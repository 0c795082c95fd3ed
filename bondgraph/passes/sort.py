"""Sorting: System -> System whose statements stand in an order of evaluation; names algebraic loops."""

from __future__ import annotations

from dataclasses import replace

from bondgraph.equations.system import System
from bondgraph.errors import ModelError, Problem
from bondgraph.graph.laws import Junction
from bondgraph.graph.model import Model


def sort_statements(system: System, model: Model) -> System:
    """Every statement after those it needs, else in the order given. Raises `ModelError` E205 for every algebraic loop."""
    statements = system.statements
    producer = {out: index for index, statement in enumerate(statements) for out in statement.outs}
    needs = [[producer[arg] for arg in statement.args if arg in producer] for statement in statements]
    order = _order(needs)
    if order is None:
        raise ModelError(system.name, [_problem(loop, system, model) for loop in _loops(needs)])
    return replace(system, statements=tuple(statements[index] for index in order))


def _order(needs: list[list[int]]) -> list[int] | None:
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


def _loops(needs: list[list[int]]) -> list[list[int]]:
    """Statements of each algebraic loop, along one shortest cycle first, then the others."""
    import networkx as nx

    graph = nx.DiGraph((before, after) for after, befores in enumerate(needs) for before in befores)
    loops = []
    for part in nx.strongly_connected_components(graph):
        start = min(part)
        if len(part) > 1 or graph.has_edge(start, start):
            cycle = [edge[0] for edge in nx.find_cycle(graph.subgraph(part), start)]
            loops.append(cycle + sorted(part - set(cycle)))
    return sorted(loops, key=min)


def _problem(loop: list[int], system: System, model: Model) -> Problem:
    """The loop by the elements whose relations close it; junctions only pass values on and are named where nothing else is."""
    paths = dict.fromkeys(system.statements[index].element for index in loop)
    elements = [model.elements[path] for path in paths if path in model.elements]
    named = [e for e in elements if not isinstance(e.law, Junction)] or elements
    shown = [f'{e.kind} "{e.name}"' for e in named[:12]] + ([f"{len(named) - 12} more"] if len(named) > 12 else [])
    junctions = [f'"{e.name}"' for e in elements if isinstance(e.law, Junction)]
    details = [f"what each of these gives depends on what it gets in return: {', '.join(shown)}"]
    if junctions and named is not elements:
        details.append(f"joined at {', '.join(junctions[:8])}" + (" ..." if len(junctions) > 8 else ""))
    cure = "a small storage (C or I) in the loop, which decides what now depends on itself"
    if all(e.kind == "block" for e in named):
        cure = "a state in one of the blocks, or equations that do not need each other's result"
    return Problem("E205", "algebraic loop", tuple(details), tuple(e.place for e in named[:12]), (cure,))
