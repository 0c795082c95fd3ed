"""Routine -> kernel, one NumPy operation per step: the reference for every other back end."""

from __future__ import annotations

import numpy as np

from bondgraph.emit.kernel import Kernel
from bondgraph.tape.interpret import interpreter
from bondgraph.tape.routine import Alternatives, Routine, listing


def numpy_kernel(routine: Routine | Alternatives) -> Kernel:
    """The routine as a kernel that needs no compiler."""
    execute = interpreter(listing(routine.reference))

    def function(*blocks_and_out: np.ndarray) -> None:
        execute(blocks_and_out[:-1], blocks_and_out[-1])

    return Kernel(routine.name, routine.sizes, len(routine.outputs), None, function)
