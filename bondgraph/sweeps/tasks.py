"""Tasks of a sweep's workers: receive the model, run chunks of points in any process, and return the kept values."""

from __future__ import annotations

import functools
import hashlib
import json
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from bondgraph.compile.compiled import Compiled
from bondgraph.compile.pipeline import Compilable, compile_model, compiled_form
from bondgraph.emit.machine import vector_width
from bondgraph.errors import ModelError, Problem, RunError, no_model, refusal
from bondgraph.interchange import dump_model, parse_model
from bondgraph.prepared.runs import PreparedRun, shared_runs
from bondgraph.quantities import real
from bondgraph.run.batch.results import CPU
from bondgraph.run.measures import Measure, measure_of, why_not
from bondgraph.run.program import Program
from bondgraph.run.results.failure import Failure, ValidityConcern
from bondgraph.run.results.result import Result
from bondgraph.run_arguments import KeepOptions, RunSettings

if TYPE_CHECKING:
    from bondgraph.run.batch.prepared import PreparedProgram


Source = Compilable | Callable[[], Compilable]

_CACHE_SIZE = 4
_worker_models: dict[tuple[str, str], SentModel] = {}
_lock = threading.Lock()


class SentModel:
    """Compiled model with its fingerprint, as sent to workers.

    Another process receives the model as text and compiles it. If the model has no text, or functions compute its start values,
    the process receives the function that builds the model.
    """

    def __init__(self, compiled: Compiled, build: Callable[[], Compilable] | None = None):
        self.compiled, self.build = compiled, build
        self.backend = "llvm" if compiled.program.rates.is_machine_code else "numpy"
        self._lock, self._bound = threading.Lock(), cast("tuple[Mapping[str, Any], PreparedRun] | None", None)
        self.text, self.why, self.fingerprint = _text_and_fingerprint(compiled)

    def prepared(self, t_end: float, settings: Mapping[str, Any]) -> PreparedRun:
        with self._lock:
            if self._bound is None or self._bound[0] is not settings:
                quiet = cast(RunSettings, {**settings, "progress": False})
                self._bound = settings, shared_runs(self.compiled, t_end, KeepOptions(), quiet)
            return self._bound[1]

    def __reduce__(self) -> tuple[Callable[..., SentModel], tuple[object, ...]]:
        if self.text and not self.compiled.system.starts:
            return model_from_text, (self.text, self.backend, self.fingerprint)
        if self.build is not None:
            return model_from_function, (self.build, self.fingerprint)
        why = self.why or ("functions compute its start values, but its stored text would contain only their results",)
        cures = ("sweep(function, ...), where a function of a module builds the graph", "executor=None, for threads")
        name = self.compiled.model.name
        raise refusal("E366", "this model cannot be sent to other processes", *cures, about=name, why=why, places=())


def sent_model(model: Source, *, progress: bool) -> SentModel:
    if not isinstance(model, Compilable) and callable(model):
        built = model()
        if not isinstance(built, Compilable):
            raise no_model(built, "sweep")
        return SentModel(compiled_form(built, "sweep", progress=progress), model)
    return SentModel(compiled_form(model, "sweep", progress=progress))


def model_from_text(text: str, backend: str, fingerprint: str) -> SentModel:
    def read() -> SentModel:
        return SentModel(compile_model(parse_model(text, largest=len(text)), backend=backend, progress=False))

    return _cached(fingerprint, backend, read)


def model_from_function(build: Callable[[], Compilable], fingerprint: str) -> SentModel:
    model = _cached(fingerprint, "", lambda: sent_model(build, progress=False))
    if model.fingerprint != fingerprint:
        cure = "a function that builds the same graph at every call, from the same file on every machine"
        name = model.compiled.model.name
        raise refusal("E366", "the function builds a different model in a worker", cure, about=name, places=())
    return model


def _cached(fingerprint: str, backend: str, make: Callable[[], SentModel]) -> SentModel:
    with _lock:
        if (fingerprint, backend) not in _worker_models:
            model = make()
            while len(_worker_models) >= _CACHE_SIZE:
                del _worker_models[next(iter(_worker_models))]
            _worker_models[fingerprint, backend] = model
        return _worker_models[fingerprint, backend]


