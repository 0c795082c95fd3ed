"""Newton iteration for nonlinear algebraic loops on the tape: a fixed number of steps, from states that track the solution.

The guesses w~ follow the solution w as w~' = dw/dt + kappa (w - w~), so that the steps only remove the integrator's error. To
keep the model from becoming stiff, kappa does not exceed the model's fastest rate. Before a run and after events, a damped Newton
iteration outside the tape computes the guesses (`bondgraph.run.bound`).

Unknowns and residuals of a loop have natural sizes, whatever their units. The matrix at zero gives the sizes of the unknowns up
to a common factor; the sources (residuals at zero) or the values at which the matrix begins to change set this factor,
whichever are larger.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bondgraph.assembly.system import Loop
from bondgraph.tape.differentiate import jacobian
from bondgraph.tape.specialise import substitute
from bondgraph.tracing.linear.regularity import singular_at
from bondgraph.tracing.linear.solve import SingularSystem, eliminate, equilibrated, natural_sizes, solve, solve_pivoted
from bondgraph.tracing.on_tape.context import Samples, TracingContext
from bondgraph.tracing.on_tape.values import Entries, Values, partials, placed, scalars_of, shapes_of

LADDER = 10.0 ** (np.arange(-120, 121) / 4.0)

STEEPEST = 3.0
"""Limit of the logarithmic slope of an entry: an exponential counts as changing where it becomes steep, not where it
overflows."""

LEAST_BEND = 0.1
"""Sum of the changes of logarithmic slopes up to which a matrix counts as constant."""


def loop_sizes(
    context: TracingContext, loop: Loop, entries: Entries, residuals: Sequence[Any]
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return sizes of the unknowns of a loop and factors of its residuals, (k,) each, as powers of two.

    A change of an unknown's unit scales only its own size, by the same factor; a change of a residual's unit scales only its own
    factor, by the inverse.
    """
    count = len(residuals)
    at = {**entries, **{(i, count): residual for i, residual in enumerate(residuals)}}
    zero = _values(context, loop, at, np.zeros((1, count)))
    rows, columns = natural_sizes(zero, count, count + 1)
    has_sources = any(np.isfinite(zero[i, count]).all() and zero[i, count].any() for i in range(count))
    sizes = columns[:count] / columns[count] if has_sources else columns[:count]
    bend = _bend(context, loop, entries, sizes)
    sizes = sizes * (max(1.0, bend) if has_sources else bend)
    return _powers_of_two(sizes), _powers_of_two(rows)


def _values(context: TracingContext, loop: Loop, entries: Entries, guesses: np.ndarray) -> dict[tuple[int, int], np.ndarray]:
    table = values_at_guesses(context, [loop], list(entries.values()), guesses)
    return {key: table[:, k] for k, key in enumerate(entries)}


def values_at_guesses(context: TracingContext, loops: Sequence[Loop], scalars: Sequence[Any], guesses: np.ndarray) -> np.ndarray:
    t, x, p, m = context.sampled.states[0]
    states = np.tile(x, (len(guesses), 1))
    states[:, [k for loop in loops for name in loop.guesses for k in context.system.places[name]]] = guesses
    return Samples(context.tape, [(t, row, p, m) for row in states]).table(scalars)


def _bend(context: TracingContext, loop: Loop, entries: Entries, sizes: np.ndarray) -> float:
    """Return the multiple of the sizes at which entries begin to change: a mean weighted by changes of logarithmic slopes."""
    weight = total = 0.0
    for side in (1.0, -1.0) if entries else ():
        values = _values(context, loop, entries, side * LADDER[:, None] * sizes)
        with np.errstate(all="ignore"):
            logs = np.log(np.abs(np.array(list(values.values()))))
            slopes = np.clip(np.diff(logs, axis=1) / np.diff(np.log(LADDER)), -STEEPEST, STEEPEST)
            changes = np.abs(np.diff(slopes, axis=1))
        changes = np.where(np.isfinite(changes), changes, 0.0).sum(axis=0)
        weight, total = weight + float(changes.sum()), total + float(changes @ np.log(LADDER[1:-1]))
    return float(np.exp(total / weight)) if weight > LEAST_BEND else 1.0


