"""A compiled model and the settings of its runs, bound once, in; runs that differ in parameters and start values, out."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bondgraph.compile.changes import checked_changes, mapping_of, unusable_parameters
from bondgraph.compile.compiled import Compiled
from bondgraph.compile.consistency import misfit_problems
from bondgraph.compile.starts import contradicting_switches
from bondgraph.errors import ModelError, raise_if_any, refusal
from bondgraph.output.short_repr import brief
from bondgraph.prepared.blocks import in_rows, parameter_rows, plainly_fit, start_rows
from bondgraph.run.batch.prepared import PreparedProgram, prepare
from bondgraph.run.batch.results import RunEnd, RunEnds
from bondgraph.run.results.result import Result
from bondgraph.run_arguments import Initial, KeepAsked, RunSettings, setting_key

_KEPT = 5000
"""Numbers of a model up to which what its runs have in common is kept: more take memory, and their steps are what takes time."""

_EACH = '"spring.stiffness": [20.0, 50.0]'


@brief
@dataclass(frozen=True)
class PreparedRun:
    """Runs of a model from the same start time to the same end with the same settings: `compiled.prepare_run(5.0, rtol=1e-9)`.

    What a run needs is bound once; then a run costs what its steps cost. Called with parameters and start values it gives what
    `simulate` gives, bit for bit; `go` takes their numbers and gives numbers, `many` does so for many runs at once. Threads may
    share it.
    """

    compiled: Compiled
    runs: PreparedProgram

    def __call__(self, *, parameters: Mapping[str, Any] | None = None, initial: Initial | None = None) -> Result:
        """A run: `Compiled.simulate`, with its warnings and errors."""
        return self.runs.result(*self.start(parameters, initial))

    def start(
        self, parameters: Mapping[str, Any] | None = None, initial: Initial | None = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """States x (n,), parameters p and modes m of a run, in the order of the kernels, looked at as `simulate` does: E309,
        E214, E455."""
        own, program, t = self.compiled, self.compiled.program, self.runs.settings.t_start
        model, system = own.model, own.system
        x, m, p = own.starting_point(initial, parameters)
        if not np.isfinite(p).all():
            changes = own.with_start_parameters(initial, parameters)
            numbers = {**system.parameters, **checked_changes(model, system, changes)}
            raise_if_any(model.name, unusable_parameters(model, system, numbers, own.prepare, own.evaluate(t, x, p, m)))
        if own.switches is not None or program.closing is not None:
            start = t, x, p, m
            key = t, *(block.tobytes() for block in start[1:])
            own.last_start.made(key, functools.partial(self._ensure_coherent, *start))
        return x, p, m

    def _ensure_coherent(self, t: float, x: np.ndarray, p: np.ndarray, m: np.ndarray) -> None:
        """E214 where modes of switches do not hold at a start, E455 where its velocities do not fit the constraints."""
        own, program = self.compiled, self.compiled.program
        model, system = own.model, own.system
        if own.switches is not None and program.outputs and not own.switches.agree(program.outputs(t, x, p, m), x):
            near = functools.partial(own.near, t, x, p, m)
            raise_if_any(model.name, contradicting_switches(model, system, own.evaluate(t, x, p, m), near))
        held, kernel = own.held_in(m), program.closing_flows
        if held is not None and kernel is not None:
            motion = held.motion(program, kernel, t, p, m)
            raise_if_any(model.name, misfit_problems(model, motion, held.slices, x))

    def go(self, p: np.ndarray, x0: np.ndarray, m0: np.ndarray) -> RunEnd:
        """A run from numbers in the order of the kernels, as `start` gives them, which are not looked at: contiguous arrays of
        floats p (parameters,), x0 (n,), m0 (modes,)."""
        return self.runs.go(p, x0, m0)

    def points(
        self, parameters: Mapping[str, Any] | None = None, initial: Mapping[str, Any] | None = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Numbers for `many`: p (runs, parameters), x0 (runs, n) and m0 (runs, modes), or one row of what is the same in all.

        Parameters
        ----------
        parameters, initial : by name as for a run, each with a value for every run, (runs, *shape).

        Raises `ModelError` as `Compiled.initial`, and E124 where there is no value for every run, or the counts of runs differ.
        """
        own, name = self.compiled, self.compiled.model.name
        varied, starts = (
            {key: in_rows(values) for key, values in mapping_of(name, what, given, _EACH).items()}
            for what, given in (("parameters", parameters), ("initial", initial))
        )
        counts = {key: -1 if values is None else len(values) for key, values in {**varied, **starts}.items()}
        if single := [f'"{key}"' for key, count in counts.items() if count < 0]:
            why = "an array, or a list, whose first axis is that of the runs"
            raise refusal("E124", f"{', '.join(single)} needs a value for every run", _EACH, about=name, why=why, places=())
        if len(set(counts.values())) > 1:
            told = ", ".join(f'"{key}" {count}' for key, count in counts.items())
            raise refusal("E124", "what varies has different counts of values", about=name, why=told, places=())
        runs = next(iter(counts.values()), 1)
        if not runs:
            return own.parameters()[None][:0], *(block[None][:0] for block in own.initial())  # type: ignore[return-value]
        found, p = start_rows(own, starts, runs), parameter_rows(own, varied, runs)
        if p is not None and found is not None:
            return p, *found
        changes, begins = ([{key: values[k] for key, values in given.items()} for k in range(runs)] for given in (varied, starts))
        if found is None:
            alone = [own.initial(begin, change) for change, begin in zip(changes, begins, strict=True)]
            found = np.array([x for x, _ in alone]), np.array([m for _, m in alone])
        return (np.array([own.parameters(change) for change in changes]) if p is None else p), *found

    def plain_starts(
        self, parameters: Mapping[str, Any], initial: Mapping[str, Any], runs: int
    ) -> dict[int, tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """What `start` gives for those of so many runs that need no look at each alone, by number; parameters and start values
        by name, (runs, *shape)."""
        own = self.compiled
        try:
            found, p = start_rows(own, initial, runs), parameter_rows(own, parameters, runs)
        except ModelError:  # of some run, for which `start` raises it
            return {}
        if found is None or p is None:
            return {}
        fit = np.flatnonzero(plainly_fit(own, self.runs.settings.t_start, found[0], p, found[1])).tolist()
        blocks = [np.broadcast_to(block, (runs, block.shape[1])) for block in (found[0], p, found[1])]
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
        """Many runs from numbers, as `points` gives them; see `PreparedProgram.many`."""
        return self.runs.many(p, x0, m0, keep, threads=threads, watch=watch, lanes=lanes)


def prepared_run(compiled: Compiled, t_end: float, kept: KeepAsked, settings: RunSettings) -> PreparedRun:
    """`Compiled.prepare_run`."""
    return PreparedRun(compiled, prepare(compiled.program, t_end, kept, **settings))


def run_once(
    compiled: Compiled,
    t_end: float,
    parameters: Mapping[str, Any] | None,
    initial: Initial | None,
    kept: KeepAsked,
    settings: RunSettings,
) -> Result:
    """`Compiled.simulate`: a prepared run that is used once, or as long as the settings stay the same."""
    return shared_runs(compiled, t_end, kept, settings)(parameters=parameters, initial=initial)


def shared_runs(compiled: Compiled, t_end: float, kept: KeepAsked, settings: RunSettings) -> PreparedRun:
    """`Compiled.prepare_run`, or what was bound last for the same settings."""
    program = compiled.program
    small = program.states + program.parameters <= _KEPT
    key = setting_key(t_end, kept, settings) if small else None
    return PreparedRun(compiled, compiled.last_prepared.made(key, lambda: prepare(program, t_end, kept, **settings)))
