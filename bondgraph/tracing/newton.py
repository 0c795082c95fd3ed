"""Nonlinear algebraic loops on the tape: Newton's method in a fixed number of steps, from states that follow the solution.

The guesses move as w~' = dw/dt + kappa (w - w~), so that the steps only remove what the integrator left; before a run and
after events they are found by a damped Newton iteration from outside (`bondgraph.run.bound`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bondgraph.assembly.system import Loop
from bondgraph.tape.differentiate import jacobian
from bondgraph.tape.specialise import substitute
from bondgraph.tracing.linear.solve import SingularSystem, eliminate, solve
from bondgraph.tracing.on_tape.context import Ground
from bondgraph.tracing.on_tape.values import Entries, Values, partials, placed, scalars_of, shapes_of

STEPS = 3
"""Newton steps at every evaluation; each squares the relative error that the integrator left in the guesses."""

SIZES = 8
"""Sizes of guesses that are tried, each a thousandth of the one before: of charges in coulombs, down to those of picofarads."""

SMALLER = 1e-3

PULL = 1.0
"""Rate at which guesses are drawn to the solution, 1/s; it only keeps them from drifting."""


@dataclass(frozen=True)
class Pursuit:
    """A nonlinear loop on the tape: its unknowns as inputs w, residuals and their matrix in terms of w, the guesses, the
    solution after Newton's steps, and at the guesses the residuals, the first step and samples of the matrix."""

    loop: Loop
    w: tuple[Any, ...]
    residuals: tuple[Any, ...]
    matrix: dict[tuple[int, int], Any]
    guess: tuple[Any, ...]
    solution: tuple[Any, ...]
    first_residuals: tuple[Any, ...]
    first_step: tuple[Any, ...]
    samples: dict[tuple[int, int], np.ndarray]


def pursue(ground: Ground, loop: Loop, w: Sequence[Any], residuals: Sequence[Any], given: Values) -> Pursuit:
    """Newton steps from the guesses for the unknowns w of a nonlinear loop; `SingularSystem` where they are not determined.

    Pivots are chosen at the guesses of the samples, for all steps: where steps from there lead says nothing about the loop. Where
    the matrix is singular there, or no number, smaller guesses are tried: nobody knows what the unit of an unknown makes of one.
    """
    guess = tuple(ground.tape.scalar(scalar) for name in loop.guesses for scalar in scalars_of(given[name]))
    matrix = partials(residuals, w)
    now, values, steps = list(guess), [], []
    samples: dict[tuple[int, int], np.ndarray] = {}
    for _ in range(STEPS):
        places = {a.index: b.index for a, b in zip(w, now, strict=True)}
        at = substitute(ground.tape, [*residuals, *matrix.values()], places)
        entries = dict(zip(matrix, at[len(w) :], strict=True))
        values.append(at[: len(w)])
        samples = samples or _regular(ground, loop, entries, values[-1])
        steps.append(solve(entries, [-r for r in values[-1]], samples))
        now = [ground.tape.scalar(a + b) for a, b in zip(now, steps[-1], strict=True)]
    return Pursuit(loop, tuple(w), tuple(residuals), matrix, guess, tuple(now), tuple(values[0]), tuple(steps[0]), samples)


def _regular(ground: Ground, loop: Loop, entries: Entries, right: Sequence[Any]) -> dict[tuple[int, int], np.ndarray]:
    """Values of a matrix at the samples, with the largest guesses for which it is regular; one size where an element says it."""
    everything = tuple(range(len(right)))
    free = all(ground.system.values[unknown.value].near is None for unknown in loop.unknowns)
    stuck: SingularSystem | None = None
    for _ in range(SIZES if free else 1):
        samples, left = ground.sampled(entries), (everything, everything)
        if all(np.isfinite(values).all() for values in samples.values()):
            found = eliminate(entries, right, samples)
            if not found.equations:
                return samples
            left = found.equations, found.unknowns
        stuck = stuck or SingularSystem(*left)
        ground.sampled.shrink([k for name in loop.guesses for k in ground.system.places[name]], SMALLER)
    assert stuck is not None
    raise stuck


def rates_of_guesses(ground: Ground, values: Values, pursuits: Sequence[Pursuit]) -> Values:
    """Rates of all guesses: dw/dt from the residuals along the motion, and a pull to the solution."""
    guesses = ground.system.guesses
    moving, rates = [ground.inputs["t"][0]], [1.0]
    for state in ground.system.states if pursuits else ():
        if state.name not in guesses:
            moving += scalars_of(values[state.name])
            rates += scalars_of(values[state.rate])
    found: Values = {}
    for pursuit in pursuits:
        slopes = _slopes(ground, pursuit, moving, rates)
        pulls = [s + PULL * (w - guess) for s, w, guess in zip(slopes, pursuit.solution, pursuit.guess, strict=True)]
        unknowns = pursuit.loop.unknowns
        rows = placed(unknowns, shapes_of(ground.system, unknowns), pulls)
        found |= {f"{name}'": pull for name, pull in zip(pursuit.loop.guesses, rows.values(), strict=True)}
    return found


def _slopes(ground: Ground, pursuit: Pursuit, moving: Sequence[Any], rates: Sequence[Any]) -> list[Any]:
    """Rates of the unknowns of a loop, where what is `moving` has these rates."""
    sparse = jacobian(pursuit.residuals, moving)
    places = {a.index: b.index for a, b in zip(pursuit.w, pursuit.solution, strict=True)}
    at = substitute(ground.tape, [*sparse.values, *pursuit.matrix.values()], places)
    right: list[Any] = [0.0] * len(pursuit.w)
    for i, j, partial in zip(sparse.rows, sparse.columns, at, strict=False):
        right[i] = right[i] - partial * rates[j]
    entries = dict(zip(pursuit.matrix, at[len(sparse.values) :], strict=True))
    return solve(entries, right, pursuit.samples)