def _powers_of_two(values: np.ndarray) -> tuple[float, ...]:
    return tuple(float(value) for value in 2.0 ** np.round(np.log2(values)))


NEWTON_STEPS = 3
"""Number of Newton steps at every evaluation; each squares the relative error that the integrator leaves in the guesses."""

GUESS_SIZES = 8
"""Number of magnitudes tried for the guesses, each a thousandth of the previous one: small enough for charges (C) of picofarad
capacitors."""

GUESS_FACTOR = 1e-3

DRIFT_CORRECTION = 1.0
"""Largest rate kappa at which guesses approach the solution, 1/s; it only prevents drift."""


Solver = Callable[[Entries, Sequence[Any]], Sequence[Any]]
"""Function that returns the unknowns of a linear system on the tape from its matrix and right-hand side."""


@dataclass(frozen=True)
class NewtonIteration:
    """A nonlinear loop on the tape: its unknowns as inputs w, residuals and their matrix in terms of w, the guesses, the
    solution after the Newton steps, the residuals and the first step at the guesses, and the solver of its linear systems."""

    loop: Loop
    w: tuple[Any, ...]
    residuals: tuple[Any, ...]
    matrix: dict[tuple[int, int], Any]
    guess: tuple[Any, ...]
    solution: tuple[Any, ...]
    first_residuals: tuple[Any, ...]
    first_step: tuple[Any, ...]
    solver: Solver
    sizes: tuple[float, ...]
    weights: tuple[float, ...]


def newton_iteration(
    context: TracingContext, loop: Loop, w: Sequence[Any], residuals: Sequence[Any], env: Values
) -> NewtonIteration:
    """Record Newton steps for the unknowns w of a nonlinear loop, starting from the guesses; raise `SingularSystem` if w is
    undetermined.

    Pivots for all steps are chosen at the guesses of the samples, because the points that the steps reach carry no information
    about the loop. If the matrix is singular or not finite there, smaller guesses are tried, unless an unknown has a `near`
    value, and then weaker sources: the unit of an unknown is arbitrary.
    """
    guess = tuple(context.tape.scalar(scalar) for name in loop.guesses for scalar in scalars_of(env[name]))
    matrix = partials(residuals, w)
    step: Solver | None = None
    now, values, steps = list(guess), list[Sequence[Any]](), list[Sequence[Any]]()
    sizes: tuple[tuple[float, ...], tuple[float, ...]] = (), ()
    for _ in range(NEWTON_STEPS):
        replaced = {a.index: b.index for a, b in zip(w, now, strict=True)}
        at = substitute(context.tape, [*residuals, *matrix.values()], replaced)
        entries = dict(zip(matrix, at[len(w) :], strict=True))
        values.append(at[: len(w)])
        if step is None:
            step = _solver(context, loop, entries, values[0])
            sizes = loop_sizes(context, loop, entries, values[0])
        steps.append(step(entries, [-r for r in values[-1]]))
        now = [context.tape.scalar(a + b) for a, b in zip(now, steps[-1], strict=True)]
    assert step is not None
    solution, first_residuals, first_step = tuple(now), tuple(values[0]), tuple(steps[0])
    return NewtonIteration(loop, tuple(w), tuple(residuals), matrix, guess, solution, first_residuals, first_step, step, *sizes)


