"""Results of a batch of runs: the kept quantities and the end of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bondgraph.emit.kernel import Kernel
from bondgraph.errors import Problem, ProblemError, RunError, unknown_name
from bondgraph.output.short_repr import short_repr
from bondgraph.run.batch.native_measures import EVENT, MODE, OUTPUT, ROW
from bondgraph.run.measures import Measure, matches_event, measure_of, why_not
from bondgraph.run.program import Program
from bondgraph.run.results.failure import Failure, ValidityConcern
from bondgraph.run.results.result import Result
from screws.names import answer_old_names

CPU = "cpu"
_SOURCES = {"x": ROW, "out": OUTPUT, "m": MODE}


@dataclass(frozen=True)
class KeptOfRun:
    """Measure recorded for every run: its name, shape, and the indices of its values in the source; for a measure of events, the
    indices of the transitions that it counts."""

    name: str
    measure: Measure
    shape: tuple[int, ...]
    source: int
    indices: tuple[int, ...]

    @property
    def over_time(self) -> bool:
        return self.measure.kind.over_time

    @property
    def size(self) -> int:
        return 1 if self.measure.kind.of_event else len(self.indices)

    def measured(self, result: Result) -> np.ndarray:
        failed = result.failure is not None and not self.over_time
        return np.full(self.shape, np.nan) if failed else self.measure(result)


def kept_of(program: Program, keep: Mapping[str, str | Measure]) -> tuple[tuple[KeptOfRun, ...], Kernel | None]:
    """Return the measures that `keep` names, {"top": peak("rotor.flow")}, and a kernel for the outputs that these measures need,
    or None if they need no outputs.

    Raises `RunError` E345 if `keep` is not a mapping, or with all measures that cannot be kept.
    """
    if not isinstance(keep, Mapping):
        cures = ('keep={"top": peak("rotor.flow")}',)
        raise RunError(Problem("E345", f"quantities to keep must be given by name, not as {keep!r}"[:100], cures=cures))
    measures = {name: measure_of(measure) for name, measure in keep.items()}
    if wrong := {name: why for name, measure in measures.items() if (why := why_not(measure, program))}:
        details = tuple(f'"{name}": {why[0]}' for name, why in wrong.items())
        cures = tuple(dict.fromkeys(cure for why in wrong.values() for cure in why[1:]))
        raise RunError(Problem("E345", "invalid measures for many runs", details, cures=cures))
    chosen = {name: measure for name, measure in measures.items() if isinstance(measure, Measure)}
    slots = {name: program.layout[measure.of] for name, measure in chosen.items() if not measure.kind.of_event}
    outputs = tuple(dict.fromkeys(slot for slot in slots.values() if slot.is_output))
    kernel, starts = program.outputs, {slot: slot.start for slot in outputs}
    if outputs and program.choose is not None:
        kernel, starts_of_outputs = program.choose(outputs)
        starts = dict(zip(outputs, starts_of_outputs, strict=True))
    kept = []
    for name, measure in chosen.items():
        if measure.kind.of_event:
            edges = tuple(k for k, edge in enumerate(program.transitions) if matches_event(measure.of, edge))
            kept.append(KeptOfRun(name, measure, (), EVENT, edges))
        else:
            slot = slots[name]
            start = starts.get(slot, slot.start)
            kept.append(KeptOfRun(name, measure, slot.shape, _SOURCES[slot.block], tuple(range(start, start + slot.size))))
    return tuple(kept), kernel if outputs else None


@answer_old_names
@short_repr
@dataclass(frozen=True)
class BatchResult:
    """Many finished runs, in the order of their points.

    Parameters
    ----------
    t, x, m, integrals : values at the end of each run: time (runs,), s; states (runs, n), modes (runs, modes), integrated powers
        (runs, powers), J.
    steps, rejected, rates, events : counts (runs,).
    kept : requested quantities by name, (runs, *shape), or (runs, samples, *shape) for series; NaN for a run that ended early,
        in a series only after its end.
    failures, warnings : by run number, the reason for an early end, and the reasons why a run that reached its end cannot be
        trusted.
    errors : by run number, the error in the input values of the run.
    by_gpu : name of the GPU, and a mask (runs,) of the runs that it computed; None if there are none.
    """

    t: np.ndarray
    x: np.ndarray
    m: np.ndarray
    integrals: np.ndarray
    steps: np.ndarray
    rejected: np.ndarray
    rates: np.ndarray
    events: np.ndarray
    kept: Mapping[str, np.ndarray]
    failures: Mapping[int, Failure]
    warnings: Mapping[int, Sequence[ValidityConcern]]
    errors: Mapping[int, ProblemError]
    by_gpu: tuple[str, np.ndarray] | None = None

    def __len__(self) -> int:
        return len(self.t)

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self.kept:
            raise unknown_name("kept quantity", name, self.kept)
        return self.kept[name]

    @property
    def device(self) -> np.ndarray:
        name, made = (CPU, np.zeros(len(self), dtype=bool)) if self.by_gpu is None else self.by_gpu
        return np.where(made, name, CPU)

    @property
    def ok(self) -> np.ndarray:
        is_ok = np.ones(len(self), dtype=bool)
        is_ok[[*self.failures, *self.warnings, *self.errors]] = False
        return is_ok


@answer_old_names
@dataclass(frozen=True)
class RunOutcome:
    """End of a run.

    Parameters
    ----------
    completed : True if the run reached the requested end; `PreparedProgram.result` reports why not.
    t, x, m, q : time since the start, s, states (n,), modes (modes,) and integrated powers (powers,), J.
    rows : states and integrated powers at the samples, (samples, n + powers).
    modes : modes at the samples, (samples, modes).
    """

    completed: bool
    t: float
    x: np.ndarray
    m: np.ndarray
    q: np.ndarray
    rows: np.ndarray
    modes: np.ndarray
    steps: int
    rates: int
    events: int
