"""Parameter sweeps: `sweep` runs a model at many points on an executor, with a store from which it can resume."""

from __future__ import annotations

import contextlib
import functools
import os
import queue
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, Executor, Future, ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from bondgraph.compile.compiled import Compiled
from bondgraph.devices.choose import AUTO
from bondgraph.devices.device import ON_THE_CPU
from bondgraph.emit.kernel import LANES, MANY
from bondgraph.errors import Problem, ProblemError, RunError, ScrewbondError, raise_if_any, refusal
from bondgraph.methods import MethodEntry
from bondgraph.output.progress import Progress
from bondgraph.run.batch.chunk_size import ChunkTarget, chunk_size
from bondgraph.run.measures import Measure
from bondgraph.run.settings import check_names, run_interval, sample_times
from bondgraph.run_arguments import SETTINGS, RunSettings, spelled_settings
from bondgraph.sweeps.points import FAILURE, RUN, Points, points_of
from bondgraph.sweeps.runs import Runs
from bondgraph.sweeps.store import Column, Store, path_of
from bondgraph.sweeps.tasks import (
    Chunk,
    Keepable,
    Kept,
    SentModel,
    Source,
    SweepPlan,
    kept_columns,
    run_chunk,
    sent_model,
    several_shapes,
)
from screws.errors import plural

if TYPE_CHECKING:
    from bondgraph.prepared.runs import PreparedRun
    from bondgraph.run.batch.gpu.launcher import GPULauncher

CHUNK_SECONDS = 0.2
"""Target duration of a chunk, s: long compared with the cost of sending it, but short enough for a responsive display."""
GPU_SECONDS = 2.0
"""Target duration of a chunk on a GPU, s."""
_GPU_LEAST = 2_048
"""Minimum number of runs of a chunk on a GPU: fewer runs do not fill it."""
_MAX_CHUNK, _MAX_GROWTH = 10_000, 4
"""Maximum number of runs of a chunk, and largest growth factor from one chunk to the next."""
_MIN_CHUNK_SECONDS = 0.01
"""Shortest duration of a chunk near the end of a sweep, s: long compared with Python's overhead per chunk (0.8 ms)."""
_RAMP, _WAIT = 0.005, 0.5
"""Longest waits for a chunk (s): at the start, while few chunks are sent, and afterwards."""

Submit = Callable[[Executor, np.ndarray], "Future[Chunk]"]


def workers_of(executor: Executor) -> int:
    """Return the number of workers of an executor (a pool of Python or mpi4py, or Dask), or `processors()` if it is unknown."""
    count = getattr(executor, "num_workers", None) or getattr(executor, "_max_workers", None)
    cores = getattr(getattr(executor, "_client", None), "ncores", None)
    if count is None and callable(cores):
        count = sum(cores().values())
    return count if isinstance(count, int) and count > 0 else processors()


def processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextlib.contextmanager
def executor_or_threads(executor: Executor | None) -> Iterator[Executor]:
    if executor is not None:
        if isinstance(executor, type) or not callable(getattr(executor, "submit", None)):
            cures = ("ThreadPoolExecutor(4) of concurrent.futures", "executor=None, for threads")
            raise RunError(Problem("E367", f"executor={executor!r:.60} does not accept tasks", (), (), cures))
        yield executor
        return
    pool = ThreadPoolExecutor(processors(), "sweep")
    try:
        yield pool
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def run_chunks(executor: Executor, runs: np.ndarray, submit: Submit, take: Callable[[Chunk], None]) -> None:
    """Run all chunks, of about `CHUNK_SECONDS` seconds, at most two per worker at a time, and `take` each of them.

    Few chunks are sent until the duration of a run is known; near the end, workers share the remaining runs. After an error or
    interrupt, chunks that have not begun are cancelled, and finished chunks are taken.

    Raises this package's errors in chunks, and `RunError` E367 for any other error of a worker or the executor.
    """
    ready: queue.SimpleQueue[Future[Any]] = queue.SimpleQueue()
    pending, workers, most = set[Future[Any]](), workers_of(executor), 1
    first, size, mean = 0, 1, 0.0
    limits = {"most": _MAX_CHUNK, "growth": _MAX_GROWTH, "multiple": max(LANES)}
    target = ChunkTarget(CHUNK_SECONDS, min(CHUNK_SECONDS, _MIN_CHUNK_SECONDS), **limits)
    try:
        while first < len(runs) or pending:
            while first < len(runs) and len(pending) < most:
                with _worker_errors():
                    future = submit(executor, runs[first : first + size])
                first += size
                pending.add(future)
                future.add_done_callback(ready.put)
            ramp = most < 2 * workers
            most = min(2 * most, 2 * workers)
            try:
                future = ready.get(timeout=_RAMP if ramp else _WAIT)
            except queue.Empty:  # more chunks may be sent; also, some systems block interrupts during an unlimited wait
                continue
            pending.discard(future)
            with _worker_errors():
                chunk = future.result()
            take(chunk)
            each = chunk.seconds / len(chunk.runs)
            mean = each if mean == 0.0 else 0.5 * (mean + each)
            size = chunk_size(target, max(mean, 1e-9), len(runs) - first, workers, last=size)
    except BaseException:
        for future in pending:
            future.cancel()
        for future in pending:
            if future.done() and not future.cancelled() and future.exception() is None:
                take(future.result())
        raise


