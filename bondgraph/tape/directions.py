"""Directions: outputs and inputs on a tape, and how these change -> how the outputs change, without their Jacobian."""

from __future__ import annotations

from collections.abc import Sequence

from bondgraph.tape.differentiate import active_nodes, forward
from bondgraph.tape.scalar import Tape, TapeScalar


def along_changes(
    tape: Tape, outputs: Sequence[TapeScalar | float], inputs: Sequence[TapeScalar], changes: Sequence[TapeScalar | float]
) -> list[TapeScalar]:
    """The Jacobian of `outputs` by `inputs`, nodes of the tape, times the `changes` of these: in one sweep, whose work follows
    the count of operations, not that of nonzeros."""
    roots = [tape.scalar(output).index for output in outputs]
    rates = {tape.scalar(a).index: tape.scalar(b).index for a, b in zip(inputs, changes, strict=True)}
    moving = {position: change for position, change in rates.items() if tape.value(change) != 0.0}
    found = forward(tape, active_nodes(tape, roots, moving), roots, dict.fromkeys(moving, 0), moving)
    return [TapeScalar(tape, found[row, 0] if (row, 0) in found else tape.constant(0.0)) for row in range(len(roots))]


def work(tape: Tape, outputs: Sequence[TapeScalar | float], inputs: Sequence[TapeScalar]) -> tuple[int, int]:
    """Multiplications of the Jacobian of `outputs` by `inputs`, by forward accumulation, and of one sweep."""
    seeds = {tape.scalar(variable).index: column for column, variable in enumerate(inputs)}
    below: dict[int, int] = {}
    jacobian = sweep = 0
    for position in active_nodes(tape, [tape.scalar(output).index for output in outputs], seeds):
        mask = 1 << seeds[position] if position in seeds else 0
        for argument in () if position in seeds else tape.nodes[position][1:]:
            if argument in below:
                mask |= below[argument]
                jacobian += below[argument].bit_count()
                sweep += 1
        below[position] = mask
    return jacobian, sweep