_texts = dict[int, tuple[str, tuple[str, ...], str]]()
"""Serialised models and fingerprints of compiled models by `id`, as long as the models exist."""


def _text_and_fingerprint(compiled: Compiled) -> tuple[str, tuple[str, ...], str]:
    key = id(compiled)
    if key not in _texts:
        text, why = _text(compiled)
        _texts[key] = text, why, _digest(_without_lines(json.loads(text))) if text else _digest_of_values(compiled)
        weakref.finalize(compiled, _texts.pop, key, None).atexit = False
    return _texts[key]


def _text(compiled: Compiled) -> tuple[str, tuple[str, ...]]:
    try:
        return dump_model(compiled), ()
    except ModelError as error:
        return "", tuple(line for problem in error.problems for line in (problem.title, *problem.details))


def _without_lines(value: Any) -> Any:
    """Return JSON without source line numbers, so that lines added above the model do not alter the result."""
    if isinstance(value, dict):
        return {key: _without_lines(item) for key, item in value.items() if not (key == "place" and isinstance(item, list))}
    return [_without_lines(item) for item in value] if isinstance(value, list) else value


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()


def _digest_of_values(compiled: Compiled) -> str:
    system, program = compiled.system, compiled.program
    (x, m), p = compiled.initial(), compiled.parameters()
    described = sorted((name, value.unit, value.shape) for name, value in system.values.items())
    modes = sorted((name, (mode.states, mode.start)) for name, mode in system.modes.items())
    parts = [repr((compiled.model.name, described, modes)), x.tolist(), p.tolist(), m.tolist()]
    for at in (x, x + 0.1 * program.typical):
        for kernel in (program.rates, program.guards, program.powers, program.energies):
            with np.errstate(all="ignore"):
                parts.append([] if kernel is None else kernel(0.0, at, p, m).tolist())
    return _digest(parts)


Keepable = str | Measure | Callable[[Result], object]
"""Value of `keep=`: a quantity, of which all samples are kept, a measure, or a user's function of the result."""


@dataclass(frozen=True)
class Kept:
    """Column to keep: name, function that computes its values, unit, and shape if known beforehand; the first axis runs over the
    samples if `over_time`."""

    name: str
    take: Callable[[Any], object]
    unit: str = ""
    shape: tuple[int, ...] | None = None
    over_time: bool = False

    @property
    def described(self) -> str:
        """String that identifies the measure or function in a plan; functions of `screwbond.models` have their names in older
        files."""
        if isinstance(self.take, Measure):
            return self.take.stored
        module = self.take.__module__.removeprefix("screwbond.")
        return f"{module}:{getattr(self.take, '__qualname__', type(self.take).__qualname__)}"

    def __call__(self, result: Result) -> np.ndarray:
        """Return the column's values of a finished run.

        Raises `ModelError` E365 if a user's function fails or does not return numbers.
        """
        if isinstance(self.take, Measure):
            return self.take(result)
        try:
            value = self.take(result)
        except Exception as error:
            raise _failed(self, f"{type(error).__name__}: {error}") from error
        numbers = real(value)
        if isinstance(value, Measure):
            raise _failed(self, "it is a function that makes measures", 'a measure, such as peak("rotor.flow")')
        if numbers is None:
            raise _failed(self, f"it returns {type(value).__name__}, which is neither a number nor an array of numbers")
        return numbers


def _failed(kept: Kept, why: str, *cures: str) -> Exception:
    title = f'"{kept.name}" in keep= cannot be computed'
    cures = cures or ("a call of the function with the result of one run, to locate the error", "nan if a run has no value")
    return refusal("E365", title, *cures, about="sweep", why=why, places=())


def kept_columns(keep: Mapping[str, Keepable], program: Program, samples: int) -> tuple[tuple[Kept, ...], list[Problem]]:
    columns, problems = [], []
    for name, measured in keep.items():
        measure = measure_of(measured)
        if callable(measure) and not isinstance(measure, Measure):
            columns.append(Kept(name, measure))
        elif reasons := why_not(measure, program):
            problems.append(Problem("E362", f'"{name}" cannot be kept: {reasons[0]}', (), (), reasons[1:]))
        elif isinstance(measure, Measure):
            shape, over_time = measure.shape(program), measure.kind.over_time
            columns.append(Kept(name, measure, measure.unit(program), (samples, *shape) if over_time else shape, over_time))
    return tuple(columns), problems