@contextlib.contextmanager
def _worker_errors() -> Iterator[None]:
    try:
        yield
    except ScrewbondError:
        raise
    except (Exception, CancelledError) as error:
        lines = str(error).strip().splitlines()
        why = f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
        cures = ("the same call again, with a new executor; stored runs are kept", "fewer workers, if memory ran out")
        raise RunError(Problem("E367", "a worker of the sweep failed", (why,), (), cures)) from error


def speed(begin: float, done: int) -> str:
    """Format the runs per second since a time of `time.perf_counter()`.

    >>> speed(time.perf_counter() - 10.0, 1234)[:4]
    '123 '
    """
    rate = done / max(time.perf_counter() - begin, 1e-9)
    return f"{rate:.3g} runs/s" if rate < 1000.0 else f"{rate:.0f} runs/s"


SWEEP_SETTINGS = frozenset({"progress", "strict"})
"""Settings of a run that are not passed on to the runs of a sweep."""
_IN_POINTS = 'the names among the points: {"spring.stiffness": [20.0, 50.0], "spring.q": 0.1}; a single value applies to all runs'
REPLACEMENTS = {"initial": _IN_POINTS, "parameters": _IN_POINTS}
"""Replacement for each setting of a run that a sweep does not accept."""
_ENTRY_NAME = re.compile(r"(.+)\[[\d, ]+\]")
"""Name of an array entry in a table of runs, such as "q[0, 1]"."""


@spelled_settings
def sweep(
    model: Source,
    points: Mapping[str, Any] | Sequence[Mapping[str, Any]] | Any,
    t_end: float,
    *,
    keep: Mapping[str, Keepable],
    runs: int | None = None,
    seed: int = 0,
    store: str | os.PathLike[str] | None = None,
    executor: Executor | None = None,
    device: str | None = None,
    **settings: Unpack[RunSettings],
) -> Runs:
    """Run a model for many parameters and start values.

    Parameters
    ----------
    model : a graph, a compiled model, or a function that builds one; for processes, a model that cannot be saved as text must be
        such a function, at the top level of a module.
    points : {name: values}: values of one name are crossed with the values of all other names, a single value applies to all
        runs, and distributions (`normal(50.0, 2.0)`, or from `scipy.stats`) are sampled; or a list of {name: value}, or a
        DataFrame, with one row per run. Names are those of parameters ("spring.stiffness"), of states, whose start values vary
        ("spring.q"), and of automata.
    t_end : end time of every run, s.
    keep : {column: quantity or measure}: "rotor.flow" for its values at all samples; `last("rotor.flow")` or any other measure of
        `bondgraph.measures`; or a function of the `Result`.
    runs : number of draws from distributions for each combination of the other values; None without distributions.
    seed : seed of the draws; a drawn value depends only on the seed, the number of the run and the name.
    store : file of an SQLite database, created or resumed: stored runs are not run again. The first axis may get more values at
        its end; a sweep without crossed values may get more draws. None keeps runs in memory.
    executor : executor of `concurrent.futures`, Dask or mpi4py, which stays open. None starts threads, one per processor.
    device : "cuda" or "cuda:1" for a GPU; "auto" for a GPU with fast double precision, if one can execute the runs and there are
        at least 2,000 runs; the CPU continues if this GPU is lost; None for the CPU. The results do not depend on the
        device; `Runs.device` names the device of each run.

    A failed run is stored with its reason. Raises `ModelError` E360 to E363, E365, E366 with all problems of points or keep;
    `FileError` E364 for an invalid store or path; `RunError` for invalid settings, E367 if a worker fails, E282 to E294 for GPUs;
    `ExtraError` E416 if the GPU package is not installed; `KeyboardInterrupt`, after the finished runs are stored, with a note on
    how to resume.
    """
    check_names(settings, SETTINGS.keys() - {"strict"}, REPLACEMENTS)
    progress, more = settings.get("progress", True), {key: value for key, value in settings.items() if key not in SWEEP_SETTINGS}
    sent = sent_model(model, progress=progress)
    compiled = sent.compiled
    planned = points_of(points, compiled, runs, seed)
    _check_method(more.get("method"), executor, compiled.model.name)
    prepared = sent.prepared(t_end, more)  # raise errors of settings before anything is stored
    start, end = run_interval(settings.get("t_start", 0.0), t_end)
    _, times = sample_times(settings.get("samples"), start, end)
    kept = _columns_of(keep, compiled, planned, executor, len(times))
    plan = SweepPlan(end, more, kept, {each.name: each.role.argument for each in planned.varied}, len(planned) >= MANY)
    path = None if store is None else path_of(store)
    gpu = _gpu_of(device, prepared, plan, len(planned), executor, path is not None)
    opened = Store(path)
    try:
        opened.begin(_header(sent, planned, plan, times), lambda count: _header(sent, planned.first(count), plan, times))
        _fill(opened, sent, planned, plan, executor, gpu, progress)
    finally:
        if path is not None:
            opened.close()
    return Runs(opened if path is None else path)


