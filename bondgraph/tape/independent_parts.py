"""Split a long program into connected components that share only inputs, and group the components with the same steps.

Components of the same form, such as independent pendulums, differ only in constants and in the positions of inputs and outputs.
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
    """Components with the same steps.

    Parameters
    ----------
    program : steps of one component, from one block of inputs.
    inputs : number of inputs from each block of the long program; the constants in which components differ follow them.
    results : number of results for each row of results.
    input_positions, numbers, output_positions : for each component, the positions of its inputs, its values of these constants,
        and the positions of its results.
    """

    program: Listing
    inputs: tuple[int, ...]
    results: tuple[int, ...]
    input_positions: tuple[tuple[int, ...], ...]
    numbers: tuple[tuple[float, ...], ...]
    output_positions: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class _Component:
    """Steps of a component, inputs and constants first in the order of their use, and the positions of its results."""

    steps: tuple[Node, ...]
    outputs: tuple[int, ...]
    results: tuple[int, ...]
    output_positions: tuple[int, ...]

    @property
    def form(self) -> Hashable:
        """Key that ignores positions and constants, except constant exponents, which change the code."""
        steps, powers = self.steps, [step[2] for step in self.steps if step[0] == op.POWER]
        kept_fields = {op.INPUT: 2, op.CONSTANT: 1}
        bare = tuple([step[: kept_fields[step[0]]] if step[0] in kept_fields else step for step in steps])
        return bare, self.outputs, self.results, tuple([steps[a] for a in powers if steps[a][0] == op.CONSTANT])


def forms(program: Listing, blocks: int, rows: Sequence[int]) -> list[Form]:
    """Group the components of a program of `blocks` blocks by form; its results are cut into rows of the lengths `rows`."""
    groups: dict[Hashable, list[_Component]] = {}
    for component in _components(program, [0, *itertools.accumulate(rows)]):
        groups.setdefault(component.form, []).append(component)
    return [_form(components, blocks) for components in groups.values()]


def _components(program: Listing, starts: Sequence[int]) -> Iterator[_Component]:
    steps, labels = program.steps, _component_labels(program)
    members: dict[int, list[int]] = {}
    for position, label in enumerate(labels):
        if steps[position][0] > op.INPUT:
            members.setdefault(label, []).append(position)
    outputs: dict[int, list[int]] = {}
    for output, position in enumerate(program.outputs):
        outputs.setdefault(labels[position] if steps[position][0] > op.INPUT else -1, []).append(output)
    for label, indices in outputs.items():
        leaves: list[Node] = []
        local: dict[int, int] = {}
        order = members.get(label, [])
        read = (a for position in order for a in steps[position][1:]) if order else (program.outputs[k] for k in indices)
        for a in read:
            if a not in local and steps[a][0] <= op.INPUT:
                local[a] = len(leaves)
                leaves.append(steps[a])
        local.update(zip(order, itertools.count(len(leaves)), strict=False))
        inner = [(steps[position][0], *[local[a] for a in steps[position][1:]]) for position in order]
        row = [bisect.bisect_right(starts, output) - 1 for output in indices]
        yield _Component(
            (*leaves, *inner),
            tuple([local[program.outputs[output]] for output in indices]),
            tuple([row.count(k) for k in range(len(starts) - 1)]),
            tuple([output - starts[k] for output, k in zip(indices, row, strict=True)]),
        )


def _component_labels(program: Listing) -> list[int]:
    """Return the component number of each step; each input or constant is a component of its own."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    steps, count = program.steps, len(program.steps)
    computed = [step[0] > op.INPUT for step in steps]
    pairs = [(k, a) for k, step in enumerate(steps) if computed[k] for a in step[1:] if computed[a]]
    edges = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    graph = coo_array((np.ones(len(pairs)), (edges[0], edges[1])), shape=(count, count))
    labels: list[int] = connected_components(graph, directed=False)[1].tolist()
    return labels


def _form(components: Sequence[_Component], blocks: int) -> Form:
    first = components[0]
    inputs = sorted((step[1], k) for k, step in enumerate(first.steps) if step[0] == op.INPUT)
    constants = [k for k, step in enumerate(first.steps) if step[0] == op.CONSTANT]
    differing = [k for k in constants if len({repr(component.steps[k][1]) for component in components}) > 1]
    input_steps = [k for _, k in inputs]
    slots = {k: slot for slot, k in enumerate([*input_steps, *differing])}
    steps = tuple([(op.INPUT, 0, slots[k]) if k in slots else step for k, step in enumerate(first.steps)])
    return Form(
        Listing(steps, first.outputs),
        tuple([sum(block == b for block, _ in inputs) for b in range(blocks)]),
        first.results,
        tuple([tuple([component.steps[k][2] for k in input_steps]) for component in components]),
        tuple([tuple([component.steps[k][1] for k in differing]) for component in components]),
        tuple([component.output_positions for component in components]),
    )
