"""Size of the terms that a value is made of: what its rounding is to be measured against."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bondgraph.tape import opcodes as op
from bondgraph.tape.routine import reachable
from bondgraph.tape.scalar import Tape, TapeScalar
from screws.scalars import absolute, where


def magnitudes(tape: Tape, values: Sequence[Any]) -> list[TapeScalar]:
    """For each value: itself with all its terms taken as positive, so that nothing cancels.

    |a| + |b| for a + b and a - b, |a| |b| for a b; of everything else its absolute value. Where a sum vanishes but for
    rounding, it is some 1e-16 of this, whatever the units.
    """
    roots = [tape.scalar(value).index for value in values]
    found: dict[int, TapeScalar] = {}
    for position in reachable(tape, roots):
        node, scalar = tape.nodes[position], TapeScalar(tape, position)
        kind = node[0]
        if kind in (op.ADD, op.SUBTRACT):
            found[position] = found[node[1]] + found[node[2]]
        elif kind == op.MULTIPLY:
            found[position] = found[node[1]] * found[node[2]]
        elif kind == op.DIVIDE:
            found[position] = found[node[1]] / absolute(TapeScalar(tape, node[2]))
        elif kind == op.NEGATIVE:
            found[position] = found[node[1]]
        elif kind == op.WHERE:
            found[position] = where(TapeScalar(tape, node[1]), found[node[2]], found[node[3]])
        elif kind in op.CONDITIONS:
            found[position] = scalar
        else:
            found[position] = tape.scalar(absolute(scalar))
    return [found[root] for root in roots]