def _gpu_of(
    device: str | None, prepared: PreparedRun, plan: SweepPlan, runs: int, executor: Executor | None, is_stored: bool
) -> GPULauncher | None:
    if device is None:
        return None
    functions = [f'"{kept.name}" is kept by your own function' for kept in plan.kept if not isinstance(kept.take, Measure)]
    reasons = functions + (["executor= sends the runs to other workers"] if executor is not None else [])
    cures = ["measures such as peak and last instead of functions"] if functions else []
    cures += ["executor=None"] if executor is not None else []
    if reasons and device == AUTO:
        return None
    if reasons:
        raise RunError(Problem("E289", f'this sweep cannot use "{device}"', tuple(reasons), cures=(*cures, ON_THE_CPU)))
    keep = {kept.name: kept.take for kept in plan.kept if isinstance(kept.take, Measure)}
    return prepared.gpu_launcher(device, runs, keep, is_stored=is_stored)


def _fill(
    store: Store,
    model: SentModel,
    points: Points,
    plan: SweepPlan,
    executor: Executor | None,
    gpu: GPULauncher | None,
    progress: bool,
) -> None:
    remaining = np.setdiff1d(np.arange(len(points)), store.done(), assume_unique=True)
    before, begin = len(points) - len(remaining), time.perf_counter()
    columns = [Column.of(entry) for entry in store.header()["columns"]]
    shapes = {column.name: column.shape for column in columns if column.what == "kept" and column.shape is not None}
    points_by_first_run = dict[int, dict[str, np.ndarray]]()
    done = failed = 0

    on_gpu = plan if gpu is None else replace(plan, gpu=gpu.name)

    def points_of_runs(runs: np.ndarray) -> dict[str, np.ndarray]:
        points_by_first_run[int(runs[0])] = points.at(runs)
        return points_by_first_run[int(runs[0])]

    def submit(to: Executor, runs: np.ndarray) -> Future[Chunk]:
        return to.submit(run_chunk, model, plan, runs, points_of_runs(runs))

    def take(chunk: Chunk) -> None:
        nonlocal done, failed
        for name, values in chunk.values.items():
            if shapes.setdefault(name, values.shape[1:]) != values.shape[1:]:
                run = int(chunk.runs[0])
                raise several_shapes(name, values.shape[1:], run, shapes[name], model.compiled.model.name)
        store.add(chunk, points_by_first_run.pop(int(chunk.runs[0])), shapes)
        done, failed = done + len(chunk.runs), failed + len(chunk.failures)
        note = f"{before + done} of {len(points)}, {speed(begin, done)}"
        bar.show(before + done, note + (f", {failed} failed" if failed else ""))

    bar = Progress(f'sweep of "{model.compiled.model.name}"', len(points), progress, initial=before)
    try:
        with bar:
            if gpu is not None:
                remaining = _on_gpu(gpu, remaining, lambda runs: run_chunk(model, on_gpu, runs, points_of_runs(runs)), take)
            if len(remaining):
                with executor_or_threads(executor) as chosen:
                    run_chunks(chosen, remaining, submit, take)
    except KeyboardInterrupt as interrupt:
        count = f"{before + done} of {plural(len(points), 'run')}"
        stored = f"{count} are stored in {store.path}: the same call resumes the sweep"
        interrupt.add_note(
            f'{count} are lost; with store="runs.db", the same call would resume' if store.path is None else stored
        )
        raise


