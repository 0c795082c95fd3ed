"""Ideal elements in nonlinear algebraic loops: their unknown efforts and flows join the loops that they close.

In each mode an ideal element gives one equation between efforts and flows. If no mode needs the time derivative of its
vanishing quantity, its unknown belongs to an algebraic loop, and the Newton iteration of the loop solves for it
in every mode.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from bondgraph.assembly.stages import stages_of
from bondgraph.assembly.system import Loop, Statement, System
from bondgraph.model.ops import TIME_DERIVATIVE, zeros


def with_elements_in_loops(system: System, elements: Collection[str]) -> System | None:
    """Return a sorted system in which the unknowns of ideal elements are unknowns of algebraic loops, or None if one of these
    loops needs time derivatives of other values.

    The vanishing quantities of the elements are not differentiated. Loops that depend on these unknowns and act on their
    residuals are merged with them into one loop, and lose their guesses.
    """
    import networkx as nx

    blocks = _blocks(system, elements)
    producer = {out: k for k, (statements, _) in enumerate(blocks) for s in statements for out in s.outs}
    joining = [u for u in system.unknowns if u.element in elements]
    residual_of = {u.value: producer[u.residual] for u in joining}
    producer |= {u.value: k for k, (_, loop) in enumerate(blocks) if loop is not None for u in loop.unknowns}
    graph = nx.DiGraph()
    graph.add_nodes_from(range(len(blocks)))
    for k, (statements, _) in enumerate(blocks):
        before = (residual_of.get(arg, producer.get(arg, k)) for s in statements for arg in s.args)
        graph.add_edges_from((other, k) for other in before if other != k)
    parts = nx.condensation(graph)
    ordered, loops, lost = list[Statement](), list[Loop](), set[str]()
    for part in nx.lexicographical_topological_sort(parts, key=lambda c: min(parts.nodes[c]["members"])):
        members = sorted(parts.nodes[part]["members"])
        inner = [loop for k in members if (loop := blocks[k][1]) is not None]
        closing = tuple(u for u in joining if residual_of[u.value] in members)
        start = len(ordered)
        ordered += (statement for k in members for statement in blocks[k][0])
        if closing:
            lost |= {name for loop in inner for name in loop.guesses}
            inner = [Loop(start, len(ordered), (*(u for loop in inner for u in loop.unknowns), *closing))]
        loops += [replace(loop, start=start, stop=len(ordered)) for loop in inner]
    joined = replace(
        system,
        statements=tuple(ordered),
        states=tuple(state for state in system.states if state.name not in lost),
        unknowns=tuple(u for u in system.unknowns if u not in joining),
        loops=tuple(loops),
    )
    late = stages_of(joined).late
    return None if any(loop.start <= index < loop.stop for loop in loops for index in late) else joined


def _blocks(system: System, elements: Collection[str]) -> list[tuple[tuple[Statement, ...], Loop | None]]:
    statements = [
        s._replace(op=zeros(system.values[s.outs[0]].shape or ()), args=())
        if s.op is TIME_DERIVATIVE and s.element in elements
        else s
        for s in system.statements
    ]
    starts, blocks, k = {loop.start: loop for loop in system.loops}, list[tuple[tuple[Statement, ...], Loop | None]](), 0
    while k < len(statements):
        loop = starts.get(k)
        stop = k + 1 if loop is None else loop.stop
        blocks.append((tuple(statements[k:stop]), loop))
        k = stop
    return blocks
