"""Operating points (steady states): states, and optionally parameters, for which the rates vanish, and their sensitivities.

Damped Newton iteration (`damped_newton`) with the exact Jacobian from the tape.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from bondgraph.analysis.damped_newton import NewtonResult, least_change, newton_in_own_units
from bondgraph.analysis.derivatives import SPARSE, Derivatives, derivatives_of, linear_system, warn_of_samplers
from bondgraph.analysis.linear import Linear
from bondgraph.compile.compiled import Compiled
from bondgraph.compile.pipeline import Compilable, compiled_form
from bondgraph.compile.points import Point, consistent, evaluate_at, point_of, whole_parameters
from bondgraph.compile.state_names import pick_states
from bondgraph.errors import ModelError, refusal
from bondgraph.model.arguments import names_of
from bondgraph.model.ops import Frozen
from bondgraph.output.cells import cell, items, line, table
from bondgraph.output.short_repr import short_repr
from bondgraph.run.program import Slot
from bondgraph.run.program.start_values import start_values
from bondgraph.run_arguments import Initial, StartValues
from screws.arrays import Count
from screws.errors import plural
from screws.names import similar_names
from screws.numeric_arguments import real

_NUDGE = 2.0**-50
"""Relative change applied to all values to measure the size of an equation's terms."""


@short_repr
@dataclass(frozen=True, eq=False)
class OperatingPoint(Frozen):
    """Operating point, where the rates vanish, except those of `moving` states.

    Parameters
    ----------
    states, x : names and values of the states, (n,).
    parameters : values of the free parameters, by label.
    undetermined : up to eight states and free parameters in each direction that the equations do not determine. Without `fixed`,
        `moving`, `free` and `targets`, a conserved quantity (a charge, an amount of matter) keeps its value at the guess.
    due : kinds of the transitions with a positive guard, which would end the mode.
    iterations, history : number of Newton iterations, and the size of each step.
    """

    compiled: Compiled = field(repr=False)
    point: Point = field(repr=False)
    states: tuple[str, ...]
    x: np.ndarray
    parameters: Mapping[str, float]
    undetermined: tuple[tuple[str, ...], ...]
    due: tuple[str, ...]
    iterations: int
    history: tuple[float, ...] = field(repr=False)

    def __getitem__(self, name: str) -> Any:
        system = self.compiled.system
        env = evaluate_at(self.compiled, self.point)
        resolved = system.resolve(name)
        if resolved not in env:
            self.compiled.program.layout[name]
        return env[resolved]

    @property
    def start(self) -> StartValues:
        """Start values of a run at this point: `simulate(1.0, initial=point)`."""
        program, p = self.compiled.program, self.point.p
        values = {name: slot.value_in(p)[()] for name, slot in _parameters(self.compiled).items()}
        defaults = self.compiled.system.parameters
        changed = {name: value for name, value in values.items() if not np.array_equal(value, defaults[name])}
        return start_values(program, self.point.x, self.point.m, changed)

    def linearise(self, inputs: Sequence[str] = (), outputs: Sequence[str] = ()) -> Linear:
        """Return the linear system at this point; see `bondgraph.analysis.linearise`."""
        warn_of_samplers(self.compiled)
        return linear_system(self.compiled, inputs, outputs, self.point)

    def _repr_html_(self) -> str:
        rows = [*zip(self.states, self.x, strict=True), *((f"{name} (found)", v) for name, v in self.parameters.items())]
        notes = [f"not determined by the rates: {', '.join(part)}" for part in self.undetermined]
        notes += [f'the point does not persist: the transition "{kind}" is due' for kind in self.due]
        title = line(f"operating point of {self.compiled.model.name}", f"{plural(self.iterations, 'step')}")
        return cell(title, table(("state", "value"), rows), *([items(notes)] if notes else []))

    def __str__(self) -> str:
        lines = [f"{name} = {value:.6g}" for name, value in zip(self.states, self.x, strict=True)]
        lines += [f"{name} = {value:.6g} (found)" for name, value in self.parameters.items()]
        lines += [f"not determined by the rates: {', '.join(part)}" for part in self.undetermined]
        lines += [f'the point does not persist: the transition "{kind}" is due' for kind in self.due]
        return "\n".join([f'operating point of "{self.compiled.model.name}", {plural(self.iterations, "step")}', *lines])


