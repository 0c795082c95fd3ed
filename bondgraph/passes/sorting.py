"""Sort the statements of a system into block lower triangular form (BLT): an order of evaluation, each algebraic loop torn and in
one piece."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import replace

from bondgraph.assembly.system import Loop, Statement, System, Unknown, Value
from bondgraph.errors import Problem, raise_if_any
from bondgraph.model.element import Element, named
from bondgraph.model.laws import Junction
from bondgraph.model.model import Model
from bondgraph.model.ops import APPLY_INVERSE, SOUGHT, combine
from bondgraph.passes.tearing import tear


def sort_statements(system: System) -> System:
    """Sort the statements topologically, else keep their order; tear each algebraic loop and keep it together."""
    statements = system.statements
    producer = {out: index for index, statement in enumerate(statements) for out in statement.outs}
    needs = [[producer[arg] for arg in statement.args if arg in producer] for statement in statements]
    order = evaluation_order(needs)
    if order is None:
        return _with_loops(system, needs)
    return replace(system, statements=tuple(statements[index] for index in order))


def _with_loops(system: System, needs: list[list[int]]) -> System:
    """Sort a system with algebraic loops; each loop is one block of statements that starts from its unknowns and ends with its
    residuals."""
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
                    # Take the difference itself if the statement has it: a large unknown would swallow its digits.
                    terms = statement.args[1:] if statement.op is SOUGHT else (computed, out)
                    residuals.append(Statement((residual,), combine((1, -1)), terms, statement.element))
                outs = tuple(f"{out}:computed" if out in used else out for out in statement.outs)
                statement = statement._replace(outs=outs)
            ordered.append(statement)
        ordered += residuals
        loops.append(Loop(begin, len(ordered), tuple(unknowns)))
    return replace(system, statements=tuple(ordered), values=values, loops=tuple(loops))


AVOIDED_SIZE = 100
"""Size that counts for a value of unknown shape and for a divisor: the matrix of a modulated two-port, or its scalar ratio, is a
bad tearing variable, because its guess would begin at zero."""


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

    Raises `ModelError`: E206 a ring of junctions passes a value round and nothing else decides it, E173 no statement gives it.
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
        details = (f"a ring of junctions passes one value round, and nothing in it decides it: {named(junctions)}",)
        cures = ("one bond in place of two between like junctions, or a C, I or R in the ring",)
        problems.append(Problem("E206", title, details, tuple(e.place for e in junctions[:12]), cures))
    raise_if_any(model.name, problems)
    return system


def _no_statement(name: str, neighbours: Sequence[Element]) -> Problem:
    laws = dict.fromkeys(type(e.law).__name__ for e in neighbours)
    details = (f"at: {named(neighbours) or 'no bond'}, of the laws {', '.join(laws) or 'of signals'}",)
    cures = ("in the function that writes the statements of a law of your own, one that gives it",)
    return Problem("E173", f'nothing gives the value "{name}"', details, tuple(e.place for e in neighbours), cures)