def _on_gpu(gpu: GPULauncher, runs: np.ndarray, run: Callable[[np.ndarray], Chunk], take: Callable[[Chunk], None]) -> np.ndarray:
    size, target = _GPU_LEAST, ChunkTarget(GPU_SECONDS, least=_GPU_LEAST, growth=_MAX_GROWTH)
    while len(runs):
        try:
            chunk = run(runs[:size])
        except ProblemError as error:
            gpu.continue_on_cpu(error, len(runs))
            return runs
        take(chunk)
        runs = runs[size:]
        size = chunk_size(target, max(chunk.seconds / len(chunk.runs), 1e-9), len(runs), last=size)
    return runs


def _columns_of(
    keep: Mapping[str, Keepable], compiled: Compiled, points: Points, executor: Executor | None, samples: int
) -> tuple[Kept, ...]:
    about = compiled.model.name
    if not isinstance(keep, Mapping) or not keep:
        cures = ('keep={"speed": last("rotor.flow")}',)
        raise refusal("E362", f"quantities to keep must be given by name, not as {keep!r}"[:100], *cures, about=about)
    kept, problems = kept_columns(keep, compiled.program, samples)
    reserved = {RUN, FAILURE, *(each.name for each in points.varied)}
    arrays = {each.name for each in points.varied if each.role.shape} | {each.name for each in kept if each.shape != ()}
    for name in keep:
        if not isinstance(name, str) or not name.strip() or not name.isprintable():
            problems.append(Problem("E362", f"{name!r:.80} is not a valid column name", (), (), ("a printable string",)))
        elif name in reserved or ((part := _ENTRY_NAME.fullmatch(name)) and part[1] in arrays):
            cures = (f'another name: keep={{"{name} at the end": ...}}',)
            problems.append(Problem("E362", f"{name!r} names another column", (), (), cures))
    for column in kept:
        if not isinstance(column.take, Measure) and "<" in column.described and _pickles(executor):
            title = f'the function of "{column.name}" cannot be sent to other processes'
            problems.append(
                Problem(
                    "E366",
                    title,
                    (),
                    (),
                    (
                        "a function at the top level of a module, not a lambda or local function",
                        "executor=None, which uses threads",
                    ),
                )
            )
    raise_if_any(about, problems)
    return kept


def _check_method(method: Any, executor: Executor | None, about: str) -> None:
    if not isinstance(method, MethodEntry) or not _pickles(executor):
        return
    load = method.load.func if isinstance(method.load, functools.partial) else method.load
    if "<" in getattr(load, "__qualname__", "<"):
        cures = ("a `load` that is a function at the top level of a module", "executor=None, which uses threads")
        raise refusal("E366", f'the method "{method.name}" cannot be sent to other processes', *cures, about=about, places=())


def _pickles(executor: Executor | None) -> bool:
    """Return True for a process pool of Python, which sends functions by name; Dask sends the functions themselves."""
    if executor is None:
        return False
    from concurrent.futures import ProcessPoolExecutor  # this import loads multiprocessing

    return isinstance(executor, ProcessPoolExecutor)


def _header(model: SentModel, points: Points, settings_of_runs: SweepPlan, times: np.ndarray) -> dict[str, Any]:
    layout, columns = model.compiled.program.layout, []
    for each in points.varied:
        role = each.role
        unit = "" if role.states else layout.unit(role.name)
        columns.append(Column(each.name, "varied", role.part, unit, role.shape, bool(role.states)))
    columns += [Column(each.name, "kept", "", each.unit, each.shape, over_time=each.over_time) for each in settings_of_runs.kept]
    plan = {
        "model": model.fingerprint,
        "t_end": settings_of_runs.t_end,
        "count of runs": len(points),
        "axes": [[axis.name, axis.count] for axis in points.axes],
        **{f'setting "{name}"': _plain(value) for name, value in sorted(settings_of_runs.settings.items())},
        **{f'values of "{name}"': digest for name, digest in sorted(points.digest().items())},
        **{f'kept as "{each.name}"': each.described for each in sorted(settings_of_runs.kept, key=lambda each: each.name)},
    }
    return {
        "model": model.compiled.model.name,
        "t_end": settings_of_runs.t_end,
        "axes": plan["axes"],
        "times": times.tolist(),
        "columns": [column.stored for column in columns],
        "plan": plan,
    }


def _plain(value: Any) -> Any:
    if isinstance(value, MethodEntry):
        return value.name
    return value if isinstance(value, str | int | float | None) else np.asarray(value, dtype=float).tolist()
