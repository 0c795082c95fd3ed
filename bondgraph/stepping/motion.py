"""Motion of all states through a step with given velocities: one Runge-Kutta step of order 4.

Velocities are constant in a step, so that rates that are polynomials of degree 3 in time are integrated exactly. With machine
code the step is a procedure that calls the kernel of the rates, compiled once per machine; CPython runs the same function."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from bondgraph.emit.cached_build import build_once
from bondgraph.emit.kernel import Kernel, address_of
from bondgraph.emit.kernel_language import language
from bondgraph.emit.kernel_language.language import Reals, unrolled
from bondgraph.emit.kernel_language.translate import translate
from bondgraph.emit.llvm import Library, compile_written
from bondgraph.emit.procedure import Procedure

Motion = Callable[[float, float], Any]
"""Function (start of a step, its length), s, that moves the state that it is bound to."""

STAGES = ((0, 0.5, 1.0 / 6.0), (1, 0.5, 1.0 / 3.0), (1, 1.0, 1.0 / 3.0), (2, 0.0, 1.0 / 6.0))
"""Of each stage: number of its time, distance of the next stage (in steps), and weight of its rates."""
JUST_INSIDE = 1e-15
"""Offset of evaluations from the ends of a step, relative to its times: quantities that jump there take the value inside."""


def motion_of(rates: Kernel, x: np.ndarray, p: np.ndarray, m: np.ndarray) -> Motion:
    """Return a function that moves the state x (n,) in place, at parameters p and modes m, with later changes of all three."""
    n = len(x)
    work = np.zeros(3 * n + 4)
    times = work[:4]
    step = _compiled(rates, x, p, m, work) if rates.is_machine_code else _interpreted(rates, x, p, m, work)

    def motion(t: float, h: float) -> None:
        inside = JUST_INSIDE * max(abs(t), abs(h))
        times[0], times[1], times[2], times[3] = t + inside, t + 0.5 * h, t + h - inside, h
        step()

    return motion


def _interpreted(rates: Kernel, x: np.ndarray, p: np.ndarray, m: np.ndarray, work: np.ndarray) -> Callable[[], Any]:
    n = len(x)

    def rates_at(t: float, at: np.ndarray, p: np.ndarray, m: np.ndarray, out: np.ndarray) -> None:
        out[:n] = rates(float(t), at[:n], p, m)

    return functools.partial(move, rates_at, n, x, p, m, work)


def _compiled(rates: Kernel, x: np.ndarray, p: np.ndarray, m: np.ndarray, work: np.ndarray) -> Callable[[], Any]:
    pointers = [ctypes.c_void_p, ctypes.c_int64, *[ctypes.c_void_p] * 4]
    function = ctypes.CFUNCTYPE(None, *pointers)(machine_code().address("move"))
    addresses = [address_of(array) for array in (x, p, m, work)]
    call = functools.partial(function, rates.address, len(x), *addresses)
    call.__dict__["owners"] = (x, p, m, work, rates)  # keeps the arrays of the addresses alive
    return call


@build_once
def machine_code() -> Library:
    """Return the step as machine code."""
    return compile_written(procedures)


def procedures() -> list[Procedure]:
    """Return the procedures of the step."""
    return translate([move], ["move"])


def move(rates: language.Kernel, n: int, x: Reals, p: Reals, m: Reals, work: Reals) -> None:
    """Take the step from x (n,), in place; `work` has the times of its start, middle and end, its length, and room for three
    numbers per state."""
    h, k, stage, total = work[3], work[4:], work[n + 4 :], work[n * 2 + 4 :]
    at, begin = x, x
    for time, ahead, weight in unrolled(STAGES):
        rates(work[time], at, p, m, k)
        for i in range(n):
            stage[i] = x[i] + h * ahead * k[i]
            total[i] = begin[i] + h * weight * k[i]
        at, begin = stage, total
    for i in range(n):
        x[i] = total[i]