def operating_point(
    model: Compilable,
    initial: np.ndarray | Initial | None = None,
    *,
    fixed: Sequence[str] = (),
    moving: Sequence[str] = (),
    free: Sequence[str] = (),
    targets: Mapping[str, float] | None = None,
    parameters: Mapping[str, Any] | None = None,
    modes: Mapping[str, str] | None = None,
    t: float = 0.0,
    tolerance: float = 1e-10,
    iterations: Count = 100,
) -> OperatingPoint:
    """Find an operating point, where the rates vanish, by damped Newton iteration with the Jacobian from the tape.

    Parameters
    ----------
    initial : guess: the state (n,); changes of the start values by name; the `final` of a run; or another operating point.
    fixed : states that keep the value of the guess.
    moving : states whose rates need not vanish, such as the position in steady motion.
    free : unknown parameters (components allowed), normally as many as `targets` and `fixed` states, minus `moving` states.
    targets : required values by name (components allowed).
    parameters, modes, t : as in `linearise`.
    tolerance : size of the last step relative to |x| + nominal.
    iterations : maximum number of steps.

    Raises `ModelError` E253 if the iteration does not converge, E254 if the rates vanish nowhere nearby, E256 for more than 3000
    unknowns if the Jacobian is singular or not square, E261 for an unknown state or a target that is not one finite number; and
    the errors of `linearise`.
    """
    compiled = compiled_form(model, "operating_point")
    goals = dict(targets or {})
    derivatives = derivatives_of(compiled, names_of(free, "free"), tuple(goals))
    start = point_of(compiled, t, initial, parameters, modes)
    target_values = _target_values(derivatives, goals)
    n = len(derivatives.states)
    fixed_indices, moving_indices = (np.array(pick_states(compiled.system, names), dtype=int) for names in (fixed, moving))
    indices = np.array(derivatives.state_places, dtype=int)
    open_states = np.setdiff1d(np.arange(n), fixed_indices)
    unknowns = np.concatenate([open_states, n + np.arange(len(derivatives.inputs))])
    rows = np.concatenate([np.setdiff1d(np.arange(n), moving_indices), n + np.arange(len(target_values))])

    def at(z: np.ndarray) -> Point:
        x, p = start.x.copy(), start.p.copy()
        x[indices[open_states]] = z[: len(open_states)]
        p[list(derivatives.input_places)] = z[len(open_states) :]
        return replace(start, x=x, p=p)

    def equations(z: np.ndarray) -> tuple[np.ndarray, Any]:
        rates, outputs, nonzeros = derivatives.values(at(z))
        matrix = derivatives.matrix(nonzeros)[rows][:, unknowns]
        return np.concatenate([rates, outputs - target_values])[rows], matrix if n >= SPARSE else matrix.toarray()

    def sizes(z: np.ndarray) -> np.ndarray:
        residual, change = equations(z)[0], np.zeros(len(rows))
        random = np.random.default_rng(1)
        for _ in range(4):
            place = at(z * _nearly_one(random, len(z)))
            rates, outputs, _ = derivatives.values(replace(place, p=place.p * _nearly_one(random, len(place.p))))
            change = np.fmax(change, np.abs(np.concatenate([rates, outputs - target_values])[rows] - residual))
        return change / _NUDGE

    nominal = np.abs(np.concatenate([compiled.program.typical[indices], np.ones(len(derivatives.inputs))])[unknowns])
    begin = np.concatenate([start.x[indices[open_states]], start.p[list(derivatives.input_places)]])
    square = len(open_states) == n == len(rows) and not goals and not moving_indices.size
    try:
        solution = newton_in_own_units(equations, begin, nominal, tolerance, iterations, square, sizes)
    except np.linalg.LinAlgError as failure:
        title, cure = "the operating point is not determined", "undetermined states in both fixed=[...] and moving=[...]"
        raise refusal("E256", title, cure, about=compiled.model.name, why=str(failure), places=()) from failure
    labels = [*derivatives.states, *derivatives.inputs]
    equation_labels = [*(f"{name}'" for name in derivatives.states), *derivatives.outputs]
    if not solution.converged:
        names = [equation_labels[row] for row in rows]
        raise _failed(compiled, solution, names, [labels[k] for k in unknowns], tolerance)
    point = consistent(compiled, at(solution.z))
    solved = dict(zip(derivatives.inputs, map(float, solution.z[len(open_states) :]), strict=True))
    undetermined = tuple(_shares(direction, [labels[k] for k in unknowns]) for direction in solution.free.T)
    due = _due(compiled, point)
    return OperatingPoint(
        compiled, point, derivatives.states, point.x[indices], solved, undetermined, due, solution.iterations, solution.history
    )


