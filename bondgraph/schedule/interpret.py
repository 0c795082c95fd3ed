"""Schedule -> kernel without machine code: every loop is one NumPy evaluation of its kernel over all instances."""

from __future__ import annotations

import numpy as np

from bondgraph.emit.kernel import InterpretedKernel, Kernel
from bondgraph.schedule.calls import NUMBERS
from bondgraph.schedule.loops import Access, KernelLoop, Schedule
from bondgraph.tape import opcodes as op
from bondgraph.tape.interpret import interpreter


def numpy_kernel(schedule: Schedule) -> Kernel:
    """The schedule as a kernel that needs no compiler."""
    names = [name for name, _ in schedule.blocks]

    def evaluate(blocks: list[np.ndarray], out: np.ndarray) -> None:
        own = {"out": out, "w": np.empty(schedule.workspace), NUMBERS: schedule.numbers}
        memory = {**dict(zip(names, blocks, strict=True)), **own}
        if schedule.kept is not None:
            out[:] = memory[schedule.kept]
        for loop in schedule.loops:
            for instances in (np.arange(loop.count),) if loop.parallel else np.arange(loop.count)[:, None]:
                _loop(schedule, loop, memory, instances)

    def function(*arrays: np.ndarray) -> None:
        *blocks, out = arrays
        if out.ndim == 1:
            evaluate(blocks, out)
            return
        for k in range(len(out)):
            evaluate([block[k] if block.ndim == 2 else block for block in blocks], out[k])

    return InterpretedKernel(schedule.name, schedule.sizes, schedule.n_out, function)


def _loop(schedule: Schedule, loop: KernelLoop, memory: dict[str, np.ndarray], instances: np.ndarray) -> None:
    def places(access: Access, size: int) -> np.ndarray:
        if access.table < 0:
            first = access.start + access.stride * instances
        else:
            first = schedule.tables[access.table + instances]
        return np.asarray(first[:, None] + np.arange(size))

    reach = [1] * len(loop.ins)
    for code, *given in loop.kind.program.steps:
        if code == op.INPUT:
            reach[given[0]] = max(reach[given[0]], 1 + given[1])
    blocks = tuple(memory[a.block][places(a, n)] for a, n in zip(loop.ins, reach, strict=True))
    found = np.empty((len(instances), sum(loop.kind.sizes)))
    interpreter(loop.kind.program)(blocks, found)
    start = 0
    for access, size in zip(loop.outs, loop.kind.sizes, strict=True):
        memory[access.block][places(access, size)] = found[:, start : start + size]
        start += size
