"""Interpreter: evaluate a tape with one NumPy operation per step, the reference for all machine code."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from bondgraph.tape import opcodes as op
from bondgraph.tape.nodes import Node, Nodes, table_values
from bondgraph.tape.routine import Listing, Routine, reachable

NUMPY_FUNCTIONS: dict[int, Callable[..., Any]] = {code: operation.numpy for code, operation in enumerate(op.OPERATIONS)}


def interpreter(steps: Listing) -> Callable[[Sequence[np.ndarray], np.ndarray], None]:
    """Return a function that writes the outputs of a program to `out` (..., n_out) for input blocks (..., length)."""
    constants: list[Any] = [None] * len(steps.steps)
    inputs, operations = [], []
    for index, (code, *arguments) in enumerate(steps.steps):
        if code in (op.CONSTANT, op.TABLE):
            constants[index] = _constant(steps.steps[index])
        elif code <= op.INPUT:
            inputs.append((index, arguments[0], _where(code, arguments)))
        else:
            operations.append((index, NUMPY_FUNCTIONS[code], arguments, code in op.CONDITIONS))

    def execute(blocks: Sequence[np.ndarray], out: np.ndarray) -> None:
        values = constants.copy()
        for index, block, place in inputs:
            values[index] = blocks[block][..., place][()]
        with np.errstate(all="ignore"):
            for index, operation, arguments, is_condition in operations:
                result = operation(*[values[a] for a in arguments])
                # conditions are the numbers 1 and 0 here: NumPy has no arithmetic of truth values
                values[index] = result * 1.0 if is_condition else result
        for position, output in enumerate(steps.outputs):
            out[..., position] = values[output]

    return execute


def _constant(leaf: Node) -> Any:
    return table_values(leaf) if leaf[0] == op.TABLE else np.float64(leaf[1])


def _where(code: int, arguments: Sequence[int]) -> int | slice:
    return arguments[1] if code == op.INPUT else slice(arguments[1], arguments[1] + arguments[2])


def evaluate_nodes(tape: Nodes, roots: Sequence[int], blocks: Sequence[np.ndarray], values: dict[int, Any]) -> None:
    """Evaluate `roots` and all nodes that they need into `values`, by position; `blocks` (..., length) are all blocks of the
    tape."""
    with np.errstate(all="ignore"):
        for position in reachable(tape, roots, skip=values):
            code, *arguments = tape.nodes[position]
            if code in (op.CONSTANT, op.TABLE):
                values[position] = _constant(tape.nodes[position])
            elif code <= op.INPUT:
                values[position] = blocks[arguments[0]][..., _where(code, arguments)][()]
            else:
                result = NUMPY_FUNCTIONS[code](*[values[a] for a in arguments])
                values[position] = result * 1.0 if code in op.CONDITIONS else result


def blocks_of_tape(routine: Routine, blocks: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return all blocks of the tape, given those of a routine in its order; blocks that it does not read are zero."""
    by_name = {name: np.atleast_1d(block) for (name, _), block in zip(routine.blocks, blocks, strict=True)}
    return [by_name.get(name, np.zeros(length)) for name, length in routine.tape.blocks.items()]


def term_sizes(tape: Nodes, values: Mapping[int, Any]) -> dict[int, Any]:
    """Return the size of each value, by position, with all terms of sums taken as positive. An exact zero has size zero, so that
    products with it do not count as terms."""
    sizes: dict[int, Any] = {}
    for position in sorted(values):
        code, *arguments = tape.nodes[position]
        if code in (op.ADD, op.SUBTRACT):
            size = sizes[arguments[0]] + sizes[arguments[1]]
        elif code == op.MULTIPLY:
            size = sizes[arguments[0]] * sizes[arguments[1]]
        elif code == op.NEGATIVE:
            size = sizes[arguments[0]]
        else:
            size = np.abs(values[position])
        zero = values[position] == 0.0
        sizes[position] = np.where(zero, 0.0, size) if np.ndim(zero) else 0.0 if zero else size
    return sizes


CANCELLED = 2.0**-40
"""Fraction of the larger term of a sum below which the sum counts as rounding error."""


def mark_rounding(tape: Nodes, positions: Sequence[int], values: Mapping[int, Any], rounding: dict[int, np.ndarray]) -> None:
    """Add to `rounding` the samples at which the values (samples,) of `positions` are nonzero only because of rounding errors in
    terms that cancel.

    Sums of such values and zeros, and their products with any factor, are marked too.
    """
    nodes = tape.nodes
    sums = [k for k in positions if nodes[k][0] in (op.ADD, op.SUBTRACT) and np.ndim(values[k])]
    first: dict[int, np.ndarray] = {}
    if sums:
        total = np.array([values[k] for k in sums])
        size = np.array([_spread(values[nodes[k][1]], total.shape[1]) for k in sums])
        with np.errstate(invalid="ignore"):
            cancelled = (total != 0.0) & (np.abs(total) <= CANCELLED * np.abs(size))
        first = {sums[row]: cancelled[row] for row in np.flatnonzero(cancelled.any(axis=1))}
    if not first and not rounding:
        return
    nowhere = np.zeros_like(next(iter({**first, **rounding}.values())))
    for k in positions:
        code, *arguments = tape.nodes[k]
        marked = first.get(k, nowhere)
        if code > op.INPUT and any(a in rounding for a in arguments):
            parts = [rounding.get(a, nowhere) for a in arguments]
            if code in (op.ADD, op.SUBTRACT):
                marked = marked | np.logical_and(*(part | (values[a] == 0.0) for a, part in zip(arguments, parts, strict=True)))
            elif code == op.MULTIPLY:
                marked = parts[0] | parts[1]
            elif code in (op.NEGATIVE, op.ABSOLUTE):
                marked = parts[0]
            elif code == op.WHERE:
                marked = np.where(values[arguments[0]] != 0.0, parts[1], parts[2])
        if marked is not nowhere and marked.any():
            rounding[k] = marked


def _spread(value: Any, count: int) -> np.ndarray:
    return value if value.ndim else np.full(count, value)
