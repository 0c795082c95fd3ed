"""Steps of a long program -> islands that share nothing but inputs, those that are alike up to places and numbers together.

As pendulums side by side: each is solved by itself, by the same steps.
"""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from bondgraph.tape import opcodes as op
from bondgraph.tape.nodes import Node
from bondgraph.tape.routine import Listing


@dataclass(frozen=True)
class Form:
    """Islands that are alike.

    Parameters
    ----------
    program : the steps of one, from one block of inputs.
    inputs : how many of these come from each block of the whole; what follows them are numbers.
    results : how many go to each row of results.
    places, numbers, goals : for each island, where its inputs lie, its numbers, and where its results go.
    """

    program: Listing
    inputs: tuple[int, ...]
    results: tuple[int, ...]
    places: tuple[tuple[int, ...], ...]
    numbers: tuple[tuple[float, ...], ...]
    goals: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class _Island:
    """Steps, those that are given first in the order of their use, and the places of the results."""

    steps: tuple[Node, ...]
    outputs: tuple[int, ...]
    results: tuple[int, ...]
    goals: tuple[int, ...]

    @property
    def form(self) -> Hashable:
        """All but places and numbers; code of a power depends on an exponent that is a number."""
        steps, powers = self.steps, [step[2] for step in self.steps if step[0] == op.POWER]
        given = {op.INPUT: 2, op.CONSTANT: 1}
        bare = tuple([step[: given[step[0]]] if step[0] in given else step for step in steps])
        return bare, self.outputs, self.results, tuple([steps[a] for a in powers if steps[a][0] == op.CONSTANT])


def forms(program: Listing, blocks: int, rows: Sequence[int]) -> list[Form]:
    """The islands of a program of so many blocks by their form; its results are cut into rows of these lengths."""
    groups: dict[Hashable, list[_Island]] = {}
    for island in _islands(program, [0, *itertools.accumulate(rows)]):
        groups.setdefault(island.form, []).append(island)
    return [_form(alike, blocks) for alike in groups.values()]


def _islands(program: Listing, starts: Sequence[int]) -> Iterator[_Island]:
    steps, home = program.steps, _homes(program)
    members: dict[int, list[int]] = {}
    for position, own in enumerate(home):
        if steps[position][0] > op.INPUT:
            members.setdefault(own, []).append(position)
    goals: dict[int, list[int]] = {}
    for goal, position in enumerate(program.outputs):
        goals.setdefault(home[position] if steps[position][0] > op.INPUT else -1, []).append(goal)
    for own, wanted in goals.items():
        given: list[Node] = []
        local: dict[int, int] = {}
        order = members.get(own, [])
        read = (a for position in order for a in steps[position][1:]) if order else (program.outputs[goal] for goal in wanted)
        for a in read:
            if a not in local and steps[a][0] <= op.INPUT:
                local[a] = len(given)
                given.append(steps[a])
        local.update(zip(order, itertools.count(len(given)), strict=False))
        inner = [(steps[position][0], *[local[a] for a in steps[position][1:]]) for position in order]
        row = [bisect.bisect_right(starts, goal) - 1 for goal in wanted]
        yield _Island(
            (*given, *inner),
            tuple([local[program.outputs[goal]] for goal in wanted]),
            tuple([row.count(k) for k in range(len(starts) - 1)]),
            tuple([goal - starts[k] for goal, k in zip(wanted, row, strict=True)]),
        )


def _homes(program: Listing) -> list[int]:
    """For each step the number of its island; what is given is one by itself."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    steps, count = program.steps, len(program.steps)
    computed = [step[0] > op.INPUT for step in steps]
    pairs = [(k, a) for k, step in enumerate(steps) if computed[k] for a in step[1:] if computed[a]]
    edges = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    graph = coo_array((np.ones(len(pairs)), (edges[0], edges[1])), shape=(count, count))
    found: list[int] = connected_components(graph, directed=False)[1].tolist()
    return found


def _form(alike: Sequence[_Island], blocks: int) -> Form:
    """Inputs by block, then the numbers that are not the same for all."""
    first = alike[0]
    inputs = sorted((step[1], k) for k, step in enumerate(first.steps) if step[0] == op.INPUT)
    constants = [k for k, step in enumerate(first.steps) if step[0] == op.CONSTANT]
    differing = [k for k in constants if len({repr(island.steps[k][1]) for island in alike}) > 1]
    places = [k for _, k in inputs]
    slots = {k: slot for slot, k in enumerate([*places, *differing])}
    steps = tuple([(op.INPUT, 0, slots[k]) if k in slots else step for k, step in enumerate(first.steps)])
    return Form(
        Listing(steps, first.outputs),
        tuple([sum(block == b for block, _ in inputs) for b in range(blocks)]),
        first.results,
        tuple([tuple([island.steps[k][2] for k in places]) for island in alike]),
        tuple([tuple([island.steps[k][1] for k in differing]) for island in alike]),
        tuple([island.goals for island in alike]),
    )
