"""Source stepping: the unknowns of nonlinear loops at the start, followed from zero sources to the given sources (homotopy).

Newton's method fails if the first guess overflows: with five exponential diodes in series at 24 V, one diode gets the whole
voltage. As the sources are scaled up from zero, the solution follows a curve from zero; secants predict its next point, Newton's
method corrects it, and the step grows after a success and shrinks after a failure (Nagel 1975, SPICE2; Allgower and Georg 1990).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bondgraph.errors import Problem
from bondgraph.model.element import named
from bondgraph.model.laws import Junction
from bondgraph.model.model import Model
from bondgraph.run.bound import Bound
from bondgraph.run.program import NewtonLoop, Program
from bondgraph.tracing.singular_messages import domain_of

FIRST_STEP, MIN_STEP = 0.1, 1e-5
"""First and smallest increment of the fraction by which the sources are scaled."""

GROWTH, SHRINKAGE = 2.0, 0.25


@dataclass(frozen=True)
class CurveEnd:
    """End of source stepping: the largest fraction of the sources at which a solution was found, and x (n,) there; None if no
    solution was found even without sources."""

    part: float
    x: np.ndarray | None


def follow_sources(
    program: Program, t: float, x: np.ndarray, parameters: Callable[[float], np.ndarray], m: np.ndarray
) -> CurveEnd:
    """Follow the unknowns of nonlinear loops, which are in x (n,), from zero sources to the given sources.

    `parameters`(part) returns p (parameters,) of the kernels with all sources at this fraction of their values. If this does not
    reach the given sources, x is scaled together with the sources, and the result that gets farther is returned.
    """
    alone = _continued(program, t, lambda part: x, parameters, m)
    if alone.part == 1.0:
        return alone
    return max(alone, _continued(program, t, lambda part: part * x, parameters, m), key=lambda each: each.part)


def _continued(
    program: Program, t: float, states: Callable[[float], np.ndarray], parameters: Callable[[float], np.ndarray], m: np.ndarray
) -> CurveEnd:
    unknowns = program.loop_states

    def solved(part: float, guess: np.ndarray) -> np.ndarray | None:
        x = states(part).copy()
        x[unknowns] = guess
        at, failed = Bound(program, parameters(part)).consistent(t, x, m)
        return at if failed is None else None

    at = solved(0.0, states(1.0)[unknowns])
    part, step, slope = 0.0, FIRST_STEP, np.zeros(len(unknowns))
    while at is not None and part < 1.0 and step > MIN_STEP:
        following = min(1.0, part + step)
        ahead = solved(following, at[unknowns] + (following - part) * slope)
        if ahead is None:
            step *= SHRINKAGE
        else:
            slope = (ahead[unknowns] - at[unknowns]) / (following - part)
            at, part, step = ahead, following, GROWTH * step
    return CurveEnd(part, at)


def without_solution(model: Model, loop: NewtonLoop, part: float) -> Problem:
    """Return E206 for a loop whose residuals overflow at the start, and whose solution exists only up to the fraction `part` of
    the sources."""
    elements = [each for each in model.elements_at(loop.elements) if not isinstance(each.law, Junction)]
    details = (
        f"these elements depend on each other: {named(elements)}",
        f"as the sources are scaled up from zero, a solution exists up to {part:.3g} of their values",
        "at their full values the relations overflow",
    )
    resistor = domain_of(model, elements).part("R")
    cures = ("smaller sources", f"{resistor} in the loop, to bound the relations")
    return Problem(
        "E206", "no solution of an algebraic loop is found", details, tuple(each.place for each in elements[:12]), cures
    )
