"""Points of evaluation: the blocks t, x, p, m of a model's formulas from changes by name, or from arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bondgraph.compile.compiled import Compiled
from bondgraph.errors import refusal
from bondgraph.output.short_repr import short_repr
from bondgraph.run.bound import Bound
from bondgraph.run_arguments import Initial, StartValues, start_values_of


@short_repr
@dataclass(frozen=True)
class Point:
    """A time (s), state x (n,), the user's parameters p (k,), without derived parameters, and modes m (modes,)."""

    t: float
    x: np.ndarray
    p: np.ndarray
    m: np.ndarray


def point_of(
    compiled: Compiled,
    t: float = 0.0,
    initial: np.ndarray | Initial | None = None,
    parameters: Mapping[str, Any] | None = None,
    modes: Mapping[str, str] | None = None,
) -> Point:
    """Return the point (state, parameters and modes) of the start values, with the given changes.

    Parameters
    ----------
    initial : the whole state (n,); changes of the start values by name; the `final` of a run; or an operating point, whose
        parameters are used too.
    modes : state of each automaton, by name.

    Raises `ModelError` E252 for an array of the wrong shape or with NaN or infinite numbers; and errors of `Compiled.initial`.
    """
    begin = start_values_of(initial)
    named = begin if isinstance(begin, Mapping) else {}
    if isinstance(begin, StartValues):
        parameters = {**begin.parameters, **(parameters or {})}
    start, m, _ = compiled.starting_point({**named, **(modes or {})}, parameters, t)
    if begin is not None and not isinstance(begin, Mapping):
        x = np.asarray(begin, dtype=float)
        if x.shape != start.shape or not np.all(np.isfinite(x)):
            fault = "with NaN or infinite numbers" if x.shape == start.shape else f"of shape {x.shape}"
            title = f"an array {fault} is not a state of this model"
            cure = "the array in the order of the states, or a dictionary of states by name"
            raise refusal("E252", title, cure, about=compiled.model.name, why=f"it needs {len(start)} finite numbers", places=())
        start = x.copy()
    count = sum(int(np.size(value)) for value in compiled.system.parameters.values())
    return Point(float(t), start, compiled.parameters(parameters)[:count], m)


def consistent(compiled: Compiled, point: Point) -> Point:
    """Solve for the unknowns of nonlinear algebraic loops in x, and return the changed point.

    Raises `ModelError` E262 if no solution of a loop is found.
    """
    if not compiled.program.loops:
        return point
    x, failed = Bound(compiled.program, whole_parameters(compiled, point)).consistent(point.t, point.x, point.m)
    if failed is not None:
        title = f"Newton's method finds no solution for the algebraic loop through {', '.join(failed.elements)} at this point"
        cures = ("another point", "a small C or I that breaks the loop")
        raise refusal("E262", title, *cures, about=compiled.model.name, places=())
    return replace(point, x=x)


def evaluate_at(compiled: Compiled, point: Point) -> dict[str, Any]:
    return compiled.evaluate(point.t, point.x, whole_parameters(compiled, point), point.m)


def whole_parameters(compiled: Compiled, point: Point) -> np.ndarray:
    return np.concatenate([point.p, compiled.prepare(point.p)])
