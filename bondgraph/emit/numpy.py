"""Interpreted kernels with one NumPy operation per step: the reference for all other back ends."""

from __future__ import annotations

import numpy as np

from bondgraph.emit.kernel import InterpretedKernel, Kernel
from bondgraph.tape.interpret import interpreter
from bondgraph.tape.routine import listing
from bondgraph.tape.specialise import Code, SpecialisedRoutine


def numpy_kernel(routine: Code) -> Kernel:
    execute = interpreter(listing(routine.reference))

    def function(*blocks_and_out: np.ndarray) -> None:
        execute(blocks_and_out[:-1], blocks_and_out[-1])

    return InterpretedKernel(routine.name, routine.sizes, len(routine.outputs), function)


def preset_kernel(routine: SpecialisedRoutine, shared: Kernel) -> Kernel:
    index, number = routine.fixed

    def function(*blocks_and_out: np.ndarray) -> None:
        blocks, out = list(blocks_and_out[:-1]), blocks_and_out[-1]
        blocks[routine.block_index] = blocks[routine.block_index].copy()
        blocks[routine.block_index][..., index] = number
        shared.function(*blocks, out)
        out[..., list(routine.zeros)] = 0.0

    return InterpretedKernel(routine.name, routine.sizes, len(routine.outputs), function)
