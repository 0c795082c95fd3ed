"""Nonlinear algebraic loops on the tape: Newton's method in a fixed number of steps, from states that follow the solution.

The guesses move as w~' = dw/dt + kappa (w - w~), so that the steps only remove what the integrator left; before a run and
after events they are found by a damped Newton iteration from outside (`bondgraph.run.bound`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bondgraph.assembly.system import Loop, System
from bondgraph.tape.differentiate import jacobian
from bondgraph.tape.scalar import Tape
from bondgraph.tape.specialise import substitute
from bondgraph.tracing.linear.solve import SingularSystem, solve
from bondgraph.tracing.sampling import Samples
from bondgraph.tracing.values import Entries, Values, partials, scalars_of, shaped

STEPS = 3
"""Newton steps at every evaluation; each squares the relative error that the integrator left in the guesses."""

SIZES = 8
"""Sizes of guesses that are tried, each a thousandth of the one before: of charges in coulombs, down to those of picofarads."""

SMALLER = 1e-3

PULL = 1.0
"""Rate at which guesses are drawn to the solution, 1/s; it only keeps them from drifting."""


@dataclass(frozen=True)
class Guess:
    """Where Newton's method begins: scalars of the tape, their places among the states, and whether their size may be chosen."""

    scalars: tuple[Any, ...]
    states: tuple[int, ...]
    free: bool


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


def pursue(tape: Tape, loop: Loop, w: Sequence[Any], residuals: Sequence[Any], guess: Guess, sampled: Samples) -> Pursuit:
    """Newton steps from the guesses for the unknowns w of a nonlinear loop; `SingularSystem` where they are not determined.

    Pivots are chosen at the guesses of the samples, for all steps: where steps from there lead says nothing about the loop. Where
    the matrix is singular there, or no number, smaller guesses are tried: nobody knows what the unit of an unknown makes of one.
    """
    matrix = partials(residuals, w)
    now, values, steps = list(guess.scalars), [], []
    samples: dict[tuple[int, int], np.ndarray] = {}
    for _ in range(STEPS):
        places = {a.index: b.index for a, b in zip(w, now, strict=True)}
        at = substitute(tape, [*residuals, *matrix.values()], places)
        entries = dict(zip(matrix, at[len(w) :], strict=True))
        values.append(at[: len(w)])
        samples = samples or _regular(entries, values[-1], guess, sampled)
        steps.append(solve(entries, [-r for r in values[-1]], samples))
        now = [tape.scalar(a + b) for a, b in zip(now, steps[-1], strict=True)]
    return Pursuit(
        loop, tuple(w), tuple(residuals), matrix, guess.scalars, tuple(now), tuple(values[0]), tuple(steps[0]), samples
    )


def _regular(entries: Entries, right: Sequence[Any], guess: Guess, sampled: Samples) -> dict[tuple[int, int], np.ndarray]:
    """Values of a matrix at the samples, with the largest guesses for which it is regular."""
    everything = range(len(right))
    stuck: list[SingularSystem] = []
    for _ in range(SIZES if guess.free else 1):
        samples = sampled(entries)
        try:
            if not all(np.isfinite(values).all() for values in samples.values()):
                raise SingularSystem(everything, everything)
            solve(entries, right, samples)
            return samples
        except SingularSystem as singular:
            stuck.append(singular)
        sampled.shrink(guess.states, SMALLER)
    raise stuck[0]


def follow(system: System, tape: Tape, inputs: Mapping[str, np.ndarray], env: Values, pursuit: Pursuit) -> None:
    """Add the rates of a nonlinear loop's guesses: dw/dt from the residuals along the motion, and a pull to the solution."""
    guesses = system.guesses
    along, rates = [inputs["t"][0]], [1.0]
    for state in system.states:
        if state.name not in guesses:
            along += scalars_of(env[state.name])
            rates += scalars_of(env[state.rate])
    count = len(pursuit.w)
    sparse = jacobian(pursuit.residuals, along)
    places = {a.index: b.index for a, b in zip(pursuit.w, pursuit.solution, strict=True)}
    at = substitute(tape, [*sparse.values, *pursuit.matrix.values()], places)
    right: list[Any] = [0.0] * count
    for i, j, partial in zip(sparse.rows, sparse.columns, at, strict=False):
        right[i] = right[i] - partial * rates[j]
    entries = dict(zip(pursuit.matrix, at[len(sparse.values) :], strict=True))
    slope = solve(entries, right, pursuit.samples)
    start = 0
    for name in pursuit.loop.guesses:
        shape = np.shape(env[name])
        size = int(np.prod(shape))
        part = range(start, start + size)
        pull = [slope[k] + PULL * (pursuit.solution[k] - pursuit.guess[k]) for k in part]
        env[f"{name}'"] = shaped(pull, shape)
        start += size
