"""A run that is passed by with its sensitivities: where it is, and the kernels of its instants at its parameters."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from bondgraph.estimation.variational import Prepared, Variational
from bondgraph.run.bound import Bound

SAME = 1e-9
"""ImpactPart by which two of x, or two of dt, may differ and be the same."""


@dataclass
class Passing:
    """Where a run that is followed is: time since its start, x (n,), S (n, k), modes (modes,)."""

    t: float
    x: np.ndarray
    S: np.ndarray
    m: np.ndarray


@dataclass
class Before:
    """A leg that has led to an instant: how long it was, s, and x at its start; what a tick found before it, with its dt."""

    length: float = 0.0
    x: np.ndarray = field(default_factory=lambda: np.zeros(0))
    ticked: tuple[np.ndarray, np.ndarray] | None = None
    """Guards (transitions,) before a tick or break at this instant, and its dt (k,)."""


@dataclass(frozen=True)
class _Call:
    """A kernel bound to arrays of its own: where its time, its modes and its blocks of numbers are put, and what it gives."""

    time: np.ndarray
    modes: np.ndarray
    places: tuple[np.ndarray, ...]
    run: Callable[[], object]
    out: np.ndarray

    @staticmethod
    def of(prepared: Prepared, p: np.ndarray, given: Sequence[np.ndarray]) -> _Call:
        """With places for blocks of these shapes, one behind the other, matrices column after column."""
        time, y, parameters, modes = blocks = [np.zeros(size) for size in prepared.kernel.sizes]
        parameters[:] = prepared.parameters(p)
        ends = np.cumsum([block.size for block in given])
        places = [y[end - block.size : end].reshape(block.shape[::-1]).T for end, block in zip(ends.tolist(), given, strict=True)]
        out = np.zeros(prepared.kernel.n_out)
        return _Call(time, modes, tuple(places), prepared.kernel.bind(*blocks, out=out), out)


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
        """As of `variational`."""

    def values(self, prepared: Prepared, at: Passing, *more: np.ndarray) -> np.ndarray:
        """What a kernel of an instant gives of states and modes, and of what follows them: D (n, k), dt (k,), f (n,), ..."""
        call = self._calls.get(id(prepared))
        if call is None:
            call = self._calls[id(prepared)] = _Call.of(prepared, self.p, (at.x, *more))
        call.time[0], call.modes[:] = self.bound.time(at.t), at.m
        for place, block in zip(call.places, (at.x, *more), strict=True):
            place[...] = block
        call.run()
        return call.out.copy()

    def rates(self, at: Passing) -> np.ndarray:
        """f where it is."""
        return self.bound.rates(at.t, at.x, at.m)

    def solved(self, at: Passing, D: np.ndarray, dt: np.ndarray) -> np.ndarray:
        """D where the unknowns of algebraic loops follow."""
        D = D.copy() if self.bound.program.loops else D
        for index, loop in enumerate(self.bound.program.loops):
            prepared = self.variational.solution(index)
            out = self.values(prepared, at, D, dt, np.zeros(len(at.x)))
            D[list(loop.states)] = out[-len(loop.states) * len(dt) :].reshape(len(dt), -1).T
        return D

    def same(self, x: np.ndarray, before: np.ndarray, after: np.ndarray) -> bool:
        """Whether x is what an event has left, between states before and after it."""
        if (x == after).all():
            return True
        size = np.maximum(self.sizes, np.maximum(np.abs(before), np.abs(after)))
        return bool(np.all((np.abs(x - after) <= SAME * size)[self.bound.kept]))


def agree(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two rows of derivatives are the same but for rounding."""
    return bool(np.all(np.abs(a - b) <= SAME * np.maximum(np.abs(a), np.abs(b)).max(initial=0.0)))
