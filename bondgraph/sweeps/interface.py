"""Sweeps: a model, what is varied and what is kept in; every run once, in a store that can be gone on with, out."""

from __future__ import annotations

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
from bondgraph.output.progress import Progress
from bondgraph.run.settings import known, sample_times, span_of
from bondgraph.run_arguments import SETTINGS, RunSettings, spelled_settings
from bondgraph.sweeps.columns import Column
from bondgraph.sweeps.driving import drive, executor_or_threads, speed
from bondgraph.sweeps.keep import Keepable, Kept, Measure, kept_of
from bondgraph.sweeps.points import FAILURE, RUN, Points, points_of
from bondgraph.sweeps.runs import Runs
from bondgraph.sweeps.sending import SentModel, Source, sent_model
from bondgraph.sweeps.store import Store, distinct, path_of
from bondgraph.sweeps.tasks import Asked, Row, run_chunk

OWN = frozenset({"progress", "strict"})
"""Settings of a run that a sweep decides."""
_AMONG = 'the names with the other points: {"spring.stiffness": [20.0, 50.0], "spring.q": 0.1}; one value is that of all runs'
INSTEAD = {"initial": _AMONG, "parameters": _AMONG}
"""Settings that a run has, and a sweep has not, with what to do."""
_PART = re.compile(r"(.+)\[[\d, ]+\]")
"""What an entry of an array is called in a table."""
_MOST_COLUMNS = 1900
"""SQLite has 2000."""


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
    points : {name: values}, where all values are crossed with all others, one alone is the same for all runs, and distributions
        (`normal(50.0, 2.0)`, or of `scipy.stats`) are drawn from; a list of {name: value}, or a DataFrame, one row for each run.
        Names are those of parameters, "spring.stiffness", of states that then start from there, "spring.q", and of automata.
    t_end : s, of every run.
    keep : {column: what is kept}: "rotor.flow", its course at all samples; `last("rotor.flow")`, `peak`, `mean`, `integral`,
        `first_time("bounces")`, `events("bounces")`; or a function of the `Result`.
    runs, seed : how often is drawn from distributions; the numbers of a run follow from the seed, its number and the names alone.
    store : file of an SQLite database, made or gone on with: runs that are there are not run again. More values behind those
        of the first axis, and more draws where nothing is crossed, are added to it. None keeps runs in memory.
    executor : of `concurrent.futures`, Dask or mpi4py; it stays open. None makes threads, one for each processor.

    A run that fails is kept with its reason. Raises `ModelError` E360 to E363, E365, E366 with all problems of points or keep;
    `FileError` E364 for a store that is none, or no path; `RunError` E367 where a worker dies, and for settings;
    `KeyboardInterrupt` with a note that says how to go on, after what has come was stored.
    """
    known(settings, SETTINGS.keys() - {"strict"}, INSTEAD)
    wanted, more = settings.get("progress", True), {key: value for key, value in settings.items() if key not in OWN}
    sent = sent_model(model, progress=wanted)
    compiled = sent.compiled
    planned = points_of(points, compiled, runs, seed)
    sent.prepared(t_end, more)  # refuses settings before anything is stored
    start, end = span_of(settings.get("t_start", 0.0), t_end)
    _, times = sample_times(settings.get("samples"), start, end)
    kept = _columns_of(keep, compiled, planned, executor, len(times))
    asked = Asked(end, more, kept, {one.name: one.role.argument for one in planned.varied}, len(planned) >= MANY)
    path = None if store is None else path_of(store)
    opened = Store(path)
    try:
        opened.begin(_header(sent, planned, asked, times), lambda count: _header(sent, planned.first(count), asked, times))
        _fill(opened, sent, planned, asked, executor, wanted)
    finally:
        if path is not None:
            opened.close()
    return Runs(opened if path is None else path)


def _fill(store: Store, model: SentModel, points: Points, asked: Asked, executor: Executor | None, wanted: bool) -> None:
    """Run what is not stored yet."""
    left = np.setdiff1d(np.arange(len(points)), store.done(), assume_unique=True)
    before, begin = len(points) - len(left), time.perf_counter()
    shapes: dict[str, tuple[int, ...]] = {kept.name: kept.shape for kept in asked.kept if kept.shape is not None}
    names, sent = [kept.name for kept in asked.kept], dict[int, dict[str, np.ndarray]]()
    done = failed = 0

    def submit(to: Executor, runs: np.ndarray) -> Future[tuple[list[Row], float]]:
        sent[int(runs[0])] = points.at(runs)
        return to.submit(run_chunk, model, asked, runs, sent[int(runs[0])])

    def take(rows: list[Row]) -> None:
        nonlocal done, failed
        for row in rows:
            _check_shapes(asked.kept, row, shapes, model.compiled.model.name)
        store.add(rows, sent.pop(rows[0].run), names, shapes)
        done, failed = done + len(rows), failed + sum(row.failure is not None for row in rows)
        note = f"{before + done} of {len(points)}, {speed(begin, done)}"
        bar.show(before + done, note + (f", {failed} failed" if failed else ""))

    bar = Progress(f'sweep of "{model.compiled.model.name}"', len(points), wanted, initial=before)
    try:
        with bar, executor_or_threads(executor) as chosen:
            drive(chosen, left, submit, take)
    except KeyboardInterrupt as interrupt:
        told = f"{before + done} of {len(points)} runs"
        goes_on = f"{told} are stored in {store.path}: the same call goes on from there"
        interrupt.add_note(f'{told} are lost: with store="runs.db" the same call goes on' if store.path is None else goes_on)
        raise


def _check_shapes(kept: Sequence[Kept], row: Row, shapes: dict[str, tuple[int, ...]], about: str) -> None:
    """E365 where a function of the user's gives arrays of several shapes; those that are met first are noted."""
    for column, value in zip(kept, row.values or (), strict=False):
        if shapes.setdefault(column.name, value.shape) != value.shape:
            title = f'"{column.name}" is of shape {value.shape} in run {row.run}, and of {shapes[column.name]} in others'
            raise refusal("E365", title, "numbers of one shape, nan where there is nothing", about=about)


