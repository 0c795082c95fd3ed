"""Tasks of a sweep's workers: run a chunk of points in any process, and return a row of kept values, or the failure, of each."""

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
from bondgraph.run.results.failure import Failure, ValidityConcern
from bondgraph.sweeps.kept_columns import Kept
from bondgraph.sweeps.worker_models import SentModel

if TYPE_CHECKING:
    from bondgraph.prepared.runs import PreparedRun
    from bondgraph.run.batch.prepared import PreparedProgram

T = TypeVar("T")
Start = tuple[np.ndarray, np.ndarray, np.ndarray]
"""States, parameters and modes of a run, in the order of the kernels."""

OF_A_RUN = frozenset({"E308", "E309", "E310", "E330"})
"""Error codes of a run that follow from its numbers; all others would stop every run."""


@dataclass(frozen=True)
class SweepPlan:
    """Settings that all runs of a sweep share: end time, settings, kept columns, the argument of `simulate` for each varied name,
    and whether runs are so many that they go into SIMD lanes."""

    t_end: float
    settings: Mapping[str, Any]
    kept: tuple[Kept, ...]
    arguments: Mapping[str, str]
    in_lanes: bool = False


@dataclass(frozen=True)
class RunIssue:
    """Failure of a run, or doubt about it: the run's number, the kind of failure or a code, the reason, the time (s; None of a
    run that never began), the suspect."""

    run: int
    kind: str
    reason: str
    time: float | None = None
    suspect: str = ""


@dataclass(frozen=True)
class Row:
    """Row of the store: the run's number, the values kept (None of a failed one), its failure and doubts."""

    run: int
    values: tuple[np.ndarray, ...] | None
    failure: RunIssue | None = None
    warnings: tuple[RunIssue, ...] = ()


def run_chunk(model: SentModel, plan: SweepPlan, runs: np.ndarray, points: Mapping[str, np.ndarray]) -> tuple[list[Row], float]:
    """Run the points (k, ...) of `runs` (k,) one after the other; return their rows, and the time that they took, s.

    Raises `ModelError` E365 for kept columns, `RunError` for settings.
    """
    begin = time.perf_counter()
    prepared = model.prepared(plan.t_end, plan.settings)
    plain = prepared.prechecked_starts(**_arguments(plan, points), runs=len(runs))
    starts, rows = dict[int, Start](), list[Row]()
    for k, run in enumerate(map(int, runs)):
        numbers = plain[k] if k in plain else attempted(run, functools.partial(_start, prepared, plan, points, k))
        if isinstance(numbers, RunIssue):
            rows.append(Row(run, None, numbers))
        else:
            starts[run] = numbers
    measures = {kept.name: kept.take for kept in plan.kept if isinstance(kept.take, Measure)}
    if prepared.program.in_machine_code and len(measures) == len(plan.kept):
        rows += _run_batch(starts, plan, prepared.program, measures)
    else:
        rows += [_run_single(run, start, plan, prepared.program) for run, start in starts.items()]
    order = {int(run): k for k, run in enumerate(runs)}
    return sorted(rows, key=lambda row: order[row.run]), time.perf_counter() - begin


def _arguments(plan: SweepPlan, points: Mapping[str, T]) -> dict[str, dict[str, T]]:
    """Return parameters and start values among the points."""
    arguments: dict[str, dict[str, T]] = {"parameters": {}, "initial": {}}
    for name, values in points.items():
        arguments[plan.arguments[name]][name] = values
    return arguments


def _start(prepared: PreparedRun, plan: SweepPlan, points: Mapping[str, np.ndarray], k: int) -> Start:
    """Return the start of one of the points, checked alone."""
    point = {name: str(values[k]) if isinstance(values[k], str) else values[k] for name, values in points.items()}
    return prepared.start_values(**_arguments(plan, point))


def attempted(run: int, function: Callable[[], T]) -> T | RunIssue:
    """Call a function; return its value, or the fault where the numbers of the run are refused. Other errors are raised."""
    try:
        return function()
    except ModelError as error:
        first = error.problems[0]
        return _refused(run, first)
    except RunError as error:
        if error.problem.code not in OF_A_RUN:
            raise
        return _refused(run, error.problem)


def _refused(run: int, problem: Problem) -> RunIssue:
    return RunIssue(run, problem.code, ": ".join(filter(None, (problem.title, "; ".join(problem.details)))))


def _run_single(run: int, start: Start, plan: SweepPlan, prepared: PreparedProgram) -> Row:
    """Run a point with its `Result`, for functions of the user's."""
    x, p, m = start
    result = attempted(run, functools.partial(prepared.judged, x, p, m))
    if isinstance(result, RunIssue):
        return Row(run, None, result)
    values = () if result.failure is not None else tuple(kept(result) for kept in plan.kept)
    return _row(run, values, result.failure, result.warnings)


def _run_batch(
    starts: Mapping[int, Start], plan: SweepPlan, prepared: PreparedProgram, measures: Mapping[str, Measure]
) -> list[Row]:
    """Run points of which measures alone are kept in one call of machine code."""
    if not starts:
        return []
    x, p, m = (np.array(blocks) for blocks in zip(*starts.values(), strict=True))
    ends = prepared.run_many(p, x, m, measures, threads=1, lanes=vector_width() if plan.in_lanes else 1)
    rows = []
    for k, run in enumerate(starts):
        if k in ends.errors:
            rows.append(Row(run, None, _refused(run, ends.errors[k].problem)))
            continue
        values = tuple(np.asarray(ends[name][k]) for name in measures)
        rows.append(_row(run, values, ends.failures.get(k), ends.warnings.get(k, ())))
    return rows


def _row(run: int, values: tuple[np.ndarray, ...], failure: Failure | None, doubts: Sequence[ValidityConcern]) -> Row:
    if failure is not None:
        return Row(run, None, RunIssue(run, failure.kind, failure.reason, failure.time, failure.suspect))
    return Row(run, values, None, tuple(RunIssue(run, "doubt", doubt.reason, doubt.time, doubt.suspect) for doubt in doubts))
