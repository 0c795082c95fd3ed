"""Many runs, executed by the CPU loop or by the GPU kernel translated to C."""

from __future__ import annotations

from threading import Event

import numpy as np

from tests.inner.emit import Kernel
from tests.inner.run import GPUKernel, KeptOfRun, PreparedProgram, RunBatch
from tests.ptx_emulator import Emulated

WARP = 32

Blocks = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Arrays p, x and m, (runs or 1, values) each."""


def empty_batch(prepared: PreparedProgram, blocks: Blocks, kept: tuple[KeptOfRun, ...]) -> RunBatch:
    program, counts = prepared.program, [sum(item.size for item in kept if item.over_time is over) for over in (False, True)]
    width = program.states + (0 if program.powers is None else int(program.powers.n_out))
    return RunBatch.of(max(map(len, blocks)), width, program.modes, len(prepared.requested_times[0]), *counts)


def on_processor(
    prepared: PreparedProgram, blocks: Blocks, kept: tuple[KeptOfRun, ...] = (), outputs: Kernel | None = None
) -> RunBatch:
    batch = empty_batch(prepared, blocks, kept)
    with prepared._workspace() as space:
        space.many(blocks, slice(0, len(batch.status)), False, batch, kept, outputs, None, Event())
    return batch


def on_gpu(kernel: GPUKernel, emulated: Emulated, blocks: Blocks, batch: RunBatch, slots: int, budget: int) -> int:
    """Execute all runs in `slots` threads that pause after `budget` steps; return the number of launches."""
    runs, shared = len(batch.status), np.zeros(len(kernel.shared_at(0)), np.uint64)
    shared[:] = kernel.shared_at(shared.ctypes.data)
    states, scratch = (np.zeros(slots * words + 1, np.uint64) for words in (kernel.state_words, kernel.scratch_words))
    arrays = {"states": states, "scratch": scratch, "shared": shared, **dict(zip("pxm", blocks, strict=True)), **batch.arrays()}
    numbers = {"slots": slots, "runs": runs, "budget": budget, "next_run": 0, "done_runs": 0}
    numbers |= {f"{name}_stride": 0 if len(block) == 1 else block.shape[1] for name, block in zip("pxm", blocks, strict=True)}
    numbers |= {name: array.ctypes.data for name, array in arrays.items()}
    call = np.zeros(kernel.call_size, np.uint64)
    for name, word in kernel.call_words.items():
        call[word] = numbers[name]
    launches = 0
    while call[kernel.call_words["done_runs"]] < runs:
        emulated.launch(call.ctypes.data, -(-slots // WARP), WARP)
        launches += 1
    return launches


def differences(one: RunBatch, other: RunBatch) -> dict[str, int]:
    """Return, for each array in which runs differ, the number of such runs; of runs that did not reach their end, only the status
    counts."""
    found = {"status": int((one.status != other.status).sum())}
    both = (one.status == 0) & (other.status == 0)
    for name, array in one.arrays().items():
        rows = [
            np.ascontiguousarray(each[both]).view(np.uint64).reshape(both.sum(), -1) for each in (array, other.arrays()[name])
        ]
        found[name] = int((rows[0] != rows[1]).any(axis=1).sum())
    return {name: count for name, count in found.items() if count}
