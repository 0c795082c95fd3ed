"""Interpretation: tape -> values, one NumPy operation per step: the reference for all machine code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from bondgraph.tape import opcodes as op
from bondgraph.tape.nodes import Nodes
from bondgraph.tape.routine import Listing, reachable

OPERATIONS: dict[int, Callable[..., Any]] = {code: operation.numpy for code, operation in enumerate(op.OPERATIONS)}


def interpreter(steps: Listing) -> Callable[[Sequence[np.ndarray], np.ndarray], None]:
    """A function that writes the values of a program to `out` (..., n_out), of blocks (..., length); to be called many times."""
    constants: list[Any] = [None] * len(steps.steps)
    inputs, operations = [], []
    for place, (code, *arguments) in enumerate(steps.steps):
        if code == op.CONSTANT:
            constants[place] = np.float64(arguments[0])
        elif code == op.INPUT:
            inputs.append((place, *arguments))
        else:
            operations.append((place, OPERATIONS[code], arguments, code in op.CONDITIONS))

    def execute(blocks: Sequence[np.ndarray], out: np.ndarray) -> None:
        values = constants.copy()
        for place, block, position in inputs:
            values[place] = blocks[block][..., position][()]
        with np.errstate(all="ignore"):
            for place, operation, arguments, is_condition in operations:
                result = operation(*[values[a] for a in arguments])
                # conditions are the numbers 1 and 0 here: NumPy has no arithmetic of truth values
                values[place] = result * 1.0 if is_condition else result
        for position, output in enumerate(steps.outputs):
            out[..., position] = values[output]

    return execute


def complete(tape: Nodes, roots: Sequence[int], blocks: Sequence[np.ndarray], known: dict[int, Any]) -> None:
    """Add the values of `roots`, and of all nodes that they need, to what is `known` of a tape, by position; blocks (..., length)
    are all those of the tape."""
    with np.errstate(all="ignore"):
        for position in reachable(tape, roots, known=known):
            code, *arguments = tape.nodes[position]
            if code == op.CONSTANT:
                known[position] = np.float64(arguments[0])
            elif code == op.INPUT:
                known[position] = blocks[arguments[0]][..., arguments[1]][()]
            else:
                result = OPERATIONS[code](*[known[a] for a in arguments])
                known[position] = result * 1.0 if code in op.CONDITIONS else result
