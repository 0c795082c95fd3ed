"""Parameter sweeps: `sweep` runs a model for many parameters and start values, in a store that it can resume."""

from __future__ import annotations

import functools
import os
import re
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor, Future
from typing import Any, Unpack

import numpy as np

from bondgraph.compile.compiled import Compiled
from bondgraph.emit.kernel import MANY
from bondgraph.errors import Problem, raise_if_any, refusal
from bondgraph.methods import MethodEntry
from bondgraph.output.progress import Progress
from bondgraph.run.measures import Measure
from bondgraph.run.settings import check_names, sample_times, span_of
from bondgraph.run_arguments import SETTINGS, RunSettings, spelled_settings
from bondgraph.sweeps.columns import Column
from bondgraph.sweeps.executors import executor_or_threads, run_chunks, speed
from bondgraph.sweeps.kept_columns import Keepable, Kept, kept_of
from bondgraph.sweeps.points import FAILURE, RUN, Points, points_of
from bondgraph.sweeps.runs import Runs
from bondgraph.sweeps.store import Store, distinct, path_of
from bondgraph.sweeps.tasks import Row, SweepPlan, run_chunk
from bondgraph.sweeps.worker_models import SentModel, Source, sent_model

OWN = frozenset({"progress", "strict"})
"""Settings of a run that a sweep handles itself."""
_AMONG = 'the names with the other points: {"spring.stiffness": [20.0, 50.0], "spring.q": 0.1}; one value is that of all runs'
INSTEAD = {"initial": _AMONG, "parameters": _AMONG}
"""Settings of a run that a sweep does not take, with the cure."""
_PART = re.compile(r"(.+)\[[\d, ]+\]")
"""Name of an entry of an array in a table."""
_MOST_COLUMNS = 1900
"""Largest number of columns of a store; SQLite has 2000."""


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
    **settings: Unpack[RunSettings],
) -> Runs:
    """Run a model for many parameters and start values.

    Parameters
    ----------
    model : a graph or compiled model; for processes, a function of a module that builds the graph.
    points : {name: values}: all values are crossed with all others, a single value is the same for all runs, and distributions
        (`normal(50.0, 2.0)`, or of `scipy.stats`) are drawn from; a list of {name: value}, or a DataFrame, one row for each run.
        Names are those of parameters, "spring.stiffness", of states with their start values, "spring.q", and of automata.
    t_end : s, of every run.
    keep : {column: quantity or measure}: "rotor.flow", its values at all samples; `last("rotor.flow")` or another measure of
        `bondgraph.measures`; or a function of the `Result`.
    runs, seed : number of draws from distributions; the numbers of a run follow from the seed, its number and the names alone.
    store : file of an SQLite database, created or resumed: stored runs are not run again. More values after those of the first
        axis, and more draws where nothing is crossed, are added to it. None keeps runs in memory.
    executor : of `concurrent.futures`, Dask or mpi4py; it stays open. None starts threads, one for each processor.

    A failed run is stored with its reason. Raises `ModelError` E360 to E363, E365, E366 with all problems of points or keep;
    `FileError` E364 for an invalid store or path; `RunError` E367 where a worker dies, and for settings;
    `KeyboardInterrupt` with a note on how to resume, after the finished runs are stored.
    """
    check_names(settings, SETTINGS.keys() - {"strict"}, INSTEAD)
    progress, more = settings.get("progress", True), {key: value for key, value in settings.items() if key not in OWN}
    sent = sent_model(model, progress=progress)
    compiled = sent.compiled
    planned = points_of(points, compiled, runs, seed)
    _check_method(more.get("method"), executor, compiled.model.name)
    sent.prepared(t_end, more)  # raises for invalid settings before anything is stored
    start, end = span_of(settings.get("t_start", 0.0), t_end)
    _, times = sample_times(settings.get("samples"), start, end)
    kept = _columns_of(keep, compiled, planned, executor, len(times))
    plan = SweepPlan(end, more, kept, {each.name: each.role.argument for each in planned.varied}, len(planned) >= MANY)
    path = None if store is None else path_of(store)
    opened = Store(path)
    try:
        opened.begin(_header(sent, planned, plan, times), lambda count: _header(sent, planned.first(count), plan, times))
        _fill(opened, sent, planned, plan, executor, progress)
    finally:
        if path is not None:
            opened.close()
    return Runs(opened if path is None else path)


