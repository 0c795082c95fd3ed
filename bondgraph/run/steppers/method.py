"""Interface of a one-step method to the integration loop."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from bondgraph.run.steppers.shared_fields import IntegratorTable

AT_HAND, DAMPED, NOT_AT_HAND = range(3)
"""Outcomes of `look_ahead`: the next step has its Jacobian, the step damps a growing mode, or the next step must evaluate its
Jacobian."""


@dataclass(frozen=True, eq=False)
class Method:
    """One-step method: functions of the kernel language with the arguments listed here.

    Parameters
    ----------
    name : name of the method.
    table : class of its table.
    sizes : integers outside the table that determine the lengths of its arrays, including `stages`, the number of rates in `k`.
    last : index in `k` of the rates at the end of a step.
    explicit : True for a method without a Jacobian: the loop then calls `stiffness`, and `look_ahead` otherwise.
    root : (x), inline: return the factor by which to divide the step size, a root of the ratio x of error to tolerance.
    rounding : (c, i, h), inline: return the effect of rounding errors on state i in a step of length h.
    attempt : (c, h, t_new, method): take a step from y to y_new, and return its error relative to the tolerance; after an
        accepted step, `k` has the rates at its end.
    prepare_dense : (c, h, method): prepare the dense output of the step just attempted.
    dense : (c, theta, out, method): write the state at a fraction of that step.
    cubic : (c, theta, h, out, method): write a cheap approximation of that state.
    stiffness : (c, h, method): return True if a stiff method should continue the run.
    look_ahead : (c, h, error, method): prepare the Jacobian of the next step; return `AT_HAND`, `DAMPED` or `NOT_AT_HAND`.
    next_size : (c, length), inline: return the size of the next step after an accepted step whose error would allow `length`.
    exported : other functions with the argument `method` that are called by address.
    coefficients : data that its functions read.
    """

    name: str
    table: type[IntegratorTable]
    sizes: Mapping[str, int]
    last: int
    explicit: bool
    root: Callable[[float], float]
    rounding: Callable[[Any, int, float], float]
    attempt: Callable[..., float]
    prepare_dense: Callable[..., None]
    dense: Callable[..., None]
    cubic: Callable[..., None]
    stiffness: Callable[..., bool] | None = None
    look_ahead: Callable[..., int] | None = None
    next_size: Callable[[Any, float], float] | None = None
    exported: tuple[Callable[..., Any], ...] = ()
    coefficients: Any = None
