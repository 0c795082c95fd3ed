"""Specialisation: outputs with some nodes replaced by others or by numbers, folded as if they had been traced so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bondgraph.tape import opcodes as op
from bondgraph.tape.routine import reachable
from bondgraph.tape.scalar import Tape, TapeScalar


def specialise(
    tape: Tape, outputs: Sequence[TapeScalar | float], fixed: Mapping[tuple[str, int], float]
) -> tuple[TapeScalar, ...]:
    """The same outputs, on the same tape, where the inputs `(block, position)` have the given values."""
    names = list(tape.blocks)
    places = {tape.place((op.INPUT, names.index(block), position)): value for (block, position), value in fixed.items()}
    return substitute(tape, outputs, {place: tape.constant(value) for place, value in places.items()})


def substitute(tape: Tape, outputs: Sequence[TapeScalar | float], replaced: Mapping[int, int]) -> tuple[TapeScalar, ...]:
    """The same outputs, on the same tape, with other nodes in place of some: `replaced` maps positions to positions."""
    roots = [tape.scalar(output).index for output in outputs]
    new: dict[int, int] = {}
    for position in reachable(tape, roots, min(replaced, default=len(tape))):
        node = tape.nodes[position]
        if position in replaced:
            new[position] = replaced[position]
        elif node[0] > op.INPUT:
            arguments = tuple([new[a] if a in new else a for a in node[1:]])  # noqa: SIM401
            if arguments != node[1:]:
                new[position] = tape.apply(node[0], *arguments)
    return tuple(TapeScalar(tape, new.get(root, root)) for root in roots)