def _columns_of(
    keep: Mapping[str, Keepable], compiled: Compiled, points: Points, executor: Executor | None, samples: int
) -> tuple[Kept, ...]:
    """What is kept; E362, E366 with all that is wrong with it."""
    about = compiled.model.name
    if not isinstance(keep, Mapping) or not keep:
        cures = ('keep={"speed": last("rotor.flow")}',)
        raise refusal("E362", f"what is to be kept must be named, not {keep!r}"[:100], *cures, about=about)
    kept, problems = kept_of(keep, compiled.program, samples)
    taken = {RUN, FAILURE, *(one.name for one in points.varied)}
    arrays = {one.name for one in points.varied if one.role.shape} | {one.name for one in kept if one.shape != ()}
    for name in keep:
        if not isinstance(name, str) or not name.strip() or not name.isprintable():
            problems.append(Problem("E362", f"{name!r:.80} is no name of a column", (), (), ("a text that can be printed",)))
        elif name in taken or ((part := _PART.fullmatch(name)) and part[1] in arrays):
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


def _pickles(executor: Executor | None) -> bool:
    """Whether tasks leave this process by name alone; others, as Dask, send functions as they are."""
    if executor is None:
        return False
    from concurrent.futures import ProcessPoolExecutor  # which loads multiprocessing

    return isinstance(executor, ProcessPoolExecutor)


def _header(model: SentModel, points: Points, asked: Asked, times: np.ndarray) -> dict[str, Any]:
    """What a store says of itself; `plan` is what must be the same for it to be gone on with."""
    names = distinct([*(one.name for one in points.varied), *(one.name for one in asked.kept)])
    columns = [
        Column(one.name, names[one.name], "varied", one.role.part, one.role.unit, one.role.shape, bool(one.role.states))
        for one in points.varied
    ]
    columns += [Column(one.name, names[one.name], "kept", "", one.unit, one.shape, over_time=one.over_time) for one in asked.kept]
    plan = {
        "model": model.fingerprint,
        "t_end": asked.t_end,
        "count of runs": len(points),
        "axes": [[axis.name, axis.count] for axis in points.axes],
        **{f'setting "{name}"': _plain(value) for name, value in sorted(asked.settings.items())},
        **{f'values of "{name}"': digest for name, digest in sorted(points.digest().items())},
        **{f'kept as "{one.name}"': one.described for one in sorted(asked.kept, key=lambda one: one.name)},
    }
    return {
        "model": model.compiled.model.name,
        "t_end": asked.t_end,
        "axes": plan["axes"],
        "times": times.tolist(),
        "columns": [column.stored for column in columns],
        "plan": plan,
    }


def _plain(value: Any) -> Any:
    return value if isinstance(value, str | int | float | None) else np.asarray(value, dtype=float).tolist()