T = TypeVar("T")
Start = tuple[np.ndarray, np.ndarray, np.ndarray]
"""States, parameters and modes of a run, in the order of the kernels."""

SINGLE_RUN_CODES = frozenset({"E308", "E309", "E310", "E330"})
"""Codes of errors that the numbers of a single run can cause; any other error would stop every run."""


@dataclass(frozen=True)
class SweepPlan:
    """Settings that all runs of a sweep share: end time, settings, kept columns, argument of `simulate` for each varied name,
    True if there are enough runs to use SIMD lanes, and name of the GPU, "" for the CPU."""

    t_end: float
    settings: Mapping[str, Any]
    kept: tuple[Kept, ...]
    arguments: Mapping[str, str]
    in_lanes: bool = False
    gpu: str = ""


@dataclass(frozen=True)
class RunIssue:
    """Failure of a run, or a concern about it: run number, kind of failure or error code ("doubt" for a concern), reason, time
    (s; None for a run that never began), and suspect element."""

    run: int
    kind: str
    reason: str
    time: float | None = None
    suspect: str = ""


@dataclass(frozen=True)
class Chunk:
    """Finished runs.

    Parameters
    ----------
    runs : ascending run numbers (k,).
    values : kept columns by name, (k, *shape), NaN for failed runs; columns that no run returned are missing.
    failures, warnings : failed runs, and warnings about other runs.
    seconds : duration, s.
    devices : device that executed each run (k,); None if no GPU took part.
    """

    runs: np.ndarray
    values: Mapping[str, np.ndarray]
    failures: tuple[RunIssue, ...]
    warnings: tuple[RunIssue, ...]
    seconds: float = 0.0
    devices: np.ndarray | None = None

    def part(self, chosen: np.ndarray) -> Chunk:
        runs, values = self.runs[chosen], {name: values[chosen] for name, values in self.values.items()}
        numbers = set(runs.tolist()) if self.failures or self.warnings else ()
        failures, doubts = (tuple(issue for issue in issues if issue.run in numbers) for issues in (self.failures, self.warnings))
        devices = None if self.devices is None else self.devices[chosen]
        return Chunk(runs, values, failures, doubts, self.seconds, devices)


def run_chunk(model: SentModel, plan: SweepPlan, runs: np.ndarray, points: Mapping[str, np.ndarray]) -> Chunk:
    """Run ascending `runs` (k,), whose `points` are values (k, ...) by name.

    Raises `ModelError` E365 for kept columns, `RunError` for invalid settings.
    """
    begin = time.perf_counter()
    prepared = model.prepared(plan.t_end, plan.settings)
    ready, *starts = prepared.prechecked_starts(**_arguments(plan, points), runs=len(runs))
    refused = list[RunIssue]()
    if not ready.all():
        starts = [np.array(np.broadcast_to(block, (len(runs), block.shape[1]))) for block in starts]
        for k in np.flatnonzero(~ready).tolist():
            numbers = value_or_issue(int(runs[k]), functools.partial(_start, prepared, plan, points, k))
            if isinstance(numbers, RunIssue):
                refused.append(numbers)
                continue
            ready[k] = True
            for block, row in zip(starts, numbers, strict=True):
                block[k] = row
        starts = [block[ready] for block in starts]
    measures = {kept.name: kept.take for kept in plan.kept if isinstance(kept.take, Measure)}
    in_one_call = prepared.program.in_machine_code and len(measures) == len(plan.kept)
    about = model.compiled.model.name
    if not ready.any():
        ran = Chunk(runs[ready], {}, (), ())
    elif in_one_call:
        ran = _run_batch(runs[ready], starts, plan, prepared, measures)
    else:
        ran = _run_single(runs[ready], starts, plan, prepared.program, about)
    values = {name: _scattered(each, ready) for name, each in ran.values.items()}
    devices = None
    if ran.devices is not None:
        devices = np.full(len(runs), CPU, dtype=ran.devices.dtype)
        devices[ready] = ran.devices
    return Chunk(runs, values, (*refused, *ran.failures), ran.warnings, time.perf_counter() - begin, devices)


