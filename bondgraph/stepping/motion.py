"""Motion of all states through a step with given velocities: one Runge-Kutta step of order 4.

Velocities are constant in a step, so that rates that are polynomials of degree 3 in time are integrated exactly. With machine
code the step is a procedure that calls the kernel of the rates, compiled once per machine."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from bondgraph.emit.cached_build import build_once
from bondgraph.emit.kernel import Kernel, address_of
from bondgraph.emit.llvm import Library, compile_written
from bondgraph.emit.procedure import Procedure

Motion = Callable[[float, float], Any]
"""Function (start of a step, its length), s, that moves the state that it is bound to."""

JUST_INSIDE = 1e-15
"""Offset of evaluations from the ends of a step, relative to its times: quantities that jump there take the value inside."""


def motion_of(rates: Kernel, x: np.ndarray, p: np.ndarray, m: np.ndarray) -> Motion:
    """Return a function that moves the state x (n,) in place, at parameters p and modes m, with later changes of all three."""
    n = len(x)
    work = np.zeros(3 * n + 4)
    times = work[:4]
    move = _interpreted(rates, x, p, m, times) if not rates.is_machine_code else _compiled(rates, x, p, m, work)

    def motion(t: float, h: float) -> None:
        inside = JUST_INSIDE * max(abs(t), abs(h))
        times[0], times[1], times[2], times[3] = t + inside, t + 0.5 * h, t + h - inside, h
        move()

    return motion


def _interpreted(rates: Kernel, x: np.ndarray, p: np.ndarray, m: np.ndarray, times: np.ndarray) -> Callable[[], Any]:
    def move() -> None:
        start, mid, end, h = times.tolist()
        k1 = rates(start, x, p, m)
        k2 = rates(mid, x + 0.5 * h * k1, p, m)
        k3 = rates(mid, x + 0.5 * h * k2, p, m)
        k4 = rates(end, x + h * k3, p, m)
        x[:] += h / 6.0 * (k1 + 2.0 * (k2 + k3) + k4)

    return move


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
    return [_move()]


def _move() -> Procedure:
    write = Procedure("move", {"rates": "ptr", "n": "i64", "x": "ptr", "p": "ptr", "m": "ptr", "work": "ptr"})
    x, work, n, rates = write["x"], write["work"], write["n"], write["rates"]
    h = work[3]
    k, stage_x, total = work.at(4), work.at(n + 4), work.at(n * 2 + 4)

    def stage(time: int, at: Any, ahead: float, weight: float, begin: Any) -> None:
        write.call(rates, [work.at(time), at, write["p"], write["m"], k])
        with write.loop(n) as i:
            stage_x[i] = x[i] + h * ahead * k[i]
            total[i] = begin[i] + h * weight * k[i]

    stage(0, x, 0.5, 1.0 / 6.0, x)
    stage(1, stage_x, 0.5, 1.0 / 3.0, total)
    stage(1, stage_x, 1.0, 1.0 / 3.0, total)
    stage(2, stage_x, 0.0, 1.0 / 6.0, total)
    with write.loop(n) as i:
        x[i] = total[i]
    write.give()
    return write
