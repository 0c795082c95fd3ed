"""Hoisting: what depends on parameters only is computed once per set of parameters, not at every evaluation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bondgraph.tape import opcodes as op
from bondgraph.tape.routine import reachable
from bondgraph.tape.scalar import Tape, TapeScalar


@dataclass(frozen=True)
class Hoisted:
    """The same outputs on a new tape whose parameter block is longer by `prepared`."""

    tape: Tape
    outputs: tuple[TapeScalar, ...]
    prepared: tuple[TapeScalar, ...]
    """On the old tape: scalars of the parameters alone; their values follow the parameters in the longer block."""


def hoist(tape: Tape, outputs: Sequence[TapeScalar | float], block: str = "p") -> Hoisted:
    """Move every maximal expression of the block `block` alone out of `outputs`."""
    roots = [tape.scalar(output).index for output in outputs]
    order = reachable(tape, roots)
    number = list(tape.blocks).index(block)
    length = tape.blocks[block]
    alone: set[int] = set()
    fixed: set[int] = set()
    for position in order:
        node = tape.nodes[position]
        if node[0] == op.CONSTANT:
            fixed.add(position)
        elif node[0] == op.INPUT:
            if node[1] == number:
                alone.add(position)
        elif node[0] not in op.CONDITIONS and all(a in alone or a in fixed for a in node[1:]):
            alone.add(position)
    work = {position for position in alone if tape.nodes[position][0] != op.INPUT}
    wanted = {root for root in roots if root in work}
    for position in order:
        node = tape.nodes[position]
        if position not in work and node[0] > op.INPUT:
            wanted.update(a for a in node[1:] if a in work)
    prepared = sorted(wanted)

    target = Tape()
    for name, n in tape.blocks.items():
        target.inputs(name, n + len(prepared) if name == block else n)
    new = {position: target.place((op.INPUT, number, length + i)) for i, position in enumerate(prepared)}
    for position in order:
        if position in new or position in work:
            continue
        node = tape.nodes[position]
        if node[0] == op.CONSTANT:
            new[position] = target.constant(node[1])
        elif node[0] == op.INPUT:
            new[position] = target.place(node)
        else:
            new[position] = target.place((node[0], *(new[a] for a in node[1:])))
    return Hoisted(
        target, tuple(TapeScalar(target, new[root]) for root in roots), tuple(TapeScalar(tape, position) for position in prepared)
    )