def _fill(store: Store, model: SentModel, points: Points, plan: SweepPlan, executor: Executor | None, progress: bool) -> None:
    """Run the points that are not stored yet."""
    remaining = np.setdiff1d(np.arange(len(points)), store.done(), assume_unique=True)
    before, begin = len(points) - len(remaining), time.perf_counter()
    shapes: dict[str, tuple[int, ...]] = {kept.name: kept.shape for kept in plan.kept if kept.shape is not None}
    names, sent = [kept.name for kept in plan.kept], dict[int, dict[str, np.ndarray]]()
    done = failed = 0

    def submit(to: Executor, runs: np.ndarray) -> Future[tuple[list[Row], float]]:
        sent[int(runs[0])] = points.at(runs)
        return to.submit(run_chunk, model, plan, runs, sent[int(runs[0])])

    def take(rows: list[Row]) -> None:
        nonlocal done, failed
        for row in rows:
            _check_shapes(plan.kept, row, shapes, model.compiled.model.name)
        store.add(rows, sent.pop(rows[0].run), names, shapes)
        done, failed = done + len(rows), failed + sum(row.failure is not None for row in rows)
        note = f"{before + done} of {len(points)}, {speed(begin, done)}"
        bar.show(before + done, note + (f", {failed} failed" if failed else ""))

    bar = Progress(f'sweep of "{model.compiled.model.name}"', len(points), progress, initial=before)
    try:
        with bar, executor_or_threads(executor) as chosen:
            run_chunks(chosen, remaining, submit, take)
    except KeyboardInterrupt as interrupt:
        count = f"{before + done} of {len(points)} runs"
        stored = f"{count} are stored in {store.path}: the same call goes on from there"
        interrupt.add_note(f'{count} are lost: with store="runs.db" the same call goes on' if store.path is None else stored)
        raise


def _check_shapes(kept: Sequence[Kept], row: Row, shapes: dict[str, tuple[int, ...]], about: str) -> None:
    """Raise E365 where a function of the user's gives arrays of several shapes; `shapes` notes the first of each column."""
    for column, value in zip(kept, row.values or (), strict=False):
        if shapes.setdefault(column.name, value.shape) != value.shape:
            title = f'"{column.name}" is of shape {value.shape} in run {row.run}, and of {shapes[column.name]} in others'
            raise refusal("E365", title, "numbers of one shape, nan where there is nothing", about=about)


def _columns_of(
    keep: Mapping[str, Keepable], compiled: Compiled, points: Points, executor: Executor | None, samples: int
) -> tuple[Kept, ...]:
    """Return the columns to keep; E362, E366 with all their problems."""
    about = compiled.model.name
    if not isinstance(keep, Mapping) or not keep:
        cures = ('keep={"speed": last("rotor.flow")}',)
        raise refusal("E362", f"what is to be kept must be named, not {keep!r}"[:100], *cures, about=about)
    kept, problems = kept_of(keep, compiled.program, samples)
    reserved = {RUN, FAILURE, *(each.name for each in points.varied)}
    arrays = {each.name for each in points.varied if each.role.shape} | {each.name for each in kept if each.shape != ()}
    for name in keep:
        if not isinstance(name, str) or not name.strip() or not name.isprintable():
            problems.append(Problem("E362", f"{name!r:.80} is no name of a column", (), (), ("a text that can be printed",)))
        elif name in reserved or ((part := _PART.fullmatch(name)) and part[1] in arrays):
            cures = (f'another name: keep={{"{name} at the end": ...}}',)
            problems.append(Problem("E362", f"{name!r} names another column", (), (), cures))
    if len(keep) + len(points.varied) > _MOST_COLUMNS:
        title = f"{len(keep)} columns are more than a store holds"
        problems.append(Problem("E362", title, (), (), ("a function that gives an array of many numbers",)))
    for column in kept:
        if not isinstance(column.take, Measure) and "<" in column.described and _pickles(executor):
            title = f'other processes cannot have the function of "{column.name}"'
            problems.append(Problem("E366", title, (), (), ("a function of a module, by its name", "threads: executor=None")))
    raise_if_any(about, problems)
    return kept


def _check_method(method: Any, executor: Executor | None, about: str) -> None:
    """Raise E366 for a method that other processes cannot have."""
    if not isinstance(method, MethodEntry) or not _pickles(executor):
        return
    load = method.load.func if isinstance(method.load, functools.partial) else method.load
    if "<" in getattr(load, "__qualname__", "<"):
        cures = ("a `load` that is a function of a module, by its name", "threads: executor=None")
        raise refusal("E366", f'other processes cannot have the method "{method.name}"', *cures, about=about, places=())


def _pickles(executor: Executor | None) -> bool:
    """Return True if functions reach the workers by name alone; others, as Dask, send functions as they are."""
    if executor is None:
        return False
    from concurrent.futures import ProcessPoolExecutor  # loads multiprocessing

    return isinstance(executor, ProcessPoolExecutor)


def _header(model: SentModel, points: Points, settings_of_runs: SweepPlan, times: np.ndarray) -> dict[str, Any]:
    """Return the header of a store; a sweep resumes only a store with the same `plan`."""
    names = distinct([*(each.name for each in points.varied), *(each.name for each in settings_of_runs.kept)])
    columns = [
        Column(each.name, names[each.name], "varied", each.role.part, each.role.unit, each.role.shape, bool(each.role.states))
        for each in points.varied
    ]
    columns += [
        Column(each.name, names[each.name], "kept", "", each.unit, each.shape, over_time=each.over_time)
        for each in settings_of_runs.kept
    ]
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
