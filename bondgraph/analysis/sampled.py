"""A sampled loop at a point -> its discrete linear system over one period: ticks and the motion between, differentiated."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bondgraph.analysis.linear import Linear
from bondgraph.compile.compiled import Compiled
from bondgraph.compile.pipeline import Compilable, compiled_form
from bondgraph.compile.points import Point, consistent, point_of, whole_parameters
from bondgraph.compile.state_names import own_states, pick_inputs, pick_outputs
from bondgraph.emit.numpy import numpy_kernel
from bondgraph.errors import refusal
from bondgraph.run.simulate import simulate
from bondgraph.run_arguments import Initial
from bondgraph.tape.differentiate import jacobian
from bondgraph.tape.routine import Routine
from bondgraph.tracing.evaluate import Traced
from bondgraph.tracing.on_tape.values import scalars_of
from bondgraph.tracing.routines import values_on_tape

AGREES = 1e-9
"""Relative change of the matrix of the motion at which its steps are short enough."""
MOST_STEPS = 4096
TOGETHER = 1e-9
"""Clocks whose periods and offsets differ by less, relative to the period, are one."""

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
    """The linear system dx[k+1] = A dx[k] + B du[k], dy[k] = C dx[k] + D du[k] of a model with sampled blocks, over one period.

    x[k] is the state just before a tick, with what the blocks hold; then come the ticks, and the motion up to the next: both
    are differentiated exactly along the course from the point, which need not be at rest (`Linear.rates` is what x changes by).
    Inputs are constant over a period. The loop is stable where all poles are inside the unit circle. What a block holds for its
    first tick alone, such as that there is no difference yet, is taken as it is after that tick.

    Arguments are those of `linearise`. Raises `ModelError` E565 for a model without a clock, or with several of different periods
    or offsets, where an event happens within the period, and where ticks are not alike (a `filter_period`); those of `linearise`;
    `RunError` E323 if the course is not ok.

    Source: Blanes and Moan 2006 (the product of exponentials of fourth order for the motion).
    """
    compiled = compiled_form(model, "linearise_sampled")
    period, offset = _clock(compiled, compiled.parameters(parameters))
    before = consistent(compiled, point_of(compiled, offset, initial, parameters, modes))
    traced = values_on_tape(compiled.system)
    labels, places = pick_inputs(traced, inputs)
    names, wanted = pick_outputs(traced, outputs)
    states, state_places, state_labels = own_states(traced.context.system)
    given = traced.context.inputs
    variables = [*(given["x"][place] for place in state_places), *(given["p"][place] for place in places)]
    n, count, own = len(state_places), len(variables), list(state_places)

    held = np.repeat([state.held for state in states], [int(np.size(state.initial)) for state in states])
    clocks = []
    for clock in compiled.system.clocks:
        changed = dict(clock.updates)
        scalars = [s for state in states for s in scalars_of(traced.values[changed.get(state.name, state.name)])]
        clocks.append(_differentiated(traced, scalars, variables))
    point, whole = _ticked(compiled, clocks, before, own, count)
    begun = held & ~whole[:n].any(axis=1) & (point.x[own] != before.x[own])
    if begun.any():
        before = _at(compiled, before, own, np.where(begun, point.x[own], before.x[own]))
        point, whole = _ticked(compiled, clocks, before, own, count)
        turning = begun & (point.x[own] != before.x[own])
        if turning.any():
            title = f'"{state_labels[int(np.flatnonzero(turning)[0])]}" counts ticks that are not alike'
            raise _refused(compiled, title, "a sampled_pid without filter_period, or runs that show how the loop settles")
    values, slopes = _differentiated(traced, wanted, variables)(before)
    rates = [zero for state in states for zero in _rates(traced, state)]
    motion, end = _motion(compiled, _differentiated(traced, rates, variables), before, period, n, count)
    # The tick at the end of the course belongs to the next period.
    change = np.where(held, point.x[own], end[own]) - before.x[own]
    found = motion @ whole
    return Linear(
        compiled.model.name,
        found[:n, :n],
        found[:n, n:],
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
    compiled: Compiled, clocks: Sequence[_Differentiated], before: Point, own: Sequence[int], count: int
) -> tuple[Point, np.ndarray]:
    """The point after the ticks of all clocks, in their order, and what they make of states and inputs, (count, count)."""
    point, whole, n = before, np.eye(count), len(own)
    for clock in clocks:
        after, tick = clock(point)
        whole = np.vstack([tick @ whole, whole[n:]])
        point = _at(compiled, point, own, after)
    return point, whole


def _at(compiled: Compiled, point: Point, own: Sequence[int], states: np.ndarray) -> Point:
    """The point with other states, and what follows from them."""
    x = point.x.copy()
    x[list(own)] = states
    return consistent(compiled, replace(point, x=x))


def _rates(traced: Traced, state: Any) -> Sequence[Any]:
    """Time derivatives of a state; of one that only ticks change, nothing."""
    return [0.0] * int(np.size(state.initial)) if state.held else list(scalars_of(traced.values[state.rate]))


def _clock(compiled: Compiled, p: np.ndarray) -> tuple[float, float]:
    """Period and offset of the one clock, s."""

    def seconds(given: float | int) -> float:
        return float(p[given]) if isinstance(given, int) else float(given)

    clocks = [(clock.name, seconds(clock.period), seconds(clock.offset)) for clock in compiled.program.clocks]
    if not clocks:
        raise _refused(compiled, "there is no sampled block", "linearise(...)")
    _, period, offset = clocks[0]
    for name, other, begin in clocks:
        apart = abs(begin - offset) / period
        if not abs(other - period) <= TOGETHER * period or apart > TOGETHER:
            title = f'"{clocks[0][0]}" and "{name}" do not tick together: every {period:g} s from {offset:g} s, and '
            raise _refused(compiled, f"{title}every {other:g} s from {begin:g} s", "one period and offset for all")
    return period, offset


def _differentiated(traced: Traced, scalars: Sequence[Any], variables: Sequence[Any]) -> _Differentiated:
    """Values (k,) and their derivatives (k, variables), at a point."""
    slopes = jacobian(scalars, variables)
    blocks = tuple((block, len(own)) for block, own in traced.context.inputs.items())
    kernel = numpy_kernel(Routine("sampled", traced.context.tape, blocks, (*scalars, *slopes.values)))
    rows, columns = np.array(slopes.rows, dtype=int), np.array(slopes.columns, dtype=int)

    def evaluated(point: Point) -> tuple[np.ndarray, np.ndarray]:
        everything = kernel(point.t, point.x, point.p, point.m)
        matrix = np.zeros((len(scalars), len(variables)))
        matrix[rows, columns] = everything[len(scalars) :]
        return everything[: len(scalars)], matrix

    return evaluated


def _motion(
    compiled: Compiled, rates: _Differentiated, before: Point, period: float, n: int, count: int
) -> tuple[np.ndarray, np.ndarray]:
    """How states and inputs after the ticks lead to those at the end of the period, (count, count); and the states there."""
    from scipy.linalg import expm, matrix_balance

    p, node = whole_parameters(compiled, before), np.sqrt(3.0) / 6.0
    low, high = 0.25 - node, 0.25 + node
    found: np.ndarray | None = None
    steps, scale = 1, np.ones(count)
    while True:
        h = period / steps
        inner = (np.arange(steps)[:, None] + [0.5 - node, 0.5 + node]).ravel() * h
        times = before.t + inner
        course = simulate(
            compiled.program, before.x, p, before.m, before.t + period, t_start=before.t, samples=times, rtol=1e-10,
            progress=False, strict=True,
        )  # fmt: skip
        if any(not event.internal for event in course.events):
            title = f"an event happens within the period: {course.events[0].kind}"
            raise _refused(compiled, title, "an `initial` from which none does, such as an operating point")
        matrices = np.zeros((2 * steps, count, count))
        for k, (t, x, m) in enumerate(zip(times, course.x[-len(times) :], course.m[-len(times) :], strict=True)):
            matrices[k, :n] = rates(Point(float(t), x, before.p, m))[1]
        if found is None:
            scale = np.diag(matrix_balance(h * np.mean(matrices, axis=0), permute=False)[1])
        product = np.eye(count)
        for first, second in zip(matrices[::2], matrices[1::2], strict=True):
            product = expm(h * (low * first + high * second)) @ expm(h * (high * first + low * second)) @ product
        if found is not None:
            change = (product - found) * scale / scale[:, None]
            if np.linalg.norm(change) <= AGREES * np.linalg.norm(product * scale / scale[:, None]) or steps >= MOST_STEPS:
                break
        found, steps = product, 2 * steps
    ended = simulate(compiled.program, before.x, p, before.m, before.t + period, t_start=before.t, rtol=1e-10, progress=False)
    return product, ended.x[-1]


def _refused(compiled: Compiled, title: str, cure: str) -> Any:
    return refusal("E565", title, cure, about=compiled.model.name, places=())
