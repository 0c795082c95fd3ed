"""Prepared runs of a compiled model: bound once for runs that differ in parameters and start values only."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bondgraph.compile.changes import checked_changes, mapping_of, unusable_parameters
from bondgraph.compile.compiled import Compiled
from bondgraph.compile.consistency import misfit_problems
from bondgraph.compile.starts import contradicting_switches, violated_constraints
from bondgraph.errors import ModelError, raise_if_any, refusal
from bondgraph.model.laws import Storing
from bondgraph.model.ops import Frozen
from bondgraph.output.short_repr import short_repr
from bondgraph.quantities import real
from bondgraph.run.batch.prepared import PreparedProgram, prepare
from bondgraph.run.batch.results import BatchResult, RunOutcome
from bondgraph.run.measures import Measure
from bondgraph.run.ode import OdeFunctions, ode_functions
from bondgraph.run.results.result import Result
from bondgraph.run_arguments import Initial, KeepOptions, RunSettings, setting_key
from bondgraph.tracing.on_tape.values import flat
from screws.calls import explain_methods
from screws.errors import ScrewbondError
from screws.names import answer_old_names

if TYPE_CHECKING:
    from bondgraph.run.batch.gpu.launcher import GPULauncher


def in_rows(values: Any) -> Any:
    """Return the values of the runs in order, as numbers (runs, ...) or else as a list, whatever the index of a pandas object;
    None for values without a first axis."""
    array = real(values)
    if array is not None:
        return array if array.ndim else None
    if isinstance(values, str | Set | Mapping) or not isinstance(values, Iterable):
        return None
    return list(values)


def parameter_rows(compiled: Compiled, varied: Mapping[str, Any], runs: int) -> np.ndarray | None:
    """Return parameters of the kernels, (runs, parameters), or one row if none varies.

    Returns None if each run must read its parameters: if a value is not a finite scalar, or a parameter and its lower limit vary.
    Valid ranges are intervals, so only the smallest and largest values are checked. Raises `ModelError` as `Compiled.parameters`
    does.
    """
    system, p = compiled.system, flat(compiled.system.parameters.values())
    if not varied:
        return np.concatenate([p, compiled.prepare(p)])[None]
    columns, by_name = dict[str, np.ndarray](), dict[str, np.ndarray]()
    for name, values in varied.items():
        column = real(values)
        if column is None or column.shape != (runs,) or not np.isfinite(column).all():
            return None
        columns[system.resolve(name)] = by_name[name] = column
    if any(np.shape(system.parameters.get(name, ())) or _bounds_another(compiled, name, columns) for name in columns):
        return None
    for pick in (np.min, np.max):
        checked_changes(compiled.model, system, {name: pick(column) for name, column in by_name.items()})
    rows = np.tile(p, (runs, 1))
    for name, column in columns.items():
        rows[:, compiled.program.layout[name].start] = column
    return np.hstack([rows, compiled.prepare.many(rows)])


def _bounds_another(compiled: Compiled, name: str, varied: Mapping[str, Any]) -> bool:
    path, _, local = name.rpartition(".")
    element = compiled.model.elements.get(path)
    parameter = None if element is None else element.parameters.get(local.partition(" in ")[0])
    return parameter is not None and bool(parameter.not_below) and f"{path}.{parameter.not_below}" in varied


def start_rows(compiled: Compiled, varied: Mapping[str, Any], runs: int) -> tuple[np.ndarray, np.ndarray] | None:
    """Return states (runs, n), or (1, n) if nothing varies, and modes (1, modes).

    Returns None if each run must find its own start: if states or modes follow from other states, parameters or motion, or if a
    name or value is not that of an independent state.
    """
    model, system = compiled.model, compiled.system
    if (
        system.starts
        or compiled.program.loops
        or any(element.automaton is not None for element in model.elements_at(model.automata))
    ):
        return None
    x, m = (block[None] for block in compiled.initial())
    if not varied:
        return x, m
    following = {path: model.elements[path].law_as(Storing).follows[0] for path in compiled.causality.derivative}
    dependent = {system.resolve(f"{path}.{state}") for path, state in following.items()}
    shapes = {state.name: np.shape(state.initial) for state in system.states if state.name not in system.guesses}
    if len({system.resolve(name) for name in varied}) < len(varied):
        return None
    x = np.tile(x, (runs, 1))
    for name, values in varied.items():
        state_name, block = system.resolve(name), real(values)
        if state_name in dependent or state_name not in shapes or block is None:
            return None
        if block.shape != (runs, *shapes[state_name]) or not np.isfinite(block).all():
            return None
        slot = compiled.program.layout[state_name]
        x[:, slot.start : slot.stop] = block.reshape(runs, -1)
    return x, m


def runs_without_checks(compiled: Compiled, t: float, x: np.ndarray, p: np.ndarray, m: np.ndarray) -> np.ndarray:
    """Return True (runs,) for runs (rows of x and p, or one row for all) with finite parameters and start velocities that give
    constraints zero flow."""
    runs = max(len(x), len(p))
    x, p = (np.broadcast_to(block, (runs, block.shape[1])) for block in (x, p))
    finite = np.ones(runs, dtype=bool) if np.isfinite(p).all() else np.isfinite(p).all(axis=1)
    held, kernel = compiled.held_in(m[0]), compiled.program.closing_flows
    if held is None or kernel is None:
        return finite
    return finite & ~np.any(kernel.many(t, x, p, m[0])[:, held.flow_indices], axis=1)


def _rows(block: Any) -> int:
    shape = np.shape(block)
    return shape[0] if len(shape) > 1 else 1


_MAX_CACHED = 5000
"""Maximum number of states and parameters of a model whose prepared runs are cached; larger models take too much memory."""

_EACH = '"spring.stiffness": [20.0, 50.0]'


@explain_methods
@answer_old_names
@short_repr
@dataclass(frozen=True)
class PreparedRun(Frozen):
    """Runs of a model with the same start time, end and settings: `compiled.prepare_run(5.0, rtol=1e-9)`.

    Binding is done once; then a run costs only its steps. A call with parameters and start values returns the result of
    `simulate`, bit for bit; `run` takes and returns arrays, and `run_many` does so for many runs in one call. Threads may share
    a prepared run.
    """

    compiled: Compiled
    program: PreparedProgram

    def __call__(self, *, parameters: Mapping[str, Any] | None = None, initial: Initial | None = None) -> Result:
        """Run as `Compiled.simulate` does, with its warnings and errors."""
        return self.program.result(*self.start_values(parameters, initial))

    def start_values(
        self, parameters: Mapping[str, Any] | None = None, initial: Initial | None = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return states x (n,), parameters p and modes m of a run, in the order of the kernels; raise the errors of
        `Compiled.simulate` for parameters and start values."""
        compiled, program, t = self.compiled, self.compiled.program, self.program.settings.t_start
        model, system = compiled.model, compiled.system
        x, m, p = compiled.starting_point(initial, parameters, t)
        if not np.isfinite(p).all():
            changes = compiled.with_start_parameters(initial, parameters)
            numbers = {**system.parameters, **checked_changes(model, system, changes)}
            raise_if_any(model.name, unusable_parameters(model, system, numbers, compiled.prepare, compiled.evaluate(t, x, p, m)))
        if initial and not np.isfinite(program.rates(t, x, p, m)).all():
            self._refuse_undefined(t, x, p, m)
        if compiled.switches is not None or program.closing is not None:
            start = t, x, p, m
            key = t, *(block.tobytes() for block in start[1:])
            compiled.last_start.made(key, functools.partial(self._ensure_coherent, *start))
        return x, p, m

    def _refuse_undefined(self, t: float, x: np.ndarray, p: np.ndarray, m: np.ndarray) -> None:
        """Raise E125 if a formula refuses the start values, such as a zero quaternion."""
        try:
            with np.errstate(all="ignore"):
                self.compiled.evaluate(t, x, p, m)
        except ScrewbondError as error:
            title, name = "a rate is not finite at these start values", self.compiled.model.name
            raise refusal("E125", title, "other values in initial=", about=name, why=str(error).splitlines()) from error

    def _ensure_coherent(self, t: float, x: np.ndarray, p: np.ndarray, m: np.ndarray) -> None:
        compiled, program = self.compiled, self.compiled.program
        model, system = compiled.model, compiled.system
        raise_if_any(model.name, violated_constraints(model, system, program, t, x, p, m))
        if compiled.switches is not None and program.outputs and not compiled.switches.agree(program.outputs(t, x, p, m), x):
            near, others = (functools.partial(points, t, x, p, m) for points in (compiled.near, compiled.in_other_modes))
            raise_if_any(model.name, contradicting_switches(model, system, compiled.evaluate(t, x, p, m), near, others))
        held, kernel = compiled.held_in(m), program.closing_flows
        if held is not None and kernel is not None:
            motion = held.motion(program, kernel, t, p, m)
            raise_if_any(model.name, misfit_problems(model, motion, held.slices, x))

    def run(self, p: np.ndarray, x0: np.ndarray, m0: np.ndarray) -> RunOutcome:
        """Run from arrays of `x0, p, m0 = start_values(...)`: contiguous arrays of floats p (parameters,), x0 (n,), m0 (modes,).
        Only their lengths are checked (E305)."""
        return self.program.run(p, x0, m0)

    run.explains_calls = True  # type: ignore[attr-defined] # no wrapper in inner loops

    def start_values_many(
        self, parameters: Mapping[str, Any] | None = None, initial: Mapping[str, Any] | None = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return arrays for `run_many`: p (runs, parameters), x0 (runs, n) and m0 (runs, modes), or one row if all are equal.

        Parameters
        ----------
        parameters, initial : by name as for a run, each with a value for every run, (runs, *shape).

        Raises `ModelError` as `Compiled.initial` does, and E124 if a run has no value or the numbers of values differ.
        """
        compiled, name = self.compiled, self.compiled.model.name
        varied, starts = (
            {key: in_rows(values) for key, values in mapping_of(name, what, changes, _EACH).items()}
            for what, changes in (("parameters", parameters), ("initial", initial))
        )
        counts = {key: -1 if values is None else len(values) for key, values in {**varied, **starts}.items()}
        if single := [f'"{key}"' for key, count in counts.items() if count < 0]:
            why = "an array or list whose first axis is the runs"
            title = f"{', '.join(single)} need{'s' * (len(single) == 1)} a value for every run"
            raise refusal("E124", title, _EACH, about=name, why=why, places=())
        if len(set(counts.values())) > 1:
            why = ", ".join(f'"{key}" {count}' for key, count in counts.items())
            raise refusal("E124", "varied quantities have different numbers of values", about=name, why=why, places=())
        runs = next(iter(counts.values()), 1)
        if not runs:
            return compiled.parameters()[None][:0], *(block[None][:0] for block in compiled.initial())  # type: ignore[return-value]
        start, p = start_rows(compiled, starts, runs), parameter_rows(compiled, varied, runs)
        if p is not None and start is not None:
            return p, *start
        changes, begins = ([{key: values[k] for key, values in each.items()} for k in range(runs)] for each in (varied, starts))
        if start is None:
            t, pairs = self.program.settings.t_start, zip(changes, begins, strict=True)
            alone = [compiled.starting_point(begin, change, t) for change, begin in pairs]
            start = np.array([x for x, _, _ in alone]), np.array([m for _, m, _ in alone])
        return (np.array([compiled.parameters(change) for change in changes]) if p is None else p), *start

    def prechecked_starts(
        self, parameters: Mapping[str, Any], initial: Mapping[str, Any], runs: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return True (runs,) for runs that need no check of their own, and the results of `start_values` for these: x, p and m,
        (runs or 1, numbers) each. Parameters and start values are given by name, (runs, *shape)."""
        compiled, program = self.compiled, self.compiled.program
        try:
            start, p = start_rows(compiled, initial, runs), parameter_rows(compiled, parameters, runs)
        except ModelError:  # `start_values` raises the error for the run that has it
            start = p = None
        if start is None or p is None:
            widths = program.states, program.parameters, program.modes
            x, p, m = (np.zeros((1, width)) for width in widths)
            return np.zeros(runs, dtype=bool), x, p, m
        fit = runs_without_checks(compiled, self.program.settings.t_start, start[0], p, start[1])
        return np.array(np.broadcast_to(fit, runs)), start[0], p, start[1]

    @answer_old_names
    def run_many(
        self,
        p: Any,
        x0: Any,
        m0: Any,
        keep: Mapping[str, str | Measure] | None = None,
        *,
        threads: int | None = None,
        check_rank: bool = True,
        lanes: int | None = None,
        device: str | None = None,
    ) -> BatchResult:
        """Run an ensemble from arrays, as `start_values_many` returns them; see `PreparedProgram.run_many`.

        device : "cuda" or "cuda:1" selects a GPU; None selects the CPU; "auto" selects a GPU with fast double precision for 2,000
        runs or more that can use it, and otherwise, or if the GPU is lost, the CPU. The results do not depend on the device.
        Runs that a GPU cannot check are handed back to the CPU.

        Raises `RunError` E283 to E294, or `CompileError` E282 or E285, for a GPU; `ExtraError` E416 without the package for it.
        """
        gpu = None
        if device is not None:
            gpu = self.gpu_launcher(device, max(map(_rows, (p, x0, m0))), keep or {}, check_rank=check_rank)
        return self.program.run_many(p, x0, m0, keep, threads=threads, check_rank=check_rank, lanes=lanes, gpu=gpu)

    def gpu_launcher(
        self,
        device: str | None,
        runs: int,
        keep: Mapping[str, str | Measure],
        *,
        check_rank: bool = True,
        is_stored: bool = False,
    ) -> GPULauncher | None:
        """Return a launcher of runs on the GPU that `device=` selects, None for the CPU; raise errors as `run_many` does. If
        `is_stored`, results are stored in chunks and are not kept in memory."""
        if device is None:
            return None
        from bondgraph.run.batch.gpu.launcher import launcher_of  # loads the writers of machine code for GPUs

        return launcher_of(self.program, device, runs, keep, check_rank=check_rank, is_stored=is_stored)


def prepared_run(compiled: Compiled, t_end: float, kept: KeepOptions, settings: RunSettings) -> PreparedRun:
    return PreparedRun(compiled, prepare(compiled.program, t_end, kept, **settings))


def run_once(
    compiled: Compiled,
    t_end: float,
    parameters: Mapping[str, Any] | None,
    initial: Initial | None,
    kept: KeepOptions,
    settings: RunSettings,
) -> Result:
    return shared_runs(compiled, t_end, kept, settings)(parameters=parameters, initial=initial)


def shared_runs(compiled: Compiled, t_end: float, kept: KeepOptions, settings: RunSettings) -> PreparedRun:
    program = compiled.program
    small = program.states + program.parameters <= _MAX_CACHED
    key = setting_key(t_end, kept, settings) if small else None
    return PreparedRun(compiled, compiled.last_prepared.made(key, lambda: prepare(program, t_end, kept, **settings)))


def ode_of(
    compiled: Compiled, t: float, initial: Initial | None, parameters: Mapping[str, Any] | None, sparse: bool
) -> OdeFunctions:
    x, p, m = prepared_run(compiled, t + 1.0, KeepOptions(), {"t_start": t, "progress": False}).start_values(parameters, initial)
    return ode_functions(compiled.program, t, x, p, m, sparse)
