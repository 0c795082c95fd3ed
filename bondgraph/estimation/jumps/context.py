"""Context of jump conditions: the state and its sensitivities at an instant of a run, and kernels at the run's parameters."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from bondgraph.estimation.variational import PreparedKernel, Variational
from bondgraph.run.bound import Bound

EQUAL = 1e-9
"""Relative difference up to which two values of x, or of dt, count as equal."""


@dataclass
class SensitivityState:
    """State of a run with its sensitivities: time since the start, x (n,), S (n, k), modes (modes,)."""

    t: float
    x: np.ndarray
    S: np.ndarray
    m: np.ndarray


@dataclass
class PrecedingSegment:
    """Segment that led to an instant: its length, s, x at its start, and guards before a tick at its end."""

    length: float = 0.0
    x: np.ndarray = field(default_factory=lambda: np.zeros(0))
    ticked: tuple[np.ndarray, np.ndarray] | None = None
    """Guards (transitions,) before a tick or break at this instant, and its dt (k,)."""


@dataclass(frozen=True)
class _Call:
    """Kernel bound to its own arrays: its time, its modes, blocks of its input vector, and its output."""

    time: np.ndarray
    modes: np.ndarray
    blocks: tuple[np.ndarray, ...]
    run: Callable[[], object]
    out: np.ndarray

    @staticmethod
    def of(prepared: PreparedKernel, p: np.ndarray, values: Sequence[np.ndarray]) -> _Call:
        """Bind a kernel to blocks of these shapes, one behind the other, matrices column after column."""
        time, y, parameters, modes = arrays = [np.zeros(size) for size in prepared.kernel.sizes]
        parameters[:] = prepared.parameters(p)
        ends = np.cumsum([block.size for block in values])
        blocks = [
            y[end - block.size : end].reshape(block.shape[::-1]).T for end, block in zip(ends.tolist(), values, strict=True)
        ]
        out = np.zeros(prepared.kernel.n_out)
        return _Call(time, modes, tuple(blocks), prepared.kernel.bind(*arrays, out=out), out)


class RunKernels:
    """Kernels of instants at the parameters of one run.

    Parameters
    ----------
    bound : the model at the parameters of the run; p : those of the user.
    rtol : of the run; sizes : of the states (n,).
    """

    def __init__(self, variational: Variational, bound: Bound, p: np.ndarray, rtol: float, sizes: np.ndarray):
        self.variational, self.bound = variational, bound
        self.p, self.rtol, self.sizes = p, rtol, sizes
        self._calls: dict[int, _Call] = {}
        self.guard, self.reset = functools.cache(variational.guard), functools.cache(variational.reset)
        """As in `variational`, cached."""

    def values(self, prepared: PreparedKernel, at: SensitivityState, *more: np.ndarray) -> np.ndarray:
        """Evaluate a kernel of an instant at states and modes, and the blocks behind them: D (n, k), dt (k,), f (n,), ..."""
        call = self._calls.get(id(prepared))
        if call is None:
            call = self._calls[id(prepared)] = _Call.of(prepared, self.p, (at.x, *more))
        call.time[0], call.modes[:] = self.bound.time(at.t), at.m
        for block, value in zip(call.blocks, (at.x, *more), strict=True):
            block[...] = value
        call.run()
        return call.out.copy()

    def rates(self, at: SensitivityState) -> np.ndarray:
        """Return f at a state."""
        return self.bound.rates(at.t, at.x, at.m)

    def solved(self, at: SensitivityState, D: np.ndarray, dt: np.ndarray) -> np.ndarray:
        """Return D with the derivatives of the unknowns of algebraic loops."""
        D = D.copy() if self.bound.program.loops else D
        for index, loop in enumerate(self.bound.program.loops):
            prepared = self.variational.solution(index)
            out = self.values(prepared, at, D, dt, np.zeros(len(at.x)))
            D[list(loop.states)] = out[-len(loop.states) * len(dt) :].reshape(len(dt), -1).T
        return D

    def same(self, x: np.ndarray, before: np.ndarray, after: np.ndarray) -> bool:
        """Return True if x equals the state after an event, relative to the states before and after it."""
        if (x == after).all():
            return True
        size = np.maximum(self.sizes, np.maximum(np.abs(before), np.abs(after)))
        return bool(np.all((np.abs(x - after) <= EQUAL * size)[self.bound.true_states]))


def agree(a: np.ndarray, b: np.ndarray) -> bool:
    """Return True if two rows of derivatives are equal up to rounding."""
    return bool(np.all(np.abs(a - b) <= EQUAL * np.maximum(np.abs(a), np.abs(b)).max(initial=0.0)))
