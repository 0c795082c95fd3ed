"""Kernels that differ in numbers alone -> one kernel, which is given these numbers as it is given parameters.

A formula may hold a number of its own, as `lambda t, w=w: sin(w * t)` does in a loop over sections. Each of them is traced by
itself, and what comes of it is the same steps with other numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from bondgraph.schedule.kernels import TracedGroup
from bondgraph.tape import opcodes as op
from bondgraph.tape.scalar import Tape, TapeScalar

if TYPE_CHECKING:
    from collections.abc import Hashable

FEWEST = 8
"""Kernels from which one in their place is worth it."""


class Substitute(NamedTuple):
    """A kernel in place of another one, and the numbers that it is given behind the parameters of that."""

    traced: TracedGroup
    numbers: tuple[float, ...]


def sharing(kernels: Iterable[TracedGroup]) -> dict[TracedGroup, Substitute]:
    """What stands in place of kernels of which many differ in numbers alone."""
    alike: dict[Hashable, list[TracedGroup]] = {}
    for kernel in dict.fromkeys(kernels):
        alike.setdefault(_form(kernel), []).append(kernel)
    found: dict[TracedGroup, Substitute] = {}
    for members in alike.values():
        if len(members) >= FEWEST:
            places = _differing([kernel.tape.nodes for kernel in members])
            one = _given(members[0], places)
            for kernel in members:
                found[kernel] = Substitute(one, tuple([kernel.tape.nodes[place][1] for place in places]))
    return found


def _form(kernel: TracedGroup) -> Hashable:
    """All of a kernel but its numbers."""
    outputs = tuple([kernel.tape.scalar(output).index for output in kernel.outputs])
    nodes = tuple([node if node[0] != op.CONSTANT else op.CONSTANT for node in kernel.tape.nodes])
    return kernel.varying, kernel.fixed, kernel.sizes, outputs, nodes


def _differing(tapes: Sequence[Sequence[tuple[float, ...]]]) -> list[int]:
    """Positions of the numbers that are not the same on all tapes of one form."""
    numbers = [position for position, node in enumerate(tapes[0]) if node[0] == op.CONSTANT]
    return [position for position in numbers if len({nodes[position][1] for nodes in tapes}) > 1]


def _given(kernel: TracedGroup, places: Sequence[int]) -> TracedGroup:
    """The kernel with more arguments of parameters in place of the numbers at some positions."""
    tape, count = Tape(), sum(kernel.fixed)
    for name, length in kernel.tape.blocks.items():
        tape.inputs(name, length + len(places) if name == "p" else length)
    block = list(tape.blocks).index("p")
    new = {position: tape.intern((op.INPUT, block, count + k)) for k, position in enumerate(places)}
    for position, node in enumerate(kernel.tape.nodes):
        if position not in new:
            new[position] = tape.intern((node[0], *(new[a] for a in node[1:])) if node[0] > op.INPUT else node)
    outputs = tuple([TapeScalar(tape, new[kernel.tape.scalar(output).index]) for output in kernel.outputs])
    return TracedGroup(tape, kernel.varying, (*kernel.fixed, *[1] * len(places)), outputs, kernel.sizes)