def _scattered(values: np.ndarray, ready: np.ndarray) -> np.ndarray:
    if ready.all():
        return values
    spread = np.full((len(ready), *values.shape[1:]), np.nan)
    spread[ready] = values
    return spread


def _arguments(plan: SweepPlan, points: Mapping[str, T]) -> dict[str, dict[str, T]]:
    arguments: dict[str, dict[str, T]] = {"parameters": {}, "initial": {}}
    for name, values in points.items():
        arguments[plan.arguments[name]][name] = values
    return arguments


def _start(prepared: PreparedRun, plan: SweepPlan, points: Mapping[str, np.ndarray], k: int) -> Start:
    point = {name: str(values[k]) if isinstance(values[k], str) else values[k] for name, values in points.items()}
    return prepared.start_values(**_arguments(plan, point))


def value_or_issue(run: int, function: Callable[[], T]) -> T | RunIssue:
    try:
        return function()
    except ModelError as error:
        return _refused(run, error.problems[0])
    except RunError as error:
        if error.problem.code not in SINGLE_RUN_CODES:
            raise
        return _refused(run, error.problem)


def _refused(run: int, problem: Problem) -> RunIssue:
    return RunIssue(run, problem.code, ": ".join(filter(None, (problem.title, "; ".join(problem.details)))))


def _run_single(runs: np.ndarray, starts: Sequence[np.ndarray], plan: SweepPlan, prepared: PreparedProgram, about: str) -> Chunk:
    shapes = {kept.name: kept.shape for kept in plan.kept if kept.shape is not None}
    columns = {name: np.full((len(runs), *shape), np.nan) for name, shape in shapes.items()}
    failures, doubts = list[RunIssue](), list[RunIssue]()
    for k, run in enumerate(runs.tolist()):
        result = value_or_issue(
            run, functools.partial(prepared.checked_run, *(block[k if len(block) > 1 else 0] for block in starts))
        )
        if isinstance(result, RunIssue):
            failures.append(result)
        elif result.failure is not None:
            failures.append(_failure(run, result.failure))
        else:
            doubts += _concerns(run, result.warnings)
            for kept in plan.kept:
                value = kept(result)
                if kept.name not in columns:
                    columns[kept.name] = np.full((len(runs), *value.shape), np.nan)
                if value.shape != (shape := columns[kept.name].shape[1:]):
                    raise several_shapes(kept.name, value.shape, run, shape, about)
                columns[kept.name][k] = value
    return Chunk(runs, columns, tuple(failures), tuple(doubts))


def several_shapes(name: str, shape: tuple[int, ...], run: int, others: tuple[int, ...], about: str) -> Exception:
    title = f'"{name}" has shape {shape} in run {run}, but {others} in other runs'
    return refusal("E365", title, "numbers of one shape, nan for missing values", about=about)


def _run_batch(
    runs: np.ndarray, starts: Sequence[np.ndarray], plan: SweepPlan, prepared: PreparedRun, measures: Mapping[str, Measure]
) -> Chunk:
    x, p, m = starts
    if plan.gpu:
        ends = prepared.run_many(p, x, m, measures, device=plan.gpu)
    else:
        ends = prepared.program.run_many(p, x, m, measures, threads=1, lanes=vector_width() if plan.in_lanes else 1)
    failed = {k: _refused(int(runs[k]), error.problem) for k, error in ends.errors.items()}
    failed |= {k: _failure(int(runs[k]), failure) for k, failure in ends.failures.items()}
    kept = {name: values.copy() for name, values in ends.kept.items()}
    for values in kept.values():
        values[list(failed)] = np.nan
    doubts = [doubt for k, concerns in sorted(ends.warnings.items()) for doubt in _concerns(int(runs[k]), concerns)]
    return Chunk(runs, kept, tuple(failed.values()), tuple(doubts), devices=None if ends.by_gpu is None else ends.device)


def _failure(run: int, failure: Failure) -> RunIssue:
    return RunIssue(run, failure.kind, failure.reason, failure.time, failure.suspect)


def _concerns(run: int, concerns: Sequence[ValidityConcern]) -> list[RunIssue]:
    return [RunIssue(run, "doubt", doubt.reason, doubt.time, doubt.suspect) for doubt in concerns]
