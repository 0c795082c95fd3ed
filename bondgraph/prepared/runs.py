"""Prepared runs of a compiled model: bound once for runs that differ in parameters and start values only."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bondgraph.compile.changes import checked_changes, mapping_of
from bondgraph.compile.compiled import Compiled
from bondgraph.compile.consistency import foreign_velocities
from bondgraph.compile.starts import contradicting_switches
from bondgraph.compile.unusable import unusable_parameters
from bondgraph.errors import ModelError, raise_if_any, refusal
from bondgraph.output.short_repr import brief
from bondgraph.prepared.blocks import in_rows, parameter_rows, need_no_check, start_rows
from bondgraph.run.batch.prepared import PreparedProgram, prepare
from bondgraph.run.batch.results import RunEnd, RunEnds
from bondgraph.run.results.result import Result
from bondgraph.run_arguments import Initial, KeepOptions, RunSettings, setting_key

_MAX_CACHED = 5000
"""Largest number of states and parameters of a model whose prepared runs are cached: larger ones take memory, and their steps
dominate the time."""

_EACH = '"spring.stiffness": [20.0, 50.0]'


@brief
@dataclass(frozen=True)
class PreparedRun:
    """Runs of a model from the same start time to the same end with the same settings: `compiled.prepare_run(5.0, rtol=1e-9)`.

    Binding is done once; then a run costs its steps only. A call with parameters and start values returns the result of `simulate`,
    bit for bit; `go` takes and returns numbers, `many` does so for many runs at once. Threads may share it.
    """

    compiled: Compiled
    runs: PreparedProgram

    def __call__(self, *, parameters: Mapping[str, Any] | None = None, initial: Initial | None = None) -> Result:
        """Run as `Compiled.simulate`, with its warnings and errors."""
        return self.runs.result(*self.start(parameters, initial))

    def start(
        self, parameters: Mapping[str, Any] | None = None, initial: Initial | None = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return states x (n,), parameters p and modes m of a run, in the order of the kernels, checked as by `simulate`: E309,
        E214, E455."""
        compiled, program, t = self.compiled, self.compiled.program, self.runs.settings.t_start
        model, system = compiled.model, compiled.system
        x, m, p = compiled.starting_point(initial, parameters)
        if not np.isfinite(p).all():
            changes = compiled.with_found(initial, parameters)
            numbers = {**system.parameters, **checked_changes(model, system, changes)}
            raise_if_any(model.name, unusable_parameters(model, system, numbers, compiled.prepare, compiled.evaluate(t, x, p, m)))
        if compiled.switches is not None or program.closing is not None:
            start = t, x, p, m
            key = t, *(block.tobytes() for block in start[1:])
            compiled.last_start.made(key, functools.partial(self._ensure_coherent, *start))
        return x, p, m

    def _ensure_coherent(self, t: float, x: np.ndarray, p: np.ndarray, m: np.ndarray) -> None:
        """Raise E214 where modes of switches do not hold at a start, E455 where its velocities do not fit the constraints."""
        compiled, program = self.compiled, self.compiled.program
        model, system = compiled.model, compiled.system
        if compiled.switches is not None and program.outputs and not compiled.switches.agree(program.outputs(t, x, p, m), x):
            near = functools.partial(compiled.near, t, x, p, m)
            raise_if_any(model.name, contradicting_switches(model, system, compiled.evaluate(t, x, p, m), near))
        held, kernel = compiled.held_in(m), program.closing_flows
        if held is not None and kernel is not None:
            motion = held.motion(program, kernel, t, p, m)
            raise_if_any(model.name, foreign_velocities(model, motion, held.places, x))

    def go(self, p: np.ndarray, x0: np.ndarray, m0: np.ndarray) -> RunEnd:
        """Run from numbers in the order of the kernels, as `start` returns them, without checks: contiguous arrays of floats p
        (parameters,), x0 (n,), m0 (modes,)."""
        return self.runs.go(p, x0, m0)

    def points(
        self, parameters: Mapping[str, Any] | None = None, initial: Mapping[str, Any] | None = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return numbers for `many`: p (runs, parameters), x0 (runs, n) and m0 (runs, modes), or one row of equal ones.

        Parameters
        ----------
        parameters, initial : by name as for a run, each with a value for every run, (runs, *shape).

        Raises `ModelError` as `Compiled.initial`, and E124 where a run has no value, or the counts of runs differ.
        """
        compiled, name = self.compiled, self.compiled.model.name
        varied, starts = (
            {key: in_rows(values) for key, values in mapping_of(name, what, changes, _EACH).items()}
            for what, changes in (("parameters", parameters), ("initial", initial))
        )
        counts = {key: -1 if values is None else len(values) for key, values in {**varied, **starts}.items()}
        if single := [f'"{key}"' for key, count in counts.items() if count < 0]:
            why = "an array, or a list, whose first axis is that of the runs"
            raise refusal("E124", f"{', '.join(single)} needs a value for every run", _EACH, about=name, why=why, places=())
        if len(set(counts.values())) > 1:
            why = ", ".join(f'"{key}" {count}' for key, count in counts.items())
            raise refusal("E124", "what varies has different counts of values", about=name, why=why, places=())
        runs = next(iter(counts.values()), 1)
        if not runs:
            return compiled.parameters()[None][:0], *(block[None][:0] for block in compiled.initial())  # type: ignore[return-value]
        start, p = start_rows(compiled, starts, runs), parameter_rows(compiled, varied, runs)
        if p is not None and start is not None:
            return p, *start
        changes, begins = ([{key: values[k] for key, values in each.items()} for k in range(runs)] for each in (varied, starts))
        if start is None:
            alone = [compiled.initial(begin, change) for change, begin in zip(changes, begins, strict=True)]
            start = np.array([x for x, _ in alone]), np.array([m for _, m in alone])
        return (np.array([compiled.parameters(change) for change in changes]) if p is None else p), *start

    def plain_starts(
        self, parameters: Mapping[str, Any], initial: Mapping[str, Any], runs: int
    ) -> dict[int, tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Return the result of `start`, by number, for those of `runs` runs that need no single check; parameters and start values
        by name, (runs, *shape)."""
        compiled = self.compiled
        try:
            start, p = start_rows(compiled, initial, runs), parameter_rows(compiled, parameters, runs)
        except ModelError:  # `start` raises it for that run
            return {}
        if start is None or p is None:
            return {}
        fit = np.flatnonzero(need_no_check(compiled, self.runs.settings.t_start, start[0], p, start[1])).tolist()
        blocks = [np.broadcast_to(block, (runs, block.shape[1])) for block in (start[0], p, start[1])]
        return {k: (blocks[0][k], blocks[1][k], blocks[2][k]) for k in fit}

    def many(
        self,
        p: Any,
        x0: Any,
        m0: Any,
        keep: Mapping[str, tuple[str, str]] | None = None,
        *,
        threads: int | None = None,
        watch: bool = True,
        lanes: int | None = None,
    ) -> RunEnds:
        """Run an ensemble from numbers, as `points` returns them; see `PreparedProgram.many`."""
        return self.runs.many(p, x0, m0, keep, threads=threads, watch=watch, lanes=lanes)


def prepared_run(compiled: Compiled, t_end: float, kept: KeepOptions, settings: RunSettings) -> PreparedRun:
    """Prepare runs: `Compiled.prepare_run`."""
    return PreparedRun(compiled, prepare(compiled.program, t_end, kept, **settings))


def run_once(
    compiled: Compiled,
    t_end: float,
    parameters: Mapping[str, Any] | None,
    initial: Initial | None,
    kept: KeepOptions,
    settings: RunSettings,
) -> Result:
    """Run a model: `Compiled.simulate`, by a prepared run that is cached while the settings stay the same."""
    return shared_runs(compiled, t_end, kept, settings)(parameters=parameters, initial=initial)


def shared_runs(compiled: Compiled, t_end: float, kept: KeepOptions, settings: RunSettings) -> PreparedRun:
    """Prepare runs, or return the cached ones of the same settings."""
    program = compiled.program
    small = program.states + program.parameters <= _MAX_CACHED
    key = setting_key(t_end, kept, settings) if small else None
    return PreparedRun(compiled, compiled.last_prepared.made(key, lambda: prepare(program, t_end, kept, **settings)))
