"""Launcher of batches of runs on the GPU that `device=` names."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bondgraph.devices.choose import AUTO, device_of, forget
from bondgraph.devices.device import ON_THE_CPU, Device, is_lost
from bondgraph.emit.kernel import Kernel
from bondgraph.errors import DeviceWarning, Problem, ProblemError, RunError, caller_depth
from bondgraph.run.batch.collect import RunBatch
from bondgraph.run.batch.gpu.kernel import gpu_kernel, gpu_refusal
from bondgraph.run.batch.gpu.launches import UNFINISHED, Blocks, GPUWork
from bondgraph.run.batch.prepared import PreparedProgram
from bondgraph.run.batch.results import KeptOfRun, kept_of
from bondgraph.run.batch.validity.rank_screen import screens
from bondgraph.run.measures import Measure
from bondgraph.run.validation.checked_result import has_constraints
from bondgraph.run.validation.surface_contacts import watched_contacts
from screws.errors import plural

_locks = dict[str, threading.Lock]()
"""Locks by GPU name: a batch takes all of the memory, so other batches wait."""
_OF_GPUS = frozenset(f"E{number}" for number in range(282, 295))
_BYTES_PER_RUN = 32
_SHARE = 0.8


@dataclass(frozen=True)
class GPULauncher:
    prepared: PreparedProgram
    device: Device
    is_optional: bool

    @property
    def name(self) -> str:
        return self.device.facts.name

    def fill(
        self,
        blocks: Blocks,
        kept: Sequence[KeptOfRun],
        outputs: Kernel | None,
        check_rank: bool,
        batch: RunBatch,
        report: Callable[[int], object],
    ) -> np.ndarray:
        """Run all rows of p, x and m, and store the results in `batch`; return the indices of the runs that are left to the CPU.

        Raises E282 to E285 as `gpu_kernel` does, E289 if most runs have other clocks than the first, E290 to E293 for the GPU; if
        the CPU may continue, a `DeviceWarning` replaces these errors.
        """
        batch.status[:] = UNFINISHED
        try:
            code = self.prepared.last_gpu_kernel.made(
                (self.prepared.clocks_of(blocks[0]), tuple(kept), outputs, check_rank),
                lambda: gpu_kernel(self.prepared, blocks, kept, outputs, check_rank),
            )
            same = code.same_clocks(blocks[0])
            if 2 * np.count_nonzero(same) < len(same):
                raise _refused(self.name, ("varying parameters change the clocks of these runs",))
            runs, one = np.flatnonzero(np.broadcast_to(same, len(batch.status))), len(same) == 1
            part = batch if one or same.all() else batch.like(len(runs))
            part.status[:] = UNFINISHED
            rows = blocks if part is batch else tuple(block if len(block) == 1 else block[runs] for block in blocks)
            try:
                with _locks.setdefault(self.name, threading.Lock()):
                    loaded = self.device.load(code.ptx, code.entry)
                    GPUWork(self.device, loaded, code, rows, part, report).run()  # type: ignore[arg-type]
            finally:
                if part is not batch:
                    batch.put(runs, part)
        except ProblemError as error:
            if error.problem.code not in _OF_GPUS:  # the first run has this error; the CPU finds every run that has it
                return np.arange(len(batch.status))
            self.continue_on_cpu(error, int(np.count_nonzero(batch.status == UNFINISHED)))
        return np.flatnonzero(batch.status == UNFINISHED)

    def continue_on_cpu(self, error: ProblemError, runs: int) -> None:
        if is_lost(error):
            forget(self.device)
        if not self.is_optional or error.problem.code not in _OF_GPUS:
            raise error
        problem = error.problem
        warning = replace(problem, title=f"{problem.title}: the CPU continues with {plural(runs, 'run')}", cures=())
        warnings.warn(DeviceWarning(warning), stacklevel=caller_depth())


def launcher_of(
    prepared: PreparedProgram,
    argument: Any,
    runs: int,
    keep: Mapping[str, str | Measure],
    *,
    check_rank: bool = True,
    is_stored: bool = False,
) -> GPULauncher | None:
    """Return a launcher for runs on the GPU that `device=` names; None for the CPU, and for "auto" if these runs cannot use a
    GPU. If chunks are stored (`is_stored`), results need no memory here.

    Raises `RunError` E286 to E288 for the GPU, E283 and E289 for runs that cannot use it, E294 for more runs than fit in the
    memory of this machine; `ExtraError` E416 if the GPU package is not installed.
    """
    device = device_of(argument, runs)
    if device is None:
        return None
    if problem := batch_refusal(prepared, device.facts.name, keep, check_rank):
        if argument == AUTO:
            return None
        raise RunError(problem)
    _check_count(runs, _BYTES_PER_RUN + (0 if is_stored else _bytes_of_run(prepared, keep)))
    return GPULauncher(prepared, device, argument == AUTO)


def batch_refusal(prepared: PreparedProgram, name: str, keep: Mapping[str, str | Measure], check_rank: bool) -> Problem | None:
    program = prepared.program
    if problem := gpu_refusal(prepared):
        return problem
    outputs, reasons = kept_of(program, keep)[1], list[str]()
    if outputs is not None and not outputs.is_machine_code:
        reasons.append("some kept quantities are outputs that are not compiled to machine code")
    for group in watched_contacts(program):
        names = " and ".join(f'"{contact.point.path}"' for contact, _ in group.contacts)
        why = "is your own formula" if group.may_lose_contact else "is not convex"
        reasons.append(f"{names}: a surface {why}, so Python checks the contact after each run")
    if check_rank and has_constraints(program) and not screens(program):
        reasons.append("Python checks constraints that are redundant or change at events, unless check_rank=False")
    return _refused(name, reasons).problem if reasons else None


def _refused(name: str, reasons: Sequence[str]) -> RunError:
    return RunError(Problem("E289", f'these runs cannot use "{name}"', tuple(reasons), cures=(ON_THE_CPU,)))


def _bytes_of_run(prepared: PreparedProgram, keep: Mapping[str, str | Measure]) -> int:
    program, (kept, _) = prepared.program, kept_of(prepared.program, keep)
    numbers = program.parameters + 2 * (program.states + program.modes) + program.quadratures + 6
    return 8 * (numbers + sum(item.size * (len(prepared.requested_times[0]) if item.over_time else 1) for item in kept))


def _check_count(runs: int, each: int) -> None:
    limit = _SHARE * machine_memory()
    if 0 < limit < runs * each:
        why = f"{each} bytes per run make {runs * each / 1e9:.4g} GB, but runs may use only {limit / 1e9:.4g} GB"
        cures = (f"at most {plural(int(limit / each), 'run')} at a time", "fewer samples, or measures instead of series")
        raise RunError(Problem("E294", f"the memory of this machine is too small for {plural(runs, 'run')}", (why,), cures=cures))


def machine_memory() -> int:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 0
