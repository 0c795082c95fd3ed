"""Search for strong components and ears of a coupling graph in machine code.

A `CouplingStructure` depends on the positions of the nonzero entries of a Jacobian, not on their values; a program caches its
structures. Independent contacts that open and close have too many combinations to prepare, so machine code searches during a
run.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Annotated, Any

import numpy as np

from bondgraph.emit.cached_build import build_once
from bondgraph.emit.kernel_language.language import Ints, Length, Table, inline
from bondgraph.emit.kernel_language.translate import translate
from bondgraph.emit.llvm import Library, compile_written
from bondgraph.emit.procedure import Procedure
from bondgraph.run.sparsity.structure import CouplingStructure
from bondgraph.run.table import FieldTable

_IN_EAR = 3
"""Value of `seen` for states of ears; 1 and 2 mark the two passes through the graph."""

PerState = Annotated[Ints, Length(lambda g: g.states)]
Ends = Annotated[Ints, Length(lambda g: g.states + 1)]
PerStep = Annotated[Ints, Length(lambda g: 2 * g.states)]
"""Array with a value per step of the ears: at most two per state, because each ear reaches a new state, and only its last step
leads to a state reached before."""


class CouplingGraph(Table):
    """Coupling graph to be searched; its other fields are those of `structure.CouplingStructure`.

    Parameters
    ----------
    seen, following : mark of each state, and its next coupling.
    predecessor, step : previous state and coupling on the shortest path to each state.
    met : number of the ear whose search has visited each state.
    path : states that lead to the current state.
    finished : states in post-order.
    queue : the `queued` states whose couplings are followed in turn.
    driven : start of the couplings of each column.
    ears, ear_steps : numbers of ears and of their steps so far.
    """

    part: PerState
    order: PerState
    ear_from: PerState
    seen: PerState
    following: PerState
    path: PerState
    finished: PerState
    predecessor: PerState
    step: PerState
    met: PerState
    queue: PerState
    rows: Ints
    columns: Ints
    driven: Ends
    drivers_at: Ends
    drivers: Annotated[Ints, Length(lambda g: g.couplings)]
    ear_at: Ends
    ear_couplings: PerStep
    ear_states: PerStep
    states: int
    couplings: int
    ears: int
    ear_steps: int
    queued: int


def structure_of(n: int, rows: np.ndarray, columns: np.ndarray) -> CouplingStructure:
    table = graph_table(n, rows, columns)
    _search()(table.address)
    return structure_from(table)


def graph_table(n: int, rows: np.ndarray, columns: np.ndarray) -> FieldTable:
    table = FieldTable(CouplingGraph)
    table.allocate(states=n, couplings=len(rows))
    table.point("rows", np.ascontiguousarray(rows, dtype=np.int64))
    table.point("columns", np.ascontiguousarray(columns, dtype=np.int64))
    table["states"], table["couplings"] = n, len(rows)
    return table


def structure_from(table: FieldTable) -> CouplingStructure:
    ears, steps, arrays = int(table["ears"]), int(table["ear_steps"]), table.arrays
    return CouplingStructure(
        rows=arrays["rows"],
        columns=arrays["columns"],
        part=arrays["part"].copy(),
        order=arrays["order"].copy(),
        inner=np.flatnonzero(arrays["part"][arrays["rows"]] == arrays["part"][arrays["columns"]]),
        drivers_at=arrays["drivers_at"].copy(),
        drivers=arrays["drivers"].copy(),
        ear_from=arrays["ear_from"][:ears].copy(),
        ear_at=arrays["ear_at"][: ears + 1].copy(),
        ear_couplings=arrays["ear_couplings"][:steps].copy(),
        ear_states=arrays["ear_states"][:steps].copy(),
    )


@build_once
def _search() -> Callable[[int], Any]:
    return ctypes.CFUNCTYPE(None, ctypes.c_void_p)(machine_code().address("search"))


@build_once
def machine_code() -> Library:
    return compile_written(procedures, passes=1)


def procedures() -> list[Procedure]:
    return translate([search], ["search"])


def search(g: CouplingGraph) -> None:
    sort_couplings(g)
    find_components(g)
    find_ears(g)


def sort_couplings(g: CouplingGraph) -> None:
    find_starts(g.driven, g.columns, g.couplings, g.states)
    find_starts(g.drivers_at, g.rows, g.couplings, g.states)
    for i in range(g.states):
        g.following[i] = g.drivers_at[i]
    for k in range(g.couplings):
        row = g.rows[k]
        index = g.following[row]
        g.drivers[index] = g.columns[k]
        g.following[row] = index + 1


@inline
def find_starts(starts: Ints, by: Ints, count: int, n: int) -> None:
    for k in range(count):
        after = by[k] + 1
        starts[after] = starts[after] + 1
    for i in range(n):
        starts[i + 1] = starts[i + 1] + starts[i]


def depth_first(g: CouplingGraph, at: Ints, edges: Ints, out: Ints, root: int, mark: int, count: int) -> int:
    """Follow edges from `root`, with those of each state beginning `at` its position, through states that `seen` does not `mark`;
    append these states in post-order to the `count` states in `out`, and return the new count."""
    seen, following, path = g.seen, g.following, g.path
    depth = visit(seen, following, path, at, root, mark, 0)
    while depth > 0:
        state = path[depth - 1]
        edge = following[state]
        if edge < at[state + 1]:
            following[state] = edge + 1
            depth = visit(seen, following, path, at, edges[edge], mark, depth)
        else:
            out[count] = state
            count += 1
            depth -= 1
    return count


@inline
def visit(seen: Ints, following: Ints, path: Ints, at: Ints, state: int, mark: int, depth: int) -> int:
    length = depth
    if seen[state] != mark:
        seen[state] = mark
        following[state] = at[state]
        path[depth] = state
        length = depth + 1
    return length


def find_components(g: CouplingGraph) -> None:
    """Find strong components by Kosaraju's algorithm, and write `part` and `order`, with ascending states in each part."""
    finished, part, order, members, begins = g.finished, g.part, g.order, g.queue, g.step
    n, count, parts = g.states, 0, 0
    for start in range(n):
        count = depth_first(g, g.driven, g.rows, finished, start, 1, count)
    count = 0
    for k in range(n):
        before = count
        count = depth_first(g, g.drivers_at, g.drivers, members, finished[n - k - 1], 2, count)
        if count > before:
            for index in range(before, count):
                part[members[index]] = parts
            begins[parts] = before
            parts += 1
    for state in range(n):
        place = begins[part[state]]
        order[place] = state
        begins[part[state]] = place + 1


