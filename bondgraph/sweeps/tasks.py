"""Tasks: a model and the numbers of some runs in; what is kept of them, or why there is nothing, out. In any process."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from bondgraph.emit.machine import vector_width
from bondgraph.errors import ModelError, Problem, RunError
from bondgraph.run.measures import Measure
from bondgraph.run.results.failure import Doubt, Failure
from bondgraph.sweeps.keep import Kept
from bondgraph.sweeps.sending import SentModel

if TYPE_CHECKING:
    from bondgraph.prepared.runs import PreparedRun
    from bondgraph.run.batch.prepared import PreparedProgram

T = TypeVar("T")
Start = tuple[np.ndarray, np.ndarray, np.ndarray]
"""States, parameters and modes of a run, in the order of the kernels."""

OF_A_RUN = frozenset({"E308", "E309", "E310", "E330"})
"""Refusals of a run that follow from its numbers; all others would meet every run."""


@dataclass(frozen=True)
class Asked:
    """What is the same in all runs: their length, settings, what is kept, which argument each name that is varied goes to, and
    whether they are so many that they go side by side."""

    t_end: float
    settings: Mapping[str, Any]
    kept: tuple[Kept, ...]
    arguments: Mapping[str, str]
    side_by_side: bool = False


@dataclass(frozen=True)
class Fault:
    """Why a run failed, or is in doubt: its number, the kind of failure or a code, in words, the time (s; None of one that never
    began), what to suspect."""

    run: int
    kind: str
    reason: str
    time: float | None = None
    suspect: str = ""


@dataclass(frozen=True)
class Row:
    """What is stored of a run: its number, the values kept (none of one that failed), and what is wrong with it."""

    run: int
    values: tuple[np.ndarray, ...] | None
    failure: Fault | None = None
    doubts: tuple[Fault, ...] = ()


def run_chunk(model: SentModel, asked: Asked, runs: np.ndarray, points: Mapping[str, np.ndarray]) -> tuple[list[Row], float]:
    """Some runs (k,) one after the other, at points by name (k, ...); their rows, and the time that they took, s.

    Raises `ModelError` E365 for what is kept, `RunError` for settings.
    """
    begin = time.perf_counter()
    prepared = model.prepared(asked.t_end, asked.settings)
    plain = prepared.plain_starts(**_arguments(asked, points), runs=len(runs))
    starts, rows = dict[int, Start](), list[Row]()
    for k, run in enumerate(map(int, runs)):
        found = plain[k] if k in plain else attempted(run, functools.partial(_start, prepared, asked, points, k))
        if isinstance(found, Fault):
            rows.append(Row(run, None, found))
        else:
            starts[run] = found
    measures = {kept.name: kept.take for kept in asked.kept if isinstance(kept.take, Measure)}
    if prepared.runs.in_machine_code and len(measures) == len(asked.kept):
        rows += _together(starts, asked, prepared.runs, measures)
    else:
        rows += [_alone(run, start, asked, prepared.runs) for run, start in starts.items()]
    order = {int(run): k for k, run in enumerate(runs)}
    return sorted(rows, key=lambda row: order[row.run]), time.perf_counter() - begin


def _arguments(asked: Asked, points: Mapping[str, T]) -> dict[str, dict[str, T]]:
    """Parameters and start values among the points."""
    given: dict[str, dict[str, T]] = {"parameters": {}, "initial": {}}
    for name, values in points.items():
        given[asked.arguments[name]][name] = values
    return given


def _start(prepared: PreparedRun, asked: Asked, points: Mapping[str, np.ndarray], k: int) -> Start:
    """Numbers of one of the points, looked at alone."""
    own = {name: str(values[k]) if isinstance(values[k], str) else values[k] for name, values in points.items()}
    return prepared.start(**_arguments(asked, own))


def attempted(run: int, what: Callable[[], T]) -> T | Fault:
    """What a function gives, or what the numbers of a run forbid; refusals that would meet every run are raised."""
    try:
        return what()
    except ModelError as error:
        first = error.problems[0]
        return _refused(run, first)
    except RunError as error:
        if error.problem.code not in OF_A_RUN:
            raise
        return _refused(run, error.problem)


def _refused(run: int, problem: Problem) -> Fault:
    return Fault(run, problem.code, ": ".join(filter(None, (problem.title, "; ".join(problem.details)))))


def _alone(run: int, start: Start, asked: Asked, prepared: PreparedProgram) -> Row:
    """A run with its `Result`, for functions of the user's."""
    x, p, m = start
    result = attempted(run, functools.partial(prepared.judged, x, p, m))
    if isinstance(result, Fault):
        return Row(run, None, result)
    return _row(run, lambda: tuple(kept(result) for kept in asked.kept), result.failure, result.doubts)


def _together(starts: Mapping[int, Start], asked: Asked, prepared: PreparedProgram, measures: Mapping[str, Measure]) -> list[Row]:
    """Runs of which measures alone are kept, in one call of machine code."""
    if not starts:
        return []
    x, p, m = (np.array(blocks) for blocks in zip(*starts.values(), strict=True))
    ends = prepared.many(p, x, m, measures, threads=1, lanes=vector_width() if asked.side_by_side else 1)
    rows = []
    for k, run in enumerate(starts):
        if k in ends.refused:
            rows.append(Row(run, None, _refused(run, ends.refused[k].problem)))
            continue
        taken = functools.partial(tuple, [np.asarray(ends[name][k]) for name in measures])
        rows.append(_row(run, taken, ends.failures.get(k), ends.doubts.get(k, ())))
    return rows


def _row(run: int, taken: Callable[[], tuple[np.ndarray, ...]], failure: Failure | None, doubts: Sequence[Doubt]) -> Row:
    if failure is not None:
        return Row(run, None, Fault(run, failure.kind, failure.reason, failure.time, failure.suspect))
    return Row(run, taken(), None, tuple(Fault(run, "doubt", doubt.reason, doubt.time, doubt.suspect) for doubt in doubts))
