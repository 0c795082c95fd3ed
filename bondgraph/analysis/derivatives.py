"""Linearisation of a compiled model at a point, by differentiating the tape of its formulas."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from bondgraph.analysis.added_inputs import AddedInputs, signals_with_inputs, with_added_inputs, with_zeros
from bondgraph.analysis.kinks import other_side
from bondgraph.analysis.linear import Linear
from bondgraph.assembly.system import State
from bondgraph.compile.compiled import Compiled
from bondgraph.compile.pipeline import Compilable, compiled_form
from bondgraph.compile.points import Point, consistent, point_of
from bondgraph.compile.state_names import moving_states, pick_inputs, pick_outputs
from bondgraph.emit.kernel import Kernel
from bondgraph.emit.numpy import numpy_kernel
from bondgraph.errors import KinkWarning, OpenSamplerWarning, caller_depth, refusal
from bondgraph.model.arguments import names_of
from bondgraph.model.ops import Frozen
from bondgraph.output.short_repr import short_repr
from bondgraph.run_arguments import Initial
from bondgraph.tape.differentiate import jacobian
from bondgraph.tape.routine import Routine
from bondgraph.tracing.evaluate import Traced
from bondgraph.tracing.input_ramps import START, acting, has_time_derivatives, rate_refusal, with_ramps
from bondgraph.tracing.on_tape.values import scalars_of
from bondgraph.tracing.routines import values_on_tape
from bondgraph.units.conversions import is_of_pose
from screws.calls import explain_methods

SPARSE = 400
"""Smallest number of states for which matrices are sparse."""


@explain_methods
@short_repr
@dataclass(frozen=True, eq=False)
class Derivatives(Frozen):
    """Rates and outputs of a model with their derivatives with respect to states and inputs, differentiated once. A call with a
    `Point` returns the `Linear` system at this point; it raises E260, E262 and E592 as `linearise` does."""

    compiled: Compiled
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    state_places: tuple[int, ...]
    """Indices of the states in x, which may also hold the unknowns of algebraic loops."""
    input_places: tuple[int, ...]
    """Indices of the inputs in the parameter vector; inputs that are added to signals come after its end."""
    rows: np.ndarray = field(repr=False)
    columns: np.ndarray = field(repr=False)
    kernel: Kernel = field(repr=False)
    """Kernel (t, x, p, m) -> rates, outputs and the nonzero derivatives at `rows` and `columns`."""
    routine: Routine = field(repr=False)
    """The routine of the kernel, which an interpreter runs to see each operation."""
    ramps: Ramps | None = field(default=None, repr=False)

    def values(self, point: Point) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return rates (n,), outputs (k,) and the nonzero derivatives at a point; raise E262 if an algebraic loop has no
        solution."""
        point = consistent(self.compiled, point)
        everything = self.kernel(point.t, point.x, with_zeros(self.kernel, point.p), point.m)
        n, k = len(self.states), len(self.outputs)
        return everything[:n], everything[n : n + k], everything[n + k :]

    def matrix(self, nonzeros: np.ndarray) -> Any:
        """Return the derivatives of (rates, outputs) with respect to (states, inputs) as a SciPy array in compressed columns."""
        from scipy.sparse import csc_array

        shape = (len(self.states) + len(self.outputs), len(self.states) + len(self.inputs))
        return csc_array((nonzeros, (self.rows, self.columns)), shape=shape)

    def __call__(self, point: Point) -> Linear:
        point = consistent(self.compiled, point)
        rates, outputs, nonzeros = self.values(point)
        wrong = [r for r, v in zip(self.rows, nonzeros, strict=True) if not np.isfinite(v)]
        wrong += [int(r) for r in np.flatnonzero(~np.isfinite(np.concatenate([rates, outputs])))]
        if wrong:
            labels = [*(f"{name}'" for name in self.states), *self.outputs]
            why = f"no finite value or derivative of {', '.join(dict.fromkeys(labels[r] for r in wrong))}"
            cure = "another point: the present point may lie on a kink or a pole of a formula"
            title = "there is no linear system at this point"
            raise refusal("E260", title, cure, about=self.compiled.model.name, why=why, places=())
        matrix, n = self.matrix(nonzeros), len(self.states)
        if self.ramps is not None:
            self.ramps.check(point)
        blocks = (matrix[:n, :n], matrix[:n, n:], matrix[n:, :n], matrix[n:, n:])
        if n < SPARSE:
            blocks = tuple(block.toarray() for block in blocks)  # type: ignore[assignment]
        return Linear(
            self.compiled.model.name, *blocks, self.states, self.inputs, self.outputs, rates=rates, values=outputs, point=point
        )

    def warn_of_kinks(self, point: Point) -> None:
        """Warn (`KinkWarning`) if a formula has a kink or a jump at a point."""
        point, n, k = consistent(self.compiled, point), len(self.states), len(self.outputs)
        blocks = [np.array([point.t]), point.x, with_zeros(self.kernel, point.p), point.m]
        results = [*(f"{name}'" for name in self.states), *self.outputs]
        causes = (*self.states, *self.inputs)
        variables = {*(("x", place) for place in self.state_places), *(("p", place) for place in self.input_places)}
        side = other_side(self.routine, blocks, variables)
        if side is None:
            return
        number, (here, beyond) = min(side.items())
        if number < n + k:
            what, quantity = "jumps", results[number]
        else:
            row, column = results[self.rows[number - n - k]], causes[self.columns[number - n - k]]
            what, quantity = "has a kink", f"d({row})/d({column})"
        sides = f"{quantity} is {here + 0.0:.6g} on one side, {beyond + 0.0:.6g} on the other"  # + 0.0 shows -0 as 0
        title = f'"{self.compiled.model.name}": a formula {what} at this point (t = {point.t:.6g} s): {sides}'
        text = f"{title}. The linear system holds on the first side; try another point"
        warnings.warn(text, KinkWarning, stacklevel=caller_depth())


