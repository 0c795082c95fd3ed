"""Chunks of runs on a GPU, as large as its memory allows, in launches of about 0.2 s that continue where they paused."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from bondgraph.devices.device import Device, LoadedKernel, is_out_of_memory, out_of_memory
from bondgraph.errors import DeviceWarning, Problem, RunError, caller_depth
from bondgraph.run.batch.collect import RunBatch
from bondgraph.run.batch.gpu.order import CostGuess
from screws.errors import plural

LAUNCH_SECONDS = 0.2
"""Target duration of a launch, s: interrupts, the progress bar and desktop watchdogs wait for its end."""
UNFINISHED = -1000
"""Number that marks a run that has not ended; no `Status` has this number."""
_FIRST_BUDGET, _MOST_BUDGET = 16, 1 << 40
_LEAST_GROWTH, _MOST_GROWTH = 0.1, 4.0
"""Bounds on the factor between the budgets of successive launches; a budget is a number of attempted steps."""
_SHARE = 0.9
"""Fraction of the free memory that chunks use, because the driver needs the remainder."""
_WAVES = 8
"""Minimum number of runs per GPU thread for which a first chunk measures the cost of runs."""
_LINE = 256

Blocks = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Parameters, states and modes of runs, (runs or 1, values) each."""


class Launchable(Protocol):
    @property
    def call_words(self) -> Mapping[str, int]: ...

    @property
    def call_size(self) -> int: ...

    @property
    def state_words(self) -> int: ...

    @property
    def scratch_words(self) -> int: ...

    def shared_at(self, address: int) -> np.ndarray: ...


@dataclass
class LaunchBudget:
    budget: int = _FIRST_BUDGET
    has_warned: bool = False

    def adapt(self, seconds: float) -> None:
        factor = min(max(LAUNCH_SECONDS / max(seconds, 1e-9), _LEAST_GROWTH), _MOST_GROWTH)
        self.budget = min(max(int(self.budget * factor), 1), _MOST_BUDGET)


@dataclass(frozen=True)
class ChunkLimits:
    runs: int
    slots: int