def _nearly_one(random: np.random.Generator, count: int) -> np.ndarray:
    return 1.0 + random.choice((-_NUDGE, _NUDGE), count)


def steady_state(
    model: Compilable,
    initial: np.ndarray | Initial | None = None,
    *,
    parameters: Mapping[str, Any] | None = None,
    modes: Mapping[str, str] | None = None,
) -> OperatingPoint:
    """Find the steady state by Newton iteration from the start values or `initial`; errors are those of `operating_point`.

    It may be unstable: see `steady_state(compiled).linearise().poles()`.
    """
    return operating_point(compiled_form(model, "steady_state"), initial, parameters=parameters, modes=modes)


def _parameters(compiled: Compiled) -> dict[str, Slot]:
    return {name: compiled.program.layout[name] for name in compiled.system.parameters}


def _target_values(derivatives: Derivatives, goals: Mapping[str, float]) -> np.ndarray:
    if len(derivatives.outputs) != len(goals):
        wide = [name for name in goals if name not in derivatives.outputs]
        cures = tuple(f'name one component: "{name}[0]"' for name in wide)
        title = f"a target must be a number, not an array: {', '.join(wide)}"
        raise refusal("E261", title, *cures, about=derivatives.compiled.model.name, places=())
    values = [real(value) for value in goals.values()]
    for name, value in zip(goals, values, strict=True):
        if not np.isfinite(value):
            title = f'the target of "{name}" cannot be {goals[name]!r}'
            about = derivatives.compiled.model.name
            raise refusal("E261", title, f'targets={{"{name}": 1.0}}', about=about, why="a target is one finite number")
    return np.array(values)


def _shares(direction: np.ndarray, labels: list[str]) -> tuple[str, ...]:
    size = np.abs(direction)
    order = np.argsort(-size, kind="stable")
    return tuple(labels[k] for k in order[:8] if size[k] > 1e-3 * size.max())


def _due(compiled: Compiled, point: Point) -> tuple[str, ...]:
    program = compiled.program
    if program.guards is None:
        return ()
    guards = program.guards(point.t, point.x, whole_parameters(compiled, point), point.m)
    return tuple(t.kind for t, value in zip(program.transitions, guards, strict=True) if value > 0.0)


def _failed(
    compiled: Compiled, solution: NewtonResult, equations: list[str], unknowns: list[str], tolerance: float
) -> ModelError:
    size = np.abs(solution.residual)
    worst = [f"{equations[k]} = {solution.residual[k]:.3g}" for k in np.argsort(-size, kind="stable")[:4] if size[k] > 0]
    details = [f"after {plural(solution.iterations, 'step')}: {', '.join(worst)}"]
    details += [f"not determined: {', '.join(_shares(part, unknowns))}" for part in solution.free.T]
    of_model = functools.partial(refusal, about=compiled.model.name, why=details, places=())
    if not (solution.history and solution.history[-1] <= tolerance):
        cures = ("a guess closer to the operating point", "simulate for a while and begin from the last state")
        return of_model("E253", "no operating point was found", *cures)

    return of_model(
        "E254",
        "the rates cannot all vanish near the guess",
        "operating_point(model, moving=[...]) for states that change in steady motion",
        "operating_point(model, free=[...]) for parameters that may be adjusted",
        "another guess, if the equations are nonlinear",
    )