@dataclass(frozen=True, eq=False)
class Ramps:
    """Derivatives of a model whose inputs are ramps that start at the point: the effects of the rates of the inputs."""

    derivatives: Derivatives
    start: int
    """Index, in the parameter vector, of the time at which the ramps start."""

    def check(self, point: Point) -> None:
        """Raise E592 if rates or outputs depend on the rate of an input, for which a linear system has no matrix."""
        ramps, n = self.derivatives, len(self.derivatives.states)
        p = with_zeros(ramps.kernel, point.p)
        p[self.start] = point.t
        of_inputs = np.flatnonzero(ramps.columns >= n)
        acts = acting(ramps.routine, (of_inputs + n + len(ramps.outputs)).tolist(), [np.array([point.t]), point.x, p, point.m])
        if acts.any():
            first = int(of_inputs[acts][0])
            dependent = [*(f"{name}'" for name in ramps.states), *ramps.outputs][ramps.rows[first]]
            name, reason = ramps.inputs[ramps.columns[first] - n], "for which a linear system has no matrix"
            raise rate_refusal("E592", dependent, name, reason, ramps.compiled.model.name)


def differentiate(model: Compilable, inputs: Sequence[str] = (), outputs: Sequence[str] = ()) -> Derivatives:
    """Differentiate a model once, to linearise it at many points; see `linearise` for arguments and errors."""
    compiled = compiled_form(model, "differentiate")
    return replace(derivatives_of(compiled, inputs, outputs), ramps=ramps_of(compiled, inputs, outputs))


def ramps_of(compiled: Compiled, inputs: Sequence[str], outputs: Sequence[str]) -> Ramps | None:
    """Return the derivatives with respect to the slopes of inputs that are ramps; None if they cannot matter."""
    if not names_of(inputs, "inputs") or not has_time_derivatives(compiled.system):
        return None
    system, named, signals = with_added_inputs(compiled.model, compiled.system, inputs)
    roots = [system.resolve(name.partition("[")[0].strip()) for name in named]
    system, slopes = with_ramps(system, [root for root in roots if root in system.parameters])
    named = [f"{slopes[root]}{''.join(name.partition('[')[1:])}" for root, name in zip(roots, named, strict=True)]
    signals = {slope: signals.get(root, root) for root, slope in slopes.items()}
    return Ramps(_differentiated(compiled, (system, named, signals), outputs), system.parameter_places[START].start)


def derivatives_of(compiled: Compiled, inputs: Sequence[str], outputs: Sequence[str]) -> Derivatives:
    return _differentiated(compiled, with_added_inputs(compiled.model, compiled.system, inputs), outputs)


def _differentiated(compiled: Compiled, added: AddedInputs, outputs: Sequence[str]) -> Derivatives:
    system, named, signals = added
    traced = values_on_tape(system)
    labels, input_indices = pick_inputs(traced, named, signals, signals_with_inputs(compiled.model, system))
    names, output_scalars = pick_outputs(traced, outputs)
    states, state_indices, state_labels = moving_states(traced.context.system)
    rates = [scalar for state in states for scalar in rates_of(traced, state)]
    inputs_on_tape = traced.context.inputs
    variables = [*(inputs_on_tape["x"][k] for k in state_indices), *(inputs_on_tape["p"][k] for k in input_indices)]
    rows, columns, routine = slopes_of(traced, "derivatives", [*rates, *output_scalars], variables)
    places = compiled, state_labels, labels, names, state_indices, input_indices, rows, columns
    return Derivatives(*places, numpy_kernel(routine), routine)


