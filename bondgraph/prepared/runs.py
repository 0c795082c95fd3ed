"""A compiled model and the settings of its runs, bound once, in; runs that differ in parameters and start values, out."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bondgraph.compile.changes import changed_parameters
from bondgraph.compile.compiled import Compiled
from bondgraph.compile.consistency import foreign_velocities, motion_of
from bondgraph.compile.starts import contradicting_switches
from bondgraph.compile.unusable import unusable_parameters
from bondgraph.errors import raise_if_any, refusal
from bondgraph.model.laws import IdealSwitch
from bondgraph.output.brief import brief
from bondgraph.quantities import real
from bondgraph.run.outcome.result import Result
from bondgraph.run.repeated.ends import RunEnd, RunEnds
from bondgraph.run.repeated.preparation import PreparedProgram, prepare
from bondgraph.run_arguments import Initial, KeepAsked, RunSettings
from bondgraph.tracing.on_tape.values import flat


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
        changes = own.with_found(initial, parameters)
        (x, m), p = own.initial(initial, changes), own.parameters(changes)
        if not np.isfinite(p).all():
            numbers = changed_parameters(model, system, changes)
            raise_if_any(model.name, unusable_parameters(model, system, numbers, own.prepare, own.evaluate(t, x, p, m)))
        if any(isinstance(element.law, IdealSwitch) for element in model.elements.values()):
            near = functools.partial(own.near, t, x, p, m)
            raise_if_any(model.name, contradicting_switches(model, system, own.evaluate(t, x, p, m), near))
        if found := motion_of(model, system, program, t, p, m):
            raise_if_any(model.name, foreign_velocities(model, *found, x))
        return x, p, m

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

        Raises `ModelError` as `Compiled.initial`, and E124 where the counts of runs differ.
        """
        own, name = self.compiled, self.compiled.model.name
        varied, starts = dict(parameters or {}), dict(initial or {})
        counts = {key: len(np.atleast_1d(np.asarray(values))) for key, values in {**varied, **starts}.items()}
        if len(set(counts.values())) > 1:
            told = ", ".join(f'"{key}" {count}' for key, count in counts.items())
            raise refusal("E124", "what varies has different counts of values", about=name, why=told, places=())
        runs = next(iter(counts.values()), 1)
        rows = [[{key: values[k] for key, values in given.items()} for k in range(runs)] for given in (varied, starts)]
        if starts or own.system.starts or any(e.automaton is not None for e in own.model.elements.values()):
            found = [own.initial(start, change) for change, start in zip(*rows, strict=True)]
            x, m = (np.array(blocks) for blocks in zip(*found, strict=True))
        else:  # nothing at the start follows from a parameter
            x, m = (block[None] for block in own.initial())
        if not varied:
            return own.parameters()[None], x, m
        p = self._parameters(varied, runs)
        if p is None:
            p = np.array([flat(changed_parameters(own.model, own.system, change).values()) for change in rows[0]])
        return np.hstack([p, own.prepare.many(p)]), x, m

    def _parameters(self, varied: Mapping[str, Any], runs: int) -> np.ndarray | None:
        """Parameters (runs, own) where only single numbers vary (the smallest and the largest are looked at); else None."""
        own, system = self.compiled, self.compiled.system
        known = {name: system.resolve(name) for name in varied}
        columns = dict[str, np.ndarray]()
        for name, values in varied.items():
            column = real(values)
            if column is None or column.shape != (runs,) or not np.isfinite(column).all():
                return None
            if np.shape(system.parameters.get(known[name], ())):
                return None
            columns[name] = column
        for pick in (np.min, np.max):
            changed_parameters(own.model, system, {name: pick(column) for name, column in columns.items()})
        p = np.tile(flat(system.parameters.values()), (runs, 1))
        for name, column in columns.items():
            p[:, own.program.layout[known[name]].start] = column
        return p

    def many(
        self,
        p: Any,
        x0: Any,
        m0: Any,
        keep: Mapping[str, tuple[str, str]] | None = None,
        *,
        threads: int | None = None,
        watch: bool = True,
    ) -> RunEnds:
        """Many runs from numbers, as `points` gives them; see `PreparedProgram.many`."""
        return self.runs.many(p, x0, m0, keep, threads=threads, watch=watch)


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
    """`Compiled.simulate`: a prepared run that is used once."""
    return prepared_run(compiled, t_end, kept, settings)(parameters=parameters, initial=initial)