@short_repr
@dataclass(frozen=True, eq=False)
class Sensitivities:
    """Derivatives with respect to parameters at a point.

    Parameters
    ----------
    rates : d x' / d p at fixed state, (n, k).
    direct : d y / d p at fixed state, (outputs, k).
    steady_states, steady_outputs : d x / d p and d y / d p if the steady state moves with the parameters.
    values : outputs at the point.
    parameter_values : parameters at the point.
    """

    states: tuple[str, ...]
    outputs: tuple[str, ...]
    parameters: tuple[str, ...]
    rates: np.ndarray = field(repr=False)
    direct: np.ndarray = field(repr=False)
    steady_states: np.ndarray = field(repr=False)
    steady_outputs: np.ndarray
    values: np.ndarray
    parameter_values: np.ndarray

    def relative(self) -> np.ndarray:
        """Return (p / y) d y / d p in steady state, (outputs, k): percent change of y per percent change of p; nan where y is
        zero."""
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = self.steady_outputs * self.parameter_values / self.values[:, None]
        return np.where(self.values[:, None] != 0.0, ratio, np.nan)

    def _repr_html_(self) -> str:
        rows = [(name, *self.steady_outputs[:, k]) for k, name in enumerate(self.parameters)]
        return cell(line("sensitivities", "change of the steady outputs with the parameters"), table(("", *self.outputs), rows))

    def __str__(self) -> str:
        width = max((len(name) for name in self.parameters), default=0)
        lines = [" " * width + "".join(f"  {name:>14}" for name in self.outputs)]
        for k, name in enumerate(self.parameters):
            lines.append(f"{name:<{width}}" + "".join(f"  {value:14.6g}" for value in self.steady_outputs[:, k]))
        return "\n".join(lines)


def sensitivities(
    model: Compilable, outputs: Sequence[str], parameters: Sequence[str], at: OperatingPoint | Point | None = None
) -> Sensitivities:
    """Return the derivatives of rates, steady state and outputs with respect to parameters.

    A conserved quantity, which makes A singular, does not change.

    Parameters
    ----------
    outputs : named values, components allowed.
    parameters : names of parameters, components allowed.
    at : an operating point; the start values by default, which should then be a steady state.

    Raises `ModelError` E259 if there is no steady state after a small change of a parameter, E256 if A is singular, with more
    than 3000 states; and the errors of `linearise`.
    """
    compiled = compiled_form(model, "sensitivities")
    point = at.point if isinstance(at, OperatingPoint) else at if at is not None else point_of(compiled)
    derivatives = derivatives_of(compiled, parameters, outputs)
    for name, place in zip(derivatives.inputs, derivatives.input_places, strict=True):
        if place >= len(point.p):
            near = similar_names(name.rpartition(".")[0] or name, compiled.parameters, most=1)
            cure = f'"{near[0]}"' if near else "a name of compiled.parameters"
            raise refusal("E250", f'"{name}" is a signal, not a parameter', cure, about=compiled.model.name, places=())
    linear = derivatives(point)
    a, b, c, d = linear.A, linear.B, linear.C, linear.D
    if linear.is_sparse:
        b, d = b.toarray(), d.toarray()
    indices = list(derivatives.state_places)
    scale = compiled.program.typical[indices] + np.abs(point.x[indices])
    try:
        steady, solved = least_change(a, b, scale)
    except np.linalg.LinAlgError as failure:
        title, cure = "the steady state is not determined", "a sweep of operating points"
        raise refusal("E256", title, cure, about=compiled.model.name, why=str(failure), places=()) from failure
    if not np.all(solved):
        unsolved = [name for name, good in zip(linear.inputs, solved, strict=True) if not good]
        title = f"there is no steady state after a small change of {', '.join(unsolved)}"
        why = "A is singular, and such a change drives a state without a restoring force"
        cures = (f"parameters without {', '.join(unsolved)}", "a spring or resistor that acts on the state")
        raise refusal("E259", title, *cures, about=compiled.model.name, why=why, places=())
    return Sensitivities(
        linear.states,
        linear.outputs,
        linear.inputs,
        b,
        d,
        steady,
        np.asarray(c @ steady) + d,
        linear.values,
        point.p[list(derivatives.input_places)],
    )