def slopes_of(
    traced: Traced, name: str, scalars: Sequence[Any], variables: Sequence[Any]
) -> tuple[np.ndarray, np.ndarray, Routine]:
    """Return the rows and columns of the nonzero derivatives of scalars with respect to variables, and a routine of
    (t, x, p, m) that returns the scalars, then these derivatives."""
    slopes, context = jacobian(scalars, variables), traced.context
    blocks = tuple((block, len(inputs)) for block, inputs in context.inputs.items())
    routine = Routine(name, context.tape, blocks, (*scalars, *slopes.values))
    return np.array(slopes.rows, dtype=int), np.array(slopes.columns, dtype=int), routine


def rates_of(traced: Traced, state: State) -> list[Any]:
    """Return the time derivatives of a state on the tape, with (1 - q.q) q added to the rate of the quaternion q of a pose.

    No other rate depends on |q|, whose own rate vanishes at rest. Without this term the Jacobian would be singular there.
    """
    rates = scalars_of(traced.values[state.rate])
    if np.shape(state.initial) != (7,) or not is_of_pose(traced.context.system.values[state.name].unit):
        return rates
    q = scalars_of(traced.values[state.name])[:4]
    pull = 1.0 - (q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3])
    return [*(rate + pull * entry for rate, entry in zip(rates, q, strict=False)), *rates[4:]]


def warn_of_samplers(compiled: Compiled) -> None:
    if compiled.program.clocks:
        names = ", ".join(f'"{clock.name}"' for clock in compiled.program.clocks)
        text = f'"{compiled.model.name}": the values of {names} between ticks are constant, so the loop is open;'
        warnings.warn(f"{text} `linearise_sampled` closes it, over one period", OpenSamplerWarning, stacklevel=caller_depth())


def linearise(
    model: Compilable,
    inputs: Sequence[str] = (),
    outputs: Sequence[str] = (),
    t: float = 0.0,
    initial: np.ndarray | Initial | None = None,
    parameters: Mapping[str, Any] | None = None,
    modes: Mapping[str, str] | None = None,
) -> Linear:
    """Return the exact linear system dx' = A dx + B du, dy = C dx + D du at a point: the tape of the model is differentiated.

    The derivatives are those of the active mode; events are not part of a linear system. The rates need not vanish at the point
    (`Linear.rates`); `operating_point` finds where they do. A pose is stored as a unit quaternion and a position, so each pose
    adds one direction to A that is not a motion: the norm of its quaternion. The norm is neither reachable nor observable, and
    `Linear.minimal` removes it. Analyses add (1 - q.q) q to the rate of the quaternion q of a pose (seven numbers of unit
    "1, m"), so that the pole of the norm is near -2 1/s and not zero at rest. States that only ticks and resets change are
    constant like parameters, and not states of the linear system: an `OpenSamplerWarning` reports the clocks, and
    `linearise_sampled` includes their states. A `KinkWarning` reports a formula with a kink or a jump at the point, such as a
    limiter at its limit.

    Parameters
    ----------
    model : compiled, or a graph, which is compiled first.
    inputs : parameters by name, such as "source.value"; sources and signals of blocks, "motor" and "error.y", to which the input
        is added; or components such as "force.value[2]".
    outputs : any named values, components allowed.
    t : time, s.
    initial : the state (n,); changes of the start values by name; the `final` of a run; or an operating point.
    parameters : changes of parameters by name.
    modes : state of each automaton, by name.

    Raises `ModelError` E100 for anything but a model, E335 for delays, E693 for FMUs, E250 for an unknown input, E251 for an
    unknown output, E260 for values or derivatives that are not finite, E262 if no solution of an algebraic loop is found, E592 if
    rates or outputs depend on the time derivative of an input; and the errors of `point_of`.
    """
    compiled = compiled_form(model, "linearise")
    warn_of_samplers(compiled)
    return linear_system(compiled, inputs, outputs, point_of(compiled, t, initial, parameters, modes))


def linear_system(compiled: Compiled, inputs: Sequence[str], outputs: Sequence[str], point: Point) -> Linear:
    derivatives = differentiate(compiled, inputs, outputs)
    linear = derivatives(point)
    derivatives.warn_of_kinks(point)
    return linear