@dataclass(frozen=True, eq=False)
class GPUWork:
    device: Device
    loaded: LoadedKernel
    code: Launchable
    blocks: Blocks
    batch: RunBatch
    report: Callable[[int], object]
    launch: LaunchBudget = field(default_factory=LaunchBudget)

    def run(self) -> None:
        """Run all rows. A run that has not ended, for instance because of an error, has the status `UNFINISHED`.

        Raises `RunError` E290 if not even one block of threads fits in the memory, E292 if the GPU is lost.
        """
        self.batch.status[:] = UNFINISHED
        varied = [block for block in self.blocks[:2] if len(block) > 1]
        guess, runs = CostGuess(*varied), len(self.batch.status)
        waiting = np.arange(runs)
        pilot = runs >= _WAVES * self.loaded.blocks * self.loaded.threads and bool(varied)
        while len(waiting):
            limits = self.limits(len(waiting))
            part = slice(None, None, -(-runs // limits.slots)) if pilot else slice(limits.runs)
            chosen, pilot = guess.order(waiting[part]), False
            self._run_chunk(chosen, limits.slots, runs - len(waiting))
            if len(waiting := np.delete(waiting, part)):
                guess.learn(chosen, self.batch.rate_counts[chosen])

    def limits(self, runs: int) -> ChunkLimits:
        """Return the largest chunk of at most this many runs that fits in the free memory; warn once (`DeviceWarning` E291) if it
        is so small that threads stay idle. Raises `RunError` E290 if no block of threads fits."""
        loaded, code, facts = self.loaded, self.code, self.device.facts
        thread = 8 * (code.state_words + code.scratch_words)
        results = sum(array.itemsize * math.prod(array.shape[1:]) for array in self.batch.arrays().values())
        run = results + 8 * sum(block.shape[1] for block in self.blocks if len(block) > 1)
        once = 8 * (code.call_size + len(code.shared_at(0)) + sum(block.size for block in self.blocks if len(block) == 1))
        once += _LINE * (len(self.batch.arrays()) + 7)
        left, least = int(_SHARE * self.device.memory_left(loaded)), once + loaded.threads * thread + run
        if left < least:
            stacks = f"the stacks of all threads take {_megabytes(loaded.stack * facts.threads)}"
            why = f"{loaded.threads} threads take {_megabytes(least)}, and {stacks}; {_megabytes(max(left, 0))} is free"
            raise out_of_memory(facts.name, why)
        most = min(loaded.blocks, -(-runs // loaded.threads))
        blocks = min(most, max((left - once) // (loaded.threads * (thread + run)), 1))
        slots = blocks * loaded.threads
        held = min(runs, (left - once - slots * thread) // max(run, 1))
        if blocks < most:
            why = f"a chunk has {plural(held, 'run')} on {slots} of {plural(most * loaded.threads, 'thread')}"
            self._warn_smaller(f"{_megabytes(left)} of memory is free: {why}")
        return ChunkLimits(held, slots)

    def _warn_smaller(self, why: str) -> None:
        if self.launch.has_warned:
            return
        self.launch.has_warned = True
        cures = ("no other program on the GPU", "fewer samples, or measures instead of series")
        problem = Problem("E291", f'chunks of runs on "{self.device.facts.name}" become smaller', (why,), cures=cures)
        warnings.warn(DeviceWarning(problem), stacklevel=caller_depth())

    def _run_chunk(self, chosen: np.ndarray, slots: int, done: int) -> None:
        """Run the rows with these indices, in halves if another program has taken memory meanwhile."""
        try:
            self._launch_chunk(chosen, slots, done)
        except RunError as error:
            if not is_out_of_memory(error) or len(chosen) <= self.loaded.threads:
                raise
            self._warn_smaller("; ".join(error.problem.details))
            half = len(chosen) // 2
            for part, before in ((chosen[:half], done), (chosen[half:], done + half)):
                self._run_chunk(part, self.limits(len(part)).slots, before)

    def _launch_chunk(self, chosen: np.ndarray, slots: int, done: int) -> None:
        code, device, runs, threads = self.code, self.device, len(chosen), self.loaded.threads
        slots = min(slots, -(-runs // threads) * threads)
        blocks = dict(zip("pxm", self.blocks, strict=True))
        rows = {name: block if len(block) == 1 else block[chosen] for name, block in blocks.items()}
        results = self.batch.like(runs).arrays()
        results["status"][:] = UNFINISHED
        sizes = {"call": 8 * code.call_size, "shared": code.shared_at(0).nbytes}
        sizes |= {"states": 8 * slots * code.state_words, "scratch": 8 * slots * code.scratch_words}
        sizes |= {name: array.nbytes for name, array in {**rows, **results}.items()}
        with _allocated(device, sizes) as at:
            values = {"slots": slots, "runs": runs, **at}
            values |= {f"{name}_stride": 0 if len(block) == 1 else block.shape[1] for name, block in blocks.items()}
            call = np.zeros(code.call_size, dtype=np.int64)
            for name, word in code.call_words.items():
                call[word] = values.get(name, 0)
            for name in ("states", "scratch"):
                device.clear(at[name], sizes[name])
            device.copy_in(at["shared"], code.shared_at(at["shared"]))
            for name, array in {**rows, "status": results["status"]}.items():
                device.copy_in(at[name], array)
            self._launch_until_done(call, at["call"], slots // threads, done)
            for name, array in results.items():
                device.copy_out(array, at[name])
        for name, array in self.batch.arrays().items():
            array[chosen] = results[name]

    def _launch_until_done(self, call: np.ndarray, address: int, blocks: int, before: int) -> None:
        words, device = self.code.call_words, self.device
        done, runs, budget = words["done_runs"], call[words["runs"]], words["budget"]
        device.copy_in(address, call)
        while call[done] < runs:
            call[budget] = self.launch.budget
            device.copy_in(address + 8 * budget, call[budget : budget + 1])
            begin = time.perf_counter()
            device.launch(self.loaded, blocks, address)
            self.launch.adapt(time.perf_counter() - begin)
            device.copy_out(call, address)
            self.report(before + int(call[done]))


def _megabytes(size: int) -> str:
    return f"{size / 1e6:.4g} MB"


@contextmanager
def _allocated(device: Device, sizes: Mapping[str, int]) -> Iterator[dict[str, int]]:
    starts, at = dict[str, int](), 0
    for name, size in sizes.items():
        starts[name] = at
        at += -(-size // _LINE) * _LINE
    first = device.allocate(at)
    try:
        yield {name: first + start for name, start in starts.items()}
    finally:
        with suppress(RunError):  # the memory of a lost GPU is lost too
            device.free(first)
