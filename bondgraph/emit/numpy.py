"""Routine -> kernel, one NumPy operation per step: the reference for every other back end."""

from __future__ import annotations

from typing import Any

import numpy as np

from bondgraph.emit.kernel import Kernel
from bondgraph.tape.interpret import execute, plan_of
from bondgraph.tape.routine import Alternatives, Routine, listing


def numpy_kernel(routine: Routine | Alternatives) -> Kernel:
    """The routine as a kernel that needs no compiler."""
    steps = listing(routine.reference if isinstance(routine, Alternatives) else routine)
    plan = plan_of(steps)

    def function(*blocks_and_out: np.ndarray) -> None:
        execute(plan, steps.outputs, blocks_and_out[:-1], blocks_and_out[-1])

    return Kernel(routine.name, routine.sizes, len(routine.outputs), None, function)


def evaluate(routine: Routine, *blocks: Any) -> np.ndarray:
    """Outputs (n_out,) of a routine at its blocks (length,).

    Raises
    ------
    KernelError
        E395, if the blocks do not fit.
    """
    return numpy_kernel(routine)(*blocks)
