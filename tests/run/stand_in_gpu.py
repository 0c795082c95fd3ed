"""Simulated GPU, whose memory and launches lie in this process, with faults on demand."""

import ctypes
import threading
from dataclasses import dataclass, field

import numpy as np

from tests.inner.devices import DeviceFacts, LoadedKernel, lost, out_of_memory
from tests.inner.run import RunBatch

CALL = (
    *("states", "scratch", "shared", "p", "x", "m", "status", "ends", "modes_end", "times_end"),
    *("step_counts", "rejected_counts", "rate_counts", "event_counts", "kept", "series"),
    *("slots", "runs", "budget", "next_run", "done_runs", "p_stride", "x_stride", "m_stride"),
)


def array_at(address, shape, kind=np.float64):
    size = int(np.prod(shape))
    memory = (ctypes.c_int64 * size).from_address(address) if size else np.zeros(0, dtype=np.int64)
    return np.frombuffer(memory, dtype=kind).reshape(shape)


@dataclass
class StandIn:
    """GPU of `memory` bytes that runs `blocks` blocks of `threads` threads at once, with `stack` bytes for each thread.

    The GPU is lost after the launch number `lost_at`; `taken` maps the index of an allocation to the bytes that another
    program takes before it.
    """

    memory: int = 1 << 30
    blocks: int = 4
    threads: int = 8
    stack: int = 1000
    name: str = "cuda:0"
    ratio: int = 2
    lost_at: int | None = None
    interrupts_at: int | None = None
    taken: dict = field(default_factory=dict)
    refuses: Exception | None = None
    launched: list = field(default_factory=list)
    allocated: int = 0
    held: dict = field(default_factory=dict)

    @property
    def facts(self):
        return DeviceFacts(self.name, "stand-in", self.ratio, 2 * self.blocks * self.threads)

    @property
    def used(self):
        return sum(map(len, self.held.values()))

    def memory_left(self, kernel):
        return self.memory - self.used - kernel.stack * self.facts.threads

    def load(self, text, entry):
        if self.refuses is not None:
            raise self.refuses
        assert entry == "advance_runs"
        return LoadedKernel(text, self.stack, self.threads, self.blocks)

    def allocate(self, size):
        self.memory -= self.taken.pop(self.allocated, 0)
        self.allocated += 1
        if size > self.memory - self.used:
            raise out_of_memory(self.name, "cuMemAlloc returned CUDA_ERROR_OUT_OF_MEMORY")
        block = bytearray(b"\xa5" * size)  # memory is not zero at first
        address = ctypes.addressof((ctypes.c_char * size).from_buffer(block))
        self.held[address] = block
        return address

    def free(self, address):
        del self.held[address]

    def clear(self, address, size):
        ctypes.memset(address, 0, size)

    def copy_in(self, address, array):
        assert array.flags.c_contiguous
        ctypes.memmove(address, array.ctypes.data, array.nbytes)

    def copy_out(self, array, address):
        assert array.flags.c_contiguous
        ctypes.memmove(array.ctypes.data, address, array.nbytes)

    def launch(self, kernel, blocks, address):
        assert 0 < blocks <= self.blocks
        call = dict(zip(CALL, array_at(address, (len(CALL),), np.int64).tolist(), strict=True))
        self.launched.append(call)
        if self.lost_at is not None and len(self.launched) > self.lost_at:
            raise lost(self.name, "cuCtxSynchronize returned CUDA_ERROR_DEINITIALIZED")
        self.work(kernel, blocks, address)
        if self.interrupts_at == len(self.launched):
            raise KeyboardInterrupt

    def work(self, kernel, blocks, address):
        kernel.handle.launch(address)


@dataclass(frozen=True)
class Text:
    """Substitute for a kernel, each launch of which performs `budget` runs on the processor."""

    prepared: object
    kept: tuple
    outputs: object
    check_rank: bool
    hands_back: frozenset = frozenset()
    """Parameter values whose runs the GPU hands back to the processor."""
    moving: bool = False
    """True if parameters change the times of clocks."""

    call_words = {name: k for k, name in enumerate(CALL)}  # noqa: RUF012
    call_size, state_words, scratch_words, entry = len(CALL), 5, 3, "advance_runs"

    @property
    def ptx(self):
        return self

    def shared_at(self, address):
        return np.full(7, address, dtype=np.uint64)

    def same_clocks(self, p):
        return np.arange(len(p)) % 3 == 0 if self.moving else np.ones(len(p), dtype=bool)

    def launch(self, address):
        call = array_at(address, (len(CALL),), np.int64)
        at = dict(zip(CALL, call.tolist(), strict=True))
        assert np.all(array_at(at["shared"], (7,), np.uint64) == at["shared"])
        state = array_at(at["states"], (at["slots"] * self.state_words,))
        scratch = array_at(at["scratch"], (at["slots"] * self.scratch_words,))
        for kept in (state, scratch):
            assert np.all(kept == at["next_run"]), "a thread's memory is zero at first, and then unchanged between launches"
        program, samples = self.prepared.program, len(self.prepared.requested_times[0])
        widths = zip("pxm", (program.parameters, program.states, program.modes), strict=True)
        blocks = tuple(array_at(at[name], (at["runs"] if at[f"{name}_stride"] else 1, width)) for name, width in widths)
        counts = [sum(item.size for item in self.kept if item.over_time is over) for over in (False, True)]
        powers = 0 if program.powers is None else program.powers.n_out
        made = RunBatch.of(at["runs"], program.states + powers, program.modes, samples, *counts)
        runs = slice(at["next_run"], min(at["next_run"] + at["budget"], at["runs"]))
        with self.prepared._workspace() as space:
            space.many(blocks, runs, self.check_rank, made, self.kept, self.outputs, None, threading.Event())
        made.status[np.broadcast_to(np.isin(blocks[0], [*self.hands_back]).any(axis=1), at["runs"])] = 101
        for name, array in made.arrays().items():
            array_at(at[name], array.shape, array.dtype)[runs] = array[runs]
        call[CALL.index("next_run")] = call[CALL.index("done_runs")] = runs.stop
        state[:] = scratch[:] = runs.stop
