"""Tasks: a model and the numbers of some runs in; what is kept of them, or why there is nothing, out. In any process."""

from __future__ import annotations

import contextlib
import math
import threading
import time
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bondgraph.compile.compiled import Compiled
from bondgraph.errors import ModelError, RoundingWarning, RunDoubtWarning, RunEndedWarning, RunError
from bondgraph.run.outcome.result import Result
from bondgraph.sweeps.keep import Kept
from bondgraph.sweeps.sending import SentModel

OF_A_RUN = frozenset({"E308", "E309", "E310", "E330"})
"""Refusals of a run that follow from its numbers; all others would meet every run."""


@dataclass(frozen=True)
class Asked:
    """What is the same in all runs: their length, settings, what is kept, and which argument each name that is varied goes to."""

    t_end: float
    settings: Mapping[str, Any]
    kept: tuple[Kept, ...]
    arguments: Mapping[str, str]


@dataclass(frozen=True)
class Fault:
    """Why a run failed, or is in doubt: its number, the kind of failure or a code, in words, the time (s), what to suspect."""

    run: int
    kind: str
    reason: str
    time: float = math.nan
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
    with quiet():
        rows = [_row(model.compiled, asked, int(run), {name: of[k] for name, of in points.items()}) for k, run in enumerate(runs)]
    return rows, time.perf_counter() - begin


def _row(compiled: Compiled, asked: Asked, run: int, point: Mapping[str, Any]) -> Row:
    try:
        result = simulated(compiled, asked, point)
    except ModelError as error:
        first = error.problems[0]
        return Row(run, None, Fault(run, first.code, ": ".join([first.title, "; ".join(first.details)]).removesuffix(": ")))
    except RunError as error:
        if error.problem.code not in OF_A_RUN:
            raise
        return Row(run, None, Fault(run, error.problem.code, ": ".join([error.problem.title, *error.problem.details])))
    if result.failure is not None:
        failure = result.failure
        return Row(run, None, Fault(run, failure.kind, failure.reason, failure.time, failure.suspect))
    doubts = tuple(Fault(run, "doubt", doubt.reason, doubt.time, doubt.suspect) for doubt in result.doubts)
    return Row(run, tuple(kept(result) for kept in asked.kept), None, doubts)


def simulated(compiled: Compiled, asked: Asked, point: Mapping[str, Any]) -> Result:
    """One run; what its numbers forbid is raised."""
    given: dict[str, dict[str, Any]] = {"parameters": {}, "initial": {}}
    for name, value in point.items():
        given[asked.arguments[name]][name] = str(value) if isinstance(value, str) else value
    return compiled.simulate(asked.t_end, **given, **{**asked.settings, "progress": False})  # type: ignore[arg-type]


class _Quiet:
    """Warnings of single runs are left out as long as anybody here runs some: filters of warnings belong to all threads."""

    def __init__(self) -> None:
        self.lock, self.users, self.filters = threading.Lock(), 0, contextlib.ExitStack()

    def enter(self) -> None:
        with self.lock:
            if self.users == 0:
                self.filters.enter_context(warnings.catch_warnings())
                for kind in (RunEndedWarning, RunDoubtWarning, RoundingWarning):
                    warnings.simplefilter("ignore", kind)
            self.users += 1

    def leave(self) -> None:
        with self.lock:
            self.users -= 1
            if self.users == 0:
                self.filters.close()


_QUIET = _Quiet()


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """A block in which runs do not warn that they ended early or are in doubt: their rows say so."""
    _QUIET.enter()
    try:
        yield
    finally:
        _QUIET.leave()
