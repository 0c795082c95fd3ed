"""Routine -> values, one NumPy operation per step: the reference for every other back end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bondgraph.emit.kernel import Kernel
from bondgraph.tape import opcodes as op
from bondgraph.tape.routine import Choice, Program, Routine, program
from screws.scalars import FUNCTIONS

OPERATIONS: dict[int, Callable[..., Any]] = {op.CODES[name]: function for name, (function, _) in FUNCTIONS.items()} | {
    op.ADD: np.add,
    op.SUBTRACT: np.subtract,
    op.MULTIPLY: np.multiply,
    op.DIVIDE: np.divide,
    op.NEGATIVE: np.negative,
    op.RECIPROCAL: lambda a: np.divide(1.0, a),
    op.POWER: np.power,
    op.BOTH: np.logical_and,
    op.EITHER: np.logical_or,
    op.OPPOSITE: np.logical_not,
    op.WHERE: np.where,
}


def run(steps: Program, blocks: tuple[np.ndarray, ...], out: np.ndarray) -> None:
    """Write the values of a program to `out` (..., n_out); blocks are (..., length)."""
    values: list[Any] = []
    with np.errstate(all="ignore"):
        for step in steps.steps:
            code = step[0]
            if code == op.CONSTANT:
                values.append(np.float64(step[1]))
            elif code == op.INPUT:
                values.append(blocks[step[1]][..., step[2]])
            else:
                result = OPERATIONS[code](*[values[a] for a in step[1:]])
                # conditions are the numbers 1 and 0 here: NumPy has no arithmetic of truth values
                values.append(np.multiply(result, 1.0) if code in op.CONDITIONS else result)
    for position, output in enumerate(steps.outputs):
        out[..., position] = values[output]


def numpy_kernel(routine: Routine | Choice) -> Kernel:
    """The routine as a kernel that needs no compiler."""
    steps = program(routine.reference if isinstance(routine, Choice) else routine)

    def function(*blocks_and_out: np.ndarray) -> None:
        run(steps, blocks_and_out[:-1], blocks_and_out[-1])

    return Kernel(routine.name, routine.sizes, len(routine.outputs), None, function)


def evaluate(routine: Routine, *blocks: Any) -> np.ndarray:
    """Outputs (n_out,) of a routine at its blocks (length,).

    Raises
    ------
    KernelError
        E395, if the blocks do not fit.
    """
    return numpy_kernel(routine)(*blocks)