def find_ears(g: CouplingGraph) -> None:
    rows, part, seen, driven, queue = g.rows, g.part, g.seen, g.driven, g.queue
    head = 0
    for index in range(g.states):
        first = g.order[index]
        # Ears that start at its first state reach all states of a component.
        if seen[first] != _IN_EAR:
            seen[first] = _IN_EAR
            queue[g.queued] = first
            g.queued += 1
            while head != g.queued:
                start = queue[head]
                head += 1
                for k in range(driven[start], driven[start + 1]):
                    if part[rows[k]] == part[start] and seen[rows[k]] != _IN_EAR:
                        find_ear(g, start, k)


def find_ear(g: CouplingGraph, start: int, first: int) -> None:
    """Find the ear that begins at a state with the coupling `first`: the shortest path back to a state of the ears."""
    rows, part, seen, driven = g.rows, g.part, g.seen, g.driven
    predecessor, step, met, queue = g.predecessor, g.step, g.met, g.path
    number, component, begun = g.ears + 1, part[start], rows[first]
    queue[0] = begun
    step[begun] = first
    predecessor[begun] = -1
    met[begun] = number
    head, tail = 0, 1
    while True:
        at = queue[head]
        head += 1
        for k in range(driven[at], driven[at + 1]):
            state = rows[k]
            if part[state] == component:
                if seen[state] == _IN_EAR:
                    write_ear(g, start, at, k)
                    return
                if met[state] != number:
                    met[state] = number
                    step[state] = k
                    predecessor[state] = at
                    queue[tail] = state
                    tail += 1


def write_ear(g: CouplingGraph, start: int, end: int, last: int) -> None:
    predecessor, queue = g.predecessor, g.queue
    states, couplings = g.ear_states[g.ear_steps :], g.ear_couplings[g.ear_steps :]
    length, at = 0, end
    while at >= 0:
        length += 1
        at = predecessor[at]
    states[length] = g.rows[last]
    couplings[length] = last
    at = end
    for k in range(length):
        index = length - 1 - k
        states[index] = at
        couplings[index] = g.step[at]
        queue[g.queued + index] = at
        g.seen[at] = _IN_EAR
        at = predecessor[at]
    g.queued += length
    g.ear_steps += length + 1
    g.ear_from[g.ears] = start
    g.ears += 1
    g.ear_at[g.ears] = g.ear_steps