def _solver(context: TracingContext, loop: Loop, entries: Entries, right: Sequence[Any]) -> Solver:
    """Return a solver with pivots chosen at the largest guesses, and for the strongest sources, for which the matrix of the
    samples is regular; pivots are chosen at run time if no order suits all modes."""
    count, everything = len(right), tuple(range(len(right)))
    free = all(context.system.values[unknown.value].near is None for unknown in loop.unknowns)
    by_mode = bool({mode.index for mode in context.inputs["m"]} & context.reached(list(entries.values())))
    first_error: SingularSystem | None = None
    for _ in range(GUESS_SIZES if free else 1):
        samples, singular = context.sampled(entries), (everything, everything)
        if all(np.isfinite(values).all() for values in samples.values()):
            for numbers in (samples, equilibrated(samples, count, count)):
                eliminated = eliminate(entries, right, numbers)
                if not eliminated.equations:
                    return functools.partial(solve, samples=numbers)
            singular = eliminated.equations, eliminated.unknowns
        if by_mode and not singular_at(samples, count).all():
            return functools.partial(solve_pivoted, filled=True)
        first_error = first_error or SingularSystem(*singular)
        context.sampled.shrink([k for name in loop.guesses for k in context.system.places[name]], GUESS_FACTOR)
    assert first_error is not None
    for power in range(1, GUESS_SIZES):
        samples = context.sampled.weakened(context.system.source_places, GUESS_FACTOR**power)(entries)
        if all(np.isfinite(values).all() for values in samples.values()):
            for numbers in (samples, equilibrated(samples, count, count)):
                if not eliminate(entries, right, numbers).equations:
                    return functools.partial(solve, samples=numbers)
    raise first_error


def rates_of_guesses(context: TracingContext, values: Values, iterations: Sequence[NewtonIteration]) -> Values:
    """Return rates of all guesses: dw/dt from the residuals along the motion, and a drift correction."""
    guesses = context.system.guesses
    moving, rates = [context.inputs["t"][0]], [1.0]
    for state in context.system.states if iterations else ():
        if state.name not in guesses:
            moving += scalars_of(values[state.name])
            rates += scalars_of(values[state.rate])
    rates_by_name: Values = {}
    loops = [newton.loop for newton in iterations]
    kappa = min(DRIFT_CORRECTION, _fastest_rate(context, loops, moving[1:], rates[1:])) if loops else 0.0
    for newton in iterations:
        slopes = _rates_of_unknowns(context, newton, moving, rates)
        corrected = [s + kappa * (w - guess) for s, w, guess in zip(slopes, newton.solution, newton.guess, strict=True)]
        unknowns = newton.loop.unknowns
        rows = placed(unknowns, shapes_of(context.system, unknowns), corrected)
        rates_by_name |= {f"{name}'": rate for name, rate in zip(newton.loop.guesses, rows.values(), strict=True)}
    return rates_by_name


def _fastest_rate(context: TracingContext, loops: Sequence[Loop], states: Sequence[Any], rates: Sequence[Any]) -> float:
    """Return the largest absolute eigenvalue (1/s) of the model linearised at the start with guesses of zero, or infinity if that
    is zero or not finite."""
    sparse, matrix = jacobian(rates, states), np.zeros((len(states), len(states)))
    if not sparse.rows:
        return np.inf
    matrix[list(sparse.rows), list(sparse.columns)] = values_at_guesses(context, loops, sparse.values, np.zeros((1, 1)))[0]
    fastest = float(np.abs(np.linalg.eigvals(matrix)).max()) if np.isfinite(matrix).all() else np.inf
    return fastest if fastest > 0.0 else np.inf


def _rates_of_unknowns(
    context: TracingContext, newton: NewtonIteration, moving: Sequence[Any], rates: Sequence[Any]
) -> list[Any]:
    sparse = jacobian(newton.residuals, moving)
    replaced = {a.index: b.index for a, b in zip(newton.w, newton.solution, strict=True)}
    at = substitute(context.tape, [*sparse.values, *newton.matrix.values()], replaced)
    right: list[Any] = [0.0] * len(newton.w)
    for i, j, partial in zip(sparse.rows, sparse.columns, at, strict=False):
        right[i] = right[i] - partial * rates[j]
    entries = dict(zip(newton.matrix, at[len(sparse.values) :], strict=True))
    return list(newton.solver(entries, right))
