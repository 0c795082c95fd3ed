"""Linearisation of a sampled loop: its discrete linear system over one period, from ticks and the motion between them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bondgraph.analysis.added_inputs import signals_with_inputs, with_added_inputs, with_zeros
from bondgraph.analysis.derivatives import ramps_of, rates_of, slopes_of
from bondgraph.analysis.linear import Linear
from bondgraph.compile.compiled import Compiled
from bondgraph.compile.pipeline import Compilable, compiled_form
from bondgraph.compile.points import Point, consistent, point_of, whole_parameters
from bondgraph.compile.state_names import own_states, pick_inputs, pick_outputs
from bondgraph.emit.numpy import numpy_kernel
from bondgraph.errors import UnreliableRunWarning, caller_depth, refusal
from bondgraph.run.simulate import simulate
from bondgraph.run_arguments import Initial
from bondgraph.tracing.evaluate import Traced
from bondgraph.tracing.on_tape.values import scalars_of
from bondgraph.tracing.routines import values_on_tape

TOLERANCE = 1e-9
"""Relative change of the matrix of the motion below which the step size is small enough."""
MAX_STEPS = 4096
SAME_TICK = 1e-9
"""Difference of periods and offsets, relative to the period, up to which clocks tick together."""

_Differentiated = Callable[[Point], tuple[np.ndarray, np.ndarray]]


def linearise_sampled(
    model: Compilable,
    inputs: Sequence[str] = (),
    outputs: Sequence[str] = (),
    *,
    initial: np.ndarray | Initial | None = None,
    parameters: Mapping[str, Any] | None = None,
    modes: Mapping[str, str] | None = None,
) -> Linear:
    """Return the linear system dx[k+1] = A dx[k] + B du[k], dy[k] = C dx[k] + D du[k] of a model with sampled blocks, over one
    period.

    x[k] is the state just before a tick, including the states that blocks hold; the ticks, and the motion up to the next tick,
    are differentiated exactly along the run from the point, which need not be at rest (`Linear.rates` is the change of x). Inputs
    are constant over a period. The loop is stable if all poles are inside the unit circle. Values that blocks change at their
    first tick only, such as a difference without a previous sample, are taken after that tick.

    Arguments are those of `linearise`. Raises `ModelError` E565 for a model without a clock, with clocks of different periods or
    offsets, with an event within the period, or with ticks that differ from each other, as with `filter_period`; the errors of
    `linearise`; `RunError` E323 if the run is not ok. An `UnreliableRunWarning` reports matrices that do not converge.

    Source: Blanes and Moan 2006 (the product of exponentials of fourth order for the motion).
    """
    compiled = compiled_form(model, "linearise_sampled")
    period, offset = _clock(compiled, compiled.parameters(parameters))
    before = consistent(compiled, point_of(compiled, offset, initial, parameters, modes))
    system, named, signals = with_added_inputs(compiled.model, compiled.system, inputs)
    traced = values_on_tape(system)
    labels, input_indices = pick_inputs(traced, named, signals, signals_with_inputs(compiled.model, system))
    names, output_scalars = pick_outputs(traced, outputs)
    states, state_indices, state_labels = own_states(traced.context.system)
    blocks = traced.context.inputs
    variables = [*(blocks["x"][index] for index in state_indices), *(blocks["p"][index] for index in input_indices)]
    n, count, indices = len(state_indices), len(variables), list(state_indices)

    is_held = np.repeat([state.held for state in states], [int(np.size(state.initial)) for state in states])
    clocks = []
    for clock in compiled.system.clocks:
        changed = dict(clock.updates)
        scalars = [s for state in states for s in scalars_of(traced.values[changed.get(state.name, state.name)])]
        clocks.append(_differentiated(traced, scalars, variables))
    point, ticks = _ticked(compiled, clocks, before, indices, count)
    first_only = is_held & ~ticks[:n].any(axis=1) & (point.x[indices] != before.x[indices])
    if first_only.any():
        before = _at(compiled, before, indices, np.where(first_only, point.x[indices], before.x[indices]))
        point, ticks = _ticked(compiled, clocks, before, indices, count)
        counting = first_only & (point.x[indices] != before.x[indices])
        if counting.any():
            title = f'"{state_labels[int(np.flatnonzero(counting)[0])]}" changes at every tick: no two ticks are alike'
            raise _refused(compiled, title, "a sampled_pid without filter_period, or runs that show how the loop settles")
    values, slopes = _differentiated(traced, output_scalars, variables)(before)
    ramps = ramps_of(compiled, inputs, outputs)
    if ramps is not None:
        ramps.check(before)
    rates = [zero for state in states for zero in _rates(traced, state)]
    motion, end = _motion(compiled, _differentiated(traced, rates, variables), before, period, n, count)
    # The tick at the end of the run belongs to the next period.
    change = np.where(is_held, point.x[indices], end[indices]) - before.x[indices]
    matrix = motion @ ticks
    return Linear(
        compiled.model.name,
        matrix[:n, :n],
        matrix[:n, n:],
        slopes[:, :n],
        slopes[:, n:],
        state_labels,
        labels,
        names,
        rates=change,
        values=values,
        point=before,
        period=period,
    )


def _ticked(
    compiled: Compiled, clocks: Sequence[_Differentiated], before: Point, indices: Sequence[int], count: int
) -> tuple[Point, np.ndarray]:
    point, matrix, n = before, np.eye(count), len(indices)
    for clock in clocks:
        after, tick = clock(point)
        matrix = np.vstack([tick @ matrix, matrix[n:]])
        point = _at(compiled, point, indices, after)
    return point, matrix


def _at(compiled: Compiled, point: Point, indices: Sequence[int], states: np.ndarray) -> Point:
    x = point.x.copy()
    x[list(indices)] = states
    return consistent(compiled, replace(point, x=x))


def _rates(traced: Traced, state: Any) -> Sequence[Any]:
    return [0.0] * int(np.size(state.initial)) if state.held else rates_of(traced, state)


def _clock(compiled: Compiled, p: np.ndarray) -> tuple[float, float]:
    def seconds(value: float | int) -> float:
        return float(p[value]) if isinstance(value, int) else float(value)

    clocks = [(clock.name, seconds(clock.period), seconds(clock.offset)) for clock in compiled.program.clocks]
    if not clocks:
        raise _refused(compiled, "there is no sampled block", "linearise(...)")
    _, period, offset = clocks[0]
    for name, other, begin in clocks:
        shift = abs(begin - offset) / period
        if not abs(other - period) <= SAME_TICK * period or shift > SAME_TICK:
            title = f'"{clocks[0][0]}" and "{name}" do not tick together: every {period:g} s from {offset:g} s, and '
            raise _refused(compiled, f"{title}every {other:g} s from {begin:g} s", "one period and offset for all")
    return period, offset


def _differentiated(traced: Traced, scalars: Sequence[Any], variables: Sequence[Any]) -> _Differentiated:
    rows, columns, routine = slopes_of(traced, "sampled", scalars, variables)
    kernel = numpy_kernel(routine)

    def evaluated(point: Point) -> tuple[np.ndarray, np.ndarray]:
        everything = kernel(point.t, point.x, with_zeros(kernel, point.p), point.m)
        matrix = np.zeros((len(scalars), len(variables)))
        matrix[rows, columns] = everything[len(scalars) :]
        return everything[: len(scalars)], matrix

    return evaluated


def _motion(
    compiled: Compiled, rates: _Differentiated, before: Point, period: float, n: int, count: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the matrix (count, count) that maps states and inputs after the ticks to the end of the period, and the states
    there."""
    from scipy.linalg import expm, matrix_balance

    p, node = whole_parameters(compiled, before), np.sqrt(3.0) / 6.0
    low, high = 0.25 - node, 0.25 + node
    previous: np.ndarray | None = None
    steps, scale = 1, np.ones(count)
    while True:
        h = period / steps
        inner = (np.arange(steps)[:, None] + [0.5 - node, 0.5 + node]).ravel() * h
        times = before.t + inner
        result = simulate(
            compiled.program,
            before.x,
            p,
            before.m,
            before.t + period,
            t_start=before.t,
            samples=times,
            rtol=1e-10,
            progress=False,
            strict=True,
        )
        if any(not event.internal for event in result.events):
            title = f"an event happens within the period: {result.events[0].kind}"
            raise _refused(compiled, title, "an `initial` without such an event, such as an operating point")
        matrices = np.zeros((2 * steps, count, count))
        for k, (t, x, m) in enumerate(zip(times, result.x[-len(times) :], result.m[-len(times) :], strict=True)):
            matrices[k, :n] = rates(Point(float(t), x, before.p, m))[1]
        if previous is None:
            scale = np.diag(matrix_balance(h * np.mean(matrices, axis=0), permute=False)[1])
        product = np.eye(count)
        for first, second in zip(matrices[::2], matrices[1::2], strict=True):
            product = expm(h * (low * first + high * second)) @ expm(h * (high * first + low * second)) @ product
        if previous is not None:
            sizes = [np.linalg.norm(matrix * scale / scale[:, None]) for matrix in (product - previous, product)]
            if sizes[0] > TOLERANCE * sizes[1] and steps >= MAX_STEPS:
                text = f'"{compiled.model.name}": the matrix of the sampled system has not converged with {steps} steps a period;'
                text = f"{text} halving the step changed it by {sizes[0] / sizes[1]:.2g} of its size"
                warnings.warn(text, UnreliableRunWarning, stacklevel=caller_depth())
            if sizes[0] <= TOLERANCE * sizes[1] or steps >= MAX_STEPS:
                break
        previous, steps = product, 2 * steps
    ended = simulate(compiled.program, before.x, p, before.m, before.t + period, t_start=before.t, rtol=1e-10, progress=False)
    return product, ended.x[-1]


def _refused(compiled: Compiled, title: str, cure: str) -> Any:
    return refusal("E565", title, cure, about=compiled.model.name, places=())
