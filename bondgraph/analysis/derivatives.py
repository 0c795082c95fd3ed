"""A compiled model at a point -> its linear system, by differentiating the tape of its own formulas."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bondgraph.analysis.linear import Linear
from bondgraph.compile.compiled import Compiled
from bondgraph.compile.pipeline import Compilable, compiled_form
from bondgraph.compile.points import Point, consistent, point_of
from bondgraph.compile.state_names import moving_states, pick_inputs, pick_outputs
from bondgraph.emit.kernel import Kernel
from bondgraph.emit.numpy import numpy_kernel
from bondgraph.errors import OpenSamplerWarning, caller_depth, refusal
from bondgraph.output.short_repr import brief
from bondgraph.run_arguments import Initial
from bondgraph.tape.differentiate import jacobian
from bondgraph.tape.routine import Routine
from bondgraph.tracing.on_tape.values import scalars_of
from bondgraph.tracing.routines import values_on_tape

SPARSE = 400
"""States from which on the matrices are sparse."""


@brief
@dataclass(frozen=True, eq=False)
class Derivatives:
    """Rates and outputs of a model with their derivatives by states and inputs, differentiated once.

    Call it with a `Point` for the `Linear` system there.
    """

    compiled: Compiled
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    state_places: tuple[int, ...]
    """Places of the states in x, which may hold the unknowns of algebraic loops besides."""
    input_places: tuple[int, ...]
    """Places of the inputs in the parameter vector."""
    rows: np.ndarray = field(repr=False)
    columns: np.ndarray = field(repr=False)
    kernel: Kernel = field(repr=False)
    """t, x, p, m -> rates, outputs, nonzeros."""

    def values(self, point: Point) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rates (n,), outputs (k,) and the nonzero derivatives at a point; E262 if an algebraic loop has no solution."""
        point = consistent(self.compiled, point)
        everything = self.kernel(point.t, point.x, point.p, point.m)
        n, k = len(self.states), len(self.outputs)
        return everything[:n], everything[n : n + k], everything[n + k :]

    def matrix(self, nonzeros: np.ndarray) -> Any:
        """Derivatives of (rates, outputs) by (states, inputs) as a SciPy array in compressed columns."""
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
            cure = "another point: this one may lie on a kink or a pole of a formula"
            title = "there is no linear system at this point"
            raise refusal("E260", title, cure, about=self.compiled.model.name, why=why, places=())
        whole, n = self.matrix(nonzeros), len(self.states)
        blocks = (whole[:n, :n], whole[:n, n:], whole[n:, :n], whole[n:, n:])
        if n < SPARSE:
            blocks = tuple(block.toarray() for block in blocks)  # type: ignore[assignment]
        return Linear(
            self.compiled.model.name, *blocks, self.states, self.inputs, self.outputs, rates=rates, values=outputs, point=point
        )


def differentiate(model: Compilable, inputs: Sequence[str] = (), outputs: Sequence[str] = ()) -> Derivatives:
    """Differentiate a model once, to linearise it at many points; see `linearise` for the arguments."""
    compiled = compiled_form(model, "differentiate")
    traced = values_on_tape(compiled.system)
    labels, places = pick_inputs(traced, inputs)
    names, wanted = pick_outputs(traced, outputs)
    states, state_places, state_labels = moving_states(traced.context.system)
    rates = [scalar for s in states for scalar in scalars_of(traced.values[s.rate])]
    given = traced.context.inputs
    variables = [*(given["x"][place] for place in state_places), *(given["p"][place] for place in places)]
    slopes = jacobian([*rates, *wanted], variables)
    blocks = tuple((block, len(scalars)) for block, scalars in given.items())
    routine = Routine("derivatives", traced.context.tape, blocks, (*rates, *wanted, *slopes.values))
    rows, columns = np.array(slopes.rows, dtype=int), np.array(slopes.columns, dtype=int)
    return Derivatives(compiled, state_labels, labels, names, state_places, places, rows, columns, numpy_kernel(routine))


def warn_of_samplers(compiled: Compiled) -> None:
    """Say that what sampled blocks hold is constant in a linear system between their ticks."""
    if compiled.program.clocks:
        names = ", ".join(f'"{clock.name}"' for clock in compiled.program.clocks)
        text = f'"{compiled.model.name}": what {names} holds between ticks is constant here, so that the loop is open there;'
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
    """The linear system dx' = A dx + B du, dy = C dx + D du at a point, exact: the tape of the model is differentiated.

    The derivatives are those of the mode that is active; events are no part of a linear system. The rates need not
    vanish at the point (`Linear.rates`); `operating_point` finds where they do. A pose is stored as a quaternion of
    unit norm and a position, so each pose adds one direction to A that is no motion: its norm, which returns to one
    by itself, with a pole at -2 1/s. It can neither be excited nor seen; `Linear.minimal` takes it out. States that only ticks
    and resets change are as constant as parameters, and no states of the linear system: an `OpenSamplerWarning` says so, and
    `linearise_sampled` takes them in.

    Parameters
    ----------
    model : compiled, or a graph, which is compiled first.
    inputs : parameters by name, such as "source.value", or components such as "force.value[2]".
    outputs : any named values, components allowed.
    t : time, s.
    initial : the state (n,); changes of the start values by name; the `final` of a run; or an operating point.
    parameters : changes of parameters by name.
    modes : names of automata and of the states they are in.

    Raises `ModelError` E100 for what is no model, E250 for an unknown input, E251 for an unknown output, E252 for a state that
    does not fit, E260 where no derivative is finite, E262 where an algebraic loop has no solution.
    """
    compiled = compiled_form(model, "linearise")
    warn_of_samplers(compiled)
    return differentiate(compiled, inputs, outputs)(point_of(compiled, t, initial, parameters, modes))
